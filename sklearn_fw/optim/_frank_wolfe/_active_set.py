"""Points as convex combinations of atoms."""

import numpy as np

from ..._kernels.common.step_rules import move_mass, slope_and_limit
from ..domains._atoms import DenseAtom, RankOneAtom, as_atom

SMALL = 1024  # entries of an atom up to which one product for all atoms beats a loop over them
DENSE = 128  # length of an atom up to which zeros cost less than to know where they are


class ActiveSet:
    """Atoms with positive weights of sum one, and the steps that methods take on them.

    A *slot* is the place of an atom; it is valid until the next step. Steps longer than allowed are
    cut to the longest one, which removes an atom. Atoms are kept as they come: what has few
    entries, or a low rank, is never made dense.

    Parameters
    ----------
    atoms : list of Atom, or array-like of shape (n_atoms, size)
        Where to start; equal atoms are merged.
    weights : array-like of shape (n_atoms,), default=(1.0,)
        Their weights, scaled to sum one; atoms of weight zero are left out.
    """

    def __init__(self, atoms, weights=(1.0,)):
        self._atoms, self._keys, self._slots = [], [], {}
        self._weights = np.zeros(4)
        self._rows = None
        for atom, weight in zip(atoms, weights, strict=True):
            if weight > 0:
                atom = as_atom(atom, None, "a start")
                if not self._atoms:
                    self._rows = _Rows(atom)
                slot = self._slot_of(atom)
                self._weights[slot] += weight  # a new array, if it had to grow
        self._settle()

    def __len__(self):
        return len(self._atoms)

    @property
    def atoms(self):
        """The atoms, slot by slot."""
        return list(self._atoms)

    @property
    def weights(self):
        """The weights of the atoms."""
        return self._weights[: len(self._atoms)]

    def point(self):
        """The combination itself, free of the rounding errors of earlier steps."""
        if self._rows is not None:
            return self._rows.combine(self.weights, self._atoms[0].size)
        if all(type(atom) is RankOneAtom for atom in self._atoms):
            left = np.array([atom.left for atom in self._atoms])
            right = np.array([atom.right for atom in self._atoms])
            return ((left.T * self.weights) @ right).ravel()
        x = np.zeros(self._atoms[0].size)
        for atom, weight in zip(self._atoms, self.weights.tolist()):
            atom.add_to(x, weight)
        return x

    def scores(self, gradient):
        """Inner products of a vector with the atoms, slot by slot."""
        if self._rows is not None:
            return self._rows.scores(gradient, len(self))
        return np.array([atom.dot(gradient) for atom in self._atoms])

    def worst(self, gradient):
        """Slot of the atom of largest inner product; ties go to the first."""
        return int(np.argmax(self.scores(gradient)))

    def atom(self, slot):
        """The atom in a slot."""
        return self._atoms[slot]

    def is_at(self, slot, atom):
        """Whether the atom in a slot is this one."""
        return self._slots.get(atom.key) == slot

    def longest(self, kind, slot=-1):
        """Longest step of a kind, with the atom in a slot as the one that loses weight."""
        return slope_and_limit(kind, 0.0, 0.0, float(self._weights[slot]))[1]

    def step(self, kind, gamma, atom=None, away=-1):
        """Move by a step of a kind, cut to the longest one.

        FW: to ``(1 - gamma) x + gamma atom``; PAIRWISE: to
        ``x + gamma (atom - the one in slot away)``; AWAY: to
        ``x + gamma (x - the one in slot away)``.
        """
        longest = self.longest(kind, away)
        slot = -1 if atom is None else self._slot_of(atom)
        move_mass(self._weights, len(self._atoms), kind, slot, away, min(gamma, longest), longest)
        self._settle()

    def include(self, atom):
        """Take an atom in with weight zero, until the next step; returns its slot."""
        return self._slot_of(atom)

    def reweigh(self, weights):
        """Give the atoms other weights and leave out those of weight zero.

        Returns the former slots of those that stay.
        """
        before = dict(self._slots)
        self.weights[:] = weights
        self._settle()
        return [before[key] for key in self._keys]

    def _slot_of(self, atom):
        """The slot of an atom, which is put into a new one, without weight, where it is missing."""
        key = atom.key
        slot = self._slots.get(key)
        if slot is None:
            slot = self._slots[key] = len(self)
            self._atoms.append(atom)
            self._keys.append(key)
            if slot == len(self._weights):
                self._weights = np.concatenate([self._weights, np.zeros(slot)])
            self._weights[slot] = 0.0
            if self._rows is not None and not self._rows.put(slot, atom):
                self._rows = None
        return slot

    def _drop(self, slot):
        """The last atom takes the place of the one that goes."""
        del self._slots[self._keys[slot]]
        atom, key = self._atoms.pop(), self._keys.pop()
        if slot < len(self):
            self._atoms[slot], self._keys[slot], self._slots[key] = atom, key, slot
            self._weights[slot] = self._weights[len(self)]
            if self._rows is not None:
                self._rows.move(len(self), slot)

    def _settle(self):
        weights = self.weights
        if len(weights) and weights[weights.argmin()] <= 0.0:
            for slot in np.flatnonzero(weights <= 0.0)[::-1]:
                self._drop(slot)
            weights = self.weights
        weights /= np.add.reduce(weights)


class _Rows:
    """Small atoms as rows: dense, or places and values, padded with zeros at place 0."""

    def __init__(self, first):
        dense = first.size <= (SMALL if isinstance(first, DenseAtom) else DENSE)
        self.places = None if dense else np.zeros((4, 1), np.int64)
        self.values = np.zeros((4, first.size if dense else 1))

    def put(self, slot, atom):
        """Write an atom into a row; False if it is not small."""
        entries = ((), ())
        if self.places is not None:
            if atom.size > SMALL and type(atom).entries is DenseAtom.entries:
                return False  # it need not be looked through
            entries = atom.entries()
            if entries is None or len(entries[0]) > SMALL:
                return False
        n_rows, width = self.values.shape
        more = max(n_rows, slot + 1 - n_rows) if slot >= n_rows else 0
        wider = max(len(entries[0]) - width, 0)
        if more or wider:
            pads = (0, more), (0, wider)
            self.values = np.pad(self.values, pads)
            if self.places is not None:
                self.places = np.pad(self.places, pads)
        self.values[slot] = 0.0
        if self.places is None:
            atom.add_to(self.values[slot])
            return True
        self.places[slot] = 0
        self.places[slot, : len(entries[0])], self.values[slot, : len(entries[0])] = entries
        return True

    def move(self, source, slot):
        self.values[slot] = self.values[source]
        if self.places is not None:
            self.places[slot] = self.places[source]

    def scores(self, gradient, n):
        if self.places is None:
            return self.values[:n] @ gradient
        return np.einsum("ij,ij->i", self.values[:n], gradient[self.places[:n]])

    def combine(self, weights, size):
        n = len(weights)
        if self.places is None:
            return weights @ self.values[:n]
        values = weights[:, None] * self.values[:n]
        return np.bincount(self.places[:n].ravel(), weights=values.ravel(), minlength=size)
