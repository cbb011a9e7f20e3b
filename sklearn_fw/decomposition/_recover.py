"""Topics and their prior from whitened moments."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import nnls

from ._diagonalization import jacobi, tensor_power_method
from ._moments import generalized_targets

GENERALIZED_SCALE = 0.05  # larger exponents leave the range where weights vary little
TURNS = 1e-4  # noise of any corpus turns further
LEAST, MOST = 1e-3, 1e4  # concentrations
SMALL_SHARE = 1e-3  # projections that say less than this share of the largest are left out


class Topics(NamedTuple):
    """Columns of the mixing matrix, with and without their noise."""

    topics: np.ndarray  # (n_features, K), columns sum to one
    raw: np.ndarray  # (n_features, K), with signs
    basis: np.ndarray  # (K, K), eigenvectors with the signs of topics
    variance: np.ndarray  # (K,)
    negative_mass: np.ndarray  # (K,)


def diagonalize(moments, W, cube, algorithm, projections, rng, generalized=False):
    """Orthonormal basis of the whitened moments, how far they are from diagonal, and iterations."""
    size = len(W)
    if algorithm == "tpm":
        basis, _, n_iter = tensor_power_method(cube, random_state=rng)
        basis = np.linalg.qr(basis)[0]
        return basis, _off_diagonality(cube, basis), n_iter
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
        return basis, _off_diagonality(cube, basis), 1
    basis, _, off, n_iter = jacobi(targets, "orthogonal", TURNS)
    return basis, off, n_iter


def _off_diagonality(cube, basis):
    turned = np.einsum("abp,ak,bl->pkl", cube, basis, basis)
    total = float(np.sum(turned**2)) or 1.0
    return 1.0 - float(np.sum(np.einsum("pkk->pk", turned) ** 2)) / total


def read_topics(values, vectors, basis):
    """Signs, clipped columns and variances; the topic with the largest variance first."""
    raw = vectors * np.sqrt(values) @ basis
    above, below = np.maximum(raw, 0.0), np.maximum(-raw, 0.0)
    # The vote of squares: topics have few large entries, noise many small ones.
    signs = np.where(np.sum(above**2, axis=0) >= np.sum(below**2, axis=0), 1.0, -1.0)
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
