"""What the linear models on a set of coefficients share."""

import copy
import math
import warnings

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from .._core.budget import time_budget
from .._core.callbacks import FitTasks, with_callbacks
from .._core.parameters import auto_or
from .._core.result import Outcome, Status
from .._core.validation import (
    check_flag,
    check_integer,
    check_not_negative,
    check_positive,
    check_random_state,
    check_strength,
    is_auto,
)
from ..losses import resolve_loss
from ..optim import minimize_frank_wolfe
from ..optim._incremental._finite_sum import FiniteSum
from ..optim.domains import DenseAtom, RankOneAtom, UnitAtom
from ..optim.domains._base import is_domain
from ..optim.domains._sets import domain_of
from ..penalties import L1
from ._alpha import radii_by_folds
from ._constrained_objective import MeanLoss
from ._linear import LinearEstimator
from ._path import LinearPath, check_grid
from ._units import Units

NAMES = (
    "log_loss", "squared_hinge", "smooth_hinge", "modified_huber", "squared_error", "huber",
    "squared_epsilon_insensitive",
)  # fmt: skip
# Sets of matrices, with a column per output.
OF_MATRICES = {"nuclear", "spectrahedron"}
# What tol="auto" is: steps towards matrices of rank one converge slowly.
TIGHT, LOOSE = {"regression": 1e-4, "classification": 1e-3}, 1e-2
# Folds of a search for the radius, and the size of a table from which on one has to do.
FOLDS, LARGE = 3, 2e6
# The search begins at this share of the radius where the loss would be zero if it went on falling
# as it begins, goes on by this factor, and ends after so many radii that are no better.
FIRST, FACTOR, RADII, PATIENCE = 0.25, 2.0, 14, 2
# Share by which losses must differ to count as different.
EQUAL = 5e-3
# Where a path ends of its own, in units of the same radius.
FARTHEST = 100.0
# Accuracy and iterations of its fits.
SEARCH, SEARCH_OF_SQUARES = (1e-2, 60), (1e-3, 500)


