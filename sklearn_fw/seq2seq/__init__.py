"""Sequences from sequences: recurrent networks that learn from the cost of their outputs.

The network needs PyTorch (`pip install torch`), which is imported when it is used;
losses and roll-outs do without.
"""

from ._engine import StepPolicy, roll_out_costs
from ._losses import searnn_loss
from ._search import LearningToSearch
from ._settings import Minibatches, RecurrentNetwork
from ._transducer import SeaRNNTransducer

__all__ = [
    "LearningToSearch",
    "Minibatches",
    "RecurrentNetwork",
    "SeaRNNTransducer",
    "StepPolicy",
    "roll_out_costs",
    "searnn_loss",
]
