"""2,000 random small problems over every domain: no certificate is below the true error.

Optima come from elsewhere: least values of linear functions over listed vertices or in closed
form, non-negative least squares over vertices, projections; feasible points in any case, so that
what is proven about the optimum must not be above their values.
"""

import itertools

import networkx as nx
import numpy as np
import pytest
from scipy.optimize import linprog, nnls

from _domain_referees import matchings, matchings_of, paths_of
from sklearn_fw.optim import domains, minimize_frank_wolfe, objectives

PROBLEMS = 100  # per kind of domain
VARIANTS = ("auto", "fw", "away", "pairwise", "fully_corrective", "min_norm_point")
STEPS = ("auto", "line_search", "backtracking", "universal")


def unit_rows(edges, chosen):
    place = {edge: i for i, edge in enumerate(edges)}
    rows = np.zeros((len(chosen), len(edges)))
    for row, picked in zip(rows, chosen, strict=True):
        row[[place[edge] for edge in picked]] = 1.0
    return rows


def simplex(rng, size, radius):
    return domains.Simplex(size, radius), radius * np.eye(size)


def l1(rng, size, radius):
    return domains.L1Ball(size, radius), radius * np.vstack([np.eye(size), -np.eye(size)])


def box(rng, size, radius):
    lower, upper = np.sort(rng.normal(size=(2, size)), axis=0)
    corners = itertools.product(*zip(lower, upper, strict=True))
    return domains.Box(lower, upper), np.array(list(corners))


def hull(rng, size, radius):
    points = radius * rng.normal(size=(rng.integers(1, 9), size))
    return domains.ConvexHull(points), points


def permutahedron(rng, size, radius):
    values = radius * rng.normal(size=min(size, 4))
    return domains.Permutahedron(values), np.array(list(itertools.permutations(values)))


def base_polytope(rng, size, radius):
    size = min(size, 4)
    covers, heights = rng.random((size, 6)) < 0.4, rng.random(6)

    def coverage(chosen):
        return float(heights @ covers[list(chosen)].any(axis=0))

    bases = []
    for order in itertools.permutations(range(size)):
        values = [coverage(order[:k]) for k in range(size + 1)]
        base = np.empty(size)
        base[list(order)] = np.diff(values)
        bases.append(base)
    return domains.BasePolytope(coverage, size), np.array(bases)


def dag(rng):
    graph = nx.DiGraph([(i, i + 1) for i in range(4)])
    graph.add_edges_from((i, j) for i in range(3) for j in range(i + 2, 5) if rng.random() < 0.5)
    return graph


def paths(rng, size, radius):
    graph = dag(rng)
    found = [path["edges"] for path in paths_of(graph, 0, 4)]
    return domains.DagPaths(graph, 0, 4), unit_rows(list(graph.edges), found)


def paths_of_nodes(rng, size, radius):
    graph = dag(rng)
    found = [path["nodes"] for path in paths_of(graph, 0, 4)]
    return domains.DagPaths(graph, 0, 4, variables="nodes"), unit_rows(list(graph), found)


def flows(rng, size, radius):
    """One unit through a graph without directed cycles: mixtures of paths."""
    graph = dag(rng)
    found = [path["edges"] for path in paths_of(graph, 0, 4)]
    vertices = unit_rows(list(graph.edges), found)
    return domains.Flows(graph, {0: -radius, 4: radius}), radius * vertices


def random_graph(rng):
    graph = nx.cycle_graph(4 + 2 * int(rng.random() < 0.3))
    graph.add_edges_from(itertools.combinations(range(4), 2))
    return graph


def some_matchings(rng, size, radius):
    graph = random_graph(rng)
    chosen = list(matchings_of(graph, perfect=False))
    return domains.Matchings(graph), unit_rows(list(graph.edges), chosen)


def perfect_matchings(rng, size, radius):
    graph = random_graph(rng)
    chosen = list(matchings_of(graph, perfect=True))
    return domains.Matchings(graph, perfect=True), unit_rows(list(graph.edges), chosen)


