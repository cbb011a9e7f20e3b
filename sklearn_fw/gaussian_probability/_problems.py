"""Checks of bounds, means, covariances and constraints."""

from typing import NamedTuple

import numpy as np

from .._core.validation import check_array_of_numbers, check_magnitude


class Problem(NamedTuple):
    """Region lower < A x < upper under N(mean, cov); A is None for a box."""

    lower: np.ndarray
    upper: np.ndarray
    mean: np.ndarray
    cov: np.ndarray
    A: np.ndarray | None

    def projected(self):
        """Mean and covariance of the bounded variables."""
        if self.A is None:
            return self.mean, self.cov
        G = self.A @ self.cov @ self.A.T
        return self.A @ self.mean, 0.5 * (G + G.T)


def check_covariance(cov, name="cov"):
    """Symmetric positive semi-definite matrix."""
    if cov is None:
        raise ValueError(f"{name} must be given, for instance numpy.eye(n)")
    cov = check_array_of_numbers(cov, name)
    if cov.ndim != 2 or cov.shape[0] != cov.shape[1] or not cov.size:
        raise ValueError(f"{name} must be a square matrix, got shape {cov.shape}")
    check_magnitude(cov, name)
    scale = float(np.abs(cov).max())
    if not np.allclose(cov, cov.T, rtol=0.0, atol=1e-8 * scale):
        raise ValueError(f"{name} must be symmetric: take 0.5 * ({name} + {name}.T)")
    cov = 0.5 * (cov + cov.T)
    try:
        np.linalg.cholesky(cov)
    except np.linalg.LinAlgError:
        least = float(np.linalg.eigvalsh(cov)[0])
        if least < -1e-8 * scale:
            raise ValueError(
                f"{name} must be positive semi-definite, its smallest eigenvalue is {least:.3g}: "
                f"add a multiple of the identity above {-least:.3g}"
            ) from None
    return cov


def check_bounds(lower, upper, p):
    """Vectors of p lower and upper ends, -inf and inf allowed."""
    ends = []
    for values, name in ((lower, "lower"), (upper, "upper")):
        values = check_array_of_numbers(values, name, finite=False)
        if values.ndim > 1 or values.size not in (1, p):
            raise ValueError(f"{name} must be a number or {p} numbers, got shape {values.shape}")
        check_magnitude(values[np.isfinite(values)], name)
        ends.append(np.array(np.broadcast_to(values, p), dtype=float))
    check_order(*ends)
    return ends


def check_order(lower, upper):
    """Refuse intervals without an inside."""
    wrong = ~(lower < upper)
    if np.any(wrong):
        place = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        at = ", ".join(str(int(i)) for i in place)
        raise ValueError(
            f"lower must be below upper, got {lower[place]} and {upper[place]} at {at}: "
            f"such a region is empty or has no volume"
        )


def check_constraints(constraints, n=None):
    """Matrix with one constraint per row."""
    A = check_array_of_numbers(constraints, "constraints")
    if A.ndim != 2 or not A.size or (n is not None and A.shape[1] != n):
        raise ValueError(
            f"constraints must be a matrix with one row per constraint"
            f"{'' if n is None else f' and {n} columns'}, got shape {A.shape}"
        )
    check_magnitude(A, "constraints")
    return A


def check_problem(lower, upper, mean, cov, constraints):
    """All parts of a region and its distribution."""
    cov = check_covariance(cov)
    n = len(cov)
    mean = check_mean(mean, n)
    A = None if constraints is None else check_constraints(constraints, n)
    lower, upper = check_bounds(lower, upper, n if A is None else len(A))
    return Problem(lower, upper, mean, cov, A)


def check_mean(mean, n):
    """Vector of n numbers; None gives zeros."""
    if mean is None:
        return np.zeros(n)
    mean = check_array_of_numbers(mean, "mean")
    if mean.ndim > 1 or mean.size not in (1, n):
        raise ValueError(f"mean must be a number or {n} numbers, got shape {mean.shape}")
    check_magnitude(mean, "mean")
    return np.array(np.broadcast_to(mean, n), dtype=float)
