"""Grids of cells: labels with patterns that no single cell shows, and snakes to be numbered."""

import numpy as np

from .._core import check
from ._files import bundle

MOST_GRIDS, LONGEST_SIDE = 10**6, 10**4
# Of each pattern: the least length of a side, and the label that a cell looks like, by its own.
PATTERNS = {
    "stripes": (3, (0, 1, 2)),
    "checkers": (2, (0, 1)),
    "bars": (4, (0, 1, 1)),
    "crosses": (4, (0, 1, 1)),
    "boxes": (4, (0, 1)),
}
STEPS = np.array([(-1, 0), (1, 0), (0, -1), (0, 1)])  # up, down, left, right: colors 0 to 3
BACKGROUND = 4


def make_label_grids(
    pattern="crosses", *, n_samples=20, shape=(10, 12), noise=0.8, random_state=None
):
    """Make grids of labels and noisy features of their cells.

    Parameters
    ----------
    pattern : {"crosses", "stripes", "checkers", "bars", "boxes"}, default="crosses"
        "stripes": three vertical ones, labels 0, 1, 2. "checkers": labels 0 and 1 in turns.
        "crosses": two crosses of five cells, arms 1 and centers 2, which look the same. "bars": two
        bars of three cells, flat ones 1, upright ones 2, which look the same. "boxes": a square of
        two by two cells, label 1, that begins in an even row and an even column.
    n_samples : int, default=20
        Number of grids.
    shape : tuple (n_rows, n_columns), default=(10, 12)
        Size of a grid.
    noise : float, default=0.8
        Standard deviation of what is added to features.
    random_state : int, RandomState instance or None, default=None
        Pass an int for the same grids in every call.

    Returns
    -------
    X : list of ndarray of shape (n_rows, n_columns, n_looks)
        One where a cell has a look, zero elsewhere, plus noise.
    y : list of ndarray of shape (n_rows, n_columns), int64
        Labels of the cells.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_label_grids
    >>> X, y = make_label_grids("crosses", shape=(4, 7), noise=0.1, random_state=3)
    >>> y[0]
    array([[0, 1, 0, 0, 0, 0, 0],
           [1, 2, 1, 0, 1, 0, 0],
           [0, 1, 0, 1, 2, 1, 0],
           [0, 0, 0, 0, 1, 0, 0]])
    >>> X[0].shape
    (4, 7, 2)
    """
    check.choice(pattern, "pattern", set(PATTERNS))
    n_samples = check.integer(n_samples, "n_samples", 1, MOST_GRIDS)
    least, looks = PATTERNS[pattern]
    sides = check.items(shape, "shape", "sides, n_rows and n_columns", 2)
    shape = tuple(check.integer(side, "shape", least, LONGEST_SIDE) for side in sides)
    noise = check.moderate(noise, "noise")
    rng = check.random_state(random_state)
    y = [_drawn(pattern, shape, rng) for _ in range(n_samples)]
    n_looks = max(looks) + 1
    seen = [np.eye(n_looks)[np.array(looks)[labels]] for labels in y]
    return [shown + noise * rng.standard_normal(shown.shape) for shown in seen], y


