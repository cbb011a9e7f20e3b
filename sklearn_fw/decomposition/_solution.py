"""Which moments are taken, how many topics, and what they give."""

from typing import NamedTuple

import numpy as np

from .._core.validation import is_auto
from ._moments import GPMoments, LDAMoments, largest_eigenpairs
from ._recover import diagonalize, read_topics
from ._rows import times

MOST_COMPONENTS = 100  # that "auto" looks at
FIXED_LENGTHS = 1.5  # variance of lengths over their mean; 1 for Poisson lengths
# Squared variation of expected lengths below which cumulants may be far off; of LDA moments the
# median negative mass below which they fit: generated documents had up to 0.2, real ones from 0.3.
STEADY_LENGTHS, FITTING = 0.25, 0.25


class NoiseMoments(GPMoments):
    """The second moment beside its diagonal: of shuffled words that is noise alone.

    The diagonal is not: words that come in bursts have variances of their own.
    """

    def __init__(self, rows):
        super().__init__(rows)
        (squares,) = rows.sum(lambda X, weight: (X.multiply(X).T @ weight,))
        variance = (squares - self.n * self.mean**2) / (self.n - 1.0)
        self.diagonal = variance - self.mean

    def matrix(self):
        """S without its diagonal."""
        return super().matrix() - np.diag(self.diagonal)

    def apply(self, V):
        """Product with the same."""
        return super().apply(V) - times(self.diagonal, V)


class Spectrum(NamedTuple):
    """Eigenpairs that are kept, all eigenvalues that were looked at, and the largest of noise."""

    values: np.ndarray
    vectors: np.ndarray
    all_values: np.ndarray
    floor: float | None


class Solution(NamedTuple):
    """What one kind of moments gives."""

    moments: object
    found: object
    cube: np.ndarray
    W: np.ndarray
    values: np.ndarray
    off_diagonality: float
    n_iter: int
    spectrum: Spectrum
    plain: GPMoments


def solve(model, rows, rng):
    """The solution of the moments that were asked for, or of those that fit the lengths."""
    plain = GPMoments(rows)
    if model.moments == "lda":
        return _solve_lda(model, plain, rng)
    _checked(plain)
    if is_auto(model.moments):
        if length_ratio(plain) < FIXED_LENGTHS:
            return _solve_lda(model, plain, rng)
        if _variation(plain) < STEADY_LENGTHS and (fitting := _fitting_lda(model, plain, rng)):
            return fitting
    moments = plain if model.weighting == "equal" else _balanced(plain)
    return _solve_moments(model, plain, moments, _eigenpairs(model, moments, rng), rng)


def _balanced(plain):
    """Cumulants in which long documents count as their tokens do.

    With equal weights it is the square of the length, and its cube for third cumulants: few
    documents would decide.
    """
    mean = plain.mean_length
    rows = plain.rows.weighted(lambda lengths: mean / np.maximum(lengths, mean))
    return GPMoments(rows, plain.n)


def _variation(moments):
    """Variance of expected lengths over their squared mean; that of Poisson counts is taken off."""
    return (moments.length_variance - moments.mean_length) / moments.mean_length**2


def _fitting_lda(model, plain, rng):
    """The solution of LDA moments if they fit, or None."""
    try:
        solution = _solve_lda(model, plain, rng)
    except ValueError:  # too few documents of three tokens, or eigenvalues above zero
        return None
    return solution if np.median(solution.found.negative_mass) < FITTING else None


def _solve_lda(model, plain, rng):
    rows = plain.rows
    if model.weighting != "equal" and plain.mean_length > 0.0:
        # Moments of a document are as accurate as it has tokens.
        rows = rows.weighted(lambda lengths: np.maximum(lengths, 1.0) / plain.mean_length)
    moments = _checked(LDAMoments(rows, None if model.c0 is None else float(model.c0)))
    size, spectrum = model.n_components, None
    if isinstance(size, str):  # the noise floor is one of cumulants
        spectrum = _eigenpairs(model, plain, rng)
        size = len(spectrum.values)
    if moments.c0 is None:
        moments.find_c0(min(size, moments.n_features))
    pairs = _eigenpairs(model, moments, rng, size)
    return _solve_moments(model, plain, moments, pairs, rng, spectrum)


def _solve_moments(model, plain, moments, pairs, rng, spectrum=None):
    values, vectors = pairs.values, pairs.vectors
    W = (vectors / np.sqrt(values)).T
    cube = moments.third(W)
    basis, off, n_iter = diagonalize(
        moments, W, cube, model.algorithm, model.projections, rng, model.moments == "generalized"
    )
    found = read_topics(values, vectors, basis)
    return Solution(moments, found, cube, W, values, off, n_iter, spectrum or pairs, plain)


def _checked(moments):
    if moments.n <= 2.0:
        short = f", beside {moments.n_short} of fewer than three tokens" * bool(moments.n_short)
        raise ValueError(
            f"X has n_samples={moments.n_rows} documents that count{short}, with "
            f"n_features={moments.n_features}, of total sample_weight {moments.n:g}: third "
            "moments need more than 2"
        )
    if not moments.mean_length > 0.0:
        raise ValueError("X has no words: all counts are zero")
    return moments


def _eigenpairs(model, moments, rng, size=None):
    if size is None and isinstance(model.n_components, str):
        return _pairs_above_noise(moments, rng)
    size, largest = int(size or model.n_components), moments.n_features
    if size > largest:
        raise ValueError(
            f"n_components={size} must be at most the number of features, n_features={largest}"
        )
    values, vectors = largest_eigenpairs(moments, size)
    n_positive = int(np.sum(values > 1e-10 * max(abs(values[0]), abs(values[-1]))))
    if n_positive < size:
        raise ValueError(
            f"n_components={size} is more than the moments of X allow: "
            f"eigenvalue {n_positive + 1} of the second moment is {values[n_positive]:.3g} and "
            f"only {n_positive} are positive; take fewer n_components, or other moments"
        )
    return Spectrum(values, vectors, values, None)


def length_ratio(moments):
    return moments.length_variance / moments.mean_length


def _pairs_above_noise(moments, rng):
    """Eigenpairs above the largest eigenvalue that shuffled words have beside their variances."""
    size = min(moments.n_features, MOST_COMPONENTS)
    floor = max(
        largest_eigenpairs(NoiseMoments(moments.rows.shuffled(int(seed))), 1)[0][0]
        for seed in rng.randint(2**31 - 1, size=2)
    )
    values, vectors = largest_eigenpairs(moments, size)
    n_above = int(np.sum(values > max(floor, 1e-10 * abs(values[0]))))
    if not n_above:
        raise ValueError(
            'n_components="auto" finds nothing above the noise: the largest eigenvalue of X is '
            f"{values[0]:.3g}, that of shuffled words {floor:.3g}; give a number of topics"
        )
    return Spectrum(values[:n_above], vectors[:, :n_above], values, float(floor))
