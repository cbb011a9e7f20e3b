"""The transducer: what it learns, what its parts equal, and what it refuses."""

import itertools
import pickle
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score

from _transducers import WORDS, assert_same, doubled, reversed_words, small
from sklearn_fw.seq2seq import Minibatches, RecurrentNetwork, SeaRNNTransducer
from sklearn_fw.seq2seq import _training as training
from sklearn_fw.task_losses import EditLoss, HammingLoss

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning"
)
LOSSES = ["kl", "ll", "llcas", "mle", "shl"]


# ---- losses and gradients ------------------------------------------------------------------------


@pytest.mark.parametrize("is_free", [False, True])
def test_log_loss_of_copies_is_maximum_likelihood(torch, is_free):
    """Reference roll-in and roll-out: the same weights after some updates, in both modes."""
    y = doubled() if is_free else reversed_words()
    search = {"roll_in": "reference", "roll_out": "reference"}
    options = {"search": search, "max_iter": 4, "task_loss": "edit" if is_free else "auto"}
    a, b = (small(loss, **options).fit(WORDS, y) for loss in ("ll", "mle"))
    assert_same(a, b, rtol=1e-6, atol=1e-8)
    assert a.history_["objective"][-1] == pytest.approx(b.history_["objective"][-1], rel=1e-6)
    assert b.n_rollouts_ == b.n_rollout_steps_ == 0
    assert a.n_rollouts_ > 0
    assert a.n_rollout_steps_ == 0


def test_roll_outs_are_counted(torch):
    y = reversed_words()
    full = small("ll", search={"roll_out": "learned"}, max_iter=3).fit(WORDS, y)
    assert full.n_rollouts_ == 3 * 8 * 3 * 3  # updates, pairs, cells and tokens
    assert full.n_rollout_steps_ == 3 * 8 * 3 * (2 + 1 + 0)
    near = small("ll", search={"roll_out": 1}, max_iter=3).fit(WORDS, y)
    assert near.n_rollout_steps_ == 3 * 8 * 3 * (1 + 1 + 0)
    some = small("ll", search={"n_tokens": 1, "n_cells": 2}, max_iter=3).fit(WORDS, y)
    assert some.n_rollouts_ == 3 * 8 * 2 * 2
    assert some.n_rollout_steps_ < full.n_rollout_steps_


