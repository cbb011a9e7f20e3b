"""Polytopes of cuts: projections against a generic solver, and the extragradient on them."""

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize
from sklearn.exceptions import ConvergenceWarning

from sklearn_fw.structured import (
    Extragradient,
    GraphCutModel,
    GraphModel,
    MultilabelModel,
    StructuredSVM,
)
from sklearn_fw.structured._problems._part_polytopes import CutPolytopes, polytopes_of
from sklearn_fw.structured._solvers import resolve_solver
from sklearn_fw.structured._solvers._base import check_bounds, with_bounds_of


def graphs(rng, n=6):
    """Random graphs, with cycles, an isolated node and one of a single node."""
    X, y = [], []
    for k in range(n):
        size = 1 if k == 1 else int(rng.integers(4, 7))
        pairs = np.array([(a, b) for a in range(size - 1) for b in range(a)]).reshape(-1, 2)
        edges = pairs[rng.random(len(pairs)) < 0.8] if k else pairs
        edges = np.where(rng.random((len(edges), 1)) < 0.5, edges, edges[:, ::-1])
        X.append((rng.normal(size=(size, 2)), edges, rng.random((len(edges), 2))))
        y.append((X[-1][0][:, 0] + 0.5 * rng.normal(size=size) > 0).astype(int))
    return X, y


def blocks_of(svm, X, y, lam=1.0):
    blocks, _ = svm._make_blocks(X, y, None)
    solver = with_bounds_of(resolve_solver("bcfw"), svm.model_)
    bounds = check_bounds(solver.lower_bounds, solver.upper_bounds, blocks.n_weights)
    blocks.reset(lam, bounds=bounds)
    return blocks


@pytest.fixture
def blocks(rng):
    X, y = graphs(rng)
    return blocks_of(StructuredSVM(GraphCutModel(task_loss="hamming"), C=1.0), X, y)


@pytest.mark.slow
def test_projection_equals_that_of_a_generic_solver(blocks, rng):
    polytopes = polytopes_of(blocks)
    assert isinstance(polytopes, CutPolytopes)
    for scale in (0.3, 1.0, 10.0):
        p = scale * rng.normal(size=polytopes.size)
        z = polytopes.project(p, 1e-13)
        for i in range(len(polytopes.weight)):
            here = polytopes._sample == i
            first, last = polytopes._edge_start[i : i + 2]
            edges = polytopes._ends[first:last] - blocks._parts.node_start[i]
            n, m = here.sum() - len(edges), len(edges)
            rows = np.zeros((2 * m, n + m))
            for e, (a, b) in enumerate(edges):
                rows[2 * e : 2 * e + 2, [a, b, n + e]] = [[-1, 1, 1], [1, -1, 1]]
            constraints = [LinearConstraint(rows, 0.0, np.inf)] if m else []
            target = p[here]
            other = minimize(
                lambda x, target=target: 0.5 * np.sum((x - target) ** 2), np.full(n + m, 0.5),
                jac=lambda x, target=target: x - target, bounds=[(0, 1)] * (n + m),
                constraints=constraints, method="SLSQP", options={"ftol": 1e-15, "maxiter": 500},
            )  # fmt: skip
            np.testing.assert_allclose(z[here], other.x, atol=2e-5)
            assert np.sum((z[here] - target) ** 2) <= np.sum((other.x - target) ** 2) + 1e-7
            differ = np.abs(z[here][edges[:, 0]] - z[here][edges[:, 1]])
            assert np.all(z[here][n:] >= differ)
            assert 0.0 <= z[here].min() <= z[here].max() <= 1.0


@pytest.mark.slow
@pytest.mark.filterwarnings(
    f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__name__}"
)
@pytest.mark.parametrize("memory_efficient", [True, False])
def test_same_optimum_as_bcpfw(rng, memory_efficient):
    X, y = graphs(rng)
    model = GraphCutModel(task_loss="hamming")
    settings = {"C": 2.0, "max_iter": 3000, "random_state": 0}
    other = StructuredSVM(model, solver="bcpfw", tol=1e-6, **settings).fit(X, y)
    solver = Extragradient(memory_efficient=memory_efficient)
    svm = StructuredSVM(model, solver=solver, tol=1e-3, **settings).fit(X, y)
    assert svm.converged_
    assert svm.dual_objective_ <= other.objective_ + 1e-9
    assert other.dual_objective_ <= svm.objective_ + 1e-9
    np.testing.assert_allclose(svm.objective_, other.objective_, rtol=1e-3)


@pytest.mark.slow
def test_stored_points_are_a_warm_start(rng):
    X, y = graphs(rng)
    svm = StructuredSVM(
        GraphCutModel(task_loss="hamming"), solver=Extragradient(memory_efficient=False), C=2.0,
        tol=1e-2, max_iter=3000, warm_start=True,
    )  # fmt: skip
    calls = svm.fit(X, y).n_oracle_calls_
    assert svm.fit(X, y).n_oracle_calls_ < calls
    assert svm.converged_


def test_where_differences_may_be_rewarded(rng):
    X, y = graphs(rng)
    with pytest.raises(ValueError, match="two states and bounds on weights that reward no differ"):
        StructuredSVM(GraphModel(), solver="extragradient", C=1.0).fit(X, y)
    labels = StructuredSVM(MultilabelModel("full"), C=1.0)
    free = blocks_of(labels, rng.normal(size=(5, 2)), rng.integers(2, size=(5, 3)))
    assert not isinstance(polytopes_of(free), CutPolytopes)
    blocks = blocks_of(StructuredSVM(GraphCutModel(), C=1.0), X, y)
    with pytest.raises(ValueError, match="use z_geometry='euclidean'"):
        polytopes_of(blocks).resolve("entropy")


@pytest.mark.slow
def test_other_models_in_a_box(rng):
    """Any two states will do, and any tables of which the box says that they attract."""
    X, y = rng.normal(size=(8, 2)), rng.integers(2, size=(8, 3))
    model = MultilabelModel("full", fit_intercept=False)
    n_tables = 3
    lower, upper = np.full(2 * 6 + 4 * n_tables, -np.inf), np.full(2 * 6 + 4 * n_tables, np.inf)
    lower[12:].reshape(-1, 2, 2)[:, [0, 1], [0, 1]] = 0.0
    upper[12:].reshape(-1, 2, 2)[:, [0, 1], [1, 0]] = 0.0
    svm = StructuredSVM(model, C=1.0, tol=1e-3, max_iter=3000, random_state=0)
    size = svm.fit(X, y).coef_.size
    assert size == len(lower)
    runs = [
        StructuredSVM(
            model, solver=solver.set_params(lower_bounds=lower, upper_bounds=upper), C=1.0,
            tol=1e-3, max_iter=3000, random_state=0,
        ).fit(X, y)
        for solver in (resolve_solver("bcpfw"), Extragradient())
    ]  # fmt: skip
    assert all(run.converged_ for run in runs)
    np.testing.assert_allclose(runs[0].objective_, runs[1].objective_, rtol=2e-3)
