"""Pictures of scripts, of steps in time and of states; matplotlib is imported when one is drawn."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.figures import new_figure
from .._core.validation import check_array_of_numbers, check_integer, check_list
from ._aligner import SequenceAligner
from ._clips import check_sequences
from ._ordered import OrderedDiscriminativeClustering
from ._state_problem import Clips
from ._states import JointStateActionClustering

MOST_LETTERS = 12  # of a token in a cell
STATES = ("C0", "C1")  # colours of the two states


class AlignedScriptDisplay:
    """Aligned sequences as a table: a row each, and a column for each step of their template.

    Parameters
    ----------
    names : list of str
        Steps, in order.
    cells : list of list of str
        For each sequence the token at each step, empty for none.
    support : list of int
        Number of sequences that have each step.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the table was drawn.
    figure_ : matplotlib Figure
        Its figure.
    image_ : matplotlib AxesImage
        The cells, coloured by the support of their step.
    texts_ : list of matplotlib Text
        The tokens in the cells.

    See Also
    --------
    SequenceAligner : Finds the template.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn_fw.cluster import AlignedScriptDisplay, SequenceAligner
    >>> lines = [list("abc"), list("acx"), list("abc")]
    >>> aligner = SequenceAligner(3, random_state=0).fit(lines)
    >>> display = AlignedScriptDisplay.from_estimator(aligner, lines)
    >>> display.cells[1]
    ['a', '', 'c']
    >>> plt.close(display.figure_)
    """

    def __init__(self, names, cells, support):
        self.names, self.cells, self.support = names, cells, support

    @classmethod
    def from_estimator(cls, estimator, sequences, *, ax=None):
        """Draw sequences beside the template of a fitted aligner.

        Parameters
        ----------
        estimator : SequenceAligner
            Fitted.
        sequences : list of list
            Tokens of each sequence.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : AlignedScriptDisplay
            With the artists as attributes.
        """
        _check_kind(estimator, SequenceAligner)
        sequences = [
            check_list(tokens, f"sequences[{n}]", "tokens")
            for n, tokens in enumerate(check_list(sequences, "sequences", "lists of tokens"))
        ]
        found = check_list(estimator.predict(sequences), "predict of estimator", "arrays")
        if len(found) != len(sequences):
            raise ValueError(
                f"predict of estimator answers {len(found)} arrays to {len(sequences)} sequences"
            )
        cells = []
        for tokens, labels in zip(sequences, found):
            row = [""] * estimator.n_steps_
            labels = _check_answer(labels, "predict", (len(tokens),), -1, len(row) - 1)
            for token, label in zip(tokens, labels.tolist()):
                if label >= 0:
                    row[label] = str(token)
            cells.append(row)
        names = [str(name) for name in estimator.step_names_]
        return cls(names, cells, estimator.support_.tolist()).plot(ax)

    def plot(self, ax=None):
        """Draw the table.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : AlignedScriptDisplay
            This object.
        """
        if not self.names or not self.cells:
            raise ValueError("there are no steps to draw")
        self.figure_, self.ax_ = ax_of = new_figure(self, ax)
        ax = ax_of[1]
        there = np.array([[bool(cell) for cell in row] for row in self.cells])
        share = np.where(there, np.array(self.support, float), np.nan)
        self.image_ = ax.imshow(share, aspect="auto", cmap="Blues", vmin=0, alpha=0.6)
        self.texts_ = [
            ax.text(k, n, cell[:MOST_LETTERS], ha="center", va="center", fontsize=8)
            for n, row in enumerate(self.cells)
            for k, cell in enumerate(row)
            if cell
        ]
        labels = [f"{name[:MOST_LETTERS]}\n({n})" for name, n in zip(self.names, self.support)]
        ax.set_xticks(np.arange(len(labels)), labels, fontsize=8)
        ax.xaxis.tick_top()
        ax.set_yticks(np.arange(len(self.cells)))
        ax.set_ylabel("Sequence")
        ax.set_xlabel("Step, and the sequences that have it")
        ax.xaxis.set_label_position("top")
        return self


class StepsDisplay:
    """Steps on the time lines of sequences.

    Parameters
    ----------
    locations : array-like of shape (n_sequences, n_steps)
        Row of each step in each sequence.
    intervals_true : array-like of shape (n_sequences, n_steps, 2) or None, default=None
        First and last row where each step truly is, -1 where it is missing.
    names : list of str or None, default=None
        Names of steps; None takes numbers.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the lines were drawn.
    figure_ : matplotlib Figure
        Its figure.
    points_ : list of matplotlib PathCollection
        The places of each step.

    See Also
    --------
    OrderedDiscriminativeClustering : Finds the places.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn_fw.cluster import StepsDisplay
    >>> display = StepsDisplay([[1, 5], [0, 7]], names=["cut", "fry"]).plot()
    >>> len(display.points_)
    2
    >>> plt.close(display.figure_)
    """

    def __init__(self, locations, intervals_true=None, names=None):
        self.locations, self.intervals_true, self.names = locations, intervals_true, names

    @classmethod
    def from_estimator(cls, estimator, X, *, intervals_true=None, names=None, ax=None):
        """Draw where a fitted estimator finds its steps.

        Parameters
        ----------
        estimator : OrderedDiscriminativeClustering
            Fitted.
        X : list of array-like of shape (n_rows_i, n_features)
            Sequences.
        intervals_true : array-like of shape (n_sequences, n_steps, 2), default=None
            First and last row where each step truly is, -1 where it is missing.
        names : list of str, default=None
            Names of steps.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : StepsDisplay
            With the artists as attributes.
        """
        _check_kind(estimator, OrderedDiscriminativeClustering)
        if not hasattr(X, "ndim"):
            X = check_list(X, "X", "arrays, one per sequence")
        lengths = np.diff(check_sequences(X, n_features=estimator.n_features_in_)[1])
        shape, last = (len(lengths), len(estimator.coef_)), int(lengths.max()) - 1
        found = _check_answer(estimator.localize(X), "localize", shape, 0, last)
        return cls(found, intervals_true, names).plot(ax)

    def plot(self, ax=None):
        """Draw the lines.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : StepsDisplay
            This object.
        """
        locations = np.asarray(self.locations)
        if locations.ndim != 2 or locations.dtype.kind not in "iuf":
            raise ValueError(f"locations must be a table of numbers, got shape {locations.shape}")
        n_steps = locations.shape[1]
        names = [f"step {k}" for k in range(n_steps)]
        if self.names is not None:
            names = check_list(self.names, "names", "text")
            if strange := [name for name in names if not isinstance(name, str)]:
                raise TypeError(f"names must hold text, got {strange[0]!r:.80}: take str of each")
        if len(names) != n_steps:
            raise ValueError(f"names holds {len(names)} names, but there are {n_steps} steps")
        truth = np.empty((len(locations), 0, 2))
        if self.intervals_true is not None:
            truth = check_array_of_numbers(self.intervals_true, "intervals_true")
        if truth.ndim != 3 or truth.shape[::2] != (len(locations), 2):
            raise ValueError(
                f"intervals_true must have shape ({len(locations)}, n_steps, 2), got {truth.shape}"
            )
        self.figure_, self.ax_ = new_figure(self, ax)
        rows, self.points_ = np.arange(len(locations)), []
        for k, name in enumerate(names):
            colour = f"C{k % 10}"
            if k < truth.shape[1]:
                first, last = truth[:, k].T
                there = first >= 0
                self.ax_.barh(
                    rows[there], (last - first + 1)[there], left=first[there] - 0.5, height=0.8,
                    color=colour, alpha=0.3,
                )  # fmt: skip
            found = self.ax_.scatter(
                locations[:, k], rows, s=14, color=colour, label=name, zorder=3
            )
            self.points_.append(found)
        self.ax_.set(xlabel="Row", ylabel="Sequence")
        self.ax_.invert_yaxis()
        self.ax_.legend(
            ncols=min(n_steps, 5), fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1)
        )
        return self


class StateActionDisplay:
    """Candidates of one clip in time, in the colours of their states, and the action.

    Parameters
    ----------
    start : array-like of shape (n_candidates,)
        When each begins.
    end : array-like of shape (n_candidates,)
        When each ends.
    states : array-like of shape (n_candidates,), integer
        0, 1 or -1 for none.
    times : array-like of shape (n_rows,)
        Times of rows.
    scores : array-like of shape (n_rows,)
        How much each row looks like the action.
    action : int
        Row of the action.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where it was drawn.
    figure_ : matplotlib Figure
        Its figure.
    bars_ : list of matplotlib Line2D
        The candidates.
    action_line_ : matplotlib Line2D
        The action.

    See Also
    --------
    JointStateActionClustering : Finds both.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn_fw.cluster import StateActionDisplay
    >>> display = StateActionDisplay([0, 3], [1, 4], [0, 1], [0, 1, 2, 3], [0, 0, 1, 0], 2).plot()
    >>> len(display.bars_)
    2
    >>> plt.close(display.figure_)
    """

    def __init__(self, start, end, states, times, scores, action):
        self.start, self.end, self.states = start, end, states
        self.times, self.scores, self.action = times, scores, action

    @classmethod
    def from_estimator(cls, estimator, clips, index=0, *, ax=None):
        """Draw one clip as a fitted estimator sees it.

        Parameters
        ----------
        estimator : JointStateActionClustering
            Fitted.
        clips : list of dict
            Clips.
        index : int, default=0
            Which of them.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : StateActionDisplay
            With the artists as attributes.
        """
        _check_kind(estimator, JointStateActionClustering)
        clips = check_list(clips, "clips", "dicts")
        data, index = Clips(clips), check_integer(index, "index", 0)
        if index >= len(clips):
            raise ValueError(f"index == {index}, but there are {len(clips)} clips")
        found = estimator.predict([clips[index]])
        rows = slice(*data.row_starts[index : index + 2])
        own = slice(*data.starts[index : index + 2])
        times, n_candidates = data.t_action[rows], own.stop - own.start
        answer = estimator.decision_function([clips[index]])
        scores = check_array_of_numbers(
            getattr(answer, "actions", None), "actions of decision_function of estimator"
        )
        if scores.shape != times.shape:
            raise ValueError(
                f"decision_function of estimator answers actions of shape {scores.shape}, expected "
                f"{times.shape}"
            )
        states = check_list(getattr(found, "state_labels", None), "predict of estimator", "states")
        if len(states) != 1:
            raise ValueError(f"predict of estimator answers {len(states)} clips, expected 1")
        states = _check_answer(states[0], "predict", (n_candidates,), -1, 1)
        action = getattr(found, "action_locations", None)
        action = _check_answer(action, "predict", (1,), 0, len(times) - 1)
        return cls(
            data.begin[own], data.end[own], states, times, scores, int(action[0])
        ).plot(ax)  # fmt: skip

    def plot(self, ax=None):
        """Draw the clip.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : StateActionDisplay
            This object.
        """
        self.figure_, self.ax_ = new_figure(self, ax)
        order, self.bars_ = np.argsort(np.asarray(self.start), kind="stable"), []
        for level, i in enumerate(order.tolist()):
            state = int(self.states[i])
            colour = STATES[state] if state >= 0 else "0.8"
            (bar,) = self.ax_.plot(
                [self.start[i], self.end[i]], [level, level], color=colour, linewidth=5,
                solid_capstyle="butt",
            )  # fmt: skip
            self.bars_.append(bar)
        scores, n = np.asarray(self.scores, float), len(order)
        spread = max(np.ptp(scores), 1e-12)
        self.ax_.fill_between(
            self.times, -0.25 * n + 0.2 * n * (scores - scores.min()) / spread, -0.25 * n,
            color="0.6", step="mid", label="score of the action",
        )  # fmt: skip
        at = self.times[self.action]
        self.action_line_ = self.ax_.axvline(at, color="k", linestyle="--", label="action")
        for state, name in enumerate(("first state", "second state")):
            self.ax_.plot([], [], color=STATES[state], linewidth=5, label=name)
        self.ax_.set(xlabel="Time", yticks=[], ylabel="Candidates")
        self.ax_.legend(fontsize=8, loc="upper left")
        return self


def _check_kind(estimator, cls):
    if not isinstance(estimator, cls):
        raise TypeError(f"estimator must be a {cls.__name__}, got {type(estimator).__name__}")
    check_is_fitted(estimator)


def _check_answer(values, method, shape, least, most):
    """Integers that a method of the estimator, which may be a user's own, has answered."""
    name = f"what {method} of estimator answers"
    array = check_array_of_numbers(values, name)
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    if not np.all((array >= least) & (array <= most) & (array == np.floor(array))):
        raise ValueError(f"{name} must be integers from {least} to {most}")
    return array.astype(np.int64)
