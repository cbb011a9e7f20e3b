"""Rates of the papers, with constants in closed form.

GL: S. Lacoste-Julien, M. Jaggi, "On the global linear convergence of Frank-Wolfe optimization
variants", NIPS 2015.
"""

import math

import numpy as np
import pytest

from sklearn_fw.optim import domains, minimize_frank_wolfe, objectives

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


def to_point(center):
    return objectives.LeastSquares(np.eye(len(center)), center)


def errors_of(objective, domain, least, **options):
    run = minimize_frank_wolfe(objective, domain, step_size="exact", tol=0.0, **options)
    return run.history["objective"] - least, run


@pytest.mark.slow
@pytest.mark.parametrize("theta", [np.pi / 10, np.pi / 20])
def test_triangle(theta, rng):
    """GL, figure 5: away and pairwise steps are linear, about ten times faster than is proven.

    An exact step leaves two vertices with equal slopes, so that rounding decides which comes next:
    the factor of pairwise steps is 8, 11 or 16.
    """
    vertex = [np.cos(theta), np.sin(theta)]
    triangle = domains.ConvexHull([[0.0, 0.0], [-1.0, 0.0], vertex])
    objective, rates = to_point([-0.5, 0.0]), {"away": [], "pairwise": []}
    for _ in range(30):
        weights = rng.random(3)
        start = list(triangle.points), weights / weights.sum()
        for variant, found in rates.items():
            errors, run = errors_of(
                objective, triangle, 0.0, variant=variant, start=start, max_iter=2000
            )
            used = np.flatnonzero(errors > 1e-11)
            if run.n_drop + run.n_swap == 0 and len(used) > 15:
                found.append(-np.polyfit(used[10:], np.log(errors[used[10:]]), 1)[0])
    proven = np.tan(0.5 * theta) ** 2 / 4
    assert min(map(len, rates.values())) >= 3
    assert 7.5 < np.median(rates["pairwise"]) / proven < 17.0
    assert 25 < 4 * np.median(rates["away"]) / proven < 55


@pytest.mark.parametrize(
    ("domain", "width"),
    [
        (domains.Simplex(9), 2.0 / math.sqrt(9 - 1 / 9)),
        (domains.L1Ball(5, 0.7), 0.7 / 2.0),
        (domains.Box(0.0, 1.0, size=5), 1.0 / math.sqrt(5.0)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("variant", ["away", "pairwise", "fully_corrective", "min_norm_point"])
def test_linear_rate_of_the_pyramidal_width(domain, width, variant, rng):
    """GL, theorem 8: each step that drops no vertex; twice as many of these as of those that do."""
    share = (width / domain.diameter) ** 2
    rate = min(0.5, share) if variant in ("pairwise", "min_norm_point") else share / 4
    for _ in range(4):
        center = rng.normal(size=domain.size) * 0.8
        objective = to_point(center)
        least = objective(domain.project(center))[0]
        errors, run = errors_of(objective, domain, least, variant=variant, max_iter=120)
        if variant in ("away", "pairwise"):
            drops = np.diff(run.history["n_drop"]) > 0
            swaps = run.n_swap > 0
            n_good = int(np.sum(~drops))
            if not swaps:
                limit = errors[0] * (1 - rate) ** n_good
                assert run.fun - least <= limit + 1e-12
            uncut = ~drops
            if variant == "away":
                assert np.all(errors[1:][uncut] <= (1 - rate) * errors[:-1][uncut] + 1e-12)
        else:
            assert np.all(errors[1:] <= (1 - rate) * errors[:-1] + 1e-12)
