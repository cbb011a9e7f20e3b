"""Snakes on grids, whose cells have to be numbered."""

import numpy as np
from sklearn.utils import Bunch

from .._core.scores import as_array
from .._core.validation import (
    check_array_of_numbers,
    check_flag,
    check_integer,
    check_list,
    check_random_state,
)

STEPS = np.array([(-1, 0), (1, 0), (0, -1), (0, 1)])  # up, down, left, right: colours 0 to 3
BACKGROUND = 4


def make_snakes(
    n_samples=200, length=10, n_test=100, margin=0, random_state=None, return_X_y=False
):
    """Pictures of snakes whose cells have to be numbered from head to tail.

    A snake is a walk that never meets itself. The colour of each of its cells says in which
    direction the next one lies (that of the last one, in which the last step went), and the label
    of a cell is its number, 0 for the background. Colours around a cell say next to nothing of its
    number: only chains of neighbours do, who follow each other as the colours say. So features of
    nodes alone fail, and features of edges decide; see `snake_graphs`.

    Parameters
    ----------
    n_samples : int, default=200
        Number of pictures to learn from.
    length : int, default=10
        Number of cells of a snake, at least 2.
    n_test : int, default=100
        Number of pictures to judge by.
    margin : int, default=0
        Rows and columns of background around the snake, at least 0.
    random_state : int, RandomState instance or None, default=None
        Source of the walks.
    return_X_y : bool, default=False
        Return ``(X, y, X_test, y_test)`` in place of a Bunch.

    Returns
    -------
    data : Bunch
        ``X``, ``X_test``: lists of arrays of shape (n_rows, n_columns, 5), a one for the colour of
        each cell; ``y``, ``y_test``: lists of arrays of shape (n_rows, n_columns) with numbers from
        0 to ``length``; ``colors``: names of the colours.

    See Also
    --------
    snake_graphs : The same pictures as graphs with features of edges.
    sklearn_fw.structured.GridModel : Grids of labels.

    Notes
    -----
    Pictures are as large as their snake and its margin need.

    References
    ----------
    .. [1] S. Nowozin, C. Rother, S. Bagon, T. Sharp, B. Yao, P. Kohli, "Decision tree fields",
       ICCV 2011: the task.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_snakes
    >>> data = make_snakes(n_samples=1, length=4, n_test=0, random_state=0)
    >>> data.y[0]
    array([[4, 0],
           [3, 2],
           [0, 1]])
    """
    n_samples = check_integer(n_samples, "n_samples", 1)
    n_test = check_integer(n_test, "n_test", 0)
    length = check_integer(length, "length", 2)
    margin = check_integer(margin, "margin", 0)
    check_flag(return_X_y, "return_X_y")
    rng = check_random_state(random_state)
    pictures = [_picture(_walk(rng, length), margin) for _ in range(n_samples + n_test)]
    X = [np.eye(5)[colors] for colors, _ in pictures]
    y = [labels for _, labels in pictures]
    parts = X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:]
    if return_X_y:
        return parts
    return Bunch(
        **dict(zip(("X", "y", "X_test", "y_test"), parts)),
        colors=["up", "down", "left", "right", "background"],
    )


def _walk(rng, length):
    """Cells of a walk that never meets itself."""
    while True:  # walks of a few cells hardly ever end in a corner of their own
        cells = [(0, 0)]
        while len(cells) < length:
            free = [c for c in (STEPS + cells[-1]).tolist() if tuple(c) not in cells]
            if not free:
                break
            cells.append(tuple(free[rng.randint(len(free))]))
        if len(cells) == length:
            return np.array(cells)


def _picture(cells, margin):
    """Colours and numbers of the cells of a picture."""
    steps = np.diff(cells, axis=0)
    ways = np.argmax(np.all(steps[:, None] == STEPS, axis=2), axis=1)
    cells = cells - cells.min(axis=0) + margin
    shape = cells.max(axis=0) + 1 + margin
    colors, labels = np.full(shape, BACKGROUND), np.zeros(shape, np.int64)
    colors[tuple(cells.T)] = np.append(ways, ways[-1])
    labels[tuple(cells.T)] = np.arange(1, len(cells) + 1)
    return colors, labels


def snake_graphs(X, edge_features=True):
    """Pictures of cells as graphs of neighbours, with the colours around cells as features.

    Parameters
    ----------
    X : list of n_samples arrays of shape (n_rows, n_columns, n_colors)
        Pictures as those of `make_snakes`.
    edge_features : bool, default=True
        Give edges the features of both of their ends.

    Returns
    -------
    graphs : list of tuple (features, edges) or (features, edges, edge_features)
        Features of nodes are those of the 3 x 3 cells around it, zero outside of the picture, of
        shape (n_cells, 9 * n_colors); ``edges`` is a list of two kinds, to the right and down, of
        shape (n_edges, 2); ``edge_features`` is a list with the features of both ends, of shape
        (n_edges, 18 * n_colors).

    See Also
    --------
    make_snakes : The pictures.
    sklearn_fw.structured.GraphModel : What learns from them.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_snakes, snake_graphs
    >>> X = make_snakes(n_samples=1, length=4, n_test=0, random_state=0).X
    >>> features, edges, edge_features = snake_graphs(X)[0]
    >>> features.shape, len(edges), edge_features[0].shape
    ((6, 45), 2, (3, 90))
    """
    check_flag(edge_features, "edge_features")
    X = check_list(X, "X", "pictures")
    return [_graph(as_array(x, f"X[{i}]"), edge_features, f"X[{i}]") for i, x in enumerate(X)]


def _graph(x, edge_features, name):
    check_array_of_numbers(x, name)
    if x.ndim != 3 or not x.size:
        raise ValueError(f"{name} must have shape (n_rows, n_columns, n_colors), got {x.shape}")
    n_rows, n_columns = x.shape[:2]
    wide = np.pad(x, ((1, 1), (1, 1), (0, 0)))
    around = [wide[a : a + n_rows, b : b + n_columns] for a in range(3) for b in range(3)]
    nodes = np.concatenate(around, axis=2).reshape(n_rows * n_columns, -1)
    number = np.arange(n_rows * n_columns).reshape(n_rows, n_columns)
    edges = [
        np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1),
        np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1),
    ]
    if not edge_features:
        return nodes, edges
    return nodes, edges, [nodes[pairs].reshape(len(pairs), 2 * nodes.shape[1]) for pairs in edges]
