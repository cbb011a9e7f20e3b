"""About how long a pass takes whose oracle is called from Python."""

import numpy as np

from ...inference import ICM, QPBO, TRWS, BestOf, Elimination, GraphCut, IteratedLocalSearch

# Approximate oracles, and those by cuts: seconds of a call, and for each pair of states of an edge.
QUICK = (BestOf, GraphCut, ICM, IteratedLocalSearch, QPBO, TRWS)
SECONDS_OF_CALL, SECONDS_OF_PAIR = 2e-4, 5e-7
# Of the time that elimination takes for marginals; and samples that it is asked about.
SHARE_OF_ARGMAX, ASKED = 1 / 3, 20


def seconds_of_pass(oracle, graph, parts, n_states, marginals):
    """An estimate by sizes alone, so that what is decided by it is the same everywhere.

    ``marginals`` says whether calls ask for them. It is inf for oracles of which nothing is known.
    """
    n_samples, n_edges = len(parts.node_start) - 1, graph.n_edges
    if type(oracle) is Elimination:
        by_size = np.argsort(n_edges, kind="stable")[::-1]
        asked = by_size[:: -(-n_samples // ASKED)]  # the largest one is among them
        seconds = np.mean([_seconds_of_marginals(oracle, graph, parts, n_states, i) for i in asked])
        return n_samples * (SECONDS_OF_CALL + (1.0 if marginals else SHARE_OF_ARGMAX) * seconds)
    if isinstance(oracle, QUICK):
        n_pairs = float(n_edges.sum()) * n_states**2
        return n_samples * SECONDS_OF_CALL + SECONDS_OF_PAIR * n_pairs
    return np.inf


def _seconds_of_marginals(oracle, graph, parts, n_states, i):
    n_nodes = parts.node_start[i + 1] - parts.node_start[i]
    tables = np.zeros((parts.n_tables, n_states, n_states))
    return oracle.cost(graph.scores(i, np.zeros((n_nodes, n_states)), tables))
