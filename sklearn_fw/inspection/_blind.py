"""Search for points of other classes without gradients."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge

from .._core import check
from ._adapters import others_of
from ._estimators import NO_PROBABILITY

# Rows that linear models are fitted to, and among which neighbors of other classes are sought.
MOST_GUIDES = 2000
MOST_NEIGHBORS = 64
# Other classes towards which the corners of the box are looked into first.
LOOKS = 3
# Noise beside a direction, relative to its mean entry.
DOUBT = 0.5


class Blind:
    """Search without gradients [ours]: with linear models of the classifier, rows, and chance.

    First come the corners of the box to which linear models point, one of scores and one of labels.
    Then these take turns: the corner towards the next neighbor with another label; the corner down
    a slope, with noise; and, with scores, the point of smallest margin with a random part of its
    entries at random ends of the box. With scores every row has a slope of its own, corrected by
    each new score (least mean squares).
    """

    def __init__(self, box, rng):
        self.box, self.rng, self.turn = box, rng, 0
        n = len(box.X)
        X = box.X.reshape(n, -1)
        spread = X.std(axis=0)
        self.unit = np.where(spread > 0.0, spread, 1.0)
        guides = np.arange(n)
        if n > MOST_GUIDES:  # of each label one at least
            _, first = np.unique(box.labels, return_index=True)
            guides = np.union1d(first, rng.choice(n, MOST_GUIDES, replace=False))
        scaled = (X - X.mean(axis=0)) / self.unit
        self.planes = [_plane_of_labels(scaled, box.labels, guides)]
        self.slope = None
        if box.target is not None:
            self.least = box.scores[box.scores != np.log(NO_PROBABILITY)].min(initial=0.0)
            scores = self._known(box.scores)
            ridge = Ridge(alpha=0.01 * len(guides)).fit(scaled[guides], scores[guides])
            self.planes.insert(0, _Plane(ridge.coef_, box.target, scores))
            self.start = _margins(scores, box.target)
            self.slope = -self.planes[0].way(np.arange(n), 0) * (box.radius.ravel() / self.unit)
        self.planes = [plane for plane in self.planes if plane is not None]
        self.near = self._neighbors(guides)

    def _neighbors(self, guides):
        """Guides with other labels in order of distance, -1 where there are no more."""
        box, n = self.box, len(self.box.X)
        unit = np.where(box.radius > 0.0, box.radius, np.inf).ravel()
        X = box.X.reshape(n, -1) / unit
        near = np.full((n, min(len(guides), MOST_NEIGHBORS)), -1)
        for first in range(0, n, 256):
            own = slice(first, first + 256)
            squares = (X[guides] ** 2).sum(axis=1) - 2 * X[own] @ X[guides].T
            squares[box.labels[own][:, None] == box.labels[guides]] = np.inf
            order = np.argsort(squares, axis=1, kind="stable")[:, : near.shape[1]]
            far = np.isinf(np.take_along_axis(squares, order, axis=1))
            near[own] = np.where(far, -1, guides[order])
        return near

    def _known(self, scores):
        """Scores in which impossible classes are as likely as the least likely of all rows."""
        found = np.where(scores == np.log(NO_PROBABILITY), self.least, scores)
        return np.clip(found, -check.LARGEST, check.LARGEST)

    def propose(self, Z, rows, k):
        """Corners of the boxes of rows, or the current points with some entries at corners."""
        box, turn = self.box, self.turn
        if k == 0:  # a new start: what was proposed already is not proposed again
            self.margin = np.full(len(box.X), np.inf)
        self.turn += 1
        for plane in self.planes:
            if turn < plane.n_looks:
                return self._vertex(rows, plane.way(rows, turn))
            turn -= plane.n_looks
        n_kinds = 2 if self.slope is None else 3
        kind, turn = turn % n_kinds, turn // n_kinds
        if kind == 2:
            touched = self.rng.random_sample(Z.shape) < max(0.3 / (1 + turn / 8), 1 / Z[0].size)
            is_low = self.rng.random_sample(Z.shape) < 0.5
            return np.where(touched, np.where(is_low, box.low[rows], box.high[rows]), Z)
        way = self._leaning(rows)
        if kind == 0 and turn < self.near.shape[1]:
            goals = self.near[rows, turn]
            there = goals >= 0
            steps = box.X[goals[there]] - box.X[rows[there]]
            way[there] = steps.reshape(len(steps), self.unit.size)
        return self._vertex(rows, way)

    def _vertex(self, rows, way):
        X = self.box.X[rows]
        return X + self.box.radius * np.sign(way).reshape(X.shape)

    def _leaning(self, rows):
        if self.slope is not None:
            way = -self.slope[rows]
        elif self.planes:
            plane = self.planes[0]
            way = plane.way(rows, self.rng.randint(plane.n_looks, size=len(rows)))
        else:
            way = np.zeros((len(rows), self.unit.size))
        size = np.abs(way).mean(axis=1, keepdims=True)
        noise = self.rng.standard_normal(way.shape)
        return way + DOUBT * np.where(size > 0.0, size, 1.0) * noise

    def keep(self, Z, moved, rows, scores):
        """Keep the points of smaller margin; the slopes learn from all scores."""
        if scores is None:
            return Z
        box = self.box
        margin = _margins(self._known(scores), box.target[rows])
        radius = np.where(box.radius > 0.0, box.radius, np.inf)
        steps = ((moved - box.X[rows]) / radius).reshape(len(rows), -1)
        squares = (steps**2).sum(axis=1)
        wrong = margin - self.start[rows] - (self.slope[rows] * steps).sum(axis=1)
        self.slope[rows] += (wrong / np.where(squares > 0.0, squares, 1.0))[:, None] * steps
        better = margin <= self.margin[rows]
        self.margin[rows[better]] = margin[better]
        return np.where(better.reshape(-1, *[1] * (Z.ndim - 1)), moved, Z)


class _Plane:
    """A linear model of a classifier: a row of coefficients for each class.

    ``own`` are classes of the rows; the others are in the order of the ``scores``.
    """

    def __init__(self, coef, own, scores):
        self.coef, self.own = coef, own
        self.n_looks = min(LOOKS, len(coef) - 1)
        order = np.argsort(-others_of(scores, own), axis=1, kind="stable")
        self.order = order[:, : self.n_looks]

    def way(self, rows, rank):
        """Directions towards the classes of a rank among the others."""
        return self.coef[self.order[rows, rank]] - self.coef[self.own[rows]]


def _plane_of_labels(X, labels, guides):
    """None where there is one label only."""
    names, own = np.unique(labels, return_inverse=True)
    if len(names) < 2:
        return None
    model = LogisticRegression(max_iter=60, tol=1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a rough direction is enough
        model.fit(X[guides], own[guides])
    coef, scores = model.coef_, model.decision_function(X)
    if len(names) == 2:
        coef = np.concatenate([np.zeros_like(coef), coef])
        scores = np.column_stack([np.zeros(len(X)), scores])
    return _Plane(coef, own, scores)


def _margins(scores, own):
    return scores[np.arange(len(own)), own] - others_of(scores, own).max(axis=1)
