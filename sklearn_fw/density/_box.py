"""Normalisation and sampling of a log density on a box."""

from itertools import product

import numpy as np
from scipy.special import logsumexp

from .._core.validation import check_array_of_numbers, check_magnitude, is_auto
from .._core.warnings import warn

NODES = 8  # Gauss-Legendre nodes on a panel
MAX_POINTS = 2_000_000
IMPORTANCE_DRAWS = 20_000
SCALES = (1.0, 0.5, 0.25)  # of the length scale, for proposals around data
GRID = {1: 4096, 2: 256}  # points per axis
RESAMPLED_DRAWS = 10_000
RESAMPLED_SIZE = 50  # effective draws for each one that is kept
WARM_UP, THIN, LEAPFROG, MAX_CHAINS = 500, 10, 20, 64


class Box:
    """The product of intervals ``low <= x <= high``."""

    def __init__(self, low, high):
        self.low, self.high = low, high

    @property
    def width(self):
        """Lengths of the sides."""
        return self.high - self.low

    @property
    def log_volume(self):
        """Logarithm of the volume."""
        return float(np.log(self.width).sum())

    def contains(self, X):
        """Whether each row lies inside, the boundary included."""
        return np.all((self.low <= X) & (self.high >= X), axis=1)

    def reflect(self, X):
        """Fold rows back at the sides; returns them and the signs their momenta get."""
        period = 2.0 * self.width
        offset = np.mod(X - self.low, period)
        folded = offset > self.width
        return self.low + np.where(folded, period - offset, offset), np.where(folded, -1.0, 1.0)


def resolve_support(support, rows, length_scale):
    """Corners (low, high) of the box that the parameter ``support`` describes."""
    if is_auto(support):
        low, high = rows.min(axis=0), rows.max(axis=0)
        width = np.where(high > low, high - low, 1.0)
        margin = width if length_scale is None else 3.0 * length_scale
        return low - margin, high + margin
    sides = support_sides(support)
    if any(side.shape not in ((), rows.shape[1:]) for side in sides):
        raise ValueError(
            f"support has sides of shape {' and '.join(str(side.shape) for side in sides)}: pass "
            f"numbers, or one per feature, {rows.shape[1]}"
        )
    low, high = (np.broadcast_to(side, rows.shape[1:]).copy() for side in sides)
    if not np.all(low < high):
        raise ValueError("support must be finite with low < high in every feature")
    return low, high


def support_sides(support):
    """The two sides of a pair (low, high) as arrays."""
    if not isinstance(support, tuple | list | np.ndarray) or len(support) != 2:
        raise ValueError(f"support must be 'auto' or a pair (low, high), got {support!r}")
    sides = [check_array_of_numbers(side, "support") for side in support]
    for side in sides:
        check_magnitude(side, "support")
    return sides


def reach(rows, length_scale):
    """Distances on which the density changes, one per feature."""
    if length_scale is not None:
        return np.broadcast_to(length_scale, rows.shape[1:])
    spread = rows.std(axis=0)
    return np.where(spread > 0, spread, 1.0)


def log_integral(method, log_density, box, rows, length_scale, rng):
    """Logarithm of the integral over the box, by "quadrature" or "importance" sampling."""
    if method == "importance":
        return importance_normalizer(log_density, box, rows, reach(rows, length_scale), rng)
    if rows.shape[1] > 3:
        raise ValueError(
            f"normalize='quadrature' is for up to 3 features, X has {rows.shape[1]}: use "
            "normalize='importance'"
        )
    return quadrature_normalizer(log_density, box, reach(rows, length_scale))


def sample_box(log_density, gradient, box, rows, length_scale, n_samples, rng):
    """Draw rows inside the box: from a grid, by resampling, or else by Markov chains."""
    if rows.shape[1] <= 2:
        return sample_grid(log_density, box, n_samples, rng)
    scale = reach(rows, length_scale)
    drawn = resample(log_density, box, rows, scale, n_samples, rng)
    if drawn is not None:
        return drawn
    return sample_hybrid(log_density, gradient, box, rows, scale, n_samples, rng)


def quadrature_normalizer(log_density, box, length_scale, tol=1e-5):
    """Log integral by composite Gauss-Legendre rules, panels halved until it stands still."""
    panels = np.maximum(1, np.ceil(box.width / length_scale)).astype(int)
    previous = None
    while np.prod(NODES * panels.astype(float)) <= MAX_POINTS:
        value = _quadrature(log_density, box, panels)
        if previous is not None and abs(value - previous) < tol:
            return value
        previous, panels = value, 2 * panels
    raise ValueError(
        "normalize='quadrature' did not converge within "
        f"{MAX_POINTS} points: use normalize='importance', a smaller support or a larger "
        "length_scale or sigma0"
    )


def _quadrature(log_density, box, panels):
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    axes, logs = [], []
    for low, width, n in zip(box.low, box.width, panels):
        half = 0.5 * width / n
        centres = low + half * (2 * np.arange(n) + 1)
        axes.append((centres[:, None] + half * nodes).ravel())
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
        parts.append(logsumexp(log_density(points) + log_weights))
    return float(logsumexp(parts))


