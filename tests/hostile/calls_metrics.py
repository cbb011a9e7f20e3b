"""Valid calls of metrics and preprocessing."""

import functools

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

from sklearn_fw import metrics, preprocessing
from sklearn_fw.structured import StructuredSVM

from .calls import fitting, function, generator, methods


def true():
    return [np.array([0, 1, 2]), np.array([1, 0])]


def predicted():
    return [np.array([0, 1, 1]), np.array([1, 0])]


def chunks():
    return [["B-NP", "I-NP", "O"], ["B-VP", "O"]]


def chunked():
    return [["B-NP", "I-NP", "B-NP"], ["B-VP", "O"]]


def tags_and_weights(**more):
    return lambda: {
        "y_true": chunks(), "y_pred": chunked(), "sample_weight": np.array([1.0, 2.0]), **more,
    }  # fmt: skip


def labels_and_weights(**more):
    return lambda: {
        "y_true": true(), "y_pred": predicted(), "sample_weight": np.array([1.0, 2.0]), **more,
    }  # fmt: skip


class Reader(BaseEstimator):
    """Predicts the chunks that are right, nearly."""

    def predict(self, X):
        return chunked()


@functools.cache
def chain():
    X = [np.eye(3)[y] for y in true()]
    return StructuredSVM("chain", C=1.0, max_iter=20, random_state=0).fit(X, true())


def sentences():
    return [[["He", "PRP"], ["runs", "VBZ"]], [["Stop", "VB"]]]


ANY_LABELS = {
    (argument, damage): "labels are compared, whatever they are"
    for argument in ("y_true", "y_pred")
    for damage in (
        "complex_entries", "object_text", "object_thing", "half", "kind", "thing", "dates",
    )
} | {
    ("zero_division", "nan"): "as in scikit-learn", ("y_true.#.#", "capitals"): "another type",
    ("y_pred.#.#", "capitals"): "another type", ("sample_weight", "none"): "no weights",
}  # fmt: skip
NODES = {"X": ("samples", "nodes")}
INNER = {
    ("X", damage): "StandardScaler takes what it can use of it"
    for damage in ("nan", "object_none", "object_nan", "all_nan", "huge", "huge_entry", "missing")
}
WORDS = {("X.#.#.#", damage): "any word" for damage in ("text", "capitals")}
UNUSED = {("input_features", "*"): "not used; the custom of scikit-learn has it"}
SCORER = {
    "raises": (AttributeError,),  # of scikit-learn, for what is no estimator
    "aliases": {"estimator": ("y_pred",)},
}


def entries():
    X = [np.eye(3)[y] for y in true()]
    scored = {"X": X, "y_true": true(), "sample_weight": np.array([1.0, 2.0])}
    nodes = [generator(1).normal(size=(n, 2)) for n in (3, 2, 4)]
    fitted_nodes = functools.partial(preprocessing.NodeTransformer(StandardScaler()).fit, nodes)
    token = {
        "templates": "tagging", "fields": ("w", "pos"), "functions": {"low": str.lower},
        "boundaries": True, "bias": True, "min_count": 1, "dtype": np.float64,
    }  # fmt: skip
    chunking = {
        "templates": "chunking", "fields": ("w", "pos"), "boundaries": True, "min_count": 1,
        "dtype": np.float64,
    }  # fmt: skip
    return [
        *function(
            metrics.alignment_error_rate,
            lambda: {
                "y_sure": [[(0, 0), (1, 1)], [(0, 0)]],
                "y_possible": [[(0, 0), (1, 1), (0, 1)], [(0, 0)]],
                "y_pred": [[(0, 0), (0, 1)], [(0, 0)]],
            },
        ),
        *function(
            metrics.mean_hamming_loss, labels_and_weights(normalize="node"), allows=ANY_LABELS
        ),
        *function(metrics.node_accuracy, labels_and_weights(), allows=ANY_LABELS),
        *function(metrics.sequence_accuracy, labels_and_weights(), allows=ANY_LABELS),
        *function(
            metrics.phrase_classification_report, tags_and_weights(digits=3), allows=ANY_LABELS
        ),
        *function(metrics.phrase_counts, tags_and_weights(), allows=ANY_LABELS),
        *function(
            metrics.phrase_f1_score, tags_and_weights(average="micro", zero_division=0.0),
            variants={"average": ["macro", None]}, allows=ANY_LABELS,
        ),
        *function(
            metrics.phrase_precision_recall_f1,
            tags_and_weights(average="micro", zero_division=0.0), allows=ANY_LABELS,
        ),
        *function(
            metrics.node_accuracy_scorer, lambda: {"estimator": chain(), **scored},
            name="metrics.node_accuracy_scorer", allows=ANY_LABELS, **SCORER,
        ),
        *function(
            metrics.sequence_accuracy_scorer, lambda: {"estimator": chain(), **scored},
            name="metrics.sequence_accuracy_scorer", allows=ANY_LABELS, **SCORER,
        ),
        *function(
            metrics.phrase_f1_scorer,
            lambda: {"estimator": Reader(), "X": X, "y_true": chunks()},
            name="metrics.phrase_f1_scorer", **SCORER,
            allows={("X", "*"): "the estimator takes anything", **ANY_LABELS},
        ),
        *fitting(
            preprocessing.TokenFeatures, lambda: dict(token), lambda: {"X": sentences()},
            allows=WORDS,
        ),
        *methods(
            preprocessing.TokenFeatures,
            lambda: preprocessing.TokenFeatures(fields=("w", "pos")).fit(sentences()),
            {
                "transform": {"X": sentences()}, "fit_transform": {"X": sentences()},
                "get_feature_names_out": {"input_features": None},
            },
            aliases={"X": ("token", "field")}, allows=UNUSED | WORDS,
        ),
        *fitting(
            preprocessing.ChunkingFeatures, lambda: dict(chunking), lambda: {"X": sentences()},
            allows=WORDS,
        ),
        *methods(
            preprocessing.ChunkingFeatures,
            lambda: preprocessing.ChunkingFeatures().fit(sentences()),
            {
                "transform": {"X": sentences()}, "fit_transform": {"X": sentences()},
                "get_feature_names_out": {"input_features": None},
            },
            aliases={"X": ("token", "field")}, allows=UNUSED | WORDS,
        ),
        *fitting(
            preprocessing.NodeTransformer,
            lambda: {"transformer": StandardScaler(), "part": 0},
            lambda: {"X": [x.copy() for x in nodes]},
            aliases=NODES, allows={("part", "*"): "used for samples that are tuples", **INNER},
        ),
        *methods(
            preprocessing.NodeTransformer, fitted_nodes,
            {
                "transform": {"X": nodes}, "fit_transform": {"X": nodes},
                "inverse_transform": {"X": nodes},
                "get_feature_names_out": {"input_features": None},
            },
            aliases=NODES, allows=INNER,
        ),
        *function(
            preprocessing.crfsuite_chunking_attributes, lambda: {"sentence": sentences()[0]},
            aliases={"sentence": ("token", "field")},
        ),
        *function(preprocessing.tagging_templates, lambda: {"word": "w"}),
    ]  # fmt: skip
