"""Quadratic saddle functions on cubes: a part of the benchmark of saddle points."""

import math

import numpy as np
from _report import in_child
from _saddle_solvers import quietly

from sklearn_fw.optim import SaddleConstants, domains, solve_saddle_point

METHODS = {"inside": "fw", "face": "away"}


class Quadratic:
    """mu/2 |x - x*|^2 + (x - x*)'M(y - y*) - mu/2 |y - y*|^2 on two cubes [0, 1]^d.

    The saddle point lies inside, or on a face: half of its coordinates are 0 or 1 then.
    """

    def __init__(self, seed, d, case, *, mu=None, balance=None):
        rng = np.random.RandomState(seed)
        self.M = rng.uniform(-0.1, 0.1, (d, d))
        if case == "inside":
            self.x_star, self.y_star = points = rng.uniform(0.25, 0.75, (2, d))
            width, most = np.minimum(points, 1.0 - points).min(), 1.0
        else:
            self.x_star, self.y_star = points = rng.uniform(size=(2, d))
            points[:, : d // 2] = rng.randint(2, size=(2, d // 2))
            width, most = 1.0 / math.sqrt(d), 0.5
        coupling = np.linalg.norm(self.M, 2)
        self.mu = mu or math.sqrt(2.0 * d) * coupling / (width * (most - balance))
        self.variant, self.away = METHODS[case], case == "face"
        self.cube = domains.Box(0.0, 1.0, size=d)
        self.start = np.ones(d), np.zeros(d)
        names = ("smoothness", "convexity", "width", "diameter")
        values = (self.mu, self.mu, width, self.cube.diameter)
        self.constants = SaddleConstants(
            coupling=coupling,
            **{f"{name}_{side}": v for name, v in zip(names, values) for side in "xy"},
        )

    def __call__(self, x, y):
        dx, dy = x - self.x_star, y - self.y_star
        Mdy = self.M @ dy
        value = 0.5 * self.mu * (dx @ dx - dy @ dy) + dx @ Mdy
        return value, self.mu * dx + Mdy, self.M.T @ dx - self.mu * dy

    def w(self, x, y):
        return 0.5 * self.mu * (np.sum((x - self.x_star) ** 2) + np.sum((y - self.y_star) ** 2))

    def h(self, x, y):
        best_y = np.clip(self.y_star + self.M.T @ (x - self.x_star) / self.mu, 0.0, 1.0)
        best_x = np.clip(self.x_star - self.M @ (y - self.y_star) / self.mu, 0.0, 1.0)
        return self(x, best_y)[0] - self(best_x, y)[0]

    def solve(self, **options):
        options = {"variant": self.variant, "start": self.start, "tol": 0.0, **options}
        return quietly(
            solve_saddle_point, self, self.cube, self.cube, constants=self.constants, **options
        )

    def follow(self, max_iter, **options):
        """w of all iterates, numbers of steps that dropped nothing, gaps, and faults.

        Faults are iterates that break ``0 <= w <= h <= gap <= pairwise gap``.
        """
        points = []
        result = self.solve(
            max_iter=max_iter, callback=lambda state: points.append((state.x, state.y)), **options
        )
        w, h = (np.array([f(*point) for point in points]) for f in (self.w, self.h))
        gap = result.history["dual_gap"]
        pairwise = result.history.get("pairwise_gap", gap)
        good = result.history["n_good"] if self.away else np.arange(len(w))
        rounding = 1e-12 * (1.0 + gap[0])
        ordered = (w <= h + rounding) & (h <= gap + rounding) & (gap <= pairwise + rounding)
        return w, good, gap, pairwise, int(np.sum(~ordered))


def measure_contraction(case, d, balance, max_iter):
    problem = Quadratic(0, d, case, balance=balance)
    w, good, _, pairwise, faults = problem.follow(max_iter, step_size="adaptive")
    kept = w > 1e-12 * w[0]  # below, rounding decides
    w, good, pairwise = w[kept], good[kept], pairwise[kept]
    rate = problem.constants.rate(away=problem.away)
    ratio, is_good = w[1:] / w[:-1], np.diff(good) == 1
    bound = 2.0 / balance * np.maximum(np.sqrt(problem.constants.curvature * w), w)
    slow = np.sum(ratio[is_good] > 1.0 - rate + 1e-12) + np.sum(ratio[~is_good] > 1.0 + 1e-12)
    return {
        "mu": problem.mu, "rate": rate, "mean": 1.0 - (w[-1] / w[0]) ** (1.0 / good[-1]),
        "least": 1.0 - ratio[is_good].max(), "drops": float(np.mean(~is_good)),
        "gap over bound": float((pairwise / bound)[:-1][is_good].max()),
        "violations": int(slow), "faults": faults,
    }  # fmt: skip


def measure_universal(case, balance, max_iter):
    """Universal steps beside their bounds; ``balance`` is nu~, which has no 1/2 on faces."""
    problem = Quadratic(0, 10, case, balance=balance - 0.5 * (case == "face"))
    w, good, gap, _, faults = problem.follow(max_iter)
    constant = 2.0 * max(w[0], 2.0 * problem.constants.curvature / (2.0 * balance - 1.0))
    least = np.minimum.accumulate(gap)[1:]
    return {
        "w": float(np.max(w[1:] * (2 + good[1:])) / constant),
        "gap": float(np.max(least * balance * (good[1:] + 1) / (5.0 * constant))),
        "good": float(np.min(good[1:] / np.arange(1, len(w)))),
        "faults": faults,
    }


def _all_rates(n_rate, n_universal):
    contraction = {
        (case, d, balance): measure_contraction(case, d, balance, n_rate)
        for case, balances in (("inside", (0.1, 0.5, 0.9)), ("face", (0.1, 0.3, 0.45)))
        for d in (4, 10, 30)
        for balance in balances
    }
    universal = {
        (case, balance): measure_universal(case, balance, n_universal)
        for case in METHODS
        for balance in (0.6, 0.8, 0.95)
    }
    return contraction, universal


def cubes(report, options):
    quick = options.quick
    report.section("Quadratic functions on cubes")
    report.text("""``mu/2 |x - x*|^2 + (x - x*)'M(y - y*) - mu/2 |y - y*|^2`` on cubes, with entries
        of M uniform in [-0.1, 0.1]. The saddle point is in the interior (Frank-Wolfe steps) or on a
        face of half the dimension (away steps). For adaptive steps: mean and smallest relative
        decrease of ``w = L(x, y*) - L(x*, y)`` by steps that drop no vertex, and the rate of
        Theorem 24 of the paper; fraction of drop steps; and largest ratio of the gap to its
        bound.""")
    contraction, universal = in_child(_all_rates, *((200, 200) if quick else (2000, 2000)))
    report.records(
        "saddle point, d, nu", {f"{c}, {d}, {nu}": r for (c, d, nu), r in contraction.items()},
        ("mu", "mu", ".3g"), ("theorem", "rate", ".2e"), ("least", "least", ".2e"),
        ("mean", "mean", ".2e"), ("drops", "drops", ".2f"), ("gap/bound", "gap over bound", ".3f"),
    )  # fmt: skip
    report.text(f"""Universal steps, d = 10: largest ratios of w and of the gap to their bounds
        (Theorem 25), and smallest fraction of steps that drop no vertex. The values of an
        independent implementation are 0.22, 0.09 and 0.67. Iterates that violate
        ``0 <= w <= h <= gap``, in both tables:
        {sum(r["faults"] for r in [*contraction.values(), *universal.values()])}.""")
    report.records(
        "saddle point, nu",
        {f"{case}, {nu}": r for (case, nu), r in universal.items()},
        ("w/bound", "w", ".3f"),
        ("gap/bound", "gap", ".3f"),
        ("no drop", "good", ".3f"),
    )
    every = [*contraction.values(), *universal.values()]
    report.goals(
        ("steps that decrease w less than the theorem",
         sum(r["violations"] for r in contraction.values()), 0, "<="),
        ("iterates that violate the inequalities", sum(r["faults"] for r in every), 0, "<="),
        ("ratio of a gap or of w to its bound",
         max(max(r["gap over bound"] for r in contraction.values()),
             *(max(r["w"], r["gap"]) for r in universal.values())), 1.0, "<="),
    )  # fmt: skip
