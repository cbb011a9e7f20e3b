"""The roll-out engine against a plain triple loop, its counts, and search by a beam."""

import itertools

import numpy as np
import pytest
from scipy.special import log_softmax

from _plain_losses import plain_bleu, plain_distance
from _policies import Scripted, plain_costs
from sklearn_fw.seq2seq import LearningToSearch, StepPolicy, roll_out_costs
from sklearn_fw.seq2seq._costs import costs_for
from sklearn_fw.seq2seq._engine import beam_search
from sklearn_fw.seq2seq._search import SAMPLINGS, Draws
from sklearn_fw.task_losses import (
    BleuLoss,
    EditLoss,
    FunctionLoss,
    HammingLoss,
    MatrixLoss,
    ZeroOneLoss,
)


def hamming(made, true):
    return np.mean(np.not_equal(made, true))


def edit(made, true):
    return plain_distance(made, true) / len(true)


def difference_of_sums(a, b):
    return float(abs(sum(a) - sum(b)))


TABLE = [[0, 1, 3, 2], [0.5, 0, 1, 4], [2, 1, 0, 1], [1, 1, 1, 0]]
COSTS = {
    "hamming": ("hamming", hamming),
    "edit": ("edit", edit),
    "edits": (EditLoss(normalize=False), plain_distance),
    "matrix": (MatrixLoss(TABLE), lambda a, b: sum(TABLE[t][m] for m, t in zip(a, b))),
    "any": (ZeroOneLoss(), lambda a, b: float(a != b)),
    "function": (FunctionLoss(lambda true, made: hamming(made, true)), hamming),
    "bleu": (BleuLoss(2), lambda made, true: 1.0 - plain_bleu(list(true), list(made), 2)),
    "weighted": (HammingLoss(class_weight={1: 3.0}), lambda a, b: np.average(
        np.not_equal(a, b), weights=np.where(np.equal(b, 1), 3.0, 1.0)
    )),
}  # fmt: skip


N_LEARNED = {"learned": 9, "reference": 0, 1: 1, 2: 2}  # tokens of the policy by roll-out


def outputs(n_classes, seed=0):
    rng = np.random.default_rng(seed)
    return [rng.integers(n_classes, size=n) for n in (4, 1, 6, 3, 2)]


def assert_plain(policy, y, cost, roll_out, roll_in, **options):
    """Costs and steps of all tokens are those of the plain loop; returns the result and steps."""
    search = LearningToSearch(roll_in=roll_in, roll_out=roll_out, n_tokens=None, batch_size=7)
    X, total, end = list(range(5)), 0, options.get("end")
    found = roll_out_costs(policy, X, y, search=search, **options)
    for x, own, costs in zip(X, y, found.costs):
        expected, n_steps = plain_costs(
            policy, x, own.tolist(), cost, n_learned=N_LEARNED[roll_out],
            roll_in=roll_in == "learned", end=end,
        )  # fmt: skip
        np.testing.assert_allclose(costs, expected, rtol=1e-12, atol=1e-14)
        total += n_steps
    assert found.n_steps == total
    return found, total


@pytest.mark.slow
@pytest.mark.parametrize("roll_in", ["learned", "reference"])
@pytest.mark.parametrize("roll_out", N_LEARNED)
@pytest.mark.parametrize("name", COSTS)
def test_fixed_lengths(name, roll_out, roll_in):
    task_loss, cost = COSTS[name]
    policy, y, most = Scripted(4), outputs(4), N_LEARNED[roll_out]
    found, total = assert_plain(policy, y, cost, roll_out, roll_in, task_loss=task_loss)
    assert policy.n_rows == total + 5 * 5  # the roll-in goes on to the longest output
    assert total == sum(4 * min(len(own) - t - 1, most) for own in y for t in range(len(own)))
    assert found.n_rollouts == 4 * sum(map(len, y))


@pytest.mark.parametrize("roll_in", ["learned", "reference"])
@pytest.mark.parametrize("roll_out", N_LEARNED)
@pytest.mark.parametrize("name", ["bleu", "edit", "edits", "function"])
@pytest.mark.parametrize("seed", range(4))
def test_free_lengths(seed, name, roll_out, roll_in):
    task_loss, cost = COSTS[name]
    if name == "function":  # any function of two lists
        task_loss, cost = FunctionLoss(difference_of_sums), difference_of_sums
    policy, y = Scripted(4, seed), outputs(3, seed)
    assert_plain(policy, y, cost, roll_out, roll_in, task_loss=task_loss, end=3)


