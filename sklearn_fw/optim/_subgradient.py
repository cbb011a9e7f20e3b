"""The projected stochastic subgradient method, and running averages of its iterates."""

import numpy as np
import scipy.sparse as sp
from scipy.optimize import OptimizeResult
from sklearn.utils.extmath import row_norms

from .._core import check
from .._core.loop import IterativeMethod
from .._core.result import Status
from .._kernels import lazy
from ._ends import end_of, run_to_end
from ._incremental._finite_sum import FiniteSum


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
    """Minimize a strongly convex function by averaged stochastic subgradient steps.

    For a function f on a convex set K, and g_t with ``E[g_t] in df(w_(t-1))``::

        w_t = projection(w_(t-1) - gamma_t g_t),        x = sum_t weight_t w_t

    If f is ``mu``-strongly convex and ``E |g_t|^2 <= B^2``, then after T steps of "theory" with
    "weighted" ``E f(x) - min f <= 2 B^2 / (mu (T + 2))``. Choose this for nonsmooth functions that
    are cheap to sample; nothing is certified. For linear models
    `sklearn_fw.linear_model.AveragedSubgradientClassifier` is compiled.

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
        ``objective(w)`` returns f(w), for the history: at the averages of 1, 2, 4, ... steps and
        at the end.
    callback : callable or None, default=None
        Called after each step with ``x``, ``x_last`` and ``nit``; returning True ends the loop.
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
    mu = check.strength(mu, "mu") if check.not_negative(mu, "mu") > 0.0 else 0.0
    rule = resolve_step_size(step_size, mu)
    max_iter = check.integer(max_iter, "max_iter", 1)
    start = check.array(start, "start")
    average = RunningAverage(averaging, horizon=max_iter)
    method = _Steps(oracle, start, mu, rule, average, projection, objective)
    method.rng = check.random_state(random_state)
    outcome = run_to_end(
        method, tol=0.0, max_iter=max_iter, time_limit=time_limit, verbose=verbose,
        end=end_of(callback, method.state),
    )  # fmt: skip
    is_done = outcome.status is Status.MAX_ITER
    outcome = outcome._replace(status=Status.FINISHED if is_done else outcome.status)
    fields = outcome.fields() | {"success": is_done}
    return OptimizeResult(x=method.average.value, x_last=method.w, fun=method.fun, **fields)


class _Steps(IterativeMethod):
    def __init__(self, oracle, start, mu, rule, average, projection, objective):
        self.oracle, self.projection, self.objective = oracle, projection, objective
        self.mu, self.rule, self.average = mu, rule, average
        self.t, self.fun = 0, None
        self.w = self._project(start.copy())
        average.update(self.w)

    def step(self):
        self.t += 1
        size = step_sizes(self.rule, self.mu, self.t, 1)[0]
        g = ask(self.oracle, self.w, self.rng, name="oracle")
        self.w = self._project(self.w - (size / self.mu if self.mu > 0.0 else size) * g)
        self.average.update(self.w)
        is_power = self.t & (self.t - 1) == 0
        return self.certify() if is_power and self.objective is not None else None

    def certify(self):
        if self.objective is not None:
            self.fun = check.number(self.objective(self.average.value), "objective(w)")
        return {"objective": self.fun, "dual_gap": None}

    def state(self):
        return OptimizeResult(x=self.average.value, x_last=self.w.copy(), nit=self.t)

    def _project(self, w):
        return w if self.projection is None else ask(self.projection, w, name="projection")


def ask(function, w, *more, name):
    """A new array of the shape of w, which a function of the user returned."""
    found = check.array(function(w.copy(), *more), f"what {name} returned")
    if found.shape != w.shape:
        raise ValueError(f"{name} must return an array of shape {w.shape}, got shape {found.shape}")
    return np.array(found)


NAMED = {"theory": (2.0, 1.0), "pegasos": (1.0, 0.0)}


def resolve_step_size(step_size, mu):
    """A callable, or the numbers c and b of ``c / (mu (t + b))``."""
    if callable(step_size):
        return step_size
    if isinstance(step_size, tuple) and len(step_size) == 3 and step_size[0] == "shifted":
        c, b = check.positive(step_size[1], "c"), check.not_negative(step_size[2], "b")
    elif isinstance(step_size, str) and step_size in NAMED:
        c, b = NAMED[step_size]
    else:
        known = "'theory', 'pegasos', ('shifted', c, b) or a callable"
        raise ValueError(f"step_size must be {known}; got {step_size!r}")
    if mu == 0.0:
        example = "lambda t: 1 / t**0.5"
        raise ValueError(f"{step_size=} divides by mu, which is 0: give a callable like {example}")
    if not 0.5 < c <= 1.0 + b:
        raise ValueError(f"('shifted', c, b) needs 1/2 < c <= 1 + b, got c={c}, b={b}")
    return c, b


def step_sizes(rule, mu, first, n_steps):
    """Sizes of the steps ``first``, first + 1, ..., counted from one, in units of 1 / mu if mu > 0.

    In these units the sizes of named rules are exact, and none is above one.
    """
    t = np.arange(first, first + n_steps)
    if not callable(rule):
        c, b = rule
        return c / (t + b)
    sizes = np.array([check.positive(rule(k), f"step_size({k})") for k in t.tolist()])
    if mu == 0.0:
        return sizes
    sizes = np.where(np.isclose(mu * sizes, 1.0, rtol=1e-12, atol=0.0), 1.0, mu * sizes)
    if sizes.max() > 1.0:
        k = int(np.argmax(sizes > 1.0))
        size = sizes[k] / mu
        raise ValueError(f"steps must not be longer than 1 / mu, but step_size({t[k]}) is {size:g}")
    return sizes


subgradient = lazy("incremental.subgradient")


class RidgeProblem(FiniteSum):
    """``alpha / 2 |w|^2 + sum_i s_i loss(y_i, <w, (x_i, bias)>) / n``, the s_i of mean one.

    ``bias`` is the value of a constant feature, zero for none; w lies in a ball of ``radius``, and
    ``project`` is a projection of its entries but for that feature.
    """

    def __init__(self, X, y, loss, alpha, *, weight, bias, project=None, radius=np.inf):
        super().__init__(X, y, loss, None, weight=weight)
        self.alpha, self.bias, self.project, self.radius = alpha, bias, project, radius

    def mean_square(self):
        squares = row_norms(self.X, squared=True).astype(np.float64) + self.bias**2
        return float(np.average(squares, weights=self.weight))

    def value(self, w):
        total = self.loss_sum(self.scores(w[:-1], self.bias * w[-1]))
        return float(0.5 * self.alpha * (w @ w) + total / self.y.size)


class SubgradientState:
    """Iterate ``a v`` and average ``b u + c v`` after t steps; what fits by parts go on with."""

    def __init__(self, size, average):
        self.t, self.average = 0, average
        average.rates(1)  # of the start, zero
        self.v, self.u = np.zeros(size), np.zeros(size)
        self.factors = np.array([1.0, 0.0, 1.0, 0.0])

    @property
    def last(self):
        return self.factors[0] * self.v

    @property
    def mean(self):
        _, b, c, _ = self.factors
        return c * self.v if b == 0.0 else b * self.u + c * self.v


class RowSteps(IterativeMethod):
    def __init__(self, problem, state, *, rule, sampling, rng, record):
        self.problem, self.state, self.rule, self.record = problem, state, rule, record
        draws = {"cyclic": np.arange, "shuffle": rng.permutation}
        self.draw = draws.get(sampling, lambda n: rng.randint(n, size=n))
        self.rows, self.target = problem.rows(), problem.target()

    def step(self):
        problem, state, n = self.problem, self.state, self.problem.y.size
        order = self.draw(n)
        shares = step_sizes(self.rule, problem.alpha, state.t + 1, n)
        rates = state.average.rates(n)
        state.t += n
        if problem.project is not None:
            self._step_in_numpy(order, shares, rates)
        else:
            subgradient.averaged_pass(
                self.rows, self.target, order, shares, rates, problem.alpha, problem.bias,
                problem.radius, state.factors, state.v, state.u,
            )  # fmt: skip
            problem.raise_kept()
        size = np.abs(state.mean).max()
        if not size <= check.LARGEST:
            raise FloatingPointError(f"coefficients became {size:g}: scale X, or increase alpha")
        return self.certify() if self.record else None

    def certify(self):
        row = {"objective": self.problem.value(self.state.mean), "dual_gap": None}
        return row | {"last_objective": self.problem.value(self.state.last)} if self.record else row

    def _step_in_numpy(self, order, shares, rates):
        """The steps of the kernel, for projections of all coefficients."""
        problem, state = self.problem, self.state
        w, mean = state.last, state.mean
        weight = problem.weights
        for i, share, rho in zip(order, shares, rates, strict=True):
            x = problem.X[[i]].toarray()[0] if sp.issparse(problem.X) else problem.X[i]
            z = np.array([x @ w[:-1] + problem.bias * w[-1]])
            slope = weight[i] * problem.loss.derivative(problem.y[i : i + 1], z)[0]
            w *= 1.0 - share
            w[:-1] -= share / problem.alpha * slope * x
            w[-1] -= share / problem.alpha * slope * problem.bias
            w[:-1] = problem.project(w[:-1])
            mean += rho * (w - mean)
        state.v, state.u, state.factors = w, mean, np.array([1.0, 1.0, 0.0, w @ w])


# Those with weights that are powers; they are the same for exponents 0 and 1 in both families.
SCHEMES = {
    "none": None, "suffix": None, "doubling": None,
    "uniform": ("power", 0.0), "weighted": ("power", 1.0), "weighted2": ("power", 2.0),
}  # fmt: skip
FAMILIES = {"power", "polynomial"}

# Factors below this are multiplied out before they underflow.
SMALL = 1e-100
# This many times the factor a, c leaves as many digits fewer to the average, a difference then.
FAR = 1e4


class RunningAverage:
    """Average of w_0, w_1, ... that takes each point as it comes.

    ``average_t = (1 - rho_t) average_(t-1) + rho_t w_t``, where the shares rho_t are those of a
    scheme. Weighting later points more gives subgradient methods the rate O(1/t) instead of
    O(log(t) / t). `update` costs O(d), `update_sparse` as much as there are entries.

    Parameters
    ----------
    scheme : str or tuple, default="weighted"
        Weight of w_s: "weighted" s + 1, "weighted2" (s + 1)^2, "uniform" 1, ``("power", k)``
        (s + 1)^k, ``("polynomial", eta)`` about s^eta (0 is "uniform" and 1 is "weighted").
        "suffix" weighs the points from ceil(T / 2) on equally, where ``horizon`` is T, and
        "doubling" those from the last power of two on; "none" takes the last point.
    horizon : int or None, default=None
        Number T of the last point, which "suffix" must know; else not used.

    Attributes
    ----------
    n_seen : int
        Number of points.
    value : ndarray or None
        The average, None before the first point.

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
        self.horizon = None if horizon is None else check.integer(horizon, "horizon", 0)
        if self._kind == "suffix" and horizon is None:
            raise ValueError("scheme='suffix' needs horizon, the number of the last point")
        self.n_seen = 0
        self._rho = 1.0  # of the last point
        self._average = self._point = None
        self._state = None

    def rates(self, n_points):
        """Fractions rho_t of the next points, in (0, 1], which count as seen from then on.

        For loops that mix the points by themselves.

        Parameters
        ----------
        n_points : int
            How many.
        """
        n_points = check.integer(n_points, "n_points", 1)
        t = np.arange(self.n_seen, self.n_seen + n_points, dtype=np.float64)
        rates = self._rates(t)
        self.n_seen += n_points
        self._rho = float(rates[-1])
        return rates

    def _rates(self, t):
        if self._kind == "none":
            return np.ones_like(t)
        if self._kind == "suffix":
            return 1.0 / np.maximum(t - (self.horizon + 1) // 2 + 1.0, 1.0)
        if self._kind == "doubling":
            # The exponent of frexp is that of the next power of two.
            return 1.0 / (t - np.where(t > 0, np.exp2(np.frexp(t)[1] - 1.0), 0.0) + 1.0)
        if self._kind == "polynomial":
            return (1.0 + self._exponent) / (t + 1.0 + self._exponent)
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
        w = check.numbers(w, "w")
        if self._point is not None and w.shape != self._point.shape:
            raise ValueError(f"w has shape {w.shape}, the points before {self._point.shape}")
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
        scale, values = check.number(scale, "scale"), check.numbers(values, "values")
        indices = np.asarray(indices)
        if self._point is None or self._point.ndim != 1:
            raise ValueError("update_sparse needs a point that is a vector: begin with update(w_0)")
        indices = indices.astype(np.intp) if indices.size == 0 else indices
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
        if self._state is not None:
            a, b, c = self._state
            self._average = b * self._average + c * self._point
            self._point = a * self._point
            self._state = None

    @property
    def value(self):
        """The average, a new array; None before the first point."""
        self._unfold()
        return None if self._average is None else self._average.copy()


def _check_scheme(scheme):
    if isinstance(scheme, str) and scheme in SCHEMES:
        if SCHEMES[scheme] is None:
            return scheme, None
        scheme = SCHEMES[scheme]
    if isinstance(scheme, tuple) and len(scheme) == 2 and scheme[0] in FAMILIES:
        exponent = check.not_negative(scheme[1], f"exponent of {scheme[0]!r}")
        return ("polynomial" if exponent in (0.0, 1.0) else scheme[0]), exponent
    known = ", ".join(map(repr, sorted(SCHEMES))) + ", ('power', k) or ('polynomial', eta)"
    raise ValueError(f"the averaging scheme must be one of {known}; got {scheme!r}")
