"""Roll-in, roll-out and search with anything that scores the next token."""

from abc import ABC, abstractmethod
from typing import NamedTuple

import numpy as np
from scipy.special import log_softmax
from sklearn.base import clone

from .._core import check
from .._core.packed import padded
from ._costs import costs_for, loss_for
from ._search import Draws, LearningToSearch


class StepPolicy(ABC):
    """Scores of the next token of many outputs at once (base class).

    A state stands for the beginnings of outputs, one row each. A subclass has ``start`` and
    ``step``; for states other than arrays and tuples of arrays, ``take`` and ``join`` too.

    Examples
    --------
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
        state, scores : object, and ndarray of shape (n_samples, n_tokens)
            The state, with a row per input, and scores of the first token.
        """

    @abstractmethod
    def step(self, state, tokens):
        """Add a token to each output and score the next ones.

        Parameters
        ----------
        state, tokens : object, and ndarray of int of shape (n_rows,)
            State of n_rows outputs, which must not be changed, and their next tokens.

        Returns
        -------
        state, scores : object, and ndarray of shape (n_rows, n_tokens)
            The state after them, and scores of the next token.
        """

    def take(self, state, rows):
        """The state of some rows.

        Parameters
        ----------
        state, rows : object, and ndarray of int or slice
            A state, and rows, which may repeat.
        """
        if isinstance(state, tuple):
            return tuple(part[rows] for part in map(_rows_of, state))
        return _rows_of(state)[rows]

    def join(self, states):
        """One state with the rows of several.

        Parameters
        ----------
        states : list of object
            States.
        """
        if isinstance(states[0], tuple):
            return tuple(np.concatenate(parts) for parts in zip(*states, strict=True))
        return np.concatenate([_rows_of(state) for state in states])

    def choose(self, scores):
        """The token with the highest score in each row, of equal ones the first.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, n_tokens)
            Scores.
        """
        return np.asarray(scores).argmax(axis=-1)

    def as_array(self, scores):
        """Scores as an array of double precision.

        Parameters
        ----------
        scores : ndarray of shape (n_rows, n_tokens)
            Scores, as `step` returns them.
        """
        return np.asarray(scores, dtype=np.float64)


class RolledIn(NamedTuple):
    """Outputs of the roll-in, and the policy's states and scores in every cell."""

    tokens: np.ndarray  # (n_samples, n_cells)
    states: list
    scores: list
    lengths: np.ndarray  # cells of each output, up to the one that ends it


class RollOuts(NamedTuple):
    """Tokens that were tried in cells, and their costs."""

    cells: tuple  # sample and time of each, two ndarray of shape (n_cells,)
    tokens: np.ndarray  # (n_cells, n_tokens)
    costs: np.ndarray  # (n_cells, n_tokens)
    n_rollouts: int
    n_steps: int  # rows that the policy stepped


