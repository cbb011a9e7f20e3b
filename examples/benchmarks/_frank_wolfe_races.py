"""Frank-Wolfe methods and other packages: l1 balls, a wide matrix, matrix completion."""

import contextlib
import io
from unittest.mock import patch

import numpy as np
from _frank_wolfe_experiments import (
    RADIUS,
    completion_data,
    lasso_data,
    minimize,
    selection,
    true_gap,
    wide_data,
)
from _report import Clock, Repeats, Skip, in_child, quietly, shown, timed
from sklearn.linear_model import Lasso
from sklearn.utils.extmath import randomized_svd

from sklearn_fw.optim import domains, objectives
from sklearn_fw.optim.domains import _spectral
from sklearn_fw.projections import project_l1_ball

SHARES = (1e-3, 1e-6)  # of the first gap
SECONDS = 30.0  # after which a run is stopped
L1 = {  # rows, columns, radius
    "200 x 500": (200, 500, RADIUS), "2,000 x 300": (2000, 300, 40.0),
    "1,000 x 5,000": (1000, 5000, 40.0),
}  # fmt: skip
COPT = ("copt, backtracking", "copt, known constant", "copt, pairwise")


class L1Problem:
    """Half the squared error over an l1 ball, in the form that each program wants."""

    def __init__(self, name):
        n, d, self.radius = L1[name]
        self.A, self.b = lasso_data(0, n, d)
        self.objective = objectives.LeastSquares(self.A, self.b)
        self.domain = domains.L1Ball(d, self.radius)
        self.start = np.zeros(d)
        self.start[0] = self.radius
        self.first = true_gap(self.objective, self.domain, self.start)

    def ours(self, gap, **options):
        """Point of `minimize_frank_wolfe` without choices but the gap."""
        result = minimize(self.objective, self.domain, tol=gap, max_iter=10**6, **options)
        return result.x

    def copt(self, gap, which):
        import copt

        def function(x):
            residual = self.A @ x - self.b
            return 0.5 * float(residual @ residual), self.A.T @ residual

        ball = copt.constraint.L1Ball(self.radius)
        options = {"lipschitz": self.lipschitz()} if which == COPT[1] else {}
        if which == COPT[2]:
            options |= {"variant": "pairwise", "x0_rep": (1.0, 0)}

        def pairwise(u, x, active):
            # It keeps what it dropped with a weight of zero, and then steps by zero for ever.
            for vertex in [vertex for vertex, weight in active.items() if weight == 0.0]:
                del active[vertex]
            return ball.lmo_pairwise(u, x, active)

        clock = Clock()
        clock.__enter__()

        def ended(state):
            gradient, x = state["grad"], state["x"]
            clock.__exit__()
            gap_here = gradient @ x + self.radius * np.abs(gradient).max()
            return bool(gap_here > gap and clock.cpu < SECONDS)

        with contextlib.redirect_stdout(io.StringIO()):  # it prints its first estimate
            return copt.minimize_frank_wolfe(
                function, self.start, pairwise if which == COPT[2] else ball.lmo,
                jac=True, step="DR" if which == COPT[1] else "backtracking", tol=0.0,
                max_iter=10**7, callback=ended, **options,
            ).x  # fmt: skip

    def lipschitz(self):
        return float(np.linalg.norm(self.A, 2)) ** 2

    def sklearn(self, gap, precompute):
        """Point of `Lasso` at the penalty that has the same solution, to a gap of its problem."""
        n = len(self.b)
        model = Lasso(
            self.penalty / n, fit_intercept=False, precompute=precompute, max_iter=10**6,
            tol=gap / float(self.b @ self.b),
        )  # fmt: skip
        return quietly(model.fit, self.A, self.b).coef_

    def equivalent(self):
        """Find the penalty: the largest slope at the solution."""
        x = self.ours(1e-9 * self.first)
        self.penalty = float(np.abs(self.objective(x)[1]).max())

    def lasso_gap(self, x):
        residual = self.b - self.A @ x
        value = 0.5 * residual @ residual + self.penalty * np.abs(x).sum()
        scale = min(1.0, self.penalty / np.abs(self.A.T @ residual).max())
        dual = scale * residual
        return float(value - (dual @ self.b - 0.5 * dual @ dual))


