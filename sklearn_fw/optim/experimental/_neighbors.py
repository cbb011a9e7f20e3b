"""Which rows are close: the graph of methods that share memory between neighbours."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import gen_batches

from ..._core.validation import (
    check_choice,
    check_integer,
    check_magnitude,
    check_random_state,
    check_table,
    find_labels,
    is_auto,
)

METHODS = ("auto", "exact", "lsh", "rp_tree")

# Brute force costs rows^2 * columns; a search tree is fast in few columns.
MUCH, FEW_COLUMNS = 2e11, 15
# Trees, and tables with their number of projections: of 5000 clustered rows they find 0.92 and 0.76
# of the 20 nearest in 20 columns, of Gaussian rows 0.67 both.
N_TREES, N_TABLES, N_PROJECTIONS = 10, 10, 6
# Width of the bins of a projection, in median distances of the nearest neighbours of a sample.
BIN_WIDTH, SAMPLE = 6.0, 1000
# Columns that stand for those of sparse rows in a search.
SKETCH = 64
# Numbers that a step of a search handles at a time.
BLOCK = 1 << 21


class NeighborGraph(NamedTuple):
    """Parents of every row and, the other way round, children in the layout of a CSR matrix.

    Parameters
    ----------
    parents : ndarray of shape (n_samples, n_neighbors)
        Row numbers of the nearest rows, the row itself first.
    distances : ndarray of shape (n_samples, n_neighbors)
        Distances from them; infinite where labels differ.
    indptr : ndarray of shape (n_samples + 1,)
        The children of row i are at the positions ``indptr[i] : indptr[i + 1]``.
    children : ndarray of shape (n_samples * n_neighbors,)
        Numbers of the rows that have a row among their parents.
    child_distances : ndarray of shape (n_samples * n_neighbors,)
        Distances from them.
    """

    parents: np.ndarray
    distances: np.ndarray
    indptr: np.ndarray
    children: np.ndarray
    child_distances: np.ndarray


def neighbor_graph(X, y, n_neighbors, *, method="auto", random_state=None):
    """Link every row with its nearest rows, of which it is one itself.

    Parameters
    ----------
    X : {array-like, CSR matrix} of shape (n_samples, n_features)
        Rows, on comparable scales.
    y : array-like of shape (n_samples,) or None
        Class labels: neighbours are of the same class, unless the class is smaller than
        ``n_neighbors`` and other rows have to stand in. None means no such condition.
    n_neighbors : int
        Parents of every row; at most n_samples.
    method : str, array-like of shape (n_samples, n_neighbors) or object, default="auto"
        "exact"; "rp_tree" (random projection trees) or "lsh" (hashing) for many rows and columns,
        which miss some neighbours; "auto" is "exact" where that is affordable, else "rp_tree".
        Or row numbers of the parents, another `NeighborGraph`, or a fitted object with
        ``kneighbors`` such as `sklearn.neighbors.NearestNeighbors`.
    random_state : int, RandomState or None, default=None
        Of "rp_tree", "lsh" and the rows that stand in.

    Returns
    -------
    NeighborGraph
        Named tuple of ``parents``, ``distances``, ``indptr``, ``children``, ``child_distances``.

    Notes
    -----
    Memory is 24 n q bytes, time of "exact" at worst n^2 d and of the others about 40 n q d.

    Examples
    --------
    >>> from sklearn_fw.optim.experimental import neighbor_graph
    >>> graph = neighbor_graph([[0.0], [1.0], [5.0], [1.5]], None, 2)
    >>> graph.parents
    array([[0, 1],
           [1, 3],
           [2, 3],
           [3, 1]])
    >>> graph.children[graph.indptr[3] : graph.indptr[4]]  # rows 1 and 2 are near row 3
    array([1, 2, 3])
    """
    X = check_table(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    n = X.shape[0]
    check_magnitude(X.data if sp.issparse(X) else X, "X")
    labels = np.zeros(n, dtype=np.intp)
    if y is not None:
        if np.shape(y) != (n,):
            raise ValueError(f"y must have one label for each of the {n} rows of X, or be None")
        labels = np.searchsorted(find_labels(y, "y"), np.asarray(y))
    q = check_integer(n_neighbors, "n_neighbors", 1)
    if q > n:
        raise ValueError(f"n_neighbors={q} is more than the number of rows, {n}")
    if isinstance(method, str):
        check_choice(method, "neighbors", METHODS)
        rng = check_random_state(random_state)
        parents = _stand_ins(labels, q, rng)
        for label in range(labels.max() + 1):
            members = np.flatnonzero(labels == label)
            k = min(q, members.size)
            if k == members.size:
                order = np.arange(k)
                found = (order[:, None] + order) % k  # everyone, the row itself first
            else:
                found = _search(X[members], k, method, rng)
            parents[members, :k] = members[found]
    else:
        parents = given_parents(method, X, q)
    _put_itself_first(parents)
    return graph_of_parents(X, labels, parents)


def graph_of_parents(X, labels, parents):
    """The graph with these parents; labels None means that all are equal."""
    n, q = parents.shape
    distances = row_distances(X, np.arange(n), parents)
    if labels is not None:
        distances[labels[parents] != labels[:, None]] = np.inf
    order = np.argsort(parents, axis=None, kind="stable")
    indptr = np.append(0, np.cumsum(np.bincount(parents.reshape(-1), minlength=n)))
    return NeighborGraph(parents, distances, indptr, order // q, distances.reshape(-1)[order])


def given_parents(method, X, n_neighbors):
    """Row numbers that a user has chosen, checked and copied; ``n_neighbors`` is for searches."""
    if isinstance(method, NeighborGraph):
        method = method.parents
    elif hasattr(method, "kneighbors"):
        method = method.kneighbors(X, n_neighbors, return_distance=False)
    parents = check_table(method, dtype=None, input_name="neighbors", copy=True)
    n = X.shape[0]
    if parents.dtype.kind not in "iu" or parents.shape[0] != n:
        raise ValueError(
            f"neighbors must hold row numbers, integers of shape ({n}, n_neighbors); got "
            f"{parents.dtype} of shape {parents.shape}"
        )
    if parents.min() < 0 or parents.max() >= n:
        raise ValueError(f"neighbors must hold row numbers from 0 to {n - 1}")
    parents = parents.astype(np.intp, copy=False)
    _put_itself_first(parents)
    if np.any(np.diff(np.sort(parents, axis=1), axis=1) == 0):
        raise ValueError("neighbors must not name a row twice as a parent of the same row")
    return parents


def row_distances(X, rows, others):
    """Euclidean distances (n, k) of each of n rows from k others, as exact as differences are."""
    out = np.empty(others.shape)
    width = others.shape[1] * (X.shape[1] if not sp.issparse(X) else 1 + X.nnz // X.shape[0])
    for part in gen_batches(rows.size, max(1, BLOCK // max(width, 1))):
        left, right = rows[part], others[part]
        if sp.issparse(X):
            apart = X[np.repeat(left, right.shape[1])] - X[right.reshape(-1)]
            squares = apart.multiply(apart).sum(axis=1, dtype=np.float64)
            out[part] = np.sqrt(np.asarray(squares)).reshape(right.shape)
        else:
            apart = X[right].astype(np.float64, copy=False) - X[left][:, None]
            out[part] = np.sqrt(np.einsum("nkd,nkd->nk", apart, apart))
    return out


def _put_itself_first(parents):
    """Every row is a parent of itself: where duplicates of it are nearer, in place of the last."""
    rows = np.arange(parents.shape[0])
    there = parents == rows[:, None]
    place = np.where(there.any(axis=1), there.argmax(axis=1), parents.shape[1] - 1)
    parents[rows, place] = parents[:, 0]
    parents[:, 0] = rows


def _stand_ins(labels, q, rng):
    """Parents (n, q) at random: in the columns behind those for a row's class, other classes."""
    n = labels.size
    mixed = rng.permutation(n)
    order = mixed[np.argsort(labels[mixed], kind="stable")]  # classes one after the other
    sizes = np.bincount(labels)
    behind = np.cumsum(sizes)[labels]
    # Consecutive rows behind the class, from a random one on, do not come back to the class.
    skip = (rng.uniform(size=n) * np.maximum(n - np.maximum(q, sizes[labels]) + 1, 1)).astype(int)
    columns = np.arange(q) - sizes[labels][:, None]
    return order[(behind[:, None] + skip[:, None] + columns) % n]


