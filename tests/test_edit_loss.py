"""The edit distance against the textbook, and what it refuses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from _plain_losses import plain_distance
from _task_losses import few
from sklearn_fw import StructuredSVM
from sklearn_fw.metrics import mean_task_loss
from sklearn_fw.task_losses import EditLoss, resolve_task_loss

texts = st.text("abc", max_size=7)


@given(true=texts, made=texts)
@few
def test_value_is_that_of_the_textbook(true, made):
    count = EditLoss(normalize=False)
    assert count.value(true, made) == plain_distance(made, true)
    assert count.value(made, true) == count.value(true, made)
    assert EditLoss().value(true, made) == plain_distance(made, true) / max(len(true), 1)
    assert count.value(true, true) == 0.0


def test_forms_of_outputs():
    loss = EditLoss()
    for form in (list, tuple, np.array, lambda y: np.array(y, dtype=object)):
        assert loss.value(form(["to", "be"]), form(["to", "bee"])) == 0.5
    assert loss.value(np.array([1, 2]), [np.int64(1), 2]) == 0.0
    assert loss.value([("a", 1)], [("a", 2)]) == 1.0
    assert isinstance(resolve_task_loss("edit"), EditLoss)
    assert not loss.decomposes
    assert mean_task_loss(["abc", "b"], ["ac", "b"], task_loss="edit") == pytest.approx(1 / 6)


@pytest.mark.parametrize(
    ("pair", "error", "message"),
    [
        (("a", 3), TypeError, "y_pred must be a text or a list of tokens, got a int"),
        (("a", None), TypeError, "y_pred must be a text or a list of tokens"),
        (([[1]], "a"), TypeError, r"y_true holds \[1\], which is no token"),
        (([np.nan], "a"), ValueError, "y_true holds nan, which is no token"),
        (([None], "a"), ValueError, "y_true holds None, which is no token"),
        ((np.eye(2), "a"), ValueError, r"y_true must be a vector of tokens, got shape \(2, 2\)"),
        ((np.ma.masked_equal([1, 2], 2), "a"), ValueError, "y_true has masked tokens"),
    ],
)
def test_errors(pair, error, message):
    with pytest.raises(error, match=message):
        EditLoss().value(*pair)


def test_settings_are_checked():
    with pytest.raises(TypeError, match="normalize must be True or False"):
        EditLoss("yes").value("a", "b")
    with pytest.raises((TypeError, ValueError), match="EditLoss"):
        StructuredSVM("chain", task_loss=EditLoss()).fit([np.eye(2)], [[0, 1]])
