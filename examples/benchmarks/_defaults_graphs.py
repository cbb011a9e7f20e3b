"""Default fits of `StructuredSVM` on graphs and grids beside the best of a grid."""

import time

import _graph_sets as sets
from _defaults_structured import _fit, _take
from sklearn.base import clone

from sklearn_fw import StructuredSVM
from sklearn_fw.metrics import node_accuracy
from sklearn_fw.structured import BlockFrankWolfe
from sklearn_fw.structured._choice_of_c import natural_C

TITLE = "Graphs and grids"
ABOUT = """
``StructuredSVM()``, which finds the model by the form of the data, beside the best of a grid: C
(powers of four in the natural units of ``C="auto"``), averaging (the average of the iterates or the
last one), the model without its constant features, and the oracle ``"trws"`` beside "auto", by
``BlockFrankWolfe`` with at most 100 passes and 20 seconds. The setting is chosen on a fifth of the
training part, or on its last sample where there are fewer than ten.

The metric is the accuracy of nodes. Sets are drawn by a program (``_graph_sets.py``), but for the
letters.
"""
FACTORS = tuple(4.0**k for k in range(-2, 4))
SECONDS = 20.0
SETS = {
    "grids, 2 labels": lambda: sets.smooth_grids((24, 24), 2, 20, 1.5),
    "grids, 5 labels": lambda: sets.smooth_grids((20, 20), 5, 20, 1.0, 10),
    "five images": lambda: sets.smooth_grids((40, 40), 3, 5, 1.2),
    "large images": lambda: sets.smooth_grids((100, 100), 2, 6, 1.5, n_test=5),
    "volumes": lambda: sets.smooth_grids((8, 8, 8), 3, 10, 1.2),
    "checkerboards": sets.checkerboards,
    "layers": sets.layers,
    "trees": lambda: sets.random_graphs(150, 4, 2.0, 2.0, extra=0),
    "loopy graphs": lambda: sets.random_graphs(80, 8, 2.0, 1.5),
    "signs of edges": lambda: sets.random_graphs(80, 4, 2.0, 2.0, signs=True),
    "weak couplings": lambda: sets.random_graphs(80, 3, 0.2, 1.5),
    "repulsion": lambda: sets.random_graphs(80, 3, -3.0, 2.0),
    "ten small graphs": lambda: sets.random_graphs(10, 3, 2.0, 1.5, sizes=(5, 9)),
    "many labels": lambda: sets.random_graphs(60, 20, 3.0, 1.0, sizes=(10, 25), extra=0.3),
    "citations": sets.citations,
    "letters": sets.letters,
}
QUICK = ("trees", "ten small graphs")


def rows(quick):
    """Rows of the table, one per data set."""
    for name, load in SETS.items():
        if quick and name not in QUICK:
            continue
        try:
            data = load()
        except FileNotFoundError as error:
            print(f"{name} left out: {error}")
            continue
        yield _row(name, *data)


def _row(name, X, y, X_test, y_test):
    def score(y_true, y_pred):
        flat = ([labels.ravel() for labels in y] for y in (y_true, y_pred))
        return 100.0 * node_accuracy(*flat)

    _fit(StructuredSVM(max_iter=1, C=1.0, random_state=0), X[:2], y[:2])  # compiles
    default, started = StructuredSVM(random_state=0), time.process_time()
    _fit(default, X, y)
    seconds = time.process_time() - started
    settings, validation = _best_setting(default.model_, score, X, y)
    best = _fit(StructuredSVM(**settings), X, y)
    return {
        "set": name,
        "metric": "accuracy of nodes",
        "default": score(y_test, default.predict(X_test)),
        "best": score(y_test, best.predict(X_test)),
        "best_setting": _words(settings),
        "chosen": f"C={default.C_:.2g}",
        "seconds": seconds,
        "validation": validation,
        "passes": default.n_iter_,
        "gap": f"{100 * default.dual_gap_ / default.objective_:.1f} %",
    }


def _best_setting(model, score, X, y):
    n = max(1, len(y) // 5)
    train, rest = list(range(len(y) - n)), list(range(len(y) - n, len(y)))
    best, best_score = None, -1.0
    for settings in _grid(model, X, y):
        from sklearn_fw import StructuredSVM

        svm = _fit(StructuredSVM(**settings), _take(X, train), _take(y, train))
        value = score(_take(y, rest), svm.predict(_take(X, rest)))
        if value > best_score:
            best, best_score = settings, value
    return best, best_score


def _grid(model, X, y):
    """C and averaging; then, for each C, what else there is."""
    unit = natural_C(StructuredSVM(C=1.0)._make_blocks(X, y, None)[0])
    others = (
        {}, {"averaging": False}, {"fit_intercept": False}, {"oracle": "trws"},
    )  # fmt: skip
    for factor in FACTORS:
        for other in others:
            yield {
                "model": clone(model).set_params(fit_intercept=other.get("fit_intercept", True)),
                "oracle": other.get("oracle", "auto"),
                "solver": BlockFrankWolfe(averaging=other.get("averaging", True)),
                "C": factor * unit,
                "tol": 0.02,
                "max_iter": 100,
                "time_limit": SECONDS,
                "random_state": 0,
            }


def _words(settings):
    words = [f"C={settings['C']:.2g}", "average" if settings["solver"].averaging else "last"]
    words += [] if settings["model"].fit_intercept else ["no constants"]
    words += ["trws"] if settings["oracle"] == "trws" else []
    return ", ".join(words)
