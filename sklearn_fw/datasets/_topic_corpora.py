"""Corpora of counts drawn from topic models."""

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch

from .._core.validation import (
    check_array_of_numbers,
    check_between,
    check_integer,
    check_magnitude,
    check_positive,
    check_random_state,
)

MOST_TOKENS = 2**31 - 1


def make_gp_corpus(
    n_samples=1000, n_features=500, n_components=10, *, prior=0.1, topic_prior=0.1,
    mean_length=200.0, topics=None, random_state=None,
):  # fmt: skip
    """Documents of the gamma-Poisson model, whose lengths vary as topics do.

    Intensities of topics are independent, ``a_k ~ Gamma(prior_k, rate)``, and counts are
    ``x_m ~ Poisson(sum_k a_k topics[k, m])``. Given its length a document is one of latent
    Dirichlet allocation.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of documents.
    n_features : int, default=500
        Number of words.
    n_components : int, default=10
        Number of topics.
    prior : float or array-like of shape (n_components,), default=0.1
        Shapes of the gamma laws, the concentrations of topics within documents.
    topic_prior : float, default=0.1
        Topics are drawn from the symmetric Dirichlet law with this concentration.
    mean_length : float, default=200.0
        Expected number of tokens of a document.
    topics : array-like of shape (n_components, n_features) or None, default=None
        Topics, divided by their sums, in place of drawn ones; they decide ``n_features`` and
        ``n_components``.
    random_state : int, RandomState instance or None, default=None
        Source of all draws.

    Returns
    -------
    data : Bunch
        ``X``: sparse array of counts of shape (n_samples, n_features); ``topics``: array of shape
        (n_components, n_features) with rows that sum to one; ``doc_topic_prior``: array of shape
        (n_components,); ``rate``: rate of the gamma laws; ``intensities``: array of shape
        (n_samples, n_components).

    See Also
    --------
    make_lda_corpus : Lengths that are given.
    sklearn_fw.metrics.topic_l1_error : How well topics were found.

    References
    ----------
    .. [1] A. Podosinnikova, F. Bach, S. Lacoste-Julien, "Rethinking LDA: moment matching for
       discrete ICA", NIPS 2015: section 3.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_gp_corpus
    >>> data = make_gp_corpus(100, 30, 3, mean_length=20, random_state=0)
    >>> data.X.shape, data.topics.shape
    ((100, 30), (3, 30))
    """
    rng = check_random_state(random_state)
    n_samples = check_integer(n_samples, "n_samples", 1)
    topics = _topics(rng, topics, n_features, n_components, topic_prior)
    prior = check_prior(prior, len(topics))
    mean_length = check_positive(mean_length, "mean_length")
    _check_size(n_samples * mean_length, "n_samples times mean_length")
    rate = float(prior.sum() / mean_length)
    intensities = rng.gamma(prior, 1.0 / rate, size=(n_samples, len(topics)))
    X = count_tokens(rng, rng.poisson(intensities), topics)
    return Bunch(X=X, topics=topics, doc_topic_prior=prior, rate=rate, intensities=intensities)


