"""Data are stacked once and checked once, and keep the kind of numbers that they have."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_fw import StructuredSVM
from sklearn_fw.structured import ChainModel, EnumeratedModel, MatchingModel, PartModel
from sklearn_fw.structured._models import _ragged
from sklearn_fw.structured._models._ragged import stack_labels, stack_rows
from sklearn_fw.structured._models._rows import Rows, with_constants
from sklearn_fw.structured._models._units import Units
from sklearn_fw.utils import Packed

FORMS = {
    "list": lambda X: [x.astype(np.float32) for x in X],
    "CSR": lambda X: [sp.csr_array(x, dtype=np.float32) for x in X],
    "Packed": lambda X: Packed.from_list([x.astype(np.float32) for x in X]),
    "packed CSR": lambda X: Packed(
        sp.csr_array(np.concatenate(X), dtype=np.float32), np.cumsum([0, *map(len, X)])
    ),
}


def sequences(rng, lengths=(3, 1, 4, 2, 5)):
    X = [rng.normal(size=(n, 4)).round(2) * (rng.random((n, 4)) < 0.7) for n in lengths]
    return X, [rng.integers(3, size=n) for n in lengths]


class Line(PartModel):
    """A line of cells of two kinds, that counts how often it was asked for the parts of inputs."""

    asked = 0

    def parts(self, x):
        type(self).asked += 1
        t = np.arange(len(x) - 1)
        return [x[:2], x[2:, :1]], np.stack([t, t + 1], axis=1)


# ---- one stacking --------------------------------------------------------------------------------


def test_empty_items_have_no_say(rng):
    """Neither in the kind of numbers, nor in the width, nor in whether rows are sparse."""
    X = [x.astype(np.float32) for x in sequences(rng)[0][:2]]
    for kind in (np.asarray, sp.csr_array):
        items = [[], *map(kind, X), np.empty((0,))]
        rows, starts = stack_rows(items)
        assert rows.dtype == np.float32
        assert sp.issparse(rows) == (kind is sp.csr_array)
        np.testing.assert_array_equal(starts, [0, 0, 3, 4, 4])
    labels, starts = stack_labels([[], ["a"], ["b", "a"]])
    assert labels.tolist() == ["a", "b", "a"]
    assert starts.tolist() == [0, 0, 1, 3]
    assert stack_labels([[], [1, 2]])[0].dtype.kind == "i"


@pytest.mark.parametrize("solver", ["bcfw", "auto"])
def test_a_fit_looks_at_its_data_once(solver, rng, monkeypatch):
    looks = []
    look = _ragged._finite
    monkeypatch.setattr(_ragged, "_finite", lambda rows: looks.append(rows.shape) or look(rows))
    X, y = sequences(rng, lengths=[3] * 25)  # enough to choose C by what is held out
    StructuredSVM("chain", solver=solver, max_iter=1, tol=10.0).fit(X, y)
    assert looks == [(75, 4)]


def test_parts_are_asked_for_once(rng):
    X, y = (
        [rng.normal(size=(4, 2)) for _ in range(25)],
        [rng.integers(2, size=4) for _ in range(25)],
    )
    Line.asked = 0
    svm = StructuredSVM(Line(), max_iter=1, tol=10.0).fit(X, y)
    assert Line.asked == 25
    assert svm.predict(X[:3]).shape == (3,)

    class Curious(Line):
        """Its inputs are the user's."""

        def initialize(self, X, y):
            self.largest = max(x.max() for x in X)
            return super().initialize(X, y)

    svm = StructuredSVM(Curious(), C=1.0, max_iter=1, tol=10.0).fit(X, y)
    assert svm.model_.largest == max(x.max() for x in X)


# ---- float32 -------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_chains_keep_float32(form, rng):
    X, y = sequences(rng)
    given = FORMS[form](X)
    parts = ChainModel().initialize(given, y)._build_parts(given, y, np.full(5, 0.2))
    assert parts.data.dtype == np.float32
    same = [x.astype(np.float32).astype(np.float64) for x in X]
    settings = {"solver": "bcfw", "C": 1.0, "tol": 0.01, "random_state": 0}
    svm, other = (StructuredSVM("chain", **settings).fit(x, y) for x in (given, same))
    np.testing.assert_allclose(svm.coef_, other.coef_, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(svm.dual_gap_, other.dual_gap_, rtol=1e-9, atol=1e-14)
    for one, two in zip(svm.predict(given), other.predict(same), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("model", [EnumeratedModel(), MatchingModel()])
def test_scores_of_float32(model, rng):
    shape = (3, 2, 4) if isinstance(model, MatchingModel) else (3, 4)
    X = [rng.normal(size=shape).astype(np.float32) for _ in range(6)]
    y = [[(0, 1)]] * 6 if isinstance(model, MatchingModel) else [2] * 6
    settings = {"C": 1.0, "tol": 1e-3, "random_state": 0, "solver": "bcpfw"}
    single, double = (
        StructuredSVM(model, **settings).fit([x.astype(kind) for x in X], y)
        for kind in (np.float32, np.float64)
    )
    np.testing.assert_allclose(single.coef_, double.coef_, rtol=1e-5, atol=1e-6)
    with pytest.raises(ValueError, match=r"NaN|finite"):
        StructuredSVM(model).fit([np.full(shape, np.nan, np.float32)], y[:1])


def test_memory_of_dense_rows(rng):
    """What is made of an array: its numbers and columns once, and little more on the way."""
    X = (rng.random((20_000, 64)) < 0.5).astype(np.float32)
    rows = Rows(X, np.arange(20_001), np.arange(20_001), None)
    tracemalloc.start()
    try:
        found = with_constants(rows, Units())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    kept = found.data.nbytes + found.indices.nbytes + found.indptr.nbytes
    assert peak < 1.3 * kept
    assert found.nnz == np.count_nonzero(X)
