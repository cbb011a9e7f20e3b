"""Handwritten words as graphs: effect of edges between letters that are further apart."""

import numpy as np
from _report import Repeats, in_child, main, medians, quietly, shown, timed

from sklearn_fw.datasets import load_ocr_letters
from sklearn_fw.structured import StructuredSVM

VALUES = (0.02, 0.06, 0.2, 0.6, 2.0)
TRIED = 800  # words that C is chosen on; a quarter of them judges
MOST_PASSES = 100
ABOUT = """
Words of the OCR letters of Kassel and Taskar as graphs of letters. The first half of the words
(3,438) is for training and the second for the test. Edges connect letters with the next letter and,
by skips, with the second and third next. Each kind of edge has its own table of scores of letter
pairs. Words with edges to the next letter are chains, for which ``ChainModel`` uses Viterbi's
algorithm. Words with skips have cycles, for which ``GraphModel`` uses exact elimination.

Rows are fits with defaults, and fits with C chosen from the same five values by the letter error on
a quarter of 800 training words. Numbers are medians over random orders of the samples.
"""
CONTENDERS = {
    "no edges": (0, "graph"), "chain": (1, "chain"), "graph, next": (1, "graph"),
    "graph, next two": (2, "graph"), "graph, next three": (3, "graph"),
}  # fmt: skip
QUICK = "chain", "graph, next", "graph, next two"


def words():
    """Training words and letters, and test words and letters."""
    return load_ocr_letters(split="half", return_X_y=True)


def graph(x, reach):
    """The letters of a word, and edges to ``reach`` following ones, one kind per distance."""
    n = len(x)
    kinds = [
        np.stack([np.arange(max(n - skip, 0)), np.arange(min(skip, n), n)], axis=1)
        for skip in range(1, reach + 1)
    ]
    return (x, kinds) if reach else (x, np.empty((0, 2), int))


def fitted(model, X, y, **settings):
    return quietly(StructuredSVM(model, **settings).fit, X, y)


def wrong(svm, X, y):
    return 100 * float(np.mean(np.concatenate(svm.predict(X)) != np.concatenate(y)))


def data_of(name, n_words):
    """The model of a contender, and its training and test words."""
    reach, model = CONTENDERS[name]
    X, y, X_test, y_test = (part[:n_words] for part in words())
    if model == "graph":
        X, X_test = ([graph(x, reach) for x in part] for part in (X, X_test))
    return model, X, y, X_test, y_test


def choose(name, n_words, values=VALUES):
    """C by the wrong letters in some of the training words."""
    model, X, y, *_ = data_of(name, n_words)
    n = min(TRIED, len(y))
    cut = 3 * n // 4
    budget = {"max_iter": MOST_PASSES, "random_state": 0}
    found = [
        wrong(fitted(model, X[:cut], y[:cut], C=C, **budget), X[cut:n], y[cut:n]) for C in values
    ]
    return values[found.index(min(found))]


def measure(name, n_words, C, seed):
    """Errors on the test words and seconds of one fit."""
    model, X, y, X_test, y_test = data_of(name, n_words)
    settings = {} if C is None else {"C": C, "max_iter": MOST_PASSES}
    fitted(model, X[:20], y[:20], max_iter=2, C=1.0)  # compiles
    svm, seconds = timed(lambda: fitted(model, X, y, random_state=seed, **settings))
    svm.predict(X_test[:5])
    error, answering = timed(lambda: wrong(svm, X_test, y_test))
    return {
        "error": error, "fit": seconds, "answer": 1e3 * answering / len(y_test),
        "C": svm.C_, "gap": 100 * svm.dual_gap_ / svm.objective_,
    }  # fmt: skip


def skips(report, options):
    n_words, values = (60, VALUES[2:3]) if options.quick else (None, VALUES)
    in_child(words)  # skips at once when there are no data
    report.section("Edges to following letters")
    report.text("""Letter error on the test words, duality gap in percent of the objective, CPU
        seconds of the fit, and CPU milliseconds per prediction.""")
    rows, errors = [], {}
    contenders = QUICK if options.quick else CONTENDERS
    for name in contenders:
        for kind, C in (("defaults", None), ("tuned", in_child(choose, name, n_words, values))):
            runs = [in_child(measure, name, n_words, C, seed) for seed in range(options.repeat)]
            found = medians(runs)
            errors[name, kind] = [run["error"] for run in runs]
            styles = {"error": ".2f", "C": ".2g", "gap": ".1f", "fit": ".1f", "answer": ".2f"}
            rows.append([name, kind, *(shown(found[k], style) for k, style in styles.items())])
    report.table(["model", "settings", "error, %", "C", "gap, %", "fit, s", "predict, ms"], rows)

    def lead(kind, ahead, behind):
        pairs = zip(errors[ahead, kind], errors[behind, kind])
        return Repeats([b - a for a, b in pairs])

    reaching = "graph, next two"
    report.goals(
        ("gain of skips over the chain, points, tuned", lead("tuned", reaching, "chain"), 1, ">="),
        ("gain of skips over the chain, points, defaults", lead("defaults", reaching, "chain"),
         1, ">="),
        ("error of the graph minus the chain, points, tuned",
         lead("tuned", "chain", "graph, next"), 0.5, "<="),
    )  # fmt: skip
    best = min(contenders, key=lambda name: sorted(errors[name, "tuned"])[options.repeat // 2])
    if not best.startswith("graph"):
        report.loses(f"Tuned graphs have a larger letter error than {best}.")
    report.keep(errors={f"{name}, {kind}": runs for (name, kind), runs in errors.items()})


if __name__ == "__main__":
    raise SystemExit(main("ocr_graphs", "Handwritten words as graphs", ABOUT, {"skips": skips}))
