"""Valid calls of submodular functions, of what minimises them, and of block Frank-Wolfe."""

import copy
import functools

import numpy as np
import scipy.sparse as sp

from sklearn_fw import optim
from sklearn_fw.optim import domains, objectives, set_functions

from .calls import build, function, methods


def root(mask):
    """A concave function of the number of elements."""
    return float(np.sqrt(np.sum(mask)))


def seen(state):
    return False


def of_functions():
    found = []
    for cls, params, allows in (
        (set_functions.CardinalityFunction, {"values": np.array([0.0, 2.0, 3.0, 3.0])}, {}),
        (
            set_functions.CoverageFunction,
            {"covers": np.array([[1, 0], [1, 1], [0, 1]]), "weights": np.array([1.0, 2.0])},
            {("covers", "half"): "whatever is not zero"},
        ),
        (
            set_functions.CutFunction,
            {
                "edges": np.array([[0, 1], [1, 2]]), "weights": np.array([1.0, 2.0]), "size": 3,
                "directed": True,
            }, {},
        ),
        (set_functions.ModularFunction, {"weights": np.array([1.0, -2.0, 0.5])}, {}),
    ):  # fmt: skip
        given = functools.partial(copy.deepcopy, params)
        found += build(cls, given, allows=allows)
        found += methods(
            cls, functools.partial(cls, **params),
            {
                "value": {"members": np.array([True, False, True])},
                "base": {"order": np.array([2, 0, 1])},
            },
        )  # fmt: skip
    return found


def entries():
    x, gradient = np.array([1.0, 2.0, 3.0]), np.array([1.0, -2.0, 0.5])
    found = of_functions()
    for cls, params in {
        domains.BasePolytope: {"function": root, "size": 3},
        domains.Permutahedron: {"values": np.array([1.0, 2.0, 3.0])},
    }.items():
        arguments = {"start": {}, "lmo": {"gradient": gradient}}
        arguments["contains"] = {"x": x, "tol": 1e-9}
        if hasattr(cls, "project"):
            arguments["project"] = {"x": x}
        found += build(cls, functools.partial(copy.deepcopy, params))
        found += methods(cls, functools.partial(cls, **params), arguments)
    edges = np.array([[0, 1], [1, 2]])
    pair = domains.Product(domains.Simplex(3), domains.Simplex(3))
    quadratic = objectives.Quadratic(np.eye(6), np.arange(6.0))
    return [
        *found,
        *function(
            optim.minimize_submodular,
            lambda: {
                "function": root, "size": 3, "variant": "min_norm_point", "integer_valued": False,
                "normalize": True, "start": gradient.copy(), "max_iter": 50, "tol": 1e-6,
                "time_limit": 10.0, "callback": seen, "verbose": 0,
            },
            variants={
                "function": [
                    set_functions.CutFunction(edges),
                    set_functions.CutFunction(sp.eye_array(3, k=1)),
                ],
                "variant": ["pairwise", "away", "fw"], "integer_valued": ["auto"],
                "start": [None], "tol": [None], "callback": [None],
            },
        ),
        *function(
            optim.minimize_block_frank_wolfe,
            lambda: {
                "objective": quadratic, "domain": pair, "variant": "pairwise",
                "sampling": "permutation", "step_size": "exact", "average": "weighted",
                "gap_every": 2, "start": np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0]), "max_iter": 30,
                "tol": 1e-3, "time_limit": 10.0, "callback": seen, "random_state": 0, "verbose": 0,
            },
            variants={
                "variant": ["auto", "fw", "away"], "sampling": ["uniform", "gap"],
                "step_size": ["auto", "universal", "line_search", 0.1], "average": [None],
                "start": [None], "callback": [None],
            },
            aliases={"domain": ("lmo", "size"), "objective": ("gradient", "value", "size")},
        ),
    ]  # fmt: skip