def test_costs_of_the_network_are_those_of_plain_decoding(torch):
    """Each token of each place by itself, with `decode` in place of the engine."""
    y = doubled()
    model = small("mle", max_iter=30, network={"attention": "additive", "cell": "lstm"})
    model.set_params(search__roll_out="learned", search__roll_in="reference").fit(WORDS, y)
    network, end = model._fitted_network(), len(model.classes_)
    for word, true, costs in zip(WORDS, y, model.rollout_costs(WORDS, y, random_state=0)):
        code = {c: k for k, c in enumerate(model.classes_.tolist())}
        assert costs.shape == (len(true) + 1, end + 1)
        for t, a in np.ndindex(costs.shape):
            begun = [code[c] for c in true[:t]] + [a]
            while len(begun) < len(true) + 1 and begun[-1] != end:
                state, scores = network.start(model._reader.read([word]))
                for token in begun:
                    state, scores = network.step(state, np.array([token]))
                begun.append(int(network.choose(scores)[0]))
            made = "".join(model.classes_[[k for k in begun if k != end]])
            assert costs[t, a] == pytest.approx(EditLoss().value(true, made))


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_steps_are_those_of_the_cells_of_pytorch(torch, cell):
    """All inputs of a cell side by side, for one input at a time, in place of shares of gates."""
    model = small("mle", network={"cell": cell, "input_feed": True, "embedding_dim": 5})
    network = model.fit(WORDS, reversed_words())._fitted_network()
    parts, words = network.parts, ["abca", "cb"]
    state, scores = network.start(model._reader.read(words))
    state, scores = network.step(state, np.array([2, 1]))
    for k, (word, said) in enumerate(zip(words, (2, 1))):
        codes = torch.tensor([["abc".index(c) for c in word]])
        seen, last = parts["encoder"](parts["read"][0](codes))
        lasts = last if cell == "lstm" else (last,)
        hidden, feed = tuple(own.reshape(1, -1) for own in lasts), torch.zeros(1, 8).double()
        for t, token in enumerate((3, said)):
            x = torch.cat([parts["write"](torch.tensor([token])), feed, seen[:, t]], dim=1)
            hidden = parts["decoder"][0](x, hidden if cell == "lstm" else hidden[0])
            hidden = hidden if cell == "lstm" else (hidden,)
            shares = torch.softmax(parts["key"](seen)[0] @ hidden[0][0], dim=0)
            feed = torch.tanh(parts["mix"](torch.cat([hidden[0][0], shares @ seen[0]])))[None]
        expected = parts["scores"](feed)[0].detach().numpy()
        np.testing.assert_allclose(network.as_array(scores)[k], expected, rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("settings", [
    {"cell": "lstm", "n_layers": 2}, {"attention": "additive", "input_feed": True},
    {"attention": None, "bidirectional": False}, {"aligned": False, "dropout": 0.2, "n_layers": 2},
    {"embedding_dim": 3, "aligned": True},
])  # fmt: skip
@pytest.mark.parametrize("is_free", [False, True])
def test_kinds_of_networks(torch, settings, is_free):
    """All learn by heart what they can, one output at a time or many."""
    y = doubled() if is_free else reversed_words()
    model = small(network={"hidden_size": 16, "embedding_dim": 16} | settings, max_iter=120)
    model.set_params(training__learning_rate=0.03).fit(WORDS[:3], y[:3])
    assert model.score(WORDS[:3], y[:3]) == 1.0
    each = [model.predict([word])[0] for word in WORDS]
    assert model.predict(WORDS).tolist() == each
    for word, made, proba in zip(WORDS, each, model.predict_proba(WORDS)):
        np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-9)
        top = proba.argmax(axis=1)
        text = "".join(model.classes_[top[top < len(model.classes_)]])
        assert text == made
        if len(made) < (model.max_length_ or 0) or not is_free:
            log = np.log(proba.max(axis=1)).sum()
            assert model.score_samples([word], [made])[0] == pytest.approx(log)


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("is_free", [False, True])
def test_one_pair_is_learned_by_every_loss(torch, loss, is_free):
    y = ["xyxbc" if is_free else "xyz"]
    search = {"cost_scale": 10.0 if loss == "kl" else 1.0}
    model = small(loss, search=search, max_iter=120, training={"learning_rate": 0.05})
    model.fit(["abc"], y)
    assert model.predict(["abc"]).tolist() == y
    assert model.task_losses(["abc"], y).tolist() == [0.0]


def test_roll_outs_leave_the_network_alone(torch, monkeypatch):
    """Weights, gradients and dropout's random numbers."""
    seen, plain = [], training.roll_out

    def watched(network, *args, **options):
        before, state = network.weights(), torch.random.get_rng_state()
        assert not network.parts.training
        out, after = plain(network, *args, **options), network.weights()
        assert torch.equal(state, torch.random.get_rng_state())
        assert all(np.array_equal(before[name], after[name]) for name in before)
        seen.append([p.grad is None for p in network.parts.parameters()])
        return out

    monkeypatch.setattr(training, "roll_out", watched)
    small(network={"dropout": 0.3}, max_iter=2).fit(WORDS, reversed_words())
    assert all(seen[0])  # the first roll-outs come before any gradient


# ---- probabilities and beams ---------------------------------------------------------------------


def test_probabilities_of_all_outputs_sum_to_one(torch):
    model = small("mle", max_iter=20).fit(["ab", "ba"], ["xy", "yx"])
    every = ["xx", "xy", "yx", "yy"]
    for word in ("ab", "ba", "aa"):
        assert np.exp(model.score_samples([word] * 4, every)).sum() == pytest.approx(1.0)
        outputs, logs = model.n_best([word], 4)
        assert sorted(outputs[0]) == every
        np.testing.assert_allclose(logs[0], model.score_samples([word] * 4, outputs[0]), rtol=1e-9)
        assert np.all(np.diff(logs[0]) <= 0)


