"""Python functions of users as compiled code can call them; they take the interpreter's lock."""

import ctypes

from numba import types


class PythonCall(types.WrapperAddressProtocol):
    """A function of a user; subclasses say what it returns and takes.

    An exception cannot pass through compiled code: it is kept in ``error``, and from then on the
    function answers with ``failed`` at once. Who runs the kernel asks `check` afterwards.
    """

    kinds = ()  # of what comes back and goes in, for ctypes

    def __init__(self, function, failed=None):
        self.error = None

        def call(*arguments):
            if self.error is None:
                try:
                    return function(*arguments)
                except BaseException as error:
                    self.error = error
            return failed

        self._function = ctypes.CFUNCTYPE(*self.kinds)(call)

    def __call__(self, *arguments):
        """What compiled code does with the function, where nothing is compiled."""
        return self._function(*arguments)

    def __wrapper_address__(self):
        """Where the function is."""
        return ctypes.cast(self._function, ctypes.c_void_p).value

    def check(self):
        """Raise the exception that was kept, if there is one."""
        if self.error is not None:
            raise self.error
