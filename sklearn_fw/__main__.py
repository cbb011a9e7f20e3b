"""Words written with digit images, read with and without structure: ``python -m sklearn_fw``.

``python -m sklearn_fw precompile`` compiles kernels ahead of first fits, in an image of a container
for example.
"""

import argparse
import importlib.util
import logging
import os
import time
from pathlib import Path

from . import __version__, _demo
from ._core.callbacks import HAS_CALLBACKS
from ._precompile import precompile
from .datasets import make_digit_words

FIGURE = "sklearn_fw_demo.png"


def main(arguments=None):
    """Tune, train, report and draw; or compile."""
    options = parse(arguments)
    if options.command == "precompile":
        for line in precompile(options.names):
            print(line, flush=True)
        return
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
    rows = ("LinearSVC, digit by digit", single), ("StructuredSVM, whole words", chain)
    for name, tuned in rows:
        print(f"{name:28}{tuned.C:8g}{tuned.digits:14.1%}{tuned.words:13.1%}{tuned.seconds:8.2f}")
    svm = chain.reader
    print(
        f"\ncertified duality gap {svm.dual_gap_:.2g} (objective {svm.objective_:.4f}) after "
        f"{svm.n_iter_} passes, {svm.n_oracle_calls_} oracle calls"
    )
    if options.output is None:
        print(f"no figure: {missing('matplotlib')}")
    else:
        _demo.draw(words, single, chain, options.output)
        print(f"figure: {options.output}")


def parse(arguments):
    """Options of the command line; a figure that cannot be written is an error at once."""
    parser = argparse.ArgumentParser(prog="python -m sklearn_fw", description=__doc__)
    parser.add_argument("command", nargs="?", choices=["demo", "precompile"], default="demo")
    parser.add_argument("names", nargs="*", help="public names to compile for; all by default")
    parser.add_argument("--version", action="version", version=f"sklearn_fw {__version__}")
    parser.add_argument("--output", help=f"figure to write; {FIGURE} when not given")
    options = parser.parse_args(arguments)
    if options.command == "precompile":
        return options
    if has("matplotlib"):
        options.output = Path(FIGURE if options.output is None else options.output)
        if not os.access(folder := options.output.absolute().parent, os.W_OK):
            parser.error(f"--output: {folder} is not a folder that can be written to")
    elif options.output is not None:
        parser.error(f"--output: {missing('matplotlib')}")
    return options


def with_progress(make):
    """Let a maker of estimators give them a progress bar, or print what it requires."""
    if HAS_CALLBACKS and has("rich"):
        from sklearn.callback import ProgressBar

        return lambda C: make(C).set_callbacks(ProgressBar())
    reason = "they need scikit-learn 1.9 or newer"
    print(f"no progress bars: {missing('rich') if HAS_CALLBACKS else reason}")
    return make


def has(module):
    """Whether an optional module can be imported."""
    return importlib.util.find_spec(module) is not None


def missing(module):
    """What to do about an optional module."""
    return f"{module} is not installed; pip install {module} adds it"


if __name__ == "__main__":
    main()
