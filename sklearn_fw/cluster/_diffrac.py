"""Discriminative clustering: how well a linear classifier can separate the assigned classes.

For an assignment Z (T, K) of rows to classes, ``h(Z) = min over W, b of ||Z - X W - b||^2 / (2 T) +
reg ||W||^2 / 2`` is a quadratic form, ``<Z, B Z> / (2 T)``, that is convex. It is minimized over
polytopes by the methods of `sklearn_fw.optim`.
"""

import math
import warnings

import numpy as np
from scipy.linalg import eigh
from sklearn.exceptions import ConvergenceWarning

from ..optim import minimize_block_frank_wolfe, minimize_frank_wolfe
from ..optim.objectives import Objective

TINY = 1e-12  # eigenvalues below this share of the largest are zero


class Classifier:
    """The ridge regression of any targets on fixed rows.

    ``root`` has the matrix of fitted values as ``root @ root.T``. With an intercept its first
    column is constant; from the others ``back`` (d, r) makes coefficients of ``root.T @ Z``.
    """

    def __init__(self, X, reg, fit_intercept=True):
        T, d = X.shape
        self.n_constant = int(fit_intercept)
        self.mean = X.mean(axis=0) if fit_intercept else np.zeros(d)
        X = X - self.mean
        # Directions without variance are left out: with a small penalty they are rounding errors.
        values, vectors = eigh(X.T @ X if d <= T else X @ X.T)
        used = values > TINY * max(values[-1], 0.0)
        values, vectors = values[used], vectors[:, used]
        if d > T:
            vectors = X.T @ (vectors / np.sqrt(values))
        self.back = vectors / np.sqrt(values + T * reg)
        self.root = np.hstack([np.full((T, self.n_constant), T**-0.5), X @ self.back])

    def linear(self, images):
        """Coefficients (K, d) and intercepts (K,) for ``root.T @ Z``, transposed."""
        coef = images[:, self.n_constant :] @ self.back.T
        means = images[:, : self.n_constant].sum(axis=1) / np.sqrt(len(self.root))
        return coef, means - coef @ self.mean


class Term:
    """The cost of one assignment within a point.

    ``rows`` and ``columns`` index the assignment's entries for each entry of the slice ``block``.
    """

    def __init__(self, classifier, block, rows, columns, n_classes):
        self.classifier, self.block, self.rows, self.columns = classifier, block, rows, columns
        self.T, self.shape = len(classifier.root), (n_classes, classifier.root.shape[1])

    def alone(self):
        block = slice(0, self.block.stop - self.block.start)
        return Term(self.classifier, block, self.rows, self.columns, self.shape[0])

    def image(self, places, values):
        """``root.T @ Z``, transposed, as a vector."""
        if 4 * len(places) < len(self.rows):
            images = np.zeros(self.shape)
            added = values[:, None] * self.classifier.root[self.rows[places]]
            np.add.at(images, self.columns[places], added)
        else:
            Z = np.zeros((self.T, self.shape[0]))
            Z[self.rows[places], self.columns[places]] = values
            images = Z.T @ self.classifier.root
        return images.ravel()

    def fitted(self, image):
        """What the best classifier answers, (T, K), and itself."""
        images = image.reshape(self.shape)
        return self.classifier.root @ images.T, self.classifier.linear(images)


class Diffrac(Objective):
    """Sum of the costs of assignments, a bilinear coupling of two of them and a linear function.

    The image of a point is the point itself and, for each term, `Term.image`.
    """

    is_quadratic = True

    def __init__(self, terms, coupling=None, linear=None):
        self.terms, self.coupling = terms, coupling
        self.size = terms[-1].block.stop
        self.linear = np.zeros(self.size) if linear is None else linear
        self.parts, end = [], self.size
        for term in terms:
            self.parts.append(slice(end, end + math.prod(term.shape)))
            end = self.parts[-1].stop
        # Second derivative of the image, but for the coupling
        self.weights = np.empty(end)
        for term, part in zip(terms, self.parts):
            self.weights[term.block], self.weights[part] = 1.0 / term.T, -1.0 / term.T

    def image(self, point):
        if isinstance(point, np.ndarray):
            x, places = point, np.flatnonzero(point)
        else:
            x, (places, _) = point.to_array(), point.entries()
        images = [x]
        for term in self.terms:
            begin, end = np.searchsorted(places, [term.block.start, term.block.stop])
            used = places[begin:end]
            images.append(term.image(used - term.block.start, x[used]))
        return np.concatenate(images)

    def slopes(self, image):
        slopes = self._curved(image)
        value = 0.5 * float(slopes @ image) + float(self.linear @ image[: self.size])
        slopes[: self.size] += self.linear
        return value, slopes

    def inner(self, image, others):
        return others @ self._curved(image)

    def _curved(self, image):
        """The second derivative in the image times an image."""
        product = self.weights * image
        if self.coupling is not None:
            first, second = (term.block for term in self.terms)
            product[first] += self.coupling @ image[second]
            product[second] += self.coupling.T @ image[first]
        return product

    def adjoint(self, slopes):
        return self.adjoint_in(slopes, slice(0, self.size))

    def adjoint_in(self, slopes, block):
        gradient = slopes[block].copy()
        for term, part in zip(self.terms, self.parts):
            first = max(block.start, term.block.start)
            last = min(block.stop, term.block.stop)
            if first >= last:
                continue
            own = slice(first - term.block.start, last - term.block.start)
            rows, columns = term.rows[own], term.columns[own]
            begin, end = rows.min(), rows.max() + 1
            answers = term.classifier.root[begin:end] @ slopes[part].reshape(term.shape).T
            gradient[first - block.start : last - block.start] += answers[rows - begin, columns]
        return gradient

    def value(self, point):
        return self.slopes(self.image(point))[0]

    def fitted(self, point):
        """For each term what its best classifier answers, and that."""
        image = self.image(point)
        return [term.fitted(image[part]) for term, part in zip(self.terms, self.parts)]


def start_of(domain, rng, n_vertices):
    """The mean of vertices for random gradients: for equal weights all classifiers are equal."""
    x = np.zeros(domain.size)
    for _ in range(n_vertices):
        domain.lmo(rng.random_sample(domain.size) - 0.5).add_to(x, 1.0 / n_vertices)
    return x


def relaxed(result):
    return {
        "relaxed_objective_": float(result.fun), "gap_": float(result.dual_gap),
        "history_": result.history, "n_iter_": int(result.nit),
    }  # fmt: skip


def relax(objective, domain, *, start, max_iter, tol, rng, algorithm="fw", watch=None, convex=True):
    """Minimize by Frank-Wolfe steps until the gap is a share ``tol`` of the value.

    ``watch(x, n_iter)`` sees each point and selects the result, so a budget that ends before the
    gap is small does not raise a warning.
    """

    def end(state):
        if watch is not None:
            watch(state.x, state.nit)
        return bool(state.dual_gap <= tol * abs(state.fun))

    options = {
        "start": start, "max_iter": max_iter, "tol": 0.0, "callback": end, "step_size": "exact",
        "variant": "fw" if algorithm == "bcfw" else algorithm,
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if algorithm == "bcfw":
            blocks = domain.split() if hasattr(domain, "split") else domain
            options |= {"gap_every": 1, "random_state": rng}
            return minimize_block_frank_wolfe(objective, blocks, **options)
        return minimize_frank_wolfe(objective, domain, convex=convex, **options)
