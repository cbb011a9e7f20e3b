"""Normalization and sampling of a log density on a box."""

from itertools import product

import numpy as np
from scipy.spatial.distance import cdist
from scipy.special import logsumexp

from .._core import check
from .._core.warnings import warn

NODES = 8  # Gauss-Legendre nodes on a panel
STILL = 1e-5  # change of the log integral
MAX_POINTS = 2_000_000
IMPORTANCE_DRAWS = 20_000
SCALES = (1.0, 0.5, 0.25)  # of the length scale, for proposals around data
GRID = {1: 4096, 2: 256}  # points per axis
RESAMPLED_DRAWS = 10_000
RESAMPLED_SIZE = 50  # effective draws for each one that is kept
WARM_UP, THIN, LEAPFROG, MAX_CHAINS = 500, 10, 20, 64


def resolve_support(support, rows, length_scale):
    """Corners (low, high) of the box that the parameter ``support`` describes."""
    if check.is_auto(support):
        low, high = rows.min(axis=0), rows.max(axis=0)
        width = np.where(high > low, high - low, 1.0)
        margin = width if length_scale is None else 3.0 * length_scale
        return low - margin, high + margin
    sides = support_sides(support)
    for side in sides:
        if side.ndim:
            check.shaped(side, "each side of support", rows.shape[1])
    low, high = (np.broadcast_to(side, rows.shape[1:]).copy() for side in sides)
    if not np.all(low < high):
        raise ValueError("support must be finite with low < high in every feature")
    return low, high


def support_sides(support):
    if not isinstance(support, tuple | list | np.ndarray) or len(support) != 2:
        raise ValueError(f"support must be 'auto' or a pair (low, high), got {support!r}")
    return [check.numbers(side, "support") for side in support]


