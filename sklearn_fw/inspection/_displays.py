"""Figures of critical samples, difficulty, sensitivity and memorization."""

import numpy as np

from .._core import check
from .._core.figures import Display, check_label, check_names, check_vectors
from ._critical import critical_sample_ratio
from ._difficulty import example_difficulty
from ._radius import feature_radius
from ._sensitivity import gini_coefficient, loss_sensitivity


class CriticalSampleDisplay(Display):
    """Ratio of critical samples by the radius of the box, with confidence intervals.

    Create it with `from_estimator`.

    Parameters
    ----------
    shares, ratios : array-like of shape (n_radii,)
        Radii in standard deviations of the features, and ratios of critical samples.
    intervals : array-like of shape (n_radii, 2), default=None
        Ends of their intervals.
    name : str, default=None
        Label of the curve in the legend.

    Attributes
    ----------
    figure_, ax_, line_ : matplotlib Figure, Axes and Line2D
        Where the ratios were drawn, and their curve.

    Examples
    --------
    >>> from sklearn_fw.inspection import CriticalSampleDisplay
    >>> CriticalSampleDisplay([0.1, 0.5], [0.02, 0.3]).plot().line_.get_xdata().tolist()
    [0.1, 0.5]
    """

    def __init__(self, shares, ratios, *, intervals=None, name=None):
        self.shares, self.ratios, self.intervals, self.name = shares, ratios, intervals, name

    @classmethod
    def from_estimator(
        cls, estimator, X, *, shares=(0.05, 0.1, 0.2, 0.4, 0.8), random_state=None, ax=None,
        name=None, **kwargs,
    ):  # fmt: skip
        """Search boxes of several sizes and draw the ratios.

        Parameters
        ----------
        estimator, X, shares, random_state : arguments of `critical_sample_ratio`
            Instead of ``radius``, shares are radii in standard deviations of the features.
        ax, name, **kwargs : Axes or None, str or None, keywords of ``ax.plot``
            As in `plot`; None labels the curve with the class of the estimator.
        """
        shares = check.items(shares, "shares", "positive numbers")
        shares = np.array([check.positive(share, "shares") for share in shares])
        found = [
            critical_sample_ratio(
                estimator, X, radius=feature_radius(X, share), random_state=random_state
            ) for share in shares
        ]  # fmt: skip
        ratios, intervals = (np.array([r[key] for r in found]) for key in ("ratio", "interval"))
        name = type(estimator).__name__ if name is None else name
        return cls(shares, ratios, intervals=intervals, name=name).plot(ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        x, y = check_vectors(None, shares=self.shares, ratios=self.ratios)
        name, ends = check_label(self.name), None
        if self.intervals is not None:
            ends = check.shaped(self.intervals, "intervals", len(x), 2)
        self._axes(ax)
        labels = {"xlabel": "Radius (standard deviations)", "ylabel": "Critical sample ratio"}
        style = {"marker": "o", **kwargs}
        (self.line_,) = self._curves(x, {name: y}, style, ylim=(-0.02, 1.02), **labels)
        if ends is not None:
            self.ax_.fill_between(x, *ends.T, color=self.line_.get_color(), alpha=0.15, lw=0)
        return self


class DifficultyDisplay(Display):
    """Sorted error rates of rows, compared with those of equally hard rows.

    Where the two curves part, some rows are harder than others. Create it with `from_estimator`.

    Parameters
    ----------
    error_rates, reference : array-like of shape (n_samples,)
        Fractions of runs that misclassify each row, and binomial fractions of equally hard rows.
    name : str, default=None
        Label of the curve in the legend.

    Attributes
    ----------
    figure_, ax_, lines_ : matplotlib Figure, Axes and list of Line2D
        Where the curves were drawn; the rows and the reference.

    Examples
    --------
    >>> from sklearn_fw.inspection import DifficultyDisplay
    >>> DifficultyDisplay([0.0, 0.9, 0.1], [0.3, 0.3, 0.4]).plot().lines_[0].get_ydata().tolist()
    [0.0, 0.1, 0.9]
    """

    def __init__(self, error_rates, reference, *, name=None):
        self.error_rates, self.reference, self.name = error_rates, reference, name

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, n_runs=50, n_epochs="auto", method="auto", n_jobs=None,
        random_state=None, ax=None, name=None,
    ):  # fmt: skip
        """Run `example_difficulty` and draw it.

        Parameters
        ----------
        estimator, X, y, n_runs, n_epochs, method, n_jobs, random_state : arguments
            As in `example_difficulty`.
        ax, name : Axes or None, str or None
            As in `plot`; None labels the curve with the class of the estimator.
        """
        found = example_difficulty(
            estimator, X, y, n_runs=n_runs, n_epochs=n_epochs, method=method, n_jobs=n_jobs,
            random_state=random_state,
        )  # fmt: skip
        name = type(estimator).__name__ if name is None else name
        return cls(found.error_rate, found.reference, name=name).plot(ax)

    def plot(self, ax=None, **kwargs):
        found = check_vectors(None, error_rates=self.error_rates, reference=self.reference)
        rates, reference = map(np.sort, found)
        name, place = check_label(self.name), np.arange(1, len(rates) + 1) / len(rates)
        self._axes(ax)
        labels = {"xlabel": "Rows, sorted (fraction)", "ylabel": "Fraction of runs with errors"}
        self.lines_ = self._curves(place, {"rows" if name is None else name: rates}, kwargs)
        dashed = {"color": "black", "linestyle": "--"}
        self.lines_ += self._curves(place, {"equally hard": reference}, dashed, **labels)
        return self


