"""Settings of the polynomial kernel."""

from sklearn.base import BaseEstimator

from .._core.validation import check_integer, check_moderate, check_strength
from ._kernel_functions import DotKernel


class PolynomialKernel(BaseEstimator):
    """The kernel ``(gamma <x, y> + coef0)^degree`` of a density, with its parameters.

    Parameters
    ----------
    degree : int, default=3
        Degree, at least 1.
    gamma : float or None, default=None
        Factor; None is 1 / n_features.
    coef0 : float, default=1.0
        Constant, not negative.

    See Also
    --------
    KernelStudentTDensity : Takes it as ``kernel``.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw import KernelStudentTDensity
    >>> from sklearn_fw.density import PolynomialKernel
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> density = KernelStudentTDensity(PolynomialKernel(2)).fit(X)
    >>> density.get_params()["kernel__degree"]
    2
    """

    def __init__(self, degree=3, *, gamma=None, coef0=1.0):
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def _bound(self, n_features, backend):
        """The kernel on rows of so many features."""
        degree = check_integer(self.degree, "degree", 1)
        coef0 = check_moderate(self.coef0, "coef0")
        gamma = 1.0 / n_features if self.gamma is None else check_strength(self.gamma, "gamma")
        return DotKernel(degree, gamma, coef0, backend)
