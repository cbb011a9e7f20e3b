"""Tags of words and hinges of classes, evaluated by one reference implementation."""

import functools
import itertools
import tempfile
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from _defaults_structured import METRICS, SETS
from _report import Clock
from sklearn.datasets import load_digits
from sklearn.svm import LinearSVC

from sklearn_fw import StructuredSVM
from sklearn_fw.structured import BlockFrankWolfe, Casimir, MulticlassModel, Subgradient

N_BINS = 15


def hinge_of_classes(coef, X, y, C):
    """``|w|^2 / (2 C n) + mean hinge`` of class weights (n_classes, n_features)."""
    scores = X @ coef.T
    rows = np.arange(len(y))
    worst = (scores + (np.arange(len(coef)) != y[:, None])).max(axis=1)
    return float((coef**2).sum() / (2 * C * len(y)) + (worst - scores[rows, y]).mean())


def likelihood_of_chains(emissions, transitions, X, y, C):
    """``|w|^2 / (2 C n) + mean log loss`` of a chain without weights for its ends.

    ``emissions`` is (n_features, n_states), ``transitions`` (n_states, n_states) from row to
    column, and y holds numbers of states. Sums over paths go forward, one position at a time.
    """
    total = 0.0
    for x, labels in zip(X, y):
        unary = x @ emissions
        forward = unary[0]
        for scores in unary[1:]:
            top = forward.max()
            forward = scores + top + _log(np.exp(forward - top) @ np.exp(transitions))
        truth = unary[np.arange(len(labels)), labels].sum()
        truth += transitions[labels[:-1], labels[1:]].sum()
        total += np.logaddexp.reduce(forward) - truth
    square = (emissions**2).sum() + (transitions**2).sum()
    return float(square / (2 * C * len(y)) + total / len(y))


def _log(values):
    with np.errstate(divide="ignore"):
        return np.log(values)


def calibration_error(probabilities, truth):
    """Expected calibration error in points of the best state of each node.

    ``probabilities`` is (n_nodes, n_states), ``truth`` numbers of states, -1 if unknown.
    """
    sure, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == truth
    bins = np.minimum((sure * N_BINS).astype(int), N_BINS - 1)
    sums = [np.bincount(bins, values, N_BINS) for values in (sure, right)]
    return float(100 * np.abs(sums[0] - sums[1]).sum() / len(sure))


def numbers_of(labels, classes):
    """Numbers of labels in the sorted ``classes``, -1 where they are not there."""
    places = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    return np.where(classes[places] == labels, places, -1)


CORPORA = {"ewt": "ewt tags", "wnut17": "wnut17"}  # names of the page on defaults


def corpus(name, limit):
    """Features and tags to learn from and to judge by, and the score of predictions."""
    _, metric, load = SETS[CORPORA[name]]
    return [part[:limit] for part in load()], METRICS[metric]


def judged(y, predicted, probabilities, classes, score):
    """What everybody is told: the score, and the calibration error of tag probabilities."""
    error = calibration_error(
        np.concatenate(list(probabilities)), numbers_of(np.concatenate(list(y)), classes)
    )
    return {"score": score(y, predicted), "calibration": error}


def ours(name, limit, surrogate):
    """`StructuredSVM` with nothing but its surrogate."""
    warnings.simplefilter("ignore")
    (X, y, Z, y_test), score = corpus(name, limit)
    svm = StructuredSVM("chain", surrogate=surrogate, random_state=0)
    svm.fit(X[:20], y[:20])  # compiles
    with Clock() as clock:
        svm.fit(X, y)
    return {"cpu": clock.cpu} | judged(
        y_test, svm.predict(Z), svm.predict_marginals(Z), svm.classes_, score
    )


def attributes(x):
    """Names of the features of each token of a sentence, for CRFsuite."""
    return [[str(j) for j in x.indices[a:b]] for a, b in zip(x.indptr[:-1], x.indptr[1:])]


def crfsuite(name, limit, algorithm="lbfgs"):
    """A trainer of python-crfsuite with its defaults, on the same features."""
    import pycrfsuite

    (X, y, Z, y_test), score = corpus(name, limit)
    X, Z = ([attributes(sp.csr_array(x)) for x in part] for part in (X, Z))
    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
    for x, tags in zip(X, y):
        trainer.append(x, tags.tolist())
    classes = np.unique(np.concatenate(list(y)))
    with trained(trainer) as (tagger, clock, _):
        predicted, probabilities = tag(tagger, Z, classes.tolist())
    return {"cpu": clock.cpu} | judged(y_test, predicted, probabilities, classes, score)


