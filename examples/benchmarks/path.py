"""Cost of the regularization path of the structured SVM, and of choosing C along it."""

import statistics
import warnings

import numpy as np
from _path_grid import PATH_GRID
from _report import Clock, in_child, main, medians, timed
from sklearn.model_selection import GridSearchCV, KFold

from sklearn_fw import StructuredSVM, regularization_path
from sklearn_fw._core.loop import drive
from sklearn_fw._kernels.structured.block_rules import CALLS
from sklearn_fw.structured import ChainModel, StructuredSVMCV

ABOUT = """
Cost of one regularization path for all C, compared with a grid. The path is certified to ``eps``
(in units of the task loss, whose largest value is 1) for every C between ``C_min`` and ``C_max``.
The grid has 31 points between the same ends. The same solver solves each to the gap ``eps``, warm
started from the point before, with one setup of the data; values of C between the points have no
certificate. The second part compares the choice of C by five folds along paths with a five-fold
grid search over 8 values.

Seconds are CPU seconds on one thread after compilation, medians of repeated runs. Calls are oracle
calls per training sample. Scores are one minus the mean fraction of wrong labels on held-out data.
"""
EPS = (0.1, 0.02)
C_MIN, C_MAX = 1e-4, 10.0
N_GRID = 31
N_SEARCH = 8
SETS = ("digits", "digit words", "OCR letters")


def load(name, quick):
    if name == "digits":
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        n = 200 if quick else 600
        return "multiclass", X[:n] / 16, y[:n], X[n:] / 16, y[n:]
    if name == "digit words":
        from sklearn_fw.datasets import make_digit_words

        data = make_digit_words(n_train=40 if quick else 200, n_test=1000, random_state=0)
    else:
        from sklearn_fw.datasets import load_ocr_letters

        data = load_ocr_letters(split="half")
    n = 40 if quick else 200
    return "chain", data.X_train[:n], data.y_train[:n], data.X_test[:1000], data.y_test[:1000]


def estimator_for(model, **settings):
    """The estimator of all contenders: losses are shares of wrong labels, C is for X as given."""
    model = ChainModel("hamming") if model == "chain" else model
    return StructuredSVM(model, solver="bcpfw", feature_scale=None, random_state=0, **settings)


def warm_grid(estimator, X, y, eps):
    estimator.set_params(C=1.0)
    blocks, _ = estimator._make_blocks(X, y, None)
    n = blocks.n_blocks
    method = estimator.solver_.start(blocks, lam=1.0, tol=eps, rng=np.random.RandomState(0))
    for C in np.geomspace(C_MIN, C_MAX, N_GRID):
        method.move_to(1.0 / (C * n))
        drive(method, tol=eps, max_iter=5000)
    return int(blocks.counts[CALLS]) / n


def race_path(name, eps, quick, repeat):
    """One row: grid, exact and heuristic path, and scores along it."""
    model, X, y, *_ = load(name, quick)
    options = {"C_min": C_MIN, "C_max": C_MAX}
    few = slice(0, 30)
    for mode in ("exact", "heuristic"):  # compiles
        regularization_path(
            estimator_for(model, max_iter=5000), X[few], y[few], eps=0.5, mode=mode
        ).score_path(X[few], y[few])

    def path_of(mode):
        return regularization_path(
            estimator_for(model, max_iter=5000), X, y, eps=eps, mode=mode, **options
        )

    row = {}
    row["grid calls"], row["grid s"] = timed(
        lambda: warm_grid(estimator_for(model, max_iter=5000), X, y, eps), repeat
    )
    path, row["s"] = timed(lambda: path_of("exact"), repeat)
    guess, row["heuristic s"] = timed(lambda: path_of("heuristic"), repeat)
    return row | {
        "points": len(path.values_), "calls": path.n_oracle_calls_ / len(y),
        "end": path.terminated_by_, "score s": timed(lambda: path.score_path(X, y), repeat)[1],
        "heuristic calls": guess.n_oracle_calls_ / len(y),
    }  # fmt: skip


