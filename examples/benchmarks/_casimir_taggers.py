"""Chains as conditional random fields: ours and python-crfsuite in one space of features."""

import warnings

import numpy as np
from _casimir_problems import calibration_error, likelihood_of_chains, numbers_of, tag, trained
from _report import Clock
from sklearn.base import clone

from sklearn_fw import StructuredSVM
from sklearn_fw.datasets import load_conll2000
from sklearn_fw.metrics import phrase_f1_score
from sklearn_fw.preprocessing import TokenFeatures, crfsuite_chunking_attributes
from sklearn_fw.structured import ChainModel

C2 = 1.0  # the penalty of CRFsuite's chunking tutorial: sum of -log p + c2 |w|^2, so C = 1 / (2 c2)
TOL = 1e-4  # certified gap of ours, relative to the objective
POINTS = (5, 15, 50)  # iterations of l2sgd whose models are judged, besides its own end


def chunks(limit):
    """Sentences and tags of CoNLL-2000, training and test."""
    return [part[:limit] for part in load_conll2000(return_X_y=True)]


def judged(emissions, transitions, marginals, predicted, data, C):
    """What everybody is told about a model: objective, phrase F1, calibration."""
    X, y, y_test, classes = data
    truth = numbers_of(np.concatenate(list(y_test)), classes)
    return {
        "objective": likelihood_of_chains(
            emissions, transitions, X, [numbers_of(labels, classes) for labels in y], C
        ),
        "f1": 100 * phrase_f1_score(y_test, predicted),
        "calibration": calibration_error(np.concatenate(list(marginals)), truth),
    }


def chain_crf(limit, solver="auto", surrogate="crf", c2=C2, tol=TOL, judge=True):
    """Our training at a penalty of CRFsuite; ``c2=None`` leaves everything to the defaults."""
    warnings.simplefilter("ignore")
    X_train, y_train, X_test, y_test = chunks(limit)
    features = TokenFeatures("chunking", fields=("w", "pos"), bias=False)
    X, Z = features.fit_transform(X_train), features.transform(X_test)
    settings = {"solver": solver, "surrogate": surrogate, "random_state": 0}
    if c2 is not None:
        model = ChainModel(start_end=False)  # the templates mark first and last words
        settings |= {"model": model, "C": 1 / (2 * c2), "tol": tol, "max_iter": 2000}
    else:
        settings |= {"model": "chain"}
    StructuredSVM(**settings | {"max_iter": 2}).fit(X[:20], y_train[:20])  # compiles
    svm = StructuredSVM(**settings)
    with Clock() as clock:
        svm.fit(X, y_train)
    share = clock.cpu / clock.wall  # certificates know the time, CRFsuite logs that of the CPU
    history = {
        "seconds": (share * svm.history_["time"]).tolist(),
        "objective": svm.history_["objective"].tolist(),
    }
    row = {
        "cpu": clock.cpu, "wall": clock.wall, "iterations": svm.n_iter_, "C": svm.C_,
        "gap": svm.dual_gap_ / svm.objective_, "own": svm.objective_, "history": history,
    }  # fmt: skip
    if not judge:
        return row
    weights = svm.feature_weights()
    data = X, y_train, y_test, svm.classes_
    start = {name: weights.get(name) for name in ("start", "end")}
    row |= judged(weights["features"], weights["transitions"], svm.predict_marginals(Z),
                  svm.predict(Z), data, svm.C_)  # fmt: skip
    if start["start"] is not None:
        row["objective"] = row["own"]  # the reference chain has no weights of ends
    if surrogate == "hinge":
        row |= calibrated(svm, X, y_train, Z, y_test)
    return row


def calibrated(svm, X, y, Z, y_test):
    """Calibration error with the temperature of a part that a second fit has not seen."""
    n, truth = len(y) - len(y) // 5, numbers_of(np.concatenate(list(y_test)), svm.classes_)

    def error():
        return calibration_error(np.concatenate(list(svm.predict_marginals(Z))), truth)

    part, before = clone(svm).set_params(C=svm.C_).fit(X[:n], y[:n]), error()
    svm.temperature_ = part.calibrate(X[n:], y[n:]).temperature_
    return {"before": before, "calibration": error()}


def crfsuite(limit, algorithm, c2=C2, max_iter=None):
    """One trainer of python-crfsuite with a weight for every attribute and tag."""
    import pycrfsuite

    X_train, y_train, X_test, y_test = chunks(limit)
    settings = {
        "c2": c2, "feature.minfreq": 0, "feature.possible_states": 1,
        "feature.possible_transitions": 1,
    }  # fmt: skip
    if max_iter is not None:
        settings["max_iterations"] = max_iter
    trainer = pycrfsuite.Trainer(algorithm=algorithm, params=settings, verbose=False)
    for sentence, tags in zip(X_train, y_train):
        trainer.append(crfsuite_chunking_attributes(sentence), tags.tolist())
    with trained(trainer) as (tagger, clock, path):
        tagger.dump(path + ".txt")
        classes = np.unique(np.concatenate(list(y_train)))
        features = TokenFeatures("chunking", fields=("w", "pos"), bias=False)
        X = features.fit_transform(X_train)
        emissions, transitions = weights_of(
            path + ".txt", list(features.get_feature_names_out()), classes.tolist()
        )
        X_test = map(crfsuite_chunking_attributes, X_test)
        predicted, marginals = tag(tagger, X_test, classes.tolist())
    row = judged(
        emissions, transitions, marginals, predicted, (X, y_train, y_test, classes), 1 / (2 * c2)
    )
    steps = trainer.logparser.iterations
    return row | {
        "cpu": clock.cpu, "wall": clock.wall, "iterations": len(steps),
        "history": history_of(steps, len(y_train)) if algorithm == "lbfgs" else None,
    }  # fmt: skip


def history_of(steps, n):
    """Seconds and objectives as CRFsuite logs them, the latter as means over sentences."""
    seconds, objectives = [], []
    for step in steps:
        seconds.append((seconds[-1] if seconds else 0.0) + step["time"])
        objectives.append(step["loss"] / n)
    return {"seconds": seconds, "objective": objectives}


def weights_of(path, names, classes):
    """Weights out of the text that CRFsuite writes of a model: what it left out is zero."""
    rows = {name: k for k, name in enumerate(names)}
    columns = {name: k for k, name in enumerate(classes)}
    emissions = np.zeros((len(rows), len(columns)))
    transitions = np.zeros((len(columns), len(columns)))
    place = None
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            line = line.strip()
            if line.startswith(("TRANSITIONS", "STATE_FEATURES")):
                place = line.split(" ")[0]
            elif line == "}":
                place = None
            elif place and line.startswith("("):
                pair, value = line.rsplit(": ", 1)
                first, second = pair.split(") ", 1)[1].rsplit(" --> ", 1)
                if place == "TRANSITIONS":
                    transitions[columns[first], columns[second]] = float(value)
                else:
                    emissions[rows[first], columns[second]] = float(value)
    return emissions, transitions
