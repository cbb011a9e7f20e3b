"""solve_matrix_game against linear programs and fictitious play by hand."""

import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import linprog
from scipy.sparse.linalg import LinearOperator, aslinearoperator
from sklearn.exceptions import ConvergenceWarning

from sklearn_fw.optim import domains, solve_matrix_game, solve_saddle_point

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

ROCK_PAPER_SCISSORS = np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])
STEP_SIZES = ["fictitious", "universal"]


def value_of(M):
    """The value of a game between simplices: the least t with M'x <= t."""
    p, q = M.shape
    program = linprog(
        np.append(np.zeros(p), 1.0), A_ub=np.column_stack([M.T, -np.ones(q)]), b_ub=np.zeros(q),
        A_eq=[np.append(np.ones(p), 0.0)], b_eq=[1.0], bounds=[(0, None)] * p + [(None, None)],
    )  # fmt: skip
    return program.fun


def play(M, n_rounds):
    """Counts of simultaneous fictitious play; the first replies are to the first strategies."""
    counts_x, counts_y = [0] * M.shape[0], [0] * M.shape[1]
    losses, gains = list(M[:, 0]), list(M[0])
    for t in range(n_rounds):
        i, j = losses.index(min(losses)), gains.index(max(gains))
        counts_x[i] += 1
        counts_y[j] += 1
        losses = [(old if t else 0) + new for old, new in zip(losses, M[:, j])]
        gains = [(old if t else 0) + new for old, new in zip(gains, M[i])]
    return counts_x, counts_y


# ---- fictitious play -----------------------------------------------------------------------------


@settings(deadline=None, max_examples=50)
@given(
    M=st.tuples(st.integers(1, 5), st.integers(1, 5)).flatmap(
        lambda shape: arrays(np.int64, shape, elements=st.integers(-2, 2))
    )
)
def test_equals_fictitious_play_on_any_shape(M):
    result = solve_matrix_game(M, tol=0, max_iter=40)
    n_rounds = result.nit - 1  # the game ends when it is solved
    if n_rounds:
        counts_x, counts_y = play(M, n_rounds)
        np.testing.assert_array_equal(result.x_last, np.divide(counts_x, n_rounds))
        np.testing.assert_array_equal(result.y_last, np.divide(counts_y, n_rounds))
    assert result.lower - 1e-9 <= value_of(M) <= result.upper + 1e-9


@pytest.mark.parametrize("step_size", STEP_SIZES)
def test_equals_the_frank_wolfe_method(step_size, rng):
    M = rng.normal(size=(6, 5))
    game = solve_matrix_game(M, tol=0, max_iter=100, step_size=step_size)
    method = solve_saddle_point(
        lambda x, y: (x @ M @ y, M @ y, M.T @ x), domains.Simplex(6), domains.Simplex(5), tol=0,
        max_iter=100, step_size=step_size,
    )  # fmt: skip
    gaps = game.history["upper"] - game.history["lower"]
    np.testing.assert_allclose(gaps, method.history["dual_gap"], rtol=0, atol=1e-12)
    np.testing.assert_allclose(game.x_last, method.x_last, rtol=0, atol=1e-13)
    np.testing.assert_allclose(game.y_last, method.y_last, rtol=0, atol=1e-13)


# ---- bounds --------------------------------------------------------------------------------------


@pytest.mark.parametrize("step_size", STEP_SIZES)
@pytest.mark.parametrize("shape", [(10, 8), (3, 12), (1, 4), (5, 1), (1, 1)])
def test_bounds_hold_in_every_round(shape, step_size, rng):
    M = rng.normal(size=shape)
    value = value_of(M)
    result = solve_matrix_game(M, step_size=step_size, tol=0, max_iter=500)
    lower, upper = result.history["lower"], result.history["upper"]
    assert np.all(lower <= value + 1e-9)
    assert np.all(upper >= value - 1e-9)
    best = np.minimum.accumulate(upper) - np.maximum.accumulate(lower)
    np.testing.assert_allclose(result.history["dual_gap"], best, rtol=0, atol=1e-14)
    # The result keeps what its bounds promise.
    assert result.lower == pytest.approx((M @ result.y).min(), rel=0, abs=1e-14)
    assert result.upper == pytest.approx((M.T @ result.x).max(), rel=0, abs=1e-14)
    assert result.dual_gap == result.upper - result.lower
    assert result.dual_gap == pytest.approx(best[-1], rel=0, abs=1e-12)
    assert result.lower - 1e-12 <= result.fun <= result.upper + 1e-12
    assert result.fun == pytest.approx(result.x @ M @ result.y, rel=0, abs=1e-14)
    assert result.lower_last == pytest.approx((M @ result.y_last).min(), rel=0, abs=1e-12)
    assert result.upper_last == pytest.approx((M.T @ result.x_last).max(), rel=0, abs=1e-12)
    assert domains.Simplex(shape[0]).contains(result.x, 1e-12)
    assert domains.Simplex(shape[1]).contains(result.y, 1e-12)


