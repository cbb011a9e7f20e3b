"""Linear models on a set of coefficients, by Frank-Wolfe steps."""

import math
import warnings
from dataclasses import KW_ONLY

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from .._core import check
from .._core.result import Outcome, Status
from ..losses import resolve_loss
from ..optim import FiniteSum, minimize_frank_wolfe
from ..optim.domains import DenseAtom, RankOneAtom, UnitAtom, domain_of, is_domain
from ..penalties import ElasticNet
from ._alpha import optima_by_folds
from ._constrained_objective import MeanLoss
from ._linear import LinearClassifier, LinearRegressor, Units, only, padded
from ._path import PathModel

NAMES = (
    "log_loss", "squared_hinge", "smooth_hinge", "modified_huber", "squared_error", "huber",
    "squared_epsilon_insensitive",
)  # fmt: skip
# Share of a loss that is as good as zero, where zero coefficients have none.
NOTHING = 1e-8
# Sets of matrices, with a column per output.
OF_MATRICES = {"nuclear", "spectrahedron"}
# What tol="auto" is: steps towards matrices of rank one converge slowly.
TIGHT, LOOSE = {"regression": 1e-4, "classification": 1e-3}, 1e-2
# Folds of a search for the radius, and the size of a table from which on one has to do.
FOLDS, LARGE = 3, 2e6
# The search begins at this share of the radius where the loss would be zero if it went on falling
# as it begins, goes on by this factor, and ends after this many radii without a better one.
FIRST, FACTOR, RADII, PATIENCE = 0.25, 2.0, 14, 2
# Share by which losses must differ to count as different.
EQUAL = 5e-3
# Where a path ends of its own, in units of the same radius.
FARTHEST = 100.0
# Accuracy and iterations of its fits.
SEARCH, SEARCH_OF_SQUARES = (1e-2, 60), (1e-3, 500)


