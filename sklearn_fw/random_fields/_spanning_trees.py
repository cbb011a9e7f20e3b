"""Edge probabilities of random spanning trees: the weights of tree-reweighted inference."""

import numpy as np
from scipy.sparse import eye_array, tril
from scipy.sparse.csgraph import laplacian
from scipy.sparse.linalg import splu
from sklearn.utils import gen_batches

from .._core import check
from .._core.scores import check_edges
from .._kernels import lazy
from .._kernels.common.step_rules import open_loop_step
from ..optim._frank_wolfe._core import FrankWolfe
from ..optim._frank_wolfe._iterate import Iterate
from ..optim.domains import SpanningTrees, adjacency
from ._reduced import SOFT

spanning_trees = lazy("graphs.spanning_trees")

WEIGHT_FLOOR = 1e-6  # of the largest weight: no edge gets probability zero
TOLERANCE = 1e-6  # of sums of edge probabilities
N_TREES = 1000  # drawn for rho_init="sampled"
ORDERS_AT_ONCE = 2**20  # entries of the random orders that are in memory at a time


def spanning_tree_probabilities(
    edges, n_variables, weights=None, *, n_trees=None, random_state=None
):
    """Probability of each edge in a random spanning tree, exact or by sampling.

    The usual start of tree-reweighted inference. By the matrix-tree theorem, for weights w::

        P(T) = prod_{e in T} w_e / sum_T' prod_{e in T'} w_e
        P(e in T) = w_e R_e,    R_e the resistance between the ends of e, conductances w

    With ``n_trees`` trees are drawn that are maximal for independent uniform weights, as in libDAI:
    another distribution, without ``weights``. Unconnected graphs have spanning forests.

    Parameters
    ----------
    edges : array-like of shape (n_edges, 2), integer
        Variables joined by each edge, numbers from 0 to ``n_variables - 1``.
    n_variables : int
        Number of variables, at least 1.
    weights : array-like of shape (n_edges,), default=None
        Weights, not negative; only their ratios matter. Those below 1e-6 of the largest count as
        1e-6 of the largest, so that every edge has a positive probability. None for equal weights.
    n_trees : int, default=None
        Number of trees to draw; None for exact probabilities.
    random_state : int, RandomState instance or None, default=None
        For trees that are drawn.

    Returns
    -------
    rho : ndarray of shape (n_edges,)
        Probabilities, between 0 (excluded) and 1 (for edges whose removal disconnects); multiples
        of ``1 / n_trees``, zero included, for trees that are drawn. Their sum is n_variables minus
        the number of components.

    Notes
    -----
    Selected inversion gives the resistances of edges, exact up to rounding even for weights over
    six decades. Time is that of a sparse Cholesky decomposition: linear on trees, n_variables^1.5
    on grids, n_variables^3 / 3 on complete graphs. Sampling takes n_trees * n_edges.

    References
    ----------
    .. [1] Wainwright, Jaakkola and Willsky, A new class of upper bounds on the log partition
       function, IEEE TIT 51, 2005.
    .. [2] Mooij, libDAI: a free and open source C++ library for discrete approximate inference in
       graphical models, JMLR 11, 2010.

    Examples
    --------
    >>> from sklearn_fw.random_fields import spanning_tree_probabilities
    >>> triangle_with_tail = [(0, 1), (1, 2), (0, 2), (2, 3)]
    >>> spanning_tree_probabilities(triangle_with_tail, 4).round(4)
    array([0.6667, 0.6667, 0.6667, 1.    ])
    >>> spanning_tree_probabilities(triangle_with_tail, 4, [2.0, 1.0, 1.0, 1.0]).round(4)
    array([0.8, 0.6, 0.6, 1. ])
    """
    n_variables = check.integer(n_variables, "n_variables", 1)
    edges = np.ascontiguousarray(check_edges(edges, n_variables))
    if n_trees is not None:
        if weights is not None:
            raise ValueError("weights are for exact probabilities: leave out weights or n_trees")
        n_trees = check.integer(n_trees, "n_trees", 1)
        return _drawn(edges, n_variables, n_trees, check.random_state(random_state))
    if not len(edges):
        return np.empty(0)
    weights = np.ones(len(edges)) if weights is None else weights
    weights = check.vector(weights, "weights", len(edges))
    if np.any(weights < 0):
        raise ValueError(f"weights must not be negative, got {weights.min()}")
    largest = weights.max()
    weights = np.maximum(weights / largest, WEIGHT_FLOOR) if largest > 0 else np.ones(len(edges))
    start, later, place = _fill_in(edges, n_variables)
    conductance = np.bincount(place, weights, len(later))
    resistances = spanning_trees.effective_resistances(start, later, conductance)
    return np.minimum(weights * resistances[place], 1.0)