def test_a_beam_that_holds_all_outputs_finds_the_best(torch):
    model = small("mle", max_iter=15).fit(WORDS, reversed_words())
    outputs = ["".join(tokens) for tokens in itertools.product("abc", repeat=3)]
    best = model.set_params(beam_size=len(outputs)).predict(WORDS)
    assert best.dtype == object
    for word, made in zip(WORDS, best):
        scores = model.score_samples([word] * len(outputs), outputs)
        assert made == outputs[int(scores.argmax())]


# ---- forms of data -------------------------------------------------------------------------------


def test_forms_of_inputs_and_outputs(torch):
    numbers = [[ord(c) for c in w] for w in WORDS]
    lists = small().fit([list(w) for w in WORDS], [list(w) for w in reversed_words()])
    texts = small().fit(WORDS, reversed_words())
    ints = small().fit([np.array(n) for n in numbers], [n[::-1] for n in numbers])
    assert [("".join(made)) for made in lists.predict(WORDS)] == texts.predict(WORDS).tolist()
    assert lists.predict(WORDS)[0].dtype.kind == "U"
    assert ints.predict(numbers)[0].dtype.kind == "i"
    assert ints.classes_.tolist() == [97, 98, 99]
    assert texts.input_tokens_ == [["a", "b", "c"]]


def test_rules_are_learned_and_not_words(torch):
    """Ends of new words change as those of the training: first vectors of tokens are small."""
    rng = np.random.default_rng(2)
    words = ["".join(rng.choice(list("aeioubdgklmnprstvz"), size=5)) for _ in range(400)]
    y = [w[:-1] + "ol" if w[-1] in "aeiou" else w + w[-2] + "n" for w in words]
    model = SeaRNNTransducer(
        network=RecurrentNetwork(hidden_size=64, device="cpu"), max_iter=150, random_state=0,
        training=Minibatches(early_stopping=False, batch_size=32, learning_rate=0.01),
    )  # fmt: skip
    model.fit(words[:250], y[:250])
    assert model.loss == "mle"
    assert model.score(words[250:], y[250:]) > 0.82  # 0.73 with vectors of scale one


def test_features_and_columns_of_tokens(torch):
    rng = np.random.default_rng(0)
    y = [rng.integers(3, size=n).tolist() for n in (3, 5, 2, 4, 1, 3)]
    X = [np.eye(3)[own] + 0.1 * rng.normal(size=(len(own), 3)) for own in y]
    model = small(max_iter=120, training={"learning_rate": 0.02}).fit(X, y)
    assert model.score(X, y) == 1.0
    assert model.n_features_in_ == 3
    assert not hasattr(model, "input_tokens_")
    columns = [[(f"word{k}", k % 2) for k in own] for own in y]
    pairs = small(max_iter=120, training={"learning_rate": 0.02}).fit(columns, y)
    assert pairs.score(columns, y) == 1.0
    assert pairs.input_tokens_ == [["word0", "word1", "word2"], [0, 1]]
    assert not hasattr(pairs, "n_features_in_")
    with pytest.raises(ValueError, match=r"X.0. holds 1 tokens in each place, but .* held 2"):
        pairs.predict(["ab"])
    with pytest.raises(TypeError, match=r"X.0. is a text, but the first input of fit"):
        model.predict(["ab"])
    with pytest.raises(ValueError, match=r"X.0. must have shape .length, 3., got .2, 2."):
        model.predict([np.eye(2)])


def test_weights_of_pairs(torch):
    y = [*reversed_words(WORDS[:2]), "abc", "abc"]
    X = [*WORDS[:2], *WORDS[:2]]
    weight = [1.0, 1.0, 0.0, 0.0]
    model = small(max_iter=150, training={"learning_rate": 0.02}).fit(X, y, sample_weight=weight)
    assert model.predict(WORDS[:2]).tolist() == y[:2]
    assert_same(small(max_iter=150, training={"learning_rate": 0.02}).fit(X[:2], y[:2]), model)
    assert model.score(X, y, sample_weight=weight) == 1.0
    assert model.score(X, y) < 1.0


