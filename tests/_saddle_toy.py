"""A family of saddle functions of which everything is known, after Gidel et al. (2017)."""

import math
from dataclasses import dataclass

import numpy as np

from sklearn_fw.optim import SaddleConstants, domains, solve_saddle_point


@dataclass
class Toy:
    """mu/2 |x - x*|^2 + (x - x*)'M(y - y*) - mu/2 |y - y*|^2 on two cubes: everything is known."""

    M: np.ndarray
    x_star: np.ndarray
    y_star: np.ndarray
    mu: float
    width: float

    def __call__(self, x, y):
        dx, dy = x - self.x_star, y - self.y_star
        value = 0.5 * self.mu * (dx @ dx - dy @ dy) + dx @ self.M @ dy
        return value, self.mu * dx + self.M @ dy, self.M.T @ dx - self.mu * dy

    @property
    def cube(self):
        return domains.Box(0.0, 1.0, size=self.x_star.size)

    @property
    def constants(self):
        return SaddleConstants(
            smoothness_x=self.mu, smoothness_y=self.mu, coupling=np.linalg.norm(self.M, 2),
            convexity_x=self.mu, convexity_y=self.mu, width_x=self.width, width_y=self.width,
        )  # fmt: skip

    def on_cube(self):
        """Constants with the diameters filled in."""
        d = self.cube.diameter
        given = {
            name: getattr(self.constants, name) for name in self.constants.__dataclass_fields__
        }
        return SaddleConstants(**{**given, "diameter_x": d, "diameter_y": d})

    def w(self, x, y):
        """L(x, y*) - L(x*, y)."""
        return self(x, self.y_star)[0] - self(self.x_star, y)[0]

    def h(self, x, y):
        """max L(x, .) - min L(., y)."""
        best_y = np.clip(self.y_star + self.M.T @ (x - self.x_star) / self.mu, 0, 1)
        best_x = np.clip(self.x_star - self.M @ (y - self.y_star) / self.mu, 0, 1)
        return self(x, best_y)[0] - self(best_x, y)[0]


def toy(seed, d, case, progress):
    """A saddle point inside ("I") or on a face ("P"), with a given balance nu."""
    rng = np.random.default_rng(seed)
    M = rng.uniform(-0.1, 0.1, (d, d))
    if case == "I":
        points = rng.uniform(0.25, 0.75, (2, d))
        width, most = np.minimum(points, 1 - points).min(), 1.0
    else:
        points = rng.uniform(size=(2, d))
        points[:, : d // 2] = rng.integers(2, size=(2, d // 2))
        width, most = 1 / math.sqrt(d), 0.5
    mu = math.sqrt(2 * d) * np.linalg.norm(M, 2) / (width * (most - progress))
    return Toy(M, *points, mu, width)


def opposite(problem):
    """Where the paper starts."""
    d = problem.x_star.size
    return np.ones(d), np.zeros(d)


def trajectory(function, *args, **options):
    """The result and all points."""
    points = []

    def remember(result):
        points.append((result.x, result.y))

    result = solve_saddle_point(function, *args, callback=remember, **{"tol": 0.0, **options})
    assert len(points) == result.nit == result.history["dual_gap"].size
    return result, points


def quadratic(x, y):
    return 0.5 * x @ x + x @ y - 0.5 * y @ y, x + y, x - y


SQUARE = domains.Box(-1.0, 2.0, size=2)
