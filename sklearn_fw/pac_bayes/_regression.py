"""Bayesian linear regression with bounds on its risk."""

from dataclasses import KW_ONLY
from functools import partial

import numpy as np
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.estimator import Estimator, ScoreMixin
from ..gaussian_probability import truncated_normal_moments
from . import _bounds as bounds


def clipped_losses(residual, spread, noise, low, high):
    """Means of ``min(max(loss, low), high)`` for residuals that are normal with these variances."""
    constant = 0.5 * np.log(2.0 * np.pi * noise)
    masses, squares = [], []  # of residuals with losses below the ends
    for end in (low, high):
        edge = np.sqrt(max(2.0 * noise * (end - constant), 1e-300))
        variance = np.maximum(spread, 1e-300)
        log_mass, mean, var = truncated_normal_moments(-edge, edge, residual, variance)
        masses.append(np.exp(log_mass))
        squares.append(masses[-1] * (mean**2 + var))
    inside = masses[1] - masses[0]
    ends = low * masses[0] + high * (1.0 - masses[1])
    return ends + constant * inside + (squares[1] - squares[0]) / (2.0 * noise)


KINDS = {"catoni", "gaussian_linear", "hoeffding", "subgamma"}
SAFE = 0.8  # of the largest temperature


class PACBayesLinearRegression(ScoreMixin, Estimator):
    """Bayesian linear regression with PAC-Bayes bounds on its expected loss.

    The posterior minimizes, over all distributions of the coefficients w::

        lam * (mean loss on the data) + KL(posterior || prior)

    for the loss ``-ln N(y; <w, x>, noise_variance)`` and the prior ``N(prior_mean,
    prior_variance)``. With ``lam = n`` it is that of Bayes and minus the minimum is the log
    evidence.

    Parameters
    ----------
    noise_variance : float, default=1.0
        Variance of the likelihood.
    prior_variance : float or array-like of shape (n_features,), default=1.0
        Variances of the prior.
    prior_mean : array-like of shape (n_features,) or None, default=None
        Mean of the prior; None is zero.
    fit_intercept : bool, default=True
        Whether to center X and y, as in `sklearn.linear_model.Ridge`: the mean target then has a
        prior around the sample mean, with the first prior variance. This prior depends on the data,
        so no bound is a guarantee; False leaves the data as they are.
    temperature : float or {"n", "sqrt"}, default="n"
        The factor lam; "sqrt" is the root of n.
    delta : float, default=0.05
        Probability that a bound fails.

    Attributes
    ----------
    coef_, intercept_ : ndarray of shape (n_features,), float
        Means of the coefficients and of the intercept.
    covariance_ : ndarray of shape (d, d)
        Covariance of coefficients and, last, intercept.
    log_evidence_ : float
        Log of the marginal likelihood of the targets, whatever the temperature.
    log_gibbs_normalizer_ : float
        ``-lam * empirical_risk_ - kl_divergence_``; the log evidence for ``lam = n``.
    empirical_risk_ : float
        Mean negative log-likelihood, averaged over the posterior.
    kl_divergence_ : float
        Divergence of the posterior from the prior, in nats.
    lambda_, n_samples_fit_ : float
        The factor lam, and the number of samples, the sum of their weights.
    n_features_in_, feature_names_in_ : int, ndarray of shape (n_features,)
        Number of columns of X, and their names where all are strings.

    See Also
    --------
    PACBayesModelSelector : Chooses or averages models by evidence.
    sklearn.linear_model.BayesianRidge : Variances from the data, no guarantee.

    Notes
    -----
    Guarantees hold for settings that do not depend on the data: variances, temperature, and columns
    that no step before has scaled or chosen by the same samples.
    One singular value decomposition, ``O(n d min(n, d))``.

    References
    ----------
    .. [1] P. Germain, F. Bach, A. Lacoste, S. Lacoste-Julien, "PAC-Bayesian theory meets Bayesian
       inference", NIPS 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.pac_bayes import PACBayesLinearRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3))
    >>> y = X @ [0.5, 0.0, -0.5] + 0.3 * rng.normal(size=100)
    >>> model = PACBayesLinearRegression(prior_variance=0.01, fit_intercept=False).fit(X, y)
    >>> bound = model.risk_bound(x_variance=1.0, w_norm2=0.5, noise_true=0.09)
    >>> bound.rigorous, bool(model.empirical_risk_ < bound.value < 1.5)
    (True, True)
    """

    noise_variance: check.strength = 1.0
    _: KW_ONLY
    prior_variance: float = 1.0
    prior_mean: object = None
    fit_intercept: bool = True
    temperature: check.options("n", "sqrt", other="a number") = "n"
    delta: bounds.check_delta = 0.05

    # ---- fit -------------------------------------------------------------------------------------

    def fit(self, X, y, sample_weight=None):
        """Compute the posterior.

        Parameters
        ----------
        X, y : array-like of shape (n_samples, n_features) and (n_samples,)
            Inputs and targets.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            An integer n counts as n copies; with weights no bound is a guarantee.
        """
        noise, has_constant = float(self.noise_variance), self.fit_intercept
        X, y = check.rows(self, X, y, y_numeric=True)
        check.magnitude(y, "y")
        weight = check.sample_weight(sample_weight, len(y))
        y = y.astype(np.float64)
        n = float(weight.sum())
        self._center = weight @ X / n if has_constant else None
        root, mean = self._prior(X.shape[1], float(weight @ y) / n)
        lam, design = self._factor(n), self._design(X)
        shifted = y - design @ mean
        halves = np.sqrt(weight)
        left, sizes, right = np.linalg.svd(halves[:, None] * design * root, full_matrices=False)
        parts = left.T @ (halves * shifted)
        gains = (lam / n) * sizes**2 / noise
        place = right.T @ (parts * (lam / n) * sizes / noise / (1.0 + gains))
        shrunk = (right.T * (gains / (1.0 + gains))) @ right
        self._posterior = mean + root * place, root[:, None] * (np.eye(len(root)) - shrunk) * root
        shift = self._shift()
        point, self.covariance_ = shift @ self._posterior[0], shift @ self._posterior[1] @ shift.T
        self.coef_ = point[: X.shape[1]]
        self.intercept_ = float(point[-1]) if has_constant else 0.0
        fitted, spread = self._moments(design)
        residual = y - fitted
        constant = 0.5 * np.log(2.0 * np.pi * noise)
        traced = float(np.sum(sizes**2 / (1.0 + gains)))
        squares = float(weight @ residual**2)
        self.empirical_risk_ = float((squares + traced) / (2.0 * noise * n) + constant)
        logs = np.sum(np.log1p(gains) - gains / (1.0 + gains))
        self.kl_divergence_ = 0.5 * float(place @ place + logs)
        self.lambda_, self.n_samples_fit_ = lam, n
        self.log_gibbs_normalizer_ = -lam * self.empirical_risk_ - self.kl_divergence_
        full = sizes**2 / noise
        outside = max(float(weight @ shifted**2) - float(parts @ parts), 0.0)
        quadratic = (outside + float(np.sum(parts**2 / (1.0 + full)))) / noise
        self.log_evidence_ = -n * constant - 0.5 * (quadratic + float(np.log1p(full).sum()))
        self._losses = (residual, spread, weight)
        self._is_guarantee = not has_constant and not np.any(weight != 1.0)
        return self

    def _prior(self, d, center):
        """Standard deviations and means of the prior of all coefficients of centered features."""
        variance = bounds.check_at_least(self.prior_variance, "prior_variance", bounds.LEAST)
        shape = variance.shape
        if shape not in ((), (d,)):
            raise ValueError(f"prior_variance must be a number or have shape ({d},), got {shape}")
        mean = np.zeros(d) if self.prior_mean is None else self.prior_mean
        mean = check.shaped(mean, "prior_mean", d)
        spread = np.broadcast_to(np.sqrt(variance), (d,))
        if self._center is None:
            return spread, mean
        return np.append(spread, np.sqrt(variance.ravel()[0])), np.append(mean, center)

    def _shift(self):
        """Map from coefficients of centered features to those of features as given."""
        shift = np.eye(len(self._posterior[0]))
        if self._center is not None:
            shift[-1, :-1] = -self._center
        return shift

    def _factor(self, n):
        if isinstance(self.temperature, str):
            return n if self.temperature == "n" else float(np.sqrt(n))
        return check.strength(self.temperature, "temperature")

    # ---- predictions -----------------------------------------------------------------------------

    def _design(self, X):
        if self._center is None:
            return X
        return np.column_stack([X - self._center, np.ones(len(X))])

    def _checked(self, X):
        return self._design(check.rows(self, X, reset=False))

    def _moments(self, design):
        """Means of predictions and variances, without those of the noise."""
        point, covariance = self._posterior
        spread = np.einsum("ij,jk,ik->i", design, covariance, design)
        return design @ point, np.maximum(spread, 0.0)

    def predict(self, X, return_std=False, return_cov=False):
        """Predictive means.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Inputs.
        return_std, return_cov : bool, default=False
            Whether to return standard deviations or covariances, noise included.

        Returns
        -------
        mean : ndarray of shape (n_samples,)
            Means.
        spread : ndarray of shape (n_samples,) or (n_samples, n_samples)
            With ``return_std`` or ``return_cov``.
        """
        if check.flag(return_std, "return_std") and check.flag(return_cov, "return_cov"):
            raise ValueError("return_std and return_cov exclude each other: set one of them")
        design = self._checked(X)
        mean, spread = self._moments(design)
        if return_std:
            return mean, np.sqrt(spread + self.noise_variance)
        if check.flag(return_cov, "return_cov"):
            noise = self.noise_variance * np.eye(len(mean))
            return mean, design @ self._posterior[1] @ design.T + noise
        return mean

    def nll_loss(self, X, y):
        """Mean negative log-likelihood, in nats, of the mean of the posterior.

        Parameters
        ----------
        X, y : array-like of shape (n_samples, n_features) and (n_samples,)
            Inputs and targets.
        """
        return self._mean_loss(X, y, 0.0)

    def gibbs_nll_loss(self, X, y):
        """Compute the mean negative log-likelihood over the posterior, in nats.

        Parameters
        ----------
        X, y : array-like of shape (n_samples, n_features) and (n_samples,)
            Inputs and targets.
        """
        return self._mean_loss(X, y, 1.0)

    def _mean_loss(self, X, y, share):
        mean, spread = self._moments(self._checked(X))
        y = check.shaped(y, "y", len(mean))
        squares = np.mean((y - mean) ** 2 + share * spread)
        noise = self.noise_variance
        return float(squares / (2.0 * noise) + 0.5 * np.log(2.0 * np.pi * noise))

    def sample_posterior(self, n_samples=1, random_state=None):
        """Draw rows of coefficients and, last, intercept.

        Parameters
        ----------
        n_samples, random_state : int, default=1, and int, RandomState or None
            How many, and the seed.
        """
        check_is_fitted(self)
        n_samples = check.integer(n_samples, "n_samples", 1)
        rng = check.random_state(random_state)
        return self._draw(n_samples, rng) @ self._shift().T

    def _draw(self, n_samples, rng):
        point, covariance = self._posterior
        sizes, vectors = np.linalg.eigh(covariance)
        root = vectors * np.sqrt(np.maximum(sizes, 0.0))
        return point + rng.normal(size=(n_samples, len(point))) @ root.T

    def sample_y(self, X, n_samples=1, random_state=None):
        """Draw targets.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Inputs.
        n_samples, random_state : int, default=1, and int, RandomState or None
            How many draws of all of them, each with its own coefficients, and the seed.

        Returns
        -------
        y : ndarray of shape (n_rows, n_samples)
            Targets with noise.
        """
        design, rng = self._checked(X), check.random_state(random_state)
        w = self._draw(check.integer(n_samples, "n_samples", 1), rng)
        noise = np.sqrt(self.noise_variance) * rng.normal(size=(len(design), len(w)))
        return design @ w.T + noise

    # ---- bounds ----------------------------------------------------------------------------------

    def risk_bound(
        self, kind="gaussian_linear", *, delta=None, loss="nll", lam=None, loss_range=None,
        x_variance=None, w_norm2=None, noise_true=None,
    ):  # fmt: skip
        """Bound on the expected loss of a draw from the posterior.

        For losses that are convex, as these are, it bounds the loss of the mean as well.

        Parameters
        ----------
        kind : {"gaussian_linear", "subgamma", "catoni", "hoeffding"}, default="gaussian_linear"
            "gaussian_linear": exact for normal features and noise, a guarantee. "subgamma": as
            published, no guarantee. "catoni", "hoeffding": of the loss clipped to ``loss_range``, a
            guarantee whatever the distribution is.
        delta : float or None, default=None
            Probability that the bound fails; None takes that of the estimator.
        loss : {"nll", "squared"}, default="nll"
            Negative log-likelihood, or squared error, which clipped losses are not.
        lam : float or None, default=None
            Temperature of the bound, fixed before the data are seen. None is that of the fit and,
            for "gaussian_linear", at most 0.8 of where the bound becomes infinite.
        loss_range : tuple of two floats or None, default=None
            Ends of the interval, for "catoni" and "hoeffding".
        x_variance, w_norm2, noise_true : float or None, default=None
            True variances of features and noise, and squared norm of the true coefficients less the
            mean of the prior, for "gaussian_linear" and "subgamma".

        Returns
        -------
        bound : Bunch
            ``value``, ``empirical_risk``, ``complexity``, ``gap`` (the remainder), ``kind``,
            ``loss``, ``lam``, ``delta``, ``assumptions`` (dict) and ``rigorous``: whether the value
            is a guarantee under the stated assumptions.
        """
        check_is_fitted(self)
        check.choice(kind, "kind", KINDS)
        check.choice(loss, "loss", bounds.LOSSES)
        delta = bounds.check_delta(self.delta if delta is None else delta)
        pair = self.kl_divergence_, self.n_samples_fit_, delta
        if kind in ("catoni", "hoeffding"):
            risk, low, high = self._clipped_risk(kind, loss, loss_range)
            loss, assumptions = "clipped nll", {"loss_range": (low, high)}
            lam = self.lambda_ if lam is None else check.strength(lam, "lam")
        else:
            assumptions = {"noise_true": noise_true, "w_norm2": w_norm2, "x_variance": x_variance}
            risk, lam, known = self._gaussian_model(kind, loss, lam, assumptions)
        if kind == "catoni":
            beta = lam / self.n_samples_fit_ * (high - low)
            value = bounds.catoni_bound(risk, *pair, beta=beta, **assumptions)
        else:
            known = assumptions if kind == "hoeffding" else known
            value = bounds.alquier_bound(risk, *pair, lam=lam, **known)
        complexity = (self.kl_divergence_ - np.log(delta)) / lam
        is_rigorous = kind != "subgamma" and bool(np.isfinite(value))
        return Bunch(
            value=value, empirical_risk=risk, complexity=float(complexity),
            gap=float(value - risk - complexity), kind=kind, loss=loss, lam=lam, delta=delta,
            assumptions=assumptions, rigorous=is_rigorous and self._is_guarantee,
        )  # fmt: skip

    def _clipped_risk(self, kind, loss, loss_range):
        """Mean of the losses clipped to an interval, and its ends."""
        if loss != "nll":
            raise ValueError(f"loss must be 'nll' for kind={kind!r}")
        if loss_range is None:
            raise ValueError(f"loss_range must be given for kind={kind!r}, such as (1, 4)")
        low, high = bounds.check_range(loss_range)
        residual, spread, weight = self._losses
        risks = clipped_losses(residual, spread, self.noise_variance, low, high)
        return float(weight @ risks) / self.n_samples_fit_, low, high

    def _gaussian_model(self, kind, loss, lam, given):
        """Empirical risk, temperature, and what is known where features are normal."""
        for name, value in given.items():
            if value is None:
                raise ValueError(f"{name} must be given for {kind=}: data do not determine it")
        check.strength(given["x_variance"], "x_variance")
        if len(self.covariance_) > self.n_features_in_:
            raise ValueError(f"fit_intercept must be False for {kind=}: features have mean zero")
        variance = np.unique(check.array(self.prior_variance, "prior_variance"))
        if len(variance) > 1:
            raise ValueError(f"prior_variance must be one number for kind={kind!r}")
        noise, risk = self.noise_variance, self.empirical_risk_
        model = {
            **given, "noise_variance": noise, "prior_variance": float(variance[0]),
            "n_features": self.n_features_in_, "loss": loss,
        }  # fmt: skip
        if loss == "squared":
            risk = 2.0 * noise * (risk - 0.5 * np.log(2.0 * np.pi * noise))
            noise = 0.5
        limit = noise / (given["x_variance"] * float(variance[0]))  # from where on psi is infinite
        if lam is None:
            lam = self.lambda_ if kind == "subgamma" else min(self.lambda_, SAFE * limit)
        lam = check.strength(lam, "lam")
        if kind == "gaussian_linear":
            return risk, lam, {"psi": partial(bounds.psi_gaussian_linear, **model)}
        s2, c = bounds.subgamma_coefficients(**model, t=lam / self.n_samples_fit_)
        return risk, lam, {"s2": s2, "c": c}
