"""Where displays draw; matplotlib is imported when one is drawn."""

import numpy as np


def check_label(name):
    """Text for a legend, or None."""
    if not (name is None or isinstance(name, str)):
        raise TypeError(f"name must be text or None, got {name!r}")
    return name


def new_figure(display, ax, n_panels=1):
    """Figure and axes to draw into: those given, or new ones."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f'{type(display).__name__} needs matplotlib: pip install "sklearn-fw[plot]"'
        ) from error
    if ax is not None:
        axes = np.ravel(np.asarray(ax, dtype=object))
        if not axes.size or not all(hasattr(a, "figure") and hasattr(a, "plot") for a in axes):
            raise TypeError(f"ax must be matplotlib axes or None, got {type(ax).__name__}")
        return axes[0].figure, ax
    height = 1.4 + 2.4 * n_panels if n_panels > 1 else 4.8
    return plt.subplots(n_panels, sharex=True, figsize=(6.4, height), layout="constrained")
