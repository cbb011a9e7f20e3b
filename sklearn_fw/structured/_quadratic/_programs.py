"""The least excess of the surrogate for one pair of predictions, a quadratic program."""

import numpy as np
import scipy.linalg as sl
from scipy.optimize import linprog, nnls

PROXIMITY = 1e-3
N_ROUNDS = 60
STILL = 1e-13
TINY = 1e-16  # what rounding leaves of zero
# The last residual is 1 / (1 + |y|^2) for the nearest feasible y, of which |y| is at most about one
# since zero scores are allowed; and zero if there is none.
NO_POINT = 0.25


class PairPrograms:
    """``min |v|^2 / (2 k)`` over v and q where the risk of i is least and the score of j largest.

    Scores are ``f = U v - P_F L q`` with the orthonormal basis U of the space and L of largest
    entry one. In the coordinates ``v / sqrt(k)`` and, times the root of `PROXIMITY`, those of q in
    the simplex, every round of the proximal-point method asks for the point of a polyhedron nearest
    to another one, which nonnegative least squares finds.
    """

    def __init__(self, space, among):
        self.space, self.among = space, among
        L = space.costs.T / space.costs.max()
        k, m = L.shape
        self.n_predictions, self.n_labels = k, m
        spread = sl.null_space(np.ones((1, m)))
        self.to_q = spread / np.sqrt(PROXIMITY)
        projected = space.projected[among] / space.costs.max()
        # Linear functions of a point (v, q), one in a row: their values at v = 0 and slopes.
        self.risk = L[among]
        self.risk_slope = np.column_stack(
            [np.zeros((len(among), space.rank)), L[among] @ self.to_q]
        )
        self.shift = -projected
        self.score_slope = np.column_stack([np.sqrt(k) * space.unit[among], -projected @ self.to_q])
        self.simplex_slope = np.column_stack([np.zeros((m, space.rank)), -self.to_q])

    def _rows(self, i, j, eps):
        """Slopes, values as functions of q, and limits of ``slope x + value q <= limit``."""
        slope = np.vstack(
            [
                self.risk_slope[i] - self.risk_slope[j],
                np.delete(self.risk_slope[i] - self.risk_slope, [i, j], axis=0),
                np.delete(self.score_slope - self.score_slope[j], j, axis=0),
                self.simplex_slope,
            ]
        )
        value = np.vstack(
            [
                self.risk[i] - self.risk[j],
                np.delete(self.risk[i] - self.risk, [i, j], axis=0),
                np.delete(self.shift - self.shift[j], j, axis=0),
                -np.eye(self.n_labels),
            ]
        )
        limit = np.zeros(len(slope))
        limit[0] = -eps
        return slope, value, limit

    def solve(self, i, j, eps):
        """The minimum, v and q; or infinity and None, where no q makes i so much better than j."""
        slope, value, limit = self._rows(i, j, eps)
        rank, n = self.space.rank, slope.shape[1]
        size = np.sqrt(np.sum(slope**2, axis=1))
        used = size > 1e-14
        q = np.full(self.n_labels, 1.0 / self.n_labels)
        if np.any(value[~used] @ q > limit[~used] + 1e-12):
            return np.inf, None, None
        slope, value, limit = slope[used], value[used], limit[used]
        system = np.empty((n + 1, len(slope)))
        system[:n] = -(slope / size[used, None]).T
        target = np.zeros(n + 1)
        target[-1] = 1.0
        best, v = np.inf, None
        for _ in range(N_ROUNDS):
            system[n] = (value @ q - limit) / size[used]
            weights, _ = nnls(system, target, maxiter=50 * len(slope))
            residual = target - system @ weights
            if residual[n] < NO_POINT:
                return np.inf, None, None
            point = -residual[:n] / residual[n]
            v = np.sqrt(self.n_predictions) * point[:rank]
            q = q + self.to_q @ point[rank:]
            before, best = best, float(point[:rank] @ point[:rank]) / 2.0
            if abs(before - best) <= STILL * max(1.0 / self.n_predictions, best):
                break
        q = np.maximum(q, 0.0)
        return (best if best > TINY else 0.0), v, q / q.sum()

    def largest_excess(self, i, j):
        """Largest excess of the risk of j over that of the best, i, with scores ``-P_F L q``."""
        scores = -self.shift  # P_F L, of which j has the least
        A = np.vstack(
            [
                np.delete(self.risk[i] - self.risk, i, axis=0),
                np.delete(scores[j] - scores, j, axis=0),
            ]
        )
        found = linprog(
            self.risk[i] - self.risk[j], A, np.zeros(len(A)),
            np.ones((1, self.n_labels)), [1.0], bounds=(0.0, None),
        )  # fmt: skip
        return -found.fun * self.space.costs.max() if found.status == 0 else 0.0
