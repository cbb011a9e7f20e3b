"""Bounds on the risk of a posterior, of a choice between models, and what they need."""

import numpy as np
from scipy.special import gammaln, logsumexp

from .._core import check

LEAST = 1e-100  # positive number that may be


def check_at_least(number, name, least):
    array = check.numbers(number, name)
    if array.min(initial=np.inf) < least:
        raise ValueError(f"{name} must be at least {least:g}, got {array.min():g}")
    return array


def check_confidence(delta):
    """Probabilities that a bound fails."""
    delta = check.array(delta, "delta")
    wrong = delta[(delta <= 0.0) | (delta >= 1.0)]
    if wrong.size:
        raise ValueError(f"delta must be between 0 and 1, such as 0.05; got {wrong[0]:g}")
    return delta


def check_complexity(kl, n, delta):
    kl = check_at_least(0.0 if kl is None else kl, "kl", 0.0)
    n = check_at_least(n, "n", LEAST)
    return kl - np.log(check_confidence(delta)), n


def check_range(loss_range):
    low, high = check.shaped(loss_range, "loss_range", 2).tolist()
    if not low < high:
        raise ValueError(f"loss_range must rise, got {loss_range!r}")
    return low, high


def check_risk(emp_risk, loss_range=None):
    """Empirical risks, inside of the range that the losses are said to lie in."""
    risk = check.numbers(emp_risk, "emp_risk")
    if loss_range is not None and risk.size:
        low, high = loss_range
        least, most = low - 1e-12 * max(abs(low), 1.0), high + 1e-12 * max(abs(high), 1.0)
        if risk.min() < least or risk.max() > most:
            raise ValueError(
                f"emp_risk must be in loss_range = ({low:g}, {high:g}), got "
                f"{risk.min():g} to {risk.max():g}: clip the losses, or widen loss_range"
            )
    return risk


def answer(found):
    """An array, or a float for what has no axes."""
    return found if np.ndim(found) else float(found)


def check_delta(delta, name="delta"):
    delta = check_confidence(delta)
    if delta.ndim:
        raise ValueError("delta must be one number")
    return float(delta)


def catoni_bound(emp_risk, kl, n, delta=0.05, *, loss_range=(0.0, 1.0), beta=None):
    """Bound of Catoni for losses in an interval.

    With probability 1 - delta over the data, for all posteriors at once, the risk is at most
    ``a + (b - a) (1 - exp(-beta r - (KL + ln(1 / delta)) / n)) / (1 - exp(-beta))`` for losses in
    ``[a, b]``, where r is the empirical risk moved to ``[0, 1]``.

    Parameters
    ----------
    emp_risk : float or array-like
        Mean loss of the posterior on the data, in the range.
    kl : float, array-like or None
        Divergence of the posterior from the prior, in nats; None for the Bayesian posterior, with
        ``emp_risk = -log_evidence / n``, which holds both.
    n : float or array-like
        Number of independent examples.
    delta : float or array-like, default=0.05
        Probability that the bound fails.
    loss_range : tuple of two floats, default=(0.0, 1.0)
        Ends a and b.
    beta : float or None, default=None
        Weight of the empirical risk, positive, fixed before the data are seen; None is ``b - a``.

    Returns
    -------
    bound : float or ndarray
        Uninformative above b.

    References
    ----------
    .. [1] P. Germain, F. Bach, A. Lacoste, S. Lacoste-Julien, "PAC-Bayesian theory meets Bayesian
       inference", NIPS 2016: theorem 1 and equation (2).

    Examples
    --------
    >>> from sklearn_fw.pac_bayes import catoni_bound
    >>> round(catoni_bound(0.1, 5.0, 1000), 4)
    0.1619
    """
    low, high = check_range(loss_range)
    risk = check_risk(emp_risk, (low, np.inf if kl is None else high))
    risk = (risk - low) / (high - low)
    complexity, n = check_complexity(kl, n, delta)
    beta = high - low if beta is None else check.positive(beta, "beta")
    if kl is None and beta != high - low:
        raise ValueError("beta must be None with kl=None: the evidence has one weight for both")
    scaled = -np.expm1(-beta * risk - complexity / n) / -np.expm1(-beta)
    return answer(low + (high - low) * scaled)


