"""Linear models on Dask collections: the same fits as on arrays, whatever happens to workers."""

import os
import pickle
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.preprocessing import scale

from _clusters import KillLater, processes
from sklearn_fw import AsagaClassifier, AsagaRegressor, KernelStudentTDensity
from sklearn_fw.linear_model import AveragedSubgradientClassifier, _collections
from sklearn_fw.linear_model._collections import Plan, TableBlock
from sklearn_fw.linear_model._linear import Units
from sklearn_fw.losses import Huber, SquaredError
from sklearn_fw.optim import Asaga
from sklearn_fw.optim._distributed import _parts
from sklearn_fw.optim._distributed._parts import LocalParts
from sklearn_fw.optim._incremental import _newton
from sklearn_fw.penalties import Box, ElasticNet, GroupLasso

WEIGHTS = np.random.default_rng(0).random(569)


@pytest.fixture(scope="module")
def arrays(extra):
    extra("distributed", "distributed")
    return extra("distributed", "dask.array")


def blocks(arrays, X, sizes=None):
    """A Dask array of blocks of these sizes; CSR blocks stay CSR."""
    import dask

    sizes = sizes or [97] * (X.shape[0] // 97) + [X.shape[0] % 97]
    ends = np.cumsum(sizes)
    pieces = [X[end - size : end] for size, end in zip(sizes, ends, strict=True)]
    made = [dask.delayed(piece) for piece in pieces]
    shapes = [piece.shape for piece in pieces]
    return arrays.concatenate([
        arrays.from_delayed(piece, shape, dtype=X.dtype) for piece, shape in zip(made, shapes)
    ])  # fmt: skip


def cancer():
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X), np.array(["bad", "good"])[y]


def counts():
    rng = np.random.default_rng(0)
    X = sp.random_array((500, 1200), density=0.01, format="csr", rng=rng)
    return X, np.asarray(X @ rng.standard_normal(1200) > 0).astype(int)


def several_targets():
    X, y = load_diabetes(return_X_y=True)
    return X, np.column_stack([y, -y, y**2 / 100.0])


def unlike_units():
    X, y = load_diabetes(return_X_y=True)
    return X * np.append(1e5, np.ones(9)), y


def scaled_iris():
    X, y = load_iris(return_X_y=True)
    return scale(X), y


def wide():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 1100))
    return X, X @ rng.standard_normal(1100)


FITS = {
    "two classes": (cancer, AsagaClassifier(), {}),
    "weights": (cancer, AsagaClassifier(class_weight="balanced"), {"sample_weight": WEIGHTS}),
    "softmax": (lambda: load_iris(return_X_y=True), AsagaClassifier(), {}),
    "one against the rest": (
        lambda: load_iris(return_X_y=True), AsagaClassifier("squared_hinge", fit_intercept=False),
        {},
    ),
    "wide CSR": (counts, AsagaClassifier(C=10.0), {}),
    "float32": (lambda: (cancer()[0].astype(np.float32), cancer()[1]), AsagaClassifier(), {}),
    "target": (lambda: load_diabetes(return_X_y=True), AsagaRegressor(alpha=0.1), {}),
    "targets": (several_targets, AsagaRegressor(Huber(), alpha=0.1), {}),
    "alpha": (several_targets, AsagaRegressor(), {}),
    "alpha and units": (unlike_units, AsagaRegressor(), {}),
    "elastic net, weights": (
        cancer, AsagaClassifier(l1_ratio=0.5, class_weight="balanced"), {"sample_weight": WEIGHTS},
    ),
    "l1 norm": (cancer, AsagaClassifier(l1_ratio=1.0, C=0.1), {}),
    "elastic net, softmax": (scaled_iris, AsagaClassifier(l1_ratio=0.5, C=0.1), {}),
    "elastic net, one against the rest": (
        scaled_iris, AsagaClassifier("squared_hinge", l1_ratio=0.5, fit_intercept=False), {},
    ),
    "elastic net, float32": (
        lambda: (cancer()[0].astype(np.float32), cancer()[1]), AsagaClassifier(l1_ratio=0.5), {},
    ),
    "elastic net and bounds": (
        cancer, AsagaClassifier(penalty=Box(lower=-0.5, upper=1.0, l1=0.1, l2=0.1)), {},
    ),
    "lasso of wide CSR": (counts, AsagaClassifier(C=10.0, l1_ratio=1.0), {}),
    "lasso": (lambda: load_diabetes(return_X_y=True), AsagaRegressor(alpha=0.1, l1_ratio=1.0), {}),
    # Of one target the losses are straight in all rows at zero coefficients.
    "elastic nets": (several_targets, AsagaRegressor(Huber(), alpha=0.01, l1_ratio=0.5), {}),
}  # fmt: skip


