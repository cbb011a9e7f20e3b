"""Random fields learned from tables of states, in closed form."""

from itertools import combinations
from numbers import Integral
from typing import NamedTuple

import numpy as np

from ..._validation import check_not_negative
from ._mrf import PairwiseMRF, check_edges
from ._spanning_trees import matrix_tree_edge_probabilities, maximum_spanning_tree_vertex

__all__ = ["LearnedMRF", "learn_mrf"]


class LearnedMRF(NamedTuple):
    """A random field whose surrogate optimum is known, since it was made from it."""

    mrf: PairwiseMRF
    marginals: np.ndarray  # (size,), in the order of mrf.theta
    rho: np.ndarray  # (n_edges,)
    rows: np.ndarray  # (n_rows, n_variables) the distinct rows of the table, int32
    weight: np.ndarray  # (n_rows + 1,) their shares in the marginals, after that of the uniform


def learn_mrf(X, *, edges, pseudocount, n_states, sample_weight):
    """Potentials that maximise the tree-reweighted likelihood of the rows of ``X``.

    With smoothed marginals mu of the rows and edge probabilities rho, ``theta_i = log mu_i`` and
    ``theta_ij = rho_ij log(mu_ij / (mu_i mu_j))`` make mu the maximiser and 0 the maximum of the
    tree-reweighted objective. Cost: n_samples times the number of edges (of all pairs for "tree").
    """
    states = _states(X)[sample_weight > 0]
    sample_weight = sample_weight[sample_weight > 0]
    n_states = _numbers_of_states(states, n_states)
    check_not_negative(pseudocount, "pseudocount")
    if pseudocount == 0:
        raise ValueError("pseudocount must be positive: potentials would be -inf for unseen pairs")
    n_variables = states.shape[1]
    pairs = _pairs(edges, n_variables)
    node = [_frequencies(states[:, [i]], n_states[[i]], sample_weight, pseudocount)
            for i in range(n_variables)]  # fmt: skip
    edge = [_frequencies(states[:, [i, j]], n_states[[i, j]], sample_weight, pseudocount)
            for i, j in pairs]  # fmt: skip
    ratios = [
        np.log(table / np.outer(node[i], node[j]))
        for table, (i, j) in zip(edge, pairs, strict=True)
    ]
    information = np.array([float((t * r).sum()) for t, r in zip(edge, ratios, strict=True)])
    if isinstance(edges, str) and edges == "tree":
        kept = np.flatnonzero(maximum_spanning_tree_vertex(pairs, n_variables, information))
        pairs, information = pairs[kept], information[kept]
        edge, ratios = [edge[e] for e in kept], [ratios[e] for e in kept]
    rho = matrix_tree_edge_probabilities(pairs, n_variables, np.maximum(information, 0.0))
    mrf = PairwiseMRF(
        [np.log(p) for p in node], pairs, [r * t for r, t in zip(rho, ratios, strict=True)]
    )
    rows, source = np.unique(states.astype(np.int32), axis=0, return_inverse=True)
    counts = np.concatenate([[pseudocount], np.bincount(source.reshape(-1), weights=sample_weight)])
    marginals = np.concatenate([*node, *(table.ravel() for table in edge)])
    return LearnedMRF(mrf, marginals, rho, rows, counts / counts.sum())


def _states(X):
    if X.min() < 0:
        row, column = np.argwhere(X < 0)[0]
        raise ValueError(
            f"Negative values in data passed to fit: X[{row}, {column}] is {X[row, column]}. They "
            f"mark missing entries, which only predict accepts"
        )
    states = X.astype(np.int64)
    if np.any(states != X):
        row, column = np.argwhere(states != X)[0]
        raise ValueError(
            f"X[{row}, {column}] is {X[row, column]}: states are whole numbers from 0; use "
            f"OrdinalEncoder for categories and KBinsDiscretizer(encode='ordinal') for numbers"
        )
    return states


def _numbers_of_states(states, n_states):
    seen = states.max(axis=0) + 1
    if isinstance(n_states, str) and n_states == "auto":
        return seen
    if isinstance(n_states, Integral):
        n_states = np.full(len(seen), n_states)
    n_states = np.asarray(n_states)
    if n_states.shape != seen.shape or n_states.dtype.kind not in "iu":
        raise ValueError(
            f"n_states must be 'auto', an integer or one integer per column ({len(seen)}), got "
            f"{n_states!r}"
        )
    if np.any(n_states < seen):
        i = int(np.argmax(n_states < seen))
        raise ValueError(f"n_states[{i}] is {n_states[i]}, but column {i} of X holds {seen[i] - 1}")
    return n_states.astype(np.int64)


def _pairs(edges, n_variables):
    if isinstance(edges, str):
        if edges not in ("complete", "tree"):
            raise ValueError(
                f"edges must be 'complete', 'tree', an array of shape (n_edges, 2) or a networkx "
                f"graph; got {edges!r}"
            )
        return np.array(list(combinations(range(n_variables), 2)), np.int64).reshape(-1, 2)
    if hasattr(edges, "edges"):
        edges = list(edges.edges())
    pairs = check_edges(edges, n_variables)
    # In the order of first appearance, as the random field has them.
    pairs = np.sort(pairs, axis=1)
    first = np.unique(pairs, axis=0, return_index=True)[1]
    return pairs[np.sort(first)]


def _frequencies(columns, n_states, weight, pseudocount):
    """Table of smoothed relative frequencies of the states of one or two columns."""
    size = int(n_states.prod())
    places = columns[:, 0] if len(n_states) == 1 else columns[:, 0] * n_states[1] + columns[:, 1]
    counts = np.bincount(places, weights=weight, minlength=size)
    counts = (counts + pseudocount / size) / (weight.sum() + pseudocount)
    return counts.reshape(n_states)
