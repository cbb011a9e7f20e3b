"""What all bounds check of their arguments."""

import numpy as np

from .._core.validation import check_array_of_numbers, check_list, check_magnitude, check_number


def values(number, name, *, least=None, strict=False):
    """Numbers of any shape, not below ``least``."""
    array = check_array_of_numbers(number, name)
    check_magnitude(array, name)
    if strict and array.size and 0.0 < array.min() < 1e-100:
        raise ValueError(f"{name} must be at least 1e-100, got {array.min():g}")
    if least is not None and array.size:
        low = float(array.min())
        if low < least or (strict and low <= least):
            word = "above" if strict else "at least"
            raise ValueError(f"{name} must be {word} {least:g}, got {low:g}")
    return array


def check_confidence(delta):
    """Probabilities that a bound fails."""
    delta = check_array_of_numbers(delta, "delta")
    if delta.size and not (delta.min() > 0.0 and delta.max() < 1.0):
        raise ValueError(
            f"delta must be between 0 and 1, the probability that the bound fails, such as 0.05; "
            f"got {delta.min():g}"
        )
    return delta


def check_complexity(kl, n, delta):
    """``(KL + ln(1 / delta), n)``."""
    kl = values(kl, "kl", least=0.0)
    n = values(n, "n", least=0.0, strict=True)
    return kl - np.log(check_confidence(delta)), n


def check_evidence(log_evidence, n, delta):
    """``(-ln(Z) - ln(delta), n)``."""
    log_evidence = values(log_evidence, "log_evidence")
    n = values(n, "n", least=0.0, strict=True)
    return -log_evidence - np.log(check_confidence(delta)), n


def check_range(loss_range):
    """Ends of the interval that all losses lie in."""
    ends = check_list(loss_range, "loss_range", "two numbers")
    if len(ends) != 2:
        raise ValueError(f"loss_range must hold two numbers (low, high), got {loss_range!r}")
    low, high = (check_number(end, "loss_range") for end in ends)
    if not low < high:
        raise ValueError(f"loss_range must rise, got {loss_range!r}")
    return low, high


def check_risk(emp_risk, loss_range=None):
    """Empirical risks, inside of the range that the losses are said to lie in."""
    risk = values(emp_risk, "emp_risk")
    if loss_range is not None and risk.size:
        low, high = loss_range
        slack = 1e-12 * max(abs(low), abs(high), 1.0)
        if risk.min() < low - slack or risk.max() > high + slack:
            raise ValueError(
                f"emp_risk must be in loss_range = ({low:g}, {high:g}), got "
                f"{risk.min():g} to {risk.max():g}: clip the losses, or widen loss_range"
            )
    return risk


def answer(found):
    """An array, or a float for what has no axes."""
    return found if np.ndim(found) else float(found)


def check_delta(delta):
    """One probability between 0 and 1."""
    delta = check_confidence(delta)
    if delta.ndim:
        raise ValueError("delta must be one number")
    return float(delta)
