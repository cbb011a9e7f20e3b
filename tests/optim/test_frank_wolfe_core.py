"""The Frank-Wolfe core on every domain: known optima, rates, certificates, inexact oracles."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize

from sklearn_fw._core.loop import drive
from sklearn_fw._core.result import Status
from sklearn_fw.optim._frank_wolfe._core import Minimisation
from sklearn_fw.optim._frank_wolfe._corrective import HullProjection
from sklearn_fw.optim._frank_wolfe._steps import Backtracking, named_rule
from sklearn_fw.optim.domains import (
    BipartiteMatchings,
    Box,
    ConvexHull,
    L1Ball,
    LocalPolytope,
    MarginalPolytope,
    Matchings,
    Product,
    RankOneAtom,
    Simplex,
    SpanningTrees,
)
from sklearn_fw.optim.domains._base import DenseAtom

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
