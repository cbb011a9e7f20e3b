"""Boxes around rows: their radius, which is in the units of the features."""

import numpy as np

from .._core import check
from .._core.warnings import warn
from ._estimators import check_rows

# The paper's box is 0.3 of 255 gray levels. One that is smaller by this is hardly meant.
LEAST_SHARE = 1e-5
MIXED_UNITS = 100.0


def feature_radius(X, share=0.1):
    """Compute box radii as a fraction of the standard deviation of each feature.

    Choose it over one radius where features have different units. Constant features get radius 0.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows whose spread is the scale, usually those that the model was fitted to.
    share : float, default=0.1
        Part of the standard deviation.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn_fw.inspection import feature_radius
    >>> X, _ = load_wine(return_X_y=True)
    >>> feature_radius(X)[[0, 12]].round(2)
    array([ 0.08, 31.4 ])
    """
    X = check_rows(X)
    share = check.positive(share, "share")
    size = np.abs(X).max(axis=0)
    scaled = X / np.where(size > 0.0, size, 1.0)  # squares of these are numbers
    spread = scaled.std(axis=0)
    spread[spread < 1e-12] = 0.0  # what rounding leaves of a constant
    radius = share * spread * size
    if not radius.any():
        raise ValueError("X has constant features only, of which no radius follows")
    return _finite(radius, "share")


def _finite(radius, name):
    if not np.all(np.isfinite(radius)):
        raise ValueError(f"{name} gives a radius that no float64 holds")
    return radius


def check_radius(radius, X):
    """Radius per feature, an array that fits one row; compared with the scale of the features."""
    shape = X.shape[1:]
    radius = _per_feature(radius, "radius", shape)
    if not radius.any():
        raise ValueError("radius must be positive, got 0")
    each = np.broadcast_to(radius, shape)
    largest = np.abs(X).max(axis=0)
    if np.all((largest + each == largest) | (largest == 0.0)) and largest.any():
        raise ValueError(
            f"radius is {radius.max():g}, below the rounding of entries of {largest.max():g}: see "
            f"feature_radius(X)"
        )
    _compare(radius, each, X)
    return each


def _compare(radius, each, X):
    width = np.ptp(X, axis=0)
    varies = (width > 0.0) & (each > 0.0)
    if not varies.any():
        return
    shares = each[varies] / width[varies]
    if shares.min() > 1.0:
        raise ValueError(
            f"radius={_told(radius)} is in the wrong units: features of X have ranges from "
            f"{width[varies].min():.3g} to {width[varies].max():.3g}. It is in the units of X, "
            f"before any scaler of a Pipeline; feature_radius(X) gives one for each feature"
        )
    if shares.max() < LEAST_SHARE:
        warn(
            f"radius={_told(radius)} is at most {shares.max():.1g} of the ranges of the features, "
            f"{width[varies].min():.3g} to {width[varies].max():.3g}: see feature_radius(X)"
        )
    if radius.ndim == 0 and shares.max() > 1.0 and shares.max() > MIXED_UNITS * shares.min():
        warn(
            f"radius={_told(radius)} is {shares.min():.1g} to {shares.max():.3g} of the ranges: "
            f"features in different units need a radius each, as of feature_radius(X)"
        )


def _told(radius):
    ends = f"({radius.min():.3g} to {radius.max():.3g})"
    return ends if radius.ndim else f"{radius:g}"


def _per_feature(value, name, shape):
    value = check.numbers(value, name)
    if value.shape not in ((), shape) or value.min() < 0.0:
        raise ValueError(
            f"{name} must be a number from 0, in the units of X, or one for each feature, shape "
            f"{shape}, got {value.shape if value.ndim else value}"
        )
    return value


def check_steps(step, noise, each):
    """Steps of the gradient and of the noise per feature; those of the paper for None."""
    step = 0.25 / 0.3 * each if step is None else _per_feature(step, "step", each.shape)
    noise = 0.2 / 0.3 * each if noise is None else _per_feature(noise, "noise", each.shape)
    if not step.any() and not noise.any():
        raise ValueError("step and noise are both 0, so that nothing moves")
    return step, noise


def check_feature_range(feature_range, X, each):
    """Ends of the boxes around the rows, inside of the values that features may take."""
    low, high = X - each, X + each
    if feature_range is None:
        return _finite(low, "radius"), _finite(high, "radius")
    feature_range = check.items(feature_range, "feature_range", "ends", 2)
    ends = [check.array(end, "feature_range", finite=False) for end in feature_range]
    for end in ends:
        if end.shape not in ((), X.shape[1:]):
            raise ValueError(f"feature_range must have shape {X.shape[1:]}, got {end.shape}")
    if not np.all(ends[0] < ends[1]):
        raise ValueError("feature_range must rise")
    if np.any(ends[0] > X) or np.any(ends[1] < X):
        raise ValueError(
            f"feature_range is from {ends[0].min():g} to {ends[1].max():g}, but X goes from "
            f"{X.min():g} to {X.max():g}"
        )
    return np.maximum(low, ends[0]), np.minimum(high, ends[1])
