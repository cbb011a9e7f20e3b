"""Task losses: costs of wrong outputs, for training and for metrics."""

from .._core.costs import NodeCosts, Truth
from ._base import FunctionLoss, TaskLoss, read_labels, read_mistakes
from ._nodes import BlockLoss, HammingLoss, MatrixLoss, OverlapLoss, ZeroOneLoss
from ._places import BoxLoss, DistanceLoss, LinkLoss, as_box
from ._resolve import resolve_task_loss
from ._sequences import (
    NO_TAG,
    BleuLoss,
    EditLoss,
    PhraseLoss,
    SequenceLoss,
    phrases,
    split_tag,
    tokens_of,
)

__all__ = [
    "BleuLoss",
    "BlockLoss",
    "BoxLoss",
    "DistanceLoss",
    "EditLoss",
    "FunctionLoss",
    "HammingLoss",
    "LinkLoss",
    "MatrixLoss",
    "NodeCosts",
    "OverlapLoss",
    "PhraseLoss",
    "TaskLoss",
    "Truth",
    "ZeroOneLoss",
    "resolve_task_loss",
]
