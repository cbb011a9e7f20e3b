"""Euclidean projections onto simple convex sets, and projections onto fractional matchings."""

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._core import check
from .._core.warnings import warn
from .._kernels import lazy

matching = lazy("graphs.matching")

# Newton's method starts where values are at most this large; it then doubles them, and the duals.
EASY = 4.0
# A guess of the duals that takes more steps than this is worth less than none.
GUESS_STEPS = 30
# Newton's method may stall where duals of rows become zero, but not where those of columns do (or
# the other way round): after this many steps they change places.
TURN_STEPS = 20


@np.errstate(**check.BEYOND)
def project_simplex(v, radius=1.0):
    """Project each vector onto ``{x : x >= 0, sum(x) = radius}``, in O(n log n).

    ``x = max(v - t, 0)`` with the threshold t that gives the sum; an array of the shape of v.

    Parameters
    ----------
    v : array-like of shape (..., n)
        Vectors along the last axis.
    radius : float, default=1.0
        Sum of the projection, positive.

    Examples
    --------
    >>> from sklearn_fw.projections import project_simplex
    >>> project_simplex([0.5, 1.5, -1.0])
    array([0., 1., 0.])
    """
    v, radius = _vectors(v), check.positive(radius, "radius")
    v = v - v.max(axis=-1, keepdims=True)  # sums of large values would swallow the radius
    descending = -np.sort(-v, axis=-1)
    thresholds = (np.cumsum(descending, axis=-1) - radius) / np.arange(1, v.shape[-1] + 1)
    # The largest values that stay above the threshold of themselves are the support.
    last = np.count_nonzero(descending > thresholds, axis=-1, keepdims=True) - 1
    return np.maximum(v - np.take_along_axis(thresholds, last, axis=-1), 0.0)


