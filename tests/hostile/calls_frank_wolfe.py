"""Valid calls of `minimize_frank_wolfe` and of its objectives."""

import numpy as np

from sklearn_fw import optim
from sklearn_fw.optim import domains, objectives

from .calls import build, function, generator, methods
from .calls_linear import rows, sparse_rows, two_classes, weights


def quadratic(x):
    return float(x @ x), 2.0 * x


def least_squares():
    return objectives.LeastSquares(rows(), two_classes())


class Tilted(objectives.Objective):
    """An objective of the user."""

    size = 3

    def image(self, point):
        return 2.0 * (point if isinstance(point, np.ndarray) else point.to_array())

    def slopes(self, image):
        return float(image @ image - image[0]), 2.0 * image - np.array([1.0, 0.0, 0.0])

    def adjoint(self, slopes):
        return 2.0 * slopes


def seen(state):
    return False


def step_size(state):
    return 0.5


def of_objectives():
    data = {"A": rows(), "sample_weight": weights(), "mean": True}
    sparse = {"A": [sparse_rows], "sample_weight": [None]}
    found = [
        *build(
            objectives.Composite,
            lambda: {
                "loss": "log_loss", "y": two_classes(), **data, "linear": np.ones(rows().shape[1])
            },
            variants={**sparse, "linear": [None]},
        ),
        *build(objectives.LeastSquares, lambda: {"b": two_classes(), **data}, variants=sparse,
               allows={("b", "half"): "a target is any number"}),
        *build(
            objectives.Quadratic, lambda: {"Q": np.diag([1.0, 2.0, 3.0]), "b": np.ones(3)},
            variants={"b": [None]}, aliases={"Q": ("A",)},
        ),
    ]  # fmt: skip
    direction = {"direction": generator(3).normal(size=3)}
    found += methods(objectives.LeastSquares, least_squares, {"curvature": direction})
    found += methods(
        objectives.Quadratic, lambda: objectives.Quadratic(np.eye(3)), {"curvature": direction}
    )
    return found


def entries():
    return [
        *function(
            optim.minimize_frank_wolfe,
            lambda: {
                "objective": quadratic, "domain": domains.Simplex(3), "variant": "pairwise",
                "step_size": step_size, "lipschitz": 2.0, "curvature": 4.0, "convex": True,
                "lmo_accuracy": 1.0, "start": np.array([1.0, 0.0, 0.0]), "max_iter": 50,
                "tol": 0.1, "time_limit": 10.0, "callback": seen, "verbose": 0,
            },
            variants={
                "variant": ["fw", "away", "fully_corrective", "auto"],
                "step_size": ["short", "curvature", "backtracking", "auto", 0.1],
                "objective": [Tilted], "start": [None], "callback": [None], "curvature": [None],
                "lipschitz": [None], "convex": [False],
            },
            aliases={"domain": ("lmo",), "objective": ("gradient", "value")},
        ),
        *of_objectives(),
    ]  # fmt: skip
