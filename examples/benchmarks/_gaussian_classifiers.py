"""Classifiers by expectation propagation, Laplace approximations and linear models."""

import numpy as np
from _report import Clock, Repeats, in_child, quietly, shown, those_there
from scipy.spatial.distance import pdist
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from sklearn_fw.gaussian_probability import BayesPointMachine, EPProbitClassifier

N_ROWS = 1000
CLASSIFIERS = ("EPProbitClassifier", "GaussianProcessClassifier")


def _usps_pair():
    import _defaults_structured as sets

    X, y, X_test, y_test = sets.SETS["USPS"][2]()
    X, y = np.concatenate([X, X_test]), np.concatenate([y, y_test])
    keep = np.isin(y, (3, 5))
    return X[keep].astype(float), (y[keep] == 3).astype(int)


def _parity():
    X, y = load_digits(return_X_y=True)
    return X, y % 2


def _census():
    import _defaults_linear as sets

    X, y, _ = sets._a9a(False)
    return X[:6000].toarray(), (y[:6000] > 0).astype(int)


def _urban():
    import _defaults_structured as sets

    X, y, X_test, y_test = sets.SETS["scene"][2]()
    y = np.concatenate([y, y_test])[:, 5]
    return np.concatenate([X, X_test]).astype(float), y.astype(int)


SETS = {
    "USPS, 3 or 5": _usps_pair, "digits, even or odd": _parity,
    "breast cancer": lambda: load_breast_cancer(return_X_y=True),
    "a9a": _census, "scene, urban": _urban,
}  # fmt: skip


def _halves(X, y, n, seed):
    """n training rows with columns of variance one by them, and the rest."""
    order = np.random.default_rng(seed).permutation(len(y))
    n = min(n, 2 * len(y) // 3)
    fit, test = order[:n], order[n : n + 2000]
    scaler = StandardScaler().fit(X[fit])
    return scaler.transform(X[fit]), y[fit], scaler.transform(X[test]), y[test]


def judge_classifiers(name, n, seed):
    """Log loss, share of errors and seconds of both on one split."""
    X, y, X_test, y_test = _halves(*SETS[name](), n, seed)
    width = float(np.median(pdist(X[:500])))
    kernel = ConstantKernel(1.0, (1e-2, 1e4)) * RBF(width, (1e-2 * width, 1e2 * width))
    rows = {}
    EPProbitClassifier(kernel).fit(X[:150], y[:150])  # compiles
    for model in (EPProbitClassifier, GaussianProcessClassifier):
        with Clock() as clock:
            fitted = quietly(model(kernel).fit, X, y)
        wrong = float(np.mean(fitted.predict(X_test) != y_test))
        rows[model.__name__] = log_loss(y_test, fitted.predict_proba(X_test)), wrong, clock.cpu
    return rows


def classifiers(report, options):
    n, seeds = (200, 1) if options.quick else (N_ROWS, 3)
    found = dict(those_there(
        SETS, lambda name: [in_child(judge_classifiers, name, n, seed) for seed in range(seeds)]
    ))  # fmt: skip
    report.section("Gaussian process classification")
    report.text(f"""Both classifiers use a constant times an RBF kernel with initial length scale at
        the median distance, and the same bounds and optimizer. Columns are standardized. Training
        sets are {n:,} rows, or two thirds of smaller sets, drawn {seeds} times.""")
    columns = {
        name: {m: [Repeats(run[m][k] for run in runs) for k in range(3)] for m in CLASSIFIERS}
        for name, runs in found.items()
    }
    kinds = ("log loss", "errors", "seconds")
    report.table(
        ["data", *(f"{what}, {m}" for what in kinds for m in CLASSIFIERS)],
        [
            [name, *(shown(columns[name][m][k], s) for k, s in enumerate((".4f", ".3f", ".2g"))
                     for m in CLASSIFIERS)]
            for name in found
        ],
    )  # fmt: skip
    ours, theirs = CLASSIFIERS
    better = sum(columns[name][ours][0] <= columns[name][theirs][0] for name in found)
    ratio = max(columns[name][ours][2] / columns[name][theirs][2] for name in found)
    report.goals(
        (f"sets of {len(found)} with a log loss that is not larger", better, len(found) - 1, ">="),
        ("largest ratio of seconds", ratio, 1.0, "<="),
    )
    for name in found:
        for k, what in ((0, "log loss"), (2, "seconds")):
            if columns[name][ours][k] > columns[name][theirs][k]:
                report.loses(f"{name}: {theirs} has a smaller {what}." if k == 0 else
                             f"{name}: {theirs} takes fewer seconds.")  # fmt: skip


def judge_linear(n, seed):
    """Share of errors, log loss and seconds of linear classifiers on a sample of a9a."""
    X, y = _census()
    order = np.random.default_rng(seed).permutation(len(y))
    fit, test = order[:n], order[1000:]
    rows = {}
    for model in (BayesPointMachine(), LinearSVC(), LogisticRegression()):
        with Clock() as clock:
            quietly(model.fit, X[fit], y[fit])
        loss = None
        if hasattr(model, "predict_proba"):
            loss = log_loss(y[test], model.predict_proba(X[test]))
        wrong = float(np.mean(model.predict(X[test]) != y[test]))
        rows[type(model).__name__] = wrong, loss, clock.cpu
    return rows


def bayes_points(report, options):
    sizes = (100, 200) if options.quick else (100, 300, 1000)
    rows, wins = [], []
    for n in sizes:
        runs = [in_child(judge_linear, n, seed) for seed in range(2 if options.quick else 5)]
        errors = {m: Repeats(run[m][0] for run in runs) for m in runs[0]}
        for m in runs[0]:
            loss = None if runs[0][m][1] is None else Repeats(run[m][1] for run in runs)
            took = Repeats(run[m][2] for run in runs)
            cells = shown(errors[m], ".4f"), shown(loss, ".4f"), shown(took, ".2g")
            rows.append([f"{m}, {n:,} rows", *cells])
        best = min(v for m, v in errors.items() if m != "BayesPointMachine")
        wins.append(errors["BayesPointMachine"] - best)
        if wins[-1] > 0:
            report.loses(f"a9a, {n:,} rows: a linear model has a lower error rate.")
    report.section("Bayes point machines on samples of a9a")
    report.table(["method", "error rate", "log loss", "seconds"], rows)
    report.goals(("error rate minus that of the best linear model", max(wins), 0.005, "<="))
