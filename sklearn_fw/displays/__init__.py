"""Pictures of how estimators came to their answers, and of what they found."""

from ._convergence import ConvergenceDisplay
from ._loadings import LoadingDisplay
from ._scree import ScreeDisplay
from ._topics import TopicDisplay

__all__ = ["ConvergenceDisplay", "LoadingDisplay", "ScreeDisplay", "TopicDisplay"]
