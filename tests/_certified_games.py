"""Random small saddle points, games, domains and projections, and what is claimed about them."""

import itertools

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog, minimize

from _domain_referees import matchings, perfect_matchings
from sklearn_fw.optim import SaddleConstants, domains, solve_matrix_game, solve_saddle_point

SHARE = 1e-9


def polytope(rng):
    """A domain and all of its vertices."""
    d = int(rng.integers(1, 5))
    size = float(10.0 ** rng.uniform(-2, 2)) if rng.random() < 0.3 else 1.0
    points = size * rng.normal(size=(int(rng.integers(1, 6)), d))
    lower = size * rng.normal(size=d)
    upper = lower + size * rng.random(d)
    found = [
        lambda: (domains.Simplex(d, size), size * np.eye(d)),
        lambda: (domains.L1Ball(d, size), size * np.vstack([np.eye(d), -np.eye(d)])),
        lambda: (
            domains.Box(lower, upper, size=d),
            np.array(list(itertools.product(*zip(lower, upper)))),
        ),
        lambda: (domains.ConvexHull(points), points),
        lambda: (domains.BipartiteMatchings((2, 2)), matchings(2, 2)),
        lambda: (domains.Matchings(4, perfect=True), perfect_matchings(4)),
        lambda: (
            domains.Product(domains.Simplex(2), domains.Box(-1.0, 1.0, size=2)),
            np.array([[*a, *b] for a in np.eye(2) for b in itertools.product([-1, 1], repeat=2)]),
        ),
    ]
    return found[rng.integers(len(found))]()


def size_of(M, V, W):
    """Unit of the payoffs of a game."""
    return np.abs(V @ M @ W.T).max(initial=0.0)


def game(rng):
    """`solve_matrix_game`: bounds on the value, which strategies guarantee."""
    (X, V), (Y, W) = polytope(rng), polytope(rng)
    M = 10.0 ** rng.uniform(-3, 3) * rng.normal(size=(V.shape[1], W.shape[1]))
    if rng.random() < 0.3:
        M = rng.integers(-2, 3, M.shape) * 1.0
    payoff = sp.csr_array(M) if rng.random() < 0.3 else M
    result = solve_matrix_game(
        payoff, domain_x=X, domain_y=Y, tol=float(rng.choice([0.0, 0.1])),
        step_size=["fictitious", "universal"][rng.integers(2)], max_iter=int(rng.integers(1, 80)),
    )  # fmt: skip
    table = V @ M @ W.T
    p, q = table.shape
    program = linprog(
        np.append(np.zeros(p), 1.0), A_ub=np.column_stack([table.T, -np.ones(q)]), b_ub=np.zeros(q),
        A_eq=[np.append(np.ones(p), 0.0)], b_eq=[1.0], bounds=[(0, None)] * p + [(None, None)],
    )  # fmt: skip
    slack = SHARE * size_of(M, V, W)
    assert result.lower - slack <= program.fun <= result.upper + slack
    assert (result.x @ M @ W.T).max() <= result.upper + slack
    assert (V @ M @ result.y).min() >= result.lower - slack
    assert result.dual_gap >= (result.x @ M @ W.T).max() - (V @ M @ result.y).min() - slack
    assert abs(result.fun - result.x @ M @ result.y) <= slack


def saddle(rng):
    """`solve_saddle_point`: the gap bounds what both sides could gain, computed from vertices."""
    (X, V), (Y, W) = polytope(rng), polytope(rng)
    if rng.random() < 0.15:
        X, V = domains.L2Ball(3, 2.0), None
    p, q = X.size, Y.size
    M = rng.normal(size=(p, q))
    mu, nu = rng.choice([0.0, 0.1, 3.0], size=2)
    a, b = rng.normal(size=p), rng.normal(size=q)

    def function(x, y):
        value = x @ M @ y + 0.5 * mu * np.sum((x - a) ** 2) - 0.5 * nu * np.sum((y - b) ** 2)
        return value, M @ y + mu * (x - a), M.T @ x - nu * (y - b)

    variant = ["fw", "away", "pairwise"][rng.integers(3)] if V is not None else "fw"
    if isinstance(Y, domains.Product) and rng.random() < 0.5:
        variant = "block"
    step_size = ["universal", "fictitious", 0.2, "heuristic"][rng.integers(4)]
    constants = None
    if variant == "block":
        step_size = "universal"
    elif step_size == "heuristic":
        if mu == 0.0 or nu == 0.0:
            step_size = "universal"
        else:
            constants = SaddleConstants(
                smoothness_x=mu, smoothness_y=nu, coupling=np.linalg.norm(M, 2), convexity_x=mu,
                convexity_y=nu, width_x=0.1, width_y=0.1, diameter_x=1.0, diameter_y=1.0,
            )  # fmt: skip
    result = solve_saddle_point(
        function, X, Y, variant=variant, step_size=step_size, constants=constants,
        tol=float(rng.choice([0.0, 0.1])), max_iter=int(rng.integers(1, 60)), random_state=0,
    )  # fmt: skip
    x, y = result.x, result.y
    assert result.fun == function(x, y)[0]
    best_y = best_point(lambda v: function(x, v)[0], lambda v: function(x, v)[2], y, W)
    if V is None:
        g = M @ y
        lowest = lowest_in_ball(g, a, mu, 2.0)
        best_x = function(lowest, y)[0]
    else:
        best_x = -best_point(lambda v: -function(v, y)[0], lambda v: -function(v, y)[1], x, V)
    slack = SHARE * max(1.0, abs(best_y), abs(best_x))
    assert result.dual_gap >= best_y - best_x - slack, (variant, step_size)


def best_point(value, gradient, start, vertices):
    """Largest value of a concave function in a hull, by sequential quadratic programming."""
    best = max([value(start), *map(value, vertices)])
    weights = np.full(len(vertices), 1.0 / len(vertices))
    found = minimize(
        lambda s: -value(s @ vertices), weights, jac=lambda s: -(vertices @ gradient(s @ vertices)),
        bounds=[(0, 1)] * len(vertices), method="SLSQP",
        constraints=[{"type": "eq", "fun": lambda s: s.sum() - 1.0,
                      "jac": lambda s: np.ones_like(s)}],
        options={"ftol": 1e-15, "maxiter": 200},
    )  # fmt: skip
    s = np.maximum(found.x, 0.0)
    return max(best, value(s / s.sum() @ vertices))


def lowest_in_ball(g, a, mu, radius):
    """Minimiser of ``<g, x> + mu/2 |x - a|^2`` in a ball around zero."""
    if mu == 0.0:
        return -radius * g / max(np.linalg.norm(g), 1e-300)
    free = a - g / mu
    return free * min(1.0, radius / max(np.linalg.norm(free), 1e-300))