def alquier_bound(
    emp_risk, kl, n, delta=0.05, *, lam="n", psi=None, loss_range=None, s2=None, c=0.0
):
    """Bound of Alquier, ``risk <= emp_risk + (KL + ln(1 / delta) + psi) / lam``.

    The losses are described by ``psi`` itself, an interval that holds them (Hoeffding's lemma) or
    their factors as sub-gamma variables.

    Parameters
    ----------
    emp_risk, kl, n, delta : float or array-like
        As in `catoni_bound`.
    lam : float, array-like or {"n", "sqrt"}, default="n"
        Temperature, fixed before the data are seen; "sqrt" is the root of n.
    psi : float, array-like, callable or None, default=None
        Log of the mean over prior and data of ``exp(lam (risk - empirical risk))``, or a bound on
        it; or ``psi(lam, n)``, such as `psi_gaussian_linear` for given variances, with which the
        bound is a guarantee for Gaussian linear regression.
    loss_range : tuple of two floats or None, default=None
        Ends a and b of the interval of the losses, where ``psi = lam^2 (b - a)^2 / (8 n)``.
    s2 : float, array-like or None, default=None
        Variance factor of the loss of one example, where ``psi = lam t s2 / (2 (1 - c t))`` with
        ``t = lam / n``; ``(b - a)^2`` is the published bound for losses in an interval.
    c : float or array-like, default=0.0
        Scale of sub-gamma losses, not negative and below ``n / lam``; 0 for sub-Gaussian ones.

    Returns
    -------
    bound : float or ndarray
        On the expected loss.

    Notes
    -----
    A guarantee needs ``s2`` and ``c`` to hold for almost every predictor under the prior. Those of
    `subgamma_coefficients` hold on average over the prior alone: the number is that of [1]_, and no
    guarantee.

    References
    ----------
    .. [1] As of `catoni_bound`: theorem 3, corollaries 4 and 5, equations (13) and (14).

    Examples
    --------
    >>> from sklearn_fw.pac_bayes import alquier_bound
    >>> round(alquier_bound(0.1, 5.0, 1000, lam="sqrt", loss_range=(0, 1)), 4)
    0.3568

    A guarantee for linear regression on normal features:

    >>> from functools import partial
    >>> from sklearn_fw.pac_bayes import psi_gaussian_linear
    >>> psi = partial(
    ...     psi_gaussian_linear, noise_variance=2.0, prior_variance=0.01, x_variance=1.0,
    ...     w_norm2=0.25, noise_true=1 / 9, n_features=20,
    ... )
    >>> round(alquier_bound(1.377, 0.11, 10, psi=psi), 3)
    1.705
    """
    if sum(known is not None for known in (psi, loss_range, s2)) != 1:
        raise ValueError("psi, loss_range or s2 must be given, and one of them only")
    if loss_range is not None:
        loss_range = check_range(loss_range)
        s2 = (loss_range[1] - loss_range[0]) ** 2 / 4.0
    risk = check_risk(emp_risk, loss_range)
    complexity, n = check_complexity(kl, n, delta)
    if isinstance(lam, str):
        check.choice(lam, "lam", {"n", "sqrt"}, "a number")
        lam = n if lam == "n" else np.sqrt(n)
    lam = check_at_least(lam, "lam", LEAST)
    if kl is None and np.any(lam != n):
        raise ValueError("lam must be 'n' with kl=None: the evidence is that of the temperature n")
    if s2 is not None:
        s2, c, t = check_at_least(s2, "s2", 0.0), check_at_least(c, "c", 0.0), lam / n
        if np.any(c * t >= 1.0):
            raise ValueError("c must be below n / lam, where the moments exist: take a smaller lam")
        psi = lam * t * s2 / (2.0 * (1.0 - c * t))
    psi = psi(answer(lam), answer(n)) if callable(psi) else psi
    psi = check.array(psi, "psi", finite=False)
    if np.any(psi == -np.inf):
        raise ValueError("psi must be a number, or infinite where the mean does not exist")
    return answer(risk + (complexity + psi) / lam)


def check_models(evidences, log_prior, name="log_evidences", kind="model"):
    evidences = check.shaped(evidences, name, f"n_{kind}s")
    n = len(evidences)
    if log_prior is None:
        return evidences, np.full(n, -np.log(n))
    log_prior = check.numbers(log_prior, "log_prior")
    if log_prior.shape != evidences.shape or logsumexp(log_prior) > 1e-9:
        raise ValueError(f"log_prior must hold {n} logs of probabilities with a sum of at most 1")
    return evidences, log_prior


