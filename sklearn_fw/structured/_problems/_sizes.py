"""How large the features and the samples of a training set are, where labels count."""

import numpy as np


def mean_square(parts):
    """Mean over samples of the squared norm of the features of the nodes that have a label."""
    totals = np.zeros(len(parts.data) + 1)
    np.square(parts.data, out=totals[1:], dtype=np.float64)
    np.cumsum(totals, out=totals)
    totals = np.diff(totals[parts.indptr])  # of rows
    n_costly = is_costly(parts).reshape(len(totals), -1).sum(axis=1)
    return float(parts.weight @ np.add.reduceat(n_costly * totals, parts.row_start[:-1]))


def n_costly(parts):
    """Number of nodes of each sample whose state may cost something."""
    return np.add.reduceat(is_costly(parts).astype(np.int64), parts.node_start[:-1])


def is_costly(parts):
    """Whether the state of each node may cost something: not where a label is missing."""
    return parts.cost.any(axis=1)[parts.cost_row]
