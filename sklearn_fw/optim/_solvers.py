"""Names of the incremental solvers."""

from .._validation import resolve_named
from ._auto import Auto
from ._comparators import AsySPCD, Fista
from ._dual_coordinate import Sdca
from ._incremental import Asaga, Hogwild, LaggedSaga, Sag, Saga, Solver, SparseSaga, Svrg
from ._neighbor_saga import NeighborSaga
from ._newton import Newton
from ._newton_cg import NewtonCG

__all__ = ["resolve_incremental_solver"]

SOLVERS = {
    "asaga": Asaga,
    "asyspcd": AsySPCD,
    "auto": Auto,
    "epsilon_n_saga": lambda: NeighborSaga(variant="epsilon_n_saga"),
    "fista": Fista,
    "hogwild": Hogwild,
    "kromagnon": lambda: Svrg(parallel=True),
    "lagged_saga": LaggedSaga,
    "loopless_svrg": lambda: Svrg(loopless=True),
    "n_saga": lambda: NeighborSaga(variant="n_saga"),
    "newton": Newton,
    "newton_cg": NewtonCG,
    "q_saga": lambda: NeighborSaga(variant="q_saga"),
    "sag": Sag,
    "saga": Saga,
    "sdca": Sdca,
    "shared_n_saga": lambda: NeighborSaga(variant="shared_n_saga"),
    "sparse_saga": SparseSaga,
    "svrg": Svrg,
}


def resolve_incremental_solver(solver):
    """A solver object for a name, or a clone of a solver object."""
    return resolve_named(solver, "solver", Solver, SOLVERS)
