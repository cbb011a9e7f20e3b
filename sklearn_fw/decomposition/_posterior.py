"""What topics say of documents: proportions, evidence bounds, and topics refined by them."""

import numpy as np
from scipy.special import digamma, gammaln, polygamma
from sklearn.exceptions import ConvergenceWarning

from .._warnings import warn

__all__ = ["bounds", "fit_prior", "infer", "refine_topics"]

FIRST_ROUNDS, ROUNDS = 20, 3  # rounds within documents at the start, and in later passes
SMALLEST_COUNT = 1e-10


def infer(X, topics, prior, *, tol=1e-6, max_iter=200, gamma=None):
    """Variational Dirichlet parameters of each document, of shape (n_samples, K).

    ``topics`` has shape (n_features, K); ``gamma`` is a start, which is changed.
    """
    from .._kernels.moments.topics import infer_proportions

    if gamma is None:
        lengths = np.asarray(X.sum(axis=1)).ravel()
        gamma = prior + lengths[:, None] / len(prior)
    infer_proportions(X.data, X.indices, X.indptr, topics, prior, gamma, tol, max_iter)
    return gamma


def bounds(X, topics, prior, gamma, *, counts=None, weight=None):
    """Lower bounds on the log probability of each document's tokens, given their number.

    Expected counts of topics, times ``weight``, are added to ``counts`` (n_features, K).
    """
    from .._kernels.moments.topics import document_bounds

    values = np.empty(X.shape[0])
    counts = np.empty((0, len(prior))) if counts is None else counts
    weight = np.ones(X.shape[0]) if weight is None else weight
    document_bounds(X.data, X.indices, X.indptr, topics, prior, gamma, counts, values, weight)
    return values


def fit_prior(prior, mean_logs, n_steps=20):
    """Concentrations that make given expectations of log proportions most probable.

    Maximises ``(log B(c)^-1 + sum_k (c_k - 1) mean_logs_k)``, which is concave, by Newton's method
    in linear time.
    """
    prior = prior.copy()

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


def refine_topics(rows, topics, prior, *, tol, max_iter, learn_topics=True, gammas=None):
    """Variational EM from given topics (n_features, K) and concentrations.

    Each pass improves the proportions of documents by a few rounds from where they were, then
    topics and prior; no step lowers the evidence bound.

    Returns topics, prior, bounds of all passes and whether it converged.
    """
    gammas = [None] * len(rows) if gammas is None else gammas
    history, converged = [], False
    for n_pass in range(max_iter):
        counts = np.zeros(topics.shape) if learn_topics else None
        total, n, logs = 0.0, 0.0, np.zeros(len(prior))
        for i, (X, weight) in enumerate(rows):
            rounds = ROUNDS if n_pass else FIRST_ROUNDS
            gammas[i] = infer(X, topics, prior, tol=1e-4, max_iter=rounds, gamma=gammas[i])
            total += weight @ bounds(X, topics, prior, gammas[i], counts=counts, weight=weight)
            expected = digamma(gammas[i]) - digamma(gammas[i].sum(axis=1))[:, None]
            logs += weight @ expected
            n += weight.sum()
        history.append(float(total))
        if len(history) > 1 and history[-1] - history[-2] <= tol * abs(history[-1]):
            converged = True
            break
        if learn_topics:
            counts += SMALLEST_COUNT
            topics = counts / counts.sum(axis=0)
        prior = fit_prior(prior, logs / n)
    if not converged:
        warn(
            f"refinement had not converged after {max_iter} passes: raise max_iter or tol",
            ConvergenceWarning,
        )
    return topics, prior, np.array(history), converged
