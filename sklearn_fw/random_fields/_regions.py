"""Labellings improved by solving large parts of a field exactly, given the labels of the rest."""

import numpy as np

from .._core.budget import time_left
from ..inference._oracles._factor_elimination import FactorElimination

LARGEST_TABLE = 2**14  # of the elimination of one region
MOST_LAYERS = 12  # of a region, between layers that stay
FIRST_SIZE = 16  # variables of a region where layers are too wide
KICK_AFTER = 30  # regions in vain, before variables are made to change


class RegionSearch:
    """Search with neighbourhoods that are as large as elimination can solve.

    Layers of equal distance from a random variable are cut into bands, between which one layer
    keeps its labels: what is left is narrow on planar graphs and grids [1]_, and most of the field.
    Where it is too wide, bands get thinner, and at last the region is what random growth from one
    variable reaches first.

    References
    ----------
    .. [1] B. S. Baker, "Approximation algorithms for NP-complete problems on planar graphs",
       Journal of the ACM 41, 1994.
    """

    def __init__(self, field, forbidden, rng):
        self._field, self._forbidden, self._rng = field, forbidden, rng
        self._unary, self._factors = field.unary, list(zip(field.scopes, field.tables))
        near, self._of = [set() for _ in self._unary], [[] for _ in self._unary]
        for f, scope in enumerate(field.scopes):
            for i in scope:
                near[i].update(scope)
                self._of[i].append(f)
        self._near = [sorted(others - {i}) for i, others in enumerate(near)]
        self._thickness, self._size = MOST_LAYERS, FIRST_SIZE

    def improve(self, labels, patience, first):
        """Better labels, or the same.

        Ends with the time, after so many regions in vain, or, with ``first``, with allowed labels.
        """
        value, broken = self._look(labels)
        vain = 0
        while vain < patience and time_left() > 0.0 and (len(broken) or not first):
            root = int(self._rng.integers(len(self._near)))
            if len(broken):  # nothing else matters before these
                part = int(self._rng.choice(broken)) - len(self._near)
                root = (
                    int(self._rng.choice(self._factors[part][0]))
                    if part >= 0
                    else part + len(self._near)
                )
            try:
                step = self._region if vain < KICK_AFTER else self._kicked
                found = step(labels, root)
            except TimeoutError:
                break
            new, parts = self._look(found)
            # What rounding alone makes better is no reason to go on.
            vain = 0 if new > value + 1e-9 * max(abs(value), 1.0) else vain + 1
            if new >= value:
                labels, value, broken = found, new, parts
        return labels

    def _look(self, labels):
        """The score of labels, and the variables and factors that forbid them."""
        places = self._field._places(labels[None])[0]
        return self._field.theta[places].sum(), np.flatnonzero(self._forbidden[places])

    def _region(self, labels, root):
        """The labels with those of a region around a variable replaced by the best ones."""
        if self._thickness > 0:
            layer = self._layers(root)
        while self._thickness > 0:
            if time_left() <= 0.0:
                raise TimeoutError
            period = 1 + int(self._rng.integers(1, self._thickness + 1))
            free = layer % period != int(self._rng.integers(period))
            found = self._solved(free, labels)
            if found is not None:
                return found
            self._thickness -= max(self._thickness // 3, 1)
        while True:
            found = self._solved(self._growth(root), labels)
            if found is not None:
                self._size += 1
                return found
            self._size = int(0.8 * self._size)  # one variable always fits

    def _kicked(self, labels, root):
        """The labels after another state of one variable, what follows from it, and a region."""
        states = np.flatnonzero(self._unary[root] > -np.inf)
        found = labels.copy()
        found[root] = states[int(self._rng.integers(len(states)))]
        free = self._growth(root)
        free[root] = False
        found = self._solved(free, found)
        if found is None:
            self._size = int(0.8 * self._size)
            return labels
        free[root] = True
        again = self._solved(self._growth(root), found)
        return found if again is None else again

    def _layers(self, root):
        """Distance of each variable from the root; of other parts from some variable there."""
        layer = np.full(len(self._near), -1)
        for start in (root, *range(len(self._near))):
            now, depth = [start] if layer[start] < 0 else [], 0
            while now:
                layer[now] = depth
                depth += 1
                now = list({j for i in now for j in self._near[i] if layer[j] < 0})
        return layer

    def _growth(self, root):
        """A random connected set of variables."""
        free, reached, edge = np.zeros(len(self._near), bool), {root}, [root]
        for _ in range(max(self._size, 1)):
            if not edge:
                break
            i = edge.pop(int(self._rng.integers(len(edge))))
            free[i] = True
            new = [j for j in self._near[i] if j not in reached]
            reached.update(new)
            edge += new
        return free

    def _solved(self, free, labels):
        """The labels with the best ones of the free variables; None if there are too many."""
        number = (np.cumsum(free) - 1).tolist()
        inside = np.flatnonzero(free).tolist()
        unary = [self._unary[i] for i in inside]
        if not unary:
            return labels
        scopes, given, is_free = {}, labels.tolist(), free.tolist()
        for f in sorted({f for i in inside for f in self._of[i]}):
            scope, table = self._factors[f]
            left = [i for i in scope if is_free[i]]
            if len(left) < len(scope):
                table = table[tuple(slice(None) if is_free[i] else given[i] for i in scope)]
            key = tuple(number[i] for i in left)
            if len(key) == 1:
                unary[key[0]] = unary[key[0]] + table
            else:
                scopes[key] = scopes[key] + table if key in scopes else table
        elimination = FactorElimination(unary, list(scopes), list(scopes.values()))
        if elimination.largest_table() > LARGEST_TABLE:
            return None
        best = labels.copy()
        best[free] = elimination.argmax()[0][0]
        return best
