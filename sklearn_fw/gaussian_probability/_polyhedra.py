"""The constraints of a polyhedron that matter."""

import numpy as np
from scipy.optimize import linprog

from ._problems import check_bounds, check_constraints

SAME = 1e-12  # of unit rows


def minimal_polyhedron(constraints, lower, upper):
    """The rows of lower < A x < upper that no other rows imply, with bounds that can be reached.

    Parameters
    ----------
    constraints : array-like of shape (p, n)
        A, one constraint per row.
    lower : float or array-like of shape (p,)
        Lower ends, -inf allowed.
    upper : float or array-like of shape (p,)
        Upper ends, inf allowed.

    Returns
    -------
    constraints : ndarray of shape (q, n)
        The rows that are kept.
    lower : ndarray of shape (q,)
        Their lower ends, as tight as the region allows.
    upper : ndarray of shape (q,)
        Their upper ends.
    active : ndarray of shape (p,)
        True for the rows that are kept.

    Notes
    -----
    Rows that are multiples of each other are joined first. Then two linear programs per row ask how
    far the others let it go: an end that is out of reach is tightened to what is reached, and
    a row of which neither end is reached is left out before the next is looked at.

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
    A = check_constraints(constraints)
    lower, upper = check_bounds(lower, upper, len(A))
    active = np.isfinite(lower) | np.isfinite(upper)
    norms = np.linalg.norm(A, axis=1)
    empty = active & (norms == 0.0)
    if np.any((lower[empty] >= 0.0) | (upper[empty] <= 0.0)):
        raise ValueError("constraints has a row of zeros that its bounds exclude: empty region")
    active &= norms > 0.0
    _join_multiples(A, lower, upper, norms, active)
    _check_inside(A, lower, upper, norms, active)
    for j in np.flatnonzero(active):
        others = active.copy()
        others[j] = False
        least, most = (_reach(A, lower, upper, others, A[j], sign) for sign in (1.0, -1.0))
        slack = 1e-9 * norms[j]
        if least >= lower[j] - slack and most <= upper[j] + slack:
            active[j] = False
        else:
            lower[j], upper[j] = max(lower[j], least), min(upper[j], most)
    return A[active], lower[active], upper[active], active


def _join_multiples(A, lower, upper, norms, active):
    rows = np.flatnonzero(active)
    for place, j in enumerate(rows):
        for i in rows[:place]:
            if not active[i]:
                continue
            cosine = A[i] @ A[j] / norms[i] / norms[j]
            if abs(cosine) > 1.0 - SAME:
                factor = np.sign(cosine) * norms[i] / norms[j]
                ends = sorted((factor * lower[j], factor * upper[j]))
                lower[i], upper[i] = max(lower[i], ends[0]), min(upper[i], ends[1])
                active[j] = False
                break
        if np.any(lower[active] >= upper[active]):
            raise ValueError(
                "lower and upper leave an empty region: parallel constraints exclude each other"
            )


def _rows(A, lower, upper, active):
    """Inequalities M x <= b."""
    low, high = active & np.isfinite(lower), active & np.isfinite(upper)
    return np.vstack([A[high], -A[low]]), np.r_[upper[high], -lower[low]], high, low


def _check_inside(A, lower, upper, norms, active):
    """Refuse a region that holds no ball."""
    M, b, high, low = _rows(A, lower, upper, active)
    if not len(b):
        return
    sizes = np.r_[norms[high], norms[low]]
    scale = sizes + np.abs(b)
    M, b, sizes = M / scale[:, None], b / scale, sizes / scale
    n = A.shape[1]
    answer = linprog(
        np.r_[np.zeros(n), -1.0], np.column_stack([M, sizes]), b,
        bounds=[(None, None)] * n + [(None, 1.0)],
    )  # fmt: skip
    if answer.status != 0 or answer.x[-1] <= 1e-12:
        raise ValueError("lower and upper leave an empty region: widen the bounds of constraints")


def _reach(A, lower, upper, active, direction, sign):
    """Least value of ``direction`` (sign 1) or largest (sign -1) in the region."""
    M, b, _, _ = _rows(A, lower, upper, active)
    if not len(b):
        return -sign * np.inf
    answer = linprog(sign * direction, M, b, bounds=(None, None))
    return sign * answer.fun if answer.status == 0 else -sign * np.inf
