"""Pictures of regularization paths; matplotlib is imported when one is drawn."""

import numpy as np

from .._figures import new_figure
from .._validation import check_choice

__all__ = ["RegularizationPathDisplay"]

CURVES = {
    "score": "Score",
    "norm": "Norm of the weights",
    "gap": "Duality gap",
    "coef": "Coefficients",
    "nonzero": "Non-zero coefficients",
}
# The curves of more coefficients than this could not be told apart.
MAX_COEFS = 100


class RegularizationPathDisplay:
    """Score, norm of the weights and duality gap along a regularization path.

    Make it with `from_path`. All curves are functions of C on a logarithmic axis. Between two
    breakpoints the weights stay as they are, so the curves are steps; the gap, drawn as reached at
    a breakpoint, grows to at most ``eps`` until the next, which the shade shows.

    Parameters
    ----------
    Cs : array-like of shape (n_breakpoints,)
        Breakpoints, increasing.
    scores : array-like of shape (n_breakpoints,), default=None
        Score of each solution on held-out data.
    norms : array-like of shape (n_breakpoints,), default=None
        Euclidean norm of the weights of each solution.
    gaps : array-like of shape (n_breakpoints,), default=None
        Gap of each solution at its breakpoint.
    eps : float, default=None
        Gap that is not exceeded between breakpoints, drawn as a dashed line.
    C_end : float, default=None
        End of the last piece. None or infinity: the last solution serves all larger C.
    name : str, default=None
        Label of the curves in the legend; None makes no legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        The first panel.
    axes_ : ndarray of matplotlib Axes
        All panels, one per curve.
    figure_ : matplotlib Figure
        Their figure.
    lines_ : dict of str to matplotlib Line2D
        The curves by name: "score", "norm", "gap".

    See Also
    --------
    ConvergenceDisplay : The curve of one fit.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn.datasets import load_iris
    >>> from sklearn_fw import StructuredSVM, regularization_path
    >>> from sklearn_fw.structured import RegularizationPathDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> path = regularization_path(StructuredSVM(random_state=0), X, y, eps=0.5, C_max=1.0)
    >>> display = RegularizationPathDisplay.from_path(path, curves=("norm", "gap"))
    >>> sorted(display.lines_)
    ['gap', 'norm']
    >>> plt.close(display.figure_)
    """

    def __init__(self, Cs, *, scores=None, norms=None, gaps=None, eps=None, C_end=None, name=None):
        self.Cs = Cs
        self.scores = scores
        self.norms = norms
        self.gaps = gaps
        self.eps = eps
        self.C_end = C_end
        self.name = name

    @classmethod
    def from_path(cls, path, *, X=None, y=None, curves=None, ax=None, name=None, **kwargs):
        """Draw a path.

        Parameters
        ----------
        path : RegularizationPath
            As `regularization_path` returns it.
        X : array-like, list, object array or Packed of n_samples inputs, default=None
            Held-out inputs.
        y : array-like, list, object array or Packed of n_samples outputs, default=None
            Their outputs. With them every solution is scored, at the cost of one prediction of
            all samples each.
        curves : sequence of {"score", "norm", "gap"}, default=None
            What to draw, one panel each. None draws the score where there are held-out data, and
            the norm where there are none.
        ax : matplotlib Axes or sequence of Axes, default=None
            One panel per curve; None makes a new figure.
        name : str, default=None
            Label of the curves.
        **kwargs : dict
            Passed on to ``ax.plot``.

        Returns
        -------
        display : RegularizationPathDisplay
            With the artists as attributes.

        Raises
        ------
        ValueError
            When a curve is unknown or has no data, only one of X and y is given, or the number of
            axes is not that of curves.
        ImportError
            When matplotlib is not installed.
        """
        if (X is None) != (y is None):
            raise ValueError("X and y come together: pass both or none")
        display = cls(
            path.Cs_,
            scores=None if X is None else path.score_path(X, y),
            norms=np.linalg.norm(path.coefs_, axis=1),
            gaps=path.gaps_,
            eps=path.eps,
            C_end=path.C_end_,
            name=name,
        )
        return display.plot(ax, curves=curves, **kwargs)

    def plot(self, ax=None, *, curves=None, name=None, **kwargs):
        """Draw the curves.

        Parameters
        ----------
        ax : matplotlib Axes or sequence of Axes, default=None
            One panel per curve; None makes a new figure with the panels below each other.
        curves : sequence of {"score", "norm", "gap"}, default=None
            What to draw, see `from_path`.
        name : str, default=None
            Label of the curves; None means the one of the constructor.
        **kwargs : dict
            Passed on to ``ax.plot``.

        Returns
        -------
        display : RegularizationPathDisplay
            This object.
        """
        if curves is None:
            curves = ("norm",) if self.scores is None else ("score",)
        curves = (curves,) if isinstance(curves, str) else tuple(curves)
        values = {"score": self.scores, "norm": self.norms, "gap": self.gaps}
        for curve in curves:
            check_choice(curve, "curves", CURVES)
            if values[curve] is None:
                remedy = "pass X and y" if curve == "score" else f"pass {curve}s"
                raise ValueError(f"there is nothing to draw for curves={curve!r}: {remedy}")
        self.figure_, axes = _new_figure(self, ax, n_panels=len(curves))
        self.axes_ = np.atleast_1d(np.asarray(axes, dtype=object)).ravel()
        if len(self.axes_) != len(curves):
            raise ValueError(
                f"ax must hold one Axes per curve, got {len(self.axes_)} for {len(curves)}"
            )
        self.ax_ = self.axes_[0]
        label = self.name if name is None else name
        self.lines_ = {}
        for panel, curve in zip(self.axes_, curves):
            Cs, steps = self._step_curve(values[curve])
            step = {"drawstyle": "steps-post", **kwargs}
            (line,) = panel.plot(Cs, steps, label=label, **step)
            if curve == "norm":
                panel.set_yscale("log", nonpositive="mask")
            elif curve == "gap":
                self._shade_gap(panel, Cs, steps, line.get_color())
            self.lines_[curve] = line
            panel.set_xscale("log")
            panel.set_ylabel(CURVES[curve])
            if label is not None:
                panel.legend()
        self.axes_[-1].set_xlabel("C")
        return self

    def _step_curve(self, values):
        """Values against C, with the end of the last step."""
        Cs = np.asarray(self.Cs, dtype=float)
        end = 2.0 * Cs[-1] if self.C_end is None or np.isinf(self.C_end) else self.C_end
        return np.append(Cs, end), np.append(values, values[-1])

    def _shade_gap(self, panel, Cs, gaps, color):
        """The range of the gap between breakpoints."""
        if self.eps is not None:
            panel.axhline(self.eps, color="0.5", linewidth=1, linestyle="--")
            band = {"color": color, "alpha": 0.15, "linewidth": 0}
            panel.fill_between(Cs, gaps, self.eps, step="post", **band)
        panel.set_ylim(bottom=0.0)  # after the rest: it ends the search for limits