def roll_in(policy, X, targets, lengths, is_reference, end=None):
    """Make outputs cell by cell, by the reference where ``is_reference`` and else by the policy.

    ``targets`` and ``is_reference`` have a row per input and a column per cell. Cells end with the
    token ``end``.
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
        until = np.minimum(lengths, ended.argmax(axis=1) + 1)
        lengths = np.where(ended.any(axis=1), until, lengths)
    return RolledIn(tokens, states, scores, lengths)


def roll_out(policy, rolled, scores, targets, lengths, costs, draws, end=None):
    """Try the tokens of ``draws`` in cells of a roll-in, and price the finished outputs.

    ``scores`` are those of the roll-in, of shape (n_samples, n_cells, n_tokens), ``targets`` the
    true tokens and ``lengths`` the most tokens of each output.
    """
    costs.begin(rolled.tokens)
    cells = draws.cells(rolled.lengths)
    tokens = draws.tokens(scores[cells], targets[cells])
    is_reference = draws.reference_rollouts(len(lengths), cells[0], tokens.shape[1])
    n_learned, chunk, states = draws.n_learned, draws.chunk, rolled.states
    n_samples, shape = len(lengths), tokens.shape
    sample, time = (np.repeat(one, shape[1]) for one in cells)
    first, by_reference = tokens.ravel(), is_reference.ravel()
    n_left = lengths[sample] - 1 - time
    is_end = first == end if end is not None else np.zeros(len(first), bool)
    # Where the reference goes on, unless the policy ends the output before.
    is_cut = by_reference | (n_left >= n_learned)
    n_left = np.where(by_reference | is_end, 0, np.minimum(n_left, n_learned))
    value, n_steps, token = np.empty(len(first)), 0, np.where(is_end, -1, first)
    order = np.argsort(-n_left, kind="stable")
    joined = policy.join(states) if n_left.any() else None
    for begin in range(0, len(order), chunk):
        own = order[begin : begin + chunk]
        rest, n_rest = np.zeros((len(own), 0), np.int64), n_left[own]
        if n_rest[0]:
            state = policy.take(joined, time[own] * n_samples + sample[own])
            rest, n_rest, n_new = finish(policy, state, first[own], n_rest, end)
            n_steps += n_new
        goes_on = (is_cut & ~is_end)[own] & (n_rest == n_left[own])
        value[own] = costs.of(sample[own], time[own], token[own], rest, n_rest, goes_on)
    return RollOuts(cells, tokens, value.reshape(shape), len(first), n_steps)


def finish(policy, state, first, n_left, end):
    """Greedy endings of at most ``n_left`` tokens behind the first: they, their lengths, steps."""
    most = int(n_left.max())
    rest, n_rest = np.zeros((len(first), most), np.int64), n_left.copy()
    active, said, n_steps = np.arange(len(first)), first, 0
    for step in range(most):
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


def beam_search(policy, X, lengths, width, end=None):
    """The best outputs that a beam finds, in order: tokens (n_samples, width, n_cells).

    Then logarithms of their probabilities, -inf where there are fewer outputs, and numbers of their
    tokens without ``end``, both (n_samples, width).
    """
    n, n_cells = len(lengths), int(lengths.max())
    state, scores = policy.start(X)
    logs, done = np.zeros((n, 1)), np.zeros((n, 1), bool)
    tokens, n_tokens = np.zeros((n, 1, n_cells), np.int64), np.zeros((n, 1), np.int64)
    for t in range(n_cells):
        beam = logs.shape[1]
        shares = log_softmax(policy.as_array(scores), axis=-1).reshape(n, beam, -1)
        n_classes = shares.shape[2]
        # An output that is finished goes on in one way, at no cost.
        only = np.where(np.arange(n_classes) == 0, 0.0, -np.inf)
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
    return tokens, logs, n_tokens


# ---- costs for any policy ------------------------------------------------------------------------


class RollOutCosts(NamedTuple):
    costs: list
    tokens: list
    n_rollouts: int
    n_steps: int


def roll_out_costs(policy, X, y, *, task_loss="hamming", search=None, end=None, random_state=None):
    """Costs of emitting each token in each cell of an output and completing it.

    Parameters
    ----------
    policy : StepPolicy
        What makes outputs.
    X : list of n_samples inputs
        Inputs, as the policy takes them.
    y : list of ndarray of shape (n_tokens,), int
        True outputs, as numbers of the policy's tokens.
    task_loss : str, array-like of shape (n_tokens, n_tokens), callable or TaskLoss, \
            default="hamming"
        Task loss, of numbers of tokens: see `sklearn_fw.task_losses.resolve_task_loss`.
    search : LearningToSearch or None, default=None
        How outputs are begun and finished; None tries all tokens, with the default policies.
    end : int or None, default=None
        Number of the token that ends an output, the last one; outputs then have any length up to
        that of the truth. None makes outputs as long as the truth.
    random_state : int, RandomState instance or None, default=None
        Coins and samples.

    Returns
    -------
    result : tuple with named fields
        ``costs``, for each input an array of shape (n_cells, n_tokens), inf where a token was not
        tried; ``tokens``, the outputs of the roll-in; ``n_rollouts``, the outputs that were
        finished and priced; and ``n_steps``, the tokens that the policy made for that.

    Notes
    -----
    With T cells and A tokens there are T A roll-outs per output, of T / 2 steps in the mean; those
    that the reference finishes take no step. All are made at once, in batches.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.seq2seq import StepPolicy, roll_out_costs
    >>> class Repeat(StepPolicy):
    ...     def start(self, X):
    ...         return self.step(None, np.zeros(len(X), int))
    ...     def step(self, state, tokens):
    ...         return tokens, np.eye(2)[tokens]
    >>> roll_out_costs(Repeat(), ["x"], [[0, 1, 1, 1]]).costs[0].shape
    (4, 2)
    """
    check.instance(policy, "policy", StepPolicy)
    search = check.instance(search, "search", LearningToSearch | None)
    search = LearningToSearch(n_tokens=None) if search is None else search
    X, rng = check.items(X, "X", "inputs", least=1), check.random_state(random_state)
    policy = _Checked(policy, X)
    n_tokens = policy.n_tokens
    if end is not None and check.integer(end, "end", 1) != n_tokens - 1:
        raise ValueError(f"end must be {n_tokens - 1}, the last token of the policy; got {end}")
    n_classes = n_tokens - (end is not None)
    y = _check_outputs(y, len(X), n_classes)
    lengths = np.array([len(own) for own in y])
    n_cells = lengths + (end is not None)
    targets = padded(y, int(n_cells.max()), 0 if end is None else end)
    counts = np.bincount(targets.ravel(), minlength=n_tokens) + 1.0
    draws = Draws(clone(search), "ll", counts, rng, has_end=end is not None)
    classes, is_free = np.arange(n_classes), end is not None
    loss = loss_for(task_loss, is_free)
    costs = costs_for(loss, search.reference, classes, targets, lengths, y, is_free=is_free)
    return priced(policy, X, targets, n_cells, costs, draws, end)


def priced(policy, X, targets, n_cells, costs, draws, end):
    rolled = roll_in(policy, X, targets, n_cells, draws.reference_cells(targets.shape), end)
    scores = np.stack([policy.as_array(score) for score in rolled.scores], axis=1)
    found = roll_out(policy, rolled, scores, targets, n_cells, costs, draws, end)
    dense = np.full(scores.shape, np.inf)
    sample, time = found.cells
    dense[sample[:, None], time[:, None], found.tokens] = found.costs
    costs = [own[:n] for own, n in zip(dense, rolled.lengths)]
    tokens = [own[:n] for own, n in zip(rolled.tokens, rolled.lengths)]
    return RollOutCosts(costs, tokens, found.n_rollouts, found.n_steps)


def _rows_of(state):
    if not hasattr(state, "__getitem__"):
        raise TypeError(
            f"a state of the policy must be an array or a tuple of arrays, got {state!r:.60}: "
            "override take and join for states of another kind"
        )
    return state


class _Checked(StepPolicy):
    """A policy of the user whose answers are checked."""

    def __init__(self, policy, X):
        self._policy, self.n_tokens = policy, None
        self.take, self.join = policy.take, policy.join
        self.n_tokens = self.start(X)[1].shape[1]

    def start(self, X):
        return self._pair(self._policy.start(X), len(X), "start")

    def step(self, state, tokens):
        return self._pair(self._policy.step(state, tokens), len(tokens), "step")

    def choose(self, scores):
        made = np.asarray(self._policy.choose(scores))
        is_good = made.dtype.kind in "iu" and made.shape == scores.shape[:1]
        if not is_good or np.any((made < 0) | (made >= self.n_tokens)):
            raise ValueError(
                f"choose of the policy must return {len(scores)} numbers of tokens below "
                f"{self.n_tokens}, got {made!r:.60}"
            )
        return made

    def as_array(self, scores):
        return self._scores(self._policy.as_array(scores), len(scores), "as_array")

    def _pair(self, pair, n_rows, method):
        state, scores = check.unpacked(pair, "state, scores", f"{method} of the policy")
        return state, self._scores(scores, n_rows, method)

    def _scores(self, scores, n_rows, method):
        scores = check.array(scores, f"scores of the policy's {method}")
        n = self.n_tokens or "n_tokens"
        if scores.ndim != 2 or scores.shape != (n_rows, self.n_tokens or scores.shape[1]):
            raise ValueError(
                f"{method} of the policy must return scores of shape ({n_rows}, {n}), got shape "
                f"{scores.shape}"
            )
        return scores


def _check_outputs(y, n_samples, n_classes):
    found = []
    for i, own in enumerate(check.items(y, "y", "outputs, one for each input", n_samples)):
        own = np.asarray(check.items(own, f"y[{i}]", "numbers of tokens", least=1))
        if own.ndim != 1 or own.dtype.kind not in "iu" or own.min() < 0 or own.max() >= n_classes:
            raise ValueError(
                f"y[{i}] must hold numbers of tokens from 0 to {n_classes - 1}, got {own!r:.60}"
            )
        found.append(own.astype(np.int64))
    return found
