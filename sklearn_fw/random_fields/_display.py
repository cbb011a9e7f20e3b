"""Pictures of marginals; matplotlib is imported when one is drawn."""

import math

from sklearn.utils.validation import check_is_fitted

from .._core.figures import check_label, new_figure
from .._core.validation import check_array_of_numbers, check_integer, check_list


class MarginalsDisplay:
    """Marginals as an image.

    Make it with `from_estimator`.

    Parameters
    ----------
    marginals : ndarray of shape (n_variables, n_states)
        Probability of each state.
    name : str, default=None
        Title.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.
    image_ : matplotlib AxesImage
        The marginals.

    See Also
    --------
    sklearn_fw.displays.ConvergenceDisplay : Draws how bounds on log Z close in during a fit.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn_fw import TRWMarginals
    >>> from sklearn_fw.datasets import make_ising_grid
    >>> from sklearn_fw.random_fields import MarginalsDisplay
    >>> trw = TRWMarginals().fit(make_ising_grid((4, 6), random_state=0))
    >>> display = MarginalsDisplay.from_estimator(trw, shape=(4, 6))
    >>> display.image_.get_array().shape
    (4, 6)
    >>> plt.close(display.figure_)
    """

    def __init__(self, marginals, *, name=None):
        self.marginals = marginals
        self.name = name

    @classmethod
    def from_estimator(cls, estimator, *, shape=None, state=1, ax=None, name=None, **kwargs):
        """Draw a fitted estimator of marginals.

        Parameters
        ----------
        estimator : estimator
            Fitted: `TRWMarginals`, `ExactMarginals` or another one with ``marginals_``.
        shape : tuple of two ints, default=None
            The variables as an image of this shape, row by row, with the
            probability of ``state``. None draws a table of variables by states.
        state : int, default=1
            Which state the image shows.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        name : str, default=None
            Title; None means the class of the estimator.
        **kwargs : dict
            Passed on to ``ax.imshow``.

        Returns
        -------
        display : MarginalsDisplay
            With the artists as attributes.
        """
        if isinstance(estimator, type) or not hasattr(estimator, "fit"):
            raise TypeError(
                f"estimator must be a fitted estimator of marginals, got {estimator!r:.60}"
            )
        check_is_fitted(estimator)
        if not hasattr(estimator, "marginals_"):
            raise TypeError(f"estimator has no marginals_: {type(estimator).__name__} infers none")
        display = cls(estimator.marginals_, name=type(estimator).__name__ if name is None else name)
        return display.plot(ax, shape=shape, state=state, **kwargs)

    def plot(self, ax=None, *, shape=None, state=1, **kwargs):
        """Draw the marginals.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        shape : tuple of two ints, default=None
            Shape of the image.
        state : int, default=1
            Which state the image shows.
        **kwargs : dict
            Passed on to ``ax.imshow``.

        Returns
        -------
        display : MarginalsDisplay
            This object.
        """
        values = check_array_of_numbers(self.marginals, "marginals")
        if values.ndim != 2:
            raise ValueError(
                f"marginals must have shape (n_variables, n_states), got {values.shape}"
            )
        if shape is not None:
            shape = check_list(shape, "shape", "two integers")
            shape = tuple(check_integer(side, "shape", 1) for side in shape)
            if len(shape) != 2 or math.prod(shape) != len(values):
                raise ValueError(
                    f"shape must be two integers with {len(values)} pixels, one per variable, got "
                    f"{shape}"
                )
            state = check_integer(state, "state", 0)
            if state >= values.shape[1]:
                raise ValueError(f"state must be 0 to {values.shape[1] - 1}, got {state}")
            values = values[:, state].reshape(shape)
        self.figure_, self.ax_ = new_figure(self, ax)
        options = {"vmin": 0.0, "vmax": 1.0, "cmap": "gray_r", **kwargs}
        if shape is None:
            options.setdefault("aspect", "auto")
            self.ax_.set_xlabel("State")
            self.ax_.set_ylabel("Variable")
        else:
            self.ax_.set_xticks([])
            self.ax_.set_yticks([])
        self.image_ = self.ax_.imshow(values, **options)
        self.figure_.colorbar(self.image_, ax=self.ax_, label="Probability")
        if check_label(self.name) is not None:
            self.ax_.set_title(self.name)
        return self