def measure_l1(name, who, share, repeat):
    problem = L1Problem(name)
    gap = share * problem.first
    problem.equivalent()  # compiles, too

    def run():
        if who == "sklearn_fw":
            return problem.ours(gap)
        if who in COPT:
            return quietly(problem.copt, gap, who)  # it warns where values stop to differ
        return problem.sklearn(gap, who.endswith("Gram"))

    x, seconds = timed(run)
    if seconds > 0.8 * SECONDS:
        return {"seconds": seconds, "gap": None}
    if repeat > 1:
        seconds = Repeats([*seconds.values, *timed(run, repeat - 1)[1].values])
    is_lasso = who.startswith("Lasso")
    reached = problem.lasso_gap(x) if is_lasso else true_gap(problem.objective, problem.domain, x)
    return {"seconds": seconds, "gap": reached / problem.first}


def require_copt():
    try:
        import copt  # noqa: F401
    except ImportError as error:
        raise Skip(f"copt is not installed ({error}): pip install copt") from None


def l1_part(report, options):
    require_copt()
    names, shares = (list(L1)[:1], SHARES[:1]) if options.quick else (L1, SHARES)
    contenders = ("sklearn_fw", *COPT, "Lasso", "Lasso, Gram")
    found = {
        (name, share, who): in_child(measure_l1, name, who, share, options.repeat)
        for name in names for share in shares for who in contenders
    }  # fmt: skip
    report.section("Least squares over l1 balls, compared with copt and Lasso")
    report.text(f"""Data of the constrained Lasso in three shapes: CPU milliseconds to a fraction of
        the first gap, which is computed outside of the solvers. ``minimize_frank_wolfe`` uses
        defaults except for ``tol``. copt is given the starting point, and "known constant" also the
        Lipschitz constant, whose computation is not counted. Pairwise steps of copt stop making
        progress after the first drop step, so its vertices without weight are removed here.
        ``Lasso`` is given the penalty with the same solution, which is unknown in practice, and
        stops at the same gap of its own problem; "Gram" is ``precompute=True``. "--" means that the
        gap is not reached within {SECONDS:g} s.""")
    rows, goals, behind = [], [], []
    for name in names:
        for share in shares:
            cells = {who: _arrived(found[name, share, who], share) for who in contenders}
            rows.append([f"{name}, {share:g}", *(shown(ms, ".3g") for ms in cells.values())])
            rivals = [cells[who] for who in COPT if cells[who] is not None]
            ours = cells["sklearn_fw"]
            if rivals and ours is not None:
                goals.append((f"{name}, {share:g}: seconds / best of copt",
                              ours / min(rivals), 0.5, "<="))  # fmt: skip
            lassos = [cells[who] for who in contenders[-2:] if cells[who] is not None]
            if lassos and (ours is None or min(lassos) < ours):
                behind.append((name, share, min(lassos), ours))
    report.table(["problem, fraction", *contenders], rows)
    report.goals(*goals)
    for name, share, theirs, ours in behind:
        report.loses(f"""Least squares over the l1 ball, {name}, to {share:g} of the first gap:
                     ``Lasso`` with the equivalent penalty takes {theirs:.3g} ms,
                     minimize_frank_wolfe {"more" if ours is None else f"{ours:.3g} ms"}.""")


def _arrived(run, share):
    """Milliseconds of a run that reached the gap; None of others."""
    if run["gap"] is None or run["gap"] > 1.5 * share:
        return None
    return 1e3 * run["seconds"]


def measure_dense(n, d, variant, repeat):
    """Seconds of a step and of a product with the transposed matrix, side by side."""
    A, b = wide_data(n, d)
    objective, domain = objectives.LeastSquares(A, b), domains.L1Ball(d, 20.0)
    first, more, rows = 5, 45, []
    minimize(objective, domain, variant=variant, max_iter=3)
    for _ in range(repeat):
        product = min(timed(lambda: A.T @ b, 5)[1].values)
        runs = [
            minimize(objective, domain, variant=variant, tol=0.0, max_iter=n_steps)
            for n_steps in (first, first + more)
        ]
        rows.append(((runs[1].cpu - runs[0].cpu) / more, product))
    return rows


