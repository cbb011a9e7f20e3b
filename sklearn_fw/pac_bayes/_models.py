"""Several models: bounds for the choice and the average, posteriors, divergences."""

import numpy as np
from scipy.special import logsumexp

from .._core.validation import check_number, check_positive, check_strength
from ._checks import check_confidence, values


def _check_models(log_evidences, log_prior):
    evidences = values(log_evidences, "log_evidences")
    if evidences.ndim != 1 or not evidences.size:
        raise ValueError("log_evidences must be a vector with one number for each model")
    if log_prior is None:
        return evidences, np.full(len(evidences), -np.log(len(evidences)))
    log_prior = values(log_prior, "log_prior")
    if log_prior.shape != evidences.shape or logsumexp(log_prior) > 1e-9:
        raise ValueError(
            f"log_prior must hold {len(evidences)} logs of probabilities that sum to one at most"
        )
    return evidences, log_prior


def model_selection_bounds(log_evidences, n, delta=0.05, *, gap, log_prior=None):
    """Bounds for all models at once: ``gap - (ln Z_i + ln(delta p_i)) / n``.

    Parameters
    ----------
    log_evidences : array-like of shape (n_models,)
        Logs of the marginal likelihoods.
    n : float
        Number of independent examples.
    delta : float, default=0.05
        Probability that any of them fails.
    gap : float or array-like of shape (n_models,)
        What the bound of each adds: ``s2 / (2 (1 - c))``, or psi / n of `alquier_bound`.
    log_prior : array-like of shape (n_models,) or None, default=None
        Logs of the prior weights of the models; None takes equal ones.

    Returns
    -------
    bounds : ndarray of shape (n_models,)
        On the expected negative log-likelihood of the posterior of each.

    References
    ----------
    .. [1] P. Germain, F. Bach, A. Lacoste, S. Lacoste-Julien, "PAC-Bayesian theory meets Bayesian
       inference", NIPS 2016: corollary 6.

    Examples
    --------
    >>> from sklearn_fw.pac_bayes import model_selection_bounds
    >>> model_selection_bounds([-50.0, -30.0], 15, gap=0.1).round(3)
    array([3.679, 2.346])
    """
    evidences, log_prior = _check_models(log_evidences, log_prior)
    n, delta = check_strength(n, "n"), check_confidence(check_number(delta, "delta"))
    return values(gap, "gap") - (evidences + log_prior + np.log(delta)) / n


def model_averaging_bound(log_evidences, n, delta=0.05, *, gap, log_prior=None):
    """Bound for the average of models: ``gap - (ln(sum_i p_i Z_i) + ln(delta)) / n``.

    The average weighs posteriors by ``p_i Z_i``. The bound is never above the best of
    `model_selection_bounds`.

    Parameters
    ----------
    log_evidences : array-like of shape (n_models,)
        Logs of the marginal likelihoods.
    n : float
        Number of independent examples.
    delta : float, default=0.05
        Probability that the bound fails.
    gap : float
        What the bound of every model adds, the largest where they differ.
    log_prior : array-like of shape (n_models,) or None, default=None
        Logs of the prior weights of the models; None takes equal ones.

    Returns
    -------
    bound : float
        On the expected negative log-likelihood.

    Examples
    --------
    >>> from sklearn_fw.pac_bayes import model_averaging_bound
    >>> round(model_averaging_bound([-50.0, -30.0], 15, gap=0.1), 3)
    2.346
    """
    evidences, log_prior = _check_models(log_evidences, log_prior)
    n, delta = check_strength(n, "n"), check_confidence(check_number(delta, "delta"))
    gap = check_number(gap, "gap")
    return float(gap - (logsumexp(evidences + log_prior) + np.log(delta)) / n)


def gibbs_log_weights(emp_risks, log_prior, lam):
    """Posterior ``exp(-lam emp_risk)`` times the prior, over finitely many predictors.

    Parameters
    ----------
    emp_risks : array-like of shape (n_predictors,)
        Mean losses on the data.
    log_prior : array-like of shape (n_predictors,)
        Logs of the prior weights.
    lam : float
        Temperature, positive.

    Returns
    -------
    log_weights : ndarray of shape (n_predictors,)
        Logs of weights that sum to one.
    log_normalizer : float
        ``ln Z``, with ``lam`` times the mean risk plus the divergence from the prior equal to
        ``-ln Z``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.pac_bayes import gibbs_log_weights
    >>> log_weights, log_normalizer = gibbs_log_weights([0.1, 0.3], np.log([0.5, 0.5]), 10)
    >>> np.exp(log_weights).round(3)
    array([0.881, 0.119])
    """
    risks = values(emp_risks, "emp_risks")
    if risks.ndim != 1 or not risks.size:
        raise ValueError("emp_risks must be a vector with one number for each predictor")
    _, log_prior = _check_models(risks, values(log_prior, "log_prior"))
    logs = log_prior - check_positive(lam, "lam") * risks
    log_normalizer = float(logsumexp(logs))
    return logs - log_normalizer, log_normalizer


def gaussian_kl(mean_q, cov_q, mean_p, cov_p):
    """Divergence ``KL(q || p)`` of two Gaussians, in nats.

    Parameters
    ----------
    mean_q : array-like of shape (d,)
        Mean of q.
    cov_q : array-like of shape (d, d)
        Covariance of q, positive definite.
    mean_p : array-like of shape (d,)
        Mean of p.
    cov_p : array-like of shape (d, d)
        Covariance of p, positive definite.

    Returns
    -------
    kl : float
        Not negative.

    Examples
    --------
    >>> from sklearn_fw.pac_bayes import gaussian_kl
    >>> gaussian_kl([1.0], [[1.0]], [0.0], [[1.0]])
    0.5
    """
    means = [values(mean, name) for mean, name in ((mean_q, "mean_q"), (mean_p, "mean_p"))]
    d = means[0].size
    roots = []
    for cov, name in ((cov_q, "cov_q"), (cov_p, "cov_p")):
        cov = values(cov, name)
        if means[0].ndim != 1 or means[1].shape != (d,) or cov.shape != (d, d):
            raise ValueError(f"mean_q, mean_p and {name} must be of one dimension d: (d,), (d, d)")
        try:
            if not np.allclose(cov, cov.T, rtol=1e-8, atol=0.0):
                raise np.linalg.LinAlgError
            roots.append(np.linalg.cholesky(cov))
        except np.linalg.LinAlgError:
            raise ValueError(
                f"{name} must be symmetric and positive definite: add a small multiple of the "
                f"identity"
            ) from None
    inner = np.linalg.solve(roots[1], roots[0])
    shift = np.linalg.solve(roots[1], means[0] - means[1])
    logs = np.log(np.diag(roots[1])).sum() - np.log(np.diag(roots[0])).sum()
    return max(0.0, float(0.5 * (np.sum(inner**2) + shift @ shift - d) + logs))
