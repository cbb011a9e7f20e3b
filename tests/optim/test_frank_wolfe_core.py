"""Projections onto hulls, and certificates of oracles that are not exact."""

import itertools

import numpy as np
import pytest

from _domain_references import least_on_simplex
from sklearn_fw.optim import domains, minimize_frank_wolfe
from sklearn_fw.optim._frank_wolfe._corrective import HullProjection

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
COMPLETE = list(itertools.combinations(range(4), 2))
CYCLE = [(0, 1), (1, 2), (0, 2)]
DOMAINS = {
    "l1 ball": domains.L1Ball(5, radius=2.0),
    "box": domains.Box(-1.0, [1.0, 2.0, 0.5, 0.0]),
    "matchings": domains.BipartiteMatchings((3, 3)),
    "pairs": domains.Matchings(4, perfect=True),
    "trees": domains.SpanningTrees(COMPLETE, 4),
    "cycle": domains.MarginalPolytope([2, 2, 2], CYCLE),
    "local": domains.LocalPolytope([2, 2, 2], CYCLE),
    "product": domains.Product(domains.Simplex(3), domains.Box(0.0, 1.0, size=2)),
}


class Distance:
    """Half the squared distance from a point."""

    def __init__(self, center):
        self.center = center

    def __call__(self, x):
        return 0.5 * np.sum((x - self.center) ** 2), x - self.center

    def curvature(self, direction):
        return direction @ direction


@pytest.mark.parametrize("name", DOMAINS)
def test_projection_onto_the_hull(name, rng):
    domain = DOMAINS[name]
    atoms = [domain.lmo(gradient) for gradient in rng.normal(size=(300, domain.size))]
    vertices = np.array([atom.to_array() for atom in {atom.key: atom for atom in atoms}.values()])
    hull = HullProjection(domain)
    for _ in range(4):
        p = vertices.mean(axis=0) + rng.normal(size=domain.size)
        z, _ = hull.project(p)
        assert np.max((vertices - z) @ (p - z)) <= 1e-8
        least = least_on_simplex(
            lambda a, p=p: np.sum((a @ vertices - p) ** 2),
            lambda a, p=p: 2.0 * vertices @ (a @ vertices - p), len(vertices),
        )  # fmt: skip
        assert np.sum((z - p) ** 2) == pytest.approx(least, abs=2e-6)
        assert len(hull.active) <= domain.size + 1


class Careless(domains.Simplex):
    """Answers with the second best vertex, and knows something that none falls below."""

    def __init__(self, size, bounded=True):
        super().__init__(size)
        self.bounded = bounded

    def lmo(self, gradient):
        places = np.argsort(gradient, kind="stable")
        atom = domains.SparseAtom(self.size, places[1:2])
        atom.value = float(gradient[places[1]])
        atom.bound = float(gradient[places[0]]) - 0.1 if self.bounded else -np.inf
        return atom


def test_certificates_of_inexact_oracles_count_their_bounds(rng):
    center = rng.normal(size=5)
    best = 0.5 * np.sum((domains.Simplex(5).project(center) - center) ** 2)
    options = {"variant": "fw", "step_size": "universal", "tol": 0.0, "max_iter": 20}
    history = minimize_frank_wolfe(Distance(center), Careless(5), **options).history
    gaps, estimates = history["dual_gap"], history["estimated_gap"]
    errors = history["objective"] - best
    assert np.all(gaps >= np.maximum(estimates, errors) + 0.1 - 1e-12)
    assert np.any(estimates < errors)  # which without the bound would be taken for a certificate
    history = minimize_frank_wolfe(Distance(center), Careless(5, bounded=False), **options).history
    assert "dual_gap" not in history
    assert len(history["estimated_gap"]) == 20


def test_bounds_of_approximate_oracles_certify(rng):
    """Messages have a bound that may be loose."""
    edges = list(itertools.combinations(range(5), 2))
    exact = domains.MarginalPolytope([2] * 5, edges)
    objective = Distance(rng.normal(size=exact.size))
    best = minimize_frank_wolfe(objective, exact, tol=1e-6)
    assert best.success
    rough = domains.MarginalPolytope([2] * 5, edges, "trws")
    history = minimize_frank_wolfe(objective, rough, tol=0.0, max_iter=40).history
    known = np.isfinite(history["dual_gap"])
    assert known.any()
    errors = history["objective"] - best.fun
    assert np.all((errors <= history["dual_gap"] + 1e-6)[known])
