"""The decisions of `step_rules`, compiled."""

from .._jit import inner, njit
from . import step_rules

considers = njit(step_rules.considers)
slope_and_limit = njit(step_rules.slope_and_limit)
short_step = njit(step_rules.short_step)
open_loop_step = njit(step_rules.open_loop_step)
_share_kept = inner(step_rules.share_kept)
_shift_mass = inner(step_rules.shift_mass)


@njit
def move_mass(alpha, size, kind, slot, away, gamma, maximum):
    """`step_rules.move_mass` with a loop, which compiles and runs faster than a slice."""
    if kind != step_rules.PAIRWISE:
        factor = _share_kept(kind, gamma, maximum)
        for c in range(size):
            alpha[c] *= factor
    return _shift_mass(alpha, size, kind, slot, away, gamma, maximum)
