"""Quadratics over the atoms found so far: corrections of all weights, and steps in one kernel."""

from functools import cached_property

import numpy as np
from scipy.linalg.lapack import dposv
from sklearn.exceptions import ConvergenceWarning

from ..._core import check
from ..._core.loop import drive
from ..._core.warnings import warn
from ..._kernels import lazy
from ..domains._base import UnitAtom, as_atom, is_ours
from ..domains._sets import ConvexHull, L1Ball, Simplex
from ..objectives import Composite, Objective
from ._core import KINDS, Minimization, checked_derivatives
from ._iterate import ActiveSet, Combination

INNER_STEPS = 2000  # of one correction at most
FAR = 1e3  # length of a sum, this many times shorter than its terms, that is looked at once more
FLAT = 1e-12  # second derivatives over slopes that are rounding
INNER_SHARE = 0.01  # of the gap, to which a correction goes where that is more than tol
# Difference of a value from that of a parabola, over the terms of its change and over the largest.
UNEQUAL, ROUNDING = 1e-6, 1e-11


class Correction(Minimization):
    """Each step minimizes over the hull of all atoms in use, by pairwise steps on their weights."""

    def advance(self):
        active = self.iterate.active
        active.include(self.iterate.atom)
        before = active.weights.copy()
        weights = self.corrected(before)
        self.step_length = 0.5 * float(np.abs(weights - before).sum())
        kept = active.reweigh(weights)
        self.n_drop += len(weights) - len(kept)
        self.n_good += 1
        self.land(kept)

    def land(self, kept):
        """Find the point of the new weights, of the atoms that were in the slots ``kept``."""
        self.refresh()

    def corrected(self, weights):
        active = self.iterate.active
        inner = Minimization(
            self._on_weights(active), Simplex(len(active)), variant="pairwise", rule=self.rule,
            start=Combination([UnitAtom(len(active), i) for i in range(len(active))], weights),
            tol=max(self.tol, INNER_SHARE * self.gap), refresh=100,
        )  # fmt: skip
        drive(inner, tol=inner.tol, max_iter=INNER_STEPS)
        return inner.iterate.point

    def _on_weights(self, active):
        if self.image is not None:
            images = [self.image_of(atom) for atom in active.atoms]
            return Composite(self.objective.slopes, np.transpose(images))

        def function(weights):
            value, gradient = self.objective(active.point(weights))
            return value, active.scores(gradient)

        return function


class Secants(Objective):
    """A function of which only gradients are known, which change as those of a quadratic do.

    ``is_quadratic`` is that of the values so far. Images are distances from a point of the domain.
    """

    is_quadratic = True

    def __init__(self, function, center):
        self.function, self.center, self.size = function, center, center.size
        self._last, self._largest, self._changes = None, 0.0, {}

    def image(self, point):
        return (point if isinstance(point, np.ndarray) else point.to_array()) - self.center

    def slopes(self, image):
        x = self.center + image
        value, gradient = checked_derivatives(self.function(x), x, who="objective")
        if self._last is not None:
            before, lower, slopes = self._last
            ahead = image - before
            ends = np.array([slopes @ ahead, gradient @ ahead])
            error = abs(value - lower - 0.5 * ends.sum())
            if error > UNEQUAL * np.abs(ends).sum() + ROUNDING * self._largest:
                self.is_quadratic = False
        self._last, self._largest = (image, value, gradient), max(self._largest, abs(value))
        return value, gradient.copy()

    def adjoint(self, slopes):
        return slopes

    def _change(self, image):
        key, opposite = image.tobytes(), (0.0 - image).tobytes()
        if opposite in self._changes:
            return -self._changes[opposite]
        if key not in self._changes:
            if 2 * self.size * len(self._changes) >= MEMORY:  # keys are as long as gradients
                self._changes.clear()
            self._changes[key] = self.slopes(image)[1] - self._at_zero
        return self._changes[key]

    @cached_property
    def _at_zero(self):
        return self.slopes(np.zeros(self.size))[1]


