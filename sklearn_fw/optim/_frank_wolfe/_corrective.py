"""Frank-Wolfe whose every step corrects the weights of all atoms found so far."""

import numpy as np

from ..._core.loop import drive
from ..domains._atoms import UnitAtom
from ..domains._sets import Simplex
from ..objectives._base import Objective
from ._core import Minimisation
from ._min_norm_point import maximise_on_simplex, nearest_mean

INNER_STEPS = 2000  # of one correction at most
FAR = 1e3  # length of a sum, so many times shorter than its terms, that is looked at once more
FLAT = 1e-12  # second derivatives over slopes that are rounding
INNER_SHARE = 0.01  # of the gap, to which a correction goes where that is more than tol


class Correction(Minimisation):
    """Each step minimises over the hull of all atoms in use, by pairwise steps on their weights."""

    def __init__(self, objective, domain, *, rule, **options):
        super().__init__(objective, domain, variant="fully_corrective", rule=rule, **options)

    def advance(self):
        active = self.iterate.active
        active.include(self.iterate.atom)
        before = active.weights.copy()
        weights = self.corrected(before)
        self.step_length = 0.5 * float(np.abs(weights - before).sum())
        n_before = len(active)
        kept = active.reweigh(weights)
        self.n_drop += n_before - len(active)
        self.n_good += 1
        self.land(kept)

    def land(self, kept):
        """Find the point of the new weights, of the atoms that were in the slots ``kept``."""
        del kept
        self.refresh()

    def corrected(self, weights):
        """Weights of all atoms, the new one among them, that minimise the objective."""
        active = self.iterate.active
        inner = Minimisation(
            self._on_weights(active), Simplex(len(active)), variant="pairwise", rule=self.rule,
            combination=([UnitAtom(len(active), i) for i in range(len(active))], weights),
            tol=max(self.tol, INNER_SHARE * self.gap), refresh=100,
        )  # fmt: skip
        drive(inner, tol=inner.tol, max_iter=INNER_STEPS)
        return inner.iterate.point

    def _on_weights(self, active):
        if self.image is None:
            return _Combined(self.objective, active)
        return _CombinedImages(self.objective, np.array([self.image_of(a) for a in active.atoms]))


class QuadraticCorrection(Correction):
    """The same in closed form, for quadratic objectives: by the inner products of all atoms.

    With ``affine`` a step goes to the minimum over the affine hull of the atoms as far as weights
    stay positive, as the min-norm-point method does; else to the minimum over their hull.
    """

    def __init__(self, objective, domain, *, affine=False, **options):
        super().__init__(objective, domain, rule=None, **options)
        self.variant = "min_norm_point" if affine else "fully_corrective"
        self.affine = affine
        atoms = self.iterate.active.atoms
        self.rows = np.array([objective.image(atom) for atom in atoms])
        self.gram = np.array([objective.inner(row, self.rows) for row in self.rows])
        _, self.origin = objective.slopes(np.zeros(self.rows.shape[1]))
        self.products = -(self.rows @ self.origin)

    def corrected(self, weights):
        if len(weights) > len(self.rows):
            self._append(self.objective.image(self.iterate.atom))
        if self.affine:
            # Linear functions have inner products of zero.
            scale = max(np.diagonal(self.gram).max(), FLAT * np.abs(self.products).max(), 1e-300)
            return nearest_mean(weights, self.gram / scale, self.products / scale)
        return maximise_on_simplex(self.gram, self.products, weights, 0.5 * self.tol)

    def _append(self, image):
        rows = np.vstack([self.rows, image])
        row = self.objective.inner(image, rows)
        gram = np.empty((len(rows), len(rows)))
        gram[:-1, :-1], gram[-1], gram[:, -1] = self.gram, row, row
        self.rows, self.gram = rows, gram
        self.products = np.append(self.products, -(image @ self.origin))

    def land(self, kept):
        """The same by the images of the atoms, where their sum loses few digits."""
        if len(kept) < len(self.rows):
            self.gram = self.gram[np.ix_(kept, kept)]
            self.rows, self.products = self.rows[kept], self.products[kept]
        weights = self.iterate.active.weights
        image = weights @ self.rows
        size = weights @ np.sqrt(np.einsum("ij,ij->i", self.rows, self.rows))
        is_exact = size <= FAR * np.linalg.norm(image)
        if is_exact or self.lazy:  # whose point is as large as all entries of a matrix
            self.iterate.refresh()
            self.image, self._n_moves = image, int(not is_exact)
        else:
            self.refresh()

    def refresh(self):
        self._n_moves = 0
        self.iterate.refresh()
        self.image = self.objective.image(self.iterate.point)


class _CombinedImages(Objective):
    """An objective as a function of the weights of some atoms, by their images."""

    def __init__(self, objective, images):
        self.objective, self.images, self.size = objective, images, len(images)

    def image(self, point):
        if isinstance(point, UnitAtom):
            return self.images[point.place] * point.height
        return point @ self.images

    def slopes(self, image):
        return self.objective.slopes(image)

    def adjoint(self, slopes):
        return self.images @ slopes


class _Combined:
    """The same for an objective without images."""

    def __init__(self, objective, active):
        self.objective, self.active = objective, active

    def __call__(self, weights):
        x = np.zeros(self.active.atom(0).size)
        for weight, atom in zip(weights.tolist(), self.active.atoms):
            if weight:
                atom.add_to(x, weight)
        value, gradient = self.objective(x)
        return value, self.active.scores(gradient)
