"""Valid calls of the structured SVM with hidden states and missing labels."""

import numpy as np

from sklearn_fw.structured import ChainModel, LatentStructuredSVM, MulticlassModel

from .calls import fitting, generator, methods
from .calls_structured import SETTINGS, classes, table, tags, words

OWN = {"n_states_per_label": 2, "missing_label": -1, "init": "k-means", "n_init": 2}


def fitted(model, X, y):
    return LatentStructuredSVM(model, solver="bcpfw", **{**OWN, "n_init": 1}, **SETTINGS).fit(X, y)


def relaxed():
    return LatentStructuredSVM(
        ChainModel(), oracle="lp", C=1.0, max_iter=2, tol=10.0, random_state=0
    ).fit(words(), tags())


def of_fit(model, X, y, suffix=""):
    import dataclasses

    (entry,) = fitting(
        LatentStructuredSVM,
        lambda: {
            "model": model(), "task_loss": "auto", "oracle": "auto", "solver": "bcpfw", **OWN,
            **SETTINGS,
        },
        lambda: {"X": X(), "y": y(), "sample_weight": generator(14).uniform(0.5, 2.0, len(X()))},
        variants={
            "n_states_per_label": [1, [1, 2, 3]],
            "missing_label": [None, np.nan],
            "init": ["random"],
            "sample_weight": [None],
            "warm_start": [True],
            "C": ["auto"],
            "tol": ["auto"],
            "max_iter": ["auto"],
        },
        allows={
            ("missing_label", "*"): "a label like any other, which y may hold or not",
            ("y", "masked"): "missing labels",
            ("y", "object_none"): "missing labels",
        },
    )  # fmt: skip
    return [dataclasses.replace(entry, name=entry.name + suffix)]


def entries():
    X, y = words()[:3], tags()[:3]
    weight = np.array([1.0, 2.0, 0.5])
    answers = ("predict", "predict_marginals", "score_samples")
    allows = {
        ("y", "half"): "a label as any other, which fit has not seen",
        ("y", "masked"): "missing labels",
        ("y", "object_none"): "missing labels",
    }
    return [
        *of_fit(ChainModel, words, tags),
        *of_fit(MulticlassModel, table, classes, " (multiclass)"),
        *methods(
            LatentStructuredSVM, lambda: fitted(ChainModel(), words(), tags()),
            {
                **{name: {"X": X} for name in answers},
                "predict_states": {"X": X, "y": y}, "loss": {"X": X, "y": y},
                "calibrate": {"X": X, "y": y, "sample_weight": weight},
                "score": {"X": X, "y": y, "sample_weight": weight}, "feature_weights": {},
            },
            variants={"sample_weight": [None]},
            allows={**allows, ("y", "none"): "None leaves all labels free"},
        ),
        *methods(LatentStructuredSVM, relaxed, {"predict_relaxed": {"X": X}}),
        *methods(
            LatentStructuredSVM, lambda: fitted(MulticlassModel(), table(), classes()),
            {"decision_function": {"X": table()[:3]}},
        ),
    ]  # fmt: skip
