"""Matchings against all matchings, and k best labelings by max-marginals."""

import numpy as np
import pytest

from _matchings import KINDS, all_matchings, values_of
from _random_scores import parts, random_scores
from _references import best_labelings
from sklearn_fw import StructuredSVM
from sklearn_fw.inference import Assignment, CheckedOracle, Enumeration
from sklearn_fw.structured import MultilabelModel


@pytest.mark.parametrize("perfect", [False, True], ids=["any", "perfect"])
@pytest.mark.parametrize("kind", KINDS)
def test_all_matchings(kind, perfect, rng):
    oracle = Assignment(perfect=perfect)
    assert oracle.exact
    for _ in range(60):
        n_rows, n_columns = rng.integers(0, 5, size=2)
        shape = (n_rows, n_rows if perfect else n_columns)
        scores = KINDS[kind](rng, shape)
        copy = scores.copy()
        scores.flags.writeable = False
        matching, value, upper_bound = oracle.argmax(scores)
        np.testing.assert_array_equal(scores, copy)
        best = values_of(all_matchings(*shape, perfect), scores).max()
        assert value == pytest.approx(best, rel=0, abs=1e-12)
        assert upper_bound == value
        assert isinstance(value, float)
        assert matching.shape == shape
        assert matching.dtype == np.int8
        if best > -np.inf:
            assert scores[matching == 1].sum() == pytest.approx(best, rel=0, abs=1e-12)
        if best > -np.inf or not perfect:
            assert np.all(matching.sum(axis=0) <= 1)
            assert np.all(matching.sum(axis=1) <= 1)
            assert matching.sum() == len(matching) or not perfect


def test_pairs_of_no_value_are_not_made():
    matching, value, _ = Assignment().argmax(np.array([[0.0, -1.0], [2.0, 0.0]]))
    assert matching.tolist() == [[0, 0], [1, 0]]
    assert value == 2.0


@pytest.mark.parametrize(
    ("perfect", "scores", "message"),
    [
        (False, [[0.0, np.nan]], r"scores must hold finite numbers or -inf, got NaN or \+inf"),
        (True, [[np.inf]], r"scores must hold finite numbers or -inf, got NaN or \+inf"),
        (False, [["a"]], "scores must hold real numbers only"),
        (False, [1.0, 2.0], r"scores must have shape \(n_rows, n_columns\), got \(2,\)"),
        (True, [[1.0, 2.0]], r"as many rows as columns, got scores of shape \(1, 2\): set perfect"),
    ],
)
def test_errors(perfect, scores, message):
    oracle = Assignment(perfect)
    for ask in (oracle.argmax, oracle.max_marginals, lambda scores: oracle.top_k(scores, 2)):
        with pytest.raises(ValueError, match=message):
            ask(scores)
    with pytest.raises(ValueError, match="k == 0, must be >= 1"):
        oracle.top_k([[1.0]], 0)


class OnlyMaxMarginals:
    """An oracle of a user, who did not write `top_k`."""

    def argmax(self, scores, start=None):
        return Enumeration().argmax(scores)

    def max_marginals(self, scores):
        return Enumeration().max_marginals(scores)


def test_oracle_of_a_user_with_max_marginals(rng):
    for _ in range(20):
        scores = random_scores(rng, "ties")
        values, labels = CheckedOracle(OnlyMaxMarginals()).top_k(scores, 4)
        expected, _ = best_labelings(*parts(scores), 4)
        np.testing.assert_allclose(values, expected, rtol=0, atol=1e-12)
        assert len({tuple(row) for row in labels}) == len(labels)


@pytest.mark.slow
@pytest.mark.parametrize("oracle", ["elimination", OnlyMaxMarginals()], ids=["own", "user"])
def test_cycles_of_labels(oracle, rng):
    X = rng.normal(size=(30, 3))
    y = (X @ rng.normal(size=(3, 4)) + 0.3 * rng.normal(size=(30, 4)) > 0).astype(int)
    fits = []
    for name in ("enumeration", oracle):
        model = MultilabelModel(edges="full", task_loss="zero_one")
        svm = StructuredSVM(model, oracle=name, C=0.5, tol=1e-3, solver="bcpfw", random_state=0)
        fits.append(svm.fit(X, y))
        assert svm.converged_
    objectives = [svm.history_["objective"][-1] for svm in fits]
    assert objectives[0] == pytest.approx(objectives[1], rel=2e-3)
    outputs, scores = svm.n_best(X, 5)
    for i in range(3):
        expected, labels = Enumeration().top_k(svm.model_.scores(X[i], svm.coef_), 5)
        np.testing.assert_allclose(scores[i], expected, rtol=0, atol=1e-10)
        np.testing.assert_array_equal(outputs[i], labels)


# ---- matchings -----------------------------------------------------------------------------------


def problems(kind, perfect, rng):
    for _ in range(60):
        n_rows, n_columns = rng.integers(0, 5, size=2)
        shape = (n_rows, n_rows if perfect else n_columns)
        matchings = all_matchings(*shape, perfect)
        scores = KINDS[kind](rng, shape)
        scores.flags.writeable = False
        yield scores, matchings, values_of(matchings, scores)


@pytest.mark.parametrize("perfect", [False, True], ids=["any", "perfect"])
@pytest.mark.parametrize("kind", KINDS)
class TestMatchings:
    def test_max_marginals(self, kind, perfect, rng):
        for scores, matchings, values in problems(kind, perfect, rng):
            expected = np.full(scores.shape, -np.inf)
            for matching, value in zip(matchings, values, strict=True):
                made = matching == 1
                expected[made] = np.maximum(expected[made], value)
            best = Assignment(perfect).max_marginals(scores)
            np.testing.assert_allclose(best, expected, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("k", [1, 2, 5, 1000])
    def test_top_k(self, kind, perfect, k, rng):
        for scores, _, values in problems(kind, perfect, rng):
            expected = np.sort(values[values > -np.inf])[::-1][:k]
            found, matchings = Assignment(perfect).top_k(scores, k)
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
            assert matchings.shape == (len(expected), *scores.shape)
            assert matchings.dtype == np.int8
            assert len({matching.tobytes() for matching in matchings}) == len(matchings)
            assert np.all(matchings.sum(axis=1) <= 1)
            assert np.all(matchings.sum(axis=2) <= 1)
            again = [scores[matching == 1].sum() for matching in matchings]
            np.testing.assert_allclose(again, found, rtol=0, atol=1e-12)


def test_nothing_to_match():
    infeasible = [[-np.inf, 1.0]] * 2
    values, matchings = Assignment(perfect=True).top_k(infeasible, 3)
    assert values.shape == (0,)
    assert matchings.shape == (0, 2, 2)
    assert np.all(Assignment(perfect=True).max_marginals(infeasible) == -np.inf)
