"""Losses clipped to an interval, averaged over Gaussian predictions."""

import numpy as np
from scipy.special import ndtr


def clipped_losses(residual, spread, noise, low, high):
    """Means of ``min(max(loss, low), high)`` for residuals that are normal with these variances."""
    constant = 0.5 * np.log(2.0 * np.pi * noise)
    scale = np.sqrt(np.maximum(spread, 1e-300))
    ends = [np.sqrt(2.0 * noise * max(end - constant, 0.0)) for end in (low, high)]
    found = []
    for end in ends:
        a, b = (-end - residual) / scale, (end - residual) / scale
        mass = ndtr(b) - ndtr(a)
        pa, pb = (np.exp(-0.5 * np.minimum(x * x, 1e4)) / np.sqrt(2.0 * np.pi) for x in (a, b))
        second = (residual**2 + spread) * mass + scale * (
            pa * (residual - end) - pb * (residual + end)
        )
        found.append((mass, second))
    inside = np.subtract(found[1], found[0])
    below, above = found[0][0], 1.0 - found[1][0]
    return low * below + high * above + constant * inside[0] + inside[1] / (2.0 * noise)
