"""Paths and flows of directed graphs."""

import functools
import math

import numpy as np
from scipy.optimize import linprog

from ..._core import check
from ..._kernels import lazy
from ._base import Described, SparseAtom

orderings = lazy("graphs.orderings")

LARGE = 2.0**600  # numbers from which on sums may overflow
FINE = 2.0**-40  # of the largest number of a network: where its flows are rounded to
TOLERANCE = 1e-10  # the least that HiGHS takes


class _Network(Described):
    def __init__(self, graph):
        is_other = isinstance(graph, type) or not hasattr(graph, "is_directed")
        if is_other or not graph.is_directed():
            raise ValueError(f"graph must be a networkx.DiGraph, got {type(graph).__name__}")
        self.nodes, self.edges = list(graph.nodes), list(graph.edges)
        place = {node: k for k, node in enumerate(self.nodes)}
        ends = [(place[edge[0]], place[edge[1]]) for edge in self.edges]
        self._place, self._ends = place, np.array(ends, np.int64).reshape(-1, 2)

    def _which(self, node, name):
        try:
            return self._place[node]
        except (KeyError, TypeError):
            raise ValueError(f"{name} must be a node of graph, got {node!r}") from None

    def _inflow(self, graph):
        """The matrix that takes flows on edges to what stays in each node."""
        import networkx as nx

        return nx.incidence_matrix(graph, self.nodes, self.edges, oriented=True).tocsc()


class DagPaths(_Network):
    """Path polytope of a directed acyclic graph: unit flows.

    Points have one entry for each edge, or one for each node; a vertex has ones for those of a path
    and zeros elsewhere. Gradients may be negative. Several paths at once, such as one in each of
    several films, are a `Product`. The oracle is dynamic programming in the order of the graph, one
    look at each edge, compiled. Of equal paths each node prefers the first edge that leads to it,
    and the end the first node in the order of the program. `contains` is a linear program for
    points of nodes that are not paths.

    Parameters
    ----------
    graph : networkx.DiGraph or networkx.MultiDiGraph
        The graph, without cycles; attributes are not looked at.
    source, target : node, default=None
        Where paths begin and end. None allows any node that no edge leads to, or that none leaves.
    variables : {"edges", "nodes"}, default="edges"
        What the entries of points belong to.

    Attributes
    ----------
    nodes, edges : list
        Those of the graph, in its order: that of the entries.
    diameter : float
        A bound: the root of twice the length of the longest path, or of the number of entries.

    References
    ----------
    .. [1] A. Joulin, K. Tang, L. Fei-Fei, "Efficient image and video co-localization with
       Frank-Wolfe algorithm", ECCV 2014: paths through the boxes of frames.

    Examples
    --------
    >>> import networkx as nx
    >>> from sklearn_fw.optim import domains
    >>> graph = nx.DiGraph([("a", "b"), ("a", "c"), ("b", "c")])
    >>> paths = domains.DagPaths(graph)
    >>> paths.lmo([1.0, 2.0, 0.5]).to_array()
    array([1., 0., 1.])
    >>> domains.DagPaths(graph, variables="nodes").lmo([1.0, 2.0, -0.5]).to_array()
    array([1., 0., 1.])
    """

    def __init__(self, graph, source=None, target=None, variables="edges"):
        import networkx as nx

        super().__init__(graph)
        check.choice(variables, "variables", ("edges", "nodes"))
        self.variables = variables
        self.size = len(self.edges if variables == "edges" else self.nodes)
        if not self.size:
            raise ValueError(f"graph has no {variables}")
        try:
            order = [self._place[node] for node in nx.topological_sort(graph)]
        except nx.NetworkXUnfeasible:
            raise ValueError(
                "graph must have no cycle: Flows with capacities takes graphs that have some"
            ) from None
        self._order, self._matrix = np.array(order), self._inflow(graph)
        self._rank = rank = np.argsort(order)
        tail, head = rank[self._ends].T
        self._edge = np.argsort(head, kind="stable")
        self._tail = np.ascontiguousarray(tail[self._edge])
        self._first = np.concatenate([[0], np.cumsum(np.bincount(head, minlength=len(order)))])
        self._is_source = self._marks(source, "source", 1)[self._order]
        self._is_target = self._marks(target, "target", 0)[self._order]
        if not len(self._lightest(np.zeros(self.size))[1]):
            raise ValueError(f"graph has no path from source {source!r} to target {target!r}")

    def _marks(self, node, name, end):
        if node is None:
            return np.bincount(self._ends[:, end], minlength=len(self.nodes)) == 0
        return np.arange(len(self.nodes)) == self._which(node, name)

    def _lightest(self, cost):
        edge_cost, node_cost = np.zeros(len(self.edges)), np.zeros(len(self.nodes))
        if self.variables == "edges":
            edge_cost = cost
        else:
            node_cost = cost[self._order]
        return orderings.lightest_path(
            self._first, self._tail, self._edge, edge_cost, node_cost, self._is_source,
            self._is_target,
        )  # fmt: skip

    def lmo(self, gradient):
        gradient = self._vector(gradient, "gradient")
        if np.abs(gradient).max() > LARGE:
            gradient = gradient / LARGE
        edges, nodes = self._lightest(gradient)
        return SparseAtom(self.size, edges if self.variables == "edges" else self._order[nodes])

    def _contains(self, x, tol):
        from .._frank_wolfe._corrective import is_in_hull

        if self.variables == "nodes":
            return is_in_hull(self, x, tol)
        if x.min() < -tol:
            return False
        is_source, is_target = self._is_source[self._rank], self._is_target[self._rank]
        balance = -(self._matrix @ x)
        if np.any(balance[~is_source] > tol) or np.any(balance[~is_target] < -tol):
            return False
        begun = np.maximum(balance[is_source], 0.0).sum()
        at_once = np.any(is_source & is_target)  # a path without edges
        return begun <= 1.0 + tol and (at_once or begun >= 1.0 - tol)

    @functools.cached_property
    def diameter(self):
        longest = len(self.lmo(-np.ones(self.size)).places)
        return math.sqrt(min(2 * longest, self.size))


