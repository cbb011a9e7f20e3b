"""Data sets, objective and certified optimum of the benchmark of linear models.

Nothing here imports NumPy at the top: the processes of the contenders set their threads first.
"""

import gzip
import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, cg
from scipy.special import expit, xlogy
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import normalize

from sklearn_fw.datasets._files import find_file

OBJECTIVES = {"l2": (0.0, 1.0), "elastic_net": (0.5, 1.0), "sparse": (0.5, 10.0)}
TEXTS = {
    "generator": "made here: power-law columns, rows of norm 1, labels of a noisy linear model",
    "20news": "20 newsgroups, the by-date training texts; TF-IDF of words and word pairs, "
    "logarithms of counts; the nine groups comp.* and sci.* against the rest",
    "a9a": "census records, one-hot, training part",
    "covtype": "forest cover type, class 2 against the rest; dense, columns standardised",
    "covtype_raw": "the same, columns as they come",
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
    """The objective called ``name`` for n rows: alpha is a multiple of 1/n."""
    l1_ratio, multiple = OBJECTIVES[name]
    return Objective(multiple / n, l1_ratio)


def make_data(name, quick):
    """``X`` (CSR or dense, float64) and ``y`` (-1 or 1, float64); ``quick`` makes them small."""
    maker = {"generator": generator, "20news": newsgroups, "a9a": a9a}.get(name, covtype)
    if maker is covtype:
        X, y = covtype(quick, standardise=name == "covtype")
    else:
        X, y = maker(quick)
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
    with gzip.open(_find("20news/train.jsonl.gz", "the 20 newsgroups"), "rt") as file:
        rows = [json.loads(line) for line in file]
    rows = rows[:: 20 if quick else 1]
    X = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True).fit_transform(
        row["text"] for row in rows
    )
    wanted = [row["label"].startswith(("comp.", "sci.")) for row in rows]
    return X, np.where(wanted, 1.0, -1.0)


def a9a(quick):
    X = sparse.load_npz(_find("a9a/X_train.npz", "a9a"))
    y = np.load(_find("a9a/y_train.npy", "a9a"))
    return (X[:2_000], y[:2_000]) if quick else (X, y)


def covtype(quick, standardise):
    """Forest cover type, class 2 against the rest."""
    with np.load(_find("covtype/covtype.npz", "covtype")) as file:
        X, y = file["X"].astype(np.float64), file["y"]
    if quick:
        X, y = X[::100].copy(), y[::100]
    if standardise:
        X -= X.mean(axis=0)
        scale = X.std(axis=0)
        X /= np.where(scale > 0, scale, 1.0)
    return X, np.where(y == 2, 1.0, -1.0)


def _find(name, what):
    return find_file(None, [name], what=what)


def save_data(name, quick, folder):
    """Make the data once and leave them in ``folder``; returns facts about them."""
    started = time.process_time()
    X, y = make_data(name, quick)
    seconds = time.process_time() - started
    if sparse.issparse(X):
        sparse.save_npz(f"{folder}/X.npz", X, compressed=False)
        per_row, largest = X.nnz / X.shape[0], np.bincount(X.indices).max() / X.shape[0]
        norms = np.sqrt(X.multiply(X).sum(axis=1).max())
    else:
        np.save(f"{folder}/X.npy", X)
        per_row, largest, norms = float(X.shape[1]), 1.0, np.sqrt((X**2).sum(axis=1).max())
    np.save(f"{folder}/y.npy", y)
    return {
        "n": X.shape[0],
        "d": X.shape[1],
        "per row": per_row,
        "largest column": largest,
        "largest norm": float(norms),
        "positive": float((y > 0).mean()),
        "seconds": seconds,
    }


def load_data(folder):
    """What `save_data` left."""
    if Path(f"{folder}/X.npz").exists():
        X = sparse.csr_matrix(sparse.load_npz(f"{folder}/X.npz"))
    else:
        X = np.load(f"{folder}/X.npy")
    return X, np.load(f"{folder}/y.npy")


