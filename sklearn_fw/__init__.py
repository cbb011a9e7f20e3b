"""Structured prediction and Frank-Wolfe optimization for scikit-learn, with certificates.

Subpackages, and the main names of each, are imported at their first use.
"""

import importlib

__version__ = "0.1.0"

_FAMILIES = {
    "linear_model": "AsagaClassifier AsagaRegressor FrankWolfeClassifier FrankWolfeRegressor",
    "optim": "minimize_frank_wolfe minimize_submodular", "model_selection": "regularization_path",
    "gaussian_probability": "log_gaussian_probability", "decomposition": "DiscreteICA MultiViewCCA",
    "surrogates": "QuadraticSurrogateClassifier", "pac_bayes": "PACBayesLinearRegression",
    "alignment": "KnowledgeBaseAligner", "density": "KernelStudentTDensity", "preprocessing": "",
    "inspection": "MemorizationReport", "random_fields": "TRWMarginals", "projections": "",
    "structured": "StructuredSVM", "seq2seq": "SeaRNNTransducer", "cluster": "ScriptDiscovery",
    "task_losses": "", "inference": "", "penalties": "", "datasets": "", "displays": "",
    "metrics": "", "losses": "", "utils": "",
}  # fmt: skip
_HOMES = {name: family for family, names in _FAMILIES.items() for name in names.split()}
__all__ = sorted(_HOMES)


def __getattr__(name):
    if name not in _FAMILIES and name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    family = importlib.import_module(f"{__name__}.{_HOMES.get(name, name)}")
    return getattr(family, name) if name in _HOMES else family


def __dir__():
    return sorted({*globals(), *__all__, *_FAMILIES})
