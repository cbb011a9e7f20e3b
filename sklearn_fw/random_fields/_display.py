"""Figure of marginals."""

import math

from .._core import check
from .._core.figures import Display, check_fitted, check_label


class MarginalsDisplay(Display):
    """Marginal probabilities as an image.

    Make it with `from_estimator`.

    Parameters
    ----------
    marginals : ndarray of shape (n_variables, n_states)
        Probability of each state.
    name : str, default=None
        Title.

    Attributes
    ----------
    figure_, ax_, image_ : matplotlib Figure, Axes and AxesImage
        Where the marginals were drawn, and their image.

    Examples
    --------
    >>> from sklearn_fw import TRWMarginals
    >>> from sklearn_fw.datasets import make_ising
    >>> from sklearn_fw.random_fields import MarginalsDisplay
    >>> trw = TRWMarginals().fit(make_ising("grid", (4, 6), coupling=4.0, random_state=0))
    >>> display = MarginalsDisplay.from_estimator(trw, shape=(4, 6))
    >>> display.image_.get_array().shape
    (4, 6)
    """

    def __init__(self, marginals, *, name=None):
        self.marginals, self.name = marginals, name

    @classmethod
    def from_estimator(cls, estimator, *, shape=None, state=1, ax=None, name=None, **kwargs):
        """Draw the marginals of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted: `TRWMarginals`, `ExactMarginals` or another one with ``marginals_``.
        shape, state : tuple of two ints, default=None, and int, default=1
            Shape of an image of the variables, row by row, with the probability of ``state``.
            None draws a table of variables by states.
        ax, name, **kwargs : Axes or None, str or None, keywords of ``ax.imshow``
            As in `plot`; None makes the class of the estimator the title.
        """
        marginals = check_fitted(estimator, "marginals_").marginals_
        display = cls(marginals, name=type(estimator).__name__ if name is None else name)
        return display.plot(ax, shape=shape, state=state, **kwargs)

    def plot(self, ax=None, *, shape=None, state=1, **kwargs):
        values = check.matrix(self.marginals, "marginals")
        kwargs = {"vmin": 0.0, "vmax": 1.0, "cmap": "gray_r", **kwargs}
        labels = {"xticks": [], "yticks": []}
        if shape is None:
            kwargs.setdefault("aspect", "auto")
            labels = {"xlabel": "State", "ylabel": "Variable"}
        else:
            shape = check.items(shape, "shape", "integers", 2)
            shape = tuple(check.integer(side, "shape", 1) for side in shape)
            if math.prod(shape) != len(values):
                n = len(values)
                raise ValueError(f"shape must have {n} pixels, one per variable, got {shape}")
            state = check.integer(state, "state", 0, values.shape[1] - 1)
            values = values[:, state].reshape(shape)
        self._axes(ax, check_label(self.name))
        self.image_ = self._heat_map(values, kwargs, color_label="Probability", **labels)
        return self
