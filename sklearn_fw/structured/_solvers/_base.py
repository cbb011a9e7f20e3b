"""What every solver of the structured SVM has in common."""

from abc import abstractmethod
from typing import NamedTuple

import numpy as np
from sklearn.base import BaseEstimator, clone

from ..._validation import check_array_of_numbers


class Solution(NamedTuple):
    """A point and what is known about it; None where a solver does not know."""

    w: np.ndarray
    primal: float | None
    dual: float | None
    gap: float | None
    block_gaps: np.ndarray | None


class Solver(BaseEstimator):
    """Settings of an optimisation method; its parameters are grid keys ``solver__name``.

    `start` gets the dual problem and returns a method object for `_loop.drive`, with ``step()``,
    ``certify()`` and ``solution()``.
    """

    certified = True  # whether tol can stop it

    @abstractmethod
    def start(self, blocks, *, lam, tol, rng, warm=None):
        """Begin on `Blocks`; ``warm`` is what a previous method exported."""


def begin(solver, blocks, **options):
    """What `Solver.start` returns, which has to be a method object."""
    method = solver.start(blocks, **options)
    needed = ("step", "certify", "solution", "weights")
    missing = [name for name in needed if not callable(getattr(method, name, None))]
    if missing or isinstance(method, type):
        raise TypeError(
            f"start of the solver {type(solver).__name__} must return a method object with "
            f"{', '.join(needed)}; got {method!r}"
        )
    return method


def has_radius(solver):
    """Whether a solver bounds the norm of the weights in place of the penalty."""
    return getattr(solver, "radius", None) is not None


def check_bounds(lower, upper, n_weights):
    """Box as two full vectors, or None when both sides are None."""
    if lower is None and upper is None:
        return None
    sides = []
    for value, name, default in ((lower, "lower_bounds", -np.inf), (upper, "upper_bounds", np.inf)):
        if value is None:
            value = default
        side = check_array_of_numbers(value, name, finite=False)
        if side.ndim and side.shape != (n_weights,):
            raise ValueError(
                f"{name} must be a number or have shape ({n_weights},), got {side.shape}"
            )
        sides.append(np.array(np.broadcast_to(side, n_weights)))
    if np.any(sides[0] == np.inf) or np.any(sides[1] == -np.inf):
        raise ValueError("lower_bounds must be below inf and upper_bounds above -inf")
    if np.any(sides[0] > sides[1]):
        j = int(np.argmax(sides[0] > sides[1]))
        raise ValueError(
            f"lower_bounds must not exceed upper_bounds, got {sides[0][j]} > {sides[1][j]} at {j}"
        )
    return tuple(sides)


def with_bounds_of(solver, model):
    """The solver, with the box that the model declares unless it has one of its own."""
    bounds = model.bounds() if callable(getattr(model, "bounds", None)) else (None, None)
    if not (isinstance(bounds, tuple | list) and len(bounds) == 2):
        raise TypeError(
            f"bounds of {type(model).__name__} must be a pair (lower, upper), got {bounds!r}"
        )
    lower, upper = (
        None if side is None else check_array_of_numbers(side, f"{name}_bounds", finite=False)
        for side, name in zip(bounds, ("lower", "upper"), strict=True)
    )
    is_free = lower is None or np.all(np.isneginf(lower))
    if is_free and (upper is None or np.all(np.isposinf(upper))):
        return solver
    if not hasattr(solver, "lower_bounds"):
        raise ValueError(
            f"{type(model).__name__} has bounds on the weights, which solver "
            f"{type(solver).__name__} cannot keep: use BlockFrankWolfe ('bcfw'), FrankWolfe ('fw') "
            f"or Extragradient ('extragradient'), or a model without bounds()"
        )
    if solver.lower_bounds is not None or solver.upper_bounds is not None:
        return solver
    return clone(solver).set_params(lower_bounds=lower, upper_bounds=upper)
