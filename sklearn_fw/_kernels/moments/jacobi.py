"""Joint diagonalization by similarities of two coordinates at a time.

``matrices`` (K, K, P) holds the entry (i, j) of all P matrices side by side, so that every loop
runs along memory.
"""

import numpy as np

from .._jit import any_order, inner, njit

ORTHOGONAL, JDTM, SHRT, JUST, NORMALITY = 0, 1, 2, 3, 4
LARGEST_SHEAR = 3.0
ROUNDING = 1e-12  # defective pairs: tanh(4 y) tends to one


@any_order
def _pair_sums(matrices, p, q):
    """Sums over matrices of D^2, xi^2, E^2, D xi, D E and xi E of a pair of coordinates."""
    dd = xx = ee = dx = de = xe = 0.0
    for n in range(matrices.shape[2]):
        d = matrices[p, p, n] - matrices[q, q, n]
        x = matrices[p, q, n] - matrices[q, p, n]
        e = matrices[p, q, n] + matrices[q, p, n]
        dd += d * d
        xx += x * x
        ee += e * e
        dx += d * x
        de += d * e
        xe += x * e
    return dd, xx, ee, dx, de, xe


@any_order
def _other_sums(matrices, p, q):
    """G and H: sums over the entries that the pair shares with all other coordinates."""
    g = h = 0.0
    for j in range(matrices.shape[0]):
        if j == p or j == q:
            continue
        for n in range(matrices.shape[2]):
            a, b = matrices[j, p, n], matrices[j, q, n]
            c, d = matrices[p, j, n], matrices[q, j, n]
            g += a * a + b * b + c * c + d * d
            h += a * b - c * d
    return g, h


@inner
def _newton(g, h, e4, f):
    """Minimizer of G cosh 2y + 2 H sinh 2y + E4 cosh(4y) / 2 + F sinh 4y, which is convex."""
    y = 0.0
    for _ in range(50):
        s2, c2, s4, c4 = np.sinh(2 * y), np.cosh(2 * y), np.sinh(4 * y), np.cosh(4 * y)
        slope = 2 * g * s2 + 4 * h * c2 + 2 * e4 * s4 + 4 * f * c4
        curvature = 4 * g * c2 + 8 * h * s2 + 8 * e4 * c4 + 16 * f * s4
        if curvature <= 0.0:
            break
        step = min(max(slope / curvature, -0.5), 0.5)
        y = min(max(y - step, -LARGEST_SHEAR), LARGEST_SHEAR)
        if abs(step) < 1e-15:
            break
    return y


@njit
def best_shear(matrices, p, q, kind):
    """Parameter y of the shear [[cosh y, sinh y], [sinh y, cosh y]] of a pair."""
    if kind == ORTHOGONAL:
        return 0.0
    dd, xx, _, f, _, _ = _pair_sums(matrices, p, q)
    e4 = dd + xx
    if kind == JDTM:
        if e4 <= 0.0:
            return 0.0
        ratio = min(max(-2.0 * f / e4, -1.0 + ROUNDING), 1.0 - ROUNDING)
        y = np.arctanh(ratio) / 4.0
    else:
        g, h = _other_sums(matrices, p, q)
        if g + e4 <= 0.0:
            return 0.0
        if kind == SHRT:
            ratio = -(h + f) / (g + 2.0 * e4)
            y = np.arctanh(min(max(ratio, -1.0 + ROUNDING), 1.0 - ROUNDING))
        elif kind == JUST:
            y = _newton(g, h, e4 / 2.0, f / 2.0)
        else:
            y = _newton(g, h, e4, f)
    return min(max(y, -LARGEST_SHEAR), LARGEST_SHEAR)


@njit
def best_rotation(matrices, p, q, y):
    """Angle that is best for a pair after a shear by y."""
    dd, xx, ee, dx, de, xe = _pair_sums(matrices, p, q)
    # A shear mixes D and xi and leaves E.
    c, s = np.cosh(2 * y), np.sinh(2 * y)
    dd_after = c * c * dd + 2 * c * s * dx + s * s * xx
    de_after = c * de + s * xe
    ton, toff = dd_after - ee, 2.0 * de_after
    return 0.5 * np.arctan2(toff, ton + np.hypot(ton, toff))


@inner
def _transform(matrices, basis, p, q, turn):
    """Replace every matrix B by M^-1 B M, and the basis by basis M.

    ``turn`` holds the rows of M, a matrix (2, 2) whose determinant is one.
    """
    a, b, c, d = turn
    size, n_matrices = matrices.shape[0], matrices.shape[2]
    for i in range(size):
        for n in range(n_matrices):
            left, right = matrices[i, p, n], matrices[i, q, n]
            matrices[i, p, n] = left * a + right * c
            matrices[i, q, n] = left * b + right * d
        left, right = basis[i, p], basis[i, q]
        basis[i, p] = left * a + right * c
        basis[i, q] = left * b + right * d
    for j in range(size):
        for n in range(n_matrices):
            upper, lower = matrices[p, j, n], matrices[q, j, n]
            matrices[p, j, n] = d * upper - b * lower
            matrices[q, j, n] = a * lower - c * upper


@njit
def jacobi_sweep(matrices, basis, kind):
    """Turn all pairs of coordinates once, in place; returns the largest |sinh y| or |sin theta|.

    Cost: 12 K^3 P.
    """
    size, largest = matrices.shape[0], 0.0
    for p in range(size - 1):
        for q in range(p + 1, size):
            y = best_shear(matrices, p, q, kind)
            theta = best_rotation(matrices, p, q, y)
            change = max(abs(np.sinh(y)), abs(np.sin(theta)))
            largest = max(largest, change)
            if change == 0.0:
                continue
            ch, sh, co, si = np.cosh(y), np.sinh(y), np.cos(theta), np.sin(theta)
            turn = ch * co + sh * si, -ch * si + sh * co, sh * co + ch * si, -sh * si + ch * co
            _transform(matrices, basis, p, q, turn)
    return largest
