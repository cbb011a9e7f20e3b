"""Pictures of an alignment; matplotlib is imported when one is drawn."""

from collections.abc import Mapping

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.figures import new_figure
from .._core.validation import check_array_of_numbers, check_choice, check_list
from ._aligner import KnowledgeBaseAligner

EVIDENCE = ("names", "properties", "graph")
MOST_LETTERS = 40  # of a name beside its bar


class MatchEvidenceDisplay:
    """The best partners of an entity as bars, with what names, properties and links add to each.

    Parameters
    ----------
    entity : str
        What the partners are for.
    names : list of str
        Partners, the best first.
    evidence : array-like of shape (n_partners, 3)
        What names, properties and the graph add to the score of each.
    matched : list of bool
        Which of them is the match.
    taken_by : list of str
        To whom each is matched, empty for none.
    threshold : float or None, default=None
        Score that matches are above.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the bars were drawn.
    figure_ : matplotlib Figure
        Its figure.
    bars_ : list of matplotlib BarContainer
        The bars of names, of properties and of the graph.
    threshold_line_ : matplotlib Line2D or None
        The threshold.

    See Also
    --------
    KnowledgeBaseAligner.candidates : The same in numbers, with the neighbours that speak for it.
    AlignmentCurveDisplay : How good the matches are.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn_fw.alignment import KnowledgeBase, KnowledgeBaseAligner, MatchEvidenceDisplay
    >>> one = KnowledgeBase([("m", "actor", "p")], labels={"m": "Blue Night", "p": "Ann Lee"})
    >>> two = KnowledgeBase([("f", "actor", "q")], labels={"f": "Blue Night", "q": "A. Lee"})
    >>> aligner = KnowledgeBaseAligner(threshold=0.1).fit(one, two)
    >>> display = MatchEvidenceDisplay.from_estimator(aligner, "p")
    >>> display.names, display.matched
    (['A. Lee'], [True])
    >>> plt.close(display.figure_)
    """

    def __init__(self, entity, names, evidence, matched, taken_by, threshold=None):
        self.entity, self.names, self.evidence = entity, names, evidence
        self.matched, self.taken_by, self.threshold = matched, taken_by, threshold

    @classmethod
    def from_estimator(cls, estimator, entity1, *, n=5, ax=None):
        """Draw the best partners that a fitted aligner sees for an entity.

        Scores are those beside the final mapping, so that neighbours which were matched later
        count, too.

        Parameters
        ----------
        estimator : KnowledgeBaseAligner
            Fitted.
        entity1 : entity
            Name on the first side.
        n : int, default=5
            Most partners to draw.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : MatchEvidenceDisplay
            With the artists as attributes.
        """
        _check_aligner(estimator)
        found = estimator.candidates(entity1, n)
        if not found:
            raise ValueError(
                f"entity1={entity1!r:.60} shares no word and no matched neighbour with anything, "
                "so there is nothing to draw"
            )
        static = 1.0 - estimator.alpha_
        evidence = [
            [
                static * (1.0 - estimator.beta) * c.string, static * estimator.beta * c.prop,
                estimator.alpha_ * c.graph,
            ]
            for c in found
        ]  # fmt: skip
        names1, names2 = (
            {e: label or str(e) for e, label in zip(kb.entities, kb.labels, strict=True)}
            for kb in (estimator.kb1_, estimator.kb2_)
        )
        taken = ["" if c.taken_by is None else names1[c.taken_by] for c in found]
        return cls(
            names1[entity1], [names2[c.entity2] for c in found], evidence,
            [bool(c.matched) for c in found], taken, float(estimator.threshold),
        ).plot(ax)  # fmt: skip

    def plot(self, ax=None):
        """Draw the bars.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : MatchEvidenceDisplay
            This object.
        """
        evidence = check_array_of_numbers(self.evidence, "evidence")
        n = len(self.names)
        if evidence.shape != (n, 3):
            raise ValueError(f"evidence must have shape ({n}, 3), got {evidence.shape}")
        for name in ("matched", "taken_by"):
            if len(getattr(self, name)) != n:
                raise ValueError(f"{name} holds {len(getattr(self, name))} entries, expected {n}")
        self.figure_, ax = new_figure(self, ax)
        self.ax_, self.bars_, left = ax, [], np.zeros(n)
        for k, kind in enumerate(EVIDENCE):
            self.bars_.append(ax.barh(np.arange(n), evidence[:, k], left=left, label=kind))
            left = left + evidence[:, k]
        ticks = []
        for name, matched, other in zip(self.names, self.matched, self.taken_by, strict=True):
            note = "the match" if matched else f"is {_short(other)}" if other else "unmatched"
            ticks.append(f"{_short(name)}\n({note})")
        ax.set_yticks(np.arange(n), ticks, fontsize=8)
        for label, matched in zip(ax.get_yticklabels(), self.matched, strict=True):
            label.set_fontweight("bold" if matched else "normal")
        ax.invert_yaxis()
        ax.set(xlabel="Score", title=f"Who is {_short(self.entity)}?")
        self.threshold_line_ = None
        if self.threshold is not None and np.isfinite(self.threshold):
            self.threshold_line_ = ax.axvline(
                self.threshold, color="0.3", linestyle="--", label="threshold"
            )
        ax.legend(fontsize=8)
        return self


