"""Calls with faults that the workers and the verdicts have to see, for their tests."""

import os
import signal

import numpy as np

from .verdicts import judge

__all__ = ["RUNNERS"]


def crash():
    """A signal, as from compiled code that writes where it must not."""
    os.kill(os.getpid(), signal.SIGSEGV)


def hang():
    """A loop without an end."""
    while True:
        pass


def raw(array):
    """An error that names nothing."""
    return array[10]


def silent(array):
    """NaN without a word."""
    return {"mean": array.sum() * np.nan}


def rubbish(array):
    """An answer to anything."""
    return 1.0


def refused(array):
    """The right way, as far as a test can be: errors of the package count only."""
    from sklearn_fw._core.validation import check_positive

    return check_positive(-1.0, "array")


def nameless(array):
    """An error of the package without the name of the argument."""
    from sklearn_fw._core.validation import check_positive

    return check_positive(-1.0, "something else")


def warned(array):
    """Overflow, seen by numpy alone."""
    return float(np.float64(1e200) * np.float64(1e200) > 0)


FAULTS = {f.__name__: f for f in (raw, silent, rubbish, refused, nameless, warned)}


def planted(name):
    """The verdict on a fault."""
    level = "rubbish" if name == "rubbish" else "extreme"
    verdict = judge(lambda: FAULTS[name](np.ones(3)), level=level, names={"array"})
    return [name, verdict.word, verdict.detail]


RUNNERS = {"crash": crash, "hang": hang, "planted": planted}
