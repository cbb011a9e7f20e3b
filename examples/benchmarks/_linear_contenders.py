"""Contenders of the benchmark of linear models: one function each, and what their objective is.

A contender is ``solve(data, objective, budget) -> w``; ``data`` is what its ``prepare`` made of
``(X, y)``, off the clock. Every mapping of the objective is written where it is done.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from _linear_problems import Objective
from _report import quietly
from scipy import sparse
from sklearn.linear_model import LogisticRegression

from sklearn_fw import AsagaClassifier

NEVER = 1e-30  # a tolerance that no run reaches, where zero is refused
EPOCHS, TOL = "max_iter", "tol"


@dataclass
class Contender:
    """A solver with its ladder of budgets: ``first * 2**k`` iterations, or ``first * 10**-k``."""

    name: str
    package: str
    solve: Callable
    prepare: Callable = field(default=lambda X, y: (X, y))
    kind: str = EPOCHS
    first: float = 1
    last: float = 1e6  # the largest number of iterations, or the smallest tolerance
    elastic_net: bool = True
    l2: bool = True
    l1: bool = True
    max_columns: int | None = None
    threads: int = 1
    compiles: bool = False  # in every call

    def budget(self, level):
        """What ``solve`` gets at a level of the ladder."""
        if self.kind == EPOCHS:
            return min(round(self.first * 2**level), self.last)
        return max(self.first * 10.0**-level, self.last)

    def takes(self, objective, n_columns):
        if self.max_columns is not None and n_columns > self.max_columns:
            return False
        if not objective.l2:
            return self.l1
        return self.elastic_net if objective.l1 else self.l2


def sklearn_solver(solver):
    """``LogisticRegression``: ``C sum_i loss + penalty``, so C = 1 / (alpha n)."""

    def solve(data, objective: Objective, budget):
        X, y = data
        model = LogisticRegression(
            C=1 / (objective.alpha * len(y)), l1_ratio=objective.l1_ratio, solver=solver,
            fit_intercept=False, max_iter=budget, tol=NEVER, random_state=0,
        )  # fmt: skip
        return quietly(model.fit, X, y).coef_.ravel()

    return solve


def liblinear_problem(X, y):
    """Its own nodes, in double precision; no column for an intercept."""
    from liblinear.liblinear import problem

    return problem(y, sparse.csr_matrix(X))


def liblinear_solver(code):
    """``penalty + C sum_i loss``: C = 1 / (alpha n); 0 is the primal solver, 7 the dual, 6 l1."""

    def solve(data, objective, budget):
        from liblinear.liblinearutil import parameter, train

        options = f"-s {code} -c {1 / (objective.alpha * data.l)!r} -e {budget!r} -B -1 -q"
        model = train(data, parameter(options))
        w = np.ctypeslib.as_array(model.w, (data.n,)).copy()
        return w if model.label[0] == 1 else -w  # w belongs to the label that came first

    return solve


def lightning_saga(step_size):
    """``mean loss + alpha / 2 ||w||^2 + beta ||w||_1``: alpha and beta are our l2 and l1."""

    def solve(data, objective, budget):
        from lightning.classification import SAGAClassifier

        X, y = data
        model = SAGAClassifier(
            eta=step_size, alpha=objective.l2, beta=objective.l1, loss="log",
            penalty="l1" if objective.l1 else None, max_iter=budget, tol=NEVER, random_state=0,
        )  # fmt: skip
        return model.fit(X, y).coef_.ravel()

    return solve


def copt_data(X, y):
    """CSR, labels 0 and 1, the largest row and the compiled derivative of the loss."""
    from numba import njit

    # LogLoss.partial_deriv of copt is the same formula inside a parallel loop over one number,
    # which starts threads for every row; this one is not parallel.
    @njit
    def derivative(p, y):
        out = np.zeros_like(p)
        for i in range(p.size):
            if p[i] < 0:
                e = np.exp(p[i])
                out[i] = ((1 - y[i]) * e - y[i]) / (1 + e)
            else:
                e = np.exp(-p[i])
                out[i] = ((1 - y[i]) - y[i] * e) / (1 + e)
        return out

    X = sparse.csr_matrix(X)
    return X, (y > 0).astype(np.float64), X.multiply(X).sum(axis=1).max(), derivative


def copt_saga(data, objective, budget):
    """Its ``alpha`` is our l2 (the docstring lacks the 1/2), in the gradient; l1 is in the prox.

    The step is that of its examples, 1/(3 L) with L = ``LogLoss.max_lipschitz``. A step multiplies
    a weight whose column only one row has by 1 - step l2 n; where that is below -1, which it is not
    for alpha = 1/n, the step is 1/(l2 n).
    """
    import copt
    from copt.penalty import L1Norm

    X, y, largest, derivative = data
    n, d = X.shape
    step_size = 1 / (3 * (0.25 * largest + objective.l2))
    if step_size * objective.l2 * n >= 2:
        step_size = 1 / (objective.l2 * n)
    np.random.seed(0)  # noqa: NPY002 - copt shuffles with the global generator
    prox = L1Norm(objective.l1).prox_factory(d) if objective.l1 else None
    return copt.minimize_saga(
        derivative, X, y, np.zeros(d), step_size, prox=prox, alpha=objective.l2, max_iter=budget,
        tol=-1.0, verbose=0,
    ).x  # fmt: skip


def by_columns(X, y):
    """CSC, or dense in Fortran order."""
    return (sparse.csc_matrix(X) if sparse.issparse(X) else np.asfortranarray(X)), y


def skglm_solver(name):
    """``Logistic`` is the mean loss for labels -1 and 1, ``L1_plus_L2`` our penalty: no mapping.

    Without l1 nothing leaves the working set, so it starts with all columns.
    """

    def solve(data, objective, budget):
        from skglm import solvers
        from skglm.datafits import Logistic
        from skglm.penalties import L1_plus_L2

        X, y = data
        solver = getattr(solvers, name)(
            p0=10 if objective.l1 else X.shape[1], max_iter=1000, tol=budget, fit_intercept=False
        )
        penalty = L1_plus_L2(objective.alpha, objective.l1_ratio)
        return quietly(solver.solve, X, y, Logistic(), penalty)[0]

    return solve


def cyanure_solver(name):
    """``mean loss + psi``: lambda_1 / 2 ||w||^2, or lambda_1 ||w||_1 + lambda_2 / 2 ||w||^2.

    With l1 its MISO solvers, which "auto" chooses, stand still above the optimum and warn about
    numerical instability; catalyst-svrg gets there with the same arguments.
    """

    def solve(data, objective, budget):
        from cyanure.estimators import LogisticRegression

        X, y = data
        if not objective.l2:
            penalty = {"penalty": "l1", "lambda_1": objective.l1}
        elif objective.l1:
            penalty = {"penalty": "elasticnet", "lambda_1": objective.l1, "lambda_2": objective.l2}
        else:
            penalty = {"penalty": "l2", "lambda_1": objective.l2}
        model = LogisticRegression(
            solver=name, fit_intercept=False, max_iter=budget, tol=0.0, n_threads=1,
            random_state=0, verbose=False, safe=False, **penalty,
        )  # fmt: skip
        return quietly(model.fit, X, y).coef_.ravel()

    return solve


def adelie_grpnet(data, objective, budget):
    """Weighted mean loss for labels 0 and 1 plus ``lmda (alpha ||.|| + (1 - alpha) / 2 ||.||^2)``.

    Groups of one column make it our penalty with lmda our alpha and alpha our l1_ratio. The budget
    is the tolerance of the reweighting; the descent inside needs a smaller one to get there.
    """
    import adelie

    X, y = data
    matrix = adelie.matrix.sparse if sparse.issparse(X) else adelie.matrix.dense
    state = adelie.grpnet(
        matrix(X, method="naive", n_threads=1), adelie.glm.binomial((y > 0).astype(float)),
        alpha=objective.l1_ratio, lmda_path=[objective.alpha], intercept=False,
        tol=1e-3 * budget, irls_tol=budget, early_exit=False, progress_bar=False, max_iters=10**7,
    )  # fmt: skip
    return state.betas.toarray().ravel()


def asaga(n_jobs, solver="asaga"):
    """``AsagaClassifier``: C = 1 / (alpha n)."""

    def solve(data, objective, budget):
        return asaga_model(data, objective, budget, n_jobs, solver).coef_.ravel()

    return solve


def asaga_by_default(data, objective, tol):
    return asaga_model(data, objective, 10**6, solver="auto", tol=tol).coef_.ravel()


def asaga_model(data, objective, max_iter, n_jobs=1, solver="asaga", tol=0.0):
    X, y = data
    model = AsagaClassifier(
        loss="log_loss", C=1 / (objective.alpha * len(y)), l1_ratio=objective.l1_ratio,
        solver=solver, fit_intercept=False, max_iter=max_iter, tol=tol, n_jobs=n_jobs,
        random_state=0,
    )  # fmt: skip
    return quietly(model.fit, X, y)


def _contenders():
    yield Contender("AsagaClassifier", "", asaga_by_default, kind=TOL, first=1e-1, last=1e-14)
    yield Contender("AsagaClassifier, asaga", "", asaga(1))
    yield Contender("AsagaClassifier, asaga, 2 threads", "", asaga(2), threads=2)
    for n_jobs, name in ((1, "sdca"), (2, "sdca, 2 threads")):
        yield Contender(
            f"AsagaClassifier, {name}", "", asaga(n_jobs, "sdca"), threads=n_jobs, l1=False
        )
    for solver in ("saga", "lbfgs", "newton-cg", "newton-cholesky", "liblinear"):
        yield Contender(
            f"scikit-learn {solver}", "scikit-learn", sklearn_solver(solver),
            elastic_net=solver == "saga", l1=solver == "saga",
            max_columns=2_000 if solver == "newton-cholesky" else None,
        )  # fmt: skip
    for code, what in ((0, "primal"), (7, "dual"), (6, "l1")):
        yield Contender(
            f"liblinear {what}", "liblinear-official", liblinear_solver(code), liblinear_problem,
            kind=TOL, first=1e3 if code == 7 else 1.0, last=1e-14, elastic_net=False,
            l2=code != 6, l1=code == 6,
        )  # fmt: skip
    for step_size in ("auto", "line-search"):
        yield Contender(
            f"lightning SAGA, {step_size}", "sklearn-contrib-lightning", lightning_saga(step_size)
        )
    yield Contender("copt SAGA", "copt", copt_saga, copt_data, compiles=True)
    for name in ("AndersonCD", "ProxNewton"):
        yield Contender(
            f"skglm {name}", "skglm", skglm_solver(name), by_columns, kind=TOL, first=1e-3,
            last=1e-14,
        )  # fmt: skip
    for name in ("auto", "qning-miso", "catalyst-svrg"):
        yield Contender(f"cyanure {name}", "cyanure", cyanure_solver(name))
    yield Contender("adelie", "adelie", adelie_grpnet, by_columns, kind=TOL, first=1e-4, last=1e-14)


CONTENDERS = {contender.name: contender for contender in _contenders()}
