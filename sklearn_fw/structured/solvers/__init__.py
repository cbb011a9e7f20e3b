"""Solvers of the structured SVM; each is an object whose parameters are grid keys."""

from sklearn.base import clone

from ._base import Solver
from ._block_frank_wolfe import BlockFrankWolfe
from ._frank_wolfe import FrankWolfe
from ._subgradient import Perceptron, Subgradient

__all__ = ["BlockFrankWolfe", "FrankWolfe", "Perceptron", "Solver", "Subgradient", "resolve_solver"]

SOLVERS = {
    "bcafw": lambda: BlockFrankWolfe("away"),
    "bcfw": lambda: BlockFrankWolfe("fw"),
    "bchybrid": lambda: BlockFrankWolfe("hybrid"),
    "bcpfw": lambda: BlockFrankWolfe("pairwise"),
    # Passes that mostly hit the cache make gap passes the larger cost: they are rarer, and worse
    # cached corners are taken (a quarter fewer oracle calls on the OCR letters).
    "cached": lambda: BlockFrankWolfe("pairwise", cache=True, cache_f=0.1, gap_check=15),
    "fw": FrankWolfe,
    "perceptron": Perceptron,
    "subgradient": Subgradient,
}


def resolve_solver(solver):
    """A solver object for a name, or a clone of a solver object."""
    if isinstance(solver, Solver):
        return clone(solver)
    if isinstance(solver, str) and solver in SOLVERS:
        return SOLVERS[solver]()
    known = ", ".join(repr(name) for name in sorted(SOLVERS))
    raise ValueError(f"solver must be one of {known} or a solver object; got {solver!r}")
