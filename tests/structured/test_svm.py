"""StructuredSVM as an estimator: data, prediction, scikit-learn's tools, messages."""

import io
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_iris
from sklearn.exceptions import DataConversionWarning

from _references import all_labelings
from _registry import candidates, label_sets, sequences
from sklearn_fw import StructuredSVM
from sklearn_fw.inference import Viterbi
from sklearn_fw.structured import (
    BlockFrankWolfe,
    ChainModel,
    EnumeratedModel,
    MulticlassModel,
    MultilabelModel,
)
from sklearn_fw.utils import Packed


def objects(items):
    out = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        out[i] = item
    return out


def letters(y):
    return [np.array(["x", "y", "z"])[labels] for labels in y]


@pytest.fixture
def words():
    return sequences()


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


# ---- prediction and scores -----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("oracle", ["auto", "enumeration", Viterbi().argmax], ids=str)
def test_predictions_of_chains(words, oracle):
    X, y = words
    svm = StructuredSVM(oracle=oracle, random_state=0).fit(X, letters(y))
    predicted, scores = svm.predict(X), svm.score_samples(X)
    assert predicted.dtype == object
    assert predicted.shape == scores.shape == (len(X),)
    model = svm.model_
    for x, labels, score in zip(X, predicted, scores):
        everything = [model.classes_[states] for states in all_labelings(len(x), 3)]
        values = [svm.coef_ @ model.joint_feature(x, output) for output in everything]
        np.testing.assert_array_equal(labels, everything[int(np.argmax(values))])
        np.testing.assert_allclose(score, np.max(values), rtol=1e-12)
    losses = [np.mean(a != b) for a, b in zip(predicted, letters(y))]
    np.testing.assert_allclose(svm.loss(X, letters(y)), losses)
    assert svm.score(X, letters(y)) == pytest.approx(1 - np.mean(losses))
    weight = np.arange(len(X))
    expected = 1 - np.average(losses, weights=weight)
    assert svm.score(X, letters(y), sample_weight=weight) == pytest.approx(expected)


def test_fitted_attributes_of_chains(words):
    X, y = words
    svm = StructuredSVM(C=2.0, solver="bcfw", random_state=0).fit(X, letters(y))
    assert svm.classes_.tolist() == ["x", "y", "z"]
    assert svm.n_features_in_ == 3
    assert svm.lam_ == pytest.approx(1 / (2.0 * len(X)))
    assert svm.coef_.shape == (svm.model_.size_joint_feature,)
    assert svm.coef_.dtype == np.float64
    assert svm.converged_
    assert svm.status_ == "converged"
    assert (svm.tol_, svm.C_, svm.task_loss_) == (0.1, 2.0, "hamming_sum")
    assert 0 <= svm.dual_gap_ <= svm.tol_ * svm.objective_
    assert svm.block_gaps_.shape == (len(X),)
    np.testing.assert_allclose(svm.block_gaps_.sum(), svm.dual_gap_, atol=1e-14)
    assert svm.dual_coef_ is None
    assert isinstance(svm.model_, ChainModel)
    assert isinstance(svm.oracle_, Viterbi)
    assert isinstance(svm.solver_, BlockFrankWolfe)
    history = svm.history_
    assert len(set(map(len, history.values()))) == 1
    assert np.all(np.diff(history["n_iter"]) > 0)
    assert np.all(np.diff(history["time"]) >= 0)
    assert np.all(np.diff(history["dual_objective"]) >= -1e-12)
    np.testing.assert_allclose(
        history["objective"] - history["dual_objective"], history["dual_gap"], atol=1e-14
    )
    last = {name: values[-1] for name, values in history.items()}
    assert last["n_iter"] == svm.n_iter_
    assert last["dual_gap"] == svm.dual_gap_
    assert last["objective"] == svm.objective_
    assert last["n_oracle_calls"] == svm.n_oracle_calls_


@pytest.mark.parametrize("step", ["pairwise", "away", "hybrid"])
def test_dual_coef(words, step):
    """alpha on the simplex; w = sum_i p_i / lam sum_y alpha_i(y) psi_i(y)."""
    X, y = words
    svm = StructuredSVM(solver=BlockFrankWolfe(step), tol=1e-4, random_state=0).fit(X, y)
    w = np.zeros_like(svm.coef_)
    for x, labels, alphas in zip(X, y, svm.dual_coef_):
        assert min(alphas.values()) > 0
        assert sum(alphas.values()) == pytest.approx(1, rel=1e-12)
        true = svm.model_.joint_feature(x, labels)
        for states, alpha in alphas.items():
            other = svm.model_.joint_feature(x, svm.classes_[list(states)])
            w += alpha * (true - other) / (len(X) * svm.lam_)
    np.testing.assert_allclose(svm.coef_, w, rtol=1e-9, atol=1e-12)
    counts = svm.step_counts_
    assert set(counts) == {"fw", "pairwise", "away", "exact", "drop"}
    assert counts["pairwise"] > 0 or step == "away"
    assert counts["away"] > 0 or step == "pairwise"


