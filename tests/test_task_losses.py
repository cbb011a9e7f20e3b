"""Task losses against their definitions, models that train with them, and losses of users."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from _matchings import all_matchings
from _references import all_labelings
from _task_losses import BLOCKS, COSTS, NAMES, FirstMistake, Steps, few, seeds
from sklearn_fw import StructuredSVM
from sklearn_fw.metrics import make_loss_scorer, mean_hamming_loss, mean_task_loss
from sklearn_fw.task_losses import (
    BlockLoss,
    FunctionLoss,
    HammingLoss,
    LinkLoss,
    MatrixLoss,
    NodeCosts,
    OverlapLoss,
    TaskLoss,
    Truth,
    ZeroOneLoss,
    resolve_task_loss,
)

# ---- definitions, node by node -------------------------------------------------------------------


def plain(loss, true, made):
    """The loss of states from the docstring, for classes NAMES."""
    wrong = [a != b for a, b in zip(true, made)]
    if isinstance(loss, HammingLoss):
        by_class = loss.class_weight or {}
        weights = np.array([by_class.get(NAMES[a], 1.0) for a in true])
        if loss.node_weight is not None:
            weights *= loss.node_weight[: len(true)]
        total = float(weights @ wrong)
        return total / weights.sum() if loss.normalize and weights.sum() else total
    if isinstance(loss, MatrixLoss):
        order = list(NAMES if loss.classes is None else loss.classes)
        places = [(order.index(NAMES[a]), order.index(NAMES[b])) for a, b in zip(true, made)]
        total = sum(loss.costs[i][j] for i, j in places)
        return total / len(true) if loss.normalize and len(true) else float(total)
    if isinstance(loss, BlockLoss):
        costs = [
            0.0 if a == b else 1.0 if BLOCKS[NAMES[a]] != BLOCKS[NAMES[b]] else loss.within
            for a, b in zip(true, made)
        ]
        return float(sum(costs))
    if isinstance(loss, ZeroOneLoss):
        return float(any(wrong))
    if isinstance(loss, OverlapLoss):
        a, b = (np.isin(NAMES[np.asarray(s, int)], loss.positive) for s in (true, made))
        return np.sum(a != b) / np.sum(a | b) if np.any(a | b) else 0.0
    change = np.subtract(made, true)
    return float(sum(np.where(change > 0, loss.more * change, -change)))


LOSSES = {
    "share": HammingLoss(),
    "number": HammingLoss(normalize=False),
    "by class": HammingLoss(class_weight={"b": 3.0, "z": 9.0}),
    "by node": HammingLoss(normalize=False, node_weight=[0.5, 2.0, 0.0, 1.0]),
    "by both": HammingLoss(class_weight={"b": 3.0}, node_weight=[0.0, 2.0, 0.0, 1.0]),
    "matrix": MatrixLoss(COSTS),
    "named matrix": MatrixLoss(COSTS, classes=["c", "a", "b"], normalize=True),
    "blocks": BlockLoss(BLOCKS, within=0.25),
    "zero-one": ZeroOneLoss(),
    "overlap": OverlapLoss(["b"]),
    "two positive": OverlapLoss(["b", "c"]),
    "own": Steps(more=2.0),
}
every_loss = pytest.mark.parametrize("name", LOSSES)


def random_truth(rng, n_samples=4, n_states=3, longest=4):
    lengths = rng.integers(0, longest + 1, n_samples)
    start = np.concatenate([[0], np.cumsum(lengths)])
    return Truth(rng.integers(n_states, size=start[-1]), start, (NAMES[:n_states],))


@every_loss
@given(seed=seeds)
@few
def test_costs_of_nodes_add_up_to_the_loss(name, seed):
    loss, rng = clone(LOSSES[name]), np.random.default_rng(seed)
    truth = random_truth(rng)
    states = rng.integers(3, size=len(truth.states))
    costs = loss.node_costs(truth)
    if not isinstance(costs, NodeCosts):
        costs = NodeCosts(np.ones(len(costs)), costs, np.arange(len(costs)))
    found = costs.losses(truth, states)
    pieces = [np.split(s, truth.node_start[1:-1]) for s in (truth.states, states)]
    expected = [plain(loss, true, made) for true, made in zip(*pieces)]
    if isinstance(loss, OverlapLoss):
        assert np.all(found >= np.array(expected) - 1e-14)
        for true, made in zip(*pieces):  # exact without false positives
            if len(true) and not np.any(np.isin(NAMES[made], loss.positive) & (true != made)):
                single = Truth(true, np.array([0, len(true)]), (NAMES,))
                bound = loss.node_costs(single).losses(single, made)
                np.testing.assert_allclose(bound, plain(loss, true, made), atol=1e-14)
    else:
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14)
        by_hand = truth.sums(costs.dense()[np.arange(len(states)), states])
        by_hand += costs.whole * (truth.sums(truth.states != states) > 0)
        np.testing.assert_allclose(found, by_hand, rtol=1e-12)
    if name != "own":  # which reads numbers of classes off what it is given
        raw = [[NAMES[s].tolist() for s in piece] for piece in pieces]
        if not isinstance(loss, MatrixLoss) or loss.classes is not None:
            np.testing.assert_allclose(loss.losses(*raw), expected, rtol=1e-12, atol=1e-14)
            values = [loss.value(*pair) for pair in zip(*raw)]
            np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-14)
    assert not np.any(costs.losses(truth, truth.states))


@every_loss
@given(seed=seeds)
@few
def test_largest_loss(name, seed):
    loss, rng = LOSSES[name], np.random.default_rng(seed)
    truth = random_truth(rng)
    largest = loss.largest(truth)
    assert largest.shape == (4,)
    for i, (a, b) in enumerate(zip(truth.node_start, truth.node_start[1:])):
        candidates = all_labelings(b - a, 3)
        worst = max(plain(loss, truth.states[a:b], made) for made in candidates)
        if isinstance(loss, OverlapLoss):
            assert worst <= largest[i] <= 1.0
        else:
            np.testing.assert_allclose(largest[i], worst, rtol=1e-12, atol=1e-14)


def test_what_decomposes():
    expected = {name: name != "zero-one" for name in LOSSES}
    assert {name: loss.decomposes for name, loss in LOSSES.items()} == expected
    assert not FunctionLoss(max).decomposes
    assert LinkLoss().decomposes
    truth = random_truth(np.random.default_rng(0))
    assert np.all(np.isinf(FirstMistake().largest(truth)))
    np.testing.assert_array_equal(FirstMistake().losses(["ab", "ab"], ["ab", "cb"]), [0.0, 1.0])


def test_kinds_of_nodes(rng):
    """Nodes of two kinds have cost matrices of their own, in one table for compiled code."""
    few_states, costs = np.array([[0.0, 4.0], [7.0, 0.0]]), COSTS
    kind = np.array([0, 1, 1, 0, 1])
    truth = Truth(
        np.array([1, 2, 0, 0, 1]), np.array([0, 3, 5]), (np.array([0, 1]), NAMES), kind=kind
    )
    found = MatrixLoss([few_states, costs]).node_costs(truth)
    assert truth.n_states == found.table.shape[1] == 3
    for t, (k, state) in enumerate(zip(kind, truth.states)):
        own = [few_states, costs][k]
        np.testing.assert_array_equal(found.dense()[t, : len(own)], own[state])
    states = np.array([0, 0, 1, 1, 1])
    np.testing.assert_array_equal(found.losses(truth, states), [7 + 2 + 1, 4])
    weighted = HammingLoss(normalize=False, class_weight={1: 5.0, "c": 2.0}).node_costs(truth)
    np.testing.assert_array_equal(weighted.losses(truth, states), [5 + 2 + 1, 1])
    with pytest.raises(ValueError, match="costs must hold 2 matrices, one per kind, got 1"):
        MatrixLoss(costs).node_costs(truth)
    with pytest.raises(ValueError, match="needs nodes of one kind"):
        OverlapLoss().node_costs(truth)


@given(
    seed=seeds, n_rows=st.integers(0, 3), n_columns=st.integers(0, 3), normalize=st.booleans(),
    false=st.floats(0.1, 5.0), missed=st.floats(0.1, 5.0),
)  # fmt: skip
@few
def test_links(seed, n_rows, n_columns, normalize, false, missed):
    """Node costs, pair costs and values of matchings are one loss."""
    rng = np.random.default_rng(seed)
    loss = LinkLoss(false, missed, normalize=normalize)
    outputs = all_matchings(n_rows, n_columns, False)
    true = outputs[rng.integers(len(outputs))]
    shape = np.array([true.shape])
    truth = Truth(
        true.ravel().astype(int), np.array([0, true.size]), (np.array([0, 1]),), shapes=shape
    )
    costs, links = loss.node_costs(truth), np.nonzero(true)
    pairs, constant = loss._pair_costs(links, true.shape)
    general, general_constant = TaskLoss._pair_costs(loss, links, true.shape)
    np.testing.assert_allclose(pairs, general, rtol=1e-12)
    np.testing.assert_allclose(constant, general_constant, rtol=1e-12)
    values = []
    for made in outputs:
        missing, wrong = np.sum(true * (1 - made)), np.sum((1 - true) * made)
        most = missed * true.sum() + false * min(true.shape)
        value = (missed * missing + false * wrong) / (most if normalize and most else 1.0)
        np.testing.assert_allclose(loss.value(true, made), value, rtol=1e-12)
        np.testing.assert_allclose(
            costs.losses(truth, made.ravel().astype(int))[0], value, rtol=1e-12
        )
        np.testing.assert_allclose(np.sum(pairs * made) + constant, value, rtol=1e-9, atol=1e-12)
        values.append(value)
    assert max(values) <= loss.largest(truth)[0] * (1 + 1e-12)


def test_costs_follow_the_names_of_a_data_frame():
    pandas = pytest.importorskip("pandas")
    costs = pandas.DataFrame(COSTS, index=list("abc"), columns=list("abc"))
    turned = costs.loc[list("cab"), list("bca")]
    expected = MatrixLoss(COSTS, classes=list("abc")).matrix(["a", "b", "c"])
    for how in ({"costs": turned}, {"costs": turned, "classes": list("bac")}):
        np.testing.assert_array_equal(MatrixLoss(**how).matrix(["a", "b", "c"]), expected)
    X, y = np.eye(3), ["a", "b", "c"]
    svm = StructuredSVM(task_loss=turned, C=1.0).fit(X, y)
    np.testing.assert_array_equal(
        svm.loss(X[[0, 0, 0]], y), expected[:, svm.predict(X[:1]) == y].T[0]
    )
    plain = MatrixLoss(pandas.DataFrame(COSTS), classes=list("abc"))
    np.testing.assert_array_equal(plain.matrix(["a", "b", "c"]), expected)
    for how in ({"costs": turned.rename(index={"c": "d"})}, {"costs": costs, "classes": [0, 1, 2]}):
        with pytest.raises(ValueError, match="rows, columns and classes of costs must agree, got"):
            MatrixLoss(**how).value("a", "b")


# ---- metrics -------------------------------------------------------------------------------------


def test_metrics_are_means_of_losses(rng):
    y_true = [NAMES[rng.integers(3, size=n)] for n in (3, 0, 5, 2)]
    y_pred = [NAMES[rng.integers(3, size=len(y))] for y in y_true]
    weight = rng.uniform(size=4)
    for task_loss, normalize in (("hamming", "sequence"), ("hamming_sum", None)):
        for sample_weight in (None, weight):
            assert mean_task_loss(
                y_true, y_pred, task_loss=task_loss, sample_weight=sample_weight
            ) == pytest.approx(
                mean_hamming_loss(y_true, y_pred, normalize=normalize, sample_weight=sample_weight)
            )
    by_function = mean_task_loss(y_true[:1], y_pred[:1], task_loss=FirstMistake().value)
    assert by_function == FirstMistake().value(y_true[0], y_pred[0])
    rows = rng.integers(3, size=(2, 6))
    singles = mean_task_loss(*rows, task_loss=COSTS)
    assert singles == pytest.approx(np.mean(COSTS[tuple(rows)]))
    table = rng.integers(2, size=(2, 5, 3))
    assert mean_task_loss(*table) == pytest.approx(np.mean(table[0] != table[1]))
    assert mean_task_loss(*table, task_loss="zero_one") == np.mean(
        np.any(table[0] != table[1], axis=1)
    )


def test_scorers_of_losses(rng):
    X, y = rng.normal(size=(20, 3)), NAMES[rng.integers(3, size=20)]
    svm = StructuredSVM(C=1.0).fit(X, y)
    loss = MatrixLoss(COSTS, classes=NAMES)
    places = [np.searchsorted(NAMES, labels) for labels in (y, svm.predict(X))]
    assert make_loss_scorer(loss)(svm, X, y) == pytest.approx(-np.mean(COSTS[tuple(places)]))
    assert make_loss_scorer("zero_one")(svm, X, y) == pytest.approx(svm.score(X, y) - 1.0)
    with pytest.raises(ValueError, match="task_loss must be one of 'bleu', 'distance', 'edit'"):
        make_loss_scorer("meteor")


# ---- errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        ("much", TypeError, "value of Own must return a number, got 'much'"),
        (-1.0, ValueError, "value of Own must return a number >= 0 that is finite, got -1.0"),
        (np.nan, ValueError, "value of Own must return a number >= 0"),
    ],
)
def test_what_values_of_users_are_is_checked(value, error, message):
    class Own(TaskLoss):
        def value(self, y_true, y_pred):
            return value

    with pytest.raises(error, match=message):
        Own().losses([[0]], [[1]])
    with pytest.raises(error, match="task_loss must return a number"):
        FunctionLoss(lambda a, b: value).value(0, 1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: TaskLoss().value(0, 1), "TaskLoss needs a method"),
        (lambda: HammingLoss().losses([[0]], [[0], [1]]), "y_true has 1 samples, y_pred has 2"),
        (lambda: HammingLoss().value([0, 1], [0]), "sample 0 has 2 labels in y_true but 1 labels"),
        (lambda: HammingLoss(class_weight={0: -1}).value(0, 1), r"class_weight\[0\] == -1"),
        (lambda: HammingLoss(class_weight="balanced").value(0, 1), "class_weight must be a dict"),
        (lambda: HammingLoss(node_weight=[1]).value([0, 1], [1, 1]), "1 weights for 2 labels"),
        (
            lambda: MatrixLoss([[0, 1]]).value(0, 1),
            r"costs of the task_loss must have shape \(1, 1",
        ),
        (lambda: MatrixLoss([[0, 1], [1, 1]]).value(0, 1), "negative, and 0 on the diagonal"),
        (
            lambda: MatrixLoss(COSTS).value(0, 3),
            "label 3 in y_pred, which MatrixLoss does not know",
        ),
        (lambda: MatrixLoss(COSTS, classes=[0, 1]).value(0, 1), "task_loss must have shape"),
        (lambda: MatrixLoss(COSTS, classes="abc").value(0, 1), "classes must be a list of labels"),
        (lambda: MatrixLoss(COSTS, classes=[0, 1, 1]).value(0, 1), "must name each label once"),
        (lambda: MatrixLoss(COSTS, classes=[[], 1, 2]).value(0, 1), "classes must hold labels"),
        (lambda: BlockLoss({}).value(0, 1), "blocks must be a dict from classes to blocks"),
        (lambda: BlockLoss({0: 0}).value(0, 1), "label 1 in y_pred, which BlockLoss does not know"),
        (lambda: BlockLoss({0: []}).value(0, 1), "blocks must have names"),
        (lambda: FunctionLoss("edit").value(0, 1), "function must be callable, got 'edit'"),
        (lambda: OverlapLoss("b").value("a", "b"), "positive must be a list of labels, got a str"),
        (lambda: OverlapLoss([[]]).value("a", "b"), "positive must hold labels"),
        (lambda: resolve_task_loss("links", [None]), "names must hold names of losses"),
        (lambda: LinkLoss().value([[2]], [[1]]), "y_true must be a list of pairs"),
        (lambda: resolve_task_loss(HammingLoss), "task_loss must be one of"),
    ],
)
def test_errors(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()
