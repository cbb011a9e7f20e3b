"""Metrics against counting by hand, by a state machine, enumeration and published numbers."""

import pickle
from collections import Counter, defaultdict
from itertools import chain, permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_validate

from sklearn_fw.datasets import load_conll2000
from sklearn_fw.metrics import (
    SCORERS,
    mean_hamming_loss,
    multiview_l1_error,
    node_accuracy,
    phrase_classification_report,
    phrase_counts,
    phrase_f1_score,
    phrase_precision_recall_f1,
    sequence_accuracy,
    topic_l1_error,
)
from sklearn_fw.utils import Packed

FORMS = {
    "lists": lambda y: [list(t) for t in y],
    "arrays": lambda y: [np.array(t, dtype=str if t and isinstance(t[0], str) else int) for t in y],
    "object arrays": lambda y: [np.array(t, dtype=object) for t in y],
    "tuples": lambda y: [tuple(t) for t in y],
    "Packed": Packed.from_list,
}


# --- phrases --------------------------------------------------------------------------


def conlleval_counts(y_true, y_pred, extended=False):
    """Counts by walking over tag pairs, as the published program is described to do.

    A chunk counts as correct when it begins in both columns at one token with one type,
    and ends in both columns at one token.  ``extended`` adds what BIOES needs.
    """

    def split(tag):
        prefix, _, kind = tag.partition("-")
        return prefix, kind

    def ends(before, now):
        pairs = {"BB", "BO", "IB", "IO", "EE", "EI", "EO"}
        if extended:
            pairs |= {a + b for a in "ES" for b in "OBIES"} | {"BS", "IS"}
        return before[0] + now[0] in pairs or (before[0] != "O" and before[1] != now[1])

    def starts(before, now):
        pairs = {"BB", "IB", "OB", "OI", "EE", "EI", "OE"}
        if extended:
            pairs |= {a + b for a in "OBIES" for b in "BS"} | {"SI", "SE"}
        return before[0] + now[0] in pairs or (now[0] != "O" and before[1] != now[1])

    n_true, n_predicted, n_correct = 0, 0, 0
    for true, predicted in zip(y_true, y_pred):
        before, open_in_both = (("O", ""), ("O", "")), False
        for pair in [*zip(true, predicted), ("O", "O")]:
            now = tuple(map(split, pair))
            end = [ends(*step) for step in zip(before, now)]
            start = [starts(*step) for step in zip(before, now)]
            if open_in_both and any(end):
                n_correct += all(end)
                open_in_both = False
            if all(start) and now[0][1] == now[1][1]:
                open_in_both = True
            n_true += start[0]
            n_predicted += start[1]
            before = now
    return n_true, n_predicted, n_correct


def totals(counts):
    return tuple(sum(column) for column in zip(*counts.values())) or (0, 0, 0)


def joined(lists):
    return list(chain.from_iterable(lists))


def sequence_pairs(tags):
    tag = st.sampled_from(tags)
    sequence = st.lists(st.tuples(tag, tag), max_size=8)
    same = st.lists(tag.map(lambda t: (t, t)), max_size=8)  # long correct phrases too
    return st.lists(sequence | same | st.tuples(same, sequence, same).map(joined))


def unzip(pairs):
    return [[a for a, _ in s] for s in pairs], [[b for _, b in s] for s in pairs]


IOB = ["O", "B-X", "I-X", "B-Y", "I-Y"]
IOE = ["O", "E-X", "I-X", "E-Y", "I-Y"]
BIOES = ["O", *(f"{prefix}-{kind}" for prefix in "BIES" for kind in "XY")]


@pytest.mark.slow
@given(pairs=st.sampled_from([IOB, IOE, BIOES]).flatmap(sequence_pairs).filter(len))
def test_phrase_counts_equal_the_state_machine(pairs):
    y_true, y_pred = unzip(pairs)
    bioes = any(t[0] == "S" for s in y_true + y_pred for t in s)
    mixed = {t[0] for s in y_true + y_pred for t in s} >= {"B", "E"}
    expected = conlleval_counts(y_true, y_pred, extended=bioes or mixed)
    assert totals(phrase_counts(y_true, y_pred)) == expected