def assignments(rng, size, radius):
    shape = tuple(rng.integers(1, 4, size=2).tolist())
    perfect = shape[0] == shape[1] and bool(rng.random() < 0.5)
    return domains.BipartiteMatchings(shape, perfect=perfect), matchings(*shape, perfect)


def trees(rng, size, radius):
    edges = list(itertools.combinations(range(4), 2))[: rng.integers(4, 7)]
    graph = nx.Graph(edges)
    graph.add_nodes_from(range(4))
    if not nx.is_connected(graph):
        edges = [(0, 1), (1, 2), (0, 2), (2, 3)]
    chosen = [c for c in itertools.combinations(edges, 3) if nx.is_tree(nx.Graph(list(c)))]
    chosen = [c for c in chosen if len({node for edge in c for node in edge}) == 4]
    return domains.SpanningTrees(edges, 4), unit_rows(edges, chosen)


def labellings(rng, size, radius):
    counts, edges = [2, 3, 2], [(0, 1), (1, 2)]
    rows = []
    for labels in itertools.product(*map(range, counts)):
        parts = [np.eye(k)[label] for k, label in zip(counts, labels, strict=True)]
        parts += [np.outer(parts[i], parts[j]).ravel() for i, j in edges]
        rows.append(np.concatenate(parts))
    kind = domains.LocalPolytope if rng.random() < 0.2 else domains.MarginalPolytope
    return kind(counts, edges), np.array(rows)


def product(rng, size, radius):
    (first, some), (second, others) = simplex(rng, 3, radius), box(rng, 2, radius)
    pairs = [np.concatenate(pair) for pair in itertools.product(some, others)]
    return domains.Product(first, second), np.array(pairs)


POLYTOPES = (
    simplex, l1, box, hull, permutahedron, base_polytope, paths, paths_of_nodes, flows,
    some_matchings, perfect_matchings, assignments, trees, labellings, product,
)  # fmt: skip


def of_ball(size, radius, p):
    ball = domains.L2Ball(size, radius) if p == 2.0 else domains.LpBall(size, p, radius)
    return ball, lambda b: -radius * np.linalg.norm(b, p / (p - 1.0))


def nuclear(rng, size, radius):
    shape = tuple(rng.integers(1, 6, size=2).tolist())
    domain = domains.NuclearNormBall(shape, radius, max_products=int(rng.integers(3, 12)))
    return domain, lambda b: -radius * np.linalg.norm(b.reshape(shape), 2)


def spectrahedron(rng, size, radius):
    n, fixed = int(rng.integers(1, 5)), bool(rng.random() < 0.5)

    def least(b):
        lowest = np.linalg.eigvalsh(0.5 * (b.reshape(n, n) + b.reshape(n, n).T))[0]
        return radius * (lowest if fixed else min(lowest, 0.0))

    return domains.Spectrahedron(n, radius, fixed_trace=fixed), least


ROUND = {
    "l2": lambda rng, size, radius: of_ball(size, radius, 2.0),
    "lp": lambda rng, size, radius: of_ball(size, radius, float(rng.uniform(1.2, 6.0))),
    "nuclear": nuclear,
    "spectrahedron": spectrahedron,
}


def least_squares_over(vertices, A, b):
    """A point of the hull where ``||A x - b||^2 / 2`` is least, to about ten digits."""
    heavy = 1e6 * (1.0 + np.abs(A @ vertices.T).max() + np.abs(b).max())
    rows = np.vstack([A @ vertices.T, np.full(len(vertices), heavy)])
    weights = nnls(rows, np.append(b, heavy), maxiter=10_000)[0]
    return weights / weights.sum() @ vertices


