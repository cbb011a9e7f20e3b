"""Losses of linear models: the value, slope and convex conjugate of one score per sample.

All functions take the truth first. Margin losses expect ``y`` in {-1, +1} and are written with
``m = y z``, where z is the score; losses of regression are written with ``r = z - y``.
"""

from ._base import Loss
from ._compiled import (
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
    resolve_loss,
)

__all__ = [
    "EpsilonInsensitive",
    "Hinge",
    "Huber",
    "LogLoss",
    "Loss",
    "ModifiedHuber",
    "MultinomialLogLoss",
    "SmoothHinge",
    "SquaredEpsilonInsensitive",
    "SquaredError",
    "SquaredHinge",
]