@pytest.mark.slow
@pytest.mark.parametrize("task_loss", ["bleu", "phrase_f1"])
@pytest.mark.parametrize("is_free", [False, True])
def test_losses_of_words_and_phrases(torch, is_free, task_loss):
    code = {"a": "B-X I-X" if is_free else "B-X", "b": "O", "c": "S-Y"}
    y = [" ".join(code[c] for c in word).split() for word in WORDS]
    model = small("ll", task_loss=task_loss, max_iter=200)
    model.set_params(training__learning_rate=0.03, network__hidden_size=16).fit(WORDS, y)
    assert model.score(WORDS, y) == 1.0
    assert model.task_losses(["abc"], [["O", "O", "O"]])[0] > 0.0
    costs = model.rollout_costs(WORDS[:2], y[:2], random_state=0)
    assert all(np.all((own >= 0.0) & (own <= 1.0)) for own in costs)


def test_unknown_tokens_have_the_mean_vector(torch):
    """So no fold of a cross-validation fails that holds a rare token, in inputs or in outputs."""
    rng = np.random.default_rng(4)
    X = [[("w" + str(k), int(k % 3)) for k in rng.integers(12, size=n)] for n in (3, 5, 2, 4, 6)]
    y = [[f"t{tag}" for _, tag in own] for own in X]
    model = small("mle").fit(X[:3], y[:3])
    known, _ = model.input_tokens_
    unknown = next(word for own in X[3:] for word, _ in own if word not in known)
    expected = model.predict_proba([[(unknown, 0), (known[1], 1)]])[0]
    vectors = model.state_dict_["read.0.weight"].copy()
    vectors[0] = vectors.mean(axis=0)
    model._fitted_network().load(model.state_dict_ | {"read.0.weight": vectors})
    found = model.predict_proba([[(known[0], 0), (known[1], 1)]])[0]
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    scores = cross_val_score(small("mle"), X, y, cv=5, error_score="raise")
    assert np.isfinite(scores).all()


def test_folds_whose_outputs_happen_to_be_as_long_as_inputs(torch):
    """Only one pair differs in length: the fold without it learns fixed lengths."""
    X, y = [*WORDS, "cabb"], [*reversed_words(), "c"]
    scores = cross_val_score(small("mle"), X, y, cv=9, error_score="raise")
    assert np.isfinite(scores).all()
    fixed = small("mle").fit(WORDS, reversed_words())
    made = fixed.predict(["cabb"])[0]
    assert fixed.task_losses(["abc", "cabb"], ["abc", "c"])[1] == EditLoss().value("c", made)
    with pytest.raises(ValueError, match="1 labels in y_true but 4"):
        fixed.set_params(task_loss="hamming").task_losses(["cabb"], ["c"])


def test_fit_takes_names_of_tokens_and_generators(torch):
    """What is named is known without a pair that holds it; training on anything else is refused."""
    model = small("mle").fit(
        (w for w in WORDS), (w for w in reversed_words()), classes="abcd", input_tokens=["abcz"]
    )
    assert model.classes_.tolist() == list("abcd")
    assert model.input_tokens_ == [list("abcz")]
    assert np.isfinite(model.score_samples(["abz"], ["dba"])[0])
    with pytest.raises(ValueError, match=r"y.0. has the token 'c', .* name all tokens in fit"):
        small("mle").fit(WORDS, reversed_words(), classes="ab")
    with pytest.raises(ValueError, match="input_tokens must be those of before"):
        model.set_params(warm_start=True).fit(WORDS, reversed_words(), input_tokens=["abc"])


# ---- the contract --------------------------------------------------------------------------------


def test_fits_repeat_and_leave_random_numbers_of_the_user(torch):
    torch.manual_seed(5)
    state = torch.random.get_rng_state()
    a = small(network={"dropout": 0.2}).fit(WORDS, doubled())
    assert torch.equal(state, torch.random.get_rng_state())
    torch.manual_seed(6)
    b = clone(a).fit(WORDS, doubled())
    assert a.predict(WORDS).tolist() == b.predict(WORDS).tolist()
    assert_same(a, b)


