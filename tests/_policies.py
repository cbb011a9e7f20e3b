"""Toy policies, and roll-outs as a plain loop makes them."""

import numpy as np

from sklearn_fw.seq2seq import StepPolicy


class Scripted(StepPolicy):
    """Scores depend on the input, the time and the last two tokens, by a random table."""

    def __init__(self, n_tokens, seed=0):
        self.n_tokens = n_tokens
        self.table = np.random.default_rng(seed).normal(
            size=(7, 9, n_tokens + 1, n_tokens, n_tokens)
        )
        self.n_rows = 0

    def start(self, X):
        X = np.asarray(X)
        start = np.full(len(X), self.n_tokens)
        return self._scored((X, np.zeros(len(X), int), start, np.zeros(len(X), int)))

    def step(self, state, tokens):
        x, time, _, last = state
        self.n_rows += len(tokens)
        return self._scored((x, time + 1, last, tokens))

    def _scored(self, state):
        x, time, before, last = state
        return state, self.table[x % 7, time % 9, before, last]

    def scores(self, x, tokens):
        """Scores of the token that follows these, by themselves."""
        before, last, time = self.n_tokens, 0, 0
        for token in tokens:
            time, before, last = time + 1, last if time else 0, token
        return self.table[x % 7, time % 9, before, last]

    def greedy(self, x, tokens, n_cells, end=None):
        """The tokens with their greedy ending, and the number of steps."""
        tokens, n_steps = list(tokens), 0
        while len(tokens) < n_cells and (not tokens or tokens[-1] != end):
            n_steps += bool(tokens)
            tokens.append(int(self.scores(x, tokens).argmax()))
        return tokens, n_steps


def without_end(tokens, end):
    return tokens[: tokens.index(end)] if end in tokens else tokens


def plain_costs(policy, x, y, cost, *, n_learned, roll_in, end=None):
    """Costs of all tokens in all cells of one output, and the number of steps.

    ``n_learned`` is the number of tokens of the policy before the truth goes on, and ``roll_in``
    says whether the policy, and not the truth, begins.
    """
    n_cells = len(y) + (end is not None)
    true = [*y, end] if end is not None else list(y)
    begun = policy.greedy(x, [], n_cells, end)[0] if roll_in else true
    costs, n_steps = np.empty((len(begun), policy.n_tokens)), 0
    for t in range(len(begun)):
        for a in range(policy.n_tokens):
            made = [*begun[:t], a]
            made, n_new = policy.greedy(x, made, min(n_cells, t + 1 + n_learned), end)
            n_steps += n_new
            if end is None or end not in made:
                made += true[len(made) :]
            costs[t, a] = cost(without_end(made, end), list(y))
    return costs, n_steps
