"""solve_saddle_point against closed forms, linear programs and methods it degenerates to."""

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from _saddle_toy import SQUARE, opposite, quadratic, toy, trajectory
from sklearn_fw.optim import domains, solve_saddle_point

BUDGET = "ignore::sklearn.exceptions.ConvergenceWarning"


# ---- what holds in every step --------------------------------------------------------------------


@pytest.mark.parametrize("case", ["I", "P"])
@pytest.mark.parametrize("variant", ["fw", "away", "pairwise"])
@pytest.mark.parametrize("step_size", ["universal", "fictitious", "heuristic", "adaptive", 0.1])
def test_merit_functions(case, variant, step_size):
    problem = toy(0, 6, case, 0.1 if variant != "fw" or case == "I" else -2.0)
    if case == "P" and variant == "fw" and step_size == "adaptive":
        step_size = "universal"
    if case == "I" and variant != "fw" and step_size == "adaptive":
        problem = toy(0, 6, "P", 0.1)
    result, points = trajectory(
        problem, problem.cube, problem.cube, variant=variant, step_size=step_size,
        constants=problem.constants, start=opposite(problem), max_iter=150,
    )  # fmt: skip
    gaps = result.history["dual_gap"]
    for (x, y), gap in zip(points, gaps):
        w, h = problem.w(x, y), problem.h(x, y)
        assert -1e-12 <= w <= h + 1e-9
        assert h <= gap + 1e-9
        assert problem.cube.contains(x, 1e-12)
        assert problem.cube.contains(y, 1e-12)
        distance = np.linalg.norm(np.append(x - problem.x_star, y - problem.y_star))
        assert w == pytest.approx(0.5 * problem.mu * distance**2, rel=1e-9, abs=1e-9)
    np.testing.assert_allclose(result.history["gap_x"] + result.history["gap_y"], gaps, rtol=1e-12)
    best = np.argmin(gaps)
    assert result.dual_gap == gaps[best]
    assert result.dual_gap_last == gaps[-1]
    np.testing.assert_array_equal((result.x, result.y), points[best])
    np.testing.assert_array_equal((result.x_last, result.y_last), points[-1])
    assert result.fun == problem(result.x, result.y)[0]
    if variant == "fw":
        assert result.atoms_x is result.weights_y is None
        assert result.n_drop == result.n_away == 0
        return
    assert np.all(result.history["pairwise_gap"] >= gaps)
    n_steps = result.nit - 1
    assert result.n_drop <= 2 * n_steps / 3
    assert result.history["n_good"][-1] == n_steps - result.n_drop
    for name in "xy":
        atoms = np.array([atom.to_array() for atom in result[f"atoms_{name}"]])
        weights = result[f"weights_{name}"]
        assert np.all(weights > 0)
        assert weights.sum() == pytest.approx(1, rel=1e-14)
        np.testing.assert_allclose(weights @ atoms, result[f"{name}_last"], rtol=0, atol=1e-14)
        assert np.all(np.isin(atoms, [0.0, 1.0]))
        assert len(np.unique(atoms, axis=0)) == len(atoms) == result.history[f"n_atoms_{name}"][-1]


def test_directions():
    """The state that a step size is given, and that the better direction is taken."""
    problem, seen = toy(1, 8, "P", 0.1), []

    def step(state):
        seen.append(state)
        return 2 / (2 + state.n_good)

    for variant in ("fw", "away", "pairwise"):
        seen.clear()
        args = (problem, problem.cube, problem.cube)
        options = {"variant": variant, "start": opposite(problem), "max_iter": 100}
        result, points = trajectory(*args, step_size=step, **options)
        again, _ = trajectory(*args, step_size="universal", **options)
        np.testing.assert_array_equal(result.x_last, again.x_last)
        assert [state.n_iter for state in seen] == list(range(99))
        gaps = result.history["dual_gap"][:-1]
        np.testing.assert_array_equal([state.dual_gap for state in seen], gaps)
        steps = result.history["step_size"][1:]
        for state, taken in zip(seen, steps):
            assert taken == min(2 / (2 + state.n_good), state.max_step)
        x, y = points[5]
        _, gradient_x, gradient_y = problem(x, y)
        for name, point, gradient in (("x", x, gradient_x), ("y", y, -gradient_y)):
            distance = np.linalg.norm(point - problem.cube.lmo(gradient).to_array())
            assert getattr(seen[5], f"length_{name}") == pytest.approx(distance, rel=1e-14)
        if variant == "fw":
            assert all(state.pairwise_gap is None for state in seen)
            assert all(state.max_step == 1 for state in seen)
            continue
        for state in seen:
            assert state.dual_gap <= state.pairwise_gap
            assert 0.5 * state.pairwise_gap <= state.direction_gap <= state.pairwise_gap
            if variant == "pairwise":
                assert state.direction_gap == state.pairwise_gap
            elif state.direction_gap == state.dual_gap:
                assert state.max_step == 1