def compare(arrays, name):
    make, model, more = FITS[name]
    X, y = make()
    model = clone(model).set_params(tol=1e-13)
    is_ridge = model.l1_ratio == 0.0 and model.penalty == "elasticnet"
    alone = clone(model).set_params(solver="newton_cg" if is_ridge else "auto", max_iter=10_000)
    alone.fit(X, y, **more)
    collection = blocks(arrays, X)
    found = clone(model).fit(
        collection, blocks(arrays, y), **{k: blocks(arrays, v) for k, v in more.items()}
    )
    rtol = 1e-3 if X.dtype == np.float32 else 1e-7
    if isinstance(alone.solver_, Asaga):  # not as exact
        rtol = 1e-4
    np.testing.assert_allclose(found.coef_, alone.coef_, rtol=rtol, atol=rtol)
    np.testing.assert_allclose(found.intercept_, alone.intercept_, rtol=rtol, atol=rtol)
    for strength in ("alpha_", "C_"):
        if hasattr(alone, strength):
            assert getattr(found, strength) == pytest.approx(getattr(alone, strength))
    assert found.converged_
    assert found.coef_.dtype == X.dtype
    assert found.dual_gap_ <= 1e-13 * np.max(found.objective_)
    predicted = found.predict(collection)
    assert predicted.shape == y.shape
    if y.dtype.kind == "f":
        np.testing.assert_allclose(predicted.compute(), found.predict(X), rtol=1e-9)
    else:
        np.testing.assert_array_equal(predicted.compute(), found.predict(X))
    return found


@pytest.mark.parametrize("name", FITS)
def test_blocks_give_the_fit_of_the_whole_table(arrays, name):
    compare(arrays, name)


def test_strengths_for_many_columns_are_a_mean_over_blocks(arrays):
    X, y = wide()
    collections = blocks(arrays, X), blocks(arrays, y)
    ratio = AsagaRegressor().fit(*collections).alpha_ / AsagaRegressor().fit(X, y).alpha_
    assert 0.3 < ratio < 3.0
    y = y > 0.0
    collections = blocks(arrays, X), blocks(arrays, y)
    ratio = AsagaClassifier().fit(*collections).C_ / AsagaClassifier().fit(X, y).C_
    assert 0.3 < ratio < 3.0


@pytest.mark.parametrize("unit", [1e-3, 1e4])
def test_losses_by_name_count_in_units_of_the_targets(arrays, unit):
    X, y = several_targets()
    y = unit * y
    model = AsagaRegressor("huber", l1_ratio=0.5, alpha=1e-3)
    alone, found = clone(model).fit(X, y), clone(model).fit(blocks(arrays, X), blocks(arrays, y))
    np.testing.assert_allclose(found.predict(X), alone.predict(X), atol=0.1 * y.std())
    assert found.score(X, y) == pytest.approx(alone.score(X, y), abs=0.01)


@pytest.mark.parametrize("name", ["two classes", "softmax", "targets", "elastic net, softmax"])
def test_workers_give_the_fit_of_the_whole_table(arrays, cluster, name):
    history = compare(arrays, name).history_
    rounds, sent = history["n_rounds"], history["n_bytes"]
    assert np.all(np.diff(rounds) > 0)
    assert np.all(np.diff(sent) > 0)
    assert history["part_time"][-1] > 0.0


def sparse_truth(form):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3000, 60)) * (rng.random((3000, 60)) < 0.3)
    y = 3.0 * X[:, :5].sum(axis=1) + 2.0 * rng.standard_normal(3000)
    return form(X[:1500]), y[:1500], X[1500:], y[1500:]


