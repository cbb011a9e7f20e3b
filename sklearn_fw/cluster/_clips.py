"""Checks of sequences of rows, with the number of the one that is wrong."""

import numpy as np

from .._core import check
from .._core.packed import starts_of
from ..optim.domains import OrderedPlacements


def check_sequences(X, groups=None, name="X", n_rows=1, n_features=None):
    """The arrays of all sequences, stacked, and where each begins; then the order of rows given.

    An array with ``groups`` is cut by their sorted labels; rows of one need not stand together.
    """
    if groups is not None:
        X = check.shaped(X, name, "n_rows", "n_features")
        codes = np.searchsorted(check.find_labels(groups, "groups"), groups)
        order = np.argsort(check.shaped(codes, "groups", len(X)), kind="stable")
        given = np.split(X[order], np.cumsum(np.bincount(codes))[:-1])
    else:
        if getattr(X, "ndim", None) == 2:
            raise ValueError(f"{name} is one array: give a list of arrays, or groups as well")
        given, order = check.items(X, name, "arrays, one per sequence", least=1), None
    arrays = []
    for n, rows in enumerate(given):
        rows = check.shaped(rows, f"{name}[{n}]", "n_rows", n_features or "n_features")
        n_features = rows.shape[1]
        if len(rows) < n_rows:
            raise ValueError(f"{name}[{n}] has {len(rows)} rows, but there must be {n_rows}")
        arrays.append(rows)
    order = np.arange(sum(map(len, arrays))) if order is None else order
    return np.concatenate(arrays), starts_of([len(rows) for rows in arrays]), order


def check_windows(windows, lengths, n_steps):
    """Boolean arrays (n_rows, n_steps) of each sequence; all rows of steps without a window."""
    what = "arrays or lists of (step, first, last)"
    windows = check.items(windows, "windows", what, len(lengths))
    masks = []
    for n, (given, n_rows) in enumerate(zip(windows, lengths.tolist())):
        name, given = f"windows[{n}]", [] if given is None else given
        if isinstance(given, np.ndarray):
            mask = check.shaped(given, name, n_rows, n_steps) != 0.0
        else:
            mask = np.zeros((n_rows, n_steps), bool)
            for window in check.items(given, name, "(step, first, last)"):
                entry = check.array(window, name)
                is_whole = entry.shape == (3,) and not np.any(entry % 1)
                step, first, last = map(int, entry) if is_whole else (-1, 0, 0)
                rows = range(max(first, 0), min(last + 1, n_rows))
                if step not in range(n_steps) or not rows:
                    raise ValueError(
                        f"{name} must hold (step, first row, last row), with steps from 0 to "
                        f"{n_steps - 1}, first <= last, and a row of 0 to {n_rows - 1}; "
                        f"got {window!r:.80}"
                    )
                mask[rows, step] = True
        masks.append(mask | ~mask.any(axis=0))
    return masks


def masks_of(windows, hull):
    """Slots that each step may take, (n_steps, n_rows) per sequence, and those that were widened.

    With ``hull`` all rows between the first and the last of a window count, in the order of steps:
    none lies behind the last row of a later step, nor before the first of an earlier one. Where no
    placement is left, the steps that the least number of windows must give up are free.
    """
    masks, widened = [], []
    for n, window in enumerate(windows):
        mask = window.T.copy()
        if hull:
            after, before = (
                np.logical_and.accumulate(np.logical_or.accumulate(part, axis=1))
                for part in (mask, mask[::-1, ::-1])
            )
            mask = after & before[::-1, ::-1]
        try:
            OrderedPlacements(mask.shape, mask)
        except ValueError:
            places = OrderedPlacements(mask.shape).place((~mask).ravel().astype(float))
            mask[~mask[np.arange(len(mask)), places]] = True
            widened.append(n)
        masks.append(mask)
    return masks, np.array(widened, np.int64)
