"""The rates of solve_saddle_point that are proved, with their exact constants."""

import math

import numpy as np
import pytest

from _saddle_toy import opposite, toy, trajectory
from sklearn_fw.optim import domains
from sklearn_fw.optim._frank_wolfe._steps import StepState
from sklearn_fw.optim._saddle_point import SaddleConstants, resolve_step_size, solve_saddle_point

# Every constant different, so that none can stand for another.
CONSTANTS = SaddleConstants(
    smoothness_x=5.0, smoothness_y=7.0, coupling=0.1, convexity_x=2.0, convexity_y=3.0,
    width_x=1.3, width_y=1.7, set_convexity=0.6, gradient_norm=0.8,
)  # fmt: skip
STATE = StepState(
    n_iter=9, n_good=5, dual_gap=0.1, pairwise_gap=0.4, direction_gap=0.3, max_step=1.0,
    length_x=0.5, length_y=0.75,
)  # fmt: skip
DOMAINS = domains.L1Ball(4, radius=0.55), domains.L1Ball(5, radius=0.65)  # diameters 1.1, 1.3
ROOT = math.sqrt(2 / min(2 * 1.3**2, 3 * 1.7**2))
COUPLED = ROOT * max(1.1 * 0.1 / math.sqrt(3), 1.3 * 0.1 / math.sqrt(2))
CURVATURE = (5 * 1.1**2 + 7 * 1.3**2) / 2


@pytest.mark.parametrize(
    ("step_size", "variant", "expected"),
    [
        ("universal", "fw", 2 / 7),
        ("universal", "pairwise", 2 / 7),
        ("fictitious", "away", 1 / 6),
        (0.2, "away", 0.2),
        (lambda state: state.max_step / 4, "fw", 0.25),
        ("adaptive", "fw", (1 - COUPLED) * 0.1 / (2 * CURVATURE)),
        ("adaptive", "away", (0.5 - COUPLED) * 0.4 / (2 * CURVATURE)),
        ("adaptive", "pairwise", (0.5 - COUPLED) * 0.4 / (2 * CURVATURE)),
        ("heuristic", "away", 0.3 / (2 * CURVATURE + 0.01 * (1.1**2 / 2 + 1.3**2 / 3))),
        ("strongly_convex_set", "fw", 0.1 / ((14 + 8 * 49 / (0.6 * 0.8)) * 1.25**2)),
    ],
)
def test_step_sizes(step_size, variant, expected):
    rule = resolve_step_size(step_size, variant, CONSTANTS, *DOMAINS)
    assert rule(STATE) == pytest.approx(expected, rel=1e-14)


def test_coupling_counts_on_the_weaker_side():
    """Strong convexity of one side protects the other."""
    for convexities, lost in (((1.0, 4.0), 0.2), ((4.0, 1.0), 0.1)):
        expected = 1 - lost * math.sqrt(2)
        constants = SaddleConstants(
            smoothness_x=1, smoothness_y=1, coupling=0.1, width_x=1, width_y=1, diameter_x=1,
            diameter_y=2, convexity_x=convexities[0], convexity_y=convexities[1],
        )  # fmt: skip
        assert constants.progress() == pytest.approx(expected, rel=1e-14)
        assert constants.progress(away=True) == pytest.approx(expected - 0.5, rel=1e-14)


def test_no_rate_is_claimed_of_strong_coupling():
    constants = SaddleConstants(
        smoothness_x=1, smoothness_y=1, coupling=9, width_x=1, width_y=1, diameter_x=1,
        diameter_y=1, convexity_x=1, convexity_y=1,
    )  # fmt: skip
    assert constants.progress() < 0
    assert constants.rate() == constants.rate(away=True) == 0


