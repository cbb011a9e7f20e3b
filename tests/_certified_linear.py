"""Random small linear problems, and what the certificates of their fits claim."""

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize

from _linear_references import LOSSES
from sklearn_fw import AsagaClassifier, AsagaRegressor, regularization_path
from sklearn_fw.losses import resolve_loss
from sklearn_fw.optim import minimize_saga
from sklearn_fw.penalties import Box, GroupLasso, L2Ball, Simplex

SHARE = 1e-9
MARGINS = ["log_loss", "squared_hinge", "smooth_hinge", "modified_huber"]
RESIDUALS = ["squared_error", "huber", "squared_epsilon_insensitive"]
SOLVERS = [
    "asaga", "auto", "lagged_saga", "newton", "newton_cg", "sag", "saga", "sdca", "sparse_saga",
    "svrg",
]  # fmt: skip
N_STEPS = 600


# ---- reference -----------------------------------------------------------------------------------


class Problem:
    """The mean form of an objective, written down from the docstring of `minimize_saga`."""

    def __init__(
        self, X, y, loss, penalty, alpha, weight=None, fit_intercept=False, n_outputs=None
    ):
        self.X, self.y = X, y
        self.phi, self.slope, self.curvature = LOSSES[loss]
        self.alpha, self.fit_intercept = alpha, fit_intercept
        self.penalty = penalty.bind(X.shape[1])
        weight = np.ones(len(y)) if weight is None else weight
        self.weight = weight / weight.sum()
        self.tail = () if n_outputs is None else (n_outputs,)

    def value(self, w, c):
        penalty = self.alpha * self.penalty.value(w) if self.alpha else 0.0
        return float(self.weight @ self.phi(self.y, self.X @ w + c) + penalty)

    def optimum(self, w, c):
        """The lowest value on the way of an accelerated proximal gradient from some point."""
        X, s = self.X, self.weight.reshape(-1, *(1 for _ in self.tail))
        # The intercept has a column of its own, as large as the others are together.
        scale = np.sqrt(self.weight @ np.sum(X**2, axis=1)) if self.fit_intercept else 0.0
        scale = scale or float(self.fit_intercept)
        Z = np.column_stack([X, np.full(len(X), scale)])
        length = self.curvature * np.linalg.norm(np.sqrt(self.weight)[:, None] * Z, 2) ** 2
        if length == 0.0:
            return self.value(w, c)
        step = 1.0 / length
        prox = self.penalty.scaled(self.alpha).prox if self.alpha else lambda u, step: u
        x = np.concatenate([w, [c / scale if scale else np.zeros(self.tail)]])
        best, ahead, t = self.value(w, c), x, 1.0
        for k in range(N_STEPS):
            u = ahead - step * (Z.T @ (s * self.slope(self.y, Z @ ahead)))
            new = np.concatenate([prox(u[:-1], step), u[-1:]])
            if np.sum((ahead - new) * (new - x)) > 0:
                t = 1.0
            t_next = (1 + np.sqrt(1 + 4 * t * t)) / 2
            ahead, x, t = new + (t - 1) / t_next * (new - x), new, t_next
            if k % 20 == 19:
                best = min(best, self.value(x[:-1], scale * x[-1]))
        if self.is_smooth:
            shape = x.shape
            found = minimize(
                lambda v: self.value(v.reshape(shape)[:-1], scale * v.reshape(shape)[-1]),
                x.ravel(), jac=lambda v: self._gradient(Z, s, v.reshape(shape)).ravel(),
                method="L-BFGS-B", options={"maxiter": 500, "ftol": 0.0, "gtol": 1e-14},
            )  # fmt: skip
            best = min(best, found.fun)
        return best

    is_smooth = False

    def _gradient(self, Z, s, x):
        gradient = Z.T @ (s * self.slope(self.y, Z @ x))
        gradient[:-1] += self.alpha * x[:-1]
        return gradient


# ---- random problems -----------------------------------------------------------------------------


