"""Calibration functions against closed forms, random points and brute force over scores."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog

from sklearn_fw.surrogates import (
    calibration_function,
    calibration_function_closed_form,
    consistency_level,
    learning_complexity,
    surrogate_excess,
)

EPS = np.array([0.05, 0.2, 0.4, 0.65, 0.8, 1.0])


def block_costs(sizes, within=0.0):
    """Costs and the columns of scores that are equal within blocks."""
    block = np.repeat(np.arange(len(sizes)), sizes)
    same = block[:, None] == block
    costs = np.where(same, within, 1.0)
    np.fill_diagonal(costs, 0.0)
    return costs, (block[:, None] == np.arange(len(sizes))).astype(float)


def hamming_costs(n_bits):
    bits = np.array(list(itertools.product([0, 1], repeat=n_bits)))
    return np.mean(bits[:, None] != bits, axis=2)


def random_costs(rng, k=5):
    costs = rng.random((k, k))
    np.fill_diagonal(costs, 0.0)
    return costs


def max_excess(costs):
    """Largest difference of two risks where one of them is the least, by linear programs."""
    m, k = costs.shape
    found = 0.0
    for i, j in itertools.permutations(range(k), 2):
        A = costs[:, [i]].T - np.delete(costs, i, axis=1).T
        answer = linprog(costs[:, i] - costs[:, j], A, np.zeros(k - 1), np.ones((1, m)), [1.0])
        found = max(found, -answer.fun if answer.status == 0 else 0.0)
    return found


# ---- closed forms --------------------------------------------------------------------------------


@pytest.mark.parametrize("k", [2, 3, 5])
def test_zero_one(k):
    expected = calibration_function_closed_form("zero_one", EPS, n_labels=k)
    np.testing.assert_allclose(expected, EPS**2 / (4 * k), rtol=1e-14)
    for space in ("loss", "full"):
        found = calibration_function(1 - np.eye(k), EPS, score_space=space)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("sizes", [(1, 2), (2, 2), (2, 3), (3, 3, 3), (1, 2, 4)])
def test_blocks(sizes):
    costs, blocks = block_costs(sizes)
    s, k = np.array(sizes, float), sum(sizes)
    full = EPS**2 / (4 * k) * np.min(2 * s / (s + 1))
    pairs = [2 * a * b / (a + b) for a, b in itertools.combinations(s, 2)]
    small = EPS**2 / (4 * k) * min(pairs)
    for space, name, expected in (
        ("full", "full", full), ("loss", "loss", small), (blocks, "blocks", small)
    ):  # fmt: skip
        found = calibration_function(costs, EPS, score_space=space)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
        formula = calibration_function_closed_form(
            "block", EPS, block_sizes=sizes, score_space=name
        )
        np.testing.assert_allclose(formula, expected, rtol=1e-13)
    if len(set(sizes)) == 1:
        np.testing.assert_allclose(small, EPS**2 / (4 * len(sizes)), rtol=1e-13)


@pytest.mark.parametrize("n_bits", [1, 2, 3])
def test_hamming(n_bits):
    found = calibration_function(hamming_costs(n_bits), EPS)
    expected = calibration_function_closed_form("hamming", EPS, n_variables=n_bits)
    np.testing.assert_allclose(expected, EPS**2 / (8 * n_bits), rtol=1e-14)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("n_bits", "eps", "ratio"),
    [
        (1, 0.5, 1.0), (2, 0.75, 1.0), (3, 0.5, 1.0), (3, 0.75, 16 / 15), (3, 1.0, 16 / 15),
        (4, 0.5, 1.0), (4, 0.75, 29 / 27), (4, 1.0, 7 / 6), (5, 0.25, 1.0), (5, 0.5, 1.066667),
        (5, 0.75, 1.174286), (5, 1.0, 44 / 35),
    ],
)  # fmt: skip
def test_hamming_of_all_scores(n_bits, eps, ratio):
    """Reference values; by symmetry the best is all zeros and the chosen one has w ones."""
    k = 2**n_bits
    pairs = [(0, 2**w - 1) for w in range(1, n_bits + 1)]
    value = calibration_function(hamming_costs(n_bits), eps, score_space="full", pairs=pairs)
    assert 4 * k * value / eps**2 == pytest.approx(ratio, abs=2e-6)


@pytest.mark.parametrize(("b", "s", "within"), [(2, 2, 0.4), (2, 3, 0.4), (3, 3, 0.8)])
def test_mixed(b, s, within):
    costs, blocks = block_costs((s,) * b, within)
    for space, name in (("loss", "loss"), ("full", "full"), (blocks, "blocks")):
        expected = calibration_function_closed_form(
            "mixed", EPS, block_sizes=(s,) * b, within=within, score_space=name
        )
        found = calibration_function(costs, EPS, score_space=space)
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-10)
    assert expected[0] == 0.0  # not consistent
    assert consistency_level(costs, score_space=blocks) == pytest.approx(within / 2, abs=1e-10)
    assert consistency_level(costs) == 0.0


# ---- properties ----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
def test_between_bounds(seed):
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(5, 3))
    costs = np.linalg.norm(points[:, None] - points, axis=2)
    eps = np.linspace(0.0, costs.max(), 7)
    values = calibration_function(costs, eps, score_space="full")
    assert np.all(
        values >= calibration_function(costs, eps, score_space="full", bound="lower") - 1e-12
    )
    assert np.all(values <= calibration_function(costs, eps, bound="upper") + 1e-12)
    assert values[0] == 0.0
    assert np.all(np.diff(values) >= -1e-12)
    plain = random_costs(rng)
    assert calibration_function(plain, 0.3) == pytest.approx(0.3**2 / 20, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_infinite_above_the_largest_excess(seed):
    costs = np.random.default_rng(seed).random((4, 5))  # labels and predictions differ in number
    largest = max_excess(costs)
    assert np.isfinite(calibration_function(costs, largest - 1e-6))
    assert calibration_function(costs, largest + 1e-6) == np.inf


@pytest.mark.parametrize("space", ["loss", "full", "own"])
def test_the_worst_case_is_one(space, rng):
    costs, blocks = block_costs((2, 2), 0.4)
    costs = costs + 0.3 * random_costs(rng, 4)
    given = blocks if space == "own" else space
    value, pair = calibration_function(costs, 0.35, score_space=given, return_pair=True)
    q, f = pair.probabilities, pair.scores
    assert q.sum() == pytest.approx(1.0, abs=1e-12)
    assert q.min() >= -1e-12
    risk = q @ costs
    among = [0, 2] if space == "own" else np.arange(4)
    assert risk[pair.best] <= risk[among].min() + 1e-10
    assert risk[pair.chosen] - risk[pair.best] >= 0.35 - 1e-10
    assert f[pair.chosen] >= f.max() - 1e-10
    q = np.maximum(q, 0.0)
    excess = surrogate_excess(costs, f, q / q.sum(), score_space=given)
    assert excess == pytest.approx(value, abs=1e-10)


@pytest.mark.parametrize("space", ["loss", "full"])
def test_excess_of_the_risk_by_that_of_the_surrogate(space, rng):
    """The inequality that calibration means, at random scores and probabilities."""
    costs = random_costs(rng, 4)
    q = rng.dirichlet(np.full(4, 0.3), size=10000)
    f = -q @ costs + rng.normal(size=(10000, 4)) * rng.choice([0.01, 0.1, 1.0], size=(10000, 1))
    surrogate = surrogate_excess(costs, f, q, score_space=space)
    risk = q @ costs
    excess = risk[np.arange(len(f)), f.argmax(axis=1)] - risk.min(axis=1)
    grid = np.linspace(0.0, 1.0, 401)
    bound = calibration_function(costs, grid, score_space=space)
    at = bound[np.floor(excess * 400 + 1e-9).astype(int)]  # not above the bound at the excess
    assert np.all(at <= surrogate + 1e-12)
    assert np.any(excess > 0.1)


@pytest.mark.parametrize(
    ("space", "labels"),
    [
        (block_costs((2, 1, 3))[1], [0, 2, 3]),
        ([[0.0], [1.0], [2.0]], [0, 2]),  # the middle of three points on a line never wins
    ],
)
def test_labels_that_no_scores_lead_to_are_refused(space, labels):
    costs = 1 - np.eye(len(space))
    with pytest.raises(ValueError, match="predictions ." + str(labels)[1:-1]):
        calibration_function(costs, 0.1, score_space=space, pairs=[(0, 1)])


def test_convex_envelope():
    costs, blocks = block_costs((2, 2), 0.4)
    eps = np.linspace(0, 1.3, 14)
    values = calibration_function(costs, eps, score_space=blocks)
    envelope = calibration_function(costs, eps, score_space=blocks, convex=True)
    finite = np.isfinite(values)
    assert np.all(np.diff(envelope[finite], 2) >= -1e-12)
    assert np.all(envelope[1:][finite[1:]] <= values[:-1][finite[1:]] + 1e-15)
    assert envelope[finite][-1] == pytest.approx(values[finite][-2])
    assert np.isinf(envelope[-1])


# ---- ranks, constants, complexity ----------------------------------------------------------------


def test_constants_multiply_to_the_formula(rng):
    costs = random_costs(rng)
    basis = np.column_stack([costs.T, rng.normal(size=(5, 1))])[:, :5]
    for space in ("loss", basis):
        examples, found = learning_complexity(
            costs, 0.1, score_space=space, max_norm=1.7, label_norm=2.3, return_constants=True
        )
        z = found["kappa"] * np.sqrt(found["r"]) * 1.7 * 2.3
        assert found["D"] * found["M"] == pytest.approx(found["L_max"] ** 2 * (z + z * z))
        bound = calibration_function(costs, 0.1, score_space=space, bound="lower")
        assert examples == pytest.approx(4 * (found["D"] * found["M"]) ** 2 / bound**2)


def test_complexity_below_the_consistency_level():
    costs, blocks = block_costs((2, 2), 0.4)
    found = learning_complexity(costs, [0.1, 0.6], score_space=blocks)
    assert np.isinf(found[0])
    assert np.isfinite(found[1])


# ---- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: calibration_function([[0, -1], [1, 0]], 0.1), "costs must not be negative.*add"),
        (lambda: calibration_function(np.zeros((2, 2)), 0.1), "costs must not be zero"),
        (lambda: calibration_function(np.eye(2), -0.1), "eps must not be negative"),
        (lambda: calibration_function(np.eye(2), 0.1, pairs=[(0, 2)]), "pairs: 2 is none"),
        (lambda: calibration_function(np.eye(2), [0.1], return_pair=True), "eps must be one"),
        (
            lambda: calibration_function(
                1 - np.eye(3), 0.1, score_space=np.eye(3)[:, :1], bound="lower"
            ),
            "score_space must hold",
        ),
        (lambda: calibration_function(np.eye(2), [0.2, 0.1], convex=True), "eps must be a vector"),
        (lambda: surrogate_excess(np.eye(2), [1, 0], [0.5, 0.6]), "probabilities must"),
        (
            lambda: surrogate_excess(
                1 - np.eye(2), [1, 0], [0.5, 0.5], score_space=np.ones((2, 1))
            ),
            "scores must lie",
        ),
        (
            lambda: calibration_function_closed_form("zero_one", 0.1, n_labels=3, within=0.2),
            "within must be 0 for 'zero_one'",
        ),
        (lambda: learning_complexity(np.eye(2), 0.0), "eps must be positive"),
        (
            lambda: learning_complexity(1 - np.eye(2), 0.1, score_space=np.ones((2, 2))),
            "score_space must have independent",
        ),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
