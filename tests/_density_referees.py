"""Slow, literal versions of the kernel Student-t density, in feature space and as printed."""

import numpy as np


def feature_space_variance(Phi, weight, phi, *, s, beta, formula):
    """``s (gamma + Q)`` from explicit features: Phi (n, D) of the data, phi (D,) of the point."""
    W = weight.sum()
    kappa, mean = beta + W, weight @ Phi / W
    centred = Phi - mean
    scatter = s * np.eye(Phi.shape[1]) + (centred.T * weight) @ centred
    if formula == "exact":
        scatter += beta * W / kappa * np.outer(mean, mean)
    difference = phi - W * mean / kappa
    return s * ((1 + kappa) / kappa + difference @ np.linalg.solve(scatter, difference))


def printed_variance(K, k_x, k_xx, *, s, beta):
    """Equations (4) and (5) of the paper, letter by letter."""
    n = len(K)
    centring = np.eye(n) - 1.0 / n
    norm = k_xx - 2 * k_x.sum() / (n + beta) + K.sum() / (n + beta) ** 2
    inner = k_x - k_x.sum() / n + (K.sum() - n * K.sum(axis=1)) / (n * (n + beta))
    matrix = s**2 * (np.eye(n) + 1.0 / beta) + s * centring @ K @ centring
    gamma = (1 + beta + n) / (beta + n)
    return s * (gamma + norm / s - inner @ np.linalg.solve(matrix, inner))


def finite_difference_volume(kernel, x, step=1e-3):
    """``1/2 log det`` of the mixed second differences of ``k(x, y)`` at ``y = x``."""
    d = len(x)
    G = np.empty((d, d))
    steps = step * np.eye(d)
    for i in range(d):
        for j in range(d):
            G[i, j] = sum(
                a * b * kernel((x + a * steps[i])[None], (x + b * steps[j])[None])[0, 0]
                for a in (-1, 1)
                for b in (-1, 1)
            ) / (4 * step**2)
    return 0.5 * np.linalg.slogdet(G)[1]


def differences(function, X, step=1e-5):
    """Gradient and Laplacian of a function of rows by central differences, (n, d) and (n,)."""
    d = X.shape[1]
    steps = np.eye(d)
    up = np.stack([function(X + step * e) for e in steps], axis=1)
    down = np.stack([function(X - step * e) for e in steps], axis=1)
    wide = 1e-3
    far = sum(function(X + wide * e) + function(X - wide * e) for e in steps)
    return (up - down) / (2 * step), (far - 2 * d * function(X)) / wide**2
