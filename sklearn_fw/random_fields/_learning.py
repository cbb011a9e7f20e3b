"""Random fields learned from tables of states, in closed form."""

from itertools import combinations
from typing import NamedTuple

import numpy as np

from .._validation import check_not_negative, check_strength
from ..inference._layout import check_edges
from ..inference._scores import as_array, integers, is_forest
from ..optim.domains import SpanningTrees
from ._forest_rows import ForestRows
from ._mrf import PairwiseMRF
from ._spanning_trees import matrix_tree_edge_probabilities

__all__ = ["LearnedMRF", "check_learning", "learn_mrf"]

# Expectation and maximisation: rounds at most, nats per row that another round must gain, and
# random completions of each row for graphs with cycles.
EM_ROUNDS, EM_GAIN, COMPLETIONS = 500, 1e-7, 20


class LearnedMRF(NamedTuple):
    """A random field whose surrogate optimum is known, since it was made from it."""

    mrf: PairwiseMRF
    marginals: np.ndarray  # (size,), in the order of mrf.theta
    rho: np.ndarray  # (n_edges,)
    # (n_rows, n_variables) the distinct rows of the table, int32, and (n_rows + 1,) their shares in
    # the marginals after that of the uniform; None for forests learned from incomplete rows
    rows: np.ndarray | None
    weight: np.ndarray | None


# States of a variable, and entries of all tables of pairs, that still fit into memory.
MOST_STATES, MOST_ENTRIES = 2**20, 2**28


def check_learning(edges, pseudocount, n_states):
    """The parameters of learning, before it is known whether X is a table."""
    if check_not_negative(pseudocount, "pseudocount") == 0:
        raise ValueError("pseudocount must be positive: potentials would be -inf for unseen pairs")
    check_strength(pseudocount, "pseudocount")
    _given_states(n_states)
    _given_edges(edges)


def learn_mrf(X, *, edges, pseudocount, n_states, sample_weight):
    """Potentials that maximise the tree-reweighted likelihood of the rows of ``X``.

    With smoothed marginals mu of the rows and edge probabilities rho, ``theta_i = log mu_i`` and
    ``theta_ij = rho_ij log(mu_ij / (mu_i mu_j))`` make mu the maximiser and 0 the maximum of the
    tree-reweighted objective. Cost: n_samples times the number of edges (of all pairs for "tree").

    Where entries are missing (NaN), the likelihood of what is there is maximised, by expectation
    and maximisation (`_expect`), over distributions on one forest: the best tree by the pairs of
    entries that are there, among ``edges``. A graph with cycles is then learned in closed form from
    random completions of the rows by that forest.
    """
    pseudocount = check_strength(pseudocount, "pseudocount")
    states = _states(X)[sample_weight > 0]
    sample_weight = sample_weight[sample_weight > 0]
    n_states = _numbers_of_states(states, n_states)
    pairs = _pairs(edges, states.shape[1])
    n_entries = len(pairs) * float(n_states.max()) ** 2  # tables are padded to one shape
    if n_entries > MOST_ENTRIES:
        raise ValueError(
            f"the columns of X have up to {n_states.max()} states, so that the tables of "
            f"{len(pairs)} pairs would have {n_entries:.3g} entries: merge states, or give edges"
        )
    counts = _Counts(states, n_states, sample_weight, pseudocount, pairs)
    missing = (states < 0).any()
    if missing or (isinstance(edges, str) and edges == "tree"):
        kept = SpanningTrees(pairs, states.shape[1]).lmo(-counts.information()).places
        if missing:
            # Pairs that were never seen together say nothing of each other.
            forest = counts.of(pairs[kept[counts.n_seen[kept] > 0]])
            answer, rows, weight = _expect(forest, states, sample_weight)
            if (isinstance(edges, str) and edges == "tree") or is_forest(pairs, states.shape[1]):
                return answer
            return _Counts(rows, n_states, weight, pseudocount, pairs).closed_form()
        counts = counts.of(pairs[kept])
    return counts.closed_form()


