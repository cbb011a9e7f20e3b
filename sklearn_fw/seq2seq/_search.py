"""How cells are reached, what is tried there, and who goes on: settings and draws."""

from collections.abc import Mapping
from dataclasses import KW_ONLY
from numbers import Integral

import numpy as np
from scipy.special import log_softmax

from .._core import check
from .._core.packed import starts_of
from .._core.parameters import Parameterized, check_parameters
from ._costs import REFERENCES

ALL_TOKENS, FEW_TOKENS = 10, 5  # what "auto" of n_tokens means
ENDLESS = np.iinfo(np.int64).max
SAMPLINGS = ("biased_policy", "policy", "top_k", "uniform", "unigram")


class LearningToSearch(Parameterized):
    """Settings of learning to search: roll-ins, roll-outs and sampled tokens.

    A roll-in makes an output cell by cell. In its cells tokens are tried: a roll-out finishes the
    output after each, and the task loss of that is the token's cost.

    Parameters
    ----------
    roll_in : {"learned", "mixed", "mixed_cells", "reference"}, default="learned"
        Policy of the roll-in: the network, the truth, or either at random per output or per cell.
    roll_out : {"learned", "mixed", "reference"} or int, default="mixed"
        Policy of the roll-out; "mixed" is random, see ``mix_level``. A number is that of tokens of
        the network before the reference goes on: 0 is "reference".
    roll_in_reference_prob, roll_out_reference_prob : float, default=0.5
        Probability of the reference, from 0 to 1.
    mix_level : {"sequence", "rollout"}, default="sequence"
        Whether the policy is drawn per output and update, or per token tried.
    reference : {"copy", "best_suffix"}, default="copy"
        How the reference finishes an output: with what follows that cell in the truth, or with the
        ending of the truth that costs least, for the edit distance and free lengths.
    n_cells : int or None, default=None
        Cells per output in which tokens are tried, drawn at random; None is all.
    n_tokens : int, None or "auto", default="auto"
        Tokens tried per cell in addition to the true one (and the end of the output, where its
        length is free); None is all. "auto" is all up to 10 tokens, and 5 of more.
    token_sampling : {"biased_policy", "policy", "top_k", "uniform", "unigram"} or dict, \
            default="policy"
        How they are drawn, without replacement: uniformly, by their frequency in training, by the
        probabilities of the network, by the square roots of these, or its best ones. A dict from
        such names to numbers of tokens draws from several, in place of ``n_tokens``.
    sampled_softmax : bool or "auto", default="auto"
        Whether losses are over the tried tokens alone; "auto" is true unless the loss is "ll".
    cost_scale : float, default=1.0
        Factor of costs in the losses "llcas", "shl" and "kl".
    tie_break : {"random", "reference"}, default="reference"
        Of tokens with equal costs, any one or the true one is the target.
    batch_size : int, default=2048
        Outputs that are finished together; it changes memory and speed alone.

    Notes
    -----
    The names and the choice of learned roll-in with mixed roll-out are those of [1]_. With
    Hamming's loss and copied endings, roll-outs by the reference equal maximum likelihood.

    References
    ----------
    .. [1] R. Leblond, J.-B. Alayrac, A. Osokin, S. Lacoste-Julien, "SeaRNN: training RNNs with
       global-local losses", 2017: sections 4 and 5.

    Examples
    --------
    >>> from sklearn_fw.seq2seq import LearningToSearch
    >>> LearningToSearch(roll_out="learned", n_tokens=5)
    LearningToSearch(n_tokens=5, roll_out='learned')
    """

    _: KW_ONLY
    roll_in: check.options("learned", "mixed", "mixed_cells", "reference") = "learned"
    roll_out: object = "mixed"
    roll_in_reference_prob: check.within(0.0, 1.0) = 0.5
    roll_out_reference_prob: check.within(0.0, 1.0) = 0.5
    mix_level: check.options("rollout", "sequence") = "sequence"
    reference: check.options(*REFERENCES) = "copy"
    n_cells: check.optional(check.at_least(1)) = None
    n_tokens: object = "auto"
    token_sampling: object = "policy"
    sampled_softmax: check.auto_or(check.flag, "True or False") = "auto"
    cost_scale: check.positive = 1.0
    tie_break: check.options("random", "reference") = "reference"
    batch_size: check.at_least(1) = 2048