class SensitivityDisplay(Display):
    """Lorenz curve of the loss sensitivity of training rows.

    On the diagonal a model depends on all rows equally; the more the curve sags, the fewer rows it
    depends on. Twice the area between the two is the Gini coefficient.

    Parameters
    ----------
    sensitivity : array-like of shape (n_samples,)
        Sensitivities of the rows, not negative.
    name : str, default=None
        Label of the curve in the legend.

    Attributes
    ----------
    figure_, ax_, line_ : matplotlib Figure, Axes and Line2D
        Where the curve was drawn, and the curve.
    gini_ : float
        Gini coefficient.

    Examples
    --------
    >>> from sklearn_fw.inspection import SensitivityDisplay
    >>> SensitivityDisplay([0.0, 0.0, 1.0, 3.0]).plot().line_.get_ydata().tolist()
    [0.0, 0.0, 0.0, 0.25, 1.0]
    """

    def __init__(self, sensitivity, *, name=None):
        self.sensitivity, self.name = sensitivity, name

    def plot(self, ax=None, **kwargs):
        g = check.array(self.sensitivity, "sensitivity")
        if g.ndim != 1 or not g.size or g.min() < 0.0 or not g.any():
            raise ValueError("sensitivity must be a vector of numbers from 0, not all 0")
        name = check_label(self.name)
        self.gini_ = gini_coefficient(g)
        g = np.sort(g / g.max())
        curve, place = np.r_[0.0, np.cumsum(g) / g.sum()], np.arange(len(g) + 1) / len(g)
        label = f"Gini {self.gini_:.2f}" if name is None else f"{name} (Gini {self.gini_:.2f})"
        labels = {"xlabel": "Least sensitive rows (fraction)", "ylabel": "Fraction of sensitivity"}
        self._axes(ax)
        (self.line_,) = self._curves(place, {label: curve}, kwargs, **labels)
        self.ax_.plot([0, 1], [0, 1], color="black", linestyle="--", lw=0.8)
        return self


