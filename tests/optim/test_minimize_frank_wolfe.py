"""`minimize_frank_wolfe`: certificates, rates and closed forms of every variant and rule."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import OptimizeResult, nnls
from scipy.spatial.distance import pdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Lasso

from sklearn_fw.optim import domains, minimize_frank_wolfe, objectives

ALL = ["fw", "away", "pairwise", "fully_corrective", "min_norm_point"]
STEPWISE = ["fw", "away", "pairwise"]
RULES = [
    "universal", "fictitious", "exact", "line_search", "short", "curvature", "backtracking"
]  # fmt: skip


def random_domain(rng, kind):
    """A small domain of some kind, and all its vertices."""
    d = int(rng.integers(2, 5))
    if kind == "simplex":
        radius = float(rng.uniform(0.5, 2.0))
        return domains.Simplex(d, radius), radius * np.eye(d)
    if kind == "l1":
        radius = float(rng.uniform(0.5, 2.0))
        return domains.L1Ball(d, radius), radius * np.vstack([np.eye(d), -np.eye(d)])
    if kind == "box":
        low, high = -rng.random(d), rng.random(d)
        vertices = np.array(list(itertools.product(*zip(low, high))))
        return domains.Box(low, high), vertices
    if kind == "hull":
        points = rng.normal(size=(d + 3, d))
        return domains.ConvexHull(points), points
    if kind == "matchings":
        vertices = [np.eye(3)[list(p)].ravel() for p in itertools.permutations(range(3))]
        return domains.BipartiteMatchings((3, 3)), np.array(vertices)
    if kind == "trees":
        edges = [(0, 1), (1, 2), (0, 2), (2, 3)]
        vertices = [[1, 1, 0, 1], [1, 0, 1, 1], [0, 1, 1, 1]]
        return domains.SpanningTrees(edges, 4), np.array(vertices, float)
    first, second = random_domain(rng, "simplex"), random_domain(rng, "box")
    vertices = np.array([np.append(a, b) for a in first[1] for b in second[1]])
    return domains.Product(first[0], second[0]), vertices


KINDS = ["simplex", "l1", "box", "hull", "matchings", "trees", "product"]


def random_quadratic(rng, size, vertices):
    """A convex quadratic, at times flat in some directions."""
    factor = rng.normal(size=(int(rng.integers(1, size + 2)), size))
    target = rng.normal(size=len(factor)) + factor @ vertices[0] * rng.integers(0, 2)
    return objectives.LeastSquares(factor, target)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("kind", KINDS)
def test_no_certificate_is_below_the_error(kind, rng):
    """On random problems, in every iteration, whatever the variant and the rule."""
    for _ in range(30):
        domain, vertices = random_domain(rng, kind)
        objective = random_quadratic(rng, domain.size, vertices)
        best = minimum_of_quadratic(objective, vertices)
        variant, rule = str(rng.choice(ALL)), str(rng.choice(RULES))
        result = minimize_frank_wolfe(
            objective, domain, variant=variant, step_size=rule, max_iter=60, tol=1e-10,
            curvature=objective.lipschitz * np.max(pdist(vertices)) ** 2,
        )  # fmt: skip
        scale = max(abs(best), objective(np.zeros(domain.size))[0], 1.0)
        values, gaps = result.history["objective"], result.history["dual_gap"]
        assert np.all(gaps >= values - best - 1e-9 * scale), (variant, rule)
        assert np.all(values >= best - 1e-9 * scale)
        assert result.dual_gap >= result.fun - best - 1e-9 * scale
        value, gradient = objective(result.x)
        assert result.fun == pytest.approx(value, rel=1e-12, abs=1e-12)
        gap = gradient @ result.x - np.min(vertices @ gradient)
        assert result.dual_gap == pytest.approx(gap, rel=1e-6, abs=1e-11 * scale)
        assert domain.contains(result.x, 1e-9)


def minimum_of_quadratic(objective, vertices):
    """The minimum over a hull: supports by least squares, which knows nothing of gradients."""
    images = np.array([objective.image(v) for v in vertices])
    heavy = 1e4 * max(1.0, np.abs(images).max())
    matrix = np.vstack([images.T, np.full(len(vertices), heavy)])
    weights, _ = nnls(matrix, np.append(objective.y, heavy), maxiter=1000)
    used, value = weights > 1e-9, objective(weights / weights.sum() @ vertices)[0]
    # Without the penalty on the sum, which is not exact: equations on the support that it found.
    ones = np.ones((used.sum(), 1))
    system = np.block([[images[used] @ images[used].T, ones], [ones.T, np.zeros((1, 1))]])
    solved = np.linalg.lstsq(system, np.append(images[used] @ objective.y, 1.0), rcond=None)[0][:-1]
    if np.all(solved >= -1e-9):
        solved = np.maximum(solved, 0.0) / np.maximum(solved, 0.0).sum()
        value = min(value, objective(solved @ vertices[used])[0])
    return value


@pytest.mark.parametrize("variant", ALL)
@pytest.mark.parametrize("kind", KINDS)
def test_variants_find_the_optimum(kind, variant, rng):
    domain, vertices = random_domain(rng, kind)
    objective = random_quadratic(rng, domain.size, vertices)
    best = minimum_of_quadratic(objective, vertices)
    tol = 1e-2 if variant == "fw" else 1e-8
    result = minimize_frank_wolfe(objective, domain, variant=variant, tol=tol)
    assert result.success
    assert result.dual_gap <= tol
    assert -1e-9 <= result.fun - best <= tol
    assert np.all(np.diff(result.history["objective"]) <= 1e-10)
    if variant == "fw":
        assert result.atoms is None
        return
    assert result.weights.min() > 0.0
    assert result.weights.sum() == pytest.approx(1.0, abs=1e-12)
    x = sum(w * atom.to_array() for w, atom in zip(result.weights, result.atoms))
    np.testing.assert_allclose(result.x, x, rtol=0, atol=1e-10)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("variant", STEPWISE)
def test_plain_callables_take_every_rule(variant, rule, rng):
    center, domain = rng.normal(size=5), domains.Simplex(5)

    class Distance:
        lipschitz = 1.0

        def __call__(self, x):
            return 0.5 * np.sum((x - center) ** 2), x - center

        def curvature(self, direction):
            return direction @ direction

    result = minimize_frank_wolfe(Distance(), domain, variant=variant, step_size=rule, tol=0.02)
    assert result.success
    best = 0.5 * np.sum((domain.project(center) - center) ** 2)
    assert -1e-12 <= result.fun - best <= result.dual_gap + 1e-12
    assert result.step_size == rule


# ---- rates ---------------------------------------------------------------------------------------


def test_drops_are_counted_and_few(rng):
    """At most half of the steps of away-step Frank-Wolfe from one vertex drop one."""
    dropped = 0
    for _ in range(20):
        A = rng.normal(size=(15, 30))
        objective = objectives.LeastSquares(A, rng.normal(size=15))
        result = minimize_frank_wolfe(objective, domains.Simplex(30), variant="away", tol=1e-8)
        n_drop = result.history["n_drop"]
        assert np.all(n_drop <= np.arange(len(n_drop)) / 2)
        assert len(result.atoms) <= 1 + result.nit - 2 * result.n_drop
        dropped += result.n_drop
    assert dropped > 0


@pytest.mark.parametrize("rule", ["universal", "exact", "line_search", "curvature"])
def test_plain_steps_have_the_rate_of_the_curvature_constant(rule, rng):
    """h_t <= 2 C / (t + 2), with C = 4 r^2 max |a_j|^2 on the l1 ball."""
    A = rng.normal(size=(20, 10))
    objective = objectives.LeastSquares(A, A.sum(axis=1) + rng.normal(size=20))
    domain = domains.L1Ball(10, radius=4.0)
    constant = 4 * 4.0**2 * np.max(np.sum(A * A, axis=0))
    best = minimize_frank_wolfe(objective, domain, tol=1e-10).fun
    with pytest.warns(ConvergenceWarning, match="increase max_iter or tol"):
        result = minimize_frank_wolfe(
            objective, domain, variant="fw", step_size=rule, curvature=constant, tol=1e-10,
            max_iter=200,
        )  # fmt: skip
    errors = result.history["objective"] - best
    t = np.arange(1, len(errors))
    assert np.all(errors[1:] <= 2 * constant / (t + 2) + 1e-12)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("variant", STEPWISE)
def test_runs_are_affine_invariant(variant, rng):
    """The l1 ball, and the simplex over its vertices in other coordinates.

    Not with exact steps: these end where two atoms promise the same, and rounding picks one.
    """
    A, b = rng.normal(size=(12, 7)), 3.0 * rng.normal(size=12)
    vertices = 1.5 * np.vstack([np.eye(7), -np.eye(7)])
    options = {
        "variant": variant, "step_size": "curvature", "tol": 1e-7, "max_iter": 80,
        "curvature": 4 * 1.5**2 * np.max(np.sum(A * A, axis=0)),
    }  # fmt: skip
    first = minimize_frank_wolfe(
        objectives.LeastSquares(A, b), domains.L1Ball(7, 1.5), start=vertices[2], **options
    )
    second = minimize_frank_wolfe(
        objectives.LeastSquares(A @ vertices.T, b), domains.Simplex(14), start=np.eye(14)[2],
        **options,
    )  # fmt: skip
    assert first.nit == second.nit > 20
    for name in ("objective", "dual_gap", "step_size"):
        np.testing.assert_allclose(first.history[name], second.history[name], rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(first.x, second.x @ vertices, rtol=0, atol=1e-10)


# ---- closed forms --------------------------------------------------------------------------------


def test_the_solution_of_the_lasso():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 20))
    y = X[:, :4] @ [2.0, -1.0, 1.0, 0.5] + 0.1 * rng.normal(size=60)
    lasso = Lasso(alpha=0.2, fit_intercept=False, tol=1e-12, max_iter=100_000).fit(X, y)
    radius = np.abs(lasso.coef_).sum()
    objective = objectives.LeastSquares(X, y, mean=True)
    result = minimize_frank_wolfe(objective, domains.L1Ball(20, radius), tol=1e-12)
    np.testing.assert_allclose(result.x, lasso.coef_, rtol=0, atol=1e-5)
    assert np.abs(result.jac).max() == pytest.approx(0.2, rel=1e-5)


def test_iterations_of_the_constrained_lasso():
    """Counts of the figure in the paper's setting; they depend on rounding a little."""
    for seed, n_pairwise, n_calls in ((0, 1064, 63), (1, 673, 59)):
        rng = np.random.RandomState(seed)
        A, x = rng.randn(200, 500), np.repeat([1.0, -1.0, 0.0], [25, 25, 450])
        objective = objectives.LeastSquares(A, A @ x + 0.1 * rng.randn(200))
        domain = domains.L1Ball(500, 20.0)
        result = minimize_frank_wolfe(objective, domain, variant="pairwise", tol=1e-8)
        assert result.success
        assert result.nit <= 1.1 * n_pairwise
        assert result.n_drop <= 2
        for variant in ("fully_corrective", "min_norm_point"):
            result = minimize_frank_wolfe(objective, domain, variant=variant, tol=1e-8)
            assert result.success
            assert result.n_oracle_calls <= n_calls + 2


