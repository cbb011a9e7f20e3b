"""Methods for study: comparisons, simulations and variants, whose names may change or go."""

from functools import partial

from .._incremental._solvers import SOLVERS
from ._comparators import AsySPCD, Fista
from ._hogwild import Hogwild
from ._memorization import memorization_rate, memorization_step
from ._neighbor_saga import VARIANTS, NeighborSaga
from ._neighbors import NeighborGraph, neighbor_graph
from ._simulate_async import simulate_async

__all__ = [
    "AsySPCD",
    "Fista",
    "Hogwild",
    "NeighborGraph",
    "NeighborSaga",
    "memorization_rate",
    "memorization_step",
    "neighbor_graph",
    "simulate_async",
]

SOLVERS |= {"asyspcd": AsySPCD, "fista": Fista, "hogwild": Hogwild}
SOLVERS |= {name: partial(NeighborSaga, variant=name) for name in VARIANTS}
