"""Linear models by incremental gradients: parallel, for sparse data, with certificates."""

from ._averaged_classifier import AveragedSubgradientClassifier
from ._averaged_regressor import AveragedSubgradientRegressor
from ._classifier import AsagaClassifier
from ._constrained_classifier import FrankWolfeClassifier
from ._constrained_regressor import FrankWolfeRegressor
from ._path import LinearPath
from ._regressor import AsagaRegressor

__all__ = [
    "AsagaClassifier",
    "AsagaRegressor",
    "AveragedSubgradientClassifier",
    "AveragedSubgradientRegressor",
    "FrankWolfeClassifier",
    "FrankWolfeRegressor",
    "LinearPath",
]
