"""Tables of text and categories as tables of states."""

import numpy as np

from .._core import check

REMEDY = "replace it by None if it is missing, or make the column a pandas category with all values"


def has_categories(X):
    """Whether a table holds text or columns of pandas categories."""
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        if any(hasattr(dtype, "categories") for dtype in X.dtypes):
            return True
        X = X.select_dtypes(exclude=["number", "bool"]).to_numpy(dtype=object)
    elif isinstance(X, list | tuple):
        X = np.asarray(X, dtype=object)
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.dtype.kind not in "OU":
        return False
    return X.dtype.kind == "U" or any(isinstance(value, str) for value in X.ravel())


def number_categories(X, known=None):
    """States of a table, NaN where an entry is missing, and the categories of its columns.

    ``known`` are the categories of an earlier table; None takes those of the columns, in the order
    of a pandas category or else sorted.
    """
    table, dtypes = np.asarray(X, dtype=object), dict(enumerate(getattr(X, "dtypes", ())))
    states, categories = np.full(table.shape, np.nan), []
    for j, name in enumerate(getattr(X, "columns", range(table.shape[1]))):
        there = np.array([not check.is_missing(value) for value in table[:, j]], dtype=bool)
        values = table[there, j]
        if known is not None:
            own = known[j]
        elif hasattr(dtypes.get(j), "categories"):
            own = np.array(dtypes[j].categories.tolist(), dtype=object)
        else:
            own = _sorted(values, name)
        place = {value: k for k, value in enumerate(own.tolist())}
        strange = next((value for value in values if value not in place), None)
        if strange is not None:
            raise ValueError(
                f"column {name!r} of X holds {strange!r:.60}, which is none of its categories "
                f"{own.tolist()!r:.200}: {REMEDY}"
            )
        states[there, j] = [place[value] for value in values]
        categories.append(own)
    return states, categories


def _sorted(values, name):
    """The distinct values of a column, whole numbers as integers."""
    try:
        own = sorted(set(values.tolist()))
    except TypeError:
        raise ValueError(f"column {name!r} of X mixes text and others: take astype(str)") from None
    whole = [int(v) if isinstance(v, float) and v.is_integer() else v for v in own]
    if any(isinstance(value, float) for value in whole):
        raise ValueError(f"column {name!r} of X holds fractions: use KBinsDiscretizer")
    return np.array(whole, dtype=object)
