"""The choice of a solver by the table, the loss and the penalty."""

import scipy.sparse as sp

from ...losses._compiled import CompiledLoss
from ._dual_coordinate import Sdca
from ._newton import Newton
from ._newton_cg import NewtonCG, is_ridge
from ._run import Solver
from ._saga import Asaga

# Most columns for a matrix of second derivatives: of dense tables, whose columns depend on each
# other, and of sparse ones.
DENSE, SPARSE = 1000, 500
# Share of the entries that are not zero from which on a sparse table is dense in effect.
FULL = 0.2


def choose_solver(problem):
    """A solver for a `FiniteSum` and a sentence that says why."""
    penalty, d = problem.penalty, problem.n_columns
    if not penalty.separable:
        return Asaga(), "penalties of groups and your own are for the incremental methods"
    dense = not sp.issparse(problem.X) or problem.X.nnz >= FULL * problem.X.shape[0] * d
    kind, most = ("dense", DENSE) if dense else ("sparse", SPARSE)
    if problem.n_outputs is None and d <= most:
        return Newton(), f"{d} {kind} columns, at most {most}, and one output: second order"
    if is_ridge(penalty) and not isinstance(problem.loss, CompiledLoss):
        return NewtonCG(), "a loss of your own, a smooth objective: second order, all rows at once"
    if is_ridge(penalty) and (dense or d <= most):
        outputs = "one output" if problem.n_outputs is None else f"{problem.n_outputs} outputs"
        return NewtonCG(), f"{d} {kind} columns, {outputs} and a smooth objective: second order"
    if problem.n_outputs is None and penalty.l2 > 0.0 and not dense:
        return Sdca(), f"{d} sparse columns, more than {most}, and a ridge: dual coordinates"
    if dense:
        return Asaga(), "neither one output of few columns nor a smooth objective"
    return Asaga(), f"{d} sparse columns, more than {most}: incremental"


class Auto(Solver):
    """The choice of `choose_solver` as a solver."""

    parallel = True
    keeps_memory = True  # of parts of the rows, which are for the incremental method

    def start(self, problem, *, tol, rng, n_workers=1, start=None):
        solver, _ = choose_solver(problem)
        return solver.start(problem, tol=tol, rng=rng, n_workers=n_workers, start=start)
