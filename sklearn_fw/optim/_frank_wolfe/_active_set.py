"""Points as convex combinations of the atoms of a domain."""

import math

import numpy as np

__all__ = ["ActiveSet", "atom_key"]


def atom_key(atom):
    """Hashable description by which equal atoms are recognised: places and values of its entries.

    Oracles return the same numbers for the same vertex, so that comparing them exactly is enough.
    An atom of few nonzero entries has a short key; a zero has no sign.
    """
    support = np.flatnonzero(atom != 0.0)
    return support.tobytes() + atom[support].tobytes()


class ActiveSet:
    """Atoms with positive weights of sum one, and the steps that methods take on them.

    A *slot* is the place of an atom; it is valid until the next step. Steps longer than allowed are
    cut to the longest one, which removes the atom.

    Parameters
    ----------
    atoms : array-like of shape (n_atoms, size)
        Where to start; equal atoms are merged.
    weights : array-like of shape (n_atoms,), default=(1.0,)
        Their weights, scaled to sum one; atoms of weight zero are left out.
    """

    def __init__(self, atoms, weights=(1.0,)):
        atoms = np.asarray(atoms, dtype=np.float64)
        self._atoms = np.empty_like(atoms)
        self._weights = np.empty(len(atoms))
        self._slots = {}
        self._keys = []
        for atom, weight in zip(atoms, weights, strict=True):
            if weight > 0:
                self._add(atom, weight)
        self._normalise()

    def __len__(self):
        return len(self._keys)

    @property
    def atoms(self):
        """The atoms as the rows of a matrix."""
        return self._atoms[: len(self)]

    @property
    def weights(self):
        """The weights of the atoms."""
        return self._weights[: len(self)]

    def point(self):
        """The combination itself, free of the rounding errors of earlier steps."""
        return self.weights @ self.atoms

    def worst(self, gradient):
        """Slot of the atom of largest inner product; ties go to the first."""
        return int(np.argmax(self.atoms @ gradient))

    def is_at(self, slot, atom):
        """Whether the atom in a slot is this one."""
        return self._keys[slot] == atom_key(atom)

    def longest_away(self, slot):
        """Longest step away from an atom; infinite if it is the only one."""
        weight = float(self._weights[slot])
        others = 1.0 - weight if len(self) > 1 else 0.0
        return weight / others if others > 0.0 else math.inf

    def longest_swap(self, slot):
        """Longest step from an atom to another one."""
        return float(self._weights[slot])

    def towards(self, atom, step):
        """Move to ``(1 - step) x + step atom``."""
        if step >= 1.0:
            self._slots.clear()
            self._keys.clear()
        self.weights[:] *= 1.0 - step
        self._add(atom, step)
        self._normalise()

    def away(self, slot, step):
        """Move to ``x + step (x - atom)``."""
        if step >= self.longest_away(slot):
            self._drop(slot)
        elif len(self) > 1:
            self.weights[:] *= 1.0 + step
            self._weights[slot] -= step
        self._normalise()

    def swap(self, slot, atom, step):
        """Move to ``x + step (atom - atom in the slot)``."""
        if self.is_at(slot, atom):
            return
        step = min(step, self.longest_swap(slot))
        if step == self.longest_swap(slot):
            self._drop(slot)
        else:
            self._weights[slot] -= step
        self._add(atom, step)
        self._normalise()

    def _add(self, atom, weight):
        if weight <= 0.0:
            return
        key = atom_key(atom)
        slot = self._slots.get(key)
        if slot is not None:
            self._weights[slot] += weight
            return
        slot = len(self)
        if slot == len(self._weights):
            self._atoms = np.concatenate([self._atoms, np.empty_like(self._atoms)])
            self._weights = np.concatenate([self._weights, np.empty_like(self._weights)])
        self._atoms[slot], self._weights[slot] = atom, weight
        self._slots[key] = slot
        self._keys.append(key)

    def _drop(self, slot):
        """The last atom takes the place of the one that goes."""
        del self._slots[self._keys[slot]]
        key = self._keys.pop()
        if slot < len(self):
            self._keys[slot], self._slots[key] = key, slot
            self._atoms[slot] = self._atoms[len(self)]
            self._weights[slot] = self._weights[len(self)]

    def _normalise(self):
        for slot in np.flatnonzero(self.weights <= 0.0)[::-1]:  # lost to rounding
            self._drop(slot)
        self.weights[:] /= self.weights.sum()
