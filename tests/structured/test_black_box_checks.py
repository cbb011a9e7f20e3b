"""What black-box blocks ask of a model: sparse features, keys of outputs, checks, workers."""

import numpy as np
import pytest
import scipy.sparse as sp
from joblib import parallel_config

from sklearn_fw._kernels.structured.block_rules import Rules
from sklearn_fw.structured import ChainModel
from sklearn_fw.structured._problems._listed import BlackBoxProblem
from sklearn_fw.structured._solvers._visits import visit_blocks

FW, PAIRWISE, AWAY = 0, 1, 2


def make_rules(step, *, cache=False):
    return Rules(0.1, step, use_cache=cache, cache_f=0.25, cache_nu=0.01)


@pytest.fixture
def chains(rng):
    """A chain model, its data and weights of samples."""
    lengths = [1, 4, 2, 5, 3, 3]
    X = [rng.normal(size=(length, 3)) for length in lengths]
    y = [rng.integers(3, size=length) for length in lengths]
    return ChainModel().initialize(X, y), X, y, np.full(6, 1 / 6)


class HugeFeatures:
    """A million features, three of them per output; outputs are sets."""

    size_joint_feature = 10**6

    def joint_feature(self, x, y):
        columns = (x + 7919 * len(y) + 104729 * np.arange(3)) % 10**6
        return sp.csr_array((np.ones(3), columns, [0, 3]), shape=(1, 10**6))

    def loss(self, y_true, y):
        return float(y_true != y)

    def inference(self, x, w):
        return self.loss_augmented_inference(x, None, w)  # all losses are equal

    def loss_augmented_inference(self, x, y_true, w):
        outputs = map(frozenset, ("", "a", "ab", "abc"))
        scores = [(self.joint_feature(x, y) @ w + self.loss(y_true, y), len(y), y) for y in outputs]
        return max(scores)[-1]

    def output_key(self, y):
        return len(y)


class HugeFeaturesWithoutKeys(HugeFeatures):
    output_key = None


def huge_data():
    return [0, 10**5, 5, 10**5 + 3], [frozenset("a"), frozenset(), frozenset("ab"), frozenset("a")]


def test_blocks_stay_sparse():
    X, y = huge_data()
    blocks = BlackBoxProblem(HugeFeatures(), X, y, np.full(4, 0.25))
    assert blocks.n_weights == HugeFeatures.size_joint_feature
    rules = make_rules(PAIRWISE, cache=True)
    blocks.reset(0.1, capacity=4)
    for _ in range(20):
        visit_blocks(blocks, np.arange(4), np.zeros(4), rules)
    point = blocks.certify()
    assert point.gap < 1e-6
    assert all(dual.support.size <= 12 for dual in blocks._duals)
    assert all(answer.psi.indices.size <= 6 for answer in point.sweep.answers)
    for table in blocks.dual_coef():
        assert set(table) <= {0, 1, 2, 3}
        np.testing.assert_allclose(sum(table.values()), 1.0, rtol=1e-12)


def test_outputs_without_a_key():
    X, y = huge_data()
    blocks = BlackBoxProblem(HugeFeaturesWithoutKeys(), X, y, np.full(4, 0.25))
    blocks.reset(0.1)  # no vertices, no keys
    visit_blocks(blocks, np.arange(4), np.zeros(4), make_rules(FW))
    assert blocks.certify().gap > 0.0
    assert blocks.dual_coef() is None
    with pytest.raises(TypeError, match=r"frozenset.*give the model a method output_key"):
        blocks.reset(0.1, capacity=3)


@pytest.mark.parametrize(
    "outputs",
    [
        ([0, 2, 1], np.array([0, 2, 1], np.int8), (0.0, 2.0, 1.0)),
        (["a", "bb"], np.array(["a", "bb"], "U7"), np.array(["a", "bb"])),
        (3, np.int16(3), np.array(3)),
        ([[0, 1], [1, 1]], np.array([[0, 1], [1, 1]], bool)),
    ],
)
def test_keys_tell_values_apart_not_types(chains, outputs):
    key = BlackBoxProblem(*chains)._model.key
    assert len({key(output) for output in outputs}) == 1
    assert key(np.zeros((2, 3))) != key(np.zeros((3, 2)))
    assert key([0, 1]) != key([1, 0])
    with pytest.raises(TypeError, match="output_key"):
        key([[1], [1, 2]])


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_workers_give_the_same_sweep(chains, rng, backend):
    blocks = BlackBoxProblem(*chains)
    with parallel_config(backend=backend):
        parallel = BlackBoxProblem(*chains, n_jobs=2)
        order = rng.permutation(6)
        for one in (blocks, parallel):
            one.reset(0.1, capacity=10)
            visit_blocks(one, order, np.zeros(6), make_rules(AWAY))
        for augmented in (True, False):
            sweeps = [one.sweep(blocks.w, augmented) for one in (blocks, parallel)]
            for one, other in zip(sweeps[0][:2], sweeps[1][:2], strict=True):
                np.testing.assert_array_equal(other, one)
            assert [a.key for a in sweeps[0].answers] == [a.key for a in sweeps[1].answers]