class Box:
    """A log density on the product of intervals ``low <= x <= high``.

    Proposals are half uniform on the box, half Gaussians of three widths around the rows.
    """

    def __init__(self, support, log_density, rows, length_scale):
        self.low, self.high = support
        self.width = self.high - self.low
        self.log_density, self.rows = log_density, rows
        if length_scale is None:  # distances on which the density changes
            spread = rows.std(axis=0)
            length_scale = np.where(spread > 0, spread, 1.0)
        self.scale = np.broadcast_to(length_scale, rows.shape[1:])

    def contains(self, X):
        """Whether each row lies inside, the boundary included."""
        return np.all((self.low <= X) & (self.high >= X), axis=1)

    def log_integral(self, method, rng):
        """Logarithm of the integral, by "quadrature" or "importance" sampling."""
        return self._importance(rng) if method == "importance" else self._quadrature()

    def sample(self, n_samples, rng):
        """Draw rows: from a grid, by resampling, or else by Markov chains."""
        if len(self.low) <= 2:
            return self._sample_grid(n_samples, rng)
        draws, log_ratio, size = self._weighted_draws(RESAMPLED_DRAWS, rng)
        if size < RESAMPLED_SIZE * n_samples:
            return self.sample_hybrid(n_samples, rng)
        weight = np.exp(log_ratio - log_ratio.max())
        return draws[rng.choice(len(draws), size=n_samples, p=weight / weight.sum())]

    def _quadrature(self):
        """Log integral by composite Gauss-Legendre rules, panels halved until it stands still."""
        if len(self.low) > 3:
            raise ValueError(
                f"normalize='quadrature' takes up to 3 features, X has {len(self.low)}: use "
                "normalize='importance'"
            )
        panels = np.maximum(1, np.ceil(self.width / self.scale)).astype(int)
        previous = None
        while np.prod(NODES * panels.astype(float)) <= MAX_POINTS:
            value = self._rule(panels)
            if previous is not None and abs(value - previous) < STILL:
                return value
            previous, panels = value, 2 * panels
        raise ValueError(
            f"normalize='quadrature' did not converge within {MAX_POINTS} points: take "
            "'importance', a smaller support or a larger length_scale or sigma0"
        )

    def _rule(self, panels):
        nodes, weights = np.polynomial.legendre.leggauss(NODES)
        axes, logs = [], []
        for low, width, n in zip(self.low, self.width, panels):
            half = 0.5 * width / n
            centers = low + half * (2 * np.arange(n) + 1)
            axes.append((centers[:, None] + half * nodes).ravel())
            logs.append(np.tile(np.log(half * weights), n))
        # One slab of the first axis after the other keeps the points of a large rule out of memory.
        rest = np.array(list(product(*axes[1:])), dtype=np.float64)  # of shape (1, 0) for one axis
        rest_logs = np.array([sum(p) for p in product(*logs[1:])])
        slab = max(1, 100_000 // len(rest))
        parts = []
        for start in range(0, len(axes[0]), slab):
            first = axes[0][start : start + slab]
            points = np.column_stack([np.repeat(first, len(rest)), np.tile(rest, (len(first), 1))])
            log_weights = (logs[0][start : start + slab, None] + rest_logs).ravel()
            parts.append(logsumexp(self.log_density(points) + log_weights))
        return float(logsumexp(parts))

    def _propose(self, n, rng):
        d = len(self.low)
        draws = rng.uniform(self.low, self.high, size=(n, d))
        near = np.flatnonzero(rng.uniform(size=n) < 0.5)
        widths = np.multiply.outer(SCALES, self.scale)[rng.randint(len(SCALES), size=len(near))]
        centers = self.rows[rng.randint(len(self.rows), size=len(near))]
        draws[near] = centers + widths * rng.standard_normal((len(near), d))
        return draws

    def _log_proposal(self, X):
        n, d = self.rows.shape
        uniform = -float(np.log(self.width).sum())
        logs = [np.where(self.contains(X), uniform, -np.inf)]
        for scale in np.multiply.outer(SCALES, self.scale):
            constant = np.log(n * len(SCALES)) + np.log(scale).sum() + 0.5 * d * np.log(2 * np.pi)
            parts = [
                logsumexp(-0.5 * cdist(batch / scale, self.rows / scale, "sqeuclidean"), axis=1)
                for batch in np.array_split(X, max(1, len(X) * n // 2_000_000))
            ]
            logs.append(np.concatenate(parts) - constant)
        return logsumexp(logs, axis=0) - np.log(2.0)

    def _weighted_draws(self, n, rng):
        """Return (draws of the proposal in the box, log weights, effective number of draws)."""
        draws = self._propose(n, rng)
        draws = draws[self.contains(draws)]
        log_ratio = self.log_density(draws) - self._log_proposal(draws)
        return draws, log_ratio, np.exp(2 * logsumexp(log_ratio) - logsumexp(2 * log_ratio))

    def _importance(self, rng):
        _, log_ratio, size = self._weighted_draws(IMPORTANCE_DRAWS, rng)
        if size < 100:
            warn(
                f"normalize='importance' rests on {size:.0f} effective draws: raise length_scale "
                "or sigma0, or score without normalize",
                RuntimeWarning,
            )
        return float(logsumexp(log_ratio) - np.log(IMPORTANCE_DRAWS))

    def _sample_grid(self, n_samples, rng):
        """Draw from the density made constant on the cells of a grid."""
        d = len(self.low)
        per_axis = GRID[d]
        width = self.width / per_axis
        axes = [low + w * (np.arange(per_axis) + 0.5) for low, w in zip(self.low, width)]
        centers = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, d)
        log_mass = self.log_density(centers)
        mass = np.cumsum(np.exp(log_mass - log_mass.max()))
        cells = np.searchsorted(mass, rng.uniform(size=n_samples) * mass[-1])
        return centers[cells] + (rng.uniform(size=(n_samples, d)) - 0.5) * width

    def sample_hybrid(self, n_samples, rng):
        """Hybrid Monte Carlo, every other step an independent proposal that jumps between modes."""
        n_chains = min(n_samples, MAX_CHAINS)
        x = self.rows[rng.randint(len(self.rows), size=n_chains)]
        x = np.clip(x, self.low, self.high)
        value = self.log_density(x)
        step = 0.1 * self.scale
        kept = []
        for sweep in range(WARM_UP + THIN * -(-n_samples // n_chains)):
            if sweep % 2:
                new = self._propose(n_chains, rng)
                inside = self.contains(new)
                new = np.where(inside[:, None], new, x)
                new_value = self.log_density(new)
                log_ratio = new_value - value + self._log_proposal(x) - self._log_proposal(new)
                log_ratio[~inside] = -np.inf
            else:
                new, kinetic = self._leapfrog(x, step, rng)
                new_value = self.log_density(new)
                log_ratio = new_value - value + kinetic
            accepted = np.log(rng.uniform(size=n_chains)) < log_ratio
            if not sweep % 2 and sweep < WARM_UP:  # aim at 65 to 80 % acceptance
                rate = np.exp(np.minimum(log_ratio, 0.0)).mean()
                step = step * (1.1 if rate > 0.8 else 0.9 if rate < 0.65 else 1.0)
            x, value = np.where(accepted[:, None], new, x), np.where(accepted, new_value, value)
            if sweep >= WARM_UP and (sweep - WARM_UP) % THIN == THIN - 1:
                kept.append(x)
        return np.concatenate(kept)[:n_samples]

    def _leapfrog(self, x, step, rng):
        gradient, period = self.log_density.gradient, 2.0 * self.width
        momentum = rng.standard_normal(x.shape)
        start = 0.5 * (momentum**2).sum(axis=1)
        momentum = momentum + 0.5 * step * gradient(x)
        for turn in range(LEAPFROG):
            # Rows fold back at the sides, where their momenta change sign.
            offset = np.mod(x + step * momentum - self.low, period)
            folded = offset > self.width
            x = self.low + np.where(folded, period - offset, offset)
            momentum = np.where(folded, -momentum, momentum)
            momentum = momentum + (0.5 if turn == LEAPFROG - 1 else 1.0) * step * gradient(x)
        return x, start - 0.5 * (momentum**2).sum(axis=1)
