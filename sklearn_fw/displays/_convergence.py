"""Picture of a fit; matplotlib is imported when it is drawn."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.figures import check_label, new_figure
from .._core.validation import check_array_of_numbers, check_choice, is_auto

STEPS = {"n_oracle_calls": "Oracle calls", "time": "Seconds", "n_iter": "Iterations"}
# What says how far there is to go, by column; of several the one with most entries.
GAPS = {
    "dual_gap": "Duality gap",
    "suboptimality": "Bound on the suboptimality",
    "slack": "Distance of messages from rest (nats)",
    "change": "Largest change of a probability",
}
KINDS = ("auto", "gap", "objectives")
# Part of the rows at the beginning that may be cut off at the top and the bottom.
FAR = 0.25


class ConvergenceDisplay:
    """Curve of the gap of a fit, or of the two objectives that the optimum lies between.

    Make it with `from_estimator`, for any estimator with a ``history_`` and any result with a
    ``history``; several fits can share one axis.

    Parameters
    ----------
    history : dict of str to array-like of shape (n_rows,)
        Numbers by name, of equal length; NaN where a row has none. Drawn are "n_iter", "time" and
        "n_oracle_calls" along the horizontal axis; "objective", "dual_objective"; and as a gap
        "dual_gap", "suboptimality", "slack" or "change". Where "certified" is false, numbers are
        estimates; "output" tells several problems apart, which get a curve each.
    name : str, default=None
        Label of the curves in the legend; None makes no legend.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the curves were drawn.
    figure_ : matplotlib Figure
        Its figure.
    lines_ : list of matplotlib Line2D
        The gap, or the objective, of each problem.
    bound_lines_ : list of matplotlib Line2D
        The dual objective of each problem, if drawn.

    See Also
    --------
    RegularizationPathDisplay : The solutions for all values of C.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> import numpy as np
    >>> from sklearn_fw.displays import ConvergenceDisplay
    >>> from sklearn_fw.structured import StructuredSVM
    >>> X, y = [np.eye(2), np.eye(2)[:1]], [[0, 1], [0]]
    >>> svm = StructuredSVM(random_state=0).fit(X, y)
    >>> display = ConvergenceDisplay.from_estimator(svm, name="two words")
    >>> display.ax_.get_yscale()
    'log'
    >>> plt.close(display.figure_)
    """

    def __init__(self, history, *, name=None):
        self.history = history
        self.name = name

    @classmethod
    def from_estimator(cls, estimator, *, x="auto", kind="auto", ax=None, name=None, **kwargs):
        """Draw the ``history_`` of a fitted estimator, or the ``history`` of a result.

        Parameters
        ----------
        estimator : estimator, OptimizeResult or LearnedMRF
            Fitted; of a search ``best_estimator_``, of a pipeline its last step. Or what a function
            of `sklearn_fw.optim` or `MRFLearner.learn` returned.
        x : {"auto", "n_oracle_calls", "time", "n_iter"}, default="auto"
            Cost at which the curve is drawn: oracle calls, those of certificates included; seconds
            since the fit began; or iterations. "auto" takes oracle calls where they are counted.
        kind : {"auto", "gap", "objectives"}, default="auto"
            The gap on a logarithmic axis, with dots for exact numbers where others are estimates;
            or the objective and the bound from its other side, with the range of the optimum
            between them shaded. "auto" takes the gap where there is one.
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
        """
        if hasattr(estimator, "fit"):
            check_is_fitted(estimator)
            history = getattr(estimator, "history_", None)
        else:
            history = getattr(estimator, "history", None)
        kind_of = type(estimator).__name__
        if history is None:
            raise TypeError(
                f"{kind_of} has no history_: pass the estimator that was fitted, of a search "
                f"best_estimator_, of a pipeline its last step"
            )
        display = cls(history, name=kind_of if name is None else name)
        return display.plot(ax, x=x, kind=kind, **kwargs)

    def plot(self, ax=None, *, x="auto", kind="auto", name=None, **kwargs):
        """Draw the curve.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        x, kind : str, default="auto"
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
        check_choice(x, "x", ("auto", *STEPS))
        check_choice(kind, "kind", KINDS)
        history = _checked(self.history)
        if is_auto(x):
            x = "n_oracle_calls" if "n_oracle_calls" in history else "n_iter"
        gap = _gap_of(history)
        if is_auto(kind):
            kind = "objectives" if gap is None else "gap"
        _require(history, x, "x")
        if kind == "objectives":
            _require(history, "objective", "kind")
        elif gap is None:
            raise ValueError(
                "there is no gap to draw: the method has no certificate; kind='objectives' draws "
                "its objective"
            )
        label = check_label(self.name if name is None else name)
        self.figure_, self.ax_ = new_figure(self, ax)
        self.lines_, self.bound_lines_ = [], []
        outputs = history.get("output", np.zeros(len(history[x])))
        for output in np.unique(outputs):
            rows = {name: values[outputs == output] for name, values in history.items()}
            own = label
            if label is not None and "output" in history:
                own = f"{label}, output {output:.0f}"
            if kind == "gap":
                self._plot_gap(rows, x, gap, own, kwargs)
            else:
                self._plot_objectives(rows, x, own, kwargs, fresh=ax is None)
        self.ax_.set_xlabel(STEPS[x])
        if label is not None:
            self.ax_.legend()
        return self

    def _plot_gap(self, rows, x, gap, label, kwargs):
        known = ~np.isnan(rows[gap])
        steps, values = rows[x][known], rows[gap][known]
        exact = rows.get("certified", np.ones(len(known)))[known].astype(bool)
        style = {"marker": _marker(steps)}
        if not exact.all():
            style = {"marker": "o", "markersize": 4, "markevery": np.flatnonzero(exact).tolist()}
        (line,) = self.ax_.plot(steps, values, label=label, **{**style, **kwargs})
        self.lines_.append(line)
        if np.any(values > 0):  # an optimum hit exactly has no logarithm
            self.ax_.set_yscale("log", nonpositive="mask")
        self.ax_.set_ylabel(GAPS[gap] if exact.all() else f"{GAPS[gap]} (dots: certified)")

    def _plot_objectives(self, rows, x, label, kwargs, fresh):
        ax, steps = self.ax_, rows[x]
        kwargs = {"marker": _marker(steps), **kwargs}
        bounded = "dual_objective" in rows
        known = ~np.isnan(rows["objective"])
        own = label if not bounded or label is None else f"{label}, objective"
        (line,) = ax.plot(steps[known], rows["objective"][known], label=own, **kwargs)
        self.lines_.append(line)
        ax.set_ylabel("Objective")
        if not bounded:
            return
        known = ~np.isnan(rows["dual_objective"])
        style = {**kwargs, "color": line.get_color(), "linestyle": "--"}
        own = None if label is None else f"{label}, bound"
        steps, objective = steps[known], rows["objective"][known]
        bound = rows["dual_objective"][known]
        (line,) = ax.plot(steps, bound, label=own, **style)
        self.bound_lines_.append(line)
        ax.fill_between(steps, bound, objective, color=line.get_color(), alpha=0.15, linewidth=0)
        if fresh and len(steps) > 1:
            # The first numbers are far away; the picture is of where they end.
            both = np.concatenate([v[int(FAR * len(steps)) :] for v in (bound, objective)])
            margin = 0.05 * max(np.ptp(both), 1e-9)
            ax.set_ylim(both.min() - margin, both.max() + margin)


def _marker(steps):
    """A curve of one point would be invisible without a marker."""
    return "." if len(steps) < 30 else None


def _checked(history):
    """The columns as arrays of one length."""
    if not isinstance(history, dict):
        raise TypeError(f"history must be a dict of arrays, got {type(history).__name__}")
    if not history:
        raise ValueError("history is empty: the answer was found without iterations")
    columns = {
        name: check_array_of_numbers(values, f"history[{name!r}]", finite=None)
        for name, values in history.items()
    }
    shapes = {values.shape for values in columns.values()}
    if len(shapes) > 1 or len(next(iter(shapes))) != 1:
        found = ", ".join(f"{name} {values.shape}" for name, values in columns.items())
        raise ValueError(f"history must hold arrays of shape (n_rows,), got {found}")
    return columns


def _require(history, column, parameter):
    if column not in history:
        known = ", ".join(map(repr, history))
        raise ValueError(f"{parameter} needs {column!r} in the history, which has {known}")


def _gap_of(history):
    """The column that says best how far there is to go, or None."""
    known = {name: np.isfinite(history[name]).sum() for name in GAPS if name in history}
    best = max(known, key=known.get, default=None)
    return best if best is not None and known[best] else None
