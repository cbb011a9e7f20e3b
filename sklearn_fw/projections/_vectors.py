"""Euclidean projections onto simple convex sets."""

import numpy as np

from .._core.validation import BEYOND, check_array_of_numbers, check_positive


@np.errstate(**BEYOND)
def project_simplex(v, radius=1.0):
    """Nearest point of ``{x : x >= 0, sum(x) = radius}`` to each vector.

    ``x = max(v - t, 0)`` with the threshold t that gives the sum.

    Parameters
    ----------
    v : array-like of shape (..., n)
        Vectors along the last axis.
    radius : float, default=1.0
        Sum of the projection, positive.

    Returns
    -------
    ndarray of the shape of v
        Projections.

    Notes
    -----
    Sorts the vectors: O(n log n) each.

    Examples
    --------
    >>> from sklearn_fw.projections import project_simplex
    >>> project_simplex([0.5, 1.5, -1.0])
    array([0., 1., 0.])
    """
    v, radius = _vectors(v), check_positive(radius, "radius")
    v = v - v.max(axis=-1, keepdims=True)  # sums of large values would swallow the radius
    descending = -np.sort(-v, axis=-1)
    thresholds = (np.cumsum(descending, axis=-1) - radius) / np.arange(1, v.shape[-1] + 1)
    # The largest values that stay above the threshold of themselves are the support.
    last = np.count_nonzero(descending > thresholds, axis=-1, keepdims=True) - 1
    return np.maximum(v - np.take_along_axis(thresholds, last, axis=-1), 0.0)


@np.errstate(**BEYOND)
def project_l1_ball(v, radius=1.0):
    """Nearest point of ``{x : ||x||_1 <= radius}`` to each vector.

    ``x = sign(v) max(|v| - t, 0)`` with the threshold t that gives the norm, zero inside the ball.

    Parameters
    ----------
    v : array-like of shape (..., n)
        Vectors along the last axis.
    radius : float, default=1.0
        Radius of the ball, positive.

    Returns
    -------
    ndarray of the shape of v
        Projections; points of the ball are unchanged.

    Notes
    -----
    Sorts the vectors: O(n log n) each.

    References
    ----------
    .. [1] J. Duchi, S. Shalev-Shwartz, Y. Singer, T. Chandra, "Efficient projections onto the
       l1-ball for learning in high dimensions", ICML 2008: Figure 1.

    Examples
    --------
    >>> from sklearn_fw.projections import project_l1_ball
    >>> project_l1_ball([-2.0, 1.5, 0.25])
    array([-0.75,  0.25,  0.  ])
    """
    v, radius = _vectors(v), check_positive(radius, "radius")
    size = np.abs(v)
    # Added zeros lose the sign that the product with -1 gives them.
    on_sphere = np.sign(v) * project_simplex(size, radius) + 0.0
    return np.where(size.sum(axis=-1, keepdims=True) <= radius, v, on_sphere)


def project_l2_ball(v, radius=1.0):
    """Nearest point of ``{x : ||x|| <= radius}`` to each vector.

    Parameters
    ----------
    v : array-like of shape (..., n)
        Vectors along the last axis.
    radius : float, default=1.0
        Radius of the ball, positive.

    Returns
    -------
    ndarray of the shape of v
        Projections; points of the ball are unchanged.

    Examples
    --------
    >>> from sklearn_fw.projections import project_l2_ball
    >>> project_l2_ball([3.0, 4.0])
    array([0.6, 0.8])
    """
    v, radius = _vectors(v), check_positive(radius, "radius")
    # Squares of huge numbers would overflow.
    scale = np.maximum(np.abs(v).max(axis=-1, keepdims=True), radius)
    scaled, limit = v / scale, radius / scale
    norm = np.linalg.norm(scaled, axis=-1, keepdims=True)
    return np.where(norm <= limit, v, scaled * (radius / np.maximum(norm, limit)))


def project_box(v, lower, upper):
    """Nearest point of ``{x : lower <= x <= upper}``.

    Parameters
    ----------
    v : array-like of shape (..., n)
        Vectors along the last axis.
    lower, upper : float or array-like that broadcasts with v
        Bounds of the entries; infinite for none.

    Returns
    -------
    ndarray of the shape of v
        Projections.

    Examples
    --------
    >>> from sklearn_fw.projections import project_box
    >>> project_box([-2.0, 0.5, 2.0], 0.0, 1.0)
    array([0. , 0.5, 1. ])
    """
    v = _vectors(v)
    lower = check_array_of_numbers(lower, "lower", finite=None)
    upper = check_array_of_numbers(upper, "upper", finite=None)
    for bound, name in ((lower, "lower"), (upper, "upper")):
        try:
            fits = np.broadcast_shapes(bound.shape, v.shape) == v.shape
        except ValueError:
            fits = False
        if not fits:
            raise ValueError(f"{name} has shape {bound.shape}, which does not fit v of {v.shape}")
    if not np.all(lower <= upper) or np.any(lower == np.inf) or np.any(upper == -np.inf):
        raise ValueError("lower must not be above upper anywhere, else the box is empty")
    return np.clip(v, lower, upper)


def _vectors(v):
    v = check_array_of_numbers(v, "v")
    if v.ndim == 0 or v.shape[-1] == 0:
        raise ValueError(f"v must hold vectors along its last axis, got shape {v.shape}")
    return v
