"""Variance reduction with neighbors: q-SAGA, N-SAGA and SAGA per step, per slope and per second.

Needs the folders ``covtype`` and ``a9a`` in the folder that SKLEARN_FW_DATA names.
"""

import statistics
import warnings

import numpy as np
from _linear_problems import make_data
from _neighbor_saga import Hogwild, NeighborSaga
from _report import Clock, Repeats, in_child, main, shown
from scipy import sparse

from sklearn_fw.optim import minimize_saga

Q, EPSILON, N_EPOCHS = 20, 0.1, 20
MARKS = (1, 2, 3, 5, 10, 20)
ABOUT = """
Methods of Hofmann, Lucchi, Lacoste-Julien and McWilliams, "Variance Reduced Stochastic Gradient
Descent with Neighbors" (NIPS 2015). A step refreshes the stored loss derivatives (slopes) of about
twenty rows: random ones (q-SAGA), near ones (N-SAGA), or near ones that copy the slope of the
current row (shared). The epsilon variant copies only where the error is provably small.

Numbers are suboptimalities ``f(w) - f*`` of the mean loss plus ``alpha / 2 |w|^2`` after epochs of
n steps, medians over repeated runs with different random orders. Newton's method certifies ``f*``
to 1e-12 of the objective. "slopes" is the number of computed loss derivatives over n. "seconds" are
CPU seconds of the fit, including the search for neighbors and exact certificates after every epoch.
A run makes 20 epochs, or fewer when its gap is zero. Steps draw rows independently and use one step
size for all columns, as in the theory.

The paper has curves and no tables. The last table of the second part compares its statements about
them with these measurements.
"""
METHODS = {
    "SGD, constant": ("hogwild", {"decay": 0.0}),
    "SGD, decreasing": ("hogwild", {"decay": 0.5}),
    "SAGA": ("saga", {}),
    "q-SAGA": ("neighbors", {"variant": "q_saga"}),
    "N-SAGA": ("neighbors", {"variant": "n_saga"}),
    "shared N-SAGA": ("neighbors", {"variant": "shared_n_saga"}),
    "epsilon-N-SAGA": ("neighbors", {"variant": "epsilon_n_saga", "epsilon": EPSILON}),
}
# Of an independent implementation, one run each, on rows made by the same recipe.
INDEPENDENT = {
    ("ridge", "SGD, constant"): ([2.4e-2, 1.7e-2, 1.5e-2, 2.3e-2, 1.4e-2, 1.6e-2], 20),
    ("ridge", "SAGA"): ([1.2e-2, 3.5e-3, 8.9e-4, 1.4e-5, 5.4e-8, 3e-13], 20),
    ("ridge", "q-SAGA"): ([2e-12] + 5 * [1e-15], 400),
    ("ridge", "N-SAGA"): ([4e-13] + 5 * [1e-15], 400),
    ("ridge", "shared N-SAGA"): ([1.6e-3, 1.8e-3, 2.5e-3, 1.8e-3, 2.0e-3, 5.7e-3], 20),
    ("ridge", "epsilon-N-SAGA"): ([6e-8, 3e-7, 3e-8, 2e-8, 1e-7, 7e-8], 391),
    ("logistic", "SAGA"): ([1.8e-2, 3.9e-3, 1.1e-4, 8.1e-6, 2.2e-9, 3e-13], 20),
    ("logistic", "shared N-SAGA"): ([4.4e-5, 2.2e-5, 4.9e-5, 2.5e-5, 1.6e-5, 4.7e-5], 20),
    ("logistic", "epsilon-N-SAGA"): ([6.6e-7, 6.0e-7, 1.0e-6, 1.2e-6, 2.4e-6, 1e-6], 107),
}
# The paper's regulariser is mu |w|^2: alpha is twice its mu.
SETS = {
    ("covtype", 0.2): "log_loss", ("covtype", 0.002): "log_loss",
    ("a9a", 0.2): "log_loss", ("a9a", 0.002): "log_loss",
    ("elevation", 0.2): "squared_error", ("elevation", 0.002): "squared_error",
}  # fmt: skip
N_ROWS, SMALLEST, HUGE = 8000, 1e-14, 1e6


