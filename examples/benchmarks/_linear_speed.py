"""Sparse data and the l1 problem of the races of linear models in which few contenders run."""

import numpy as np
from _linear_problems import Objective, generator, make_objective
from _report import data_path
from scipy import sparse
from scipy.special import expit, xlogy

TEXTS = {
    "w8a": "web pages, binary attributes; one category against the rest",
    "texts": "made here like the generator, with fewer rows and columns",
    "flights": "made here: one-hot columns of seven categories with many rare values",
    "half-dense": "made here: a sparse matrix of which half the entries are not zero",
}


class L1Objective(Objective):
    """The objective with ``l1_ratio=1``."""

    def dual_gap(self, X, y, w):
        p = expit(-y * (X @ w))
        p *= min(1.0, self.l1 / np.abs(X.T @ (y * p) / len(y)).max())  # feasible without a ridge
        return self.value(X, y, w) + float((xlogy(p, p) + xlogy(1 - p, 1 - p)).mean())


def objective_of(problem, n):
    return L1Objective(1 / n, 1.0) if problem == "l1" else make_objective(problem, n)


def texts(quick):
    return generator(quick, n=20_000, d=30_000)


def flights(quick, n=262_000, sizes=(7_000, 5_000, 2_500, 700, 700, 80, 20), seed=0):
    """One value of each category per row, value j with probability ~ (j+1)^-1.1."""
    n, rng = (5_000 if quick else n), np.random.default_rng(seed)
    columns = np.empty((n, len(sizes)), np.int32)
    for k, size in enumerate(sizes):
        share = np.cumsum(np.arange(1.0, size + 1) ** -1.1)
        columns[:, k] = np.searchsorted(share / share[-1], rng.random(n)) + sum(sizes[:k])
    indptr = np.arange(0, columns.size + 1, len(sizes))
    X = sparse.csr_matrix((np.ones(columns.size), columns.ravel(), indptr), (n, sum(sizes)))
    scores = X @ rng.standard_normal(X.shape[1]) + rng.logistic(size=n)
    return X, np.where(scores > 0, 1.0, -1.0)


def half_dense(quick, seed=0):
    n, d = (200, 1_000) if quick else (2_000, 20_000)
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * (rng.random((n, d)) < 0.5)
    scores = X[:, :50] @ rng.standard_normal(50) + rng.logistic(size=n)
    return sparse.csr_matrix(X), np.where(scores > 0, 1.0, -1.0)


def w8a(quick):
    X, y = sparse.load_npz(data_path("w8a/X.npz")), np.load(data_path("w8a/y.npy"))
    X, y = (X[::10], y[::10]) if quick else (X, y)
    return X, np.where(y > 0, 1.0, -1.0)


def save_data(name, quick, folder):
    """Make the data once and leave them in ``folder``; returns facts about them."""
    makers = {"w8a": w8a, "texts": texts, "flights": flights, "half-dense": half_dense}
    X, y = makers[name](quick)
    X = sparse.csr_matrix(X, dtype=np.float64)
    sparse.save_npz(f"{folder}/X.npz", X, compressed=False)
    np.save(f"{folder}/y.npy", y)
    return {
        "n": X.shape[0], "d": X.shape[1], "per row": X.nnz / X.shape[0],
        "largest column": np.bincount(X.indices).max() / X.shape[0],
        "largest norm": float(np.sqrt(X.multiply(X).sum(axis=1).max())),
        "positive": float((y > 0).mean()),
    }  # fmt: skip
