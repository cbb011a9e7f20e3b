"""The linear classifier."""

import numpy as np

from .._core.validation import check_choice, check_strength
from ..losses import LogLoss, MultinomialLogLoss, resolve_loss
from ..losses._border import ask_probability
from ._base import AsagaModel
from ._linear import LabelsMixin


class AsagaClassifier(LabelsMixin, AsagaModel):
    """Linear classifier, trained to a certified duality gap by the solver that fits the table.

    Minimises, with weights s_i (``sample_weight`` times ``class_weight``, one by default)::

        C sum_i s_i loss(y_i, <w, x_i> + c) + l1_ratio |w|_1 + (1 - l1_ratio) / 2 |w|^2

    which for the default loss is the objective of scikit-learn's LogisticRegression. Tables of some
    hundred columns, however badly scaled, are solved by Newton's method, many sparse columns by
    dual coordinate ascent, penalties of groups by asynchronous sparse SAGA.

    Parameters
    ----------
    loss : str or Loss, default="log_loss"
        "log_loss", "multinomial", "squared_hinge" (the loss of LinearSVC), "smooth_hinge",
        "modified_huber", or an object of `sklearn_fw.losses`, maybe your own.
    C : float, default=1.0
        Inverse strength of the penalty; the papers' ``alpha`` is ``1 / (C sum_i s_i)``. Infinity
        means no penalty.
    l1_ratio : float, default=0.0
        Share of the l1 norm in the elastic net, in [0, 1].
    penalty : "elasticnet", None or Penalty, default="elasticnet"
        In the place of the elastic net: an object of `sklearn_fw.penalties` (groups, bounds, ball,
        simplex, your own), with factor 1 / C as well.
    multi_class : {"auto", "ovr", "multinomial"}, default="auto"
        For more than two classes: one problem per class against the rest, or one problem with the
        loss "multinomial". "auto" is "multinomial" for "log_loss", as in LogisticRegression, and
        "ovr" for the other losses.
    solver : str or solver object, default="auto"
        "auto" takes "newton" or "newton_cg" for dense tables and some hundred sparse columns where
        the penalty allows it, "sdca" for more sparse columns and a penalty with a ridge part, else
        "asaga"; ``solver_reason_`` says why. By name: "asaga", "sdca" (on all of ``n_jobs``
        threads), "sparse_saga" (as the first, with one thread), "newton", "newton_cg",
        "saga", "lagged_saga", "sag", "svrg"; an object of `sklearn_fw.optim` for other settings,
        which are then grid keys ``solver__step_size``.
    fit_intercept : bool, default=True
        Whether there is a c; it is not penalised.
    class_weight : dict, "balanced" or None, default=None
        Factors of the losses per class.
    max_iter : int, default=100
        Largest number of iterations: epochs of n_samples steps, all threads together, or steps of
        Newton's method.
    tol : float, default=1e-4
        Stop when ``dual_gap_`` is at most ``tol`` times the objective. For penalties without a dual
        ``gradient_mapping_`` must be at most ``tol`` times its value at w = 0 as well as a bound on
        the suboptimality, see ``history_``, at most ``tol`` times the objective.
    time_limit : float or None, default=None
        Seconds per problem after which no new iteration begins.
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
    coef_ : ndarray or CSR matrix of shape (1, n_features) or (n_classes, n_features)
        Weights, in the dtype of X; sparse after `sparsify`.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X had names that are all strings.
    solver_ : solver object
        The solver that was used.
    solver_reason_ : str
        Why "auto" took it.
    dual_gap_ : float or None
        How far the mean form of the objective, ``mean loss + penalty / (C sum_i s_i)``, can be
        from its optimum; computed at ``coef_``. The largest of several problems, None where the
        penalty has no dual.
    gradient_mapping_ : float
        Largest entry of the gradient mapping at ``coef_``.
    objective_ : float or ndarray of shape (n_classes,)
        Mean form of the objective.
    converged_ : bool
        Whether ``tol`` was reached.
    status_ : str
        How the fit ended.
    n_iter_ : int
        Iterations made (the most of several problems).
    n_updates_ : int
        Rows visited.
    step_size_ : float or ndarray of shape (n_classes,)
        Step size of the columns, or the length of the last step of Newton's method.
    memory_drift_ : float
        How far the running sum of the memory was from the memory before its last repair.
    history_ : dict of str to ndarray
        One row per iteration: "n_iter", "time" (seconds), "objective", "dual_gap" and "certified":
        estimates made on the way are not, rows computed from X are, and the last row always is.
        Without a dual "gradient_mapping" and "suboptimality" in the place of "dual_gap"; the latter
        is a bound in the last row, if one could be proven, and the objective itself before.
        "output" numbers several problems.

    Warns
    -----
    ConvergenceWarning
        When the budget ends before ``tol`` is reached; names the certificate.

    See Also
    --------
    AsagaRegressor : The same for numbers.
    sklearn_fw.optim.minimize_saga : The same as a function.
    sklearn.linear_model.LogisticRegression : One thread, penalties l1, l2 and elastic net.

    Notes
    -----
    More than 13 parameters: most are those of the class that it replaces, under the same names.

    An epoch of the incremental methods costs O(nnz); memory beyond X is about 3 n + 6 d numbers for
    two classes. With several threads, or more than 260,000 sparse columns, a renumbered copy of the
    column indices of X comes on top (4 bytes per entry), which keeps together what is used
    together. Newton's method costs O(n d^2 + d^3) per step and d^2 numbers of memory.

    Where several threads work, each keeps the columns that most rows touch in a copy of its own
    and its own part of the sum of the memory, so that no addition is lost and none needs to be
    atomic; the papers add atomically, which on two cores is slower than one thread.

    References
    ----------
    .. [1] R. Leblond, F. Pedregosa, S. Lacoste-Julien, "ASAGA: asynchronous parallel SAGA",
       AISTATS 2017: eq. (3), Algorithm 2.
    .. [2] F. Pedregosa, R. Leblond, S. Lacoste-Julien, "Breaking the nonsmooth barrier: a scalable
       parallel method for composite optimization", NIPS 2017: eq. (SPS), Algorithm 2. The ridge is
       in the prox here, which keeps rare columns stable.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_fw import AsagaClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = AsagaClassifier(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.95, model.dual_gap_ < 2e-4
    (True, True)
    """

    def __init__(
        self,
        loss="log_loss",
        *,
        C=1.0,
        l1_ratio=0.0,
        penalty="elasticnet",
        multi_class="auto",
        solver="auto",
        fit_intercept=True,
        class_weight=None,
        max_iter=100,
        tol=1e-4,
        time_limit=None,
        n_jobs=None,
        warm_start=False,
        random_state=None,
        verbose=0,
    ):
        self.loss = loss
        self.C = C
        self.l1_ratio = l1_ratio
        self.penalty = penalty
        self.multi_class = multi_class
        self.solver = solver
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.max_iter = max_iter
        self.tol = tol
        self.time_limit = time_limit
        self.n_jobs = n_jobs
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _problems(self, X, y, weight):
        codes, weight = self._find_classes(y, weight)
        return self._class_problems(X, codes, weight)

    def _part_problems(self, X, y, weight, total_weight):
        codes, weight = self._part_codes(y, weight)
        return self._class_problems(X, codes, weight)

    def _class_problems(self, X, codes, weight):
        loss = resolve_loss(self.loss, "classification", smooth=True)
        check_choice(self.multi_class, "multi_class", {"auto", "ovr", "multinomial"})
        # Infinity is a number for this: no penalty.
        infinite = isinstance(self.C, float) and np.isposinf(self.C)
        strength = 0.0 if infinite else 1.0 / check_strength(self.C, "C")
        n_classes = self.classes_.size
        if self._is_multinomial(loss, n_classes):
            loss = MultinomialLogLoss()
            codes = codes.astype(np.float32)  # exact for labels, half the memory
            return [self._problem(X, codes, weight, loss, strength, n_outputs=n_classes)]
        return self._variants(X, self._truths(codes), weight, loss, strength)

    def _is_multinomial(self, loss, n_classes):
        if isinstance(loss, MultinomialLogLoss):
            if self.multi_class == "ovr":
                raise ValueError("multi_class='ovr' needs a loss of one score: loss='log_loss'")
            return True
        if self.multi_class == "multinomial" and not isinstance(loss, LogLoss):
            raise ValueError(
                f"multi_class='multinomial' needs loss='log_loss', got loss={self.loss!r}"
            )
        return n_classes > 2 and isinstance(loss, LogLoss) and self.multi_class != "ovr"

    def _probabilities(self, scores):
        loss = resolve_loss(self.loss, "classification", smooth=True)
        if scores.ndim == 2 and self._is_multinomial(loss, scores.shape[1]):
            return MultinomialLogLoss().probability(scores)
        # Of the two scores of a softmax the difference counts.
        loss = LogLoss() if isinstance(loss, MultinomialLogLoss) else loss
        positive = ask_probability(loss, scores)
        return self._shares(positive)