class Flows(_Network):
    """Flow polytope of a network with capacities and demands.

    Points have one entry for each edge. The set is::

        { x : 0 <= x_e <= capacity_e,  sum of x into v - sum of x out of v = demand_v }

    and its vertices are whole numbers if capacities and demands are. The oracle is the linear
    program of minimum-cost flow, by the dual simplex method of HiGHS, which also decides among
    equals. An atom has a ``value``, and a ``bound`` from the prices that HiGHS finds for the nodes,
    whatever its tolerances. Amounts are rounded to whole numbers where all data are, and else to
    some 1e-12 of the largest number.

    Parameters
    ----------
    graph : networkx.DiGraph or networkx.MultiDiGraph
        The network.
    demand : str or dict, default="demand"
        What each node takes out of the flow, negative for what it sends; all sum to zero. A word is
        an attribute of nodes, and nodes without it have zero.
    capacity : str or float, default="capacity"
        Largest amount on each edge, the same for all or an attribute of edges, where edges without
        it have no limit. Each cycle must have an edge with a limit.

    Attributes
    ----------
    nodes, edges : list
        Those of the graph, in its order: that of the entries.
    diameter : float
        A bound: the length of the diagonal of the box of all capacities.

    Examples
    --------
    One unit from "a" to "c", at most one on each edge:

    >>> import networkx as nx
    >>> from sklearn_fw.optim import domains
    >>> network = nx.DiGraph([("a", "b"), ("b", "a"), ("a", "c"), ("b", "c")])
    >>> flows = domains.Flows(network, demand={"a": -1, "c": 1}, capacity=1)
    >>> flows.lmo([1.0, 3.0, 0.0, 1.0]).to_array()
    array([1., 0., 0., 1.])
    """

    def __init__(self, graph, demand="demand", capacity="capacity"):
        import networkx as nx

        super().__init__(graph)
        self.size = len(self.edges)
        if not self.size:
            raise ValueError("graph has no edges")
        self.demand = self._demands(graph, demand)
        self.capacity = self._capacities(graph, capacity)
        limits = self.capacity[np.isfinite(self.capacity)]
        numbers = np.concatenate([self.demand, limits])
        self._largest = max(float(np.abs(numbers).max()), 1e-300)
        self._unit = 1.0
        if np.any(numbers != np.round(numbers)) or self._largest > 2.0**50:
            self._unit = FINE * 2.0 ** math.frexp(self._largest)[1]
        self._matrix = self._inflow(graph)
        # An edge without a limit is in no cycle without limits, and carries no more than this.
        sent = np.maximum(self.demand, 0.0).sum()
        self._limit = np.minimum(self.capacity, sent + limits.sum())
        endless = [edge for edge, limit in zip(self.edges, self.capacity) if limit == np.inf]
        if not nx.is_directed_acyclic_graph(graph.edge_subgraph(endless)):
            raise ValueError(
                "graph has a cycle of edges without capacity, so flows are not bounded: give each "
                "cycle an edge with one"
            )
        if self._flow(np.zeros(self.size)) is None:
            raise ValueError(
                "no flow meets all of demand: capacities are too small, or nodes cannot be reached"
            )

    def _demands(self, graph, demand):
        if isinstance(demand, str):
            given = {node: graph.nodes[node].get(demand, 0.0) for node in self.nodes}
        elif isinstance(demand, dict):
            given = demand
        else:
            raise TypeError(
                f"demand must be a dict of nodes or an attribute, got {type(demand).__name__}"
            )
        demands = np.zeros(len(self.nodes))
        for node, amount in given.items():
            demands[self._which(node, "demand")] = check.number(amount, f"demand of {node!r}")
        check.magnitude(demands, "demand")
        if abs(demands.sum()) > 1e-9 * np.abs(demands).sum():
            raise ValueError(f"demand must sum to zero over all nodes, got {demands.sum():g}")
        return demands

    def _capacities(self, graph, capacity):
        if isinstance(capacity, str):
            limits = [data.get(capacity, np.inf) for *_, data in graph.edges(data=True)]
        else:
            limits = [capacity] * self.size
        checked = np.empty(self.size)
        for place, (limit, edge) in enumerate(zip(limits, self.edges)):
            endless = isinstance(limit, float) and limit == np.inf
            name = f"capacity of {edge!r}" if isinstance(capacity, str) else "capacity"
            checked[place] = np.inf if endless else check.moderate(limit, name)
        return checked

    @property
    def diameter(self):
        return float(np.linalg.norm(self._limit))

    def _flow(self, cost):
        """An optimal flow with the prices of nodes; None if no flow exists."""
        names = "dual_feasibility_tolerance", "primal_feasibility_tolerance"
        found = linprog(
            cost, A_eq=self._matrix, b_eq=self.demand / self._largest, method="highs-ds",
            bounds=np.column_stack([np.zeros(self.size), self.capacity / self._largest]),
            options=dict.fromkeys(names, TOLERANCE),
        )  # fmt: skip
        if found.status not in (0, 2):
            raise RuntimeError(f"HiGHS found no optimum: {found.message}")
        return None if found.status == 2 else found

    def lmo(self, gradient):
        gradient = self._vector(gradient, "gradient")
        scale = 2.0 ** min(math.frexp(float(np.abs(gradient).max()))[1], 1000)
        cost = gradient / scale
        found = self._flow(cost)
        flow = np.round(found.x * (self._largest / self._unit)) * self._unit
        places = np.flatnonzero(flow)
        atom = SparseAtom(self.size, places, flow[places])
        # What edges are too dear by, at these prices, counts at most with their limits.
        prices = found.eqlin.marginals
        excess = np.minimum(cost - self._matrix.T @ prices, 0.0)
        bound = scale * float(prices @ self.demand + excess @ self._limit)
        atom.value = atom.dot(gradient)
        atom.bound = min(bound, atom.value)
        return atom

    def _contains(self, x, tol):
        within = np.all(x >= -tol) and np.all(x <= self.capacity + tol)
        return within and np.abs(self._matrix @ x - self.demand).max() <= tol
