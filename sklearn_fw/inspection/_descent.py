"""Derivatives of training losses by the rows: through a run of descent, or at a minimum."""

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression, LogisticRegressionCV, Ridge
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.conjugate_gradients import conjugate_gradients
from .._core.torch import is_torch_module
from .._core.warnings import warn
from . import _estimators as models
from ._adapters import affine_vjp, back_through, front_of
from ._problems import ACTIVATIONS, DenseProblem, Network, SquaredProblem, TorchProblem, layers_of

NETWORKS = MLPClassifier, MLPRegressor
LINEAR = LinearRegression, LogisticRegression, Ridge
LOSSES = "log_loss", "squared_error"

# Numbers that all derivatives of one walk back may take together.
MOST_NUMBERS = 2**24
# Residual of the system, relative, and iterations that it may take.
SMALL = 1e-7
MOST_ITERATIONS = 2000
# Damping of networks, whose Hessians are hardly ever positive: of those of digits it made all so.
NETWORK_DAMPING = 0.01
# Rows that are multiplied with at once.
ROWS = 1024


class Rows:
    """Training rows, the affine steps of a Pipeline that they go through, and the model behind."""

    def __init__(self, estimator, X, y, *, fitted):
        estimator = models.best_of(estimator)
        if fitted:
            X = models.check_inputs(estimator, X)
        else:
            estimator = models.with_names(estimator, X)
            X = models.check_rows(X, allow_nd=is_torch_module(estimator))
        y, self.classes = models.check_targets(estimator, y, len(X))
        self.y = y if self.classes is None else np.searchsorted(self.classes, y)
        self.steps, self.model = [], estimator
        if isinstance(estimator, Pipeline):
            self.model = estimator.steps[-1][1]
            for name, step in front_of(estimator):
                step = step if fitted else clone(step).fit(X, y)
                rows = np.asarray(X, dtype=np.float64)
                vjp = affine_vjp(step, rows, rows + rows.std(axis=0))
                if vjp is None:
                    raise ValueError(f"estimator: step {name!r} is not affine, as it must be")
                self.steps.append((step, vjp))
                X = step.transform(models.dressed(step, rows))
        self.X = np.asarray(X, dtype=np.float64)


class Run(Rows):
    """A run of descent and the derivatives through it."""

    def __init__(self, estimator, X, y, n_steps, eval_every, given, random_state):
        n_steps = check.integer(n_steps, "n_steps", 1)
        eval_every = check.integer(eval_every, "eval_every", 1, n_steps)
        rng = check.random_state(random_state)
        super().__init__(estimator, X, y, fitted=False)
        n = len(self.X)
        self.problem, defaults = _problem_of(self.model, self.X, self.y, self.classes)
        rate, momentum, nesterov, size = _settings(given, defaults, n)
        self.times = np.arange(eval_every, n_steps + 1, eval_every)
        self.descent = Descent(rate, momentum, nesterov, _batches(n, size, n_steps, rng))
        with np.errstate(over="ignore", invalid="ignore"):
            self.path = self.descent.run(self.problem, self.problem.initial(rng))
        if not np.all(np.isfinite(self.path[-1])):
            raise ValueError(f"learning_rate={rate:g} is too large: the run diverges")

    def losses(self):
        return np.array([self.problem.loss(self.path[t]).mean() for t in self.times])

    def direct_terms(self, groups):
        """Derivatives of the terms of the rows in the losses at each time, `(n_groups, n, ...)`."""
        for t in self.times:
            found = [self.problem.gradient(self.path[t], slice(None), w)[1] for w in groups]
            yield back_through(self.steps, np.array(found))

    def derivatives(self, groups, direct):
        """Derivatives by the inputs at each time, `(n_groups, n, ...)`."""
        given = self.problem, self.descent, self.path, self.times, groups
        with np.errstate(over="ignore", invalid="ignore"):
            for derivative in unroll(*given, direct=direct):
                yield back_through(self.steps, derivative)