def _nearest(X, n_neighbors):
    from sklearn.neighbors import NearestNeighbors  # a fifth of the import of this package

    return NearestNeighbors(n_neighbors=n_neighbors).fit(X)


def _search(X, q, method, rng):
    """Row numbers (n, q) of near rows, by one of the methods."""
    n = X.shape[0]
    if is_auto(method):
        columns = X.nnz / n if sp.issparse(X) else X.shape[1]
        affordable = float(n) * n * columns <= MUCH or X.shape[1] <= FEW_COLUMNS
        method = "exact" if affordable else "rp_tree"
    if method == "exact":
        return _nearest(X, q).kneighbors(return_distance=False, X=X)
    if sp.issparse(X):
        # Differences of sparse rows are slow; a projection keeps distances nearly.
        if X.shape[1] > SKETCH:
            from sklearn.random_projection import SparseRandomProjection  # slow, as above

            projection = SparseRandomProjection(SKETCH, dense_output=True, random_state=rng)
            X = projection.fit_transform(X)
        else:
            X = X.toarray()
    # Random rows to begin with, so that there are always enough.
    order = rng.permutation(n)
    place = np.empty(n, dtype=np.intp)
    place[order] = np.arange(n)
    best = order[(place[:, None] + np.arange(q)) % n]
    distances = row_distances(X, np.arange(n), best)
    groups = _leaves(X, 4 * q, rng) if method == "rp_tree" else _buckets(X, rng)
    for order, edges in groups:
        _improve(X, best, distances, order, edges, 4 * q)
    return best


