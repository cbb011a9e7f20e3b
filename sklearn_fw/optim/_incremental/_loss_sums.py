"""Sums over rows, and their derivatives, at points that hold coefficients and intercepts."""

from itertools import combinations_with_replacement

import numpy as np
import scipy.sparse as sp

from ..._kernels import lazy
from . import _finite_sum as finite_sum

sums = lazy("common.sums")

# Columns up to which matrices precondition.
COLUMNS = 1000
# What preconditions: the diagonal of each output, a matrix for all of them, or one for each.
DIAGONAL, SHARED, OWN = range(3)
# Share of the largest curvature that is assumed where losses are straighter: where its slope is not
# zero a model must be bent, if only for the step to be too long.
BENT = 1e-10


class LossSums:
    """Sums over rows at points: arrays of a row per column and one, the last, of intercepts.

    Scores and slopes at the last two points are kept, and scores along the last direction. Copies
    of these are known by their numbers: every task on a cluster brings its own.
    """

    def __init__(self, problem):
        self.problem = problem
        self._kept = []  # the last points, with their scores, losses and slopes
        self._along = None, None
        self._bent = None, None, None

    def _at(self, point, scores=None):
        """Scores, losses and slopes at a point."""
        for known, *found in self._kept:
            if same(known, point):
                return found
        if scores is None:
            scores = self.problem.centered_scores(*parted(point, self.problem))
        losses, slopes = self.problem.losses_and_slopes(scores)
        self._kept = [*self._kept[-1:], (point, scores, losses, slopes)]
        return scores, losses, slopes

    def evaluate(self, point, before=None, move=None, length=0.0):
        """Sum of the losses and its gradient at ``point``, which is ``before + length * move``."""
        if before is not None:
            scores = self._at(before)[0]
            self._kept.sort(key=lambda kept: same(kept[0], before))  # the other one goes
            if not same(self._along[0], move):
                self._along = move, self.problem.scores(*parted(move, self.problem))
            self._at(point, scores + length * self._along[1])
        _, losses, slopes = self._at(point)
        return losses, self._gradient(point, slopes)

    def slopes(self, point):
        return self._at(point)[2]

    def _gradient(self, like, slopes):
        gradient = np.zeros_like(like)
        gradient[:-1] = self.problem.gradient(slopes).reshape(like[:-1].shape)
        if self.problem.fit_intercept:
            gradient[-1] = slopes.sum(axis=0)
        return gradient

    def curvature(self, point, damping):
        """`Curvature` of the losses plus ``damping`` times the largest that there can be."""
        if not same(self._bent[0], point) or self._bent[1] != damping:
            problem = self.problem
            scores, _, slopes = self._at(point)
            curvature = finite_sum.Curvature(problem, scores, slopes)
            largest = problem.loss.smoothness * problem.weights
            largest = largest if curvature.rows.ndim == 1 else largest[:, None]
            curvature.rows = np.maximum(curvature.rows + damping * largest, BENT * largest)
            self._bent = point, damping, curvature
        return self._bent[2]

    def bend(self, point, damping, level):
        """`Bend` of the curvatures of the outputs."""
        problem = self.problem
        h = self.curvature(point, damping).rows.reshape(problem.n_rows, -1)
        is_matrix = level != DIAGONAL and problem.n_columns <= COLUMNS
        h = h.mean(axis=1, keepdims=True) if is_matrix and level == SHARED else h
        return bend_of(problem, h, is_matrix)

    def columns(self, as_matrix=False):
        return bend_of(self.problem, self.problem.weights[:, None], as_matrix)

    def matrix(self, point, damping, columns, center):
        """Second derivatives by coefficients of columns about a center, and by intercepts.

        Two outputs, each followed by a column, or the last for the intercept, are the indices.
        """
        problem, curvature = self.problem, self.curvature(point, damping)
        n_outputs, size = point.shape[1], len(columns) + 1
        total = np.empty((n_outputs, size, n_outputs, size))
        X = problem.X
        if sp.issparse(X) and n_outputs > 1 and len(columns) < problem.n_columns:
            X, columns = X[:, columns], None  # once for all pairs
        for l, k in combinations_with_replacement(range(n_outputs), 2):
            products = finite_sum.second_moments(X, curvature.between(k, l), center, columns)
            total[k, :, l] = total[l, :, k] = products if k == l else -products
        return total

    def product(self, point, damping, move):
        """Second derivatives of the losses times ``move``."""
        problem, curvature = self.problem, self.curvature(point, damping)
        if problem.n_outputs is None and sp.issparse(problem.X):
            X, product = problem.X, np.zeros_like(move)
            h, out = curvature.rows, product[:, 0]
            sums.add_products(X.data, X.indices, X.indptr, h, move[:, 0], out)
            product[-1] *= problem.fit_intercept
            return product
        return self._gradient(move, curvature.apply(problem.scores(*parted(move, problem))))


def same(a, b):
    return a is b or np.array_equal(a, b)


class Bend:
    """Sums of curvatures h_i, squares of the rows and h-weighted mean rows, for several outputs.

    Squares are matrices, about the means if there are any (None without intercept), or the sums of
    squares of columns.
    """

    def __init__(self, mass, squares, mean):
        self.mass, self.squares, self.mean = mass, squares, mean

    def __add__(self, other):
        mass, squares, mean = self.mass + other.mass, self.squares + other.squares, self.mean
        if mean is not None:
            share = np.divide(other.mass, mass, out=np.zeros_like(mass), where=mass > 0.0)[:, None]
            apart = other.mean - mean
            if squares.ndim == 3:
                squares += (self.mass[:, None] * share * apart)[:, :, None] * apart[:, None, :]
            mean = mean + share * apart
        return Bend(mass, squares, mean)


def bend_of(problem, h, as_matrix):
    """The `Bend` of curvatures h (n_rows, n_outputs)."""
    mass = h.sum(axis=0)
    if as_matrix:
        products = [finite_sum.weighted_products(problem, own) for own in h.T]
        squares, mean = map(np.array, zip(*products, strict=True))
    else:
        squares = finite_sum.sums_of_squares(problem.X, h).T
        mean = (problem.gradient(h) / np.where(mass > 0.0, mass, 1.0)).T
    return Bend(mass, squares, mean if problem.fit_intercept else None)


def joined(coef, intercept):
    """The array that `LossSums` takes as a point, which `parted` takes apart."""
    coef = coef.reshape(len(coef), -1)
    point = np.empty((len(coef) + 1, coef.shape[1]))
    point[:-1], point[-1] = coef, intercept
    return point


def parted(point, problem):
    coef, intercept = point[:-1], point[-1]
    return (coef, intercept) if problem.n_outputs else (coef[:, 0], intercept[0])
