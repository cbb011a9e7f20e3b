"""The fields of tokens, one flat list each, out of all forms that sentences may have."""

from itertools import chain

import numpy as np
import scipy.sparse as sp

from .._core.packed import Packed, starts_of
from .._core.validation import check_list


def token_columns(X, n_fields, name="X"):
    """One flat list of values per field, and the offsets of the sentences."""
    if isinstance(X, Packed):
        X = X.compact()
        return _split_rows(X.values, n_fields, name), X.offsets
    X = check_list(X, name, "sentences")
    for i, sentence in enumerate(X):
        sized = hasattr(sentence, "__len__") and getattr(sentence, "ndim", 1)
        table = sp.issparse(sentence) or hasattr(sentence, "columns")
        if not sized or table or isinstance(sentence, (str, bytes, tuple, dict, set)):
            raise TypeError(
                f"sample {i} is a {type(sentence).__name__}, not a sentence: {name} must hold "
                f"arrays of shape (n_tokens, {n_fields}) or lists of tokens"
            )
    offsets = starts_of([len(s) for s in X])
    if X and all(isinstance(s, np.ndarray) and s.ndim == X[0].ndim for s in X):
        widths = [s.shape[1:] for s in X]
        for i, width in enumerate(widths):
            if width != widths[0]:
                raise ValueError(
                    f"sample {i} has tokens of shape {width}, sample 0 of {widths[0]}: all "
                    "tokens need the same fields"
                )
        # Object arrays keep the strings; joining widths of text first would copy them all.
        return _split_rows(np.concatenate([s.astype(object) for s in X]), n_fields, name), offsets
    tokens = list(chain.from_iterable(X))
    if n_fields == 1 and all(isinstance(t, str) for t in tokens):
        return [tokens], offsets
    if n_fields == 1:
        tokens = [(token,) if isinstance(token, str) else token for token in tokens]
    for j, token in enumerate(tokens):
        sequence = isinstance(token, list | tuple) or np.ndim(token) == 1
        fits = sequence and hasattr(token, "__getitem__") and len(token) >= n_fields
        if not fits:
            i = np.searchsorted(offsets, j, side="right") - 1
            _refuse(token, f"token {j - offsets[i]} of sample {i}", n_fields, name)
    return [[token[k] for token in tokens] for k in range(n_fields)], offsets


def _refuse(token, place, n_fields, name):
    if isinstance(token, dict):
        raise TypeError(
            f"{place} is a dict: use NodeTransformer(DictVectorizer()) for dicts in {name}"
        )
    if not isinstance(token, (str, bytes, list, tuple, np.ndarray)):
        raise TypeError(
            f"{place} is {token!r:.60} of type {type(token).__name__}: a token of {name} is a str, "
            f"or a sequence with one str for each of {n_fields} fields"
        )
    raise ValueError(f"{place} is {token!r:.60}: it needs {n_fields} fields in {name}")


def _split_rows(rows, n_fields, name):
    if sp.issparse(rows) or rows.ndim > 2:
        raise TypeError(f"{name} must hold tokens with text fields, got {type(rows).__name__}")
    if rows.ndim == 1 and n_fields == 1:
        return [rows.tolist()]
    if rows.ndim != 2 or rows.shape[1] < n_fields:
        raise ValueError(
            f"tokens of {name} have shape {rows.shape[1:]}: they need at least {n_fields} fields"
        )
    return [rows[:, k].tolist() for k in range(n_fields)]
