"""Scores of left-out rows with every label, in closed form."""

import numpy as np
from scipy.linalg import lapack


def left_out_label_scores(model, K, y, n_classes, mismatch):
    """Log score of every row with every label, in the model without one unit of its weight.

    `K` holds the kernel of the inputs alone and is overwritten; the model belongs to
    ``K * mismatch^[y != y']``. With P = B^-1 and the kernel column u of row i under some label,
    taking the row out replaces ``u' P u`` by ``u' P u - (P u)_i^2 / P_ii``, where entry i of u is
    zero. A row that keeps weight w' > 0 has noise ``s / w'`` instead of ``s / w``: there P_ii grows
    by the inverse of the difference, and entry i of u stays.

    The columns are ``u = mismatch k + (1 - mismatch) g`` with the input kernel k and its part g on
    the rows of the label, so that one product P K serves all labels: O(n^3 + n_classes n^2).
    """
    posterior = model.posterior
    removed = np.minimum(model.weight, 1.0)
    kept = model.weight - removed
    gone = kept <= 0
    inverse = _inverse(posterior.chol)
    # 1 / (s / kept - s / weight), which is zero for a row that leaves altogether.
    pivot = np.diag(inverse) + kept * model.weight / (removed * model.s)
    sums = posterior.sums
    extra, centre, information = model.constants(
        model.total_weight - removed, posterior.information - sums * sums / pivot
    )
    diagonal = np.diag(K).copy()
    K[gone, gone] = 0.0
    solved = inverse @ K
    plain = np.einsum("ji,ji->i", K, solved), sums @ K, np.diag(solved)
    rest = 1.0 - mismatch
    variance = np.empty((len(K), n_classes))
    for label in range(n_classes):
        rows = np.flatnonzero(y == label)
        part = K[rows]
        square = mismatch**2 * plain[0] + 2.0 * mismatch * rest * np.einsum(
            "ji,ji->i", part, solved[rows]
        )
        square += rest**2 * np.einsum("ji,ji->i", part, inverse[np.ix_(rows, rows)] @ part)
        own = mismatch * plain[2] + rest * np.einsum("ji,ji->i", part, inverse[rows])
        share = mismatch * plain[1] + rest * (sums[rows] @ part) - sums * own / pivot
        residual = np.maximum(diagonal - square + own * own / pivot, 0.0)
        mean = (centre - share) ** 2 / information
        variance[:, label] = model.s + residual + extra + mean
    exponent = 0.5 * (1.0 + model.total_weight - removed + model.dof)
    return model.log_score(variance, exponent[:, None])


def label_log_probability(scores, place):
    """Log probability of the label at `place` of each row, without cancellation near zero."""
    rows = np.arange(len(scores))
    odds = scores - scores[rows, place][:, None]
    odds[rows, place] = -np.inf
    return -np.logaddexp(0.0, np.logaddexp.reduce(odds, axis=1))


def _inverse(chol):
    """Inverse of the matrix with this lower factor."""
    inverse, _ = lapack.dpotri(chol, lower=1)
    return np.tril(inverse) + np.tril(inverse, -1).T
