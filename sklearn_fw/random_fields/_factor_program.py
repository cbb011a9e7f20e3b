"""Best labellings of factor graphs by mixed-integer linear programming."""

from time import perf_counter

import numpy as np

from ..inference._oracles._linear_programs import INFEASIBLE
from ..inference._oracles._local_polytope import scaled_costs
from ..inference._oracles._settle import NEGLIGIBLE


def solve_factor_program(graph, seconds):
    """Labels and a bound on all labellings, without the constant, within some seconds.

    Maximises ``<theta, mu>`` over marginals of variables, which are integral, and of factors, whose
    sums agree with them. A program for the field of pairs that the graph is equal to would have a
    variable for each pair of a joint state and a state: ten times as many and more.

    Parameters
    ----------
    graph : FactorGraph
        Every state of every variable is allowed by its own.
    seconds : float
        At most so long.

    Returns
    -------
    labels : ndarray of shape (n_variables,), int64 or None
        None where none was found.
    bound : float
        Equal to the score of the labels where they are proved best; -inf if nothing is allowed.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    allowed = graph.theta > -np.inf
    starts = np.concatenate([graph.node_start, graph.factor_start[1:]])
    best = np.maximum.reduceat(graph.theta, starts[:-1])
    if best.min() == -np.inf:
        return None, -np.inf
    block = np.repeat(np.arange(len(best)), np.diff(starts))
    cost, scale, error = scaled_costs((best[block] - graph.theta)[allowed], best)
    n_nodes = graph.node_start[-1]
    options, ends = {"mip_rel_gap": 0.0}, perf_counter() + seconds
    matrix, sums = _equations(graph, allowed)
    if np.isfinite(seconds):
        options["time_limit"] = max(ends - perf_counter(), 1e-3)
    result = milp(
        cost,
        integrality=np.arange(len(cost)) < n_nodes,
        bounds=Bounds(0.0, 1.0),
        constraints=LinearConstraint(matrix, sums, sums),
        options=options,
    )
    if result.status == INFEASIBLE:
        return None, -np.inf
    bound = np.inf
    if result.mip_dual_bound is not None:
        bound = float(best.sum() - result.mip_dual_bound / scale + error)
    if result.x is None:
        return None, bound
    blocks = np.split(result.x[:n_nodes], graph.node_start[1:-1])
    labels = np.array([block.argmax() for block in blocks])
    value = float(graph.score(labels[None])[0]) - graph.constant
    if value >= bound - 2.0 * error and error <= NEGLIGIBLE * abs(value):
        bound = value
    return labels, max(bound, value)


def n_equations(graph):
    """Numbers in the equations of the program of a factor graph, at most."""
    sizes = np.diff(graph.factor_start)
    return float(sum(len(scope) * size for scope, size in zip(graph.scopes, sizes)))


def _equations(graph, allowed):
    """Sums of variables are one, those of factors the marginals of their variables."""
    from scipy.sparse import csc_array

    column = np.cumsum(allowed) - 1  # of each entry of theta
    node = np.repeat(np.arange(graph.n_variables), graph.n_states)
    entries, n_rows = [(node, np.arange(len(node)), 1.0)], graph.n_variables
    for f, (scope, table) in enumerate(zip(graph.scopes, graph.tables)):
        places = np.flatnonzero(table.ravel() > -np.inf)
        columns = column[graph.factor_start[f] + places]
        for i, states in zip(scope, np.unravel_index(places, table.shape)):
            of_node = np.arange(graph.n_states[i])
            entries.append((n_rows + states, columns, 1.0))
            entries.append((n_rows + of_node, graph.node_start[i] + of_node, -1.0))
            n_rows += len(of_node)
    # HiGHS counts in 32 bits.
    rows, columns = (np.concatenate([e[k] for e in entries]).astype(np.int32) for k in (0, 1))
    values = np.concatenate([np.full(len(e[0]), e[2]) for e in entries])
    matrix = csc_array((values, (rows, columns)), shape=(n_rows, int(allowed.sum())))
    return matrix, (np.arange(n_rows) < graph.n_variables).astype(float)