def _drawn(pattern, shape, rng):
    n_rows, n_columns = shape
    rows, columns = np.indices(shape)
    if pattern == "stripes":
        return 3 * columns // n_columns
    if pattern == "checkers":
        return (rows + columns + rng.randint(2)) % 2
    labels = np.zeros(shape, np.int64)
    if pattern == "boxes":
        row, column = 2 * rng.randint(n_rows // 2), 2 * rng.randint(n_columns // 2)
        labels[row : row + 2, column : column + 2] = 1
        return labels
    for _ in range(2):
        row, column = rng.randint(n_rows - 2), rng.randint(n_columns - 2)
        if pattern == "crosses":
            labels[row + 1, column : column + 3] = 1
            labels[row : row + 3, column + 1] = 1
            labels[row + 1, column + 1] = 2
        elif rng.randint(2):
            labels[row, column : column + 3] = 1
        else:
            labels[row : row + 3, column] = 2
    return labels


def make_snakes(
    n_samples=200, length=10, n_test=100, margin=0, *, form="grid", random_state=None,
    return_X_y=False,
):  # fmt: skip
    """Images of snakes whose cells have to be numbered from head to tail.

    A snake is a walk that never meets itself. The color of each of its cells is the direction to
    the next one (for the last one, of the last step), and the label of a cell is its number, 0 for
    the background. Features of nodes alone are not enough to predict labels; features of edges are.

    Parameters
    ----------
    n_samples : int, default=200
        Number of training images.
    length : int, default=10
        Number of cells of a snake, at least 2.
    n_test : int, default=100
        Number of test images.
    margin : int, default=0
        Rows and columns of background around the snake, at least 0.
    form : {"grid", "graph", "edge_features"}, default="grid"
        Images as arrays, or as graphs of neighboring cells for
        `sklearn_fw.structured.GraphModel`, without or with features of edges.
    random_state : int, RandomState instance or None, default=None
        Source of the walks.
    return_X_y : bool, default=False
        Return ``(X, y, X_test, y_test)`` in place of a Bunch.

    Returns
    -------
    data : Bunch
        ``X``, ``X_test``: lists of arrays of shape (n_rows, n_columns, 5), a one for the color of
        each cell; ``y``, ``y_test``: lists of arrays of shape (n_rows, n_columns) with numbers from
        0 to ``length``; ``colors``: names of the colors. As graphs, ``X`` is a list of tuples
        (features, edges) or (features, edges, edge_features): colors of the 3 x 3 cells around each
        cell, zero outside of the image, (n_cells, 45); a list of two kinds of edges, to the right
        and down, (n_edges, 2); the features of both ends, (n_edges, 90). Arrays of ``y`` are flat.

    Notes
    -----
    Images are as large as their snake and its margin.

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
    n_samples = check.integer(n_samples, "n_samples", 1)
    n_test = check.integer(n_test, "n_test", 0)
    length = check.integer(length, "length", 2)
    margin = check.integer(margin, "margin", 0)
    check.choice(form, "form", ("edge_features", "graph", "grid"))
    check.flag(return_X_y, "return_X_y")
    rng = check.random_state(random_state)
    X, y = zip(*(_picture(_walk(rng, length), margin) for _ in range(n_samples + n_test)))
    if form != "grid":
        X = [_graph(x, form == "edge_features") for x in X]
        y = [labels.ravel() for labels in y]
    X, y = list(X), list(y)
    parts = {"X": X[:n_samples], "y": y[:n_samples]}
    parts |= {"X_test": X[n_samples:], "y_test": y[n_samples:]}
    return bundle(parts, return_X_y, colors=["up", "down", "left", "right", "background"])


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
    """Colors of the cells of an image, one-hot, and their numbers."""
    steps = np.diff(cells, axis=0)
    ways = np.argmax(np.all(steps[:, None] == STEPS, axis=2), axis=1)
    cells = cells - cells.min(axis=0) + margin
    shape = cells.max(axis=0) + 1 + margin
    colors, labels = np.full(shape, BACKGROUND), np.zeros(shape, np.int64)
    colors[tuple(cells.T)] = np.append(ways, ways[-1])
    labels[tuple(cells.T)] = np.arange(1, len(cells) + 1)
    return np.eye(5)[colors], labels


def _graph(x, edge_features):
    n_rows, n_columns, _ = x.shape
    wide = np.pad(x, ((1, 1), (1, 1), (0, 0)))
    around = [wide[a : a + n_rows, b : b + n_columns] for a in range(3) for b in range(3)]
    nodes = np.concatenate(around, axis=2).reshape(n_rows * n_columns, -1)
    edges = [grid_edges(n_rows, n_columns, [offset]) for offset in ((0, 1), (1, 0))]
    if not edge_features:
        return nodes, edges
    return nodes, edges, [nodes[pairs].reshape(len(pairs), 2 * nodes.shape[1]) for pairs in edges]


def grid_edges(n_rows, n_columns, offsets):
    """Pairs of cells at some offsets, cell by cell and then in the order of the offsets."""
    row, column = np.divmod(np.arange(n_rows * n_columns)[:, None], n_columns)
    down, right = np.array(offsets).T
    row, column = row + down, column + right
    inside = (row < n_rows) & (column >= 0) & (column < n_columns)
    first = np.nonzero(inside)[0]
    return np.column_stack([first, (row * n_columns + column)[inside]])
