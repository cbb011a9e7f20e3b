"""Pictures of what was inspected; matplotlib is imported when one is drawn."""

import numpy as np

from .._core.figures import check_label, new_figure
from .._core.validation import check_array_of_numbers, check_list, check_magnitude, check_positive
from ._critical import critical_sample_ratio
from ._difficulty import example_difficulty
from ._scale import feature_radius


def vectors(*named):
    """Vectors of one length, from pairs of numbers and names."""
    found = [check_array_of_numbers(values, name, finite=None) for values, name in named]
    names = " and ".join(name for _, name in named)
    if any(v.ndim != 1 or not v.size or v.shape != found[0].shape for v in found):
        raise ValueError(f"{names} must be vectors of one length, not empty")
    for v, (_, name) in zip(found, named):
        check_magnitude(np.where(np.isfinite(v), v, 0.0), name)
    return found


class CriticalSampleDisplay:
    """Ratio of critical samples against the radius of the box.

    Make it with `from_estimator`.

    Parameters
    ----------
    shares : array-like of shape (n_radii,)
        Sizes of the boxes, such as parts of the standard deviations.
    ratios : array-like of shape (n_radii,)
        Ratios of critical samples.
    intervals : array-like of shape (n_radii, 2), default=None
        Ends of their intervals.
    name : str, default=None
        For the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.
    line_ : matplotlib Line2D
        The ratios.

    See Also
    --------
    critical_sample_ratio : One ratio.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_fw.inspection import CriticalSampleDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(max_iter=500).fit(X, y)
    >>> display = CriticalSampleDisplay.from_estimator(model, X, shares=[0.1, 0.5], random_state=0)
    >>> display.line_.get_xdata().tolist()
    [0.1, 0.5]
    >>> plt.close(display.figure_)
    """

    def __init__(self, shares, ratios, *, intervals=None, name=None):
        self.shares = shares
        self.ratios = ratios
        self.intervals = intervals
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator, X, *, shares=(0.05, 0.1, 0.2, 0.4, 0.8), random_state=None, ax=None,
        name=None, **kwargs,
    ):  # fmt: skip
        """Search boxes of several sizes and draw the ratios.

        Parameters
        ----------
        estimator : estimator
            A fitted classifier, as `critical_sample_ratio` takes it.
        X : array-like of shape (n_samples, n_features)
            Rows.
        shares : array-like of float, default=(0.05, 0.1, 0.2, 0.4, 0.8)
            Radii in standard deviations of the features of X.
        random_state : int, RandomState instance or None, default=None
            For the search.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        name : str, default=None
            For the legend; None is the class of the estimator.
        **kwargs : dict
            Passed on to ``ax.plot``.

        Returns
        -------
        display : CriticalSampleDisplay
            With the artists as attributes.
        """
        shares = check_list(shares, "shares", "positive numbers")
        shares = [check_positive(share, "shares") for share in shares]
        radii = [feature_radius(X, share) for share in shares]
        found = [
            critical_sample_ratio(estimator, X, radius=radius, random_state=random_state)
            for radius in radii
        ]
        display = cls(
            np.array(shares, dtype=float), np.array([r.ratio for r in found]),
            intervals=np.array([r.interval for r in found]),
            name=type(estimator).__name__ if name is None else name,
        )  # fmt: skip
        return display.plot(ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed on to ``ax.plot``.

        Returns
        -------
        display : CriticalSampleDisplay
            This object.
        """
        x, y = vectors((self.shares, "shares"), (self.ratios, "ratios"))
        name = check_label(self.name)
        ends = None
        if self.intervals is not None:
            ends = check_array_of_numbers(self.intervals, "intervals")
            if ends.shape != (len(x), 2):
                raise ValueError(f"intervals must have shape ({len(x)}, 2), got {ends.shape}")
        self.figure_, self.ax_ = new_figure(self, ax)
        (self.line_,) = self.ax_.plot(x, y, **{"marker": "o", "label": name, **kwargs})
        if ends is not None:
            self.ax_.fill_between(x, *ends.T, color=self.line_.get_color(), alpha=0.15, lw=0)
        self.ax_.set(xlabel="Radius (standard deviations)", ylabel="Critical sample ratio")
        self.ax_.set_ylim(-0.02, 1.02)
        if name is not None:
            self.ax_.legend()
        return self


class DifficultyDisplay:
    """Sorted error rates of rows after short training, beside those of equally hard rows.

    Make it with `from_estimator`.

    Parameters
    ----------
    error_rates : array-like of shape (n_samples,)
        Shares of runs that misclassify each row.
    reference : array-like of shape (n_samples,)
        Binomial shares of equally hard rows.
    name : str, default=None
        For the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.
    lines_ : list of matplotlib Line2D
        The rows and the reference.

    See Also
    --------
    example_difficulty : The numbers.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn_fw.inspection import DifficultyDisplay
    >>> display = DifficultyDisplay([0.0, 0.9, 0.1], [0.3, 0.3, 0.4]).plot()
    >>> display.lines_[0].get_ydata().tolist()
    [0.0, 0.1, 0.9]
    >>> plt.close(display.figure_)
    """

    def __init__(self, error_rates, reference, *, name=None):
        self.error_rates = error_rates
        self.reference = reference
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, n_runs=50, n_epochs="auto", method="auto", n_jobs=None,
        random_state=None, ax=None, name=None,
    ):  # fmt: skip
        """Run `example_difficulty` and draw it.

        Parameters
        ----------
        estimator : classifier
            Cloned for every run.
        X : array-like of shape (n_samples, n_features)
            Rows.
        y : array-like of shape (n_samples,)
            Their labels.
        n_runs : int, default=50
            Fresh models.
        n_epochs : int or "auto", default="auto"
            Epochs of each.
        method : {"auto", "early", "held_out"}, default="auto"
            As in `example_difficulty`.
        n_jobs : int or None, default=None
            Runs at once.
        random_state : int, RandomState instance or None, default=None
            For seeds and splits.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        name : str, default=None
            For the legend; None is the class of the estimator.

        Returns
        -------
        display : DifficultyDisplay
            With the artists as attributes.
        """
        found = example_difficulty(
            estimator, X, y, n_runs=n_runs, n_epochs=n_epochs, method=method, n_jobs=n_jobs,
            random_state=random_state,
        )  # fmt: skip
        name = type(estimator).__name__ if name is None else name
        return cls(found.error_rate, found.reference, name=name).plot(ax)

    def plot(self, ax=None, **kwargs):
        """Draw both curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed on to ``ax.plot`` for the rows.

        Returns
        -------
        display : DifficultyDisplay
            This object.
        """
        rates, reference = vectors((self.error_rates, "error_rates"), (self.reference, "reference"))
        name = check_label(self.name)
        self.figure_, self.ax_ = new_figure(self, ax)
        place = np.arange(1, len(rates) + 1) / len(rates)
        self.lines_ = self.ax_.plot(
            place, np.sort(rates), **{"label": name if name is not None else "rows", **kwargs}
        )
        self.lines_ += self.ax_.plot(
            place, np.sort(reference), color="black", linestyle="--", label="equally hard"
        )
        self.ax_.set(xlabel="Rows, sorted (share)", ylabel="Share of runs that are wrong")
        self.ax_.legend()
        return self
