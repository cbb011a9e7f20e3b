"""
=====================================
Multi-view CCA of docstrings and code
=====================================

A docstring and the code below it are two views of one function. ``MultiViewCCA`` computes the
factors that both views share; style, arithmetic and helpers are private to one view. For each
factor it lists the words of the docstring and the names in the code. The functions and classes are
those of NumPy, SciPy and scikit-learn.
"""

# %%
# Two views
# ---------
# Counts of words in docstrings, and of names and attributes in the syntax trees.

import ast
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy
import sklearn
from sklearn.cross_decomposition import CCA
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from sklearn_fw.datasets import make_two_views
from sklearn_fw.decomposition import MultiViewCCA
from sklearn_fw.displays import LoadingDisplay
from sklearn_fw.metrics import multiview_l1_error


def views_of(path):
    """Pairs of a docstring and the names in the code."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            text = ast.get_docstring(node) or ""
            parts = [n for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute)]
            if len(text) > 80 and len(parts) >= 5:
                yield text, [n.id if isinstance(n, ast.Name) else n.attr for n in parts]


def counts(documents):
    """Counts of words that are neither rare nor frequent."""
    vectorizer = CountVectorizer(
        analyzer=lambda words: [w for w in words if w not in ENGLISH_STOP_WORDS and w != "self"],
        min_df=10, max_df=0.2,
    )  # fmt: skip
    return vectorizer.fit_transform(documents), vectorizer.get_feature_names_out()


FOLDERS = [Path(package.__file__).parent for package in (np, scipy, sklearn)]
paths = [p for f in FOLDERS for p in sorted(f.rglob("*.py")) if "tests" not in p.parts]
pairs = [pair for path in paths for pair in views_of(path)]
X, words = counts([re.findall(r"[a-z_]{2,}", text.lower()) for text, _ in pairs])
y, names = counts([code for _, code in pairs])

# %%
# Shared factors
# --------------
# Left: words of docstrings. Right: names in the code with the same factor. The counts stay sparse.

model = MultiViewCCA(6, kind="discrete").fit(X, y)
LoadingDisplay.from_estimator(model, x_names=words, y_names=names)
plt.show()

# %%
# Comparison with classical CCA
# -----------------------------
# Correlations determine loadings only up to an invertible matrix: with more samples, classical CCA
# converges to the subspace of the loadings, but not to the loadings. Here two real-valued views
# share ten signed sources.

sizes = (500, 1000, 2000, 5000, 10_000)
errors = {"MultiViewCCA": [], "sklearn CCA": []}
for n_samples in sizes:
    data = make_two_views(n_samples, n_private=10, shape=0.1, random_state=0)
    for name, estimator in (("MultiViewCCA", MultiViewCCA(10)), ("sklearn CCA", CCA(10))):
        estimator.fit(data.X, data.y)
        errors[name].append(
            multiview_l1_error(
                data.x_loadings, data.y_loadings, estimator.x_loadings_, estimator.y_loadings_,
                signed=True,
            )
        )  # fmt: skip

figure, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
for name, values in errors.items():
    ax.loglog(sizes, values, "o-", label=name)
ax.set(xlabel="Samples", ylabel="Error of loadings")
ax.legend()
plt.show()