class QuadraticCorrection(Correction):
    """The same in closed form, for quadratic objectives: by the inner products of all atoms.

    With "min_norm_point" a step goes to the minimum over the affine hull of the atoms as far as
    weights stay positive; with "fully_corrective" to the minimum over their hull.
    """

    def __init__(self, objective, domain, **options):
        super().__init__(objective, domain, rule=None, **options)
        atoms = self.iterate.active.atoms
        self._space = rows = np.array([objective.image(atom) for atom in atoms])
        self.gram = np.array([objective.inner(row, rows) for row in rows])
        _, self.origin = objective.slopes(np.zeros(rows.shape[1]))
        self.products, self.lengths = -(rows @ self.origin), np.linalg.norm(rows, axis=1)

    rows = property(lambda self: self._space[: len(self.products)])

    @property
    def is_slow(self):
        # Steps of length zero: rounding leaves no more.
        return self.step_length == 0.0 or not self.objective.is_quadratic

    def corrected(self, weights):
        if len(weights) > len(self.products):
            self._append(self.objective.image(self.iterate.atom))
        if self.variant == "min_norm_point":
            # Linear functions have inner products of zero.
            scale = max(np.diagonal(self.gram).max(), FLAT * np.abs(self.products).max(), 1e-300)
            return nearest_mean(weights, self.gram / scale, self.products / scale)
        return maximize_on_simplex(self.gram, self.products, weights, 0.5 * self.tol)

    def _append(self, image):
        if len(self.products) == len(self._space):
            self._space = np.concatenate([self._space, np.empty_like(self._space)])
        self.products = np.append(self.products, -(image @ self.origin))
        self.lengths = np.append(self.lengths, np.linalg.norm(image))
        self.rows[-1] = image
        self.gram = _bordered(self.gram, self.objective.inner(image, self.rows))

    def land(self, kept):
        """The same by the images of the atoms, where their sum loses few digits."""
        if len(kept) < len(self.products):
            moved = [i for i, k in enumerate(kept) if i != k]  # from the end
            self._space[moved] = self._space[[kept[i] for i in moved]]
            self.gram = self.gram[np.ix_(kept, kept)]
            self.products, self.lengths = self.products[kept], self.lengths[kept]
        weights = self.iterate.active.weights
        image = weights @ self.rows
        is_exact = weights @ self.lengths <= FAR * np.linalg.norm(image)
        if is_exact or self.lazy:  # whose point is as large as all entries of a matrix
            self.iterate.refresh()
            self.image, self._n_moves = image, int(not is_exact)
        else:
            self.refresh()


# Added to the diagonal, as a share of its largest entry. Where the quadratic is flat, steps then
# are long instead of infinite, and end where a weight becomes zero.
SLOPED = 1e-13
RIDGE = 1e-12  # added to the diagonal of singular matrices, as a share of its largest entry


class HullProjection:
    """Nearest points of a convex hull that is known by its oracle: Wolfe's minimum norm point.

    Frank-Wolfe on half the squared distance with corrections of all weights. The atoms and their
    Gram matrix stay for the next point. No step size has to be chosen, and most hulls are small
    and used thousands of times, so the common loop would only slow it down.

    References
    ----------
    .. [1] P. Wolfe, "Finding the nearest point in a polytope", Mathematical Programming 11, 1976.
    .. [2] V. Niculae, A. Martins, M. Blondel, C. Cardie, "SparseMAP: differentiable sparse
       structured inference", ICML 2018.
    """

    def __init__(self, domain):
        self.domain, self.active = domain, None

    def project(self, p, accuracy=1e-9, max_iter=1000):
        n_calls = int(self.active is None)
        if n_calls:
            self.active = ActiveSet([self.domain.lmo(-p)])
            self.gram = np.array([self.active.scores(self.active.point())])
        self.products, before = self.active.scores(p), np.inf
        rounding = 1e-14 * max(1.0, np.abs(p).max(initial=0.0))
        while True:
            z = self._correct()
            ahead = p - z
            square, atom = ahead @ ahead, as_atom(self.domain.lmo(-ahead), len(p), "a vertex")
            n_calls += 1
            gap = atom.dot(ahead) - ahead @ z
            # No progress means that rounding decides which atoms stay.
            if gap <= accuracy or not square < before or (
                gap <= accuracy + rounding * np.abs(atom.to_array() - z).sum()
            ):  # fmt: skip
                return z, n_calls
            if n_calls >= max_iter:
                warn(
                    f"projection by an oracle stopped after {n_calls} calls at {gap:.3g} > "
                    f"{accuracy:.3g}",
                    ConvergenceWarning,
                )
                return z, n_calls
            before = square
            if self.active.include(atom) == len(self.gram):  # a new one
                x = atom.to_array()
                self.gram = _bordered(self.gram, self.active.scores(x))
                self.products = np.append(self.products, x @ p)

    def _correct(self):
        weights = nearest_mean(self.active.weights, self.gram, self.products)
        kept = self.active.reweigh(weights)
        if len(kept) < len(weights):
            self.gram, self.products = self.gram[np.ix_(kept, kept)], self.products[kept]
        return self.active.point()