def _problem_of(estimator, X, y, classes):
    """What is trained, and the settings ``(rate, momentum, nesterov, batch size)`` for None."""
    d, n_outputs = X[0].size, 1 if classes is None else len(classes)
    make = SquaredProblem if classes is None else DenseProblem
    if is_torch_module(estimator):
        return TorchProblem(estimator, X, classes[y]), (None, 0.0, False, 200)
    if isinstance(estimator, NETWORKS):
        check.choice(estimator.loss, "loss", LOSSES)
        if not check.is_named(estimator.solver, "sgd"):
            raise ValueError(f"estimator must have solver='sgd', got solver={estimator.solver!r}")
        check.choice(estimator.activation, "activation", ACTIVATIONS)
        hidden = np.atleast_1d(estimator.hidden_layer_sizes).tolist()
        hidden = [check.integer(size, "hidden_layer_sizes", 1) for size in hidden]
        network = Network([d, *hidden, n_outputs], estimator.activation)
        alpha = check.not_negative(estimator.alpha, "alpha")
        size = estimator.batch_size
        size = 200 if check.is_auto(size) else check.integer(size, "batch_size", 1)
        nesterov = check.flag(estimator.nesterovs_momentum, "nesterovs_momentum")
        settings = estimator.learning_rate_init, estimator.momentum, nesterov, size
        return make(network, X, y, alpha), settings
    if isinstance(estimator, LINEAR):
        network = Network([d, n_outputs], "identity")
        size = float((X**2).sum(axis=1).mean()) + 1.0
        return make(network, X, y), ((1.0 + (classes is not None)) / size, 0.0, False, 200)
    raise not_a_network(estimator)


def not_a_network(estimator):
    return TypeError(
        f"estimator must be an MLPClassifier, MLPRegressor, LogisticRegression, LinearRegression, "
        f"Ridge, a Pipeline that ends in one, or a torch.nn.Module, for method='influence' any "
        f"linear regressor of least squares and an l2 penalty, got {estimator!r:.60}"
    )


def _settings(given, defaults, n):
    rate, momentum, size = given
    nesterov = defaults[2] and momentum is None
    rate = defaults[0] if rate is None else rate
    if rate is None:
        raise ValueError("learning_rate is needed for a torch.nn.Module, such as 0.01")
    rate = check.not_negative(rate, "learning_rate")
    momentum = check.not_negative(defaults[1] if momentum is None else momentum, "momentum")
    if momentum >= 1.0:
        raise ValueError(f"momentum must be below 1, got {momentum:g}")
    size = defaults[3] if size is None else check.integer(size, "batch_size", 1)
    return rate, momentum, nesterov, min(size, n)


def _batches(n, size, n_steps, rng):
    """Rows of each step: all rows in a new order in every epoch."""
    found = []
    while len(found) < n_steps:
        order = rng.permutation(n)
        found += [order[a : a + size] for a in range(0, n, size)]
    return found[:n_steps]


# ---- the way back through a run ------------------------------------------------------------------


@dataclass(frozen=True)
class Descent:
    """Settings of a run: ``v' = momentum v - rate g``, ``theta' = theta + v'``.

    With Nesterov's momentum ``theta' = theta + momentum v' - rate g``, as in `MLPClassifier`.
    """

    rate: float
    momentum: float
    nesterov: bool
    batches: list

    def run(self, problem, theta):
        """Weights before every step and after the last."""
        path, v = [theta], np.zeros_like(theta)
        for rows in self.batches:
            m = len(rows)
            g, _ = problem.gradient(theta, rows, np.full(m, 1.0 / m))
            g = g + problem.alpha * theta / m
            v = self.momentum * v - self.rate * g
            theta = theta + (self.momentum * v - self.rate * g if self.nesterov else v)
            path.append(theta)
        return path