@pytest.mark.parametrize("l1_ratio", [0.5, 1.0])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_held_out_rows_of_all_blocks_choose_alpha(arrays, form, l1_ratio):
    X, y, X_test, y_test = sparse_truth(form)
    model = AsagaRegressor(l1_ratio=l1_ratio, tol=1e-6)
    alone = clone(model).fit(X, y)
    found = clone(model).fit(blocks(arrays, X), blocks(arrays, y))
    assert found.alpha_ == pytest.approx(alone.alpha_, rel=5.0)
    assert found.score(X_test, y_test) == pytest.approx(alone.score(X_test, y_test), abs=0.01)
    same = clone(model).set_params(alpha=found.alpha_).fit(X, y)
    np.testing.assert_allclose(found.coef_, same.coef_, atol=1e-3)


def test_workers_choose_the_same_alpha(arrays, cluster, monkeypatch):
    import dask

    X, y, *_ = sparse_truth(np.asarray)
    parts = blocks(arrays, X), blocks(arrays, y)
    on_workers = AsagaRegressor(l1_ratio=1.0).fit(*parts)
    monkeypatch.setattr(_collections, "make_parts", lambda own: LocalParts(dask.compute(*own)))
    here = AsagaRegressor(l1_ratio=1.0).fit(*parts)
    assert on_workers.alpha_ == pytest.approx(here.alpha_)
    np.testing.assert_allclose(on_workers.coef_, here.coef_, rtol=1e-6, atol=1e-9)


def test_empty_blocks_hold_nothing_out(arrays):
    X, y, *_ = sparse_truth(np.asarray)
    sizes = [0, 700, 0, 1, 799]
    found = AsagaRegressor(l1_ratio=1.0).fit(blocks(arrays, X, sizes), blocks(arrays, y, sizes))
    assert np.all(found.coef_[:5] > 2.0)


def test_blocks_without_weight(arrays):
    X, y = load_diabetes(return_X_y=True)
    weight = np.ones(len(y))
    weight[:97] = 0.0
    for model in (AsagaRegressor(alpha=0.1, l1_ratio=1.0), AsagaRegressor(l1_ratio=1.0)):
        found = model.fit(*(blocks(arrays, values) for values in (X, y, weight)))
        alone = clone(model).set_params(alpha=found.alpha_, tol=1e-6).fit(X, y, weight)
        np.testing.assert_allclose(found.coef_, alone.coef_, rtol=0.01, atol=1.0)


