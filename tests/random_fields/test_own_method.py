"""Marginal methods: what those of users get and answer, and what all of them refuse."""

import numpy as np
import pytest

from _mrf_references import brute_force, random_mrf
from sklearn_fw.random_fields import (
    ExactMarginals,
    FactorGraph,
    Inference,
    MarginalsEstimator,
    PairwiseMRF,
)

GRAPH = FactorGraph([2, 2, 2], [((0, 1, 2), np.arange(8.0).reshape(2, 2, 2) / 4)])


class Own(MarginalsEstimator):
    """Answers with what it was given, or with the truth; it has no parameter ``learner``."""

    def __init__(self, answer=None):
        self.answer = answer

    def infer(self, field, request):
        self.seen_ = type(field).__name__
        exact = ExactMarginals().infer(field)
        return exact if self.answer is None else self.answer(exact)


class OwnOfFactors(Own):
    takes_factors = True


@pytest.mark.parametrize("method, seen", [(Own, "PairwiseMRF"), (OwnOfFactors, "FactorGraph")])
def test_answers_are_those_of_the_method(method, seen, rng):
    own, exact = method().fit(GRAPH), ExactMarginals().fit(GRAPH)
    assert own.seen_ == seen
    np.testing.assert_allclose(own.marginals_, exact.marginals_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(own.factor_marginals_[0], exact.factor_marginals_[0], atol=1e-12)
    assert own.log_partition_ == pytest.approx(exact.log_partition_, rel=1e-12)
    rows = [[0, np.nan, 1], [np.nan, np.nan, 0]]
    np.testing.assert_array_equal(own.predict(rows), exact.predict(rows))
    mrf = random_mrf(rng)
    assert method().fit(mrf).log_partition_ == pytest.approx(brute_force(mrf)[0], rel=1e-12)


def test_tables_are_learned():
    X = [[0, 0], [1, 1], [1, 1], [0, 1]]
    own, exact = Own().fit(X), ExactMarginals().fit(X)
    np.testing.assert_allclose(own.marginals_, exact.marginals_, rtol=0, atol=1e-12)
    np.testing.assert_allclose(own.score_samples(X), exact.score_samples(X), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "answer, error, message",
    [
        (lambda e: e.marginals, TypeError, "OwnOfFactors.infer must return an Inference, got nd"),
        (lambda e: Inference(np.ones(3), 0.0), ValueError, r"infer.shape == \(3,\), expected \("),
        (lambda e: Inference(2 * e.marginals + 1, 0.0), ValueError, "be probabilities, from 0 to"),
        (lambda e: Inference(e.marginals * np.nan, 0.0), ValueError, "marginals of .* NaN"),
        (lambda e: Inference(e.marginals, np.nan), ValueError, "with lower <= upper, got log_pa"),
        (lambda e: Inference(e.marginals, 0.0, 1.0, 2.0), ValueError, "lower 2.0 and upper 1.0"),
    ],
)
def test_answers_are_checked(answer, error, message):
    with pytest.raises(error, match=message):
        OwnOfFactors(answer).fit(GRAPH)


def test_marginals_below_zero_by_rounding_are_zero():
    own = OwnOfFactors(lambda e: Inference(e.marginals - 1e-9, 0.0))
    assert own.fit(PairwiseMRF([[0.0, -np.inf]])).marginals_[0, 1] == 0.0
