"""Sums of losses of linear scores with penalties of all kinds, their optimum, and runs on them."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from _linear_references import minimize_linear
from sklearn_fw.losses import resolve_loss
from sklearn_fw.optim._incremental._finite_sum import FiniteSum
from sklearn_fw.optim._incremental._minimize_saga import resolve_incremental_solver, solve
from sklearn_fw.penalties import (
    Box,
    ElasticNet,
    GroupLasso,
    GroupSeparable,
    L2Ball,
    Simplex,
    resolve_penalty,
)

N, D = 60, 8
GROUPS = [[0, 6, 2], [1, 3], [5, 7]]  # 4 is in none


class Quantile(GroupSeparable):
    """``2 u`` above zero and ``-u`` below, for every entry; no conjugate."""

    def group_value(self, u, group):
        return float(np.maximum(2 * u, -u).sum())

    def group_prox(self, u, step_size, group):
        return np.maximum(u - 2 * step_size, 0) + np.minimum(u + step_size, 0)


@dataclass(frozen=True)
class Problem:
    """Sum of losses of 60 rows, with an empty row, an empty column, and columns of all sizes."""

    loss: str
    penalty: object
    alpha: float = 0.05
    kind: str = "csr"
    dtype: type = np.float64
    index: type = np.int32
    intercept: bool = False
    weighted: bool = False
    unique: bool = True

    def data(self):
        rng = np.random.default_rng(0)
        X = rng.standard_normal((N, D)) * np.geomspace(0.7, 1.4, D) * (rng.random((N, D)) < 0.5)
        X[3] = 0.0
        X[:, 6] = 0.0
        X = X.astype(self.dtype)
        z = X @ np.linspace(1, -1, D) + rng.standard_normal(N) + 0.3
        loss = resolve_loss(self.loss, None)
        y = z if loss.task == "regression" else np.where(z > 0, 1.0, -1.0)
        if self.loss == "multinomial":
            y = np.digitize(z, [-0.7, 0.7]).astype(float)
        return X, y, rng.integers(0, 4, N).astype(float) if self.weighted else None

    def build(self):
        X, y, weight = self.data()
        total = N if weight is None else weight.sum()
        if self.kind == "csr":
            X = sp.csr_matrix(X)
            X.indices, X.indptr = X.indices.astype(self.index), X.indptr.astype(self.index)
        bound = self.penalty.bind(D).scaled(self.alpha * total)
        return FiniteSum(
            X, y, resolve_loss(self.loss, None), bound, weight=weight,
            fit_intercept=self.intercept, n_outputs=3 if self.loss == "multinomial" else None,
        )  # fmt: skip

    def optimum(self):
        """Coefficients, intercept and objective by the reference."""
        X, y, weight = self.data()
        bound = self.build().penalty
        return minimize_linear(
            X, y, self.loss, bound.value, bound.prox, weight=weight, fit_intercept=self.intercept,
            n_outputs=3 if self.loss == "multinomial" else None,
        )  # fmt: skip


RIDGE, LASSO = ElasticNet(0.0), ElasticNet(1.0)
PROBLEMS = {
    "ridge": Problem("squared_error", RIDGE),
    "ridge, dense, intercept": Problem("squared_error", RIDGE, kind="dense", intercept=True),
    "log, ridge": Problem("log_loss", RIDGE, index=np.int64, weighted=True),
    "log, ridge, float32": Problem("log_loss", RIDGE, dtype=np.float32, intercept=True),
    "log, elastic net": Problem("log_loss", ElasticNet(), intercept=True),
    "hinge, elastic net": Problem("squared_hinge", ElasticNet(0.8), kind="dense", weighted=True),
    "huber, lasso": Problem("huber", LASSO, index=np.int64, intercept=True, weighted=True),
    "lasso, dense float32": Problem("squared_error", LASSO, kind="dense", dtype=np.float32),
    "log, box": Problem("log_loss", Box(-0.2, 0.4, l2=0.5), kind="dense", intercept=True),
    "hinge, box": Problem("squared_hinge", Box(0.1, 0.6, l1=0.1)),
    "nothing": Problem("squared_epsilon_insensitive", resolve_penalty(None), intercept=True),
    "log, groups": Problem("log_loss", GroupLasso(GROUPS, l2=0.1), kind="dense", intercept=True),
    "hinge, groups": Problem("squared_hinge", GroupLasso(GROUPS, l1=0.2), index=np.int64),
    "huber, groups": Problem("huber", GroupLasso([0, 0, 1, 1, 2, 2, 1, 0]), intercept=True,
                             dtype=np.float32, weighted=True),
    "smooth hinge, ball": Problem("smooth_hinge", L2Ball(0.7), intercept=True),
    "simplex": Problem("squared_error", Simplex(1.5, [0, 0, 0, 1, 1, 1, 1, 0]), intercept=True),
    "log, simplex": Problem("log_loss", Simplex(), kind="dense", dtype=np.float32),
    "user": Problem("log_loss", Quantile([[0, 1], [2], [6, 3, 5]]), intercept=True),
    "user, dense": Problem("modified_huber", Quantile(), kind="dense"),
    "multinomial, ridge": Problem("multinomial", RIDGE, kind="dense", intercept=True),
    "multinomial, elastic net": Problem("multinomial", ElasticNet(), weighted=True),
    "multinomial, groups": Problem("multinomial", GroupLasso(GROUPS), intercept=True),
    "multinomial, user": Problem("multinomial", Quantile([0, 0, 1, 1, -1, 2, 2, 2]),
                                 unique=False),
}  # fmt: skip


def run_on(problem, solver, *, tol=1e-9, max_iter=5000, n_workers=1, seed=0, start=None):
    if isinstance(solver, str):
        solver = resolve_incremental_solver(solver)
    run, outcome = solve(
        problem, solver, tol=tol, max_iter=max_iter, rng=np.random.RandomState(seed),
        n_workers=n_workers, start=start,
    )  # fmt: skip
    return run, *outcome
