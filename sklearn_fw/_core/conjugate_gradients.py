"""Linear systems of a matrix that is known by its products."""

import numpy as np


def conjugate_gradients(times, B, *, tol, max_iter, size=None, scale=1.0):
    """Solve ``H a = b`` for each row b of B together, with a symmetric H.

    Returns the solutions, and a tuple of the iterations, the largest residual relative to its size,
    and the least curvature of a unit direction.

    ``times`` gives the product of H with each row of an array. A system stops where the norm
    ``sqrt(r @ (scale * r))`` of its residual is at most ``tol * size``, or where a direction has no
    positive curvature. ``scale`` is a diagonal that is about the inverse of H, and ``size``
    (n_systems,) what norms are compared with; None is those of B.
    """
    A, R, P = np.zeros_like(B), B.copy(), scale * B
    squares = (R * P).sum(axis=1)
    size = np.sqrt(squares) if size is None else size
    on, least, n_iter = np.flatnonzero(np.sqrt(squares) > tol * size), np.inf, 0
    while len(on) and n_iter < max_iter:
        Q = times(P[on])
        bends = (P[on] * Q).sum(axis=1)
        least = min(least, float((bends / (P[on] ** 2).sum(axis=1)).min()))
        up = bends > 0.0
        on, Q, bends = on[up], Q[up], bends[up]
        step = (squares[on] / bends)[:, None]
        A[on] += step * P[on]
        R[on] -= step * Q
        Z = scale * R[on]
        new = (R[on] * Z).sum(axis=1)
        P[on] = Z + (new / squares[on])[:, None] * P[on]
        squares[on] = new
        on = on[np.sqrt(new) > tol * size[on]]
        n_iter += 1
    left = np.sqrt(squares) / np.where(size > 0.0, size, 1.0)
    return A, (n_iter, float(left.max(initial=0.0)), least)