def dense_part(report, options):
    n, d = (200, 2000) if options.quick else (2000, 20_000)
    found = {v: in_child(measure_dense, n, d, v, options.repeat) for v in ("fw", "auto")}
    report.section("Cost of a step on a wide matrix")
    report.text(f"""Least squares with a dense matrix of {n:,} x {d:,} over an l1 ball: CPU
        milliseconds of one step (gradient, oracle, line search and active set; mean of 45 steps
        after the first five), of a product of the transposed matrix with a vector, and their
        ratio.""")
    report.records(
        "variant",
        found,
        ("ms per step", lambda rows: 1e3 * Repeats(r[0] for r in rows), ".2f"),
        ("ms per product", lambda rows: 1e3 * Repeats(r[1] for r in rows), ".2f"),
        ("products per step", lambda rows: Repeats(r[0] / r[1] for r in rows), ".2f"),
    )
    report.goals(*(
        (f"{v}: products per step", Repeats(r[0] / r[1] for r in rows), 1.5, "<=")
        for v, rows in found.items()
    ))  # fmt: skip


class Completion:
    """Half the squared error on known entries over a ball of the nuclear norm."""

    def __init__(self, quick):
        self.shape = (200, 100) if quick else (2000, 1000)
        self.rows, self.columns, self.values = completion_data(
            *self.shape, share=0.1 if quick else 0.01
        )
        # A radius at which the error of the known entries is far from zero.
        self.radius = 0.3 * np.sqrt(5.0 * self.shape[0] * self.shape[1] * 5.0)
        self.objective = objectives.LeastSquares(
            selection(self.rows, self.columns, self.shape), self.values
        )
        self.domain = domains.NuclearNormBall(self.shape, self.radius)

    def gap(self, x):
        """The certificate from all singular values, of a point as a vector or a matrix."""
        x = x.reshape(self.shape)
        residual, gradient = x[self.rows, self.columns] - self.values, np.zeros(self.shape)
        gradient[self.rows, self.columns] = residual
        top = np.linalg.svd(gradient, compute_uv=False)[0]
        value = 0.5 * float(residual @ residual)
        return value, float(np.sum(gradient * x) + self.radius * top)

    def projected_gradient(self, seconds):
        """Values and seconds of accelerated gradient steps, projected by randomized SVD."""
        X = before = np.zeros(self.shape)
        momentum, rank, curve = 1.0, 10, []
        clock = Clock()
        clock.__enter__()
        while True:
            following = (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)) / 2.0
            Y = X + (momentum - 1.0) / following * (X - before)
            Y[self.rows, self.columns] -= Y[self.rows, self.columns] - self.values
            while True:
                U, s, Vt = randomized_svd(Y, rank, n_iter=2, random_state=0)
                kept = project_l1_ball(s, self.radius)
                if kept[-1] == 0.0 or rank == min(self.shape):
                    break
                rank = min(2 * rank, min(self.shape))
            rank = int(np.sum(kept > 0.0)) + 5
            before, X, momentum = X, (U * kept) @ Vt, following
            residual = X[self.rows, self.columns] - self.values
            clock.__exit__()
            curve.append((clock.cpu, 0.5 * float(residual @ residual)))
            if clock.cpu > seconds:
                return curve, X


def measure_completion(quick, seconds):
    """Curves of both, products and errors of the oracle, and exact gaps of the last points."""
    problem = Completion(quick)
    minimize(problem.objective, problem.domain, max_iter=2)
    ours, asked = [], []
    clock = Clock()
    clock.__enter__()

    def look(state):
        clock.__exit__()
        ours.append((clock.cpu, float(state.fun)))
        return clock.cpu > seconds

    options = {"tol": 0.0, "max_iter": 10**6}
    with counted_products() as counts:
        result = minimize(problem.objective, problem.domain, callback=look, **options)
    problem.domain = Recorded(problem.shape, problem.radius, asked)
    minimize(problem.objective, problem.domain, tol=0.0, max_iter=20)
    value, gap = problem.gap(result.x)
    theirs, X = problem.projected_gradient(seconds)
    their_value, their_gap = problem.gap(X)
    return {
        "ours": ours, "theirs": theirs, "nit": result.nit, "variant": result.variant,
        "value": value, "gap": gap, "their_value": their_value, "their_gap": their_gap,
        "reported": result.dual_gap, "products": float(np.median(counts)),
        "most_products": max(counts), "errors": asked,
    }  # fmt: skip