class _Counts:
    """Smoothed frequencies of states and pairs of states, each of the rows that have them."""

    def __init__(self, states, n_states, weight, pseudocount, pairs):
        self.states, self.n_states, self.weight = states, n_states, weight
        self.pseudocount, self.pairs = pseudocount, pairs
        columns = range(states.shape[1])
        self.node = [self._frequencies([i])[0] for i in columns]
        found = [self._frequencies(pair) for pair in pairs.tolist()]
        self.edge = [table for table, _ in found]
        self.n_seen = np.array([total for _, total in found])

    def of(self, pairs):
        """The same for some other pairs."""
        return _Counts(self.states, self.n_states, self.weight, self.pseudocount, pairs)

    def information(self):
        """Mutual information of each pair, by the rows that have both."""
        return np.array([_information(table) for table in self.edge]).reshape(-1)

    def closed_form(self):
        """The `LearnedMRF` of complete rows."""
        node, edge, pairs = self.node, self.edge, self.pairs
        information = np.maximum(self.information(), 0.0)
        rho = matrix_tree_edge_probabilities(pairs, len(node), information)
        mrf = _field(node, edge, pairs, rho)
        rows, source = np.unique(self.states.astype(np.int32), axis=0, return_inverse=True)
        counts = np.bincount(source.reshape(-1), weights=self.weight)
        counts = np.concatenate([[self.pseudocount], counts])
        marginals = np.concatenate([*node, *(table.ravel() for table in edge)])
        return LearnedMRF(mrf, marginals, rho, rows, counts / counts.sum())

    def _frequencies(self, columns):
        """Table of relative frequencies of the states of one or two columns, and the weight."""
        n_states = self.n_states[columns]
        states = self.states[:, columns]
        seen = (states >= 0).all(axis=1)
        states, weight = states[seen], self.weight[seen]
        places = states[:, 0] if len(columns) == 1 else states[:, 0] * n_states[1] + states[:, 1]
        counts = np.bincount(places, weights=weight, minlength=int(n_states.prod()))
        return smoothed(counts.reshape(n_states), self.pseudocount), weight.sum()


def smoothed(counts, pseudocount):
    """Relative frequencies from counts, with ``pseudocount`` rows of uniform states."""
    return (counts + pseudocount / counts.size) / (counts.sum() + pseudocount)


def _information(table):
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    return float((table * np.log(table / np.outer(rows, columns))).sum())


def _field(node, edge, pairs, rho):
    ratios = [np.log(table / np.outer(table.sum(axis=1), table.sum(axis=0))) for table in edge]
    tables = [r * t for r, t in zip(rho, ratios, strict=True)]
    return PairwiseMRF([np.log(p) for p in node], pairs, tables or None)


def _expect(counts, states, weight):
    """Expectation and maximisation on a forest: the `LearnedMRF`, completed rows, their weights.

    Maximises the weighted sum over rows of ``log p(entries that are there)``, and of
    ``pseudocount`` times the mean log-probability of states and pairs, over distributions p on the
    forest. Each round replaces missing entries by their distributions given the others and takes
    frequencies, and never makes it smaller. It starts from the frequencies of what is there; with
    few missing entries that is near the only maximum, else it may end in one of several.
    """
    rows, source = np.unique(states, axis=0, return_inverse=True)
    row_weight = np.bincount(source.reshape(-1), weights=weight)
    n_states, pairs, node, edge = counts.n_states, counts.pairs, counts.node, counts.edge
    rho = np.ones(len(pairs))
    total, i, j = row_weight.sum(), *pairs.T
    before = -np.inf
    for _ in range(EM_ROUNDS):
        forest = ForestRows(_field(node, edge, pairs, rho))
        node_sum = np.zeros(forest.unary.shape)
        edge_sum, value = 0.0, 0.0
        for batch in forest.batches(rows):
            w = row_weight[batch]
            beliefs, joint, logs = forest.marginals(rows[batch], w)
            node_sum += np.tensordot(w, beliefs, axes=1)
            edge_sum, value = edge_sum + joint, value + float(w @ logs)
        sizes = n_states.tolist()
        node = [smoothed(c[:k], counts.pseudocount) for c, k in zip(node_sum, sizes)]
        edge = [
            smoothed(edge_sum[e, : sizes[a], : sizes[b]], counts.pseudocount)
            for e, (a, b) in enumerate(zip(i, j))
        ]
        if value - before <= EM_GAIN * total:
            break
        before = value
    mrf = _field(node, edge, pairs, rho)
    forest, rng = ForestRows(mrf), np.random.RandomState(0)
    holes = (states < 0).any(axis=1)
    drawn = [forest.sample(states[holes], rng) for _ in range(COMPLETIONS)]
    completed = np.concatenate([states[~holes], *drawn])
    weights = np.concatenate([weight[~holes], np.tile(weight[holes] / COMPLETIONS, COMPLETIONS)])
    marginals = np.concatenate([*node, *(table.ravel() for table in edge)])
    return LearnedMRF(mrf, marginals, rho, None, None), completed, weights


