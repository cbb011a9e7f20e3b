"""Pictures of bounds and evidences; matplotlib is imported when one is drawn."""

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from .._core.figures import check_label, new_figure
from .._core.validation import check_array_of_numbers, check_integer, check_list, check_table


class RiskBoundDisplay:
    """Bounds on the risk against the number of samples.

    Make it with `from_estimator`.

    Parameters
    ----------
    n_samples : ndarray of shape (n_sizes,)
        Numbers of samples.
    empirical_risks : ndarray of shape (n_sizes,)
        Mean losses on them.
    bounds : dict of str to ndarray of shape (n_sizes,)
        Bounds by name.
    name : str, default=None
        Title.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.
    lines_ : list of matplotlib Line2D
        The risk and the bounds.

    See Also
    --------
    EvidenceDisplay : Evidence of the models of a grid.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from sklearn_fw.pac_bayes import PACBayesLinearRegression, RiskBoundDisplay
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = PACBayesLinearRegression(fit_intercept=False, prior_variance=0.01)
    >>> truths = {"x_variance": 1.0, "w_norm2": 0.01, "noise_true": 0.0}
    >>> display = RiskBoundDisplay.from_estimator(
    ...     model, X, 0.1 * X[:, 0], n_samples=[20, 50, 200], kinds={"gaussian_linear": truths}
    ... )
    >>> len(display.lines_)
    2
    >>> plt.close(display.figure_)
    """

    def __init__(self, n_samples, empirical_risks, bounds, *, name=None):
        self.n_samples = n_samples
        self.empirical_risks = empirical_risks
        self.bounds = bounds
        self.name = name

    @classmethod
    def from_estimator(cls, estimator, X, y, *, n_samples, kinds, ax=None, name=None):
        """Fit to the first rows, more and more, and draw the bounds.

        Parameters
        ----------
        estimator : PACBayesLinearRegression
            What is fitted, as a clone.
        X : array-like of shape (n_rows, n_features)
            Inputs.
        y : array-like of shape (n_rows,)
            Targets.
        n_samples : array-like of int
            Numbers of rows, rising.
        kinds : dict of str to dict
            Arguments of ``risk_bound`` for each kind of bound.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        name : str, default=None
            Title.

        Returns
        -------
        display : RiskBoundDisplay
            With the artists as attributes.
        """
        if isinstance(estimator, type) or not hasattr(estimator, "risk_bound"):
            raise TypeError(f"estimator must have risk_bound, got {estimator!r:.60}")
        if not isinstance(kinds, dict) or not all(isinstance(v, dict) for v in kinds.values()):
            raise TypeError("kinds must be a dict from kinds of bounds to dicts of arguments")
        X, y = check_table(X), check_array_of_numbers(y, "y")
        sizes = [
            check_integer(n, "n_samples", 1) for n in check_list(n_samples, "n_samples", "integers")
        ]
        if not sizes or max(sizes) > len(X) or y.shape != (len(X),):
            raise ValueError(
                f"n_samples must hold numbers up to {len(X)}, the rows of X and y, got {sizes}"
            )
        models = [clone(estimator).fit(X[:n], y[:n]) for n in sizes]
        bounds = {
            kind: np.array([model.risk_bound(kind, **given).value for model in models])
            for kind, given in kinds.items()
        }
        risks = np.array([model.empirical_risk_ for model in models])
        return cls(np.array(sizes), risks, bounds, name=name).plot(ax)

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
        display : RiskBoundDisplay
            This object.
        """
        if not isinstance(self.bounds, dict):
            raise TypeError(f"bounds must be a dict, got {self.bounds!r:.60}")
        n = check_array_of_numbers(self.n_samples, "n_samples")
        curves = {
            "Risk on the data": check_array_of_numbers(self.empirical_risks, "empirical_risks")
        }
        for label, bound in self.bounds.items():
            curves[label] = check_array_of_numbers(bound, "bounds", finite=False)
        for label, values in curves.items():
            if n.ndim != 1 or values.shape != n.shape:
                raise ValueError(f"n_samples and the curve {label!r} must be vectors of one length")
        self.figure_, self.ax_ = new_figure(self, ax)
        self.lines_ = []
        for label, values in curves.items():
            style = {"color": "black", "linestyle": "--"} if not self.lines_ else {"marker": "o"}
            self.lines_ += self.ax_.plot(n, values, **{**style, "label": label, **kwargs})
        self.ax_.set_xscale("log")
        self.ax_.set_xlabel("Samples")
        self.ax_.set_ylabel("Loss and bounds")
        self.ax_.legend()
        if check_label(self.name) is not None:
            self.ax_.set_title(self.name)
        return self


class EvidenceDisplay:
    """Log evidence of the models of a grid against a parameter, and its two parts.

    Minus the log evidence is the loss on the data plus the divergence from the prior. Make it with
    `from_estimator`.

    Parameters
    ----------
    param_values : array-like of shape (n_models,)
        Values of the parameter.
    log_evidences : array-like of shape (n_models,)
        Logs of the marginal likelihoods.
    name : str, default=None
        Name of the parameter.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.
    line_ : matplotlib Line2D
        The evidences.
    best_ : matplotlib PathCollection
        Mark of the best model.

    See Also
    --------
    RiskBoundDisplay : Bounds against the number of samples.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_fw.pac_bayes import EvidenceDisplay, PACBayesModelSelector
    >>> X, y = load_diabetes(return_X_y=True)
    >>> grid = {"prior_variance": [0.1, 1.0, 10.0]}
    >>> selector = PACBayesModelSelector(param_grid=grid).fit(X, (y - 150) / 75)
    >>> display = EvidenceDisplay.from_estimator(selector, "prior_variance")
    >>> display.line_.get_xdata().tolist()
    [0.1, 1.0, 10.0]
    >>> plt.close(display.figure_)
    """

    def __init__(self, param_values, log_evidences, *, name=None):
        self.param_values = param_values
        self.log_evidences = log_evidences
        self.name = name

    @classmethod
    def from_estimator(cls, estimator, param, *, ax=None, name=None, **kwargs):
        """Draw a fitted selector.

        Parameters
        ----------
        estimator : PACBayesModelSelector
            Fitted.
        param : str
            Parameter of the grid, with numbers as values.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        name : str, default=None
            Name of the parameter; None is that after the last "__".
        **kwargs : dict
            Passed on to ``ax.plot``.

        Returns
        -------
        display : EvidenceDisplay
            With the artists as attributes.
        """
        if isinstance(estimator, type) or not hasattr(estimator, "fit"):
            raise TypeError(
                f"estimator must be a fitted PACBayesModelSelector, got {estimator!r:.60}"
            )
        check_is_fitted(estimator)
        if not hasattr(estimator, "log_evidences_"):
            raise TypeError(
                f"estimator must be a PACBayesModelSelector, got {type(estimator).__name__}"
            )
        if not isinstance(param, str) or not all(param in p for p in estimator.params_):
            raise ValueError(f"param must be a parameter of param_grid, got {param!r}")
        found = [p[param] for p in estimator.params_]
        name = param.rpartition("__")[2] if name is None else name
        return cls(found, estimator.log_evidences_, name=name).plot(ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        """Draw the evidences.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        **kwargs : dict
            Passed on to ``ax.plot``.

        Returns
        -------
        display : EvidenceDisplay
            This object.
        """
        x = check_array_of_numbers(self.param_values, "param_values")
        y = check_array_of_numbers(self.log_evidences, "log_evidences")
        if x.ndim != 1 or x.shape != y.shape or not x.size:
            raise ValueError("param_values and log_evidences must be vectors of one length")
        name = check_label(self.name)
        order = np.argsort(x, kind="stable")
        self.figure_, self.ax_ = new_figure(self, ax)
        (self.line_,) = self.ax_.plot(x[order], y[order], **{"marker": "o", **kwargs})
        best = np.argmax(y)
        self.best_ = self.ax_.scatter(
            x[best], y[best], s=120, facecolors="none", edgecolors="black"
        )
        self.ax_.set_xlabel("Parameter" if name is None else name)
        self.ax_.set_ylabel("Log evidence")
        return self
