"""Langevin search for adversarial samples, and the ratio of critical samples."""

import numpy as np

from .._validation import check_choice, check_integer, check_random_state
from ._answers import check_classifier, check_inputs
from ._judges import find_judge
from ._scale import check_feature_range, check_radius, check_steps

__all__ = ["GRADIENTS", "OBJECTIVES", "Box", "search"]

GRADIENTS = ("analytic", "auto", "numeric", "search")
OBJECTIVES = ("loss", "margin")
# Rows among which a search without gradients looks for neighbours of other classes.
MOST_GUIDES = 2000
# Other classes towards which the corners of the box are looked into first.
LOOKS = 3


class Box:
    """Rows, the boxes around them, and the judge that looks into these."""

    def __init__(self, estimator, X, *, radius, gradient="auto", feature_range=None):
        self.gradient = check_choice(gradient, "gradient", GRADIENTS)
        estimator = check_classifier(estimator)
        self.X = check_inputs(estimator, X)
        self.radius = check_radius(radius, self.X)
        self.low, self.high = check_feature_range(feature_range, self.X, self.radius)
        self.judge = find_judge(estimator, self.X, gradient, self.radius)
        self.labels = self.judge.labels(self.X)
        self.target, self.sure = self._targets()

    def _targets(self):
        """Numbers of the predicted classes, and whether scores tell what is predicted."""
        scores = self.judge.scores(self.X)
        if scores is None:
            return None, False
        self.n_classes = scores.shape[1]
        codes = self.judge.codes(self.labels)
        if codes.min() < 0:
            raise ValueError("estimator: predict gave labels that are not in its classes_")
        return codes, bool(np.all(scores.argmax(axis=1) == codes))

    def changed(self, Z, rows):
        """Whether points in the boxes of rows have other labels than these, and their scores."""
        scores = self.judge.scores(Z) if self.target is not None else None
        if not self.sure:
            return self.judge.labels(Z) != self.labels[rows], scores
        found = scores.argmax(axis=1) != self.target[rows]
        if found.any():  # the last word is the classifier's
            found[found] = self.judge.labels(Z[found]) != self.labels[rows[found]]
        return found, scores

    def aim(self, rows):
        """What rows are to be moved away from: numbers of classes, or labels where it has none."""
        return (self.labels if self.target is None else self.target)[rows]

    def clip(self, Z, rows):
        """Points moved into the boxes of rows."""
        return np.clip(Z, self.low[rows], self.high[rows])


def search(box, *, step, noise, max_iter, objective, n_restarts, random_state):
    """``(found, n_iter, X_adversarial)`` for all rows of a box; arguments are checked here."""
    check_choice(objective, "objective", OBJECTIVES)
    max_iter = check_integer(max_iter, "max_iter", 1)
    n_restarts = check_integer(n_restarts, "n_restarts", 1)
    steps = check_steps(step, noise, box.radius)
    rng = check_random_state(random_state)
    mover = (Blind if box.judge.kind is None else Langevin)(box, steps, objective, rng)
    n = len(box.X)
    found, n_iter = np.zeros(n, dtype=bool), np.zeros(n, dtype=int)
    best = np.full_like(box.X, np.nan)
    for restart in range(n_restarts):
        rows = np.flatnonzero(~found)
        Z = box.X[rows]
        if restart:
            Z = rng.uniform(box.low[rows], box.high[rows])
        mover.begin(rows)
        for k in range(max_iter):
            if not len(rows):
                break
            moved = box.clip(mover.propose(Z, rows, k), rows)
            changed, scores = box.changed(moved, rows)
            n_iter[rows] += 1
            hits = rows[changed]
            found[hits], best[hits] = True, moved[changed]
            Z = mover.keep(Z, moved, rows, scores)[~changed]
            rows = rows[~changed]
    return found, n_iter, best


