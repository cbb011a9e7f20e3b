"""Pictures of marginals and of bounds on log Z; matplotlib is imported when one is drawn."""

import math

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._figures import check_label, new_figure
from .._validation import check_array_of_numbers, check_choice, check_integer, check_list

__all__ = ["MarginalsDisplay"]

KINDS = ("marginals", "bounds")


class MarginalsDisplay:
    """Marginals as an image, or bounds on log Z as they close in during a fit.

    Make it with `from_estimator`.

    Parameters
    ----------
    marginals : ndarray of shape (n_variables, n_states)
        Probability of each state.
    history : dict of str to ndarray, default=None
        ``history_`` of `TRWMarginals`, needed for ``kind="bounds"``.
    lower : float, default=None
        Certified lower bound on log Z.
    name : str, default=None
        Title.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.
    image_ : matplotlib AxesImage or None
        The marginals.
    upper_line_, objective_line_ : matplotlib Line2D or None
        Best certified upper bound and objective at each oracle call.

    See Also
    --------
    TRWMarginals : Has both.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn_fw import TRWMarginals
    >>> from sklearn_fw.datasets import make_ising_grid
    >>> from sklearn_fw.inference import MarginalsDisplay
    >>> trw = TRWMarginals().fit(make_ising_grid((4, 6), random_state=0))
    >>> display = MarginalsDisplay.from_estimator(trw, shape=(4, 6))
    >>> display.image_.get_array().shape
    (4, 6)
    >>> plt.close(display.figure_)
    """

    def __init__(self, marginals, *, history=None, lower=None, name=None):
        self.marginals = marginals
        self.history = history
        self.lower = lower
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator, *, kind="marginals", shape=None, state=1, ax=None, name=None, **kwargs
    ):
        """Draw a fitted estimator of marginals.

        Parameters
        ----------
        estimator : estimator
            Fitted: `TRWMarginals`, `ExactMarginals` or another one with ``marginals_``.
        kind : {"marginals", "bounds"}, default="marginals"
            What to draw.
        shape : tuple of two ints, default=None
            For marginals: the variables as an image of this shape, row by row, with the
            probability of ``state``. None draws a table of variables by states.
        state : int, default=1
            Which state the image shows.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        name : str, default=None
            Title; None means the class of the estimator.
        **kwargs : dict
            Passed on to ``ax.imshow`` or ``ax.plot``.

        Returns
        -------
        display : MarginalsDisplay
            With the artists as attributes.

        Raises
        ------
        NotFittedError
            When the estimator is not fitted.
        ValueError
            When ``kind`` is unknown, there is no history of bounds, or ``shape`` does not fit.
        ImportError
            When matplotlib is not installed.
        """
        if isinstance(estimator, type) or not hasattr(estimator, "fit"):
            raise TypeError(
                f"estimator must be a fitted estimator of marginals, got {estimator!r:.60}"
            )
        check_is_fitted(estimator)
        if not hasattr(estimator, "marginals_"):
            raise TypeError(f"estimator has no marginals_: {type(estimator).__name__} infers none")
        display = cls(
            estimator.marginals_,
            history=getattr(estimator, "history_", None),
            lower=estimator.log_partition_lower_,
            name=type(estimator).__name__ if name is None else name,
        )
        return display.plot(ax, kind=kind, shape=shape, state=state, **kwargs)

    def plot(self, ax=None, *, kind="marginals", shape=None, state=1, **kwargs):
        """Draw marginals or bounds.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        kind : {"marginals", "bounds"}, default="marginals"
            What to draw, see `from_estimator`.
        shape : tuple of two ints, default=None
            Shape of the image.
        state : int, default=1
            Which state the image shows.
        **kwargs : dict
            Passed on to ``ax.imshow`` or ``ax.plot``.

        Returns
        -------
        display : MarginalsDisplay
            This object.
        """
        check_choice(kind, "kind", KINDS)
        self.image_ = self.upper_line_ = self.objective_line_ = None
        if kind == "bounds":
            self._plot_bounds(ax, kwargs)
        else:
            self._plot_marginals(ax, shape, state, kwargs)
        if check_label(self.name) is not None:
            self.ax_.set_title(self.name)
        return self

    def _plot_marginals(self, ax, shape, state, kwargs):
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

    def _plot_bounds(self, ax, kwargs):
        history = self.history
        if not history:
            raise ValueError(
                "there is no history of bounds to draw: TRWMarginals keeps one when it asks an "
                "oracle"
            )
        self.figure_, self.ax_ = new_figure(self, ax)
        calls, upper = history["n_oracle_calls"], history["log_partition_upper"]
        objective = history["log_partition"]
        (self.objective_line_,) = self.ax_.plot(
            calls, objective, label="Objective", **{"linestyle": "--", **kwargs}
        )
        if np.any(np.isfinite(upper)):
            (self.upper_line_,) = self.ax_.plot(
                calls, upper, label="Certified upper bound", **kwargs
            )
            # The first bounds are far away; the picture is of where they end.
            worth = upper[np.isfinite(upper)]
            low = np.min(objective[len(objective) // 4 :])
            if self.lower is not None and np.isfinite(self.lower):
                low = min(low, self.lower)
            high = worth[len(worth) // 4 :].max()
            margin = 0.05 * max(high - low, 1e-9)
            self.ax_.set_ylim(low - margin, high + margin)
        if self.lower is not None and np.isfinite(self.lower):
            self.ax_.axhline(self.lower, color="gray", linestyle=":", label="Certified lower bound")
        for change in np.flatnonzero(np.diff(history["rho_iter"])):
            self.ax_.axvline(calls[change] + 0.5, color="gray", alpha=0.25, linewidth=0.8)
        self.ax_.set_xlabel("Oracle calls")
        self.ax_.set_ylabel("log Z (nats)")
        self.ax_.legend()
