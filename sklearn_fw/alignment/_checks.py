"""Parameters of the aligner, checked before anything is done."""

from collections.abc import Mapping

import numpy as np

from .._core.links import as_mapping
from .._core.validation import (
    check_choice,
    check_integer,
    check_not_negative,
    check_number,
    check_random_state,
)
from ._encoding import SIMILARITIES


def check_parameters(model):
    """Refuse parameters of an aligner that make no sense."""
    for name in ("alpha", "beta", "seed_fraction", "suggestion_threshold"):
        if name == "suggestion_threshold" and _is_auto(model, name):
            continue
        check_number(getattr(model, name), name)
        if not 0.0 <= getattr(model, name) <= 1.0:
            raise ValueError(f"{name} must be between 0 and 1, got {getattr(model, name)!r}")
    if not (isinstance(model.threshold, float) and model.threshold == np.inf):
        check_not_negative(model.threshold, "threshold")
    for name in ("property_smoothing", "graph_smoothing", "string_smoothing"):
        if name != "string_smoothing" or not _is_auto(model, name):
            check_not_negative(getattr(model, name), name)
    _check_choices(model)
    for name in ("min_shared_words", "max_block", "max_neighbor_pairs"):
        check_integer(getattr(model, name), name, 1)
    check_integer(model.n_stop_words, "n_stop_words", 0)
    if model.max_matches is not None:
        check_integer(model.max_matches, "max_matches", 0)
    if not callable(model.tokenizer):
        check_choice(model.tokenizer, "tokenizer", ("auto", "words", "trigrams"))
    check_random_state(model.random_state)
    similarity = model.property_similarity
    if isinstance(similarity, Mapping):
        for name, kind in similarity.items():
            check_choice(kind, f"property_similarity[{name!r}]", SIMILARITIES)
    else:
        check_choice(similarity, "property_similarity", ("auto",))


def _is_auto(model, name):
    """Whether a parameter is "auto"; other strings are refused."""
    value = getattr(model, name)
    if isinstance(value, str):
        check_choice(value, name, ("auto",), "a number")
    return isinstance(value, str)


def _check_choices(model):
    check_choice(model.string_weights, "string_weights", ("idf", "uniform"))
    check_choice(model.property_weights, "property_weights", ("idf", "uniform"))
    check_choice(model.graph_weights, "graph_weights", ("uniform", "inverse_degree"))
    if model.suggestions is not None:
        check_choice(model.suggestions, "suggestions", ("inverted_index",))
    if isinstance(model.seed, str):
        check_choice(model.seed, "seed", ("exact_string", "random_exact"))
    for name in ("seed", "relation_map", "property_map"):
        if not isinstance(getattr(model, name), str) or name != "seed":
            as_pairs(getattr(model, name), name)


def as_pairs(mapping, name):
    """A dict, or a list of pairs, as a list of pairs; None stays None."""
    if mapping is None:
        return None
    pairs = list(mapping.items()) if isinstance(mapping, Mapping) else mapping
    if not isinstance(pairs, list | tuple) or not all(
        isinstance(p, tuple | list) and len(p) == 2 for p in pairs
    ):
        raise ValueError(f"{name} must be a dict or a list of pairs, got {mapping!r:.60}")
    return pairs


def check_truth(truth, kb1, kb2):
    """Truth as a dict, of which at least one pair is of entities that both sides have."""
    truth = as_mapping(truth, "truth")
    if truth and not any(a in kb1._codes and b in kb2._codes for a, b in truth.items()):
        pair, firsts = next(iter(truth.items())), (kb1.entities[0], kb2.entities[0])
        raise ValueError(
            "truth holds no pair of an entity of the first side and one of the second: it has "
            f"{pair!r:.80}, and their first entities are {firsts!r:.80}"
        )
    return truth