class Langevin:
    """Signs of the gradient, and noise: algorithm 1 of the paper.

    Before it, one look each [ours] into the corners of the box towards the best other classes,
    without noise: what settles linear models in one step.
    """

    def __init__(self, box, steps, objective, rng):
        self.box, self.objective, self.rng = box, objective, rng
        self.step, self.noise = steps
        self.n_looks = 0
        if self.step.any():
            self.n_looks = 1 if box.judge.kind == "own" else min(LOOKS, box.n_classes - 1)

    def begin(self, rows):
        """Nothing is remembered of the last start."""

    def propose(self, Z, rows, k):
        """One step from the current points."""
        self.looks = k < self.n_looks
        if self.looks:
            way = self._signs(Z, rows, "loss" if self.box.judge.kind == "own" else k)
            return Z + 2.0 * self.box.radius * way  # clipped to the corner
        move = self.step * self._signs(Z, rows, self.objective) if self.step.any() else 0.0
        if self.noise.any():
            move = move + self.noise * self.rng.standard_normal(Z.shape)
        return Z + move

    def _signs(self, Z, rows, objective):
        ascent = self.box.judge.ascent(Z, self.box.aim(rows), objective)
        if not np.all(np.isfinite(ascent)):
            raise ValueError("estimator has gradients that are NaN or infinite on X")
        return np.sign(ascent)

    def keep(self, Z, moved, rows, scores):
        """Every step is taken; looks are not."""
        return Z if self.looks else moved


class Blind:
    """Search without gradients [ours]: towards rows of other classes, and corners at random.

    Two proposals take turns. One goes from the row to the next neighbour with another label, as
    far as the box lets it. The other sends a random part of the coordinates to random ends of the
    box, half of them at first and fewer later. With scores, a proposal is kept if it lowers the
    margin; without, the second kind starts from the last one.
    """

    def __init__(self, box, steps, objective, rng):
        self.box, self.rng = box, rng
        self.guides = self._guides()

    def _guides(self):
        """Rows to go to, their labels, and the unit in which features are compared."""
        X, labels = self.box.X, self.box.labels
        rows = np.arange(len(X))
        if len(X) > MOST_GUIDES:
            rows = np.sort(self.rng.choice(len(X), MOST_GUIDES, replace=False))
        unit = np.where(self.box.radius > 0.0, self.box.radius, np.inf).ravel()
        return X[rows].reshape(len(rows), -1) / unit, rows, labels[rows], unit

    def begin(self, rows):
        """Neighbours in order, and margins that are not known yet."""
        scaled, guides, labels, unit = self.guides
        self.margin = np.full(len(self.box.X), np.inf)
        self.order = np.full((len(self.box.X), 0), -1)
        most = min(len(guides), 64)
        order = np.full((len(self.box.X), most), -1)
        for first in range(0, len(rows), 256):
            part = rows[first : first + 256]
            own = self.box.X[part].reshape(len(part), -1) / unit
            squares = (own**2).sum(axis=1)[:, None] + (scaled**2).sum(axis=1) - 2 * own @ scaled.T
            squares[self.box.labels[part][:, None] == labels] = np.inf
            near = np.argsort(squares, axis=1, kind="stable")[:, :most]
            far = np.isinf(np.take_along_axis(squares, near, axis=1))
            order[part] = np.where(far, -1, guides[near])
        self.order = order

    def propose(self, Z, rows, k):
        """Towards a neighbour in even iterations, random corners in odd ones."""
        box, moved = self.box, Z.copy()
        if k % 2 == 0 and k // 2 < self.order.shape[1]:
            goals = self.order[rows, k // 2]
            there = goals >= 0
            # The far end of the box in the direction of the neighbour.
            way = np.sign(box.X[goals[there]] - box.X[rows[there]])
            moved[there] = box.X[rows[there]] + way * box.radius
            if there.all():
                return moved
        else:
            there = np.zeros(len(rows), dtype=bool)
        rest = ~there
        share = max(0.5 / (1.0 + k / 8.0), 1.0 / Z[0].size)
        shape = moved[rest].shape
        touched = self.rng.random_sample(shape) < share
        ends = np.where(
            self.rng.random_sample(shape) < 0.5, box.low[rows[rest]], box.high[rows[rest]]
        )
        moved[rest] = np.where(touched, ends, moved[rest])
        return moved

    def keep(self, Z, moved, rows, scores):
        """What has the smaller margin, if scores tell it."""
        if scores is None:
            return moved
        t = self.box.target[rows]
        lines = np.arange(len(rows))
        own = scores[lines, t]
        others = scores.copy()
        others[lines, t] = -np.inf
        margin = own - others.max(axis=1)
        better = margin <= self.margin[rows]
        self.margin[rows[better]] = margin[better]
        return np.where(better.reshape(-1, *[1] * (Z.ndim - 1)), moved, Z)
