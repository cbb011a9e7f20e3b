"""Two-player zero-sum games by fictitious play and its weighted relative."""

from functools import partial

import numpy as np
import scipy.sparse as sp
from scipy.optimize import OptimizeResult
from scipy.sparse.linalg import LinearOperator

from .._core.loop import IterativeMethod
from .._core.validation import check_choice, check_not_negative, check_table
from ._ends import fields_of, run_to_end
from ._frank_wolfe._iterate import check_answer, start_of
from ._saddle_point import split_start
from .domains import Simplex
from .domains._base import DenseAtom, ask, check_domain


def solve_matrix_game(
    payoff,
    *,
    domain_x=None,
    domain_y=None,
    step_size="fictitious",
    start=None,
    max_iter=10_000,
    tol=1e-2,
    time_limit=None,
    verbose=0,
):
    """Find good mixed strategies of a zero-sum game, with bounds on its value.

    Solves, for a payoff matrix M that x pays to y::

        min over x in X of max over y in Y of x'My

    by fictitious play: in each round both sides give the best reply to the average of what the
    other has played so far. Choose it when there are very many strategies, or when they are the
    vertices of a set that is known by an oracle only, such as all matchings; a small game between
    simplices is solved exactly, and sooner, by `scipy.optimize.linprog`.

    Parameters
    ----------
    payoff : {array-like, sparse matrix, LinearOperator} of shape (size_x, size_y)
        What the row player x, who minimises, pays to the column player y, who maximises. If the
        numbers are gains of the row player instead, pass ``-payoff``.
    domain_x, domain_y : domain object or None, default=None
        Sets of the mixed strategies: objects of `sklearn_fw.optim.domains`, or your own with a
        method ``lmo``. None is the simplex.
    step_size : {"fictitious", "universal"}, default="fictitious"
        Weight of a round in the averages: "fictitious" weighs all alike, "universal" in proportion
        to its number. These are the steps 1 / (1 + t) and 2 / (2 + t) of Frank-Wolfe methods.
    start : (x, y), result of an earlier call, or None, default=None
        What the first replies are given to; it does not count as played. None means
        ``domain.start()``, the first pure strategies.
    max_iter : int, default=10_000
        Largest number of rounds.
    tol : float, default=1e-2
        Stop when ``upper - lower`` is at most this, in units of the payoff.
    time_limit : float or None, default=None
        Seconds after which no new round begins.
    verbose : int, default=0
        Log a line per round.

    Returns
    -------
    result : OptimizeResult
        ``lower`` and ``upper``, between which the value of the game lies, and ``dual_gap``, their
        difference; ``x`` and ``y``, the strategies that guarantee these bounds; ``fun``, which is
        ``x'My``; ``x_last`` and ``y_last``, the averages of all plays, with ``lower_last`` and
        ``upper_last``; ``nit``, ``success``, ``status``, ``message`` and ``history`` (dict of
        arrays).

    See Also
    --------
    solve_saddle_point : For functions that are not linear in each variable.
    scipy.optimize.linprog : Exact solution of small games.

    Notes
    -----
    A round costs both oracles and the products of the payoff with the two vertices that are
    played, of which only the columns and rows of nonzero entries are read: O(size_x + size_y) on
    simplices. The sums of what was played are kept, not the averages: integer payoffs give exactly
    the plays of fictitious play by hand, ties included. Both sides move at the same time.

    The bounds of one round close in like ``1 / sqrt(t)`` in practice; only
    ``t ** (-1 / (p + q - 2))`` is proved, for p and q vertices [1]_. Games with a pure equilibrium
    are solved at ``1 / t``, with "universal" at ``1 / t^2``. x and y may come from different rounds
    since each bound is due to one of them alone; [1]_ reports the bounds of single rounds.

    References
    ----------
    .. [1] G. Gidel, T. Jebara, S. Lacoste-Julien, "Frank-Wolfe algorithms for saddle point
       problems", AISTATS 2017: section 5 and Corollary 5.
    .. [2] G. W. Brown, "Iterative solution of games by fictitious play", in: Activity Analysis of
       Production and Allocation, 1951.
    .. [3] J. Robinson, "An iterative method of solving a game", Annals of Mathematics 54, 1951: the
       convergence.

    Examples
    --------
    Rock, paper, scissors, where a win with rock counts twice. The first player should play paper
    half of the time.

    >>> import numpy as np
    >>> from sklearn_fw.optim import solve_matrix_game
    >>> payoff = np.array([[0, 1, -2], [-1, 0, 1], [2, -1, 0]])
    >>> result = solve_matrix_game(payoff, tol=0.02)
    >>> result.lower <= 0.0 <= result.upper
    True
    >>> bool(np.abs(result.x - [0.25, 0.5, 0.25]).max() < 0.02)
    True
    """
    check_choice(step_size, "step_size", ("fictitious", "universal"))
    shape, products = column_products(payoff)
    domains = [Simplex(n) if domain is None else domain
               for domain, n in zip((domain_x, domain_y), shape)]  # fmt: skip
    points = []
    for name, domain, (point, _), axis, size in zip(
        "xy", domains, split_start(start), ("rows", "columns"), shape
    ):
        check_domain(domain, f"domain_{name}")
        points.append(start_of(domain, name, point).to_array())
        if points[-1].shape != (size,):
            raise ValueError(
                f"domain_{name} has points of size {points[-1].size}, but payoff has {size} {axis}"
            )
    tol = check_not_negative(tol, "tol")
    run = GameRun(products, domains, points, growing=step_size == "universal")
    outcome = run_to_end(run, tol=tol, max_iter=max_iter, time_limit=time_limit, verbose=verbose)
    (x, pays_y), (y, pays_x) = run.solution()
    lower, upper = run.bounds(pays_x, pays_y)[1]
    return OptimizeResult(
        x=x, y=y, fun=float(x @ pays_x), lower=lower, upper=upper, dual_gap=upper - lower,
        x_last=run.sum_x / run.total, y_last=run.sum_y / run.total, lower_last=run.lower,
        upper_last=run.upper, **fields_of(outcome, upper - lower, tol),
    )  # fmt: skip


