"""Figures of the convergence of estimators and of the components that they find."""

from ._convergence import ConvergenceDisplay
from ._decompositions import LoadingDisplay, ScreeDisplay, TopicDisplay

__all__ = ["ConvergenceDisplay", "LoadingDisplay", "ScreeDisplay", "TopicDisplay"]
