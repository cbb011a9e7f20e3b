"""Structured SVMs on Dask collections: the fits of one process, from sums at one point alone."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.preprocessing import scale

from _clusters import KillLater, processes
from sklearn_fw import StructuredSVM
from sklearn_fw.optim._distributed import _parts
from sklearn_fw.structured import ChainModel, DualAscent, OneSlack, StructuredModel, StructuredSVMCV


@pytest.fixture(scope="module")
def dask(extra):
    extra("distributed", "distributed")
    return extra("distributed", "dask")


def sequences():
    rng = np.random.default_rng(0)
    X = [rng.standard_normal((rng.integers(2, 7), 4)) for _ in range(60)]
    W = rng.standard_normal((4, 3))
    scores = [x @ W + 0.5 * rng.standard_normal((len(x), 3)) for x in X]
    y = [np.array(["a", "b", "rare"])[own.argmax(axis=1)] for own in scores]
    return X, y


def iris():
    X, y = load_iris(return_X_y=True)
    return scale(X), np.array(["a", "b", "c"])[y]


def kinds():
    """Graphs of two kinds of nodes, of one node and of two, with labels of their own."""
    X, y = sequences()
    X = [({"first": x[:1], "other": x[:2, :3]}, np.array([[0, 1], [1, 2]])) for x in X]
    return X, [{"first": labels[:1], "other": labels[:2]} for labels in y]


def words():
    """Sequences of words, most of which are in one of them only."""
    _, y = sequences()
    rng, X = np.random.default_rng(1), []
    for i, labels in enumerate(y):
        often = np.where(rng.random(len(labels)) < 0.9, (labels == "a") + 2 * (labels == "b"), 3)
        columns = np.stack([often, 4 + 10 * i + np.arange(len(labels))], axis=1).ravel()
        starts = 2 * np.arange(len(labels) + 1)
        X.append(sp.csr_array((np.ones(len(columns)), columns, starts), (len(labels), 604)))
    return X, y


class Signs(StructuredModel):
    """A black box: the sign of a row."""

    size_joint_feature = 4

    def joint_feature(self, x, y):
        return y * x

    def loss(self, y_true, y):
        return float(y_true != y)

    def inference(self, x, w):
        return 1 if x @ w > 0 else -1

    def loss_augmented_inference(self, x, y_true, w):
        return -y_true if 1.0 - 2 * y_true * (x @ w) > 0 else y_true


def signs():
    X, y = iris()
    return list(X), [1 if label == "a" else -1 for label in y]


WEIGHTS = np.random.default_rng(0).integers(0, 4, 60).astype(float)
FITS = {
    "hinge": (sequences, StructuredSVM(C=0.5), {}),
    "likelihood": (sequences, StructuredSVM(surrogate="crf", C=0.5), {}),
    "balanced": (sequences, StructuredSVM(class_weight="balanced", C=0.5), {}),
    "balanced model": (sequences, StructuredSVM(ChainModel(class_weight="balanced"), C=0.5), {}),
    "weights": (sequences, StructuredSVM(C=0.5), {"sample_weight": WEIGHTS}),
    "units and C": (sequences, StructuredSVM(random_state=0), {}),
    "classes": (iris, StructuredSVM(C=1.0), {}),
    "sparse": (lambda: (sp.csr_array(iris()[0]), iris()[1]), StructuredSVM(C=1.0), {}),
    "kinds of nodes": (kinds, StructuredSVM(C=0.5), {}),
    "words": (words, StructuredSVM(C=0.5), {}),
    "likelihood of words": (words, StructuredSVM(surrogate="crf", C=0.5), {}),
    "black box": (signs, StructuredSVM(Signs(), C=1.0), {}),
}


def blocks(dask, values, cuts):
    """Delayed blocks of what is sorted so that most of them lack labels."""
    return [dask.delayed(values[first:last]) for first, last in pairwise(cuts)]


def compare(dask, name, cuts):
    make, model, more = FITS[name]
    X, y = make()
    n = X.shape[0] if sp.issparse(X) else len(X)
    cuts = [*cuts, n]
    model = clone(model).set_params(tol=1e-4, max_iter=2000)
    solver = OneSlack(cache=False) if model.surrogate == "hinge" else DualAscent(quasi_newton=True)
    alone = clone(model).set_params(solver=solver).fit(X, y, **more)
    many = {key: blocks(dask, values, cuts) for key, values in more.items()}
    found = clone(model).fit(blocks(dask, X, cuts), blocks(dask, y, cuts), **many)
    assert pytest.approx(alone.C_) == found.C_
    assert found.objective_ == pytest.approx(alone.objective_, rel=1e-4)
    assert found.dual_objective_ <= alone.objective_
    assert found.converged_
    assert found.n_oracle_calls_ == alone.n_oracle_calls_ > 0
    np.testing.assert_allclose(found.coef_, alone.coef_, rtol=0.05, atol=0.02)
    return found, X, cuts


@pytest.mark.parametrize("cuts", [[0], [0, 1, 2, 59, 59], [0, 17, 40]], ids=str)
@pytest.mark.parametrize("name", FITS)
def test_blocks_give_the_fit_of_one_process(dask, name, cuts):
    found, X, cuts = compare(dask, name, cuts)
    own = [part for block in found.predict(blocks(dask, X, cuts)[:1]) for part in block.compute()]
    for a, b in zip(own, found.predict(X[: cuts[1]]), strict=True):
        np.testing.assert_equal(a, b)


@pytest.mark.parametrize("large", [64, 1 << 14])
@pytest.mark.parametrize("name", ["hinge", "likelihood", "words", "likelihood of words"])
def test_workers_give_the_fit_of_one_process(dask, cluster, name, large, monkeypatch):
    monkeypatch.setattr(_parts, "LARGE", large)
    history = compare(dask, name, [0, 17, 40])[0].history_
    assert np.all(np.diff(history["n_rounds"]) > 0)
    assert np.all(np.diff(history["n_bytes"]) > 0)


def test_weights_that_are_lost_with_a_worker_are_sent_again(extra, dask, monkeypatch):
    monkeypatch.setattr(_parts, "LARGE", 64)
    X, y = words()
    model = StructuredSVM(C=0.5, tol=1e-4, max_iter=2000, verbose=1)
    cuts = [0, 17, 40, 60]
    given = [blocks(dask, values, cuts) for values in (X, y)]
    alone = clone(model).fit(*given)
    with processes(extra("distributed", "distributed"), 2) as client, KillLater(client) as killer:
        found = clone(model).fit(*given)
    assert killer.n_lines > 3
    assert found.converged_
    assert found.objective_ == pytest.approx(alone.objective_, rel=1e-4)


def test_weights_are_sent_to_the_parts_that_use_them(dask, cluster, monkeypatch):
    monkeypatch.setattr(_parts, "LARGE", 64)
    (X, y), n_bytes = words(), []
    for cuts in ([0, 60], [0, 20, 40, 60]):  # a block gets all weights, each of three a third
        model = StructuredSVM(C=0.5, max_iter=3, tol=0.0)
        model.fit(blocks(dask, X, cuts), blocks(dask, y, cuts))
        n_bytes.append(np.diff(model.history_["n_bytes"])[0])
    assert n_bytes[1] < 2.5 * n_bytes[0]  # answers come from three blocks


def test_bags_and_arrays(extra, dask):
    bags, arrays = extra("distributed", "dask.bag"), extra("distributed", "dask.array")
    X, y = sequences()
    bag = bags.from_sequence(X, npartitions=3)
    with pytest.raises(NotFittedError):  # before anything is computed
        StructuredSVM().predict(bag)
    svm = StructuredSVM(C=0.5).fit(bag, bags.from_sequence(y, npartitions=3))
    with dask.config.set(scheduler="synchronous"):
        for method in ("predict", "score_samples", "predict_marginals"):
            whole, parts = getattr(svm, method)(X), getattr(svm, method)(bag).compute()
            np.testing.assert_allclose(parts[7], whole[7]) if method != "predict" else (
                np.testing.assert_array_equal(parts[7], whole[7])
            )
    X, y = iris()
    svm = StructuredSVM().fit(
        arrays.from_array(X, chunks=(40, -1)), arrays.from_array(y, chunks=40)
    )
    shares = svm.predict_proba(arrays.from_array(X, chunks=(40, -1)))
    np.testing.assert_allclose(shares.compute(), svm.predict_proba(X))
    assert svm.score(X, y) > 0.95


@pytest.mark.parametrize("surrogate", ["hinge", "crf"])
def test_a_warm_start_takes_fewer_rounds(dask, surrogate):
    X, y = (blocks(dask, values, [0, 30, 60]) for values in sequences())
    svm = StructuredSVM(surrogate=surrogate, C=0.5, tol=1e-4, warm_start=True).fit(X, y)
    n_iter = svm.n_iter_
    assert svm.fit(X, y).n_iter_ < n_iter


REFUSED = {
    "of the collection: .*NaN|looked at first: .*NaN": (
        StructuredSVM(), lambda X, y: X[40].fill(np.nan),
    ),
    "block 1 of the collection: X has 30 samples and y 29": (
        StructuredSVM(), lambda X, y: y.__delitem__(0),
    ),
    "collections of Dask are for solver='auto'": (StructuredSVM(solver="bcfw"), None),
    "DualAscent": (StructuredSVM(surrogate="crf", solver=DualAscent()), None),
    "leave cache='auto'": (StructuredSVM(solver=OneSlack(cache=True)), None),
    "is a Dask collection": (StructuredSVMCV(), None),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(dask, message):
    svm, spoil = REFUSED[message]
    X, y = sequences()
    if spoil is not None:
        spoil(X, y)
    with pytest.raises((TypeError, ValueError), match=message):
        svm.fit(blocks(dask, X, [0, 30, 60]), blocks(dask, y, [0, 30, len(y)]))
    with pytest.raises(TypeError, match="X is a Dask collection"):
        StructuredSVM().partial_fit(blocks(dask, X, [0, 60]), y)
