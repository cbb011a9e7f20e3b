"""Feature maps, losses and inference of the models against plain formulas and enumeration."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.utils.class_weight import compute_class_weight

from _references import all_labelings, labeling_value
from sklearn_fw import StructuredSVM
from sklearn_fw.inference import Enumeration, TreeMaxProduct, Viterbi
from sklearn_fw.structured import ChainModel, EnumeratedModel, MulticlassModel, MultilabelModel
from sklearn_fw.structured._models._pairwise import has_parts

NAMES = np.array(["a", "b", "c", "d"])
COSTS = [[0, 1, 3, 1], [0.5, 0, 1, 2], [2, 1, 0, 4], [1, 1, 1, 0]]
few = settings(max_examples=15, deadline=None)  # the first example waits for compiled kernels
seeds = st.integers(0, 2**32 - 1)


def chain_problem(seed, n_features, n_states, form=np.asarray, names=NAMES, **params):
    """A fitted model, an input and its truth, with every label and feature in use."""
    rng = np.random.default_rng(seed)
    lengths = [n_states, *rng.integers(1, 5, size=3)]
    X = [form(rng.normal(size=(n, n_features))) for n in lengths]
    y = [
        names[rng.permutation(n_states)],
        *(names[rng.integers(n_states, size=n)] for n in lengths[1:]),
    ]
    return ChainModel(**params).initialize(X, y), X, y


def multiclass_problem(seed, n_features, n_states, form=np.asarray, names=NAMES, **params):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_states + 2, n_features))
    y = names[np.r_[np.arange(n_states), 0, 1]]
    return MulticlassModel(**params).initialize(form(X), y), X, y


def multilabel_problem(seed, n_features, n_labels, edges="tree", form=np.asarray, **params):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6, n_features))
    y = rng.integers(2, size=(6, n_labels))
    return MultilabelModel(edges, **params).initialize(form(X), y), X, y


# Every model with every kind of loss and feature map; ``states`` turns labels into numbers.
PROBLEMS = {
    "chain": lambda seed: chain_problem(seed, 2, 3),
    "chain, no constants": lambda seed: chain_problem(seed, 3, 2, start_end=False),
    "chain, sum": lambda seed: chain_problem(seed, 1, 3, task_loss="hamming_sum"),
    "chain, share": lambda seed: chain_problem(seed, 2, 3, task_loss="hamming"),
    "chain, zero-one": lambda seed: chain_problem(seed, 2, 2, task_loss="zero_one"),
    "chain, weights": lambda seed: chain_problem(seed, 2, 3, class_weight={"b": 3.0, "c": 0.5}),
    "chain, CSR": lambda seed: chain_problem(seed, 2, 3, form=sp.csr_array),
    "chain, numbers": lambda seed: chain_problem(seed, 2, 3, names=np.array([7, -2, 4])),
    "classes": lambda seed: multiclass_problem(seed, 2, 4),
    "classes, no intercept": lambda seed: multiclass_problem(seed, 3, 2, fit_intercept=False),
    "classes, costs": lambda seed: multiclass_problem(seed, 2, 4, task_loss=COSTS),
    "classes, weights": lambda seed: multiclass_problem(seed, 2, 3, class_weight={"c": 5}),
    "labels, tree": lambda seed: multilabel_problem(seed, 2, 4),
    "labels, all pairs": lambda seed: multilabel_problem(seed, 2, 3, "full"),
    "labels, no pairs": lambda seed: multilabel_problem(seed, 2, 3, "none"),
    "labels, given": lambda seed: multilabel_problem(seed, 1, 4, [[3, 0], [0, 1]]),
    "labels, share": lambda seed: multilabel_problem(seed, 2, 4, task_loss="hamming"),
    "labels, sum": lambda seed: multilabel_problem(seed, 2, 3, task_loss="hamming_sum"),
    "labels, zero-one": lambda seed: multilabel_problem(seed, 2, 3, task_loss="zero_one"),
    "labels, no intercept": lambda seed: multilabel_problem(seed, 2, 3, fit_intercept=False),
    "one label": lambda seed: multilabel_problem(seed, 2, 1),
}
every_problem = pytest.mark.parametrize("name", PROBLEMS)


def states_of(model, y):
    if isinstance(model, MultilabelModel):
        return np.asarray(y)
    labels = model.classes_.tolist()
    return np.array([labels.index(label) for label in np.atleast_1d(y).tolist()])


def outputs_of(model, y):
    """All outputs of the size of y, and their states."""
    states = all_labelings(np.size(y), model.n_states_)
    if isinstance(model, MultilabelModel):
        return states, states
    if isinstance(model, MulticlassModel):
        return [model.classes_[s[0]] for s in states], states
    return [model.classes_[s] for s in states], states


def formulas(model, x, states):
    """The named parts of phi(x, y), loop by loop."""
    x = x.toarray() if sp.issparse(x) else np.atleast_2d(x)
    K = model.n_states_
    if isinstance(model, MultilabelModel):
        features = np.zeros((x.shape[1], len(states), 2))
        intercept = np.zeros((len(states), 2))
        for label, state in enumerate(states):
            features[:, label, state] = x[0]
            intercept[label, state] = 1
        pairs = np.zeros((len(model.edges_), 2, 2))
        for e, (a, b) in enumerate(model.edges_):
            pairs[e, states[a], states[b]] = 1
        parts = {"features": features, "pairs": pairs}
        return parts | ({"intercept": intercept} if model.fit_intercept else {})
    features = np.zeros((x.shape[1], K))
    for row, state in zip(x, states, strict=True):
        features[:, state] += row
    if isinstance(model, MulticlassModel):
        parts = {"features": features}
        return parts | ({"intercept": np.eye(K)[states[0]]} if model.fit_intercept else {})
    transitions = np.zeros((K, K))
    for a, b in itertools.pairwise(states):
        transitions[a, b] += 1
    parts = {"features": features, "transitions": transitions}
    if model.start_end:
        parts |= {"start": np.eye(K)[states[0]], "end": np.eye(K)[states[-1]]}
    return parts


def task_loss(model, y_true, y):
    """L(y_true, y) from its definition."""
    wrong = [a != b for a, b in zip(np.atleast_1d(y_true), np.atleast_1d(y), strict=True)]
    if isinstance(model, MulticlassModel):
        a, b = states_of(model, y_true)[0], states_of(model, y)[0]
        cost = float(wrong[0]) if model.task_loss == "zero_one" else model.task_loss[a][b]
        return cost * (model.class_weight or {}).get(y_true, 1.0)
    if model.task_loss_ == "zero_one":
        return float(any(wrong))
    weights = getattr(model, "class_weight", None) or {}
    total = sum(w * weights.get(a, 1.0) for w, a in zip(wrong, np.atleast_1d(y_true).tolist()))
    return total / len(wrong) if model.task_loss_ == "hamming" else float(total)


@every_problem
@given(seed=seeds)
@few
def test_joint_feature(name, seed):
    model, X, y = PROBLEMS[name](seed)
    for x, truth in zip(X, y):
        phi = model.joint_feature(x, truth)
        assert phi.shape == (model.size_joint_feature,)
        named, expected = model.unpack(phi), formulas(model, x, states_of(model, truth))
        assert set(named) == set(expected)
        for part, value in expected.items():
            np.testing.assert_allclose(named[part], value, rtol=1e-14, atol=1e-14, err_msg=part)
        # The names cover every weight.
        assert sum(value.size for value in named.values()) == model.size_joint_feature


@pytest.mark.slow
@every_problem
@given(seed=seeds)
@few
def test_scores_and_losses_of_all_outputs(name, seed):
    """<w, phi> = scores.value; augment adds the loss; both inferences find the best output."""
    model, X, y = PROBLEMS[name](seed)
    w = np.random.default_rng(seed).normal(size=model.size_joint_feature)
    x, truth = X[-1], y[-1]
    outputs, states = outputs_of(model, truth)
    scores = model.scores(x, w)
    values = np.array([w @ model.joint_feature(x, output) for output in outputs])
    losses = np.array([model.loss(truth, output) for output in outputs])
    by_parts = [labeling_value(scores.unary, scores.pairwise, scores.edges, s) for s in states]
    np.testing.assert_allclose(by_parts, values, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(losses, [task_loss(model, truth, o) for o in outputs], rtol=1e-12)
    assert model.loss(truth, truth) == 0

    best = model.inference(x, w)
    np.testing.assert_allclose(w @ model.joint_feature(x, best), values.max(), rtol=1e-12)
    best = model.loss_augmented_inference(x, truth, w)
    found = w @ model.joint_feature(x, best) + model.loss(truth, best)
    np.testing.assert_allclose(found, (values + losses).max(), rtol=1e-12)

    if getattr(model, "task_loss", None) == "zero_one" and not isinstance(model, MulticlassModel):
        with pytest.raises(ValueError, match="zero-one loss is not a sum over nodes"):
            model.augment(scores, truth)
    else:
        augmented = model.augment(scores, truth)
        np.testing.assert_allclose(
            [augmented.value(s) for s in states], values + losses, rtol=1e-12, atol=1e-12
        )
        np.testing.assert_array_equal(model.scores(x, w).unary, scores.unary)


@every_problem
@pytest.mark.parametrize("compiled", [True, False])
def test_many_samples_at_once(name, compiled, rng):
    """The stacked view of all inputs agrees with the methods for one."""
    model, X, y = PROBLEMS[name](5)
    oracle = model.default_oracle()
    w = rng.normal(size=model.size_joint_feature)
    # Cycles have no compiled loop.
    use_oracle = not compiled or isinstance(oracle, Enumeration)
    outputs, values = model._predict(X, w, oracle if use_oracle else None)
    assert len(outputs) == len(values) == len(y)
    for x, output, value in zip(X, outputs, values):
        np.testing.assert_array_equal(output, model.inference(x, w))
        np.testing.assert_allclose(w @ model.joint_feature(x, output), value, rtol=1e-12)
    losses = model._losses(y, outputs, training=True)
    expected = [model.loss(truth, output) for truth, output in zip(y, outputs)]
    np.testing.assert_allclose(losses, expected, rtol=1e-14)


@every_problem
def test_sparse_inputs(name):
    dense, X, y = PROBLEMS[name](1)
    X = [x.toarray() if sp.issparse(x) else np.atleast_2d(x) for x in X]
    w = np.random.default_rng(0).normal(size=dense.size_joint_feature)
    for form in (sp.csr_array, sp.csr_matrix):
        if isinstance(dense, ChainModel):
            items = [form(x) for x in X]
            model = clone(dense).initialize(items, y)
        else:
            items = [form(x) for x in X]
            model = clone(dense).initialize(sp.vstack(items, format="csr"), y)
        for x, item, truth in zip(X, items, y):
            if not isinstance(dense, ChainModel):
                x = x[0]
            a, b = dense.joint_feature(x, truth), model.joint_feature(item, truth)
            np.testing.assert_allclose(a, b, rtol=1e-14, atol=1e-14)
            a, b = dense.scores(x, w), model.scores(item, w)
            np.testing.assert_allclose(a.unary, b.unary, rtol=1e-12, atol=1e-14)
            np.testing.assert_array_equal(a.pairwise, b.pairwise)


# ---- class weights and cost matrices -------------------------------------------------------------


@pytest.mark.parametrize("kind", ["chain", "classes"])
def test_balanced_weights(kind):
    labels = np.array(["b", "a", "a", "c", "a", "b"])
    if kind == "chain":
        X, y = [np.ones((4, 1)), np.ones((2, 1))], [labels[:4], labels[4:]]
        model = ChainModel(class_weight="balanced").initialize(X, y)
    else:
        model = MulticlassModel(class_weight="balanced").initialize(np.ones((6, 1)), labels)
    expected = compute_class_weight("balanced", classes=np.array(["a", "b", "c"]), y=labels)
    np.testing.assert_allclose(model.class_weight_, expected)


@pytest.mark.parametrize("make", [ChainModel, MulticlassModel])
@pytest.mark.parametrize(
    "class_weight, message",
    [
        ("uniform", "class_weight must be None, a dict or 'balanced'; got 'uniform'"),
        ({"z": 1.0}, "class_weight names the class 'z', which is not in y"),
        ({"a": -1.0}, r"class_weight\['a'\] == -1.0, must be >= 0"),
        ({"a": np.nan}, r"class_weight\['a'\] must be finite, got nan"),
    ],
)
def test_bad_class_weights(make, class_weight, message):
    X, y = np.ones((2, 1)), np.array(["a", "b"])
    data = ([X], [y]) if make is ChainModel else (X, y)
    with pytest.raises(ValueError, match=message):
        make(class_weight=class_weight).initialize(*data)


def test_bad_losses():
    X, y = [np.ones((2, 1))], [["a", "b"]]
    with pytest.raises(ValueError, match="task_loss must be one of 'auto', 'hamming'"):
        ChainModel("edit").initialize(X, y)
    with pytest.raises(ValueError, match="class_weight needs a task_loss that is a sum over nodes"):
        ChainModel("zero_one", class_weight="balanced").initialize(X, y)
    with pytest.raises(ValueError, match="task_loss must be one of 'auto', 'hamming'"):
        MultilabelModel(task_loss="zero-one").initialize(np.ones((2, 1)), np.eye(2))


# ---- edges of label sets -------------------------------------------------------------------------


def test_default_oracles():
    assert isinstance(chain_problem(0, 1, 2)[0].default_oracle(), Viterbi)
    assert isinstance(multiclass_problem(0, 1, 2)[0].default_oracle(), TreeMaxProduct)
    for edges, kind in [("full", Enumeration), ("tree", TreeMaxProduct), ("none", TreeMaxProduct)]:
        assert isinstance(multilabel_problem(0, 1, 3, edges)[0].default_oracle(), kind)


@pytest.mark.parametrize(
    "edges, message",
    [
        ("star", "edges must be one of 'full', 'none', 'tree' or pairs of labels; got 'star'"),
        ([[0, 3]], "edges must name labels 0 to 2, got 0 to 3"),
        ([[-1, 0]], "edges must name labels 0 to 2, got -1 to 0"),
        ([[0, 1, 2]], "edges must be integers of shape"),
        ([[0.0, 1.0]], "edges must hold integers, got dtype float64"),
        ([[1, 1]], "edges must join two different labels"),
        ([[0, 1], [1, 0]], "edges holds the same pair of labels twice"),
    ],
)
def test_bad_edges(edges, message):
    with pytest.raises(ValueError, match=message):
        MultilabelModel(edges).initialize(np.ones((2, 1)), np.ones((2, 3), dtype=int))


@pytest.mark.parametrize(
    "y, message",
    [
        ([[0, 2]], "y must hold only 0 and 1, one column per label"),
        ([["a", "b"]], "y must hold only 0 and 1, one column per label"),
        ([[0.0, np.nan]], "Input y contains NaN"),
        ([0, 1], "Expected 2D array, got 1D array"),
    ],
)
def test_bad_indicators(y, message):
    with pytest.raises(ValueError, match=message):
        MultilabelModel().initialize(np.ones((1, 1)), y)


# ---- candidates ----------------------------------------------------------------------------------


@pytest.mark.parametrize("task_loss", ["zero_one", lambda a, b: abs(a - b) / 3])
def test_enumerated_model(task_loss, rng):
    X = [rng.normal(size=(n, 3)) for n in (2, 4, 1)]
    y = [1, 0, 0]
    model = EnumeratedModel(task_loss).initialize(X, y)
    assert model.size_joint_feature == 3
    w = rng.normal(size=3)
    for x, truth in zip(X, y):
        losses = [
            float(c != truth) if task_loss == "zero_one" else abs(c - truth) / 3
            for c in range(len(x))
        ]
        assert [model.loss(truth, c) for c in range(len(x))] == losses
        assert model.inference(x, w) == np.argmax(x @ w)
        assert model.loss_augmented_inference(x, truth, w) == np.argmax(x @ w + losses)
        np.testing.assert_array_equal(model.joint_feature(x, truth), x[truth])


@pytest.mark.parametrize(
    "X, y, params, message",
    [
        (
            [np.ones((2, 3)), np.ones((2, 2))],
            [0, 0],
            {},
            r"X\[1\] must have shape \(n_candidates, 3\)",
        ),
        ([np.ones((2, 3)), np.ones(3)], [0, 0], {}, r"X\[1\] must have shape \(n_candidates, 3\)"),
        ([np.full((2, 3), np.inf)], [0], {}, r"X\[0\] must be finite, got NaN"),
        ([np.ones((2, 3))], [2], {}, r"y\[0\] must name one of 2 candidates, got 2"),
        ([np.ones((2, 3))], [-1], {}, r"y\[0\] must name one of 2 candidates, got -1"),
        ([np.ones((2, 3))], [0], {"task_loss": "hamming"}, "one of 'zero_one', a matrix"),
    ],
)
def test_bad_candidates(X, y, params, message):
    with pytest.raises(ValueError, match=message):
        EnumeratedModel(**params).initialize(X, y)


# ---- misuse --------------------------------------------------------------------------------------


@every_problem
def test_weights_of_the_wrong_size(name):
    model, X, _ = PROBLEMS[name](0)
    w = np.zeros(model.size_joint_feature + 1)
    message = rf"w must have shape \({len(w) - 1},\), got \({len(w)},\)"
    for method in (lambda: model.unpack(w), lambda: model.scores(X[0], w)):
        with pytest.raises(ValueError, match=message):
            method()


def test_losses_of_unequal_lengths():
    model, *_ = chain_problem(0, 1, 2, task_loss="hamming")
    with pytest.raises(ValueError, match=r"y\[0\] has 3 labels, but X\[0\] has 2 nodes"):
        model.loss(["a", "b", "a"], ["a", "b"])
    with pytest.raises(ValueError, match="y contains the label 'z', which was not seen in fit"):
        model.joint_feature(np.ones((1, 1)), ["z"])
    with pytest.warns(UserWarning, match="labels that were not seen in fit, such as 'z'"):
        assert model.loss(["a", "z"], ["a", "b"]) == 0.5


def test_sequences_without_elements():
    model, *_ = chain_problem(0, 2, 2)
    nothing, w = np.empty((0, 2)), np.zeros(model.size_joint_feature)
    assert len(model.inference(nothing, w)) == 0
    assert len(model.loss_augmented_inference(nothing, [], w)) == 0


def test_features_of_masked_labels_are_not_defined():
    model, X, y = chain_problem(0, 2, 2)
    masked = np.ma.array(y[0], mask=[True, False])
    with pytest.raises(ValueError, match=r"y\[0\] has nodes without a label \(masked\)"):
        model.joint_feature(X[0], masked)


class DoubleLoss(ChainModel):
    """Changes the loss of a built-in model in the four methods, not in its parts."""

    def loss(self, y_true, y):
        return 2.0 * super().loss(y_true, y)

    def loss_augmented_inference(self, x, y_true, w):
        def value(y):
            return self.loss(y_true, y) + w @ self.joint_feature(x, y)

        return np.array(max(itertools.product([0, 1], repeat=len(x)), key=value))


def test_overridden_methods_make_a_black_box():
    assert has_parts(ChainModel())
    assert not has_parts(DoubleLoss())
    X = [np.eye(2)[[0, 1]], np.eye(2)[[1, 1, 0]]]
    y = [[0, 1], [1, 1, 0]]
    svm = StructuredSVM(DoubleLoss("hamming"), C=10.0, random_state=0).fit(X, y)
    assert type(svm._make_blocks(X, y, None)[0]).__name__ == "BlackBoxProblem"
    assert svm.loss(X, [[1, 0], [0, 0, 1]]).tolist() == [2.0, 2.0]
    np.testing.assert_array_equal(np.concatenate(svm.predict(X)), np.concatenate(y))
    assert svm.score_samples(X).shape == (2,)