class ConstrainedModel(PathModel):
    _: KW_ONLY
    domain: object = "l1"
    radius: check.auto_or(check.strength) = "auto"
    variant: object = "auto"
    step_size: object = "auto"
    standardize: check.auto_or(check.flag, "True or False") = "auto"
    max_iter: int = 10_000
    tol: check.auto_or(check.not_negative) = "auto"
    time_limit: float | None = None

    _has_passes = False

    def _train(self, problems, tasks):
        (radii, starts), results = self._choose_radii(problems), []
        warm = getattr(self, "_warm", None) if self.warm_start else None
        if warm is not None or starts is None:
            starts = self._starts(problems, radii, warm)
        for problem, radius, start in zip(problems, radii, starts, strict=True):
            tasks.begin()
            results.append(self._minimize(problem, radius, start))
            if tasks.end(lambda: self._snapshot(self._points(problems, results))):
                break
        self._store(problems, radii, results)
        if len(results) < len(problems):
            self.converged_, self.status_ = False, "stopped"

    def _fit_at(self, units, value, warm, rng):
        radii = [value] * len(units)
        pairs = zip(units, self._starts(units, radii, warm), strict=True)
        results = [self._minimize(problem, value, start) for problem, start in pairs]
        warm = self._store(units, radii, results)
        return sum(result.nit for result in results), [], warm

    def _make_grid(self, units, given, n_values, ratio):
        if is_domain(self.domain):
            raise ValueError("there is no path over radius for a domain object, which has its size")
        if given is not None:
            return given
        largest = FARTHEST * max(self._unit_radius(problem) or 1.0 for problem in units)
        return np.geomspace(ratio * largest, largest, n_values)

    # ---- the problems ----------------------------------------------------------------------------

    def _problems(self, X, y, weight):
        targets, weight = self._targets(y, weight)
        usual = LOOSE if self._has_name(OF_MATRICES) else TIGHT[self._task]
        self.tol_ = usual if isinstance(self.tol, str) else float(self.tol)
        standardizes = self.standardize
        if isinstance(standardizes, str):
            searches = isinstance(self.radius, str) and not is_domain(self.domain)
            standardizes = searches and not sp.issparse(X)
        targets = np.array(targets, np.float64)
        centers, spreads = Units.centers_and_spreads(targets, weight)
        centers *= bool(self.fit_intercept) and self._task == "regression"
        self._units = Units.of(X, weight, centers, bool(self.fit_intercept), standardizes)
        self.scale_ = self._units.scale
        Z = self._units.rows(X)
        targets -= centers[:, None]
        self._joint = self._is_joint(X.shape[1], len(targets))
        columns = map(np.ascontiguousarray, [targets.T] if self._joint else targets)
        options = {"task": self._task, "smooth": True, "names": NAMES}
        losses = [resolve_loss(self.loss, **options, spread=spread) for spread in spreads]
        return [
            MeanLoss(loss, Z, y, weight, bool(self.fit_intercept))
            for loss, y in zip(losses, columns)  # for all columns together the first
        ]

    def _is_joint(self, n_features, n_outputs):
        if is_domain(self.domain):
            size = getattr(self.domain, "size", n_features)
            if size not in (n_features, n_features * n_outputs):
                raise ValueError(
                    f"domain has size {size}, expected {n_features}, one per feature, or "
                    f"{n_features * n_outputs} for all outputs together"
                )
            return size != n_features
        return self._has_name(OF_MATRICES)

    def _has_name(self, names):
        return isinstance(self.domain, str) and self.domain in names

    def _domain(self, objective, radius):
        n_features = objective.X.shape[1]
        shape = (n_features, objective.n_outputs) if self._joint else (n_features,)
        return domain_of(self.domain, shape, radius)

    def _minimize(self, objective, radius, start, tol=None, max_iter=None):
        domain, zero = self._domain(objective, radius), objective.value_at_zero
        if zero == 0.0:  # targets are constant
            zero = NOTHING * objective(domain.lmo(-np.ones(objective.size)).to_array())[0]
        return minimize_frank_wolfe(
            objective, domain, variant=self.variant,
            step_size=self.step_size, start=start,
            verbose=max(0, self.verbose - (tol is not None)),  # candidates speak from 2 on
            tol=(self.tol_ if tol is None else tol) * zero,
            max_iter=self.max_iter if max_iter is None else max_iter,
        )  # fmt: skip

    # ---- radii -----------------------------------------------------------------------------------

    def _choose_radii(self, objectives):
        """Radii, and where their choice leaves them the points to start from."""
        if not isinstance(self.radius, str):
            return [float(self.radius)] * len(objectives), None
        if is_domain(self.domain):
            return [1.0] * len(objectives), None  # the domain knows its size
        units = [self._unit_radius(objective) for objective in objectives]
        if self._has_name({"l1"}) and sp.issparse(objectives[0].X) and None not in units:
            # An l1 penalty has the same optima, which cost less by Newton's method.
            o = objectives[0]
            first = FiniteSum(
                o.X, o.truth, o.loss, ElasticNet(1.0).bind(o.X.shape[1]), weight=o.weight,
                fit_intercept=o.fit_intercept,
            )  # fmt: skip
            coefs = optima_by_folds([first.variant(y=o.truth, loss=o.loss) for o in objectives])
            if coefs and all(coef.any() for coef in coefs):
                radii = [float(np.abs(coef).sum()) for coef in coefs]
                return radii, list(map(_vertices, coefs, radii))
        best = self._search_factor(objectives, units)
        return [1.0 if unit is None else best * unit for unit in units], None

    def _search_factor(self, objectives, units):
        """Radius, in units of each problem, of the smallest loss of all in cross-validation.

        Many problems take a fold each: together they say as much.
        """
        factors = FIRST * FACTOR ** np.arange(RADII)
        total, rng = np.zeros(RADII), check.random_state(self.random_state)
        for k, (objective, unit) in enumerate(zip(objectives, units, strict=True)):
            folds = range(FOLDS)
            if len(objectives) >= FOLDS or objective.X.size * objective.n_outputs > LARGE:
                folds = [k % FOLDS]
            if unit is None or objective.X.shape[0] < 2 * FOLDS:
                continue
            for train, test in _folds(objective, rng, folds):
                fitted, held_out = objective.part(train), objective.part(test)
                losses = self._losses_along(fitted, held_out, unit * factors)
                total += len(test) * losses / objective.value_at_zero
        # Of losses that are as good as equal the one of the smallest set.
        return float(factors[np.argmax(total <= (1.0 + EQUAL) * total.min())])

    def _unit_radius(self, objective):
        """Where the loss would be zero if it went on falling as it begins; None if it does not."""
        value, gradient = objective(np.zeros(objective.size))
        slope = -self._domain(objective, 1.0).lmo(gradient).dot(gradient)
        falls = 2.0 * value > objective.value_at_zero and slope > 1e-12 * value
        return value / slope if falls else None

    def _losses_along(self, fitted, held_out, radii):
        """Held-out losses; after some that are no better, the last of these."""
        losses, start, best = np.zeros(len(radii)), None, 0
        accuracy = SEARCH_OF_SQUARES if fitted.is_quadratic else SEARCH
        for i, radius in enumerate(radii):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                result = self._minimize(fitted, radius, start, *accuracy)
            losses[i:] = held_out.value(result.x, fitted.intercepts(result.x))
            best = i if losses[i] < (1.0 - EQUAL) * losses[best] else best
            if i - best >= PATIENCE or i + 1 == len(radii):
                break
            start = grown(result, radius, float(radii[i + 1]))
        return losses

    def _starts(self, objectives, radii, warm):
        sizes = [objective.size for objective in objectives]
        if warm is None or is_domain(self.domain) or [len(r.x) for r, _ in warm] != sizes:
            return [None] * len(objectives)
        pairs = zip(warm, radii, strict=True)
        return [grown(result, before, radius) for (result, before), radius in pairs]

    # ---- what was found --------------------------------------------------------------------------

    def _points(self, objectives, results):
        points = []
        for objective, result in zip(objectives, results, strict=False):
            coefs = result.x.reshape(-1, objective.n_outputs).T
            for coef, c in zip(coefs, objective.intercepts(result.x), strict=True):
                points.append(self._units.back(coef, c, len(points)))
        return padded(points, sum(objective.n_outputs for objective in objectives))

    def _store(self, objectives, radii, results):
        self._set_points(self._points(objectives, results), objectives[0].X.dtype)
        outcomes = [Outcome(Status[r.status.upper()], r.nit, r.history) for r in results]
        vars(self).update(Outcome.joined(outcomes).attributes())
        self.radius_ = only(radii)
        self.dual_gap_ = max(r.dual_gap for r in results)
        self.objective_ = only([r.fun for r in results])
        self.variant_ = results[0].variant
        self.n_oracle_calls_ = int(max(r.history["n_oracle_calls"][-1] for r in results))
        found = [(r.atoms, r.weights) for r in results]
        both = found[0] if len(objectives) == 1 else map(list, zip(*found))
        self.active_atoms_, self.active_weights_ = both
        warm = list(zip(results, radii, strict=False))
        self._warm = warm if self.warm_start else None
        return warm


