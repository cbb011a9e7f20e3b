"""Constants of rates of Frank-Wolfe methods, where they are known in closed form."""

import math

import numpy as np
import scipy.sparse as sp

from ..domains._base import check_domain
from ..domains._sets import Box, ConvexHull, L1Ball, L2Ball, Simplex
from ..objectives import Composite, Quadratic

CONVEX = 1e-10  # share of the largest eigenvalue down to which a negative one is rounding


def pyramidal_width(domain):
    """Pyramidal width of a set, on which rates of away and pairwise steps depend.

    For a function that is strongly convex with constant mu and has an L-Lipschitz gradient, a step
    of these methods that drops no vertex shrinks the distance to the minimum by at least the factor
    ``1 - mu width^2 / (4 L diameter^2)``.

    Parameters
    ----------
    domain : domain object
        A `Simplex`, an `L1Ball`, a `Box`, or a set that is no polytope.

    Returns
    -------
    float
        The width: ``2 radius / sqrt(d)`` for a simplex with an even number d of vertices and
        ``2 radius / sqrt(d - 1 / d)`` for an odd one, ``radius / sqrt(d - 1)`` for an l1 ball of
        d > 1 dimensions, ``1 / sqrt(sum_i 1 / side_i^2)`` for a box, and zero for curved sets.

    Raises
    ------
    NotImplementedError
        For sets of which no closed form is known here, and for single points.

    See Also
    --------
    curvature_constant : The constant that depends on the function.

    References
    ----------
    .. [1] S. Lacoste-Julien, M. Jaggi, "On the global linear convergence of Frank-Wolfe
       optimization variants", NIPS 2015: section 3 and Lemma 4.
    .. [2] J. Pena, D. Rodriguez, "Polytope conditioning and linear convergence of the Frank-Wolfe
       algorithm", Mathematics of Operations Research 44, 2019: the width is the smallest distance
       of a face from the hull of all other vertices, from which the forms follow.

    Examples
    --------
    >>> from sklearn_fw.optim import domains, pyramidal_width
    >>> pyramidal_width(domains.Box(0.0, 1.0, size=4))
    0.5
    >>> pyramidal_width(domains.Simplex(4))
    1.0
    """
    check_domain(domain, "domain")
    if not getattr(domain, "is_polytope", True):
        return 0.0
    d = getattr(domain, "size", None)
    if type(domain) is Simplex and d > 1:
        return 2.0 * domain.radius / math.sqrt(d if d % 2 == 0 else d - 1.0 / d)
    if type(domain) is L1Ball:
        return 2.0 * domain.radius if d == 1 else domain.radius / math.sqrt(d - 1.0)
    if type(domain) is Box:
        sides = domain.upper - domain.lower
        sides = sides[sides > 0.0]
        if sides.size:
            return float(1.0 / np.linalg.norm(1.0 / sides))
    raise NotImplementedError(f"no closed form of the pyramidal width of {domain!r} is known here")


def curvature_constant(objective, domain):
    """Curvature constant of a convex function on a set, for ``step_size="curvature"``.

    This is the largest ``2 (f(y) - f(x) - <f'(x), y - x>) / c^2`` over ``y = x + c (s - x)`` with x
    and s in the set and c from 0 to 1, or a bound above it.

    Parameters
    ----------
    objective : Quadratic, LeastSquares, Logistic or Composite
        An object of `sklearn_fw.optim.objectives` with scores in one column.
    domain : Simplex, L1Ball, L2Ball or ConvexHull
        The set.

    Returns
    -------
    float
        Of a quadratic function with second derivative H the largest ``<s - x, H (s - x)>``: on an
        l1 ball ``4 radius^2 max_j H_jj``, on a simplex or another hull of points that of two
        vertices, on a ball ``4 radius^2`` times the largest eigenvalue. Of other losses the same
        with their smoothness, which is an upper bound.

    Raises
    ------
    NotImplementedError
        For other functions and sets, and for a quadratic function that is not convex.

    See Also
    --------
    minimize_frank_wolfe : Takes the constant as ``curvature``.
    pyramidal_width : The constant that depends on the set alone.

    Notes
    -----
    On a simplex of d vertices all d^2 inner products of columns are computed.

    References
    ----------
    .. [1] M. Jaggi, "Revisiting Frank-Wolfe: projection-free sparse convex optimization", ICML
       2013: equation (3).

    Examples
    --------
    >>> from sklearn_fw.optim import curvature_constant, domains, objectives
    >>> objective = objectives.LeastSquares([[1.0, 2.0], [0.0, 1.0]], [0.0, 0.0])
    >>> curvature_constant(objective, domains.L1Ball(2, radius=0.5))
    5.0
    """
    check_domain(domain, "domain")
    unknown = NotImplementedError(
        f"no closed form of the curvature constant of {objective!r} on {domain!r} is known here"
    )
    if getattr(objective, "size", None) != getattr(domain, "size", None):
        raise ValueError(f"objective {objective!r} and domain {domain!r} differ in size")
    if isinstance(objective, Quadratic):
        matrix, scale, weight = objective.Q, 1.0, None
        dense = matrix.toarray() if sp.issparse(matrix) else matrix
        eigenvalues = np.linalg.eigvalsh(dense)
        if eigenvalues[0] < -CONVEX * np.abs(eigenvalues).max():
            raise unknown
    elif isinstance(objective, Composite) and not objective._is_function:
        matrix, scale = objective._map.A, objective.loss.smoothness
        weight = objective._row_weight
        if objective._map.n_outputs > 1:
            raise unknown
    else:
        raise unknown
    if type(domain) is L2Ball:
        return 4.0 * domain.radius**2 * objective.lipschitz
    if type(domain) is L1Ball:
        squares = matrix.diagonal() if weight is None else objective._map.column_squares(weight)
        return 4.0 * domain.radius**2 * scale * float(squares.max())
    if type(domain) is Simplex:
        points = domain.radius * np.eye(domain.size)
    elif type(domain) is ConvexHull:
        points = domain.points
    else:
        raise unknown
    images = matrix @ points.T
    gram = points @ images if weight is None else images.T @ (weight[:, None] * images)
    squares = np.diagonal(gram)
    return scale * max(float((squares[:, None] + squares - 2.0 * gram).max()), 0.0)
