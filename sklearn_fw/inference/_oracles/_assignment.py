"""Exact inference on bipartite matchings."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from ..._core import check
from ..._core.oracle import Oracle, k_best
from ..._core.scores import check_sums, floats
from ._adjacency import ROUNDING, is_negligible


class Assignment(Oracle):
    """Best matching of the rows of a matrix of scores with its columns.

    Maximizes ``sum(scores * matching)`` exactly over 0/1 matrices with at most one 1 in each row
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
        True: ``value`` and ``upper_bound`` are equal, unless scores some 1e5 times the size of the
        value cancel in good perfect matchings: then the rounding error is between the two.

    See Also
    --------
    sklearn_fw.structured.MatchingModel : Learns the scores from features of pairs.
    sklearn_fw.projections.project_matching : Projection onto fractional matchings.

    Notes
    -----
    SciPy's shortest augmenting paths [1]_, of cost ``n m^2`` for sides ``n >= m``. All
    max-marginals together take ``m^3 + n m`` more, by longest paths in the graph of exchanges
    [2]_. `top_k` divides the matchings into parts by max-marginals [3]_ and takes two such calls
    for each of the k.

    References
    ----------
    .. [1] D. F. Crouse, "On implementing 2D rectangular assignment algorithms", IEEE Transactions
       on Aerospace and Electronic Systems 52, 2016.
    .. [2] K. Pillutla, V. Roulet, S. M. Kakade, Z. Harchaoui, "A smoother way to train structured
       prediction models", NeurIPS 2018.
    .. [3] C. R. Chegireddy, H. W. Hamacher, "Algorithms for finding k-best perfect matchings",
       Discrete Applied Mathematics 18, 155-165, 1987.

    Examples
    --------
    Row 0 prefers column 0, but the best matching gives it to row 1. Row 2 stays alone.

    >>> from sklearn_fw.inference import Assignment
    >>> scores = [[3.0, 2.0], [2.0, 0.5], [-1.0, 0.0]]
    >>> matching, value, upper_bound = Assignment().argmax(scores)
    >>> matching.tolist(), value
    ([[0, 1], [1, 0], [0, 0]], 4.0)
    >>> Assignment().top_k(scores, 3)[0]
    array([4. , 3.5, 3. ])
    """

    perfect: bool = False

    exact = True

    def argmax(self, scores, start=None):
        """Best matching.

        Parameters
        ----------
        scores : array-like of shape (n_rows, n_columns)
            Score of each pair; ``-inf`` forbids a pair.
        start : object, default=None
            Ignored.

        Returns
        -------
        matching : ndarray of shape (n_rows, n_columns), int8
            1 for the pairs that are made.
        value, upper_bound : float
            Its score, twice; ``-inf`` (and no pair) when no perfect matching is allowed.
        """
        scores = self._check(scores)
        matching = np.zeros(scores.shape, np.int8)
        pairs, error = best_pairs(scores, self.perfect)
        if pairs is None:
            return matching, -np.inf, -np.inf
        matching[pairs] = 1
        value = float(scores[pairs].sum())
        return matching, value, value + error

    def max_marginals(self, scores):
        """Best score that a matching can have with each pair in it.

        Parameters
        ----------
        scores : array-like of shape (n_rows, n_columns)
            Score of each pair; ``-inf`` forbids a pair.

        Returns
        -------
        best : ndarray of shape (n_rows, n_columns)
            The scores, ``-inf`` where a pair is in no allowed matching.
        """
        scores = self._check(scores)
        if len(scores) > scores.shape[1]:  # the rows make the graph: let them be the shorter side
            return self.max_marginals(scores.T).T
        partners = _partners(scores, self.perfect)
        return _max_marginals(partners, _choose(partners))[:, : scores.shape[1]]

    def top_k(self, scores, k):
        """The k best matchings, best first.

        Parameters
        ----------
        scores : array-like of shape (n_rows, n_columns)
            Score of each pair; ``-inf`` forbids a pair.
        k : int
            Number of matchings, at least 1.

        Returns
        -------
        values, matchings : ndarray of shape (m,) and (m, n_rows, n_columns), int8
            Scores in descending order, and different matchings; m < k when fewer are allowed.
            Unless ``perfect``, they may contain pairs of negative score or lack some of positive
            score.
        """
        scores, k = self._check(scores), check.integer(k, "k", 1)
        if len(scores) > scores.shape[1]:
            values, matchings = self.top_k(scores.T, k)
            return values, matchings.transpose(0, 2, 1)
        partners = _partners(scores, self.perfect)

        def best(left):
            scores = np.where(left, partners, -np.inf)
            columns = _choose(scores)
            if columns is None:
                return None, -np.inf
            return columns, float(scores[np.arange(len(columns)), columns].sum())

        def table(left):
            scores = np.where(left, partners, -np.inf)
            return _max_marginals(scores, _choose(scores))

        values, columns = k_best(best, table, partners > -np.inf, k)
        matchings = np.zeros((len(values), *partners.shape), np.int8)
        if len(scores):
            np.put_along_axis(matchings, columns[:, :, None].astype(np.int64), 1, axis=2)
        return values, matchings[:, :, : scores.shape[1]]

    def _check(self, scores):
        scores = floats(scores, "scores")
        if scores.ndim != 2:
            raise ValueError(f"scores must have shape (n_rows, n_columns), got {scores.shape}")
        largest = np.abs(scores).max(where=np.isfinite(scores), initial=0.0)
        check_sums(largest, sum(scores.shape))
        if check.flag(self.perfect, "perfect") and scores.shape[0] != scores.shape[1]:
            raise ValueError(
                f"perfect=True needs as many rows as columns, got scores of shape "
                f"{scores.shape}: set perfect=False, or add rows or columns for partners that "
                f"do not exist"
            )
        return scores


def best_pairs(scores, perfect):
    """Rows and columns of a best matching, None if none is allowed; what it may lose.

    A perfect one matches all of the smaller side. This is the only caller of SciPy's solver.
    """
    if perfect:
        return _perfect(scores)
    rows, columns = linear_sum_assignment(np.maximum(scores, 0.0), maximize=True)
    made = scores[rows, columns] > 0.0
    # Exact: all terms are positive, and the value is no less than the largest.
    return (rows[made], columns[made]), 0.0


def _perfect(scores):
    """Rows and columns of a best perfect matching, None if none is allowed; possible loss.

    SciPy errs by a fraction of the largest score. So pairs that cannot be in a better matching than
    the known one are left out, and the rest is solved again.
    """
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


def _partners(scores, perfect):
    """Scores of all that a row can take: a column or, unless ``perfect``, one of its own at 0."""
    if perfect:
        return scores
    alone = np.full((len(scores), len(scores)), -np.inf)
    np.fill_diagonal(alone, 0.0)
    return np.hstack([scores, alone])


def _choose(partners):
    """Column of each row in a best choice of different ones, None if none is allowed."""
    pairs, _ = _perfect(partners)
    return None if pairs is None else pairs[1]


def _max_marginals(partners, columns):
    """Best value with each pair, from a best choice of columns.

    Node w of the graph of exchanges is a row with its column, and the last node a column that
    nobody has. The arc v -> w is worth what v gains by the column of w in place of nothing, less
    what w had of it.
    """
    n = len(partners)
    if columns is None:
        return np.full(partners.shape, -np.inf)
    rows = np.arange(n)
    own = partners[rows, columns]
    free = np.ones(partners.shape[1], dtype=bool)
    free[columns] = False
    paths = np.full((n + 1, n + 1), -np.inf)
    paths[:n, :n] = partners[:, columns] - own
    paths[:n, n] = partners[:, free].max(axis=1, initial=-np.inf)
    if free.any() or n == 0:
        paths[n, :n] = -own  # a column is left
    np.fill_diagonal(paths, 0.0)
    for w in range(n + 1):
        np.maximum(paths, paths[:, w : w + 1] + paths[w], out=paths)
    np.fill_diagonal(paths, 0.0)  # no cycle gains anything but by rounding
    holder = np.full(partners.shape[1], n)
    holder[columns] = rows
    lost = np.append(own, 0.0)
    best = own.sum() + partners - lost[holder] + paths[holder, :n].T
    best[rows, columns] = own.sum()
    return best
