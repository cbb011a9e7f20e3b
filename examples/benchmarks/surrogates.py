"""Quadratic surrogates: Hamming and block losses of scenes, digits with costs, and calibration."""

import _defaults_structured as sets
import numpy as np
from _report import Clock, Repeats, in_child, main, shown, timed
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import KFold
from sklearn.multiclass import OneVsRestClassifier

from sklearn_fw.surrogates import (
    QuadraticSurrogateClassifier,
    calibration_function,
    calibration_function_closed_form,
)
from sklearn_fw.task_losses import HammingLoss, MatrixLoss

ABOUT = """
``QuadraticSurrogateClassifier`` compared with ``RidgeClassifier`` and ``OneVsRestClassifier`` with
``LogisticRegression``. The regularization of each method is chosen from nine values by the mean
task loss in three folds of the training data; results are task losses on the test data.
``QuadraticSurrogateClassifier`` runs with linear functions, with a Gaussian kernel whose width is
that of ``gamma="scale"`` in scikit-learn, and with its defaults. The peers are linear.
"""
VALUES = tuple(10.0**k for k in range(-4, 5))


def contenders(loss, gamma):
    """Name, and function from a value to an estimator."""
    kernel = {"kernel": "rbf", "gamma": gamma}
    one_by_one = "OneVsRestClassifier(LogisticRegression)"
    yield OURS, lambda v: QuadraticSurrogateClassifier(loss, alpha=v)
    yield JUDGED, lambda v: QuadraticSurrogateClassifier(loss, alpha=v, **kernel)
    yield "RidgeClassifier", lambda v: RidgeClassifier(alpha=v)
    yield one_by_one, lambda v: OneVsRestClassifier(LogisticRegression(C=1.0 / v, max_iter=2000))
    yield f"{OURS}, defaults", lambda v: QuadraticSurrogateClassifier(loss)


OURS = "QuadraticSurrogateClassifier"
JUDGED = f"{OURS}, rbf"


def scene(task):
    """Scenes with sets of six labels, of which those of nature make a block."""
    X, y, X_test, y_test = sets.SETS["scene"][2]()
    y, y_test = y.astype(int), y_test.astype(int)
    if task == "Hamming":
        return X, y, X_test, y_test, HammingLoss()
    # The first label of each; beach, sunset, foliage, field and mountain against urban.
    y, y_test = y.argmax(axis=1), y_test.argmax(axis=1)
    block = np.array([0, 0, 1, 1, 0, 2])
    costs = np.where(block[:, None] == block, 0.2, 1.0)
    np.fill_diagonal(costs, 0.0)
    return X, y, X_test, y_test, MatrixLoss(costs)


def digits(task):
    """Digits in two halves; a mistake costs as much as the number is off."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order] / 16.0, y[order]
    number = np.arange(10)
    costs = np.abs(number[:, None] - number).astype(float)
    costs[0] *= 5.0
    return X[:900], y[:900], X[900:], y[900:], MatrixLoss(costs)


TASKS = {
    "scene, Hamming": (scene, "Hamming"), "scene, blocks": (scene, "blocks"),
    "digits, costs": (digits, "costs"),
}  # fmt: skip


def mean_loss(loss, y, predicted):
    return float(loss.losses(y, predicted).mean())


def choose(make, X, y, loss):
    """The value of the least mean loss in three folds."""
    found = []
    for value in VALUES:
        folds = KFold(3, shuffle=True, random_state=0).split(X)
        found.append(np.mean([
            mean_loss(loss, y[b], make(value).fit(X[a], y[a]).predict(X[b])) for a, b in folds
        ]))  # fmt: skip
    return VALUES[int(np.argmin(found))]


def measure(name, quick):
    load, task = TASKS[name]
    X, y, X_test, y_test, loss = load(task)
    if quick:
        X, y = X[::4], y[::4]
    rows = []
    for method, make in contenders(loss, 1.0 / (X.shape[1] * X.var())):
        value = choose(make, X, y, loss) if "defaults" not in method else 1.0
        fitted, seconds = timed(lambda make=make, value=value: make(value).fit(X, y), 3)
        rows.append((method, mean_loss(loss, y_test, fitted.predict(X_test)), value, seconds))
    return rows


def part_of(name):
    def part(report, options):
        rows = in_child(measure, name, options.quick)
        report.section(name.capitalize())
        report.table(
            ["method", "mean task loss", "regularization", "seconds"],
            [
                [method, shown(loss, ".4f"), shown(value, "g"), shown(seconds, ".2g")]
                for method, loss, value, seconds in rows
            ],
        )
        losses = {method: loss for method, loss, *_ in rows}
        other = min((m for m in losses if OURS not in m), key=losses.get)
        report.goals(
            (f"task loss of {JUDGED}, limit: {other}", losses[JUDGED], losses[other], "<=")
        )
        for ours in (OURS, JUDGED):
            if losses[ours] > losses[other]:
                report.loses(f"{name}: the task loss of {other} is {losses[other]:.4f}, that of "
                             f"{ours} {losses[ours]:.4f}.")  # fmt: skip

    return part


def calibrate(quick):
    """Errors against closed forms, and seconds for a pair of 32 labels."""
    eps = np.linspace(0.05, 1.0, 5 if quick else 20)
    rows = []
    for sizes, within in (((2, 3), 0.0), ((3, 3, 3), 0.0), ((2, 2), 0.4), ((4, 4, 4), 0.3)):
        block = np.repeat(np.arange(len(sizes)), sizes)
        costs = np.where(block[:, None] == block, within, 1.0)
        np.fill_diagonal(costs, 0.0)
        loss = "mixed" if within else "block"
        exact = calibration_function_closed_form(loss, eps, block_sizes=sizes, within=within)
        error = np.abs(calibration_function(costs, eps) - exact).max()
        rows.append((f"{loss}, {sizes}", float(error)))
    rng = np.random.default_rng(0)
    costs = rng.random((32, 32))
    np.fill_diagonal(costs, 0.0)
    seconds = []
    for pair in ((0, 1), (5, 3), (30, 31), (7, 20)):
        with Clock() as clock:
            calibration_function(costs, 0.3, pairs=[pair])
        seconds.append(clock.cpu)
    return rows, seconds


def calibration(report, options):
    rows, seconds = in_child(calibrate, options.quick)
    report.section("Calibration functions")
    report.text("Largest error against closed forms, and CPU seconds for a random loss of 32 "
                "labels.")  # fmt: skip
    report.table(["loss", "largest error"], [[name, shown(error, ".1e")] for name, error in rows])
    report.table(["loss", "seconds per pair"],
                 [["random, 32 labels", shown(Repeats(seconds), ".2g")]])  # fmt: skip
    report.goals(
        ("largest error against the closed forms", max(error for _, error in rows), 1e-10, "<="),
        ("seconds for a pair of 32 labels", sorted(seconds)[len(seconds) // 2], 0.01, "<="),
    )


if __name__ == "__main__":
    parts = {name: part_of(name) for name in TASKS} | {"calibration": calibration}
    raise SystemExit(main("surrogates", "Quadratic surrogates of task losses", ABOUT, parts))
