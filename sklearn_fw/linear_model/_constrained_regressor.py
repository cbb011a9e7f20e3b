"""The regressor on a set of coefficients."""

from ._constrained import ConstrainedModel
from ._linear import TargetsMixin


class FrankWolfeRegressor(TargetsMixin, ConstrainedModel):
    """Linear regression with coefficients on a set that has a linear oracle, certified.

    Minimises, with weights s_i (``sample_weight``, one by default)::

        sum_i s_i loss(y_i, <w, x_i> + c) / sum_i s_i    over w in radius * domain and all c

    by Frank-Wolfe steps, so that w is a mean of few vertices: with "l1" of few columns (scikit-
    learn's Lasso, with a radius in the place of alpha), with "nuclear" of low rank in all targets.
    Choose it where the size of the coefficients is known or searched for, for sets without a cheap
    projection, and for many columns, of which a step looks at all but touches one.

    Parameters
    ----------
    loss : str or Loss, default="squared_error"
        "squared_error", which is ``(y - z)^2 / 2``, "huber", "squared_epsilon_insensitive", or an
        object of `sklearn_fw.losses`, maybe your own.
    domain : str, tuple or domain object, default="l1"
        The set in units of ``radius``: "l1", "l2", ``("lp", p)``, "linf" (a box), "simplex", or
        "nuclear", where the coefficients of all targets are one matrix; or an object of
        `sklearn_fw.optim.domains`, maybe your own, of size n_features or n_features times the
        number of targets, whose size is its own and not ``radius``.
    radius : float or "auto", default="auto"
        Size of the set, positive; "auto" takes that of the smallest loss in cross-validation along
        ascending radii; where every target is a problem of its own, in the unit of each. For
        "l1" and sparse X it is the norm of the optimum for the l1 penalty of least held-out loss.
    variant : str, default="auto"
        "fw", "away", "pairwise", "fully_corrective" or "min_norm_point", see
        `sklearn_fw.optim.minimize_frank_wolfe`.
    step_size : str, float or callable, default="auto"
        As there.
    standardize : bool or "auto", default="auto"
        Whether the set is one of coefficients for columns that are divided by their standard
        deviation (sparse ones by their root mean square). "auto" does this for dense X if
        ``radius`` is "auto".
    fit_intercept : bool, default=True
        Whether there is a c, which is always the best one.
    max_iter : int, default=10000
        Largest number of steps, each with one answer of the oracle.
    tol : float or "auto", default="auto"
        Stop when ``dual_gap_`` is at most ``tol`` times the mean loss of w = 0; "auto" is 1e-4,
        and 1e-2 for "nuclear", where steps are slow.
    time_limit : float or None, default=None
        Seconds after which no new step begins.
    warm_start : bool, default=False
        Begin with the atoms of the last fit, scaled to the new radius.
    random_state : int, RandomState or None, default=None
        Folds of the search for the radius; else not used.
    verbose : int, default=0
        Log a line per step.

    Attributes
    ----------
    coef_ : ndarray or CSR matrix of shape (n_features,) or (n_targets, n_features)
        Coefficients, in the dtype of X; sparse, with a row per target, after `sparsify`.
    intercept_ : float or ndarray of shape (n_targets,)
        Intercepts.
    radius_ : float or ndarray of shape (n_targets,)
        Size of the set.
    scale_ : ndarray of shape (n_features,) or None
        What the columns were divided by; None where they were taken as they are.
    dual_gap_ : float
        How far the mean loss can be from the least one on the set; the largest of several.
    objective_ : float or ndarray of shape (n_targets,)
        Mean loss.
    active_atoms_ : list of Atom, or a list of these
        Vertices of which the coefficients (for columns divided by ``scale_``) are the mean; None
        where they are not kept.
    active_weights_ : ndarray, or a list of these
        Their weights, of sum one.
    tol_ : float
        The tolerance that was used.
    variant_ : str
        The variant that was used.
    converged_ : bool
        Whether ``tol`` was reached.
    status_ : str
        How the fit ended.
    n_iter_ : int
        Steps made (the most of several problems).
    n_oracle_calls_ : int
        Answers of the oracle (the most of several problems), but for those of the search for the
        radius.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features,)
        Their names, when X had names that are all strings.
    history_ : dict of str to ndarray
        One row per step: "n_iter", "time" (seconds), "objective", "dual_gap", "step_size" and
        counts. "output" numbers several problems.

    Warns
    -----
    ConvergenceWarning
        When the budget ends before ``tol`` is reached; names the gap.

    See Also
    --------
    AsagaRegressor : Penalties instead of sets.
    FrankWolfeClassifier : The same for labels.
    sklearn_fw.optim.minimize_frank_wolfe : The method for any smooth function.

    Notes
    -----
    A step costs a product with the transposed X, or less where the squared error is minimised on
    "l1" or "simplex": inner products of the columns in use are kept. Lasso has the same solution
    for ``alpha = max |X'(y - Xw - c)| / n`` with X centred. For the completion of a matrix from
    some of its entries, which is no regression, take `sklearn_fw.optim.objectives.LeastSquares`.

    References
    ----------
    .. [1] S. Lacoste-Julien, M. Jaggi, "On the global linear convergence of Frank-Wolfe
       optimization variants", NIPS 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_fw.linear_model import FrankWolfeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = FrankWolfeRegressor(radius=1000.0, tol=1e-8).fit(X, y)
    >>> model.coef_.round().tolist()
    [0.0, 0.0, 457.0, 114.0, 0.0, 0.0, -35.0, 0.0, 395.0, 0.0]
    """

    def __init__(
        self,
        loss="squared_error",
        *,
        domain="l1",
        radius="auto",
        variant="auto",
        step_size="auto",
        standardize="auto",
        fit_intercept=True,
        max_iter=10_000,
        tol="auto",
        time_limit=None,
        warm_start=False,
        random_state=None,
        verbose=0,
    ):
        self.loss = loss
        self.domain = domain
        self.radius = radius
        self.variant = variant
        self.step_size = step_size
        self.standardize = standardize
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.time_limit = time_limit
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    def _all_truths(self, y, weight):
        return self._find_targets(y), weight
