"""Roll-in, roll-out and search with anything that scores the next token."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np

from ._losses import log_softmax


class StepPolicy(ABC):
    """What scores the next token of many outputs at once (base class).

    A state stands for the beginnings of outputs, one row each. A subclass has ``start`` and
    ``step``; where states are no arrays and no tuples of arrays, ``take`` and ``join`` too.

    See Also
    --------
    roll_out_costs : Asks such a policy what tokens cost.
    SeaRNNTransducer : Trains one that is a recurrent network.

    Examples
    --------
    A policy that says 0, 1, 2, 0, 1, ... whatever it is told.

    >>> import numpy as np
    >>> from sklearn_fw.seq2seq import StepPolicy
    >>> class Counter(StepPolicy):
    ...     def start(self, X):
    ...         return self.step(np.full(len(X), -1), None)
    ...     def step(self, state, tokens):
    ...         state = (state + 1) % 3
    ...         return state, np.eye(3)[state]
    >>> state, scores = Counter().start(["x", "y"])
    >>> scores.argmax(axis=1), Counter().step(state, np.array([2, 2]))[1].argmax(axis=1)
    (array([0, 0]), array([1, 1]))
    """

    @abstractmethod
    def start(self, X):
        """Read inputs and score the first tokens.

        Parameters
        ----------
        X : list of n_samples inputs
            Inputs.

        Returns
        -------
        state : object
            The state, with a row per input.
        scores : ndarray of shape (n_samples, n_tokens)
            Scores of the first token.
        """

    @abstractmethod
    def step(self, state, tokens):
        """Add a token to each output and score the next ones.

        Parameters
        ----------
        state : object
            State of n_rows outputs; it must not be changed.
        tokens : ndarray of int of shape (n_rows,)
            The tokens.

        Returns
        -------
        state : object
            The state after them.
        scores : ndarray of shape (n_rows, n_tokens)
            Scores of the next token.
        """

    def take(self, state, rows):
        """Some rows of a state.

        Parameters
        ----------
        state : object
            A state.
        rows : ndarray of int or slice
            Rows, which may repeat.

        Returns
        -------
        state : object
            The state of these.
        """
        if isinstance(state, tuple):
            return tuple(part[rows] for part in state)
        return state[rows]

    def join(self, states):
        """States one below the other.

        Parameters
        ----------
        states : list of object
            States.

        Returns
        -------
        state : object
            One state with all rows.
        """
        if isinstance(states[0], tuple):
            return tuple(np.concatenate(parts) for parts in zip(*states, strict=True))
        return np.concatenate(states)

    def choose(self, scores):
        """The token with the highest score.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, n_tokens)
            Scores.

        Returns
        -------
        tokens : ndarray of int of shape (n_rows,)
            The tokens; of equal ones the first.
        """
        return np.asarray(scores).argmax(axis=-1)

    def as_array(self, scores):
        """Scores as an array of double precision.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, n_tokens)
            Scores, as `step` gives them.

        Returns
        -------
        scores : ndarray of shape (n_rows, n_tokens)
            The same.
        """
        return np.asarray(scores, dtype=np.float64)


class RolledIn(NamedTuple):
    """Outputs of the roll-in, and the policy's states and scores in every cell."""

    tokens: np.ndarray  # (n_samples, n_cells)
    states: list
    scores: list
    lengths: np.ndarray  # cells of each output, up to the one that ends it


class RollOuts(NamedTuple):
    """Costs of tokens, and how they came about."""

    costs: np.ndarray  # (n_cells, n_tokens)
    n_rollouts: int
    n_steps: int  # rows that the policy stepped


def roll_in(policy, X, targets, lengths, is_reference, end=None):
    """Make outputs cell by cell, by the reference where ``is_reference`` and else by the policy.

    ``targets`` and ``is_reference`` have a row per input and a column per cell. Behind the token
    ``end`` there are no cells.
    """
    n_cells = targets.shape[1]
    tokens, states, scores = np.empty_like(targets), [], []
    state, score = policy.start(X)
    for t in range(n_cells):
        states.append(state)
        scores.append(score)
        reference = is_reference[:, t]
        made = targets[:, t] if reference.all() else policy.choose(score)
        tokens[:, t] = np.where(reference, targets[:, t], made)
        if t + 1 < n_cells:
            state, score = policy.step(state, tokens[:, t])
    if end is not None:
        ended = tokens == end
        lengths = np.where(
            ended.any(axis=1), np.minimum(lengths, ended.argmax(axis=1) + 1), lengths
        )
    return RolledIn(tokens, states, scores, lengths)