class ConstrainedModel(LinearEstimator):
    """Base of the estimators; subclasses say what the truths are."""

    parameters = {
        "radius": auto_or(check_strength),
        "standardize": auto_or(check_flag, "True or False"),
        "tol": auto_or(check_not_negative),
    }

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Minimise the mean loss over the set, to the accuracy ``tol``.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Inputs.
        y : array-like of shape (n_samples,) or (n_samples, n_targets)
            Labels or targets; several targets for regression only.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the losses.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        X, y, weight = self._check(X, y, sample_weight)
        truths, weight = self._all_truths(y, weight)
        self._settings()
        with time_budget(self.time_limit):
            objectives = self._problems(X, truths, weight)
            tasks = FitTasks(self, X, y, max_subtasks=len(objectives), sample_weight=sample_weight)
            radii = self._choose_radii(objectives)
            starts = self._starts(objectives, radii)
            results = []
            for objective, radius, start in zip(objectives, radii, starts, strict=True):
                tasks.begin()
                results.append(self._minimise(objective, radius, start))
                if tasks.end(lambda: self._snapshot(objectives, results)):
                    break
        self._store(objectives, radii, results, X.dtype)
        tasks.finish()
        return self

    def _regularization_path(
        self, X, y, *, sample_weight=None, radii=None, n_values=30, ratio=1e-3
    ):
        """See `regularization_path`."""
        model = clone(self)
        if is_domain(model.domain):
            raise ValueError(
                "there is no path over radius where domain is an object of its own size"
            )
        radii = None if radii is None else check_grid(radii, "radius")
        n_values = check_integer(n_values, "n_values", 1)
        if not check_positive(ratio, "ratio") < 1.0:
            raise ValueError(f"ratio must be below 1, got {ratio}")
        model.radius = 1.0  # radii are those of a fit with one
        X, y, weight = model._check(X, y, sample_weight)
        truths, weight = model._all_truths(y, weight)
        model._settings()
        objectives = model._problems(X, truths, weight)
        if radii is None:
            units = [model._unit_radius(objective) or 1.0 for objective in objectives]
            largest = FARTHEST * max(units)
            radii = np.geomspace(ratio * largest, largest, n_values)
        fits, n_iters, starts = [], [], [None] * len(objectives)
        for i, radius in enumerate(radii.tolist()):
            fitted = copy.copy(model)
            fitted.radius = radius
            results = [
                fitted._minimise(objective, radius, start)
                for objective, start in zip(objectives, starts, strict=True)
            ]
            fitted._store(objectives, [radius] * len(objectives), results, X.dtype)
            fits.append(vars(fitted) | {"_warm": None})
            n_iters.append(sum(result.nit for result in results))
            following = float(radii[min(i + 1, len(radii) - 1)])
            starts = [grown(result, radius, following) for result in results]
        return LinearPath(model, radii, fits, n_iters)

    def _settings(self):
        self.tol_ = self.tol
        if is_auto(self.tol):
            self.tol_ = LOOSE if self._has_name(OF_MATRICES) else TIGHT[self._task]

    # ---- the problems ----------------------------------------------------------------------------

    def _problems(self, X, truths, weight):
        """An objective per output, or one of all where the set is one of matrices."""
        loss = resolve_loss(self.loss, self._task, smooth=True, names=NAMES)
        standardizes = self.standardize
        if isinstance(standardizes, str):
            searches = isinstance(self.radius, str) and not is_domain(self.domain)
            standardizes = searches and not sp.issparse(X)
        zeros = np.zeros(len(truths))
        self._units = Units.given(len(truths))
        if standardizes:
            self._units = Units.of(X, weight, zeros, bool(self.fit_intercept))
        self.scale_ = self._units.scale
        Z = self._units.rows(X)
        self._joint = self._is_joint(X.shape[1], len(truths))
        truths = [np.array(truths).T] if self._joint else truths
        return [
            MeanLoss(loss, Z, np.ascontiguousarray(y), weight, bool(self.fit_intercept))
            for y in truths
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

    def _minimise(self, objective, radius, start, tol=None, max_iter=None):
        """The result for one radius; ``tol`` counts in units of the value at zero."""
        zero = objective.value_at_zero
        return minimize_frank_wolfe(
            objective, self._domain(objective, radius), variant=self.variant,
            step_size=self.step_size, start=start, verbose=self.verbose,
            tol=(self.tol_ if tol is None else tol) * zero,
            max_iter=self.max_iter if max_iter is None else max_iter,
        )  # fmt: skip

    # ---- radii -----------------------------------------------------------------------------------

    def _choose_radii(self, objectives):
        """The radius of every problem."""
        if not isinstance(self.radius, str):
            return [float(self.radius)] * len(objectives)
        if is_domain(self.domain):
            return [1.0] * len(objectives)  # the domain knows its size
        units = [self._unit_radius(objective) for objective in objectives]
        if self._has_name({"l1"}) and sp.issparse(objectives[0].X) and None not in units:
            # An l1 penalty has the same optima, which cost less by Newton's method.
            o = objectives[0]
            problem = FiniteSum(
                o.X, o.truth, o.loss, L1().bind(o.X.shape[1]), weight=o.weight,
                fit_intercept=o.fit_intercept,
            )  # fmt: skip
            radii = radii_by_folds(problem, [objective.truth for objective in objectives])
            if radii is not None and min(radii) > 0.0:
                return radii
        best = self._search_factor(objectives, units)
        return [1.0 if unit is None else best * unit for unit in units]

    def _search_factor(self, objectives, units):
        """Radius, in units of each problem, of the smallest loss of all in cross-validation.

        Many problems take a fold each: together they say as much.
        """
        factors = FIRST * FACTOR ** np.arange(RADII)
        total, rng = np.zeros(RADII), check_random_state(self.random_state)
        for k, (objective, unit) in enumerate(zip(objectives, units, strict=True)):
            n_numbers = objective.X.nnz if sp.issparse(objective.X) else objective.X.size
            folds = range(FOLDS)
            if len(objectives) >= FOLDS or n_numbers * objective.n_outputs > LARGE:
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
                result = self._minimise(fitted, radius, start, *accuracy)
            losses[i:] = held_out.value(result.x, fitted.intercepts(result.x))
            best = i if losses[i] < (1.0 - EQUAL) * losses[best] else best
            if i - best >= PATIENCE or i + 1 == len(radii):
                break
            start = grown(result, radius, float(radii[i + 1]))
        return losses

    def _starts(self, objectives, radii):
        """Where the last fit ended, if ``warm_start`` and the shapes are the same."""
        old = getattr(self, "_warm", None) if self.warm_start else None
        sizes = [objective.size for objective in objectives]
        if old is None or is_domain(self.domain) or [len(r.x) for r, _ in old] != sizes:
            return [None] * len(objectives)
        return [
            grown(result, before, radius)
            for (result, before), radius in zip(old, radii, strict=True)
        ]

    # ---- what was found --------------------------------------------------------------------------

    def _points(self, objectives, results):
        """Coefficients and intercept of every output for X as it was given."""
        points = []
        for objective, result in zip(objectives, results, strict=False):
            coefs = result.x.reshape(-1, objective.n_outputs).T
            for coef, c in zip(coefs, objective.intercepts(result.x), strict=True):
                points.append(self._units.back(coef, c, len(points)))
        return points

    def _snapshot(self, objectives, results):
        points = self._points(objectives, results)
        n_left = sum(o.n_outputs for o in objectives) - len(points)
        points += [(np.zeros_like(points[0][0]), 0.0)] * n_left
        coef, intercept = self._stacked(points)
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_")}
        return fitted | {"coef_": coef, "intercept_": intercept}

    def _store(self, objectives, radii, results, dtype):
        self._set_points(self._points(objectives, results), dtype)
        vars(self).update(Outcome.joined([_outcome(r) for r in results]).attributes())
        self.radius_ = _only(radii)
        self.dual_gap_ = max(r.dual_gap for r in results)
        self.objective_ = _only([r.fun for r in results])
        self.variant_ = results[0].variant
        self.n_oracle_calls_ = int(max(r.history["n_oracle_calls"][-1] for r in results))
        atoms, weights = [r.atoms for r in results], [r.weights for r in results]
        self.active_atoms_ = atoms[0] if len(atoms) == 1 else atoms
        self.active_weights_ = weights[0] if len(weights) == 1 else weights
        self._warm = list(zip(results, radii, strict=True)) if self.warm_start else None


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
    """Rows for fits and rows for their losses; truths are alike in all of them."""
    n = objective.X.shape[0]
    kind = objective.truth.reshape(n, -1)
    of_classes = objective.loss.task == "classification" and kind.shape[1] > 1
    kind = kind.argmax(axis=1) if of_classes else kind[:, 0]
    order = rng.permutation(n)
    order = order[np.argsort(kind[order], kind="stable")]
    for fold in chosen:
        is_test = np.arange(n) % FOLDS == fold
        yield np.sort(order[~is_test]), np.sort(order[is_test])


def _outcome(result):
    return Outcome(Status[result.status.upper()], result.nit, result.history)


def _only(values):
    """The value of the one problem, or an array of those of several."""
    return values[0] if len(values) == 1 else np.array(values)
