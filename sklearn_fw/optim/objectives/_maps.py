"""A matrix as a linear map of points and atoms."""

from functools import cached_property

import numpy as np
import scipy.sparse as sp

from ..._core.validation import check_magnitude, check_table
from ..domains._atoms import RankOneAtom

FEW = 0.2  # share of nonzero entries up to which columns are summed
LONG, SPARSE = 1000, 0.02  # length and share of nonzero entries where points count as few columns
EXACT = 1000  # smaller side of a matrix up to which its largest singular value is computed


class LinearMap:
    """``x -> A x``, or ``A X`` for points that are matrices with several columns, row by row.

    Parameters
    ----------
    A : {array-like, sparse matrix} of shape (n_rows, n_columns)
        The matrix.
    n_outputs : int, default=1
        Columns of the points.
    """

    def __init__(self, A, n_outputs=1):
        A = check_table(A, input_name="A", accept_sparse=("csr", "csc"), dtype=np.float64)
        check_magnitude(A.data if sp.issparse(A) else A, "A")
        self.A, self.n_outputs, self._layout = A, n_outputs, None
        self.size, self.n_image = A.shape[1] * n_outputs, A.shape[0] * n_outputs

    def _is_alone(self):
        return self.n_outputs == 1

    def image(self, point):
        """The image of an array or of an atom."""
        if isinstance(point, np.ndarray):
            if self._is_alone():
                if point.size > LONG and not sp.issparse(self.A):
                    used = np.flatnonzero(point)
                    if len(used) <= SPARSE * point.size:
                        return self.A[:, used] @ point[used]
                return self.A @ point
            return (self.A @ point.reshape(-1, self.n_outputs)).ravel()
        if isinstance(point, RankOneAtom):
            return self._image_of_product(point)
        entries = point.entries()
        if entries is None or len(entries[0]) > FEW * self.size:
            return self.image(point.to_array())
        return self._image_of_few(*entries)

    def adjoint(self, slopes):
        """``A' slopes``."""
        if self._is_alone():
            return self.A.T @ slopes
        return (self.A.T @ slopes.reshape(-1, self.n_outputs)).ravel()

    def adjoint_in(self, slopes, block):
        """The same for the entries of a slice, by their columns."""
        if self._is_alone():
            return self._columns[:, block].T @ slopes
        return self.adjoint(slopes)[block].copy()

    @cached_property
    def has_few_columns(self):
        """Whether most columns are zero, as of the observed entries of a matrix."""
        return self._is_alone() and sp.issparse(self.A) and self.A.nnz <= FEW * self.size

    def matrix_adjoint(self, slopes, shape):
        """``A' slopes`` as a sparse matrix, row by row."""
        used, transposed = self._used_columns
        if self._layout is None or self._layout[0] != shape:
            starts = np.searchsorted(used, np.arange(shape[0] + 1) * shape[1])
            self._layout = shape, used % shape[1], starts
        return sp.csr_matrix((transposed @ slopes, *self._layout[1:]), shape=shape)

    @cached_property
    def _used_columns(self):
        """The columns that are not zero, and the transposed matrix of these."""
        used = np.unique(self.A.indices if self.A.format == "csr" else self._entries.indices)
        return used, self.A[:, used].T.tocsr()

    def _image_of_few(self, places, values):
        if self._is_alone():
            if len(places) == 1:
                return self.column(int(places[0])) * values[0]
            return self._columns[:, places] @ values
        image = np.zeros((self.A.shape[0], self.n_outputs))
        for place, value in zip(places.tolist(), values.tolist()):
            column, output = divmod(place, self.n_outputs)
            image[:, output] += value * self.column(column)
        return image.ravel()

    def _image_of_product(self, atom):
        if not self._is_alone():
            if atom.right.size == self.n_outputs:
                return np.multiply.outer(self.A @ atom.left, atom.right).ravel()
            return self.image(atom.to_array())
        if not sp.issparse(self.A):
            return self.image(atom.to_array())
        rows, columns = np.divmod(self._entries.indices, atom.right.size)
        values = atom.left[rows] * atom.right[columns] * self._entries.data
        if self._is_selection:
            return values
        return np.bincount(self._row_of_entry, weights=values, minlength=self.n_image)

    def column(self, j):
        """A column of the matrix, dense."""
        if not sp.issparse(self.A):
            return self.A[:, j].copy()
        columns, dense = self._columns, np.zeros(self.A.shape[0])
        span = slice(columns.indptr[j], columns.indptr[j + 1])
        np.add.at(dense, columns.indices[span], columns.data[span])
        return dense

    @cached_property
    def _columns(self):
        return self.A.tocsc() if sp.issparse(self.A) else self.A

    @cached_property
    def _entries(self):
        return self.A.tocsr()

    @cached_property
    def _is_selection(self):
        """Whether each row has one entry."""
        return bool(np.all(np.diff(self._entries.indptr) == 1))

    @cached_property
    def _row_of_entry(self):
        return np.repeat(np.arange(self.A.shape[0]), np.diff(self._entries.indptr))

    def column_squares(self, weight=None):
        """Squared lengths of the columns, where rows count by a weight."""
        squares = self.A.multiply(self.A) if sp.issparse(self.A) else self.A * self.A
        ones = np.ones(self.A.shape[0]) if weight is None else weight
        return np.asarray(squares.T @ ones).ravel()

    def largest_square(self, weight=None):
        """The largest squared singular value, or a bound, where rows count by a weight."""
        A = self.A
        if weight is not None:
            root = np.sqrt(weight)
            A = sp.diags(root) @ A if sp.issparse(A) else root[:, None] * A
        if min(A.shape) <= EXACT:
            gram = A @ A.T if A.shape[0] < A.shape[1] else A.T @ A
            gram = gram.toarray() if sp.issparse(gram) else gram
            # Not below the true one, since steps rely on it.
            return float(np.linalg.eigvalsh(gram)[-1]) * (1.0 + 1e-10)
        size = abs(A)
        return float(min(self.column_squares(weight).sum(), size.sum(0).max() * size.sum(1).max()))
