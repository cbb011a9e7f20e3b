"""Bases in which several matrices, or a tensor, become diagonal."""

from itertools import permutations
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._core import check
from .._core.warnings import warn
from .._kernels import lazy

jacobi_kernels = lazy("moments.jacobi")

SEARCH_SWEEPS = 15
SHEARS = ("jdtm", "just", "normality", "shrt")


class JointDiagonalization(NamedTuple):
    """Answer of a joint diagonalization.

    Parameters
    ----------
    basis : ndarray of shape (K, K)
        Common eigenvectors as columns.
    diagonals : ndarray of shape (P, K)
        Eigenvalues of each matrix.
    off_diagonality : float
        Fraction of the squares of the transformed matrices outside of their diagonals; 0 for
        matrices that commute.
    n_iter : int
        Sweeps over all pairs of coordinates.
    """

    basis: np.ndarray
    diagonals: np.ndarray
    off_diagonality: float
    n_iter: int


def joint_diagonalize(matrices, *, shear=None, tol=1e-8, max_iter=100):
    """Compute the basis that jointly diagonalizes several matrices.

    Without ``shear`` matrices are symmetric and the basis V is orthonormal: Jacobi rotations
    minimize the sum of squares of the off-diagonal entries of ``V.T @ B_p @ V`` [1]_. With it
    ``B_p = Q @ diag(d_p) @ inv(Q)`` and noise: pairs of coordinates are sheared, towards matrices
    that commute with their transposes, and rotated, towards diagonal ``inv(Q) @ B_p @ Q``, in
    turns. For one matrix both give its eigenvectors. A sweep costs 12 K^3 P operations, with shears
    other than "jdtm" 18 K^3 P; 5 to 10 are usual. Matrices without a common real basis, such as
    rotations, leave ``off_diagonality`` large.

    Parameters
    ----------
    matrices : array-like of shape (P, K, K)
        Matrices, symmetric without ``shear``.
    shear : {None, "normality", "jdtm", "shrt", "just"}, default=None
        Shear of a pair: of the smallest sum of squares of all entries ("normality"), one Newton
        step for it ("shrt"), of the smallest off-diagonal sum ("just"), or by the entries of the
        pair alone ("jdtm", that of [4]_, which may cycle where noise is strong).
    tol : float, default=1e-8
        A sweep in which all rotations and shears have a sine (hyperbolic of shears) of at most this
        is the last.
    max_iter : int, default=100
        Largest number of sweeps over all pairs of coordinates.

    Returns
    -------
    result : JointDiagonalization
        ``basis`` (with shears of any column norms), ``diagonals``, ``off_diagonality`` and
        ``n_iter``.

    Warns
    -----
    ConvergenceWarning
        When ``max_iter`` sweeps were too few.

    References
    ----------
    .. [1] J.-F. Cardoso, A. Souloumiac, "Jacobi angles for simultaneous diagonalization", SIAM
       Journal on Matrix Analysis and Applications 17, 1996.
    .. [2] T. Fu, X. Gao, "Simultaneous diagonalization with similarity transformation for
       non-defective matrices", ICASSP 2006.
    .. [3] R. Iferroudjen, K. Abed Meraim, A. Belouchrani, "A new Jacobi-like method for joint
       diagonalization of arbitrary non-defective matrices", Applied Mathematics and Computation
       211, 2009.
    .. [4] A. Podosinnikova, F. Bach, S. Lacoste-Julien, "Beyond CCA: moment matching for multi-view
       models", ICML 2016: appendix on non-orthogonal joint diagonalization.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.decomposition import joint_diagonalize
    >>> basis = np.array([[1.0, 0.5], [0.0, 1.0]])
    >>> matrices = [basis @ np.diag(d) @ np.linalg.inv(basis) for d in ([3.0, 1.0], [1.0, 2.0])]
    >>> result = joint_diagonalize(matrices, shear="normality")
    >>> bool(result.off_diagonality < 1e-15), np.sort(result.diagonals, axis=1).round(6).tolist()
    (True, [[1.0, 3.0], [1.0, 2.0]])
    """
    if shear is not None:
        check.choice(shear, "shear", SHEARS, "None")
    matrices = check.shaped(matrices, "matrices", "P", "K", "K")
    if shear is None:
        turned = matrices.transpose(0, 2, 1)
        if not np.allclose(matrices, turned, rtol=0.0, atol=1e-8 * np.max(np.abs(matrices))):
            raise ValueError(
                'matrices must be symmetric: take shear="normality" for others, or '
                "(matrices + matrices.transpose(0, 2, 1)) / 2"
            )
        matrices, shear = (matrices + turned) / 2.0, "orthogonal"
    return jacobi(matrices, shear, tol, max_iter)


