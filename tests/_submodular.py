"""Submodular functions as tables of the values of all sets, and base polytopes as lists."""

import itertools

import numpy as np

from sklearn_fw.optim.domains import BasePolytope, Permutahedron
from sklearn_fw.optim.set_functions import CardinalityFunction, CutFunction

KINDS = ("cut", "directed", "coverage", "cardinality", "matroid", "mixture", "shaken")


def all_sets(n):
    """Masks of all subsets: entry j of row k is bit j of k."""
    return (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)


def cuts(sets, edges, weights, directed=False):
    """Values of all sets, for edges with ends and weights."""
    tails, heads = sets[:, edges[:, 0]], sets[:, edges[:, 1]]
    return (tails & ~heads if directed else tails != heads) @ weights


def draw_edges(rng, n):
    pairs = np.array(list(itertools.permutations(range(n), 2)), int).reshape(-1, 2)
    return pairs[rng.random(len(pairs)) < 0.5]


def rank_table(rng, sets):
    """Rank of a partition matroid plus that of a graphic one on random edges."""
    n = sets.shape[1]
    groups, limits = rng.integers(0, 3, n), rng.integers(0, 3, 3)
    counts = np.stack([(sets & (groups == g)).sum(axis=1) for g in range(3)], axis=1)
    ends = rng.integers(0, 4, (n, 2))
    incidence = np.zeros((n, 4))
    incidence[np.arange(n), ends[:, 0]] += 1.0
    incidence[np.arange(n), ends[:, 1]] -= 1.0
    graphic = [np.linalg.matrix_rank(incidence[mask]) if mask.any() else 0 for mask in sets]
    return np.minimum(counts, limits).sum(axis=1) + np.array(graphic, float)


def draw_table(rng, n, kind):
    """Values of all subsets of n elements for a random submodular function of a kind."""
    sets = all_sets(n)
    costs = sets @ rng.normal(scale=rng.choice([0.3, 1.0, 3.0]), size=n)
    if kind in ("cut", "directed"):
        edges = draw_edges(rng, n)
        return cuts(sets, edges, rng.exponential(size=len(edges)), kind == "directed") + costs
    if kind == "coverage":
        covers = rng.random((n, 2 * n)) < 0.3
        return ((sets @ covers.astype(int)) > 0) @ rng.exponential(size=2 * n) + costs
    if kind == "cardinality":
        steps = np.sort(rng.normal(size=n))[::-1]
        return np.append(0.0, np.cumsum(steps))[sets.sum(axis=1)] + costs
    if kind == "matroid":
        return rank_table(rng, sets) - sets @ rng.integers(0, 2, n)
    if kind == "mixture":
        return sum(rng.random() * draw_table(rng, n, other) for other in KINDS[:5]) + 2.0
    count = sets.sum(axis=1)  # bent more than the noise can unbend
    return draw_table(rng, n, "mixture") - 0.05 * count**2 + rng.uniform(-0.02, 0.02, 2**n)


class Table:
    """A callable of masks."""

    def __init__(self, values):
        self.values, self.size = values, len(values).bit_length() - 1
        self.places, self.n_calls = 2 ** np.arange(self.size), 0

    def __call__(self, mask):
        self.n_calls += 1
        return self.values[mask @ self.places]


def is_submodular(values, tol=1e-9):
    """By all pairs of elements and all sets without them."""
    n = len(values).bit_length() - 1
    k = np.arange(2**n)
    for i, j in itertools.combinations(range(n), 2):
        a, b = 1 << i, 1 << j
        rest = k[(k & a == 0) & (k & b == 0)]
        if np.any(values[rest | a] + values[rest | b] < values[rest | a | b] + values[rest] - tol):
            return False
    return True


def all_bases(values):
    """What the greedy algorithm makes of a table in every order."""
    n = len(values).bit_length() - 1
    found = []
    for order in itertools.permutations(range(n)):
        sets = np.append(0, np.cumsum([1 << element for element in order]))
        base = np.empty(n)
        base[list(order)] = np.diff(values[sets])
        found.append(base)
    return np.array(found)


ENDS = np.array([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)])
HEAVY = np.array([1.0, 2.0, 3.0, 1.0, 0.5])
CUT, COUNT = cuts(all_sets(4), ENDS, HEAVY), all_sets(4).sum(axis=1)
BENT = np.array([0.0, 3.0, 4.0, 4.0, 2.0])
# Domain and all its vertices.
BASES = {
    "orders": (Permutahedron([1, 2, 4]), np.array(list(itertools.permutations([1.0, 2.0, 4.0])))),
    "orders with ties": (
        Permutahedron([2, 1, 2, 0]), all_bases(np.array([0.0, 2.0, 4.0, 5.0, 5.0])[COUNT])
    ),
    "one number": (Permutahedron([3.0]), np.array([[3.0]])),
    "cuts": (BasePolytope(CutFunction(ENDS, HEAVY)), all_bases(CUT)),
    "called": (BasePolytope(Table(CUT + 7.0), 4), all_bases(CUT)),
    "sums": (
        BasePolytope(CutFunction(ENDS, HEAVY) + CardinalityFunction(BENT)),
        all_bases(CUT + BENT[COUNT]),
    ),
}  # fmt: skip
