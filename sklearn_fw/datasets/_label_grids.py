"""Grids of labels with patterns that no single cell shows."""

from numbers import Integral

import numpy as np
from sklearn.utils import check_scalar

from .._core.validation import check_choice, check_moderate, check_random_state

MOST_GRIDS, LONGEST_SIDE = 10**6, 10**4
# Of each pattern: the least length of a side, and the label that a cell looks like, by its own.
PATTERNS = {
    "stripes": (3, (0, 1, 2)),
    "checkers": (2, (0, 1)),
    "bars": (4, (0, 1, 1)),
    "crosses": (4, (0, 1, 1)),
    "boxes": (4, (0, 1)),
}


def make_label_grids(
    pattern="crosses", *, n_samples=20, shape=(10, 12), noise=0.8, random_state=None
):
    """Make grids of labels and noisy features of their cells.

    For examples and tests of `sklearn_fw.structured.GridModel`: what a cell shows is not enough,
    its neighbours tell the rest.

    Parameters
    ----------
    pattern : {"crosses", "stripes", "checkers", "bars", "boxes"}, default="crosses"
        "stripes": three vertical ones, labels 0, 1, 2. "checkers": labels 0 and 1 in turns.
        "crosses": two crosses of five cells; their arms are 1, their centres 2, which look alike.
        "bars": two bars of three cells, flat ones 1, upright ones 2, which look alike. "boxes": a
        square of two by two cells, label 1, that begins in an even row and an even column.
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

    See Also
    --------
    make_digit_words : Chains.

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
    check_choice(pattern, "pattern", set(PATTERNS))
    n_samples = _size(n_samples, "n_samples", 1, MOST_GRIDS)
    least, looks = PATTERNS[pattern]
    if not isinstance(shape, tuple | list) or len(shape) != 2:
        raise ValueError(f"shape must be a tuple (n_rows, n_columns), got {shape!r}")
    shape = tuple(_size(side, "shape", least, LONGEST_SIDE) for side in shape)
    noise = check_moderate(noise, "noise")
    rng = check_random_state(random_state)
    y = [_drawn(pattern, shape, rng) for _ in range(n_samples)]
    n_looks = max(looks) + 1
    seen = [np.eye(n_looks)[np.array(looks)[labels]] for labels in y]
    return [shown + noise * rng.standard_normal(shown.shape) for shown in seen], y


def _size(value, name, least, most):
    return int(check_scalar(value, name, Integral, min_val=least, max_val=most))


def _drawn(pattern, shape, rng):
    """The labels of one grid."""
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