def make_lda_corpus(
    n_samples=1000, n_features=500, n_components=10, *, prior=0.1, topic_prior=0.1,
    length=200, topics=None, random_state=None,
):  # fmt: skip
    """Documents of latent Dirichlet allocation, of given lengths.

    Proportions of topics are ``t ~ Dirichlet(prior)``, and the tokens of a document are independent
    draws from ``t @ topics``.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of documents.
    n_features : int, default=500
        Number of words.
    n_components : int, default=10
        Number of topics.
    prior : float or array-like of shape (n_components,), default=0.1
        Concentrations of topics within documents.
    topic_prior : float, default=0.1
        Topics are drawn from the symmetric Dirichlet law with this concentration.
    length : int or array-like of shape (n_samples,), default=200
        Number of tokens of all documents, or of each.
    topics : array-like of shape (n_components, n_features) or None, default=None
        Topics, divided by their sums, in place of drawn ones; they decide ``n_features`` and
        ``n_components``.
    random_state : int, RandomState instance or None, default=None
        Source of all draws.

    Returns
    -------
    data : Bunch
        ``X``: sparse array of counts of shape (n_samples, n_features); ``topics``: array of shape
        (n_components, n_features) with rows that sum to one; ``doc_topic_prior``: array of shape
        (n_components,); ``proportions``: array of shape (n_samples, n_components).

    See Also
    --------
    make_gp_corpus : Lengths that vary as topics do.

    References
    ----------
    .. [1] D. Blei, A. Ng, M. Jordan, "Latent Dirichlet allocation", JMLR 3, 2003.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_lda_corpus
    >>> data = make_lda_corpus(100, 30, 3, length=20, random_state=0)
    >>> data.X.shape, bool((data.X.sum(axis=1) == 20).all())
    ((100, 30), True)
    """
    rng = check_random_state(random_state)
    n_samples = check_integer(n_samples, "n_samples", 1)
    topics = _topics(rng, topics, n_features, n_components, topic_prior)
    prior = check_prior(prior, len(topics))
    lengths = check_array_of_numbers(length, "length")
    if lengths.ndim > 1 or (lengths.ndim == 1 and lengths.shape != (n_samples,)):
        raise ValueError(f"length must be an integer or have shape ({n_samples},)")
    if np.any(lengths < 0) or np.any(lengths != np.floor(lengths)):
        raise ValueError("length must hold whole numbers that are not negative")
    lengths = np.broadcast_to(lengths, n_samples)
    _check_size(lengths.sum(), "length")
    proportions = draw_dirichlet(rng, prior, n_samples)
    counts = np.array([rng.multinomial(int(n), p) for n, p in zip(lengths, proportions)])
    X = count_tokens(rng, counts, topics)
    return Bunch(X=X, topics=topics, doc_topic_prior=prior, proportions=proportions)


def draw_dirichlet(rng, concentration, size):
    """Rows from a Dirichlet law, whatever small its concentrations: logarithms do not underflow."""
    concentration = np.asarray(concentration)
    shape = (size, len(concentration))
    # Gamma(a) is Gamma(a + 1) times a power of a uniform number.
    logs = np.log(rng.gamma(concentration + 1.0, size=shape))
    logs += np.log1p(-rng.random_sample(shape)) / concentration
    logs -= logs.max(axis=1, keepdims=True)
    weights = np.exp(logs)
    return weights / weights.sum(axis=1, keepdims=True)


def check_prior(prior, size):
    """Concentrations of each topic."""
    prior = check_array_of_numbers(prior, "prior")
    if prior.ndim == 0:
        prior = np.full(size, float(prior))
    if prior.shape != (size,) or np.any(prior < 1e-6) or np.any(prior > 1e6):
        raise ValueError(
            f"prior must be a number, or {size} numbers, from 1e-06 to 1e+06, got {prior!r:.80}"
        )
    return prior


def _topics(rng, topics, n_features, n_components, concentration):
    if topics is None:
        n_features = check_integer(n_features, "n_features", 1)
        n_components = check_integer(n_components, "n_components", 1)
        if n_features * n_components > MOST_TOKENS:
            raise ValueError("n_features times n_components must be below 2**31")
        concentration = check_between(concentration, "topic_prior", 1e-6, 1e6)
        return draw_dirichlet(rng, np.full(n_features, concentration), n_components)
    topics = check_array_of_numbers(topics, "topics")
    check_magnitude(topics, "topics")
    if topics.ndim != 2 or not topics.size:
        raise ValueError(f"topics must have shape (n_components, n_features), got {topics.shape}")
    sums = topics.sum(axis=1, keepdims=True)
    if np.any(topics < 0.0) or np.any(sums <= 0.0):
        raise ValueError("topics must not be negative, and no row must be zero")
    return topics / sums


def _check_size(n_tokens, name):
    if n_tokens > MOST_TOKENS:
        raise ValueError(f"{name} asks for {n_tokens:.3g} tokens, the most are 2**31 - 1")


def count_tokens(rng, counts, topics):
    """Words of ``counts[n, k]`` tokens of each topic in each document, as sparse counts."""
    n_samples, n_features = len(counts), topics.shape[1]
    rows, words = [], []
    for k, topic in enumerate(topics):
        rows.append(np.repeat(np.arange(n_samples), counts[:, k]))
        steps = np.cumsum(topic)
        draws = rng.random_sample(len(rows[-1])) * steps[-1]
        words.append(np.searchsorted(steps, draws, side="right"))
    rows, words = np.concatenate(rows), np.minimum(np.concatenate(words), n_features - 1)
    X = sp.coo_array((np.ones(len(rows), np.int64), (rows, words)), shape=(n_samples, n_features))
    return X.tocsr()
