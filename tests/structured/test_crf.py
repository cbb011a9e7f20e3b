"""Conditional random fields: equalities with enumeration and with logistic regression."""

import itertools

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from sklearn_fw.structured import (
    ChainModel,
    DualAscent,
    MulticlassModel,
    MultilabelModel,
    StructuredSVM,
)

SURROGATES = {"crf": (1.0, 0.0), "softmax_margin": (1.0, 1.0)}


def chains(rng, n=4, n_states=3, n_features=2, longest=4):
    """Random sequences, all states among them."""
    lengths = rng.integers(1, longest + 1, n)
    lengths[0] = n_states
    X = [rng.standard_normal((t, n_features)) for t in lengths]
    y = [rng.integers(n_states, size=t) for t in lengths]
    y[0] = np.arange(n_states)
    return X, y


def by_enumeration(model, X, y, w, lam, weight, temperature, loss_weight):
    """Objective and gradient, with all labellings listed."""
    value, gradient = 0.5 * lam * (w @ w), lam * w
    for x, truth, p in zip(X, y, weight, strict=True):
        outputs = list(itertools.product(range(model.n_states_), repeat=len(truth)))
        psi = np.array(
            [model.joint_feature(x, truth) - model.joint_feature(x, np.array(o)) for o in outputs]
        )
        loss = np.array([model.loss(truth, np.array(o)) for o in outputs])
        values = (loss_weight * loss - psi @ w) / temperature
        high = values.max()
        chances = np.exp(values - high)
        value += p * temperature * (high + np.log(chances.sum()))
        gradient = gradient - p * (chances / chances.sum()) @ psi
    return value, gradient


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_chain_likelihood_equals_enumeration(surrogate, rng):
    X, y = chains(rng)
    weight = rng.uniform(0.5, 2.0, len(X))
    crf = StructuredSVM(
        ChainModel("hamming_sum"), surrogate=surrogate, C=2.0, tol=1e-9, max_iter=5000
    )
    crf.fit(X, y, weight)
    share = weight / weight.sum()
    value, gradient = by_enumeration(
        crf.model_, X, y, crf.coef_, crf.lam_, share, *SURROGATES[surrogate]
    )
    assert crf.objective_ == pytest.approx(value, rel=1e-12)
    assert crf.converged_
    # the gap of the Gibbs distributions is |gradient|^2 / (2 lam)
    assert gradient @ gradient / (2 * crf.lam_) < 1e-5 * value
