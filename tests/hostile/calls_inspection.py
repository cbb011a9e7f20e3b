"""Valid calls of what inspects classifiers."""

import numpy as np
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.utils import Bunch

from sklearn_fw.inspection import (
    ClassSensitivityDisplay,
    CriticalSampleDisplay,
    DifficultyDisplay,
    MemorizationDisplay,
    MemorizationReport,
    SensitivityDisplay,
    corrupt_inputs,
    corrupt_labels,
    critical_sample_ratio,
    example_difficulty,
    feature_radius,
    loss_sensitivity,
    memorization_curve,
    track_memorization,
)

from .calls import build, function, generator, methods


def rows(n=12):
    return generator(3).normal(size=(n, 2)) + 2.0 * (np.arange(n) % 2)[:, None]


def labels(n=12):
    return np.arange(n) % 2


def fitted():
    return LogisticRegression().fit(rows(), labels())


def network():
    return MLPClassifier((3,), solver="sgd", activation="tanh", learning_rate_init=0.1)


def light():
    return SGDClassifier(loss="log_loss")


def searched():
    return {
        "estimator": fitted(), "X": rows(6), "radius": 0.5, "step": 0.4, "noise": 0.3,
        "max_iter": 2, "objective": "loss", "n_restarts": 1, "gradient": "auto",
        "feature_range": (-9.0, 9.0), "random_state": 0,
    }  # fmt: skip


def unrolled():
    return {
        "estimator": network(), "X": rows(), "y": labels(), "n_steps": 2, "eval_every": 1,
        "norm": 1, "include_direct": True, "by_class": False, "learning_rate": 0.1,
        "momentum": 0.5, "batch_size": 5, "random_state": 0,
    }  # fmt: skip


def influenced():
    return {
        "estimator": fitted(), "X": rows(), "y": labels(), "norm": 1, "include_direct": True,
        "method": "influence", "damping": 0.1,
    }  # fmt: skip


def difficult():
    return {
        "estimator": light(), "X": rows(), "y": labels(), "n_runs": 2, "n_epochs": 1,
        "method": "early", "n_jobs": None, "random_state": 0,
    }  # fmt: skip


def judged():
    return {
        "estimator": light(), "X": rows(), "y": labels(), "X_valid": rows(6), "y_valid": labels(6),
    }  # fmt: skip


def result():
    return Bunch(
        epochs=np.array([1.0, 2.0]), train_accuracy=np.array([0.5, 0.9]),
        valid_accuracy=np.array([0.5, 0.7]), critical_ratio=np.array([0.1, 0.2]),
    )  # fmt: skip


def functions():
    texts = {
        ("y", "text_entries"): "labels may be text",
        ("y", "object_text"): "or objects",
        ("estimator.average", "*"): "a number of steps is valid",
        ("estimator.alpha", "*"): "param_range replaces it",
    }
    wide = {
        ("radius", "*"): "one for each feature, or checked with X",
        ("step", "*"): "one for each feature",
        ("noise", "*"): "one for each feature",
        ("feature_range", "*"): "arrays for each feature, or infinity",
    }
    limits = {("feature_range.0", "*"): "infinite", ("feature_range.1", "*"): "infinite"}
    return [
        *function(critical_sample_ratio, searched, allows=wide | limits),
        *function(feature_radius, lambda: {"X": rows(), "share": 0.1}),
        *function(
            loss_sensitivity, lambda: {**unrolled(), "method": "unrolled"}, allows=texts
        ),
        *function(
            loss_sensitivity, influenced, "inspection.loss_sensitivity.influence",
            allows=texts,
        ),
        *function(example_difficulty, difficult, allows=texts),
        *function(
            corrupt_labels,
            lambda: {"y": labels(), "fraction": 0.5, "mode": "uniform", "random_state": 0},
            allows=texts,
        ),
        *function(
            corrupt_inputs,
            lambda: {"X": rows(), "fraction": 0.5, "per_feature": True, "random_state": 0},
        ),
        *function(
            track_memorization,
            lambda: {
                **judged(), "n_epochs": 2, "every": 1, "radius": np.full(2, 0.2),
                "random_state": 0,
            },
            allows=texts, infinite=True,
        ),
        *function(
            memorization_curve,
            lambda: {
                **judged(), "noise": "labels", "fractions": [0.0, 0.5], "param_name": "alpha",
                "param_range": [0.1], "max_epochs": 1, "radius": np.full(2, 0.2), "n_jobs": None,
                "random_state": 0,
            },
            allows=texts, infinite=True,
        ),
    ]  # fmt: skip


