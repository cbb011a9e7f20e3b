"""Valid calls of the alignment of knowledge bases, of its generator and of its metric."""

from sklearn_fw import datasets, metrics
from sklearn_fw.alignment import KnowledgeBase, KnowledgeBaseAligner

from .calls import build, function, methods

ANY_NAME = {
    (argument, damage): "what can be hashed can name an entity"
    for argument in ("truth", "truth.m", "mapping", "mapping.m", "relations.#", "triples.#")
    for damage in (
        "capitals", "code", "code_of_it", "date", "kind", "nan", "nan_inside", "none", "number",
        "text", "thing", "thing_inside",
    )
} | {("relations", "nothing_inside"): "no facts are the default"}  # fmt: skip


def base():
    return KnowledgeBase([("m", "actor", "p")], [("m", "year", 1999)], {"m": "Blue", "p": "Lee"})


def fitted():
    return KnowledgeBaseAligner().fit(base(), base())


def entries():
    return [
        *build(KnowledgeBase, lambda: {"relations": [("m", "actor", "p")]}, allows=ANY_NAME),
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
            allows=ANY_NAME,
        ),
        *methods(
            KnowledgeBase,
            base,
            {"from_triples": lambda: {"triples": [("m", "actor", "p"), ("p", "age", 3)]}},
            allows=ANY_NAME,
        ),
        *function(datasets.make_kb_pair, lambda: {"n_movies": 10, "random_state": 0}),
        *function(
            metrics.alignment_prf,
            lambda: {"truth": {"m": "m"}, "mapping": {"m": "m"}, "complete": True},
            allows=ANY_NAME,
        ),
    ]
