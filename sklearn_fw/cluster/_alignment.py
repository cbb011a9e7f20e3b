"""The cost of an alignment of token sequences, and its descent one sequence at a time."""

import numpy as np

from .._kernels import lazy
from ..optim.objectives import Objective

orderings = lazy("graphs.orderings")

N_KICKS = 60  # parts that are put in again in vain before a search ends
STAY = (0.25, 0.5, 0.75)  # share of the sequences that stay meanwhile


class Alignment(Objective):
    """``f(U) = <Y'U, C Y'U> / S`` for the one-hot tokens Y: the image is ``Y'U``."""

    is_quadratic = True

    def __init__(self, tokens, starts, costs, n_slots):
        self.tokens, self.starts, self.costs, self.n_slots = tokens, starts, costs, n_slots
        self.size, self.shape = len(tokens) * n_slots, (len(costs), n_slots)

    def image(self, point):
        if isinstance(point, np.ndarray):
            counts = np.zeros(self.shape)
            np.add.at(counts, self.tokens, point.reshape(-1, self.n_slots))
            return counts.ravel()
        places, values = point.entries()
        flat = self.tokens[places // self.n_slots] * self.n_slots + places % self.n_slots
        return np.bincount(flat, weights=values, minlength=self.shape[0] * self.shape[1])

    def slopes(self, image):
        slopes = 2.0 / len(self.tokens) * (self.costs @ image.reshape(self.shape)).ravel()
        return 0.5 * float(slopes @ image), slopes

    def adjoint(self, slopes):
        return slopes.reshape(self.shape)[self.tokens].ravel()

    def inner(self, image, others):
        return others @ self.slopes(image)[1]

    def value(self, slots):
        """f of an alignment."""
        return self.slopes(self._counts(slots).ravel())[0]

    def _counts(self, slots):
        counts = np.zeros(self.shape)
        np.add.at(counts, (self.tokens, slots), 1.0)
        return counts

    def refined(self, slots, rng):
        """An alignment that no single sequence, nor putting a part in again, could improve."""
        slots, value = self._descended(slots, rng, np.ones(len(self.starts) - 1, bool))
        n_failed = 0
        while n_failed < N_KICKS:
            stays = rng.random_sample(len(self.starts) - 1) < rng.choice(STAY)
            if not stays.any():
                continue
            moved, new_value = self._descended(slots, rng, stays)
            n_failed += 1
            if new_value < value - 1e-9 * (1.0 + abs(value)):
                slots, value, n_failed = moved, new_value, 0
        return slots

    def _descended(self, slots, rng, present):
        """Align sequences that are not present to the others, then each to the rest in turn."""
        slots, kept = slots.copy(), np.repeat(present, np.diff(self.starts))
        counts = np.zeros(self.shape)
        np.add.at(counts, (self.tokens[kept], slots[kept]), 1.0)
        present, n = present.copy(), len(present)
        order, sums = rng.permutation(n), self.costs @ counts
        # Those that are out go in first
        order = np.concatenate([order[~present[order]], order[present[order]]])
        while orderings.realign(
            order, present, self.tokens, self.starts, self.costs, counts, sums, slots
        ):  # fmt: skip
            sums = self.costs @ counts
        return slots, self.value(slots)
