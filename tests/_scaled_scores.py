"""Scores of every size, alone and beside each other, and what oracles claim about them."""

import itertools
from fractions import Fraction

import numpy as np

from _random_scores import attraction, random_edges
from sklearn_fw import inference

# How the sizes of the entries of one instance are drawn.
SIZES = [
    "one size", "penalties", "rewards", "canceling", "two sizes", "all sizes", "constants",
    "sums beyond doubles",
]  # fmt: skip


def scaled_scores(rng, sizes, graph="any", n_states=None, attractive=False, forbidden=None):
    """Scores of a small graph whose entries have ``sizes`` from 1e-300 to 1e300."""
    n_nodes = int(rng.integers(1, 6))
    n_states = int(rng.integers(2, 4)) if n_states is None else n_states
    edges = random_edges(rng, graph, n_nodes)
    shape = (len(edges), n_states, n_states)
    unary, pairwise = rng.normal(size=(n_nodes, n_states)), rng.normal(size=shape)
    if rng.random() < 0.3:  # ties and short numbers
        unary, pairwise = rng.integers(-2, 3, unary.shape) * 1.0, rng.integers(-2, 3, shape) * 1.0
    if attractive:
        against = attraction(pairwise) < 0.0
        pairwise[against] = pairwise[against][:, :, ::-1]
    exponent = float(rng.integers(-300, 301))
    big = 10.0 ** min(float(rng.choice([6, 9, 12, 15, 18, 30, 100])), 300.0)
    if sizes == "one size":
        unary, pairwise = unary * 10.0**exponent, pairwise * 10.0**exponent
    elif sizes in ("penalties", "rewards"):
        sign = -1.0 if sizes == "penalties" else 1.0
        unary[rng.random(unary.shape) < 0.2] = sign * big
        hit = rng.random(shape) < 0.2
        if attractive:
            hit &= np.eye(n_states, dtype=bool) == (sign > 0)
        pairwise[hit] = sign * big
    elif sizes == "canceling" and len(edges):
        for e in range(len(edges)):
            end = int(rng.integers(2))
            moved = big * rng.integers(-1, 2, n_states)
            unary[edges[e, end]] += moved
            pairwise[e] -= moved[:, None] if end == 0 else moved[None, :]
    elif sizes == "two sizes":
        unary *= rng.choice([1.0, big], size=unary.shape)
        pairwise *= rng.choice([1.0, big], size=(shape[0], 1, 1) if attractive else shape)
    elif sizes == "all sizes":
        unary *= 10.0 ** rng.uniform(-300, 300, size=unary.shape)
        pairwise *= 10.0 ** rng.uniform(-300, 300, size=(shape[0], 1, 1) if attractive else shape)
    elif sizes == "constants":
        unary += big * rng.normal(size=(n_nodes, 1))
        pairwise += big * rng.normal(size=(shape[0], 1, 1))
    elif sizes == "sums beyond doubles":
        unary, pairwise = np.clip(unary, -1, 1) * 1.7e308, np.clip(pairwise, -1, 1) * 1.7e308
    if rng.random() < 0.3 if forbidden is None else forbidden:
        unary[rng.random(unary.shape) < 0.15] = -np.inf
        gone = rng.random(shape) < 0.15
        if attractive:
            gone &= ~np.eye(n_states, dtype=bool)
        pairwise[gone] = -np.inf
    return inference.PairwiseScores(unary, pairwise, edges).check()


class Reference:
    """Best value of some scores as a fraction, None when nothing is allowed."""

    def __init__(self, scores):
        self._unary = _fractions(scores.unary)
        self._pairwise = _fractions(scores.pairwise)
        self._edges = scores.edges.tolist()
        n_nodes, n_states = scores.unary.shape
        self.best, self.size = None, 0
        for labels in itertools.product(range(n_states), repeat=n_nodes):
            parts = self.parts(labels)
            if None in parts:
                continue
            value = sum(parts)
            if self.best is None or value > self.best:
                self.best, self.size = value, sum(map(abs, parts))

    def parts(self, labels):
        """Scores of the nodes and edges of a labeling; None for forbidden ones."""
        nodes = [row[k] for row, k in zip(self._unary, labels)]
        return nodes + [t[labels[a]][labels[b]] for t, (a, b) in zip(self._pairwise, self._edges)]


def _fractions(array):
    if array.ndim:
        return [_fractions(part) for part in array]
    return None if array == -np.inf else Fraction(float(array))


# What counts as rounding: a share of the sum of the absolute scores of the best labeling.
SHARE = Fraction(1, 10**9)
TWO_STATES = {"n_states": 2, "attractive": True}
ORACLES = {
    "alpha-beta swap": (inference.CutMoves("swap"), {}),
    "alpha-expansion": (inference.CutMoves(), {}),
    "branch and bound": (inference.BranchAndBound(), {}),
    "branch and bound, budget": (inference.BranchAndBound(max_nodes=2), {}),
    "elimination": (inference.Elimination(), {}),
    "enumeration": (inference.Enumeration(), {}),
    "graph cut": (inference.GraphCut(), TWO_STATES),
    "icm": (inference.ICM(), {}),
    "local search": (inference.IteratedLocalSearch(n_rounds=5), {}),
    "lp": (inference.LPRelaxation(), {}),
    "milp": (inference.MILP(), {}),
    "milp, gap": (inference.MILP(mip_rel_gap=0.1), {}),
    "best of": (inference.BestOf(), {}),
    "qpbo": (inference.QPBO(), {"n_states": 2}),
    "toulbar2": (inference.Toulbar2(resolution=0), {}),
    "tree": (inference.TreeMaxProduct(), {"graph": "forest"}),
    "trws": (inference.TRWS(), {}),
    "viterbi": (inference.Viterbi(), {"graph": "chain"}),
}


def assert_holds(oracle, scores):
    """Labels, value and bound are what they are said to be; returns whether value is bound."""
    reference = Reference(scores)
    labels, value, upper_bound = oracle.argmax(scores)
    assert value <= upper_bound
    assert not (oracle.exact and value != upper_bound)
    if reference.best is None:
        assert value == -np.inf
        return value == upper_bound
    parts = reference.parts(labels.tolist())
    if None in parts:
        assert value == -np.inf
    else:
        assert abs(Fraction(value) - sum(parts)) <= SHARE * sum(map(abs, parts))
    assert upper_bound == np.inf or upper_bound >= reference.best - SHARE * reference.size
    return value == upper_bound
