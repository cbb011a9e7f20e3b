"""Names of the incremental solvers."""

from ..._core.validation import resolve_named
from ._auto import Auto
from ._dual_coordinate import Sdca
from ._newton import Newton
from ._newton_cg import NewtonCG
from ._run import Solver
from ._saga import Asaga, LaggedSaga, Sag, Saga, SparseSaga
from ._svrg import Svrg

# Those of `sklearn_fw.optim.experimental` are added there.
SOLVERS = {
    "asaga": Asaga,
    "auto": Auto,
    "kromagnon": lambda: Svrg(parallel=True),
    "lagged_saga": LaggedSaga,
    "loopless_svrg": lambda: Svrg(loopless=True),
    "newton": Newton,
    "newton_cg": NewtonCG,
    "sag": Sag,
    "saga": Saga,
    "sdca": Sdca,
    "sparse_saga": SparseSaga,
    "svrg": Svrg,
}


def resolve_incremental_solver(solver):
    """A solver object for a name, or a clone of a solver object."""
    return resolve_named(solver, "solver", Solver, SOLVERS)