def _vertices(coef, radius):
    """Coefficients on the surface of an l1 ball as a mean of its vertices."""
    places = np.flatnonzero(coef).tolist()
    atoms = [UnitAtom(coef.size, j, math.copysign(radius, coef[j])) for j in places]
    return atoms, np.abs(coef[places]) / radius


def grown(result, radius, larger):
    """A start for another radius: all atoms in proportion, with the same weights."""
    ratio = larger / radius
    if result.atoms is None:
        return ratio * result.x
    return [_grown_atom(atom, ratio, larger) for atom in result.atoms], result.weights


def _grown_atom(atom, ratio, larger):
    if isinstance(atom, UnitAtom):
        # Without rounding, since this is a vertex of the new set.
        return UnitAtom(atom.size, atom.place, math.copysign(larger, atom.height))
    if isinstance(atom, RankOneAtom):
        return RankOneAtom(ratio * atom.left, atom.right)
    return DenseAtom(ratio * atom.to_array())


def _folds(objective, rng, chosen):
    """Rows for fits and rows for their losses, with targets stratified."""
    n = objective.X.shape[0]
    kind = objective.truth.reshape(n, -1)
    of_classes = objective.loss.task == "classification" and kind.shape[1] > 1
    kind = kind.argmax(axis=1) if of_classes else kind[:, 0]
    order = rng.permutation(n)
    order = order[np.argsort(kind[order], kind="stable")]
    for fold in chosen:
        is_test = np.arange(n) % FOLDS == fold
        yield np.sort(order[~is_test]), np.sort(order[is_test])


