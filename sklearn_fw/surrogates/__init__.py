"""Quadratic surrogates of task losses: a classifier, and how hard a loss is to learn."""

from ._calibration import (
    calibration_function,
    calibration_function_closed_form,
    consistency_level,
    learning_complexity,
    surrogate_excess,
)
from ._quadratic_surrogate import QuadraticSurrogateClassifier

__all__ = [
    "QuadraticSurrogateClassifier",
    "calibration_function",
    "calibration_function_closed_form",
    "consistency_level",
    "learning_complexity",
    "surrogate_excess",
]
