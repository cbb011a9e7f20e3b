"""Linear algebra on the device where the data are: NumPy, PyTorch or CuPy.

The array API standard has no triangular solve, so the few factorizations that differ are here.
"""

import importlib

import numpy as np
from scipy.linalg import LinAlgError, cholesky, lapack, solve_triangular
from sklearn import get_config


class Backend:
    """NumPy and SciPy; the other libraries override what they do differently."""

    name = "numpy"
    xp = np
    on_host = True  # whether arrays are NumPy's; an unpickled backend is another object

    def cholesky(self, A):
        # The transpose is in Fortran order: LAPACK works in place. The matrix is symmetric.
        return cholesky(A.T, lower=True, overwrite_a=True, check_finite=False)

    def diagonal(self, A):
        """The diagonal of a matrix made here, in C order, as a view that can be changed."""
        return np.einsum("ii->i", A)

    def exp(self, A):
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
        return X[index]

    def array(self, values, like):
        """The values as float64, on the device of the array ``like``."""
        return np.asarray(values, dtype=np.float64)

    def to_host(self, values):
        return np.asarray(values)


class ArrayBackend(Backend):
    """PyTorch, CuPy, or array-api-strict, the reference against which libraries are tested."""

    on_host = False

    def __init__(self, name):
        self.name = name

    @property
    def xp(self):
        return importlib.import_module(self.name)  # after unpickling it is not imported yet

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
        X = B[:, None] if B.ndim == 1 else B
        if self.name == "torch":
            X = self.xp.linalg.solve_triangular(T, X, upper=not lower)
        elif self.name == "cupy":
            from cupyx.scipy.linalg import solve_triangular

            X = solve_triangular(T, X, lower=lower)
        else:
            X = self.xp.linalg.solve(T, X)
        return X[:, 0] if B.ndim == 1 else X

    def inverse_diagonal(self, L):
        inverse = self.solve_lower(L, self.array(np.eye(L.shape[0]), L))
        return self.xp.sum(inverse * inverse, axis=0)

    def rows(self, X, index):
        index = self._moved(index, X)
        return X[index] if self.name == "torch" else self.xp.take(X, index, axis=0)

    def array(self, values, like):
        # Through a list-free copy: not every library reads NumPy scalars or read-only buffers.
        return self._moved(np.array(self.to_host(values), dtype=np.float64), like)

    def _moved(self, values, like):
        if self.name == "cupy":
            with like.device:
                return self.xp.asarray(values)
        return self.xp.asarray(values, device=like.device)

    def to_host(self, values):
        if self.name == "cupy":
            return self.xp.asnumpy(values)
        if self.name == "torch":
            values = values.detach().cpu() if hasattr(values, "detach") else values
        elif hasattr(values, "to_device") and not isinstance(values, np.ndarray):
            values = values.to_device(self.xp.Device("CPU_DEVICE"))
        return np.asarray(values)


NUMPY = Backend()


def backend_of(X):
    """The backend of an input: NumPy unless scikit-learn's array API dispatch is on."""
    library = type(X).__module__.partition(".")[0]
    is_other = library in ("torch", "cupy", "array_api_strict")
    return ArrayBackend(library) if is_other and get_config()["array_api_dispatch"] else NUMPY
