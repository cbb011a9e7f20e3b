"""Panels of displays with one for each component, and the names in them."""

import numpy as np

from .._core.figures import new_figure
from .._core.validation import check_integer


def panels_of(display, ax, n_panels):
    if ax is not None:
        figure, given = new_figure(display, ax)
        axes = np.ravel(np.asarray(given, dtype=object))
        if len(axes) != n_panels:
            raise ValueError(f"ax must have one of {n_panels} axes for each component: {len(axes)}")
        return figure, axes
    figure, first = new_figure(display, None)
    first.remove()
    n_columns = min(n_panels, 3)
    n_rows = -(-n_panels // n_columns)
    figure.set_size_inches(3.4 * n_columns, 2.4 * n_rows)
    return figure, np.array(
        [figure.add_subplot(n_rows, n_columns, i + 1) for i in range(n_panels)], dtype=object
    )


def names_of(names, size, parameter):
    if names is None:
        return [str(m) for m in range(size)]
    names = np.asarray(names, dtype=object).ravel().tolist()
    if not all(isinstance(name, str) for name in names):
        raise ValueError(f"{parameter} must hold text")
    if len(names) != size:
        raise ValueError(f"{parameter} must hold {size} names, got {len(names)}")
    return names


def components_of(components, size):
    if components is None:
        return list(range(min(size, 6)))
    chosen = [check_integer(k, "components", 0) for k in np.ravel(components).tolist()]
    if not chosen or max(chosen) >= size:
        raise ValueError(f"components must be numbers below {size}, got {chosen}")
    return chosen