def unroll(problem, descent, path, times, groups, *, direct):
    """Derivatives of later losses by every input, through the whole run: ``(n_groups, n, ...)``.

    One for each of the times, numbers of steps after which the loss is taken. ``path`` holds the
    weights before each step and after the last, ``groups`` weights of the rows in the losses;
    with ``direct`` rows count in the loss themselves.
    """
    at_once = max(1, MOST_NUMBERS // (len(groups) * problem.X.size))
    for first in range(0, len(times), at_once):
        part = list(times[first : first + at_once])
        yield from _walk_back(problem, descent, path, part, groups, direct)


def _walk_back(problem, descent, path, times, groups, direct):
    """Derivatives for some times, together: `(n_times, n_groups, n, ...)`."""
    n_groups = len(groups)
    out = np.zeros((len(times), n_groups, *problem.X.shape))
    a = np.zeros((len(times), n_groups, len(path[0])))
    b = np.zeros_like(a)
    for k, t in enumerate(times):
        for i, weight in enumerate(groups):
            a[k, i], by_inputs = problem.gradient(path[t], slice(None), weight)
            if direct:
                out[k, i] = by_inputs
    rate, momentum = descent.rate, descent.momentum
    for s in range(max(times) - 1, -1, -1):
        on = [k for k, t in enumerate(times) if t > s]
        rows = descent.batches[s]
        m = len(rows)
        # Adjoints of the velocity and of the gradient of this step.
        velocity = b[on] + (momentum * a[on] if descent.nesterov else a[on])
        g = -rate * velocity - (rate * a[on] if descent.nesterov else 0.0)
        V = g.reshape(len(on) * n_groups, -1)
        bent, by_inputs = problem.tangents(path[s], rows, np.full(m, 1.0 / m), V)
        bent += problem.alpha * V / m
        b[on] = momentum * velocity
        a[on] += bent.reshape(g.shape)
        shaped = by_inputs.reshape(len(on), n_groups, *by_inputs.shape[1:])
        for j, k in enumerate(on):
            out[k][:, rows] += shaped[j]
    return out


# ---- at a minimum --------------------------------------------------------------------------------


class Influence(Rows):
    """Derivatives of the mean loss through the minimum theta of a penalized mean loss J.

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
            is_network = is_torch_module(self.model) or isinstance(self.model, NETWORKS)
            damping = NETWORK_DAMPING if is_network else 0.0
        self.damping = check.not_negative(damping, "damping")
        # The penalty is ``sum ridge theta^2 / 2``; that of a module is the damping.
        if is_torch_module(self.model):
            self.problem = TorchProblem(self.model, self.X, self.classes[self.y])
            self.theta, self.ridge = self.problem.start, None
        else:
            self._find_layers()

    def _find_layers(self):
        model = self.model
        if self.classes is not None and not np.array_equal(model.classes_, self.classes):
            raise ValueError(
                f"y has the classes {self.classes.tolist()!s:.60}, but the estimator was fitted to "
                f"{model.classes_.tolist()!s:.60}: pass its training rows"
            )
        d, known, name = self.X.shape[1], model.n_features_in_, type(model).__name__
        if d != known:
            raise ValueError(f"X has {d} features, but {name} was fitted to {known}")
        layers, activation, ridge = _layers_of(model, self.X, self.y)
        if self.classes is not None:
            layers, ridge = _two_outputs(layers, ridge)
        network = Network.of(layers, activation)
        make = SquaredProblem if self.classes is None else DenseProblem
        self.problem = make(network, self.X, self.y)
        self.theta, self.ridge = network.flat(layers), network.flat(ridge)
        self.n_last = sum(part.size for part in layers[-1])
        self.free = network.is_weight() | getattr(model, "fit_intercept", True)

    def losses(self):
        return np.array([self.problem.loss(self.theta).mean()])

    def _tangents(self, V):
        """Rows and what they add, some rows at a time."""
        n = len(self.y)
        for first in range(0, n, ROWS):
            rows = np.arange(first, min(first + ROWS, n))
            weight = np.full(len(rows), 1.0 / n)
            yield rows, *self.problem.tangents(self.theta, rows, weight, V)

    def _times_hessian(self, V):
        """Each row of V times H, with the damping."""
        out = V * (self.damping + (0.0 if self.ridge is None else self.ridge))
        for _, bent, _ in self._tangents(V):
            out += bent
        return self._within(out)

    def _within(self, V):
        """Directions without what does not move the model: a shift of all its scores."""
        if self.ridge is not None:
            V = V * self.free
        if self.ridge is not None and self.classes is not None:
            last = V[:, -self.n_last :].reshape(len(V), -1, len(self.classes))
            last -= last.mean(axis=2, keepdims=True)
        return V

    def derivatives(self, groups, direct):
        """Derivatives by the inputs, `(n_groups, n, ...)`, in a list: there is one time only."""
        n = len(self.y)
        pairs = [self.problem.gradient(self.theta, slice(None), weight) for weight in groups]
        sides = [by_weights for by_weights, _ in pairs]
        if self.ridge is not None:
            mean, _ = self.problem.gradient(self.theta, slice(None), np.full(n, 1.0 / n))
            sides.append(mean + self.ridge * self.theta)
        sides = self._within(np.array(sides))
        size = np.linalg.norm(sides, axis=1)
        size[len(groups) :] = size.max()
        found, (n_iter, left, least) = conjugate_gradients(
            self._times_hessian, sides, tol=SMALL, max_iter=MOST_ITERATIONS, size=size
        )
        _tell(n_iter, left, least, self.damping)
        if self.ridge is not None and least > 0.0:
            self._check_minimum(float(sides[-1] @ found[-1]) / 2.0)
        out = np.empty((len(groups), *self.X.shape))
        for rows, _, by_inputs in self._tangents(-found[: len(groups)]):
            out[:, rows] = by_inputs
        if direct:
            out += np.array([by_inputs for _, by_inputs in pairs])
        return [back_through(self.steps, out)]

    def _check_minimum(self, gain):
        value = float(self.losses()[0] + self.ridge @ self.theta**2 / 2.0)
        if not gain <= models.SETTLED * value:
            warn(
                f"the estimator is not at a minimum of its objective on X and y: a Newton step "
                f"would lower {value:.3g} by {gain:.2g}. Lower its tol, or take method='unrolled'",
                ConvergenceWarning,
            )


def _layers_of(model, X, y):
    """``(layers, activation, ridge)`` of a fitted estimator; ridge has the form of the layers."""
    n, own = len(X), 0.0
    if isinstance(model, NETWORKS):
        check.choice(model.loss, "loss", LOSSES)
        layers = layers_of(model)
        size = 200 if check.is_auto(model.batch_size) else model.batch_size
        batch = n if model.solver == "lbfgs" else min(size, n)
        strength, activation = model.alpha / batch, model.activation
    elif isinstance(model, LogisticRegressionCV):
        raise ValueError("estimator is a search over C: fit LogisticRegression with the C it found")
    elif isinstance(model, LogisticRegression):
        if model.l1_ratio or model.penalty in ("l1", "elasticnet"):
            raise ValueError("estimator has an l1 penalty, which has kinks: take l1_ratio=0")
        if model.class_weight is not None:
            raise ValueError("estimator has class_weight, which is not supported here: take None")
        is_free = model.penalty is None or (np.ndim(model.C) == 0 and model.C in (np.inf,))
        strength = 0.0 if is_free else 1.0 / (check.positive(model.C, "C") * n)
        own = strength / model.intercept_scaling**2 if model.solver == "liblinear" else 0.0
    else:
        strength = models.ridge_of(model, X, y) if is_regressor(model) else None
        if strength is None:
            raise not_a_network(model)
    if not isinstance(model, NETWORKS):
        W, b = np.atleast_2d(model.coef_).T, np.ravel(model.intercept_)
        layers, activation = [(W.astype(np.float64), b.astype(np.float64))], "identity"
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


def _tell(n_iter, left, least, damping):
    """Warn of systems that were not solved."""
    if least <= 0.0:
        warn(
            f"the objective has curvature {least:.2g} in a direction with damping={damping:g}, and "
            f"no minimum: take damping well above {damping - least:.2g}, or fit it further",
            ConvergenceWarning,
        )
    elif left > SMALL:
        warn(
            f"conjugate gradients have residual {left:.1g} after {n_iter} iterations, {SMALL:g} "
            f"was wanted; scale the features, or raise damping={damping:g}",
            ConvergenceWarning,
        )