class AlignmentCurveDisplay:
    """Precision, recall and F1 as matches are made: where a higher threshold would have ended.

    Parameters
    ----------
    precision : array-like of shape (n_points,)
        Precision after each match, the seed alone first.
    recall : array-like of shape (n_points,)
        Recall.
    f1 : array-like of shape (n_points,)
        Their harmonic mean.
    threshold : array-like of shape (n_points,)
        Largest threshold that reaches so far; infinity for the seed alone.
    n_seed : int, default=0
        Matches of the seed.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Where the lines were drawn.
    figure_ : matplotlib Figure
        Its figure.
    lines_ : dict of str to matplotlib Line2D
        The lines, by name.

    See Also
    --------
    KnowledgeBaseAligner.curve : The numbers.
    MatchEvidenceDisplay : What speaks for a match.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from sklearn_fw.alignment import AlignmentCurveDisplay, KnowledgeBase, KnowledgeBaseAligner
    >>> one = KnowledgeBase([("m", "actor", "p")], labels={"m": "Blue Night", "p": "Ann Lee"})
    >>> two = KnowledgeBase([("f", "actor", "q")], labels={"f": "Blue Night", "q": "A. Lee"})
    >>> aligner = KnowledgeBaseAligner(threshold=0.1).fit(one, two)
    >>> display = AlignmentCurveDisplay.from_estimator(aligner, {"m": "f", "p": "q"})
    >>> display.recall
    array([0.5, 1. ])
    >>> plt.close(display.figure_)
    """

    def __init__(self, precision, recall, f1, threshold, n_seed=0):
        self.precision, self.recall, self.f1 = precision, recall, f1
        self.threshold, self.n_seed = threshold, n_seed

    @classmethod
    def from_estimator(cls, estimator, truth, *, against="matches", ax=None):
        """Draw the curve of a fitted aligner.

        Parameters
        ----------
        estimator : KnowledgeBaseAligner
            Fitted, with a threshold below all that are of interest.
        truth : dict or list of pairs
            True matches.
        against : {"matches", "threshold"}, default="matches"
            What is on the horizontal axis: the number of matches, or the threshold.
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.

        Returns
        -------
        display : AlignmentCurveDisplay
            With the artists as attributes.
        """
        _check_aligner(estimator)
        curve = estimator.curve(truth)
        if not isinstance(curve, Mapping):
            raise TypeError(f"curve of estimator must answer a dict, got {type(curve).__name__}")
        return cls(**curve, n_seed=estimator.n_seed_).plot(ax, against=against)

    def plot(self, ax=None, *, against="matches"):
        """Draw the lines.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None makes a new figure.
        against : {"matches", "threshold"}, default="matches"
            What is on the horizontal axis.

        Returns
        -------
        display : AlignmentCurveDisplay
            This object.
        """
        check_choice(against, "against", ("matches", "threshold"))
        threshold = np.asarray(check_list(self.threshold, "threshold", "numbers"), dtype=float)
        values = {}
        for name in ("precision", "recall", "f1"):
            values[name] = check_array_of_numbers(getattr(self, name), name)
            if values[name].shape != threshold.shape:
                raise ValueError(
                    f"{name} must have shape {threshold.shape}, got {values[name].shape}"
                )
        self.figure_, ax = new_figure(self, ax)
        self.ax_, self.lines_ = ax, {}
        if against == "matches":
            places, kept = self.n_seed + np.arange(len(threshold)), slice(None)
        else:
            kept = np.flatnonzero(np.isfinite(threshold))
            places = threshold[kept]
        for name, line in values.items():
            (self.lines_[name],) = ax.plot(
                places, line[kept], label={"f1": "F1"}.get(name, name),
                marker="o" if len(places) < 2 else None,
            )  # fmt: skip
        if against == "threshold":
            ax.invert_xaxis()
        ax.set(xlabel={"matches": "Matches"}.get(against, "Threshold"), ylabel="Share")
        ax.set_ylim(top=1.01)
        ax.legend(fontsize=8)
        return self


def _check_aligner(estimator):
    if not isinstance(estimator, KnowledgeBaseAligner):
        raise TypeError(f"estimator must be a KnowledgeBaseAligner, got {type(estimator).__name__}")
    check_is_fitted(estimator)


def _short(name):
    text = str(name)
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"