def model_selection_bounds(
    log_evidences, n, delta=0.05, *, gap, log_prior=None, average=False
):  # fmt: skip
    """Bounds for all models at once: ``gap - (ln Z_i + ln(delta p_i)) / n``.

    The average of models weighs posteriors by ``p_i Z_i``; its bound, which is never above the best
    of these, is ``gap - (ln(sum_i p_i Z_i) + ln(delta)) / n``.

    Parameters
    ----------
    log_evidences : array-like of shape (n_models,)
        Logs of the marginal likelihoods.
    n : float
        Number of independent examples.
    delta : float, default=0.05
        Probability that any of them fails.
    gap : float or array-like of shape (n_models,)
        What the bound of each adds: ``s2 / (2 (1 - c))``, or psi / n of `alquier_bound`; of an
        average the largest counts.
    log_prior : array-like of shape (n_models,) or None, default=None
        Logs of the prior weights of the models; None takes equal ones.
    average : bool, default=False
        Whether to bound the average of the models.

    Returns
    -------
    bounds : ndarray of shape (n_models,), or float for an average
        On the expected negative log-likelihood of the posterior of each.

    References
    ----------
    .. [1] As of `catoni_bound`, corollary 6.

    Examples
    --------
    >>> from sklearn_fw.pac_bayes import model_selection_bounds
    >>> model_selection_bounds([-50.0, -30.0], 15, gap=0.1).round(3)
    array([3.679, 2.346])
    >>> round(model_selection_bounds([-50.0, -30.0], 15, gap=0.1, average=True), 3)
    2.346
    """
    evidences, log_prior = check_models(log_evidences, log_prior)
    n, delta = check.strength(n, "n"), check_delta(check.number(delta, "delta"))
    logs, gap = evidences + log_prior, check.numbers(gap, "gap")
    if gap.ndim and gap.shape != logs.shape:
        raise ValueError(f"gap must be a number or have shape {logs.shape}, got {gap.shape}")
    if check.flag(average, "average"):
        return float(gap.max() - (logsumexp(logs) + np.log(delta)) / n)
    return gap - (logs + np.log(delta)) / n


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
    log_prior = check.numbers(log_prior, "log_prior")
    risks, log_prior = check_models(emp_risks, log_prior, "emp_risks", "predictor")
    logs = log_prior - check.positive(lam, "lam") * risks
    log_normalizer = float(logsumexp(logs))
    return logs - log_normalizer, log_normalizer


def gaussian_kl(mean_q, cov_q, mean_p, cov_p):
    """Divergence ``KL(q || p)`` of two Gaussians, in nats.

    Parameters
    ----------
    mean_q, cov_q : array-like of shape (d,) and (d, d)
        Mean and covariance of q, positive definite.
    mean_p, cov_p : array-like of shape (d,) and (d, d)
        Those of p.

    Examples
    --------
    >>> from sklearn_fw.pac_bayes import gaussian_kl
    >>> gaussian_kl([1.0], [[1.0]], [0.0], [[1.0]])
    0.5
    """
    mean_q, roots = check.shaped(mean_q, "mean_q", "d"), []
    d = len(mean_q)
    mean_p = check.shaped(mean_p, "mean_p", d)
    for cov, name in ((cov_q, "cov_q"), (cov_p, "cov_p")):
        cov = check.shaped(cov, name, d, d)
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
    shift = np.linalg.solve(roots[1], mean_q - mean_p)
    logs = np.log(np.diag(roots[1])).sum() - np.log(np.diag(roots[0])).sum()
    return max(0.0, float(0.5 * (np.sum(inner**2) + shift @ shift - d) + logs))


LOSSES = {"nll", "squared"}
N_GRID = 20001
MOST = 1e12  # beyond, the grid does not resolve the integrand
DEEP = 45.0  # what is smaller by exp(-45) adds nothing


def _check_model(loss, noise_variance, prior_variance, x_variance, w_norm2, noise_true, n_features):
    """The numbers of the model; those of the squared loss are those of the variance 1/2."""
    check.choice(loss, "loss", LOSSES)
    noise = check.positive(noise_variance, "noise_variance") if loss == "nll" else 0.5
    return (
        noise, check.positive(prior_variance, "prior_variance"),
        check.positive(x_variance, "x_variance"), check.not_negative(w_norm2, "w_norm2"),
        check.not_negative(noise_true, "noise_true"), check.integer(n_features, "n_features", 1),
    )  # fmt: skip


