"""Words written with digit images, read with and without structure: ``python -m sklearn_fw``."""

import argparse
import importlib
import logging
import os
import time
from pathlib import Path

from . import __version__, _demo
from ._core.callbacks import HAS_CALLBACKS
from .datasets import make_digit_words

PICTURE = "sklearn_fw_demo.png"


def main(arguments=None):
    """Tune, train, report and draw."""
    options = parse(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    words = make_digit_words(n_valid=600)
    print(
        f"{len(words.y_train)} training words, {len(words.y_valid)} to choose C from "
        f"{len(_demo.GRID)} values ({_demo.GRID[0]:g} to {_demo.GRID[-1]:g}), "
        f"{len(words.y_test)} to test; no image is shared"
    )
    started = time.perf_counter()
    _demo.warm_up(words)
    print(f"kernels compiled or loaded in {time.perf_counter() - started:.1f} s")

    single = _demo.tune(_demo.make_single, words)
    chain = _demo.tune(with_progress(_demo.make_chain), words)
    print(f"\n{'':28}{'best C':>8}{'right digits':>14}{'right words':>13}{'CPU s':>8}")
    rows = {"LinearSVC, digit by digit": single, "StructuredSVM, whole words": chain}
    for name, tuned in rows.items():
        print(f"{name:28}{tuned.C:8g}{tuned.digits:14.1%}{tuned.words:13.1%}{tuned.seconds:8.2f}")
    svm = chain.reader
    print(
        f"\ncertified duality gap {svm.dual_gap_:.2g} (objective {svm.objective_:.4f}) after "
        f"{svm.n_iter_} passes, {svm.n_oracle_calls_} oracle calls"
    )
    if options.output is None:
        print(f"no picture: {missing('matplotlib')}")
    else:
        _demo.draw(words, single, chain, options.output)
        print(f"picture: {options.output}")


def parse(arguments):
    """Options of the command line; a picture that cannot be written is refused at once."""
    parser = argparse.ArgumentParser(prog="python -m sklearn_fw", description=__doc__)
    parser.add_argument("--version", action="version", version=f"sklearn_fw {__version__}")
    parser.add_argument("--output", help=f"picture to write; {PICTURE} when not given")
    options = parser.parse_args(arguments)
    if not has("matplotlib"):
        if options.output is not None:
            parser.error(f"--output: {missing('matplotlib')}")
        return options
    options.output = Path(PICTURE if options.output is None else options.output)
    folder = options.output.absolute().parent
    if not os.access(folder, os.W_OK):
        parser.error(f"--output: {folder} is no folder that can be written to")
    return options


def with_progress(make):
    """Let a maker of estimators give them a progress bar, or say what that needs."""
    if not HAS_CALLBACKS:
        print("no progress bars: they need scikit-learn 1.9 or newer")
        return make
    if not has("rich"):
        print(f"no progress bars: {missing('rich')}")
        return make
    from sklearn.callback import ProgressBar

    return lambda C: make(C).set_callbacks(ProgressBar())


def has(module):
    """Whether an optional module can be imported."""
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


def missing(module):
    """What to do about an optional module."""
    return f"{module} is not installed; pip install {module} adds it"


if __name__ == "__main__":
    main()
