"""What exact oracles know besides the best labelling: the Gibbs distribution of the scores."""

import math

import numpy as np

from ..._core.k_best import k_best_labelings
from ..._core.oracle import Oracle
from ..._core.packed import writable
from ..._core.scores import expect_scores
from ..._core.validation import check_integer, check_random_state
from ..._kernels import lazy

sum_product = lazy("graphs.sum_product")

PROBABILITY = 1e-9  # by which sums of probabilities may differ from one by rounding


class GibbsInference(Oracle):
    """Marginals, max-marginals, samples and k best labellings, from three hooks of a subclass.

    The distribution is ``p(y) = exp(score(y) - log_partition)`` on all labellings y. The hooks get
    a `PairwiseScores`; each returns a log-partition, which is -inf when nothing is allowed, and
    what it returns besides is then not looked at.
    """

    exact = True

    def _sums(self, scores, marginals):
        """(node, edge, log_partition); node and edge may be None unless ``marginals``."""
        raise NotImplementedError

    def _maxima(self, scores):
        """Max-marginals, (n_nodes, n_states)."""
        raise NotImplementedError

    def _draws(self, scores, uniforms):
        """(labels, log_partition) for random numbers in [0, 1) of shape (n_samples, n_nodes)."""
        raise NotImplementedError

    def marginals(self, scores):
        """Probabilities of states under the Gibbs distribution ``p(y)`` ~ ``exp(score(y))``.

        Parameters
        ----------
        scores : PairwiseScores
            Scores on a graph that the oracle accepts.

        Returns
        -------
        node : ndarray of shape (n_nodes, n_states)
            Probability of each state of each node; zero where it is forbidden.
        edge : ndarray of shape (n_edges, n_states, n_states)
            Probability of each pair of states of each edge, with axes as in ``scores.pairwise``.
        log_partition : float
            Logarithm of the sum of ``exp(score(y))`` over all labellings.
        """
        expect_scores(scores)
        node, edge, log_partition = self._sums(scores, marginals=True)
        _some(log_partition)
        return _normalised(node, "states"), _normalised(edge, "pairs"), log_partition

    def log_partition(self, scores):
        """Logarithm of the sum of ``exp(score(y))`` over all labellings y.

        Parameters
        ----------
        scores : PairwiseScores
            Scores on a graph that the oracle accepts.

        Returns
        -------
        log_partition : float
            The logarithm, ``-inf`` when every labelling is forbidden.
        """
        expect_scores(scores)
        return self._sums(scores, marginals=False)[2]

    def max_marginals(self, scores):
        """Best score that a labelling can have for each state of each node.

        Parameters
        ----------
        scores : PairwiseScores
            Scores on a graph that the oracle accepts.

        Returns
        -------
        best : ndarray of shape (n_nodes, n_states)
            The scores, ``-inf`` where a state is in no allowed labelling. The largest of each row
            is the value of `argmax`.
        """
        expect_scores(scores)
        return self._maxima(scores)

    def top_k(self, scores, k):
        """The k best labellings, best first.

        Parameters
        ----------
        scores : PairwiseScores
            Scores on a graph that the oracle accepts.
        k : int
            How many labellings are wanted, at least 1.

        Returns
        -------
        values : ndarray of shape (m,)
            Scores in descending order; m < k when fewer labellings are allowed.
        labels : ndarray of shape (m, n_nodes), int32
            The labellings, all different.
        """
        expect_scores(scores)
        return self._best(scores, check_integer(k, "k", 1))

    def _best(self, scores, k):
        """Values and labels of the k best labellings."""
        return k_best_labelings(self, scores, k)

    def sample(self, scores, n_samples, random_state=None):
        """Independent labellings from the Gibbs distribution ``p(y)`` ~ ``exp(score(y))``.

        Parameters
        ----------
        scores : PairwiseScores
            Scores on a graph that the oracle accepts.
        n_samples : int
            How many labellings are wanted, at least 1.
        random_state : int, RandomState instance or None, default=None
            Source of random numbers, of which each node of each sample takes one.

        Returns
        -------
        labels : ndarray of shape (n_samples, n_nodes), int32
            The labellings.
        """
        expect_scores(scores)
        n_samples = check_integer(n_samples, "n_samples", 1)
        uniforms = check_random_state(random_state).random_sample((n_samples, scores.n_nodes))
        labels, log_partition = self._draws(scores, uniforms)
        _some(log_partition)
        return labels


def _some(log_partition):
    if log_partition == -math.inf:
        raise ValueError("every labelling is forbidden: there is no distribution to speak of")
    return log_partition


def _normalised(probabilities, what):
    """Probabilities that sum to one in each block; exact up to rounding where they did not.

    Scores that are 1e16 times as large as others swallow those in sums, but not in differences.
    """
    shape = len(probabilities), math.prod(probabilities.shape[1:])
    rows = writable(probabilities.reshape(shape))
    least, largest = sum_product.range_of_sums(rows)
    if least >= 1.0 - PROBABILITY and largest <= 1.0 + PROBABILITY:
        return probabilities
    sums = rows.sum(axis=1)
    if not np.all((sums > 0.0) & (sums < np.inf)):
        raise ValueError(
            f"scores differ so much in size that probabilities of {what} are lost in rounding: "
            f"scale them, or use -inf for what is forbidden"
        )
    return probabilities / sums.reshape(-1, *[1] * (probabilities.ndim - 1))
