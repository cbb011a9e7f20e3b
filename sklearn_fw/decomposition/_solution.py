"""Which moments are taken, how many topics, and topics and their prior from whitened moments."""

from collections import namedtuple

import numpy as np
from scipy.optimize import nnls

from .._core import check
from ._diagonalization import jacobi, judged, tensor_power_method
from ._moments import GPMoments, LDAMoments, generalized_targets, largest_eigenpairs
from ._rows import ShuffledRows, check_enough

MOST_COMPONENTS = 100  # that "auto" looks at
FIXED_LENGTHS = 1.5  # variance of lengths over their mean; 1 for Poisson lengths
# Squared variation of expected lengths below which cumulants may be far off; of LDA moments the
# median negative mass below which they fit: generated documents had up to 0.2, real ones from 0.3.
STEADY_LENGTHS, FITTING = 0.25, 0.25
GENERALIZED_SCALE = 0.05  # larger exponents leave the range where weights vary little
TURNS = 1e-4  # noise of any corpus turns further
LEAST, MOST = 1e-3, 1e4  # concentrations
SMALL_SHARE = 1e-3  # projections that say less than this share of the largest are left out


class NoiseMoments(GPMoments):
    """The second moment off its diagonal: of shuffled words that is noise alone.

    The diagonal is not: words that come in bursts have variances of their own.
    """

    def __init__(self, rows):
        super().__init__(rows)
        (squares,) = rows.sum(lambda X, weight: (X.multiply(X).T @ weight,))
        self.variance = (squares - self.n * self.mean**2) / (self.n - 1.0)

    def _second(self):
        return *super()._second()[:3], self.variance


# Eigenpairs that are kept, all eigenvalues that were looked at, and the largest of noise.
Spectrum = namedtuple("Spectrum", "values vectors all_values floor")
Solution = namedtuple(
    "Solution", "moments found cube W values off_diagonality n_iter spectrum plain"
)  # fmt: skip
# Columns (n_features, K) that sum to one and with signs, eigenvectors (K, K) with these signs, and
# the variance and negative mass (K,) of each topic.
Topics = namedtuple("Topics", "topics raw basis variance negative_mass")


def solve(model, rows, rng):
    plain = GPMoments(rows)
    if model.moments == "lda":
        return _solve_lda(model, plain, rng)
    mean = _checked(plain).mean_length
    # This prior is made of cumulants.
    if check.is_auto(model.moments) and model.prior_estimator != "mean_variance":
        if length_ratio(plain) < FIXED_LENGTHS:
            return _solve_lda(model, plain, rng)
        # The variance of Poisson counts, which is their mean, is taken off.
        steady = (plain.length_variance - mean) / mean**2 < STEADY_LENGTHS
        if steady and (fitting := _fitting_lda(model, plain, rng)):
            return fitting
    moments = plain
    if model.weighting != "equal":  # with equal weights a few long documents would decide
        rows = plain.rows.weighted(lambda lengths: mean / np.maximum(lengths, mean))
        moments = GPMoments(rows, plain.n)
    if check.is_auto(model.n_components):
        pairs = _pairs_above_noise(moments, rng)
    else:
        pairs = _eigenpairs(moments, model.n_components)
    return _solve_moments(model, plain, moments, pairs, rng)


def _fitting_lda(model, plain, rng):
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
    if check.is_auto(size):  # the noise floor is one of cumulants
        spectrum = _pairs_above_noise(plain, rng)
        size = len(spectrum.values)
    if moments.c0 is None:
        moments.find_c0(min(size, moments.n_features))
    pairs = _eigenpairs(moments, size)
    return _solve_moments(model, plain, moments, pairs, rng, spectrum)


def _solve_moments(model, plain, moments, pairs, rng, spectrum=None):
    values, vectors = pairs.values, pairs.vectors
    W = (vectors / np.sqrt(values)).T
    cube = moments.third(W)
    settings = model.algorithm, model.projections, rng, model.moments == "generalized"
    basis, _, off, n_iter = diagonalize(moments, W, cube, *settings)
    found = read_topics(values, vectors, basis)
    return Solution(moments, found, cube, W, values, off, n_iter, spectrum or pairs, plain)


def _checked(moments):
    short = f", beside {moments.n_short} of fewer than three tokens" * bool(moments.n_short)
    check_enough(moments, moments.n_features, short)
    if not moments.mean_length > 0.0:
        raise ValueError("X has no words: all counts are zero")
    return moments


