"""The fields of tokens, one flat list each, out of all forms that sentences may have."""

from itertools import chain

import numpy as np
import scipy.sparse as sp

from .._packed import Packed
from .._validation import check_list

__all__ = ["token_columns"]


def token_columns(X, n_fields):
    """One flat list of values per field, and the offsets of the sentences."""
    if isinstance(X, Packed):
        X = X.compact()
        return _split_rows(X.values, n_fields, "X"), X.offsets
    X = check_list(X, "X", "sentences")
    for i, sentence in enumerate(X):
        sized = hasattr(sentence, "__len__") and getattr(sentence, "ndim", 1)
        table = sp.issparse(sentence) or hasattr(sentence, "columns")
        if not sized or table or isinstance(sentence, (str, bytes, tuple, dict, set)):
            raise TypeError(
                f"sample {i} is a {type(sentence).__name__}, not a sentence: X must hold arrays of "
                f"shape (n_tokens, {n_fields}) or lists of tokens"
            )
    offsets = np.concatenate([[0], np.cumsum([len(s) for s in X], dtype=np.int64)])
    if X and all(isinstance(s, np.ndarray) and s.ndim == X[0].ndim for s in X):
        widths = [s.shape[1:] for s in X]
        for i, width in enumerate(widths):
            if width != widths[0]:
                raise ValueError(
                    f"sample {i} has tokens of shape {width}, sample 0 of {widths[0]}: all "
                    "tokens need the same fields"
                )
        # Object arrays keep the strings; joining widths of text first would copy them all.
        return _split_rows(np.concatenate([s.astype(object) for s in X]), n_fields, "X"), offsets
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
            _refuse(token, f"token {j - offsets[i]} of sample {i}", n_fields)
    return [[token[k] for token in tokens] for k in range(n_fields)], offsets


def _refuse(token, name, n_fields):
    if isinstance(token, dict):
        raise TypeError(f"{name} is a dict: use NodeTransformer(DictVectorizer()) for dicts")
    if not isinstance(token, (str, bytes, list, tuple, np.ndarray)):
        raise TypeError(
            f"{name} is {token!r} of type {type(token).__name__}: a token is a str, or a sequence "
            f"with one str for each of {n_fields} fields"
        )
    raise ValueError(f"{name} is {token!r}: it needs {n_fields} fields")


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
