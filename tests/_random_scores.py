"""Random pairwise scores of all the kinds that an oracle for general graphs has to expect."""

import numpy as np

from _referees import labeling_values
from sklearn_fw.inference import PairwiseScores

KINDS = [
    "normal",
    "ties",
    "forbidden",
    "padded",
    "one state",
    "one node",
    "no edges",
    "isolated nodes",
    "double edges",
    "shared",
    "magnitudes",
    "large",
]


def random_scores(rng, kind="normal", n_states=2, attractive=False):
    """Scores of 1 to 5 nodes; ``attractive`` ones can be solved by a graph cut."""
    n_nodes = 1 if kind == "one node" else int(rng.integers(2, 6))
    n_states = 1 if kind == "one state" else n_states
    pairs = [(a, b) for a in range(n_nodes) for b in range(n_nodes) if a != b]
    n_edges = 0 if kind in ("one node", "no edges") else int(rng.integers(1, 8))
    if kind == "isolated nodes":
        pairs, n_nodes = pairs[:2], n_nodes + 1
    edges = np.array([pairs[e] for e in rng.integers(len(pairs) or 1, size=n_edges)])
    edges = edges.reshape(-1, 2).astype(np.int64)
    if kind == "double edges":
        edges = np.concatenate([edges, edges[:, ::-1], edges[:1]])
    shape = (len(edges), n_states, n_states)
    unary, pairwise = rng.normal(size=(n_nodes, n_states)), rng.normal(size=shape)
    if kind == "ties":
        unary, pairwise = rng.integers(-1, 2, unary.shape) * 1.0, rng.integers(-1, 2, shape) * 1.0
    if kind == "magnitudes":
        unary *= 10.0 ** rng.choice([-6, 6], size=unary.shape)
        pairwise *= 10.0 ** rng.choice([-6, 6], size=shape)
    if kind == "large":
        unary, pairwise = 1e4 * unary, 1e4 * pairwise
    if attractive and n_states == 2:
        repulsive = attraction(pairwise) < 0.0
        pairwise[repulsive] = pairwise[repulsive][:, :, ::-1]
    if kind == "shared":
        pairwise = np.broadcast_to(pairwise[0].copy(), shape)
    if kind == "forbidden":
        unary[rng.random(unary.shape) < 0.1] = -np.inf
        gone = rng.random(shape) < 0.2
        if attractive:
            gone &= ~np.eye(n_states, dtype=bool)
        pairwise[gone] = -np.inf
    if kind == "padded":
        for node in np.flatnonzero(rng.random(n_nodes) < 0.4):
            missing = np.arange(n_states) >= rng.integers(1, n_states + 1)
            unary[node, missing] = -np.inf
            for tables, ends in ((pairwise, edges[:, 0]), (pairwise.swapaxes(1, 2), edges[:, 1])):
                at = np.ix_(ends == node, missing)
                tables[at] = rng.choice([-np.inf, -1e9, 0.0, 1e9], size=tables[at].shape)
    return PairwiseScores(unary, pairwise, edges).check()


def attraction(pairwise):
    """How much two-state tables prefer equal states: (n_edges,)."""
    return pairwise[:, 0, 0] + pairwise[:, 1, 1] - pairwise[:, 0, 1] - pairwise[:, 1, 0]


def parts(scores):
    return scores.unary, scores.pairwise, scores.edges


def best_value(scores):
    """The score of the best labelling, by enumeration."""
    return float(labeling_values(*parts(scores))[0].max())


def size_of(scores):
    """Largest absolute score that is not infinite."""
    flat = np.concatenate([scores.unary.ravel(), scores.pairwise.ravel()])
    return np.abs(flat[flat > -np.inf]).max(initial=0.0)


def same(value, other, tolerance):
    """Whether two numbers, possibly both infinite, agree."""
    return value == other or abs(value - other) <= tolerance


def ising_grid(rng, side, coupling, field=1.0, attractive=False):
    """Two-state scores on a square grid: fields and couplings in units of agreement."""
    node = np.arange(side * side).reshape(side, side)
    edges = np.concatenate(
        [
            np.column_stack([node[:, :-1].ravel(), node[:, 1:].ravel()]),
            np.column_stack([node[:-1].ravel(), node[1:].ravel()]),
        ]
    )
    fields = rng.uniform(-field, field, side * side)
    couplings = rng.uniform(0.0 if attractive else -coupling, coupling, len(edges))
    spins = np.array([[1.0, -1.0], [-1.0, 1.0]])
    return PairwiseScores(
        np.column_stack([-fields, fields]), couplings[:, None, None] * spins, edges
    )
