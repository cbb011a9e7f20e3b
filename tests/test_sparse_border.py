"""Sparse matrices whose indices lead out of their arrays never reach compiled code.

That every callable has them checked is what tests/fuzz finds.
"""

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_fw import StructuredSVM
from sklearn_fw._core import check
from sklearn_fw.utils import Packed

N, D = 60, 20
LABELS = np.arange(N) % 2
FAR = 10**8
SVM, CHAIN = StructuredSVM(max_iter=2), StructuredSVM("chain", max_iter=2)


def good():
    return sp.random(N, D, density=0.3, format="csr", random_state=1)


def high(matrix):
    matrix.indices[5] = FAR


def negative(matrix):
    matrix.indices[5] = -FAR


def pointer(matrix):
    matrix.indptr[3] = FAR


def falling(matrix):
    matrix.indptr[3] = matrix.indptr[5] + 4


def few_numbers(matrix):
    matrix.data = matrix.data[:-5]


def few_pointers(matrix):
    matrix.indptr = matrix.indptr[:-3]


def fractions(matrix):
    matrix.indices = matrix.indices.astype(float)


def column(matrix):
    matrix.col = matrix.col.copy()
    matrix.col[3] = FAR


CORRUPTIONS = [
    *(("csr", change) for change in (high, negative, pointer, falling, few_numbers, few_pointers)),
    ("csr", fractions), ("csc", high), ("csc", falling), ("bsr", high), ("coo", column),
]  # fmt: skip


def corrupted(corrupt, format="csr"):
    matrix = good().asformat(format).copy()
    corrupt(matrix)
    return matrix


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "call",
    [lambda X: check.sparse(X, "X"), lambda X: SVM.fit(X, LABELS),
     lambda X: CHAIN.fit([good(), X], [LABELS, LABELS])],
    ids=["check", "rows", "sequences"],
)  # fmt: skip
def test_indices_out_of_range_are_refused(call):
    for format, corrupt in CORRUPTIONS:
        with pytest.raises(ValueError, match=r"\.(indices|indptr|col|row)|indices for"):
            call(corrupted(corrupt, format))


@pytest.mark.parametrize("corrupt", [high, pointer, falling])
def test_packed_samples(corrupt):
    with pytest.raises(ValueError, match=r"values.in"):
        Packed(corrupted(corrupt), [0, 30, N])
    packed = Packed(good(), [0, 30, N])
    corrupt(packed.values)
    with pytest.raises(ValueError, match=r"X.values.in"):
        CHAIN.fit(packed, [LABELS[:30], LABELS[30:]])


def test_three_axes_are_refused():
    with pytest.raises(ValueError, match="two dimensions"):
        check.sparse(sp.coo_array(np.ones(3)), "X")


def test_reserves_behind_the_last_row_are_not_read():
    X = good()
    X.indices = np.append(X.indices, [FAR, 0]).astype("i4")
    X.data = np.append(X.data, [np.pi, 1.0])
    with pytest.raises(ValueError, match=r"X.indices must name places from 0 to 19"):
        check.sparse(X, "X")
    X.indices[-2] = 0
    assert (check.sparse(X, "X") != good()).nnz == 0
    assert len(X.data) == good().nnz + 2  # the matrix of the user stays as it is
