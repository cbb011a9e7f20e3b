"""Frank-Wolfe on functions that users write, and classifiers that choose their radius."""

import numpy as np
from _frank_wolfe_experiments import RADIUS, lasso_data, minimize
from _linear_problems import a9a
from _linear_speed import flights, texts, w8a
from _report import Clock, Repeats, in_child, medians, quietly, shown, those_there
from scipy import sparse
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from sklearn_fw.linear_model import FrankWolfeClassifier
from sklearn_fw.optim import domains, objectives

GAP = 1e-8
MOST_MS = 30.0
LASSO = "Lasso, 200 x 500"
SHAPES = {LASSO: None, "200 x 50": (200, 50), "400 x 200": (400, 200), "1,000 x 500": (1000, 500)}
SETS = {"texts": texts, "one-hot": flights, "w8a": w8a, "a9a": a9a}
MOST_ROWS = 20_000  # of training


def least_squares(shape):
    """Matrix and target, and the radius of an l1 ball that binds."""
    if shape is None:
        return *lasso_data(0), RADIUS
    n, d = shape
    rng = np.random.default_rng(0)
    A = rng.standard_normal((n, d))
    b = A[:, : d // 10] @ rng.standard_normal(d // 10) + rng.standard_normal(n)
    return A, b, 0.7 * np.abs(np.linalg.lstsq(A, b)[0]).sum()


def measure_function(shape, as_object, repeat):
    """CPU seconds and steps to a gap of 1e-8, and seconds of as many calls of the function."""
    A, b, radius = least_squares(shape)
    n_calls = 0

    def function(x):
        nonlocal n_calls
        n_calls += 1
        residual = A @ x - b
        return 0.5 * float(residual @ residual), A.T @ residual

    objective = objectives.LeastSquares(A, b) if as_object else function
    domain = domains.L1Ball(A.shape[1], radius)
    options = {"tol": GAP, "max_iter": 10**5}
    x, n_calls = minimize(objective, domain, **options).x, 0
    minimize(objective, domain, **options)
    n_asked = n_calls
    with Clock() as clock:
        for _ in range(n_asked):
            function(x)
    runs = [minimize(objective, domain, **options) for _ in range(repeat)]
    return {
        "seconds": Repeats(run.cpu for run in runs), "steps": runs[0].nit,
        "gap": runs[0].dual_gap, "variant": runs[0].variant, "calls": n_asked,
        "in_function": clock.cpu,
    }  # fmt: skip


def functions_part(report, options):
    report.section("Functions without a known curvature")
    report.text(f"""Least squares on an l1 ball that binds, to a gap of {GAP:g}, with defaults: as
        a Python function that returns the value and the gradient, and as an object whose line
        search is exact. The last column is the time that the calls of the function take alone.""")
    found = {
        f"{name}, {kind}": in_child(measure_function, shape, kind == "object", options.repeat)
        for name, shape in SHAPES.items()
        for kind in ("function", "object")
    }
    report.records(
        "problem", found, ("ms", lambda r: 1e3 * r["seconds"], ".3g"), ("steps", "steps"),
        ("gap", "gap", ".1e"), ("variant", "variant"), ("calls", lambda r: r["calls"] or None),
        ("ms in them", lambda r: 1e3 * r["in_function"] if r["calls"] else None, ".3g"),
    )  # fmt: skip
    ms = 1e3 * found[f"{LASSO}, function"]["seconds"]
    report.goals((f"ms, {LASSO}, as a function", ms, MOST_MS, "<="))


def measure_radius(name, who, quick):
    """CPU seconds of a fit with defaults and log loss on the rows that it did not see."""
    X, y = SETS[name](quick)
    X = sparse.csr_matrix(X, dtype=np.float64)
    size = min(MOST_ROWS, X.shape[0] // 2)
    X, X_test, y, y_test = train_test_split(X, y, train_size=size, random_state=0)
    make = {
        "FrankWolfeClassifier": lambda: FrankWolfeClassifier(random_state=0),
        "liblinear, l1": lambda: LogisticRegressionCV(
            solver="liblinear", l1_ratios=[1.0], scoring="neg_log_loss", random_state=0,
            use_legacy_attributes=False,
        ),
    }[who]  # fmt: skip
    quietly(make().fit, X[:500], y[:500])
    quietly(make().fit, X, y)  # what the size of the data needs is compiled, too
    with Clock() as clock:
        model = quietly(make().fit, X, y)
    return {"cpu": clock.cpu, "loss": log_loss(y_test, model.predict_proba(X_test))}


def radius_part(report, options):
    report.section("Radius by folds")
    report.text(f"""``FrankWolfeClassifier()``, which chooses the radius of its l1 ball, and
        ``LogisticRegressionCV`` with an l1 penalty (liblinear, ten values of C, five folds): CPU
        seconds, and log loss on at least as many rows as the at most {MOST_ROWS:,} of training.""")

    def measure(name):
        return {
            who: medians([in_child(measure_radius, name, who, options.quick)
                          for _ in range(options.repeat)])
            for who in ("FrankWolfeClassifier", "liblinear, l1")
        }  # fmt: skip

    rows, goals = [], []
    for name, found in those_there(SETS, measure):
        ours, theirs = found.values()
        rows.append([
            name, shown(ours["cpu"], ".3g"), shown(ours["loss"], ".4f"),
            shown(theirs["cpu"], ".3g"), shown(theirs["loss"], ".4f"),
        ])  # fmt: skip
        goals += [
            (f"{name}: CPU seconds", ours["cpu"], 1.5, "<="),
            (f"{name}: log loss minus that of liblinear", ours["loss"] - theirs["loss"], 5e-4,
             "<="),
        ]  # fmt: skip
    report.table(["data", "ours, CPU s", "ours, log loss", "theirs, CPU s", "log loss"], rows)
    report.goals(*goals)
