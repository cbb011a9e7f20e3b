"""What the bound of Alquier needs of Gaussian linear models, exactly and as published."""

import numpy as np
from scipy.special import gammaln, logsumexp

from .._core.validation import check_choice, check_integer, check_not_negative, check_positive
from ._bounds import answer, values

LOSSES = {"nll", "squared"}
N_GRID = 20001
MOST = 1e12  # beyond, the grid does not resolve the integrand
DEEP = 45.0  # what is smaller by exp(-45) adds nothing


def _check_model(loss, noise_variance, prior_variance, x_variance, w_norm2, noise_true, n_features):
    """The numbers of the model; those of the squared loss are those of the variance 1/2."""
    check_choice(loss, "loss", LOSSES)
    noise = check_positive(noise_variance, "noise_variance") if loss == "nll" else 0.5
    return (
        noise, check_positive(prior_variance, "prior_variance"),
        check_positive(x_variance, "x_variance"), check_not_negative(w_norm2, "w_norm2"),
        check_not_negative(noise_true, "noise_true"), check_integer(n_features, "n_features", 1),
    )  # fmt: skip


def largest_temperature(noise, prior, x_variance):
    """Below it psi is finite."""
    return noise / (x_variance * prior)


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
    noise_variance : float, default=1.0
        Variance of the likelihood.
    prior_variance : float, default=1.0
        Variance of the prior.
    x_variance : float
        Variance of the features.
    w_norm2 : float
        Squared norm of the true coefficients.
    noise_true : float
        True variance of the noise.
    n_features : int
        Number of features.
    t : float, default=1.0
        Where they hold, ``lam / n``: they are no constants of the loss.

    Returns
    -------
    s2, c : float
        For `alquier_bound`, whose notes say why the outcome is no guarantee.

    References
    ----------
    .. [1] P. Germain, F. Bach, A. Lacoste, S. Lacoste-Julien, "PAC-Bayesian theory meets Bayesian
       inference", NIPS 2016: appendices A.4 and A.6.

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
    t = check_positive(t, "t")
    c = x_variance * prior / noise
    if t * c >= 1.0:
        raise ValueError(f"t must be below {1.0 / c:g}, where the moments exist; got {t:g}")
    s2 = (x_variance * (prior * d + w_norm2) + noise_true * (1.0 - t * c)) / (t * noise)
    return float(s2), float(c)


def psi_gaussian_linear(
    lam, n, *, loss="nll", noise_variance=1.0, prior_variance=1.0, x_variance, w_norm2, noise_true,
    n_features,
):  # fmt: skip
    """Log of the mean of ``exp(lam (risk - empirical risk))`` over prior and data, exactly.

    For ``x ~ N(0, x_variance I)``, ``y = <w*, x> + N(0, noise_true)`` and the prior
    ``w ~ N(0, prior_variance I)``: the number that `alquier_bound` needs.

    Parameters
    ----------
    lam : float or array-like
        Temperature, positive.
    n : float or array-like
        Number of examples.
    loss : {"nll", "squared"}, default="nll"
        Negative log-likelihood, or squared error.
    noise_variance : float, default=1.0
        Variance of the likelihood.
    prior_variance : float, default=1.0
        Variance of the prior.
    x_variance : float
        Variance of the features.
    w_norm2 : float
        Squared norm of the true coefficients less the mean of the prior.
    noise_true : float
        True variance of the noise.
    n_features : int
        Number of features.

    Returns
    -------
    psi : float or ndarray
        Infinite from ``lam = noise_variance / (x_variance prior_variance)`` on; for the squared
        loss with 1/2 in place of the noise.

    Notes
    -----
    For fixed w residuals are normal with a variance v that is quadratic in w, so that the mean over
    the data is ``exp(lam v / (2 s)) (1 + lam v / (n s))^(-n / 2)``. The power is an integral of
    exponentials of v, whose means over w are known: one integral over the half-line is left, taken
    to about 1e-12.

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
    lam = values(lam, "lam", least=0.0, strict=True)
    n = values(n, "n", least=0.0, strict=True)
    if np.any(n > MOST) or np.any(lam > MOST):
        raise ValueError(f"n and lam must be at most {MOST:g}")
    lam, n = np.broadcast_arrays(lam, n)
    found = [_psi(float(a), float(b), *model) for a, b in zip(lam.ravel(), n.ravel())]
    return answer(np.reshape(found, lam.shape))


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
