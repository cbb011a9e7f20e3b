"""Oracles on scores from 1e-300 to 1e300, against enumeration in exact arithmetic."""

from fractions import Fraction

import numpy as np
import pytest

from _scaled_scores import ORACLES, SHARE, SIZES, assert_holds, scaled_scores
from sklearn_fw.inference import (
    MILP,
    QPBO,
    TRWS,
    Assignment,
    BranchAndBound,
    GraphCut,
    LPRelaxation,
    PairwiseScores,
    TreeMaxProduct,
)

UNBOUNDED = "alpha-beta swap", "alpha-expansion", "icm", "local search"


def check_many(name, sizes, n):
    oracle, graph = ORACLES[name]
    rng = np.random.default_rng(SIZES.index(sizes))
    n_exact, refused = 0, []
    for _ in range(n):
        try:
            n_exact += assert_holds(oracle, scaled_scores(rng, sizes, **graph))
        except ValueError as error:
            refused.append(str(error))
    reasons = ["the range of float64"]
    if name == "toulbar2":  # it counts in integers
        reasons.append("resolution=0 is too large")
    else:
        assert bool(refused) == (sizes == "sums beyond doubles")
    assert all(any(reason in text for reason in reasons) for text in refused)
    if sizes != "sums beyond doubles" and name not in (*UNBOUNDED, "toulbar2"):
        assert n_exact >= n / 4  # a bound that is always infinite holds, too


@pytest.mark.parametrize("n", [12, pytest.param(200, marks=pytest.mark.slow)])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("name", ORACLES)
def test_values_and_bounds(name, sizes, n, request):
    if name == "toulbar2":
        request.getfixturevalue("extra")("toulbar2", "pytoulbar2")
    check_many(name, sizes, n)


@pytest.mark.parametrize("perfect", [False, True])
def test_assignments(perfect, rng):
    """Against all matchings, in exact arithmetic."""
    from itertools import permutations

    n_open = 0
    for trial in range(200):
        n = int(rng.integers(1, 5))
        scores = rng.normal(size=(n, n)) * 10.0 ** rng.choice([0, 12, 100, 300], size=(n, n))
        if trial % 2:
            scores = rng.normal(size=(n, n)) * 10.0 ** rng.integers(-300, 301)
        scores[rng.random((n, n)) < 0.1] = -np.inf
        matching, value, upper_bound = Assignment(perfect).argmax(scores)
        n_open += value < upper_bound
        best, size = None, 0
        for columns in permutations(range(n)):
            made = [scores[i, j] for i, j in enumerate(columns)]
            made = [x for x in made if perfect or x > 0.0]
            if -np.inf not in made:
                parts = [Fraction(x) for x in made]
                if best is None or sum(parts) > best:
                    best, size = sum(parts), sum(map(abs, parts))
        if best is None:
            assert value == -np.inf
            continue
        made = [Fraction(x) for x in scores[matching == 1]]
        assert abs(Fraction(value) - sum(made)) <= SHARE * sum(map(abs, made))
        assert best - SHARE * size <= upper_bound
        assert value <= upper_bound
    assert n_open < 10


def test_assignments_do_not_pay_for_penalties():
    scores = np.random.default_rng(0).normal(size=(30, 30))
    scores[np.random.default_rng(1).random((30, 30)) < 0.5] = -1e15
    forbidden = np.where(scores == -1e15, -np.inf, scores)
    best, value, _ = Assignment(perfect=True).argmax(forbidden)
    found = Assignment(perfect=True).argmax(scores)
    np.testing.assert_array_equal(found[0], best)
    assert found[1] == found[2] == pytest.approx(value, rel=1e-13)


def test_assignments_refuse_sums_beyond_doubles():
    for perfect in (False, True):
        with pytest.raises(ValueError, match="may leave the range of float64"):
            Assignment(perfect).argmax(np.full((3, 3), 1.7e308))


@pytest.mark.parametrize(
    "oracle", [MILP(), LPRelaxation(), BranchAndBound(), QPBO(), GraphCut(), TRWS()], ids=repr
)
def test_penalties_do_not_blur_what_is_left(oracle, rng):
    """On a chain of 40 nodes, too many to be tried out, next to the same with -inf."""
    edges = np.column_stack([np.arange(39), np.arange(1, 40)])
    for penalty in (1e12, 1e100):
        pairwise = rng.normal(size=(39, 2, 2))
        pairwise[:, 0, 1] = -penalty
        pairwise[:, 1, 0] = -penalty * rng.integers(0, 2, 39) - 5.0
        scores = PairwiseScores(rng.normal(size=(40, 2)), pairwise, edges)
        forbidden = np.where(pairwise <= -penalty, -np.inf, pairwise)
        _, best, _ = TreeMaxProduct().argmax(PairwiseScores(scores.unary, forbidden, edges))
        _, value, upper_bound = oracle.argmax(scores)
        rel = 1e-9 if isinstance(oracle, MILP | LPRelaxation) else 1e-13
        assert value == upper_bound == pytest.approx(best, rel=rel)


def test_what_rounding_leaves_open_is_in_the_bound(rng):
    """Scores of one are moved by 1e12 from edges to nodes: too many labelings to try them all."""
    n = 40
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    unary, pairwise = rng.normal(size=(n, 2)), rng.normal(size=(n - 1, 2, 2))
    pairwise[:, 0, 0] = pairwise[:, 0, 1] - pairwise[:, 1, 1] + pairwise[:, 1, 0] + 1.0
    unary[1:, 0] += 1e12
    pairwise[:, :, 0] -= 1e12
    scores = PairwiseScores(unary, pairwise, edges)
    _, best, _ = TreeMaxProduct().argmax(scores)
    for oracle in (MILP(), BranchAndBound(), GraphCut(), QPBO()):
        _, value, upper_bound = oracle.argmax(scores)
        assert value < upper_bound
        assert value - 0.1 <= best <= upper_bound + 0.1  # the reference rounds as well
        assert upper_bound - value < 1e5
