"""What topics say of documents: proportions, evidence bounds, and topics refined by them."""

import numpy as np
from scipy.special import digamma, gammaln, polygamma
from sklearn.exceptions import ConvergenceWarning

from .._core.warnings import warn
from .._kernels import lazy

topics_kernels = lazy("moments.topics")

FIRST_ROUNDS, ROUNDS = 20, 3  # rounds within documents at the start, and in later passes
FIRST_CONCENTRATION = 0.1  # of words in topics
CONCENTRATIONS = 1e-4, 10.0


def infer(X, topics, prior, *, tol=1e-6, max_iter=200, gamma=None):
    """Variational Dirichlet parameters of each document, of shape (n_samples, K).

    ``topics`` has shape (n_features, K); ``gamma`` is a start, which is changed.
    """
    if gamma is None:
        lengths = np.asarray(X.sum(axis=1)).ravel()
        gamma = prior + lengths[:, None] / len(prior)
    topics_kernels.infer_proportions(
        X.data, X.indices, X.indptr, topics, prior, gamma, tol, max_iter
    )
    return gamma


def bounds(X, topics, prior, gamma, *, counts=None, weight=None):
    """Lower bounds on the log probability of each document's tokens, given their number.

    Expected counts of topics, times ``weight``, are added to ``counts`` (n_features, K).
    """
    values = np.empty(X.shape[0])
    counts = np.empty((0, len(prior))) if counts is None else counts
    weight = np.ones(X.shape[0]) if weight is None else weight
    topics_kernels.document_bounds(
        X.data, X.indices, X.indptr, topics, prior, gamma, counts, values, weight
    )
    return values


def fit_prior(prior, mean_logs, n_steps=20):
    """Concentrations that make given expectations of log proportions most probable.

    Maximises ``(log B(c)^-1 + sum_k (c_k - 1) mean_logs_k)``, which is concave, by Newton's method
    in linear time.
    """
    prior = prior.copy()
    if len(prior) == 1:  # all proportions are one, whatever the concentration
        return prior

    def value(c):
        return gammaln(c.sum()) - gammaln(c).sum() + c @ mean_logs

    now = value(prior)
    for _ in range(n_steps):
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


class TopicLaws:
    """Dirichlet laws of topics, for expected counts of words in them.

    Their prior is symmetric, and its concentration is learned with them: topics that few documents
    speak of are not taken to be as sharp as their counts.

    Parameters
    ----------
    counts : ndarray of shape (n_features, K)
        Expected counts.
    """

    def __init__(self, counts):
        self.concentration = FIRST_CONCENTRATION
        self.update(counts)

    def update(self, counts):
        """Laws, concentration and again laws, each the best for the others; no step lowers the
        evidence bound."""
        _, logs = self._given(counts)
        self.concentration = _fit_symmetric(self.concentration, len(counts), float(logs.mean()))
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
        """Expected topics."""
        return self.parameters / self.parameters.sum(axis=0)


def _fit_symmetric(concentration, size, mean_log, n_steps=50):
    """Concentration that makes the mean of expected log probabilities of words most probable.

    Newton steps for its logarithm, at most one each.
    """
    x = np.log(concentration)
    for _ in range(n_steps):
        c = np.exp(x)
        slope = size * (digamma(size * c) - digamma(c) + mean_log) * c
        curvature = slope + size * c * c * (size * polygamma(1, size * c) - polygamma(1, c))
        step = float(np.clip(slope / abs(curvature or 1.0), -1.0, 1.0))
        x = float(np.clip(x + step, *np.log(CONCENTRATIONS)))
        if abs(step) < 1e-8:
            break
    return float(np.exp(x))


def refine_topics(rows, topics, prior, *, tol, max_iter):
    """Variational Bayes from given topics (n_features, K) and concentrations.

    Each pass improves the proportions of documents by a few rounds from where they were, then the
    laws of topics, and the priors of both; no step lowers the evidence bound.

    Returns `TopicLaws`, the prior of documents, and bounds of all passes.
    """
    gammas, counts = [None] * len(rows), np.zeros(topics.shape)
    _, logs = _pass(rows, topics, prior, gammas, counts)
    laws, prior = TopicLaws(counts), fit_prior(prior, logs)

    def improve(prior):
        counts = np.zeros(topics.shape)
        total, logs = _pass(rows, laws.seen, prior, gammas, counts)
        return total + laws.bound, logs, lambda: laws.update(counts)

    prior, lower = _climb(improve, prior, tol, max_iter)
    return laws, prior, lower


def refine_prior(rows, topics, prior, *, tol, max_iter):
    """The prior of documents of largest evidence bound for given topics, and bounds of passes."""
    gammas = [None] * len(rows)

    def improve(prior):
        return *_pass(rows, topics, prior, gammas, None), lambda: None

    return _climb(improve, prior, tol, max_iter)


def _climb(improve, prior, tol, max_iter):
    """Passes until the bound hardly rises; what they give is that of the last bound."""
    history = []
    for _ in range(max_iter):
        total, logs, update = improve(prior)
        history.append(float(total))
        if len(history) > 1 and history[-1] - history[-2] <= tol * abs(history[-1]):
            break
        update()
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
