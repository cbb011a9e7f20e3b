"""The labellings that one block of parts keeps, for plain passes."""

import numpy as np


class StoredCorners:
    """The corners of one block; see `Problem.corners`."""

    def __init__(self, table, i, nodes):
        self._table, self._i, self._nodes = table, i, nodes
        self.alpha, self.loss = self._table.alpha[i], self._table.loss[i]

    @property
    def size(self):
        """Number of corners."""
        return self._table.size[self._i]

    def find(self, answer):
        """Slot of a labelling, -1 if it is not kept."""
        kept = self._table.labels[self._nodes, : self.size]
        same = np.flatnonzero(np.all(kept == answer.corner[:, None], axis=0))
        return int(same[0]) if len(same) else -1

    def put(self, slot, answer):
        """Put a labelling into a slot: the first free one, or that of another."""
        self._table.size[self._i] = max(self.size, slot + 1)
        self._table.labels[self._nodes, slot] = answer.corner
        self.alpha[slot], self.loss[slot] = 0.0, answer.loss

    def remove(self, slot):
        """Forget a corner; the last one takes its slot."""
        last = self._table.size[self._i] = self.size - 1
        self._table.labels[self._nodes, slot] = self._table.labels[self._nodes, last]
        self.alpha[slot], self.loss[slot] = self.alpha[last], self.loss[last]
        self.alpha[last] = 0.0
