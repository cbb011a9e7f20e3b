"""Figures of convergence, topics, loadings and eigenvalues."""

import numpy as np

from .._core import check
from .._core.figures import Display, check_fitted, check_label, check_names

# Attributes with eigenvalues or singular values, and their axis labels.
VALUES = {
    "spectrum_": "Eigenvalue of the second moment",
    "eigenvalues_": "Eigenvalue",
    "singular_values_": "Singular value",
    "explained_variance_": "Explained variance",
}
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
    """Optimality gap, or primal and dual objective, of a fit by its cost.

    Create it with `from_estimator`, for any estimator with a ``history_`` and any result with a
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

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.displays import ConvergenceDisplay
    >>> from sklearn_fw.structured import StructuredSVM
    >>> X, y = [np.eye(2), np.eye(2)[:1]], [[0, 1], [0]]
    >>> svm = StructuredSVM(random_state=0).fit(X, y)
    >>> ConvergenceDisplay.from_estimator(svm, name="two words").ax_.get_yscale()
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
        check.choice(x, "x", ("auto", *STEPS))
        check.choice(kind, "kind", ("auto", "gap", "objectives"))
        history = _checked(self.history)
        if check.is_auto(x):
            x = "n_oracle_calls" if "n_oracle_calls" in history else "n_iter"
        gap = _gap_of(history)
        if check.is_auto(kind):
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
        name: check.array(values, f"history[{name!r}]", finite=None)
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
    known = {name: np.isfinite(history[name]).sum() for name in GAPS if name in history}
    best = max(known, key=known.get, default=None)
    return best if best is not None and known[best] else None


class LoadingDisplay(Display):
    """Largest loadings of each component of two views, first view left, second right.

    Create it with `from_estimator`, for any estimator with ``x_loadings_`` and ``y_loadings_``.

    Parameters
    ----------
    x_loadings, y_loadings, x_names, y_names : array-like
        Loadings of each view, of shape (n_features, n_components), and names of the features; None
        means numbers.

    Attributes
    ----------
    figure_, ax_, bars_ : matplotlib Figure, ndarray of Axes and list of BarContainer
        One Axes per component, with the bars of the first view and then of the second.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_two_views
    >>> from sklearn_fw.decomposition import MultiViewCCA
    >>> from sklearn_fw.displays import LoadingDisplay
    >>> data = make_two_views(1000, 10, 2, 2, kind="discrete", random_state=0)
    >>> model = MultiViewCCA(2, kind="discrete").fit(data.X, data.y)
    >>> display = LoadingDisplay.from_estimator(model, n_top=5)
    >>> len(display.ax_), len(display.bars_)
    (2, 4)
    """

    def __init__(self, x_loadings, y_loadings, *, x_names=None, y_names=None):
        self.x_loadings, self.y_loadings = x_loadings, y_loadings
        self.x_names, self.y_names = x_names, y_names

    @classmethod
    def from_estimator(
        cls, estimator, *, components=None, n_top=8, x_names=None, y_names=None, ax=None, **kwargs
    ):
        """Draw the loadings of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted, also one of `sklearn.cross_decomposition`.
        components, n_top : array-like of int, default=None, and int, default=8
            Components to draw, None means the first six; and number of features of each view.
        x_names, y_names : array-like of shape (n_features,), default=None
            Feature names; None means those of the data frames in ``fit``, or numbers.
        ax, **kwargs : list of Axes or None, keywords of ``ax.barh``
            As in `plot`; one Axes per component.
        """
        check_fitted(estimator, "x_loadings_", "y_loadings_")
        if x_names is None:
            x_names = getattr(estimator, "feature_names_in_", None)
        if y_names is None:
            y_names = getattr(estimator, "_y_names", None)
        loadings = estimator.x_loadings_, estimator.y_loadings_
        display = cls(*loadings, x_names=x_names, y_names=y_names)
        return display.plot(ax, components=components, n_top=n_top, **kwargs)

    def plot(self, ax=None, *, components=None, n_top=8, **kwargs):
        views = [check.matrix(getattr(self, name), name) for name in ("x_loadings", "y_loadings")]
        sizes = [view.shape[1] for view in views]
        if sizes[0] != sizes[1]:
            raise ValueError(f"x_loadings, y_loadings need the same number of columns, got {sizes}")
        names = [
            check_names(getattr(self, name), len(view), name)
            for view, name in zip(views, ("x_names", "y_names"))
        ]
        components, n_top = _chosen(components, sizes[0]), check.integer(n_top, "n_top", 1)
        self.bars_ = []
        for panel, k in zip(self._grid(ax, len(components)), components):
            sides = (-1, "C0", "right"), (1, "C1", "left")
            for (sign, color, side), view, own in zip(sides, views, names):
                top = np.argsort(-np.abs(view[:, k]), kind="stable")[:n_top]
                lengths = np.abs(view[top, k]) / (np.abs(view[top[0], k]) or 1.0)
                style = {"color": color, "alpha": 0.5, **kwargs}
                self.bars_.append(self._bars(panel, sign * lengths, (), style))
                for row, m in enumerate(top):
                    text = f"{'-' if view[m, k] < 0.0 else ''}{own[m]}"
                    style = {"va": "center", "ha": side, "fontsize": "small", "clip_on": True}
                    panel.text(sign * 0.04, row, text, **style)
            panel.axvline(0.0, color="0.3", linewidth=0.8)
            panel.set(title=f"Component {k}", xlim=(-1.6, 1.6), xticks=[])
        return self


class ScreeDisplay(Display):
    """Scree plot of eigenvalues or singular values with the noise floor.

    Create it with `from_estimator`, for any estimator with ``eigenvalues_``, ``singular_values_``
    or ``explained_variance_``. Several fits can share one axis.

    Parameters
    ----------
    values : array-like of shape (n_values,)
        Eigenvalues or singular values, in any order; those not above zero are left out.
    noise_floor, n_components : float and int, default=None
        Largest value that noise alone reaches, and number that was kept; None draws no mark.
    value_name, name : str, default="Eigenvalue" and None
        Labels of the vertical axis, and of the curve in the legend.

    Attributes
    ----------
    figure_, ax_, line_ : matplotlib Figure, Axes and Line2D
        Where the values were drawn, and their curve.
    floor_, mark_ : matplotlib Line2D or None
        The noise floor, and the end of the values that were kept.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_topic_corpus
    >>> from sklearn_fw.decomposition import DiscreteICA
    >>> from sklearn_fw.displays import ScreeDisplay
    >>> X = make_topic_corpus(1000, 50, 3, random_state=0).X
    >>> model = DiscreteICA("auto", random_state=0).fit(X)
    >>> ScreeDisplay.from_estimator(model).n_components
    3
    """

    def __init__(
        self, values, *, noise_floor=None, n_components=None, value_name="Eigenvalue", name=None
    ):
        self.values, self.noise_floor, self.n_components = values, noise_floor, n_components
        self.value_name, self.name = value_name, name

    @classmethod
    def from_estimator(cls, estimator, *, ax=None, name=None, **kwargs):
        """Draw the eigenvalues or singular values of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted.
        ax, name, **kwargs : Axes or None, str or None, keywords of ``ax.semilogy``
            As in `plot`; the name labels the curve in the legend.
        """
        check_fitted(estimator, *VALUES, enough=any)
        stored = next(key for key in VALUES if hasattr(estimator, key))
        values = getattr(estimator, stored)
        kept = getattr(estimator, "_n_features_out", len(values))  # of scikit-learn's mixin
        display = cls(
            values, noise_floor=getattr(estimator, "noise_floor_", None),
            n_components=kept if kept < len(values) else None, value_name=VALUES[stored],
            name=name,
        )  # fmt: skip
        return display.plot(ax, **kwargs)

    def plot(self, ax=None, *, name=None, **kwargs):
        values = check.numbers(self.values, "values")
        if values.ndim != 1 or not np.any(values > 0.0):
            raise ValueError(
                f"values must have shape (n_values,) and numbers above zero, got {self.values!r}"
            )
        values = -np.sort(-values[values > 0.0])
        check.optional(check.not_negative)(self.noise_floor, "noise_floor")
        check.optional(check.at_least(0))(self.n_components, "n_components")
        if not isinstance(self.value_name, str):
            raise TypeError(f"value_name must be text, got {self.value_name!r}")
        label = check_label(self.name if name is None else name)
        style = {"label": label, "marker": ".", "linestyle": "-", **kwargs}
        ax, ranks = self._axes(ax), np.arange(1, len(values) + 1)
        (self.line_,) = ax.semilogy(ranks, values, **style)
        self.floor_ = self.mark_ = None
        style = {"color": self.line_.get_color(), "alpha": 0.7}
        if self.noise_floor:
            self.floor_ = ax.axhline(self.noise_floor, ls=":", label="noise at most", **style)
        if self.n_components is not None:
            kept = f"{self.n_components} kept"
            self.mark_ = ax.axvline(self.n_components + 0.5, ls="--", label=kept, **style)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set(xlabel="Number of components", ylabel=self.value_name)
        self._legend()
        return self


class TopicDisplay(Display):
    """Most probable words of each topic, as bars.

    Create it with `from_estimator`, for any estimator with nonnegative ``components_``.

    Parameters
    ----------
    topics : array-like of shape (n_components, n_features)
        Topics, not negative; rows are divided by their sums.
    names : array-like of shape (n_features,), default=None
        Words; None means numbers.

    Attributes
    ----------
    figure_, ax_, bars_ : matplotlib Figure, ndarray of Axes and list of BarContainer
        One Axes per topic, with its bars.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_topic_corpus
    >>> from sklearn_fw.decomposition import DiscreteICA
    >>> from sklearn_fw.displays import TopicDisplay
    >>> model = DiscreteICA(2).fit(make_topic_corpus(1000, 20, 2, random_state=0).X)
    >>> display = TopicDisplay.from_estimator(model, n_top=5)
    >>> len(display.ax_), len(display.bars_[0])
    (2, 5)
    """

    def __init__(self, topics, *, names=None):
        self.topics, self.names = topics, names

    @classmethod
    def from_estimator(cls, estimator, *, components=None, n_top=8, names=None, ax=None, **kwargs):
        """Draw the topics of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            Fitted, with ``components_``.
        components, n_top : array-like of int, default=None, and int, default=8
            Topics to draw, None means the first six; and number of words of each.
        names : array-like of shape (n_features,), default=None
            Words, such as ``vectorizer.get_feature_names_out()``; None means
            ``feature_names_in_``, or numbers.
        ax, **kwargs : list of Axes or None, keywords of ``ax.barh``
            As in `plot`; one Axes per component.
        """
        topics = check_fitted(estimator, "components_").components_
        if names is None:
            names = getattr(estimator, "feature_names_in_", None)
        return cls(topics, names=names).plot(ax, components=components, n_top=n_top, **kwargs)

    def plot(self, ax=None, *, components=None, n_top=8, **kwargs):
        topics = check.matrix(self.topics, "topics")
        if topics.min() < 0.0:
            raise ValueError(f"topics must not be negative, got {topics.min():g}")
        total = topics.sum(axis=1, keepdims=True)
        topics = topics / np.where(total > 0.0, total, 1.0)
        names = check_names(self.names, topics.shape[1], "names")
        components, n_top = _chosen(components, len(topics)), check.integer(n_top, "n_top", 1)
        self.bars_, style = [], {"alpha": 0.5, **kwargs}
        for panel, k in zip(self._grid(ax, len(components)), components):
            top = np.argsort(-topics[k], kind="stable")[:n_top]
            labels = {"title": f"Topic {k}", "xlabel": "fraction of the topic"}
            bars = self._bars(panel, topics[k, top], [names[m] for m in top], style, **labels)
            self.bars_.append(bars)
        return self


def _chosen(components, size):
    chosen = range(min(size, 6)) if components is None else np.ravel(components).tolist()
    chosen = [check.integer(k, "components", 0) for k in chosen]
    if not chosen or max(chosen) >= size:
        raise ValueError(f"components must be numbers below {size}, got {chosen}")
    return chosen
