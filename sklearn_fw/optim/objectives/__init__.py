"""Smooth functions as objects that know more than their value and gradient.

Methods of `sklearn_fw.optim` that minimise take any callable ``x -> (value, gradient)``. Those
below are such callables, and besides they know the *image* of a point, a linear function of it such
as ``A @ x``, that the value depends on alone. Methods keep the image, change it with every step by
the image of one atom, and search along a line without a product with the matrix.

Derive from `Objective` to have your own with these advantages; a plain callable is an objective,
too.
"""

from ._base import Objective
from ._composite import Composite, LeastSquares, Quadratic

__all__ = ["Composite", "LeastSquares", "Objective", "Quadratic"]
