"""Data sets and objective of the benchmark of linear models."""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from _report import data_path
from scipy import sparse
from scipy.special import expit, xlogy
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler, normalize

L1_RATIOS = {"l2": 0.0, "elastic_net": 0.5}
TEXTS = {
    "generator": "made here: power-law columns, rows of norm 1, labels of a noisy linear model",
    "20news": "20 newsgroups, the by-date training texts; TF-IDF of words and word pairs, "
    "logarithms of counts; the nine groups comp.* and sci.* against the rest",
    "a9a": "census records, one-hot, training part",
    "covtype": "forest cover type, class 2 against the rest; dense, columns standardized",
}


@dataclass
class Objective:
    """``mean log(1 + exp(-y z)) + alpha (l1_ratio ||w||_1 + (1 - l1_ratio) / 2 ||w||^2)``."""

    alpha: float
    l1_ratio: float

    @property
    def l1(self):
        return self.alpha * self.l1_ratio

    @property
    def l2(self):
        return self.alpha * (1 - self.l1_ratio)

    def value(self, X, y, w):
        penalty = self.l1 * np.abs(w).sum() + self.l2 / 2 * (w @ w)
        return float(np.logaddexp(0.0, -y * (X @ w)).mean() + penalty)

    def dual_gap(self, X, y, w):
        """Upper bound on the suboptimality of w, from the dual point that w defines."""
        p = expit(-y * (X @ w))
        v = X.T @ (y * p) / len(y)
        conjugate = (xlogy(p, p) + xlogy(1 - p, 1 - p)).mean()
        excess = np.maximum(np.abs(v) - self.l1, 0.0)
        return self.value(X, y, w) + float(conjugate + excess @ excess / (2 * self.l2))


def make_objective(name, n):
    return Objective(1 / n, L1_RATIOS[name])


def make_data(name, quick):
    """``X`` (CSR or dense, float64) and ``y`` (-1 or 1, float64); ``quick`` makes them small."""
    makers = {"generator": generator, "20news": newsgroups, "a9a": a9a, "covtype": covtype}
    X, y = makers[name](quick)
    if sparse.issparse(X):
        X = sparse.csr_matrix(X, dtype=np.float64)
        X.sum_duplicates()
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, np.ascontiguousarray(y, dtype=np.float64)


def generator(quick, n=200_000, d=50_000, draws=75, decay=1.1, seed=0):
    """Rows like those of RCV1: ``draws`` columns each, column j with probability ~ (j+1)^-decay."""
    if quick:
        n, d = 5_000, 2_000
    rng = np.random.default_rng(seed)
    cumulated = np.cumsum(np.arange(1.0, d + 1) ** -decay)
    columns = np.searchsorted(cumulated / cumulated[-1], rng.random(n * draws), side="right")
    indptr = np.arange(0, n * draws + 1, draws)
    X = sparse.csr_matrix((rng.standard_normal(n * draws), columns, indptr), shape=(n, d))
    X.sum_duplicates()
    X = normalize(X)
    scores = 3 * (X @ rng.standard_normal(d)) + rng.standard_normal(n)
    return X, np.where(scores > 0, 1.0, -1.0)


def newsgroups(quick):
    """TF-IDF of words and word pairs; computers and science against the rest."""
    with gzip.open(data_path("20news/train.jsonl.gz"), "rt") as file:
        rows = [json.loads(line) for line in file]
    rows = rows[:: 20 if quick else 1]
    X = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True).fit_transform(
        row["text"] for row in rows
    )
    wanted = [row["label"].startswith(("comp.", "sci.")) for row in rows]
    return X, np.where(wanted, 1.0, -1.0)


def a9a(quick):
    X = sparse.load_npz(data_path("a9a/X_train.npz"))
    y = np.load(data_path("a9a/y_train.npy"))
    return (X[:2_000], y[:2_000]) if quick else (X, y)


def covtype(quick):
    with np.load(data_path("covtype/covtype.npz")) as file:
        X, y = file["X"].astype(np.float64), file["y"]
    if quick:
        X, y = X[::100].copy(), y[::100]
    return StandardScaler().fit_transform(X), np.where(y == 2, 1.0, -1.0)


def save_data(name, quick, folder):
    """Make the data once and leave them in ``folder``; returns facts about them."""
    X, y = make_data(name, quick)
    if sparse.issparse(X):
        sparse.save_npz(f"{folder}/X.npz", X, compressed=False)
        per_row, largest = X.nnz / X.shape[0], np.bincount(X.indices).max() / X.shape[0]
        norms = np.sqrt(X.multiply(X).sum(axis=1).max())
    else:
        np.save(f"{folder}/X.npy", X)
        per_row, largest, norms = float(X.shape[1]), 1.0, np.sqrt((X**2).sum(axis=1).max())
    np.save(f"{folder}/y.npy", y)
    return {
        "n": X.shape[0], "d": X.shape[1], "per row": per_row, "largest column": largest,
        "largest norm": float(norms), "positive": float((y > 0).mean()),
    }  # fmt: skip


def load_data(folder):
    """What `save_data` left."""
    if Path(f"{folder}/X.npz").exists():
        X = sparse.csr_matrix(sparse.load_npz(f"{folder}/X.npz"))
    else:
        X = np.load(f"{folder}/X.npy")
    return X, np.load(f"{folder}/y.npy")