class FrankWolfeClassifier(LinearClassifier, ConstrainedModel):
    """Linear classifier with coefficients in a convex set, by Frank-Wolfe, certified.

    Minimizes, with weights s_i (``sample_weight`` times ``class_weight``, one by default)::

        sum_i s_i loss(y_i, <w, x_i> + c) / sum_i s_i    over w in radius * domain and all c

    by Frank-Wolfe steps, so that w is a mean of few vertices: with "l1" of few columns. Several
    classes are one problem each, against the rest; with "nuclear" they share a matrix of low rank.

    Parameters
    ----------
    loss : str or Loss, default="log_loss"
        "log_loss", "squared_hinge", "smooth_hinge", "modified_huber", or an object of
        `sklearn_fw.losses`, maybe your own.
    domain : str, tuple or domain object, default="l1"
        The set in units of ``radius``: "l1", "l2", ``("lp", p)``, "linf" (a box), "simplex", or
        "nuclear", where the coefficients of all classes are one matrix; or an object of
        `sklearn_fw.optim.domains`, maybe your own, of size n_features or n_features times the
        number of classes, whose size is its own and not ``radius``.
    radius : float or "auto", default="auto"
        Size of the set, positive; "auto" takes that of the smallest loss in cross-validation along
        ascending radii; where every class is a problem of its own, in the unit of each. For
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
        Whether to fit an intercept c, which is optimal after each step.
    class_weight : dict, "balanced" or None, default=None
        Factors of the losses per class.
    max_iter : int, default=10000
        Largest number of steps, each with one answer of the oracle.
    tol : float or "auto", default="auto"
        Stop when ``dual_gap_`` is at most ``tol`` times the mean loss of w = 0; "auto" is 1e-3,
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
    coef_ : ndarray or CSR matrix of shape (1, n_features) or (n_classes, n_features)
        Coefficients, in the dtype of X; sparse after `sparsify`.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Intercepts.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    radius_ : float or ndarray of shape (n_classes,)
        Size of the set.
    scale_ : ndarray of shape (n_features,) or None
        Divisors of the columns; None where they were not scaled.
    dual_gap_ : float
        Certified bound on the suboptimality of the mean loss; the largest of several.
    objective_ : float or ndarray of shape (n_classes,)
        Mean loss.
    active_atoms_, active_weights_ : list of Atom and ndarray, or lists of these
        Vertices, and their weights of sum one, of which the coefficients (for columns divided by
        ``scale_``) are the mean; None where they are not kept.
    tol_, variant_ : float, str
        The tolerance and the variant that were used.
    converged_, status_ : bool, str
        Whether ``tol`` was reached, and how the fit ended.
    n_iter_, n_oracle_calls_ : int
        Steps made and answers of the oracle (the most of several problems), but for those of the
        search for the radius.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X, and their names where all are strings.
    history_ : dict of str to ndarray
        One row per step: "n_iter", "time" (seconds), "objective", "dual_gap", "step_size" and
        counts. "output" numbers several problems.

    See Also
    --------
    AsagaClassifier : Penalties instead of sets.
    FrankWolfeRegressor : The same for numbers.
    sklearn_fw.optim.minimize_frank_wolfe : The method for any smooth function.

    Notes
    -----
    More than 13 parameters: the set and the method, besides those of every linear model.

    A step costs a product with the transposed X, and some passes over the scores for the best c.

    References
    ----------
    .. [1] S. Lacoste-Julien, M. Jaggi, "On the global linear convergence of Frank-Wolfe
       optimization variants", NIPS 2015.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn_fw.linear_model import FrankWolfeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = FrankWolfeClassifier(radius=5.0, standardize=True).fit(X, y)
    >>> model.score(X, y) > 0.97, int((model.coef_ != 0).sum()) < 12
    (True, True)
    """

    loss: object = "log_loss"


