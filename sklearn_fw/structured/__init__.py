"""Structured prediction: models, solvers and estimators for outputs with parts."""

from ._latent_svm import LatentStructuredSVM
from ._models import (
    BoxModel,
    ChainModel,
    EnumeratedModel,
    GraphCutModel,
    GraphModel,
    GridModel,
    MatchingModel,
    MulticlassModel,
    MultilabelModel,
    PartModel,
    ScoredModel,
    StructuredModel,
    TreePoseModel,
)
from ._paths._path import StructuredPath
from ._paths._radius_path import RadiusPath
from ._prox_linear._scores import ScoreModel
from ._prox_linear_svm import ProxLinearStructuredSVM
from ._quadratic._calibration import (
    CalibrationPair,
    calibration_function,
    consistency_level,
    convex_envelope,
    surrogate_excess,
)
from ._quadratic._forms import (
    calibration_function_closed_form,
    calibration_lower_bound,
    calibration_upper_bound,
    learning_complexity,
    sgd_constants,
)
from ._quadratic._spaces import predictable_labels
from ._quadratic_surrogate import QuadraticSurrogateClassifier
from ._solvers import (
    SVRG,
    BlockFrankWolfe,
    Casimir,
    DualAscent,
    Extragradient,
    FrankWolfe,
    MinibatchFrankWolfe,
    NSlack,
    OneSlack,
    Perceptron,
    SaddlePointFrankWolfe,
    Solver,
    Subgradient,
)
from ._svm import StructuredSVM
from ._svm_cv import StructuredSVMCV

__all__ = [
    "SVRG",
    "BlockFrankWolfe",
    "BoxModel",
    "CalibrationPair",
    "Casimir",
    "ChainModel",
    "DualAscent",
    "EnumeratedModel",
    "Extragradient",
    "FrankWolfe",
    "GraphCutModel",
    "GraphModel",
    "GridModel",
    "LatentStructuredSVM",
    "MatchingModel",
    "MinibatchFrankWolfe",
    "MulticlassModel",
    "MultilabelModel",
    "NSlack",
    "OneSlack",
    "PartModel",
    "Perceptron",
    "ProxLinearStructuredSVM",
    "QuadraticSurrogateClassifier",
    "RadiusPath",
    "SaddlePointFrankWolfe",
    "ScoreModel",
    "ScoredModel",
    "Solver",
    "StructuredModel",
    "StructuredPath",
    "StructuredSVM",
    "StructuredSVMCV",
    "Subgradient",
    "TreePoseModel",
    "calibration_function",
    "calibration_function_closed_form",
    "calibration_lower_bound",
    "calibration_upper_bound",
    "consistency_level",
    "convex_envelope",
    "learning_complexity",
    "predictable_labels",
    "sgd_constants",
    "surrogate_excess",
]
