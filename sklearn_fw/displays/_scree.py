"""Picture of falling eigenvalues; matplotlib is imported when it is drawn."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.figures import check_label, new_figure
from .._core.validation import (
    check_array_of_numbers,
    check_integer,
    check_magnitude,
    check_not_negative,
)

# What an estimator may call them, and their name on the axis.
VALUES = {
    "spectrum_": "Eigenvalue of the second moment",
    "eigenvalues_": "Eigenvalue",
    "singular_values_": "Singular value",
    "explained_variance_": "Explained variance",
}


class ScreeDisplay:
    """Eigenvalues or singular values as they fall, with the noise below: how many to keep.

    Make it with `from_estimator`, for any estimator that stores them:
    `sklearn_fw.decomposition.DiscreteICA`, which with ``n_components="auto"`` says where noise
    begins, the models of two views, principal components. Several fits can share one axis.

    Parameters
    ----------
    values : array-like of shape (n_values,)
        Eigenvalues or singular values, in any order; those that are not above zero are left out.
    noise_floor : float, default=None
        Largest value that noise alone has; None when it is not known.
    n_components : int, default=None
        How many were kept; None draws no mark of it.
    value_name : str, default="Eigenvalue"
        Label of the vertical axis.
    name : str, default=None
        Label of the curve in the legend; None names no curve.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the values were drawn.
    figure_ : matplotlib Figure
        Its figure.
    line_ : matplotlib Line2D
        The values.
    floor_ : matplotlib Line2D or None
        Where noise begins.
    mark_ : matplotlib Line2D or None
        Where those that were kept end.

    See Also
    --------
    TopicDisplay : Words of topics.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn_fw.datasets import make_gp_corpus
    >>> from sklearn_fw.decomposition import DiscreteICA
    >>> from sklearn_fw.displays import ScreeDisplay
    >>> X = make_gp_corpus(1000, 50, 3, random_state=0).X
    >>> model = DiscreteICA("auto", random_state=0).fit(X)
    >>> display = ScreeDisplay.from_estimator(model)
    >>> display.n_components
    3
    >>> plt.close(display.figure_)
    """

    def __init__(
        self, values, *, noise_floor=None, n_components=None, value_name="Eigenvalue", name=None
    ):
        self.values = values
        self.noise_floor = noise_floor
        self.n_components = n_components
        self.value_name = value_name
        self.name = name

    @classmethod
    def from_estimator(cls, estimator, *, ax=None, name=None, **kwargs):
        """Draw the eigenvalues or singular values of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``eigenvalues_``, ``singular_values_`` or ``explained_variance_``.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        name : str, default=None
            Label of the curve in the legend; None names no curve.
        **kwargs : dict
            Passed on to ``ax.semilogy``.

        Returns
        -------
        display : ScreeDisplay
            With the artists as attributes.
        """
        check_is_fitted(estimator)
        stored = [key for key in VALUES if hasattr(estimator, key)]
        if not stored:
            raise TypeError(
                f"{type(estimator).__name__} has neither eigenvalues_ nor singular_values_: pass a "
                "decomposition that stores them, of a pipeline its last step"
            )
        values = getattr(estimator, stored[0])
        kept = len(getattr(estimator, "eigenvalues_", values))
        display = cls(
            values, noise_floor=getattr(estimator, "noise_floor_", None),
            n_components=kept if kept < len(values) else None, value_name=VALUES[stored[0]],
            name=name,
        )  # fmt: skip
        return display.plot(ax, **kwargs)

    def plot(self, ax=None, *, name=None, **kwargs):
        """Draw the values.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        name : str, default=None
            Label of the curve in the legend; None keeps that of the display.
        **kwargs : dict
            Passed on to ``ax.semilogy``.

        Returns
        -------
        display : ScreeDisplay
            This object.
        """
        values = self._checked()
        label = check_label(self.name if name is None else name)
        self.figure_, self.ax_ = new_figure(self, ax)
        ranks = np.arange(1, len(values) + 1)
        (self.line_,) = self.ax_.semilogy(
            ranks, values, label=label, **{"marker": ".", "linestyle": "-", **kwargs}
        )
        self.floor_ = self.mark_ = None
        style = {"color": self.line_.get_color(), "alpha": 0.7}
        if self.noise_floor:
            self.floor_ = self.ax_.axhline(
                self.noise_floor, linestyle=":", label="noise at most", **style
            )
        if self.n_components is not None:
            self.mark_ = self.ax_.axvline(
                self.n_components + 0.5, linestyle="--", label=f"{self.n_components} kept", **style
            )
        self.ax_.xaxis.get_major_locator().set_params(integer=True)
        self.ax_.set(xlabel="Number of components", ylabel=self.value_name)
        if self.ax_.get_legend_handles_labels()[1]:
            self.ax_.legend()
        return self

    def _checked(self):
        values = check_array_of_numbers(self.values, "values")
        check_magnitude(values, "values")
        values = -np.sort(-values[values > 0.0]) if values.ndim == 1 else values
        if values.ndim != 1 or not values.size:
            raise ValueError(
                f"values must have shape (n_values,) and numbers above zero, got {self.values!r}"
            )
        if self.noise_floor is not None:
            check_not_negative(self.noise_floor, "noise_floor")
        if self.n_components is not None:
            check_integer(self.n_components, "n_components", 0)
        if not isinstance(self.value_name, str):
            raise TypeError(f"value_name must be text, got {self.value_name!r}")
        return values
