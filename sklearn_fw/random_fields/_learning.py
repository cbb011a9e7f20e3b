"""Random fields learned from tables of states, and inference on forests for many rows."""

import re
from dataclasses import KW_ONLY
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._core import check
from .._core.loop import IterativeMethod, drive
from .._core.parameters import Parameterized, check_parameters
from .._core.result import Status
from .._core.scores import as_array, check_edges, integers, is_forest
from .._core.warnings import warn
from .._kernels import lazy
from ..inference import TreeMaxProduct
from ..optim.domains import SpanningTrees
from ._fields import PairwiseMRF
from ._spanning_trees import spanning_tree_probabilities

sum_product = lazy("graphs.sum_product")

WORDS = re.compile("could not convert string|must hold numbers")  # of tables without numbers
# Expectation and maximization: rounds at most, nats per row that another round must gain, and
# random completions of each row for graphs with cycles.
EM_ROUNDS, EM_GAIN, COMPLETIONS = 500, 1e-7, 20


class LearnedMRF(NamedTuple):
    """Result of `MRFLearner.learn`: a random field and its marginals.

    Parameters
    ----------
    mrf : PairwiseMRF
        The random field.
    marginals : ndarray of shape (size,)
        Those of the rows, in the order of ``mrf.theta``.
    rho : ndarray of shape (n_edges,)
        Edge probabilities for which they are the maximizer.
    rows : ndarray of shape (n_rows, n_variables), int32, or None
        The distinct rows of the table; None for forests learned from incomplete rows.
    weight : ndarray of shape (n_rows + 1,) or None
        Their shares in the marginals, after that of the uniform distribution.
    history : dict of str to ndarray
        Of expectation and maximization, see ``learning_history_`` of the estimators.
    """

    mrf: PairwiseMRF
    marginals: np.ndarray
    rho: np.ndarray
    rows: np.ndarray | None
    weight: np.ndarray | None
    history: dict = {}


def check_learned(learned, name, n_variables):
    """A `LearnedMRF` as it is used: subclasses of `MRFLearner` are code of users."""
    if not (isinstance(learned, LearnedMRF) and isinstance(learned.mrf, PairwiseMRF)):
        raise TypeError(f"{name} must return a LearnedMRF with a PairwiseMRF, got {learned!r:.80}")
    mrf, rows, history = learned.mrf._plain(), learned.rows, learned.history
    if mrf.n_variables != n_variables:
        raise ValueError(f"{name} returned {mrf.n_variables} variables for {n_variables} columns")
    if (rows is None) != (learned.weight is None):
        raise ValueError(f"{name} must return both rows and weight, or None for both")
    check.instance(history, f"history of {name}", dict)
    sizes = {"marginals": len(mrf.theta), "rho": mrf.n_edges}
    if rows is not None:
        sizes["weight"] = len(mrf._check_labels(rows)) + 1
    for part, size in sizes.items():
        values = check.vector(getattr(learned, part), f"{part} of {name}", size)
        if np.any((values < 0) | (values > 1 + 1e-9)):
            raise ValueError(f"{part} of {name} must be between 0 and 1")
    return learned._replace(mrf=mrf)


def _given_edges(edges, name="edges"):
    """A name, or an array of integers of which nothing else is known, or names of columns."""
    if edges is None or isinstance(edges, str):
        other = "an array of shape (n_edges, 2), [] for none, or a networkx graph"
        return check.choice(edges, name, ("complete", "tree"), other)
    edges = list(edges.edges()) if hasattr(edges, "edges") else edges
    given = as_array(edges, name)
    return list(edges) if given.dtype.kind in "UO" and given.ndim == 2 else integers(edges, name, 2)


def numbered(edges, X):
    """Edges by numbers of columns, also where they join names of the columns of a data frame."""
    edges = _given_edges(edges)
    if isinstance(edges, str | np.ndarray):
        return edges
    number = {name: j for j, name in enumerate(getattr(X, "columns", ()))}
    try:
        return np.array([[number[a], number[b]] for a, b in edges])
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"edges must pair columns, here {list(number)}: {error}") from None


def _given_states(n_states, name="n_states"):
    """None for "auto", else an array of integers, without axes for one of all columns."""
    if check.is_auto(n_states):
        return None
    given = as_array(n_states, name)
    if given.dtype.kind not in "iu" or given.ndim > 1:
        raise ValueError(f"{name} must be 'auto', an integer or one per column, got {n_states!r}")
    return given


# States of a variable, and entries of all tables of pairs, that still fit into memory.
MOST_STATES, MOST_ENTRIES = 2**20, 2**28