def roll_out(
    policy, states, costs, cells, tokens, is_reference, lengths, *, n_learned=None, end=None,
    chunk=512,
):  # fmt: skip
    """What outputs cost if each of some tokens is said in each of some cells.

    Parameters
    ----------
    policy : StepPolicy
        Finishes outputs where ``is_reference`` is false.
    states : list of object
        States of all samples in each cell of the roll-in.
    costs : object
        Prices outputs, after `begin` with those of the roll-in.
    cells : tuple of two ndarray of shape (n_cells,)
        Sample and time of each.
    tokens, is_reference : ndarray of shape (n_cells, n_tokens)
        The tokens, and whether the reference finishes the output.
    lengths : ndarray of shape (n_samples,)
        Most tokens of each output.
    n_learned : int, default=None
        Tokens of the policy after which the reference goes on all the same; None is all.
    end : int, default=None
        Number of the token that ends outputs.
    chunk : int, default=512
        Outputs that are finished together.
    """
    n_samples, shape = len(lengths), tokens.shape
    sample, time = (np.repeat(one, shape[1]) for one in cells)
    first, by_reference = tokens.ravel(), is_reference.ravel()
    n_left = lengths[sample] - 1 - time
    is_end = first == end if end is not None else np.zeros(len(first), bool)
    # Where the reference goes on, unless the policy ends the output before.
    is_cut = by_reference if n_learned is None else by_reference | (n_left >= n_learned)
    if n_learned is not None:
        n_left = np.minimum(n_left, n_learned)
    n_left = np.where(by_reference | is_end, 0, n_left)
    value, n_steps, token = np.empty(len(first)), 0, np.where(is_end, -1, first)
    order = np.argsort(-n_left, kind="stable")
    joined = policy.join(states) if n_left.any() else None
    for begin in range(0, len(order), chunk):
        own = order[begin : begin + chunk]
        rest, n_rest = np.zeros((len(own), 0), np.int64), n_left[own]
        if n_rest[0]:
            state = policy.take(joined, time[own] * n_samples + sample[own])
            rest, n_rest, n_new = _finish(policy, state, first[own], n_rest, end)
            n_steps += n_new
        goes_on = (is_cut & ~is_end)[own] & (n_rest == n_left[own])
        value[own] = costs.of(sample[own], time[own], token[own], rest, n_rest, goes_on)
    return RollOuts(value.reshape(shape), len(first), n_steps)


def _finish(policy, state, first, n_left, end):
    """Greedy endings; ``n_left`` never rises, so that rows drop out from behind."""
    rest, n_rest = np.zeros((len(first), int(n_left[0])), np.int64), n_left.copy()
    active, said, n_steps = np.arange(len(first)), first, 0
    for step in range(int(n_left[0])):
        keep = n_left[active] > step
        if not keep.all():
            n_kept = int(keep.sum())
            # Views of what is left, unless an output has ended early in between.
            rows = slice(0, n_kept) if keep[:n_kept].all() else np.flatnonzero(keep)
            state, active, said = policy.take(state, rows), active[keep], said[keep]
            if not n_kept:
                break
        state, scores = policy.step(state, said)
        n_steps += len(active)
        said = policy.choose(scores)
        rest[active, step] = said
        if end is not None and np.any(said == end):
            ended = active[said == end]
            n_rest[ended] = step
            n_left = n_left.copy()
            n_left[ended] = step  # nothing more to say
    return rest, n_rest, n_steps


class _Beams(NamedTuple):
    tokens: np.ndarray  # (n_samples, width, n_cells)
    logs: np.ndarray  # (n_samples, width)
    n_tokens: np.ndarray  # (n_samples, width), without the one that ends the output


def beam_search(policy, X, lengths, width, end=None):
    """The best outputs that a beam finds, in order, with logarithms of their probabilities.

    Returns tokens of shape (n_samples, width, n_cells), their numbers without ``end``, and the
    logarithms, -inf where there are fewer outputs.
    """
    n, n_cells = len(lengths), int(lengths.max())
    state, scores = policy.start(X)
    logs, done = np.zeros((n, 1)), np.zeros((n, 1), bool)
    tokens, n_tokens = np.zeros((n, 1, n_cells), np.int64), np.zeros((n, 1), np.int64)
    for t in range(n_cells):
        beam = logs.shape[1]
        shares = log_softmax(policy.as_array(scores)).reshape(n, beam, -1)
        n_classes = shares.shape[2]
        # An output that is finished goes on in one way, at no cost.
        only = np.full(n_classes, -np.inf)
        only[0] = 0.0
        total = logs[:, :, None] + np.where(done[:, :, None], only, shares)
        flat = total.reshape(n, -1)
        kept = np.argsort(-flat, axis=1, kind="stable")[:, : min(width, flat.shape[1])]
        logs = np.take_along_axis(flat, kept, axis=1)
        parent, token = kept // n_classes, kept % n_classes
        was_done = np.take_along_axis(done, parent, axis=1)
        tokens = np.take_along_axis(tokens, parent[:, :, None], axis=1)
        n_tokens = np.take_along_axis(n_tokens, parent, axis=1)
        ends = np.zeros_like(was_done) if end is None else token == end
        tokens[:, :, t] = np.where(was_done, 0, token)
        n_tokens += ~(was_done | ends)
        done = was_done | ends | (lengths[:, None] <= t + 1)
        if done.all() or t + 1 == n_cells:
            break
        rows = (np.arange(n)[:, None] * beam + parent).ravel()
        state, scores = policy.step(policy.take(state, rows), token.ravel())
    return _Beams(tokens, logs, n_tokens)
