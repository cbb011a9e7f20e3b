"""Solvers whose oracles are not exact: what is certified, and what is not."""

import numpy as np
import pytest

from _problems import IgnoreEdges, budget_may_end, fit, optimum, problem, smallest
from sklearn_fw import regularization_path
from sklearn_fw.structured import BlockFrankWolfe, Extragradient, MulticlassModel, StructuredSVM

CYCLES = "labels, all pairs"
NOT_EXACT = [
    "bcfw",
    "fw",
    "sp_fw",
    "one_slack",
    "n_slack",
    "minibatch",
    BlockFrankWolfe(averaging=True),
    Extragradient(),
]


@pytest.mark.slow
@budget_may_end
@pytest.mark.filterwarnings("ignore:the oracle answered .* it is not exact:RuntimeWarning")
@pytest.mark.parametrize("solver", NOT_EXACT, ids=str)
@pytest.mark.parametrize("oracle", [IgnoreEdges(), "lp", "trws"], ids=str)
def test_bounds_of_oracles_certify(oracle, solver):
    p = problem(CYCLES)
    lam, value = (0.0, smallest(CYCLES, 1.0)) if solver == "sp_fw" else (p.lam, optimum(CYCLES)[1])
    svm = fit(p, solver, oracle=oracle, tol=1e-3, value=value, max_iter=60)
    assert svm.objective_ >= p.objective(svm.coef_, lam) - 1e-9
    assert svm.dual_objective_ <= value + 1e-9
    np.testing.assert_allclose(svm.objective_ - svm.dual_objective_, svm.dual_gap_, atol=1e-14)
    assert svm.converged_ == (svm.dual_gap_ <= svm.tol_ * svm.objective_)


@pytest.mark.slow
@pytest.mark.parametrize("solver", NOT_EXACT, ids=str)
def test_without_bounds_nothing_is_certified(solver):
    settings = {"tol": 0.1 if solver == "sp_fw" else 0.2, "relative": True, "max_iter": 60}
    with pytest.warns(RuntimeWarning, match="gave .* answers without an upper bound: it is not ex"):
        svm = fit(problem(CYCLES), solver, oracle=IgnoreEdges(False), **settings)
    assert svm.dual_gap_ == np.inf
    assert (svm.converged_, svm.status_) == (False, "finished")
    assert np.any(svm.coef_)
    assert {len(column) for column in svm.history_.values()} == {len(svm.history_["time"])}


def test_paths_need_certificates():
    p = problem(CYCLES)
    svm = StructuredSVM(p.model, oracle=IgnoreEdges(False), random_state=0)
    with pytest.raises(ValueError, match="mode='exact' needs an oracle that is exact or bounds"):
        regularization_path(svm, p.X, p.y, eps=0.5)
    assert not regularization_path(svm, p.X, p.y, eps=0.5, mode="heuristic").certified


@pytest.mark.slow
def test_bounds_of_the_model_are_never_ignored():
    class Bounded(MulticlassModel):
        box = (0.0, None)

        def bounds(self):
            return self.box

    p = problem("multiclass")
    path = regularization_path(StructuredSVM(Bounded(), random_state=0), p.X, p.y, C_max=1.0)
    assert path.coefs_.min() == 0.0
    for solver in ("sp_fw", "sp_bcfw", "subgradient", "perceptron"):
        svm = StructuredSVM(Bounded(), solver=solver, tol=2.0, max_iter=1)
        for Bounded.box in [(0.0, None), (-np.inf, np.ones(12))]:
            with pytest.raises(ValueError, match="Bounded has bounds on the weights, which solver"):
                svm.fit(p.X, p.y)
        Bounded.box = (None, np.full(12, np.inf))
        svm.fit(p.X, p.y)
