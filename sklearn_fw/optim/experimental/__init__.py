"""Methods for study: comparisons, simulations and variants, whose names may change or go."""

from ._comparators import AsySPCD, Fista
from ._hogwild import Hogwild
from ._memorization import memorization_rate, memorization_step
from ._neighbor_saga import NeighborSaga
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