def _states(X):
    missing = np.isnan(X) if X.dtype.kind == "f" else np.zeros(X.shape, bool)
    X = np.where(missing, 0, X)
    if X.min() < 0:
        row, column = np.argwhere(X < 0)[0]
        raise ValueError(
            f"Negative values in data passed to fit: X[{row}, {column}] is {X[row, column]}. "
            f"States count from 0; mark missing entries by NaN"
        )
    if X.max() > MOST_STATES:
        row, column = np.argwhere(X.max() == X)[0]
        raise ValueError(
            f"X[{row}, {column}] is {X[row, column]}, and that many states have no room in memory: "
            f"number the states from 0 by OrdinalEncoder"
        )
    states = X.astype(np.int64)
    if np.any(states != X):
        row, column = np.argwhere(states != X)[0]
        raise ValueError(
            f"X[{row}, {column}] is {X[row, column]}: states are whole numbers from 0; use "
            f"OrdinalEncoder for categories and KBinsDiscretizer(encode='ordinal') for numbers"
        )
    nothing = missing.all(axis=0)
    if nothing.any():
        raise ValueError(f"column {int(nothing.argmax())} of X holds no entry at all: leave it out")
    return np.where(missing, -1, states)


def _given_states(n_states):
    """None for "auto", else an array of integers, without axes for one of all columns."""
    if isinstance(n_states, str) and n_states == "auto":
        return None
    given = as_array(n_states, "n_states")
    if given.dtype.kind not in "iu" or given.ndim > 1:
        raise ValueError(
            f"n_states must be 'auto', an integer or one integer per column, got {n_states!r}"
        )
    return given


def _numbers_of_states(states, n_states):
    seen = states.max(axis=0) + 1
    n_states = _given_states(n_states)
    if n_states is None:
        return seen
    if n_states.ndim == 0:
        n_states = np.full(len(seen), n_states)
    if n_states.shape != seen.shape:
        raise ValueError(
            f"n_states must be one integer per column, {len(seen)} of them, got {n_states!r}"
        )
    if n_states.max() > MOST_STATES:
        raise ValueError(f"n_states must be at most {MOST_STATES}, got {n_states.max()}")
    if np.any(n_states < seen):
        i = int(np.argmax(n_states < seen))
        raise ValueError(f"n_states[{i}] is {n_states[i]}, but column {i} of X holds {seen[i] - 1}")
    return n_states.astype(np.int64)


def _given_edges(edges):
    """A name, or an array of integers of which nothing else is known."""
    if isinstance(edges, str):
        if edges not in ("complete", "tree"):
            raise ValueError(
                f"edges must be 'complete', 'tree', an array of shape (n_edges, 2) or a networkx "
                f"graph; got {edges!r}"
            )
        return edges
    if edges is None:
        raise ValueError("edges must be 'complete', 'tree', an array or a graph; [] means none")
    if hasattr(edges, "edges"):
        edges = list(edges.edges())
    return integers(edges, "edges", 2)


def _pairs(edges, n_variables):
    edges = _given_edges(edges)
    if isinstance(edges, str):
        return np.array(list(combinations(range(n_variables), 2)), np.int64).reshape(-1, 2)
    pairs = check_edges(edges, n_variables)
    # In the order of first appearance, as the random field has them.
    pairs = np.sort(pairs, axis=1)
    first = np.unique(pairs, axis=0, return_index=True)[1]
    return pairs[np.sort(first)]
