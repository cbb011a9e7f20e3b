"""From what a user writes as oracle= to an oracle, and what auto stands for."""

import functools
import math
from dataclasses import KW_ONLY
from time import perf_counter
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from ..._core import check
from ..._core.oracle import CheckedOracle, can_be_asked, checked
from ..._core.scores import is_forest
from ._adjacency import GraphOracle
from ._cuts import QPBO, CutMoves, GraphCut
from ._elimination import Elimination
from ._exact import Enumeration
from ._linear_programs import MILP, LPRelaxation, Toulbar2
from ._local_search import ICM, IteratedLocalSearch
from ._messages import TRWS, BranchAndBound, MaxProduct
from ._tree import TreeMaxProduct, Viterbi


class Attempt(NamedTuple):
    oracle: object  # name or object
    value: float
    upper_bound: float
    seconds: float


# What the words of `BestOf` end with; the same object always, for what it remembers of a graph.
LAST = {"auto": "ils", "quick": IteratedLocalSearch("few")}


class BestOf(GraphOracle):
    """Best result of several oracles, by default of all fast ones for general graphs.

    Returns the labeling with the largest score of `PairwiseScores` that any of them finds, with
    the smallest of their bounds. Choose it on graphs with cycles that are too large for an exact
    oracle, where none of the approximate ones is always ahead.

    Parameters
    ----------
    oracles : "auto", "quick" or list of (str, object or callable), default="auto"
        Oracles in their order, in the forms of `resolve_oracle`. "auto" is ``("qpbo", "trws",
        "ils")`` for at most two states, padding included, and ``("trws", "ils")`` else. "quick"
        takes ``IteratedLocalSearch("few")`` last: for calls in a row whose scores change little, as
        Frank-Wolfe makes them.
    tol : float, default=0.0
        Gap, as a fraction of the score, at which no further oracle is called. Training takes
        ``1e-3``, where local search costs most of the time and changes no prediction.

    Attributes
    ----------
    exact : bool
        Whether one of the oracles is always exact; False by default.

    See Also
    --------
    TRWS : The best of them alone, most of the time.
    BranchAndBound : Exact, if there is time.

    Notes
    -----
    The cost is that of all oracles up to the first exact answer. Each begins with the
    incumbent. An oracle that refuses the graph ends the call with its error.

    References
    ----------
    .. [1] R. G. Krishnan, S. Lacoste-Julien and D. Sontag, "Barrier Frank-Wolfe for marginal
       inference", NIPS 2015: section 5, the approximate oracle of its experiments.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.inference import BestOf, PairwiseScores
    >>> triangle = [(0, 1), (1, 2), (2, 0)]
    >>> unary = [[0.1, 0.0, 0.0], [0.0, 0.5, 0.0], [0.0, 0.0, 0.3]]
    >>> scores = PairwiseScores.from_arrays(unary, np.eye(3), triangle)
    >>> BestOf().argmax(scores)
    (array([1, 1, 1], dtype=int32), 3.5, 3.5)
    >>> BestOf(["icm"]).argmax(scores)
    (array([1, 1, 1], dtype=int32), 3.5, inf)
    """

    oracles: object = "auto"
    _: KW_ONLY
    tol: float = 0.0

    @property
    def exact(self):
        if isinstance(self.oracles, str):
            return False
        return any(getattr(oracle, "exact", False) for _, oracle in self._members(None))

    def _argmax(self, scores, start):
        return self._ask(scores, start)[0]

    def compare(self, scores, start=None):
        """Answers of all oracles, in their order up to the first exact one.

        Parameters
        ----------
        scores, start : PairwiseScores, array-like of shape (n_nodes,), integer, default=None
            Scores on a graph that all oracles accept, and a labeling to begin with.

        Returns
        -------
        attempts : list of Attempt
            Named tuples ``(oracle, value, upper_bound, seconds)``: the entry of ``oracles``, the
            score of its labels, its own bound, and its time.

        Examples
        --------
        >>> import numpy as np
        >>> from sklearn_fw.inference import BestOf, PairwiseScores
        >>> triangle = [(0, 1), (1, 2), (2, 0)]
        >>> scores = PairwiseScores.from_arrays(np.zeros((3, 2)), 1 - np.eye(2), triangle)
        >>> for tried in BestOf(["icm", "trws"]).compare(scores):
        ...     print(tried.oracle, tried.value, round(tried.upper_bound, 6))
        icm 2.0 inf
        trws 2.0 3.0
        """
        self._expect(scores)
        return self._ask(scores, start)[1]

    def _ask(self, scores, start):
        attempts, labels, value, upper_bound = [], None, -np.inf, np.inf
        for asked, oracle in self._members(scores.n_states):
            before = perf_counter()
            found, found_value, bound = oracle.argmax(scores, start=start)
            seconds = perf_counter() - before
            attempts.append(Attempt(asked, float(found_value), float(bound), seconds))
            if labels is None or found_value > value:
                labels, value = found, found_value
                if start is None or value > -np.inf:
                    start = labels
            # Rounding must not put the bound of one below the value of another.
            upper_bound = max(value, min(upper_bound, bound))
            if upper_bound - value <= self.tol * abs(value):
                break
        return (labels, float(value), float(upper_bound)), attempts

    def _members(self, n_states):
        oracles = self.oracles
        if not isinstance(oracles, list | tuple):
            last = LAST[check.choice(oracles, "oracles", LAST, "a list of oracles")]
            oracles = ["qpbo", "trws", last][n_states > 2 :]
        if not oracles:
            raise ValueError("oracles must hold at least one oracle, got an empty list")
        for oracle in oracles:
            if isinstance(oracle, str):
                yield oracle, _named(oracle)
            elif callable(getattr(oracle, "argmax", None)) and not isinstance(oracle, type):
                # Itself and no clone, which would have to look at the graph again.
                yield oracle, checked(oracle)
            else:
                yield oracle, resolve_oracle(oracle)


