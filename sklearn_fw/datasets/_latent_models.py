"""Samples of models with latent factors: corpora of topics, and two views that share factors."""

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch

from .._core import check

MOST_TOKENS = 2**31 - 1


def make_topic_corpus(
    n_samples=1000, n_features=500, n_components=10, *, kind="gp", prior=0.1, topic_prior=0.1,
    length=200, topics=None, random_state=None,
):  # fmt: skip
    """Documents of counts of words, drawn from a topic model.

    In the gamma-Poisson model intensities ``a_k ~ Gamma(prior_k, rate)`` of topics are independent,
    and counts are ``x_m ~ Poisson(sum_k a_k topics[k, m])``. In latent Dirichlet allocation
    proportions of topics are ``t ~ Dirichlet(prior)``, and the tokens of a document of given length
    are independent draws from ``t @ topics``.

    Parameters
    ----------
    n_samples, n_features, n_components : int, default=1000, 500 and 10
        Number of documents, of words and of topics.
    kind : {"gp", "lda"}, default="gp"
        The gamma-Poisson model, or latent Dirichlet allocation.
    prior : float or array-like of shape (n_components,), default=0.1
        Concentrations of topics within documents, the shapes of the gamma distributions.
    topic_prior : float, default=0.1
        Topics are drawn from the symmetric Dirichlet distribution with this concentration.
    length : float or array-like of shape (n_samples,), default=200
        Tokens of a document: their expected number with "gp"; with "lda" their number, for all
        documents or for each.
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
        (n_components,). With "gp" ``rate``, that of the gamma distributions, and ``intensities``,
        with "lda" ``proportions``, both of shape (n_samples, n_components).

    References
    ----------
    .. [1] A. Podosinnikova, F. Bach, S. Lacoste-Julien, "Rethinking LDA: moment matching for
       discrete ICA", NIPS 2015: section 3.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_topic_corpus
    >>> data = make_topic_corpus(100, 30, 3, kind="lda", length=20, random_state=0)
    >>> data.X.shape, bool((data.X.sum(axis=1) == 20).all())
    ((100, 30), True)
    """
    rng = check.random_state(random_state)
    check.choice(kind, "kind", ("gp", "lda"))
    n_samples = check.integer(n_samples, "n_samples", 1)
    topics = _topics(rng, topics, n_features, n_components, topic_prior)
    prior = check.array(prior, "prior")
    if prior.ndim == 0:
        prior = np.full(len(topics), float(prior))
    if prior.shape != (len(topics),) or np.any(prior < 1e-6) or np.any(prior > 1e6):
        raise ValueError(f"prior must hold 1 or {len(topics)} numbers from 1e-06 to 1e+06")
    if kind == "gp":
        length = check.positive(length, "length")
        _check_tokens(n_samples * length)
        rate = float(prior.sum() / length)
        intensities = rng.gamma(prior, 1.0 / rate, size=(n_samples, len(topics)))
        counts = rng.poisson(intensities)
        found = {"rate": rate, "intensities": intensities}
    else:
        lengths = check.array(length, "length")
        if lengths.shape not in ((), (n_samples,)):
            raise ValueError(f"length must be an integer or have shape ({n_samples},)")
        if np.any(lengths < 0) or np.any(lengths != np.floor(lengths)):
            raise ValueError("length must hold whole numbers that are not negative")
        lengths = np.broadcast_to(lengths, n_samples)
        _check_tokens(lengths.sum())
        proportions = _draw_dirichlet(rng, prior, n_samples)
        counts = np.array([rng.multinomial(int(n), p) for n, p in zip(lengths, proportions)])
        found = {"proportions": proportions}
    return Bunch(X=_words(rng, counts, topics), topics=topics, doc_topic_prior=prior, **found)


