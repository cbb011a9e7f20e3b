"""What theory says of methods that refresh q of n slots per step: rates and step sizes."""

import numpy as np

from ..._core.validation import LARGEST, check_array_of_numbers, check_choice, check_integer


def memorization_rate(K, q, n, a):
    """Rate of a uniform q-memorization method, the larger the faster.

    The expected error is multiplied by ``1 - memorization_rate(K, q, n, a)`` in every step of size
    ``a / (4 L)``. SAGA is q = 1.

    Parameters
    ----------
    K : float or array-like
        Condition ``4 q L / (n mu)``, where every term of the mean is L-smooth and the mean is
        mu-strongly convex.
    q : int
        Slots of the memory that a step refreshes.
    n : int
        Number of terms.
    a : float or array-like
        Four times the step size in units of 1 / L, in [0, 1).

    Returns
    -------
    float or ndarray
        The rate, at most q / n.

    See Also
    --------
    memorization_step : Values of a.

    References
    ----------
    T. Hofmann, A. Lucchi, S. Lacoste-Julien, B. McWilliams, Variance reduced stochastic gradient
    descent with neighbors, NIPS 2015: Theorem 1.

    Examples
    --------
    >>> from sklearn_fw.optim.experimental import memorization_rate, memorization_step
    >>> a = memorization_step(0.01)
    >>> round(float(memorization_rate(0.01, 20, 5000, a)), 6)  # nearly q / n
    0.00398
    """
    K, a = _condition(K), check_array_of_numbers(a, "a")
    q, n = check_integer(q, "q", 1), check_integer(n, "n", 1)
    if np.any((a < 0.0) | (a >= 1.0)):
        raise ValueError(f"a must be in [0, 1), got {a}")
    try:
        K, a = np.broadcast_arrays(K, a)
    except ValueError:
        raise ValueError(f"K and a must fit together, got shapes {K.shape} and {a.shape}") from None
    fresh = (1.0 - a) / (1.0 - a / 2.0)  # held back by the age of the memory
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        return q / n * np.minimum(fresh, a / K)[()]


def memorization_step(K, rule="optimal"):
    """Step size for `memorization_rate`, as the a of ``a / (4 L)``.

    Parameters
    ----------
    K : float or array-like
        Condition ``4 q L / (n mu)``.
    rule : {"optimal", "shared", "universal"}, default="optimal"
        "optimal" has the largest rate; "shared" is the largest step for which the theorem covers
        memories with errors, as sharing between neighbours makes them; "universal" needs no K and
        has at least 0.58 of the largest rate.

    Returns
    -------
    float or ndarray
        The a, below 1.

    References
    ----------
    See `memorization_rate`: Theorem 1, Theorem 2 and Corollary 2.

    Examples
    --------
    >>> from sklearn_fw.optim.experimental import memorization_step
    >>> round(float(memorization_step(1.0)), 4)
    0.5858
    """
    check_choice(rule, "rule", {"optimal", "shared", "universal"})
    K = _condition(K)
    if rule == "optimal":
        return (2.0 * K / (1.0 + K + np.sqrt(1.0 + K * K)))[()]
    if rule == "shared":
        return (2.0 * K / (1.0 + 1.5 * K + np.sqrt(1.0 + K + 2.25 * K * K)))[()]
    return np.full(K.shape, 2.0 - np.sqrt(2.0))[()]


def _condition(K):
    K = check_array_of_numbers(K, "K")
    if np.any(K <= 0.0):
        raise ValueError(f"K must be positive, got {K}")
    if np.any(K > LARGEST):
        raise ValueError(f"K must be at most {LARGEST:g}, got {K}")
    return K
