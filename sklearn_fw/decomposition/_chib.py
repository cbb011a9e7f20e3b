"""Probabilities of held-out documents by sampling."""

import numpy as np

from .._core.validation import (
    check_array_of_numbers,
    check_integer,
    check_magnitude,
    check_random_state,
    check_table,
)
from .._kernels import lazy
from ._rows import as_counts

topics_kernels = lazy("moments.topics")

MOST_NUMBERS = 2e8  # random numbers of one document


def chib_log_likelihood(X, topics, prior, *, n_samples=1000, random_state=None):
    """Log probabilities of documents under given topics, by Chib's method.

    The variational `DiscreteICA.score_samples` is a lower bound; this is an estimate of the
    probability itself, from a Gibbs chain of the topics of tokens. Its bias and variance vanish as
    ``n_samples`` grows.

    Parameters
    ----------
    X : {array-like, sparse matrix} of shape (n_docs, n_features)
        Counts, whole numbers.
    topics : array-like of shape (n_topics, n_features)
        Topics with rows that sum to one and no zeros for words of X, see ``smoothing`` of
        `DiscreteICA`.
    prior : array-like of shape (n_topics,)
        Concentrations of topics.
    n_samples : int, default=1000
        Samples for each document, after a tenth of them to burn in.
    random_state : int, RandomState instance or None, default=None
        Source of the chains.

    Returns
    -------
    log_likelihood : ndarray of shape (n_docs,)
        In nats, of the tokens in their order, given their number; 0 for documents without tokens.

    See Also
    --------
    DiscreteICA : What finds the topics.

    Notes
    -----
    Costs O(n_samples L n_topics) for a document of L tokens.

    References
    ----------
    .. [1] H. Wallach, I. Murray, R. Salakhutdinov, D. Mimno, "Evaluation methods for topic models",
       ICML 2009: section 4.2.

    Examples
    --------
    One word under one topic has the probability of that topic.

    >>> import numpy as np
    >>> from sklearn_fw.decomposition import chib_log_likelihood
    >>> np.exp(chib_log_likelihood([[0, 1]], [[0.2, 0.8]], [1.0], random_state=0)).round(6)
    array([0.8])
    """
    topics, prior = check_topics(topics, prior)
    X = as_counts(check_table(X, accept_sparse="csr", dtype=np.float64), "X", whole=True)
    if X.shape[1] != topics.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} features, topics have {topics.shape[1]}: both need one vocabulary"
        )
    n_samples = check_integer(n_samples, "n_samples", 1)
    rng = check_random_state(random_state)
    n_burn_in = 1 + n_samples // 10
    columns = np.ascontiguousarray(topics.T)
    values = np.zeros(X.shape[0])
    for i in range(X.shape[0]):
        part = slice(X.indptr[i], X.indptr[i + 1])
        n_tokens = X.data[part].sum()
        if n_tokens * (n_burn_in + n_samples) > MOST_NUMBERS:
            raise ValueError(
                f"X[{i}] has {n_tokens:g} tokens, too many for n_samples={n_samples}: take fewer"
            )
        if n_tokens:
            tokens = np.repeat(X.indices[part].astype(np.int64), X.data[part].astype(np.int64))
            uniforms = rng.random_sample((n_burn_in + n_samples, len(tokens)))
            first = rng.randint(n_samples)
            values[i] = topics_kernels.chib_log_probability(
                tokens, columns, prior, uniforms, n_burn_in, first
            )
    return values


def check_topics(topics, prior):
    """Topics with rows that sum to one, and their concentrations."""
    topics, prior = check_array_of_numbers(topics, "topics"), check_array_of_numbers(prior, "prior")
    check_magnitude(topics, "topics")
    if topics.ndim != 2 or not topics.size:
        raise ValueError(f"topics must have shape (n_topics, n_features), got {topics.shape}")
    sums = topics.sum(axis=1)
    if np.any(topics < 0.0) or np.any(np.abs(sums - 1.0) > 1e-6):
        raise ValueError("topics must not be negative, and rows must sum to one")
    if prior.shape != (len(topics),) or np.any(prior < 1e-9) or np.any(prior > 1e9):
        raise ValueError(
            f"prior must hold {len(topics)} numbers from 1e-09 to 1e+09, one for each of the topics"
        )
    return topics / sums[:, None], prior