def _eigenpairs(moments, size):
    if size > moments.n_features:
        raise ValueError(f"n_components={size} must be at most n_features={moments.n_features}")
    values, vectors = largest_eigenpairs(moments, int(size))
    n_positive = int(np.sum(values > 1e-10 * max(abs(values[0]), abs(values[-1]))))
    if n_positive < size:
        raise ValueError(
            f"n_components={size} is more than the moments of X allow: only {n_positive} "
            "eigenvalues of the second one are positive; take fewer n_components, or other moments"
        )
    return Spectrum(values, vectors, values, None)


def length_ratio(moments):
    return moments.length_variance / moments.mean_length


def _pairs_above_noise(moments, rng):
    """Eigenpairs above the largest eigenvalue that shuffled words have off the diagonal."""
    size = min(moments.n_features, MOST_COMPONENTS)
    seeds = rng.randint(2**31 - 1, size=2).tolist()
    noises = (NoiseMoments(ShuffledRows(moments.rows, seed)) for seed in seeds)
    floor = max(largest_eigenpairs(noise, 1)[0][0] for noise in noises)
    values, vectors = largest_eigenpairs(moments, size)
    n_above = int(np.sum(values > max(floor, 1e-10 * abs(values[0]))))
    if not n_above:
        raise ValueError('n_components="auto" finds no eigenvalue of X above noise: give a number')
    return Spectrum(values[:n_above], vectors[:, :n_above], values, float(floor))


def diagonalize(moments, W, cube, algorithm, projections, rng, generalized=False):
    """`JointDiagonalization` of the whitened moments by an orthonormal basis."""
    size, cubes = len(W), np.moveaxis(cube, 2, 0)
    if algorithm == "tpm":
        basis, _, n_iter = tensor_power_method(cube, random_state=rng)
        basis = np.linalg.qr(basis)[0]
        return judged(basis, basis.T @ cubes @ basis, n_iter)
    directions = np.eye(size)
    if algorithm == "spectral" or projections != "canonical":
        directions = rng.normal(size=(size, 1 if algorithm == "spectral" else projections))
        directions /= np.linalg.norm(directions, axis=0)
    if generalized:
        targets = generalized_targets(moments, W, directions, GENERALIZED_SCALE)
    else:
        targets = np.moveaxis(cube @ directions, 2, 0)
        targets = (targets + targets.transpose(0, 2, 1)) / 2.0
    if algorithm == "spectral":
        basis = np.linalg.eigh(targets[0])[1]
        return judged(basis, basis.T @ cubes @ basis, 1)
    return jacobi(targets, "orthogonal", TURNS)


def read_topics(values, vectors, basis):
    """Signs, clipped columns and variances; the topic with the largest variance first."""
    raw = vectors * np.sqrt(values) @ basis
    # The vote of squares: topics have few large entries, noise many small ones.
    signs = np.where(np.sum(raw * np.abs(raw), axis=0) >= 0.0, 1.0, -1.0)
    raw = raw * signs
    clipped = np.maximum(raw, 0.0)
    sums = clipped.sum(axis=0)
    negative = 1.0 - sums / np.sum(np.abs(raw), axis=0)
    order = np.argsort(-(sums**2), kind="stable")
    found = Topics(clipped / sums, raw, basis * signs, sums**2, negative)
    return Topics(*(part[..., order] for part in found))


def estimate_prior(kind, found, cube, W, mean, c0=None):
    """Concentrations of topics; ``c0`` is their sum in LDA moments, None in cumulants."""
    basis = found.basis
    if kind == "mean_variance":
        orthonormal, triangle = np.linalg.qr(found.topics)
        expected = nnls(triangle, orthonormal.T @ mean)[0]
        prior = expected**2 / found.variance
    else:
        if kind == "average":
            # The k-th eigenvalue of the p-th projection is skewness times loading.
            seen = np.einsum("abp,ak,bk->pk", cube, basis, basis)
            clipped = found.topics * np.sqrt(found.variance)
            expected = (W @ clipped).T  # (K, P): what a topic gives in each projection
            used = np.abs(seen) >= SMALL_SHARE * np.max(np.abs(seen), axis=0)
            ratios = np.where(used, expected.T / np.where(used, seen, 1.0), 0.0) ** 2
            inverse_squares = ratios.sum(axis=0) / used.sum(axis=0)
        else:
            skewness = np.einsum("abc,ak,bk,ck->k", cube, basis, basis, basis)
            inverse_squares = 1.0 / np.maximum(skewness**2, 1e-12)
        prior = 4.0 * inverse_squares
        if c0 is not None:
            prior *= c0 * (c0 + 1.0) / (c0 + 2.0) ** 2
    return np.clip(prior, LEAST, MOST)
