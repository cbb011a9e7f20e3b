"""Figures of an alignment."""

import numpy as np

from .._core import check
from .._core.figures import Display, check_fitted, check_vectors
from ._aligner import KnowledgeBaseAligner

MOST_LETTERS = 40  # of a name next to its bar


class MatchEvidenceDisplay(Display):
    """Bar plot of the best candidates of an entity, by contribution to their scores.

    Shows why an entity was matched or not. Create it with `from_estimator`.

    Parameters
    ----------
    entity, names : str and list of str
        Entity, and its candidates, the best first.
    evidence : array-like of shape (n_candidates, 3)
        Contributions of names, properties and the graph to the score of each.
    matched, taken_by : list of bool and list of str
        True for the match; and the entity that each is matched to, empty for none.
    threshold : float or None, default=None
        Lowest score of matches.

    Attributes
    ----------
    figure_, ax_ : matplotlib Figure and Axes
        Where the bars were drawn.
    bars_, threshold_line_ : list of matplotlib BarContainer, and Line2D or None
        The bars of names, of properties and of the graph; and the threshold.

    Examples
    --------
    >>> from sklearn_fw.alignment import KnowledgeBase, KnowledgeBaseAligner, MatchEvidenceDisplay
    >>> one = KnowledgeBase([("m", "actor", "p")], labels={"m": "Blue Night", "p": "Ann Lee"})
    >>> two = KnowledgeBase([("f", "actor", "q")], labels={"f": "Blue Night", "q": "A. Lee"})
    >>> aligner = KnowledgeBaseAligner(threshold=0.1).fit(one, two)
    >>> MatchEvidenceDisplay.from_estimator(aligner, "p").names
    ['A. Lee']
    """

    def __init__(self, entity, names, evidence, matched, taken_by, threshold=None):
        self.entity, self.names, self.evidence = entity, names, evidence
        self.matched, self.taken_by, self.threshold = matched, taken_by, threshold

    @classmethod
    def from_estimator(cls, estimator, entity1, *, n=5, ax=None):
        """Draw the best candidates of an entity by the final mapping of a fitted aligner.

        Neighbors that were matched after the entity count, too.

        Parameters
        ----------
        estimator, entity1 : fitted KnowledgeBaseAligner, and entity of its first side
            Aligner and entity.
        n : int, default=5
            Most candidates to draw.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a new figure.
        """
        found = check_fitted(estimator, kind=KnowledgeBaseAligner).candidates(entity1, n)
        if not found:
            raise ValueError(f"entity1={entity1!r:.60} shares no word and no matched neighbor")
        static, beta = 1.0 - estimator.alpha_, estimator.beta
        weights = np.array([static * (1.0 - beta), static * beta, estimator.alpha_])
        sides = (zip(kb.entities, kb.labels) for kb in (estimator.kb1_, estimator.kb2_))
        names1, names2 = ({e: label or str(e) for e, label in side} for side in sides)
        return cls(
            names1[entity1],
            [names2[c.entity2] for c in found],
            [(weights * [c.string, c.prop, c.graph]).tolist() for c in found],
            [bool(c.matched) for c in found],
            ["" if c.taken_by is None else names1[c.taken_by] for c in found],
            float(estimator.threshold),
        ).plot(ax)

    def plot(self, ax=None):
        n = len(self.names)
        evidence = check.shaped(self.evidence, "evidence", n, 3)
        for name in ("matched", "taken_by"):
            if (found := len(getattr(self, name))) != n:
                raise ValueError(f"{name} holds {found} entries, expected {n}")
        ticks = []
        for name, matched, other in zip(self.names, self.matched, self.taken_by, strict=True):
            note = "the match" if matched else f"is {_short(other)}" if other else "unmatched"
            ticks.append(f"{_short(name)}\n({note})")
        ax, self.bars_, left = self._axes(ax), [], np.zeros(n)
        for part, label in zip(evidence.T, ("names", "properties", "graph")):
            style = {"left": left, "label": label}
            self.bars_.append(self._bars(ax, part, ticks, style, xlabel="Score"))
            left = left + part
        for label, matched in zip(ax.get_yticklabels(), self.matched, strict=True):
            label.set_fontweight("bold" if matched else "normal")
        ax.set_title(f"Who is {_short(self.entity)}?")
        self.threshold_line_ = None
        if self.threshold is not None and np.isfinite(self.threshold):
            style = {"color": "0.3", "linestyle": "--", "label": "threshold"}
            self.threshold_line_ = ax.axvline(self.threshold, **style)
        self._legend(fontsize=8)
        return self