def test_steps_change_few_coefficients_at_a_time(arrays, monkeypatch):
    monkeypatch.setattr(_newton, "TOGETHER", 20)
    X, y = cancer()
    alone = AsagaClassifier(l1_ratio=0.5, tol=1e-10).fit(X, y)
    found = clone(alone).fit(blocks(arrays, X), blocks(arrays, y))
    assert np.count_nonzero(found.coef_) > 20
    np.testing.assert_allclose(found.coef_, alone.coef_, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sizes", [[1, 568], [0, 300, 269], [568, 1], [1] * 9 + [560]])
def test_small_and_empty_blocks_and_labels_that_blocks_lack(arrays, sizes):
    X, y = cancer()
    order = np.argsort(y, kind="stable")  # most blocks hold one class
    X, y = X[order], y[order]
    found = AsagaClassifier(tol=1e-13).fit(blocks(arrays, X, sizes), blocks(arrays, y, sizes))
    alone = AsagaClassifier(tol=1e-13, solver="newton_cg").fit(X, y)
    np.testing.assert_allclose(found.coef_, alone.coef_, rtol=1e-6, atol=1e-8)
    shares = found.predict_proba(blocks(arrays, X, sizes))
    np.testing.assert_allclose(shares.compute(), found.predict_proba(X))


@pytest.mark.parametrize("solver", ["auto", "newton"])
def test_reason_of_the_solver(arrays, solver):
    X, y = cancer()
    found = AsagaClassifier(solver=solver).fit(blocks(arrays, X), blocks(arrays, y))
    reason = "rows stay where they are" if solver == "auto" else "it was given"
    assert reason in found.solver_reason_


def test_data_frames_and_unknown_chunk_sizes(extra):
    frames = extra("distributed", "dask.dataframe")
    import pandas as pd

    X, y = cancer()
    table = pd.DataFrame(X, columns=[f"column {k}" for k in range(X.shape[1])])
    collection = frames.from_pandas(table, npartitions=4)
    target = frames.from_pandas(pd.Series(y), npartitions=4)
    found = AsagaClassifier().fit(collection, target)
    assert list(found.feature_names_in_) == list(table)
    np.testing.assert_array_equal(found.predict(collection).compute(), found.predict(table))
    text, numeric = (
        frames.from_pandas(table.assign(kind=pd.Categorical(values)), npartitions=4)
        for values in (y, (y == "good").astype(int))
    )
    with pytest.raises(ValueError, match=r"block \d .*: X: could not convert string to"):
        AsagaClassifier().fit(text, target)
    assert AsagaClassifier().fit(numeric, target).coef_[0, -1] > 1.0
    kept = collection.to_dask_array()  # sizes are NaN
    numbers = frames.from_pandas(pd.Series(y == "good"), npartitions=4).to_dask_array()
    assert AsagaClassifier().fit(kept, numbers).score(X, y == "good") > 0.98


def test_a_warm_start_goes_on(arrays):
    X, y = (blocks(arrays, values) for values in cancer())
    model = AsagaClassifier(tol=1e-10, warm_start=True).fit(X, y)
    coef, n_iter = model.coef_.copy(), model.n_iter_
    assert model.fit(X, y).n_iter_ < n_iter
    np.testing.assert_allclose(model.coef_, coef, rtol=1e-5, atol=1e-8)


def with_nan(X):
    X = X.copy()
    X[150, 3] = np.nan
    return X


REFUSED = {
    "block 1 of the collection: Input X contains NaN": (AsagaClassifier(), with_nan, None),
    "must have the same blocks": (AsagaClassifier(), None, lambda y: [569]),
    "block 5 of the collection: X has 84 rows and y 83": (
        AsagaClassifier(), None, lambda y: [97, 97, 97, 97, 97, 83],
    ),
    "penalties of single coefficients": (
        AsagaClassifier(penalty=GroupLasso(np.arange(30) // 3)), None, None,
    ),
    "solver='newton_cg' needs a ridge": (
        AsagaClassifier(solver="newton_cg", l1_ratio=0.5), None, None,
    ),
    "solver='newton', 'newton_cg'": (AsagaClassifier(solver="sdca"), None, None),
    "a finite C": (AsagaClassifier(C=np.inf), None, None),
    "X is a Dask collection, which fit of": (AveragedSubgradientClassifier(), None, None),
}  # fmt: skip


@pytest.mark.parametrize("message", REFUSED)
def test_what_is_refused(arrays, message):
    model, spoil, sizes = REFUSED[message]
    X, y = cancer()
    X = X if spoil is None else spoil(X)
    target = blocks(arrays, y, None if sizes is None else sizes(y))
    with pytest.raises((TypeError, ValueError), match=message):
        model.fit(blocks(arrays, X), target)


def test_other_estimators_and_unlike_containers(arrays):
    X, y = cancer()
    X, target = blocks(arrays, X), blocks(arrays, y)
    with pytest.raises(TypeError, match=r"pass X.compute\(\)"):
        KernelStudentTDensity().fit(X)
    for given in (y,), (None,), (list(y),), (target, WEIGHTS):
        with pytest.raises(TypeError, match=r"must be a Dask collection.* pass dask.array"):
            AsagaClassifier().fit(X, *given)
    with pytest.raises(ValueError, match="y has one class"):
        AsagaClassifier().fit(X, blocks(arrays, np.zeros(569)))
    with pytest.raises(ValueError, match=r"block \d of the collection: y is sparse: pass y.map_bl"):
        AsagaRegressor().fit(X, blocks(arrays, sp.csr_array(np.ones((569, 1)))))
    with pytest.raises(ValueError, match="X must be a Dask array of rows and columns"):
        AsagaClassifier().fit(target, target)
    with pytest.raises(TypeError, match="y is a Dask collection"):
        AsagaClassifier().fit(X.compute(), target)


def test_a_worker_that_is_killed_changes_nothing(extra, arrays):
    """Its blocks are made again elsewhere, and answers depend on the data and the point alone."""
    distributed = extra("distributed", "distributed")
    rng = arrays.random.RandomState(0)
    X = rng.standard_normal((6000, 30), chunks=(1000, -1))
    y = (X[:, 0] + rng.standard_normal(6000, chunks=1000) > 0).astype(int)
    model = AsagaClassifier(tol=1e-10, verbose=1)
    alone = clone(model).fit(X, y)
    with processes(distributed, 2) as client, KillLater(client) as killer:
        found = clone(model).fit(X, y)
    assert killer.n_lines > 3
    assert found.converged_
    np.testing.assert_allclose(found.coef_, alone.coef_, rtol=1e-9)


def test_a_block_on_disk_has_its_rows_once(arrays):
    X, y = several_targets()
    block = TableBlock(0, X, y, None, is_numeric=True)
    size = len(pickle.dumps(block))
    ridge = ElasticNet(l1_ratio=0.0).bind(10)
    units = Units.about(X.mean(axis=0), X.var(axis=0), np.zeros(3))
    plan = Plan([SquaredError()], ridge, fit_intercept=True, n_outputs=None, units=units)
    assert block.problems(plan) is block.problems(plan)
    assert len(pickle.dumps(block)) == size
    assert X.nbytes < sys.getsizeof(block) < size


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_blocks_that_travelled_are_aligned_in_memory(form):
    """Dask puts buffers of messages and files one after the other, whatever their sizes are."""

    def moved(values):
        buffers = []
        code = pickle.dumps(values, protocol=5, buffer_callback=buffers.append)
        parts = [bytes(1) + buffer.raw().tobytes() for buffer in buffers]
        return pickle.loads(code, buffers=[memoryview(part)[1:] for part in parts])

    def is_aligned(X):
        return (X.data if sp.issparse(X) else X).flags.aligned

    X, y = several_targets()
    given = moved(form(X))
    assert not is_aligned(given)
    block = TableBlock(0, given, y, moved(np.ones(len(y))), is_numeric=True)
    for part in (block, moved(block)):
        assert is_aligned(part.X)
        assert part.weight.flags.aligned
        np.testing.assert_array_equal(part.X @ np.eye(X.shape[1]), X)


def test_all_workers_paused(extra, arrays, monkeypatch):
    """As one whose memory is full, a worker without a limit begins no task until it is told to."""
    distributed = extra("distributed", "distributed")
    monkeypatch.setattr(_parts, "PATIENCE", 0.2)

    def become(status, dask_worker):
        dask_worker.status = distributed.Status[status]

    X, y = blocks(arrays, unlike_units()[0]), blocks(arrays, unlike_units()[1])
    with processes(distributed, 1, memory_limit=0) as client:
        client.run(become, "paused")
        later = threading.Timer(1.0, client.run, (become, "running"))
        later.start()
        with pytest.warns(RuntimeWarning, match="have paused, as their memory is full"):
            AsagaRegressor().fit(X, y)
        later.join()


def test_rows_may_exceed_the_memory_of_all_workers(extra, arrays):
    """Dask moves blocks to disk, and no other object holds their rows."""
    distributed = extra("distributed", "distributed")
    # At 80 % of its limit a worker pauses until it has freed memory; that of imports stays.
    rng, limit = arrays.random.default_rng(0), 700_000_000
    X = rng.standard_normal((900_000, 100), chunks=(25_000, -1))
    coef = np.linspace(-1.0, 1.0, 100)
    y = X @ coef + rng.standard_normal(900_000, chunks=25_000)
    assert X.nbytes > limit
    with processes(distributed, 1, memory_limit=limit) as client:
        worker = client.run(os.getpid)
        on_disk, model = [0], AsagaRegressor(alpha=1e-6, fit_intercept=False)
        with ThreadPoolExecutor(1) as thread:
            fit = thread.submit(model.fit, X, y)
            while not fit.done():
                spilled = client.run(lambda dask_worker: dask_worker.data.spilled_total.disk)
                on_disk.append(sum(spilled.values()))
                time.sleep(0.2)
        fit.result()
        assert client.run(os.getpid) == worker  # none was killed
    assert max(on_disk) > 0.2 * X.nbytes
    assert model.converged_
    assert model.dual_gap_ <= 1e-4 * model.objective_
    np.testing.assert_allclose(model.coef_, coef, atol=0.01)
