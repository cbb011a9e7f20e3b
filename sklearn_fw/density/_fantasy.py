"""Draws from the prior."""

import numpy as np

from .._core.validation import check_integer, check_random_state
from ._box import support_sides
from ._student_t import KernelStudentTDensity


def kernel_student_t_fantasy(
    n_samples=50,
    n_features=2,
    *,
    kernel="rbf",
    length_scale=1.0,
    sigma0=1.0,
    dof=1.0,
    beta=0.01,
    support=(-8.0, 8.0),
    random_state=None,
):
    """Draw a data set from the model itself, row after row, each given those before it.

    The first row is zero and ``x_n ~ q(. | x_1, ..., x_(n-1))`` on the box. Rows gather in clusters
    as in a Chinese restaurant process; larger ``dof`` and smaller ``sigma0`` make them tight.

    Parameters
    ----------
    n_samples : int, default=50
        Number of rows.
    n_features : int, default=2
        Number of columns.
    kernel : str, default="rbf"
        A kernel of `KernelStudentTDensity`.
    length_scale : float, default=1.0
        Length scale, in units of the columns.
    sigma0 : float, default=1.0
        Prior standard deviation in feature space; with 0.1, which suits data, all rows collapse.
    dof : float, default=1.0
        Degrees of freedom, above 0.
    beta : float, default=0.01
        Prior weight of mean zero in feature space, above 0.
    support : tuple (low, high), default=(-8.0, 8.0)
        The box, sides as numbers or arrays of shape (n_features,); the density has no finite
        integral without one.
    random_state : int, RandomState instance or None, default=None
        Random numbers.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Rows, in the order of the draws.

    See Also
    --------
    KernelStudentTDensity : The model.

    Notes
    -----
    With up to two columns each row costs a grid of 4,096 or 65,536 scores, above that 10,000
    scores of independent proposals, or 500 sweeps of hybrid Monte Carlo where too few of these
    count.

    References
    ----------
    .. [1] F. Huszar, S. Lacoste-Julien, "A kernel approach to tractable Bayesian nonparametrics",
       arXiv:1103.1761, 2011: section 4, figure 2.

    Examples
    --------
    >>> from sklearn_fw.density import kernel_student_t_fantasy
    >>> kernel_student_t_fantasy(5, 1, random_state=0).shape
    (5, 1)
    """
    n_samples = check_integer(n_samples, "n_samples", 1)
    n_features = check_integer(n_features, "n_features", 1)
    low, high = support_sides(support)
    if np.any(low > 0) or np.any(high < 0):
        raise ValueError(f"support must contain zero, where the first row lies; got {support!r}")
    density = KernelStudentTDensity(
        kernel, length_scale=length_scale, sigma0=sigma0, dof=dof, beta=beta, support=support
    )
    rng = check_random_state(random_state)
    X = np.zeros((n_samples, n_features))
    for n in range(1, n_samples):
        density.partial_fit(X[n - 1 : n])
        X[n] = density.sample(1, random_state=rng)[0]
    return X