class FrankWolfeRegressor(LinearRegressor, ConstrainedModel):
    """Linear regression with coefficients in a convex set, by Frank-Wolfe, certified.

    Minimizes, with weights s_i (``sample_weight``, one by default)::

        sum_i s_i loss(y_i, <w, x_i> + c) / sum_i s_i    over w in radius * domain and all c

    by Frank-Wolfe steps, so that w is a mean of few vertices: with "l1" of few columns (scikit-
    learn's Lasso, with a radius in the place of alpha), with "nuclear" of low rank in all targets.
    Choose it where the size of the coefficients is known or searched for, for sets without a cheap
    projection, and for many columns, of which a step looks at all but touches one.

    Parameters
    ----------
    loss : str or Loss, default="squared_error"
        "squared_error", which is ``(y - z)^2 / 2``, "huber", "squared_epsilon_insensitive", or an
        object of `sklearn_fw.losses`, maybe your own, as `AsagaRegressor`.
    domain : str, tuple or domain object, default="l1"
        As `FrankWolfeClassifier`, with targets in the place of classes.
    radius : float or "auto", default="auto"
        As `FrankWolfeClassifier`.
    variant : str, default="auto"
        As `FrankWolfeClassifier`.
    step_size : str, float or callable, default="auto"
        As `sklearn_fw.optim.minimize_frank_wolfe`.
    standardize : bool or "auto", default="auto"
        As `FrankWolfeClassifier`.
    fit_intercept : bool, default=True
        Whether to fit an intercept c, which is optimal after each step.
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
        Divisors of the columns; None where they were not scaled.
    dual_gap_ : float
        Certified bound on the suboptimality of the mean loss; the largest of several.
    objective_ : float or ndarray of shape (n_targets,)
        Mean loss.
    active_atoms_, active_weights_ : list of Atom and ndarray, or lists of these
        As `FrankWolfeClassifier`.
    tol_, variant_, converged_, status_ : float, str, bool and str
        As `FrankWolfeClassifier`.
    n_iter_, n_oracle_calls_ : int
        Steps made and answers of the oracle, as `FrankWolfeClassifier`.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X, and their names where all are strings.
    history_ : dict of str to ndarray
        As `FrankWolfeClassifier`.

    See Also
    --------
    AsagaRegressor : Penalties instead of sets.
    FrankWolfeClassifier : The same for labels.
    sklearn_fw.optim.minimize_frank_wolfe : The method for any smooth function.

    Notes
    -----
    A step costs a product with the transposed X, or less where the squared error is minimized on
    "l1" or "simplex". Lasso has the same solution for ``alpha = max |X'(y - Xw - c)| / n`` with X
    centered. For matrix completion, take `sklearn_fw.optim.objectives.LeastSquares`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_fw.linear_model import FrankWolfeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = FrankWolfeRegressor(radius=1000.0, tol=1e-8).fit(X, y)
    >>> model.coef_.round().tolist()
    [0.0, 0.0, 457.0, 114.0, 0.0, 0.0, -35.0, 0.0, 395.0, 0.0]
    """

    loss: object = "squared_error"