class ClassSensitivityDisplay(Display):
    """Sensitivity of the loss of each class to rows of each other class, log scale.

    Create it with `from_estimator`.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_classes)
        Sensitivities of the loss of the row's class to training rows of the column's class.
    classes : array-like of shape (n_classes,), default=None
        Labels; None means numbers.

    Attributes
    ----------
    figure_, ax_, image_ : matplotlib Figure, Axes and AxesImage
        Where the map was drawn, and the map.

    Examples
    --------
    >>> from sklearn_fw.inspection import ClassSensitivityDisplay
    >>> ClassSensitivityDisplay([[1.0, 0.1], [0.2, 2.0]]).plot().image_.get_array().shape
    (2, 2)
    """

    def __init__(self, matrix, *, classes=None):
        self.matrix, self.classes = matrix, classes

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, n_steps=200, eval_every=20, learning_rate=None, random_state=None,
        ax=None, **kwargs,
    ):  # fmt: skip
        """Run `loss_sensitivity` by class and draw it.

        Parameters
        ----------
        estimator, X, y, n_steps, eval_every, learning_rate, random_state : arguments
            As in `loss_sensitivity`.
        ax, **kwargs : Axes or None, keywords of ``ax.imshow``
            As in `plot`.
        """
        found = loss_sensitivity(
            estimator, X, y, by_class=True, n_steps=n_steps, eval_every=eval_every,
            learning_rate=learning_rate, random_state=random_state,
        )  # fmt: skip
        return cls(found.matrix, classes=found.classes).plot(ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        matrix = check.shaped(self.matrix, "matrix", "n_classes", "n_classes")
        if matrix.min() < 0.0 or not matrix.any():
            raise ValueError("matrix must hold numbers from 0, not all 0")
        names = self.classes
        if names is not None:
            names = [str(name) for name in check.items(names, "classes", "labels")]
        names = check_names(names, len(matrix), "classes")
        self._axes(ax)
        self.image_ = self._heat_map(
            np.log10(np.maximum(matrix, matrix[matrix > 0.0].min())), kwargs, names, names,
            "log10 of the sensitivity", xlabel="Class of the training row",
            ylabel="Class of the loss",
        )  # fmt: skip
        return self


class MemorizationDisplay(Display):
    """Accuracies and critical sample ratio by epochs or by noise fraction.

    A model memorizes where training accuracy still rises and validation accuracy falls. Create it
    with `from_result`.

    Parameters
    ----------
    x : array-like of shape (n,)
        Epochs or fractions of noise.
    curves : dict of str to array-like of shape (n,)
        Curves by name; NaN leaves gaps.
    x_label : str, default="Epoch"
        Label of the horizontal axis.

    Attributes
    ----------
    figure_, ax_, lines_ : matplotlib Figure, Axes and list of Line2D
        Where the curves were drawn, and the curves.

    Examples
    --------
    >>> from sklearn_fw.inspection import MemorizationDisplay
    >>> len(MemorizationDisplay([1, 2], {"training accuracy": [0.5, 0.9]}).plot().lines_)
    1
    """

    def __init__(self, x, curves, *, x_label="Epoch"):
        self.x, self.curves, self.x_label = x, curves, x_label

    @classmethod
    def from_result(cls, result, *, ax=None, **kwargs):
        """Draw the result of `track_memorization` or `memorization_curve`.

        Parameters
        ----------
        result : Bunch
            Their result.
        ax, **kwargs : Axes or None, keywords of ``ax.plot``
            As in `plot`.
        """
        wanted = {
            "train_accuracy": "training accuracy", "valid_accuracy": "validation accuracy",
            "critical_ratio": "critical",
        }  # fmt: skip
        several = isinstance(result, dict) and "fractions" in result
        x_name = "fractions" if several else "epochs"
        needed = {x_name, *wanted, *(("param_range",) if several else ())}
        if not isinstance(result, dict) or not needed <= set(result):
            raise TypeError(
                f"result must be of track_memorization or memorization_curve, got {type(result)}"
            )
        (x,) = check_vectors(None, **{f"result.{x_name}": result[x_name]})
        values = list(result["param_range"]) if several else [None]
        curves = {}
        for key, name in wanted.items():
            finite = None if key == "critical_ratio" else True
            found = check.numbers(result[key], f"result.{key}", finite)
            if np.isnan(found).all():
                continue
            if found.shape != (len(x), len(values))[: 1 + several]:
                raise ValueError(f"result.{key} has shape {found.shape}, which does not fit")
            for k, value in enumerate(values):
                more = f", {result.get('param_name')}={value}" if len(values) > 1 else ""
                curves[name + more] = found[:, k] if several else found
        display = cls(x, curves, x_label="Fraction of noise" if several else "Epoch")
        return display.plot(ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        if not isinstance(self.curves, dict) or not self.curves:
            raise TypeError(f"curves must be a dict that is not empty, got {self.curves!r:.60}")
        pairs = {name: check_vectors(None, x=self.x, curves=v) for name, v in self.curves.items()}
        found, label = {name: pair[1] for name, pair in pairs.items()}, check_label(self.x_label)
        dashed = {name: {"linestyle": "--"} for name in found if str(name).startswith("critical")}
        style = {"marker": "o", "markersize": 3, **kwargs}
        self._axes(ax)
        x = next(iter(pairs.values()))[0]
        self.lines_ = self._curves(x, found, style, dashed, xlabel=label, ylabel="Fraction or R^2")
        return self
