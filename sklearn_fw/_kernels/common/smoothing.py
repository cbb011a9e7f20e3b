"""The maximum of numbers, smoothed by a quadratic: which of them count, and how much.

With ``omega(u) = (|u|^2 - 1) / 2`` on the simplex, ``max_u <u, z> - mu omega(u)`` has as maximiser
the projection of z / mu, which is zero but for the largest z.
"""

from .._jit import njit


@njit
def project_sorted(values, mu, weights):
    """Projection of ``values / mu``, in descending order, to the simplex; cost: what is not zero.

    Parameters
    ----------
    values : ndarray of shape (n,)
        Numbers in descending order.
    mu : float
        Smoothing; 0 puts all weight on the first.
    weights : ndarray of shape (n,)
        Receives the projection.

    Returns
    -------
    n_positive : int
        How many weights are positive. Where it is n, numbers that are left out might count, too.
    value : float
        The smoothed maximum.
    """
    n, top = values.size, values[0]
    n_positive, total = 0, 0.0  # of the differences to the largest: nothing cancels at small mu
    for k in range(n):
        below = values[k] - top
        if k > 0 and total - k * below >= mu:
            break
        total += below
        n_positive = k + 1
    for k in range(n):
        weights[k] = 0.0
    if n_positive == 1:
        weights[0] = 1.0
        return 1, top
    value, square, mean = 0.0, 0.0, total / n_positive
    for k in range(n_positive):
        below = values[k] - top
        u = max(1.0 / n_positive + (below - mean) / mu, 0.0)
        weights[k] = u
        value += u * below
        square += u * u
    return n_positive, top + value + 0.5 * mu * (1.0 - square)