CS = (0.01, 0.1, 1.0, 10.0)  # c = 1 / C: lam = c / n
# log10(F - F*) of the specification's prototype on the digits, by c; settings tuned.
PROTOTYPE = {
    "BCFW, averaged": (-1.50, -2.38, -3.52, -4.82),
    "subgradient, averaged": (-1.04, -1.97, -2.78, -3.39),
    "SVRG": (-1.93, -2.30, -3.00, -3.85),
    "Casimir const, prox-center": (-1.79, -2.55, -3.35, -4.02),
    "Casimir const, extrapolation": (-1.77, -2.47, -3.31, -4.32),
    "Casimir adapt, extrapolation": (-1.84, -2.19, -2.92, -4.01),
}
MUS, STEPS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0), (1.0, 2.0, 4.0, 8.0)  # lipschitz = R^2 / mu / step
REFERENCE_TOL, REFERENCE_ITER = 1e-7, 100_000


def digits(quick):
    """Rows of unit norm, as the experiment has them."""
    X, y = load_digits(return_X_y=True)
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    return (X[:200], y[:200]) if quick else (X, y)


def methods(curvature):
    """Solvers and, for each, the settings that the same grid tunes; "default" has none."""
    grid = [
        {"mu": mu, "lipschitz": curvature / mu / step} for mu, step in itertools.product(MUS, STEPS)
    ]
    auto = [{}]
    svrg = functools.partial(Casimir, "const", kappa=0.0, inner_start="previous")
    return {
        "BCFW, averaged": (lambda: BlockFrankWolfe(averaging=True, sampling="uniform"), auto),
        "BCFW, default": (lambda: "auto", auto),
        "subgradient, averaged": (Subgradient, auto),
        "SVRG": (svrg, grid),
        "SVRG, default": (svrg, auto),
        "Casimir const, prox-center": (lambda **s: Casimir("const", **s), grid),
        "Casimir const, extrapolation": (
            lambda **s: Casimir("const", inner_start="extrapolation", **s), grid,
        ),
        "Casimir adapt, extrapolation": (
            lambda **s: Casimir("adapt", inner_start="extrapolation", **s), grid,
        ),
        "Casimir, default": (Casimir, auto),
    }  # fmt: skip


def is_two_sided(name):
    """Whether a pass of a method has a full gradient besides its steps, so that half are made."""
    return name.startswith(("SVRG", "Casimir"))


def race(c, quick):
    """Every method on digits with lam = c / n: best objective, gap and seconds."""
    warnings.simplefilter("ignore")
    X, y = digits(quick)
    n_passes = (6, 12) if quick else (30, 60)

    def fit(solver, max_iter, tol=0.0):
        svm = StructuredSVM(
            MulticlassModel(fit_intercept=False),
            solver=solver,
            C=1 / c,
            tol=tol,
            max_iter=max_iter,
            random_state=0,
        )
        with Clock() as clock:
            svm.fit(X, y)
        return svm, clock.cpu

    found = {}
    for name, (make, grid) in methods(2.0).items():  # a step of a digit changes two rows
        budget = n_passes[0] if is_two_sided(name) else n_passes[1]
        fit(make(**grid[0]), 1)  # compiles
        runs = []
        for settings in grid if not quick else grid[:: max(len(grid) // 3, 1)]:
            svm, seconds = fit(make(**settings), budget)
            if np.isfinite(svm.objective_):
                runs.append((svm.objective_, seconds, settings, svm))
        objective, seconds, settings, svm = min(runs, key=lambda run: run[0])
        history = {k: svm.history_[k].tolist() for k in ("n_oracle_calls", "objective")}
        found[name] = {
            "objective": float(objective), "seconds": seconds, "settings": settings,
            "calls": svm.n_oracle_calls_ / len(y), "gap": svm.dual_gap_, "history": history,
        }  # fmt: skip
    best = fit("bcpfw", 200 if quick else 3000, tol=1e-8)[0]
    return found, best.objective_


def reference_of_digits(c, quick):
    warnings.simplefilter("ignore")
    X, y = digits(quick)
    svc = LinearSVC(multi_class="crammer_singer", C=1 / c, fit_intercept=False, random_state=0,
                    tol=REFERENCE_TOL, max_iter=REFERENCE_ITER).fit(X, y)  # fmt: skip
    return hinge_of_classes(svc.coef_, X, y, 1 / c)


@contextmanager
def trained(trainer):
    """Tagger of a trainer that has its data, the clock of the training, and the model's path."""
    import pycrfsuite

    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "model")
        with Clock() as clock:
            trainer.train(path)
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        yield tagger, clock, path
        tagger.close()


def tag(tagger, sentences, classes):
    """Best tags and marginals of sentences, which are lists of attributes."""
    predicted, marginals = [], []
    for sentence in sentences:
        tagger.set(sentence)
        predicted.append(np.array(tagger.tag()))
        marginals.append(
            np.array([[tagger.marginal(c, t) for c in classes] for t in range(len(sentence))])
        )
    return predicted, marginals
