"""From the parameters `kernel`, `length_scale` and so on to a kernel object."""

from numbers import Real

import numpy as np
from sklearn.base import clone
from sklearn.gaussian_process.kernels import DotProduct, Kernel
from sklearn.utils.validation import validate_data

from .._core.validation import (
    LARGEST,
    check_array_of_numbers,
    check_choice,
    check_data,
    check_integer,
    check_magnitude,
    check_random_state,
    check_strength,
    is_auto,
    is_named,
)
from ._kernel_functions import RADIAL, AllSubsetsKernel, DotKernel, OpaqueKernel, RadialKernel
from ._length_scale import choose_length_scale, median_distance
from ._polynomial import PolynomialKernel

NAMES = (*RADIAL, "linear", "polynomial", "all_subsets", "precomputed")


def check_parameters(estimator):
    """Refuse values out of range, before any data are looked at."""
    check_strength(estimator.sigma0, "sigma0")
    check_strength(estimator.dof, "dof")
    _check_beta(estimator.beta)
    check_random_state(estimator.random_state)
    check_choice(estimator.formula, "formula", ("exact", "published"))
    jacobian = estimator.jacobian
    named = is_auto(jacobian)
    if not (jacobian is False or named or callable(jacobian)):
        raise ValueError(f"jacobian must be 'auto', False or a function; got {jacobian!r}")
    if estimator.normalize is not False:
        check_choice(estimator.normalize, "normalize", ("quadrature", "importance"))
    share = estimator.contamination
    if is_auto(share):
        share = 0.5
    if not (isinstance(share, Real) and 0 < share <= 0.5):
        raise ValueError(f"contamination must be 'auto' or in (0, 0.5], got {share!r}")
    if estimator.max_rank is not None:
        check_integer(estimator.max_rank, "max_rank", 1)
    if is_named(estimator.kernel, "precomputed"):
        for name, plain in (("max_rank", None), ("normalize", False)):
            if getattr(estimator, name) != plain:
                raise ValueError(
                    f"{name} needs kernel values at points of its own choice, which "
                    f"kernel='precomputed' does not give: leave {name}={plain}"
                )


def _check_beta(beta):
    """Zero and infinity have formulas of their own."""
    if isinstance(beta, Real) and beta >= 0 and (beta in (0, np.inf)):
        return
    if not isinstance(beta, Real) or beta < 0 or beta != beta:
        raise ValueError(f"beta must be a number not below 0, got {beta!r}")
    check_strength(beta, "beta")


def check_rows(estimator, X, *y, **options):
    """Rows as float64, with squares that do not overflow, and labels if there are any."""
    checked = check_data(estimator, X, *y, dtype=np.float64, **options)
    check_magnitude(checked[0] if y else checked, "X")
    return checked


def copy_of_rows(estimator, X, backend, reset):
    """The same as an array of our own, in whatever library X is."""
    if backend.on_host:
        return check_rows(estimator, X, reset=reset, copy=True)
    xp = backend.xp
    X = validate_data(estimator, X, dtype=[xp.float64, xp.float32], reset=reset)
    return xp.asarray(X, dtype=xp.float64, copy=True)


def equal_rows(X):
    """Return (position of the first of all rows that are equal, place of each row among these)."""
    places = {}
    X = np.ascontiguousarray(X) + 0.0  # no negative zeros
    place = np.array([places.setdefault(row.tobytes(), len(places)) for row in X])
    return np.unique(place, return_index=True)[1], place


def needs_numpy(estimator):
    """Whether the parameters ask for something that runs on NumPy arrays only."""
    kernel = estimator.kernel
    named = isinstance(kernel, PolynomialKernel)
    named = named or (isinstance(kernel, str) and kernel != "precomputed")
    return not named or estimator.max_rank is not None or estimator.normalize is not False


def log_volume(jacobian, kernel, X):
    """``1/2 log det G`` of each row, as the parameter ``jacobian`` wants it."""
    if jacobian is False:
        return 0.0 * X[:, 0]
    if not callable(jacobian):
        return kernel.log_volume(X)
    volume = check_array_of_numbers(jacobian(X), "what jacobian returns")
    if volume.shape != (len(X),):
        raise ValueError(f"jacobian returned shape {volume.shape}, expected ({len(X)},)")
    return volume