class GameRun(IterativeMethod):
    """Sums of what was played, and of what each pure strategy would have paid against it."""

    def __init__(self, products, domains, points, growing):
        self.times, self.transposed_times = products
        self.domain_x, self.domain_y = domains
        self.growing, self.n_played, self.total = growing, 0, 1.0
        self.sum_x, self.sum_y = points
        # Copies, since an operator may return its own memory, or its argument.
        start_x, start_y = (DenseAtom(point) for point in points)
        self.pays_x = np.array(self.times(start_y), dtype=np.float64)
        self.pays_y = np.array(self.transposed_times(start_x), dtype=np.float64)
        self.replies = self.best_x = self.best_y = None
        self.best_lower, self.best_upper = -np.inf, np.inf

    def step(self):
        """Play the last replies, then find the next ones and the bounds they give."""
        if self.replies is not None:
            self.play()
        return self.certify()

    def play(self):
        reply_x, reply_y = self.replies
        weight = self.n_played + 1.0 if self.growing else 1.0
        if self.n_played == 0:
            self.total = 0.0
            for array in (self.sum_x, self.sum_y, self.pays_x, self.pays_y):
                array[:] = 0.0
        reply_x.add_to(self.sum_x, weight)
        reply_y.add_to(self.sum_y, weight)
        self.pays_x += weight * self.times(reply_y)
        self.pays_y += weight * self.transposed_times(reply_x)
        self.total += weight
        self.n_played += 1

    def solution(self):
        """The best strategies of both sides, each with what it makes pure replies pay."""
        return self.best_x, self.best_y

    def bounds(self, pays_x, pays_y):
        """Best replies, and what they would pay."""
        if not (np.all(np.isfinite(pays_x)) and np.all(np.isfinite(pays_y))):
            raise ValueError("products with payoff must be finite, got NaN or infinity")
        reply_x = ask(self.domain_x, pays_x, "domain_x")
        reply_y = ask(self.domain_y, -pays_y, "domain_y")
        return (reply_x, reply_y), (lowest(reply_x, pays_x), -lowest(reply_y, -pays_y))

    def certify(self):
        self.replies, (lower, upper) = self.bounds(self.pays_x, self.pays_y)
        if not lower <= upper:  # by rounding, or since an oracle is wrong
            reply_x, reply_y = self.replies
            check_answer(reply_x, "x", self.pays_x, self.sum_x / self.total)
            check_answer(reply_y, "y", -self.pays_y, self.sum_y / self.total)
        self.lower, self.upper = lower / self.total, upper / self.total
        if self.upper < self.best_upper:
            self.best_upper = self.upper
            self.best_x = self.sum_x / self.total, self.pays_y / self.total
        if self.lower > self.best_lower:
            self.best_lower = self.lower
            self.best_y = self.sum_y / self.total, self.pays_x / self.total
        gap = self.best_upper - self.best_lower
        return {
            "objective": self.best_upper, "dual_objective": self.best_lower, "dual_gap": gap,
            "lower": self.lower, "upper": self.upper,
        }  # fmt: skip


