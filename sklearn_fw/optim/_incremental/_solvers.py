"""Names of the incremental solvers."""

from functools import partial

from ..._core.validation import resolve_named
from ._auto import Auto
from ._dual_coordinate import Sdca
from ._newton import Newton
from ._newton_cg import NewtonCG
from ._run import Solver
from ._saga import Asaga, LaggedSaga, Sag, Saga, SparseSaga
from ._svrg import Svrg


def _study(name, **settings):
    """A method for study, which is looked up when it is asked for."""
    from .. import experimental

    return getattr(experimental, name)(**settings)


SOLVERS = {
    "asaga": Asaga,
    "asyspcd": partial(_study, "AsySPCD"),
    "auto": Auto,
    "epsilon_n_saga": partial(_study, "NeighborSaga", variant="epsilon_n_saga"),
    "fista": partial(_study, "Fista"),
    "hogwild": partial(_study, "Hogwild"),
    "kromagnon": lambda: Svrg(parallel=True),
    "lagged_saga": LaggedSaga,
    "loopless_svrg": lambda: Svrg(loopless=True),
    "n_saga": partial(_study, "NeighborSaga", variant="n_saga"),
    "newton": Newton,
    "newton_cg": NewtonCG,
    "q_saga": partial(_study, "NeighborSaga", variant="q_saga"),
    "sag": Sag,
    "saga": Saga,
    "sdca": Sdca,
    "shared_n_saga": partial(_study, "NeighborSaga", variant="shared_n_saga"),
    "sparse_saga": SparseSaga,
    "svrg": Svrg,
}


def resolve_incremental_solver(solver):
    """A solver object for a name, or a clone of a solver object."""
    return resolve_named(solver, "solver", Solver, SOLVERS)
