"""The only door to numba: cached, GIL-free, and able to run from a read-only installation."""

import logging

import numba
from numba.core import event


def njit(*args, **options):
    """``numba.njit(nogil=True, cache=True)``; without a cache where no folder can be written."""
    if args and callable(args[0]):
        return njit()(args[0])
    options = {"nogil": True, "cache": True, **options}

    def decorate(function):
        try:
            return numba.njit(*args, **options)(function)
        except RuntimeError as error:
            # Raised at import when neither the package folder nor the user's cache is writable.
            if "no locator available" not in str(error):
                raise
            return numba.njit(*args, **{**options, "cache": False})(function)

    return decorate


# For kernels that only kernels call: without a wrapper for Python they compile a third faster.
inner = njit(no_cpython_wrapper=True, no_cfunc_wrapper=True)
# For inner products alone: sums in any order are what lets them use vector instructions (2 to 5
# times faster); nothing else of fastmath, so NaN and infinity keep their meaning.
any_order = njit(fastmath={"reassoc"})


def thread_limit():
    """Threads this process may use; joblib lowers it in its workers."""
    return numba.config.NUMBA_NUM_THREADS


class _Announcement(event.Listener):
    """Says once per process that a wait is compilation; loading from the cache is silent."""

    def __init__(self):
        self._said = False

    def on_start(self, event):
        module = event.data["dispatcher"].py_func.__module__
        if not self._said and module.startswith(__package__):
            self._said = True
            logging.getLogger("sklearn_fw").info(
                "compiling kernels: some seconds, once per installation"
            )

    def on_end(self, event):
        pass


event.register("numba:compile", _Announcement())
