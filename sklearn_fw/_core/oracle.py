"""What all oracles are."""

from abc import ABC, abstractmethod

from sklearn.base import BaseEstimator


class Oracle(BaseEstimator, ABC):
    """Base class of oracles, which find the best output for given scores.

    Derive from it, or write any object with the method `argmax`. An oracle knows neither samples
    nor weights, leaves the scores unchanged and may be called from several threads. Parameters of
    the constructor can be set by a grid search.

    Attributes
    ----------
    exact : bool
        Whether ``value`` and ``upper_bound`` are equal in every answer. Else nothing is promised
        for all of them: a single answer is exact where they are.
    releases_gil : bool
        Whether most of a call is compiled code that lets other threads run. Threads then share the
        calls of a fit with ``n_jobs``, else processes do, unless `joblib.parallel_config` says so.

    See Also
    --------
    Enumeration : A short one, with all optional methods.
    resolve_oracle : Makes one of a function.

    Notes
    -----
    Optional methods, as in `Enumeration`, are ``top_k(scores, k) -> (values, labels)``, the
    ``m <= k`` best allowed labellings, best first, and, of the distribution
    ``p(y) = exp(score(y) - log_partition)``, ``marginals(scores) -> (node, edge, log_partition)``,
    ``log_partition(scores) -> float``, ``max_marginals(scores) -> node`` and
    ``sample(scores, n_samples, random_state=None) -> labels``. What takes long should look at
    `time_left`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.inference import Oracle, PairwiseScores
    >>> class IgnoreEdges(Oracle):
    ...     def argmax(self, scores, start=None):
    ...         labels = scores.unary.argmax(axis=1)
    ...         bound = scores.unary.max(axis=1).sum() + scores.pairwise.max(axis=(1, 2)).sum()
    ...         return labels, scores.value(labels), bound
    >>> scores = PairwiseScores.from_arrays([[2.0, 0.0], [0.0, 0.5]], np.eye(2), [(0, 1)])
    >>> labels, value, upper_bound = IgnoreEdges().argmax(scores)
    >>> print(labels, value, upper_bound)
    [0 1] 2.5 3.5
    """

    exact = False
    releases_gil = False

    @abstractmethod
    def argmax(self, scores, start=None):
        """The best labelling that is found, and what is known about all others.

        Parameters
        ----------
        scores : PairwiseScores
            Scores on a graph that the oracle takes.
        start : array-like of shape (n_nodes,), integer, default=None
            A labelling to begin with, or to do no worse than. Exact oracles ignore it.

        Returns
        -------
        labels : ndarray of shape (n_nodes,), int32
            The labelling.
        value : float
            Its score, ``-inf`` if it is forbidden.
        upper_bound : float
            No labelling has a larger score; inf if there is no bound.
        """
