"""Words of digits: linear classifiers of digits and chain models, tuned on validation words."""

import statistics
import tempfile
from importlib.util import find_spec

import numpy as np
from _report import DOCS, Repeats, in_child, main, shown
from sklearn.linear_model import LogisticRegression

from sklearn_fw import _demo
from sklearn_fw.datasets import make_digit_words

ABOUT = """
600 training words written with scikit-learn's digits and noise, 600 validation words and 600 test
words (``make_digit_words(n_valid=600)``). No image is in two of the three parts. Chain models
predict whole words and also learn digit transitions; linear classifiers of scikit-learn predict one
digit at a time.

Every contender is fitted with the same seven values of C, from 0.001 to 1. The fit with the most
correct digits on the validation words is evaluated on the test words. C multiplies the loss in
every objective: per digit in scikit-learn's classifiers, per word in the chains (for CRFsuite,
``c2 = 1 / (2 C)``). Attributes of CRFsuite are the 65 pixel values.

This is repeated for six sets, each with its own transitions, noise and words. The figure shows
random test words of the first set; ``python -m sklearn_fw`` reproduces it and the first lines of
the first set.
"""
N_SETS = 6
BASELINE = "LinearSVC"
CHAIN = "StructuredSVM"
PICTURE = DOCS.parent / "_static" / "demo.png"


def contenders():
    """Name, whether it sees whole words, and function from C to an estimator."""
    yield CHAIN, True, _demo.make_chain
    if find_spec("pycrfsuite"):
        yield "CRFsuite", True, CRF
    yield BASELINE, False, _demo.make_single
    single = lambda C: _demo.Single(LogisticRegression(C=C, max_iter=2000))  # noqa: E731
    yield "LogisticRegression", False, single


class CRF:
    """Conditional random field of CRFsuite, trained by L-BFGS."""

    def __init__(self, C):
        self.C = C

    def fit(self, X, y):
        import pycrfsuite

        trainer = pycrfsuite.Trainer(algorithm="lbfgs", verbose=False)
        trainer.set_params({"c1": 0.0, "c2": 1 / (2 * self.C), "feature.possible_transitions": 1})
        for word, digits in zip(X, y):
            trainer.append(_attributes(word), [str(digit) for digit in digits])
        self.tagger = pycrfsuite.Tagger()
        with tempfile.NamedTemporaryFile() as file:
            trainer.train(file.name)
            self.tagger.open(file.name)
        return self

    def predict(self, X):
        return [np.array(self.tagger.tag(_attributes(word)), dtype=np.int64) for word in X]


def _attributes(word):
    import pycrfsuite

    rows = [{f"p{k}": value for k, value in enumerate(digit) if value} for digit in word.tolist()]
    return pycrfsuite.ItemSequence(rows)


def measure(n_sets, picture):
    """Rows of all sets and contenders; runs in a process of its own."""
    rows = []
    for seed in range(n_sets):
        words = make_digit_words(n_valid=600, random_state=seed)
        if seed == 0:
            _demo.warm_up(words)
        tuned = {}
        for name, whole, make in contenders():
            tuned[name] = _demo.tune(make, words)
            row = {"set": seed, "contender": name, "reads": "words" if whole else "digits"}
            rows.append(row | tuned[name].numbers())
        if seed == 0:
            svm = tuned[CHAIN].reader
            certificate = {"dual_gap": svm.dual_gap_, "objective": svm.objective_}
            certificate |= {"n_iter": svm.n_iter_, "n_oracle_calls": svm.n_oracle_calls_}
            if picture:
                _demo.draw(words, tuned[BASELINE], tuned[CHAIN], PICTURE)
    return {"grid": list(_demo.GRID), "rows": rows, "certificate": certificate} | headline(rows)


def headline(rows):
    """Mean over the sets in points, by contender, and on how many sets the chain is ahead."""
    names = dict.fromkeys(row["contender"] for row in rows)

    def by_name(merge, key, scale=1):
        return {
            name: merge([scale * row[key] for row in rows if row["contender"] == name])
            for name in names
        }

    digits = by_name(list, "digits")
    return {
        "n_sets": len(digits[CHAIN]), "mean_digits": by_name(statistics.fmean, "digits", 100),
        "mean_words": by_name(statistics.fmean, "words", 100),
        "median_seconds": by_name(Repeats, "seconds"),
        "n_sets_ahead": sum(a > b for a, b in zip(digits[CHAIN], digits[BASELINE])),
    }  # fmt: skip


def sets(report, options):
    result = in_child(measure, 1 if options.quick else N_SETS, options.write)
    report_means(report, result)
    report.image("/_static/demo.png", "test words with predictions per digit and per word")
    report_sets(report, result)
    title = f"Correct digits, means over {result['n_sets']} sets"
    report.bars(title, "percent", {"digits": result["mean_digits"]})
    report.keep(**{name: result[name] for name in ("n_sets", "mean_digits")})


def report_means(report, result):
    report.section("Accuracy on digits and words")
    report.text(f"""Correct digits and correct words in percent, means over {result["n_sets"]} sets;
        CPU seconds of the fit at the chosen C, median over the sets.""")
    reads = {row["contender"]: row["reads"] for row in result["rows"]}
    report.table(
        ["contender", "predicts", "digits", "words", "seconds"],
        [
            [name, reads[name], shown(digits, ".2f"), shown(result["mean_words"][name], ".2f"),
             shown(result["median_seconds"][name], ".2f")]
            for name, digits in result["mean_digits"].items()
        ],
    )  # fmt: skip
    certificate = result["certificate"]
    report.text(f"""{CHAIN} has more correct digits than {BASELINE} on {result["n_sets_ahead"]} of
        the {result["n_sets"]} sets. Its fit on the first set has a certified duality gap of
        {certificate["dual_gap"]:.2g} with an objective of {certificate["objective"]:.4f}, after
        {certificate["n_iter"]} passes and {certificate["n_oracle_calls"]:,} oracle calls.""")
    leader = max(result["mean_digits"], key=result["mean_digits"].get)
    if leader != CHAIN:
        lead = result["mean_digits"][leader] - result["mean_digits"][CHAIN]
        ratio = result["median_seconds"][leader] / result["median_seconds"][CHAIN]
        report.loses(f"""The digit accuracy of {leader} is {lead:.1f} points above that of {CHAIN},
            in {ratio:.1f} times its CPU seconds.""")


def report_sets(report, result):
    report.section("Results by set")
    report.text("Correct digits of the test words in percent, and the chosen C.")
    report.table(
        ["set", *dict.fromkeys(row["contender"] for row in result["rows"])],
        [
            [k, *(f"{100 * row['digits']:.2f} (C {row['C']:g})"
                  for row in result["rows"] if row["set"] == k)]
            for k in range(result["n_sets"])
        ],
    )  # fmt: skip


if __name__ == "__main__":
    title, peers = "Digit words: with and without structure", ("python-crfsuite",)
    raise SystemExit(main("digit_words", title, ABOUT, {"sets": sets}, peers=peers))
