"""Costs of tokens for any policy: the engine as a function."""

from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from .._core.packed import padded
from .._core.validation import check_array_of_numbers, check_integer, check_list, check_random_state
from ..task_losses import resolve_task_loss
from ._costs import costs_for
from ._engine import StepPolicy, roll_in, roll_out
from ._search import Draws, LearningToSearch


class RollOutCosts(NamedTuple):
    """Costs of tokens, and how many outputs were made for them.

    Parameters
    ----------
    costs : list of ndarray of shape (n_cells, n_tokens)
        For each input the cost of each token in each cell; inf where it was not tried.
    tokens : list of ndarray of shape (n_cells,)
        Outputs of the roll-in, as numbers of tokens.
    n_rollouts : int
        Outputs that were finished and priced.
    n_steps : int
        Tokens that the policy was asked for to finish them, summed over outputs.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.seq2seq import RollOutCosts
    >>> RollOutCosts([np.zeros((1, 2))], [np.array([1])], n_rollouts=2, n_steps=0).n_rollouts
    2
    """

    costs: list
    tokens: list
    n_rollouts: int
    n_steps: int


def roll_out_costs(policy, X, y, *, task_loss="hamming", search=None, end=None, random_state=None):
    """What it costs in the end to say each token in each cell of an output.

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
        What outputs cost, as `sklearn_fw.task_losses.resolve_task_loss` takes it; they reach it as
        numbers of tokens.
    search : LearningToSearch or None, default=None
        How outputs are begun and finished; None tries all tokens, with the default policies.
    end : int or None, default=None
        Number of the token that ends an output, the last one. Then outputs are of any length up to
        that of the truth and one cell more, and cells are those up to the end. None makes outputs
        as long as the truth.
    random_state : int, RandomState instance or None, default=None
        Coins and samples.

    Returns
    -------
    result : RollOutCosts
        Costs, outputs of the roll-in, and counts.

    See Also
    --------
    searnn_loss : The loss that costs make of scores.

    Notes
    -----
    With T cells and A tokens there are T A roll-outs per output, of T / 2 steps in the mean; those
    that the reference finishes take no step. All are made at once, in batches.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.seq2seq import LearningToSearch, StepPolicy, roll_out_costs
    >>> class Repeat(StepPolicy):
    ...     "Says 0 first, then what it said before."
    ...     def start(self, X):
    ...         return self.step(None, np.zeros(len(X), int))
    ...     def step(self, state, tokens):
    ...         return tokens, np.eye(2)[tokens]
    >>> learned = LearningToSearch(roll_out="learned")
    >>> found = roll_out_costs(Repeat(), ["x"], [[0, 1, 1, 1]], search=learned)
    >>> found.costs[0]
    array([[0.75, 0.25],
           [0.75, 0.  ],
           [0.75, 0.25],
           [0.75, 0.5 ]])
    >>> found.n_rollouts, found.n_steps
    (8, 12)
    """
    if not isinstance(policy, StepPolicy):
        raise TypeError(f"policy must be a StepPolicy object, got a {type(policy).__name__}")
    search = LearningToSearch(n_tokens=None) if search is None else search
    if not isinstance(search, LearningToSearch):
        raise TypeError(f"search must be a LearningToSearch object, got {search!r:.60}")
    X, rng = check_list(X, "X", "inputs"), check_random_state(random_state)
    if not X:
        raise ValueError("X holds no input")
    policy = _Checked(policy, X)
    n_tokens = policy.n_tokens
    if end is not None and check_integer(end, "end", 1) != n_tokens - 1:
        raise ValueError(f"end must be {n_tokens - 1}, the last token of the policy; got {end}")
    n_classes = n_tokens - (end is not None)
    y = _check_outputs(y, len(X), n_classes)
    lengths = np.array([len(own) for own in y])
    n_cells = lengths + (end is not None)
    targets = padded(y, int(n_cells.max()), 0 if end is None else end)
    counts = np.bincount(targets.ravel(), minlength=n_tokens) + 1.0
    draws = Draws(clone(search), "ll", counts, rng, has_end=end is not None)
    loss = resolve_task_loss(task_loss)
    if end is not None and loss.decomposes and not loss._has_value:
        raise ValueError(
            f"task_loss {type(loss).__name__} compares outputs of one length, and end makes them "
            f"of any: take 'edit'"
        )
    costs = costs_for(
        loss, draws.reference, np.arange(n_classes), targets, lengths, y, is_free=end is not None
    )
    return priced(policy, X, targets, n_cells, costs, draws, end)


