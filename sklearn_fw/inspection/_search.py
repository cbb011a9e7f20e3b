"""Langevin search for adversarial samples, and the ratio of critical samples."""

import numpy as np

from .._core.validation import check_choice, check_integer, check_random_state
from ._answers import check_classifier, check_inputs
from ._blind import LOOKS, Blind
from ._judges import find_judge
from ._scale import check_feature_range, check_radius, check_steps

GRADIENTS = ("analytic", "auto", "numeric", "search")
OBJECTIVES = ("loss", "margin")


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
        self.scores = scores = self.judge.scores(self.X)
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
    blind = box.judge.kind is None
    mover = Blind(box, rng) if blind else Langevin(box, steps, objective, rng)
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
