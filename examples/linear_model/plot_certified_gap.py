"""
========================
How far from the optimum
========================

Two programs fit the same linear model to the same sparse texts: scikit-learn's SAGA, and the sparse
steps of ``AsagaClassifier``. Both come closer to the optimum with every epoch. Only one of them
knows how close it is, and stops there.
"""

# %%
# Texts
# -----
# The 20 newsgroups where ``SKLEARN_FW_DATA`` names a folder that has them, the groups on computers
# and science against the others; else counts drawn from two vocabularies whose words have the
# frequencies of a language. Either way rows touch few of many columns.

import gzip
import json
import os
import time
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import csr_matrix
from scipy.special import expit, xlogy
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer, TfidfVectorizer
from sklearn.linear_model import LogisticRegression

from sklearn_fw import AsagaClassifier


def load_newsgroups(path):
    with gzip.open(path, "rt") as lines:
        posts = [json.loads(line) for line in lines]
    X = TfidfVectorizer(sublinear_tf=True).fit_transform(post["text"] for post in posts)
    return X, np.array([post["label"].startswith(("comp.", "sci.")) for post in posts])


def draw_texts(n_texts=4000, n_words=15_000, length=120, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n_texts) < 0.5
    counts = np.zeros((n_texts, n_words), dtype=np.int16)
    for topic in (False, True):
        taste = np.exp(0.35 * rng.standard_normal(n_words))
        frequency = taste / np.arange(1.0, n_words + 1)
        texts = np.repeat(np.flatnonzero(y == topic), length)
        words = rng.choice(n_words, size=texts.size, p=frequency / frequency.sum())
        np.add.at(counts, (texts, words), 1)
    return TfidfTransformer(sublinear_tf=True).fit_transform(csr_matrix(counts)), y


path = Path(os.environ.get("SKLEARN_FW_DATA", "")) / "20news" / "train.jsonl.gz"
X, y = load_newsgroups(path) if path.is_file() else draw_texts()
n, d = X.shape
print(f"{n} texts, {d} words, {X.nnz / n:.0f} different ones per text")

# %%
# One number for any answer
# -------------------------
# The objective is that of ``LogisticRegression``, as a mean. For a model without intercept its
# duality gap is five lines: the slopes of the losses at the scores of ``w`` bound the optimum from
# below, whatever made ``w``. ``AsagaClassifier`` computes it at the end of every fit.

C, l1_ratio = 3.0, 0.5
l1, l2 = l1_ratio / (C * n), (1 - l1_ratio) / (C * n)
sign = np.where(y, 1.0, -1.0)


def objective_and_gap(w):
    margins = sign * (X @ w)
    value = np.logaddexp(0.0, -margins).mean() + l1 * np.abs(w).sum() + l2 / 2 * (w @ w)
    p = expit(-margins)
    excess = np.maximum(np.abs(X.T @ (sign * p)) / n - l1, 0.0)
    dual = -(xlogy(p, p) + xlogy(1 - p, 1 - p)).mean() - excess @ excess / (2 * l2)
    return value, value - dual


# %%
# Side by side
# ------------
# Every point is a fit of its own with another number of epochs, and its time is that of the whole
# fit, certificate included. A step costs what its row costs: columns that a row does not touch are
# not brought up to date, since the steps on the others are longer in exchange. That is why an epoch
# is cheap although the l1 norm concerns all columns.

warnings.simplefilter("ignore", ConvergenceWarning)
same = {"C": C, "l1_ratio": l1_ratio, "fit_intercept": False, "random_state": 0}
best = AsagaClassifier(**same, tol=1e-13, max_iter=500).fit(X, y)  # the first fit compiles
lowest = objective_and_gap(best.coef_[0])[0]

programs = {
    "AsagaClassifier": (lambda k: AsagaClassifier(**same, tol=0, max_iter=k), "tab:blue"),
    'LogisticRegression("saga")': (
        lambda k: LogisticRegression(**same, solver="saga", tol=0, max_iter=k),
        "tab:orange",
    ),
}
figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
for name, (make, color) in programs.items():
    rows = []
    for n_epochs in (1, 2, 3, 4, 6, 8, 11, 16, 23, 32):
        start = time.perf_counter()
        model = make(n_epochs).fit(X, y)
        seconds = time.perf_counter() - start
        rows.append([n_epochs, seconds, *objective_and_gap(model.coef_[0])])
    epochs, seconds, values, gaps = np.array(rows).T
    for ax, cost in zip(axes, (epochs, seconds)):
        above = np.maximum(values - lowest, 1e-12)
        ax.plot(cost, above, "o-", markersize=4, color=color, label=f"{name}: above the optimum")
        ax.plot(cost, gaps, "--", color=color, label=f"{name}: duality gap")
axes[0].set(yscale="log", ylim=1e-12, xlabel="epochs", ylabel="objective")
axes[1].set(xscale="log", xlabel="seconds of the whole fit")
axes[0].legend(fontsize=9)

# %%
# Knowing when to stop
# --------------------
# scikit-learn stops when an epoch changes the largest coefficient by less than the fraction ``tol``.
# How accurate the answer then is depends on the problem. Here ``tol`` is the gap, as a fraction of
# the objective at zero.

settings = {key: value for key, value in same.items()}
print("tol      program               epochs    seconds    gap / objective at zero")
for tol in (1e-2, 1e-3, 1e-4, 1e-5):
    for model in (
        AsagaClassifier(**same, tol=tol, max_iter=1000),
        LogisticRegression(**same, solver="saga", tol=tol, max_iter=1000),
    ):
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
        gap = objective_and_gap(model.coef_[0])[1] / np.log(2)
        epochs = np.max(model.n_iter_)
        print(f"{tol:.0e}    {type(model).__name__:20s} {epochs:7d} {seconds:10.2f} {gap:13.1e}")

# %%
# Between two exact checks
# ------------------------
# An exact gap costs as much as half an epoch. Between two of them the memory of the method, one
# slope per row, is a dual point of its own; how fast its bound still grows tells what is missing.
# This estimate costs a sweep over the columns. Only when it is below ``tol`` is the exact gap
# computed, and the fit ends only if that is below ``tol`` too.

model = AsagaClassifier(**same, tol=1e-9, max_iter=1000).fit(X, y)
history = model.history_
certified = history["certified"]
estimates = np.where(history["dual_gap"] < 1, history["dual_gap"], np.nan)  # none at first

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.plot(history["n_iter"][~certified], estimates[~certified], ".-", color="0.6", label="estimates")
ax.plot(history["n_iter"][certified], estimates[certified], "D", color="tab:red", label="exact gap")
ax.axhline(1e-9 * np.log(2), color="tab:red", linewidth=1, linestyle=":", label="tol")
