"""Clusters with an order in time: steps of a task, scripts of tokens, states and actions."""

from ._aligner import SequenceAligner
from ._display import AlignedScriptDisplay, StateActionDisplay, StepsDisplay
from ._ordered import OrderedDiscriminativeClustering
from ._script import ScriptDiscovery
from ._states import JointStateActionClustering

__all__ = [
    "AlignedScriptDisplay",
    "JointStateActionClustering",
    "OrderedDiscriminativeClustering",
    "ScriptDiscovery",
    "SequenceAligner",
    "StateActionDisplay",
    "StepsDisplay",
]
