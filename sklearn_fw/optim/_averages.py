"""Running averages of iterates: the one place where their weights are known."""

import numpy as np

from .._core.validation import (
    check_array_of_numbers,
    check_integer,
    check_magnitude,
    check_not_negative,
    check_number,
)

SCHEMES = {"none", "uniform", "suffix", "doubling", "weighted", "weighted2"}
FAMILIES = {"power", "polynomial"}

# Factors below this are multiplied out before they underflow.
SMALL = 1e-100
# So many times the factor a, c leaves as many digits fewer to the average, a difference then.
FAR = 1e4


class RunningAverage:
    """Average of w_0, w_1, ... that takes each point as it comes.

    ``average_t = (1 - rho_t) average_(t-1) + rho_t w_t``, where the shares rho_t are those of a
    scheme. Averages that weigh later points more are what gives subgradient methods the rate O(1/t)
    instead of O(log(t) / t).

    Parameters
    ----------
    scheme : str or tuple, default="weighted"
        Weight of w_s: "weighted" s + 1, "weighted2" (s + 1)^2, "uniform" 1, ``("power", k)``
        (s + 1)^k, ``("polynomial", eta)`` about s^eta (0 is "uniform" and 1 is "weighted").
        "suffix" takes equal weights from the point ceil(T / 2) on, where ``horizon`` is T, and the
        last point before that; "doubling" equal weights from the last s that is a power of two
        on; "none" the last point.
    horizon : int or None, default=None
        Number T of the last point, which "suffix" must know; else not used.

    Attributes
    ----------
    n_seen : int
        Number of points.
    value : ndarray or None
        The average, None before the first point.

    Notes
    -----
    `update` costs O(d). `update_sparse` costs as much as there are entries: the point is kept as
    ``a v`` and the average as ``b u + c v``.

    References
    ----------
    .. [1] S. Lacoste-Julien, M. Schmidt, F. Bach, "A simpler approach to obtaining an O(1/t)
       convergence rate for the projected stochastic subgradient method", 2012: eq. (3).
    .. [2] O. Shamir, T. Zhang, "Stochastic gradient descent for non-smooth optimization:
       convergence results and optimal averaging schemes", ICML 2013, for "polynomial".

    Examples
    --------
    >>> from sklearn_fw.optim import RunningAverage
    >>> average = RunningAverage("weighted")
    >>> for t in range(4):
    ...     average.update([float(t)])
    >>> average.value, average.n_seen
    (array([2.]), 4)
    """

    def __init__(self, scheme="weighted", *, horizon=None):
        self.scheme = scheme
        self._kind, self._exponent = _check_scheme(scheme)
        self.horizon = None if horizon is None else check_integer(horizon, "horizon", 0)
        if self._kind == "suffix" and horizon is None:
            raise ValueError("scheme='suffix' needs horizon, the number of the last point")
        self.n_seen = 0
        self._rho = 1.0  # of the last point
        self._average = self._point = None
        self._state = None

    def rates(self, n_points):
        """Shares rho_t of the next points, which count as seen from then on.

        For loops that mix the points by themselves.

        Parameters
        ----------
        n_points : int
            How many.

        Returns
        -------
        ndarray of shape (n_points,)
            Numbers in (0, 1].
        """
        n_points = check_integer(n_points, "n_points", 1)
        t = np.arange(self.n_seen, self.n_seen + n_points, dtype=np.float64)
        rates = self._rates(t)
        self.n_seen += n_points
        self._rho = float(rates[-1])
        return rates

    def _rates(self, t):
        if self._kind == "none":
            return np.ones_like(t)
        if self._kind == "uniform":
            return 1.0 / (t + 1.0)
        if self._kind == "suffix":
            return 1.0 / np.maximum(t - (self.horizon + 1) // 2 + 1.0, 1.0)
        if self._kind == "doubling":
            # The exponent of frexp is that of the next power of two.
            return 1.0 / (t - np.where(t > 0, np.exp2(np.frexp(t)[1] - 1.0), 0.0) + 1.0)
        if self._kind == "polynomial":
            return (1.0 + self._exponent) / (t + 1.0 + self._exponent)
        if self._exponent == 1.0:
            return 2.0 / (t + 2.0)
        if self._exponent == 2.0:
            return 6.0 * (t + 1.0) / ((t + 2.0) * (2.0 * t + 3.0))
        # In units of the last weight, since powers of many steps overflow.
        weights = ((t + 1.0) / (t[-1] + 1.0)) ** self._exponent
        before = (t[0] / (t[-1] + 1.0)) ** self._exponent / self._rho if t[0] > 0 else 0.0
        totals = before + np.cumsum(weights)
        # Weights that underflow are those of the first of very many points.
        return np.divide(weights, totals, out=np.ones_like(t), where=totals > 0.0)

    def update(self, w):
        """Take in the next point.

        Parameters
        ----------
        w : array-like
            The point, of the same shape each time.
        """
        w = check_array_of_numbers(w, "w")
        check_magnitude(w, "w")
        self._check_shape(w)
        self._unfold()
        rho = self.rates(1)[0]
        if rho == 1.0:
            self._average = w.copy()
        else:
            self._average += rho * (w - self._average)
        self._point = w.copy()

    def update_sparse(self, scale, indices, values):
        """Take in ``scale`` times the last point, with ``values`` added at ``indices``.

        Parameters
        ----------
        scale : float
            Factor of the last point.
        indices : array-like of int of shape (n_entries,)
            Places of a point that is a vector, each at most once.
        values : array-like of shape (n_entries,)
            What is added there.
        """
        scale, values = check_number(scale, "scale"), check_array_of_numbers(values, "values")
        check_magnitude(values, "values")
        indices = np.asarray(indices)
        if self._point is None or self._point.ndim != 1:
            raise ValueError("update_sparse needs a point that is a vector: begin with update(w_0)")
        if indices.size == 0:
            indices = indices.astype(np.intp)
        if indices.dtype.kind not in "iu" or indices.ndim != 1 or indices.shape != values.shape:
            raise ValueError(
                f"indices and values must be vectors of one length, the first of integers; got "
                f"shapes {indices.shape} and {values.shape}"
            )
        if indices.size and not 0 <= indices.min() <= indices.max() < self._point.size:
            raise ValueError(f"indices must be from 0 to {self._point.size - 1}")
        if np.unique(indices).size != indices.size:
            raise ValueError("indices must not name a place twice")
        a, b, c = self._state or (1.0, 1.0, 0.0)  # point a v, average b u + c v
        rho = self.rates(1)[0]
        # A share of one leaves nothing of the average, and b is zero until the next share.
        small = abs(a * scale) < SMALL or (rho < 1.0 and abs(b) * (1.0 - rho) < SMALL)
        if small or abs(c) * (1.0 - rho) > FAR * abs(a * scale):
            self._state = a, b, c
            self._unfold()
            self._point *= scale
            a, b, c, scale = 1.0, 1.0, 0.0, 1.0
        a *= scale
        b, c = (1.0 - rho) * b, (1.0 - rho) * c
        left = c / b if b != 0.0 else 0.0
        self._point[indices] += values / a
        self._average[indices] -= left * (values / a)
        self._state = a, b, c + rho * a

    def _unfold(self):
        """Multiply the factors of sparse updates out."""
        if self._state is not None:
            a, b, c = self._state
            self._average = b * self._average + c * self._point
            self._point = a * self._point
            self._state = None

    def _check_shape(self, w):
        if self._point is not None and w.shape != self._point.shape:
            raise ValueError(f"w has shape {w.shape}, the points before {self._point.shape}")

    @property
    def value(self):
        """The average, a new array; None before the first point."""
        self._unfold()
        return None if self._average is None else self._average.copy()


def _check_scheme(scheme):
    if isinstance(scheme, str) and scheme in SCHEMES:
        powers = {"weighted": 1.0, "weighted2": 2.0}
        return ("power", powers[scheme]) if scheme in powers else (scheme, None)
    if isinstance(scheme, tuple) and len(scheme) == 2 and scheme[0] in FAMILIES:
        exponent = check_not_negative(scheme[1], f"exponent of {scheme[0]!r}")
        return scheme[0], exponent
    names = ", ".join(map(repr, sorted(SCHEMES)))
    raise ValueError(
        f"the averaging scheme must be one of {names}, ('power', k) or ('polynomial', eta); got "
        f"{scheme!r}"
    )
