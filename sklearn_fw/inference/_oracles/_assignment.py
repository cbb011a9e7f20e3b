"""Exact inference on bipartite matchings."""

import numpy as np

from ..._validation import check_flag
from .._scores import check_sums, floats
from ._base import Oracle
from ._settle import ROUNDING, is_negligible


class Assignment(Oracle):
    """Best matching of the rows of a matrix of scores with its columns.

    Maximises ``sum(scores * matching)`` exactly over 0/1 matrices with at most one 1 in each row
    and column, or exactly one with ``perfect=True``. Choose it for word alignments, tracks,
    correspondences of points and whatever else pairs two sets.

    Parameters
    ----------
    perfect : bool, default=False
        Whether everything must find a partner, which takes as many rows as columns. Otherwise rows
        and columns may stay alone at score 0, and only pairs of positive score are made.

    Attributes
    ----------
    exact : bool
        True: ``value`` and ``upper_bound`` are equal in every answer, unless scores some 1e5 times
        the size of the value are part of good perfect matchings and cancel: then what rounding
        leaves open is between the two.

    See Also
    --------
    sklearn_fw.structured.MatchingModel : Learns the scores from features of pairs.
    sklearn_fw.projections.project_matching : Projection onto fractional matchings.

    Notes
    -----
    SciPy's shortest augmenting paths [1]_, of cost ``n m^2`` for sides ``n >= m``.
    Scores are a matrix here, not a `PairwiseScores`. Equal matchings are told apart
    by SciPy, alike in every call. The object keeps nothing between calls, which may come from
    several threads.

    References
    ----------
    .. [1] D. F. Crouse, "On implementing 2D rectangular assignment algorithms", IEEE Transactions
       on Aerospace and Electronic Systems 52, 2016. doi:10.1109/TAES.2016.140952

    Examples
    --------
    Row 0 would rather have column 0, but leaves it to row 1, as together they do better so. Row 2
    stays alone.

    >>> from sklearn_fw.inference import Assignment
    >>> scores = [[3.0, 2.0], [2.0, 0.5], [-1.0, 0.0]]
    >>> matching, value, upper_bound = Assignment().argmax(scores)
    >>> matching
    array([[0, 1],
           [1, 0],
           [0, 0]], dtype=int8)
    >>> value
    4.0
    """

    exact = True

    def __init__(self, perfect=False):
        self.perfect = perfect

    def argmax(self, scores, start=None):
        """Best matching.

        Parameters
        ----------
        scores : array-like of shape (n_rows, n_columns)
            Score of each pair; ``-inf`` forbids a pair.
        start : object, default=None
            Ignored: an exact answer needs no first guess.

        Returns
        -------
        matching : ndarray of shape (n_rows, n_columns), int8
            1 for the pairs that are made.
        value : float
            Its score, ``-inf`` (and no pair) when no perfect matching is allowed.
        upper_bound : float
            The same number.

        Raises
        ------
        ValueError
            When scores are no matrix or hold NaN or +inf, or are not square although ``perfect``.
        """
        scores = floats(scores, "scores")
        if scores.ndim != 2:
            raise ValueError(f"scores must have shape (n_rows, n_columns), got {scores.shape}")
        largest = np.abs(scores).max(where=np.isfinite(scores), initial=0.0)
        check_sums(largest, sum(scores.shape))
        matching = np.zeros(scores.shape, np.int8)
        if check_flag(self.perfect, "perfect") and scores.shape[0] != scores.shape[1]:
            raise ValueError(
                f"perfect=True needs as many rows as columns, got scores of shape "
                f"{scores.shape}: set perfect=False, or add rows or columns for partners that "
                f"do not exist"
            )
        pairs, error = best_pairs(scores, self.perfect)
        if pairs is None:
            return matching, -np.inf, -np.inf
        matching[pairs] = 1
        value = float(scores[pairs].sum())
        return matching, value, value + error


def best_pairs(scores, perfect):
    """Rows and columns of a best matching, None if none is allowed; what it may lose.

    A perfect one matches all of the smaller side. This is the only caller of SciPy's solver.
    """
    from scipy.optimize import linear_sum_assignment

    if perfect:
        return _perfect(scores)
    rows, columns = linear_sum_assignment(np.maximum(scores, 0.0), maximize=True)
    made = scores[rows, columns] > 0.0
    # Exact: all terms are positive, and the value is no less than the largest.
    return (rows[made], columns[made]), 0.0


def _perfect(scores):
    """Rows and columns of a best perfect matching, None if none is allowed; what it may lose.

    SciPy errs by a fraction of the largest score. So pairs that cannot be in a matching better than
    the one known, by what their rows and columns lose, are left out, and the rest is asked again.
    """
    from scipy.optimize import linear_sum_assignment

    best, left = None, scores
    while True:
        try:
            pairs = linear_sum_assignment(left, maximize=True)
        except ValueError as error:
            if "infeasible" not in str(error):
                raise
            return best, 0.0
        if best is None or scores[pairs].sum() > scores[best].sum():
            best = pairs
        value = scores[best].sum()
        finite = left > -np.inf
        size = np.abs(left).max(where=finite, initial=0.0)
        error = float(ROUNDING * len(best[0]) * size)
        if is_negligible(error, (left,), value):
            return best, 0.0
        left = left.copy()
        for view in (left, left.T):
            if len(view) > len(best[0]):  # not all of these are matched
                continue
            tops = view.max(axis=1)
            room = tops.sum() - value + ROUNDING * (np.abs(tops).sum() + abs(value))
            view[tops[:, None] - view > room] = -np.inf
        if np.array_equal(left > -np.inf, finite):
            return best, error
