"""About how long a pass takes whose oracle is called from Python."""

import numpy as np

from ...inference import ICM, QPBO, TRWS, BestOf, Elimination, GraphCut, IteratedLocalSearch

# Approximate oracles, and those by cuts: seconds of a call, and for each pair of states of an edge.
QUICK = (BestOf, GraphCut, ICM, IteratedLocalSearch, QPBO, TRWS)
SECONDS_OF_CALL, SECONDS_OF_PAIR = 2e-4, 5e-7


def seconds_of_pass(oracle, graph, parts, n_states):
    """An estimate by sizes alone, so that what is decided by it is the same everywhere.

    It is inf for oracles of which nothing is known.
    """
    n_samples, n_edges = len(parts.node_start) - 1, graph.n_edges
    if type(oracle) is Elimination:
        largest = int(np.argmax(n_edges))
        n_nodes = np.diff(parts.node_start[largest : largest + 2])[0]
        tables = np.zeros((parts.n_tables, n_states, n_states))
        scores = graph.scores(largest, np.zeros((n_nodes, n_states)), tables)
        return n_samples * (SECONDS_OF_CALL + oracle.cost(scores))
    if isinstance(oracle, QUICK):
        n_pairs = float(n_edges.sum()) * n_states**2
        return n_samples * SECONDS_OF_CALL + SECONDS_OF_PAIR * n_pairs
    return np.inf
