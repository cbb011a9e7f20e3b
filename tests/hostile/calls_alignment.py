"""Valid calls of the alignment of knowledge bases, of its generator and of its metric."""

import functools

import numpy as np

from sklearn_fw import datasets, metrics
from sklearn_fw.alignment import (
    AlignmentCurveDisplay,
    KnowledgeBase,
    KnowledgeBaseAligner,
    MatchEvidenceDisplay,
)

from .calls import build, function, methods

OTHER_NAMES = {
    (argument, damage): "another name, of somebody whom the other mapping lacks"
    for argument in ("truth.m", "mapping.m")
    for damage in ("capitals", "code", "code_of_it", "date", "kind", "number", "text", "thing")
}


def base():
    return KnowledgeBase([("m", "actor", "p")], [("m", "year", 1999)], {"m": "Blue", "p": "Lee"})


def fitted():
    return KnowledgeBaseAligner().fit(base(), base())


def of_displays():
    stored = {("*", "*"): "stored; plot checks"}
    bars = {
        "entity": "m", "names": ["m"], "evidence": [[0.1, 0.2, 0.3]], "matched": [True],
        "taken_by": [""], "threshold": 0.25,
    }  # fmt: skip
    lines = {name: np.ones(2) for name in ("precision", "recall", "f1")}
    lines |= {"threshold": np.array([np.inf, 0.5]), "n_seed": 1}
    found = []
    for cls, made, drawn, plotted in (
        (MatchEvidenceDisplay, bars, {"entity1": "m", "n": 2}, {}),
        (
            AlignmentCurveDisplay, lines, {"truth": {"m": "m"}, "against": "matches"},
            {"against": "matches"},
        ),
    ):  # fmt: skip
        found += build(cls, functools.partial(dict, made), allows=stored)
        pictures = {
            "plot": {"ax": None, **plotted},
            "from_estimator": {"estimator": fitted(), **drawn, "ax": None},
        }
        found += methods(cls, functools.partial(cls, **made), pictures)
    return found


def entries():
    return [
        *build(
            KnowledgeBase,
            lambda: {"relations": [("m", "actor", "p")]},
            allows={
                ("relations", "nothing_inside"): "no facts are the default",
                ("relations.#", "thing_inside"): "nodes of graphs may be objects of any kind",
            },
        ),
        *methods(KnowledgeBase, base, {"merge": lambda: {"other": base()}}),
        *methods(
            KnowledgeBaseAligner,
            fitted,
            {
                "fit": lambda: {"kb1": base(), "kb2": base()},
                "partial_fit": lambda: {"kb1": base(), "kb2": base()},
                "fit_predict": lambda: {"kb1": base(), "kb2": base()},
                "predict": {"entities1": ["m", "p"]},
                "score_samples": {"pairs": [("m", "m"), ("p", "m")]},
                "candidates": {"entity1": "m", "n": 2},
                "evaluate": {"truth": {"m": "m"}},
                "score": {"truth": {"m": "m"}},
                "curve": {"truth": {"m": "m"}},
            },
        ),
        *methods(
            KnowledgeBase,
            base,
            {"from_triples": lambda: {"triples": [("m", "actor", "p"), ("p", "age", 3)]}},
            allows={
                ("triples.#", "thing_inside"): "values are kept as text",
                ("triples.#", "nan_inside"): "a value that is missing",
            },
        ),
        *function(datasets.make_kb_pair, lambda: {"n_movies": 10, "random_state": 0}),
        *function(
            metrics.alignment_prf,
            lambda: {"truth": {"m": "m"}, "mapping": {"m": "m"}, "complete": True},
            allows=OTHER_NAMES,
        ),
        *of_displays(),
    ]
