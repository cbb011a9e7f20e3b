"""Solvers by their names, and the choice by the table, the loss and the penalty."""

import numpy as np

from ..._core.validation import resolve_named
from ._dual_coordinate import Sdca
from ._newton import Newton
from ._newton_cg import NewtonCG, is_dense, is_ridge, is_wide
from ._run import Solver
from ._saga import Asaga, Saga, Svrg

# Most columns for a matrix of second derivatives: of dense tables, whose columns depend on each
# other, and of sparse ones.
DENSE, SPARSE = 1000, 500
# Curvature of the losses in the direction that all rows share, in units of the ridge, from which on
# steps on single rows undo each other.
SHARED = 1e4


def choose_solver(problem):
    """A solver for a `FiniteSum` and a sentence that says why."""
    penalty, d = problem.penalty, problem.n_columns
    if not penalty.separable:
        return Asaga(), "penalties of groups and your own are for the incremental methods"
    dense, ridge = is_dense(problem), is_ridge(penalty)
    kind, most = ("dense", DENSE) if dense else ("sparse", SPARSE)
    if ridge and is_wide(problem):
        return NewtonCG(), f"{d} columns, many times the rows: second order by products of rows"
    if problem.n_outputs is None and d <= most:
        return Newton(), f"{d} {kind} columns, at most {most}, and one output: second order"
    if ridge and not problem.loss._is_compiled:
        return NewtonCG(), "a loss of your own, a smooth objective: second order, all rows at once"
    by_rows = problem.n_outputs is None and penalty.l2 > 0.0 and not dense
    if ridge and not (by_rows and _rows_differ(problem)):
        outputs = "one output" if problem.n_outputs is None else f"{problem.n_outputs} outputs"
        return NewtonCG(), f"{d} {kind} columns, {outputs} and a smooth objective: second order"
    if by_rows:
        return Sdca(), f"{d} sparse columns, more than {most}, and a ridge: dual coordinates"
    if dense:
        return Asaga(), "neither one output of few columns nor a smooth objective"
    return Asaga(), f"{d} sparse columns, more than {most}: incremental"


def _rows_differ(problem):
    """Whether rows are fewer than columns and have little in common, next to the ridge."""
    n = problem.active.size
    weight = np.ones(problem.n_rows) if problem.weight is None else problem.weight
    together = problem.gradient(weight)
    shared = problem.loss.smoothness * float(together @ together) / problem.total_weight
    return n < problem.n_columns and shared < SHARED * problem.penalty.l2


class Auto(Solver):
    """The choice of `choose_solver` as a solver."""

    parallel = True
    keeps_memory = True  # of parts of the rows, which are for the incremental method

    def start(self, problem, *, tol, rng, n_workers=1, start=None):
        solver, _ = choose_solver(problem)
        return solver.start(problem, tol=tol, rng=rng, n_workers=n_workers, start=start)


SOLVERS = {
    "asaga": Asaga,
    "auto": Auto,
    "lagged_saga": lambda: Saga(variant="lagged"),
    "newton": Newton,
    "newton_cg": NewtonCG,
    "sag": lambda: Saga(variant="sag"),
    "saga": Saga,
    "sdca": Sdca,
    "sparse_saga": lambda: Asaga(parallel=False),
    "svrg": Svrg,
}


def resolve_incremental_solver(solver):
    return resolve_named(solver, "solver", Solver, SOLVERS)