def jacobi(matrices, shear, tol=1e-8, max_iter=100):
    """As `joint_diagonalize`, or "orthogonal"; ``max_iter=None``: few sweeps and no warning."""
    is_final, tol = max_iter is not None, check.not_negative(tol, "tol")
    max_iter = check.integer(max_iter, "max_iter", 1) if is_final else SEARCH_SWEEPS
    scale = np.max(np.abs(matrices)) or 1.0  # squares of small numbers would vanish
    turned = np.ascontiguousarray(matrices.transpose(1, 2, 0)) / scale
    basis, kind = np.eye(matrices.shape[1]), getattr(jacobi_kernels, shear.upper())
    n_iter, change = 0, np.inf
    while change > tol and n_iter < max_iter:
        change = jacobi_kernels.jacobi_sweep(turned, basis, kind)
        n_iter += 1
    if change > tol and is_final:
        warn(
            f"the matrices still turned by {change:.1e} after {max_iter} sweeps: raise max_iter or "
            "tol, or take less noisy matrices",
            ConvergenceWarning,
        )
    found = judged(basis, turned.transpose(2, 0, 1), n_iter)
    return found._replace(diagonals=scale * found.diagonals)


def judged(basis, turned, n_iter):
    """`JointDiagonalization` by a basis in which the matrices are ``turned``."""
    diagonals = np.einsum("pkk->pk", turned)
    off = np.sum((turned - diagonals[:, :, None] * np.eye(len(basis))) ** 2)
    return JointDiagonalization(basis, diagonals, float(off / (np.sum(turned**2) or 1.0)), n_iter)


def tensor_power_method(tensor, *, n_restarts=10, tol=1e-5, max_iter=100, random_state=None):
    """Compute the eigenvectors of a symmetric, orthogonally decomposable tensor.

    ``T = sum_k l_k z_k (x) z_k (x) z_k``: each z_k is a fixed point of ``u <- T(I, u, u) / norm``,
    found from several random starts, of which the one with the largest l_k is kept, and taken out
    of the tensor before the next.

    Parameters
    ----------
    tensor : array-like of shape (K, K, K)
        Symmetric in its three modes; it is made so by the mean of all orders.
    n_restarts : int, default=10
        Random starts for each vector.
    tol : float, default=1e-5
        A vector that moves less has been found.
    max_iter : int, default=100
        Largest number of iterations from each start.
    random_state : int, RandomState instance or None, default=None
        Source of the starts.

    Returns
    -------
    basis : ndarray of shape (K, K)
        Vectors as columns, in the order in which they were found.
    values : ndarray of shape (K,)
        The weights l_k.
    n_iter : int
        Iterations of all starts.

    References
    ----------
    .. [1] A. Anandkumar, R. Ge, D. Hsu, S. Kakade, M. Telgarsky, "Tensor decompositions for
       learning latent variable models", JMLR 15, 2014: Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.decomposition import tensor_power_method
    >>> tensor = np.zeros((2, 2, 2))
    >>> tensor[0, 0, 0], tensor[1, 1, 1] = 2.0, 5.0
    >>> basis, values, _ = tensor_power_method(tensor, random_state=0)
    >>> np.sort(values).round(6).tolist()
    [2.0, 5.0]
    """
    tensor = check.shaped(tensor, "tensor", "K", "K", "K")
    n_restarts = check.integer(n_restarts, "n_restarts", 1)
    tol, max_iter = check.positive(tol, "tol"), check.integer(max_iter, "max_iter", 1)
    rng = check.random_state(random_state)
    tensor = sum(tensor.transpose(order) for order in permutations(range(3))) / 6.0
    size, total = len(tensor), 0
    basis, values = np.empty((size, size)), np.empty(size)
    for k in range(size):
        # All starts at once: a product of matrices for each iteration.
        points = rng.normal(size=(size, n_restarts))
        points /= np.linalg.norm(points, axis=0)
        for _ in range(max_iter):
            moved = _squares(tensor, points)
            norms = np.linalg.norm(moved, axis=0)
            moved = np.where(norms > 0.0, moved / np.where(norms > 0.0, norms, 1.0), points)
            change = np.max(np.linalg.norm(moved - points, axis=0))
            points, total = moved, total + n_restarts
            if change < tol:
                break
        found = np.einsum("ir,ir->r", points, _squares(tensor, points))
        best = int(np.argmax(found))
        basis[:, k], values[k] = points[:, best], found[best]
        z = points[:, best]
        tensor = tensor - values[k] * z[:, None, None] * z[:, None] * z
    return basis, values, total


def _squares(tensor, points):
    size = len(tensor)
    pairs = (points[:, None] * points[None]).reshape(size * size, -1)
    return tensor.reshape(size, size * size) @ pairs
