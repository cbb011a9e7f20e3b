"""Figures of scripts, of steps in time and of states."""

import numpy as np

from .._core import check
from .._core.figures import Display, check_fitted, check_names
from ._aligner import SequenceAligner
from ._clips import check_sequences
from ._ordered import OrderedDiscriminativeClustering
from ._state_problem import Clips
from ._states import JointStateActionClustering

MOST_LETTERS = 12  # of a token in a cell


class AlignedScriptDisplay(Display):
    """Table of aligned sequences, with a column for each step of their template.

    Create it with `from_estimator`.

    Parameters
    ----------
    names : list of str
        Steps, in order.
    cells, support : list of list of str and list of int
        Token of each sequence at each step, empty for none; and sequences that have each step.

    Attributes
    ----------
    figure_, ax_ : matplotlib Figure and Axes
        Where the table was drawn.
    image_, texts_ : matplotlib AxesImage and list of Text
        The cells, colored by the support of their step, and the tokens in them.

    Examples
    --------
    >>> from sklearn_fw.cluster import AlignedScriptDisplay, SequenceAligner
    >>> lines = [list("abc"), list("acx"), list("abc")]
    >>> aligner = SequenceAligner(3, random_state=0).fit(lines)
    >>> AlignedScriptDisplay.from_estimator(aligner, lines).cells[1]
    ['a', '', 'c']
    """

    def __init__(self, names, cells, support):
        self.names, self.cells, self.support = names, cells, support

    @classmethod
    def from_estimator(cls, estimator, sequences, *, ax=None):
        """Draw sequences aligned to the template of a fitted aligner.

        Parameters
        ----------
        estimator, sequences : fitted SequenceAligner, and list of list
            Aligner, and tokens of each sequence.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a new figure.
        """
        check_fitted(estimator, kind=SequenceAligner)
        given = check.items(sequences, "sequences", "lists of tokens")
        sequences = [check.items(own, f"sequences[{n}]", "tokens") for n, own in enumerate(given)]
        name, n = "predict of estimator", len(sequences)
        found = check.items(estimator.predict(sequences), name, "arrays", n)
        cells = []
        for tokens, labels in zip(sequences, found):
            row = [""] * estimator.n_steps_
            labels = _integers(labels, "predict", (len(tokens),), -1, len(row) - 1)
            for token, label in zip(tokens, labels.tolist()):
                if label >= 0:
                    row[label] = str(token)
            cells.append(row)
        names = [str(name) for name in estimator.step_names_]
        return cls(names, cells, estimator.support_.tolist()).plot(ax)

    def plot(self, ax=None):
        if not self.names or not self.cells:
            raise ValueError("there are no steps to draw")
        there = np.array([[bool(cell) for cell in row] for row in self.cells])
        support = np.where(there, np.array(self.support, float), np.nan)
        names = [f"{name[:MOST_LETTERS]}\n({n})" for name, n in zip(self.names, self.support)]
        style = {"aspect": "auto", "cmap": "Blues", "vmin": 0, "alpha": 0.6}
        labels = {"xlabel": "Step, and the sequences that have it", "ylabel": "Sequence"}
        ax = self._axes(ax)
        self.image_ = self._heat_map(support, style, names, range(len(there)), **labels)
        ax.tick_params(axis="x", labelsize="small")
        ax.xaxis.tick_top()
        ax.xaxis.set_label_position("top")
        style = {"ha": "center", "va": "center", "fontsize": "small"}
        texts = ((k, n, self.cells[n][k][:MOST_LETTERS]) for n, k in np.argwhere(there))
        self.texts_ = [ax.text(*text, **style) for text in texts]
        return self


class StepsDisplay(Display):
    """Locations of steps on the time lines of sequences, with the true intervals.

    Create it with `from_estimator`.

    Parameters
    ----------
    locations : array-like of shape (n_sequences, n_steps)
        Row of each step in each sequence.
    intervals_true : array-like of shape (n_sequences, n_steps, 2) or None, default=None
        First and last row of each true step, -1 where it is missing.
    names : list of str or None, default=None
        Names of steps; None means numbers.

    Attributes
    ----------
    figure_, ax_, points_ : matplotlib Figure, Axes and list of PathCollection
        Where the steps were drawn, and the locations of each.

    Examples
    --------
    >>> from sklearn_fw.cluster import StepsDisplay
    >>> len(StepsDisplay([[1, 5], [0, 7]], names=["cut", "fry"]).plot().points_)
    2
    """

    def __init__(self, locations, intervals_true=None, names=None):
        self.locations, self.intervals_true, self.names = locations, intervals_true, names

    @classmethod
    def from_estimator(cls, estimator, X, *, intervals_true=None, names=None, ax=None):
        """Draw the steps that a fitted estimator localizes.

        Parameters
        ----------
        estimator, X : fitted OrderedDiscriminativeClustering, and list of array-like
            Estimator, and sequences of shape (n_rows_i, n_features).
        intervals_true, names : array-like and list of str, default=None
            True intervals and names of steps, as in the constructor.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a new figure.
        """
        check_fitted(estimator, kind=OrderedDiscriminativeClustering)
        if not hasattr(X, "ndim"):
            X = check.items(X, "X", "arrays, one per sequence")
        lengths = np.diff(check_sequences(X, n_features=estimator.n_features_in_)[1])
        shape, last = (len(lengths), len(estimator.coef_)), int(lengths.max()) - 1
        found = _integers(estimator.localize(X), "localize", shape, 0, last)
        return cls(found, intervals_true, names).plot(ax)

    def plot(self, ax=None):
        locations = check.shaped(self.locations, "locations", "n_sequences", "n_steps")
        n, n_steps = locations.shape
        names = [f"step {k}" for k in range(n_steps)]
        if self.names is not None:
            names = check_names(self.names, n_steps, "names")
        truth = np.empty((n, 0, 2))
        if self.intervals_true is not None:
            truth = check.shaped(self.intervals_true, "intervals_true", n, "n_steps", 2)
        ax, rows, self.points_ = self._axes(ax), np.arange(n), []
        for k, name in enumerate(names):
            color = f"C{k % 10}"
            if k < truth.shape[1]:
                there = truth[:, k, 0] >= 0
                first, last = truth[there, k].T
                style = {"left": first - 0.5, "height": 0.8, "color": color, "alpha": 0.3}
                ax.barh(rows[there], last - first + 1, **style)
            style = {"s": 14, "color": color, "label": name, "zorder": 3}
            self.points_.append(ax.scatter(locations[:, k], rows, **style))
        ax.set(xlabel="Row", ylabel="Sequence")
        if not ax.yaxis_inverted():
            ax.invert_yaxis()
        self._legend(ncols=min(n_steps, 5), fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1))
        return self


