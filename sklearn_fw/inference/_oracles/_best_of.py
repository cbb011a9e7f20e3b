"""Several oracles asked, the best answer returned."""

import functools

import numpy as np

from .._scores import expect_scores
from ._base import Oracle
from ._checked import checked


class BestOf(Oracle):
    """Best answer of several oracles, by default of all fast ones for general graphs.

    Returns the labelling with the largest score of `PairwiseScores` that any of them finds, with
    the smallest of their bounds. Choose it on graphs with cycles that are too large for an exact
    oracle, where none of the approximate ones is always ahead.

    Parameters
    ----------
    oracles : "auto" or list of (str, object or callable), default="auto"
        The oracles, in the order in which they are asked, as names, objects or functions that
        `resolve_oracle` knows. "auto" is ``("qpbo", "trws", "ils")`` for scores with at most two
        states, padding included, and ``("trws", "ils")`` for others.

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
    The cost is that of all oracles; those behind an oracle whose answer is exact are not asked.
    Each begins with the best labelling known, ``start`` or what those before it found. An oracle
    that refuses the graph ends the call with its error. Calls may come from several threads if the
    oracles allow it.

    References
    ----------
    .. [1] R. G. Krishnan, S. Lacoste-Julien and D. Sontag, "Barrier Frank-Wolfe for marginal
       inference", Advances in Neural Information Processing Systems 28, 2015: section 5, the
       approximate oracle of its experiments.

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

    def __init__(self, oracles="auto"):
        self.oracles = oracles

    @property
    def exact(self):
        """Whether every answer is exact."""
        if isinstance(self.oracles, str) and self.oracles == "auto":
            return False
        return any(getattr(oracle, "exact", False) for oracle in self._members(None))

    def argmax(self, scores, start=None):
        expect_scores(scores)
        labels, value, upper_bound = None, -np.inf, np.inf
        for oracle in self._members(scores.n_states):
            found, found_value, bound = oracle.argmax(scores, start=start)
            if labels is None or found_value > value:
                labels, value = found, found_value
                if start is None or value > -np.inf:
                    start = labels
            # Rounding must not put the bound of one below the value of another.
            upper_bound = max(value, min(upper_bound, bound))
            if value == upper_bound:
                break
        return labels, float(value), float(upper_bound)

    def _members(self, n_states):
        from ._resolve import resolve_oracle  # which imports this file

        oracles = self.oracles
        if isinstance(oracles, str) and oracles == "auto":
            oracles = ("qpbo", "trws", "ils") if n_states <= 2 else ("trws", "ils")
        if not isinstance(oracles, list | tuple):
            raise TypeError(f"oracles must be 'auto' or a list of oracles, got {oracles!r}")
        if not oracles:
            raise ValueError("oracles must hold at least one oracle, got an empty list")
        for oracle in oracles:
            if isinstance(oracle, str):
                yield _named(oracle)
            elif callable(getattr(oracle, "argmax", None)) and not isinstance(oracle, type):
                # Itself and no clone, which would have to look at the graph again.
                yield checked(oracle)
            else:
                yield resolve_oracle(oracle)


@functools.cache
def _named(name):
    """The oracle of a name; always the same object, for what it remembers of the last graph."""
    from ._resolve import resolve_oracle

    return resolve_oracle(name)
