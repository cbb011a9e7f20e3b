"""Exact steps on quadratics over the hull of a list of atoms, many in one compiled call."""

import numpy as np

from ..._core.validation import is_named
from ..._kernels import lazy
from ..domains._base import UnitAtom, as_atom, is_ours
from ..domains._sets import ConvexHull, L1Ball, Simplex
from ..objectives._base import Objective
from ._core import KINDS, Minimisation
from ._corrective import QuadraticCorrection
from ._iterate import ActiveSet

scan = lazy("frank_wolfe.scan")

CHUNK = 250  # steps of one call, between which time limits are looked at
REFRESH = 1000  # steps after which slopes are made anew
PATIENCE = 500, 5  # steps, in all and for each atom in use, after which a run is slow
MOST = 1000  # atoms whose weights are corrected at once
MEMORY = 2**26  # numbers in the columns that are kept, 512 MiB


def can_scan(objective, domain, step_size):
    """Whether the steps of a run are those of the kernel."""
    return (
        is_named(step_size, "exact")
        and isinstance(objective, Objective) and objective.is_quadratic and is_ours(objective)
        and type(domain) in (L1Ball, Simplex, ConvexHull) and "lmo" not in vars(domain)
    )  # fmt: skip


class ScanRun(Minimisation):
    """A `Minimisation` by exact steps, which remembers the inner products of atoms that it met.

    A step then costs one pass over the slopes in all columns, and a product with the transposed
    matrix only where an atom is new. When these take too much memory it goes on as its base does.
    """

    def __init__(self, objective, domain, *, variant, max_iter, is_watched=False, **options):
        super().__init__(objective, domain, variant=variant, **options)
        self.max_iter, self.hull, self._since = max_iter, None, 0
        self._chunk_size = 1 if is_watched else CHUNK

    @property
    def is_slow(self):
        """Whether corrections of all weights are likely to end the run sooner."""
        steps, each = PATIENCE
        return self.n_iter >= max(steps, each * self.n_active) and self.n_active <= MOST

    @property
    def n_active(self):
        return self.n_atoms if self.hull is None else int(self.hull.counts[scan.N_ACTIVE])

    def corrected(self, options):
        """A run by corrections that goes on from here."""
        if self.hull is not None:
            self._hand_over()
        active = self.iterate.active
        options = {name: options[name] for name in ("tol", "accuracy", "refresh")}
        follower = QuadraticCorrection(
            self.objective, self.iterate.domain, affine=True,
            combination=(active.atoms, active.weights), **options,
        )  # fmt: skip
        follower.iterate.n_calls = self.iterate.n_calls
        for name in ("n_iter", "n_good", "n_away", "n_drop", "n_swap", "_least"):
            setattr(follower, name, getattr(self, name))
        follower.certify()
        return follower

    # ---- the list of atoms ---------------------------------------------------------------------

    @property
    def signed(self):
        """Whether each column stands for two atoms."""
        return type(self.iterate.domain) is L1Ball

    @property
    def scale(self):
        """The factor of the columns that an atom is."""
        return getattr(self.iterate.domain, "radius", 1.0)

    def _atom_of(self, number):
        domain = self.iterate.domain
        if type(domain) is ConvexHull:
            return as_atom(domain.points[number], domain.size, "a point")
        height = self.scale if number < domain.size else -self.scale
        return UnitAtom(domain.size, int(number % domain.size), height)

    def _on_columns(self, gradient):
        """Slopes in the columns."""
        domain = self.iterate.domain
        return domain.points @ gradient if type(domain) is ConvexHull else gradient

    def _numbers_of(self, atoms):
        """Numbers of atoms in the list; None if one is not there."""
        domain = self.iterate.domain
        if type(domain) is ConvexHull:
            known = {}
            for i, x in enumerate(domain.points):
                known.setdefault(as_atom(x, domain.size, "a point").key, i)
            found = [known.get(atom.key) for atom in atoms]
        else:
            heights = {self.scale: 0, -self.scale: domain.size} if self.signed else {self.scale: 0}
            found = [
                atom.place + heights[atom.height]
                if isinstance(atom, UnitAtom) and atom.height in heights
                else None
                for atom in atoms
            ]
        return None if None in found else found

    # ---- the run -------------------------------------------------------------------------------

    def step(self):
        if self.n_iter < 0:
            row = super().step()
            if self.dual_gap > self.tol:
                self._begin()
            return row
        table = self._chunk() if self.hull is not None else None
        return table or super().step()

    def _chunk(self):
        """Rows of some steps of the kernel; empty when it has no room for the next."""
        left = self.max_iter - self.n_iter - 1, REFRESH - self._since
        n_left = min(*left, self._chunk_size)
        rows, made = np.empty((n_left, scan.ROW)), 0
        while made < n_left and self._supply(int(self.hull.counts[scan.NEXT])):
            made += scan.steps(self.hull, KINDS[self.variant], self.signed, rows[made:])
            if self.hull.numbers[scan.GAP] <= self.tol:
                break
        n_calls = self.iterate.n_calls
        self._take_over(made)
        table = [self._row(n_calls + i, *row) for i, row in enumerate(rows[:made].tolist(), 1)]
        is_full = made < n_left and self.gap > self.tol
        if is_full or self._since >= REFRESH or self.gap <= self.tol:
            self._hand_over()
            if made:
                table[-1] = self.certify()
            if is_full:
                self.hull = None
            elif self.dual_gap > self.tol:
                self._load()
        return table

    def _row(self, n_calls, value, gap, away_gap, step, n_good, n_away, n_drop):
        row = {
            "n_oracle_calls": n_calls, "objective": value, "dual_gap": gap, "step_size": step
        }  # fmt: skip
        if self.variant != "fw":
            row["pairwise_gap"] = gap + away_gap
            row |= {"n_good": n_good, "n_away": n_away, "n_drop": n_drop}
        return row

    def _begin(self):
        """Set up the kernel where the base stands, if that is a combination of listed atoms."""
        active = self.iterate.active or ActiveSet([self.iterate.point])
        numbers = self._numbers_of(active.atoms)
        if numbers is None:
            return
        self._at_zero = self.objective.slopes(np.zeros_like(self.image))[1]
        origin = self._on_columns(self.objective.adjoint(self._at_zero))
        m = len(origin)
        n, k = m * (2 if self.signed else 1), len(numbers)
        self.hull = hull = scan.Hull(
            np.empty(m), np.ascontiguousarray(origin), np.empty((16, m)), np.full(m, -1),
            np.zeros(n, np.int64), np.zeros(n), np.full(n, -1), np.zeros(n, np.int64), np.zeros(n),
            np.zeros(9), np.zeros(8, np.int64),
        )  # fmt: skip
        hull.ids[:k], hull.weights[:k], hull.place[numbers] = numbers, active.weights, range(k)
        hull.counts[scan.N_ACTIVE] = k
        hull.numbers[[scan.TOL, scan.RADIUS, scan.BEST_GAP]] = self.tol, self.scale, np.inf
        self._n_columns = 0
        if all(self._supply(number) for number in numbers):
            self._load()
        else:
            self.hull = None

    def _load(self):
        """Go on from exact sums."""
        self.hull.slopes[:] = self._on_columns(self.gradient)
        self.hull.numbers[scan.VALUE] = self.value
        self.hull.numbers[scan.TOL] = self.tol
        scan.look(self.hull, self.signed)
        self._since = 0

    def _take_over(self, made):
        """Numbers of the base from those of the kernel."""
        numbers, counts = self.hull.numbers, self.hull.counts.tolist()
        self._since += made
        self.n_iter += made
        self.iterate.n_calls += made
        self.n_good, self.n_away = counts[scan.N_GOOD], counts[scan.N_AWAY]
        self.n_drop, self.n_swap = counts[scan.N_DROP], counts[scan.N_SWAP]
        self.value, self.step_length = float(numbers[scan.VALUE]), float(numbers[scan.STEP])
        self.iterate.gap, self.iterate.away_gap = numbers[[scan.GAP, scan.AWAY_GAP]].tolist()
        self.dual_gap = self.iterate.gap

    def state(self):
        if self.hull is None:
            return super().state()
        hull, k = self.hull, self.hull.counts[scan.N_ACTIVE]
        ids, weights, m = hull.ids[:k], hull.weights[:k], len(hull.slopes)
        if type(self.iterate.domain) is ConvexHull:
            x = weights @ self.iterate.domain.points[ids]
        else:
            heights = np.where(ids < m, self.scale, -self.scale)
            x = np.bincount(ids % m, weights=weights * heights, minlength=m)
        return self.described_state(x=x)

    def _hand_over(self):
        """Put the base where the kernel stands."""
        hull, k = self.hull, self.hull.counts[scan.N_ACTIVE]
        self._stand(hull.ids[:k], hull.weights[:k])
        self.refresh()

    def _stand(self, numbers, weights):
        active = ActiveSet([self._atom_of(number) for number in numbers.tolist()], weights)
        if self.iterate.active is not None:
            self.iterate.active = active
        self.iterate.point = active.point()

    def certified_best(self):
        hull = self.hull
        if hull is not None and hull.numbers[scan.BEST_GAP] < self.best.dual_gap:
            k = hull.counts[scan.N_BEST]
            self._stand(hull.best_ids[:k], hull.best_weights[:k])
            self.best = self.described()._replace(is_exact=False)
        return super().certified_best()

    def _supply(self, number):
        """Have the column of an atom; False when there is no room for it."""
        m = len(self.hull.slopes)
        j = number % m
        if self.hull.slot[j] >= 0:
            return True
        if (self._n_columns + 1) * m > MEMORY:
            return False
        columns = self.hull.columns
        if self._n_columns == len(columns):
            columns = np.empty((min(2 * len(columns), m), m))
            columns[: self._n_columns] = self.hull.columns
            self.hull = self.hull._replace(columns=columns)
        image = self.objective.image(self._atom_of(j))
        ahead = (self.objective.slopes(image)[1] - self._at_zero) / self.scale
        columns[self._n_columns] = self._on_columns(self.objective.adjoint(ahead))
        self.hull.slot[j] = self._n_columns
        self._n_columns += 1
        return True