@pytest.mark.parametrize("case", ["I", "P"])
@pytest.mark.parametrize("share", [0.2, 0.6, 0.9])
@pytest.mark.parametrize("seed, d", [(0, 4), (1, 10)])
def test_adaptive_steps_contract(case, share, seed, d):
    progress = share if case == "I" else share / 2
    problem = toy(seed, d, case, progress)
    away = case == "P"
    result, points = trajectory(
        problem, problem.cube, problem.cube, variant="away" if away else "fw",
        step_size="adaptive", constants=problem.constants, start=opposite(problem), max_iter=300,
    )  # fmt: skip
    constants = problem.on_cube()
    assert constants.progress(away=away) == pytest.approx(progress, rel=1e-12)
    rate, curvature = constants.rate(away=away), constants.curvature
    assert curvature == pytest.approx(problem.mu * d, rel=1e-14)
    # The closed forms of this family.
    expected = progress**2 * (problem.width**2 if case == "I" else 1 / d) / (2 * d)
    assert rate == pytest.approx(expected, rel=1e-12)
    w = np.array([problem.w(*point) for point in points])
    good = np.arange(w.size) if case == "I" else result.history["n_good"]
    is_good = np.diff(good) == 1
    assert np.all(w[1:][is_good] <= (1 - rate) * w[:-1][is_good] + 1e-12)
    assert np.all(w[1:] <= w[:-1] + 1e-12)
    assert good[-1] >= (w.size - 1) / 3
    # Gap bound; at drop steps it is not claimed.
    gaps = result.history["pairwise_gap" if away else "dual_gap"]
    bound = 2 / progress * np.maximum(np.sqrt(curvature * w), w)
    assert np.all(gaps[:-1][is_good] <= bound[:-1][is_good] * (1 + 1e-9))
    # Rate of h, with the largest gradients that there can be.
    steepest = (problem.mu + constants.coupling) * math.sqrt(d)
    P = math.sqrt(2 / problem.mu) * steepest
    h = np.array([problem.h(*point) for point in points])
    assert np.all(h <= P * np.sqrt(2 * w[0]) * (1 - rate) ** (good / 2))


@pytest.mark.parametrize("case", ["I", "P"])
@pytest.mark.parametrize("progress", [0.6, 0.8, 0.95])
def test_universal_steps(case, progress):
    # nu~ has no factor 1/2 on faces, so that 1/2 is taken off to generate the problem.
    problem = toy(0, 10, case, progress if case == "I" else progress - 0.5)
    result, points = trajectory(
        problem, problem.cube, problem.cube, variant="fw" if case == "I" else "away",
        start=opposite(problem), max_iter=500,
    )  # fmt: skip
    assert problem.on_cube().progress() == pytest.approx(progress, rel=1e-12)
    w = np.array([problem.w(*point) for point in points])
    good = np.arange(w.size) if case == "I" else result.history["n_good"]
    C0 = 2 * max(w[0], 2 * problem.on_cube().curvature / (2 * progress - 1))
    assert np.all(w * (2 + good) <= C0)
    assert np.max(w[1:] * (2 + good[1:])) <= 0.5 * C0  # the bound is not tight
    least = np.minimum.accumulate(result.history["dual_gap"])[1:]
    assert np.all(least <= 5 * C0 / (progress * (good[1:] + 1)))
    assert good[-1] >= 2 * 499 / 3


def test_heuristic_steps_are_linear_where_the_theory_is_silent():
    problem = toy(0, 4, "P", -2.0)
    assert problem.on_cube().progress(away=True) == pytest.approx(-2)
    for variant, budget in (("away", 1500), ("pairwise", 400)):
        result = solve_saddle_point(
            problem, problem.cube, problem.cube, variant=variant, step_size="heuristic",
            constants=problem.constants, start=opposite(problem), tol=1e-9, max_iter=budget,
        )  # fmt: skip
        assert result.success
        np.testing.assert_allclose(result.x, problem.x_star, rtol=0, atol=1e-4)


def test_strongly_convex_sets(rng):
    n = 5
    K = rng.normal(size=(n, n))
    K *= 0.3 / np.linalg.norm(K, 2)
    a, b = (v / np.linalg.norm(v) for v in rng.normal(size=(2, n)))
    ball = domains.L2Ball(n)
    constants = SaddleConstants(smoothness_x=0, smoothness_y=0, coupling=0.3, gradient_norm=0.7)
    result, _ = trajectory(
        lambda x, y: (a @ x + x @ K @ y + b @ y, a + K @ y, K.T @ x + b), ball, ball,
        step_size="strongly_convex_set", constants=constants, max_iter=40,
    )  # fmt: skip
    gaps = result.history["dual_gap"]
    rate = 0.7 / (16 * (0.6 + 8 * 0.09 / 0.7))
    assert rate == pytest.approx(0.027, abs=5e-4)
    assert np.all(gaps[1:] <= (1 - rate) * gaps[:-1] + 1e-15)
    assert gaps[-1] < 1e-13
    # The saddle point: both players opposite to their gradients.
    for point, gradient in ((result.x, a + K @ result.y), (result.y, -K.T @ result.x - b)):
        np.testing.assert_allclose(point, -gradient / np.linalg.norm(gradient), rtol=0, atol=1e-7)
