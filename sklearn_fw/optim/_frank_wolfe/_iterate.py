"""A point of a domain, what its oracle answers there, and steps from it."""

import math
from typing import NamedTuple

import numpy as np

from ..._core import check
from ..._kernels.common.step_rules import AWAY, FW, PAIRWISE, move_mass, slope_and_limit
from ..domains._base import Atom, DenseAtom, RankOneAtom, as_atom, ask, is_ours


class Combination(NamedTuple):
    """A point to start from as atoms with weights of sum one."""

    atoms: list
    weights: np.ndarray


class Iterate:
    """The part of a method for one domain: all gradients here are those to descend.

    ``gap`` is what the oracle's answer promises and ``slack`` what it may miss by its bound: the
    certificate is their sum. ``away_gap`` is what leaving the worst atom promises. ``active`` keeps
    the point as a combination, for steps away from its atoms, and ``lazy`` makes it from that at
    its first use only. ``known`` starts are in the domain, which can be costly to find out.
    """

    def __init__(
        self, domain, name=None, *, start=None, active=False, known=False, refresh=1, lazy=False,
        size=None,
    ):  # fmt: skip
        self.domain, self.name, self.n_calls, self._moves = domain, name, 0, refresh > 1
        self.active, self.lazy, self.seeks_worst = None, lazy, active
        atoms, weights = start if isinstance(start, Combination) else ([start], [1.0])
        atoms = [start_of(domain, name, atom, known, size) for atom in atoms]
        combined = ActiveSet(atoms, weights)
        self.point = combined.point()
        if active or lazy:
            self.active = combined
        self.atom = self.worst = None
        self.gap = self.slack = self.ahead = self.away_gap = 0.0
        # Whether `answer` can come closer with more work, to a slack of ``wanted``.
        self.can_refine, self.wanted = getattr(domain, "can_refine", False), None

    @property
    def point(self):
        """The point as an array, which must not be changed."""
        if self._point is None:
            self._point = self.active.point()
        return self._point

    @point.setter
    def point(self, point):
        self._point = point
        self._last = None  # kind and array of the last direction from here

    def look(self, gradient, here=None):
        here = float(gradient.dot(self.point)) if here is None else here
        self._gradient, self._here = gradient, here
        self.answer()
        if self.seeks_worst:
            scores = self.active.scores(gradient)
            self.worst = int(scores.argmax())
            self.away_gap = float(scores[self.worst]) - here

    def answer(self):
        gradient, point = self._gradient, None if self.lazy else self.point
        self._last = None
        self.atom = self.ask(self.domain, gradient, point, self._here)
        self.ahead = self.atom.dot(gradient)
        self.slack = 0.0
        if point is None:
            self.gap = self._here - self.ahead
        else:  # entries that agree add no rounding errors
            self.gap = 0.0 - float(gradient.dot(self.direction(FW)))
        if self.atom.bound is not None:
            self.slack = max(self.ahead - self.atom.bound, 0.0)

    def ask(self, domain, gradient, point, here=None):
        self.n_calls += len(getattr(domain, "blocks", "1"))
        last = self.atom if domain is self.domain else None
        atom = ask(domain, gradient, _of(self.name), last, self.wanted)
        if point is not None:
            check_answer(atom, self.name, gradient, point, here)
        if not is_ours(domain) and _is_outside(domain, atom.to_array()):
            raise ValueError(
                f"the lmo of {_of(self.name)} returned a point that its contains() refuses"
            )
        return atom

    def direction(self, kind):
        """The array by which a step of length one moves the point, which must not be changed."""
        if self._last is None or self._last[0] != kind:
            self._last = kind, self._direction(kind)
        return self._last[1]

    def _direction(self, kind):
        if kind == AWAY:
            direction = self.point.copy()
            self.active.atom(self.worst).add_to(direction, -1.0)
            return direction
        direction = -self.point if kind == FW else -self.active.atom(self.worst).to_array()
        self.atom.add_to(direction)
        return direction

    def longest(self, kind):
        if kind == FW:
            return 1.0
        if kind == PAIRWISE and self.active.atom(self.worst).key == self.atom.key:
            return math.inf  # nothing to move
        return self.active.longest(kind, self.worst)

    @property
    def n_atoms(self):
        return 0 if self.active is None else len(self.active)

    def advance(self, kind, step):
        if self.lazy:
            self.active.step(kind, step, self.atom)
            self.point = None
            return
        if self.active is None:
            # A new array each time: a user's function may keep the one that it was given.
            self.point = self.point + step * self.direction(kind)
            return
        ahead = self.direction(kind) if self._moves else None
        self.active.step(kind, step, None if kind == AWAY else self.atom, self.worst)
        self.point = self.active.point() if ahead is None else self.point + step * ahead

    def refresh(self):
        if self.active is not None:
            self.point = None if self.lazy else self.active.point()


def start_of(domain, name, point=None, known=False, size=None):
    """A checked atom to start from; ``size`` is that of points where the domain has none."""
    which, given = f"the start of {name}" if name else "the start", point is not None
    if given:
        atom = point
    elif hasattr(domain, "start"):
        atom, which = domain.start(), f"what start() of {_of(name)} returned"
    else:
        size = getattr(domain, "size", size)
        if size is None:
            point = "start=(x, y)" if name else "start"
            raise ValueError(f"{_of(name)} has no start(): give {point}, or derive it from Domain")
        # Not zeros: an oracle without a case for them may divide by their length.
        atom = ask(domain, np.full(check.integer(size, "size", 1), -1.0), _of(name))
    if not isinstance(atom, Atom):
        atom = check.numbers(atom, which)
    size = getattr(domain, "size", atom.size)
    size = check.integer(size, f"the size of {_of(name)}", 0 if known else 1)
    atom = as_atom(atom, size, which)
    if given and not known and _is_outside(domain, atom.to_array()):
        raise ValueError(f"{which} is not in {_of(name)}")
    return atom


