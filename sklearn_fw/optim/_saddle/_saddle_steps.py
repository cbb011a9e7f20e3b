"""Step sizes of saddle-point Frank-Wolfe methods, and the constants that some of them need."""

import math
from dataclasses import dataclass, fields, replace
from numbers import Real

from ..._core.validation import check_choice, check_flag, check_not_negative, is_named
from .._frank_wolfe._steps import named_rule

RULES = ("universal", "fictitious", "adaptive", "heuristic", "strongly_convex_set")


@dataclass(frozen=True, kw_only=True)
class SaddleConstants:
    """Constants of a saddle function and its domains, from which step sizes are computed.

    All norms are Euclidean. Give what the step size needs: "adaptive" the smoothness, coupling,
    convexity and width; "heuristic" the same without the width; "strongly_convex_set" the
    smoothness, coupling and gradient norm. Bounds on the safe side keep the guarantees.

    Parameters
    ----------
    smoothness_x, smoothness_y : float or None, default=None
        Lipschitz constant of the gradient of each side in its own variable.
    coupling : float or None, default=None
        Lipschitz constant of the gradient of each side in the variable of the other: the largest
        norm of the mixed second derivatives, ``||M||_2`` for a term x'My.
    convexity_x, convexity_y : float or None, default=None
        Strong convexity in x and strong concavity in y.
    width_x, width_y : float or None, default=None
        For steps towards vertices, the distance of the saddle point from the relative boundary of
        each domain; for away and pairwise steps, the pyramidal width of its vertices, such as
        ``1 / sqrt(d)`` for the unit cube in d dimensions.
    diameter_x, diameter_y : float or None, default=None
        Diameters of the domains; None asks the domains.
    set_convexity : float or None, default=None
        Strong convexity of both domains as sets; None takes the smaller of theirs.
    gradient_norm : float or None, default=None
        What the norms of both gradients nowhere fall below.

    See Also
    --------
    solve_saddle_point : Takes these as ``constants``.

    References
    ----------
    .. [1] G. Gidel, T. Jebara, S. Lacoste-Julien, "Frank-Wolfe algorithms for saddle point
       problems", AISTATS 2017: Theorems 1, 4, 24 and 25.
    .. [2] S. Lacoste-Julien, M. Jaggi, "On the global linear convergence of Frank-Wolfe
       optimization variants", NIPS 2015: pyramidal widths.

    Examples
    --------
    A coupling that is weak compared with the convexity gives a linear rate.

    >>> from sklearn_fw.optim import SaddleConstants
    >>> constants = SaddleConstants(
    ...     smoothness_x=10.0, smoothness_y=10.0, coupling=0.5, convexity_x=10.0, convexity_y=10.0,
    ...     width_x=0.4, width_y=0.4, diameter_x=1.0, diameter_y=1.0,
    ... )
    >>> round(constants.progress(), 3)
    0.823
    >>> round(constants.rate(), 3)
    0.054
    """

    smoothness_x: float | None = None
    smoothness_y: float | None = None
    coupling: float | None = None
    convexity_x: float | None = None
    convexity_y: float | None = None
    width_x: float | None = None
    width_y: float | None = None
    diameter_x: float | None = None
    diameter_y: float | None = None
    set_convexity: float | None = None
    gradient_norm: float | None = None

    def __post_init__(self):
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                check_not_negative(value, field.name)

    def progress(self, *, away=False):
        """The share of the gap by which a short step lowers the distance to the saddle point.

        Parameters
        ----------
        away : bool, default=False
            Whether for the method with away steps, where the share is that of the pairwise gap.

        Returns
        -------
        float
            The number nu of [1]: at most one half with away steps and at most one else. Adaptive
            steps have a linear rate where it is positive. Universal steps have the rate 1 / k where
            it is above one half without ``away``, which for the method with away steps means with
            pyramidal widths.
        """
        check_flag(away, "away")
        _need(self, "the progress of a step", WIDE)
        width = math.sqrt(self._squared_width())
        by_x = self.diameter_x * self.coupling / math.sqrt(self.convexity_y)
        by_y = self.diameter_y * self.coupling / math.sqrt(self.convexity_x)
        return (0.5 if away else 1.0) - math.sqrt(2.0) / width * max(by_x, by_y)

    def rate(self, *, away=False):
        """By what part each step that removes no atom lowers w, with ``step_size="adaptive"``.

        Here ``w = L(x, y*) - L(x*, y)`` with the saddle point (x*, y*).

        Parameters
        ----------
        away : bool, default=False
            Whether for the method with away steps.

        Returns
        -------
        float
            The number rho of [1]; zero where `progress` is not positive and nothing is known.
        """
        progress = max(self.progress(away=away), 0.0)
        return progress**2 * self._squared_width() / (2.0 * self.curvature)

    @property
    def curvature(self):
        """C of [1]: a bound on the curvature in x and in y."""
        _need(self, "the curvature", (), BENT)
        return 0.5 * (
            self.smoothness_x * self.diameter_x**2 + self.smoothness_y * self.diameter_y**2
        )

    @property
    def heuristic_curvature(self):
        """The same, doubled, with the coupling counted as curvature."""
        _need(self, "step_size='heuristic'", CURVED)
        squares = self.diameter_x**2 / self.convexity_x + self.diameter_y**2 / self.convexity_y
        return 2.0 * self.curvature + self.coupling**2 * squares

    @property
    def oracle_curvature(self):
        """C_delta of [1]: with how fast the vertices of strongly convex domains turn."""
        known = ("coupling", "smoothness_x", "smoothness_y")
        _need(self, "step_size='strongly_convex_set'", ("set_convexity", "gradient_norm"), known)
        smoothness = max(getattr(self, name) for name in known)
        return 2.0 * smoothness + 8.0 * smoothness**2 / (self.set_convexity * self.gradient_norm)

    def _squared_width(self):
        """delta_mu of [1], squared."""
        return min(self.convexity_x * self.width_x**2, self.convexity_y * self.width_y**2)


