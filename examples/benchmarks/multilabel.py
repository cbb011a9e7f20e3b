"""Multilabel classification: models of label pairs, one-vs-rest and classifier chains."""

import _defaults_structured as sets
import numpy as np
from _report import Clock, Repeats, in_child, main, quietly
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, hamming_loss
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from sklearn_fw import StructuredSVM
from sklearn_fw.structured import MultilabelModel

ABOUT = """
``MultilabelModel`` with all pairs of labels, with the Chow-Liu tree, and without pairs, compared
with ``OneVsRestClassifier`` and ``ClassifierChain`` of scikit-learn with ``LinearSVC`` and
``LogisticRegression``. Data are scenes (6 labels), emotions in music (6) and yeast genes (14).
Features are as published, approximately between 0 and 1; those of emotions, which have units, are
standardized on the training data.

For all methods, C is chosen from the same eight values by the Hamming loss in three folds of the
training data. Results are those of the published test set. Chains use the given order of labels.
Fits are repeated with three random seeds.
"""
VALUES = (0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
SETS = ("scene", "emotions", "yeast")
SECONDS = 30.0  # for a fit; all pairs of fourteen labels are answered by elimination
SEEDS = range(3)


def contenders():
    """Name and function from C and a seed to an estimator."""

    def structured(edges):
        return lambda C, seed: StructuredSVM(
            MultilabelModel(edges), C=C, time_limit=SECONDS, random_state=seed
        )

    def linear_svc(C, seed):
        return LinearSVC(C=C, random_state=seed)

    def logistic(C, seed):
        return LogisticRegression(C=C, max_iter=2000)

    yield "all pairs", structured("full")
    yield "tree", structured("tree")
    yield "no pairs", structured("none")
    yield "one-vs-rest, LinearSVC", lambda C, seed: OneVsRestClassifier(linear_svc(C, seed))
    yield "one-vs-rest, LogisticRegression", lambda C, seed: OneVsRestClassifier(logistic(C, seed))
    yield "chain, LinearSVC", lambda C, seed: ClassifierChain(linear_svc(C, seed))
    yield "chain, LogisticRegression", lambda C, seed: ClassifierChain(logistic(C, seed))


OURS = ("all pairs", "tree", "no pairs")


def data(name):
    X, y, X_test, y_test = sets.SETS[name][2]()
    if name == "emotions":
        scaler = StandardScaler().fit(X)
        X, X_test = scaler.transform(X), scaler.transform(X_test)
    return X, y.astype(int), X_test, y_test.astype(int)


def choose(make, X, y):
    """The C of the smallest Hamming loss in three folds."""
    losses = []
    for C in VALUES:
        folds = KFold(3, shuffle=True, random_state=0).split(X)
        wrong = [
            np.mean(quietly(make(C, 0).fit, X[train], y[train]).predict(X[rest]) != y[rest])
            for train, rest in folds
        ]
        losses.append(np.mean(wrong))
    return VALUES[int(np.argmin(losses))]


def measure(name, quick):
    X, y, X_test, y_test = data(name)
    if quick:
        X, y = X[::8], y[::8]
    found = {}
    for method, make in contenders():
        C = choose(make, X, y)
        row = found[method] = {"C": C, "hamming": [], "subset": [], "f1": [], "seconds": []}
        for seed in SEEDS:
            with Clock() as clock:
                fitted = quietly(make(C, seed).fit, X, y)
            row["seconds"].append(clock.cpu)
            answers = fitted.predict(X_test).astype(int)
            row["hamming"].append(100 * hamming_loss(y_test, answers))
            row["subset"].append(100 * float((answers == y_test).all(axis=1).mean()))
            row["f1"].append(100 * f1_score(y_test, answers, average="micro"))
    return found


def part_of(name):
    def part(report, options):
        found = in_child(measure, name, options.quick)
        report.section(name.capitalize())
        report.records(
            "method", found, ("Hamming loss, %", lambda row: Repeats(row["hamming"]), ".2f"),
            ("subset accuracy, %", lambda row: Repeats(row["subset"]), ".2f"),
            ("micro F1, %", lambda row: Repeats(row["f1"]), ".2f"), ("C", "C", "g"),
            ("seconds", lambda row: Repeats(row["seconds"]), ".2g"),
        )  # fmt: skip
        middle = {method: float(Repeats(row["hamming"])) for method, row in found.items()}
        ours = min(OURS, key=middle.get)
        other = min((m for m in middle if m not in OURS), key=middle.get)
        if name == "scene":
            what = f"Hamming loss of {ours}, limit: that of {other}, %"
            report.goals((what, middle[ours], middle[other], "<="))
        if middle[ours] > middle[other]:
            report.loses(f"{name}: the Hamming loss of {other} is {middle[other]:.2f} %, that of "
                         f"{ours} {middle[ours]:.2f} %.")  # fmt: skip

    return part


if __name__ == "__main__":
    parts = {name: part_of(name) for name in SETS}
    raise SystemExit(main("multilabel", "Multilabel classification", ABOUT, parts))
