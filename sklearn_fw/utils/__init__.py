"""Tools for users and for authors of structured estimators."""

from .._core.packed import Packed
from ._estimator_checks import check_structured_estimator

__all__ = ["Packed", "check_structured_estimator"]