def test_classifier(iris):
    X, y = iris
    names = np.array(["setosa", "versicolor", "virginica"])[y]
    svm = StructuredSVM(tol=1e-3, max_iter=1000, random_state=0).fit(X, names)
    assert svm.classes_.tolist() == ["setosa", "versicolor", "virginica"]
    scores = svm.decision_function(X)
    weights = svm.feature_weights()
    np.testing.assert_allclose(scores, X @ weights["features"] + weights["intercept"])
    np.testing.assert_array_equal(svm.predict(X), svm.classes_[scores.argmax(axis=1)])
    np.testing.assert_allclose(svm.score_samples(X), scores.max(axis=1))
    assert svm.score(X, names) == np.mean(svm.predict(X) == names) > 0.9
    binary = StructuredSVM(max_iter=1000, random_state=0).fit(X[:100], names[:100])
    decision = binary.decision_function(X)
    assert decision.shape == (len(X),)
    np.testing.assert_array_equal(binary.predict(X), binary.classes_[(decision > 0).astype(int)])


def test_label_sets():
    X, y = label_sets()
    svm = StructuredSVM(random_state=0).fit(X, y)
    assert isinstance(svm.model_, MultilabelModel)
    predicted = svm.predict(X)
    assert predicted.shape == y.shape
    assert predicted.dtype.kind == "i"
    np.testing.assert_allclose(svm.score(X, y), np.mean(predicted == y))
    assert svm.score(X, y) > 0.9
    sparse = StructuredSVM(random_state=0).fit(sp.csr_array(X), sp.csr_array(y))
    np.testing.assert_allclose(sparse.coef_, svm.coef_, rtol=1e-9, atol=1e-12)
    assert set(svm.feature_weights()) == {"features", "pairs", "intercept"}


def test_candidates():
    X, y = candidates()
    svm = StructuredSVM(EnumeratedModel(), solver="bcpfw", random_state=0).fit(X, y)
    predicted = svm.predict(X)
    assert predicted.shape == (len(X),)
    np.testing.assert_array_equal(predicted, [np.argmax(x @ svm.coef_) for x in X])
    np.testing.assert_allclose(svm.score_samples(X), [np.max(x @ svm.coef_) for x in X])
    assert svm.score(X, y) == np.mean(predicted == y)
    assert svm.oracle_.argmax(np.array([1.0, 3.0, 3.0])) == (1, 3.0, 3.0)
    assert not hasattr(svm, "classes_")
    with pytest.raises(AttributeError, match="EnumeratedModel has no method unpack: see coef_"):
        svm.feature_weights()


# ---- forms of data -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "X, y, expected",
    [
        (np.ones((4, 2)), [0, 1, 0, 1], MulticlassModel),
        ([[1.0], [2.0]], ["a", "b"], MulticlassModel),
        (sp.csr_array(np.ones((2, 2))), [0, 1], MulticlassModel),
        (pd.DataFrame({"p": [1.0, 2.0]}), pd.Series(["a", "b"], index=[5, 6]), MulticlassModel),
        (np.ones((2, 1)), [[0], [1]], MulticlassModel),
        (np.ones((2, 2)), [[0, 1], [1, 1]], MultilabelModel),
        (np.ones((2, 2)), sp.csr_array([[0, 1], [1, 1]]), MultilabelModel),
        ([np.ones((2, 1)), np.ones((1, 1))], [[0, 1], [1]], ChainModel),
        ([[[1.0], [2.0]], [[1.0]]], [["a", "b"], ["a"]], ChainModel),
        (np.ones((2, 3, 1)), np.array([[0, 1, 0], [1, 1, 0]]), ChainModel),
        ([sp.csr_array(np.ones((2, 1)))], [[0, 1]], ChainModel),
        (objects([np.ones((2, 1))]), objects([np.array([0, 1])]), ChainModel),
        (Packed.from_list([np.ones((2, 1))]), Packed.from_list([[0, 1]]), ChainModel),
        (pd.Series([np.ones((2, 1))], index=[7]), pd.Series([[0, 1]], index=[7]), ChainModel),
        ([pd.DataFrame({"p": [1.0, 2.0]})], [pd.Series(["a", "b"])], ChainModel),
    ],
    ids=range(15),
)
@pytest.mark.filterwarnings(f"ignore::{DataConversionWarning.__module__}.DataConversionWarning")
def test_auto_model(X, y, expected):
    svm = StructuredSVM(tol=0.5, random_state=0).fit(X, y)
    assert type(svm.model_) is expected
    assert len(svm.predict(X)) == svm.block_gaps_.size