def test_stored_networks(torch):
    model = small().fit(WORDS, reversed_words())
    stored = pickle.dumps(model)
    assert b"torch" not in stored
    restored = pickle.loads(stored)
    state = torch.random.get_rng_state()
    assert restored.predict(WORDS).tolist() == model.predict(WORDS).tolist()
    assert set(dict(restored.module_.named_parameters())) == set(model.state_dict_)
    assert not restored.module_.training
    assert torch.equal(state, torch.random.get_rng_state())


def test_early_stopping_keeps_the_best_weights(torch):
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("abc"), size=4)) for _ in range(60)]
    settings = {
        "early_stopping": True, "eval_every": 5, "n_iter_no_change": 3, "learning_rate": 0.02,
        "validation_fraction": 0.2,
    }  # fmt: skip
    model = small("mle", training=settings, max_iter=1000).fit(X, reversed_words(X))
    seen = model.history_["validation_loss"]
    assert model.status_ == "converged"
    assert model.converged_
    assert model.n_iter_ == model.history_["n_iter"][-1] < 1000
    assert model.history_["patience"][-1] == 0
    assert model.validation_loss_ == seen.min()
    assert seen[model.best_iter_ // 5 - 1] == seen.min()
    assert "Mean task loss of held-out pairs" in model.summary()
    assert "roll-outs" in model.summary()


def test_more_updates_help_as_the_warning_says(torch):
    rng = np.random.default_rng(0)
    X = ["".join(rng.choice(list("abcdef"), size=6)) for _ in range(40)]
    model = small(training={"early_stopping": True})
    with pytest.warns(ConvergenceWarning, match="max_iter ended the fit after 5 updates, before"):
        model.fit(X, reversed_words(X))
    model.set_params(time_limit=1e-6, max_iter=10**6)
    with pytest.warns(ConvergenceWarning, match="time_limit ended the fit after 1 updates"):
        model.fit(X, reversed_words(X))
    assert model.status_ == "time_limit"


def test_warm_starts_go_on(torch):
    y = reversed_words()
    model = small(max_iter=20, warm_start=True).fit(WORDS, y)
    first = model.history_["objective"][0]
    model.fit(WORDS[:4], y[:4])
    assert model.history_["objective"][0] < first
    with pytest.raises(ValueError, match=r"X.0. has the token 'q', which fit has not seen"):
        model.fit(["q"], ["a"])
    with pytest.raises(ValueError, match="warm_start=True needs outputs whose lengths"):
        model.set_params(output_length="free").fit(WORDS, y)


def test_progress_is_logged(torch, caplog):
    with caplog.at_level("INFO", logger="sklearn_fw"):
        small(verbose=1).fit(WORDS, doubled())
    assert "objective" in caplog.text
    assert "Outputs of up to" in caplog.text


def test_warm_up_is_maximum_likelihood(torch):
    a = small("ll", training={"warm_up": 5}).fit(WORDS, doubled())
    b = small("mle").fit(WORDS, doubled())
    assert a.n_rollouts_ == 0
    assert_same(a, b)


def test_texts_are_judged_by_their_characters(torch):
    """Hamming's loss takes a text for one label elsewhere."""
    made = []
    for read in (str, list):
        model = small("mle", training={"early_stopping": True, "validation_fraction": 0.5})
        y = [read(w) for w in reversed_words()]
        predicted = model.fit(WORDS, y).predict(WORDS)
        shares = [np.mean([a != b for a, b in zip(w, p)]) for w, p in zip(y, predicted)]
        np.testing.assert_allclose(model.task_losses(WORDS, y), shares)
        made.append([model.score(WORDS, y), *model.history_["validation_loss"]])
    assert made[0] == made[1]
    assert 0 < made[0][0] < 1


# ---- errors --------------------------------------------------------------------------------------


def test_torch_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="pip install torch"):
        SeaRNNTransducer().fit(WORDS, WORDS)


