"""Metrics of structured outputs, and scorers made of them; every function takes the truth first."""

from ._alignments import alignment_error_rate
from ._sequences import (
    SCORERS,
    PhraseScores,
    mean_hamming_loss,
    node_accuracy,
    node_accuracy_scorer,
    phrase_classification_report,
    phrase_counts,
    phrase_f1_score,
    phrase_f1_scorer,
    phrase_precision_recall_f1,
    sequence_accuracy,
    sequence_accuracy_scorer,
)

__all__ = [
    "SCORERS",
    "PhraseScores",
    "alignment_error_rate",
    "mean_hamming_loss",
    "node_accuracy",
    "node_accuracy_scorer",
    "phrase_classification_report",
    "phrase_counts",
    "phrase_f1_score",
    "phrase_f1_scorer",
    "phrase_precision_recall_f1",
    "sequence_accuracy",
    "sequence_accuracy_scorer",
]
