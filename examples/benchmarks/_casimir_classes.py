"""Digits and letters: one objective, and scikit-learn's solvers beside ours."""

import warnings

import numpy as np
from _casimir_referee import calibration_error, hinge_of_classes, likelihood_of_classes, numbers_of
from _report import Clock, Repeats
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from sklearn_fw import StructuredSVM
from sklearn_fw.datasets import load_ocr_letters
from sklearn_fw.structured import Casimir, MulticlassModel

TOL = 1e-4  # certified gap of ours, relative to the objective
PEER_TOLS = (1e-2, 1e-4, 1e-6)
CS = (0.1, 1.0, 10.0)


def table(quick):
    X, y = load_digits(return_X_y=True)
    return (X[:300] / 16.0, y[:300]) if quick else (X / 16.0, y)


def race(loss, C, repeat, quick):
    """Ours and a peer on one objective: seconds and objective of each, by one referee."""
    warnings.simplefilter("ignore")
    X, y = table(quick)
    referee = likelihood_of_classes if loss == "crf" else hinge_of_classes
    fits = {
        "StructuredSVM": lambda: StructuredSVM(
            MulticlassModel(fit_intercept=False), surrogate=loss, C=C, tol=TOL, max_iter=5000,
            random_state=0,
        )
    }  # fmt: skip

    def peer(tol):
        if loss == "crf":
            return lambda: LogisticRegression(C=C, fit_intercept=False, tol=tol, max_iter=10_000)
        return lambda: LinearSVC(
            multi_class="crammer_singer", C=C, fit_intercept=False, tol=tol, max_iter=100_000,
            random_state=0,
        )  # fmt: skip

    name = "LogisticRegression" if loss == "crf" else "LinearSVC"
    fits |= {f"{name}, tol={tol:g}": peer(tol) for tol in PEER_TOLS}
    seconds, fitted = {who: [] for who in fits}, {}
    fits["StructuredSVM"]().set_params(max_iter=2).fit(X, y)  # compiles
    for _ in range(repeat):
        for who, make in fits.items():
            with Clock() as clock:
                fitted[who] = make().fit(X, y)
            seconds[who].append(clock.cpu)
    ours = fitted["StructuredSVM"]
    rows = {}
    for who, model in fitted.items():
        coef = model.coef_ if who != "StructuredSVM" else ours.feature_weights()["features"].T
        rows[who] = {"cpu": Repeats(seconds[who]), "objective": referee(coef, X, y, C)}
    rows["StructuredSVM"]["gap"] = ours.dual_gap_ / ours.objective_
    return rows


# ---- letters -------------------------------------------------------------------------------------


def letters(limit):
    """Words of Taskar's OCR set, training and test half."""
    parts = load_ocr_letters(split="half", return_X_y=True)
    return [part[:limit] for part in parts]


def train_letters(limit, surrogate, solver, factor):
    """A chain of letters with ``C = factor / n_train``; None leaves C to the defaults."""
    warnings.simplefilter("ignore")
    X, y, X_test, y_test = letters(limit)
    solver = Casimir(smoother="l2") if solver == "casimir, l2" else solver
    settings = {"surrogate": surrogate, "solver": solver, "random_state": 0}
    if factor is not None:
        settings["C"] = factor
    StructuredSVM("chain", **settings | {"max_iter": 2, "C": 0.1}).fit(X[:20], y[:20])  # compiles
    svm = StructuredSVM("chain", **settings)
    with Clock() as clock:
        svm.fit(X, y)
    predicted, truth = (np.concatenate(list(v)) for v in (svm.predict(X_test), y_test))
    chances = np.concatenate(list(svm.predict_marginals(X_test)))
    numbers = numbers_of(truth, svm.classes_)
    known = numbers >= 0
    return {
        "cpu": clock.cpu, "passes": svm.n_iter_, "gap": svm.dual_gap_ / svm.objective_,
        "C": svm.C_, "wrong": float(100 * np.mean(predicted != truth)),
        "calibration": calibration_error(chances, numbers)[0],
        "log loss": float(-np.log(np.maximum(chances[known, numbers[known]], 1e-12)).mean()),
    }  # fmt: skip
