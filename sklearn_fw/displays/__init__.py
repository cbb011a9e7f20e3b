"""Pictures of how estimators came to their answers."""

from ._convergence import ConvergenceDisplay

__all__ = ["ConvergenceDisplay"]