class StateActionDisplay(Display):
    """Timeline of one clip: candidates by state, and scores and time of the action.

    Shows whether the first state precedes the action. Create it with `from_estimator`.

    Parameters
    ----------
    start, end : array-like of shape (n_candidates,)
        Time interval of each candidate.
    states : array-like of shape (n_candidates,), integer
        0, 1 or -1 for none.
    times, scores : array-like of shape (n_rows,)
        Time of each row, and its score for the action.
    action : int
        Row of the action.

    Attributes
    ----------
    figure_, ax_ : matplotlib Figure and Axes
        Where the clip was drawn.
    bars_, action_line_ : list of matplotlib Line2D, and Line2D
        The candidates and the action.

    Examples
    --------
    >>> from sklearn_fw.cluster import StateActionDisplay
    >>> display = StateActionDisplay([0, 3], [1, 4], [0, 1], [0, 1, 2, 3], [0, 0, 1, 0], 2).plot()
    >>> len(display.bars_)
    2
    """

    def __init__(self, start, end, states, times, scores, action):
        self.start, self.end, self.states = start, end, states
        self.times, self.scores, self.action = times, scores, action

    @classmethod
    def from_estimator(cls, estimator, clips, index=0, *, ax=None):
        """Draw the states and the action that a fitted estimator predicts in one clip.

        Parameters
        ----------
        estimator : JointStateActionClustering
            Fitted.
        clips, index : list of dict, and int, default=0
            Clips, and the number of the one to draw.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a new figure.
        """
        check_fitted(estimator, kind=JointStateActionClustering)
        clips = check.items(clips, "clips", "dicts")
        Clips(clips)  # refuses a bad clip by its number
        index = check.integer(index, "index", 0, len(clips) - 1)
        clip = clips[index : index + 1]
        data = Clips(clip)
        found, scored = estimator.predict(clip), estimator.decision_function(clip)
        name = "actions of decision_function of estimator"
        scores = check.shaped(getattr(scored, "actions", None), name, len(data.t_action))
        states = getattr(found, "state_labels", None)
        (states,) = check.items(states, "state_labels of predict of estimator", "arrays", 1)
        states = _integers(states, "predict", data.begin.shape, -1, 1)
        action = getattr(found, "action_locations", None)
        action = int(_integers(action, "predict", (1,), 0, len(scores) - 1)[0])
        return cls(data.begin, data.end, states, data.t_action, scores, action).plot(ax)

    def plot(self, ax=None):
        ax, self.bars_ = self._axes(ax), []
        colors = {0: "C0", 1: "C1"}
        order = np.argsort(np.asarray(self.start), kind="stable").tolist()
        for level, i in enumerate(order):
            style = {"color": colors.get(int(self.states[i]), "0.8"), "linewidth": 5}
            ends = [self.start[i], self.end[i]]
            self.bars_ += ax.plot(ends, [level, level], solid_capstyle="butt", **style)
        scores, low = np.asarray(self.scores, float), -0.25 * len(order)
        heights = (scores - scores.min()) / max(np.ptp(scores), 1e-12)
        style = {"color": "0.6", "step": "mid", "label": "score of the action"}
        ax.fill_between(self.times, low * (1.0 - 0.8 * heights), low, **style)
        at = self.times[self.action]
        self.action_line_ = ax.axvline(at, color="k", linestyle="--", label="action")
        for state, name in enumerate(("first state", "second state")):
            ax.plot([], [], color=colors[state], linewidth=5, label=name)
        ax.set(xlabel="Time", yticks=[], ylabel="Candidates")
        self._legend(fontsize=8, loc="upper left")
        return self


def _integers(values, method, shape, least, most):
    """Integers that a method of the estimator, possibly the user's, has returned."""
    name = f"the result of {method} of estimator"
    array = check.shaped(values, name, *shape)
    if not np.all((array >= least) & (array <= most) & (array == np.floor(array))):
        raise ValueError(f"{name} must be integers from {least} to {most}")
    return array.astype(np.int64)
