"""What a probability comes with."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class GaussianProbabilityResult:
    """A log probability, how wrong it can be, and the moments of the truncated distribution.

    `float` of it is ``log_prob``. Results are made by `log_gaussian_probability`.

    Parameters
    ----------
    log_prob : float
        Log of the probability of the region.
    error : float
        Half the width of a 99 % interval about ``log_prob``; 0 for exact cases, NaN where nothing
        is known.
    method : str
        "exact", "sampled", "ep" or "genz": how ``log_prob`` was found.
    log_prob_ep : float
        That of expectation propagation alone, of which the gradients are those here; NaN where it
        was not run.
    mean : ndarray of shape (n,) or None
        Mean inside the region, by expectation propagation.
    covariance : ndarray of shape (n, n) or None
        Covariance inside the region, by expectation propagation.
    gradient_mean : ndarray of shape (n,) or None
        Gradient of ``log_prob_ep`` in the mean.
    gradient_covariance : ndarray of shape (n, n) or None
        Gradient in the covariance, symmetric: a change D adds ``sum(gradient_covariance * D)``.
    gradient_lower : ndarray of shape (p,) or None
        Gradient in the lower bounds.
    gradient_upper : ndarray of shape (p,) or None
        Gradient in the upper bounds.
    site_precision : ndarray of shape (p,) or None
        Precisions of the Gaussian sites, one per bound.
    site_shift : ndarray of shape (p,) or None
        Their precisions times means.
    n_iter : int
        Sweeps.
    converged : bool
        Whether the sites came to rest.
    collinearity : float
        Largest absolute cosine between two constraints in whitened space; near 1 expectation
        propagation alone is wrong.

    Notes
    -----
    More than 13 parameters: a record, made by one function and read by name.

    Examples
    --------
    >>> from sklearn_fw.gaussian_probability import log_gaussian_probability
    >>> result = log_gaussian_probability(-1.0, 1.0, cov=[[1.0, 0.0], [0.0, 1.0]])
    >>> round(result.log_prob, 6), result.method
    (-0.76343, 'exact')
    """

    log_prob: float
    error: float
    method: str
    log_prob_ep: float = np.nan
    mean: np.ndarray | None = None
    covariance: np.ndarray | None = None
    gradient_mean: np.ndarray | None = None
    gradient_covariance: np.ndarray | None = None
    gradient_lower: np.ndarray | None = None
    gradient_upper: np.ndarray | None = None
    site_precision: np.ndarray | None = None
    site_shift: np.ndarray | None = None
    n_iter: int = 0
    converged: bool = True
    collinearity: float = 0.0

    def __float__(self):
        return self.log_prob

    @property
    def prob(self):
        """The probability itself, 0 where a float64 cannot hold it."""
        return float(np.exp(self.log_prob))
