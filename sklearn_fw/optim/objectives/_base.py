"""What all objectives have in common."""

from abc import ABC, abstractmethod

import numpy as np

from ..._core.validation import check_array_of_numbers, check_magnitude
from ..domains._base import is_ours


class Objective(ABC):
    """Base class of smooth functions of a linear image of x; derive from it to have your own.

    The function is ``f(x) = h(M x)``, and the image ``M x`` is what methods keep. A subclass sets
    ``size`` and writes the three methods below; quadratic functions write `inner` too. All arrays
    are vectors.

    Attributes
    ----------
    size : int
        Length of x.
    is_quadratic : bool
        Whether the second derivative is the same everywhere.
    lipschitz : float or None
        Bound on the Lipschitz constant of the gradient in the Euclidean norm, where it is cheap.

    See Also
    --------
    LeastSquares, Quadratic, Composite : Those that there are.

    Examples
    --------
    The entropy of Poisson counts with mean ``A @ x + 1``:

    >>> import numpy as np
    >>> from sklearn_fw.optim import domains, minimize_frank_wolfe, objectives
    >>> class Poisson(objectives.Objective):
    ...     def __init__(self, A, counts):
    ...         self.A, self.counts, self.size = A, counts, A.shape[1]
    ...     def image(self, point):
    ...         x = point if isinstance(point, np.ndarray) else point.to_array()
    ...         return self.A @ x
    ...     def slopes(self, image):
    ...         mean = image + 1.0
    ...         return float(np.sum(mean - self.counts * np.log(mean))), 1.0 - self.counts / mean
    ...     def adjoint(self, slopes):
    ...         return self.A.T @ slopes
    >>> objective = Poisson(np.eye(3), np.array([2.0, 1.0, 4.0]))
    >>> result = minimize_frank_wolfe(objective, domains.Simplex(3, radius=3.0), tol=1e-6)
    >>> result.x.round(2)
    array([0.67, 0.  , 2.33])
    """

    is_quadratic = False
    lipschitz = None
    _knows_lines = False

    @abstractmethod
    def image(self, point):
        """The image of a point.

        Parameters
        ----------
        point : ndarray of shape (size,) or Atom
            The point; an atom is a product with few columns where it has few entries.

        Returns
        -------
        ndarray of shape (n_image,)
            ``M x``.
        """

    @abstractmethod
    def slopes(self, image):
        """Value and derivatives in the image.

        Parameters
        ----------
        image : ndarray of shape (n_image,)
            Image of the point.

        Returns
        -------
        value : float
            The value of the function.
        slopes : ndarray of shape (n_image,)
            Its derivatives in the image.
        """

    @abstractmethod
    def adjoint(self, slopes):
        """The gradient in x.

        Parameters
        ----------
        slopes : ndarray of shape (n_image,)
            Derivatives in the image.

        Returns
        -------
        ndarray of shape (size,)
            ``M' slopes``, a new array.
        """

    def adjoint_in(self, slopes, block):
        """The gradient in some entries of x: by default cut out of all of it.

        Parameters
        ----------
        slopes : ndarray of shape (n_image,)
            Derivatives in the image.
        block : slice
            Which entries.

        Returns
        -------
        ndarray
            ``adjoint(slopes)[block]``, a new array.
        """
        return self.adjoint(slopes)[block].copy()

    def inner(self, image, others):
        """Second derivative of a quadratic function between images.

        Parameters
        ----------
        image : ndarray of shape (n_image,)
            One image.
        others : ndarray of shape (n_image,) or (k, n_image)
            Others.

        Returns
        -------
        float or ndarray of shape (k,)
            ``<x, H y>`` for x with this image and each y of the others.
        """
        raise NotImplementedError(f"{type(self).__name__} is not known to be quadratic")

    def curvature(self, direction):
        """Second derivative of a quadratic function along a direction.

        Parameters
        ----------
        direction : ndarray of shape (size,)
            The direction.

        Returns
        -------
        float
            The derivative.
        """
        image = self.image(self._vector(direction, "direction"))
        return float(self.inner(image, image))

    def _matrix_adjoint(self, slopes, shape):
        """The gradient in x for oracles that take matrices, sparse where it has few entries."""
        del shape
        return self.adjoint(slopes)

    def _step_along(self, image, ahead, slope, longest, guess):
        """Step of least value along an image and slope there, or None: for `knows_lines`."""
        raise NotImplementedError

    def __call__(self, x):
        """Value and gradient.

        Parameters
        ----------
        x : array-like of shape (size,)
            The point.

        Returns
        -------
        value : float
            The value.
        gradient : ndarray of shape (size,)
            The gradient.
        """
        value, slopes = self.slopes(self.image(self._vector(x, "x")))
        return value, self.adjoint(slopes)

    def _vector(self, x, name):
        x = check_array_of_numbers(x, name)
        if x.shape != (self.size,):
            raise ValueError(f"{name}.shape == {x.shape}, expected ({self.size},)")
        check_magnitude(x, name)
        return np.ascontiguousarray(x)

    def __repr__(self):
        return f"{type(self).__name__}(size={self.size})"


def is_quadratic(objective):
    """Whether the second derivative along directions is known, and the same everywhere."""
    return callable(getattr(objective, "curvature", None)) and getattr(
        objective, "is_quadratic", True
    )


def knows_lines(objective):
    """Whether the best step along a direction costs few evaluations."""
    return getattr(objective, "_knows_lines", False) and is_ours(objective)
