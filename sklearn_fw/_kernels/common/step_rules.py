"""The decisions of Frank-Wolfe methods: which direction, how far, and how weights follow.

Plain Python, so that methods in Python need no compiler; compiled passes compile these very
functions. Slopes are rates of improvement at step zero, curvatures second derivatives along the
direction, and both refer to the whole direction (step one).
"""

import math

# Kinds of directions, and step rules that choose among them.
FW, PAIRWISE, AWAY, HYBRID = 0, 1, 2, 3


def considers(variant, kind, slope_fw, slope_away, n_active):
    """Whether a step rule looks at a kind of direction (HYBRID compares all that exist)."""
    if kind == AWAY and n_active < 2:
        return False  # alpha / (1 - alpha) is unbounded when one atom holds all the mass
    if variant == AWAY:
        goes_away = n_active > 1 and slope_away > slope_fw
        return kind == AWAY if goes_away else kind == FW
    return variant in (HYBRID, kind)


def slope_and_limit(kind, slope_fw, slope_away, alpha_away):
    """Slope along a direction and the largest step that keeps weights >= 0."""
    if kind == FW:
        return slope_fw, 1.0
    if kind == PAIRWISE:
        return slope_fw + slope_away, alpha_away
    others = 1.0 - alpha_away
    return slope_away, alpha_away / others if others > 0.0 else math.inf


def short_step(slope, curvature, limit):
    """Exact line search on a parabola of this curvature, clipped to [0, limit]."""
    if slope <= 0.0:
        return 0.0
    return slope / curvature if slope < limit * curvature else limit


def open_loop_step(n_steps, n_blocks, limit):
    """The step 2n / (k + 2n) after k steps on one of n blocks, clipped to the limit."""
    return min(2.0 * n_blocks / (n_steps + 2.0 * n_blocks), limit)


def share_kept(kind, gamma, maximum):
    """What a step multiplies all weights with, before `shift_mass`."""
    if kind == PAIRWISE:
        return 1.0
    if kind == FW:
        return 1.0 - gamma if gamma < maximum else 0.0
    return 1.0 + gamma


def shift_mass(alpha, size, kind, slot, away, gamma, maximum):
    """Change single weights by a step; returns whether it used up an atom."""
    if kind == FW:
        alpha[slot] += gamma
        return gamma >= maximum and size > 1
    if kind == PAIRWISE:
        if slot == away:
            return False  # rounding made a slope of a step that goes nowhere
        alpha[slot] += gamma
    alpha[away] = 0.0 if gamma >= maximum else alpha[away] - gamma
    return gamma >= maximum


def move_mass(alpha, size, kind, slot, away, gamma, maximum):
    """Change the weights of one set of atoms by a step; returns whether it used up an atom."""
    if kind != PAIRWISE:
        alpha[:size] *= share_kept(kind, gamma, maximum)
    return shift_mass(alpha, size, kind, slot, away, gamma, maximum)
