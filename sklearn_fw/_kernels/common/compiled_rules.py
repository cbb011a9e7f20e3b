"""The decisions of `step_rules`, compiled."""

from .._jit import njit
from . import step_rules

considers = njit(step_rules.considers)
slope_and_limit = njit(step_rules.slope_and_limit)
short_step = njit(step_rules.short_step)
open_loop_step = njit(step_rules.open_loop_step)
move_mass = njit(step_rules.move_mass)