def make_two_views(
    n_samples=1000, n_features=20, n_components=10, n_private=20, *, kind="nongaussian", shape=0.3,
    private_shape=0.1, scale=1000.0, private_scale=1000.0, random_state=None,
):  # fmt: skip
    """Two views of the same samples that share factors and have others of their own.

    View j is ``D_j a + F_j b_j`` with the shared sources a and those that it has alone, or Poisson
    counts with these means. Sources are gamma numbers; those that no view of counts sees have
    random signs. Columns of D_j and F_j have unit l1 norm: those of counts are drawn from
    Dirichlet(0.5), others are uniform in [-1, 1].

    Parameters
    ----------
    n_samples, n_features : int, default=1000 and 20
        Number of samples, and of features of each view.
    n_components, n_private : int, default=10 and 20
        Number of factors that the views share, and of those that each view has for itself.
    kind : {"nongaussian", "discrete", "mixed"}, default="nongaussian"
        Real numbers in both views, counts in both, or real numbers in X and counts in y.
    shape, private_shape : float, default=0.3 and 0.1
        Shape of the gamma distributions of shared and of private sources. The paper has 0.1 and 10
        private factors for "nongaussian".
    scale, private_scale : float, default=1000.0
        Expected sum of the absolute values of shared and of private sources; for counts the
        expected number that they add to a view.
    random_state : int, RandomState instance or None, default=None
        Source of all draws: loadings first.

    Returns
    -------
    data : Bunch
        ``X``, ``y``: arrays of shape (n_samples, n_features); ``x_loadings``, ``y_loadings``:
        arrays of shape (n_features, n_components); ``sources``: array of shape (n_samples,
        n_components).

    References
    ----------
    .. [1] A. Podosinnikova, F. Bach, S. Lacoste-Julien, "Beyond CCA: moment matching for multi-view
       models", ICML 2016: section 5.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_two_views
    >>> data = make_two_views(50, kind="mixed", random_state=0)
    >>> data.X.shape, bool((data.y >= 0).all())
    ((50, 20), True)
    """
    check.choice(kind, "kind", ("nongaussian", "discrete", "mixed"))
    counts = kind == "discrete", kind != "nongaussian"
    rng = check.random_state(random_state)
    n_samples = check.integer(n_samples, "n_samples", 1)
    n_features = check.integer(n_features, "n_features", 1)
    n_components = check.integer(n_components, "n_components", 1)
    n_private = check.integer(n_private, "n_private", 0)
    if max(n_samples, n_features) * max(n_features, n_components, n_private) > MOST_TOKENS:
        raise ValueError("products of n_samples, n_features, n_components, n_private exceed 2**31")
    given = {"shape": shape, "scale": scale}
    given |= {"private_shape": private_shape, "private_scale": private_scale}
    shape, scale, private_shape, private_scale = (
        check.between(value, name, 1e-6, 1e9) for name, value in given.items()
    )
    loadings = [_loadings(rng, n_features, n_components, is_count) for is_count in counts]
    private = [_loadings(rng, n_features, n_private, is_count) for is_count in counts]
    sources = rng.gamma(shape, scale / (n_components * shape), (n_samples, n_components))
    if not any(counts):
        sources *= rng.choice([-1.0, 1.0], sources.shape)
    views = []
    for D, F, is_count in zip(loadings, private, counts):
        view = sources @ D.T
        if n_private:
            mean = private_scale / (n_private * private_shape)
            own = rng.gamma(private_shape, mean, (n_samples, n_private))
            view = view + (own if is_count else own * rng.choice([-1.0, 1.0], own.shape)) @ F.T
        views.append(rng.poisson(view) if is_count else view)
    X, y = views
    return Bunch(X=X, y=y, x_loadings=loadings[0], y_loadings=loadings[1], sources=sources)


def _topics(rng, topics, n_features, n_components, concentration):
    if topics is None:
        n_features = check.integer(n_features, "n_features", 1)
        n_components = check.integer(n_components, "n_components", 1)
        if n_features * n_components > MOST_TOKENS:
            raise ValueError("n_features times n_components must be below 2**31")
        concentration = check.between(concentration, "topic_prior", 1e-6, 1e6)
        return _draw_dirichlet(rng, np.full(n_features, concentration), n_components)
    topics = check.matrix(topics, "topics")
    sums = topics.sum(axis=1, keepdims=True)
    if np.any(topics < 0.0) or np.any(sums <= 0.0):
        raise ValueError("topics must not be negative, and no row must be zero")
    return topics / sums


def _check_tokens(n_tokens):
    if n_tokens > MOST_TOKENS:
        raise ValueError(f"n_samples and length ask for {n_tokens:.3g} tokens, 2**31 at most")


def _words(rng, counts, topics):
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


def _loadings(rng, n_features, n_columns, is_count):
    if is_count:
        return _draw_dirichlet(rng, np.full(n_features, 0.5), n_columns).T
    columns = rng.uniform(-1.0, 1.0, (n_features, n_columns))
    return columns / np.sum(np.abs(columns), axis=0)


def _draw_dirichlet(rng, concentration, size):
    """Rows from a Dirichlet distribution; logarithms do not underflow."""
    shape = (size, len(concentration))
    # Gamma(a) is Gamma(a + 1) times a power of a uniform number.
    logs = np.log(rng.gamma(concentration + 1.0, size=shape))
    logs += np.log1p(-rng.random_sample(shape)) / concentration
    logs -= logs.max(axis=1, keepdims=True)
    weights = np.exp(logs)
    return weights / weights.sum(axis=1, keepdims=True)