def random_data(rng, task):
    """Rows of a few columns of any size, and a truth for them."""
    n, d = int(rng.integers(4, 25)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.3:
        X *= 10.0 ** rng.uniform(-2, 2, d)
    if rng.random() < 0.3:
        X *= rng.random((n, d)) < 0.5
    if rng.random() < 0.2:
        X += 3.0 * rng.normal(size=d)
    if rng.random() < 0.15 and d > 1:
        X[:, -1] = X[:, 0]
    if rng.random() < 0.1:
        X[:, 0] = 0.0
    z = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-9) @ rng.normal(size=d) + rng.normal(size=n)
    if task == "margin":
        y = np.where(z > np.median(z), 1.0, -1.0)
        y[:2] = -1.0, 1.0
        return X, y
    if task == "classes":
        y = np.digitize(z, np.quantile(z, [0.3, 0.6]))
        y[:3] = 0, 1, 2
        return X, y
    return X, z * 10.0 ** rng.uniform(-3, 3) if rng.random() < 0.3 else z


def elastic_net(l1_ratio):
    return Box(-np.inf, np.inf, l1=l1_ratio, l2=1.0 - l1_ratio)


def random_penalty(rng, d):
    """(parameters of the functions, the same penalty as an object)."""
    if rng.random() < 0.6:
        l1_ratio = float(rng.choice([0.0, 1.0, rng.random()]))
        return {"l1_ratio": l1_ratio}, elastic_net(l1_ratio)
    labels = np.sort(rng.integers(2, size=d))
    labels -= labels.min()
    penalty = [
        lambda: Box(-0.3, float(rng.uniform(0.1, 2.0))),
        lambda: Box(0.1, np.inf, l1=0.2),
        lambda: Box(l2=0.5),
        lambda: Box(l1=0.3),
        lambda: GroupLasso(labels),
        lambda: GroupLasso(labels, l1=0.2, l2=0.3),
        lambda: L2Ball(float(rng.uniform(0.05, 2.0)), labels),
        lambda: Simplex(float(rng.uniform(0.1, 2.0)), labels),
    ][rng.integers(8)]()
    return {"penalty": penalty}, penalty


def random_solver(rng):
    return SOLVERS[rng.integers(len(SOLVERS))]


def budget(rng):
    return {
        "tol": float(rng.choice([0.3, 1e-2, 1e-4, 1e-12])), "max_iter": int(rng.integers(1, 60)),
        "random_state": int(rng.integers(1000)),
    }  # fmt: skip


def asked(function):
    """What a solver answers; None where it says that it cannot take such a problem."""
    try:
        return function()
    except ValueError as error:
        if "solver" in str(error) or "penalt" in str(error) or "loss" in str(error):
            return None
        raise


# ---- what is claimed -----------------------------------------------------------------------------


def claims(problem, what, w, c, gap, objective):
    """The value is what it is said to be, and at most ``gap`` above the optimum."""
    value = problem.value(w, c)
    assert np.isfinite(value), what
    # Where losses cancel against each other nothing is left: the unit is that of zero weights.
    rounding = 1e-14 * abs(problem.value(np.zeros_like(w), np.zeros(problem.tail)))
    rounding = rounding if np.isfinite(rounding) else 0.0
    assert abs(value - objective) <= SHARE * abs(value) + rounding, (what, value, objective)
    if gap is not None:
        optimum = problem.optimum(w, c)
        slack = SHARE * abs(value) + rounding
        assert gap >= value - optimum - slack, (what, value, optimum, gap)
        assert gap >= -slack, (what, gap)


