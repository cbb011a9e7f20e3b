"""
=================================================
Duality gap of logistic regression on sparse text
=================================================

scikit-learn's SAGA and two solvers of ``AsagaClassifier``, sparse SAGA and dual coordinate ascent,
fit the same linear model to the same sparse texts. All approach the optimum. Only
``AsagaClassifier`` computes a bound on its distance, and stops there.
"""

# %%
# Data
# ----
# The 20 newsgroups if the folder ``SKLEARN_FW_DATA`` contains them, with the groups on computers
# and science against the others. Otherwise counts drawn from two vocabularies, with word
# frequencies as in natural language. In both cases rows have few nonzeros, and there are many
# columns.

import gzip
import json
import os
import time
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import coo_matrix
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


def draw_texts(n_texts=3000, n_words=10_000, length=100, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n_texts) < n_texts // 2
    words = []
    for _ in range(2):  # word k of a vocabulary has a frequency of about 1 / k
        frequency = np.exp(0.35 * rng.standard_normal(n_words)) / np.arange(1, n_words + 1)
        words.append(
            rng.choice(n_words, size=(n_texts // 2) * length, p=frequency / frequency.sum())
        )
    texts = np.repeat(np.arange(n_texts), length)
    counts = coo_matrix((np.ones(texts.size), (texts, np.concatenate(words))), (n_texts, n_words))
    return TfidfTransformer(sublinear_tf=True).fit_transform(counts), y


path = Path(os.environ.get("SKLEARN_FW_DATA", "")) / "20news" / "train.jsonl.gz"
X, y = load_newsgroups(path) if path.is_file() else draw_texts()
n, d = X.shape
print(f"{n} texts, {d} words, {X.nnz / n:.0f} different ones per text")

# %%
# Objective and duality gap
# -------------------------
# The objective is that of ``LogisticRegression``, as a mean. Without an intercept its duality gap
# takes five lines: the derivatives of the losses at the scores of any ``w`` give a lower bound on
# the optimum. ``AsagaClassifier`` computes it at the end of every fit.

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
# Convergence by epochs and by time
# ---------------------------------
# Every point is a separate fit, and its time is that of the whole fit on one thread, certificate
# included. The cost of a step of ``solver="asaga"`` depends on the nonzeros of its row only,
# although the l1 norm concerns all columns: a step skips the columns without an entry in the row,
# and takes longer proximal steps on the others in exchange. A step of dual coordinate ascent costs
# as little: it maximizes the dual over the variable of one row.

warnings.simplefilter("ignore", ConvergenceWarning)
same = {"C": C, "l1_ratio": l1_ratio, "fit_intercept": False, "random_state": 0}
fits = {
    "AsagaClassifier()": (AsagaClassifier(**same), "tab:green"),
    'AsagaClassifier(solver="asaga")': (AsagaClassifier(solver="asaga", **same), "tab:blue"),
    'LogisticRegression(solver="saga")': (LogisticRegression(solver="saga", **same), "tab:orange"),
}


def timed_fit(model, **settings):
    model.set_params(**settings)
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start, *objective_and_gap(model.coef_[0])


for model in (AsagaClassifier(**same), AsagaClassifier(solver="asaga", **same)):  # also compiles
    _, lowest, _ = timed_fit(model, tol=1e-12, max_iter=500)
    print(f"{model.solver_}: gap {model.dual_gap_:.0e}")

epochs = np.array([1, 2, 3, 4, 6, 9, 13, 18, 25])
curves = {}
for name, (model, _) in fits.items():
    curves[name] = np.transpose([timed_fit(model, tol=0, max_iter=k) for k in epochs])

figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
for name, (_, color) in fits.items():
    seconds, values, gaps = curves[name]
    for ax, cost in zip(axes, (epochs, seconds)):
        ax.plot(cost, values - lowest, "o-", color=color, markersize=4, label=f"{name}: error")
        ax.plot(cost, gaps, "--", color=color, label=f"{name}: duality gap")
axes[0].set(yscale="log", ylim=1e-9, xlabel="epochs", ylabel="objective above the optimum")
axes[1].set(xscale="log", xlabel="CPU seconds of the whole fit")
axes[0].legend()

# %%
# Stopping criteria
# -----------------
# scikit-learn stops when an epoch changes no coefficient by more than the fraction ``tol`` of the
# largest one. The accuracy then depends on the problem: here it is higher than requested, and far
# lower :ref:`on badly scaled columns <sphx_glr_gallery_linear_model_plot_badly_scaled.py>`. The
# ``tol`` of ``AsagaClassifier`` is the gap, as a fraction of the objective.

print("tol      program                            epochs  CPU seconds  gap / objective")
for tol in (1e-2, 1e-4):
    for name, (model, _) in fits.items():
        seconds, value, gap = timed_fit(model, tol=tol, max_iter=1000)
        row = f"{name:33s} {np.max(model.n_iter_):7d} {seconds:12.2f}"
        print(f"{tol:.0e}    {row} {gap / value:16.1e}")

# %%
# Gap estimates between exact checks
# ----------------------------------
# An exact gap costs about one epoch. In between, the memory of SAGA, one derivative per row, also
# is a dual point, and the growth of its bound predicts the remaining gap. This estimate costs one
# pass over the columns. Once it is below ``tol`` the exact gap is computed, and only the exact gap
# ends the fit.

tol = 1e-8
history = AsagaClassifier(solver="asaga", **same, tol=tol, max_iter=1000).fit(X, y).history_
exact = history["certified"]
shown = ~exact & (history["n_iter"] > 2)  # a rate needs more epochs

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
_, values, gaps = curves['AsagaClassifier(solver="asaga")']
ax.plot(epochs, gaps, "--", color="tab:blue", label="exact gap of separate fits")
ax.plot(epochs, values - lowest, "-", color="tab:blue", label="error")
ax.plot(history["n_iter"][shown], history["dual_gap"][shown], ".", color="0.4", label="estimate")
ax.plot(
    history["n_iter"][exact], history["dual_gap"][exact], "D", color="tab:red", label="exact gap"
)
ax.axhline(tol * lowest, color="tab:red", linewidth=1, linestyle=":", label="tol")
ax.set(yscale="log", xlabel="epochs", ylabel="objective above the optimum")
ax.legend()
