"""Pictures of sensitivities and of runs; matplotlib is imported when one is drawn."""

import numpy as np

from .._core.figures import check_label, new_figure
from .._core.validation import check_array_of_numbers, check_list
from ._displays import vectors
from ._sensitivity import class_loss_sensitivity, gini_coefficient


class SensitivityDisplay:
    """Share of all loss sensitivity that the least sensitive rows have, as a Lorenz curve.

    The diagonal means that a model leans on all rows alike; the more the curve sags, the fewer rows
    it leans on. Twice the area between the two is the Gini coefficient.

    Parameters
    ----------
    sensitivity : array-like of shape (n_samples,)
        Sensitivities of the rows, not negative.
    name : str, default=None
        For the legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.
    line_ : matplotlib Line2D
        The curve.
    gini_ : float
        Gini coefficient.

    See Also
    --------
    loss_sensitivity : The numbers.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn_fw.inspection import SensitivityDisplay
    >>> display = SensitivityDisplay([0.0, 0.0, 1.0, 3.0]).plot()
    >>> display.line_.get_ydata().tolist()
    [0.0, 0.0, 0.0, 0.25, 1.0]
    >>> plt.close(display.figure_)
    """

    def __init__(self, sensitivity, *, name=None):
        self.sensitivity = sensitivity
        self.name = name

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
        display : SensitivityDisplay
            This object.
        """
        g = check_array_of_numbers(self.sensitivity, "sensitivity")
        if g.ndim != 1 or not g.size or g.min() < 0.0 or not g.any():
            raise ValueError("sensitivity must be a vector of numbers from 0, not all 0")
        name = check_label(self.name)
        self.gini_ = gini_coefficient(g)
        g = np.sort(g / g.max())
        shares = np.concatenate([[0.0], np.cumsum(g) / g.sum()])
        label = f"Gini {self.gini_:.2f}" if name is None else f"{name} (Gini {self.gini_:.2f})"
        self.figure_, self.ax_ = new_figure(self, ax)
        place = np.arange(len(shares)) / len(g)
        (self.line_,) = self.ax_.plot(place, shares, **{"label": label, **kwargs})
        self.ax_.plot([0, 1], [0, 1], color="black", linestyle="--", lw=0.8)
        self.ax_.set(xlabel="Least sensitive rows (share)", ylabel="Their part of all sensitivity")
        self.ax_.legend()
        return self


class ClassSensitivityDisplay:
    """How far the loss of one class depends on rows of another, as a map in log scale.

    Make it with `from_estimator`.

    Parameters
    ----------
    matrix : array-like of shape (n_classes, n_classes)
        Sensitivities of the loss of the row's class to training rows of the column's class.
    classes : array-like of shape (n_classes,), default=None
        Labels; None means numbers.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.
    image_ : matplotlib AxesImage
        The map.

    See Also
    --------
    class_loss_sensitivity : The numbers.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn_fw.inspection import ClassSensitivityDisplay
    >>> display = ClassSensitivityDisplay([[1.0, 0.1], [0.2, 2.0]]).plot()
    >>> display.image_.get_array().shape
    (2, 2)
    >>> plt.close(display.figure_)
    """

    def __init__(self, matrix, *, classes=None):
        self.matrix = matrix
        self.classes = classes

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, n_steps=200, eval_every=20, learning_rate=None, random_state=None,
        ax=None, **kwargs,
    ):  # fmt: skip
        """Run `class_loss_sensitivity` and draw it.

        Parameters
        ----------
        estimator : MLPClassifier, LogisticRegression, Pipeline or torch.nn.Module
            As `loss_sensitivity` takes it.
        X : array-like of shape (n_samples, n_features)
            Training rows.
        y : array-like of shape (n_samples,)
            Labels.
        n_steps : int, default=200
            Steps of the descent.
        eval_every : int, default=20
            The loss is taken after so many steps each.
        learning_rate : float, default=None
            None is that of the classifier.
        random_state : int, RandomState instance or None, default=None
            For the weights at the start and the order of rows.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed on to ``ax.imshow``.

        Returns
        -------
        display : ClassSensitivityDisplay
            With the artists as attributes.
        """
        found = class_loss_sensitivity(
            estimator, X, y, n_steps=n_steps, eval_every=eval_every, learning_rate=learning_rate,
            random_state=random_state,
        )  # fmt: skip
        return cls(found.matrix, classes=found.classes).plot(ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw the map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed on to ``ax.imshow``.

        Returns
        -------
        display : ClassSensitivityDisplay
            This object.
        """
        matrix = check_array_of_numbers(self.matrix, "matrix")
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not matrix.size:
            raise ValueError(f"matrix must be square, got shape {matrix.shape}")
        if matrix.min() < 0.0 or not matrix.any():
            raise ValueError("matrix must hold numbers from 0, not all 0")
        k = len(matrix)
        names = list(range(k))
        if self.classes is not None:
            names = [str(name) for name in check_list(self.classes, "classes", "labels")]
        if len(names) != k:
            raise ValueError(f"classes must hold {k} labels, got {len(names)}")
        least = matrix[matrix > 0.0].min()
        self.figure_, self.ax_ = new_figure(self, ax)
        self.image_ = self.ax_.imshow(np.log10(np.maximum(matrix, least)), **kwargs)
        bar = self.figure_.colorbar(self.image_, ax=self.ax_)
        bar.set_label("log10 of the sensitivity")
        self.ax_.set_xticks(range(k), names)
        self.ax_.set_yticks(range(k), names)
        self.ax_.set(xlabel="Class of the training row", ylabel="Class of the loss")
        return self


