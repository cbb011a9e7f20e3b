"""Words of digits read one by one and as a whole, both tuned: the demo and its benchmark."""

import time
from typing import NamedTuple

import numpy as np
from sklearn.svm import LinearSVC

from .displays import ConvergenceDisplay
from .metrics import node_accuracy, sequence_accuracy
from .structured import ChainModel, StructuredSVM

GRID = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
N_SHOWN = 24


def make_chain(C):
    """A chain model trained to a certified gap."""
    model = ChainModel(task_loss="hamming_sum")
    return StructuredSVM(model, solver="cached", C=C, tol=0.01, max_iter=1000, random_state=0)


class Single:
    """A classifier of scikit-learn that reads words digit by digit."""

    def __init__(self, classifier):
        self.classifier = classifier

    def fit(self, X, y):
        self.classifier.fit(np.concatenate(X), np.concatenate(y))
        return self

    def predict(self, X):
        return [self.classifier.predict(word) for word in X]


def make_single(C):
    """A linear classifier of single digits."""
    return Single(LinearSVC(C=C))


def warm_up(words):
    """Compile the kernels, or load them, on two words."""
    few = words.X_train[:2], words.y_train[:2]
    make_chain(GRID[0]).fit(*few).predict(few[0])


class Tuned(NamedTuple):
    """A reader at the C of the grid that reads most digits of the validation words."""

    reader: object
    C: float
    digits: float  # share of the test digits that are right
    words: float  # share of the test words without a mistake
    predicted: list  # of the test words
    seconds: float  # of CPU, for the fit at this C

    def numbers(self):
        """What a table shows of it."""
        return {name: getattr(self, name) for name in ("C", "digits", "words", "seconds")}


def tune(make, words, grid=GRID):
    """Fit at every C, choose on the validation words, judge on the test words."""
    tried = []
    for C in grid:
        started = time.process_time()
        reader = make(C).fit(words.X_train, words.y_train)
        seconds = time.process_time() - started
        tried.append((node_accuracy(words.y_valid, reader.predict(words.X_valid)), reader, seconds))
    # Of equal ones the smallest C.
    best = max(range(len(grid)), key=lambda k: tried[k][0])
    _, reader, seconds = tried[best]
    predicted = list(reader.predict(words.X_test))
    digits = node_accuracy(words.y_test, predicted)
    exact = sequence_accuracy(words.y_test, predicted)
    return Tuned(reader, grid[best], float(digits), float(exact), predicted, seconds)


def draw(words, single, chain, path):
    """Write a figure: the certificate of the chain, and test words taken at random."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 5.2), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1, 2.3])
    ConvergenceDisplay.from_estimator(chain.reader, ax=left.subplots())
    left.suptitle("Certified duality gap of the chain")
    right.suptitle(
        f"{N_SHOWN} test words taken at random. Above: read digit by digit, below: as words; "
        "mistakes are red"
    )
    shown = np.random.default_rng(0).choice(len(words.X_test), N_SHOWN, replace=False)
    axes = right.subplots(-(-N_SHOWN // 3), 3).ravel()
    length = max(map(len, words.y_test))
    for axis in axes:
        axis.set_axis_off()
    for axis, i in zip(axes, shown):
        _draw_word(axis, words, i, (single.predicted[i], chain.predicted[i]), length)
    figure.savefig(path, dpi=120)


def _draw_word(axis, words, i, readings, length):
    """The images of one word in a row, with what is read above and below."""
    height, width = words.image_shape
    n_pixels = height * width
    gap = np.zeros((height, 1))
    images = [np.hstack([x[:n_pixels].reshape(height, width), gap]) for x in words.X_test[i]]
    axis.imshow(np.hstack(images), cmap="gray_r", aspect="equal")
    axis.set(xlim=(-1, length * (width + 1)), ylim=(height + 4.5, -5.5))
    for y, reading in zip((-3, height + 2), readings):
        for t, (read, digit) in enumerate(zip(reading, words.y_test[i])):
            wrong = read != digit
            axis.text(
                t * (width + 1) + width / 2 - 0.5, y, str(read), ha="center", va="center",
                fontsize="small", color="tab:red" if wrong else "0.4",
                weight="bold" if wrong else "normal",
            )  # fmt: skip