def subgamma_coefficients(
    loss="nll", *, noise_variance=1.0, prior_variance=1.0, x_variance, w_norm2, noise_true,
    n_features, t=1.0,
):  # fmt: skip
    """Published variance factor and scale of Gaussian linear regression.

    For ``x ~ N(0, x_variance I)``, ``y = <w*, x> + N(0, noise_true)`` and the prior
    ``w ~ N(0, prior_variance I)``.

    Parameters
    ----------
    loss : {"nll", "squared"}, default="nll"
        Negative log-likelihood, or squared error.
    noise_variance, prior_variance : float, default=1.0
        Variances of the likelihood and of the prior.
    x_variance, w_norm2, noise_true, n_features : float and int
        True variance of the features, squared norm of the true coefficients, true variance of the
        noise, and number of features.
    t : float, default=1.0
        Where they hold, ``lam / n``: they depend on it.

    Returns
    -------
    s2, c : float
        For `alquier_bound`, whose notes explain why the result is not a guarantee.

    References
    ----------
    .. [1] As of `catoni_bound`, appendices A.4 and A.6.

    Examples
    --------
    >>> from sklearn_fw.pac_bayes import subgamma_coefficients
    >>> s2, c = subgamma_coefficients(
    ...     noise_variance=2.0, prior_variance=0.01, x_variance=1.0, w_norm2=0.25,
    ...     noise_true=1 / 9, n_features=20,
    ... )
    >>> round(s2, 5), c
    (0.28028, 0.005)
    """
    noise, prior, x_variance, w_norm2, noise_true, d = _check_model(
        loss, noise_variance, prior_variance, x_variance, w_norm2, noise_true, n_features
    )
    t = check.positive(t, "t")
    c = x_variance * prior / noise
    if t * c >= 1.0:
        raise ValueError(f"t must be below {1.0 / c:g}, where the moments exist; got {t:g}")
    s2 = (x_variance * (prior * d + w_norm2) + noise_true * (1.0 - t * c)) / (t * noise)
    return float(s2), float(c)


def psi_gaussian_linear(
    lam, n, *, loss="nll", noise_variance=1.0, prior_variance=1.0, x_variance, w_norm2, noise_true,
    n_features,
):  # fmt: skip
    """Compute the exact log mean of ``exp(lam (risk - empirical risk))``.

    For ``x ~ N(0, x_variance I)``, ``y = <w*, x> + N(0, noise_true)`` and the prior
    ``w ~ N(0, prior_variance I)``: the number that `alquier_bound` needs.

    Parameters
    ----------
    lam, n : float or array-like
        Temperature, positive, and number of examples.
    loss, noise_variance, prior_variance : str and float, default="nll", 1.0 and 1.0
        As in `subgamma_coefficients`, as are the following.
    x_variance, w_norm2, noise_true, n_features : float and int
        ``w_norm2`` is the squared norm of the true coefficients less the mean of the prior.

    Returns
    -------
    psi : float or ndarray
        Infinite from ``lam = noise_variance / (x_variance prior_variance)`` on; for the squared
        loss with 1/2 in place of the noise.

    Notes
    -----
    For fixed w residuals are normal with a variance v that is quadratic in w, so that the mean over
    the data is ``exp(lam v / (2 s)) (1 + lam v / (n s))^(-n / 2)``. Its mean over w is one integral
    over the half-line, computed to about 1e-12.

    Examples
    --------
    >>> from sklearn_fw.pac_bayes import psi_gaussian_linear
    >>> setting = {"noise_variance": 2.0, "prior_variance": 0.01, "x_variance": 1.0}
    >>> truth = {"w_norm2": 0.25, "noise_true": 1 / 9, "n_features": 20}
    >>> round(psi_gaussian_linear(100, 100, **setting, **truth), 5)
    2.00724
    """
    model = _check_model(
        loss, noise_variance, prior_variance, x_variance, w_norm2, noise_true, n_features
    )
    lam = check_at_least(lam, "lam", LEAST)
    n = check_at_least(n, "n", LEAST)
    if np.any(n > MOST) or np.any(lam > MOST):
        raise ValueError(f"n and lam must be at most {MOST:g}")
    return answer(np.vectorize(_psi, otypes=[float])(lam, n, *model))


def _psi(lam, n, noise, prior, x_variance, w_norm2, noise_true, d):
    left = 1.0 - lam * x_variance * prior / noise
    if left <= 0.0:
        return np.inf

    def log_integrand(u):
        s = np.exp(u)
        theta = lam / noise * (0.5 - s / n)
        free = left + 2.0 * s * (lam / (n * noise)) * x_variance * prior
        return (
            0.5 * n * u - s + theta * (noise_true + x_variance * w_norm2 / free)
            - 0.5 * d * np.log(free)
        )  # fmt: skip

    low = np.log(0.5 * n) + np.log(left) - 80.0 / n - 40.0
    high = np.log(0.5 * n + 60.0 * np.sqrt(n) + 200.0)
    for _ in range(3):
        u = np.linspace(low, high, N_GRID)
        with np.errstate(over="ignore"):  # psi beyond the largest float64 is infinite
            logs = log_integrand(u)
        near = np.flatnonzero(logs >= logs.max() - DEEP)  # equal where rounding exceeds DEEP
        low, high = u[max(near[0] - 1, 0)], u[min(near[-1] + 1, N_GRID - 1)]
    return float(logsumexp(logs) + np.log(u[1] - u[0]) - gammaln(0.5 * n))
