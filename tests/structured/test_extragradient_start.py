"""How extragradient starts with a ridge penalty, and weights that are cut."""

import numpy as np
import pytest
from sklearn.base import clone

from _polytope_problems import matchings
from _problems import budget_may_end, digits, fit, problem
from sklearn_fw.structured import Extragradient, MulticlassModel, StructuredSVM


@pytest.mark.slow
@budget_may_end
@pytest.mark.parametrize("C", [0.3, 30.0])
def test_the_first_passes_leave_zero(C):
    """From zero, averages stay worse than zero for long; the start is better, and certified."""
    model, X, y = matchings()
    fits = {}
    for passes in (0, 10):
        solver = Extragradient(first_passes=passes)
        fits[passes] = StructuredSVM(clone(model), solver=solver, C=C, tol=1e-6, max_iter=10)
        fits[passes].fit(X, y)
    assert fits[10].dual_gap_ < (0.5 if C < 1 else 1.0) * fits[0].dual_gap_
    assert np.any(fits[10].coef_)
    exact = StructuredSVM(clone(model), solver="bcpfw", C=C, tol=1e-6, max_iter=5000).fit(X, y)
    for svm in fits.values():
        assert svm.dual_objective_ <= exact.objective_ + 1e-9
        assert svm.objective_ >= exact.dual_objective_ - 1e-9


def test_the_start_does_not_depend_on_the_random_state():
    p = problem("chain")
    one, two = (
        fit(p, Extragradient(), tol=1e-3, max_iter=500, random_state=seed) for seed in (0, 1)
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)


@pytest.mark.slow
@budget_may_end
def test_cut_weights_have_their_own_certificate():
    X, y = digits(300)
    fits = {}
    for cut in (0.0, 0.01, 0.5):
        solver = Extragradient(radius=20.0, norm="l1", cut=cut)
        svm = StructuredSVM(MulticlassModel(), solver=solver, tol=1e-3, max_iter=300).fit(X, y)
        weights = np.abs(svm.coef_)
        assert np.all((weights == 0.0) | (weights >= cut * weights.max()))
        assert weights.sum() <= 20.0 * (1 + 1e-12)
        names = svm.feature_weights()
        scores = X @ names["features"] + names["intercept"]
        margins = scores + (np.arange(10) != y[:, None])
        hinge = margins.max(axis=1) - scores[np.arange(len(y)), y]
        np.testing.assert_allclose(svm.objective_, hinge.mean(), rtol=1e-10)
        fits[cut] = svm
    n_weights = {cut: np.count_nonzero(svm.coef_) for cut, svm in fits.items()}
    assert n_weights[0.5] < n_weights[0.01] < 0.5 * n_weights[0.0]
    # The bound below knows of no cut, and what this one costs is little.
    assert fits[0.01].objective_ <= 1.1 * fits[0.0].objective_
    assert all(svm.dual_objective_ <= fits[0.0].objective_ for svm in fits.values())
