"""Checks of regions and distributions, and the constraints of a polyhedron that matter."""

import numpy as np
from scipy.optimize import linprog

from .._core import check


def check_covariance(cov):
    if cov is None:
        raise ValueError("cov must be given, for instance numpy.eye(n)")
    cov = check.shaped(cov, "cov", "n", "n")
    R = correlations(cov)  # the units of variables may differ by more than cov has digits
    if not np.allclose(R, R.T, rtol=0.0, atol=1e-8):
        raise ValueError("cov must be symmetric: take 0.5 * (cov + cov.T)")
    cov = 0.5 * (cov + cov.T)
    try:
        np.linalg.cholesky(cov)
    except np.linalg.LinAlgError:
        least = float(np.linalg.eigvalsh(R)[0])
        if least < -1e-8:
            raise ValueError(
                f"cov must be positive semi-definite, the smallest eigenvalue of its correlations "
                f"is {least:.3g}: add a multiple of its diagonal above {-least:.3g}"
            ) from None
    return cov


def correlations(cov):
    units = np.sqrt(np.abs(np.diag(cov)) + (np.diag(cov) == 0.0))
    return cov / units / units[:, None]


def check_bounds(lower, upper, p):
    """Vectors of p lower and upper ends, -inf and inf allowed."""
    ends = check_vector(lower, "lower", p, False), check_vector(upper, "upper", p, False)
    check_order(*ends)
    return ends


def check_vector(values, name, p, finite=True):
    values = check.numbers(values, name, finite)
    if values.ndim > 1 or values.size not in (1, p):
        raise ValueError(f"{name} must be a number or {p} numbers, got shape {values.shape}")
    return np.array(np.broadcast_to(values, p), dtype=float)


def check_order(lower, upper):
    """Refuse intervals without an inside."""
    wrong = ~(lower < upper)
    if np.any(wrong):
        at = tuple(np.argwhere(wrong)[0].tolist())
        raise ValueError(
            f"lower must be below upper, got {lower[at]} and {upper[at]} at {list(at)}: the region "
            f"is empty or has no volume"
        )


def minimal_polyhedron(constraints, lower, upper):
    """Remove redundant rows of lower < A x < upper and tighten bounds.

    Parameters
    ----------
    constraints : array-like of shape (p, n)
        A, one constraint per row.
    lower, upper : float or array-like of shape (p,)
        Ends, infinite ones too.

    Returns
    -------
    constraints : ndarray of shape (q, n)
        The rows that are kept.
    lower, upper : ndarray of shape (q,)
        Their ends, as tight as the region allows.
    active : ndarray of shape (p,)
        True for the rows that are kept.

    Notes
    -----
    Two linear programs per row compute how far the others let it go. An end that is out of reach is
    tightened to what is reached. A row of which neither end is reached is left out before the next.

    References
    ----------
    .. [1] J. Cunningham, P. Hennig, S. Lacoste-Julien, "Gaussian probabilities and expectation
       propagation", arXiv:1111.6832, 2011: appendix D.

    Examples
    --------
    >>> from sklearn_fw.gaussian_probability import minimal_polyhedron
    >>> A = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> A, lower, upper, active = minimal_polyhedron(A, -1.0, [1.0, 1.0, 5.0])
    >>> active.tolist()
    [True, True, True]
    >>> upper.tolist()
    [1.0, 1.0, 2.0]
    """
    A = check.matrix(constraints, "constraints")
    lower, upper = check_bounds(lower, upper, len(A))
    active = np.isfinite(lower) | np.isfinite(upper)
    norms = np.linalg.norm(A, axis=1)
    empty = active & (norms == 0.0)
    excluded = np.any((lower[empty] >= 0.0) | (upper[empty] <= 0.0))
    active &= norms > 0.0
    if excluded or not has_inside(A[active], lower[active], upper[active]):
        raise ValueError("lower and upper leave an empty region: widen the bounds of constraints")
    for j in np.flatnonzero(active):
        others = active.copy()
        others[j] = False
        rest = A[others], lower[others], upper[others]
        least, most = (_reach(*rest, A[j], sign) for sign in (1.0, -1.0))
        slack = 1e-9 * norms[j]
        if least >= lower[j] - slack and most <= upper[j] + slack:
            active[j] = False
        else:
            lower[j], upper[j] = max(lower[j], least), min(upper[j], most)
    return A[active], lower[active], upper[active], active


def _rows(A, lower, upper):
    low, high = np.isfinite(lower), np.isfinite(upper)
    return np.vstack([A[high], -A[low]]), np.r_[upper[high], -lower[low]]


def has_inside(A, lower, upper):
    """Whether a ball fits into lower < A x < upper."""
    M, b = _rows(A, lower, upper)
    sizes = np.linalg.norm(M, axis=1)
    scale = sizes + np.abs(b)
    M, b, sizes = M / scale[:, None], b / scale, sizes / scale
    n = A.shape[1]
    answer = linprog(
        np.r_[np.zeros(n), -1.0], np.column_stack([M, sizes]), b,
        bounds=[(None, None)] * n + [(None, 1.0)],
    )  # fmt: skip
    return answer.status == 0 and answer.x[-1] > 1e-12


def _reach(A, lower, upper, direction, sign):
    """Least value of ``direction`` (sign 1) or largest (sign -1) in the region."""
    answer = linprog(sign * direction, *_rows(A, lower, upper), bounds=(None, None))
    return sign * answer.fun if answer.status == 0 else -sign * np.inf
