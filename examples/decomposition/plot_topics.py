"""
====================================================
Topic models by moments and by variational inference
====================================================

Latent Dirichlet allocation (LDA) is commonly fitted by variational inference from a random start.
``DiscreteICA`` computes the topics from the second and third moments of the word counts, without a
random start. Generated documents show errors and times: moments are faster, variational inference
is more accurate on few documents, and ``refine="vi"`` combines both. Docstrings show real topics.
"""

# %%
# Error and time
# --------------
# All methods fit parts of one generated corpus with known topics. Moments take a small fraction of
# the time. Their error approaches that of variational inference as documents are added.

import ast
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import scipy
import sklearn
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer

from sklearn_fw.datasets import make_topic_corpus
from sklearn_fw.decomposition import DiscreteICA
from sklearn_fw.displays import ScreeDisplay, TopicDisplay
from sklearn_fw.metrics import topic_l1_error

SIZES = [250, 500, 1000, 2000]
corpus = make_topic_corpus(max(SIZES), 200, 6, random_state=0)
models = {
    "DiscreteICA": DiscreteICA(6),
    'DiscreteICA, refine="vi"': DiscreteICA(6, refine="vi"),
    "LatentDirichletAllocation": LatentDirichletAllocation(6, random_state=0),
}
for model in models.values():
    model.fit(corpus.X[:50])  # compiles the kernels

errors, seconds = ({name: [] for name in models} for _ in range(2))
for size in SIZES:
    for name, model in models.items():
        started = time.process_time()
        found = model.fit(corpus.X[:size]).components_
        seconds[name].append(time.process_time() - started)
        errors[name].append(topic_l1_error(corpus.topics, found))

fig, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for (name, error), marker in zip(errors.items(), "os^"):
    axes[0].loglog(SIZES, seconds[name], f"{marker}-")
    axes[1].semilogx(SIZES, error, f"{marker}-", label=name)
axes[0].set(ylabel="CPU seconds per fit", title="Time")
axes[1].set(ylabel="l1 error of topics", title="Error", ylim=0)
for ax in axes:
    ax.set_xlabel("documents")
    ax.set_xticks(SIZES, SIZES)
    ax.tick_params(axis="x", which="minor", bottom=False, labelbottom=False)
axes[1].legend()

# %%
# Topics of docstrings
# --------------------
# The most frequent words of each topic of the longer docstrings of NumPy, SciPy and scikit-learn.
# ``names`` are the words of the vectorizer.


def docstrings():
    """Texts of the functions and classes of NumPy, SciPy and scikit-learn."""
    for package in (np, scipy, sklearn):
        for path in sorted(Path(package.__file__).parent.rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.FunctionDef | ast.ClassDef) and "tests" not in path.parts:
                    yield ast.get_docstring(node) or ""


vectorizer = CountVectorizer(
    stop_words="english", min_df=20, max_df=0.1, token_pattern=r"\b[a-z]{4,}\b"
)
counts = vectorizer.fit_transform([text for text in docstrings() if len(text) > 400])
model = DiscreteICA(6, random_state=0).fit(counts)
TopicDisplay.from_estimator(model, names=vectorizer.get_feature_names_out())

# %%
# Number of topics
# ----------------
# The generated corpus has six topics: its eigenvalues of the second moment fall to the noise level
# after the sixth. ``n_components="auto"`` keeps those above the largest one of shuffled words.

ScreeDisplay.from_estimator(DiscreteICA("auto", moments="gp", random_state=0).fit(corpus.X))
plt.show()