# ---- functions that are not convex ---------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("rule", ["exact", "line_search", "curvature", "backtracking"])
def test_stationary_points_of_indefinite_quadratics(rule, rng):
    """min_k g_k <= max(2 h_0, C) / sqrt(t + 1)."""
    for _ in range(10):
        Q = rng.normal(size=(6, 6))
        Q = Q + Q.T
        objective = objectives.Quadratic(Q)
        constant = max(2.0 * np.linalg.eigvalsh(Q)[-1], 1e-6)
        result = minimize_frank_wolfe(
            objective, domains.Simplex(6), variant="fw", step_size=rule, convex=False, tol=1e-9,
            curvature=constant, max_iter=100,
        )  # fmt: skip
        gaps, values = result.history["dual_gap"], result.history["objective"]
        lowest = lowest_on_simplex(Q)
        bound = max(2 * (values[0] - lowest), constant) / np.sqrt(np.arange(len(gaps)) + 1)
        assert np.all(np.minimum.accumulate(gaps) <= bound + 1e-9)
        assert result.dual_gap == pytest.approx(gaps.min(), abs=1e-9)
        assert np.all(np.diff(values) <= 1e-12)


def lowest_on_simplex(Q):
    """Minimum of x'Qx / 2 by all supports."""
    best, n = np.inf, len(Q)
    for size in range(1, n + 1):
        for support in map(list, itertools.combinations(range(n), size)):
            block, ones = Q[np.ix_(support, support)], np.ones(size)
            system = np.block([[block, -ones[:, None]], [ones[None], np.zeros((1, 1))]])
            weights = np.linalg.lstsq(system, np.append(np.zeros(size), 1.0), rcond=None)[0][:-1]
            if np.all(weights >= -1e-9):
                best = min(best, 0.5 * weights @ block @ weights)
    return best


