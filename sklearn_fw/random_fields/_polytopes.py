"""Linear oracles over polytopes of marginals: what Frank-Wolfe asks for its next vertex."""

from typing import NamedTuple

import numpy as np

from ..inference._oracles._best_of import BestOf
from ..inference._oracles._icm import ICM
from ..inference._oracles._linear_programs import LPRelaxation

__all__ = ["LocalPolytope", "MarginalPolytope", "Vertex"]

ROUNDING = 1e-12  # of a sum of scores, relative
REFUTED = 1e-8  # by which a labelling beats a bound that is false, relative


class Vertex(NamedTuple):
    """A vertex, where it is not zero, and what is known of the best one."""

    places: np.ndarray  # (n_parts,) int64, places in theta
    shares: np.ndarray | None  # (n_parts,), None for ones
    labels: np.ndarray  # (n_variables,) the labelling, or the nearest one
    value: float  # <slopes, vertex>
    bound: float  # no vertex has more, inf if unknown


class MarginalPolytope:
    """Convex hull of the labellings; vertices come from an oracle."""

    def __init__(self, mrf, oracle):
        self._mrf, self._oracle = mrf, oracle
        self._local_search = ICM()

    def best(self, slopes, start=None):
        """The vertex that the oracle finds for these scores."""
        scores = self._mrf._scores_of(slopes)
        try:
            labels, _, bound = self._oracle.argmax(scores, start)
        except TimeoutError:
            # An exact oracle has nothing before its end; one round of these takes little time.
            labels, _, bound = BestOf().argmax(scores, start)
        labels = np.asarray(labels)
        if labels.shape != (self._mrf.n_variables,):
            raise ValueError(
                f"oracle {type(self._oracle).__name__} must return one label for each of the "
                f"{self._mrf.n_variables} variables, got an array of shape {labels.shape}"
            )
        if np.any(labels < 0) or np.any(labels >= self._mrf.n_states):
            i = int(np.argmax((labels < 0) | (labels >= self._mrf.n_states)))
            raise ValueError(
                f"oracle {type(self._oracle).__name__} returned state {labels[i]} for variable "
                f"{i}, which has the states 0 to {self._mrf.n_states[i] - 1}"
            )
        vertex = self._vertex(labels, slopes, bound)
        if not bound >= vertex.value - REFUTED * (1.0 + np.abs(slopes).sum()):
            raise ValueError(
                f"oracle {type(self._oracle).__name__} returned upper_bound {bound!r} with labels "
                f"that score {vertex.value!r}; a bound is never below a score, and inf stands for "
                f"no bound"
            )
        return vertex

    def improve(self, slopes, start):
        """The vertex that local search finds from a labelling."""
        labels, _, _ = self._local_search.argmax(self._mrf._scores_of(slopes), start)
        return self._vertex(labels, slopes, np.inf)

    def vertex(self, labels):
        """The vertex that a labelling is."""
        places = self._mrf._places(labels[None])[0]
        return Vertex(places, None, labels, np.nan, np.inf)

    def _vertex(self, labels, slopes, bound):
        places = self._mrf._places(labels[None])[0]
        scores = slopes[places]
        value = float(scores.sum())
        # Exact oracles may sum up in another order; what else they say of the value is not used.
        if bound <= value + ROUNDING * np.abs(scores).sum():
            bound = value
        return Vertex(places, None, labels, value, bound)


class LocalPolytope:
    """Locally consistent points, a larger polytope; vertices come from a linear program."""

    def __init__(self, mrf):
        self._mrf, self._program = mrf, LPRelaxation()

    def best(self, slopes, start=None):
        """The optimal vertex of the linear program."""
        node, edge, _, bound = self._program.vertex(self._mrf._scores_of(slopes), start)
        flat = self._mrf.flatten(node, edge)
        places = np.flatnonzero(flat)
        shares = flat[places]
        value = float(slopes[places] @ shares)
        return Vertex(places, shares, node.argmax(axis=1), value, max(bound, value))