@pytest.mark.parametrize(
    ("X", "y", "error", "message"),
    [
        (["ab", ""], ["ab", "a"], ValueError, r"X\[1\] is empty: leave it out"),
        (["ab", "a"], ["ab", ""], ValueError, r"y\[1\] is empty: leave it out"),
        ([], [], ValueError, "X must be a list of 1 or more sequences, got 0"),
        (["ab"], ["ab", "a"], ValueError, "y must be a list of 1 outputs, .*, got 2"),
        ("ab", ["ab"], TypeError, "X must be a list of sequences, got a str"),
        ([3], ["ab"], TypeError, r"X\[0\] must be a text, a list of tokens or an array"),
        (["ab"], [3], TypeError, r"y\[0\] must be a text or a list of tokens"),
        ([["a", 1]], ["ab"], ValueError, "X mixes tokens that cannot be sorted"),
        (["ab"], [["a", 1]], ValueError, "y mixes tokens that cannot be sorted"),
        ([[0.5, 1.0]], ["ab"], ValueError, r"X\[0\] holds 0.5: tokens are text, whole numbers"),
        ([np.array([0.5])], ["a"], ValueError, r"X\[0\] must hold tokens, got float64"),
        ([np.eye(2), "ab"], ["ab", "ab"], TypeError, r"X\[1\] is a text, but the first input"),
        (["ab", np.eye(2)], ["ab", "ab"], TypeError, r"X\[1\] holds features, but the first"),
        ([np.full((2, 2), np.nan)], ["ab"], ValueError, r"X\[0\] must be finite"),
        ([np.full((2, 2), 1e39)], ["ab"], ValueError, "single precision cannot: scale"),
        ([np.zeros((0, 2))], ["ab"], ValueError, r"X\[0\] must have shape .*, got \(0, 2\)"),
        ([[None]], ["a"], ValueError, r"X\[0\] holds None, which is not a token"),
        ([[("a", 1), ("b",)]], ["ab"], ValueError, r"X\[0\] must hold as many tokens in each"),
    ],
)
def test_errors_of_data(torch, X, y, error, message):
    with pytest.raises(error, match=message):
        small().fit(X, y)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"output_length": "long"},
            "output_length must be one of 'auto', 'fixed', 'free' or a number",
        ),
        ({"output_length": 2}, r"y\[0\] has 3 tokens, more than output_length=2 allows"),
        ({"output_length": "fixed"}, r"y\[1\] has 2 tokens and X\[1\] has 3"),
        ({"output_length": "free", "task_loss": "hamming"}, "HammingLoss compares outputs of one"),
        ({"task_loss": lambda a, b: -1.0}, "must return a number >= 0 that is finite, got -1.0"),
        ({"task_loss": lambda a, b: np.nan}, "must return a number >= 0 that is finite, got nan"),
        ({"task_loss": "meteor"}, "task_loss must be one of"),
        ({"task_loss": "phrase_f1"}, "y holds 'x', which is neither 'O' nor starts with"),
        ({"search": "all"}, "search must be a LearningToSearch or None"),
        ({"network": 100}, "network must be a RecurrentNetwork or None"),
        ({"training": 0.1}, "training must be a Minibatches or None"),
        ({"network__hidden_size": 7}, "hidden_size must be even if bidirectional"),
        ({"network__attention": None, "network__input_feed": True}, "input_feed=True needs"),
        ({"network__device": "abacus"}, "device 'abacus' cannot be used by PyTorch"),
        ({"network__device": 0}, "device must be a str, got 0"),
    ],
)
def test_errors_of_parameters(torch, options, message):
    model = small("ll")
    with pytest.raises((ValueError, TypeError), match=message):
        model.set_params(**options).fit(["abc", "bca"], ["xyz", "xy"])


def test_errors_of_predictions(torch):
    model = small().fit(WORDS, reversed_words())
    with pytest.raises(ValueError, match=r"y.0. has 2 tokens and X.0. has 3, but outputs are as"):
        model.score_samples(["abc"], ["ab"])
    free = small(output_length=4).fit(WORDS, reversed_words())
    with pytest.raises(ValueError, match=r"y.0. has 5 tokens, more than max_length_=4"):
        free.score_samples(["abc"], ["abcab"])
    with pytest.raises(ValueError, match=r"y must be a list of 1 outputs, .*, got 2"):
        model.task_losses(["abc"], ["abc", "abc"])
    assert isinstance(model.task_loss_, HammingLoss)
    assert isinstance(free.task_loss_, EditLoss)
    assert model.task_losses(["abc"], ["qqq"])[0] == 1.0