class Draws:
    """Checked settings, and all that is drawn by them; coins do not depend on what is sampled."""

    def __init__(self, settings, loss, counts, rng, *, has_end=False):
        """``counts`` are frequencies of all tokens, with the end of outputs last if it is one."""
        check_parameters(settings)
        self.settings = settings
        self.roll_out, self.n_learned = _roll_out(settings.roll_out)
        self.has_end, self.counts = has_end, counts
        self.wanted = _tokens_by_kind(settings.n_tokens, settings.token_sampling, len(counts))
        self.sampled_softmax = settings.sampled_softmax
        if check.is_auto(self.sampled_softmax):
            self.sampled_softmax = loss != "ll"
        elif not self.sampled_softmax and self.wanted and loss not in ("ll", "mle"):
            raise ValueError(
                f"sampled_softmax=False needs loss='ll' or n_tokens=None, got {loss!r}"
            )
        self.chunk = int(settings.batch_size)
        streams = [np.random.RandomState(rng.randint(2**31 - 1)) for _ in range(3)]
        self.coins, self.samples, self.ties = streams

    def reference_cells(self, shape):
        """Which cells of the roll-in the reference fills."""
        roll_in, p = self.settings.roll_in, self.settings.roll_in_reference_prob
        return self._coins(roll_in, p, (shape[0], 1) if roll_in == "mixed" else shape, shape)

    def reference_rollouts(self, n_samples, sample, n_tokens):
        """Which outputs the reference finishes, of shape (n_cells, n_tokens)."""
        shape, p = (len(sample), n_tokens), self.settings.roll_out_reference_prob
        if self.settings.mix_level == "rollout":
            return self._coins(self.roll_out, p, shape, shape)
        heads = self._coins(self.roll_out, p, (n_samples,), (n_samples,))
        return np.broadcast_to(heads[sample, None], shape)

    def _coins(self, policy, probability, drawn, shape):
        if policy in ("reference", "learned"):
            return np.full(shape, policy == "reference")
        return np.broadcast_to(self.coins.random_sample(drawn) < probability, shape)

    def cells(self, lengths):
        """Sample and time of the cells in which tokens are tried."""
        sample, time = all_cells(lengths)
        if self.settings.n_cells is None:
            return sample, time
        order = np.lexsort((self.samples.random_sample(len(sample)), sample))
        kept = np.sort(order[time < self.settings.n_cells])
        return sample[kept], time[kept]

    def tokens(self, scores, true):
        """The tokens that are tried in each cell, in ascending order."""
        n_cells, n_tokens = scores.shape
        if not self.wanted:
            return np.broadcast_to(np.arange(n_tokens), scores.shape)
        chosen = np.zeros(scores.shape, bool)
        np.put_along_axis(chosen, true[:, None], True, axis=1)
        if self.has_end:
            chosen[:, -1] = True
        # The number is the same in all cells, whether the true token is the end or not.
        total = min(1 + self.has_end + sum(self.wanted.values()), n_tokens)
        for kind, count in self.wanted.items():
            keys = np.where(chosen, -np.inf, self._keys(kind, scores))
            top = np.argpartition(-keys, min(count, n_tokens - 1), axis=1)[:, :count]
            is_new = np.take_along_axis(keys, top, axis=1) > -np.inf
            rows = np.repeat(np.arange(n_cells), top.shape[1]).reshape(top.shape)
            chosen[rows[is_new], top[is_new]] = True
        short = total - chosen.sum(axis=1)
        if np.any(short > 0):
            order = np.argsort(np.where(chosen, np.inf, -scores), axis=1)
            for cell in np.flatnonzero(short > 0):
                chosen[cell, order[cell, : short[cell]]] = True
        return np.nonzero(chosen)[1].reshape(n_cells, total)

    def _keys(self, kind, scores):
        """Numbers whose largest are a draw without replacement."""
        if kind == "top_k":
            return scores
        if kind == "unigram":
            logs = np.log(self.counts / self.counts.sum())
        else:
            power = {"biased_policy": 0.5, "policy": 1.0, "uniform": 0.0}[kind]
            logs = power * log_softmax(scores, axis=-1)
        noise = self.samples.random_sample(scores.shape)
        return logs - np.log(-np.log(np.maximum(noise, 1e-300)))  # Gumbel's


def all_cells(lengths):
    sample = np.repeat(np.arange(len(lengths)), lengths)
    return sample, np.arange(len(sample)) - np.repeat(starts_of(lengths)[:-1], lengths)


def _roll_out(value):
    """Who finishes outputs, and after at most how many tokens of the network the reference does."""
    if isinstance(value, Integral) and not isinstance(value, bool):
        n_learned = check.integer(value, "roll_out", 0)
        return "learned" if n_learned else "reference", n_learned
    roll_outs = ("learned", "mixed", "reference")
    return check.choice(value, "roll_out", roll_outs, "a number of tokens"), ENDLESS


def _tokens_by_kind(n_tokens, sampling, n_all):
    """Numbers of tokens by the way of drawing; none where all are tried."""
    if isinstance(sampling, Mapping):
        if not sampling:
            raise ValueError("token_sampling is an empty dict")
        wanted = {}
        for kind, count in sampling.items():
            check.choice(kind, "token_sampling", SAMPLINGS)
            wanted[kind] = check.integer(count, f"token_sampling[{kind!r}]", 1)
    else:
        check.choice(sampling, "token_sampling", SAMPLINGS)
        if n_tokens is None:
            return {}
        if check.is_auto(n_tokens):
            if n_all <= ALL_TOKENS:
                return {}
            n_tokens = FEW_TOKENS
        wanted = {sampling: check.integer(n_tokens, "n_tokens", 1)}
    return {} if 1 + sum(wanted.values()) >= n_all else wanted
