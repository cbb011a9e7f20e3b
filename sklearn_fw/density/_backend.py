"""Linear algebra on the device where the data are: NumPy, PyTorch, CuPy or any array API library.

The array API standard has no triangular solve, so the few factorizations that differ between
libraries are here; everything else is written with functions that all of them share.
"""

import sys

import numpy as np
from scipy.linalg import LinAlgError, cholesky, lapack, solve_triangular
from sklearn import get_config


class Backend:
    """NumPy and SciPy; the other libraries override what they do differently."""

    name = "numpy"
    xp = np

    @property
    def on_host(self):
        """Whether arrays are NumPy's; an unpickled backend is another object, so compare this."""
        return self.name == "numpy"

    def cholesky(self, A):
        """Lower factor of a symmetric positive definite matrix, which may be overwritten."""
        # The transpose is in Fortran order: LAPACK works in place. The matrix is symmetric.
        return cholesky(A.T, lower=True, overwrite_a=True, check_finite=False)

    def diagonal(self, A):
        """The diagonal of a matrix made here, in C order, as a view that can be changed."""
        return np.einsum("ii->i", A)

    def exp(self, A):
        """Exponential; A may be overwritten."""
        return np.exp(A, out=A)

    def positive_part(self, A):
        """The larger of zero and each entry; A may be overwritten."""
        return np.maximum(A, 0.0, out=A)

    def solve_lower(self, L, B):
        """``L^-1 B``; B may be overwritten."""
        return solve_triangular(L, B, lower=True, overwrite_b=True, check_finite=False)

    def solve_upper(self, L, B):
        """``L^-T B`` for the lower factor L; B may be overwritten."""
        return solve_triangular(L, B, lower=True, trans="T", overwrite_b=True, check_finite=False)

    def inverse_diagonal(self, L):
        """Diagonal of ``(L L^T)^-1``: the squared norms of the columns of ``L^-1``."""
        inverse, info = lapack.dtrtri(L, lower=1)
        if info:
            raise LinAlgError(f"diagonal entry {info} of the triangular factor is zero")
        return np.einsum("ij,ij->j", inverse, inverse)

    def rows(self, X, index):
        """The rows with these positions, which are a NumPy array."""
        return X[index]

    def array(self, values, like):
        """The values as float64, on the device of the array ``like``."""
        return np.asarray(values, dtype=np.float64)

    def to_host(self, values):
        """The values as a NumPy array."""
        return np.asarray(values)


class ArrayAPIBackend(Backend):
    """Any library of the array API standard; triangular systems are solved as general ones."""

    def __init__(self, name, xp):
        self.name, self.xp = name, xp

    def __reduce__(self):  # modules cannot be pickled
        return _named, (self.name,)

    def cholesky(self, A):
        try:
            L = self.xp.linalg.cholesky(A)
        except Exception as error:  # each library has an exception of its own
            if "inalg" not in type(error).__name__ and not isinstance(error, RuntimeError):
                raise
            raise LinAlgError(str(error)) from error
        if not bool(self.xp.isfinite(L[-1, -1])):  # CuPy signals failure by NaN
            raise LinAlgError("the matrix is not positive definite")
        return L

    def diagonal(self, A):
        return self.xp.reshape(A, (-1,))[:: A.shape[0] + 1]

    def exp(self, A):
        return self.xp.exp(A)

    def positive_part(self, A):
        return self.xp.clip(A, 0.0, None)

    def solve_lower(self, L, B):
        return self._solve(L, B, lower=True)

    def solve_upper(self, L, B):
        return self._solve(L.T, B, lower=False)

    def _solve(self, T, B, lower):
        X = self._solve_triangular(T, B[:, None] if B.ndim == 1 else B, lower)
        return X[:, 0] if B.ndim == 1 else X

    def _solve_triangular(self, T, B, lower):
        return self.xp.linalg.solve(T, B)

    def inverse_diagonal(self, L):
        inverse = self.solve_lower(L, self.array(np.eye(L.shape[0]), L))
        return self.xp.sum(inverse * inverse, axis=0)

    def rows(self, X, index):
        return self.xp.take(X, self._moved(index, X), axis=0)

    def array(self, values, like):
        # Through a list-free copy: not every library reads NumPy scalars or read-only buffers.
        return self._moved(np.array(self.to_host(values), dtype=np.float64), like)

    def _moved(self, values, like):
        return self.xp.asarray(values, device=like.device)


class StrictBackend(ArrayAPIBackend):
    """array-api-strict, the reference against which libraries are tested."""

    def to_host(self, values):
        if hasattr(values, "__array_namespace__") and not isinstance(values, np.ndarray):
            values = values.to_device(self.xp.Device("CPU_DEVICE"))
        return np.asarray(values)


class TorchBackend(ArrayAPIBackend):
    """PyTorch."""

    def rows(self, X, index):
        return X[self._moved(index, X)]

    def _solve_triangular(self, T, B, lower):
        return self.xp.linalg.solve_triangular(T, B, upper=not lower)

    def to_host(self, values):
        return np.asarray(values.detach().cpu() if hasattr(values, "detach") else values)


class CupyBackend(ArrayAPIBackend):
    """CuPy."""

    def _solve_triangular(self, T, B, lower):
        from cupyx.scipy.linalg import solve_triangular as solve

        return solve(T, B, lower=lower)

    def _moved(self, values, like):
        with like.device:
            return self.xp.asarray(values)

    def to_host(self, values):
        return self.xp.asnumpy(values)


NUMPY = Backend()


def backend_of(X):
    """The backend of an input: NumPy unless scikit-learn's array API dispatch is on."""
    if not get_config()["array_api_dispatch"]:
        return NUMPY
    library = type(X).__module__.partition(".")[0]
    if library in ("torch", "cupy", "array_api_strict"):
        return _named(library)
    if library != "numpy" and hasattr(X, "__array_namespace__"):
        return ArrayAPIBackend(library, X.__array_namespace__())
    return NUMPY


def _named(library):
    # The array exists, so its library has been imported; after unpickling it may not have been.
    if library not in sys.modules:
        __import__(library)
    kinds = {"array_api_strict": StrictBackend, "cupy": CupyBackend, "torch": TorchBackend}
    return kinds.get(library, ArrayAPIBackend)(library, sys.modules[library])
