"""Figures of the convergence of estimators and of the components that they find."""

from ._displays import ConvergenceDisplay, LoadingDisplay, ScreeDisplay, TopicDisplay

__all__ = ["ConvergenceDisplay", "LoadingDisplay", "ScreeDisplay", "TopicDisplay"]
