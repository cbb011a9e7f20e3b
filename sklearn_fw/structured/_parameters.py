"""The parameters of the structured SVM that are no objects."""

from numbers import Real

from .._core.validation import (
    check_flag,
    check_integer,
    check_not_negative,
    check_strength,
    is_auto,
)
from ._surrogates import resolve_surrogate


def check_parameters(svm):
    """Refuse values out of range before any data are looked at."""
    resolve_surrogate(svm.surrogate)
    if not is_auto(svm.C):
        check_strength(svm.C, "C")
    if not is_auto(svm.tol):
        if not isinstance(svm.tol, Real) or not svm.tol >= 0:
            raise ValueError(
                f"tol must be 'auto' or a number that is not negative, got {svm.tol!r}"
            )
        check_not_negative(svm.tol, "tol")
    if not is_auto(svm.max_iter):
        check_integer(svm.max_iter, "max_iter", 1)
    check_flag(svm.warm_start, "warm_start")
    check_integer(svm.verbose, "verbose", 0)
