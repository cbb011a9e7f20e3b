"""Base class of figures and the checks that they share; matplotlib is imported on drawing."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from . import check

REMEDY = "pass the fitted estimator; of a search best_estimator_, of a pipeline its last step"


def check_label(name):
    return check.instance(name, "name", str | None)


def check_fitted(estimator, *attributes, kind=None, enough=all):
    """The estimator, if it is fitted and has the attributes (any of them if enough=any)."""
    name = type(estimator).__name__
    if kind is not None and not isinstance(estimator, kind):
        raise TypeError(f"estimator must be a {kind.__name__}, got {name}: {REMEDY}")
    if isinstance(estimator, type) or not hasattr(estimator, "fit"):
        raise TypeError(f"estimator must have been fitted, got {estimator!r:.60}: {REMEDY}")
    check_is_fitted(estimator)
    if attributes and not enough(hasattr(estimator, attribute) for attribute in attributes):
        wanted = (" or " if enough is any else " and ").join(attributes)
        raise TypeError(f"{name} has no {wanted}: {REMEDY}")
    return estimator


def check_names(names, size, parameter):
    """Texts for ``size`` things; None makes their numbers."""
    if names is None:
        return [str(k) for k in range(size)]
    return check.texts(names, parameter, size)


def check_vectors(finite=True, **named):
    """Vectors of one length, by the names of their parameters."""
    found = [check.numbers(values, name, finite) for name, values in named.items()]
    if any(v.ndim != 1 or not v.size or v.shape != found[0].shape for v in found):
        raise ValueError(f"{' and '.join(named)} must be vectors of one length, not empty")
    return found


def new_figure(display, ax, n_panels=1, n_columns=1, size=(6.4, 4.8), **options):
    """Figure and vector of axes to draw into: those given, or new ones in a grid."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"{type(display).__name__} needs matplotlib: run pip install matplotlib"
        ) from error
    if ax is not None:
        axes = np.ravel(np.asarray(ax, dtype=object))
        if not axes.size or not all(hasattr(a, "figure") and hasattr(a, "plot") for a in axes):
            raise TypeError(f"ax must be matplotlib axes or None, got {type(ax).__name__}")
        if len(axes) != n_panels:
            raise ValueError(f"ax must hold {n_panels} Axes, one per panel, got {len(axes)}")
        return axes[0].figure, axes
    options = {"squeeze": False, "figsize": size, "layout": "constrained", **options}
    figure, axes = plt.subplots(-(-n_panels // n_columns), n_columns, **options)
    for spare in axes.ravel()[n_panels:]:
        spare.remove()
    return figure, axes.ravel()[:n_panels]


class Display:
    """Base class of figures.

    A class stores its data, has a ``from_...`` method that computes them, and draws in `plot`.
    """

    def plot(self, ax=None, **options):
        """Draw into ``ax``, matplotlib Axes, or into a new figure, and return this object.

        Options are those of the ``from_...`` method, which draws, too; a ``name`` that is None
        keeps that of the constructor. Further keywords go to the matplotlib method.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement plot")

    def _axes(self, ax, title=None):
        self.figure_, (self.ax_,) = new_figure(self, ax)
        if title is not None:
            self.ax_.set_title(title)
        return self.ax_

    def _grid(self, ax, n_panels):
        """Open several panels, at most three in a row."""
        n_columns = min(n_panels, 3)
        size = 3.4 * n_columns, 2.4 * -(-n_panels // n_columns)
        self.figure_, self.ax_ = new_figure(self, ax, n_panels, n_columns, size)
        return self.ax_

    def _curves(self, x, curves, options, styles=None, **labels):
        """Lines by their labels; ``styles`` holds keywords by label, ``labels`` those of axes."""
        lines = []
        for label, values in curves.items():
            own = {"label": label, **(styles or {}).get(label, {}), **options}
            lines += self.ax_.plot(x, values, **own)
        self.ax_.set(**labels)
        self._legend()
        return lines

    def _legend(self, **options):
        if self.ax_.get_legend_handles_labels()[1]:
            self.ax_.legend(**options)

    def _heat_map(self, values, options, columns=None, rows=None, color_label=None, **labels):
        """Image with names of columns and rows, and a color bar where it has a label."""
        image = self.ax_.imshow(values, **options)
        for axis, names in ((self.ax_.xaxis, columns), (self.ax_.yaxis, rows)):
            if names is not None:
                axis.set_ticks(range(len(names)), names)
        if color_label is not None:
            self.figure_.colorbar(image, ax=self.ax_, label=color_label)
        self.ax_.set(**labels)
        return image

    def _bars(self, panel, lengths, names, options, **labels):
        """Horizontal bars from the top down, with names to their left."""
        bars = panel.barh(np.arange(len(lengths)), lengths, **options)
        panel.set_yticks(np.arange(len(names)), names, fontsize="small")
        if not panel.yaxis_inverted():
            panel.invert_yaxis()
        panel.set(**labels)
        return bars
