"""Frank-Wolfe with randomised away steps on a simplex of listed atoms, as the reports describe it.

The function is ``scale / 2 |V' alpha|^2 - c' alpha`` over the weights alpha of m atoms: row k of V
is where atom k leads to. An iteration looks at the gradient of the active atoms and of as many
others as are sampled; the exact gap needs all of them.
"""

from typing import NamedTuple

import numpy as np

ROUNDING = 1e-14


class Run(NamedTuple):
    """What a run did."""

    alpha: np.ndarray  # (m,)
    gap: float  # exact
    n_iter: int
    n_looked_at: int  # gradients of single atoms, certificates included
    values: np.ndarray  # (n_iter,) of the function before every iteration


def away_steps(V, c, scale, *, n_sampled=None, tol, max_iter, check_every=10, seed=0):
    """Minimise to an exact gap of ``tol``; ``n_sampled`` of None looks at all atoms.

    Boileau, Lamouchi and St-Arnaud, 2019, appendix: randomised away-step Frank-Wolfe.
    """
    rng, m = np.random.default_rng(seed), len(c)
    n_sampled = m if n_sampled is None else min(n_sampled, m)
    alpha = np.zeros(m)
    alpha[rng.integers(m)] = 1.0
    u, value, looked, values = V.T @ alpha, 0.0, 0, []
    gap = np.inf
    for n_iter in range(max_iter + 1):
        value = 0.5 * scale * (u @ u) - c @ alpha
        if n_iter % check_every == 0 or n_iter == max_iter:
            u = V.T @ alpha  # without the drift of many steps
            gradient, looked = scale * (V @ u) - c, looked + m
            gap = float(gradient @ alpha - gradient.min())
            if gap <= tol or n_iter == max_iter:
                break
        values.append(value)
        active = np.flatnonzero(alpha)
        others = np.flatnonzero(alpha == 0.0)
        if n_sampled < len(others):
            others = rng.choice(others, n_sampled, replace=False)
        seen = np.concatenate([active, others])
        gradient, looked = scale * (V[seen] @ u) - c[seen], looked + len(seen)
        here = gradient[: len(active)] @ alpha[active]
        best, worst = int(np.argmin(gradient)), int(np.argmax(gradient[: len(active)]))
        if here - gradient[best] >= gradient[worst] - here:
            k, slope, longest, sign = seen[best], here - gradient[best], 1.0, 1.0
        else:
            k, slope, sign = active[worst], gradient[worst] - here, -1.0
            longest = alpha[k] / (1.0 - alpha[k])
        if slope <= 0.0:
            continue
        direction = sign * (V[k] - u)
        curvature = scale * (direction @ direction)
        gamma = longest if slope >= longest * curvature else slope / curvature
        alpha *= 1.0 - sign * gamma
        alpha[k] += sign * gamma
        if gamma == longest and sign < 0.0:
            alpha[k] = 0.0  # a drop step, exactly
        u = u + gamma * direction
        alpha[alpha < ROUNDING] = 0.0
    return Run(alpha / alpha.sum(), gap, n_iter, looked, np.array(values))