@contextlib.contextmanager
def counted_products():
    """A list that gets the number of products with a vector of each call of the oracle."""
    counts, search = [], _spectral.largest_eigenpair

    def counting(*args):
        found = search(*args)
        # Each product of the search is one with the matrix and one with its transpose; the vector
        # of the other side takes one more.
        counts.append(2 * found.n_products + 1)
        return found

    with patch.object(_spectral, "largest_eigenpair", counting):
        yield counts


class Recorded(domains.NuclearNormBall):
    """The ball, which compares each answer with the largest singular value."""

    def __init__(self, shape, radius, errors):
        super().__init__(shape, radius)
        self.errors = errors

    def lmo(self, gradient, **options):
        atom = super().lmo(gradient, **options)
        matrix = gradient.toarray() if hasattr(gradient, "toarray") else gradient
        matrix = matrix.reshape(self.shape)
        top = float(np.linalg.svd(matrix, compute_uv=False)[0])
        if top > 0.0:  # the start is the answer to zeros
            found = -float(np.sum(matrix * atom.to_array().reshape(self.shape)))
            self.errors.append(1.0 - found / (self.radius * top))
        return atom


def completion_part(report, options):
    seconds = 2.0 if options.quick else 60.0
    runs = [in_child(measure_completion, options.quick, seconds) for _ in range(options.repeat)]
    run, shape = runs[0], (200, 100) if options.quick else (2000, 1000)
    report.section("Matrix completion")
    lowest = max(run["value"] - run["gap"], run["their_value"] - run["their_gap"])
    report.text(f"""Half the squared error of the known entries ({10 if options.quick else 1} %) of
        a noisy matrix of {shape[0]:,} x {shape[1]:,} of rank 5, over a ball of the nuclear norm
        that does not contain it. ``minimize_frank_wolfe`` with defaults ("{run["variant"]}") is
        compared with accelerated projected gradients, which project by a randomized SVD of
        scikit-learn of sufficient rank. Shown are CPU seconds until the objective is within a
        fraction of its lower bound {lowest:.6g}. That is the better bound of both runs after
        {seconds:g} s, computed from all singular values. "--" means not reached by then.""")
    shares = (1e-1, 1e-2, 1e-3, 1e-4)
    rows = []
    for share in shares:
        arrived = [
            [_first_below(r[who], lowest * (1.0 + share)) for r in runs]
            for who in ("ours", "theirs")
        ]
        cells = [None if None in seconds_ else Repeats(seconds_) for seconds_ in arrived]
        rows.append([f"{share:g}", *(shown(cell, ".3g") for cell in cells)])
        if cells[1] is not None and (cells[0] is None or cells[0] > cells[1]):
            report.loses(f"""Matrix completion to within {share:g} of the optimum: projected
                gradients with randomized SVD take {float(cells[1]):.3g} s, minimize_frank_wolfe
                {"more" if cells[0] is None else f"{cells[0]:.3g} s"}.""")  # fmt: skip
    report.table(["within", "minimize_frank_wolfe", "projected gradient"], rows)
    report.lines(
        "Matrix completion", "CPU seconds", "objective above its lower bound",
        {name: _curve(run[who], lowest) for who, name in
         (("ours", "minimize_frank_wolfe"), ("theirs", "projected gradient"))}, log="xy",
    )  # fmt: skip
    report.text(f"""Steps in this time: {run["nit"]} by Frank-Wolfe, {len(run["theirs"])} by
        projected gradients. The certificate of Frank-Wolfe is {run["reported"]:.3g}; computed from
        all singular values it is {run["gap"]:.3g}. An oracle call takes {run["products"]:.0f}
        products of the gradient with a vector (median; at most {run["most_products"]}, for a
        certificate). Its largest relative error is {max(run["errors"]):.2g} in the first
        {len(run["errors"])} steps.""")
    report.goals(
        ("products with a vector per step", run["products"], 20, "<="),
        ("relative error of the oracle", max(run["errors"]), 1e-2, "<="),
        ("certificate / exact gap", run["reported"] / run["gap"], 1.0 - 1e-9, ">="),
    )


def _first_below(curve, level):
    return next((seconds for seconds, value in curve if value <= level), None)


def _curve(curve, lowest):
    places = np.unique(np.geomspace(1, len(curve), 80).astype(int)) - 1
    points = [curve[place] for place in places]
    return [s for s, _ in points], [max(v - lowest, 1e-9 * lowest) for _, v in points]