CASES = [
    # (tags, phrases as (first, last, type)): what a reader of the scheme expects.
    ("B-X I-X O B-X", {(0, 1, "X"), (3, 3, "X")}),
    ("I-X I-X O", {(0, 1, "X")}),  # and so does I at the start of a sentence
    ("B-X I-Y I-Y", {(0, 0, "X"), (1, 2, "Y")}),  # so does another type
    ("I-X B-X I-X", {(0, 0, "X"), (1, 2, "X")}),  # IOB1: B only between neighbors
    ("B-X E-X S-X B-X I-X E-X", {(0, 1, "X"), (2, 2, "X"), (3, 5, "X")}),  # BIOES
    ("B-X I-X S-Y I-Y", {(0, 1, "X"), (2, 2, "Y"), (3, 3, "Y")}),
    ("B-X I-X L-X U-X O", {(0, 2, "X"), (3, 3, "X")}),  # BILOU
    ("B-a-b I-a-b I-a", {(0, 1, "a-b"), (2, 2, "a")}),  # hyphens in types
    ("B I O I", {(0, 1, ""), (3, 3, "")}),  # no types
    ("O O", set()),
    ("", set()),
]


@pytest.mark.parametrize(("tags", "phrases"), CASES)
def test_phrases_of_one_sequence(tags, phrases):
    """Compare with sequences that hold one phrase each, written without doubt."""
    tags = tags.split()
    for first in range(len(tags)):
        for last in range(first, len(tags)):
            for kind in {"X", "Y", "a-b", "a", ""}:
                other = ["O"] * len(tags)
                dash = "-" if kind else ""
                other[first : last + 1] = [f"I{dash}{kind}"] * (last - first + 1)
                n_true, n_predicted, n_correct = totals(phrase_counts([tags], [other]))
                assert (n_true, n_predicted) == (len(phrases), 1)
                assert n_correct == ((first, last, kind) in phrases)


Y_TRUE = [["B-NP", "I-NP", "O", "B-VP"], ["B-NP"], ["O", "B-PP"]]
Y_PRED = [["B-NP", "I-NP", "O", "B-NP"], ["B-NP"], ["O", "O"]]


@pytest.mark.parametrize("form", FORMS)
def test_precision_recall_f1(form):
    pair = FORMS[form](Y_TRUE), FORMS[form](Y_PRED)
    assert phrase_counts(*pair) == {"NP": (2, 3, 2), "PP": (1, 0, 0), "VP": (1, 0, 0)}
    scores = phrase_precision_recall_f1(*pair)
    assert scores == pytest.approx((2 / 3, 2 / 4, 4 / 7))
    assert phrase_f1_score(*pair) == pytest.approx(4 / 7)
    by_type = phrase_precision_recall_f1(*pair, average=None, zero_division=1.0)
    assert by_type == {"NP": (2 / 3, 1.0, 0.8), "PP": (1.0, 0.0, 0.0), "VP": (1.0, 0.0, 0.0)}
    assert phrase_f1_score(*pair, average=None) == {"NP": 0.8, "PP": 0.0, "VP": 0.0}
    assert phrase_precision_recall_f1(*pair, average="macro") == pytest.approx(
        (2 / 9, 1 / 3, 0.8 / 3)
    )


def test_no_phrase_at_all():
    for average in ("micro", "macro"):
        scores = phrase_precision_recall_f1([["O"]], [["O"]], average=average, zero_division=1)
        assert scores == (1.0, 1.0, 1.0)
    assert phrase_precision_recall_f1([["O"]], [["O"]], average=None) == {}
    assert phrase_f1_score([["O"]], [["B-X"]]) == 0.0
    assert "all" in phrase_classification_report([["O"]], [["O"]])


def test_phrase_weights_are_copies():
    order = [0, 0, 0, 2]
    copies = [[y[i] for i in order] for y in (Y_TRUE, Y_PRED)]
    weighted = phrase_counts(Y_TRUE, Y_PRED, sample_weight=[3, 0, 1])
    assert weighted == phrase_counts(*copies)
    assert phrase_f1_score(Y_TRUE, Y_PRED, sample_weight=[3, 0, 1]) == phrase_f1_score(*copies)
    report = phrase_classification_report(Y_TRUE, Y_PRED, sample_weight=[0.5, 0, 1])
    assert "0.5" in report


def test_report():
    lines = phrase_classification_report(Y_TRUE, Y_PRED, digits=2).splitlines()
    assert [line.split() for line in lines] == [
        ["precision", "recall", "f1", "true", "predicted", "correct"],
        ["NP", "0.67", "1.00", "0.80", "2", "3", "2"],
        ["PP", "0.00", "0.00", "0.00", "1", "0", "0"],
        ["VP", "0.00", "0.00", "0.00", "1", "0", "0"],
        ["all", "0.67", "0.50", "0.57", "4", "3", "2"],
        ["node", "accuracy", "0.71"],
    ]
    assert len({len(line) for line in lines[:-1]}) == 1


