"""Random scores of all the kinds that an oracle has to expect, and what tests ask about them."""

from contextlib import contextmanager

import numpy as np

from _references import labeling_values
from sklearn_fw.inference import PairwiseScores

KINDS = [
    "normal", "ties", "forbidden", "missing states", "shared table", "one state", "one node",
    "no edges", "isolated nodes", "several parts", "double edges", "magnitudes", "large",
]  # fmt: skip
FOREST_KINDS = [kind for kind in KINDS if kind != "double edges"]
CHAIN_KINDS = [
    kind for kind in FOREST_KINDS if kind not in ("no edges", "isolated nodes", "several parts")
]


def random_edges(rng, graph, n_nodes):
    """Edges of a random "chain", or of a "forest" or "any" graph in random order and direction."""
    if graph == "chain":
        return np.column_stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)])
    if graph == "forest":
        names = rng.permutation(n_nodes)
        edges = [(names[t], names[rng.integers(t)]) for t in range(1, n_nodes)]
    else:
        pairs = [(a, b) for a in range(n_nodes) for b in range(a)]
        keep = rng.random(len(pairs)) < rng.random()
        edges = [pair for pair, kept in zip(pairs, keep, strict=True) if kept]
    edges = [edges[e][:: rng.choice([-1, 1])] for e in rng.permutation(len(edges))]
    return np.array(edges, dtype=np.int64).reshape(-1, 2)


def random_scores(rng, kind="normal", graph="any", n_nodes=None, n_states=None, attractive=False):
    """Scores of one of the ``KINDS`` on a small graph; a cut can solve ``attractive`` ones."""
    if n_nodes is None:
        n_nodes = 1 if kind == "one node" else int(rng.integers(1, 6))
    if n_states is None:
        n_states = int(rng.integers(2, 4))
    if kind == "one state":
        n_states = 1
    edges = random_edges(rng, graph, n_nodes)
    if kind == "no edges":
        edges = edges[:0]
    if kind == "isolated nodes":
        alone = rng.random(n_nodes) < 0.4
        edges = edges[~alone[edges].any(axis=1)]
    if kind == "several parts":
        side = rng.random(n_nodes) < 0.5
        edges = edges[side[edges[:, 0]] == side[edges[:, 1]]]
    if kind == "double edges":
        edges = np.concatenate([edges, edges[::2], edges[:, ::-1]])
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
    if kind == "shared table" and len(edges):
        pairwise = np.broadcast_to(pairwise[0].copy(), shape)
    if kind == "forbidden":
        unary[rng.random(unary.shape) < 0.15] = -np.inf
        gone = rng.random(shape) < 0.2
        if attractive:
            gone &= ~np.eye(n_states, dtype=bool)
        pairwise[gone] = -np.inf
    if kind == "missing states":  # what the tables hold for states that are not there is noise
        missing = rng.random(unary.shape) < 0.3
        missing[np.arange(n_nodes), rng.integers(n_states, size=n_nodes)] = False
        unary[missing] = -np.inf
        noise = rng.choice([-np.inf, -1e9, 0.0, 1e9], size=shape)
        pairwise = np.where(possible_pairs(unary, edges), pairwise, noise)
    return PairwiseScores(unary, pairwise, edges).check()


def possible_pairs(unary, edges):
    """Pairs of states that are not forbidden: (n_edges, n_states, n_states) bool."""
    a, b = (unary > -np.inf)[edges.T]
    return a[:, :, None] & b[:, None, :]


def attraction(pairwise):
    """How much two-state tables prefer equal states: (n_edges,)."""
    return pairwise[:, 0, 0] + pairwise[:, 1, 1] - pairwise[:, 0, 1] - pairwise[:, 1, 0]


def plain(kernel):
    """The Python code of a kernel, which itself is that code with NUMBA_DISABLE_JIT."""
    return getattr(kernel, "py_func", kernel)


def parts(scores):
    return scores.unary, scores.pairwise, scores.edges


@contextmanager
def read_only(scores):
    """Nobody may write into the arrays of these scores, and in the end nobody has."""
    copies = [array.copy() for array in parts(scores)]
    for array in parts(scores):
        array.flags.writeable = False
    yield
    for array, copy in zip(parts(scores), copies):
        np.testing.assert_array_equal(array, copy)


def best_value(scores):
    """The score of the best labeling, by enumeration."""
    return float(labeling_values(*parts(scores))[0].max())


def size_of(scores):
    """Largest absolute score that a labeling can have in one of its parts."""
    pairs = scores.pairwise[possible_pairs(scores.unary, scores.edges)]
    flat = np.concatenate([scores.unary.ravel(), pairs])
    return np.abs(flat[flat > -np.inf]).max(initial=0.0)


def same(value, other, tolerance):
    """Whether two numbers, possibly both infinite, agree."""
    return value == other or abs(value - other) <= tolerance


def grid_edges(n_rows, n_columns):
    """Edges of a grid whose nodes are numbered row by row."""
    number = np.arange(n_rows * n_columns).reshape(n_rows, n_columns)
    right = np.stack([number[:, :-1], number[:, 1:]], axis=-1).reshape(-1, 2)
    down = np.stack([number[:-1], number[1:]], axis=-1).reshape(-1, 2)
    return np.concatenate([right, down])


def ising_grid(rng, side, coupling, field=1.0, attractive=False):
    """Two-state scores on a square grid: fields and couplings in units of agreement."""
    edges = grid_edges(side, side)
    fields = rng.uniform(-field, field, side * side)
    couplings = rng.uniform(0.0 if attractive else -coupling, coupling, len(edges))
    spins = np.array([[1.0, -1.0], [-1.0, 1.0]])
    return PairwiseScores(
        np.column_stack([-fields, fields]), couplings[:, None, None] * spins, edges
    )


def random_tables(rng, n_nodes, edges, coupling, n_states):
    """Two states agree or differ, which makes the hardest problems; tables of more are random."""
    unary = rng.uniform(-1, 1, (n_nodes, n_states))
    pairwise = coupling * rng.normal(size=(len(edges), n_states, n_states))
    if n_states == 2:
        pairwise = pairwise[:, :1, :1] * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return PairwiseScores(unary, pairwise, np.asarray(edges)).check()


def clique(rng, n_nodes, coupling, n_states=2):
    edges = np.column_stack(np.triu_indices(n_nodes, 1))
    return random_tables(rng, n_nodes, edges, coupling, n_states)


def grid(rng, side, coupling, n_states):
    return random_tables(rng, side**2, grid_edges(side, side), coupling, n_states)