@functools.cache
def _named(name):
    """The oracle of a name; always the same object, for what it remembers of the last graph."""
    return resolve_oracle(name)


# The one list of names; a new oracle adds its name here.
ORACLES = {
    "alpha_beta_swap": functools.partial(CutMoves, "swap"),
    "alpha_expansion": CutMoves,
    "approx": BestOf,
    "branch_and_bound": BranchAndBound,
    "elimination": Elimination,
    "enumeration": Enumeration,
    "graph_cut": GraphCut,
    "icm": ICM,
    "ils": IteratedLocalSearch,
    "lp": LPRelaxation,
    "max_product": MaxProduct,
    "milp": MILP,
    "qpbo": QPBO,
    "toulbar2": Toulbar2,
    "tree": TreeMaxProduct,
    "trws": TRWS,
    "viterbi": Viterbi,
}


def resolve_oracle(oracle, *, default=None):
    """Turn the ``oracle`` parameter of an estimator into an object with ``argmax``.

    Parameters
    ----------
    oracle : str, object or callable
        "auto" for ``default``; a name: "alpha_beta_swap", "alpha_expansion", "approx" (`BestOf`),
        "branch_and_bound", "elimination", "enumeration", "graph_cut", "icm", "ils", "lp",
        "max_product", "milp", "qpbo", "toulbar2", "tree", "trws" or "viterbi"; an object with a
        method ``argmax(scores, start=None) -> (labels, value, upper_bound)``, cloned if it has
        parameters; or a function ``scores -> labels``, which becomes a `CheckedOracle`.
    default : str, object or callable, default=None
        What "auto" stands for, in any of the other forms.

    Returns
    -------
    oracle : object
        An oracle.

    Examples
    --------
    >>> from sklearn_fw.inference import resolve_oracle
    >>> resolve_oracle("auto", default="viterbi")
    Viterbi()
    >>> resolve_oracle(lambda scores: scores.unary.argmax(axis=1)).exact
    False
    """
    if not (default is None or isinstance(default, str) or hasattr(default, "argmax")):
        raise TypeError(
            f"default must be None or the name of an oracle, got {type(default).__name__}"
        )
    if isinstance(oracle, str):
        if check.is_auto(oracle):
            if default is None or check.is_auto(default):
                raise ValueError(
                    f"oracle='auto' has no meaning here: name one of {sorted(ORACLES)} or pass an "
                    f"object"
                )
            return resolve_oracle(default)
        if oracle not in ORACLES:
            raise ValueError(
                f"oracle={oracle!r} is unknown; names are {['auto', *sorted(ORACLES)]}"
            )
        return ORACLES[oracle]()
    if isinstance(oracle, type):
        raise TypeError(f"oracle is the class {oracle.__name__}, pass an object of that class")
    if can_be_asked(oracle):
        return clone(oracle) if hasattr(oracle, "get_params") else oracle
    if callable(oracle):
        return CheckedOracle(oracle)
    raise TypeError(
        f"oracle must be a name out of {['auto', *sorted(ORACLES)]}, an object with a method "
        f"argmax(scores, start=None) or a function of scores, got {type(oracle).__name__}"
    )


FEW_LABELINGS = 4096  # listing this many in compiled code costs less than the way through Python
CLOSE = 1e-3  # share of the score of an answer, behind which nothing better is looked for
LARGE, FEW_PASSES = 4_000, 20  # states of all nodes of a large graph, and passes of messages on it
DENSE, DENSE_PASSES = 10, 6  # edges per node, from which local search and cuts cost most
MOST_SECONDS = 0.1  # of an exact answer that is needed thousands of times


def exact_oracle(scores):
    """The exact oracle, and about how many seconds it takes to sum over all labelings.

    `TreeMaxProduct` and 0 for forests, else `Elimination`, and inf if its tables are too large.
    """
    if is_forest(scores.edges, scores.n_nodes):
        return TreeMaxProduct(), 0.0
    oracle = Elimination()  # keeps the plan that it makes to answer
    return oracle, oracle.cost(scores)


def natural_oracle(scores, n_listed=FEW_LABELINGS):
    """The oracle for many questions on one graph: exact while it costs little.

    `TreeMaxProduct` for forests; for others `Enumeration` up to ``n_listed`` labelings,
    `Elimination`, or else `BestOf`; on large graphs few passes of `TRWS` alone, after a cut where
    there are two states, and on dense ones fewer after `ICM`: those cost a third of the cut and the
    usual passes, and lose at most 1 % of the score on complete graphs of 45 nodes. The scores are
    those of the largest graph in question.
    """
    is_small = scores.n_nodes * math.log(scores.n_states) <= math.log(n_listed)
    if is_small and not is_forest(scores.edges, scores.n_nodes):
        return Enumeration()
    oracle, seconds = exact_oracle(scores)
    if seconds <= MOST_SECONDS:
        return oracle
    if len(scores.edges) >= DENSE * scores.n_nodes:
        return BestOf(("icm", TRWS(max_iter=DENSE_PASSES)), tol=CLOSE)
    best = BestOf(tol=CLOSE)
    is_large = scores.n_nodes * scores.n_states >= LARGE
    return quick_oracle(best, scores.n_states) if is_large else best


def quick_oracle(oracle, n_states):
    """A `BestOf` without local search, which changes no choice among fits, and with few passes."""
    if type(oracle) is not BestOf or not check.is_auto(oracle.oracles):
        return oracle
    passes = TRWS(max_iter=FEW_PASSES)
    return BestOf(("qpbo", passes), tol=oracle.tol) if n_states == 2 else passes
