"""Training by parts: what it equals, what it carries on, and what it refuses."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from _transducers import WORDS, assert_same, doubled, reversed_words, small
from test_docstrings import attribute_faults

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning"
)
WITHOUT_COINS = {"roll_in": "learned", "roll_out": "learned"}


def calls(model, n, X=WORDS, y=None):
    for _ in range(n):
        model.partial_fit(X, reversed_words(X) if y is None else y)
    return model


# ---- what it equals ------------------------------------------------------------------------------


@pytest.mark.parametrize("optimizer", ["adadelta", "adam", "sgd"])
@pytest.mark.parametrize("loss", ["ll", "mle"])
@pytest.mark.parametrize("y", [reversed_words(), doubled()], ids=["fixed", "free"])
def test_calls_on_all_pairs_are_the_updates_of_fit(torch, y, loss, optimizer):
    """From the first call on, and after a fit: the optimizer's memory is carried on."""
    options = {"search": WITHOUT_COINS, "training": {"optimizer": optimizer}}
    whole = small(loss, **options, max_iter=5).fit(WORDS, y)
    parts = calls(small(loss, **options), 5, y=y)
    after = calls(small(loss, **options, max_iter=2).fit(WORDS, y), 3, y=y)
    for model in (parts, after):
        assert_same(whole, model, rtol=1e-6, atol=1e-9)
        assert model.n_iter_ == 5
    assert parts.n_rollouts_ == whole.n_rollouts_
    assert parts.n_rollout_steps_ == whole.n_rollout_steps_


def test_after_early_stopping_it_goes_on_from_the_best_weights(torch):
    """With the optimizer's memory at that time: as a fit that ended there would."""
    options = {
        "early_stopping": True, "eval_every": 1, "learning_rate": 1.0, "batch_size": 4,
        "n_iter_no_change": 20,
    }  # fmt: skip
    X = WORDS * 3
    first = small("mle", training=options, max_iter=12).fit(X, reversed_words(X))
    best = first.best_iter_
    assert 0 < best < 12
    ended = small("mle", training=options, max_iter=best).fit(X, reversed_words(X))
    assert_same(first, ended)
    assert_same(*(calls(model, 1).set_params(random_state=0) for model in (first, ended)))
    assert first.n_iter_ == 13


def test_stored_models_go_on(torch):
    """With dropout and coins, whose numbers follow from random_state and the number of calls."""
    model = small(network={"dropout": 0.3}, search={"n_tokens": 1})
    calls(model, 3)
    stored = pickle.dumps(model)
    assert b"torch" not in stored
    assert_same(calls(pickle.loads(stored), 3), calls(model, 3))
    again = calls(clone(model), 6)
    assert_same(model, again)
    assert model.history_["objective"].tolist() == again.history_["objective"].tolist()


def test_each_call_has_its_own_coins(torch):
    model = small("ll", search={"roll_out": "mixed", "n_tokens": 1, "token_sampling": "uniform"})
    steps = np.diff([0, *(calls(model, 1).n_rollout_steps_ for _ in range(8))])
    assert len(set(steps)) > 2
    assert np.diff(model.history_["n_rollouts"]).tolist() == [8 * 3 * 2] * 7


def test_weights_are_repeats(torch):
    y = reversed_words()
    weight = np.array([2.0, 1.0, 0.0])
    a = small("mle").partial_fit(WORDS[:3], y[:3], sample_weight=10.0 * weight)
    repeated = ["abc", "abc", "cab"]
    b = small("mle").partial_fit(repeated, reversed_words(repeated), input_tokens=["abc"])
    assert_same(a, b, rtol=1e-9, atol=1e-12)


def test_fit_begins_again(torch):
    model = calls(small(), 2).fit(WORDS, doubled())
    assert_same(model, small().fit(WORDS, doubled()))
    assert model.n_iter_ == 5
    warm = calls(small(warm_start=True, max_iter=1), 30)
    before = warm.history_["objective"][-1]
    assert warm.fit(WORDS, reversed_words()).history_["objective"][0] < before


# ---- what it does --------------------------------------------------------------------------------


def test_attributes_and_history(torch):
    model = calls(small("mle"), 3)
    assert attribute_faults(model, {"n_features_in_"}) == ([], [])
    assert list(model.history_) == ["n_iter", "time", "objective", "n_rollouts"]
    assert model.history_["n_iter"].tolist() == [1, 2, 3]
    assert np.all(np.diff(model.history_["time"]) > 0)
    assert np.all(np.diff(model.history_["objective"]) < 0)
    assert (model.status_, model.converged_) == ("finished", False)
    assert np.isnan(model.validation_loss_)
    assert "3 updates" in model.summary()
    X = WORDS * 2
    model = small(training={"early_stopping": True}).fit(X, reversed_words(X))
    n_rows = len(model.history_["n_iter"])
    calls(model, 2)
    assert model.history_["n_iter"][n_rows:].tolist() == [6, 7]
    assert np.all(np.isnan(model.history_["validation_loss"][n_rows:]))
    assert np.all(np.isfinite(model.history_["validation_loss"][:n_rows]))
    assert np.isnan(model.validation_loss_)


