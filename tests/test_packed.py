"""Packed behaves like a list of arrays, for users and for scikit-learn."""

import copy
import pickle

import joblib
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV, KFold, train_test_split
from sklearn.utils import shuffle

from sklearn_fw.utils import Packed


def blocks_of(lengths, kind="dense"):
    rng = np.random.default_rng(len(lengths))
    dense = [rng.integers(0, 3, (n, 3)).astype(float) for n in lengths]
    if kind == "dense":
        return dense
    if kind == "labels":
        return [np.array(["a", "bb", "ccc"])[block[:, 0].astype(int)] for block in dense]
    return [getattr(sp, kind)(block) for block in dense]


def rows(block):
    return block.toarray() if sp.issparse(block) else block


def assert_same_blocks(found, expected):
    found, expected = list(found), list(expected)
    assert len(found) == len(expected)
    for a, b in zip(found, expected):
        assert type(a) is type(b)
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(rows(a), rows(b), strict=True)


KINDS = ["dense", "csr_matrix", "csr_array", "labels"]
LENGTHS = [3, 1, 0, 4, 2]


@pytest.mark.parametrize("kind", KINDS)
def test_round_trip(kind):
    blocks = blocks_of(LENGTHS, kind)
    packed = Packed.from_list(blocks)
    assert packed.shape == (5,)
    assert len(packed) == 5
    assert packed.lengths.tolist() == LENGTHS
    expected = [b.astype(packed.values.dtype) for b in blocks]  # text gets one width
    assert_same_blocks(packed, expected)
    assert_same_blocks([packed[i] for i in range(-5, 5)], expected * 2)
    assert Packed.from_list(packed) is packed


@given(
    lengths=st.lists(st.integers(0, 4), min_size=1, max_size=8),
    kind=st.sampled_from(["dense", "csr_array"]),
    data=st.data(),
)
def test_indexing_equals_that_of_an_object_array(lengths, kind, data):
    blocks = blocks_of(lengths, kind)
    packed, n = Packed.from_list(blocks), len(blocks)
    index = st.lists(st.integers(-n, n - 1), max_size=6)
    key = data.draw(
        st.one_of(
            index,
            index.map(lambda key: np.array(key, dtype=int)),
            st.lists(st.booleans(), min_size=n, max_size=n),
            st.lists(st.booleans(), min_size=n, max_size=n).map(np.array),
            st.slices(n),
        )
    )
    is_empty = not isinstance(key, slice) and len(key) == 0
    positions = np.arange(n)[np.asarray(key, dtype=int) if is_empty else key]
    for selected in (packed[key], packed[key, ...], packed[key].compact()):
        assert isinstance(selected, Packed)
        assert_same_blocks(selected, [blocks[i] for i in positions])
    # A selection of a selection.
    assert_same_blocks(packed[key][::-1].compact(), [blocks[i] for i in positions[::-1]])
    compact = packed[key].compact()
    assert compact.offsets[-1] == compact.values.shape[0]
    np.testing.assert_array_equal(compact.index, np.arange(len(positions)))


def test_single_keys(rng):
    packed = Packed.from_list(blocks_of([2, 1]))
    for key in (1, np.int32(1), np.array(1), -1, (1, ...)):
        np.testing.assert_array_equal(packed[key], packed.values[2:], strict=True)
    for key in (5, (1, 0), "a", [0.5], [[0]], (1, ..., 0), True, np.True_, [True]):
        with pytest.raises(IndexError):
            packed[key]


def test_selections_share_the_buffer():
    packed = Packed.from_list(blocks_of(LENGTHS))
    assert packed[1:4].values is packed.values
    assert packed.compact() is packed
    run = packed[1:4].compact()
    assert np.shares_memory(run.values, packed.values)
    assert run.compact() is run
    assert not np.shares_memory(packed[[3, 1]].compact().values, packed.values)
    assert np.shares_memory(packed[0], packed.values)


@pytest.mark.parametrize("kind", KINDS)
def test_copies_keep_the_content(kind, tmp_path):
    packed = Packed.from_list(blocks_of(LENGTHS, kind))[[4, 0, 0]]
    joblib.dump(packed, tmp_path / "packed")
    for other in (
        pickle.loads(pickle.dumps(packed)),
        copy.deepcopy(packed),
        joblib.load(tmp_path / "packed"),
    ):
        assert_same_blocks(other, packed)
        assert other.index.tolist() == [4, 0, 0]


def test_memory_maps_stay_memory_maps(tmp_path):
    joblib.dump(Packed.from_list(blocks_of(LENGTHS)), tmp_path / "packed")
    packed = joblib.load(tmp_path / "packed", mmap_mode="r")
    assert isinstance(packed.values, np.memmap)
    assert isinstance(packed[1:3].values, np.memmap)
    assert not packed.values.flags.writeable
    again = Packed(packed.values, packed.offsets)
    assert again.values is packed.values


