"""Scores of very different size: which answers count as exact, and what cannot be part of one.

Solvers in floating point err by a fraction of the largest score that they see, be it a penalty that
no good labelling pays. So whoever finds a labelling can leave out all states and pairs that are
worse than it whatever the rest does, and ask again: what is left has the size that matters.
"""

import numpy as np

from ..._core.scores import PairwiseScores, count_labelings

# Sums of this many times the sizes of their terms are taken for the error of rounding.
ROUNDING = 32 * np.finfo(np.float64).eps

# An answer whose error is at most this share of its value counts as exact.
NEGLIGIBLE = 1e-9
MOST_ROUNDS = 10
# Graphs of so few labellings are tried out where an oracle promises to be exact.
FEW = 2**14


def is_negligible(error, parts, value):
    """Whether an error is small beside the value of an answer, or beside the smallest score."""
    if error <= NEGLIGIBLE * abs(value) < np.inf:
        return True
    sizes = np.concatenate([np.abs(part).ravel() for part in parts])
    return error <= NEGLIGIBLE * sizes.min(where=sizes > 0.0, initial=np.inf)


def nothing_allowed(scores):
    return np.zeros(scores.n_nodes, np.int32), -np.inf, -np.inf


def settled(solve, scores, start=None, exact=False):
    """The answer of an oracle, from a solver that errs by a fraction of the largest score.

    ``solve(scores, start) -> labels, value, bound, error``, where no labelling scores more than
    ``bound``, and an optimal one may score up to ``error`` less; or None if none is allowed. Where
    the error matters it is asked again about what may still be better than the best labelling
    known. Returns labels, value and upper bound; both numbers are equal where ``bound`` is
    no further from ``value`` than an error that does not matter. ``exact`` asks for this on all
    small graphs.
    """
    answer, upper = None, np.inf
    part = scores
    for _ in range(MOST_ROUNDS):
        found = solve(part, start)
        if found is None:
            break
        labels, value, bound, error = found
        if answer is None or value > answer[1]:
            answer = labels, value
        labels, value = answer
        negligible = is_negligible(error, (scores.unary, scores.pairwise), value)
        if negligible and value >= bound - error:
            return labels, value, value
        upper = min(upper, max(value, bound))
        if negligible:
            break
        part, start = without_hopeless(part, value), labels
        if part is None:
            break
    if answer is None:
        return nothing_allowed(scores)
    if answer[1] == upper:
        return *answer, upper
    if exact and count_labelings(scores) <= FEW:
        from ._exact import Enumeration

        labels = Enumeration(FEW).argmax(scores)[0]
        value = scores.value(labels)
        return labels, value, value
    return *answer, float(upper)


def without_hopeless(scores, value):
    """Scores that forbid states and pairs of no labelling above ``value``; None if that is none.

    What a state or pair loses for sure is its distance to the best one of its node or edge, and of
    all edges at the node.
    """
    if value == -np.inf:
        return None
    unary, pairwise = scores.unary.copy(), np.array(scores.pairwise)
    ends = scores.edges.T
    n_before = n_first = np.count_nonzero(unary > -np.inf) + np.count_nonzero(pairwise > -np.inf)
    while True:
        best_node, best_edge = unary.max(axis=1), pairwise.max(axis=(1, 2), initial=-np.inf)
        tops = np.concatenate([best_node, best_edge])
        room = tops.sum() - value + ROUNDING * (np.abs(tops).sum() + abs(value))
        # Less than the whole loss by rounding, so that nothing good is left out.
        room *= 1.0 + ROUNDING * len(tops)
        lost = best_node[:, None] - unary
        for end, axis in ((ends[0], 2), (ends[1], 1)):
            np.add.at(lost, end, best_edge[:, None] - pairwise.max(axis=axis, initial=-np.inf))
        unary[lost > room] = -np.inf
        for end, axes in (
            (ends[0], (slice(None), slice(None), None)),
            (ends[1], np.s_[:, None, :]),
        ):
            pairwise[np.broadcast_to((unary == -np.inf)[end][axes], pairwise.shape)] = -np.inf
        pairwise[best_edge[:, None, None] - pairwise > room] = -np.inf
        n_left = np.count_nonzero(unary > -np.inf) + np.count_nonzero(pairwise > -np.inf)
        if n_left == n_before:
            break
        n_before = n_left
    return PairwiseScores._view(unary, pairwise, scores.edges) if n_left < n_first else None