def priced(policy, X, targets, n_cells, costs, draws, end):
    """Roll in, roll out, and what that says of each input."""
    rolled = roll_in(policy, X, targets, n_cells, draws.reference_cells(targets.shape), end)
    costs.begin(rolled.tokens)
    cells = draws.cells(rolled.lengths)
    scores = np.stack([policy.as_array(score) for score in rolled.scores])
    tried = draws.tokens(scores[cells[1], cells[0]], targets[cells])
    reference = draws.reference_rollouts(len(n_cells), cells[0], tried.shape[1])
    found = roll_out(
        policy, rolled.states, costs, cells, tried, reference, n_cells,
        n_learned=draws.n_learned, end=end, chunk=draws.chunk,
    )  # fmt: skip
    dense = np.full((*targets.shape, scores.shape[2]), np.inf)
    dense[cells[0][:, None], cells[1][:, None], tried] = found.costs
    return RollOutCosts(
        [own[:n] for own, n in zip(dense, rolled.lengths)],
        [own[:n] for own, n in zip(rolled.tokens, rolled.lengths)],
        found.n_rollouts,
        found.n_steps,
    )


class _Checked(StepPolicy):
    """A policy of the user whose answers are looked at."""

    def __init__(self, policy, X):
        self._policy, self.n_tokens = policy, None
        _, scores = self.start(X)
        self.n_tokens = scores.shape[1]

    def start(self, X):
        return self._pair(self._policy.start(X), len(X), "start")

    def step(self, state, tokens):
        return self._pair(self._policy.step(state, tokens), len(tokens), "step")

    def take(self, state, rows):
        return self._policy.take(state, rows)

    def join(self, states):
        return self._policy.join(states)

    def choose(self, scores):
        made = np.asarray(self._policy.choose(scores))
        is_good = made.dtype.kind in "iu" and made.shape == scores.shape[:1]
        if not is_good or np.any((made < 0) | (made >= self.n_tokens)):
            raise ValueError(
                f"choose of the policy must return {len(scores)} numbers of tokens from 0 to "
                f"{self.n_tokens - 1}, got {made!r:.60}"
            )
        return made

    def as_array(self, scores):
        scores = check_array_of_numbers(
            self._policy.as_array(scores), "scores of the policy's as_array"
        )
        if scores.ndim != 2 or scores.shape[1] != self.n_tokens:
            raise ValueError(
                f"as_array of the policy must return scores of shape (n_rows, {self.n_tokens}), "
                f"got shape {scores.shape}"
            )
        return scores

    def _pair(self, pair, n_rows, method):
        if not (isinstance(pair, tuple) and len(pair) == 2):
            raise TypeError(
                f"{method} of the policy must return a state and scores, got {pair!r:.60}"
            )
        state, scores = pair[0], check_array_of_numbers(pair[1], f"scores of the policy's {method}")
        n = "n_tokens" if self.n_tokens is None else self.n_tokens
        if scores.ndim != 2 or len(scores) != n_rows or scores.shape[1] != (
            self.n_tokens or scores.shape[1]
        ):  # fmt: skip
            raise ValueError(
                f"{method} of the policy must return scores of shape ({n_rows}, {n}), got shape "
                f"{scores.shape}"
            )
        return state, scores


def _check_outputs(y, n_samples, n_classes):
    y = check_list(y, "y", "outputs")
    if len(y) != n_samples:
        raise ValueError(f"X has {n_samples} inputs, y has {len(y)} outputs")
    found = []
    for i, own in enumerate(y):
        own = np.asarray(check_list(own, f"y[{i}]", "numbers of tokens"))
        if not len(own):
            raise ValueError(f"y[{i}] is empty: an output has a token at least")
        if own.ndim != 1 or own.dtype.kind not in "iu" or own.min() < 0 or own.max() >= n_classes:
            raise ValueError(
                f"y[{i}] must hold numbers of tokens from 0 to {n_classes - 1}, got {own!r:.60}"
            )
        found.append(own.astype(np.int64))
    return found
