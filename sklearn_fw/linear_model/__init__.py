"""Linear models by incremental gradients: parallel, for sparse data, with certificates."""

from ._asaga import AsagaClassifier, AsagaRegressor
from ._averaged import AveragedSubgradientClassifier, AveragedSubgradientRegressor
from ._constrained import FrankWolfeClassifier, FrankWolfeRegressor
from ._path import LinearPath

__all__ = [
    "AsagaClassifier",
    "AsagaRegressor",
    "AveragedSubgradientClassifier",
    "AveragedSubgradientRegressor",
    "FrankWolfeClassifier",
    "FrankWolfeRegressor",
    "LinearPath",
]
