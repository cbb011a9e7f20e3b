"""Every matching of small groups, listed."""

import itertools
import math

import numpy as np


def matchings(n_rows, n_columns, perfect=True):
    """Every 0/1 matrix with at most one 1 in each row and column, flat."""
    found = []
    for columns in itertools.product([None, *range(n_columns)], repeat=n_rows):
        used = [column for column in columns if column is not None]
        full = len(used) == min(n_rows, n_columns)
        if len(set(used)) == len(used) and (full or not perfect):
            matrix = np.zeros((n_rows, n_columns))
            for row, column in enumerate(columns):
                if column is not None:
                    matrix[row, column] = 1.0
            found.append(matrix.ravel())
    return np.array(found)


def pairings(nodes):
    """Every way to split a list into pairs."""
    if not nodes:
        yield []
        return
    first, *others = nodes
    for partner in others:
        for rest in pairings([node for node in others if node != partner]):
            yield [(first, partner), *rest]


def perfect_matchings(n_nodes):
    place = {pair: k for k, pair in enumerate(itertools.combinations(range(n_nodes), 2))}
    found = np.zeros((math.prod(range(1, n_nodes, 2)), len(place)))
    for row, pairing in zip(found, pairings(list(range(n_nodes))), strict=True):
        row[[place[pair] for pair in pairing]] = 1.0
    return found


def paths_of(graph, source=None, target=None):
    """Every path as its nodes and its edges, from any root to any leaf if none is given."""
    sources = [v for v in graph if not graph.in_degree(v)] if source is None else [source]
    targets = [v for v in graph if not graph.out_degree(v)] if target is None else [target]
    found, waiting = [], [([node], []) for node in sources]
    while waiting:
        nodes, edges = waiting.pop()
        if nodes[-1] in targets:
            found.append({"nodes": nodes, "edges": edges})
        for _, ahead in graph.out_edges(nodes[-1]):
            waiting.append(([*nodes, ahead], [*edges, (nodes[-1], ahead)]))
    return found


def matchings_of(graph, perfect):
    """Every set of edges that share no node, the empty one included if it need not be perfect."""
    edges, n_nodes = list(graph.edges), len(graph)
    sizes = [n_nodes // 2] if perfect else range(n_nodes // 2 + 1)
    if perfect and n_nodes % 2:
        return []
    chosen = itertools.chain(*[itertools.combinations(edges, size) for size in sizes])
    return [c for c in chosen if len({node for edge in c for node in edge}) == 2 * len(c)]
