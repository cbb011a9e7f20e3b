"""Default linear models compared with scikit-learn's: seconds, probabilities, warnings."""

import numpy as np
from _defaults_linear import CLASSES, NUMBERS, count_warnings
from _report import Clock, Repeats, in_child, main, those_there
from sklearn import linear_model
from sklearn.linear_model import LogisticRegression

from sklearn_fw import AsagaClassifier, AsagaRegressor

ABOUT = """
``AsagaClassifier(C=1.0)`` is compared with ``LogisticRegression()``, which minimizes the same
function, and ``AsagaRegressor`` with ``Ridge()``, ``ElasticNet()`` and ``Lasso()`` at their default
penalties. All other settings are defaults, and the fits use whole tables. Times are CPU seconds on
one thread after compilation: medians of three to fifteen alternating fits. ``ratio`` is the time of
this package over that of scikit-learn.

"error" is the largest difference to the probabilities of an optimum of far higher accuracy, found
by Newton's method. For regression it is that of predictions, as a fraction of their range.
"""
TABLES = (
    "iris", "wine", "wine, scaled", "breast cancer", "breast cancer, scaled", "digits", "USPS",
    "a9a", "covtype", "20 newsgroups, comp and sci", "generator",
)  # fmt: skip
SMALL = ("iris", "wine", "wine, scaled", "breast cancer", "breast cancer, scaled")
REPEATS, LEAST, ENOUGH = 15, 3, 20.0  # fits of each; fewer when these many seconds are spent
COLUMNS = {
    "solver": "solver", "sklearn_fw": "ours", "scikit-learn": "theirs", "ratio": "ratio",
    "error": "off", "error, sklearn": "their off", "warnings": "warns",
    "warnings, sklearn": "they warn",
}  # fmt: skip


def race_classes(name, quick):
    """Seconds, error and warnings of both."""
    X, y, _ = CLASSES[name](quick)
    best = AsagaClassifier(C=1.0, solver="newton_cg", tol=1e-10, max_iter=1000)
    count_warnings(best, X, y)
    p = best.predict_proba(X)
    ours, theirs = AsagaClassifier(C=1.0, random_state=0), LogisticRegression()
    return _race(ours, theirs, X, y, lambda model: abs(model.predict_proba(X) - p).max())


def race_numbers(peer, quick):
    """The same for regression on diabetes."""
    X, y, _ = NUMBERS["diabetes"](quick)
    theirs = getattr(linear_model, peer)()
    alpha, ratio = {"Ridge": (1 / len(y), 0.0), "ElasticNet": (1.0, 0.5), "Lasso": (1.0, 1.0)}[peer]
    best = AsagaRegressor(alpha=alpha, l1_ratio=ratio, tol=1e-12)
    count_warnings(best, X, y)
    z = best.predict(X)
    ours = AsagaRegressor(alpha=alpha, l1_ratio=ratio, random_state=0)
    return _race(ours, theirs, X, y, lambda model: abs(model.predict(X) - z).max() / np.ptp(z))


def _race(ours, theirs, X, y, error):
    row = {"warns": count_warnings(ours, X, y), "they warn": count_warnings(theirs, X, y)}
    seconds = {"ours": [], "theirs": []}
    spent = 0.0
    while len(seconds["ours"]) < LEAST or (len(seconds["ours"]) < REPEATS and spent < ENOUGH):
        for who, model in (("ours", ours), ("theirs", theirs)):
            with Clock() as clock:
                count_warnings(model, X, y)
            seconds[who].append(clock.cpu)
            spent += clock.cpu
    row |= {who: Repeats(values) for who, values in seconds.items()}
    row["ratio"] = row["ours"] / row["theirs"]
    row["solver"] = type(ours.solver_).__name__
    return row | {"off": float(error(ours)), "their off": float(error(theirs))}


def classes(report, options):
    report.section("Classification, compared with LogisticRegression")
    found = dict(those_there(TABLES, lambda name: in_child(race_classes, name, options.quick)))
    report.records("table", found, *COLUMNS.items())
    small = [found[name]["ratio"] for name in SMALL if name in found]
    large = [row["ratio"] for name, row in found.items() if name not in (*SMALL, "digits")]
    report.goals(
        ("largest ratio on small tables", max(small), 1.5, "<="),
        ("ratio on digits", found["digits"]["ratio"], 3.0, "<="),
        ("largest ratio on large tables", max(large, default=None), 1.0, "<="),
        ("largest error of a probability", max(r["off"] for r in found.values()), 0.01, "<="),
        silence(found),
    )
    slower = [f"{name} ({row['ratio']:.2g})" for name, row in found.items() if row["ratio"] > 1]
    if slower:
        report.loses(f"LogisticRegression takes less time on {', '.join(slower)}; ratios of CPU "
                     "seconds in parentheses.")  # fmt: skip
    report.bars(
        "Default fits of classifiers", "CPU seconds",
        {
            who: {name: row[key] for name, row in found.items()}
            for who, key in (("AsagaClassifier", "ours"), ("LogisticRegression", "theirs"))
        },
        log=True,
    )  # fmt: skip


def numbers(report, options):
    found = {
        peer: in_child(race_numbers, peer, options.quick)
        for peer in ("Ridge", "ElasticNet", "Lasso")
    }
    report.section("Regression, on diabetes")
    report.records("peer", found, *COLUMNS.items())
    report.goals(
        ("largest ratio of regressions", max(r["ratio"] for r in found.values()), 1.5, "<="),
        silence(found),
    )


def silence(found):
    """The goal that nothing warns where scikit-learn is silent."""
    warned = sum(row["warns"] for row in found.values() if not row["they warn"])
    return "warnings where scikit-learn emits none", warned, 0, "<="


if __name__ == "__main__":
    parts = {"classes": classes, "numbers": numbers}
    raise SystemExit(
        main("linear_defaults", "Default linear models and scikit-learn", ABOUT, parts)
    )