def _of(name):
    return f"domain_{name}" if name else "domain"


def _is_outside(domain, point, tol=None):
    """Whether a point violates a constraint that is known; factors of a product may have none."""
    tol = 1e-6 * max(1.0, np.abs(point).sum()) if tol is None else tol
    if hasattr(domain, "blocks"):
        parts = zip(domain.domains, domain.blocks)
        return any(_is_outside(factor, point[block], tol) for factor, block in parts)
    return hasattr(domain, "contains") and not domain.contains(point, tol)


def check_answer(atom, name, gradient, point, here=None):
    """Refuse an answer that is worse than another point of the domain by more than it admits."""
    lowest = atom.dot(gradient) if atom.bound is None else atom.bound
    loss = lowest - (gradient @ point if here is None else here)
    if loss <= 0.0:
        return
    size = np.abs(gradient) @ (np.abs(atom.to_array()) + np.abs(point))
    if not loss <= 1e-6 * size:
        raise ValueError(
            f"the lmo of {_of(name)} returned a point that is worse than the current one by "
            f"{loss:.3g}: it must minimize <gradient, v> over a set with all iterates"
        )


SMALL = 1024  # entries of an atom up to which one product for all atoms beats a loop over them
DENSE = 128  # length of an atom up to which zeros cost less than to know where they are


class ActiveSet:
    """Atoms with positive weights of sum one, and the steps that methods take on them.

    A *slot* is the place of an atom; it is valid until the next step. Steps longer than allowed are
    cut to the longest one, which removes an atom. Sparse or low-rank atoms are never made dense.
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
                slot = self.include(atom)
                self._weights[slot] += weight  # a new array, if it had to grow
        self._settle()

    def __len__(self):
        return len(self._atoms)

    @property
    def atoms(self):
        return list(self._atoms)

    @property
    def weights(self):
        return self._weights[: len(self._atoms)]

    def point(self, weights=None):
        """The combination itself, free of the rounding errors of earlier steps."""
        if weights is None:
            weights = self.weights
            weights /= np.add.reduce(weights)
        if self._rows is not None:
            return self._rows.combine(weights, self._atoms[0].size)
        if all(type(atom) is RankOneAtom for atom in self._atoms):
            left = np.array([atom.left for atom in self._atoms])
            right = np.array([atom.right for atom in self._atoms])
            return ((left.T * weights) @ right).ravel()
        x = np.zeros(self._atoms[0].size)
        for atom, weight in zip(self._atoms, weights.tolist()):
            atom.add_to(x, weight)
        return x

    def scores(self, gradient):
        if self._rows is not None:
            return self._rows.scores(gradient, len(self))
        return np.array([atom.dot(gradient) for atom in self._atoms])

    def atom(self, slot):
        return self._atoms[slot]

    def longest(self, kind, slot=-1):
        return slope_and_limit(kind, 0.0, 0.0, float(self._weights[slot]))[1]

    def step(self, kind, gamma, atom=None, away=-1):
        """Move by a step of a kind, cut to the longest one.

        With the atom a in slot ``away``, to ``(1 - gamma) x + gamma atom`` (FW),
        ``x + gamma (atom - a)`` (PAIRWISE) or ``x + gamma (x - a)`` (AWAY).
        """
        longest = self.longest(kind, away)
        slot = -1 if atom is None else self.include(atom)
        move_mass(self._weights, len(self._atoms), kind, slot, away, min(gamma, longest), longest)
        if kind != PAIRWISE or not 0.0 < gamma < longest:  # else none is zero, nor the sum another
            self._settle()

    def reweigh(self, weights):
        """Set the weights and drop zeros; returns the former slots of the atoms that stay."""
        before = dict(self._slots)
        self.weights[:] = weights
        self._settle()
        return [before[key] for key in self._keys]

    def include(self, atom):
        """The slot of an atom; a missing one gets a slot, with weight zero, until the next step."""
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

    def _settle(self):
        """Leave out atoms without weight, whose places the last ones take."""
        weights = self.weights
        if len(weights) and weights[weights.argmin()] <= 0.0:
            for slot in np.flatnonzero(weights <= 0.0)[::-1]:
                del self._slots[self._keys[slot]]
                atom, key = self._atoms.pop(), self._keys.pop()
                if slot < len(self):
                    self._atoms[slot], self._keys[slot], self._slots[key] = atom, key, slot
                    self._weights[slot] = self._weights[len(self)]
                    if self._rows is not None:
                        self._rows.move(len(self), slot)
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
            return self.values[:n].dot(gradient)
        return np.vecdot(self.values[:n], gradient.take(self.places[:n]))

    def combine(self, weights, size):
        n = len(weights)
        if self.places is None:
            return weights.dot(self.values[:n])
        values = weights[:, None] * self.values[:n]
        return np.bincount(self.places[:n].ravel(), weights=values.ravel(), minlength=size)