def resolve_kernel(estimator, X, backend):
    """Return (kernel object, length scale or None) for the parameters of a density estimator."""
    kernel = estimator.kernel
    if not backend.on_host and needs_numpy(estimator):
        raise ValueError(
            "arrays of other libraries need one of the named kernels, max_rank=None and "
            "normalize=False: change these, or switch array_api_dispatch off and convert X"
        )
    if is_named(kernel, *RADIAL):
        scale = resolve_length_scale(estimator, X, backend)
        centre = backend.array(backend.to_host(X).mean(axis=0), X)
        on_device = scale if np.ndim(scale) == 0 else backend.array(scale, X)
        return RadialKernel(kernel, on_device, centre, backend), scale
    if is_named(kernel, "linear"):
        return DotKernel(1, 1.0, 0.0, backend), None
    if isinstance(kernel, PolynomialKernel) or is_named(kernel, "polynomial"):
        settings = PolynomialKernel() if isinstance(kernel, str) else kernel
        return settings._bound(X.shape[1], backend), None
    if is_named(kernel, "all_subsets"):
        return AllSubsetsKernel(backend), None
    if is_named(kernel, "precomputed"):
        return OpaqueKernel(None, None, True), None
    if isinstance(kernel, Kernel):
        kernel = clone(kernel)
        linear = isinstance(kernel, DotProduct)
        return OpaqueKernel(kernel, kernel.diag, kernel.is_stationary() or linear), None
    if callable(kernel):
        return OpaqueKernel(_Function(kernel), _Diagonal(kernel), False), None
    known = ", ".join(repr(name) for name in NAMES)
    raise ValueError(
        f"kernel must be one of {known}, a function k(X, Y), or a kernel of "
        f"sklearn.gaussian_process; got {kernel!r}"
    )


def resolve_length_scale(estimator, X, backend):
    """A positive float, or an array with one entry per feature."""
    value = estimator.length_scale
    if isinstance(value, str):
        if value == "median":
            return median_distance(backend.to_host(X))
        if is_auto(value):
            return choose_length_scale(backend.to_host(X))
        raise ValueError(
            f"length_scale must be 'auto', 'median', a number or an array; got {value!r}"
        )
    scale = check_array_of_numbers(value, "length_scale")
    if scale.ndim > 1 or (scale.ndim == 1 and len(scale) != X.shape[1]):
        raise ValueError(
            f"length_scale has shape {scale.shape}; X has {X.shape[1]} features: pass a number or "
            "one per feature"
        )
    if not (np.all(scale >= 1.0 / LARGEST) and np.all(scale <= LARGEST)):
        raise ValueError(
            f"length_scale must be positive and finite, between {1 / LARGEST:g} and {LARGEST:g}; "
            f"got {value!r}"
        )
    return float(scale) if scale.ndim == 0 else scale


def precomputed_diagonal(diag, fitted, n_rows):
    """Values k(x, x) of new rows of a precomputed kernel."""
    if diag is not None:
        diag = check_array_of_numbers(diag, "diag")
        check_magnitude(diag, "diag")
        if diag.shape != (n_rows,):
            raise ValueError(f"diag has shape {diag.shape}, expected ({n_rows},): k(x, x) per row")
        return diag
    if np.ptp(fitted) > 1e-10 * abs(fitted[0]):
        raise ValueError(
            "k(x, x) differs between the training rows of this precomputed kernel: pass diag=, "
            "the values k(x, x) of the new rows"
        )
    return np.full(n_rows, fitted[0])


class _Function:
    """A user's k(X, Y) with the shape of its result checked."""

    def __init__(self, function):
        self.function = function

    def __call__(self, X, Y=None):
        Y = X if Y is None else Y
        K = check_array_of_numbers(self.function(X, Y), "what kernel returns", finite=False)
        if K.shape != (len(X), len(Y)):
            raise ValueError(
                f"kernel returned shape {K.shape} for {len(X)} and {len(Y)} rows: a kernel "
                "function takes two matrices and returns the matrix of all pairs"
            )
        return K


class _Diagonal(_Function):
    """The values k(x, x) of a user's kernel, from small diagonal blocks."""

    def __call__(self, X, Y=None):
        blocks = (X[start : start + 32] for start in range(0, len(X), 32))
        return np.concatenate([np.diag(_Function(self.function)(block)) for block in blocks])