@pytest.mark.slow
def test_baseline_of_the_shared_task(data_home):
    """Published by Tjong Kim Sang and Buchholz (2000), Table 2: the most frequent chunk tag of
    each part of speech gives precision 72.58 %, recall 82.14 %, F1 77.07 %."""
    try:
        chunks = load_conll2000(data_home)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    frequencies = defaultdict(Counter)
    for x, y in zip(chunks.X_train, chunks.y_train):
        for pos, tag in zip(x[:, 1], y):
            frequencies[pos][tag] += 1
    best = {pos: counts.most_common(1)[0][0] for pos, counts in frequencies.items()}
    y_pred = [[best[pos] for pos in x[:, 1]] for x in chunks.X_test]
    scores = phrase_precision_recall_f1(chunks.y_test, y_pred)
    assert [round(100 * score, 2) for score in scores] == [72.58, 82.14, 77.07]
    assert totals(phrase_counts(chunks.y_test, y_pred))[0] == 23_852


@pytest.mark.parametrize(
    ("y_true", "y_pred", "message"),
    [
        ([["O"], ["X-NP"]], [["O"], ["O"]], "tag 'X-NP' at token 0 of sample 1 is neither 'O'"),
        ([["O"], ["O", "O"]], [["O"], ["O", "NP"]], "tag 'NP' at token 1 of sample 1"),
        ([["O", 1]], [["O", "O"]], "token 1 of sample 0 of y_true has the label 1: tags must be"),
        ([[0]], [[0]], "token 0 of sample 0 of y_true has the label 0: tags must be text"),
    ],
)
def test_wrong_tags_are_refused(y_true, y_pred, message):
    with pytest.raises(ValueError, match=message):
        phrase_counts(y_true, y_pred)


# --- nodes and sequences --------------------------------------------------------------

LABEL_PAIRS = st.lists(
    st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), max_size=5), min_size=1, max_size=6
).filter(any)


@given(pairs=LABEL_PAIRS, form=st.sampled_from(list(FORMS)), text=st.booleans())
def test_losses_equal_counting(pairs, form, text):
    y_true, y_pred = unzip(pairs)
    if text:
        y_true, y_pred = ([["abc"[v] for v in s] for s in y] for y in (y_true, y_pred))
    wrong = np.array([sum(a != b for a, b in zip(*s)) for s in zip(y_true, y_pred)])
    lengths = np.array([len(s) for s in y_true])
    pair = FORMS[form](y_true), FORMS[form](y_pred)
    expected = accuracy_score(joined(y_true), joined(y_pred))
    assert node_accuracy(*pair) == pytest.approx(expected)
    assert sequence_accuracy(*pair) == pytest.approx(np.mean(wrong == 0))
    assert mean_hamming_loss(*pair) == pytest.approx(wrong.sum() / lengths.sum())
    assert mean_hamming_loss(*pair, normalize=None) == pytest.approx(wrong.mean())
    fractions = [w / n if n else 0.0 for w, n in zip(wrong, lengths)]
    assert mean_hamming_loss(*pair, normalize="sequence") == pytest.approx(np.mean(fractions))


@given(pairs=LABEL_PAIRS, data=st.data())
def test_weights_are_copies(pairs, data):
    y_true, y_pred = unzip(pairs)
    weight = data.draw(st.lists(st.integers(1, 3), min_size=len(pairs), max_size=len(pairs)))
    copies = [[s for s, k in zip(y, weight) for _ in range(k)] for y in (y_true, y_pred)]
    for metric in (node_accuracy, sequence_accuracy, mean_hamming_loss):
        assert metric(y_true, y_pred, sample_weight=weight) == pytest.approx(metric(*copies))
    for normalize in ("sequence", None):
        assert mean_hamming_loss(
            y_true, y_pred, normalize=normalize, sample_weight=weight
        ) == pytest.approx(mean_hamming_loss(*copies, normalize=normalize))


def test_label_grids():
    y_true, y_pred = np.zeros((3, 2, 2), int), np.zeros((3, 2, 2), int)
    y_pred[0, 0] = 1
    assert node_accuracy(y_true, y_pred) == pytest.approx(10 / 12)
    assert node_accuracy(list(y_true), y_pred) == pytest.approx(10 / 12)
    assert sequence_accuracy(Packed.from_list(list(y_true)), y_pred) == pytest.approx(2 / 3)


def test_text_is_not_its_number():
    assert node_accuracy([[1, 2]], [["1", "2"]]) == 0.0
    assert node_accuracy([np.array([1, 2])], [np.array(["1", "2"])]) == 0.0
    assert node_accuracy([np.array([1]), np.array(["a"])], [[1], ["a"]]) == 1.0


