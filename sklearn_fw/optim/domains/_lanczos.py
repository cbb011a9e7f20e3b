"""Largest eigenvalues of symmetric operators, with a bound above them."""

import math
from typing import NamedTuple

import numpy as np

MOST_STEPS = 300  # dimension of the space that is searched, which is kept as a dense array
EVERY_STEP = 12  # steps up to which each is looked at; later ones at growing intervals
RISK = 1e-9  # probability that a bound is wrong, over the random part of the start
LIKELY = 0.1  # the same of a likely bound
WARM = 3.0  # length of the guess within the start, where the random part has length one
NEAR = 3  # leading vectors whose sum is the next guess, for the leading one may change
ROUNDING = 4e-15  # of the largest eigenvalue, for each step


class Found(NamedTuple):
    """What is known of the largest eigenvalue: it is from ``value`` to ``bound``.

    After ``n_products`` nine times out of ten it is not above ``likely``, either. ``vector`` is the
    eigenvector, ``near`` a guess for operators that are like this one.
    """

    value: float
    bound: float
    likely: float
    n_products: int
    vector: np.ndarray = None
    near: np.ndarray = None


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
        Whether a `Found` without vectors is good enough.

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
    size = len(noise)
    start = noise
    if guess is not None:
        weight = WARM * np.linalg.norm(noise) / max(np.linalg.norm(guess), 1e-300)
        start = noise + weight * guess
    length = float(np.linalg.norm(start))
    most = min(size, MOST_STEPS)
    basis, diagonal, beside = np.empty((min(most, EVERY_STEP), size)), [], []
    vector, look = start / length, 1
    for step in range(1, most + 1):
        if step > len(basis):
            basis = np.concatenate(
                [basis, np.empty((min(most, 2 * len(basis)) - len(basis), size))]
            )
        basis[step - 1] = vector
        used = basis[:step]
        ahead = product(vector)
        diagonal.append(float(ahead @ vector))
        for _ in range(2):
            ahead = ahead - (used @ ahead) @ used
        beside.append(float(np.linalg.norm(ahead)))
        scale = max(map(abs, diagonal))
        ended = step == most or beside[-1] <= ROUNDING * scale
        if ended or step >= look:
            look = step + 1 if step < EVERY_STEP else math.ceil(1.1 * step)
            values, vectors = _small_eigenproblem(diagonal, beside[:-1])
            found = _judge(values, beside, length)
            if step == size:  # all of the space
                bound = found.value + ROUNDING * step * scale
                found = found._replace(bound=bound, likely=bound)
            if ended or done(found):
                near = vectors[:, -NEAR:].sum(axis=1) @ used
                return found._replace(vector=_unit(vectors[:, -1] @ used), near=near)
        vector = ahead / beside[-1]
    raise AssertionError("the last step returns")


def _small_eigenproblem(diagonal, beside):
    matrix = np.diag(diagonal)
    places = np.arange(len(beside))
    matrix[places + 1, places] = beside
    return np.linalg.eigh(matrix)  # which reads the lower half


def _judge(values, beside, length):
    """Value and bounds from the Ritz values, the off-diagonal entries and the start's length."""
    top, floor = values[-1], ROUNDING * len(values) * max(abs(values[0]), abs(values[-1]), 1e-280)
    below, product = top - values, float(np.log(np.maximum(beside, floor)).sum())
    bounds = []
    for risk in (RISK, LIKELY):
        height = product + math.log(length / (risk * math.sqrt(0.5 * math.pi)))
        # The polynomial is at least this power of the excess.
        low, high = floor, max(math.exp(height / len(values)), floor)
        for _ in range(60):
            if high <= 1.001 * low:
                break
            middle = low * math.sqrt(high / low)
            if np.log(below + middle).sum() < height:
                low = middle
            else:
                high = middle
        bounds.append(float(top + high + floor))
    return Found(float(top), *bounds, len(values))


def _unit(vector):
    """Of length one, and with its largest entry above zero."""
    vector = vector / np.linalg.norm(vector)
    return -vector if vector[np.argmax(np.abs(vector))] < 0.0 else vector