class MRFLearner(Parameterized):
    """Learning of a random field from a table of states, in closed form.

    With smoothed marginals mu of the rows and edge probabilities rho, the potentials ``theta_i =
    log mu_i`` and ``theta_ij = rho_ij log(mu_ij / (mu_i mu_j))`` maximize the tree-reweighted
    likelihood: mu is the maximizer and 0 the maximum of the tree-reweighted objective. On forests
    that is the likelihood itself. All estimators of marginals take such an object as ``learner``.

    Parameters
    ----------
    edges : {"tree", "complete"}, array-like or networkx graph, default="tree"
        Which pairs of columns interact, by numbers or by names of the columns of a data frame.
        "tree" is the best tree (Chow and Liu).
    pseudocount : float, default=1.0
        Rows of uniform states that are added to the observations.
    n_states : "auto", int or array-like of shape (n_variables,), default="auto"
        States of each column; "auto" is the largest seen plus one.

    Notes
    -----
    Cost: n_samples times the number of edges (of all pairs for "tree").

    Where entries are missing (NaN), expectation and maximization maximizes the likelihood of what
    is there over distributions on one forest among ``edges``. A graph with cycles is then learned
    in closed form from random completions of the rows by that forest.

    References
    ----------
    .. [1] C. K. Chow, C. N. Liu, "Approximating discrete probability distributions with dependence
       trees", IEEE TIT 14, 1968.
    .. [2] M. J. Wainwright, T. S. Jaakkola, A. S. Willsky, "Tree-reweighted belief propagation
       algorithms and approximate ML estimation by pseudo-moment matching", AISTATS 2003.

    Examples
    --------
    >>> from sklearn_fw.random_fields import MRFLearner
    >>> learned = MRFLearner(pseudocount=0.1).learn([[0, 0], [1, 1], [1, 1], [0, 0]])
    >>> learned.mrf.edges.tolist()
    [[0, 1]]
    """

    edges: _given_edges = "tree"
    _: KW_ONLY
    pseudocount: check.strength = 1.0
    n_states: _given_states = "auto"

    def learn(self, X, sample_weight=None):
        """Learn potentials; returns a `LearnedMRF`.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_variables)
            Rows of states 0, 1, ...; NaN marks missing entries.
        sample_weight : array-like of shape (n_samples,), default=None
            Weight k of a row counts as k copies of it.
        """
        check_parameters(self)
        edges = numbered(self.edges, X)
        X = check_states(X, check.table)
        weight = check.sample_weight(sample_weight, len(X))
        states = _states(X)[weight > 0]
        weight = weight[weight > 0]
        n_states = _numbers_of_states(states, self.n_states)
        pairs = _pairs(edges, states.shape[1])
        n_entries = len(pairs) * float(n_states.max()) ** 2  # tables are padded to one shape
        if n_entries > MOST_ENTRIES:
            raise ValueError(
                f"X has up to {n_states.max()} states, so that tables of {len(pairs)} pairs would "
                f"have {n_entries:.3g} entries: merge states, or give edges"
            )
        counts = _Counts(states, n_states, weight, float(self.pseudocount), pairs)
        missing = (states < 0).any()
        best_tree = check.is_named(edges, "tree")
        if not (missing or best_tree):
            return counts.closed_form()
        kept = SpanningTrees(pairs, states.shape[1]).lmo(-counts.information()).places
        if not missing:
            return counts.of(pairs[kept]).closed_form()
        # Pairs that were never seen together have no effect on each other.
        run = _Expectation(counts.of(pairs[kept[counts.n_seen[kept] > 0]]))
        outcome = drive(run, tol=EM_GAIN, max_iter=EM_ROUNDS)
        if outcome.status is Status.TIME_LIMIT:
            warn(
                f"time_limit ended the learning after {outcome.n_iter} rounds, before potentials "
                f"came to rest: increase time_limit",
                ConvergenceWarning,
            )
        answer = run.solution()._replace(history=outcome.history)
        if best_tree or is_forest(pairs, states.shape[1]):
            return answer
        completed = _Counts(*run.completed(), float(self.pseudocount), pairs)
        return completed.closed_form()._replace(history=outcome.history)


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
        return _Counts(self.states, self.n_states, self.weight, self.pseudocount, pairs)

    def information(self):
        return np.array([float((table * _ratios(table)).sum()) for table in self.edge])

    def closed_form(self):
        node, edge, pairs = self.node, self.edge, self.pairs
        information = np.maximum(self.information(), 0.0)
        rho = spanning_tree_probabilities(pairs, len(node), information)
        mrf = _field(node, edge, pairs, rho)
        rows, source = np.unique(self.states.astype(np.int32), axis=0, return_inverse=True)
        counts = np.bincount(source.reshape(-1), weights=self.weight)
        counts = np.concatenate([[self.pseudocount], counts])
        marginals = np.concatenate([*node, *(table.ravel() for table in edge)])
        return LearnedMRF(mrf, marginals, rho, rows, counts / counts.sum())

    def _frequencies(self, columns):
        n_states = self.n_states[columns]
        states = self.states[:, columns]
        seen = (states >= 0).all(axis=1)
        states, weight = states[seen], self.weight[seen]
        places = np.ravel_multi_index(tuple(states.T), n_states)
        counts = np.bincount(places, weights=weight, minlength=int(n_states.prod()))
        return smoothed(counts.reshape(n_states), self.pseudocount), weight.sum()


