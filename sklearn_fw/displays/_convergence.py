"""Figure of the convergence of a fit."""

import numpy as np

from .._core.figures import Display, check_fitted, check_label
from .._core.validation import check_array_of_numbers, check_choice, is_auto

STEPS = {"n_oracle_calls": "Oracle calls", "time": "Seconds", "n_iter": "Iterations"}
# Measures of the distance to the optimum, by column; of several, the one with most entries.
GAPS = {
    "dual_gap": "Duality gap",
    "suboptimality": "Bound on the suboptimality",
    "slack": "Distance of messages from rest (nats)",
    "change": "Largest change of a probability",
}
# Fraction of the rows at the beginning that may be cut off at the top and the bottom.
FAR = 0.25


class ConvergenceDisplay(Display):
    """Optimality gap of a fit by its cost, or the two objectives that enclose the optimum.

    Make it with `from_estimator`, for any estimator with a ``history_`` and any result with a
    ``history``; several fits can share one axis.

    Parameters
    ----------
    history : dict of str to array-like of shape (n_rows,)
        Numbers by name, NaN where a row has none. The horizontal axis is "n_iter", "time" or
        "n_oracle_calls"; the vertical one "objective" and "dual_objective", or a gap: "dual_gap",
        "suboptimality", "slack" or "change". Where "certified" is false, numbers are estimates.
        "output" separates several problems, which get a curve each.
    name : str, default=None
        Label of the curves in the legend; None makes no legend.

    Attributes
    ----------
    figure_, ax_ : matplotlib Figure and Axes
        Where the curves were drawn.
    lines_, bound_lines_ : list of matplotlib Line2D
        The gap, or the objective, of each problem; and its dual objective, if drawn.

    See Also
    --------
    RegularizationPathDisplay : The solutions for all values of C.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.displays import ConvergenceDisplay
    >>> from sklearn_fw.structured import StructuredSVM
    >>> X, y = [np.eye(2), np.eye(2)[:1]], [[0, 1], [0]]
    >>> svm = StructuredSVM(random_state=0).fit(X, y)
    >>> display = ConvergenceDisplay.from_estimator(svm, name="two words")
    >>> display.ax_.get_yscale()
    'log'
    """

    def __init__(self, history, *, name=None):
        self.history, self.name = history, name

    @classmethod
    def from_estimator(cls, estimator, *, x="auto", kind="auto", ax=None, name=None, **kwargs):
        """Draw the ``history_`` of a fitted estimator, or the ``history`` of a result.

        Parameters
        ----------
        estimator : estimator, OptimizeResult or LearnedMRF
            Fitted; or what a function of `sklearn_fw.optim` or `MRFLearner.learn` returned.
        x : {"auto", "n_oracle_calls", "time", "n_iter"}, default="auto"
            Horizontal axis: oracle calls, including those of certificates; seconds since the fit
            began; or iterations. "auto" takes oracle calls where they are counted.
        kind : {"auto", "gap", "objectives"}, default="auto"
            The gap on a logarithmic axis, with dots for exact numbers where others are estimates;
            or the objective and its bound, with the range of the optimum shaded. "auto" takes the
            gap where there is one.
        ax, name, **kwargs : Axes or None, str or None, keywords of ``ax.plot``
            As in `plot`; None labels the curve with the class of the estimator.
        """
        history = None if hasattr(estimator, "fit") else getattr(estimator, "history", None)
        if history is None:
            history = check_fitted(estimator, "history_").history_
        display = cls(history, name=type(estimator).__name__ if name is None else name)
        return display.plot(ax, x=x, kind=kind, **kwargs)

    def plot(self, ax=None, *, x="auto", kind="auto", name=None, **kwargs):
        check_choice(x, "x", ("auto", *STEPS))
        check_choice(kind, "kind", ("auto", "gap", "objectives"))
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
            raise ValueError("the method has no certificate; kind='objectives' draws its objective")
        label = check_label(self.name if name is None else name)
        self._axes(ax)
        self.lines_, self.bound_lines_ = [], []
        outputs = history.get("output", np.zeros(len(history[x])))
        for output in np.unique(outputs):
            rows = {name: values[outputs == output] for name, values in history.items()}
            several = label is not None and "output" in history
            own = f"{label}, output {output:.0f}" if several else label
            if kind == "gap":
                self._plot_gap(rows, x, gap, own, kwargs)
            else:
                self._plot_objectives(rows, x, own, kwargs, fresh=ax is None)
        self.ax_.set_xlabel(STEPS[x])
        self._legend()
        return self

    def _line(self, rows, x, column, label, style):
        """The known entries of a column, with dots where a curve has few points."""
        known = ~np.isnan(rows[column])
        steps, values = rows[x][known], rows[column][known]
        style = {"marker": "." if len(steps) < 30 else None, "label": label, **style}
        return self.ax_.plot(steps, values, **style)[0], values

    def _plot_gap(self, rows, x, gap, label, kwargs):
        exact = rows.get("certified", np.ones(len(rows[gap])))[~np.isnan(rows[gap])].astype(bool)
        dots = {"marker": "o", "markersize": 4, "markevery": np.flatnonzero(exact).tolist()}
        style = kwargs if exact.all() else {**dots, **kwargs}
        line, values = self._line(rows, x, gap, label, style)
        self.lines_.append(line)
        if np.any(values > 0):  # an optimum hit exactly has no logarithm
            self.ax_.set_yscale("log", nonpositive="mask")
        self.ax_.set_ylabel(GAPS[gap] if exact.all() else f"{GAPS[gap]} (dots: certified)")

    def _plot_objectives(self, rows, x, label, kwargs, fresh):
        bounded = "dual_objective" in rows
        own = label if not bounded or label is None else f"{label}, objective"
        line, _ = self._line(rows, x, "objective", own, kwargs)
        self.lines_.append(line)
        self.ax_.set_ylabel("Objective")
        if not bounded:
            return
        color = line.get_color()
        style = {**kwargs, "color": color, "linestyle": "--"}
        own = None if label is None else f"{label}, bound"
        line, bound = self._line(rows, x, "dual_objective", own, style)
        self.bound_lines_.append(line)
        objective = rows["objective"][~np.isnan(rows["dual_objective"])]
        shade = {"color": color, "alpha": 0.15, "linewidth": 0}
        self.ax_.fill_between(line.get_xdata(), bound, objective, **shade)
        if fresh and len(bound) > 1:
            # The first numbers are far away and would hide the end.
            both = np.concatenate([v[int(FAR * len(bound)) :] for v in (bound, objective)])
            margin = 0.05 * max(np.ptp(both), 1e-9)
            self.ax_.set_ylim(both.min() - margin, both.max() + margin)


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
    """The column that measures the distance to the optimum, or None."""
    known = {name: np.isfinite(history[name]).sum() for name in GAPS if name in history}
    best = max(known, key=known.get, default=None)
    return best if best is not None and known[best] else None