def _drawn(edges, n_variables, n_trees, rng):
    counts = np.zeros(len(edges), np.int64)
    for batch in gen_batches(n_trees, max(1, ORDERS_AT_ONCE // max(len(edges), 1))):
        orders = np.stack([rng.permutation(len(edges)) for _ in range(batch.stop - batch.start)])
        counts += spanning_trees.count_greedy_forests(edges, orders, n_variables)
    return counts / n_trees


def check_edge_probabilities(rho, edges, n_variables):
    """Numbers that a distribution over spanning trees has as edge probabilities, else an error.

    Bounds on log Z hold only there. What `SpanningTrees` finds out has a tolerance of 1e-6; what
    rounding led outside is clipped. Errors call them rho_init, as the parameter of estimators.
    """
    rho = check.vector(rho, "rho_init", len(edges))
    trees = SpanningTrees(edges, n_variables)
    if not trees.contains(rho, TOLERANCE):
        raise ValueError(
            f"rho_init must be in the spanning tree polytope: probabilities that sum to "
            f"{trees.n_tree_edges}, and to at most m - 1 on the edges inside of any m variables; "
            f"these sum to {rho.sum():.6g}, from {rho.min():.6g} to {rho.max():.6g}; use "
            f"'matrix_tree'"
        )
    return np.clip(rho, 0.0, 1.0)


def edge_coupling_weights(mrf):
    """Strengths of the couplings of a random field: weights for spanning trees, (n_edges,).

    Twice the Frobenius norm of a table minus its row means minus its column means plus its mean:
    4 |J| for spins -1 and 1. Potentials moved between variables and edges leave it unchanged. An
    entry of ``-inf`` counts as 30 nats below the largest of its table.
    """
    weights = np.empty(mrf.n_edges)
    shapes, shape_of_edge = np.unique(mrf.n_states[mrf.edges], axis=0, return_inverse=True)
    for number, (k_i, k_j) in enumerate(shapes):
        chosen = np.flatnonzero(shape_of_edge.reshape(-1) == number)
        tables = mrf.theta[mrf.edge_start[chosen, None] + np.arange(k_i * k_j)]
        best = tables.max(axis=1, keepdims=True)
        if np.any(best == -np.inf):
            edge = chosen[np.argmin(best[:, 0])]
            raise ValueError(f"the table of edge {edge} is -inf everywhere: it allows no labeling")
        tables = np.where(tables == -np.inf, best - SOFT, tables).reshape(-1, k_i, k_j)
        tables = tables - tables.mean(axis=1, keepdims=True)
        tables -= tables.mean(axis=2, keepdims=True)
        weights[chosen] = 2.0 * np.linalg.norm(tables, axis=(1, 2))
    return weights


def starting_rho(rho_init, mrf, request, random_state, *others):
    """First edge probabilities of an estimator, and whether the potentials were made for them.

    An array is for the whole field: the field of an incomplete row has other edges.
    """
    if isinstance(rho_init, str):
        names = {"matrix_tree_weighted", "matrix_tree", "sampled", *others}
        check.choice(rho_init, "rho_init", names, "an array")
    elif request.tasks is not None:
        return check_edge_probabilities(rho_init, mrf.edges, mrf.n_variables), False
    else:
        rho_init = "matrix_tree_weighted"
    options = {}
    if rho_init == "sampled":
        options = {"n_trees": N_TREES, "random_state": random_state}
    elif rho_init == "matrix_tree_weighted":
        if request.learned is not None:
            return request.learned.rho, True
        options = {"weights": edge_coupling_weights(mrf)}
    return spanning_tree_probabilities(mrf.edges, mrf.n_variables, **options), False


class TreeChoice(FrankWolfe):
    """Choice of edge probabilities that lower the tree-reweighted bound, for `_loop.drive`.

    To first order the bound falls by the mutual information of an edge, as its probability grows.
    ``solve`` goes from probabilities and the number of the choice to those that were taken and the
    marginals that they lead to; ``rule`` None is a step of ``2 / (i + 2)`` for i = 1, 2, ...
    """

    def __init__(self, mrf, rho, solve, rule=None):
        self.trees = Iterate(SpanningTrees(mrf.edges, mrf.n_variables), start=rho, known=True)
        # From i = 1 on: a first step of one would make probabilities zero.
        later = lambda state: open_loop_step(state.n_iter + 1, 1.0, 1.0)  # noqa: E731
        super().__init__([self.trees], "fw", rule or later)
        self.mrf, self.solve, self.value = mrf, solve, 0.0

    def solution(self):
        return self.trees.point

    def look(self):
        self.trees.point, mu = self.solve(self.trees.point, self.n_iter)
        self.trees.look(-self.mrf.mutual_information(mu))

    @property
    def rho_gap(self):
        """How much lower the bound might become, to first order."""
        return max(self.dual_gap, 0.0)


def _fill_in(edges, n_variables):
    """Later neighbors of each node, and the place of each edge, for `effective_resistances`.

    SuperLU finds an order that keeps them few (multiple minimum degree). Only the pattern of the
    matrix matters here.
    """
    matrix = laplacian(adjacency(edges, n_variables), symmetrized=True) + eye_array(n_variables)
    # Diagonally dominant, so that no pivoting disturbs the order.
    mode = {"permc_spec": "MMD_AT_PLUS_A", "options": {"SymmetricMode": True}}
    factor = splu(matrix.tocsc(), diag_pivot_thresh=0.0, **mode)
    lower = tril(factor.L, -1, format="csc").sorted_indices()
    start, later = lower.indptr.astype(np.int64), lower.indices.astype(np.int64)
    first, second = np.sort(factor.perm_c[edges].astype(np.int64), axis=1).T
    entries = np.repeat(np.arange(n_variables) * n_variables, np.diff(start)) + later
    return start, later, np.searchsorted(entries, first * n_variables + second)
