"""Problems of clustered rows, and runs of SAGA with neighbours on them."""

import numpy as np
import scipy.sparse as sp

from _clustered import clustered
from sklearn_fw.losses import resolve_loss
from sklearn_fw.optim._incremental._finite_sum import FiniteSum
from sklearn_fw.optim._incremental._minimize_saga import solve
from sklearn_fw.optim._incremental._saga import SparseSaga
from sklearn_fw.optim.experimental._neighbor_saga import NeighborSaga
from sklearn_fw.penalties import L2

# As in the paper's theory: independent draws and no scaling.
PLAIN = {"sampling": "uniform", "conditioning": None}


def make_problem(loss="log_loss", *, alpha=0.1, penalty=None, dense=True, weight=None, **options):
    intercept = options.pop("intercept", False)
    X, y = clustered(loss, **options)
    if not dense:
        X[np.random.default_rng(9).random(X.shape) < 0.5] = 0.0
        X = sp.csr_matrix(X)
    bound = (penalty or L2()).bind(X.shape[1])
    total = y.size if weight is None else weight.sum()
    return FiniteSum(
        X, y, resolve_loss(loss, None), bound.scaled(alpha * total), weight=weight,
        fit_intercept=intercept,
    )  # fmt: skip


def begin(problem, *, start=None, seed=0, **params):
    solver = NeighborSaga(**params)
    return solver.start(problem, tol=0.0, rng=np.random.RandomState(seed), start=start)


def objectives(problem, solver, n_epochs, seed=0):
    """Exact objectives after every epoch, and the run; the last is repeated where it ended."""
    rng = np.random.RandomState(seed)
    run, outcome = solve(problem, solver, tol=0.0, max_iter=n_epochs, rng=rng)
    found = outcome.history["objective"].tolist()
    return np.array(found + found[-1:] * (n_epochs - len(found))), run


def optimum(problem):
    run, *_ = solve(
        problem, SparseSaga(conditioning=None), tol=1e-14, max_iter=500,
        rng=np.random.RandomState(0),
    )  # fmt: skip
    return run.best