def kind_of_buffer(packed):
    return type(packed.values).__name__


@pytest.mark.slow
def test_worker_processes_map_the_buffer():
    packed = Packed.from_list(blocks_of(LENGTHS))
    parallel = joblib.Parallel(n_jobs=2, backend="loky", max_nbytes=1)
    found = parallel(joblib.delayed(kind_of_buffer)(packed[part]) for part in ([0, 2], [1]))
    assert found == ["memmap", "memmap"]


@pytest.mark.parametrize("kind", KINDS)
def test_sums_join_samples(kind):
    blocks = blocks_of(LENGTHS, kind)
    packed = Packed.from_list(blocks)
    for other in (packed[[4, 1]], [packed[4], packed[1]]):
        assert_same_blocks(packed + other, [*packed, packed[4], packed[1]])


def test_becomes_an_object_array():
    packed = Packed.from_list([np.zeros((2, 3)), np.ones((2, 3))])  # equal shapes stay apart
    array = np.asarray(packed)
    assert array.shape == (2,)
    assert array.dtype == object
    assert_same_blocks(array, packed)
    with pytest.raises(TypeError, match=r"ragged.*use \.values"):
        np.asarray(packed, dtype=float)
    with pytest.raises(ValueError, match="copy"):
        np.array(packed, copy=False)


def test_empty_label_lists_do_not_change_the_type():
    packed = Packed.from_list([[], ["a", "b"], []])
    assert packed.values.dtype == "<U1"
    assert packed.lengths.tolist() == [0, 2, 0]
    assert Packed.from_list([[], []]).values.shape == (0,)


VALUES = np.zeros((4, 2))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((VALUES, []), ValueError, "offsets must start with 0 and end with the 4 rows"),
        ((VALUES, [0, 3]), ValueError, "got 0 and 3"),
        ((VALUES, [0, 3, 2, 4]), ValueError, "never decrease, got 3 then 2 at position 1"),
        ((VALUES, [0.0, 4.0]), TypeError, "offsets must hold integers, got dtype float64"),
        ((VALUES, [[0, 4]]), ValueError, "offsets must have one dimension"),
        ((VALUES, [0, 4], [1]), IndexError, "index must name blocks 0 to 0 .* got .1."),
        ((VALUES, [0, 4], [True]), TypeError, "index must hold integers"),
        (([[0.0]], [0, 1]), TypeError, "use Packed.from_list"),
        ((sp.csc_array(VALUES), [0, 4]), TypeError, "got csc: use values.tocsr"),
        ((np.array(1.0), [0, 1]), ValueError, "at least one dimension"),
    ],
)
def test_wrong_parts_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        Packed(*arguments)


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([], "blocks must be a list of 1 or more arrays"),
        ([VALUES, VALUES[:, :1]], r"sample 1 has rows of shape \(1,\), sample 0 of \(2,\)"),
        ([VALUES, sp.csr_array(VALUES)], "samples 1 and 0 are not both sparse"),
        ([1, 2], "sample 0 is a scalar"),
        ([["a"], [1]], "sample 0 holds text but sample 1 numbers"),
    ],
)
def test_blocks_that_do_not_fit_are_refused(blocks, message):
    with pytest.raises(ValueError, match=message):
        Packed.from_list(blocks)


class MeanLength(BaseEstimator):
    """Remembers what it was fitted on; its score needs both arguments to be aligned."""

    def __init__(self, shift=0):
        self.shift = shift

    def fit(self, X, y):
        assert isinstance(X, Packed)
        assert isinstance(y, Packed)
        self.n_rows_ = int(X.lengths.sum())
        return self

    def score(self, X, y):
        assert all(a.shape[0] == b.shape[0] for a, b in zip(X, y))
        return float(X.lengths.mean()) - self.shift


@pytest.mark.parametrize("kind", ["dense", "csr_array"])
def test_scikit_learn_splits_it(kind):
    lengths = list(range(1, 11))
    X, y = (
        Packed.from_list(blocks_of(lengths, kind)),
        Packed.from_list(blocks_of(lengths, "labels")),
    )
    X_train, X_test, _, y_test = train_test_split(X, y, random_state=0)
    assert X_train.values is X.values
    assert sorted([*X_train.lengths, *X_test.lengths]) == lengths
    np.testing.assert_array_equal(X_test.lengths, y_test.lengths)
    np.testing.assert_array_equal(shuffle(X, random_state=1).lengths.sum(), 55)
    grid = GridSearchCV(MeanLength(), {"shift": [0, 1]}, cv=KFold(5), n_jobs=1).fit(X, y)
    assert grid.best_params_ == {"shift": 0}
    assert grid.best_estimator_.n_rows_ == 55


def test_repr_says_what_is_selected():
    packed = Packed.from_list(blocks_of(LENGTHS))
    expected = "Packed(n_samples=2, n_rows=7, values=float64 ndarray of shape (10, 3))"
    assert repr(packed[[0, 3]]) == expected
