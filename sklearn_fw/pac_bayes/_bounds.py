"""Bounds on the risk of a posterior, by its empirical risk and its distance from the prior."""

import numpy as np

from .._core.validation import check_array_of_numbers, check_choice, check_positive
from ._checks import (
    answer,
    check_complexity,
    check_confidence,
    check_evidence,
    check_range,
    check_risk,
    values,
)


def check_temperature(lam, n):
    """``lam`` as numbers: "n", "sqrt" or positive ones."""
    if isinstance(lam, str):
        check_choice(lam, "lam", {"n", "sqrt"}, "a number")
        return n if lam == "n" else np.sqrt(n)
    return values(lam, "lam", least=0.0, strict=True)


def catoni_bound(emp_risk, kl, n, delta=0.05, *, loss_range=(0.0, 1.0), beta=None):
    """Bound of Catoni for losses in an interval.

    With probability 1 - delta over the data, for all posteriors at once, the risk is at most
    ``a + (b - a) (1 - exp(-beta r - (KL + ln(1 / delta)) / n)) / (1 - exp(-beta))`` for losses in
    ``[a, b]``, where r is the empirical risk moved to ``[0, 1]``.

    Parameters
    ----------
    emp_risk : float or array-like
        Mean loss of the posterior on the data, in the range.
    kl : float or array-like
        Divergence of the posterior from the prior, in nats.
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
        Above b it says nothing.

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
    risk = (check_risk(emp_risk, (low, high)) - low) / (high - low)
    complexity, n = check_complexity(kl, n, delta)
    beta = high - low if beta is None else check_positive(beta, "beta")
    scaled = -np.expm1(-beta * risk - complexity / n) / -np.expm1(-beta)
    return answer(low + (high - low) * scaled)


def catoni_evidence_bound(log_evidence, n, delta=0.05, *, loss_range):
    """Bound of Catoni for the Bayesian posterior, by the evidence alone.

    The loss is the negative log-likelihood, in the interval.

    Parameters
    ----------
    log_evidence : float or array-like
        Log of the marginal likelihood, of n examples.
    n : float or array-like
        Number of independent examples.
    delta : float or array-like, default=0.05
        Probability that the bound fails.
    loss_range : tuple of two floats
        Ends of the interval.

    Returns
    -------
    bound : float or ndarray
        On the expected loss.

    Examples
    --------
    >>> from sklearn_fw.pac_bayes import catoni_evidence_bound
    >>> round(catoni_evidence_bound(-130.0, 100, loss_range=(1, 4)), 4)
    1.8873
    """
    low, high = check_range(loss_range)
    complexity, n = check_evidence(log_evidence, n, delta)
    mean = (complexity + np.log(check_confidence(delta))) / n
    if np.any(mean < low - 1e-12 * max(1.0, abs(low))):
        raise ValueError(
            f"log_evidence is more than losses from {low:g} on can give, {-low:g} n: clip the "
            f"losses, or widen loss_range"
        )
    found = low - (high - low) * np.expm1(low - complexity / n) / -np.expm1(low - high)
    return answer(found)


def alquier_bound(emp_risk, kl, n, delta=0.05, *, lam="n", psi):
    """Bound of Alquier for any loss: ``risk <= emp_risk + (KL + ln(1 / delta) + psi) / lam``.

    Parameters
    ----------
    emp_risk : float or array-like
        Mean loss of the posterior on the data.
    kl : float or array-like
        Divergence of the posterior from the prior, in nats.
    n : float or array-like
        Number of independent examples.
    delta : float or array-like, default=0.05
        Probability that the bound fails.
    lam : float, array-like or {"n", "sqrt"}, default="n"
        Temperature, fixed before the data are seen; "sqrt" is the root of n.
    psi : float, array-like or callable
        Log of the mean over prior and data of ``exp(lam (risk - empirical risk))``, or a bound on
        it; or ``psi(lam, n)``.

    Returns
    -------
    bound : float or ndarray
        On the expected loss.

    Examples
    --------
    >>> from sklearn_fw.pac_bayes import alquier_bound
    >>> round(alquier_bound(1.3, 5.0, 1000, lam="sqrt", psi=0.5), 4)
    1.5687
    """
    risk = check_risk(emp_risk)
    complexity, n = check_complexity(kl, n, delta)
    lam = check_temperature(lam, n)
    psi = psi(answer(lam), answer(n)) if callable(psi) else psi
    psi = check_array_of_numbers(psi, "psi", finite=False)
    if np.any(psi == -np.inf):
        raise ValueError("psi must be a number, or infinite where the mean does not exist")
    return answer(risk + (complexity + psi) / lam)


def hoeffding_bound(
    emp_risk, kl, n, delta=0.05, *, loss_range=(0.0, 1.0), lam="sqrt", constant="tight"
):
    """Bound of Alquier with the lemma of Hoeffding, for losses in an interval.

    Parameters
    ----------
    emp_risk : float or array-like
        Mean loss of the posterior on the data, in the range.
    kl : float or array-like
        Divergence of the posterior from the prior, in nats.
    n : float or array-like
        Number of independent examples.
    delta : float or array-like, default=0.05
        Probability that the bound fails.
    loss_range : tuple of two floats, default=(0.0, 1.0)
        Ends of the interval.
    lam : float, array-like or {"n", "sqrt"}, default="sqrt"
        Temperature, fixed before the data are seen.
    constant : {"tight", "published"}, default="tight"
        Whether the gap is ``lam (b - a)^2 / (8 n)`` or four times that, as in [1]_.

    Returns
    -------
    bound : float or ndarray
        On the expected loss.

    References
    ----------
    .. [1] P. Germain, F. Bach, A. Lacoste, S. Lacoste-Julien, "PAC-Bayesian theory meets Bayesian
       inference", NIPS 2016: equations (13) and (14).

    Examples
    --------
    >>> from sklearn_fw.pac_bayes import hoeffding_bound
    >>> round(hoeffding_bound(0.1, 5.0, 1000), 4)
    0.3568
    """
    low, high = check_range(loss_range)
    check_risk(emp_risk, (low, high))
    check_choice(constant, "constant", {"tight", "published"})
    share = 8.0 if constant == "tight" else 2.0
    return alquier_bound(
        emp_risk, kl, n, delta, lam=lam,
        psi=lambda lam, n: np.square(lam) * (high - low) ** 2 / (share * np.asarray(n)),
    )  # fmt: skip


def subgaussian_bound(emp_risk, kl, n, delta=0.05, *, s2, lam="n"):
    """Bound for sub-Gaussian losses: the gap is ``lam s2 / (2 n)``.

    Parameters
    ----------
    emp_risk : float or array-like
        Mean loss of the posterior on the data.
    kl : float or array-like
        Divergence of the posterior from the prior, in nats.
    n : float or array-like
        Number of independent examples.
    delta : float or array-like, default=0.05
        Probability that the bound fails.
    s2 : float or array-like
        Variance factor of the loss of one example.
    lam : float, array-like or {"n", "sqrt"}, default="n"
        Temperature, fixed before the data are seen.

    Returns
    -------
    bound : float or ndarray
        On the expected loss.

    Notes
    -----
    A guarantee needs the factor to hold for almost every predictor under the prior. On average over
    the prior, as in [1]_, it does not suffice: all examples share the predictor.

    References
    ----------
    .. [1] P. Germain, F. Bach, A. Lacoste, S. Lacoste-Julien, "PAC-Bayesian theory meets Bayesian
       inference", NIPS 2016: corollary 4.

    Examples
    --------
    >>> from sklearn_fw.pac_bayes import subgaussian_bound
    >>> round(subgaussian_bound(1.3, 5.0, 1000, s2=0.2), 4)
    1.408
    """
    return subgamma_bound(emp_risk, kl, n, delta, s2=s2, c=0.0, lam=lam)


def subgamma_bound(emp_risk, kl, n, delta=0.05, *, s2, c, lam="n"):
    """Bound for sub-gamma losses: the gap is ``t s2 / (2 (1 - c t))`` with ``t = lam / n``.

    Parameters
    ----------
    emp_risk : float or array-like
        Mean loss of the posterior on the data.
    kl : float or array-like
        Divergence of the posterior from the prior, in nats.
    n : float or array-like
        Number of independent examples.
    delta : float or array-like, default=0.05
        Probability that the bound fails.
    s2 : float or array-like
        Variance factor of the loss of one example.
    c : float or array-like
        Scale, not negative and below ``n / lam``.
    lam : float, array-like or {"n", "sqrt"}, default="n"
        Temperature, fixed before the data are seen.

    Returns
    -------
    bound : float or ndarray
        On the expected loss.

    Notes
    -----
    A guarantee needs the factors to hold for almost every predictor under the prior. Those of
    `subgamma_coefficients` hold on average over the prior alone: the number is that of [1]_, and no
    guarantee. `gaussian_linear_bound` is one.

    References
    ----------
    .. [1] P. Germain, F. Bach, A. Lacoste, S. Lacoste-Julien, "PAC-Bayesian theory meets Bayesian
       inference", NIPS 2016: corollary 5.

    Examples
    --------
    >>> from sklearn_fw.pac_bayes import subgamma_bound
    >>> round(subgamma_bound(1.3, 5.0, 1000, s2=0.28, c=0.005), 4)
    1.4487
    """
    n_values = values(n, "n", least=0.0, strict=True)
    lam = check_temperature(lam, n_values)
    gap = _subgamma_gap(s2, c, lam / n_values)
    return alquier_bound(emp_risk, kl, n, delta, lam=lam, psi=gap * lam)


def _subgamma_gap(s2, c, t):
    s2, c = values(s2, "s2", least=0.0), values(c, "c", least=0.0)
    if np.any(c * t >= 1.0):
        raise ValueError("c must be below n / lam, where the moments exist: take a smaller lam")
    return t * s2 / (2.0 * (1.0 - c * t))


def subgamma_evidence_bound(log_evidence, n, delta=0.05, *, s2, c):
    """`subgamma_bound` of the Bayesian posterior: ``s2 / (2 (1 - c)) - (ln Z + ln delta) / n``.

    Parameters
    ----------
    log_evidence : float or array-like
        Log of the marginal likelihood, of n examples.
    n : float or array-like
        Number of independent examples.
    delta : float or array-like, default=0.05
        Probability that the bound fails.
    s2 : float or array-like
        Variance factor of the loss of one example.
    c : float or array-like
        Scale, not negative and below one.

    Returns
    -------
    bound : float or ndarray
        On the expected negative log-likelihood; see the notes of `subgamma_bound`.

    Examples
    --------
    >>> from sklearn_fw.pac_bayes import subgamma_evidence_bound
    >>> round(subgamma_evidence_bound(-1305.0, 1000, s2=0.28, c=0.005), 4)
    1.4487
    """
    complexity, n = check_evidence(log_evidence, n, delta)
    return answer(_subgamma_gap(s2, c, 1.0) + complexity / n)
