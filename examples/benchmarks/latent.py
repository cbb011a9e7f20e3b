"""Hidden states: classes of several shapes, with and without unlabeled states."""

import numpy as np
from _report import Clock, data_path, in_child, main, medians, quietly
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sklearn_fw.structured import LatentStructuredSVM, StructuredSVM

FACTORS = tuple(10.0**k for k in range(-1, 3))  # of the C that "auto" takes
STATES = (2, 3, 5)
SHAPES = 5  # of the digits of one parity
TOLERANCE, MOST_PASSES = 0.1, 100
LEAST_GAIN = 3.0  # points that hidden states gain on parities, tuned
ABOUT = """
Digits with labels that are coarser than their shapes. The label "parity" is whether a digit is odd,
so that a class has five shapes; the label "digits" is the digit itself, which has few.
``LatentStructuredSVM`` with several hidden states per label is compared with ``StructuredSVM``,
which has one state per label. "Digits as labels" is a ``StructuredSVM`` trained on the digits and
evaluated by their parity; it is the result of ideal hidden states.

Images of 8 x 8 pixels are those of scikit-learn, half of them for training. Images of 16 x 16
pixels are the USPS postal codes, 7,291 for training and 2,007 for the test as published. "Tuned" C
is chosen on a quarter of the training images, from the same multiples of the value of ``C="auto"``
for the model without states. Numbers are medians over random states, which also determine the
initial hidden states.
"""
CONTENDERS = {"one state per label": 1, **{f"{n} states per label": n for n in STATES}}
CONTENDERS["digits as labels"] = None


def images(source):
    """Images and digits, for training and for the test."""
    if source == "sklearn":
        X, digits = load_digits(return_X_y=True)
        X, X_test, digits, digits_test = train_test_split(
            X / 16, digits, test_size=0.5, random_state=0
        )
        return X, digits, X_test, digits_test
    with np.load(data_path("usps/usps.npz")) as data:
        X, digits, X_test, digits_test = (
            data[name] for name in ("X_train", "y_train", "X_test", "y_test")
        )
    order = np.random.default_rng(0).permutation(len(digits))
    return X[order].astype(float), digits[order].astype(int), X_test.astype(float), digits_test


class Task:
    def __init__(self, source, parity, quick):
        X, digits, X_test, digits_test = images(source)
        n = 200 if quick else None
        self.X, self.digits, self.X_test = X[:n], digits[:n], X_test[:n]
        self.digits_test, self.parity = digits_test[:n], parity

    def labels(self, digits):
        return digits % 2 if self.parity else digits

    def fitted(self, n_states, rows, C, seed):
        settings = {"random_state": seed}
        if C is not None:
            settings |= {"C": C, "tol": TOLERANCE, "max_iter": MOST_PASSES}
        if n_states in (None, 1):
            svm = StructuredSVM(**settings)
        else:
            svm = LatentStructuredSVM(n_states_per_label=n_states, **settings)
        digits = self.digits[rows]
        return quietly(svm.fit, self.X[rows], digits if n_states is None else self.labels(digits))

    def wrong(self, svm, X, digits):
        return 100 * float((self.labels(svm.predict(X)) != self.labels(digits)).mean())


def measure(source, parity, name, quick, repeat):
    """Errors and seconds of a contender, with defaults and tuned."""
    task, n_states = Task(source, parity, quick), CONTENDERS[name]
    n = len(task.digits)
    train, held, both = slice(0, 3 * n // 4), slice(3 * n // 4, n), slice(0, n)
    unit = task.fitted(1, train, None, 0).C_
    task.fitted(n_states, slice(0, 60), 1.0, 0)  # compiles
    found = {
        C: task.wrong(task.fitted(n_states, train, C, 0), task.X[held], task.digits[held])
        for C in (unit * factor for factor in FACTORS)
    }
    rows = {}
    for kind, C in (("defaults", None), ("tuned", min(found, key=found.get))):
        runs = []
        for seed in range(repeat):
            with Clock() as clock:
                svm = task.fitted(n_states, both, C, seed)
            error = task.wrong(svm, task.X_test, task.digits_test)
            runs.append({"error": error, "seconds": clock.cpu, "C": svm.C_})
        rows[kind] = medians(runs)
    return rows


def part_of(title, source, parity):
    def part(report, options):
        in_child(images, source)  # skips at once when there are no data
        found = {
            name: in_child(measure, source, parity, name, options.quick, options.repeat)
            for name in CONTENDERS
            if parity or CONTENDERS[name] is not None
        }
        report.section(title)
        report.text("Test error in percent, and CPU seconds of the last fit.")
        report.records(
            "contender", found, ("defaults, %", lambda r: r["defaults"]["error"], ".2f"),
            ("tuned, %", lambda r: r["tuned"]["error"], ".2f"),
            ("C", lambda r: r["tuned"]["C"], ".2g"),
            ("defaults, s", lambda r: r["defaults"]["seconds"], ".1f"),
            ("tuned, s", lambda r: r["tuned"]["seconds"], ".1f"),
        )  # fmt: skip
        errors = {
            kind: {name: kinds[kind]["error"] for name, kinds in found.items()}
            for kind in ("defaults", "tuned")
        }
        judge(report, title, errors, parity)

    return part


def judge(report, title, errors, parity):
    plain, hidden = "one state per label", f"{SHAPES if parity else 2} states per label"
    gains = {kind: float(of[plain]) - float(of[hidden]) for kind, of in errors.items()}
    if parity:
        report.goals(*(
            (f"gain of {hidden} over one, points, {kind}", gain, LEAST_GAIN, ">=")
            for kind, gain in gains.items()
        ))  # fmt: skip
    if gains["tuned"] <= 0:
        report.loses(f"{title}, tuned: {hidden} do not reduce the test error.")


TASKS = {
    "parity-small": part_of("Parity, 8 x 8 pixels", "sklearn", True),
    "parity-usps": part_of("Parity, 16 x 16 pixels", "usps", True),
    "digits-small": part_of("Digits, 8 x 8 pixels", "sklearn", False),
    "digits-usps": part_of("Digits, 16 x 16 pixels", "usps", False),
}
if __name__ == "__main__":
    raise SystemExit(main("latent", "Hidden states", ABOUT, TASKS))