def displays():
    stored = {("*", "*"): "stored; plot checks"}
    return [
        *build(
            CriticalSampleDisplay,
            lambda: {
                "shares": [0.1, 0.2], "ratios": [0.1, 0.3], "intervals": None, "name": None,
            },
            allows=stored,
        ),
        *methods(
            CriticalSampleDisplay, lambda: CriticalSampleDisplay([0.1, 0.2], [0.1, 0.3]),
            {
                "from_estimator": lambda: {
                    "estimator": fitted(), "X": rows(6), "shares": [0.1, 0.2], "random_state": 0,
                    "ax": None, "name": None,
                },
                "plot": {"ax": None},
            },
        ),
        *build(
            DifficultyDisplay,
            lambda: {"error_rates": [0.1, 0.2], "reference": [0.1, 0.3], "name": None},
            allows=stored,
        ),
        *methods(
            DifficultyDisplay, lambda: DifficultyDisplay([0.1, 0.2], [0.1, 0.3]),
            {
                "from_estimator": lambda: {**difficult(), "ax": None, "name": None},
                "plot": {"ax": None},
            },
            allows={("estimator.average", "*"): "a number of steps is valid"},
        ),
        *build(
            SensitivityDisplay, lambda: {"sensitivity": [1.0, 2.0], "name": None}, allows=stored
        ),
        *methods(
            SensitivityDisplay, lambda: SensitivityDisplay([1.0, 2.0]), {"plot": {"ax": None}}
        ),
        *build(
            ClassSensitivityDisplay, lambda: {"matrix": np.eye(2), "classes": None}, allows=stored
        ),
        *methods(
            ClassSensitivityDisplay, lambda: ClassSensitivityDisplay(np.eye(2)),
            {
                "from_estimator": lambda: {
                    "estimator": network(), "X": rows(), "y": labels(), "n_steps": 2,
                    "eval_every": 1, "learning_rate": 0.1, "random_state": 0, "ax": None,
                },
                "plot": {"ax": None},
            },
        ),
        *build(
            MemorizationDisplay,
            lambda: {"x": [1, 2], "curves": {"a": [0.1, 0.2]}, "x_label": "Epoch"},
            allows=stored,
        ),
        *methods(
            MemorizationDisplay, lambda: MemorizationDisplay([1, 2], {"a": [0.1, 0.2]}),
            {"from_result": lambda: {"result": result(), "ax": None}, "plot": {"ax": None}},
            allows={("result.critical_ratio", "*"): "NaN where no radius was given"},
        ),
    ]  # fmt: skip


def report():
    return MemorizationReport(light(), n_epochs=1, n_runs=2, n_steps=2, random_state=0)


def entries():
    given = {"X": rows(), "y": labels(), "X_valid": rows(6), "y_valid": labels(6)}
    return [
        *functions(),
        *displays(),
        *build(
            MemorizationReport,
            lambda: {
                "estimator": light(), "radius": None, "n_epochs": 1, "n_runs": 2, "n_steps": 2,
                "n_jobs": None, "random_state": 0,
            },
            allows={("*", "*"): "stored; run checks"},
        ),
        *methods(
            MemorizationReport, report, {"run": given},
            infinite=True, allows={("y", "text_entries"): "labels may be text"},
        ),
        *methods(
            MemorizationReport, lambda: report().run(**given), {"plot": {"ax": None}},
            infinite=True,
        ),
    ]  # fmt: skip
