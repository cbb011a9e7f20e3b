"""Picture of the loadings of two views; matplotlib is imported when it is drawn."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.validation import check_array_of_numbers, check_integer
from ._panels import components_of, names_of, panels_of

COLORS = "C0", "C1"


class LoadingDisplay:
    """Features with the largest loadings of each shared factor, first view left, second right.

    Make it with `from_estimator`, for any estimator with ``x_loadings_`` and ``y_loadings_``: for
    views of words it shows which words of the one belong to which of the other.

    Parameters
    ----------
    x_loadings : array-like of shape (n_features, n_components)
        Loadings of the first view.
    y_loadings : array-like of shape (n_targets, n_components)
        Loadings of the second view.
    x_names : array-like of shape (n_features,), default=None
        Names of features; None means numbers.
    y_names : array-like of shape (n_targets,), default=None
        Names of features of the second view.

    Attributes
    ----------
    ax_ : ndarray of matplotlib Axes
        One for each component.
    figure_ : matplotlib Figure
        Their figure.
    bars_ : list of matplotlib BarContainer
        Bars of the first and of the second view of each component in turn.

    See Also
    --------
    sklearn_fw.decomposition.DiscreteCCA : Loadings of two views of counts.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn_fw.datasets import make_discrete_cca
    >>> from sklearn_fw.decomposition import DiscreteCCA
    >>> from sklearn_fw.displays import LoadingDisplay
    >>> data = make_discrete_cca(1000, 10, 2, 2, random_state=0)
    >>> model = DiscreteCCA(2).fit(data.X, data.y)
    >>> display = LoadingDisplay.from_estimator(model, n_top=5)
    >>> len(display.ax_), len(display.bars_)
    (2, 4)
    >>> plt.close(display.figure_)
    """

    def __init__(self, x_loadings, y_loadings, *, x_names=None, y_names=None):
        self.x_loadings = x_loadings
        self.y_loadings = y_loadings
        self.x_names = x_names
        self.y_names = y_names

    @classmethod
    def from_estimator(
        cls, estimator, *, components=None, n_top=8, x_names=None, y_names=None, ax=None, **kwargs
    ):
        """Draw the loadings of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``x_loadings_`` and ``y_loadings_``: also those of
            `sklearn.cross_decomposition`.
        components : array-like of int, default=None
            Which components; None means the first six.
        n_top : int, default=8
            Number of features of each view.
        x_names : array-like of shape (n_features,), default=None
            Names of features; None means ``feature_names_in_``, or numbers.
        y_names : array-like of shape (n_targets,), default=None
            Names of features of the second view; None means the columns of the data frame that was
            given, or numbers.
        ax : array-like of matplotlib Axes, default=None
            Where to draw, one for each component; None makes a new figure.
        **kwargs : dict
            Passed on to ``ax.barh``.

        Returns
        -------
        display : LoadingDisplay
            With the artists as attributes.
        """
        check_is_fitted(estimator)
        if not (hasattr(estimator, "x_loadings_") and hasattr(estimator, "y_loadings_")):
            raise TypeError(
                f"{type(estimator).__name__} has no x_loadings_ and y_loadings_: pass a model of "
                "two views, of a pipeline its last step"
            )
        if x_names is None:
            x_names = getattr(estimator, "feature_names_in_", None)
        if y_names is None:
            y_names = getattr(estimator, "_y_names", None)
        display = cls(
            estimator.x_loadings_, estimator.y_loadings_, x_names=x_names, y_names=y_names
        )
        return display.plot(ax, components=components, n_top=n_top, **kwargs)

    def plot(self, ax=None, *, components=None, n_top=8, **kwargs):
        """Draw the loadings.

        Parameters
        ----------
        ax : array-like of matplotlib Axes, default=None
            Where to draw, one for each component; None makes a new figure.
        components, n_top : array-like of int and int
            What to draw, see `from_estimator`.
        **kwargs : dict
            Passed on to ``ax.barh``.

        Returns
        -------
        display : LoadingDisplay
            This object.
        """
        views = [_loadings(self.x_loadings, "x_loadings"), _loadings(self.y_loadings, "y_loadings")]
        sizes = [view.shape[1] for view in views]
        if sizes[0] != sizes[1]:
            raise ValueError(
                f"x_loadings and y_loadings must have the same number of columns, got {sizes}"
            )
        names = [
            names_of(self.x_names, len(views[0]), "x_names"),
            names_of(self.y_names, len(views[1]), "y_names"),
        ]
        n_top = check_integer(n_top, "n_top", 1)
        components = components_of(components, sizes[0])
        self.figure_, axes = panels_of(self, ax, len(components))
        self.ax_, self.bars_ = axes, []
        for panel, k in zip(axes, components):
            for side, (view, own) in enumerate(zip(views, names)):
                self.bars_.append(_bars(panel, view[:, k], own, n_top, side, kwargs))
            panel.axvline(0.0, color="0.3", linewidth=0.8)
            panel.set(title=f"Component {k}", xlim=(-1.6, 1.6), yticks=[], xticks=[])
            panel.invert_yaxis()
        return self


def _bars(panel, loadings, names, n_top, side, kwargs):
    """Bars of one view, as long as the largest allows, with names inside the picture."""
    top = np.argsort(-np.abs(loadings), kind="stable")[:n_top]
    sign = 2 * side - 1
    lengths = np.abs(loadings[top]) / (np.abs(loadings[top[0]]) or 1.0)
    style = {"color": COLORS[side], "alpha": 0.5, **kwargs}
    bars = panel.barh(np.arange(len(top)), sign * lengths, **style)
    for row, m in enumerate(top):
        minus = "-" if loadings[m] < 0.0 else ""
        panel.text(
            sign * 0.04, row, f"{minus}{names[m]}", va="center", fontsize="small",
            ha="right" if side == 0 else "left", clip_on=True,
        )  # fmt: skip
    return bars


def _loadings(values, name):
    values = check_array_of_numbers(values, name)
    if values.ndim != 2 or not values.size:
        raise ValueError(f"{name} must have shape (n_features, n_components), got {values.shape}")
    return values
