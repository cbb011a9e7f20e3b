"""Regularization paths of all estimators that have one, and cross-validation along them."""

from ._cross_validate import RegularizationPathCV, cross_validate_path
from ._displays import RegularizationPathDisplay
from ._path import RegularizationPath, regularization_path

__all__ = [
    "RegularizationPath",
    "RegularizationPathCV",
    "RegularizationPathDisplay",
    "cross_validate_path",
    "regularization_path",
]
