"""Metrics of structured outputs, and scorers made of them; every function takes the truth first."""

from ._matched import (
    alignment_error_rate,
    alignment_prf,
    localization_f1,
    multiview_l1_error,
    topic_l1_error,
)
from ._sequences import (
    SCORERS,
    make_loss_scorer,
    mean_hamming_loss,
    mean_task_loss,
    node_accuracy,
    phrase_classification_report,
    phrase_counts,
    phrase_f1_score,
    phrase_precision_recall_f1,
    sequence_accuracy,
)

__all__ = [
    "SCORERS",
    "alignment_error_rate",
    "alignment_prf",
    "localization_f1",
    "make_loss_scorer",
    "mean_hamming_loss",
    "mean_task_loss",
    "multiview_l1_error",
    "node_accuracy",
    "phrase_classification_report",
    "phrase_counts",
    "phrase_f1_score",
    "phrase_precision_recall_f1",
    "sequence_accuracy",
    "topic_l1_error",
]
