"""Figure of regularization paths."""

import numpy as np

from .._core import check
from .._core.figures import Display, check_label, new_figure
from ._path import RegularizationPath, check_values

CURVES = {
    "score": "Score",
    "norm": "Norm of the weights",
    "gap": "Duality gap",
    "coef": "Coefficients",
    "nonzero": "Non-zero coefficients",
}
# Parameters with their data.
SOURCES = {"score": "scores", "norm": "norms", "gap": "gaps", "coef": "coefs", "nonzero": "coefs"}
MAX_COEFS = 100  # curves of more coefficients are not distinguishable
N_BETWEEN = 40  # values besides the breakpoints, on a path that holds for all values


class RegularizationPathDisplay(Display):
    """Score, coefficients, norm and duality gap by the strength of regularization.

    Make it with `from_path`. The horizontal axis is logarithmic, with strong regularization at the
    left. A structured path holds for all values of C or of the radius: its curves are drawn between
    breakpoints, too, with the certified gap. Solutions on a grid are points joined by lines.

    Parameters
    ----------
    values : array-like of shape (n_values,)
        Values of the parameter, from strong to weak regularization.
    scores, norms, gaps : array-like of shape (n_values,), default=None
        Score on held-out data, Euclidean norm of the weights and gap of each solution.
    coefs : array-like of shape (n_values, ...), default=None
        Coefficients of each solution, to draw them one by one.
    eps, breakpoints : float and array-like, default=None
        Largest gap of the path, drawn as a dashed line; and those of ``values`` that were solved,
        if not all, drawn as dots on the curve of gaps.
    param_name, name : str, default="C" and None
        Name of the parameter, and label of the curves in the legend; None makes no legend.

    Attributes
    ----------
    figure_, ax_, axes_ : matplotlib Figure, Axes and ndarray of Axes
        Figure, first panel and all panels, one per curve.
    lines_ : dict of str to matplotlib Line2D
        The curves by name: "score", "norm", "gap", "nonzero"; "coef" is a list of them, one per
        coefficient.

    See Also
    --------
    sklearn_fw.displays.ConvergenceDisplay : The curve of one fit.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn_fw import AsagaRegressor, regularization_path
    >>> from sklearn_fw.model_selection import RegularizationPathDisplay
    >>> X, y = load_diabetes(return_X_y=True)
    >>> lasso = AsagaRegressor(l1_ratio=1.0, max_iter=1000, random_state=0)
    >>> path = regularization_path(lasso, X, y, n_values=5)
    >>> display = RegularizationPathDisplay.from_path(path, curves=("coef", "nonzero"))
    >>> len(display.lines_["coef"])
    10
    """

    def __init__(
        self, values, *, scores=None, norms=None, gaps=None, coefs=None, eps=None,
        breakpoints=None, param_name="C", name=None,
    ):  # fmt: skip
        self.values, self.scores, self.norms, self.gaps = values, scores, norms, gaps
        self.coefs, self.eps, self.breakpoints = coefs, eps, breakpoints
        self.param_name, self.name = param_name, name

    @classmethod
    def from_path(cls, path, *, X=None, y=None, curves=None, ax=None, name=None, **kwargs):
        """Draw a path.

        Parameters
        ----------
        path : RegularizationPath
            As `regularization_path` returns it.
        X, y : held-out inputs and outputs, default=None
            With them every value that is drawn is scored, at the cost of one prediction of all
            samples each.
        curves : sequence of {"score", "norm", "gap", "coef", "nonzero"}, default=None
            Curves to draw, one panel each; "coef" draws each coefficient that is not always zero
            (the 100 largest) and "nonzero" their number, both for paths on a grid. None draws the
            score if there are held-out data; else the coefficients on a grid, otherwise the norm.
        ax, name, **kwargs : list of Axes or None, str or None, keywords of ``ax.plot``
            As in `plot`; one Axes per curve, and the label of the curves.
        """
        if (X is None) != (y is None):
            raise ValueError("X and y come together: pass both or none")
        if not isinstance(path, RegularizationPath):
            raise TypeError(f"path must come from regularization_path, got {path!r}")
        values, coefs, gaps, breakpoints = path.values_.copy(), path.coefs_, path.gaps_, None
        if hasattr(path, "gap_at"):
            breakpoints, values = values, _values_between(path)
            coefs, gaps = (path.coef_at(value) for value in values), path.gap_at(values)
        scores = None
        if X is not None:
            what = f"the result of score_path of {type(path).__name__}"  # maybe a class of the user
            scores = check.shaped(path.score_path(X, y, at=values.copy()), what, len(values))
        norms = [np.linalg.norm(coef) for coef in coefs]  # one at a time: they can be large
        gaps = None if np.isnan(gaps).all() else gaps
        coefs = None if path.grid_option is None else path.coefs_
        display = cls(
            values, scores=scores, norms=norms, gaps=gaps, coefs=coefs, name=name,
            eps=getattr(path, "eps", None), breakpoints=breakpoints, param_name=path.param_name,
        )  # fmt: skip
        return display.plot(ax, curves=curves, **kwargs)

    def plot(self, ax=None, *, curves=None, name=None, **kwargs):
        values = check_values(self.values, "values")
        if curves is None:
            alone = "norm" if self.coefs is None else "coef"
            curves = (alone,) if self.scores is None else ("score",)
        curves = (curves,) if isinstance(curves, str) else check.items(curves, "curves", "names")
        if not curves:
            raise ValueError(f"curves names nothing to draw, choose some of {list(CURVES)}")
        data = [self._data(check.choice(curve, "curves", CURVES), len(values)) for curve in curves]
        size = 6.4, max(4.8, 1.4 + 2.4 * len(curves))
        self.figure_, self.axes_ = new_figure(self, ax, len(curves), size=size, sharex=True)
        self.ax_ = self.axes_[0]
        label = check_label(self.name if name is None else name)
        self.lines_ = {}
        for panel, curve, own in zip(self.axes_, curves, data):
            self.lines_[curve] = self._draw(panel, curve, values, own, label, kwargs)
            panel.set_ylabel(CURVES[curve])
            if label is not None:
                panel.legend()
        self.axes_[-1].set_xlabel(self.param_name)
        return self

    def _data(self, curve, n_values):
        """Numbers of a curve; a column for each coefficient."""
        name, of_coefs = SOURCES[curve], curve in ("coef", "nonzero")
        if getattr(self, name) is None:
            remedy = "X and y" if curve == "score" else name
            raise ValueError(f"there is nothing to draw for curves={curve!r}: pass {remedy}")
        data = check.array(getattr(self, name), name, finite=of_coefs or None)
        if data.shape[:1] != (n_values,) or not data.size or not (of_coefs or data.ndim == 1):
            raise ValueError(f"{name} must hold {n_values} entries, got shape {data.shape}")
        if not of_coefs:
            return data
        coefs = data.reshape(n_values, -1)
        if curve == "nonzero":
            return np.count_nonzero(coefs, axis=1)
        size = np.abs(coefs).max(axis=0)
        shown = np.sort(np.argsort(-size, kind="stable")[:MAX_COEFS])
        return coefs[:, shown[size[shown] > 0]]

    def _draw(self, panel, curve, values, data, label, kwargs):
        """One curve with its axes; the lines of several coefficients share one label."""
        few = len(values) < 50 and self.breakpoints is None
        style = {"marker": "." if few and curve != "coef" else None}
        if self.breakpoints is not None and curve == "gap":
            solved = np.flatnonzero(np.isin(values, self.breakpoints))
            style = {"marker": ".", "markevery": solved.tolist()}
        lines = panel.plot(values, data, **{**style, **kwargs})
        if lines:
            lines[0].set_label(label)
        panel.set_xscale("log")
        if values[0] > values[-1] and not panel.xaxis_inverted():
            panel.invert_xaxis()
        if curve == "gap" and self.eps is not None:
            panel.axhline(check.number(self.eps, "eps"), color="0.5", linewidth=1, linestyle="--")
            panel.set_ylim(bottom=0.0)  # after the rest: it ends the search for limits
        elif curve in ("norm", "gap"):
            panel.set_yscale("log", nonpositive="mask")
        return lines if curve == "coef" else lines[0]


def _values_between(path):
    """The breakpoints of a path and values between them and behind the last, in its order."""
    first, last = path.values_[0], path.values_[-1]
    end = 2.0 * last if np.isinf(path.end_) else path.end_
    return np.unique(np.r_[path.values_, np.geomspace(first, end, N_BETWEEN)[1:-1], end])
