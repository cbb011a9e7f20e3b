"""Labels that are missing: ways to say so, the objective, losses, and who refuses them."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from _latent import Ring, label_sets, objective, rings, sequences, xor
from sklearn_fw import StructuredSVM
from sklearn_fw.structured import ChainModel, LatentStructuredSVM, MultilabelModel
from sklearn_fw.task_losses import HammingLoss, OverlapLoss, Truth
from sklearn_fw.utils import Packed

ONE = {"n_states_per_label": 1, "random_state": 0}


def masked(y, share, seed=0):
    rng = np.random.default_rng(seed)
    return [np.ma.array(labels, mask=rng.random(np.shape(labels)) < share) for labels in y]


DATA = {
    "chain": (ChainModel(), sequences),
    "ring": (Ring(), rings),
    "label sets": (MultilabelModel("full"), label_sets),
}


# ---- lists of text -------------------------------------------------------------------------------

ROWS = [np.ones((3, 1)), np.zeros((3, 1))]
FULL = ["A", "B", "A"]


@pytest.mark.parametrize("form", [list, tuple, pd.Series, lambda y: np.array(y, dtype=object)])
@pytest.mark.parametrize("missing", [np.nan, None, pd.NA])
def test_no_class_is_made_of_missing_labels(form, missing):
    svm = LatentStructuredSVM("chain", missing_label=np.nan, C=1.0, **ONE)
    svm.fit(ROWS, [form(FULL), form(["A", missing, "B"])])
    assert svm.classes_.tolist() == ["A", "B"]
    svm = LatentStructuredSVM("multiclass", missing_label=np.nan, C=1.0, **ONE)
    assert svm.fit(ROWS[0], form(["A", missing, "B"])).classes_.tolist() == ["A", "B"]


EDGES = np.array([[0, 1], [1, 2]])
LACKS = "y[1] lacks labels: use LatentStructuredSVM(missing_label=np.nan)"


@pytest.mark.parametrize(
    ("model", "X", "y", "message"),
    [
        ("chain", ROWS, [FULL, ["A", np.nan, "B"]], LACKS),
        ("chain", ROWS, [FULL, pd.Series(["A", np.nan, "B"])], LACKS),
        ("chain", ROWS, [pd.Series(FULL), pd.Series(["A", pd.NA, "B"])], LACKS),
        ("chain", ROWS, [FULL, None], "one label per node, got None: give one None per node"),
        ("chain", ROWS, [["A", 0, "B"], ["B", 0, "A"]], "y mixes labels that cannot be sorted"),
        ("graph", [(x, EDGES) for x in ROWS], [FULL, ["A", np.nan, "B"]], LACKS),
        ("multiclass", ROWS[0], ["A", np.nan, "B"], "y has missing labels"),
        ("multiclass", ROWS[0], ["A", 0, "B"], "y mixes labels that cannot be sorted"),
    ],
)
def test_missing_and_mixed_labels_are_refused(model, X, y, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        StructuredSVM(model).fit(X, y)


# ---- the objective -------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("n_states", [1, 2])
def test_objective_is_that_of_all_labelings(name, n_states):
    model, data = DATA[name]
    X, y = data()
    y = masked(y, 0.4)
    y = np.ma.stack(y) if name == "label sets" else y
    svm = LatentStructuredSVM(
        model, n_states_per_label=n_states, C=1.0, solver="bcpfw", tol=1e-6, random_state=0
    ).fit(X, y)
    assert svm.converged_
    used = [i for i, labels in enumerate(y) if not np.ma.getmaskarray(labels).all()]
    expected = objective(svm, [X[i] for i in used], [y[i] for i in used], svm.coef_)
    assert svm.objective_ == pytest.approx(expected, rel=1e-9)
    assert np.all(np.diff(svm.history_["objective"]) <= 1e-12)
    states = svm.predict_states(X, y)
    for own, labels in zip(states, y):
        known = ~np.ma.getmaskarray(labels)
        np.testing.assert_array_equal(svm.state_labels_[own][known], labels[known])


def test_all_ways_to_say_it_are_one():
    X, y = sequences(20, 3)
    y = masked(y, 0.3)
    said = {
        None: [[None if m else int(a) for a, m in zip(t.data, t.mask)] for t in y],
        -1: [t.filled(-1) for t in y],
        "?": [["?" if m else str(a) for a, m in zip(t.data, t.mask)] for t in y],
        np.nan: [np.where(t.mask, np.nan, t.data) for t in y],
        pd.NA: [pd.array(t.tolist(), dtype="Int64") for t in y],
    }
    known = LatentStructuredSVM(C=1.0, **ONE).fit(X, y)
    for label, outputs in said.items():
        svm = LatentStructuredSVM(C=1.0, missing_label=label, **ONE).fit(X, outputs)
        np.testing.assert_array_equal(svm.coef_, known.coef_)
        assert svm.score(X, outputs) == known.score(X, y)
    packed = Packed.from_list(said[-1])
    svm = LatentStructuredSVM(C=1.0, missing_label=-1, **ONE).fit(Packed.from_list(X), packed)
    np.testing.assert_array_equal(svm.coef_, known.coef_)
    own = Packed(np.ma.concatenate(y), packed.offsets)
    svm = LatentStructuredSVM(C=1.0, **ONE).fit(X, own)
    np.testing.assert_array_equal(svm.coef_, known.coef_)


def test_one_label_stands_for_missing_ones():
    with pytest.raises(ValueError, match="missing_label must be None or one label"):
        LatentStructuredSVM(missing_label=np.array([-1, -2])).fit(*sequences(5, 3))


def test_tables_with_missing_labels():
    X, y = label_sets()
    given = y.astype(float)
    given[::3, 0] = np.nan
    svm = LatentStructuredSVM("multilabel", C=1.0, missing_label=np.nan, **ONE).fit(X, given)
    nobody = np.ma.array(y, mask=np.isnan(given))
    same = LatentStructuredSVM("multilabel", C=1.0, **ONE).fit(X, nobody)
    np.testing.assert_array_equal(svm.coef_, same.coef_)
    assert svm.predict(X).shape == y.shape
    # Classes: samples without one are left out.
    X, y = xor(40)
    unknown = np.array([None if i % 4 == 0 else label for i, label in enumerate(y)], dtype=object)
    svm = LatentStructuredSVM(C=10.0, random_state=0).fit(X, unknown)
    rest = np.arange(40) % 4 != 0
    same = LatentStructuredSVM(C=10.0, random_state=0).fit(X[rest], y[rest])
    np.testing.assert_array_equal(svm.coef_, same.coef_)
    assert svm.score(X, unknown) == same.score(X[rest], y[rest])
    named = LatentStructuredSVM(C=10.0, missing_label=-1, random_state=0)
    named.fit(X, np.where(rest, y, -1))
    np.testing.assert_array_equal(named.coef_, same.coef_)


def test_a_sample_without_labels_is_left_out():
    X, y = sequences(10, 3)
    y = masked(y, 0.3)
    y[4] = np.ma.masked_all_like(y[4])
    rest = [i for i in range(10) if i != 4]
    svm = LatentStructuredSVM(C=1.0, **ONE).fit(X, y)
    same = LatentStructuredSVM(C=1.0, **ONE).fit([X[i] for i in rest], [y[i] for i in rest])
    np.testing.assert_array_equal(svm.coef_, same.coef_)
    assert svm.score(X, y) == same.score([X[i] for i in rest], [y[i] for i in rest])
    with pytest.raises(ValueError, match="y holds no label: all are missing"):
        LatentStructuredSVM().fit(X, [np.ma.masked_all_like(labels) for labels in y])
    with pytest.raises(ValueError, match="y holds no label"):
        LatentStructuredSVM(missing_label=1).fit(np.eye(4), [1, 1, 1, 1])
    with pytest.raises(ValueError, match="needs at least 2 classes"):
        LatentStructuredSVM(missing_label=1).fit(np.eye(4), [1, 0, 1, 0])


# ---- what it is for ------------------------------------------------------------------------------


def test_neighbours_tell_what_labels_do_not():
    """Sequences of a cycle 0, 1, 2, 0, ... seen through noise, with a label in three."""
    rng = np.random.default_rng(0)

    def make(n):
        y = [(rng.integers(3) + np.arange(8)) % 3 for _ in range(n)]
        return [np.eye(3)[t] + 0.9 * rng.normal(size=(8, 3)) for t in y], y

    (X, y), (X_test, y_test) = make(40), make(100)
    some = masked(y, 0.7)
    svm = LatentStructuredSVM(**ONE).fit(X, some)
    known = [~t.mask for t in some]
    alone = StructuredSVM("multiclass", random_state=0).fit(
        np.concatenate([x[own] for x, own in zip(X, known)]),
        np.concatenate([t[own] for t, own in zip(y, known)]),
    )
    nodes = alone.score(np.concatenate(X_test), np.concatenate(y_test))
    assert nodes < 0.75
    assert svm.score(X_test, y_test) > nodes + 0.15
    search = GridSearchCV(LatentStructuredSVM(**ONE), {"C": [1e-4, 0.3]}, cv=3).fit(X, some)
    assert search.best_params_["C"] == 0.3


# ---- losses --------------------------------------------------------------------------------------


def test_losses_look_at_known_labels_alone():
    X, y = sequences(12, 3)
    svm = LatentStructuredSVM(C=1.0, **ONE).fit(X, y)
    some, predicted = masked(y, 0.5, seed=3), svm.predict(X)
    known = [~t.mask for t in some]
    expected = [
        np.mean(p[k] != t.data[k]) if k.any() else 0.0 for p, t, k in zip(predicted, some, known)
    ]
    np.testing.assert_allclose(svm.loss(X, some), expected, rtol=1e-12)
    counted = [loss for loss, k in zip(expected, known) if k.any()]
    assert svm.score(X, some) == pytest.approx(1.0 - np.mean(counted))
    judge = OverlapLoss([1])
    svm = LatentStructuredSVM("chain", task_loss=judge, C=1.0, **ONE).fit(X, y)
    expected = [judge.value(t.data[k], p[k]) for p, t, k in zip(svm.predict(X), some, known)]
    np.testing.assert_allclose(svm.loss(X, some), expected, rtol=1e-12)


def test_costs_of_nodes_without_labels():
    truth = Truth(np.array([0, -2, 1, -2]), np.array([0, 3, 4]), (np.array([0, 1]),))
    from sklearn_fw._core.costs import costs_of

    costs = costs_of(HammingLoss(), truth)
    np.testing.assert_allclose(costs.dense(), [[0, 0.5], [0, 0], [0.5, 0], [0, 0]])
    np.testing.assert_allclose(costs.losses(truth, np.array([1, 1, 0, 1])), [1.0, 0.0])
    overlap = costs_of(OverlapLoss(), truth)
    np.testing.assert_allclose(overlap.dense(), [[0, 1], [0, 0], [1, 0], [0, 0]])


# ---- who refuses them ----------------------------------------------------------------------------


def test_structured_svm_refuses_masks():
    X, y = sequences(6)
    y = masked(y, 0.3)
    with pytest.raises(ValueError, match=r"y\[\d\] has nodes without a label \(masked\): take"):
        StructuredSVM().fit(X, y)
    X, y = rings()
    with pytest.raises(ValueError, match=r"nodes without a label \(masked\): take"):
        StructuredSVM(Ring()).fit(X, masked(y, 0.5))
    X, y = label_sets()
    with pytest.raises(ValueError, match="y has masked entries"):
        StructuredSVM("multilabel").fit(X, np.ma.array(y, mask=y == 1))


def test_a_lost_mask_is_noticed():
    class Careless(Ring):
        def encode(self, y):
            return np.asarray(y)

    X, y = rings()
    with pytest.raises(ValueError, match="keep the mask"):
        LatentStructuredSVM(Careless()).fit(X, masked(y, 0.5))


@pytest.mark.filterwarnings(f"error::{ConvergenceWarning.__module__}.ConvergenceWarning")
def test_whole_losses_need_all_labels():
    X, y = sequences(6)
    options = {"task_loss": "zero_one", "C": 1.0, "random_state": 0}
    plain = StructuredSVM("chain", **options).fit(X, y)
    svm = LatentStructuredSVM("chain", n_states_per_label=1, **options).fit(X, y)
    np.testing.assert_array_equal(svm.coef_, plain.coef_)
    with pytest.raises(ValueError, match="need a task_loss that is a sum over nodes"):
        LatentStructuredSVM("chain", n_states_per_label=1, **options).fit(X, masked(y, 0.3))
