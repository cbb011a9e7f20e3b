"""The Frank-Wolfe core on every domain: known optima, rates, certificates, inexact oracles."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from _domain_referees import matchings
from sklearn_fw._core.loop import drive
from sklearn_fw._core.result import Status
from sklearn_fw.optim._frank_wolfe._core import Minimisation
from sklearn_fw.optim._frank_wolfe._min_norm_point import HullProjection
from sklearn_fw.optim._frank_wolfe._steps import RULES, Backtracking, named_rule
from sklearn_fw.optim.domains import (
    BipartiteMatchings,
    Box,
    ConvexHull,
    L1Ball,
    L2Ball,
    LocalPolytope,
    MarginalPolytope,
    Matchings,
    Product,
    RankOneAtom,
    Simplex,
    SpanningTrees,
)
from sklearn_fw.optim.domains._atoms import DenseAtom

COMPLETE = list(itertools.combinations(range(4), 2))
CYCLE = [(0, 1), (1, 2), (0, 2)]
DOMAINS = {
    "simplex": Simplex(6),
    "l1 ball": L1Ball(5, radius=2.0),
    "box": Box(-1.0, [1.0, 2.0, 0.5, 0.0]),
    "hull": ConvexHull(np.random.default_rng(0).normal(size=(7, 3))),
    "matchings": BipartiteMatchings((3, 3)),
    "any matchings": BipartiteMatchings((2, 3), perfect=False),
    "pairs": Matchings(4, perfect=True),
    "trees": SpanningTrees(COMPLETE, 4),
    "chain": MarginalPolytope([2, 3, 2], [(0, 1), (1, 2)]),
    "cycle": MarginalPolytope([2, 2, 2], CYCLE),
    "local": LocalPolytope([2, 2, 2], CYCLE),
    "product": Product(Simplex(3), SpanningTrees(CYCLE, 3), Box(0.0, 1.0, size=2)),
}


class Distance:
    """Half the squared distance from a point; counts how often it is asked."""

    def __init__(self, center):
        self.center, self.n_calls = np.asarray(center, dtype=float), 0

    def __call__(self, x):
        self.n_calls += 1
        return 0.5 * np.sum((x - self.center) ** 2), x - self.center

    def curvature(self, direction):
        return direction @ direction


def vertices_of(domain, rng, n=300):
    """Vertices that random gradients meet."""
    found = {}
    for gradient in rng.normal(size=(n, domain.size)):
        atom = domain.lmo(gradient)
        found[atom.key] = atom.to_array()
    return np.array(list(found.values()))


def nearest_value(vertices, center):
    """Half the squared distance from a hull, by a solver for general constraints."""
    m = len(vertices)
    found = minimize(
        lambda a: 0.5 * np.sum((a @ vertices - center) ** 2), np.full(m, 1.0 / m),
        jac=lambda a: vertices @ (a @ vertices - center), bounds=[(0, 1)] * m, method="SLSQP",
        constraints={"type": "eq", "fun": lambda a: a.sum() - 1, "jac": np.ones_like},
        options={"ftol": 1e-15, "maxiter": 1000},
    )  # fmt: skip
    return found.fun


def run(objective, domain, *, tol, max_iter=5000, variant="pairwise", step="exact", **options):
    method = Minimisation(
        objective,
        domain,
        variant=variant,
        rule=named_rule(step, lipschitz=1.0, curvature=4.0, variant=variant),
        **options,
    )
    return method, *drive(method, tol=tol, max_iter=max_iter)


@pytest.mark.parametrize("variant", ["fw", "away", "pairwise"])
@pytest.mark.parametrize("name", DOMAINS)
def test_known_optima(name, variant, rng):
    """The gap is never below the error, and small in the end."""
    domain = DOMAINS[name]
    vertices = vertices_of(domain, rng)
    for center in (vertices.mean(axis=0), rng.normal(size=domain.size)):
        best, tol = nearest_value(vertices, center), 5e-2 if variant == "fw" else 1e-7
        method, status, _, history = run(Distance(center), domain, tol=tol, variant=variant)
        assert status is Status.CONVERGED
        errors = np.array(history["objective"]) - best
        assert errors.min() >= -1e-7
        assert np.all(np.array(history["dual_gap"]) >= errors - 1e-7)
        assert np.all(np.diff(history["objective"]) <= 1e-12)
        assert not hasattr(domain, "contains") or domain.contains(method.iterate.point, 1e-9)
        if variant != "fw":
            active = method.iterate.active
            assert active.weights.min() > 0.0
            x = sum(w * a.to_array() for w, a in zip(active.weights, active.atoms))
            np.testing.assert_allclose(method.iterate.point, x, rtol=0, atol=1e-12)


@pytest.mark.parametrize("step", sorted(RULES))
@pytest.mark.parametrize("variant", ["fw", "away", "pairwise"])
def test_every_rule_with_every_variant(variant, step, rng):
    domain, center = L1Ball(6), rng.normal(size=6)
    best = 0.5 * np.sum((domain.project(center) - center) ** 2)
    method, status, _, history = run(Distance(center), domain, tol=0.05, variant=variant, step=step)
    assert status is Status.CONVERGED
    assert 0.0 <= method.value - best <= method.dual_gap + 1e-12
    assert history["dual_gap"][-1] <= 0.05


def test_exact_rules_find_the_same_steps(rng):
    """A line search, short steps and the curvature are one on a parabola."""
    domain, center = Simplex(8), rng.normal(size=8)
    points = []
    for step in ("exact", "short", "line_search"):
        method, *_ = run(Distance(center), domain, tol=0.0, max_iter=7, step=step)  # no ties yet
        points.append(method.iterate.point)
    np.testing.assert_allclose(points[1], points[0], rtol=0, atol=1e-12)
    np.testing.assert_allclose(points[2], points[0], rtol=0, atol=1e-9)


def test_line_search_finds_the_root_of_any_slope(rng):
    def objective(x):
        return float(np.sum(np.exp(3 * x) - 5 * x)), 3 * np.exp(3 * x) - 5

    seen = []

    def watched(state):
        step = named_rule("line_search")(state)
        slope = state.line.at(step)[1]
        seen.append(step < state.max_step)
        assert slope <= 1e-9 if step == state.max_step else abs(slope) <= 1e-9
        return step

    method, status, *_ = run(objective, Box(-1.0, 1.0, size=4), tol=1e-6, step=watched)
    assert status is Status.CONVERGED
    assert any(seen)
    np.testing.assert_allclose(method.iterate.point, np.log(5 / 3) / 3, rtol=0, atol=1e-3)


def test_backtracking_learns_the_curvature(rng):
    rule = Backtracking()
    scales = np.array([1.0, 4.0, 9.0, 16.0])

    def objective(x):
        return 0.5 * float(scales @ (x - 0.4) ** 2), scales * (x - 0.4)

    _, status, n_iter, history = run(
        objective, Box(0.0, 1.0, size=4), tol=1e-6, variant="away", step=rule
    )
    assert status is Status.CONVERGED
    assert n_iter < 500
    assert 0.5 <= rule.lipschitz <= 2 * 16.0
    assert np.all(np.diff(history["objective"]) <= 1e-12)


# ---- rates ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("step", ["universal", "exact", "short"])
@pytest.mark.parametrize("name", ["simplex", "l1 ball", "box", "matchings", "pairs", "product"])
def test_plain_steps_have_the_rate_of_one_over_t(name, step, rng):
    """h_t <= 2 L diam^2 / (t + 2)."""
    domain = DOMAINS[name]
    diameter = DOMAINS[name].diameter if name != "product" else np.sqrt(2 + 4 + 2)
    center = vertices_of(domain, rng).mean(axis=0) + 0.1 * rng.normal(size=domain.size)
    best = nearest_value(vertices_of(domain, rng), center)
    *_, history = run(Distance(center), domain, tol=0.0, max_iter=200, variant="fw", step=step)
    for t, value in enumerate(history["objective"][1:], 1):
        assert value - best <= 2 * diameter**2 / (t + 2) + 1e-9


@pytest.mark.parametrize(("variant", "rate"), [("away", 1 / 40), ("pairwise", 2 / 20)])
def test_linear_rate_on_the_simplex(variant, rate, rng):
    """Each step that is not cut lowers the error by the share of the theorem."""
    d, n_checked = 20, 0
    for _ in range(5):
        center = rng.normal(size=d) / np.sqrt(d)
        domain, uncut = Simplex(d), []
        best = 0.5 * np.sum((domain.project(center) - center) ** 2)

        def watched(state, uncut=uncut):
            step = named_rule("exact")(state)
            uncut.append(step < state.max_step or state.max_step >= 1.0)
            return step

        *_, history = run(Distance(center), domain, tol=1e-9, variant=variant, step=watched)
        errors = np.array(history["objective"]) - best
        for before, after, good in zip(errors, errors[1:], uncut):
            assert after <= before + 1e-15
            if good and before > 1e-12:
                n_checked += 1
                assert after <= (1 - rate) * before + 1e-15
    assert n_checked > 30


def test_plain_steps_zigzag_where_others_do_not(rng):
    """An optimum on a face: what away and pairwise steps are for."""
    domain, center = Simplex(10), np.append(np.full(5, 0.2), np.full(5, -0.5))
    iterations = {}
    for variant in ("fw", "away", "pairwise"):
        start = np.full(10, 0.1)
        combination = [list(np.eye(10)), start] if variant != "fw" else None
        _, _, n_iter, _ = run(
            Distance(center + 0.01 * rng.normal(size=10)), domain, tol=1e-6, variant=variant,
            start=start if combination is None else None, combination=combination, max_iter=3000,
        )  # fmt: skip
        iterations[variant] = n_iter
    assert max(iterations["away"], iterations["pairwise"]) < 0.2 * iterations["fw"]


# ---- projections onto hulls ----------------------------------------------------------------------


@pytest.mark.parametrize("name", DOMAINS)
def test_projection_onto_the_hull(name, rng):
    domain = DOMAINS[name]
    vertices, hull = vertices_of(domain, rng), HullProjection(domain)
    for _ in range(4):
        p = vertices.mean(axis=0) + rng.normal(size=domain.size)
        z, _ = hull.project(p)
        assert np.max((vertices - z) @ (p - z)) <= 1e-8
        assert 0.5 * np.sum((z - p) ** 2) == pytest.approx(nearest_value(vertices, p), abs=1e-6)
        assert len(hull.active) <= domain.size + 1


def test_the_min_norm_point_asks_far_less(rng):
    domain, center = BipartiteMatchings((4, 4)), rng.normal(size=16)
    _, n_calls = HullProjection(domain).project(center, accuracy=1e-8)
    _, _, n_iter, _ = run(Distance(center), domain, tol=1e-8)
    assert n_calls < n_iter
    assert len(matchings(4, 4)) == 24


# ---- oracles that are not exact ------------------------------------------------------------------


class Careless(Simplex):
    """Answers with the second best vertex, and knows something that none falls below."""

    def __init__(self, size, bounded=True):
        super().__init__(size)
        self.bounded = bounded

    def lmo(self, gradient):
        places = np.argsort(gradient, kind="stable")
        atom = DenseAtom(np.eye(self.size)[places[1]])
        atom.value = float(gradient[places[1]])
        atom.bound = float(gradient[places[0]]) - 0.1 if self.bounded else -np.inf
        return atom


def test_certificates_of_inexact_oracles_count_their_bounds(rng):
    center = rng.normal(size=5)
    best = 0.5 * np.sum((Simplex(5).project(center) - center) ** 2)
    *_, history = run(
        Distance(center), Careless(5), tol=0.0, max_iter=20, variant="fw", step="universal"
    )
    gaps, estimates = history["dual_gap"], history["estimated_gap"]
    errors = history["objective"] - best
    assert np.all(gaps >= np.maximum(estimates, errors) + 0.1 - 1e-12)
    assert np.any(estimates < errors)  # which without the bound would be taken for a certificate
    *_, history = run(
        Distance(center), Careless(5, bounded=False), tol=0.0, max_iter=20, variant="fw"
    )
    assert "dual_gap" not in history
    assert len(history["estimated_gap"]) == 20


def test_bounds_of_approximate_oracles_certify(rng):
    """Local search has no bound, messages have one that may be loose."""
    edges = list(itertools.combinations(range(5), 2))
    exact = MarginalPolytope([2] * 5, edges)
    center = rng.normal(size=exact.size)
    _, status, _, history = run(Distance(center), exact, tol=1e-6)
    assert status is Status.CONVERGED
    best = history["objective"][-1]
    rough = MarginalPolytope([2] * 5, edges, "trws")
    *_, history = run(Distance(center), rough, tol=0.0, max_iter=40, variant="pairwise")
    known = np.isfinite(history["dual_gap"])
    assert known.any()
    assert np.all((history["objective"] - best <= history["dual_gap"] + 1e-6)[known])


def test_rank_one_atoms_are_stepped_on(rng):
    """Nuclear norm ball by one singular vector pair, against the projection by all of them."""

    class NuclearBall:
        size = 12

        def lmo(self, gradient):
            U, _, V = np.linalg.svd(gradient.reshape(3, 4), full_matrices=False)
            return RankOneAtom(-U[:, 0], V[0])

    center = rng.normal(size=12)
    U, s, V = np.linalg.svd(center.reshape(3, 4), full_matrices=False)
    nearest = U * L1Ball(3).project(s) @ V
    start = RankOneAtom([1.0, 0, 0], [1.0, 0, 0, 0])
    method, status, _, _ = run(Distance(center), NuclearBall(), tol=1e-3, start=start)
    assert status is Status.CONVERGED
    assert all(isinstance(atom, RankOneAtom) for atom in method.iterate.active.atoms)
    np.testing.assert_allclose(method.iterate.point, nearest.ravel(), rtol=0, atol=5e-2)


def test_objectives_of_users_are_checked():
    for answer, message in (
        (None, r"objective must return \(value, gradient\)"),
        ((0.0, np.zeros(2)), r"objective returned a gradient of shape \(2,\), expected \(3,\)"),
        ((np.nan, np.zeros(3)), "objective returned NaN or infinity after 0 steps"),
        (("x", np.zeros(3)), "objective must return a number as value"),
    ):
        with pytest.raises(ValueError, match=message):
            run(lambda x, answer=answer: answer, Simplex(3), tol=0.0)
    with pytest.raises(ValueError, match="the start is not in domain"):
        run(Distance(np.zeros(3)), Simplex(3), tol=0.0, start=[1.0, 1.0, 0.0])
    backwards = type("Backwards", (Simplex,), {"lmo": lambda s, g: Simplex(3).lmo(-g)})(3)
    with pytest.raises(ValueError, match="worse than the current one"):
        run(Distance([0.0, 1.0, 2.0]), backwards, tol=0.0, start=[0.0, 0.0, 1.0])
    ball = L2Ball(3)
    method, status, *_ = run(Distance(np.full(3, 2.0)), ball, tol=1e-3, variant="fw")
    assert status is Status.CONVERGED
    assert ball.contains(method.iterate.point, 1e-12)