class AlignmentCurveDisplay(Display):
    """Precision, recall and F1 by the number of matches, from high to low threshold.

    Parameters
    ----------
    precision, recall, f1 : array-like of shape (n_points,)
        Precision, recall and their harmonic mean after each match, the seed alone first.
    threshold : array-like of shape (n_points,)
        Largest threshold that reaches each point; infinity for the seed alone.
    n_seed : int, default=0
        Matches of the seed.

    Attributes
    ----------
    figure_, ax_, lines_ : matplotlib Figure, Axes and dict of str to Line2D
        Where the lines were drawn, and the lines by name.

    Examples
    --------
    >>> from sklearn_fw.alignment import AlignmentCurveDisplay, KnowledgeBase, KnowledgeBaseAligner
    >>> one = KnowledgeBase([("m", "actor", "p")], labels={"m": "Blue Night", "p": "Ann Lee"})
    >>> two = KnowledgeBase([("f", "actor", "q")], labels={"f": "Blue Night", "q": "A. Lee"})
    >>> aligner = KnowledgeBaseAligner(threshold=0.1).fit(one, two)
    >>> AlignmentCurveDisplay.from_estimator(aligner, {"m": "f", "p": "q"}).recall
    array([0.5, 1. ])
    """

    def __init__(self, precision, recall, f1, threshold, n_seed=0):
        self.precision, self.recall, self.f1 = precision, recall, f1
        self.threshold, self.n_seed = threshold, n_seed

    @classmethod
    def from_estimator(cls, estimator, truth, *, against="matches", ax=None):
        """Draw the curve of a fitted aligner.

        Parameters
        ----------
        estimator, truth : fitted KnowledgeBaseAligner, and dict or list of pairs
            Aligner with a threshold below all that are of interest, and true matches.
        against : {"matches", "threshold"}, default="matches"
            Horizontal axis: the number of matches, or the threshold.
        ax : matplotlib Axes, default=None
            Axes to draw into; None makes a new figure.
        """
        curve = check_fitted(estimator, kind=KnowledgeBaseAligner).curve(truth)
        check.instance(curve, "curve of estimator", dict)  # of a subclass
        return cls(**curve, n_seed=estimator.n_seed_).plot(ax, against=against)

    def plot(self, ax=None, *, against="matches"):
        check.choice(against, "against", ("matches", "threshold"))
        names = ("precision", "recall", "f1")
        values = check_vectors(**{name: getattr(self, name) for name in names})
        threshold = check_vectors(None, precision=values[0], threshold=self.threshold)[1]
        kept = np.isfinite(threshold) if against == "threshold" else np.ones(len(threshold), bool)
        places = threshold if against == "threshold" else self.n_seed + np.arange(len(threshold))
        style = {"marker": "o" if kept.sum() < 2 else None}
        labels = {"xlabel": against.capitalize(), "ylabel": "Fraction"}
        curves = dict(zip(("precision", "recall", "F1"), (line[kept] for line in values)))
        self._axes(ax)
        self.lines_ = dict(zip(names, self._curves(places[kept], curves, style, **labels)))
        if against == "threshold" and not self.ax_.xaxis_inverted():
            self.ax_.invert_xaxis()
        self.ax_.set_ylim(top=1.01)
        self._legend(fontsize=8)
        return self


def _short(name):
    text = str(name)
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"