@pytest.mark.parametrize(
    "metric", [node_accuracy, sequence_accuracy, mean_hamming_loss, phrase_f1_score]
)
@pytest.mark.parametrize(
    ("y_true", "y_pred", "weight", "message"),
    [
        ([["O"]], [["O"], ["O"]], None, "y_true has 1 samples, y_pred has 2"),
        ([], [], None, "y_true and y_pred are empty"),
        ([["O"], ["O", "O"], ["O"]], [["O"], ["O"], []], None,
         "sample 1 has 2 labels in y_true but 1 labels in y_pred"),
        (["O", "O"], ["O", "O"], None, r"y_true\[0\] is the single label 'O'"),
        (np.array([1, 2]), np.array([1, 2]), None, r"y_true\[0\] is the single label 1"),
    ],
)  # fmt: skip
def test_wrong_input_is_refused(metric, y_true, y_pred, weight, message):
    with pytest.raises(ValueError, match=message):
        metric(y_true, y_pred, sample_weight=weight)


def test_nothing_to_average_over():
    with pytest.raises(ValueError, match="no node to average over"):
        mean_hamming_loss([[], ["O"]], [[], ["O"]], sample_weight=[1, 0])
    with pytest.raises(ValueError, match="labels of shape"):
        mean_hamming_loss([np.zeros((2, 2))], [np.zeros((2, 3))])


# --- scorers --------------------------------------------------------------------------


class Constant(BaseEstimator):
    """Predicts one tag everywhere."""

    def __init__(self, tag="O"):
        self.tag = tag

    def fit(self, X, y, sample_weight=None):
        return self

    def predict(self, X):
        out = np.empty(len(X), dtype=object)
        for i, x in enumerate(X):
            out[i] = np.full(len(x), self.tag)
        return out


X = [np.zeros((n, 1)) for n in (1, 2, 3, 1, 2, 3)]
Y = [["B-X"] * len(x) for x in X]


@pytest.mark.parametrize("name", SCORERS)
@pytest.mark.parametrize("form", [list, Packed.from_list])
def test_scorers_choose_the_better_model(name, form):
    grid = GridSearchCV(Constant(), {"tag": ["O", "B-X"]}, scoring=SCORERS[name], cv=3)
    grid.fit(form(X), form(Y))
    assert grid.best_params_ == {"tag": "B-X"}
    assert grid.best_score_ == (0 if name.startswith("neg") else 1)


def test_scorers_route_sample_weight():
    model, mixed = Constant("B-X").fit(X, Y), [["O"], *Y[1:]]
    weight = [11.0, 1, 1, 1, 1, 1]
    expected = node_accuracy(mixed, model.predict(X), sample_weight=weight)
    assert SCORERS["node_accuracy"](model, X, mixed, sample_weight=weight) == expected == 11 / 22
    with config_context(enable_metadata_routing=True):
        scorer = pickle.loads(pickle.dumps(SCORERS["node_accuracy"]))
        scorer.set_score_request(sample_weight=True)
        asking = Constant("B-X").set_fit_request(sample_weight=False)
        results = cross_validate(
            asking, X, mixed, scoring=scorer, cv=2, params={"sample_weight": np.array(weight)}
        )
    assert results["test_score"][0] == pytest.approx(5 / 16)


def test_topics_equal_the_best_order(rng):
    true, found = rng.dirichlet(np.ones(6), 3), rng.dirichlet(np.ones(6), 4)
    best = min(np.abs(true - found[list(order)]).sum() / 6 for order in permutations(range(4), 3))
    assert topic_l1_error(true, 7 * found) == pytest.approx(best, rel=1e-12)
    assert topic_l1_error(true, found[::-1]) == pytest.approx(best, rel=1e-12)
    assert topic_l1_error(np.eye(4)[:2], np.eye(4)[2:]) == 1.0


def test_views_share_one_order_and_one_sign(rng):
    X, Y = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    order, signs = [2, 0, 1], np.array([1.0, -1.0, -1.0])
    moved = 3 * X[:, order] * signs, 0.1 * Y[:, order] * signs
    assert multiview_l1_error(X, Y, *moved, signed=True) == pytest.approx(0.0, abs=1e-12)
    assert multiview_l1_error(X, Y, *moved) > 0.1
    assert multiview_l1_error(X, Y, moved[0], Y, signed=True) > 0.1
    assert multiview_l1_error(X, Y, -X, Y, signed=True) == pytest.approx(0.5)


def test_refusals_of_loadings():
    with pytest.raises(ValueError, match="topics_pred must not be negative"):
        topic_l1_error(np.eye(2), -np.eye(2))
    with pytest.raises(ValueError, match="topics_pred must have at least as many"):
        topic_l1_error(np.eye(2), np.eye(2)[:1])
    with pytest.raises(ValueError, match="same number of features"):
        topic_l1_error(np.eye(2), np.eye(3))
    with pytest.raises(ValueError, match="x_loadings_true and y_loadings_true"):
        multiview_l1_error(np.eye(2), np.ones((2, 1)), np.eye(2), np.eye(2))