def test_containers(words):
    X, y = words
    svm = StructuredSVM(random_state=0)
    coef = clone(svm).fit(X, y).coef_
    sparse = [sp.csr_array(x) for x in X]
    for a, b in [
        (objects(X), objects(y)),
        (tuple(X), [labels.tolist() for labels in y]),
        (Packed.from_list(X), Packed.from_list(y)),
        (X, Packed.from_list(y)),
        (pd.Series(X, index=list("abcdefghij")), pd.Series(y, index=list("abcdefghij"))),
        (sparse, y),
        (Packed.from_list(sparse), y),
        ([sp.csc_matrix(x) for x in X], y),
        ([pd.DataFrame(x) for x in X], [pd.Series(labels) for labels in y]),
    ]:
        np.testing.assert_allclose(clone(svm).fit(a, b).coef_, coef, rtol=1e-9, atol=1e-12)
        assert clone(svm).fit(a, b).score(a, b) == clone(svm).fit(X, y).score(X, y)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int8, np.uint16, bool])
def test_dtypes(words, dtype):
    X = [np.round(x + 1).clip(0, 1).astype(dtype) for x in words[0]]
    svm, same = (StructuredSVM(tol=0.1, random_state=0) for _ in range(2))
    svm.fit(X, words[1])
    same.fit([x.astype(np.float64) for x in X], words[1])
    rtol = 1e-5 if dtype is np.float32 else 1e-9  # which stays, and whose means are taken off
    np.testing.assert_allclose(svm.coef_, same.coef_, rtol=rtol, atol=1e-12)


# ---- weights of samples --------------------------------------------------------------------------


def few_irises():
    X, y = load_iris(return_X_y=True)
    return X[::9], y[::9]


@pytest.mark.slow
@pytest.mark.parametrize("data", [sequences, few_irises, label_sets, candidates])
def test_weights_are_repeated_samples(data):
    X, y = data()
    model = EnumeratedModel() if data is candidates else "auto"
    svm = StructuredSVM(model, solver="bcpfw", tol=1e-9, max_iter=3000, C=0.1, random_state=0)
    weight = np.arange(len(X)) % 4
    order = np.repeat(np.arange(len(X)), weight)
    a = clone(svm).fit(X, y, sample_weight=weight)
    b = clone(svm).fit([X[i] for i in order], [y[i] for i in order])
    assert a.lam_ == pytest.approx(b.lam_)
    # |w - w*|^2 <= 2 gap / lam, twice
    bound = 2 * np.sqrt(2 * 1e-9 / a.lam_)
    np.testing.assert_allclose(a.coef_, b.coef_, atol=bound)
    np.testing.assert_allclose(a.objective_, b.objective_, atol=1e-9)
    # A factor of all weights is a factor of C.
    c = clone(svm).set_params(C=0.05).fit(X, y, sample_weight=2 * weight)
    np.testing.assert_allclose(a.coef_, c.coef_, rtol=1e-9, atol=1e-12)
    assert len(a.block_gaps_) == np.count_nonzero(weight)


@pytest.mark.parametrize("form", [list, objects, Packed.from_list, pd.Series])
def test_samples_of_weight_zero_are_left_out(form, words):
    """Labels that only they have are unknown, too."""
    X, y = words
    y = [labels.copy() for labels in y]
    y[4][:] = 9
    weight = np.ones(len(X))
    weight[4] = 0
    svm = StructuredSVM(random_state=0).fit(form(X), form(y), sample_weight=weight)
    kept = [i for i in range(len(X)) if i != 4]
    same = StructuredSVM(random_state=0).fit([X[i] for i in kept], [y[i] for i in kept])
    assert svm.classes_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(svm.coef_, same.coef_)


# ---- scikit-learn's tools ------------------------------------------------------------------------


def test_tags():
    assert is_classifier(StructuredSVM())
    assert is_classifier(StructuredSVM(MultilabelModel()))
    for model in ("chain", ChainModel(), EnumeratedModel()):
        assert not is_classifier(StructuredSVM(model))
        assert not StructuredSVM(model).__sklearn_tags__().input_tags.two_d_array


@pytest.mark.slow
@pytest.mark.parametrize("data", [sequences, label_sets, candidates])
@pytest.mark.parametrize("warm_start", [False, True])
def test_storage(data, warm_start):
    X, y = data()
    model = EnumeratedModel() if data is candidates else "auto"
    svm = StructuredSVM(model, solver="bcpfw", tol=0.02, warm_start=warm_start, random_state=0)
    svm.fit(X, y)
    assert clone(svm).get_params()["warm_start"] == warm_start
    buffer = io.BytesIO()
    joblib.dump(svm, buffer)
    buffer.seek(0)
    for copy in (pickle.loads(pickle.dumps(svm)), joblib.load(buffer)):
        np.testing.assert_array_equal(copy.coef_, svm.coef_)
        assert copy.dual_coef_ == svm.dual_coef_
        np.testing.assert_array_equal(copy.score_samples(X), svm.score_samples(X))
        again, expected = copy.fit(X, y), pickle.loads(pickle.dumps(svm)).fit(X, y)
        np.testing.assert_array_equal(again.coef_, expected.coef_)
    # The dual variables of all samples are stored only where the next fit will use them.
    assert ("_warm" in svm.__getstate__()) == warm_start