def smoothed(counts, pseudocount):
    """Relative frequencies from counts, with ``pseudocount`` rows of uniform states."""
    return (counts + pseudocount / counts.size) / (counts.sum() + pseudocount)


def _ratios(table):
    return np.log(table / np.outer(table.sum(axis=1), table.sum(axis=0)))


def _field(node, edge, pairs, rho):
    tables = [r * _ratios(table) for r, table in zip(rho, edge, strict=True)]
    return PairwiseMRF([np.log(p) for p in node], pairs, tables or None)


class _Expectation(IterativeMethod):
    """Expectation and maximization on a forest.

    Maximizes the weighted sum over rows of ``log p(entries that are there)``, and of
    ``pseudocount`` times the mean log-probability of states and pairs, over distributions p on the
    forest, starting from the frequencies of what is there.
    """

    certificate = "gain"

    def __init__(self, counts):
        self.counts = counts
        self.rows, source = np.unique(counts.states, axis=0, return_inverse=True)
        self.row_weight = np.bincount(source.reshape(-1), weights=counts.weight)
        self.node, self.edge = counts.node, counts.edge
        self.rho = np.ones(len(counts.pairs))
        self.likelihood = None

    @property
    def mrf(self):
        return _field(self.node, self.edge, self.counts.pairs, self.rho)

    def step(self):
        """One round; numbers are those of the field before it, in nats per row."""
        counts, mrf = self.counts, self.mrf
        forest = ForestRows(mrf)
        node_sum = np.zeros(forest.unary.shape)
        edge_sum, value = 0.0, 0.0
        for batch in forest.batches(self.rows):
            w = self.row_weight[batch]
            beliefs, joint, logs = forest.marginals(self.rows[batch], w)
            node_sum += np.tensordot(w, beliefs, axes=1)
            edge_sum, value = edge_sum + joint, value + float(w @ logs)
        sizes, p = counts.n_states.tolist(), counts.pseudocount
        self.node = [smoothed(c[:k], p) for c, k in zip(node_sum, sizes)]
        pairs = zip(edge_sum, counts.pairs.tolist())
        self.edge = [smoothed(c[: sizes[a], : sizes[b]], p) for c, (a, b) in pairs]
        total, before, self.likelihood = self.row_weight.sum(), self.likelihood, value
        # The first tables, of different rows, need not agree: only then log Z is not zero.
        _, _, (log_partition,) = forest.marginals(np.full((1, mrf.n_variables), -1))
        uniform = sum(float(table.mean()) for table in [*mrf.unary, *mrf.pairwise])
        likelihood = value / total - float(log_partition)
        prior = counts.pseudocount / total * (uniform - float(log_partition))
        return {
            "objective": likelihood + prior,
            "log_likelihood": likelihood,
            "gain": None if before is None else (value - before) / total,
        }

    def solution(self):
        marginals = np.concatenate([*self.node, *(table.ravel() for table in self.edge)])
        return LearnedMRF(self.mrf, marginals, self.rho, None, None)

    def completed(self):
        """Rows with random entries where some are missing, numbers of states, and weights."""
        states, weight = self.counts.states, self.counts.weight
        forest, rng = ForestRows(self.mrf), np.random.RandomState(0)
        holes = (states < 0).any(axis=1)
        drawn = forest.sample(states[holes], COMPLETIONS, rng)
        weights = np.tile(weight[holes] / COMPLETIONS, COMPLETIONS)
        rows = np.concatenate([states[~holes], *drawn])
        return rows, self.counts.n_states, np.concatenate([weight[~holes], weights])


def check_states(X, read):
    """A table of numbers, NaN for missing entries, by a check ``read`` of scikit-learn's kind."""
    try:
        return read(X, dtype=np.float64, ensure_all_finite="allow-nan")
    except (TypeError, ValueError) as error:
        if not WORDS.search(str(error)):
            raise
        raise ValueError(
            "X must hold states as whole numbers from 0, NaN where one is missing: number the "
            "categories by OrdinalEncoder"
        ) from None


