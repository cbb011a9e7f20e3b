"""Documents under topics: proportions, evidence bounds, probabilities, and refined topics."""

from types import SimpleNamespace

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import digamma, gammaln, polygamma
from sklearn.exceptions import ConvergenceWarning

from .._core import check
from .._core.warnings import warn
from .._kernels import lazy
from ._rows import as_counts

topics_kernels = lazy("moments.topics")

FIRST_ROUNDS, ROUNDS = 20, 3  # rounds within documents at the start, and in later passes
FIRST_CONCENTRATION = 0.1  # of words in topics
CONCENTRATIONS = 1e-4, 10.0
NEWTON_STEPS = 20
MOST_NUMBERS = 2e8  # random numbers of one document


def infer(X, topics, prior, *, tol=1e-6, max_iter=200, gamma=None):
    """Variational Dirichlet parameters of each document, of shape (n_samples, K).

    ``topics`` has shape (n_features, K); ``gamma`` is a start, which is changed.
    """
    if gamma is None:
        gamma = prior + X.sum(axis=1)[:, None] / len(prior)
    words = X.data, X.indices, X.indptr
    topics_kernels.infer_proportions(*words, topics, prior, gamma, tol, max_iter)
    return gamma


def bounds(X, topics, prior, gamma, *, counts=None, weight=None):
    """Lower bounds on the log probability of each document's tokens, given their number.

    Expected counts of topics, times ``weight``, are added to ``counts`` (n_features, K).
    """
    values, words = np.empty(X.shape[0]), (X.data, X.indices, X.indptr)
    counts = np.empty((0, len(prior))) if counts is None else counts
    weight = np.ones(X.shape[0]) if weight is None else weight
    topics_kernels.document_bounds(*words, topics, prior, gamma, counts, values, weight)
    return values


def fit_prior(prior, mean_logs):
    """Concentrations that make given expectations of log proportions most probable.

    Newton's method on ``log B(c)^-1 + sum_k (c_k - 1) mean_logs_k``, concave, in linear time.
    """
    prior = prior.copy()
    if len(prior) == 1:  # all proportions are one, whatever the concentration
        return prior

    def value(c):
        return gammaln(c.sum()) - gammaln(c).sum() + c @ mean_logs

    now = value(prior)
    for _ in range(NEWTON_STEPS):
        total = prior.sum()
        slope = digamma(total) - digamma(prior) + mean_logs
        curvature, shared = -polygamma(1, prior), polygamma(1, total)
        beta = np.sum(slope / curvature) / (1.0 / shared + np.sum(1.0 / curvature))
        step, length = (slope - beta) / curvature, 1.0
        while length > 1e-6:
            trial = prior - length * step
            if np.all(trial > 1e-6) and (reached := value(trial)) >= now:
                break
            length /= 2.0
        else:
            break
        gain, prior, now = reached - now, trial, reached
        if gain <= 1e-10 * abs(now):
            break
    return prior


class TopicDistributions:
    """Dirichlet distributions of topics, for expected counts of words in them.

    Their prior is symmetric, and its concentration is learned with them: topics of few documents
    are not taken to be as sharp as their counts. ``counts`` has shape (n_features, K).
    """

    def __init__(self, counts):
        self.concentration, self.shape = FIRST_CONCENTRATION, counts.shape
        self.update(counts)

    def update(self, counts):
        """Fit distributions, concentration, distributions again; no step lowers the bound."""
        _, logs = self._given(counts)
        self.concentration = float(_fit_symmetric(len(counts), logs.mean()))
        self.parameters, logs = self._given(counts)
        self.seen = np.exp(logs)  # what takes the place of topics in proportions of documents
        size, K = counts.shape
        c = self.concentration
        self.bound = float(
            K * (gammaln(size * c) - size * gammaln(c))
            - np.sum(gammaln(self.parameters.sum(axis=0)))
            + np.sum(gammaln(self.parameters) + (c - self.parameters) * logs)
        )

    def _given(self, counts):
        parameters = counts + self.concentration
        return parameters, digamma(parameters) - digamma(parameters.sum(axis=0))

    def mean(self):
        return self.parameters / self.parameters.sum(axis=0)