def function(rng):
    """`minimize_saga`: every loss, penalty and solver."""
    loss = [*MARGINS, *RESIDUALS, "multinomial"][rng.integers(8)]
    task = "margin" if loss in MARGINS else "classes" if loss == "multinomial" else "numbers"
    X, y = random_data(rng, task)
    given, penalty = random_penalty(rng, X.shape[1])
    alpha = float(10.0 ** rng.uniform(-4, 1))
    weight = rng.integers(0, 4, len(y)) + (np.arange(len(y)) < 3) if rng.random() < 0.4 else None
    fit_intercept, solver = bool(rng.random() < 0.5), random_solver(rng)
    if weight is not None:
        weight = weight * 10.0 ** rng.uniform(-3, 3)
    data = sp.csr_array(X) if rng.random() < 0.4 else X
    settings = {"loss": loss, "alpha": alpha, "solver": solver, **given, **budget(rng)}
    result = asked(
        lambda: minimize_saga(
            data, y, sample_weight=weight, fit_intercept=fit_intercept, **settings
        )
    )
    if result is None:
        return
    problem = Problem(
        X, y, loss, penalty, alpha, weight, fit_intercept, 3 if loss == "multinomial" else None
    )
    problem.is_smooth = given.get("l1_ratio") == 0.0
    claims(problem, settings, result.x, result.intercept, result.dual_gap, result.fun)


def estimator(rng):
    """`AsagaClassifier` with two classes and three, and `AsagaRegressor`, with every loss."""
    kind = ["margin", "classes", "numbers"][rng.integers(3)]
    loss = {"margin": MARGINS[rng.integers(4)], "classes": "multinomial"}.get(
        kind, RESIDUALS[rng.integers(3)]
    )
    X, y = random_data(rng, kind)
    given, penalty = random_penalty(rng, X.shape[1])
    fit_intercept = bool(rng.random() < 0.7)
    solver = "auto" if rng.random() < 0.4 else random_solver(rng)
    weight = rng.uniform(0.1, 3.0, len(y)) if rng.random() < 0.3 else None
    total = len(y) if weight is None else weight.sum()
    options = {"solver": solver, "fit_intercept": fit_intercept, **given, **budget(rng)}
    if kind == "numbers":
        alpha = "auto" if rng.random() < 0.2 else float(10.0 ** rng.uniform(-4, 2))
        model = AsagaRegressor(resolve_loss(loss, None), alpha=alpha, **options)
    else:
        name = "log_loss" if kind == "classes" else loss
        model = AsagaClassifier(name, C=float(10.0 ** rng.uniform(-3, 3)), **options)
    data = sp.csr_array(X) if rng.random() < 0.4 else X
    if asked(lambda: model.fit(data, y, sample_weight=weight)) is None:
        return
    several = kind == "classes"
    alpha = model.alpha_ if kind == "numbers" else 1.0 / (model.C * total)
    units = getattr(model, "scale_", None)  # of the columns that the penalty sees
    units = np.ones(X.shape[1]) if units is None else units
    n_outputs = 3 if several else None
    problem = Problem(X / units, y, loss, penalty, alpha, weight, fit_intercept, n_outputs)
    problem.is_smooth = given.get("l1_ratio") == 0.0
    w, c = np.ravel(model.coef_), np.ravel(model.intercept_)[0]
    w, c = (model.coef_.T, model.intercept_) if several else (w * units, c)
    claims(problem, model, w, c, model.dual_gap_, model.objective_)


def path(rng):
    """Every value of a path."""
    l1_ratio = float(rng.choice([0.0, 0.5, 1.0]))
    if rng.random() < 0.5:
        loss = RESIDUALS[rng.integers(3)]
        X, y = random_data(rng, "numbers")
        model = AsagaRegressor(resolve_loss(loss, None), l1_ratio=l1_ratio, **budget(rng))
        grid = {"alphas": np.sort(10.0 ** rng.uniform(-3, 1, 3))[::-1]}
    else:
        loss = MARGINS[rng.integers(4)]
        X, y = random_data(rng, "margin")
        model = AsagaClassifier(loss, l1_ratio=l1_ratio, **budget(rng))
        grid = {"Cs": np.sort(10.0 ** rng.uniform(-2, 2, 3))}
    made = regularization_path(model, X, y, **grid)
    for value in made.values_:
        fit = made.estimator_at(value)
        alpha = value if "alphas" in grid else 1.0 / (value * len(y))
        problem = Problem(X, y, loss, elastic_net(l1_ratio), alpha, None, True)
        problem.is_smooth = l1_ratio == 0.0
        w, c = np.ravel(fit.coef_), np.ravel(fit.intercept_)[0]
        claims(problem, fit, w, c, fit.dual_gap_, fit.objective_)
