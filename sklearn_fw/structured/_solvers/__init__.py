"""Solvers of the structured SVM; each is an object whose parameters are grid keys."""

from ..._core import check
from ._base import Solver, begin, has_radius, with_bounds_of
from ._block_frank_wolfe import BlockFrankWolfe, FrankWolfe, MinibatchFrankWolfe
from ._casimir import Casimir
from ._cutting_planes import NSlack, OneSlack
from ._dual_ascent import DualAscent
from ._extragradient import Extragradient
from ._saddle_point import SaddlePointFrankWolfe
from ._subgradient import Subgradient

SOLVERS = {
    "auto": lambda: BlockFrankWolfe("fw", sampling="shuffle", averaging="auto"),
    "bcfw": lambda: BlockFrankWolfe("fw"),
    "bcafw": lambda: BlockFrankWolfe("away"),
    "bchybrid": lambda: BlockFrankWolfe("hybrid"),
    "bcpfw": lambda: BlockFrankWolfe("pairwise"),
    # Passes that mostly hit the cache make gap passes the larger cost: they are rarer, and worse
    # cached vertices are taken (a quarter fewer oracle calls on the OCR letters).
    "cached": lambda: BlockFrankWolfe("pairwise", cache=True, cache_f=0.1, gap_check=15),
    "casimir": Casimir,
    "dual_ascent": DualAscent,
    "extragradient": Extragradient,
    "fw": FrankWolfe,
    "minibatch": MinibatchFrankWolfe,
    "n_slack": NSlack,
    "one_slack": OneSlack,
    "perceptron": lambda: Subgradient(perceptron=True),
    "sdm": lambda: BlockFrankWolfe("exact", sampling="active"),
    "sp_bcfw": lambda: SaddlePointFrankWolfe(block=True),
    "sp_fw": SaddlePointFrankWolfe,
    "subgradient": Subgradient,
    "svrg": lambda: Casimir("const", kappa=0.0, inner_start="previous"),
}

# Whose warm starts take further samples.
GROWING = BlockFrankWolfe, MinibatchFrankWolfe, FrankWolfe, DualAscent


def resolve_solver(solver):
    """A solver object for a name, or a clone of a solver object."""
    return check.resolve_named(solver, "solver", Solver, SOLVERS)


def suitable_solver(blocks):
    """What "auto" takes for a dual problem: exact steps where an output is one class."""
    if blocks.parted:
        return DualAscent(quasi_newton=True) if blocks.surrogate.smooth else OneSlack()
    if blocks.surrogate.smooth:
        return resolve_solver("dual_ascent")
    return resolve_solver("sdm" if blocks.single else "auto")


def check_sums(solver):
    """Refuse solvers that need more than sums over samples at one point."""
    solver = resolve_solver(solver)
    quasi_newton = isinstance(solver, DualAscent) and solver.quasi_newton is True
    if not (isinstance(solver, OneSlack) or quasi_newton):
        raise ValueError(
            f"collections of Dask are for solver='auto', 'one_slack' or, with other losses than "
            f"the hinge, DualAscent(quasi_newton=True), not {type(solver).__name__}"
        )
