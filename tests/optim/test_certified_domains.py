"""Certificates over all kinds of sets: what is certified once is true of every other point."""

import networkx as nx
import numpy as np
import pytest

from sklearn_fw.optim import domains, minimize_frank_wolfe, objectives

GRAPH = nx.DiGraph([("s", "a"), ("s", "b"), ("a", "b"), ("a", "t"), ("b", "t"), ("s", "t")])
DOMAINS = {
    "simplex": lambda: domains.Simplex(4, 2.0),
    "l1": lambda: domains.L1Ball(4, 1.5),
    "l2": lambda: domains.L2Ball(4, 0.5),
    "lp 1.5": lambda: domains.LpBall(4, 1.5),
    "lp 4": lambda: domains.LpBall(4, 4.0, 2.0),
    "box": lambda: domains.Box(-1.0, 0.5, size=3),
    "permutahedron": lambda: domains.Permutahedron([3.0, 1.0, 0.0, -2.0]),
    "bases": lambda: domains.BasePolytope(lambda mask: float(mask.sum()) ** 0.5, 4),
    "hull": lambda: domains.ConvexHull(np.random.default_rng(0).standard_normal((7, 3))),
    "nuclear": lambda: domains.NuclearNormBall((3, 4), 2.0),
    "nuclear, few products": lambda: domains.NuclearNormBall((5, 6), 2.0, max_products=4),
    "trace": lambda: domains.Spectrahedron(3, 2.0),
    "free trace": lambda: domains.Spectrahedron(3, fixed_trace=False),
    "paths": lambda: domains.DagPaths(GRAPH),
    "paths of nodes": lambda: domains.DagPaths(GRAPH, variables="nodes"),
    "flows": lambda: domains.Flows(GRAPH, {"s": -1.5, "t": 1.5}, 1.0),
    "matchings": lambda: domains.Matchings(nx.cycle_graph(5)),
    "perfect": lambda: domains.Matchings(nx.complete_bipartite_graph(3, 3), perfect=True),
    "assignments": lambda: domains.BipartiteMatchings((3, 3)),
    "trees": lambda: domains.SpanningTrees([(0, 1), (1, 2), (0, 2), (2, 3)], 4),
    "labelings": lambda: domains.MarginalPolytope([2, 2, 2], [(0, 1), (1, 2), (0, 2)]),
    "product": lambda: domains.Product(domains.NuclearNormBall((2, 3)), domains.L1Ball(2)),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:domain is not a polytope:RuntimeWarning")
@pytest.mark.parametrize("name", DOMAINS)
def test_no_gap_is_below_the_error(name, rng):
    """The largest lower bound of a long run is below every value, of other variants too."""
    domain = DOMAINS[name]()
    for variant in ("auto", "pairwise"):
        root = rng.standard_normal((domain.size, max(1, domain.size - int(rng.integers(0, 2)))))
        objective = objectives.Quadratic(root @ root.T, 3.0 * rng.standard_normal(domain.size))
        sure = minimize_frank_wolfe(
            objective, domain, variant="fully_corrective", tol=1e-7, max_iter=400
        )
        plain = objective if variant == "pairwise" else lambda x: objective(x)  # noqa: B023
        other = minimize_frank_wolfe(plain, domain, variant=variant, max_iter=30)
        lower, upper = -np.inf, min(sure.fun, other.fun)
        for run in (sure, other):
            lower = max(lower, run.fun - run.dual_gap)
            gaps = run.history["dual_gap"]
            values = run.history["objective"][np.isfinite(gaps)]
            lower = max(lower, np.max(values - gaps[np.isfinite(gaps)], initial=-np.inf))
            upper = min(upper, run.history["objective"].min())
            assert domain.contains(run.x, tol=1e-7) if hasattr(domain, "contains") else True
        scale = np.abs(other.history["objective"]).max() + other.history["dual_gap"][0]
        assert lower <= upper + 1e-9 * scale
        assert sure.success
        assert sure.dual_gap <= 1e-7
