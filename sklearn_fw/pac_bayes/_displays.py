"""Figures of risk bounds and evidences."""

import numpy as np
from sklearn.base import clone

from .._core import check
from .._core.figures import Display, check_fitted, check_label, check_vectors

RISK = "Risk on the data"


class RiskBoundDisplay(Display):
    """Empirical risk and bounds on the true risk by the number of samples.

    Shows how many samples make a bound informative, and which bound is tightest. Create it with
    `from_estimator`.

    Parameters
    ----------
    n_samples, empirical_risks : ndarray of shape (n_sizes,)
        Numbers of samples, and mean losses on them.
    bounds : dict of str to ndarray of shape (n_sizes,)
        Bounds by name.
    name : str, default=None
        Title.

    Attributes
    ----------
    figure_, ax_, lines_ : matplotlib Figure, Axes and list of Line2D
        Where the curves were drawn; the risk and the bounds.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.pac_bayes import PACBayesLinearRegression, RiskBoundDisplay
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> model = PACBayesLinearRegression(fit_intercept=False, prior_variance=0.01)
    >>> kinds = {"gaussian_linear": {"x_variance": 1.0, "w_norm2": 0.01, "noise_true": 0.0}}
    >>> display = RiskBoundDisplay.from_estimator(
    ...     model, X, 0.1 * X[:, 0], n_samples=[20, 50, 200], kinds=kinds
    ... )
    >>> len(display.lines_)
    2
    """

    def __init__(self, n_samples, empirical_risks, bounds, *, name=None):
        self.n_samples, self.empirical_risks = n_samples, empirical_risks
        self.bounds, self.name = bounds, name

    @classmethod
    def from_estimator(cls, estimator, X, y, *, n_samples, kinds, ax=None, name=None):
        """Fit to growing numbers of the first rows and draw the bounds.

        Parameters
        ----------
        estimator : PACBayesLinearRegression
            Clones of it are fitted.
        X, y : array-like of shape (n_rows, n_features) and (n_rows,)
            Inputs and targets.
        n_samples : array-like of int
            Increasing numbers of rows.
        kinds : dict of str to dict
            Arguments of ``risk_bound`` for each kind of bound.
        ax, name : Axes or None, str or None
            As in `plot`; the name is the title.
        """
        if isinstance(estimator, type) or not hasattr(estimator, "risk_bound"):
            raise TypeError(f"estimator must have risk_bound, got {estimator!r:.60}")
        if not isinstance(kinds, dict) or not all(isinstance(v, dict) for v in kinds.values()):
            raise TypeError("kinds must be a dict from kinds of bounds to dicts of arguments")
        X, y = check.table(X), check.array(y, "y")
        sizes = check.items(n_samples, "n_samples", "integers")
        sizes = [check.integer(n, "n_samples", 1) for n in sizes]
        if not sizes or max(sizes) > len(X) or y.shape != (len(X),):
            raise ValueError(f"n_samples must hold numbers up to {len(X)} rows, got {sizes}")
        models = [clone(estimator).fit(X[:n], y[:n]) for n in sizes]
        bounds = {
            kind: np.array([model.risk_bound(kind, **given).value for model in models])
            for kind, given in kinds.items()
        }
        risks = np.array([model.empirical_risk_ for model in models])
        return cls(np.array(sizes), risks, bounds, name=name).plot(ax)

    def plot(self, ax=None, **kwargs):
        if not isinstance(self.bounds, dict):
            raise TypeError(f"bounds must be a dict, got {self.bounds!r:.60}")
        n, risks = check_vectors(n_samples=self.n_samples, empirical_risks=self.empirical_risks)
        curves = {RISK: risks}
        for label, bound in self.bounds.items():
            curves[label] = check_vectors(False, n_samples=n, bounds=bound)[1]
        styles = {label: {"marker": "o"} for label in self.bounds}
        styles[RISK] = {"color": "black", "linestyle": "--"}
        labels = {"xlabel": "Samples", "ylabel": "Loss and bounds", "xscale": "log"}
        self._axes(ax, check_label(self.name))
        self.lines_ = self._curves(n, curves, kwargs, styles, **labels)
        return self


class EvidenceDisplay(Display):
    """Log evidence of the models of a grid by a parameter, with the best model marked.

    The log evidence falls where models overfit. Create it with `from_estimator`.

    Parameters
    ----------
    param_values, log_evidences : array-like of shape (n_models,)
        Values of the parameter, and logarithms of the marginal likelihoods.
    name : str, default=None
        Name of the parameter.

    Attributes
    ----------
    figure_, ax_, line_, best_ : matplotlib Figure, Axes, Line2D and PathCollection
        Where the evidences were drawn, their curve and the mark of the best model.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_fw.pac_bayes import EvidenceDisplay, PACBayesModelSelector
    >>> X, y = load_diabetes(return_X_y=True)
    >>> grid = {"prior_variance": [0.1, 1.0, 10.0]}
    >>> selector = PACBayesModelSelector(param_grid=grid).fit(X, (y - 150) / 75)
    >>> display = EvidenceDisplay.from_estimator(selector, "prior_variance")
    >>> display.line_.get_xdata().tolist()
    [0.1, 1.0, 10.0]
    """

    def __init__(self, param_values, log_evidences, *, name=None):
        self.param_values, self.log_evidences, self.name = param_values, log_evidences, name

    @classmethod
    def from_estimator(cls, estimator, param, *, ax=None, name=None, **kwargs):
        """Draw a fitted selector.

        Parameters
        ----------
        estimator, param : fitted PACBayesModelSelector, and str
            Selector, and parameter of its grid, with numbers as values.
        ax, name, **kwargs : Axes or None, str or None, keywords of ``ax.plot``
            As in `plot`; None takes the name of the parameter from ``param``, after the last "__".
        """
        check_fitted(estimator, "params_", "log_evidences_")
        if not isinstance(param, str) or not all(param in p for p in estimator.params_):
            raise ValueError(f"param must be a parameter of param_grid, got {param!r}")
        found = [p[param] for p in estimator.params_]
        name = param.rpartition("__")[2] if name is None else name
        return cls(found, estimator.log_evidences_, name=name).plot(ax, **kwargs)

    def plot(self, ax=None, **kwargs):
        x, y = check_vectors(param_values=self.param_values, log_evidences=self.log_evidences)
        name, order, best = check_label(self.name), np.argsort(x, kind="stable"), np.argmax(y)
        labels = {"xlabel": "Parameter" if name is None else name, "ylabel": "Log evidence"}
        self._axes(ax)
        style = {"marker": "o", **kwargs}
        (self.line_,) = self._curves(x[order], {None: y[order]}, style, **labels)
        ring = {"s": 120, "facecolors": "none", "edgecolors": "black"}
        self.best_ = self.ax_.scatter(x[best], y[best], **ring)
        return self