class Proposal:
    """Half the uniform distribution on the box, half Gaussians of three widths around the rows."""

    def __init__(self, box, rows, length_scale):
        self.box, self.rows = box, rows
        self.scales = [np.broadcast_to(s * length_scale, rows.shape[1:]) for s in SCALES]

    def sample(self, n, rng):
        """Draw rows; those around data may lie outside the box."""
        d = self.rows.shape[1]
        draws = rng.uniform(self.box.low, self.box.high, size=(n, d))
        near = np.flatnonzero(rng.uniform(size=n) < 0.5)
        widths = np.array(self.scales)[rng.randint(len(self.scales), size=len(near))]
        centres = self.rows[rng.randint(len(self.rows), size=len(near))]
        draws[near] = centres + widths * rng.standard_normal((len(near), d))
        return draws

    def log_density(self, X):
        """Log density of the mixture."""
        n, d = self.rows.shape
        logs = [np.where(self.box.contains(X), -self.box.log_volume, -np.inf)]
        for scale in self.scales:
            constant = np.log(n * len(self.scales)) + np.log(scale).sum()
            constant += 0.5 * d * np.log(2 * np.pi)
            parts = []
            for batch in np.array_split(X, max(1, len(X) * n // 2_000_000)):
                A, B = (batch - self.rows.mean(axis=0)) / scale, self.rows - self.rows.mean(axis=0)
                B = B / scale
                q = (A * A).sum(1)[:, None] + (B * B).sum(1) - 2.0 * A @ B.T
                parts.append(logsumexp(-0.5 * np.maximum(q, 0.0), axis=1))
            logs.append(np.concatenate(parts) - constant)
        return logsumexp(logs, axis=0) - np.log(2.0)


def weighted_draws(log_density, box, rows, length_scale, n, rng):
    """Return (draws of the proposal in the box, log weights, effective number of draws)."""
    proposal = Proposal(box, rows, length_scale)
    draws = proposal.sample(n, rng)
    draws = draws[box.contains(draws)]
    log_ratio = log_density(draws) - proposal.log_density(draws)
    return draws, log_ratio, np.exp(2 * logsumexp(log_ratio) - logsumexp(2 * log_ratio))


def resample(log_density, box, rows, length_scale, n_samples, rng):
    """Rows chosen by weight among draws of the proposal; None if too few of these carry weight."""
    draws, log_ratio, size = weighted_draws(
        log_density, box, rows, length_scale, RESAMPLED_DRAWS, rng
    )
    if size < RESAMPLED_SIZE * n_samples:
        return None
    weight = np.exp(log_ratio - log_ratio.max())
    return draws[rng.choice(len(draws), size=n_samples, p=weight / weight.sum())]


def importance_normalizer(log_density, box, rows, length_scale, rng):
    """Log integral by importance sampling; warns when few draws carry it."""
    _, log_ratio, size = weighted_draws(log_density, box, rows, length_scale, IMPORTANCE_DRAWS, rng)
    if size < 100:
        warn(
            f"normalize='importance' rests on an effective sample of {size:.0f} draws: raise "
            "length_scale or sigma0, or score without normalize",
            RuntimeWarning,
        )
    return float(logsumexp(log_ratio) - np.log(IMPORTANCE_DRAWS))


def sample_grid(log_density, box, n_samples, rng):
    """Draw from the density made constant on the cells of a grid, in one or two dimensions."""
    d = len(box.low)
    per_axis = GRID[d]
    width = box.width / per_axis
    axes = [low + w * (np.arange(per_axis) + 0.5) for low, w in zip(box.low, width)]
    centres = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, d)
    log_mass = log_density(centres)
    mass = np.cumsum(np.exp(log_mass - log_mass.max()))
    cells = np.searchsorted(mass, rng.uniform(size=n_samples) * mass[-1])
    return centres[cells] + (rng.uniform(size=(n_samples, d)) - 0.5) * width


def sample_hybrid(log_density, gradient, box, rows, length_scale, n_samples, rng):
    """Hybrid Monte Carlo, every other step an independent proposal that jumps between modes."""
    proposal = Proposal(box, rows, length_scale)
    n_chains = min(n_samples, MAX_CHAINS)
    x = rows[rng.randint(len(rows), size=n_chains)]
    x = np.clip(x, box.low, box.high)
    value = log_density(x)
    step = 0.1 * np.broadcast_to(length_scale, x.shape[1:])
    kept = []
    for sweep in range(WARM_UP + THIN * -(-n_samples // n_chains)):
        if sweep % 2:
            new = proposal.sample(n_chains, rng)
            inside = box.contains(new)
            new = np.where(inside[:, None], new, x)
            new_value = log_density(new)
            log_ratio = new_value - value + proposal.log_density(x) - proposal.log_density(new)
            log_ratio[~inside] = -np.inf
        else:
            new, kinetic = _leapfrog(gradient, box, x, step, rng)
            new_value = log_density(new)
            log_ratio = new_value - value + kinetic
        accepted = np.log(rng.uniform(size=n_chains)) < log_ratio
        if not sweep % 2 and sweep < WARM_UP:  # aim at 65 to 80 % acceptance
            rate = np.exp(np.minimum(log_ratio, 0.0)).mean()
            step = step * (1.1 if rate > 0.8 else 0.9 if rate < 0.65 else 1.0)
        x, value = np.where(accepted[:, None], new, x), np.where(accepted, new_value, value)
        if sweep >= WARM_UP and (sweep - WARM_UP) % THIN == THIN - 1:
            kept.append(x)
    return np.concatenate(kept)[:n_samples]


def _leapfrog(gradient, box, x, step, rng):
    momentum = rng.standard_normal(x.shape)
    start = 0.5 * (momentum**2).sum(axis=1)
    momentum = momentum + 0.5 * step * gradient(x)
    for turn in range(LEAPFROG):
        x, signs = box.reflect(x + step * momentum)
        momentum = signs * momentum
        momentum = momentum + (0.5 if turn == LEAPFROG - 1 else 1.0) * step * gradient(x)
    return x, start - 0.5 * (momentum**2).sum(axis=1)