def test_full_first_step_is_no_drop():
    """Else k would stay zero, and the method would jump from vertex to vertex."""
    problem = toy(0, 4, "I", 0.5)
    for variant in ("away", "pairwise"):
        options = {"variant": variant, "start": opposite(problem), "max_iter": 3}
        result, _ = trajectory(problem, problem.cube, problem.cube, **options)
        np.testing.assert_array_equal(result.history["n_good"], [0, 1, 2])
        assert result.history["step_size"][1] == 1


def test_pairwise_steps_do_not_swap_for_ever():
    """Swaps count in k: otherwise the step would never shrink, and the gap would stay large."""
    problem = toy(0, 30, "P", -30.0)
    result, _ = trajectory(
        problem, problem.cube, problem.cube, variant="pairwise", start=opposite(problem),
        max_iter=2000,
    )  # fmt: skip
    assert result.history["n_good"][-1] >= 1999 / 3
    assert result.dual_gap < 1e-2 * result.history["dual_gap"][0]


# ---- degenerations -------------------------------------------------------------------------------


@pytest.mark.parametrize("step_size", ["universal", "fictitious"])
def test_without_coupling_it_is_frank_wolfe(step_size, rng):
    A, b = rng.normal(size=(8, 5)), rng.normal(size=8)
    ball = domains.L1Ball(5, radius=0.7)

    def function(x, y):
        residual = A @ x - b
        return 0.5 * residual @ residual - 0.5 * y @ y, A.T @ residual, -y

    _, points = trajectory(
        function, ball, domains.Box(-1.0, 1.0, size=2), step_size=step_size, max_iter=50
    )
    x = ball.start().to_array()
    for t, (found, _) in enumerate(points):
        np.testing.assert_allclose(found, x, rtol=0, atol=1e-14)
        gamma = 2 / (2 + t) if step_size == "universal" else 1 / (1 + t)
        x = (1 - gamma) * x + gamma * ball.lmo(A.T @ (A @ x - b)).to_array()


# ---- blocks --------------------------------------------------------------------------------------


def test_blocks():
    problem = toy(0, 6, "I", 0.5)
    cubes = domains.Product(*[domains.Box(0.0, 1.0, size=2)] * 3)
    options = {"variant": "block", "max_iter": 300}
    result, points = trajectory(problem, problem.cube, cubes, random_state=0, **options)
    for point, gap in zip(points, result.history["dual_gap"]):
        assert problem.h(*point) <= gap + 1e-9
    assert result.dual_gap < 1e-2 * result.history["dual_gap"][0]
    # Per pass: three steps, and all three factors for the gap.
    assert result.n_oracle_calls == 300 * (1 + 3) + 299 * 3 * 2
    whole, _ = trajectory(problem, problem.cube, cubes, max_iter=10)
    assert whole.n_oracle_calls == 10 * (1 + 3)
    again, _ = trajectory(problem, problem.cube, cubes, random_state=0, **options)
    np.testing.assert_array_equal(again.x, result.x)
    other, _ = trajectory(problem, problem.cube, cubes, random_state=1, **options)
    assert np.any(other.x != result.x)


# ---- the result and the ways in ------------------------------------------------------------------


def test_result():
    result = solve_saddle_point(quadratic, SQUARE, SQUARE, tol=0.02)
    assert isinstance(result, OptimizeResult)
    assert result.success
    assert (result.status, result.message) == ("converged", "the certificate is at most tol")
    assert result.dual_gap == result.dual_gap_last <= 0.02
    assert {column.size for column in result.history.values()} == {result.nit}
    assert np.all(result.history["dual_gap"][:-1] > 0.02)
    assert result.history["objective"][-1] == result.fun
    assert result.history["step_size"][0] == 0
    np.testing.assert_array_equal(result.history["n_iter"], np.arange(1, result.nit + 1))


def test_callback():
    seen = []

    def stop(state):
        seen.append((state.nit, state.dual_gap, state.fun))
        return state.nit == 7

    result = solve_saddle_point(quadratic, SQUARE, SQUARE, callback=stop)
    assert (result.status, result.nit, result.success) == ("stopped", 7, False)
    assert [nit for nit, *_ in seen] == list(range(1, 8))
    np.testing.assert_array_equal([gap for _, gap, _ in seen], result.history["dual_gap"])
    np.testing.assert_array_equal([fun for *_, fun in seen], result.history["objective"])


