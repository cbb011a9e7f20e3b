"""Step sizes of subgradient methods."""

import numpy as np

from ..._core.validation import check_not_negative, check_positive

NAMED = {"theory": (2.0, 1.0), "pegasos": (1.0, 0.0)}


def check_step_size(step_size, mu):
    """Refuse what is no rule for this modulus of strong convexity."""
    if callable(step_size):
        return
    shift = _shift(step_size)
    if shift is None:
        raise ValueError(
            f"step_size must be 'theory', 'pegasos', ('shifted', c, b) or a callable; got "
            f"{step_size!r}"
        )
    if mu == 0.0:
        raise ValueError(
            f"step_size={step_size!r} divides by mu, which is 0: give a callable, for instance "
            f"lambda t: 1 / t**0.5"
        )
    c, b = shift
    if not c > 0.5:
        raise ValueError(f"c of ('shifted', c, b) must be above 1/2, got {c}")
    if c > 1.0 + b:
        raise ValueError(
            f"('shifted', c, b) needs c <= 1 + b, or the first steps are longer than 1 / mu; got "
            f"c={c}, b={b}"
        )


def _shift(step_size):
    """The numbers c and b of ``c / (mu (t + b))``, None for what is no such rule."""
    if isinstance(step_size, str):
        return NAMED.get(step_size)
    if isinstance(step_size, tuple) and len(step_size) == 3 and step_size[0] == "shifted":
        return check_positive(step_size[1], "c"), check_not_negative(step_size[2], "b")
    return None


def step_sizes(step_size, mu, first, n_steps):
    """Sizes of the steps ``first``, first + 1, ..., counted from one, in units of 1 / mu if mu > 0.

    In these units the sizes of named rules are exact, and none is above one.
    """
    t = np.arange(first, first + n_steps)
    if not callable(step_size):
        c, b = _shift(step_size)
        return c / (t + b)
    sizes = np.array([_ask(step_size, k) for k in t.tolist()])
    if mu == 0.0:
        return sizes
    sizes = np.where(np.isclose(mu * sizes, 1.0, rtol=1e-12, atol=0.0), 1.0, mu * sizes)
    if sizes.max() > 1.0:
        k = int(np.argmax(sizes > 1.0))
        raise ValueError(
            f"step_size gave {sizes[k] / mu:g} for t = {t[k]}: steps must not be longer than "
            f"1 / mu = {1.0 / mu:g}"
        )
    return sizes


def _ask(step_size, t):
    try:
        return check_positive(step_size(t), "step_size(t)")
    except (TypeError, ValueError) as error:
        error.add_note(f"step_size was called with t = {t}")
        raise
