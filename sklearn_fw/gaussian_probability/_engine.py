"""Expectation propagation over intervals: sites, marginals, log Z and gradients.

All of it happens in the space of the bounded variables z, N(h, G) with lower < z < upper, in
coordinates of which the origin is the point of the box nearest to h: so tails keep their digits.
"""

from dataclasses import dataclass, replace

import numpy as np

from .._kernels.moments.gaussian import interval_sweep, propagate_boxes
from ._parallel import Marginals, interval_masses, parallel_sites

BLOCK = 48  # sites whose updates of the covariance are made together
WHOLE = 128  # sites below which one pass needs no blocks
RESTARTS = 20
TOGETHER = 60  # sweeps of all sites at once, before one site after another
DRAWN = ("weights", "mean", "tau", "log_masses")
LOG_ROOT_2PI = 0.5 * np.log(2.0 * np.pi)


@dataclass
class Propagation:
    """Fixed point of the sites of one box; arrays in coordinates z."""

    log_z: float
    weights: np.ndarray  # w, G w = mean - h
    precision: np.ndarray  # B, covariance G - G B G
    mean: np.ndarray
    tau: np.ndarray
    nu: np.ndarray
    cavity_mean: np.ndarray
    cavity_var: np.ndarray
    log_masses: np.ndarray
    n_iter: int
    n_restarts: int
    converged: bool
    open_part: tuple | None = None  # the problem that narrow intervals leave, where there are such

    def rows(self, rows):
        """What a draw needs to know of some variables that are independent of the others."""
        arrays = {name: getattr(self, name)[rows] for name in DRAWN}
        return replace(self, **arrays)

    def bound_gradients(self, lower, upper):
        """Gradients of log Z in the bounds."""
        gradients = []
        for bound, sign in ((lower, -1.0), (upper, 1.0)):
            with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
                log_density = (
                    -0.5 * (bound - self.cavity_mean) ** 2 / self.cavity_var
                    - 0.5 * np.log(self.cavity_var)
                    - LOG_ROOT_2PI
                )
                values = sign * np.exp(log_density - self.log_masses)
            gradients.append(np.where(np.isfinite(bound), values, 0.0))
        return gradients


def gaussian_masses(mean, var, tau, nu):
    """Log of the mean of exp(nu x - tau x^2 / 2) under N(mean, var)."""
    wide = 1.0 + tau * var
    return (nu * (mean + 0.5 * nu * var) - 0.5 * tau * mean**2) / wide - 0.5 * np.log(wide)


def _sweep_blocks(cov, mean, lower, upper, fraction, tau, nu, damping):
    """`interval_sweep` with the products of matrices made by blocks: the same numbers."""
    largest = 0.0
    for start in range(0, len(mean), BLOCK):
        b = slice(start, start + BLOCK)
        old_tau, old_nu, centre = tau[b].copy(), nu[b].copy(), mean[b].copy()
        inner_cov = np.ascontiguousarray(cov[b, b])
        change = interval_sweep(
            inner_cov, mean[b], lower[b], upper[b], fraction[b], tau[b], nu[b], damping
        )
        if not change >= 0.0:
            return change
        largest = max(largest, change)
        d_tau = tau[b] - old_tau
        step = (nu[b] - old_nu) - d_tau * centre
        columns = cov[:, b].copy()
        middle = np.eye(len(d_tau)) + cov[b, b] * d_tau  # I + S D, the transpose of I + D S
        try:
            solved = np.linalg.solve(middle, columns.T).T  # columns of the new covariance
        except np.linalg.LinAlgError:
            return -1.0
        move = solved @ step
        cov -= (solved * d_tau) @ columns.T
        moved = mean[b].copy()
        mean += move
        mean[b] = moved
    return largest


def _run(G, h, lower, upper, fraction, damping, tol, max_iter, first, whole):
    """Sites after sweeps from zero, or from ``first``: (tau, nu, sweeps, last change)."""
    p = len(h)
    tau, nu = np.zeros(p), np.zeros(p)
    if whole:
        change = np.zeros(1)
        n_iter = propagate_boxes(
            G, h[None], lower[None], upper[None], fraction, tau[None], nu[None], damping, tol,
            max_iter, change,
        )  # fmt: skip
        return tau, nu, int(n_iter[0]), float(change[0])
    if damping == 1.0:
        found = parallel_sites(G, h, lower, upper, fraction, tol, min(max_iter, TOGETHER), first)
        if found is not None:
            return found
    cov, mean = G.copy(), h.copy()
    for n_iter in range(1, max_iter + 1):
        change = _sweep_blocks(cov, mean, lower, upper, fraction, tau, nu, damping)
        if not change > tol:
            break
        if n_iter % 10 == 0:
            cov, mean = _marginals(G, h, tau, nu)
    return tau, nu, n_iter, change


def _marginals(G, h, tau, nu):
    now = Marginals(G, h, tau, nu)
    return G - G @ now.precision() @ G, now.mean


def log_factors(G, weights, half_log_det):
    """log of the integral of the prior times the Gaussian sites, in coordinates about its mean."""
    return -half_log_det - 0.5 * weights @ G @ weights


def propagate_wide(
    G, h, lower, upper, *, fraction=None, damping=1.0, tol=1e-5, max_iter=500, start=None
):
    """Sites of the box lower < z < upper under N(h, G); None where the box has no mass.

    Rows without variance must be gone. See Cunningham, Hennig, Lacoste-Julien (2011), with the
    stopping rule on all marginals. ``start`` has tau and nu of a problem nearby; it helps large
    problems only.
    """
    origin = np.clip(h, lower, upper)
    G = np.ascontiguousarray(G)
    fraction = np.ones(len(h)) if fraction is None else fraction
    low, high, centre = lower - origin, upper - origin, h - origin
    first = None if start is None else (start[0], start[1] - start[0] * origin)
    for n_restarts in range(RESTARTS + 1):
        tau, nu, n_iter, change = _run(
            G,
            centre,
            low,
            high,
            fraction,
            damping,
            tol,
            max_iter,
            first,
            whole=len(h) <= WHOLE or n_restarts > 0,
        )
        if np.isnan(change):
            return None
        if change >= 0.0:
            break
        damping *= 0.8
        first = None
    now = Marginals(G, centre, tau, nu)
    weights, mean = now.weights, now.mean
    # Coordinates about the mean: there log Z is a sum without large terms that cancel.
    shifted_nu = nu - tau * mean
    cavity_shift, cavity_var = now.about_mean(shifted_nu, fraction)
    masses, _, _ = interval_masses(low - mean, high - mean, cavity_shift, cavity_var)
    bounded = np.isfinite(low) | np.isfinite(high)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):  # without a fixed point
        sites = gaussian_masses(cavity_shift, cavity_var, tau / fraction, shifted_nu / fraction)
        log_z = log_factors(G, weights, now.half_log_det)
        log_z += float(np.sum((fraction * (masses - sites))[bounded]))
    return Propagation(
        log_z, weights, now.precision(), mean + origin, tau, nu + tau * origin,
        cavity_shift + mean + origin, cavity_var, masses, n_iter, n_restarts,
        bool(0.0 <= change <= tol),
    )  # fmt: skip
