"""Valid calls of averaged subgradients and of linear models on sets."""

import functools

import numpy as np

from sklearn_fw import optim
from sklearn_fw.linear_model import (
    AveragedSubgradientClassifier,
    AveragedSubgradientRegressor,
    FrankWolfeClassifier,
    FrankWolfeRegressor,
)
from sklearn_fw.optim import domains

from .calls import build, fitting, function, methods
from .calls_linear import classes, rows, sparse_rows, targets, weights


def averaged_params():
    return {
        "alpha": 0.1, "averaging": "weighted", "step_size": "theory", "projection": None,
        "radius": 1.0, "standardize": "auto", "fit_intercept": True, "intercept_scaling": 1.0,
        "max_iter": 3, "sampling": "shuffle", "warm_start": False, "record_history": True,
        "random_state": 0, "verbose": 0,
    }  # fmt: skip


def constrained_params():
    return {
        "domain": "l1", "radius": 2.0, "variant": "auto", "step_size": "auto",
        "standardize": "auto", "fit_intercept": True, "max_iter": 1000, "tol": 1e-2,
        "time_limit": 10.0, "warm_start": False, "random_state": 0, "verbose": 0,
    }  # fmt: skip


AVERAGED = {
    "X": [sparse_rows], "alpha": ["auto"], "standardize": [True],
    "averaging": ["suffix", "doubling", ("power", 2.0), ("polynomial", 3.0)],
    "step_size": ["auto", ("shifted", 1.0, 5.0), lambda: shrinking],
    "projection": ["l2_ball", "l1_ball", "box", "nonneg", lambda: clipped],
    "sampling": ["uniform", "cyclic"], "sample_weight": [None], "fit_intercept": [False],
    "radius": [2.0],
}  # fmt: skip
CONSTRAINED = {
    "X": [sparse_rows], "radius": ["auto"], "standardize": [True], "tol": ["auto"],
    "domain": ["l2", "linf", "simplex", "nuclear", ("lp", 1.5), lambda: domains.L1Ball(3)],
    "variant": ["fw", "fully_corrective"], "sample_weight": [None], "fit_intercept": [False],
    "time_limit": [None],
}  # fmt: skip


def shrinking(t):
    return 1.0 / t


def clipped(coef):
    return np.clip(coef, -1.0, 1.0)


def of_estimators():
    few, scored = {"X": rows(4)}, {"X": rows(4), "sample_weight": weights(4)}
    labels = {"X": rows(), "y": classes(), "sample_weight": weights()}
    numbers = {"X": rows(), "y": targets(), "sample_weight": weights()}
    weighted = {"class_weight": {0: 1.0, 1: 2.0, 2: 1.0}}
    probabilities = ("decision_function", "predict", "predict_log_proba", "predict_proba")
    part = {"X": rows(5), "sample_weight": weights(5)}
    found = []
    for cls, params, variants, parts in (
        (AveragedSubgradientClassifier, averaged_params, AVERAGED, True),
        (FrankWolfeClassifier, constrained_params, CONSTRAINED, False),
    ):
        found += fitting(
            cls, lambda params=params: {"loss": "log_loss", **weighted, **params()},
            lambda: dict(labels),
            variants={**variants, "loss": ["smooth_hinge"], "class_weight": [None, "balanced"]},
        )  # fmt: skip
        given = {**dict.fromkeys(probabilities, few), "score": {**scored, "y": classes(4)}}
        if parts:
            given["partial_fit"] = {**part, "y": classes(5), "classes": np.array([0, 1, 2])}
        found += methods(cls, functools.partial(_labelled, cls), given)
    for cls, params, variants, parts in (
        (AveragedSubgradientRegressor, averaged_params, AVERAGED, True),
        (FrankWolfeRegressor, constrained_params, CONSTRAINED, False),
    ):
        found += fitting(
            cls, lambda params=params: {"loss": "huber", **params()}, lambda: dict(numbers),
            variants=variants,
        )  # fmt: skip
        given = {"predict": few, "score": {**scored, "y": targets(4)}}
        if parts:
            given["partial_fit"] = {**part, "y": targets(5)}
        found += methods(cls, functools.partial(_numbered, cls), given)
    return found


def _labelled(cls):
    return cls("log_loss", max_iter=1000, random_state=0).fit(rows(), classes())


def _numbered(cls):
    return cls(random_state=0).fit(rows(), targets())


def _average():
    average = optim.RunningAverage("weighted", horizon=9)
    average.update(np.array([1.0, 2.0, 3.0]))
    return average


def entries():
    return [
        *of_estimators(),
        *function(
            optim.projected_subgradient,
            lambda: {
                "oracle": lambda w, rng: 0.5 * w + np.sign(w - 1.0), "start": np.zeros(3),
                "mu": 0.5, "max_iter": 20, "step_size": "theory", "averaging": "weighted",
                "projection": clipped, "objective": lambda w: float(np.sum(w * w)),
                "callback": None, "time_limit": 10.0, "random_state": 0, "verbose": 0,
            },
            variants={
                "step_size": ["pegasos", ("shifted", 1.0, 2.0), lambda: shrinking],
                "averaging": ["suffix", ("power", 2.0)], "projection": [None],
                "objective": [None], "time_limit": [None],
            },
            allows={
                ("start", damage): "points of any shape"
                for damage in ("two_more_axes", "one_more_axis", "no_axis")
            },
        ),
        *build(optim.RunningAverage, lambda: {"scheme": "weighted", "horizon": 5},
               variants={"scheme": ["suffix", ("power", 2.0)], "horizon": [None]}),
        *methods(
            optim.RunningAverage, _average,
            {
                "rates": {"n_points": 3}, "update": {"w": np.array([1.0, 0.0, -1.0])},
                "update_sparse": {
                    "scale": 0.5, "indices": np.array([0, 2]), "values": np.array([1.0, -1.0]),
                },
            },
        ),
    ]  # fmt: skip