def race_search(name, quick, repeat):
    """One row: search along paths and over a grid."""
    # Of a grid that is too fine for its budget, and of letters that a small fold lacks.
    warnings.simplefilter("ignore")
    model, X, y, X_test, y_test = load(name, quick)
    folds = KFold(5, shuffle=True, random_state=0)
    grid = {"C": np.geomspace(C_MIN, C_MAX, N_SEARCH)}
    searches = {
        "path": StructuredSVMCV(
            estimator_for(model, max_iter=200), C_min=C_MIN, C_max=C_MAX, cv=folds
        ),
        "grid": GridSearchCV(estimator_for(model, max_iter=200), grid, cv=folds),
    }
    few = slice(0, 30)
    for search in searches.values():
        search.fit(X[few], y[few])
    rows = []
    for _ in range(repeat):
        row = {}
        for kind, search in searches.items():
            with Clock() as clock:
                search.fit(X, y)
            chosen = search.C_ if kind == "path" else search.best_params_["C"]
            score = float(search.score(X_test, y_test))
            row |= {f"{kind} s": clock.cpu, f"{kind} C": float(chosen), f"{kind} score": score}
        rows.append(row)
    return medians(rows)


def paths(report, options):
    races = {
        (name, eps): in_child(race_path, name, eps, options.quick, options.repeat)
        for name in SETS for eps in EPS
    }  # fmt: skip
    report.section("Regularization path compared with a grid")
    report.text(f"""C from {C_MIN:g} to {C_MAX:g}; all runs use the solver ``bcpfw``. The path may
        end before ``C_max``, where the mean hinge loss is below ``eps`` and larger C have no
        effect. *score* is ``score_path`` on the training data, one score per breakpoint.
        *heuristic* relies on the last known gaps and has no certificate.""")
    report.records(
        "data, eps", {f"{name}, {eps:g}": race for (name, eps), race in races.items()},
        ("grid: calls", "grid calls"), ("s", "grid s"), ("path: points", "points"),
        ("calls", "calls"), ("s", "s"), ("ends by", "end"),
        ("path / grid", lambda race: race["s"] / race["grid s"]), ("score s", "score s"),
        ("heuristic: calls", "heuristic calls"), ("s", "heuristic s"),
    )  # fmt: skip

    def worst(eps, what, per):
        return max(race[what] / race[per] for (_, e), race in races.items() if e == eps)

    report.goals(
        ("path / grid at eps = 0.02, largest", worst(0.02, "s", "grid s"), 1.5, "<="),
        ("path / grid at eps = 0.1, largest", worst(0.1, "s", "grid s"), 1.0, "<="),
        ("score_path / path, largest", max(worst(eps, "score s", "s") for eps in EPS), 1.0, "<="),
    )
    slower = [
        f"{name} with eps = {eps:g} ({race['s'] / race['grid s']:.2g} times)"
        for (name, eps), race in races.items() if race["s"] > race["grid s"]
    ]  # fmt: skip
    if slower:
        report.loses(f"""The path takes longer than the grid of {N_GRID} points on
            {", ".join(slower)}.""")
    report.bars(
        f"One certified path and a grid of {N_GRID} values of C", "CPU seconds",
        {
            who: {f"{name}, eps {eps:g}": race[key] for (name, eps), race in races.items()}
            for who, key in (("grid", "grid s"), ("path", "s"), ("heuristic path", "heuristic s"))
        },
        log=True,
    )  # fmt: skip


def search(report, options):
    searches = {
        name: in_child(race_search, name, options.quick, options.repeat) for name in SETS
    }  # fmt: skip
    report.section("Choice of C by cross-validation")
    report.text(f"""Five folds and a fit on all data. ``GridSearchCV`` fits {N_SEARCH} values of C
        from {C_MIN:g} to {C_MAX:g}, each to the default ``tol`` or 200 passes. ``StructuredSVMCV``
        computes a path with the default ``eps`` in each fold, between the same ends, and evaluates
        30 values.""")
    report.records(
        "data",
        searches,
        ("grid search: s", "grid s"),
        ("C", "grid C"),
        ("score", "grid score"),
        ("path search: s", "path s"),
        ("C", "path C"),
        ("score", "path score"),
        ("path / grid", lambda race: race["path s"] / race["grid s"]),
    )
    largest = max(race["path s"] / race["grid s"] for race in searches.values())
    gain = statistics.mean(r["path score"] - r["grid score"] for r in searches.values())
    report.goals(
        ("path search / grid search, CPU s, largest", largest, 0.5, "<="),
        ("mean gain of the path search, points", 100 * gain, -0.5, ">="),
    )
    behind = [
        f"{name} ({100 * (race['grid score'] - race['path score']):.2g} points)"
        for name, race in searches.items() if race["path score"] < race["grid score"]
    ]  # fmt: skip
    if behind:
        report.loses(f"The path search has lower scores than the grid on {', '.join(behind)}.")


if __name__ == "__main__":
    parts = {"paths": paths, "search": search} | PATH_GRID
    raise SystemExit(main("path", "Regularization paths of the structured SVM", ABOUT, parts))