def clusters(loss, n):
    """Unit rows in 250 tight clusters, labels or targets of a linear model."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((250, 20))[rng.integers(250, size=n)]
    X += 0.05 * rng.standard_normal(X.shape)
    X /= np.linalg.norm(X, axis=1)[:, None]
    z = X @ rng.standard_normal(20)
    if loss == "squared_error":
        return X, z + 0.1 * rng.standard_normal(n)
    return X, np.sign(3 * z + rng.logistic(size=n))


def rows_of(name, loss, quick):
    """Rows of norm one at most, on average, and labels or targets of variance one."""
    if name == "clusters":
        return clusters(loss, 1000 if quick else 5000)
    X, y = make_data("a9a" if name == "a9a" else "covtype", quick)
    keep = np.random.default_rng(0).permutation(len(y))[: 2000 if quick else N_ROWS]
    X, y = X[keep], y[keep]
    if name == "elevation":  # the first column from the others
        y, X = np.ascontiguousarray(X[:, 0]), np.ascontiguousarray(X[:, 1:])
        y = (y - y.mean()) / y.std()
    squares = X.multiply(X).sum(axis=1) if sparse.issparse(X) else np.square(X).sum(axis=1)
    X = X / np.sqrt(np.asarray(squares).mean())
    return (sparse.csr_matrix(X) if sparse.issparse(X) else X), y


def solver_of(method, step_size, **settings):
    kind, own = METHODS[method]
    plain = {"sampling": "uniform", "conditioning": None} | own
    if kind == "hogwild":
        return Hogwild(step_size="theory", **plain)
    if kind == "saga":
        return NeighborSaga(variant="n_saga", n_neighbors=1, step_size=step_size, **plain)
    return NeighborSaga(n_neighbors=Q, step_size=step_size, **(plain | settings))


def bound_of(X, y, loss, alpha):
    best = minimize_saga(X, y, loss=loss, alpha=alpha, solver="newton_cg", tol=1e-12, max_iter=500)
    return best.fun - best.dual_gap


def measure(name, alpha, loss, step_size, methods, repeat, quick):
    """For each method sub-optimalities after the epochs (repeats), slopes per row and seconds."""
    warnings.simplefilter("ignore")
    X, y = rows_of(name, loss, quick)
    bound = bound_of(X, y, loss, alpha)
    found = {}
    for method in methods:
        found[method] = {"curve": [], "seconds": [], "slopes": []}
        for seed in range(-1, repeat):  # the first is for compiled code
            solver = solver_of(method, step_size)
            with Clock() as clock:
                try:
                    result = minimize_saga(
                        X, y, loss=loss, alpha=alpha, solver=solver, tol=0.0, random_state=seed + 1,
                        max_iter=1 if seed < 0 else N_EPOCHS,
                    )  # fmt: skip
                except FloatingPointError:  # left for infinity
                    result = None
            if seed < 0:
                continue
            curve = np.full(N_EPOCHS, np.inf)
            if result is not None:
                values = np.asarray(result.history["objective"])[:N_EPOCHS]
                curve[: len(values)] = values
                curve[len(values) :] = values[-1]
                slopes = result.history.get("n_gradient_evaluations", [N_EPOCHS * len(y)])[-1]
                found[method]["slopes"].append(float(slopes) / len(y))
            curve = np.maximum(curve - bound, SMALLEST)
            found[method]["curve"].append([float(curve[mark - 1]) for mark in MARKS])
            found[method]["seconds"].append(clock.cpu)
            found[method].setdefault("all", []).append(curve.tolist())
    return found


def sizes(found, place):
    """The sub-optimalities at one mark, as a cell."""
    values = [curve[place] for curve in found["curve"]]
    if any(value > HUGE for value in values):
        return "diverges"
    return shown(Repeats(values), ".1e")


def rows_for(found, independent=None):
    """One line per method, and one of the independent implementation where there is one."""
    rows = []
    for method, run in found.items():
        cells = [sizes(run, place) for place in range(len(MARKS))]
        slopes = shown(Repeats(run["slopes"]), ".0f") if run["slopes"] else None
        rows.append([method, *cells, slopes, shown(Repeats(run["seconds"]), ".2f")])
        if independent and method in independent:
            values, slopes = independent[method]
            rows.append(["independent", *(shown(v, ".1e") for v in values), slopes, None])
    return rows


def median_curve(run):
    return [statistics.median(values) for values in zip(*run["all"], strict=True)]


def overtaken(found, method):
    """The first epoch after which SAGA is below a method; None within the epochs measured."""
    pairs = zip(median_curve(found["SAGA"]), median_curve(found[method]), strict=True)
    return next((k for k, (saga, other) in enumerate(pairs, 1) if saga < other), None)


def ratio(found, method, mark):
    """Sub-optimality over that of SAGA after some epochs."""
    return median_curve(found[method])[mark - 1] / median_curve(found["SAGA"])[mark - 1]


HEADER = ["method", *(f"{mark}" for mark in MARKS), "slopes", "seconds"]


def clustered(report, options):
    report.section("Clustered rows")
    report.text(f"""Rows of norm one around 250 centers in 20 dimensions, alpha = 0.1, q = {Q},
        epsilon = {EPSILON}, steps of 1 / (5 L). "independent" is one run of another implementation
        on different rows of the same distribution. Values below 1e-13 are rounding errors, and
        single runs differ by an order of magnitude.""")
    goals = []
    for title, loss in (("ridge", "squared_error"), ("logistic", "log_loss")):
        found = in_child(
            measure, "clusters", 0.1, loss, "theory", list(METHODS), options.repeat, options.quick
        )
        report.text(f"Suboptimality by number of epochs, {title}:")
        independent = {m: v for (kind, m), v in INDEPENDENT.items() if kind == title}
        report.table(HEADER, rows_for(found, independent))
        report.lines(
            f"Clustered rows, {title}: suboptimality", "epochs", "f(w) - f*",
            {m: (list(range(1, N_EPOCHS + 1)), median_curve(run)) for m, run in found.items()},
            log="y",
        )  # fmt: skip
        goals += [
            (f"{title}: {who} / SAGA after 2 epochs", ratio(found, who, 2), 1.0, "<=")
            for who in ("q-SAGA", "shared N-SAGA", "epsilon-N-SAGA")
        ]
        report.loses(_seconds(found, f"clustered rows, {title}"))
    report.goals(*goals)


def _seconds(found, where):
    times = {m: statistics.median(run["seconds"]) for m, run in found.items()}
    slowest = max(
        times[m] / times["SAGA"] for m in ("q-SAGA", "N-SAGA", "shared N-SAGA", "epsilon-N-SAGA")
    )
    return f"An epoch with neighbors takes up to {slowest:.1f} times as long as SAGA ({where})."


def real(report, options):
    report.section("Data sets as in the paper")
    report.text(f"""Forest cover types (the paper's "cov"; class 2 against the rest, columns
        standardized); census records a9a instead of ijcnn1; and regression of the elevation on the
        other forest columns instead of the year of a song. Each set has {N_ROWS:,} rows, divided by
        the root of their mean squared norm. alpha = 2 mu with the paper's mu of 0.1 and 0.001; q =
        {Q}; epsilon = {EPSILON}, because the paper does not state its value. Step sizes are the
        smaller of the paper's q / (mu n) and the limit of the theory; SGD uses 1 / (5 L).""")
    findings, goals = [], []
    for (name, alpha), loss in SETS.items():
        found = in_child(
            measure, name, alpha, loss, "capped", list(METHODS), options.repeat, options.quick
        )
        where = f"{name}, alpha = {alpha:g}"
        report.text(f"Suboptimality by number of epochs, {where}:")
        report.table(HEADER, rows_for(found))
        sgd = overtaken(found, "SGD, constant")
        near = overtaken(found, "epsilon-N-SAGA")
        findings.append([
            where, sgd, shown(ratio(found, "q-SAGA", 5), ".1e"),
            shown(ratio(found, "epsilon-N-SAGA", 2), ".2g"), near,
        ])  # fmt: skip
        goals.append((f"{where}: q-SAGA / SAGA after 5 epochs", ratio(found, "q-SAGA", 5), 1.0,
                      "<="))  # fmt: skip
        report.loses(_seconds(found, where))
    report.text(f"""Statements of the paper, and the columns that test them. SGD with constant steps
        beats SAGA in the first epochs: epoch at which SAGA overtakes SGD. q-SAGA beats SAGA per
        step: suboptimality relative to SAGA after 5 epochs. epsilon-N-SAGA lies between SAGA and
        q-SAGA for 2 to 10 epochs: suboptimality relative to SAGA after 2 epochs. SAGA overtakes
        epsilon-N-SAGA after 5 to 15 epochs: epoch at which it does so. "--" means not within
        {N_EPOCHS} epochs.""")
    report.table(
        ["set", "SAGA passes SGD at", "q-SAGA / SAGA", "epsilon / SAGA", "SAGA passes epsilon at"],
        findings,
    )
    report.goals(*goals)


if __name__ == "__main__":
    parts = {"clusters": clustered, "paper": real}
    raise SystemExit(main("neighbors", "SAGA with neighbors", ABOUT, parts))