@np.errstate(**check.BEYOND)
def project_l1_ball(v, radius=1.0):
    """Project each vector onto ``{x : ||x||_1 <= radius}``, in O(n log n) [1]_.

    ``x = sign(v) max(|v| - t, 0)`` with the threshold t that gives the norm, zero inside the ball;
    an array of the shape of v.

    Parameters
    ----------
    v : array-like of shape (..., n)
        Vectors along the last axis.
    radius : float, default=1.0
        Radius of the ball, positive.

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
    v, radius = _vectors(v), check.positive(radius, "radius")
    size = np.abs(v)
    # Added zeros lose the sign that the product with -1 gives them.
    on_sphere = np.sign(v) * project_simplex(size, radius) + 0.0
    return np.where(size.sum(axis=-1, keepdims=True) <= radius, v, on_sphere)


def project_l2_ball(v, radius=1.0):
    """Project each vector onto ``{x : ||x|| <= radius}``; returns an array like v.

    Parameters
    ----------
    v : array-like of shape (..., n)
        Vectors along the last axis.
    radius : float, default=1.0
        Radius of the ball, positive.

    Examples
    --------
    >>> from sklearn_fw.projections import project_l2_ball
    >>> project_l2_ball([3.0, 4.0])
    array([0.6, 0.8])
    """
    v, radius = _vectors(v), check.positive(radius, "radius")
    # Squares of huge numbers would overflow.
    scale = np.maximum(np.abs(v).max(axis=-1, keepdims=True), radius)
    scaled, limit = v / scale, radius / scale
    norm = np.linalg.norm(scaled, axis=-1, keepdims=True)
    return np.where(norm <= limit, v, scaled * (radius / np.maximum(norm, limit)))


def project_box(v, lower, upper):
    """Project each vector onto ``{x : lower <= x <= upper}``; returns an array like v.

    Parameters
    ----------
    v : array-like of shape (..., n)
        Vectors along the last axis.
    lower, upper : float or array-like that broadcasts with v
        Bounds of the entries; infinite for none.

    Examples
    --------
    >>> from sklearn_fw.projections import project_box
    >>> project_box([-2.0, 0.5, 2.0], 0.0, 1.0)
    array([0. , 0.5, 1. ])
    """
    v = _vectors(v)
    lower = check.array(lower, "lower", finite=None)
    upper = check.array(upper, "upper", finite=None)
    for bound, name in ((lower, "lower"), (upper, "upper")):
        try:
            np.broadcast_to(bound, v.shape)
        except ValueError:
            raise ValueError(
                f"{name} has shape {bound.shape}, which does not fit v of {v.shape}"
            ) from None
    if not np.all(lower <= upper) or np.any(lower == np.inf) or np.any(upper == -np.inf):
        raise ValueError("lower must not be above upper anywhere, else the box is empty")
    return np.clip(v, lower, upper)


def _vectors(v):
    v = check.array(v, "v")
    if v.ndim == 0 or v.shape[-1] == 0:
        raise ValueError(f"v must hold vectors along its last axis, got shape {v.shape}")
    return v


def project_matching(
    p, *, entropic=False, perfect=False, tol=1e-9, max_iter=500, duals=None, return_duals=False
):
    """Project a matrix onto fractional matchings, by distance or relative entropy.

    Minimizes ``||z - p||^2 / 2``, or ``sum(z * (log(z) - p - 1))`` if ``entropic``, over the
    polytope of matchings: ``z >= 0`` with row and column sums at most one, or exactly one with
    ``perfect=True`` (doubly stochastic matrices; Sinkhorn's scaling of ``exp(p)``). With a dual
    number for each row and column, z is ``max(p - u[:, None] - v, 0)``, or
    ``exp(p - u[:, None] - v)``, where all entries stay positive.

    Parameters
    ----------
    p : array-like of shape (n_rows, n_columns)
        Finite numbers; logarithms, of any size, if ``entropic``.
    entropic : bool, default=False
        Whether distance is relative entropy, as for entropic proximal steps.
    perfect : bool, default=False
        Whether all sums are one, which takes as many rows as columns.
    tol : float, default=1e-9
        Bound on the distance ``sum(abs(z - exact z))``, up to rounding in p.
    max_iter : int, default=500
        Newton steps allowed.
    duals : pair of arrays (u, v), default=None
        A first guess, as returned by ``return_duals`` for a similar matrix.
    return_duals : bool, default=False
        Also return the duals.

    Returns
    -------
    z : ndarray of shape (n_rows, n_columns)
        The projection; sums exceed one by ``tol / (n_rows + n_columns)`` at most.
    duals : tuple of ndarrays of shapes (n_rows,) and (n_columns,)
        Duals (u, v) of rows and columns, not negative unless ``perfect``; with
        ``return_duals=True``.

    Notes
    -----
    u is eliminated: rows are projected, or scaled, exactly. The dual, a function of v, is minimized
    by semismooth Newton steps with a line search and exact duals of all columns; every 20 steps
    rows and columns change places. Large values are halved until they are small, and doubled again
    with the solution as the next guess. A step costs ``n m^2 + m^3 / 3`` for sides ``n >= m``.
    Sinkhorn's alternating steps [2]_ take up to tens of thousands of sweeps for large values; a
    minimum cost flow with quadratic costs [1]_ is exact, too.

    z is the exact projection for column sums off by ``r``, which move mass along paths of at most
    ``n_rows + n_columns`` entries: it is off by at most that number times ``sum(abs(r))``.

    References
    ----------
    .. [1] B. Taskar, S. Lacoste-Julien, M. I. Jordan, "Structured prediction, dual extragradient
       and Bregman projections", JMLR 7, 2006.
    .. [2] R. Sinkhorn, P. Knopp, "Concerning nonnegative matrices and doubly stochastic matrices",
       Pacific Journal of Mathematics 21, 1967.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.projections import project_matching
    >>> project_matching([[2.0, 1.0], [1.5, -1.0]])
    array([[0.5, 0.5],
           [0.5, 0. ]])
    >>> project_matching(np.log([[4.0, 1.0], [1.0, 0.25]]), entropic=True).round(2)
    array([[0.61, 0.39],
           [0.39, 0.25]])
    """
    entropic, perfect = check.flag(entropic, "entropic"), check.flag(perfect, "perfect")
    return_duals = check.flag(return_duals, "return_duals")
    p = np.array(check.numbers(p, "p"), order="C")
    if p.ndim != 2:
        raise ValueError(f"p must have shape (n_rows, n_columns), got {p.shape}")
    n_rows, n_columns = p.shape
    if perfect and n_rows != n_columns:
        raise ValueError(
            f"perfect=True needs as many rows as columns, got p of shape {p.shape}: set "
            f"perfect=False, or add rows or columns for partners that do not exist"
        )
    tol, max_iter = check.positive(tol, "tol"), check.integer(max_iter, "max_iter", 1)
    guess = None if duals is None else _check_duals(duals, p.shape, perfect)
    if p.size == 0:
        z, duals = p, (np.zeros(n_rows), np.zeros(n_columns))
    elif n_rows < n_columns:
        z, v, u = _solve(p.T.copy(), guess and guess[0], entropic, perfect, tol, max_iter)
        z, duals = np.ascontiguousarray(z.T), (u, v)
    else:
        z, *duals = _solve(p, guess and guess[1], entropic, perfect, tol, max_iter)
    return (z, tuple(duals)) if return_duals else z


def _check_duals(duals, shape, perfect):
    if not (isinstance(duals, tuple | list) and len(duals) == 2):
        raise ValueError(f"duals must be a pair of arrays (u, v) or None, got {duals!r}")
    least = -np.inf if perfect else 0.0
    return tuple(
        np.maximum(check.vector(side, f"{name} of duals", n), least)
        for side, name, n in zip(duals, "uv", shape)
    )


def _solve(p, v, entropic, perfect, tol, max_iter):
    """(z, u, v) for a matrix that is not wider than high."""
    project, largest, length = matching.project, np.abs(p).max(), sum(p.shape)
    goal = max(tol / length, 4 * np.finfo(np.float64).eps * largest * p.size)
    if v is not None:
        z, u, v, _, violation = project(p, v, perfect, entropic, goal, min(max_iter, GUESS_STEPS))
        if violation <= goal:
            return z, u, v
    v = np.zeros(p.shape[1])
    for n_halvings in range(int(np.ceil(np.log2(max(largest / EASY, 1.0)))), 0, -1):
        # What matters is which entries compete: a violation of 0.1 is good enough.
        _, _, v, _, _ = project(p * 0.5**n_halvings, v, perfect, entropic, 0.1, max_iter)
        v *= 2.0
    n_iter, is_turned = 0, False
    while True:
        n_steps = min(TURN_STEPS, max_iter - n_iter)
        z, u, v, n_steps, violation = project(p, v, perfect, entropic, goal, n_steps)
        n_iter += n_steps
        if violation <= goal or n_iter >= max_iter:
            break
        p, v, is_turned = np.ascontiguousarray(p.T), u, not is_turned
    if violation > goal:
        warn(
            f"projection onto matchings stopped after max_iter={n_iter} steps at a distance of at "
            f"most {length * violation:.3g} > tol={tol:.3g}: raise max_iter or tol",
            ConvergenceWarning,
        )
    return (np.ascontiguousarray(z.T), v, u) if is_turned else (z, u, v)