class MemorizationDisplay:
    """Accuracies, and the ratio of critical samples, over epochs or over the amount of noise.

    Make it with `from_result`.

    Parameters
    ----------
    x : array-like of shape (n,)
        Epochs or shares of noise.
    curves : dict of str to array-like of shape (n,)
        Curves by name; NaN leaves gaps.
    x_label : str, default="Epoch"
        What x is.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.
    lines_ : list of matplotlib Line2D
        The curves.

    See Also
    --------
    memorization_curve : Amounts of noise.
    track_memorization : Epochs.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn_fw.inspection import MemorizationDisplay
    >>> display = MemorizationDisplay([1, 2], {"training accuracy": [0.5, 0.9]}).plot()
    >>> len(display.lines_)
    1
    >>> plt.close(display.figure_)
    """

    def __init__(self, x, curves, *, x_label="Epoch"):
        self.x = x
        self.curves = curves
        self.x_label = x_label

    @classmethod
    def from_result(cls, result, *, ax=None, **kwargs):
        """Draw what `track_memorization` or `memorization_curve` returned.

        Parameters
        ----------
        result : Bunch
            Their answer.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed on to ``ax.plot``.

        Returns
        -------
        display : MemorizationDisplay
            With the artists as attributes.
        """
        wanted = ("train_accuracy", "valid_accuracy", "critical_ratio")
        names = ("training accuracy", "validation accuracy", "critical")
        several = isinstance(result, dict) and "fractions" in result
        x_name = "fractions" if several else "epochs"
        needed = (x_name, *wanted, *(("param_range",) if several else ()))
        if not isinstance(result, dict) or not all(key in result for key in needed):
            raise TypeError(
                "result must be an answer of track_memorization or memorization_curve, got "
                f"{type(result).__name__}"
            )
        (x,) = vectors((result[x_name], f"result.{x_name}"))
        values = list(result["param_range"]) if several else [None]
        curves = {}
        for key, name in zip(wanted, names):
            found = check_array_of_numbers(
                result[key], f"result.{key}", finite=None if key == "critical_ratio" else True
            )
            if np.isnan(found).all():
                continue
            if found.shape != (len(x), len(values))[: 1 + several]:
                raise ValueError(f"result.{key} has shape {found.shape}, which does not fit")
            if np.nanmin(found) < 0.0 or np.nanmax(found) > 1.0:
                raise ValueError(f"result.{key} must hold shares from 0 to 1")
            for k, value in enumerate(values):
                more = f", {result.get('param_name')}={value}" if len(values) > 1 else ""
                curves[name + more] = found[:, k] if several else found
        label = "Share of noise" if several else "Epoch"
        return cls(x, curves, x_label=label).plot(ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed on to ``ax.plot``.

        Returns
        -------
        display : MemorizationDisplay
            This object.
        """
        if not isinstance(self.curves, dict) or not self.curves:
            raise TypeError(f"curves must be a dict that is not empty, got {self.curves!r:.60}")
        named = [(values, "curves") for values in self.curves.values()]
        x, *values = vectors((self.x, "x"), *named)
        label = check_label(self.x_label)
        self.figure_, self.ax_ = new_figure(self, ax)
        self.lines_ = []
        for name, curve in zip(self.curves, values):
            style = {"linestyle": "--"} if str(name).startswith("critical") else {}
            style |= {"marker": "o", "markersize": 3, "label": name}
            self.lines_ += self.ax_.plot(x, curve, **{**style, **kwargs})
        self.ax_.set(xlabel=label, ylabel="Share of the rows")
        self.ax_.legend()
        return self