# ---- oracles, starts, callbacks ------------------------------------------------------------------


def test_multiplicative_accuracy_divides_the_certificate(rng):
    class HalfGood(domains.Simplex):
        """Answers with any vertex that promises half of the best."""

        def lmo(self, gradient):
            order = np.argsort(gradient, kind="stable")
            here = float(gradient @ self.point)
            enough = [i for i in order if here - gradient[i] >= 0.5 * (here - gradient.min())]
            return domains.SparseAtom(self.size, [int(enough[-1])])

    center, domain = rng.normal(size=6), HalfGood(6)
    domain.point = np.eye(6)[0]
    best = 0.5 * np.sum((domains.Simplex(6).project(center) - center) ** 2)

    def objective(x):
        domain.point = x.copy()
        return 0.5 * np.sum((x - center) ** 2), x - center

    result = minimize_frank_wolfe(
        objective, domain, variant="fw", lmo_accuracy=0.5, tol=0.05, start=np.eye(6)[0]
    )
    assert result.success
    assert np.all(result.history["dual_gap"] >= result.history["objective"] - best - 1e-12)
    np.testing.assert_allclose(
        result.history["dual_gap"], 2 * result.history["estimated_gap"], rtol=1e-12
    )


@pytest.mark.parametrize("variant", ["away", "pairwise", "fully_corrective", "min_norm_point"])
def test_results_are_starts(variant, rng):
    A, b = rng.normal(size=(30, 40)), rng.normal(size=30)
    objective, domain = objectives.LeastSquares(A, b), domains.L1Ball(40, 1.5)
    cold = minimize_frank_wolfe(objective, domain, variant=variant, tol=1e-8)
    warm = minimize_frank_wolfe(objective, domain, variant=variant, tol=1e-8, start=cold)
    assert warm.nit <= 2
    assert warm.fun == pytest.approx(cold.fun, rel=1e-10)
    moved = objectives.LeastSquares(A, b + 1e-3)
    again = minimize_frank_wolfe(moved, domain, variant=variant, tol=1e-6, start=cold)
    fresh = minimize_frank_wolfe(moved, domain, variant=variant, tol=1e-6)
    assert again.nit < fresh.nit
    given = minimize_frank_wolfe(
        objective, domain, variant=variant, start=(cold.atoms, cold.weights), tol=1e-8
    )
    assert given.nit == warm.nit