def _fit_symmetric(size, mean_log):
    def loss(log_c):
        c = np.exp(log_c)
        return size * (gammaln(c) - c * mean_log) - gammaln(size * c)

    bounds, options = np.log(CONCENTRATIONS), {"xatol": 1e-9}
    return np.exp(minimize_scalar(loss, bounds=bounds, method="bounded", options=options).x)


def refine_topics(rows, topics, prior, *, tol, max_iter):
    """Variational Bayes from given topics (n_features, K) and concentrations.

    Each pass improves proportions, topics and both priors without lowering the evidence bound.
    Returns `TopicDistributions`, the prior of documents, and bounds of all passes.
    """
    gammas, counts = [None] * len(rows), np.zeros(topics.shape)
    _, logs = _pass(rows, topics, prior, gammas, counts)
    distributions, prior = TopicDistributions(counts), fit_prior(prior, logs)
    return distributions, *_climb(rows, distributions, prior, gammas, tol, max_iter)


def refine_prior(rows, topics, prior, *, tol, max_iter):
    """The prior of documents of largest evidence bound for given topics, and bounds of passes."""
    given = SimpleNamespace(
        seen=topics, bound=0.0, shape=(0, len(prior)), update=lambda counts: None
    )
    return _climb(rows, given, prior, [None] * len(rows), tol, max_iter)


def _climb(rows, distributions, prior, gammas, tol, max_iter):
    """Passes until the bound hardly rises; what they give is that of the last bound."""
    history = []
    for _ in range(max_iter):
        counts = np.zeros(distributions.shape)
        total, logs = _pass(rows, distributions.seen, prior, gammas, counts)
        history.append(float(total + distributions.bound))
        if len(history) > 1 and history[-1] - history[-2] <= tol * abs(history[-1]):
            break
        distributions.update(counts)
        prior = fit_prior(prior, logs)
    else:
        warn(
            f"refinement had not converged after {max_iter} passes: raise max_iter or tol",
            ConvergenceWarning,
        )
    return prior, np.array(history)


def _pass(rows, topics, prior, gammas, counts):
    """Bound of all documents and the mean of their expected log proportions; adds to counts."""
    total, n, logs = 0.0, 0.0, np.zeros(len(prior))
    for i, (X, weight) in enumerate(rows):
        rounds = FIRST_ROUNDS if gammas[i] is None else ROUNDS
        gammas[i] = infer(X, topics, prior, tol=1e-4, max_iter=rounds, gamma=gammas[i])
        total += weight @ bounds(X, topics, prior, gammas[i], counts=counts, weight=weight)
        expected = digamma(gammas[i]) - digamma(gammas[i].sum(axis=1))[:, None]
        logs += weight @ expected
        n += weight.sum()
    return total, logs / n


def chib_log_likelihood(X, topics, prior, *, n_samples=1000, random_state=None):
    """Estimate log probabilities of documents under given topics, by Chib's method.

    In nats, of the tokens in their order, given their number; 0 without tokens. `DiscreteICA`
    computes lower bounds; this is an estimate of the probability itself, from a Gibbs chain of the
    topics of tokens, with bias and variance that vanish as ``n_samples`` grows.
    Costs O(n_samples L n_topics) for a document of L tokens.

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
    topics, prior = _check_topics(topics, prior)
    X = as_counts(check.table(X, accept_sparse="csr", dtype=np.float64), "X", whole=True)
    if X.shape[1] != topics.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features, but topics have {topics.shape[1]}")
    n_samples = check.integer(n_samples, "n_samples", 1)
    rng = check.random_state(random_state)
    n_burn_in, chib = 1 + n_samples // 10, topics_kernels.chib_log_probability
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
            values[i] = chib(tokens, columns, prior, uniforms, n_burn_in, first)
    return values


def _check_topics(topics, prior):
    topics = check.shaped(topics, "topics", "n_topics", "n_features")
    prior = check.array(prior, "prior")
    sums = topics.sum(axis=1)
    if np.any(topics < 0.0) or np.any(np.abs(sums - 1.0) > 1e-6):
        raise ValueError("topics must not be negative, and rows must sum to one")
    if prior.shape != (len(topics),) or np.any(prior < 1e-9) or np.any(prior > 1e9):
        raise ValueError(f"prior must hold {len(topics)} numbers from 1e-09 to 1e+09")
    return topics / sums[:, None], prior
