"""Submodular functions of sets, as objects that build a base of theirs in one pass.

A function F gives a number to every subset of ``{0, ..., size - 1}``, zero to the empty one, and is
submodular when an element adds the less the more are there. `sklearn_fw.optim.minimize_submodular`
finds the set of the lowest value, and `sklearn_fw.optim.domains.BasePolytope` is the set of vectors
that a function stands for. Both also take any callable of a mask; derive from `SubmodularFunction`
where the values of growing sets follow from each other. Functions of one size can be added up.
"""

from ._functions import (
    CardinalityFunction,
    CoverageFunction,
    CutFunction,
    ModularFunction,
    SubmodularFunction,
)

__all__ = [
    "CardinalityFunction",
    "CoverageFunction",
    "CutFunction",
    "ModularFunction",
    "SubmodularFunction",
]