def lowest(reply, pays):
    """What no reply falls below: what this one has, if it is the best, or its bound."""
    value = reply.dot(pays)
    return value if reply.bound is None else min(value, float(reply.bound))


def column_products(payoff):
    """The shape of a payoff, and functions from atoms: v -> Mv and v -> M'v."""
    if isinstance(payoff, LinearOperator):
        _check_transpose(payoff)
        products = payoff.matvec, payoff.rmatvec
        return payoff.shape, [partial(_whole, product) for product in products]
    payoff = check_table(payoff, accept_sparse="csr", dtype=np.float64, input_name="payoff")
    if sp.issparse(payoff):
        return payoff.shape, (partial(_sparse, payoff.tocsc()), partial(_sparse, payoff.T))
    return payoff.shape, (partial(_dense, payoff), partial(_dense, payoff.T))


def _check_transpose(payoff):
    """Refuse an operator with two products of different matrices, which would bound nothing."""
    rng = np.random.default_rng(0)
    x, y = (rng.normal(size=n) for n in payoff.shape)
    forward, backward = payoff.matvec(y), payoff.rmatvec(x)
    size = np.abs(x) @ np.abs(forward) + np.abs(y) @ np.abs(backward)
    if not abs(x @ forward - y @ backward) <= 1e-3 * size:  # single precision will do
        raise ValueError(
            f"payoff must be finite, and its rmatvec the product with its transpose, but x'(My) is "
            f"{x @ forward:.6g} and y'(M'x) is {y @ backward:.6g} for some x and y"
        )


def _whole(product, atom):
    return product(atom.to_array())


def _dense(matrix, atom):
    """``matrix @ v``, reading only the columns that count."""
    support, values = _few(atom)
    if support is None:
        return matrix @ values
    return matrix[:, support] @ values


def _sparse(matrix, atom):
    """The same for a CSC matrix."""
    support, values = _few(atom)
    if support is None:
        return matrix @ values
    first = matrix.indptr[support]
    counts = matrix.indptr[support + 1] - first
    places = np.arange(counts.sum()) + np.repeat(first - np.cumsum(counts) + counts, counts)
    values = matrix.data[places] * np.repeat(values, counts)
    return np.bincount(matrix.indices[places], weights=values, minlength=matrix.shape[0])


def _few(atom):
    """Places and values of an atom of few entries; else None and the array."""
    entries = atom.entries()
    if entries is None or 4 * len(entries[0]) > atom.size:
        return None, atom.to_array()
    return entries