def _bordered(gram, row):
    larger = np.empty((len(row), len(row)))
    larger[:-1, :-1], larger[-1], larger[:, -1] = gram, row, row
    return larger


NEAR = 1e-12  # distance from a hull, relative, that is none


def is_in_hull(domain, x, tol):
    """Whether the nearest point of a domain, which its oracle finds, is within ``tol``."""
    tol = max(tol, NEAR * max(1.0, np.abs(x).max()))
    ahead = x / max(np.abs(x).max(), 1e-300)
    behind = ahead @ x - domain.lmo(-ahead).dot(ahead)  # of all vertices, at any scale of x
    if behind > tol * np.linalg.norm(ahead):
        return False
    nearest, _ = HullProjection(domain).project(x, accuracy=0.25 * tol**2)
    return np.linalg.norm(nearest - x) <= tol


def nearest_mean(weights, gram, products):
    """Weights of the mean of some points that is nearest to p, zero for those without use.

    Goes from the given weights, of sum one, towards the nearest point of the affine hull, as far as
    all stay positive. Inner products of the points with each other and with p are given.
    """
    answer, used, weights = np.zeros(len(weights)), np.arange(len(weights)), weights.copy()
    while True:
        # Ones added to the inner products make the matrix definite as long as points are affinely
        # independent, and change nothing where weights have sum one.
        matrix = (gram if len(used) == len(gram) else gram[np.ix_(used, used)]) + 1.0
        sides = np.ones((len(used), 2))
        sides[:, 0] = products[used]
        _, solved, fault = dposv(matrix, sides)
        if fault:  # flat directions are then long ones
            matrix = matrix + np.diag(np.full(len(used), RIDGE * matrix.diagonal().max()))
            _, solved, fault = dposv(matrix, sides)
        if fault:
            solved = np.linalg.lstsq(matrix, sides, rcond=None)[0]
        free, ones = solved.T
        goal = free + ones * ((1.0 - free.sum()) / ones.sum())
        if np.all(goal > 0.0):
            answer[used] = goal / goal.sum()
            return answer
        falling = goal <= 0.0
        ratio = weights[falling] / np.maximum(weights[falling] - goal[falling], 1e-300)
        weights = weights + ratio.min() * (goal - weights)
        weights[np.flatnonzero(falling)[ratio.argmin()]] = 0.0
        kept = weights > 0.0
        used, weights = used[kept], weights[kept] / weights[kept].sum()


def maximize_on_simplex(gram, linear, weights, accuracy):
    """Weights a of sum one that maximize ``<linear, a> - a' gram a / 2``.

    One weight of largest slope joins at a time, and all are corrected, as in Wolfe's method.
    """
    scale = max(np.diagonal(gram).max(), np.abs(linear).max(), 1e-300)
    gram, linear = gram / scale + np.diag(np.full(len(linear), SLOPED)), linear / scale
    value = -np.inf
    while True:
        slopes = linear - gram @ weights
        best = int(slopes.argmax())
        if slopes[best] - weights @ slopes <= accuracy / scale:
            return weights
        reached = 0.5 * (weights @ (linear + slopes))
        if not reached > value:  # rounding decides from here on
            return weights
        value = reached
        used = weights > 0.0
        used[best] = True
        used = np.flatnonzero(used)
        found = nearest_mean(weights[used], gram[np.ix_(used, used)], linear[used])
        weights = np.zeros_like(weights)
        weights[used] = found


scan = lazy("frank_wolfe.scan")

CHUNK = 50  # steps of one call, between which time limits are looked at
REFRESH = 1000  # steps after which slopes are computed again
PATIENCE = 500, 5  # steps, in all and for each atom in use, after which a run is slow
MOST = 1000  # atoms whose weights are corrected at once
MEMORY = 2**26  # numbers in the columns that are kept, 512 MiB


