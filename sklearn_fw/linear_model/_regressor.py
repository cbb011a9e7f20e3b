"""The linear regressor."""

from .._core.validation import (
    check_choice,
    check_not_negative,
    check_strength,
)
from ..losses import resolve_loss
from ._alpha import automatic_strength
from ._base import AsagaModel
from ._linear import TargetsMixin


class AsagaRegressor(TargetsMixin, AsagaModel):
    """Linear regression, trained to a certified duality gap by the solver that fits the table.

    Minimises, with weights s_i (``sample_weight``, one by default)::

        sum_i s_i loss(y_i, <w, x_i> + c) / sum_i s_i
        + alpha (l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2)

    which for the default loss ``(y - z)^2 / 2`` is the objective of scikit-learn's ElasticNet, of
    Lasso (``l1_ratio=1``), and of Ridge with ``alpha`` n times as large. Choose it for many rows
    with few entries each, robust losses, or penalties of groups and constraints. Tables of some
    hundred columns, however badly scaled, are solved by Newton's method, many sparse columns by
    dual coordinate ascent, penalties of groups by asynchronous sparse SAGA.

    Parameters
    ----------
    loss : str or Loss, default="squared_error"
        "squared_error", "huber", "squared_epsilon_insensitive", or an object of
        `sklearn_fw.losses`, maybe your own.
    alpha : float or "auto", default="auto"
        Weight of the penalty, not negative. For a ridge "auto" minimizes the generalized
        cross-validation error of the squared loss [2]_; where the columns are too many for
        "newton", it is the sum of their variances divided by n. For other penalties "auto"
        minimizes the held-out loss in five folds along a path with warm starts, in one fold from
        2 million entries of X on. Copied rows count as one row and stay in one fold.
    l1_ratio : float, default=0.0
        Share of the l1 norm in the elastic net, in [0, 1].
    penalty : "elasticnet", None or Penalty, default="elasticnet"
        In the place of the elastic net: an object of `sklearn_fw.penalties` (groups, bounds, ball,
        simplex, your own), with factor ``alpha`` as well.
    solver : str or solver object, default="auto"
        As `AsagaClassifier`.
    fit_intercept : bool, default=True
        Whether there is a c; it is not penalised.
    max_iter : int, default=100
        Largest number of iterations: epochs of n_samples steps, all threads together, or steps of
        Newton's method.
    tol : float, default=1e-4
        Stop when ``dual_gap_`` is at most ``tol`` times the objective. For penalties without a dual
        ``gradient_mapping_`` must be at most ``tol`` times its value at w = 0 as well as a bound on
        the suboptimality, see ``history_``, at most ``tol`` times the objective.
    time_limit : float or None, default=None
        Seconds per target after which no new iteration begins.
    n_jobs : int or None, default=None
        Threads of the incremental methods; None means 1 and -1 all that this process may use, which
        is also the most.
    warm_start : bool, default=False
        Begin where the last fit ended, with its memory of slopes.
    random_state : int, RandomState or None, default=None
        Orders of the rows. Results are reproducible to the bit with one thread only.
    verbose : int, default=0
        Log a line per epoch.

    Attributes
    ----------
    coef_ : ndarray or CSR matrix of shape (n_features,) or (n_targets, n_features)
        Weights, in the dtype of X; sparse, with a row per target, after `sparsify`.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercepts.
    alpha_ : float
        Weight of the penalty that was used.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X had names that are all strings.
    solver_ : solver object
        The solver that was used.
    solver_reason_ : str
        Why "auto" took it.
    dual_gap_ : float or None
        How far the objective can be from its optimum; computed at ``coef_``. The largest of
        several targets, None where the penalty has no dual.
    gradient_mapping_ : float
        Largest entry of the gradient mapping at ``coef_``.
    objective_ : float or ndarray of shape (n_targets,)
        Value of the objective.
    converged_ : bool
        Whether ``tol`` was reached.
    status_ : str
        How the fit ended.
    n_iter_ : int
        Iterations made (the most of several targets).
    n_updates_ : int
        Rows visited.
    step_size_ : float or ndarray of shape (n_targets,)
        Step size of the columns, or the length of the last step of Newton's method.
    memory_drift_ : float
        How far the running sum of the memory was from the memory before its last repair.
    history_ : dict of str to ndarray
        As `AsagaClassifier`.

    Warns
    -----
    ConvergenceWarning
        When the budget ends before ``tol`` is reached; names the certificate.

    See Also
    --------
    AsagaClassifier : The same for labels.
    sklearn_fw.optim.minimize_saga : The same as a function.
    sklearn.linear_model.ElasticNet : Coordinate descent, for few columns with many entries.

    Notes
    -----
    Cost, memory and threads as `AsagaClassifier`.

    References
    ----------
    .. [1] F. Pedregosa, R. Leblond, S. Lacoste-Julien, "Breaking the nonsmooth barrier: a scalable
       parallel method for composite optimization", NIPS 2017: eq. (SPS), Algorithm 2. The ridge is
       in the prox here, which keeps rare columns stable.
    .. [2] G. H. Golub, M. Heath, G. Wahba, "Generalized cross-validation as a method for choosing a
       good ridge parameter", Technometrics 21, 1979.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_fw import AsagaRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AsagaRegressor(alpha=0.01, l1_ratio=0.5, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2)
    0.38
    """

    def __init__(
        self,
        loss="squared_error",
        *,
        alpha="auto",
        l1_ratio=0.0,
        penalty="elasticnet",
        solver="auto",
        fit_intercept=True,
        max_iter=100,
        tol=1e-4,
        time_limit=None,
        n_jobs=None,
        warm_start=False,
        random_state=None,
        verbose=0,
    ):
        self.loss = loss
        self.alpha = alpha
        self.l1_ratio = l1_ratio
        self.penalty = penalty
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _problems(self, X, y, weight):
        return self._part_problems(X, y, weight, X.shape[0] if weight is None else weight.sum())

    def _part_problems(self, X, y, weight, total_weight):
        loss = resolve_loss(self.loss, "regression", smooth=True)
        targets = self._find_targets(y)
        if isinstance(self.alpha, str):
            check_choice(self.alpha, "alpha", {"auto"}, "a number")
            strength = self._auto_strength(X, targets, weight, loss)
        else:
            if check_not_negative(self.alpha, "alpha") > 0.0:
                check_strength(self.alpha, "alpha")
            strength = float(self.alpha) * total_weight
        self.alpha_ = strength / total_weight
        return self._variants(X, targets, weight, loss, strength)

    def _auto_strength(self, X, targets, weight, loss):
        """Strength of the penalty for "auto"; parts of a table keep that of the first part."""
        stream = getattr(self, "_stream", None)
        if stream is not None:
            return stream.strength
        return automatic_strength(self._problem(X, targets[0], weight, loss, 1.0), targets)
