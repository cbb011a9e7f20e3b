"""Smooth functions in place of maxima, with the weights that are their gradients."""

from ._smoothed_max import smoothed_max

__all__ = ["smoothed_max"]