@pytest.mark.filterwarnings(BUDGET)
@pytest.mark.parametrize("variant", ["fw", "away", "pairwise"])
def test_start_from_a_result(variant):
    problem = toy(3, 6, "P", 0.2)
    options = {"variant": variant, "step_size": "heuristic", "constants": problem.constants}
    cubes = (problem.cube, problem.cube)
    whole = solve_saddle_point(problem, *cubes, max_iter=60, tol=0, **options)
    half = solve_saddle_point(problem, *cubes, max_iter=30, tol=0, **options)
    rest = solve_saddle_point(problem, *cubes, max_iter=31, tol=0, start=half, **options)
    gaps = np.concatenate([half.history["dual_gap"], rest.history["dual_gap"][1:]])
    np.testing.assert_allclose(gaps, whole.history["dual_gap"], rtol=1e-9)
    np.testing.assert_allclose(rest.x_last, whole.x_last, rtol=0, atol=1e-12)
    # Another variant takes up the point.
    other = {**options, "variant": "fw" if variant != "fw" else "away"}
    rest = solve_saddle_point(problem, *cubes, max_iter=1, tol=0, start=half, **other)
    np.testing.assert_allclose(rest.x, half.x_last, rtol=0, atol=1e-15)


def test_a_start_that_is_no_vertex_is_an_atom():
    result, _ = trajectory(
        quadratic, SQUARE, SQUARE, variant="away", start=([0.5, 0.5], [1, 1]), max_iter=2,
        step_size=0.25,
    )  # fmt: skip
    assert [0.5, 0.5] in [atom.to_array().tolist() for atom in result.atoms_x]
    np.testing.assert_allclose(result.weights_x, [0.75, 0.25], rtol=1e-15)


@pytest.mark.parametrize("variant", ["fw", "away", "pairwise"])
def test_a_start_from_a_larger_set_is_refused(variant):
    """Also where it is a combination of vertices, each of which must be in the set."""
    for points, fine in (([[2.0, 0.0], [-2.0, 0.0]], False), ([[1.0, 0.0], [-1.0, 0.0]], True)):
        start = OptimizeResult(
            x_last=np.array(points[0]), y_last=np.zeros(2), atoms_x=np.array(points),
            weights_x=np.full(2, 0.5), atoms_y=np.zeros((1, 2)), weights_y=np.ones(1),
        )  # fmt: skip
        args = quadratic, domains.L1Ball(2), SQUARE
        options = {"variant": variant, "tol": 9.0, "start": start}
        if fine:
            solve_saddle_point(*args, **options)
        else:
            with pytest.raises(ValueError, match="the start of x is not in domain_x"):
                solve_saddle_point(*args, **options)


def test_drop_of_both_sides_at_once():
    """Equal weights run out together: one drop step, and one atom less on each side."""
    interval, steps = domains.Box(0.0, 1.0, size=1), [0.75, 100.0]
    result, points = trajectory(
        lambda x, y: (x[0] - y[0], np.ones(1), -np.ones(1)), interval, interval, variant="away",
        start=([1.0], [1.0]), max_iter=3, step_size=lambda state: steps[state.n_iter],
    )  # fmt: skip
    assert [(x[0], y[0]) for x, y in points] == [(1, 1), (0.25, 0.25), (0, 0)]
    np.testing.assert_array_equal(result.history["n_drop"], [0, 0, 1])
    np.testing.assert_array_equal(result.history["n_atoms_x"], [1, 2, 1])
    np.testing.assert_array_equal(result.history["n_atoms_y"], [1, 2, 1])
    assert result.history["step_size"][-1] == pytest.approx(1 / 3, rel=1e-15)


def test_a_side_with_nothing_to_move_does_not_hold_the_other():
    """The worst vertex of y is the best one, too, and has little weight."""
    interval = domains.Box(0.0, 1.0, size=1)
    start = OptimizeResult(
        atoms_x=np.ones((1, 1)), weights_x=np.ones(1),
        atoms_y=np.array([[0.0], [1.0]]), weights_y=np.array([0.01, 0.99]),
    )  # fmt: skip
    result, points = trajectory(
        lambda x, y: (x[0], np.ones(1), np.zeros(1)), interval, interval, variant="pairwise",
        start=start, step_size=0.5, max_iter=2,
    )  # fmt: skip
    np.testing.assert_array_equal(result.history["step_size"], [0, 0.5])
    np.testing.assert_allclose(points[1], [[0.5], [0.99]], rtol=1e-15)
