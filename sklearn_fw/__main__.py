"""``python -m sklearn_fw``: words written with digit images, read with and without structure."""

import argparse
import logging
import time

import numpy as np
from sklearn.svm import LinearSVC

from ._callbacks import HAS_CALLBACKS
from .datasets import make_digit_words
from .metrics import node_accuracy
from .structured import ConvergenceDisplay, StructuredSVM


def main(arguments=None):
    """Train, report and draw."""
    parser = argparse.ArgumentParser(prog="python -m sklearn_fw", description=__doc__)
    parser.add_argument("--output", default="sklearn_fw_demo.png", help="picture to write")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")

    words = make_digit_words()
    n_letters = sum(map(len, words.y_test))
    print(f"{len(words.y_train)} training words, {n_letters} test letters")

    started = time.perf_counter()
    single = LinearSVC(C=0.1).fit(np.concatenate(words.X_train), np.concatenate(words.y_train))
    alone = single.score(np.concatenate(words.X_test), np.concatenate(words.y_test))
    alone_seconds = time.perf_counter() - started

    svm = StructuredSVM("chain", solver="cached", C=1 / 60, tol=1e-3, random_state=0)
    if HAS_CALLBACKS:
        from sklearn.callback import ProgressBar

        svm.set_callbacks(ProgressBar())
    # A first pass pays for compilation or for loading its cache: it is reported apart.
    started = time.perf_counter()
    StructuredSVM("chain", solver="cached", tol=np.inf).fit(words.X_train[:2], words.y_train[:2])
    compile_seconds = time.perf_counter() - started
    started = time.perf_counter()
    svm.fit(words.X_train, words.y_train)
    seconds = time.perf_counter() - started
    predicted = svm.predict(words.X_test)

    print(f"LinearSVC, letter by letter   accuracy {alone:.1%}   {alone_seconds:.1f} s")
    print(
        f"StructuredSVM, whole words    accuracy {node_accuracy(words.y_test, predicted):.1%}   "
        f"{seconds:.1f} s (kernels: {compile_seconds:.1f} s)"
    )
    print(
        f"certified duality gap {svm.dual_gap_:.2g} (objective {svm.objective_:.4f}) after "
        f"{svm.n_iter_} passes, {svm.n_oracle_calls_} oracle calls"
    )
    draw(svm, single, words, predicted, options.output)
    print(f"picture: {options.output}")


def draw(svm, single, words, predicted, path, n_words=5):
    """Convergence curve, and test words that only the structured model reads without a mistake."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = []
    for image, truth, labels in zip(words.X_test, words.y_test, predicted, strict=True):
        letters = single.predict(image)
        if np.array_equal(labels, truth) and np.any(letters != truth):
            shown.append((image, truth, labels, letters))
        if len(shown) == n_words:
            break
    longest = max(len(truth) for _, truth, _, _ in shown)
    figure = plt.figure(figsize=(11, 4.5), layout="constrained")
    left, right = figure.subfigures(1, 2, width_ratios=[1, 1.3])
    ConvergenceDisplay.from_estimator(svm, ax=left.subplots())
    left.suptitle("Certified duality gap")
    right.suptitle("Read as a word (green) and letter by letter (red: wrong)")
    axes = right.subplots(n_words, longest, squeeze=False)
    for axis in axes.flat:
        axis.set_axis_off()
    for row, (image, truth, labels, letters) in zip(axes, shown, strict=False):
        for t, axis in enumerate(row[: len(truth)]):
            axis.imshow(image[t, :64].reshape(8, 8), cmap="gray_r")
            wrong = letters[t] != truth[t]
            axis.text(0.25, -0.28, str(labels[t]), color="tab:green", transform=axis.transAxes)
            axis.text(
                0.65, -0.28, str(letters[t]), color="tab:red" if wrong else "0.6",
                transform=axis.transAxes,
            )  # fmt: skip
    figure.savefig(path, dpi=120)
    plt.close(figure)


if __name__ == "__main__":
    main()
