"""Gaps below zero tell that an oracle is not exact: once, and not where that is known."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator

from _problems import fit, problem
from sklearn_fw.structured import BlockFrankWolfe


class Guess(BaseEstimator):
    """Any labels, and a promise that they are the best ones, or none at all."""

    def __init__(self, exact):
        self.exact = exact

    def argmax(self, scores, start=None):
        labels = np.arange(scores.unary.shape[0]) + int(1e6 * abs(scores.unary).sum())
        labels %= scores.unary.shape[1]
        value = scores.value(labels)
        return labels, value, value if self.exact else np.inf


def test_a_negative_gap_is_no_news_where_nothing_is_claimed():
    p = problem("labels, all pairs")
    for solver in (BlockFrankWolfe(averaging=True, gap_check=1), BlockFrankWolfe(gap_check=1)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            svm = fit(p, solver, oracle=Guess(False), tol=0.0, max_iter=40)
        assert np.any(svm.history_["dual_gap"] < 0.0)  # estimates
        messages = [str(w.message) for w in caught]
        assert len(messages) == 1
        assert "answers without an upper bound" in messages[0]
    # A promise that is broken is told once.
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit(p, BlockFrankWolfe(gap_check=1), oracle=Guess(True), tol=0.0, max_iter=40)
    assert sum("< 0: the oracle is not exact" in str(w.message) for w in caught) == 1