def test_pure_equilibrium():
    """After both have found it, the gap is what remains of the rounds before."""
    M = np.array([[3.0, 5.0, 4.0], [1.0, 2.0, 0.0], [6.0, 3.0, -1.0]])  # 2 at (1, 1)
    for step_size, power in (("fictitious", 1), ("universal", 2)):
        result = solve_matrix_game(M, step_size=step_size, tol=0, max_iter=400, start=(
            [1, 0, 0], [0, 0, 1]))  # fmt: skip
        assert value_of(M) == pytest.approx(2.0, abs=1e-12)
        gaps = result.history["upper"] - result.history["lower"]
        rounds = np.arange(gaps.size)
        gamma = 2 / (2 + rounds) if power == 2 else 1 / (1 + rounds)
        settled = 20
        expected = gaps[settled] * np.cumprod(1 - gamma[settled:-1])
        assert gaps[settled] > 0
        np.testing.assert_allclose(gaps[settled + 1 :], expected, rtol=1e-9)
        slope = np.polyfit(np.log(rounds[100:]), np.log(gaps[100:]), 1)[0]
        assert slope == pytest.approx(-power, abs=0.05)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e12])
def test_rounding_of_the_bounds_is_no_error(scale, rng):
    """Single points and numbers that cancel: the bounds meet, and rounding lets them cross."""
    crossed = 0
    for _ in range(50):
        x, y = rng.normal(size=(2, 3))
        M = rng.normal(size=(3, 3)) * 10.0 ** rng.integers(-4, 5, (3, 3))
        M -= np.outer(x, y) * (x @ M @ y) / (x @ x) / (y @ y)
        result = solve_matrix_game(
            scale * M, domain_x=domains.Box(x, x), domain_y=domains.Box(y, y), tol=0, max_iter=20
        )
        size = scale * (np.abs(x) @ np.abs(M) @ np.abs(y))
        assert abs(result.lower) + abs(result.upper) <= 1e-13 * size
        crossed += result.lower > result.upper
    assert crossed


# ---- payoffs and domains -------------------------------------------------------------------------


@pytest.mark.parametrize("step_size", STEP_SIZES)
def test_kinds_of_payoffs(step_size, rng):
    M = rng.integers(-3, 4, (30, 20)) * (rng.random((30, 20)) < 0.2)
    options = {"step_size": step_size, "tol": 0, "max_iter": 200}
    expected = solve_matrix_game(M, **options)
    kinds = [
        sp.csr_array(M), sp.csc_array(M), sp.coo_matrix(M), aslinearoperator(M.astype(float)),
        np.asfortranarray(M), M.tolist(),
    ]  # fmt: skip
    for payoff in kinds:
        result = solve_matrix_game(payoff, **options)
        np.testing.assert_array_equal(result.x, expected.x)
        np.testing.assert_array_equal(result.y_last, expected.y_last)
        np.testing.assert_array_equal(result.history["lower"], expected.history["lower"])
        assert result.fun == pytest.approx(expected.fun, rel=0, abs=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_vertices_of_many_entries(kind, rng):
    """Products with dense vertices take the other way through the matrix."""
    M = rng.normal(size=(6, 5))
    box, ball = domains.Box(-1.0, 1.0, size=6), domains.L2Ball(5)
    result = solve_matrix_game(kind(M), domain_x=box, domain_y=ball, tol=0, max_iter=100)
    lower, upper = -np.abs(M @ result.y).sum(), np.linalg.norm(M.T @ result.x)
    assert result.lower == pytest.approx(lower, rel=1e-12)
    assert result.upper == pytest.approx(upper, rel=1e-12)
    assert result.lower <= 1e-12  # the value is zero
    assert result.upper >= -1e-12


# ---- the result ----------------------------------------------------------------------------------


def test_tolerance_by_default():
    """A hundredth of the first gap, so that the unit of the payoff changes nothing."""
    found = [solve_matrix_game(unit * ROCK_PAPER_SCISSORS) for unit in (2.0**-20, 1.0, 2.0**20)]
    for result in found:
        assert result.success
        assert 0 < result.dual_gap <= 0.01 * result.history["dual_gap"][0]
        np.testing.assert_array_equal(result.x, found[1].x)
    nothing = solve_matrix_game(np.zeros((2, 3)))
    assert (nothing.success, nothing.nit, nothing.dual_gap) == (True, 1, 0.0)


def test_budget():
    message = r"gap [\d.]+ > 1e-06 after 100 iterations: increase max_iter or tol"
    with pytest.warns(ConvergenceWarning, match=message):
        result = solve_matrix_game(ROCK_PAPER_SCISSORS, tol=1e-6, max_iter=100)
    assert (result.success, result.status, result.nit) == (False, "max_iter", 100)


def options(**given):
    return lambda: solve_matrix_game(ROCK_PAPER_SCISSORS, **given)


class Wrong:
    def __init__(self, lmo, size=3):
        self.lmo, self.size = lmo, size

    def start(self):
        return np.eye(self.size)[0]


SIMPLEX = domains.Simplex(3)
TURN = np.roll(np.eye(3), 1, axis=0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (options(domain_x="simplex"), "domain_x='simplex' is a name for estimators"),
        (
            options(domain_y=domains.Simplex(4)),
            "domain_y has points of size 4, but payoff has 3 columns",
        ),
        (options(start=([1, 0, 0], [1, 1, 0])), "the start of y is not in domain_y"),
        (
            options(
                domain_x=Wrong(lambda g: SIMPLEX.lmo(-g)), domain_y=Wrong(lambda g: SIMPLEX.lmo(-g))
            ),
            "the lmo of domain_x returned a point that is worse than the current one by 1",
        ),
        (options(domain_x=Wrong(lambda g: np.full(3, np.nan))), "domain_x returned must be finite"),
        (
            lambda: solve_matrix_game(LinearOperator((3, 3), matvec=TURN.dot, rmatvec=TURN.dot)),
            "payoff must be finite, and its rmatvec the product with its transpose",
        ),
        (options(start=([1, 0, 0],)), "start must be (x, y), an earlier result or None"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
