"""Handwritten words as graphs: what edges between letters that are further apart are worth."""

import numpy as np
from _report import Repeats, in_child, main, medians, quietly, shown, timed

from sklearn_fw.datasets import load_ocr_letters
from sklearn_fw.structured import StructuredSVM

VALUES = (0.02, 0.06, 0.2, 0.6, 2.0)
TRIED = 800  # words that C is chosen on; a quarter of them judges
MOST_PASSES = 100
ABOUT = """
The OCR letters of Kassel and Taskar, the first half of the words for training (3,438) and the
second for the test, as graphs whose nodes are letters and whose edges are of several kinds: to
the next letter, and by skips to the second next and the third next. Each kind has a table of its
own with a score for each pair of letters. A word with edges to the next letter is a chain, which
``ChainModel`` answers by Viterbi's algorithm; with skips it has cycles, which ``GraphModel``
answers exactly by elimination.

Defaults, and C from the same five values for all, by the wrong letters in a quarter of 800
training words. Medians over the random order of the samples.
"""
CONTENDERS = {
    "letters alone": (0, "graph"), "chain": (1, "chain"), "graph, next": (1, "graph"),
    "graph, next two": (2, "graph"), "graph, next three": (3, "graph"),
}  # fmt: skip
QUICK = "chain", "graph, next", "graph, next two"


def words():
    """Words and letters to learn from, and those of the test."""
    return load_ocr_letters(split="half", return_X_y=True)


def graph(x, reach):
    """The letters of a word, and edges to so many following ones, one kind for each distance."""
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
    report.section("Edges to the letters that follow")
    report.text("""Wrong letters in the test words, the duality gap of the fit in percent of its
        objective, CPU seconds of the fit, and CPU milliseconds of an answer.""")
    rows, errors = [], {}
    contenders = QUICK if options.quick else CONTENDERS
    for name in contenders:
        for kind, C in (("defaults", None), ("tuned", in_child(choose, name, n_words, values))):
            runs = [in_child(measure, name, n_words, C, seed) for seed in range(options.repeat)]
            found = medians(runs)
            errors[name, kind] = [run["error"] for run in runs]
            styles = {"error": ".2f", "C": ".2g", "gap": ".1f", "fit": ".1f", "answer": ".2f"}
            rows.append([name, kind, *(shown(found[k], style) for k, style in styles.items())])
    report.table(["model", "C is", "wrong, %", "C", "gap, %", "fit, s", "answer, ms"], rows)

    def lead(kind, ahead, behind):
        pairs = zip(errors[ahead, kind], errors[behind, kind])
        return Repeats([b - a for a, b in pairs])

    reaching = "graph, next two"
    report.goals(
        ("points that skips gain over the chain, tuned", lead("tuned", reaching, "chain"), 1, ">="),
        ("the same with defaults", lead("defaults", reaching, "chain"), 1, ">="),
        ("points that the graph loses to the chain, tuned", lead("tuned", "chain", "graph, next"),
         0.5, "<="),
    )  # fmt: skip
    best = min(contenders, key=lambda name: sorted(errors[name, "tuned"])[options.repeat // 2])
    if not best.startswith("graph"):
        report.loses(f"Graphs have more wrong letters than the words as {best}, all tuned.")
    report.keep(errors={f"{name}, {kind}": runs for (name, kind), runs in errors.items()})


if __name__ == "__main__":
    raise SystemExit(main("ocr_graphs", "Handwritten words as graphs", ABOUT, {"skips": skips}))
