"""Losses by their names."""

import numpy as np

from .._validation import check_choice, check_flag
from ._base import Loss
from ._border import check_declared
from ._compiled import (
    AbsoluteError,
    CompiledLoss,
    EpsilonInsensitive,
    Hinge,
    Huber,
    LogLoss,
    ModifiedHuber,
    MultinomialLogLoss,
    SmoothHinge,
    SquaredEpsilonInsensitive,
    SquaredError,
    SquaredHinge,
)

__all__ = ["resolve_loss"]

_NAMED = {
    "log_loss": LogLoss,
    "multinomial": MultinomialLogLoss,
    "hinge": Hinge,
    "squared_hinge": SquaredHinge,
    "smooth_hinge": SmoothHinge,
    "modified_huber": ModifiedHuber,
    "squared_error": SquaredError,
    "huber": Huber,
    "squared_epsilon_insensitive": SquaredEpsilonInsensitive,
    "absolute_error": AbsoluteError,
    "epsilon_insensitive": EpsilonInsensitive,
}

KINKED = {Hinge, AbsoluteError, EpsilonInsensitive}


def resolve_loss(loss, task, *, smooth=False):
    """Loss object of a name, checked.

    Parameters
    ----------
    loss : str or Loss
        "log_loss", "multinomial", "hinge", "squared_hinge", "smooth_hinge" or "modified_huber" for
        classification; "squared_error", "huber", "absolute_error", "epsilon_insensitive" or
        "squared_epsilon_insensitive" for regression; or an object, to choose its parameter: of this
        module, or your own, derived from `Loss`.
    task : {"classification", "regression"} or None
        What the loss must be for; None for either.
    smooth : bool, default=False
        Whether the loss must have a derivative that is Lipschitz continuous.

    Returns
    -------
    Loss
        The object that was given, or a new one with default parameters.

    Raises
    ------
    ValueError
        When there is no such loss for the task, it is not smooth but must be, or a parameter of the
        loss is out of range.

    Examples
    --------
    >>> from sklearn_fw.losses import resolve_loss
    >>> resolve_loss("huber", "regression")
    Huber()
    """
    if task is not None:
        check_choice(task, "task", {"classification", "regression"})
    fitting = [
        name
        for name, cls in _NAMED.items()
        if task in (None, cls.task) and not (smooth and cls in KINKED)
    ]
    resolved = loss
    if isinstance(loss, str):
        resolved = _NAMED[check_choice(loss, "loss", _NAMED, "an object of sklearn_fw.losses")]()
    # Methods that replace those of a compiled loss would never be called.
    changed = isinstance(loss, CompiledLoss) and type(loss) not in _NAMED.values()
    if changed or not isinstance(resolved, Loss):
        raise ValueError(
            f"loss must be one of {', '.join(map(repr, fitting))} or an object of "
            f"sklearn_fw.losses such as {_NAMED[fitting[-1]].__name__}(), or your own, derived "
            f"directly from sklearn_fw.losses.Loss; got {loss!r}"
        )
    resolved.check()
    check_declared(resolved)
    if task not in (None, resolved.task):
        raise ValueError(
            f"loss={loss!r} is for {resolved.task}; "
            f"for {task} choose one of {', '.join(map(repr, fitting))}"
        )
    if check_flag(smooth, "smooth") and resolved.smoothness == np.inf:
        name = type(resolved).__name__
        is_ours = type(resolved) in KINKED
        fault = (
            f"loss={loss!r} is not smooth" if is_ours else f"smoothness of {name} must be finite"
        )
        raise ValueError(
            f"{fault}; choose one of {', '.join(map(repr, fitting))}, or an averaged subgradient "
            f"method"
        )
    return resolved
