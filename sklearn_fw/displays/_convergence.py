"""Picture of a fit; matplotlib is imported when it is drawn."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._figures import check_label, new_figure
from .._validation import check_choice

__all__ = ["ConvergenceDisplay"]

STEPS = {
    "n_oracle_calls": "Oracle calls",
    "time": "Seconds",
    "n_iter": "Passes over the data",
}


class ConvergenceDisplay:
    """Curve of the certified gap of a fit, or of the two objectives that it lies between.

    Make it with `from_estimator`; several fits can share one axis.

    Parameters
    ----------
    steps : array-like of shape (n_certificates,)
        Oracle calls, seconds or passes at which the other numbers were computed.
    dual_gap : array-like of shape (n_certificates,), default=None
        Certified gaps, drawn on a logarithmic axis. None for a solver without certificate.
    objective, dual_objective : array-like of shape (n_certificates,), default=None
        Primal and dual values; the optimum lies between them. Needed for ``kind="objectives"``.
    steps_name : str, default="Oracle calls"
        Label of the horizontal axis.
    name : str, default=None
        Label of the curve in the legend; None makes no legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the curves were drawn.
    figure_ : matplotlib Figure
        Its figure.
    line_ : matplotlib Line2D
        The gap, or the primal objective.
    dual_line_ : matplotlib Line2D or None
        The dual objective, if drawn.

    See Also
    --------
    RegularizationPathDisplay : The solutions for all values of C.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from sklearn_fw.structured import ConvergenceDisplay, StructuredSVM
    >>> X, y = [np.eye(2), np.eye(2)[:1]], [[0, 1], [0]]
    >>> svm = StructuredSVM(random_state=0).fit(X, y)
    >>> display = ConvergenceDisplay.from_estimator(svm, name="two words")
    >>> display.ax_.get_yscale()
    'log'
    >>> plt.close(display.figure_)
    """

    def __init__(
        self,
        steps,
        *,
        dual_gap=None,
        objective=None,
        dual_objective=None,
        steps_name="Oracle calls",
        name=None,
    ):
        self.steps = steps
        self.dual_gap = dual_gap
        self.objective = objective
        self.dual_objective = dual_objective
        self.steps_name = steps_name
        self.name = name

    @classmethod
    def from_estimator(
        cls, estimator, *, x="n_oracle_calls", kind="gap", ax=None, name=None, **kwargs
    ):
        """Draw the ``history_`` of a fitted estimator.

        Parameters
        ----------
        estimator : StructuredSVM
            Fitted; of a search ``best_estimator_``, of a pipeline its last step.
        x : {"n_oracle_calls", "time", "n_iter"}, default="n_oracle_calls"
            Cost at which the curve is drawn: oracle calls, gap passes included; seconds of this
            run; or passes over the data.
        kind : {"gap", "objectives"}, default="gap"
            The gap on a logarithmic axis, or the primal and the dual value, with the range of the
            optimum between them shaded. A solver without certificate has the primal value only.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        name : str, default=None
            Label of the curve; None means the class of the estimator.
        **kwargs : dict
            Passed on to ``ax.plot``, for example ``color`` or ``linestyle``.

        Returns
        -------
        display : ConvergenceDisplay
            With the artists as attributes.

        Raises
        ------
        NotFittedError
            When the estimator is not fitted.
        TypeError
            When the estimator has no ``history_``.
        ValueError
            When ``x`` or ``kind`` is unknown, or the solver has no certificate and ``kind="gap"``.
        ImportError
            When matplotlib is not installed.
        """
        check_choice(x, "x", STEPS)
        check_is_fitted(estimator)
        history = getattr(estimator, "history_", None)
        if history is None:
            raise TypeError(
                f"{type(estimator).__name__} has no history_: pass the estimator that was fitted, "
                f"of a search best_estimator_, of a pipeline its last step"
            )
        display = cls(
            history[x],
            dual_gap=history.get("dual_gap"),
            objective=history.get("objective"),
            dual_objective=history.get("dual_objective"),
            steps_name=STEPS[x],
            name=type(estimator).__name__ if name is None else name,
        )
        return display.plot(ax, kind=kind, **kwargs)

    def plot(self, ax=None, *, kind="gap", name=None, **kwargs):
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        kind : {"gap", "objectives"}, default="gap"
            What to draw, see `from_estimator`.
        name : str, default=None
            Label of the curve; None means the one of the constructor.
        **kwargs : dict
            Passed on to ``ax.plot``.

        Returns
        -------
        display : ConvergenceDisplay
            This object.
        """
        check_choice(kind, "kind", ("gap", "objectives"))
        if kind == "gap" and self.dual_gap is None:
            raise ValueError(
                "there is no gap to draw: the solver has no certificate; kind='objectives' draws "
                "its primal objective"
            )
        if kind == "objectives" and self.objective is None:
            raise ValueError("kind='objectives' needs objective")
        self.figure_, self.ax_ = new_figure(self, ax)
        label = check_label(self.name if name is None else name)
        # A curve of one point would be invisible without a marker.
        kwargs = {"marker": "." if len(self.steps) < 30 else None, **kwargs}
        self.dual_line_ = None
        if kind == "gap":
            (self.line_,) = self.ax_.plot(self.steps, self.dual_gap, label=label, **kwargs)
            if np.any(np.asarray(self.dual_gap) > 0):  # an optimum hit exactly has no logarithm
                self.ax_.set_yscale("log", nonpositive="mask")
            self.ax_.set_ylabel("Certified duality gap")
        else:
            self._plot_objectives(label, kwargs)
        self.ax_.set_xlabel(self.steps_name)
        if label is not None:
            self.ax_.legend()
        return self

    def _plot_objectives(self, label, kwargs):
        ax, alone = self.ax_, self.dual_objective is None
        primal_label = label if alone or label is None else f"{label}, primal"
        (self.line_,) = ax.plot(self.steps, self.objective, label=primal_label, **kwargs)
        ax.set_ylabel("Objective")
        if alone:
            return
        color = self.line_.get_color()
        dual_kwargs = {**kwargs, "color": color, "linestyle": "--"}
        dual_label = None if label is None else f"{label}, dual"
        (self.dual_line_,) = ax.plot(
            self.steps, self.dual_objective, label=dual_label, **dual_kwargs
        )
        ax.fill_between(
            self.steps, self.dual_objective, self.objective, color=color, alpha=0.15, linewidth=0
        )