def _states(X):
    def refuse(wrong, reason, prefix=""):
        if wrong.any():
            row, column = np.argwhere(wrong)[0]
            raise ValueError(f"{prefix}X[{row}, {column}] is {X[row, column]}{reason}")

    missing = np.isnan(X)
    X = np.where(missing, 0, X)
    # As checks of scikit-learn want it.
    prefix = "Negative values in data passed to fit: "
    refuse(X < 0, ". States count from 0; mark missing entries by NaN", prefix)
    refuse(X > MOST_STATES, ", too many states for the memory: number them by OrdinalEncoder")
    states = X.astype(np.int64)
    refuse(
        states != X,
        ": states are whole numbers from 0; use OrdinalEncoder for categories and "
        "KBinsDiscretizer(encode='ordinal') for numbers",
    )
    nothing = missing.all(axis=0)
    if nothing.any():
        raise ValueError(f"column {int(nothing.argmax())} of X holds no entry at all: leave it out")
    return np.where(missing, -1, states)


def _numbers_of_states(states, n_states):
    seen = states.max(axis=0) + 1
    n_states = _given_states(n_states)
    if n_states is None:
        return seen
    if n_states.shape not in ((), seen.shape):
        raise ValueError(f"n_states must be one integer per column of X, got {n_states!r}")
    if n_states.max() > MOST_STATES:
        raise ValueError(f"n_states must be at most {MOST_STATES}, got {n_states.max()}")
    n_states = np.broadcast_to(n_states, seen.shape).astype(np.int64)
    if np.any(n_states < seen):
        i = int(np.argmax(n_states < seen))
        raise ValueError(f"n_states[{i}] is {n_states[i]}, but column {i} of X holds {seen[i] - 1}")
    return n_states


def _pairs(edges, n_variables):
    if isinstance(edges, str):
        return np.stack(np.triu_indices(n_variables, 1), axis=1)
    pairs = check_edges(edges, n_variables)
    # In the order of first appearance, as the random field has them.
    pairs = np.sort(pairs, axis=1)
    first = np.unique(pairs, axis=0, return_index=True)[1]
    return pairs[np.sort(first)]


ENTRIES_AT_ONCE = 2**22  # of the arrays for a batch of rows


class ForestRows:
    """Message passing on a random field without cycles, for batches of rows."""

    def __init__(self, mrf: PairwiseMRF):
        self._scores, self._oracle = mrf.scores(), TreeMaxProduct()
        self.unary, *self._forest = self._oracle._forest(self._scores)
        self._sizes = *self.unary.shape, self._scores.n_edges

    def batches(self, rows):
        n, k, n_edges = self._sizes
        size = max(1, ENTRIES_AT_ONCE // (n * k + n_edges * k * k))
        return [slice(a, a + size) for a in range(0, len(rows), size)]

    def _given(self, rows):
        """Scores of the states of variables, of those alone that rows allow."""
        seen = (rows[:, :, None] == np.arange(self.unary.shape[1])) | (rows < 0)[:, :, None]
        return np.where(seen, self.unary, -np.inf)

    def _sums(self, rows, node, edge):
        n, k, n_edges = self._sizes
        starts, none = n * np.arange(len(rows) + 1), np.zeros(len(rows), np.int64)
        samples = self._given(rows).reshape(-1, k), starts, none, none + n_edges
        return sum_product.tree_marginals_batch(*samples, *self._forest, node, edge)

    def log_sums(self, rows):
        k = self.unary.shape[1]
        return self._sums(rows, np.empty((0, k)), np.empty((0, k, k)))

    def marginals(self, rows, weight=None):
        """Node marginals given the entries that are not negative, for each of many rows.

        Returns probabilities (n_rows, n_variables, n_states); sums over rows, by ``weight``, of
        those of pairs, (n_edges, n_states, n_states) with axes as in ``mrf.edges``, None without
        weights; and the logarithm of the total potential of the completions of each row.
        """
        n, k, n_edges = self._sizes
        node, edge = np.empty((len(rows) * n, k)), np.empty((len(rows) * n_edges, k, k))
        total = self._sums(rows, node, edge)
        if np.any(total == -np.inf):
            raise ValueError("observed is forbidden by a potential of -inf")
        if weight is None:
            return node.reshape(-1, n, k), None, total
        edge = np.tensordot(weight, edge.reshape(len(rows), n_edges, k, k), axes=1)
        return node.reshape(-1, n, k), self._oracle._undirected(edge, self._scores), total

    def sample(self, rows, n_samples, rng):
        """Random completions of each row, from its distribution given what is there."""
        drawn = np.zeros((n_samples, *rows.shape), np.int32)
        for i, unary in enumerate(self._given(rows)):
            uniforms, labels = rng.random_sample(drawn[:, i].shape), np.zeros_like(drawn[:, i])
            sum_product.tree_samples(unary, *self._forest, uniforms, labels)
            drawn[:, i] = labels
        return drawn.astype(np.int64)
