"""How far weights are from the optimum of the problem that other data pose."""

import numpy as np

from .._core import check
from .._core.loop import drive
from .._core.result import History
from ._choice_of_c import most_passes
from ._models._black_box import dense, view_of
from ._solvers import BlockFrankWolfe, begin, has_radius, suitable_solver, with_bounds_of
from ._surrogates import resolve_surrogate

# The bound is good enough when so much of it at most is owed to the dual variables found.
ACCURACY = 0.1


def suboptimality(svm, X, y, sample_weight, max_iter):
    if getattr(svm.solver_, "perceptron", False):
        raise ValueError("solver='perceptron' minimizes no objective, so there is no gap")
    model = view_of(svm._view._in_units(svm._units))
    X, y, weight = model._samples(svm, X, y, sample_weight, reset=False)
    total = weight.sum()
    blocks = model._problem(X, y, weight / total, svm.oracle_, svm.n_jobs)[0]
    blocks.surrogate = resolve_surrogate(svm.surrogate)
    lam = 1.0 / (svm.C_ * total)
    max_iter = most_passes(blocks) if max_iter is None else check.integer(max_iter, "max_iter", 1)
    solver = _solver_for(svm, blocks)
    method = begin(solver, blocks, lam=lam, tol=0.0, rng=np.random.RandomState(0))
    w = model._weights_in_units(dense(svm.coef_))
    loss = blocks.mean_loss(w)
    if not blocks.certified:
        return np.inf
    ridge = 0.0 if has_radius(svm.solver_) else 0.5 * lam * (w @ w)
    primal, history = loss + ridge, History()
    best, dual = primal, -np.inf

    def is_close():
        """Whether the gap of the method is a small part of that of the weights."""
        nonlocal best, dual
        if not history.rows:
            return False
        best = min(best, history.rows[-1]["objective"])
        dual = max(dual, history.rows[-1]["dual_objective"])
        return best - dual <= ACCURACY * (primal - dual)

    drive(method, tol=0.0, max_iter=max_iter, history=history, end=is_close, verbose=svm.verbose)
    is_close()  # looks at the last certificate
    # A promise of the oracle that was broken on the way voids the value, not the bound from below.
    return max(float(primal - dual), 0.0) if blocks.certified or blocks.n_unbounded else np.inf


def _solver_for(svm, blocks):
    """What finds dual variables: the solver of a ball, else what moves one block at a time."""
    if has_radius(svm.solver_):
        return svm.solver_
    solver = suitable_solver(blocks)
    if blocks.surrogate.smooth:
        return solver.set_params(gap_check=1)
    if not blocks.single:
        solver = BlockFrankWolfe("fw", gap_check=1, averaging="auto")
    bounds = {name: getattr(svm.solver_, name, None) for name in ("lower_bounds", "upper_bounds")}
    return with_bounds_of(solver.set_params(**bounds), svm.model_)
