"""Linear models by incremental gradients: parallel, for sparse data, with certificates."""

from ._averaged_classifier import AveragedSubgradientClassifier
from ._averaged_regressor import AveragedSubgradientRegressor
from ._classifier import AsagaClassifier
from ._path import LinearPath
from ._regressor import AsagaRegressor

__all__ = [
    "AsagaClassifier",
    "AsagaRegressor",
    "AveragedSubgradientClassifier",
    "AveragedSubgradientRegressor",
    "LinearPath",
]
