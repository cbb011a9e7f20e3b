"""The kernel of the functions and the units of columns, and the choice of both."""

from hashlib import blake2b

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import pairwise_kernels

from .._core import check
from ._least_squares import choose_alpha

MOST_ROWS = 2000  # that "auto" tries a Gaussian kernel on: its cost is their cube
FEW_ROWS = 1000  # that kernels are compared on
WIDTHS = (1.0, 0.3, 3.0)  # gamma of "auto", over the inverse of features and variance
NEAR = 1.05  # of the least task loss: counts of few mistakes are noisy
CONSTANT = 1e-12  # spread of a column over its mean that is rounding


def choose(model, X, targets, weight, fit_intercept, rng):
    """Set kernel, units and weight of the ridge; returns features, or the kernel of all rows.

    Of kernels with nearly the least task loss on rows left out, it has the least squared error.
    """
    if model.kernel == "precomputed" and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"Precomputed matrix must be a square matrix, X has shape {X.shape}: "
            f"kernel='precomputed' takes the kernel between all rows"
        )
    tried = _candidates(model, X, weight)
    best, chooses = tried[0], isinstance(model.alpha, str)
    if chooses:
        rows, targets, weight = _distinct(X, targets, weight)
        some = np.arange(len(rows))

    def errors(candidate):
        features = _features(model, X[rows[some]], candidate)
        features = features[:, rows[some]] if model.kernel_ == "precomputed" else features
        alpha, loss, square = choose_alpha(
            features, targets[some], weight[some], fit_intercept,
            is_kernel=model.kernel_ != "linear", losses=model._outputs.losses, rng=rng,
        )  # fmt: skip
        return loss, square, alpha

    if len(tried) > 1:
        if len(tried) > 2 and len(rows) > FEW_ROWS:
            some = np.sort(rng.choice(some, FEW_ROWS, replace=False, p=weight / weight.sum()))
        found = [(*errors(one), one) for one in tried]
        enough = NEAR * min(loss for loss, *_ in found) + 1e-12
        best = min((one for one in found if one[0] <= enough), key=lambda one: one[1])[-1]
        some = np.arange(len(rows))
    model.alpha_ = errors(best)[-1] if chooses else float(model.alpha)
    features = _features(model, X, best)
    model.X_fit_ = None if model.kernel_ == "linear" else X
    return features


def _candidates(model, X, weight):
    """Triples of kernel, gamma and scale of columns."""
    kernel, by_itself, scales = model.kernel, check.is_auto(model.kernel), [None]
    chooses = isinstance(model.alpha, str) and model.solver == "ridge" and not sp.issparse(X)
    if not isinstance(model.standardize, str):
        scales = [_scale(X, weight)] if model.standardize else [None]
    elif chooses and kernel in ("auto", "linear"):
        scales = [None, _scale(X, weight)]
    found = [("linear" if by_itself else kernel, model.gamma, scale) for scale in scales]
    if not (by_itself and chooses and X.shape[0] <= MOST_ROWS):
        return found
    if model.gamma is not None:
        return [*found, ("rbf", model.gamma, scales[0])]
    for scale in scales:
        spread = _variance(X, weight) if scale is None else 1.0
        if spread > 0.0:
            found += [("rbf", width / (X.shape[1] * spread), scale) for width in WIDTHS]
    return found


def _features(model, X, candidate):
    """Features, or the kernel, of rows as those of fit; sets kernel and units."""
    model.kernel_, model.gamma_, model.scale_ = candidate
    model.X_fit_ = None
    return _in_units(model, X) if model.kernel_ == "linear" else kernel_matrix(model, X)


def _distinct(X, targets, weight):
    """Numbers of distinct rows of positive weight, their mean targets and their weights.

    Rows count as equal if their columns, centered and in units of their spread, are equal in single
    precision. Those of sparse X are not centered.
    """
    rows, scale = np.flatnonzero(weight), _scale(X, weight)
    X = X.multiply(1.0 / scale) if sp.issparse(X) else (X - weight @ X / weight.sum()) / scale
    X = sp.csr_array(X).astype(np.float32)
    X.sum_duplicates()
    X.eliminate_zeros()
    number, codes = {}, np.empty(len(rows), dtype=np.intp)
    for place, i in enumerate(rows):
        part = slice(X.indptr[i], X.indptr[i + 1])
        content = X.indices[part].tobytes() + X.data[part].tobytes()
        key = blake2b(content, digest_size=16).digest()
        codes[place] = number.setdefault(key, len(number))
    first = np.unique(codes, return_index=True)[1]
    total = np.bincount(codes, weights=weight[rows])
    share = weight[rows] / total[codes]
    means = sp.csr_array((share, (codes, np.arange(len(rows))))) @ targets[rows]
    return rows[first], means, total


def _variance(X, weight):
    """Of all entries, those of rows as often as the weights say."""
    share = weight / weight.sum()
    return float(share @ np.mean((X - np.mean(share @ X)) ** 2, axis=1))


def _scale(X, weight):
    """Standard deviations of columns, one for those that are constant."""
    share = weight / weight.sum()
    mean = share @ X
    squares = X.multiply(X).T @ share - mean**2 if sp.issparse(X) else share @ (X - mean) ** 2
    scale = np.sqrt(np.maximum(squares, 0.0))
    return np.where(scale > CONSTANT * np.abs(mean), scale, 1.0)


def _in_units(model, X):
    if model.scale_ is None:
        return X
    return sp.csr_array(X.multiply(1.0 / model.scale_)) if sp.issparse(X) else X / model.scale_


def kernel_matrix(model, X):
    """Kernel between rows of X and those of fit, which are X in fit."""
    kernel = model.kernel_
    if kernel == "precomputed":
        return X.toarray() if sp.issparse(X) else X
    params = {"gamma": model.gamma_, "degree": model.degree, "coef0": model.coef0}
    if callable(kernel):
        params = model.kernel_params or {}
    X = _in_units(model, X)
    fitted = X if model.X_fit_ is None else _in_units(model, model.X_fit_)
    if check.is_named(kernel, "rbf") and not (sp.issparse(X) or sp.issparse(fitted)):
        X, fitted = X - fitted[0], fitted - fitted[0]  # far from zero distances lose digits
    K = pairwise_kernels(X, fitted, metric=kernel, filter_params=not callable(kernel), **params)
    return check.numbers(K.toarray() if sp.issparse(K) else K, "kernel")
