"""Valid calls of the solvers of structured problems."""

import copy
import dataclasses

from sklearn_fw import structured
from sklearn_fw.structured import StructuredSVM

from .calls import build
from .calls_structured import SETTINGS, classes, table

PARAMS = {
    structured.BlockFrankWolfe: {
        "variant": "fw", "sampling": "gap", "gap_degree": 1.0, "cache": True, "cache_f": 0.25,
        "cache_nu": 0.01, "cache_size": 50, "gap_check": 10, "early_exit": 0.8, "averaging": False,
        "step_size": "line_search", "batch_step": False, "lower_bounds": -5.0,
        "upper_bounds": 5.0, "warm_start_type": "keep_primal",
    },
    structured.Casimir: {
        "schedule": "adapt", "smoother": "l2", "n_best": 3, "mu": 1.0, "kappa": 0.1,
        "lipschitz": 20.0, "inner_start": "prox_center", "inner_budget": 5, "lower_bounds": -5.0,
        "upper_bounds": 5.0,
    },
    structured.DualAscent: {
        "sampling": "gap", "gap_degree": 1.0, "gap_check": 5, "early_exit": 0.8,
        "quasi_newton": "auto",
    },
    structured.Extragradient: {
        "radius": 2.0, "norm": "l2", "z_geometry": "auto", "step_size": "backtrack",
        "balance": "auto", "first_passes": 5, "cut": 0.0, "restart": True,
        "memory_efficient": True, "gap_check": 5, "lower_bounds": None, "upper_bounds": None,
    },
    structured.FrankWolfe: {"step_size": "line_search", "lower_bounds": -5.0, "upper_bounds": 5.0},
    structured.MinibatchFrankWolfe: {
        "batch_size": 4, "sampling": "gap", "cache_size": 50, "gap_check": 5, "early_exit": 0.8,
        "lower_bounds": -5.0, "upper_bounds": 5.0,
    },
    structured.NSlack: {"cache_size": 50, "lower_bounds": -5.0, "upper_bounds": 5.0},
    structured.OneSlack: {
        "step_size": 0.3, "cache": True, "cache_f": 0.1, "cache_size": 50, "max_idle": 20,
        "lower_bounds": -5.0, "upper_bounds": 5.0,
    },
    structured.SaddlePointFrankWolfe: {
        "radius": 1.0, "norm": "l1", "block": False, "step_size": "universal", "gap_check": 5,
    },
    structured.Subgradient: {"averaging": True, "perceptron": False},
}  # fmt: skip


def of_solver(cls, params):
    def run(a):
        settings = {**SETTINGS, "C": 1.0 if cls is not structured.SaddlePointFrankWolfe else "auto"}
        svm = StructuredSVM(
            "multiclass", surrogate=cls.trains[0], solver=cls(**a), **settings
        )  # fmt: skip
        return svm.fit(table(), classes())

    (entry,) = build(cls, lambda: copy.deepcopy(params))
    return [dataclasses.replace(entry, run=run)]


def entries():
    return [entry for cls, params in PARAMS.items() for entry in of_solver(cls, params)]