def test_settings_of_training_may_change(torch):
    model = calls(small("mle"), 2)
    before = model.state_dict_
    calls(model.set_params(training__learning_rate=1e-9), 1)
    for name, value in before.items():
        assert 0.0 < np.abs(value - model.state_dict_[name]).max() < 1e-8
    calls(model.set_params(training__optimizer="sgd"), 1)
    calls(model.set_params(loss="ll", network__hidden_size=64, task_loss="zero_one"), 1)
    assert model.n_rollouts_ > 0
    assert model.state_dict_["scores.weight"].shape == before["scores.weight"].shape
    assert type(model.task_loss_).__name__ == "HammingLoss"


# ---- what it refuses -----------------------------------------------------------------------------


def test_a_call_that_fails_changes_nothing(torch):
    is_wrong = False

    def loss(true, made):
        return -1.0 if is_wrong else float(true != made)

    model = calls(small("ll", task_loss=loss), 2)
    before, proba = model.state_dict_, model.predict_proba(WORDS)
    is_wrong = True
    with pytest.raises(ValueError, match="must return a number >= 0"):
        calls(model, 1)
    is_wrong = False
    assert model.n_iter_ == 2
    assert model.state_dict_ is before
    for a, b in zip(proba, model.predict_proba(WORDS)):
        np.testing.assert_array_equal(a, b)
    far = small("mle", training={"learning_rate": 1e308, "max_grad_norm": None})
    with pytest.raises(FloatingPointError, match="are not finite after 1 updates: lower learning"):
        calls(far, 5)
    with pytest.raises(FloatingPointError, match="are not finite after 1 updates: lower learning"):
        clone(far).fit(WORDS, doubled())


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ({"X": ["abq"]}, ValueError, r"X.0. has the token 'q', .* in fit, or in the first part"),
        ({"y": ["abq"]}, ValueError, r"y\[0\] has the token 'q', which fit has not seen"),
        ({"y": ["ab"]}, ValueError, r"y\[0\] has 2 tokens and X\[0\] has 3, but outputs are as"),
        ({"classes": "ab"}, ValueError, "classes must be those of before, which classes_ holds"),
        ({"classes": 3}, TypeError, "classes must be a text or a list of tokens, got a int"),
        ({"input_tokens": ["abcd"]}, ValueError, "input_tokens must be those of before"),
        ({"input_tokens": ["ab", "c"]}, ValueError, "must be a list of 1 columns of tokens, got 2"),
        ({"input_tokens": "abc"}, TypeError, "input_tokens must be a list of columns of tok"),
        ({"sample_weight": [-1.0]}, ValueError, "sample_weight must not be negative"),
        ({"X": [np.eye(3)]}, TypeError, r"X\[0\] holds features"),
    ],
)
def test_errors(torch, call, error, message):
    model = calls(small("mle"), 1)
    with pytest.raises(error, match=message):
        model.partial_fit(**({"X": ["abc"], "y": ["abc"]} | call))
    assert model.n_iter_ == 1


def test_errors_of_the_first_call(torch):
    with pytest.raises(ValueError, match=r"y\[0\] has the token 'c', which fit has not seen"):
        small().partial_fit(["abc"], ["abc"], classes="ab")
    with pytest.raises(ValueError, match=r"X\[0\] has the token 'c', which fit has not seen"):
        small().partial_fit(["abc"], ["abc"], input_tokens=["ab"])
    with pytest.raises(ValueError, match="classes mixes tokens that cannot be sorted"):
        small().partial_fit(["abc"], ["abc"], classes=["a", 1])
    with pytest.raises(ValueError, match="input_tokens names tokens, but X holds features"):
        small().partial_fit([np.eye(2)], ["ab"], input_tokens=["ab"])
    with pytest.raises(ValueError, match="input_tokens must be those of before"):
        calls(small(), 1, [np.eye(3)], ["abc"]).partial_fit([np.eye(3)], ["abc"], None, None, ["a"])
    free = small(output_length=4).partial_fit(["abc"], ["ab"])
    with pytest.raises(ValueError, match="more than max_length_=4: cut it, or begin again with"):
        free.partial_fit(["abc"], ["babab"])