def run_of(objective, domain, rng):
    """A short run of a random method."""
    is_polytope = domain.is_polytope
    variants = VARIANTS if objective.is_quadratic else VARIANTS[:-1]
    if not is_polytope:
        variants = [v for v in variants if v not in ("away", "pairwise")]
    variant = str(rng.choice(variants))
    return minimize_frank_wolfe(
        objective, domain, variant=variant, step_size=str(rng.choice(STEPS)),
        max_iter=int(rng.integers(1, 20)), tol=0.0 if objective.is_quadratic else 1e-6,
    )  # fmt: skip


def check(run, reached, who):
    """What a run proves about the optimum is not above the value of a feasible point."""
    gaps, values = run.history["dual_gap"], run.history["objective"]
    known = np.isfinite(gaps)
    proven = np.max(values[known] - gaps[known], initial=run.fun - run.dual_gap)
    scale = np.abs(values).max() + (gaps[known].max() if known.any() else run.dual_gap)
    assert proven <= reached + 1e-9 * scale, who
    assert run.fun >= proven - 1e-9 * scale, who


def random_linear(rng, size):
    return objectives.Quadratic(np.zeros((size, size)), rng.normal(size=size))


def random_least_squares(rng, size):
    A = rng.normal(size=(int(rng.integers(1, size + 2)), size))
    return objectives.LeastSquares(A, 2.0 * rng.normal(size=len(A)))


pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.slow
@pytest.mark.parametrize("make", POLYTOPES, ids=lambda make: make.__name__)
def test_polytopes(make, rng):
    for i in range(PROBLEMS):
        domain, vertices = make(rng, int(rng.integers(1, 6)), float(rng.choice([0.1, 1.0, 30.0])))
        who = f"{domain!r}, problem {i}"
        if i % 4 == 0:
            objective = random_linear(rng, domain.size)
            reached = float((vertices @ objective.b).min())
        elif i % 4 == 1:  # the optimum is not known, but every vertex is a point
            y = np.where(rng.random(6) < 0.5, -1.0, 1.0)
            objective = objectives.Composite("log_loss", rng.normal(size=(6, domain.size)), y)
            long = minimize_frank_wolfe(objective, domain, max_iter=40, tol=1e-8)
            reached = min([long.fun, *(objective(v)[0] for v in vertices[:9])])
            check(long, reached, who)
        else:
            objective = random_least_squares(rng, domain.size)
            reached = objective(least_squares_over(vertices, objective._map.A, objective.y))[0]
        check(run_of(objective, domain, rng), reached, who)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ROUND)
def test_round_sets(kind, rng):
    for i in range(PROBLEMS + 25):
        domain, least = ROUND[kind](
            rng, int(rng.integers(1, 6)), float(rng.choice([0.1, 1.0, 9.0]))
        )
        who = f"{domain!r}, problem {i}"
        point = 2.0 * domain.radius * rng.normal(size=domain.size)
        if i % 3 == 0:
            objective = random_linear(rng, domain.size)
            reached = float(least(objective.b))
        elif i % 3 == 1 and hasattr(domain, "project"):
            objective = objectives.Quadratic(np.eye(domain.size), -point)
            reached = objective(domain.project(point))[0]
        else:
            objective = random_least_squares(rng, domain.size)
            reached = minimize_frank_wolfe(
                objective, domain, variant="fully_corrective", max_iter=60, tol=0.0
            ).fun
        check(run_of(objective, domain, rng), reached, who)


def test_flows_against_a_linear_program(rng):
    """Networks with capacities, whose vertices are not listed."""
    for _ in range(25):
        graph = nx.gnp_random_graph(5, 0.6, seed=int(rng.integers(1000)), directed=True)
        nx.add_cycle(graph, range(5))
        incidence = nx.incidence_matrix(graph, oriented=True).toarray()
        demand = {0: -0.8, 3: 0.8}
        domain = domains.Flows(graph, demand, 1.0)
        objective = random_linear(rng, domain.size)
        wanted = [demand.get(node, 0.0) for node in graph]
        known = linprog(objective.b, A_eq=incidence, b_eq=wanted, bounds=(0.0, 1.0))
        check(run_of(objective, domain, rng), known.fun, repr(domain))
