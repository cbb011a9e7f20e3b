"""Crammer and Singer's multiclass SVM and liblinear, and label sets with zero-one loss."""

import warnings

import numpy as np
from _report import Skip, data_path, in_child, main, timed
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

from sklearn_fw import StructuredSVM
from sklearn_fw.structured import MulticlassModel, MultilabelModel

CS = (0.01, 0.1, 1.0)
REFERENCE_TOL, REFERENCE_ITER = 1e-7, 50_000
TOL = 0.01
ABOUT = """
``StructuredSVM`` with one class per sample has the objective of
``LinearSVC(multi_class="crammer_singer")`` if both have no intercept. Data are scikit-learn's
digits, raw (0 to 16) and divided by 16, and the USPS digits.

"above" is the objective divided by the best known one, minus one. The best known one is that of
liblinear with a tolerance of 1e-7 or the lower bound of ``StructuredSVM``, whichever is tighter.
``StructuredSVM`` stops at a certified gap of 1 % of the objective (``tol=0.01``), liblinear by its
own rule with default settings. Times are medians of CPU seconds over repeated fits.

The second table fits label sets with the zero-one loss and with the Hamming loss, for the same
number of passes.
"""


def tables(quick):
    X, y = load_digits(return_X_y=True)
    keep = slice(400 if quick else None)
    yield "digits / 16", X[keep] / 16.0, y[keep]
    yield "digits", X[keep], y[keep]
    try:
        path = data_path("usps/usps.npz")
    except Skip as reason:
        print(f"USPS left out: {reason}")
        return
    with np.load(path) as data:
        yield "USPS", data["X_train"][keep].astype(float), data["y_train"][keep].astype(int)


def objective(coef, X, y, C):
    """Of the classes' weights (n_classes, n_features), as `StructuredSVM` counts it."""
    scores = X @ coef.T
    rows = np.arange(len(y))
    hinge = (scores + (np.arange(len(coef)) != y[:, None])).max(axis=1) - scores[rows, y]
    return float((coef**2).sum() / (2 * C * len(y)) + hinge.mean())


def race(name, C, repeat, quick):
    """One row: both solvers on one table."""
    warnings.simplefilter("ignore")
    X, y = next((X, y) for other, X, y in tables(quick) if other == name)

    def ours():
        model = MulticlassModel(fit_intercept=False)
        return StructuredSVM(model, C=C, tol=TOL, random_state=0).fit(X, y)

    def peer(**settings):
        return LinearSVC(
            multi_class="crammer_singer", C=C, fit_intercept=False, random_state=0, **settings
        ).fit(X, y)

    ours()  # compiled here
    svm, our_seconds = timed(ours, repeat)
    fitted, seconds = timed(peer, repeat)
    best = objective(peer(tol=REFERENCE_TOL, max_iter=REFERENCE_ITER).coef_, X, y, C)
    best = max(min(best, svm.objective_), svm.dual_objective_)
    return {
        "set": name, "C": C, "StructuredSVM, s": our_seconds, "above": svm.objective_ / best - 1,
        "certified": svm.dual_gap_ / svm.objective_, "calls": svm.n_oracle_calls_ / len(y),
        "liblinear, s": seconds, "liblinear above": objective(fitted.coef_, X, y, C) / best - 1,
        "ratio": our_seconds / seconds,
    }  # fmt: skip


def label_sets(name, repeat, quick):
    """Seconds of 30 passes with both losses."""
    warnings.simplefilter("ignore")
    with np.load(data_path(f"multilabel/{name}.npz")) as data:
        X, y = data["X_train"], data["Y_train"]
    if quick:
        X, y = X[:100], y[:100]
    times = []
    for loss in ("hamming", "zero_one"):
        settings = {"solver": "bcfw", "C": 1.0, "tol": 0, "max_iter": 30, "random_state": 0}
        svm = StructuredSVM(MultilabelModel(task_loss=loss), **settings).fit(X, y)  # compiles
        times.append(timed(lambda svm=svm: svm.fit(X, y), repeat)[1])
    return [name, y.shape[1], *times, times[1] / times[0]]


def classes(report, options):
    quick = options.quick
    names = [name for name, _, _ in tables(quick)]
    rows = [in_child(race, name, C, options.repeat, quick) for name in names for C in CS]
    report.section("Multiclass classification")
    report.table(list(rows[0]), [list(row.values()) for row in rows])
    report.goals(
        ("largest ratio of seconds to liblinear", max(r["ratio"] for r in rows), 3.0, "<="),
        ("largest relative distance to the optimum", max(r["above"] for r in rows), 0.01, "<="),
    )
    losing = [f"{r['set']} at C = {r['C']:g}" for r in rows if r["ratio"] > 1]
    report.loses(
        f"liblinear takes less time on {', '.join(losing)}."
        if losing else "StructuredSVM takes less time than liblinear on all tables."
    )  # fmt: skip
    report.bars(
        "Multiclass classification: CPU seconds to a gap of 1 %, and of liblinear", "seconds",
        {
            who: {f"{r['set']}, C = {r['C']:g}": r[f"{key}, s"] for r in rows}
            for who, key in (("StructuredSVM", "StructuredSVM"), ("liblinear", "liblinear"))
        },
        log=True,
    )  # fmt: skip


def sets_of_labels(report, options):
    rows = [
        in_child(label_sets, name, options.repeat, options.quick) for name in ("emotions", "yeast")
    ]
    report.section("Zero-one loss of label sets")
    report.table(["set", "labels", "hamming, s", "zero_one, s", "ratio"], rows)
    report.goals(("largest ratio of seconds to hamming", max(r[-1] for r in rows), 3.0, "<="))


if __name__ == "__main__":
    parts = {"classes": classes, "label-sets": sets_of_labels}
    raise SystemExit(main("multiclass", "Multiclass classification", ABOUT, parts, repeat=5))
