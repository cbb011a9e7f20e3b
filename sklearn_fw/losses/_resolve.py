"""Losses by their names."""

import numpy as np

from .._core.validation import check_choice, check_flag, check_list
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


def resolve_loss(loss, task, *, smooth=False, names=tuple(_NAMED)):
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
    names : sequence of str, default=all of the above
        Names that are accepted; objects are not restricted.

    Returns
    -------
    Loss
        The object that was given, or a new one with default parameters.

    Examples
    --------
    >>> from sklearn_fw.losses import resolve_loss
    >>> resolve_loss("huber", "regression")
    Huber()
    """
    if task is not None:
        check_choice(task, "task", {"classification", "regression"})
    names = [check_choice(name, "names", _NAMED) for name in check_list(names, "names", "losses")]
    smooth = check_flag(smooth, "smooth")
    fitting = [
        name
        for name in names
        if task in (None, _NAMED[name].task) and not (smooth and _NAMED[name] in KINKED)
    ]
    if not fitting:
        raise ValueError(f"names must hold a loss for the task, got {names}")
    resolved = _NAMED[loss]() if isinstance(loss, str) and loss in names else loss
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
    if smooth and resolved.smoothness == np.inf:
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