@pytest.mark.parametrize("roll_out", ["reference", 0, 1, 2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_best_endings(seed, roll_out):
    """The best of all endings of the truth, by enumeration, after what the policy says."""
    y, policy = outputs(3, seed), Scripted(4, seed)
    n_learned = 0 if roll_out == "reference" else roll_out
    search = LearningToSearch(roll_out=roll_out, reference="best_suffix", n_tokens=None)
    found = roll_out_costs(policy, list(range(5)), y, search=search, end=3, task_loss="edit")
    for x, own, made, costs in zip(range(5), y, found.tokens, found.costs):
        own = own.tolist()
        for t, a in np.ndindex(costs.shape):
            most = t + 1 + n_learned
            begun, _ = policy.greedy(x, [*made[:t].tolist(), a], min(most, len(own) + 1), 3)
            is_over = 3 in begun or len(begun) < most
            endings = [[]] if is_over else [own[i:] for i in range(len(own) + 1)]
            best = min(edit([c for c in begun if c != 3] + e, own) for e in endings)
            assert costs[t, a] == pytest.approx(best)


@pytest.mark.parametrize("mix_level", ["sequence", "rollout"])
def test_mixed_costs_are_of_either_kind(mix_level):
    y, X, policy = outputs(4), list(range(5)), Scripted(4)
    kinds = {}
    for roll_out in ("learned", "reference", "mixed"):
        search = LearningToSearch(roll_out=roll_out, n_tokens=None, mix_level=mix_level)
        kinds[roll_out] = roll_out_costs(policy, X, y, search=search, random_state=3)
    n_equal = np.zeros(2, int)
    for mixed, learned, copied in zip(*(kinds[k].costs for k in ("mixed", "learned", "reference"))):
        is_either = [np.isclose(mixed, learned), np.isclose(mixed, copied)]
        assert np.all(is_either[0] | is_either[1])
        n_equal += [either.all() for either in is_either]
    assert (n_equal.sum() >= 5) == (mix_level == "sequence")
    assert 0 < kinds["mixed"].n_steps < kinds["learned"].n_steps


@pytest.mark.parametrize("roll_in", ["mixed", "mixed_cells"])
def test_mixed_roll_in(roll_in):
    y, X, policy = [np.full(6, 3)] * 6, list(range(6)), Scripted(4)
    search = LearningToSearch(roll_in=roll_in)
    tokens = roll_out_costs(policy, X, y, search=search, random_state=0).tokens
    for x, made in zip(X, tokens):
        own = [policy.greedy(x, made[:t], t + 1)[0][-1] for t in range(6)]
        assert np.all((made == 3) | (made == own))
    by_truth = [np.all(made == 3) for made in tokens]
    assert 0 < sum(by_truth) < 6 if roll_in == "mixed" else not all(by_truth)


# ---- sampling ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SAMPLINGS)
def test_sampled_costs_are_a_part_of_all(kind):
    y, X = outputs(4), list(range(5))
    everything = roll_out_costs(
        Scripted(4), X, y, search=LearningToSearch(n_tokens=None), random_state=1
    )
    search = LearningToSearch(n_tokens=2, token_sampling=kind)
    some = roll_out_costs(Scripted(4), X, y, search=search, random_state=1)
    for own, a, b in zip(y, everything.costs, some.costs):
        tried = np.isfinite(b)
        np.testing.assert_array_equal(b[tried], a[tried])
        assert np.all(tried.sum(axis=1) == 3)
        assert np.all(tried[np.arange(len(own)), own])  # the true token always is
    whole = roll_out_costs(
        Scripted(4), X, y, search=LearningToSearch(n_tokens=3, token_sampling=kind), random_state=1
    )
    assert whole.n_rollouts == everything.n_rollouts
    for a, b in zip(everything.costs, whole.costs):
        np.testing.assert_array_equal(a, b)


def test_cells_are_drawn_in_each_output():
    y, X = outputs(4), list(range(5))
    search = LearningToSearch(n_cells=2, n_tokens=None)
    found = roll_out_costs(Scripted(4), X, y, search=search, random_state=0)
    for own, costs in zip(y, found.costs):
        assert np.isfinite(costs).any(axis=1).sum() == min(2, len(own))
    assert found.n_rollouts == 4 * sum(min(2, len(own)) for own in y)


def draws(n_tokens, has_end=False, **options):
    counts = np.array([1.0, 8.0, 1.0, 90.0, 3.0, 3.0])
    search = LearningToSearch(n_tokens=n_tokens, **options)
    return Draws(search, "ll", counts, np.random.RandomState(0), has_end=has_end)


def test_ways_of_drawing():
    scores = np.tile([0.0, 5.0, 1.0, 0.0, -1.0, 3.0], (4000, 1))
    true = np.zeros(4000, int)

    def shares(kind):
        tried = draws(1, token_sampling=kind).tokens(scores, true)
        assert np.all(tried[:, 0] == 0)
        return np.bincount(tried[:, 1], minlength=6)[1:] / 4000

    np.testing.assert_allclose(shares("uniform"), np.full(5, 0.2), atol=0.03)
    np.testing.assert_allclose(shares("unigram"), np.array([8, 1, 90, 3, 3]) / 105, atol=0.03)
    weights = np.exp(scores[0, 1:])
    np.testing.assert_allclose(shares("policy"), weights / weights.sum(), atol=0.03)
    weights = np.sqrt(weights)
    np.testing.assert_allclose(shares("biased_policy"), weights / weights.sum(), atol=0.03)
    np.testing.assert_allclose(shares("top_k"), [1, 0, 0, 0, 0])
    both = draws("auto", token_sampling={"top_k": 2, "uniform": 1}).tokens(scores, true)
    assert both.shape == (4000, 4)
    assert np.all((both == 1).any(axis=1) & (both == 5).any(axis=1))
    ended = draws(2, has_end=True).tokens(scores, np.full(4000, 5))
    assert ended.shape == (4000, 4)
    assert np.all(ended[:, -1] == 5)


# ---- beams ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", [None, 2])
def test_wide_beams_find_the_best_outputs(end):
    policy, X, lengths = Scripted(3), [0, 1, 2], np.array([3, 1, 2])
    tokens, logs, n_tokens = beam_search(policy, X, lengths, 30, end)
    for x, n, made, log, counts in zip(X, lengths, tokens, logs, n_tokens):
        found = {}
        for own in itertools.product(range(3), repeat=int(n)):
            if end in own and end is not None:
                own = own[: own.index(end) + 1]
            shares = [log_softmax(policy.scores(x, own[:t]))[a] for t, a in enumerate(own)]
            found[tuple(a for a in own if a != end)] = sum(shares)
        expected = sorted(found.items(), key=lambda item: -item[1])
        ours = [(tuple(row[:k].tolist()), v) for row, k, v in zip(made, counts, log) if v > -np.inf]
        assert [o[0] for o in ours] == [e[0] for e in expected]
        np.testing.assert_allclose([o[1] for o in ours], [e[1] for e in expected], rtol=1e-12)
        assert np.exp(log).sum() == pytest.approx(1.0)
    narrow = beam_search(policy, X, lengths, 1, end)
    for x, n, made, count in zip(X, lengths, narrow[0], narrow[2]):
        greedy = policy.greedy(x, [], n, end)[0]
        assert [a for a in greedy if a != end] == made[0, : count[0]].tolist()


# ---- errors --------------------------------------------------------------------------------------


class Wrong(StepPolicy):
    def start(self, X):
        return np.zeros(1), np.zeros(3)

    def step(self, state, tokens):
        raise AssertionError("is refused before")


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"policy": None}, TypeError, "policy must be a StepPolicy, got None"),
        ({"policy": Wrong()}, ValueError, r"scores of shape \(2, n_tokens\), got shape \(3,\)"),
        ({"X": []}, ValueError, "X must be a list of 1 or more inputs, got 0"),
        ({"y": [[0]]}, ValueError, "y must be a list of 2 outputs, one for each input, got 1"),
        ({"y": [[0], []]}, ValueError, r"y\[1\] must be a list of 1 or more"),
        ({"y": [[0], [4]]}, ValueError, r"y\[1\] must hold numbers of tokens from 0 to 3"),
        ({"y": [[0], ["a"]]}, ValueError, r"y\[1\] must hold numbers of tokens"),
        ({"end": 1}, ValueError, "end must be 3, the last token"),
        ({"end": 3}, ValueError, "compares outputs of one length, and outputs have any length"),
        ({"task_loss": "phrase_f1"}, ValueError, "y holds 0: tags of phrases are text"),
        ({"task_loss": lambda a, b: -1.0}, ValueError, "must return a number >= 0"),
        ({"task_loss": lambda a, b: np.nan}, ValueError, "must return a number >= 0"),
        ({"search": "all"}, TypeError, "search must be a LearningToSearch or None, got .all"),
    ],
)
def test_errors(change, error, message):
    arguments = {"policy": Scripted(4), "X": [0, 1], "y": [[0, 1], [2]]} | change
    with pytest.raises(error, match=message):
        roll_out_costs(**arguments)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"roll_out": "mixed_cells"}, "roll_out must be one of .* or a number of tokens; got 'mi"),
        ({"reference": "best_suffix"}, "known for the edit distance alone, got HammingLoss"),
        ({"token_sampling": {}}, "token_sampling is an empty dict"),
        ({"token_sampling": {"uniform": 0}}, r"token_sampling\['uniform'\] == 0"),
    ],
)
def test_errors_of_settings(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        roll_out_costs(Scripted(4), [0], [[0, 1]], search=LearningToSearch(**options))


def test_best_endings_need_free_lengths():
    y = [np.array([0, 1])]
    with pytest.raises(ValueError, match="needs output_length='free'"):
        costs_for(
            EditLoss(), "best_suffix", np.arange(2), np.array(y), np.array([2]), y, is_free=False
        )