BENT = ("smoothness_x", "smoothness_y", "diameter_x", "diameter_y")
CURVED = ("convexity_x", "convexity_y", *BENT)
WIDE = (*CURVED, "width_x", "width_y")


def _need(constants, purpose, positive, known=("coupling",)):
    """Refuse what needs constants that are missing or zero."""
    for name in (*positive, *known):
        value = getattr(constants, name)
        if value is None or (name in positive and value <= 0.0):
            want = "a positive" if name in positive else "a"
            raise ValueError(f"{purpose} needs {want} {name} in constants, got {value}")


def _complete(constants, domain_x, domain_y):
    """The constants with what is missing taken from the domains."""
    domains, found = (domain_x, domain_y), {}
    for name, domain in zip(("diameter_x", "diameter_y"), domains):
        if getattr(constants, name) is None:  # else it is not asked for, since it can be costly
            found[name] = getattr(domain, "diameter", None)
    if constants.set_convexity is None:
        found["set_convexity"] = min(getattr(domain, "strong_convexity", 0.0) for domain in domains)
    return replace(constants, **found)


def resolve_step_size(step_size, variant, constants, domain_x, domain_y):
    """A function `StepState` -> step, from what the user wrote."""
    if not (constants is None or isinstance(constants, SaddleConstants)):
        raise ValueError(f"constants must be None or a SaddleConstants; got {constants!r}")
    if is_named(step_size, "line_search"):
        raise ValueError(
            "step_size='line_search' is not offered: on saddle functions a line search does not "
            "converge (on bilinear ones it takes the full step each time, and best replies cycle); "
            "use 'universal'"
        )
    if variant == "block" and not is_named(step_size, "universal"):
        raise ValueError(f"variant='block' has step_size='universal' only, got {step_size!r}")
    if callable(step_size) or (isinstance(step_size, Real) and not isinstance(step_size, bool)):
        return named_rule(step_size)
    check_choice(step_size, "step_size", RULES)
    if step_size in ("universal", "fictitious"):
        return named_rule(step_size)
    if not isinstance(constants, SaddleConstants):
        raise ValueError(
            f"step_size={step_size!r} needs constants, a SaddleConstants; got {constants!r}"
        )
    return BOUNDED[step_size](variant, _complete(constants, domain_x, domain_y))


def _adaptive(variant, constants):
    progress = constants.progress(away=variant != "fw")
    if progress <= 0.0:
        raise ValueError(
            f"step_size='adaptive' needs a coupling that is weak compared with convexity and "
            f"width, but their balance nu is {progress:.3g} <= 0; use 'universal', or 'heuristic', "
            f"which has no guarantee but often a linear rate"
        )
    factor = progress / (2.0 * constants.curvature)
    if variant == "fw":
        return lambda state: factor * state.dual_gap
    return lambda state: factor * state.pairwise_gap


def _heuristic(variant, constants):
    factor = 1.0 / constants.heuristic_curvature
    return lambda state: factor * state.direction_gap


def _strongly_convex_set(variant, constants):
    if variant != "fw":
        raise ValueError(f"step_size='strongly_convex_set' needs variant='fw', got {variant!r}")
    curvature = constants.oracle_curvature
    if curvature == 0.0:  # the function is linear: the vertices are the solution
        return lambda state: math.inf
    return lambda state: state.dual_gap / (curvature * (state.length_x + state.length_y) ** 2)


BOUNDED = {
    "adaptive": _adaptive,
    "heuristic": _heuristic,
    "strongly_convex_set": _strongly_convex_set,
}
