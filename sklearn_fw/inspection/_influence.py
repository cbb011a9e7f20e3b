"""Sensitivities at the minimum of the training objective, by one linear system."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.neural_network import MLPClassifier
from sklearn.utils.validation import check_is_fitted

from .._core.conjugate_gradients import conjugate_gradients
from .._core.torch import is_torch_module
from .._core.validation import check_not_negative, check_positive, is_auto
from .._core.warnings import warn
from ._networks import Network
from ._runs import Rows, not_a_network
from ._torch import TorchProblem
from ._unroll import DenseProblem

# Residual of the system, relative, and iterations that it may take.
SMALL = 1e-7
MOST_ITERATIONS = 2000
# What a Newton step may still lower the objective by, relative, at what counts as a minimum.
SETTLED = 1e-3
# Damping of networks, whose Hessians are hardly ever positive: of those of digits it made all so.
NETWORK_DAMPING = 0.01
# Rows that are multiplied with at once.
ROWS = 1024


class Influence(Rows):
    """Derivatives of the mean loss through the minimum theta of a penalised mean loss J.

    With H the Hessian of J at theta and ``H a = grad L``, moving x moves theta by
    ``-inv(H) (d/dx) grad J``, so that ``dL/dx = -(1/n) (d/dx) <a, grad l(theta, x)>``, and the
    term of x in L itself.
    """

    times = np.zeros(1, dtype=int)

    def __init__(self, estimator, X, y, damping):
        if not is_torch_module(estimator) and hasattr(estimator, "fit"):
            check_is_fitted(estimator)
        super().__init__(estimator, X, y, fitted=True)
        if damping is None:
            damping = 0.0 if isinstance(self.model, LogisticRegression) else NETWORK_DAMPING
        self.damping = check_not_negative(damping, "damping")
        self._find_problem()

    def _find_problem(self):
        """The model, its weights and its ridge penalty ``sum ridge theta^2 / 2``."""
        model, n = self.model, len(self.X)
        if is_torch_module(model):
            self.problem = TorchProblem(model, self.X, self.classes[self.y])
            self.theta, self.ridge = self.problem.start, None
            self.free = np.ones(len(self.theta), dtype=bool)
            return
        layers, activation, ridge = _layers_of(model, n)
        if not np.array_equal(model.classes_, self.classes):
            raise ValueError(
                f"y has the classes {self.classes.tolist()!s:.60}, but the estimator was fitted to "
                f"{model.classes_.tolist()!s:.60}: X and y must be its training rows"
            )
        if len(layers[0][0]) != self.X.shape[1]:
            raise ValueError(
                f"X has {self.X.shape[1]} features, but {type(model).__name__} was fitted to "
                f"{len(layers[0][0])}"
            )
        layers, ridge = _two_outputs(layers, ridge)
        network = Network([len(layers[0][0]), *(len(b) for _, b in layers)], activation)
        self.problem = DenseProblem(network, self.X, self.y)
        self.theta, self.ridge = network.flat(layers), network.flat(ridge)
        self.n_last = sum(part.size for part in layers[-1])
        self.free = network.is_weight() | getattr(model, "fit_intercept", True)

    def losses(self):
        """The mean training loss."""
        return np.array([self.problem.loss(self.theta).mean()])

    def _gradient(self, weight):
        """Gradients of a weighted sum of losses by weights and inputs."""
        return self.problem.gradient(self.theta, np.arange(len(self.y)), weight)

    def _times_hessian(self, V):
        """Each row of V times H, with the damping."""
        n = len(self.y)
        out = V * (self.damping + (0.0 if self.ridge is None else self.ridge))
        for first in range(0, n, ROWS):
            rows = np.arange(first, min(first + ROWS, n))
            weight = np.full(len(rows), 1.0 / n)
            out += self.problem.tangents(self.theta, rows, weight, V)[0]
        return self._within(out)

    def _within(self, V):
        """Directions without what does not move the model: a shift of all its scores."""
        if self.ridge is not None:
            V = V * self.free
            last = V[:, -self.n_last :].reshape(len(V), -1, len(self.classes))
            last -= last.mean(axis=2, keepdims=True)
        return V

    def derivatives(self, groups, direct):
        """Derivatives by the inputs, `(n_groups, n, ...)`, in a list: there is one time only."""
        n = len(self.y)
        pairs = [self._gradient(weight) for weight in groups]
        sides = [by_weights for by_weights, _ in pairs]
        if self.ridge is not None:
            sides.append(self._gradient(np.full(n, 1.0 / n))[0] + self.ridge * self.theta)
        sides = self._within(np.array(sides))
        size = np.linalg.norm(sides, axis=1)
        size[len(groups) :] = size.max()
        found, progress = conjugate_gradients(
            self._times_hessian, sides, tol=SMALL, max_iter=MOST_ITERATIONS, size=size
        )
        _tell(progress, self.damping)
        if self.ridge is not None and progress.curvature > 0.0:
            self._check_minimum(float(sides[-1] @ found[-1]) / 2.0)
        V = -found[: len(groups)]
        out = np.empty((len(groups), *self.X.shape))
        for first in range(0, n, ROWS):
            rows = np.arange(first, min(first + ROWS, n))
            weight = np.full(len(rows), 1.0 / n)
            out[:, rows] = self.problem.tangents(self.theta, rows, weight, V)[1]
        if direct:
            out += np.array([by_inputs for _, by_inputs in pairs])
        return [self.back(out)]

    def _check_minimum(self, gain):
        value = float(self.losses()[0] + self.ridge @ self.theta**2 / 2.0)
        if not gain <= SETTLED * value:
            warn(
                f"the estimator is not at a minimum of its training objective on X and y, where "
                f"method='influence' holds: a Newton step would lower {value:.3g} by {gain:.2g}. "
                f"Fit it to these rows with a smaller tol and more iterations, or take "
                f"method='unrolled'",
                ConvergenceWarning,
            )


def _layers_of(model, n):
    """``(layers, activation, ridge)`` of a fitted classifier; ridge has the form of the layers."""
    if isinstance(model, MLPClassifier):
        if model.out_activation_ == "logistic" and model.n_outputs_ > 1:
            raise ValueError("estimator answers with several labels at once, one is needed")
        layers = list(zip(model.coefs_, model.intercepts_))
        size = 200 if is_auto(model.batch_size) else model.batch_size
        batch = n if model.solver == "lbfgs" else min(size, n)
        strength, own, activation = model.alpha / batch, 0.0, model.activation
    elif isinstance(model, LogisticRegressionCV):
        raise ValueError("estimator is a search over C: fit LogisticRegression with the C it found")
    elif isinstance(model, LogisticRegression):
        layers, activation = [(model.coef_.T, model.intercept_)], "identity"
        if model.l1_ratio or model.penalty in ("l1", "elasticnet"):
            raise ValueError(
                "estimator has an l1 penalty, at the kinks of which there are no derivatives: "
                "take l1_ratio=0"
            )
        if model.class_weight is not None:
            raise ValueError("estimator has class_weight, which is not known here: take None")
        is_free = model.penalty is None or model.C in (np.inf,)
        strength = 0.0 if is_free else 1.0 / (check_positive(model.C, "C") * n)
        own = strength / model.intercept_scaling**2 if model.solver == "liblinear" else 0.0
    else:
        raise not_a_network(model)
    layers = [(np.asarray(W, dtype=np.float64), np.ravel(b).astype(np.float64)) for W, b in layers]
    ridge = [(np.full_like(W, strength), np.full_like(b, own)) for W, b in layers]
    return layers, activation, ridge


def _two_outputs(layers, ridge):
    """The same model with an output for each of two classes.

    Scores ``(-f / 2, f / 2)`` have the differences of ``(0, f)``, and weights that are opposite
    have half the squared norm, so that twice the penalty has the same minimum.
    """
    W, b = layers[-1]
    if len(b) > 1:
        return layers, ridge
    P, q = ridge[-1]
    last = (np.hstack([-W / 2, W / 2]), np.concatenate([-b / 2, b / 2]))
    above = (np.hstack([2 * P, 2 * P]), np.concatenate([2 * q, 2 * q]))
    return [*layers[:-1], last], [*ridge[:-1], above]


def _tell(progress, damping):
    """Warn of systems that were not solved."""
    n_iter, left, least = progress
    if least <= 0.0:
        warn(
            f"the objective is no minimum: it has curvature {least:.2g} in some direction with "
            f"damping={damping:g}, where conjugate gradients stopped at residual {left:.1g}; "
            f"take damping well above {damping - least:.2g}, or fit the estimator further",
            ConvergenceWarning,
        )
    elif left > SMALL:
        warn(
            f"conjugate gradients have residual {left:.1g} after {n_iter} iterations, {SMALL:g} "
            f"was wanted; scale the features, or raise damping={damping:g}",
            ConvergenceWarning,
        )