def _leaves(X, size, rng):
    """Yield rows in the order of the leaves of random trees, and where leaves begin and end."""
    for _ in range(N_TREES):
        order, edges = np.arange(X.shape[0]), np.array([0, X.shape[0]])
        while np.diff(edges).max() > size:
            # One direction for all nodes of a level is one product with X.
            height = X @ rng.standard_normal(X.shape[1])
            node = np.repeat(np.arange(edges.size - 1), np.diff(edges))
            order = order[np.lexsort((height[order], node))]
            edges = np.union1d(edges, (edges[:-1] + edges[1:]) // 2)
        yield order, edges


def _buckets(X, rng):
    """Yield rows in the order of the buckets of hash tables, and where buckets begin and end."""
    n, d = X.shape
    sample = X[rng.choice(n, size=min(n, SAMPLE), replace=False)]
    nearest = _nearest(sample, 1).kneighbors()[0]
    width = BIN_WIDTH * np.median(nearest) or 1.0
    for _ in range(N_TABLES):
        bins = X @ rng.standard_normal((d, N_PROJECTIONS)) / width
        bins = np.floor(bins + rng.uniform(size=N_PROJECTIONS)).astype(np.int64)
        order = np.lexsort([X @ rng.standard_normal(d), *bins.T])
        changes = np.any(np.diff(bins[order], axis=0) != 0, axis=1)
        yield order, np.concatenate([[0], np.flatnonzero(changes) + 1, [n]])


def _improve(X, best, distances, order, edges, width):
    """Replace the ``best`` rows by nearer ones out of each row's group, in place.

    Groups are runs of ``order``; of those with more than ``width`` rows the nearest in order count.
    """
    n, q = best.shape
    sizes = np.diff(edges)
    width = min(width, sizes.max())
    begin, size = np.repeat(edges[:-1], sizes), np.repeat(sizes, sizes)
    offsets = np.arange(width) - width // 2
    for part in gen_batches(n, max(1, BLOCK // (8 * (width + q)))):
        rows = order[part]
        inside = np.arange(part.start, part.stop) - begin[part]
        found = order[begin[part][:, None] + (inside[:, None] + offsets) % size[part][:, None]]
        ids = np.hstack([best[rows], found])
        apart = np.hstack([distances[rows], row_distances(X, rows, found)])
        by_id = np.argsort(ids, axis=1, kind="stable")
        ids = np.take_along_axis(ids, by_id, axis=1)
        apart = np.take_along_axis(apart, by_id, axis=1)
        apart[:, 1:][ids[:, 1:] == ids[:, :-1]] = np.inf
        nearest = np.argpartition(apart, q - 1, axis=1)[:, :q]
        best[rows] = np.take_along_axis(ids, nearest, axis=1)
        distances[rows] = np.take_along_axis(apart, nearest, axis=1)