def test_callbacks_see_every_iterate_and_end_the_run(rng):
    seen = []

    def callback(state):
        seen.append(state)
        assert isinstance(state, OptimizeResult)
        return len(seen) == 5

    objective = objectives.Quadratic(np.eye(6), -rng.normal(size=6))
    result = minimize_frank_wolfe(objective, domains.L1Ball(6), tol=0.0, callback=callback)
    assert result.status == "stopped"
    assert [state.nit for state in seen] == [1, 2, 3, 4, 5]
    for state in seen:
        assert state.fun == pytest.approx(objective(state.x)[0], rel=1e-10)
    assert result.dual_gap == pytest.approx(min(state.dual_gap for state in seen), rel=1e-9)


@pytest.mark.parametrize("variant", ["auto", "fully_corrective", "pairwise", "away"])
def test_functions_that_are_not_quadratic(variant, rng):
    X, y = rng.normal(size=(80, 12)), np.sign(rng.normal(size=80))
    objective, domain = objectives.Composite("log_loss", X, y), domains.L1Ball(12, 2.0)
    result = minimize_frank_wolfe(objective, domain, variant=variant, tol=1e-7)
    assert result.success

    other = minimize_frank_wolfe(lambda x: objective(x), domain, variant=variant, tol=1e-7)
    assert other.success
    assert abs(result.fun - other.fun) <= 2e-7


@pytest.mark.parametrize("variant", ["auto", "fully_corrective", "fw"])
def test_completion_of_a_matrix(variant, rng):
    """Observed entries as a sparse matrix, against dense singular values; x is made at the end."""
    shape, radius = (12, 9), 6.0
    truth = rng.normal(size=(12, 2)) @ rng.normal(size=(2, 9))
    places = np.sort(rng.choice(108, 20, replace=False))
    A = sp.csr_matrix((np.ones(20), (np.arange(20), places)), shape=(20, 108))
    objective = objectives.LeastSquares(A, truth.ravel()[places])
    domain = domains.NuclearNormBall(shape, radius)
    tol = 0.5 if variant == "fw" else 1e-2
    result = minimize_frank_wolfe(objective, domain, variant=variant, tol=tol)
    assert result.success
    value, gradient = objective(result.x)
    assert result.fun == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(result.jac, gradient, rtol=0, atol=1e-12)
    top = np.linalg.norm(gradient.reshape(shape), 2)
    gap = gradient @ result.x + radius * top
    assert gap - 1e-9 <= result.dual_gap <= tol
    assert np.linalg.norm(result.x.reshape(shape), "nuc") <= radius * (1 + 1e-9)
    x = sum(w * atom.to_array() for w, atom in zip(result.weights, result.atoms))
    np.testing.assert_allclose(result.x, x, rtol=0, atol=1e-10)
    dense = minimize_frank_wolfe(lambda x: objective(x), domain, variant="fw", tol=0.5)
    assert abs(dense.fun - result.fun) <= 0.5
