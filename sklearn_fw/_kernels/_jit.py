"""The only door to numba: cached, GIL-free, and able to run from a read-only installation."""

import functools
import gc
import signal
import threading

import numba
import numpy as np
from numba import extending

from ._cache import NOT_KEPT, TEMPORARY, WatchedCache, cache_in, temporary_folder


def njit(*args, **options):
    """``numba.njit(nogil=True, cache=True)``, in the first folder that can be written.

    Where NUMBA_DISABLE_JIT is set, the function stays what it is.
    """
    if args and callable(args[0]):
        return njit()(args[0])
    options = {"nogil": True, "cache": True, "no_cfunc_wrapper": True, **options}

    def decorate(function):
        if numba.config.DISABLE_JIT:
            # Compiled code does not warn of overflow either, which random numbers make on purpose.
            outermost = "no_cpython_wrapper" not in options
            return np.errstate(all="ignore")(function) if outermost else function
        kernel, warning = _compiled_lazily(function, args, options)
        kernel._cache = WatchedCache(kernel._cache, warning)
        kernel.compile = _interrupts.wait_for(_frugal(kernel.compile))
        return kernel

    return decorate


def _compiled_lazily(function, args, options):
    """Kernel with the first cache that can be written, and what is to be said of that cache."""
    for find, warning in ((lambda: numba.config.CACHE_DIR, None), (temporary_folder, TEMPORARY)):
        if (folder := find()) is not None:
            try:
                with cache_in(folder):
                    kernel = numba.njit(*args, **options)(function)
                return kernel, warning and warning.format(folder=folder)
            except RuntimeError as error:
                if "no locator available" not in str(error):
                    raise
    return numba.njit(*args, **{**options, "cache": False})(function), NOT_KEPT


def _frugal(work):
    """Return ``work``, a compilation, for any number in place of a constant, and undisturbed.

    numba types a variable as its first value before it sees others: a kernel with such an argument
    would be compiled twice. Python's garbage collector takes a tenth of a compilation.
    """

    def compiling(signature):
        collects = gc.isenabled()  # not in a kernel within a kernel
        gc.disable()
        try:
            return work(tuple(map(numba.types.unliteral, signature)))
        finally:
            if collects:
                gc.enable()

    return compiling


class _Interrupts:
    """Holds an interrupt back until the kernel that is being compiled is finished.

    LLVM calls back into Python, and an exception in there is printed and lost: the interrupt
    would be forgotten, or come out as a RuntimeError about an object that is missing. Kernels that
    a kernel calls are compiled within it, so a long compilation can still be interrupted often.
    """

    def __init__(self):
        self._handler, self._held = None, []  # the main thread alone gets signals

    def wait_for(self, work):
        """Return ``work`` as a function that an interrupt follows, but does not cut short."""

        @functools.wraps(work)
        def waiting(*args, **options):
            if threading.current_thread() is not threading.main_thread():
                return work(*args, **options)
            if self._handler is not None:  # a kernel within a kernel
                self._hand_over(self._handler)
                return work(*args, **options)
            handler = signal.getsignal(signal.SIGINT)
            if not callable(handler):  # ends the process, or does nothing
                return work(*args, **options)
            self._handler = handler
            try:
                signal.signal(signal.SIGINT, lambda *details: self._held.append(details))
                return work(*args, **options)
            finally:
                self._handler = None
                signal.signal(signal.SIGINT, handler)
                self._hand_over(handler)

        return waiting

    def _hand_over(self, handler):
        if self._held:
            details, self._held = self._held[-1], []
            handler(*details)


_interrupts = _Interrupts()


def intrinsic(plain):
    """``numba.extending.intrinsic`` with the Python implementation for NUMBA_DISABLE_JIT=1."""

    def decorate(function):
        return plain if numba.config.DISABLE_JIT else extending.intrinsic(function)

    return decorate


# For kernels that only kernels call: without a wrapper for Python they compile a third faster.
inner = njit(no_cpython_wrapper=True)
# The same, written into the callers: a kernel is optimized again in every kernel above it, so each
# level costs. Not for those that compare a field with None: there numba no longer sees it.
inlined = njit(no_cpython_wrapper=True, inline="always")
# For inner products alone: sums in any order are what lets them use vector instructions (2 to 5
# times faster); nothing else of fastmath, so NaN and infinity keep their meaning.
any_order = njit(fastmath={"reassoc"}, no_cpython_wrapper=True)


def thread_limit():
    """Threads this process may use; joblib lowers it in its workers."""
    return numba.config.NUMBA_NUM_THREADS
