"""Linear models by incremental gradients: parallel, for sparse data, with certificates."""

from ._classifier import AsagaClassifier
from ._regressor import AsagaRegressor

__all__ = ["AsagaClassifier", "AsagaRegressor"]
