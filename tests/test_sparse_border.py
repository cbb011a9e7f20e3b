"""Sparse matrices whose indices lead out of their arrays never reach compiled code."""

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_fw import AsagaClassifier, AsagaRegressor, StructuredSVM
from sklearn_fw._core import check
from sklearn_fw.optim import minimize_saga, solve_matrix_game
from sklearn_fw.utils import Packed

N, D = 60, 20


def good():
    return sp.random(N, D, density=0.3, format="csr", random_state=1)


LABELS = np.arange(N) % 2
FAR = 10**8


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


def fitted(estimator):
    return estimator.fit(good(), LABELS)


SVM = StructuredSVM(max_iter=2)
CHAIN = StructuredSVM("chain", max_iter=2)
CALLS = {
    "StructuredSVM.fit": lambda X: SVM.fit(X, LABELS),
    "StructuredSVM.predict": lambda X: fitted(SVM).predict(X),
    "label sets": lambda X: StructuredSVM("multilabel").fit(X, np.c_[LABELS, 1 - LABELS]),
    "chain.fit": lambda X: CHAIN.fit([good(), X], [LABELS, LABELS]),
    "chain.predict": lambda X: CHAIN.fit([good()], [LABELS]).predict([X]),
    "AsagaClassifier.fit": lambda X: AsagaClassifier().fit(X, LABELS),
    "AsagaClassifier.predict": lambda X: fitted(AsagaClassifier(max_iter=2)).predict(X),
    "AsagaClassifier.partial_fit": lambda X: AsagaClassifier(solver="asaga").partial_fit(
        X, LABELS, classes=[0, 1]
    ),
    "AsagaRegressor.fit": lambda X: AsagaRegressor().fit(X, LABELS),
    "minimize_saga": lambda X: minimize_saga(X, 2 * LABELS - 1),
    "solve_matrix_game": solve_matrix_game,
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("call", CALLS)
def test_indices_out_of_range_are_refused(call):
    for format, corrupt in CORRUPTIONS:
        with pytest.raises(ValueError, match=r"\.(indices|indptr|col|row)|indices for"):
            CALLS[call](corrupted(corrupt, format))


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


# ---- matrices that are right, but not as others write them ---------------------------------------


def unsorted(matrix):
    # Two entries of a row change places.
    i = int(np.flatnonzero(np.diff(matrix.indptr) > 1)[0])
    a = matrix.indptr[i]
    for array in (matrix.indices, matrix.data):
        array[[a, a + 1]] = array[[a + 1, a]]
    matrix.has_sorted_indices = False
    return matrix


def doubled(matrix):
    halves = np.repeat(matrix.data / 2, 2)
    return sp.csr_matrix(
        (halves, np.repeat(matrix.indices, 2), 2 * matrix.indptr), shape=matrix.shape
    )


def wide_indices(matrix):
    matrix.indices, matrix.indptr = matrix.indices.astype("i8"), matrix.indptr.astype("i8")
    return matrix


def with_zeros(matrix):
    dense = matrix.toarray()
    rows, columns = np.nonzero(np.ones_like(dense))
    return sp.csr_matrix((dense[rows, columns], (rows, columns)), shape=dense.shape)


def with_reserve(matrix):
    matrix.indices = np.append(matrix.indices, [FAR, 0]).astype("i4")
    matrix.data = np.append(matrix.data, [np.pi, 1.0])
    return matrix


def read_only(matrix):
    for array in (matrix.data, matrix.indices, matrix.indptr):
        array.flags.writeable = False
    return matrix


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    "change", [unsorted, doubled, wide_indices, with_zeros, read_only, sp.csr_array, sp.csc_matrix]
)
def test_other_ways_to_write_the_same_matrix(change):
    X = change(good())
    for estimator in (
        AsagaClassifier(max_iter=50, random_state=0), StructuredSVM(max_iter=20, random_state=0),
    ):  # fmt: skip
        same, other = fitted(estimator).coef_.copy(), estimator.fit(X, LABELS)
        np.testing.assert_allclose(other.coef_, same, rtol=1e-6, atol=1e-8)
        np.testing.assert_array_equal(other.predict(X), other.predict(good()))
    pairs = [good(), X], [LABELS, LABELS]
    chain = CHAIN.set_params(random_state=0).fit([good(), good()], pairs[1]).coef_.copy()
    np.testing.assert_allclose(CHAIN.fit(*pairs).coef_, chain, rtol=1e-6, atol=1e-8)


def test_reserves_behind_the_last_row_are_not_read():
    X = with_reserve(good())
    with pytest.raises(ValueError, match=r"X.indices must name places from 0 to 19"):
        check.sparse(X, "X")
    X.indices[-2] = 0
    assert (check.sparse(X, "X") != good()).nnz == 0
    assert len(X.data) == good().nnz + 2  # the matrix of the user stays as it is
