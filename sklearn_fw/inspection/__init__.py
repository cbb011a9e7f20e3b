"""What a classifier has memorised: critical samples, sensitivities, hard examples, noise."""

from ._critical import (
    critical_sample_ratio,
    exact_critical_samples_linear,
    input_gradient,
    langevin_adversarial_search,
)
from ._curves import memorization_curve, regularization_frontier, track_memorization
from ._difficulty import example_difficulty
from ._displays import (
    ClassSensitivityDisplay,
    CriticalSampleDisplay,
    DifficultyDisplay,
    MemorizationDisplay,
    SensitivityDisplay,
)
from ._noise import corrupt_inputs, corrupt_labels
from ._report import MemorizationReport
from ._scale import feature_radius
from ._sensitivity import class_loss_sensitivity, gini_coefficient, loss_sensitivity

__all__ = [
    "ClassSensitivityDisplay",
    "CriticalSampleDisplay",
    "DifficultyDisplay",
    "MemorizationDisplay",
    "MemorizationReport",
    "SensitivityDisplay",
    "class_loss_sensitivity",
    "corrupt_inputs",
    "corrupt_labels",
    "critical_sample_ratio",
    "exact_critical_samples_linear",
    "example_difficulty",
    "feature_radius",
    "gini_coefficient",
    "input_gradient",
    "langevin_adversarial_search",
    "loss_sensitivity",
    "memorization_curve",
    "regularization_frontier",
    "track_memorization",
]
