"""Fits that Ctrl-C ends at some call of the package, and what is left of the estimator then."""

import inspect
import sys
from copy import deepcopy

import joblib
import pytest

from _package import PACKAGE

SHARES = 0.02, 0.4, 0.8  # of the calls of a fit


class Clock:
    """Counts the calls of functions of the package, and raises KeyboardInterrupt at one."""

    def __init__(self, at=None):
        self.n_calls, self.at = 0, at

    def __enter__(self):
        sys.setprofile(self._count)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)

    def _count(self, frame, event, _):
        code = frame.f_code
        # An exception in a generator that is being closed would be lost.
        is_generator = code.co_flags & inspect.CO_GENERATOR
        if event == "call" and code.co_filename.startswith(str(PACKAGE)) and not is_generator:
            self.n_calls += 1
            if self.n_calls == self.at:
                raise KeyboardInterrupt


def assert_all_or_nothing(fit, model):
    """Whenever a fit is interrupted, the first one leaves nothing and another one changes nothing.

    ``fit(model)`` is the call.
    """
    if "random_state" in model.get_params():
        model.set_params(random_state=0)
    fit(deepcopy(model))  # what is computed once and kept is there now
    _assert_kept(fit, model, SHARES[1], _n_calls(fit, model))
    fit(model)
    n_calls = _n_calls(fit, model)
    for share in SHARES:
        _assert_kept(fit, model, share, n_calls)


def _n_calls(fit, model):
    with Clock() as clock:
        fit(deepcopy(model))
    return clock.n_calls


def _assert_kept(fit, model, share, n_calls):
    before = vars(model).copy()
    inside = joblib.hash(before)
    with pytest.raises(KeyboardInterrupt), Clock(max(2, int(share * n_calls))):
        fit(model)
    after = vars(model)
    assert after.keys() == before.keys()
    assert [name for name in before if after[name] is not before[name]] == []
    assert joblib.hash(after) == inside  # nothing was changed in place
