"""Pairs of views of text: docstrings and identifiers, English and French sentences."""

import ast
import importlib.util
import re
import sysconfig
from pathlib import Path

import numpy as np
import scipy.sparse as sp

__all__ = ["docstring_views", "sentence_views"]

PACKAGES = ("numpy", "scipy", "sklearn")
LEAST_LETTERS, LEAST_IDENTIFIERS = 80, 5


def docstring_views(limit=None):
    """Words of docstrings and identifiers of code of the standard library and three packages.

    Returns counts X, y and their words.
    """
    folders = [Path(sysconfig.get_paths()["stdlib"])]
    folders += [Path(importlib.util.find_spec(name).origin).parent for name in PACKAGES]
    texts = []
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).parts
            if "site-packages" in parts or "tests" in parts or "test" in parts:
                continue
            texts += _pairs_of(path)
    texts = texts[:limit]
    return *_counts([words for words, _ in texts]), *_counts([names for _, names in texts])


def _pairs_of(path):
    try:
        tree = ast.parse(path.read_text(encoding="utf-8"))
    except (SyntaxError, UnicodeDecodeError, ValueError):  # files that show bad input
        return []
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module | ast.AsyncFunctionDef):
            continue
        text = ast.get_docstring(node) or ""
        names = [
            part.id if isinstance(part, ast.Name) else part.attr
            for part in ast.walk(node)
            if isinstance(part, ast.Name | ast.Attribute)
        ]
        if len(text) > LEAST_LETTERS and len(names) >= LEAST_IDENTIFIERS:
            found.append((re.findall(r"[a-z_]{2,}", text.lower()), names))
    return found


def sentence_views(data_home=None):
    """English and French sentence pairs as counts, all files of word alignment."""
    from sklearn_fw.datasets import load_word_alignment

    data = load_word_alignment(data_home)
    views = []
    for side in ("source", "target"):
        sentences = [*data[f"{side}_train"], *data[f"{side}_test"]]
        words = [[w.lower() for w in s if len(w) > 3 and w.isalpha()] for s in sentences]
        views += _counts(words, min_df=4)
    return tuple(views)


def _counts(documents, min_df=10, max_df=0.2):
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

    stop = [*ENGLISH_STOP_WORDS, "self"]
    vectorizer = CountVectorizer(
        analyzer=lambda words: [w for w in words if w not in stop], min_df=min_df, max_df=max_df
    )
    counts = vectorizer.fit_transform(documents)
    return sp.csr_array(counts.astype(np.float64)), vectorizer.get_feature_names_out()
