"""The projected stochastic subgradient method as a function of an oracle."""

import numpy as np
from scipy.optimize import OptimizeResult

from ..._core.budget import time_budget
from ..._core.loop import IterativeMethod, drive
from ..._core.result import Status
from ..._core.validation import (
    check_array_of_numbers,
    check_integer,
    check_not_negative,
    check_number,
    check_random_state,
    check_strength,
)
from .._ends import end_of
from ._averages import RunningAverage
from ._step_sizes import check_step_size, step_sizes


def projected_subgradient(
    oracle,
    start,
    mu,
    *,
    max_iter=1000,
    step_size="theory",
    averaging="weighted",
    projection=None,
    objective=None,
    callback=None,
    time_limit=None,
    random_state=None,
    verbose=0,
):
    """Minimise a strongly convex function by noisy subgradients and an average of all points.

    For a function f on a convex set K, and g_t with ``E[g_t] in df(w_(t-1))``::

        w_t = projection(w_(t-1) - gamma_t g_t),        x = sum_t weight_t w_t

    If f is ``mu``-strongly convex and ``E |g_t|^2 <= B^2``, then after T steps of "theory" with
    "weighted" ``E f(x) - min f <= 2 B^2 / (mu (T + 2))``. Choose this for functions that are not
    smooth and cheap to sample; nothing is certified.

    Parameters
    ----------
    oracle : callable
        ``oracle(w, rng)`` returns a subgradient of f at w, of the shape of w, or a random vector
        that is one on average; ``rng`` is a `numpy.random.RandomState`.
    start : array-like
        The point w_0, of any shape.
    mu : float
        Modulus of strong convexity, not negative; zero for a callable ``step_size`` only.
    max_iter : int, default=1000
        Number T of steps.
    step_size : {"theory", "pegasos"}, tuple or callable, default="theory"
        "theory" is ``2 / (mu (t + 1))``, "pegasos" is ``1 / (mu t)``, which is often better though
        its bound has a factor log T without "weighted"; ``("shifted", c, b)`` is
        ``c / (mu (t + b))`` with 1/2 < c <= 1 + b; a callable gets t = 1, 2, ... and returns a
        number that is at most 1 / mu.
    averaging : str or tuple, default="weighted"
        Scheme of `RunningAverage`.
    projection : callable or None, default=None
        ``projection(w)`` returns the point of K that is nearest to w, as those of
        `sklearn_fw.projections` do; None means the whole space.
    objective : callable or None, default=None
        ``objective(w)`` returns f(w), for the history: it is asked at the average after 1, 2, 4, 8,
        ... steps and at the end.
    callback : callable or None, default=None
        Called after each step with an OptimizeResult that has ``x`` (the average), ``x_last`` and
        ``nit``; returning True ends the loop.
    time_limit : float or None, default=None
        Seconds after which no new step begins.
    random_state : int, RandomState or None, default=None
        The ``rng`` of the oracle.
    verbose : int, default=0
        Log a line per value of the objective.

    Returns
    -------
    result : OptimizeResult
        ``x`` (the average), ``x_last``, ``fun`` (objective at x, None without ``objective``),
        ``nit``, ``success`` (whether all steps were made), ``status``, ``message`` and ``history``
        (dict of arrays).

    See Also
    --------
    RunningAverage : The average by itself.
    sklearn_fw.linear_model.AveragedSubgradientClassifier : Compiled, for linear models.

    References
    ----------
    .. [1] S. Lacoste-Julien, M. Schmidt, F. Bach, "A simpler approach to obtaining an O(1/t)
       convergence rate for the projected stochastic subgradient method", 2012: eq. (1) and (3). The
       running average has w_T in it, which the theorem has not; the bound is that of one more step.

    Examples
    --------
    The function ``|w - 1| + w^2 / 4`` has its minimum at 1.

    >>> import numpy as np
    >>> from sklearn_fw.optim import projected_subgradient
    >>> result = projected_subgradient(
    ...     lambda w, rng: np.sign(w - 1.0) + 0.5 * w, start=[0.0], mu=0.5, max_iter=2000
    ... )
    >>> bool(abs(result.x[0] - 1.0) < 0.01)
    True
    """
    for function, name in ((projection, "projection"), (objective, "objective")):
        if function is not None and not callable(function):
            raise TypeError(f"{name} must be callable or None, got {function!r}")
    if not callable(oracle):
        raise TypeError(f"oracle must be callable, got {oracle!r}")
    mu = check_strength(mu, "mu") if check_not_negative(mu, "mu") > 0.0 else 0.0
    check_step_size(step_size, mu)
    max_iter = check_integer(max_iter, "max_iter", 1)
    start = check_array_of_numbers(start, "start")
    average = RunningAverage(averaging, horizon=max_iter)
    method = _Steps(oracle, start, mu, step_size, average, projection, objective)
    method.rng = check_random_state(random_state)
    with time_budget(time_limit):
        outcome = drive(
            method, tol=0.0, max_iter=max_iter, end=end_of(callback, method.state), verbose=verbose
        )
    is_done = outcome.status is Status.MAX_ITER
    outcome = outcome._replace(status=Status.FINISHED if is_done else outcome.status)
    fields = outcome.fields() | {"success": is_done}
    return OptimizeResult(x=method.average.value, x_last=method.w, fun=method.fun, **fields)


class _Steps(IterativeMethod):
    """The state of one run."""

    def __init__(self, oracle, start, mu, step_size, average, projection, objective):
        self.oracle, self.projection, self.objective = oracle, projection, objective
        self.mu, self.step_size, self.average = mu, step_size, average
        self.t, self.fun = 0, None
        self.w = self._project(start.copy())
        average.update(self.w)

    def step(self):
        """One subgradient; a row after powers of two."""
        self.t += 1
        size = step_sizes(self.step_size, self.mu, self.t, 1)[0]
        g = self._answer(self.oracle(self.w.copy(), self.rng), "oracle")
        self.w = self._project(self.w - (size / self.mu if self.mu > 0.0 else size) * g)
        self.average.update(self.w)
        is_power = self.t & (self.t - 1) == 0
        return self.certify() if is_power and self.objective is not None else None

    def certify(self):
        """The objective, if there is one; there is no gap."""
        if self.objective is not None:
            self.fun = check_number(self.objective(self.average.value), "objective(w)")
        return {"objective": self.fun, "dual_gap": None}

    def solution(self):
        """The average."""
        return self.average.value

    def state(self):
        """What a callback sees."""
        return OptimizeResult(x=self.average.value, x_last=self.w.copy(), nit=self.t)

    def _project(self, w):
        if self.projection is None:
            return w
        return self._answer(self.projection(w), "projection", w)

    def _answer(self, found, name, like=None):
        like = self.w if like is None else like
        found = check_array_of_numbers(found, f"what {name} returned")
        if found.shape != like.shape:
            raise ValueError(
                f"{name} must return an array of shape {like.shape}, got shape {found.shape}"
            )
        return np.array(found)
