"""Clusters with an order in time: steps of a task, scripts of tokens, states and actions."""

from ._aligner import SequenceAligner
from ._ordered import OrderedDiscriminativeClustering
from ._script import ScriptDiscovery
from ._states import JointStateActionClustering

__all__ = [
    "JointStateActionClustering",
    "OrderedDiscriminativeClustering",
    "ScriptDiscovery",
    "SequenceAligner",
]
