"""What StructuredSVM says about bad parameters, models, oracles and data."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

from _registry import candidates, label_sets, sequences
from sklearn_fw import StructuredSVM
from sklearn_fw.inference import CheckedOracle, Viterbi
from sklearn_fw.structured import (
    BlockFrankWolfe,
    ChainModel,
    EnumeratedModel,
    MulticlassModel,
    MultilabelModel,
)

budget_may_end = pytest.mark.filterwarnings(
    f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__name__}"
)


@pytest.fixture
def words():
    return sequences()


# ---- bad parameters ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "params, error, message",
    [
        ({"C": "1"}, ValueError, "C must be 'auto' or a number; got '1'"),
        ({"tol": "1"}, ValueError, "tol must be 'auto' or a number; got '1'"),
        ({"solver": "bcfv"}, ValueError, "solver must be one of 'auto', 'bcafw'.*; got 'bcfv'"),
        ({"solver": BlockFrankWolfe}, ValueError, "solver must be one of .* or a solver object"),
        ({"solver": None}, ValueError, "or a solver object; got None"),
        ({"oracle": "viterby"}, ValueError, "oracle='viterby' is unknown; names are .*'viterbi'"),
        ({"oracle": Viterbi}, TypeError, "oracle is the class Viterbi, pass an object"),
        ({"oracle": None}, TypeError, "oracle must be a name out of .*, got NoneType"),
        ({"model": "chan"}, ValueError, "model must be one of 'auto', 'box'.*; got 'chan'"),
        ({"model": ChainModel}, TypeError, "model is the class ChainModel, pass an object"),
        ({"model": None}, TypeError, "model NoneType lacks joint_feature, loss"),
    ],
    ids=str,
)
def test_bad_parameters(words, params, error, message):
    with pytest.raises(error, match=message):
        StructuredSVM(**params).fit(*words)


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"cache": "yes"}, "cache must be True, False or 'auto', got 'yes'"),
        ({"cache": True, "cache_size": 1}, "cache_size must be at least 2"),
        (
            {"step_size": "universal", "variant": "away"},
            "step_size='universal' is defined for variant='fw' only",
        ),
        (
            {"lower_bounds": 1, "upper_bounds": 0},
            "lower_bounds must not exceed upper_bounds, got 1",
        ),
        (
            {"lower_bounds": [0, 1]},
            r"lower_bounds must be a number or have shape \(24,\), got \(2,\)",
        ),
        ({"upper_bounds": np.nan}, "upper_bounds contains NaN"),
        ({"lower_bounds": np.inf}, "lower_bounds must be below inf and upper_bounds above -inf"),
    ],
    ids=str,
)
def test_bad_solver_settings(words, settings, message):
    with pytest.raises(ValueError, match=message):
        StructuredSVM(solver=BlockFrankWolfe(**settings)).fit(*words)


# ---- bad oracles and models ----------------------------------------------------------------------


class Lacking:
    """A model without inference."""

    def joint_feature(self, x, y):
        return np.ones(2)

    def loss(self, y_true, y):
        return 0.0


class NoTopK:
    """Viterbi without `top_k`."""

    def argmax(self, scores, start=None):
        return Viterbi().argmax(scores)


@budget_may_end
def test_oracle_worse_than_the_truth(words):
    """The truth takes the place of such answers, so that gaps stay nonnegative."""

    def always_the_first_state(scores):
        return np.zeros(scores.n_nodes, dtype=int)

    X, y = words
    message = "the oracle answered .* times with an output worse than the true one"
    with pytest.warns(RuntimeWarning, match=message):
        svm = StructuredSVM(oracle=always_the_first_state, max_iter=12, random_state=0).fit(X, y)
    assert isinstance(svm.oracle_, CheckedOracle)
    assert svm.dual_gap_ >= 0
    assert np.all(svm.block_gaps_ >= 0)
    with pytest.warns(RuntimeWarning, match="dual_gap_ is not a certificate"):
        StructuredSVM(AlwaysFirst(), max_iter=2, random_state=0).fit(*candidates())


class AlwaysFirst(EnumeratedModel):
    """Answers zero whatever the scores."""

    def loss_augmented_inference(self, x, y_true, w):
        return 0


@pytest.mark.slow
def test_models_and_oracles_that_lack_a_method(words):
    X, y = words
    message = "model Lacking lacks loss_augmented_inference, inference: see StructuredModel"
    with pytest.raises(TypeError, match=message):
        StructuredSVM(Lacking()).fit(X, y)
    with pytest.raises(TypeError, match="with the method top_k, which NoTopK lacks: use task_loss"):
        StructuredSVM(ChainModel("zero_one"), oracle=NoTopK(), C=100.0).fit(X, y)
    with pytest.raises(TypeError, match="scores must be PairwiseScores, got ndarray"):
        StructuredSVM(EnumeratedModel(), oracle="viterbi").fit(*candidates())
    with pytest.raises(TypeError, match="needs a model with scores: leave oracle='auto'"):
        StructuredSVM(AlwaysFirst(), oracle="viterbi").fit(*candidates())


def test_oracle_for_another_graph():
    X, y = label_sets()
    with pytest.raises(ValueError, match="Viterbi needs the edges of a chain"):
        StructuredSVM(MultilabelModel("full"), oracle="viterbi").fit(X, y)
    with pytest.raises(ValueError, match="TreeMaxProduct needs edges without a cycle"):
        StructuredSVM(MultilabelModel("full"), oracle="tree").fit(X, y)
    X, y = make_multilabel_classification(n_samples=4, n_classes=25, random_state=0)
    with pytest.raises(ValueError, match="25 nodes have more than max_labelings=1000000"):
        StructuredSVM(MultilabelModel("full"), oracle="enumeration").fit(X, y)


# ---- bad data ------------------------------------------------------------------------------------


def replaced(items, i, item):
    return [*items[:i], item, *items[i + 1 :]]


BAD_DATA = {
    "ragged rows": (
        lambda X, y: (replaced(X, 2, [[1, 2, 3], [4]]), y),
        r"X\[2\] must be an array: .* inhomogeneous",
    ),
    "unequal widths": (
        lambda X, y: (replaced(X, 1, X[1][:, :2]), y),
        r"X\[1\] has 2 features, but 3 are expected",
    ),
    "a flat sequence": (
        lambda X, y: (replaced(X, 1, X[1][0]), y),
        r"X\[1\] must have shape \(n_nodes, n_features\), got \(3,\)",
    ),
    "text features": (
        lambda X, y: (replaced(X, 3, np.array([["a", "b", "c"]])), y),
        r"X\[3\] holds text: sequences need an array of numbers .*\(TokenFeatures\(\)",
    ),
    "mixed dtypes": (
        lambda X, y: (replaced(X, 3, np.array([[1, "b", None]], dtype=object)), y),
        r"X\[3\] must be numeric, got dtype object: vectorize it first",
    ),
    "dictionaries": (
        lambda X, y: (replaced(X, 3, [{"word": "a"}, {"word": "b"}]), y),
        r"X\[3\] holds dictionaries: .* as in make_pipeline\(NodeTransformer\(DictVectorizer\(\)\)",
    ),
    "text for labels": (
        lambda X, y: (X, replaced(y, 1, "abc")),
        r"y\[1\] must be a sequence with one label per node, got 'abc'",
    ),
    "sparse and dense": (
        lambda X, y: (replaced(X, 3, sp.csr_array(X[3])), y),
        r"X\[3\] and X\[0\] must be both sparse or both dense",
    ),
    "an empty sequence with labels": (
        lambda X, y: (replaced(X, 1, X[1][:0]), y),
        r"y\[1\] has 4 labels, but X\[1\] has 0 nodes",
    ),
    "only empty sequences": (
        lambda X, y: ([x[:0] for x in X], [labels[:0] for labels in y]),
        "X holds no element: all sequences of positive weight are empty",
    ),
    "fewer targets": (lambda X, y: (X, y[:-1]), "X and y must have the same length, got 10 and 9"),
    "fewer labels": (
        lambda X, y: (X, replaced(y, 1, y[1][:-1])),
        r"y\[1\] has 3 labels, but X\[1\] has 4 nodes",
    ),
    "a scalar target": (
        lambda X, y: (X, replaced(y, 2, 1)),
        r"y\[2\] must be a sequence with one label per node, got 1",
    ),
    "text and numbers": (
        lambda X, y: (X, replaced(y, 4, ["a"] * 6)),
        r"y\[4\] has dtype <U1, but y\[0\] has int64: labels of all samples must be of one type",
    ),
    "labels of mixed types": (
        lambda X, y: (X, [np.array(["a", 1] * 3, dtype=object)[: len(t)] for t in y]),
        "y mixes labels that cannot be sorted: use one type of label",
    ),
    "one class": (
        lambda X, y: (X, [0 * t for t in y]),
        "needs at least 2 classes; y holds only one class",
    ),
}


@pytest.mark.parametrize("name", BAD_DATA)
def test_bad_data(name, words):
    change, message = BAD_DATA[name]
    with pytest.raises(ValueError, match=message):
        StructuredSVM().fit(*change(*words))


@pytest.mark.parametrize(
    "X, y, message",
    [
        (np.ones((3, 2)), [1, 1, 1], "needs at least 2 classes; y holds only one class"),
        (np.ones((3, 2)), [0.1, 0.7, 0.2], "Unknown label type: continuous"),
        (np.full((2, 2), np.nan), [0, 1], "Input X contains NaN"),
        (np.ones((3, 2)), [0, 1], "inconsistent numbers of samples"),
        (np.ones((2, 2)), [[0, 2], [1, 1]], "y must hold only 0 and 1, one column per label"),
        (np.ones((2, 2)), [[0], [0, 1]], "y has a sequence of labels for every sample, so X must"),
        ([np.array(["a", "b"]), np.array(["a"])], [[0, 1], [0]], r"X\[0\] holds text: .*TokenFea"),
        (np.eye(2), [["a", "b"], ["b", "a"]], "for sequences of labels X must be a list with an"),
        ([np.ones((4, 3))] * 2, [np.zeros((2, 2))] * 2, "='matching'; if they are labels of"),
        ([np.ones((2, 2, 3))] * 2, [np.eye(2)] * 2, "write model='matching'; .*, write model='gr"),
    ],
)
def test_bad_rows(X, y, message):
    with pytest.raises(ValueError, match=message):
        StructuredSVM().fit(X, y)


def test_bad_data_at_prediction(words):
    X, y = words
    svm = StructuredSVM(random_state=0).fit(X, y)
    for method in (svm.predict, svm.score_samples):
        with pytest.raises(ValueError, match=r"X\[0\] has 2 features, but 3 are expected"):
            method([x[:, :2] for x in X])
        with pytest.raises(ValueError, match="X is empty: found 0 sample"):
            method([])
        with pytest.raises(ValueError, match=r"X\[0\] must have shape \(n_nodes, .* one: \[x\]"):
            method(X[0])
        with pytest.raises(ValueError, match="Input X contains NaN"):
            method([x * np.nan for x in X])
    with pytest.raises(ValueError, match="X and y must have the same length, got 10 and 9"):
        svm.score(X, y[:-1])
    with pytest.raises(ValueError, match=r"y\[1\] has 3 labels, but X\[1\] has 4 nodes"):
        svm.score(X, replaced(y, 1, y[1][:-1]))
    with pytest.raises(ValueError, match="y must not be None"):
        svm.score(X, None)
    with pytest.raises(AttributeError, match="decision_function"):
        svm.decision_function(X)
    with pytest.raises(AttributeError, match="predict_proba") as caught:
        svm.predict_proba(X)
    assert "class labels only: call predict_marginals" in str(caught.value.__cause__)
    with pytest.raises(ValueError, match=r"accuracy_score of scikit-learn .*SCORERS"):
        cross_val_score(svm, X, y, scoring="accuracy", error_score="raise")
    rows, classes = load_iris(return_X_y=True)
    svm = StructuredSVM(tol=0.1, max_iter=1000, random_state=0).fit(rows, classes)
    for method in (svm.predict, svm.predict_proba, svm.score_samples):
        with pytest.raises(ValueError, match="X has 3 features, but StructuredSVM is expecting 4"):
            method(rows[:, :3])
        with pytest.raises(ValueError, match="X is a list of sequences, but this model takes one"):
            method(X)
    np.testing.assert_allclose(svm.predict_proba(rows).sum(axis=1), 1.0)
    weighted = StructuredSVM(class_weight={0: 99.0}, C=1.0, tol=0.1, random_state=0)
    model = MulticlassModel(class_weight={0: 99.0})
    expected = StructuredSVM(model, C=1.0, tol=0.1, random_state=0).fit(rows, classes)
    np.testing.assert_array_equal(weighted.fit(rows, classes).coef_, expected.coef_)
    with pytest.raises(ValueError, match="fit, which keeps no samples: call partial_fit for all"):
        weighted.partial_fit(rows, classes)
    new = StructuredSVM(C=1.0, tol=0.1).partial_fit(rows[:60], classes[:60], classes=[0, 1, 2])
    assert new.partial_fit(rows[60:], classes[60:]).score(rows, classes) > 0.9
    with pytest.raises(ValueError, match=r"the label 3, which was not seen in fit.* Fit again"):
        new.partial_fit(rows[:1], [3])
    X, y = label_sets()
    svm = StructuredSVM(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="y has 2 labels, but 3 were fitted"):
        svm.score(X, y[:, :2])


def test_labels_unseen_in_fit(words):
    """score warns and counts them as wrong; prediction does not care."""
    X, y = words
    true = [np.array(["x", "y", "z"])[labels] for labels in y]
    svm = StructuredSVM(random_state=0).fit(X, true)
    correct = [np.mean(a == b) for a, b in zip(svm.predict(X), true)]
    true[1] = np.array(["new"] * len(true[1]))
    correct[1] = 0.0
    with pytest.warns(UserWarning, match="4 labels that were not seen in fit, such as 'new'"):
        score = svm.score(X, true)
    assert score == pytest.approx(np.mean(correct))
    whole = StructuredSVM(ChainModel("zero_one"), C=1.0, random_state=0).fit(X, y)
    right = [np.array_equal(a, b) for a, b in zip(whole.predict(X), y)]
    right[1] = False
    with pytest.warns(UserWarning, match="such as 9"):
        assert whole.score(X, replaced(y, 1, 9 + 0 * y[1])) == pytest.approx(np.mean(right))
    rows, classes = load_iris(return_X_y=True)
    svm = StructuredSVM(tol=0.1, max_iter=1000, random_state=0).fit(rows[:100], classes[:100])
    with pytest.warns(UserWarning, match="50 labels that were not seen in fit, such as 2"):
        score = svm.score(rows, classes)
    assert score == pytest.approx(np.mean(svm.predict(rows) == classes))
