"""Checks shared by all estimators; errors name the parameter and the remedy."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_scalar

__all__ = [
    "check_boolean",
    "check_choice",
    "check_integer",
    "check_not_negative",
    "check_positive",
    "check_sample_weight",
    "check_time_limit",
    "resolve_named",
]


def check_positive(value, name):
    """A finite real number above zero, as a float."""
    check_scalar(value, name, Real, min_val=0, include_boundaries="neither")
    if not np.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}")
    return float(value)


def check_not_negative(value, name):
    """A finite real number that is not below zero, as a float."""
    check_scalar(value, name, Real, min_val=0)
    if not np.isfinite(value):
        raise ValueError(f"{name} must be finite, got {value}")
    return float(value)


def check_integer(value, name, minimum):
    """An integer not below ``minimum``."""
    return int(check_scalar(value, name, Integral, min_val=minimum))


def check_boolean(value, name):
    """True or False; a word such as "no" is neither."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def check_time_limit(value):
    """Seconds, or infinity for None."""
    return np.inf if value is None else check_positive(value, "time_limit")


def check_choice(value, name, choices):
    """One of a few strings."""
    if not (isinstance(value, str) and value in choices):
        known = ", ".join(repr(choice) for choice in sorted(choices))
        raise ValueError(f"{name} must be one of {known}; got {value!r}")
    return value


def resolve_named(value, name, base, makers):
    """A new object for a name among ``makers``, or a clone of an object of class ``base``."""
    if isinstance(value, base):
        return clone(value)
    if isinstance(value, str) and value in makers:
        return makers[value]()
    known = ", ".join(repr(known) for known in sorted(makers))
    raise ValueError(f"{name} must be one of {known} or a {name} object; got {value!r}")


def check_sample_weight(sample_weight, n_samples):
    """Weights of samples as a float64 array; None gives ones."""
    if sample_weight is None:
        return np.ones(n_samples)
    weight = np.asarray(sample_weight)
    if weight.dtype.kind not in "fiub":
        weight = weight.astype(np.float64)
    weight = weight.astype(np.float64, copy=False)
    if weight.ndim == 0:
        weight = np.full(n_samples, float(weight))
    if weight.ndim != 1:
        raise ValueError("Sample weights must be 1D array or scalar")
    if weight.size != n_samples:
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected ({n_samples},): one weight per sample"
        )
    if not np.all(np.isfinite(weight)):
        raise ValueError("sample_weight must be finite, got NaN or infinity")
    if np.any(weight < 0):
        raise ValueError(f"sample_weight must not be negative, got {weight.min()}")
    if not np.any(weight > 0):
        raise ValueError("sample_weight must not be zero for all samples")
    return weight