def reference(folder, name, max_iter=100, tol=1e-15):
    """Optimum of an objective by Newton steps, with its duality gap.

    It is no contender: it runs until the duality gap is at rounding level and says how good its
    answer is.
    """
    X, y = load_data(folder)
    objective = make_objective(name, len(y))
    started = time.process_time()
    w = np.zeros(X.shape[1])
    step = _newton_step_dense if X.shape[1] <= 2_000 else _newton_step
    best = objective.value(X, y, w)
    for _ in range(max_iter):
        w_next = step(X, y, objective, w)
        value = objective.value(X, y, w_next)
        if not value < best:
            break
        w, best = w_next, value
        if objective.dual_gap(X, y, w) <= tol * best:
            break
    return {
        "F": best,
        "gap": objective.dual_gap(X, y, w),
        "nonzeros": int(np.count_nonzero(w)),
        "cpu": time.process_time() - started,
    }


def _slopes(X, y, objective, w):
    """Gradient of the smooth part, and the curvature of the mean loss in every row."""
    p = expit(-y * (X @ w))
    return X.T @ (-y * p) / len(y) + objective.l2 * w, p * (1 - p) / len(y)


def _soft(v, threshold):
    return np.sign(v) * np.maximum(np.abs(v) - threshold, 0.0)


def _newton_step_dense(X, y, objective, w):
    """Minimiser of the quadratic model plus the penalty, for few columns; with line search."""
    g, curvature = _slopes(X, y, objective, w)
    weighted = X.multiply(curvature[:, None]) if hasattr(X, "multiply") else X * curvature[:, None]
    H = X.T @ weighted
    H = np.asarray(H.todense() if hasattr(H, "todense") else H) + objective.l2 * np.eye(len(w))
    step = -np.linalg.solve(H, g)
    if objective.l1:
        step = _coordinate_descent(H, g, w, objective.l1)
    return _line_search(X, y, objective, w, lambda t: w + t * step)


def _coordinate_descent(H, g, w, l1, max_rounds=2_000):
    """Step d that minimises ``g.d + d.H.d / 2 + l1 ||w + d||_1``.

    A few sweeps of coordinate descent guess the support and the signs; the linear system that they
    give is tried after each of them.
    """
    d, slope, diagonal = np.zeros_like(w), g.copy(), H.diagonal()
    for _ in range(max_rounds):
        for j in 5 * [*np.flatnonzero((w + d != 0) | (np.abs(slope) > l1))]:
            old = w[j] + d[j]
            change = _soft(old - slope[j] / diagonal[j], l1 / diagonal[j]) - old
            if change:
                d[j] += change
                slope += change * H[j]
        sign = np.sign(w + d)
        support = np.flatnonzero(sign)
        exact = -w
        rest = g + H @ exact
        exact[support] += np.linalg.solve(H[np.ix_(support, support)], -(rest + l1 * sign)[support])
        slopes = np.abs(g + H @ exact)
        slopes[support] = 0.0
        if (np.sign(w + exact)[support] == sign[support]).all() and slopes.max() <= l1 * (1 + 1e-9):
            return exact
    return d


def _newton_step(X, y, objective, w):
    """Gradient step, then a Newton step on its support with fixed signs; with line search."""
    if objective.l1:
        smoothness = 0.25 * float(X.multiply(X).sum(axis=1).max()) + objective.l2
        w = w - _slopes(X, y, objective, w)[0] / smoothness
        w = _soft(w, objective.l1 / smoothness)
        support = np.flatnonzero(w)
    else:
        support = np.arange(len(w))
    A = X[:, support]
    At, sign = A.T.tocsr(), np.sign(w[support])
    g, curvature = _slopes(X, y, objective, w)
    g = g[support] + objective.l1 * sign
    diagonal = A.multiply(A).T @ curvature + objective.l2
    shape = (len(support),) * 2
    hessian = LinearOperator(
        shape, matvec=lambda v: At @ (curvature * (A @ v)) + objective.l2 * v, dtype=float
    )
    inverse = LinearOperator(shape, matvec=lambda v: v / diagonal, dtype=float)
    rtol = max(0.1 * min(0.1, float(np.sqrt(np.linalg.norm(g)))), 1e-8)
    step, _ = cg(hessian, -g, rtol=rtol, M=inverse, maxiter=500)

    def moved(t):
        w_moved = w.copy()
        w_moved[support] += t * step
        if objective.l1:
            w_moved[support] = np.where(np.sign(w_moved[support]) == sign, w_moved[support], 0.0)
        return w_moved

    return _line_search(X, y, objective, w, moved)


def _line_search(X, y, objective, w, moved):
    value, t = objective.value(X, y, w), 1.0
    for _ in range(30):
        candidate = moved(t)
        if objective.value(X, y, candidate) <= value:
            return candidate
        t /= 2
    return w
