"""SAGA that refreshes or shares the memory of neighbours: steps, bounds, limits, accuracy."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.preprocessing import normalize, scale

from _clustered import clustered
from _linear_referees import LOSSES, minimize_linear
from _neighbor_problems import begin, make_problem
from sklearn_fw._kernels._jit import njit
from sklearn_fw._kernels.incremental import memory as kernels
from sklearn_fw.losses import resolve_loss
from sklearn_fw.optim._incremental._finite_sum import FiniteSum
from sklearn_fw.optim._incremental._minimize_saga import solve
from sklearn_fw.optim._incremental._run import Start
from sklearn_fw.optim._incremental._saga import SparseSaga
from sklearn_fw.optim._incremental._solvers import resolve_incremental_solver
from sklearn_fw.optim.experimental._neighbor_saga import NeighborSaga
from sklearn_fw.optim.experimental._neighbors import neighbor_graph
from sklearn_fw.penalties import L2, Box, ElasticNet, GroupLasso, resolve_penalty

VARIANTS = ["q_saga", "n_saga", "shared_n_saga", "epsilon_n_saga"]
SINGLE = [name for name in LOSSES if name != "multinomial"]


# ---- the step ------------------------------------------------------------------------------------


class SlowNeighborSaga:
    """The method of the paper in the sum form, every quantity from its definition."""

    def __init__(self, problem, loss, epsilon, engine):
        X = problem.X.toarray() if sp.issparse(problem.X) else problem.X
        self.X = X if engine.center is None else X - engine.center
        self.problem, self.slope, self.epsilon = problem, LOSSES[loss][1], epsilon
        self.gamma, self.used = engine.gamma, np.sort(problem.active)
        self.metric = np.ones(X.shape[1]) if engine.metric is None else engine.metric
        self.weight = np.ones(len(X)) if problem.weight is None else problem.weight
        self.w, self.c, self.memory = engine.state[:-1, 0].copy(), engine.state[-1, 0], 0.0
        self.memory, self.filled = np.zeros(len(X)), np.zeros(len(X), bool)
        touched = X != 0 if sp.issparse(problem.X) else np.ones(X.shape, bool)
        self.touched, self.counts = touched, np.maximum(touched[self.used].sum(axis=0), 1)
        self.norm = np.sqrt(np.square(self.X).sum(axis=1) + problem.fit_intercept)

    def shares(self, i, j, distance, z):
        """Whether no score of a row at that distance has a slope much different from this one."""
        if np.isinf(distance) or self.epsilon < 0:
            return False
        y = self.problem.y
        radius = distance * np.linalg.norm(self.w) + abs(y[i] - y[j])
        ends = np.abs(self.slope(y[i], z + radius * np.array([-1, 1])) - self.slope(y[i], z))
        change = min(ends.max(), self.problem.loss.smoothness * radius)
        return self.weight[j] * change * self.norm[j] <= self.epsilon

    def step(self, i, members, distances):
        y, n = self.problem.y, self.used.size
        scores = self.X @ self.w + self.c
        own = self.slope(y, scores)
        fresh = [
            own[i] if j == i or self.shares(i, j, distance, scores[i]) else own[j]
            for j, distance in zip(members, distances)
        ]
        part = n / max(1, self.filled.sum())
        total, mass = part * (self.X.T @ self.memory), part * self.memory.sum()
        change = self.weight[i] * own[i] - self.memory[i]
        moving, gamma = self.touched[i], self.gamma[0] * self.metric
        u = self.w - gamma * (change * self.X[i] + total / self.counts)
        full = self.problem.penalty.prox(u, gamma / self.counts)
        self.w = np.where(moving, full, self.w)
        self.c -= self.gamma[1] * (change + mass / n)
        self.memory[members] = self.weight[members] * fresh
        self.filled[members] = True


STEPS = {
    "plain": ("log_loss", {}),
    "sparse": ("squared_hinge", {"dense": False, "penalty": ElasticNet()}),
    "centred": ("log_loss", {"intercept": True}),
    "sparse, intercept": ("huber", {"dense": False, "intercept": True}),
    "weights": ("modified_huber", {"weight": np.arange(60.0) % 4, "intercept": True}),
    "box": ("squared_error", {"penalty": Box(-0.2, 0.3, l1=0.1)}),
}


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("name", STEPS)
def test_steps_are_those_of_the_paper(name, variant):
    loss, options = STEPS[name]
    problem = make_problem(loss, n=60, d=5, n_clusters=8, **options)
    run = begin(problem, variant=variant, n_neighbors=4, epsilon=0.1)
    engine = run.engine
    if variant == "q_saga":
        engine.connect(*run._arcs())
    slow = SlowNeighborSaga(problem, loss, engine.epsilon, engine)
    for i in run.draw().copy():
        part = slice(engine.links.first[i], engine.links.last[i])
        members = engine.links.members[part]
        exact = variant in ("q_saga", "n_saga")
        distances = np.full(members.size, np.inf) if exact else engine.links.distance[part]
        assert set(members) <= set(slow.used)
        engine.run(np.array([i]))
        slow.step(i, members, distances)
    np.testing.assert_allclose(engine.state[:-1, 0], slow.w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(engine.state[-1, 0], slow.c, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(engine.memory, slow.memory, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(engine.state[:-1, 2], slow.X.T @ slow.memory, rtol=0, atol=1e-11)
    assert engine.tally[1] == slow.filled.sum()
    if variant == "epsilon_n_saga":
        assert 0.0 < run.shared_fraction < 0.75  # both branches were tried


@pytest.mark.parametrize("variant", VARIANTS)
def test_every_slot_is_refreshed_equally_often(variant):
    problem = make_problem(n=80, d=4, n_clusters=9)
    run = begin(problem, variant=variant, n_neighbors=6)
    engine, hits = run.engine, np.zeros(80)
    if variant == "q_saga":
        engine.connect(*run._arcs())
    for i in range(80):
        engine.memory[:] = 99.0
        engine.run(np.array([i]))
        assert engine.memory[i] != 99.0
        hits += engine.memory != 99.0
    assert np.all(hits == 6)  # hence with probability q / n for a random row
    assert engine.tally[2:].sum() == 6 * 80


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("dense", [True, False])
def test_sum_of_the_memory_and_direction_are_exact(variant, dense):
    free = resolve_penalty(None)
    problem = make_problem(
        "huber", n=90, d=6, n_clusters=10, dense=dense, intercept=True, penalty=free
    )  # fmt: skip
    run = begin(problem, variant=variant, n_neighbors=5, step_size=1e-3)
    for _ in range(3):
        run.step()
        total = problem.gradient(run.engine.memory)
        np.testing.assert_allclose(run.engine.total(), total, rtol=0, atol=1e-12)
    # The mean of the steps from one point, whatever the memory, is the gradient there.
    coef, intercept = run.engine.point()
    memory = np.random.default_rng(0).standard_normal(90)
    move = np.zeros(6)
    for i in range(90):
        run.engine.move_to(coef, intercept, memory.copy(), problem.gradient(memory))
        run.engine.run(np.array([i]))
        move += run.engine.point()[0] - coef
    slope = LOSSES["huber"][1](problem.y, problem.X @ coef + intercept)
    metric = 1.0 if run.engine.metric is None else run.engine.metric
    gradient = problem.X.T @ slope
    if dense:  # the columns are centred
        gradient = gradient - run.engine.center * slope.sum()
    np.testing.assert_allclose(move, -1e-3 * metric * gradient, rtol=0, atol=1e-12)


# ---- sharing -------------------------------------------------------------------------------------


@njit(cache=False)
def slope_errors(loss, smoothness, y, z, slope, radius, limit, out):
    for i in range(z.size):
        out[i] = kernels.slope_error(loss, smoothness, y[i], z[i], slope[i], radius[i], limit)


@pytest.mark.parametrize("name", SINGLE)
def test_bounds_hold_and_are_tight(name, rng):
    loss, slope = resolve_loss(name, None), LOSSES[name][1]
    n = 20_000
    z = rng.standard_normal(n) * rng.choice([0.1, 1, 5, 50], n)
    radius = np.abs(rng.standard_normal(n)) * rng.choice([0.0, 0.01, 0.3, 3, 60], n)
    y = rng.standard_normal(n) if loss.task == "regression" else rng.choice([-1.0, 1.0], n)
    bound, now = np.empty(n), slope(y, z)
    slope_errors(loss._formula(), loss.smoothness, y, z, now, radius, -1.0, bound)
    for fraction in [-1.0, -0.3, 0.5, 1.0]:
        error = np.abs(slope(y, z + fraction * radius) - now)
        assert np.all(error <= bound * (1 + 1e-12) + 1e-13)
    assert np.all(bound <= loss.smoothness * radius)
    ends = [np.abs(slope(y, z + sign * radius) - now) for sign in (-1, 1)]
    np.testing.assert_allclose(bound, np.max(ends, axis=0), rtol=1e-9, atol=1e-13)  # attained
    if name == "log_loss":  # the bound of the paper, and its mirror image
        with np.errstate(over="ignore", invalid="ignore"):
            for sign in (-1, 1):
                paper = np.expm1(radius) / (1 + np.exp(sign * y * z))
                assert np.all((bound <= paper * (1 + 1e-9) + 1e-13) | np.isnan(paper))


@pytest.mark.parametrize("name", SINGLE)
@pytest.mark.parametrize("far", [False, True])
def test_no_slot_is_worse_than_epsilon(name, far):
    weight = np.random.default_rng(0).uniform(0, 2, 150)
    problem = make_problem(name, n=150, d=5, n_clusters=10, weight=weight, intercept=True)
    # From far away the norm of w falls by orders of magnitude within the first epoch.
    start = Start(np.full(5, 1e6), np.zeros(()), np.zeros(150)) if far else None
    run = begin(problem, epsilon=0.05, n_neighbors=6, start=start)
    engine, slope = run.engine, LOSSES[name][1]
    for _ in range(2):
        order = run.draw()[:100]
        for i in order:
            coef, intercept = engine.point()
            exact = weight * slope(problem.y, problem.X @ coef + intercept)
            engine.run(np.array([i]))
            j = engine.links.members[engine.links.first[i] : engine.links.last[i]]
            error = np.abs(engine.memory[j] - exact[j]) * engine.norms[j]
            # The score of a far point has a rounding error of its own.
            assert error.max() <= 0.05 + 1e-12 + 1e-15 * np.linalg.norm(coef)
        engine.run(order)
    assert far or run.shared_fraction > 0.05


@pytest.mark.parametrize("seed", [2, 3])  # the lost part would make the norm too small
def test_norm_of_the_coefficients_is_never_too_small(seed):
    # Within one call everything falls from 1e8 to less than 1: what is lost in rounding counts.
    far = 1e8 * np.random.default_rng(seed).standard_normal(5)
    order, runs = np.tile(np.arange(400), 2), []
    for n_steps in (order.size - 1, order.size):
        problem = make_problem(n=400, d=5, n_clusters=10, alpha=0.1)
        start = Start(far, np.zeros(()), np.zeros(400))
        engine = begin(problem, epsilon=1e-3, n_neighbors=6, start=start).engine
        engine.run(order[:n_steps])
        runs.append(engine)
    coef, _ = runs[0].point()
    assert np.linalg.norm(coef) < 1.0
    last = slice(runs[1].links.first[399], runs[1].links.last[399])
    j = runs[1].links.members[last]
    exact = LOSSES["log_loss"][1](problem.y[j], problem.X[j] @ coef)
    assert np.abs(runs[1].memory[j] - exact).max() <= 1e-3


FILLED = {"n_neighbors": 5, "sampling": "shuffle"}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"variant": "q_saga", "n_neighbors": 1}, None),
        ({"variant": "n_saga", "n_neighbors": 1}, None),
        ({"epsilon": 0.0, **FILLED}, {"variant": "n_saga", **FILLED}),
        ({"epsilon": np.inf, **FILLED}, {"variant": "shared_n_saga", **FILLED}),
        ({"switch_to_saga": 0}, None),
    ],
    ids=["q=1", "no neighbors", "epsilon=0", "epsilon=inf", "switched at once"],
)
@pytest.mark.parametrize("dense", [True, False])
def test_limits_are_other_methods(first, second, dense):
    points = []
    for params in (first, second):
        problem = make_problem(n=200, d=6, n_clusters=20, dense=dense, intercept=True)
        # With a full memory nothing is special in the first epoch.
        start = Start(np.zeros(6), np.zeros(()), np.zeros(200))
        solver = SparseSaga() if params is None else NeighborSaga(**params)
        run = solver.start(problem, tol=0.0, rng=np.random.RandomState(3), start=start)
        for _ in range(3):
            if params is not None and params.get("variant") == "q_saga":
                run.engine.connect(*run._arcs())
            run.advance(run.draw())
        points.append(run.engine.point())
    np.testing.assert_allclose(points[0][0], points[1][0], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(points[0][1], points[1][1], rtol=1e-12, atol=1e-15)


def test_equal_neighbors_share_without_error(rng):
    X = np.repeat(rng.standard_normal((10, 3)), 4, axis=0)
    y = np.repeat(rng.choice([-1.0, 1.0], 10), 4)
    runs = []
    for variant in ("shared_n_saga", "n_saga"):
        problem = FiniteSum(X, y, resolve_loss("log_loss", None), L2().bind(3).scaled(4.0))
        run = begin(problem, variant=variant, n_neighbors=4)
        run.step()
        run.step()
        runs.append(run)
    np.testing.assert_allclose(*[run.engine.point()[0] for run in runs], rtol=1e-12)
    assert runs[0].shared_fraction == 0.75
    assert runs[1].n_gradient_evaluations == 4 * runs[0].n_gradient_evaluations == 4 * 80


# ---- solutions -----------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["q_saga", "n_saga"])
def test_exact_variants_agree_with_sklearn(variant):
    X, y = load_breast_cancer(return_X_y=True)
    X, y = normalize(scale(X)), 2.0 * y - 1.0
    problem = FiniteSum(X, y, resolve_loss("log_loss", None), L2().bind(30).scaled(1.0))
    run, *_ = solve(
        problem, resolve_incremental_solver(variant), tol=1e-15, max_iter=60,
        rng=np.random.RandomState(0),
    )  # fmt: skip
    model = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-10, max_iter=1000).fit(X, y)
    np.testing.assert_allclose(run.best.coef, model.coef_[0], rtol=0, atol=2e-6)
    assert run.best.dual_gap <= 1e-15
    problem = make_problem("squared_error", n=500, d=8, n_clusters=40, alpha=0.01)
    run, *_ = solve(
        problem, resolve_incremental_solver(variant), tol=0.0, max_iter=30,
        rng=np.random.RandomState(0),
    )  # fmt: skip
    model = Ridge(alpha=5.0, fit_intercept=False, tol=1e-12).fit(problem.X, problem.y)
    np.testing.assert_allclose(run.best.coef, model.coef_, rtol=0, atol=1e-8)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("loss", ["log_loss", "huber"])
def test_solutions_with_weights_intercept_and_bounds(variant, loss):
    weight = np.arange(120) % 3.0
    penalty = ElasticNet(0.3) if loss == "huber" else Box(-0.4, 0.5, l2=1.0)
    problem = make_problem(
        loss, n=120, d=6, n_clusters=12, weight=weight, intercept=True, penalty=penalty
    )  # fmt: skip
    solver = NeighborSaga(variant=variant, n_neighbors=6, switch_to_saga="auto")
    run, *_ = solve(problem, solver, tol=1e-11, max_iter=400, rng=np.random.RandomState(0))
    coef, intercept, objective = minimize_linear(
        problem.X, problem.y, loss, problem.penalty.value, problem.penalty.prox, weight=weight,
        fit_intercept=True,
    )  # fmt: skip
    assert run.best.objective == pytest.approx(objective, rel=1e-10)
    assert run.best.dual_gap <= 1e-11 * problem.null.objective
    np.testing.assert_allclose(run.best.coef, coef, atol=2e-5)
    np.testing.assert_allclose(run.best.intercept, intercept, atol=1e-4)


# ---- the solver ----------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", VARIANTS)
def test_solvers_have_names(variant):
    solver = resolve_incremental_solver(variant)
    assert isinstance(solver, NeighborSaga)
    assert solver.variant == variant


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_not_supported_says_so(variant, rng):
    X, y = rng.standard_normal((20, 4)), rng.integers(0, 3, 20).astype(float)
    groups = GroupLasso([0, 0, 1, 1]).bind(4)
    loss = resolve_loss("log_loss", None)
    problem = FiniteSum(X, np.sign(y - 0.5), loss, groups)
    with pytest.raises(ValueError, match=f"'{variant}' handles penalties .* solver='asaga'"):
        begin(problem, variant=variant)
    loss = resolve_loss("multinomial", None)
    problem = FiniteSum(X, y, loss, L2().bind(4), n_outputs=3)
    with pytest.raises(ValueError, match=f"'{variant}' handles one output .* multi_class='ovr'"):
        begin(problem, variant=variant)


@pytest.mark.parametrize(
    ("params", "error", "message"),
    [
        ({"variant": "saga"}, ValueError, "variant must be one of 'epsilon_n_saga'"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors == 0"),
        ({"epsilon": -0.1}, ValueError, "epsilon must be"),
        ({"epsilon": np.nan}, ValueError, "epsilon must be"),
        ({"neighbors": "near"}, ValueError, "neighbors must be one of"),
        ({"switch_to_saga": "late"}, ValueError, "switch_to_saga must be 'auto' or a number"),
        ({"switch_to_saga": -1}, ValueError, "switch_to_saga == -1"),
        ({"step_size": "long"}, ValueError, "step_size must be one of"),
    ],
)
def test_bad_settings(params, error, message):
    with pytest.raises(error, match=message):
        begin(make_problem(n=20, d=3), **params)


def test_rows_without_weight_are_left_out():
    weight = np.ones(100)
    weight[::3] = 0.0
    X, y = clustered(n=100, d=4, n_clusters=10)
    used = weight > 0
    whole = neighbor_graph(X, y, 5).parents
    loss, penalty = resolve_loss("log_loss", None), L2().bind(4).scaled(1.0)
    for neighbors in ("exact", whole):
        run = begin(
            FiniteSum(X, y, loss, penalty, weight=weight), n_neighbors=5, neighbors=neighbors
        )  # fmt: skip
        run.step()
        assert not np.any(run.engine.memory[~used])
        assert np.all(np.isin(run.engine.links.members, np.flatnonzero(used)))
    fewer = begin(FiniteSum(X[used], y[used], loss, penalty), n_neighbors=5, neighbors="exact")
    run = begin(FiniteSum(X, y, loss, penalty, weight=weight), n_neighbors=5, neighbors="exact")
    fewer.step()
    run.step()
    np.testing.assert_allclose(run.best.coef, fewer.best.coef, rtol=1e-12)


def test_runs_on_one_problem_do_not_disturb_each_other():
    problem = make_problem(n=300, d=5, n_clusters=30)
    graphs = []
    for _ in range(2):
        run = begin(problem, variant="shared_n_saga", n_neighbors=5)
        run.step()  # draws rows in an order of its own
        graphs.append(run.engine.links)
    for first, second in zip(*graphs):
        assert np.array_equal(first, second)


def test_memory_is_exact_after_certify():
    problem = make_problem(n=200, d=5, n_clusters=20, intercept=True)
    run = begin(problem, variant="shared_n_saga", n_neighbors=5)
    run.step()
    coef, intercept = run.engine.point()
    slope = LOSSES["log_loss"][1]
    assert np.abs(run.engine.memory - slope(problem.y, problem.X @ coef + intercept)).max() > 1e-3
    run.certify()
    coef, intercept = run.engine.point()
    exact = slope(problem.y, problem.X @ coef + intercept)
    np.testing.assert_allclose(run.engine.memory, exact, rtol=1e-12)
    assert run.memory_drift < 1e-12
