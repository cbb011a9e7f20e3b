"""Largest eigenvalues of symmetric operators, with a bound above them."""

import math
from functools import cached_property

import numpy as np

MOST_STEPS = 300  # dimension of the space that is searched, which is kept as a dense array
EVERY_STEP = 12  # steps up to which each is looked at; later ones at growing intervals
RISK = 1e-9  # probability that a bound is wrong, over the random part of the start
LIKELY = 0.1  # the same of a likely bound
WARM = 3.0  # length of the guess within the start, where the random part has length one
NEAR = 3  # leading vectors whose sum is the next guess, for the leading one may change
ROUNDING = 4e-15  # of the largest eigenvalue, for each step


class Found:
    """What is known of the largest eigenvalue: it is from ``value`` to ``bound``.

    After ``n_products`` nine times out of ten it is not above ``likely``, either. ``vector`` is the
    eigenvector, ``near`` a guess for operators that are like this one. What is costly is found when
    it is asked for.
    """

    def __init__(self, value, n_products, bound, mix):
        self.value, self.n_products = value, n_products
        self._bound, self._mix = bound, mix

    @cached_property
    def bound(self):
        return self._bound(RISK)

    @cached_property
    def likely(self):
        return self._bound(LIKELY)

    @cached_property
    def vector(self):
        """Of length one, and with its largest entry above zero."""
        vector = self._mix(1)
        vector = vector / np.linalg.norm(vector)
        return -vector if vector[np.argmax(np.abs(vector))] < 0.0 else vector

    @cached_property
    def near(self):
        return self._mix(NEAR)


def largest_eigenpair(product, noise, guess, done):
    """Lanczos' method with full orthogonalisation, from a guess and some noise.

    Parameters
    ----------
    product : callable
        Multiplies a vector of shape (size,) with the symmetric operator.
    noise : ndarray of shape (size,)
        Standard normal numbers.
    guess : ndarray of shape (size,) or None
        What may be close to the eigenvector; independent of the noise.
    done : callable
        Whether a `Found` is good enough.

    Returns
    -------
    Found
        With its vectors, ``vector`` of length one.

    Notes
    -----
    The start z has a component of at least ``RISK`` along the eigenvector of the largest eigenvalue
    l, up to that probability, whatever the guess. Step k ends with a unit vector ``p(A) z / ||z||``
    where the roots of the polynomial p are the Ritz values and its first factor is one over the
    product of the off-diagonal entries, and so ``|p(l)| <= ||z|| / RISK``; above its largest root p
    grows without end, which bounds l [1]_.

    References
    ----------
    .. [1] M. E. Hochstenbach, "Probabilistic upper bounds for the matrix two-norm", Journal of
       Scientific Computing 57, 2013.
    """
    size, start = len(noise), noise
    if guess is not None:
        weight = WARM * np.linalg.norm(noise) / max(np.linalg.norm(guess), 1e-300)
        start = noise + weight * guess
    most, basis, closed, look = min(size, MOST_STEPS), np.empty((0, size)), None, 1
    n, scale, block = 0, 0.0, _Block(0, start)
    while True:
        if n == len(basis):
            more = min(most, max(2 * n, EVERY_STEP)) - n
            basis = np.concatenate([basis, np.empty((more, size))])
        basis[n] = block.vector
        n += 1
        ahead = product(block.vector)
        block.diagonal.append(float(ahead @ block.vector))
        ahead = _apart(ahead, basis[:n])
        block.beside.append(float(np.linalg.norm(ahead)))
        scale = max(scale, abs(block.diagonal[-1]))
        is_closed, ended = block.beside[-1] <= ROUNDING * n * scale, n == most
        if is_closed or ended or n >= look:
            look = n + 1 if n < EVERY_STEP else math.ceil(1.1 * n)
            found = block.judge(basis[block.first : n], n, scale, closed, n == size)
            surely = found.value + 3.0 * n * scale * ROUNDING
            if ended or done(found) or (is_closed and found.bound <= surely):
                return found
            if is_closed:
                # The rest is a problem of its own, which another draw begins.
                closed = found
                fresh = np.random.default_rng(n).standard_normal(size)
                block = _Block(n, _apart(fresh, basis[:n]))
                continue
        block.vector = ahead / block.beside[-1]


def _apart(vector, basis):
    """Without its parts along orthonormal rows; the second time for what rounding left."""
    for _ in range(2):
        vector = vector - (basis @ vector) @ basis
    return vector


class _Block:
    """Steps from one start, until these have seen all that the operator makes of it."""

    def __init__(self, first, start):
        self.first, self.length = first, float(np.linalg.norm(start))
        self.vector = start / self.length
        self.diagonal, self.beside = [], []

    def judge(self, basis, n, scale, closed, is_all):
        """What is known after n steps, those of earlier starts included."""
        values, vectors = _small_eigenproblem(self.diagonal, self.beside[:-1])
        value, sizes = float(values[-1]), self.beside.copy()
        floor = n * scale * ROUNDING
        is_lower = closed is not None and closed.value > value

        def bound(risk):
            bound = value + floor if is_all else self._bound(values, sizes, risk, floor)
            return max(bound, closed.value + floor) if is_lower else bound

        def mix(n_leading):
            return vectors[:, -n_leading:].sum(axis=1) @ basis

        if is_lower:
            return Found(closed.value, n, bound, closed._mix)
        return Found(value, n, bound, mix)

    def _bound(self, values, beside, risk, floor):
        """What the largest eigenvalue is not above, from the values that steps have seen."""
        floor = max(floor, 1e-280)
        below = values[-1] - values
        height = math.log(self.length / (risk * math.sqrt(0.5 * math.pi)))
        height += float(np.log(np.maximum(beside, floor)).sum())
        # The polynomial is at least this power of the excess, and its logarithm is convex in that
        # of the excess: Newton's method stays above the root.
        lowest, log_excess = math.log(floor), height / len(values)
        for _ in range(60):
            if log_excess <= lowest:
                break
            excess = math.exp(min(log_excess, 700.0))
            reached = below + excess
            move = (float(np.log(reached).sum()) - height) / float((excess / reached).sum())
            if move <= 1e-3:
                break
            log_excess -= move
        return float(values[-1] + math.exp(min(max(log_excess, lowest), 700.0)) + floor)


def _small_eigenproblem(diagonal, beside):
    matrix = np.diag(diagonal)
    places = np.arange(len(beside))
    matrix[places + 1, places] = beside
    return np.linalg.eigh(matrix)  # which reads the lower half
