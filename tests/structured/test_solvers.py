"""Solvers against a QP solver, slow referees, closed forms and other software."""

import itertools

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils import check_random_state

from _problems import PROBLEMS, C, optimum, problem
from _referees import slow_perceptron, slow_subgradient
from sklearn_fw._kernels import block_rules
from sklearn_fw._kernels.block_rules import BY_GAP, Rules
from sklearn_fw.inference import Enumeration, Viterbi
from sklearn_fw.structured import (
    BlockFrankWolfe,
    EnumeratedModel,
    FrankWolfe,
    MulticlassModel,
    Perceptron,
    StructuredSVM,
    Subgradient,
)
from sklearn_fw.structured._black_box_blocks import BlackBoxBlocks
from sklearn_fw.structured._part_blocks import PartBlocks
from sklearn_fw.structured.solvers import resolve_solver

STEPS = ["fw", "pairwise", "away", "hybrid"]
SAMPLINGS = ["uniform", "perm", "gap"]
NAMES = {"bcfw": "fw", "bcpfw": "pairwise", "bcafw": "away", "bchybrid": "hybrid"}
ROUNDING = dict(rtol=1e-9, atol=1e-11)  # the same numbers, added up in another order

budget_may_end = pytest.mark.filterwarnings(
    f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__name__}"
)


def fit(p, solver="bcfw", **params):
    params = {"C": C, "random_state": 0, "tol": 1e-6, "max_iter": 2000} | params
    return StructuredSVM(p.model, solver=solver, **params).fit(p.X, p.y, p.sample_weight)


def part_blocks(p, oracle=None):
    parts = p.model._build_parts(p.X, p.y, p.weight)
    return PartBlocks(parts, oracle or p.model.default_oracle())


def make_rules(p, step="fw", cache=None, **changes):
    f, nu = cache or (0.0, 0.0)
    explicit = cache is not None or step != "fw"
    rules = Rules(p.lam, STEPS.index(step), True, explicit, cache is not None, f, nu, 1.0)
    return rules._replace(**changes)


def visit(blocks, rules, i):
    assert blocks.visit(np.array([i]), np.zeros(1), rules) == 1


# ---- the optimum ---------------------------------------------------------------------------------

SETTINGS = [
    (name, sampling, cache)
    for name, sampling, cache in itertools.product(NAMES, SAMPLINGS, [False, True])
] + [("cached", "gap", True), ("bcpfw", "max_gap", False), ("fw", None, None)]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: " ".join(map(str, s)))
@pytest.mark.parametrize("name", PROBLEMS)
def test_optimum(name, setting):
    """Every solver, sampling and cache against a QP solver on all outputs."""
    p, (solver_name, sampling, cache) = problem(name), setting
    w, value = optimum(name)
    solver = resolve_solver(solver_name)
    if sampling is not None:
        solver.set_params(sampling=sampling, cache=cache)
    slow = solver_name in ("bcfw", "fw") or name == "chain, zero-one"
    tol = 3e-3 if slow else 1e-7
    svm = fit(p, solver, tol=tol)
    assert svm.converged_
    assert 0 <= svm.dual_gap_ <= tol
    np.testing.assert_allclose(svm.objective_ - svm.dual_objective_, svm.dual_gap_, atol=1e-14)
    np.testing.assert_allclose(p.objective(svm.coef_), svm.objective_, rtol=1e-12)
    # The certificate bounds the true error, in value and, by strong convexity, in weights.
    assert svm.dual_objective_ <= value + 1e-12
    assert value <= svm.objective_ + 1e-12
    assert np.sum((svm.coef_ - w) ** 2) <= 2 * (svm.objective_ - value) / p.lam + 1e-12
    np.testing.assert_allclose(svm.coef_, w, atol=0.15 if slow else 1e-3)


BOXES = [(0.0, None), (None, 0.1), (-0.2, 0.3), (0.05, 0.2)]


@pytest.mark.parametrize("box", BOXES, ids=str)
@pytest.mark.parametrize("name", ["multiclass", "labels, tree", "chain, CSR"])
@pytest.mark.parametrize("solver", ["bcfw", "bcpfw", "bcafw", "bchybrid", "cached", "fw"])
def test_optimum_in_a_box(name, box, solver):
    p = problem(name)
    w, value = optimum(name, *box)
    tol = 1e-2 if solver in ("bcfw", "fw") else 1e-6
    bounded = resolve_solver(solver).set_params(lower_bounds=box[0], upper_bounds=box[1])
    svm = fit(p, bounded, tol=tol)
    assert svm.converged_
    if box[0] is not None:
        assert svm.coef_.min() >= box[0]
    if box[1] is not None:
        assert svm.coef_.max() <= box[1]
    np.testing.assert_allclose(p.objective(svm.coef_), svm.objective_, rtol=1e-12)
    assert svm.dual_objective_ - 1e-10 <= value <= svm.objective_ + 1e-10
    assert np.sum((svm.coef_ - w) ** 2) <= 2 * tol / p.lam
    assert np.any(svm.coef_ == box[0]) or np.any(svm.coef_ == box[1])
