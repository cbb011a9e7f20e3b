"""The assignment oracle against all matchings."""

import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone

from _matchings import KINDS, all_matchings, values_of
from sklearn_fw.inference import Assignment, resolve_oracle


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


def test_same_answer_in_every_call(rng):
    scores = rng.integers(2, size=(12, 9)).astype(float)
    first = Assignment().argmax(scores)[0]
    with ThreadPoolExecutor(4) as pool:
        for matching, _, _ in pool.map(Assignment().argmax, [scores] * 8):
            np.testing.assert_array_equal(matching, first)
    np.testing.assert_array_equal(Assignment().argmax(scores, start=first)[0], first)


def test_it_is_an_oracle_with_parameters():
    oracle = pickle.loads(pickle.dumps(clone(Assignment(perfect=True))))
    assert oracle.get_params() == {"perfect": True}
    assert resolve_oracle(oracle).perfect


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
    with pytest.raises(ValueError, match=message):
        Assignment(perfect).argmax(scores)
