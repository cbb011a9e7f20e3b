"""Narrow intervals: densities times widths, and expectation propagation on what they leave open.

Sites of intervals far narrower than a marginal are too precise for differences with that of the
prior. Over so short an interval the density is a parabola, so the variable is set to the middle.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpotrf
from scipy.sparse.csgraph import connected_components

from ._engine import LOG_ROOT_2PI, Propagation, propagate_wide

NARROW = 1e-3  # standard deviations of the prior
STRAIN = 0.01  # width over the length on which a density changes: the parabola is right to 1e-8
EQUAL = 1e-14  # of correlations
DEPENDENT = 1e-10  # share of a variance below which a variable is a combination of others


class OpenPart(NamedTuple):
    """The problem of the intervals that are not narrow, given those that are."""

    G: np.ndarray
    h: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    sites: Propagation | None  # None where all are narrow
    constant: float  # what the others add to the log probability
    error: float  # of that

    def blocks(self):
        """Parts without correlations between them, all single variables as one."""
        if self.sites is None:
            return []
        sd = np.sqrt(np.diag(self.G))
        linked = np.abs(self.G) > EQUAL * sd * sd[:, None]
        if np.all(linked[0]):
            return [self]
        _, labels = connected_components(linked, directed=False)
        labels[np.bincount(labels)[labels] == 1] = -1
        groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
        return [
            OpenPart(
                self.G[np.ix_(r, r)], self.h[r], self.lower[r], self.upper[r], self.sites.rows(r),
                0.0, 0.0,
            )
            for r in groups
        ]  # fmt: skip


def open_part(G, h, lower, upper, sites):
    """What is left to integrate after `propagate` found ``sites``."""
    return sites.open_part or OpenPart(G, h, lower, upper, sites, 0.0, 0.0)


def is_narrow(G, lower, upper):
    """Whether intervals are narrow beside the standard deviations of the prior."""
    return upper - lower < NARROW * np.sqrt(np.diag(G))


def propagate(G, h, lower, upper, *, fraction=None, start=None, **options):
    """As `propagate_wide`, with intervals of any width: equal ends are a value that is known.

    Log Z is that of the densities of known values and the masses of intervals. None too where known
    values depend on each other.
    """
    narrow = is_narrow(G, lower, upper)
    if fraction is not None:
        narrow &= fraction == 1.0
    while np.any(narrow):
        given = _Given(G, h, lower, upper, narrow)
        if not given.independent:
            if not np.all(lower[narrow] < upper[narrow]):
                return None
            break
        part = given.propagate_rest(lower, upper, fraction, start, options)
        if part is None:
            return None
        sites, strain = given.joined(part)
        if np.all(strain <= STRAIN):
            return sites
        narrow[given.rows[strain > STRAIN]] = False
    return propagate_wide(G, h, lower, upper, fraction=fraction, start=start, **options)


class _Given:
    """N(h, G) given that its ``narrow`` variables are in the middles of their intervals."""

    def __init__(self, G, h, lower, upper, narrow):
        self.h, self.rows, self.rest = h, np.flatnonzero(narrow), np.flatnonzero(~narrow)
        self.width = upper[self.rows] - lower[self.rows]
        self.middle = lower[self.rows] + 0.5 * self.width
        inner = G[np.ix_(self.rows, self.rows)]
        factor, failed = dpotrf(inner, lower=1)
        self.independent = not failed and _keep_variance(np.diag(factor) ** 2, np.diag(inner))
        if not self.independent:
            return
        self.inverse = solve_triangular(factor, np.eye(len(inner)), lower=True)
        self.cross = self.inverse @ G[np.ix_(self.rows, self.rest)]
        self.ends = self.inverse @ (self.middle - h[self.rows])
        outer = G[np.ix_(self.rest, self.rest)]
        self.G_rest = outer - self.cross.T @ self.cross
        self.independent = _keep_variance(np.diag(self.G_rest), np.diag(outer))
        self.log_density = -0.5 * self.ends @ self.ends + np.sum(
            np.log(np.diag(self.inverse)) - LOG_ROOT_2PI
        )

    def propagate_rest(self, lower, upper, fraction, start, options):
        """The problem that is left, with its fixed point; None where it has no mass."""
        rest = self.rest
        h = self.h[rest] + self.cross.T @ self.ends
        part = OpenPart(self.G_rest, h, lower[rest], upper[rest], None, self.log_density, 0.0)
        if not len(rest):
            return part
        sites = propagate_wide(
            *part[:4], fraction=None if fraction is None else fraction[rest],
            start=None if start is None else tuple(a[rest] for a in start), **options,
        )  # fmt: skip
        return None if sites is None else part._replace(sites=sites)

    def joined(self, part):
        """Fixed point of all rows, and widths in units of what each density changes on."""
        rows, n = self.rows, len(self.h)
        weights, precision = np.empty(n), np.empty((n, n))
        weights[rows] = self.inverse.T @ self.ends
        precision[np.ix_(rows, rows)] = self.inverse.T @ self.inverse
        if part.sites is not None:
            rest, inner = self.rest, part.sites
            slopes = self.inverse.T @ self.cross  # of what these variables say about the others
            moved = slopes @ inner.precision
            weights[rest] = inner.weights
            weights[rows] -= slopes @ inner.weights
            precision[np.ix_(rest, rest)] = inner.precision
            precision[np.ix_(rows, rest)], precision[np.ix_(rest, rows)] = -moved, -moved.T
            precision[np.ix_(rows, rows)] += moved @ slopes.T
        slope, curve = weights[rows], np.diag(precision)[rows]
        strain = self.width * np.sqrt(slope**2 + curve)
        wide = self.width > 0.0  # of others the density counts
        masses = np.log(self.width, out=np.zeros(len(rows)), where=wide)
        masses += self.width**2 / 24.0 * (slope**2 - curve)
        constant = part.constant + float(np.sum(masses))
        error = np.sum(strain**2) ** 2 / 200.0 + 1e-14 * abs(constant)
        part = part._replace(constant=constant, error=float(error))
        masses += 0.5 * (np.log(curve) - slope**2 / curve) - LOG_ROOT_2PI
        with np.errstate(divide="ignore", invalid="ignore"):
            tau = 12.0 / self.width**2
            own = {
                "mean": self.middle, "tau": tau, "nu": tau * self.middle,
                "cavity_mean": self.middle - slope / curve, "cavity_var": 1.0 / curve,
                "log_masses": masses,
            }  # fmt: skip
        return self._all_rows(own, part, weights, precision), strain

    def _all_rows(self, own, part, weights, precision):
        inner, values = part.sites, {}
        for name, mine in own.items():
            values[name] = np.empty(len(self.h))
            values[name][self.rows] = mine
            if inner is not None:
                values[name][self.rest] = getattr(inner, name)
        log_z, n_iter, n_restarts, converged = 0.0, 1, 0, True
        if inner is not None:
            log_z, n_iter, n_restarts = inner.log_z, inner.n_iter, inner.n_restarts
            converged = inner.converged
        return Propagation(
            log_z=log_z + part.constant, weights=weights, precision=precision, n_iter=n_iter,
            n_restarts=n_restarts, converged=converged, open_part=part, **values,
        )  # fmt: skip


def _keep_variance(left, prior):
    return bool(np.all(left > DEPENDENT * prior))
