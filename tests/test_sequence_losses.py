"""Edits, n-grams and phrases against the textbook and the metrics, and what these losses refuse."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from _plain_losses import plain_bleu, plain_distance
from _task_losses import few
from sklearn_fw import StructuredSVM
from sklearn_fw.metrics import make_loss_scorer, mean_task_loss, phrase_f1_score
from sklearn_fw.seq2seq._costs import costs_for
from sklearn_fw.task_losses import BleuLoss, EditLoss, PhraseLoss, resolve_task_loss

TAGS = ["O", "B-NP", "I-NP", "B-VP", "I-VP", "E-VP", "S-NP", "L-NP", "U"]
texts = st.text("abc", max_size=9)
tags = st.lists(st.sampled_from(TAGS), max_size=8)


@given(true=texts, made=texts)
@few
def test_edit_distance_is_that_of_the_textbook(true, made):
    count = EditLoss(normalize=False)
    assert count.value(true, made) == plain_distance(made, true)
    assert count.value(made, true) == count.value(true, made)
    assert EditLoss().value(true, made) == plain_distance(made, true) / max(len(true), 1)


@given(true=texts, made=texts, max_n=st.integers(1, 6))
@few
def test_bleu_is_that_of_the_textbook(true, made, max_n):
    loss = BleuLoss(max_n)
    value = loss.value(true, made)
    assert value == pytest.approx(1.0 - plain_bleu(true, made, max_n), abs=1e-12)
    assert 0.0 <= value <= 1.0
    assert loss.value(true, true) == 0.0


@given(true=tags, made=tags)
@few
def test_phrases_are_those_of_the_metrics(true, made):
    """Also where lengths differ: an output that is shorter has no phrases behind its end."""
    value = PhraseLoss().value(true, made)
    longest = max(len(true), len(made))
    longer = [y + ["O"] * (longest - len(y)) for y in (true, made)]
    f1 = phrase_f1_score(*([y] for y in longer), zero_division=1.0)
    assert value == pytest.approx(1.0 - f1, abs=1e-15)
    assert 0.0 <= value <= 1.0
    assert PhraseLoss().value(true, true) == 0.0


@pytest.mark.parametrize("loss", [BleuLoss(), PhraseLoss()], ids=str)
@given(pairs=st.lists(st.tuples(tags, tags), max_size=6))
@few
def test_many_outputs_are_priced_as_one(loss, pairs):
    true, made = ([pair[k] for pair in pairs] for k in range(2))
    assert loss.losses(true, made).tolist() == [loss.value(*pair) for pair in pairs]


@pytest.mark.parametrize("loss", [BleuLoss(3), PhraseLoss()], ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_outputs_in_numbers_cost_what_they_cost_in_words(loss, seed):
    """Beginning of the roll-in, a token or none, an ending, and then the truth or nothing."""
    rng = np.random.default_rng(seed)
    classes, lengths = np.array(TAGS), np.array([4, 1, 6])
    targets, made = rng.integers(len(TAGS), size=(3, 6)), rng.integers(len(TAGS), size=(3, 7))
    y = [classes[row[:n]].tolist() for row, n in zip(targets, lengths)]
    costs = costs_for(loss, "copy", classes, targets, lengths, y, is_free=True)
    costs.begin(made)
    n = 60
    sample, time = rng.integers(3, size=n), rng.integers(7, size=n)
    token, rest = rng.integers(-1, len(TAGS), size=n), rng.integers(len(TAGS), size=(n, 3))
    n_rest, goes_on = rng.integers(4, size=n) * (token >= 0), rng.random(n) < 0.5
    goes_on &= token >= 0
    found = costs.of(sample, time, token, rest, n_rest, goes_on)
    for k, b in enumerate(sample):
        output = made[b, : time[k]].tolist() + ([token[k]] if token[k] >= 0 else [])
        output += rest[k, : n_rest[k]].tolist()
        if goes_on[k]:
            output += targets[b, len(output) : lengths[b]].tolist()
        assert found[k] == pytest.approx(loss.value(y[b], classes[output]), abs=1e-15)


def test_names_and_forms():
    assert isinstance(resolve_task_loss("bleu"), BleuLoss)
    assert isinstance(resolve_task_loss("phrase_f1"), PhraseLoss)
    assert isinstance(resolve_task_loss("edit"), EditLoss)
    for loss in (BleuLoss(), PhraseLoss(), EditLoss()):
        assert not loss.decomposes
        for form in (list, tuple, np.array, lambda y: np.array(y, dtype=object)):
            true, made = form(["B-X", "B-Y"]), form(["B-X", "O"])
            assert 0.0 < loss.value(true, made) < 1.0
        assert loss.matrix([["O"], ["B-X"]]).tolist() == [[0.0, 1.0], [1.0, 0.0]]
        assert loss.losses([], []).shape == (0,)
        if not isinstance(loss, PhraseLoss):
            assert loss.value(np.array([1, 2]), [np.int64(1), 2]) == 0.0
    assert mean_task_loss(["abc", "b"], ["abc", "c"], task_loss="bleu") == 0.5
    assert mean_task_loss(["abc", "b"], ["ac", "b"], task_loss="edit") == pytest.approx(1 / 6)
    assert EditLoss().value([("a", 1)], [("a", 2)]) == 1.0
    assert BleuLoss().value([("a", 1), 2], [("a", 1), 2]) == 0.0
    svm = StructuredSVM("chain", C=1.0).fit([np.eye(2)], [["B-X", "O"]])
    assert make_loss_scorer("phrase_f1")(svm, [np.eye(2)], [["B-X", "O"]]) == 0.0


@pytest.mark.parametrize("loss", [BleuLoss(), PhraseLoss(), EditLoss()], ids=str)
@pytest.mark.parametrize(
    ("pair", "error", "message"),
    [
        (("O", 3), TypeError, r"y_pred.* must be a text or a list of tokens, got a int"),
        (([[1]], "O"), TypeError, r"y_true.* holds \[1\], which is not a token"),
        (([None], "O"), ValueError, r"y_true.* holds None, which is not a token"),
        ((np.eye(2), "O"), ValueError, r"y_true.* must be a vector of tokens, got shape \(2, 2\)"),
        ((np.ma.masked_equal([1, 2], 2), "O"), ValueError, "y_true.* has masked tokens"),
    ],
)
def test_errors_of_outputs(loss, pair, error, message):
    with pytest.raises(error, match=message):
        loss.value(*pair)


def test_errors():
    with pytest.raises(ValueError, match="max_n == 0, must be >= 1"):
        BleuLoss(0).value("a", "b")
    with pytest.raises(TypeError, match="max_n must be an instance of int"):
        BleuLoss(1.5).value("a", "b")
    with pytest.raises(
        ValueError, match=r"y_true\[0\] holds 'X-B', which is neither 'O' nor starts"
    ):
        PhraseLoss().value(["X-B"], ["O"])
    with pytest.raises(ValueError, match=r"y_pred\[0\] holds 1: tags of phrases are text"):
        PhraseLoss().value(["O"], [1])
    with pytest.raises(TypeError, match="normalize must be True or False"):
        EditLoss("yes").value("a", "b")
    for loss in (BleuLoss(), PhraseLoss(), EditLoss()):
        with pytest.raises(ValueError, match="y_true has 1 samples, y_pred has 2"):
            loss.losses([["O"]], [["O"], ["O"]])
        with pytest.raises((TypeError, ValueError), match=type(loss).__name__):
            StructuredSVM("chain", task_loss=loss).fit([np.eye(2)], [["O", "B-X"]])
