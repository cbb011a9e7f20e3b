"""Exact inference by the cost function networks of toulbar2, an optional dependency."""

import math
import threading

import numpy as np

from ..._core.budget import time_left
from ..._core.parameters import at_least
from ..._core.validation import check_time_limit
from ._adjacency import GraphOracle
from ._cuts import possible_states
from ._linear_programs import best_guess, dual_bound
from ._settle import ROUNDING, is_negligible, nothing_allowed

# toulbar2 keeps its state in variables of a thread or of the process, by the way it was built.
_alone = threading.Lock()
_of_thread = threading.local()

# Integers up to here are floats, too.
LARGEST_INTEGER = 2.0**53


class Toulbar2(GraphOracle):
    """Best labelling of any graph, by the branch and bound of toulbar2.

    Maximises the score of `PairwiseScores`, rounded to a number of decimals. Choose it for graphs
    with cycles and up to some hundred nodes where the answer must be certified: it is mostly much
    faster than `MILP`. It needs the package pytoulbar2::

        pip install "sklearn-fw[toulbar2]"

    Parameters
    ----------
    time_limit : float, default=None
        Seconds of processor time for one answer, above 0, rounded up to whole seconds. None:
        until it is optimal.
    resolution : int, default=6
        Decimals to which scores are rounded, at least 0.

    Attributes
    ----------
    exact : bool
        False: answers are optimal for rounded scores. A single answer is exact if its
        ``upper_bound`` equals its ``value``, as it is without a time limit for scores that have no
        more than ``resolution`` decimals.

    See Also
    --------
    MILP : The same without another package and without rounding.
    Enumeration : For graphs of a handful of nodes.

    Notes
    -----
    The bound is that of toulbar2 for the rounded scores, plus the largest gain by rounding that a
    state of each node and a pair of each edge has; without a time limit it is at most ``(n_nodes +
    n_edges) * 10 ** -resolution`` above the value. The time can grow exponentially [1]_. Calls from
    several threads wait for each other; toulbar2 does not let Python go on meanwhile. When the time
    is up, the answer is the best of what toulbar2 has found, ``start`` and the best states of nodes
    by their own scores.

    References
    ----------
    .. [1] B. Hurley, B. O'Sullivan, D. Allouche, G. Katsirelos, T. Schiex, M. Zytnicki and S. de
       Givry, "Multi-language evaluation of exact solvers in graphical model discrete optimization",
       Constraints 21, 413-434, 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.inference import PairwiseScores, Toulbar2
    >>> triangle = [(0, 1), (1, 2), (2, 0)]
    >>> scores = PairwiseScores.from_arrays(np.zeros((3, 2)), 1 - np.eye(2), triangle)
    >>> oracle = Toulbar2(time_limit=60)
    >>> labels, value, upper_bound = oracle.argmax(scores)  # doctest: +SKIP
    >>> value, upper_bound  # doctest: +SKIP
    (2.0, 2.0)
    """

    parameters = {"resolution": at_least(0)}

    def __init__(self, time_limit=None, resolution=6):
        self.time_limit = time_limit
        self.resolution = resolution

    def _argmax(self, scores, start):
        time_limit = max(min(check_time_limit(self.time_limit), time_left()), 1e-3)
        library = _pytoulbar2()
        possible = possible_states(scores.unary, scores.pairwise, scores.edges)
        if not possible.any(axis=1).all():
            return nothing_allowed(scores)
        network = _Network(scores, possible, self.resolution)
        with _alone:
            found, cost = network.solve(library, time_limit)
        if cost == np.inf:
            return nothing_allowed(scores)
        labels, value = best_guess(scores, found, start)
        bound = min(dual_bound(scores), network.bound(cost))
        exact = value >= bound - network.rounding
        if exact and is_negligible(network.rounding, (scores.unary, scores.pairwise), value):
            return labels, value, value
        return labels, value, max(value, float(bound + network.rounding))


class _Network:
    """Scores as integer costs of the states and pairs that are possible."""

    def __init__(self, scores, possible, resolution):
        self._scope = scores.edges.tolist()
        self._states = [np.flatnonzero(row) for row in possible]
        self._factor = 10.0**resolution
        self._unary = [row[states] for row, states in zip(scores.unary, self._states)]
        self._tables = [
            table[np.ix_(self._states[a], self._states[b])]
            for (a, b), table in zip(self._scope, scores.pairwise)
        ]
        sizes, gains = zip(*(self._error(part) for part in [*self._unary, *self._tables]))
        if sum(sizes) * self._factor >= LARGEST_INTEGER:
            raise ValueError(
                f"resolution={resolution} is too large for scores whose largest absolute values "
                f"sum up to {sum(sizes):.3g}: times 10^resolution this must stay below 2^53; lower "
                f"resolution or scale the scores"
            )
        self.rounding = float(ROUNDING * sum(sizes))
        self._gain = sum(gains)

    def _error(self, part):
        """Largest absolute score of a part, and what rounding can add to a score at most."""
        finite = part[part > -np.inf]
        return np.abs(finite).max(), (finite + self._costs(finite) / self._factor).max()

    def _costs(self, part):
        return np.rint(-self._factor * part)

    def bound(self, cost):
        return float(self._gain - cost / self._factor)

    def solve(self, library, time_limit):
        if not getattr(_of_thread, "ready", False):
            library.pytb2.init()
            _of_thread.ready = True
        try:
            network = library.CFN(resolution=0)
            for t, states in enumerate(self._states):
                network.AddVariable(f"node {t}", list(range(len(states))))
            for t, part in enumerate(self._unary):
                network.AddFunction([t], self._costs(part).tolist())
            for (a, b), part in zip(self._scope, self._tables):
                network.AddFunction([a, b], self._costs(part).ravel().tolist())
            seconds = 0 if time_limit == np.inf else math.ceil(time_limit)
            answer = network.Solve(timeLimit=seconds)
        except library.pytb2.Contradiction:
            return None, np.inf
        # The bound of the library may lag behind when the search is through.
        finished = not library.pytb2.option.limited
        if answer is None:
            return None, (np.inf if finished else network.GetDDualBound())
        labels = [states[k] for states, k in zip(self._states, answer[0])]
        cost = answer[1] if finished else network.GetDDualBound()
        return np.array(labels, dtype=np.int32), cost


def _pytoulbar2():
    try:
        import pytoulbar2
    except ImportError as error:
        raise ImportError(
            'Toulbar2 needs the package pytoulbar2: pip install "sklearn-fw[toulbar2]"'
        ) from error
    return pytoulbar2
