"""Valid calls of the alignment of knowledge bases, of its generator and of its metric."""

from sklearn_fw import datasets, metrics
from sklearn_fw.alignment import KnowledgeBase, KnowledgeBaseAligner

from .calls import build, function, methods


def base():
    return KnowledgeBase([("m", "actor", "p")], [("m", "year", 1999)], {"m": "Blue", "p": "Lee"})


def fitted():
    return KnowledgeBaseAligner().fit(base(), base())


def entries():
    return [
        *build(KnowledgeBase, lambda: {"relations": [("m", "actor", "p")]}),
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
        ),
        *function(datasets.make_kb_pair, lambda: {"n_movies": 10, "random_state": 0}),
        *function(
            metrics.alignment_prf,
            lambda: {"truth": {"m": "m"}, "mapping": {"m": "m"}, "complete": True},
        ),
    ]