def can_scan(objective, domain, step_size):
    return (
        check.is_named(step_size, "exact")
        and isinstance(objective, Objective) and objective.is_quadratic and is_ours(objective)
        and type(domain) in (L1Ball, Simplex, ConvexHull) and "lmo" not in vars(domain)
    )  # fmt: skip


class ScanRun(Minimization):
    """A `Minimization` by exact steps, which remembers the inner products of atoms that it met.

    A step then costs one pass over the slopes in all columns, and a product with the transposed
    matrix only where an atom is new. When these take too much memory it goes on as its base does.
    """

    def __init__(self, objective, domain, *, variant, max_iter, is_watched=False, **options):
        super().__init__(objective, domain, variant=variant, **options)
        self.max_iter, self.hull, self._since = max_iter, None, None
        self._chunk_size = 1 if is_watched else CHUNK
        self.points = getattr(domain, "points", None)  # of a hull, else atoms are unit vectors
        # The factor of the columns that an atom is, and whether each column stands for two atoms.
        self.scale, self.signed = getattr(domain, "radius", 1.0), type(domain) is L1Ball

    @property
    def is_slow(self):
        n_active = self.n_atoms if self.hull is None else int(self.hull.counts[scan.N_ACTIVE])
        steps, each = PATIENCE
        is_late = self.n_iter >= max(steps, each * n_active) and n_active <= MOST
        return is_late or not self.objective.is_quadratic

    # ---- the list of atoms ---------------------------------------------------------------------

    def _atom_of(self, number):
        domain = self.iterate.domain
        if self.points is not None:
            return domain._vertex(number)
        height = self.scale if number < domain.size else -self.scale
        return UnitAtom(domain.size, int(number % domain.size), height)

    def _on_columns(self, vector):
        return vector if self.points is None else self.points @ vector

    def _numbers_of(self, atoms):
        if self.points is not None:
            numbers = reversed(range(self.points.shape[0]))  # of equal points the first counts
            known = {self._atom_of(i).key: i for i in numbers}
            found = [known.get(atom.key) for atom in atoms]
        else:
            size = self.iterate.domain.size
            first = {self.scale: 0, -self.scale: size} if self.signed else {self.scale: 0}
            found = [
                a.place + first[a.height] if isinstance(a, UnitAtom) and a.height in first else None
                for a in atoms
            ]
        return None if None in found else found

    # ---- the run -------------------------------------------------------------------------------

    def step(self):
        if self.n_iter < 0:
            return super().step()
        if self._since is None:
            self._begin()
        table = self._chunk() if self.hull is not None else None
        return table or super().step()

    def _chunk(self):
        """Rows of some steps of the kernel; empty when it has no room for the next."""
        n_left = min(self.max_iter - self.n_iter - 1, REFRESH - self._since, self._chunk_size)
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
            self.hand_over()
            if made:
                table[-1] = self.certify()
            if is_full:
                self.hull = None
            elif self.dual_gap > self.tol:
                self._load()
        return table

    def _row(self, n_calls, value, gap, away_gap, step, n_good, n_away, n_drop):
        # Gradients that were not computed are known for quadratics only.
        proof = "estimated_gap" if isinstance(self.objective, Secants) else "dual_gap"
        row = {"n_oracle_calls": n_calls, "objective": value, proof: gap, "step_size": step}
        if self.variant != "fw":
            row["pairwise_gap"] = gap + away_gap
            row |= {"n_good": n_good, "n_away": n_away, "n_drop": n_drop}
        return row

    def _begin(self):
        """Set up the kernel where the base stands, if that is a combination of listed atoms."""
        self._since, active = 0, self.iterate.active or ActiveSet([self.iterate.point])
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
        hull, m, k = self.hull, len(self.hull.slopes), self.hull.counts[scan.N_ACTIVE]
        heights = self.scale * np.where(hull.ids[:k] < m, 1.0, -1.0) * hull.weights[:k]
        x = np.bincount(hull.ids[:k] % m, heights, minlength=m)
        return self.state_at({"x": x if self.points is None else x @ self.points})

    def hand_over(self):
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
            self.best, self._is_exact = self.described(), False
        return super().certified_best()

    def _supply(self, number):
        """Have the column of an atom; False when the memory is full."""
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
        ahead = self.objective._change(image) / self.scale
        columns[self._n_columns] = self._on_columns(self.objective.adjoint(ahead))
        self.hull.slot[j] = self._n_columns
        self._n_columns += 1
        return True
