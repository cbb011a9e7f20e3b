"""What an estimator has memorized: critical samples, sensitivities, hard examples, noise."""

from ._critical import critical_sample_ratio
from ._curves import corrupt_inputs, corrupt_labels, memorization_curve, track_memorization
from ._difficulty import example_difficulty
from ._displays import (
    ClassSensitivityDisplay,
    CriticalSampleDisplay,
    DifficultyDisplay,
    MemorizationDisplay,
    SensitivityDisplay,
)
from ._radius import feature_radius
from ._report import MemorizationReport
from ._sensitivity import loss_sensitivity

__all__ = [
    "ClassSensitivityDisplay",
    "CriticalSampleDisplay",
    "DifficultyDisplay",
    "MemorizationDisplay",
    "MemorizationReport",
    "SensitivityDisplay",
    "corrupt_inputs",
    "corrupt_labels",
    "critical_sample_ratio",
    "example_difficulty",
    "feature_radius",
    "loss_sensitivity",
    "memorization_curve",
    "track_memorization",
]
