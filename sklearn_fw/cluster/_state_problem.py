"""Clips with an action and states: their checks, sets, objective and roundings."""

from itertools import pairwise

import numpy as np
import scipy.sparse as sp

from .._core import check
from .._core.packed import places_of, starts_of
from ..optim.domains import OrderedPlacements, StateChoices
from ._clips import check_sequences
from ._diffrac import Classifier, Diffrac, Term

NEEDED = {"X_action", "X_state", "t_action", "start", "end"}


class Clips:
    """Checked clips, stacked."""

    def __init__(self, clips, n_action=None, n_state=None):
        clips = check.items(clips, "clips", "dicts", least=1)
        for n, clip in enumerate(clips):
            check.instance(clip, f"clips[{n}]", dict)
            if not NEEDED <= set(clip) <= NEEDED | {"score", "t_state"}:
                raise ValueError(
                    f"clips[{n}] must have {sorted(NEEDED)}, and may have 'score' and 't_state'; "
                    f"got {sorted(map(str, clip))}"
                )
        actions, states = ([clip[key] for clip in clips] for key in ("X_action", "X_state"))
        self.X_action, self.row_starts, _ = check_sequences(
            actions, name="X_action of clips", n_features=n_action
        )
        self.X_state, self.starts, _ = check_sequences(
            states, name="X_state of clips", n_features=n_state
        )
        self.t_action = self._vectors(clips, "t_action", self.row_starts)
        self.begin, self.end = (self._vectors(clips, k, self.starts) for k in ("start", "end"))
        middle = 0.5 * (self.begin + self.end)
        self.t_state = self._vectors(clips, "t_state", self.starts, middle)
        self.score = self._vectors(clips, "score", self.starts, np.ones(len(middle)))
        for wrong in np.flatnonzero((self.score < 0.0) | (self.score > 1.0)):
            n = int(np.searchsorted(self.starts, wrong, side="right")) - 1
            raise ValueError(f"score of clips[{n}] must be from 0 to 1, got {self.score[wrong]:g}")

    @staticmethod
    def _vectors(clips, name, starts, default=None):
        found = []
        for n, (clip, a, b) in enumerate(zip(clips, starts, starts[1:])):
            values = clip.get(name)
            if values is None and default is not None:
                values = default[a:b]
            found.append(check.shaped(values, f"{name} of clips[{n}]", int(b - a)))
        return np.concatenate(found)


class Problem:
    """Sets, roundings and, after `learn`, the objective of a list of clips."""

    def __init__(self, data, coupling, constraint, restricted, weight):
        begin, end = (np.split(times, data.starts[1:-1]) for times in (data.begin, data.end))
        lengths = np.diff(data.row_starts)
        masks, rows = None, np.split(data.t_action, data.row_starts[1:-1])
        if restricted:
            masks = [_within(t, b.min(), e.max())[None] for t, b, e in zip(rows, begin, end)]
        self.T, self.M = len(data.X_action), len(data.X_state)
        self.actions = OrderedPlacements([(1, int(n)) for n in lengths], masks)
        self.states = StateChoices(begin, end, constraint)
        # Each row with the candidates of its clip: how much too late each state would be
        sizes = np.repeat(np.diff(data.starts), lengths)
        self.row = np.repeat(np.arange(self.T), sizes)
        self.row_offsets = starts_of(sizes)
        self.candidate = places_of(np.repeat(data.starts[:-1], lengths), sizes)
        late = data.t_state[self.candidate] - data.t_action[self.row]
        self.far = coupling / self.T * np.maximum(np.stack([late, -late], axis=1), 0.0)
        clip_of_row = np.repeat(np.arange(len(lengths)), lengths)
        copied = ([times[n] for n in clip_of_row] for times in (begin, end))
        self.copies = StateChoices(*copied, constraint)
        self.row_starts = data.row_starts
        self.allowed = np.ones(self.T, bool) if masks is None else np.concatenate(masks, 1)[0]
        self.linear = np.repeat(weight * (1.0 - data.score) / self.M, 2)

    def learn(self, data, action_reg, state_reg, fit_intercept):
        """Make the objective, with classifiers of the rows and of the candidates."""
        T, M = self.T, self.M
        action = Classifier(data.X_action, action_reg, fit_intercept)
        state = Classifier(data.X_state, state_reg, fit_intercept)
        terms = [
            Term(action, slice(0, T), np.arange(T), np.zeros(T, np.int64), 1),
            Term(state, slice(T, T + 2 * M), *np.divmod(np.arange(2 * M), 2), 2),
        ]
        places = np.repeat(self.row, 2), (2 * self.candidate[:, None] + [0, 1]).ravel()
        matrix = sp.csr_array((self.far.ravel(), places), shape=(T, 2 * M))
        self.objective = Diffrac(terms, matrix, np.concatenate([np.zeros(T), self.linear]))

    def point(self, rows, states):
        """The point of an action for each clip and a state for each candidate."""
        x = np.zeros(self.T + 2 * self.M)
        x[rows] = 1.0
        used = np.flatnonzero(states >= 0)
        x[self.T + 2 * used + states[used]] = 1.0
        return x

    def parts(self, x):
        """f, g with the linear cost, and d."""
        found = []
        for term in self.objective.terms:
            alone = Diffrac([term.alone()], linear=self.objective.linear[term.block])
            found.append(alone.value(x[term.block]))
        first, second = (x[term.block] for term in self.objective.terms)
        return np.array([*found, first @ (self.objective.coupling @ second)])

    def rounded(self, actions, states):
        """Actions and states nearest to what classifiers answer, chosen together; and their cost.

        The states are found for every action that a clip could have.
        """
        cost = self._state_costs(states)[self.candidate] + self.far
        labels = self.copies.choose(cost.ravel())
        chosen = np.where(labels == 0, cost[:, 0], np.where(labels == 1, cost[:, 1], 0.0))
        values = np.add.reduceat(chosen, self.row_offsets[:-1])
        values = values + (1.0 - 2.0 * actions) / (2.0 * self.T)
        values = np.where(self.allowed, values, np.inf)
        clips = pairwise(self.row_starts)
        rows = np.array([a + values[a:b].argmin() for a, b in clips])
        found = [labels[self.row_offsets[r] : self.row_offsets[r + 1]] for r in rows]
        return rows, np.concatenate(found), float(values[rows].sum())

    def rounded_apart(self, actions, states):
        rows = self.actions.place(1.0 - 2.0 * actions) + self.row_starts[:-1]
        return rows, self.states.choose(self._state_costs(states).ravel())

    def _state_costs(self, states):
        return (1.0 - 2.0 * states) / (2.0 * self.M) + self.linear.reshape(-1, 2)


def _within(times, first, last):
    """Which times lie within; the nearest where none does."""
    inside = (times >= first) & (times <= last)
    if not inside.any():
        inside[np.abs(times - 0.5 * (first + last)).argmin()] = True
    return inside
