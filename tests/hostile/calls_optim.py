"""Valid calls of optimizers, domains and projections."""

import copy
import functools

import numpy as np

from sklearn_fw import optim, projections
from sklearn_fw.optim import domains

from .calls import build, function, generator, methods
from .calls_linear import VARIANTS, rows, two_classes, weights

SOLVERS = {
    optim.Asaga: {}, optim.Saga: {},
    optim.Svrg: {"n_inner": 1.0, "loopless": False, "parallel": False},
}  # fmt: skip
PLAIN = {optim.Newton: {}, optim.NewtonCG: {"forcing": 0.5}, optim.Sdca: {}}


def of_solver(cls, params):
    """A solver is tried where it acts."""
    import dataclasses

    def run(a):
        return optim.minimize_saga(
            rows(), two_classes(), solver=cls(**a), alpha=0.1, max_iter=30, random_state=0
        )

    (entry,) = build(cls, lambda: dict(params))
    return [dataclasses.replace(entry, run=run)]


def bilinear():
    M = generator(5).normal(size=(3, 3))

    def function(x, y):
        return float(x @ M @ y), M @ y, M.T @ x

    return function


class Ends(domains.Domain):
    """A domain of the user: the segment between two points."""

    size = 3

    def lmo(self, gradient):
        return np.ones(3) / 3 if np.sum(gradient) < 0 else np.array([0.0, 0.0, 1.0])


def step_size(state):
    return 2.0 / (2.0 + state.n_good)


def seen(state):
    return False


def network():
    import networkx

    return networkx.DiGraph([("s", "a"), ("s", "t"), ("a", "t")])


def of_domains():
    found = []
    x, gradient = np.array([0.2, 0.3, 0.5]), np.array([1.0, -2.0, 0.5])
    for cls, params in {
        domains.ConvexHull: {"points": np.eye(3)},
        domains.Box: {"lower": np.zeros(3), "upper": 1.0, "size": 3},
        domains.L1Ball: {"size": 3, "radius": 1.0},
        domains.L2Ball: {"size": 3, "radius": 1.0},
        domains.Simplex: {"size": 3, "radius": 1.0},
        domains.BipartiteMatchings: {"shape": (1, 3), "perfect": False},
        domains.SpanningTrees: {"edges": np.array([[0, 1], [1, 2], [0, 2]]), "n_nodes": 3},
        domains.MarginalPolytope: {
            "n_states": np.array([1, 1]),
            "edges": np.array([[0, 1]]),
            "oracle": "auto",
        },
        domains.LocalPolytope: {"n_states": np.array([1, 1]), "edges": np.array([[0, 1]])},
        domains.DagPaths: {
            "graph": network(), "source": "s", "target": "t", "variables": "edges",
        },
        domains.Flows: {"graph": network(), "demand": {"s": -1.0, "t": 1.0}, "capacity": 1.0},
        domains.LpBall: {"size": 3, "p": 1.5, "radius": 1.0},
        domains.Matchings: {"graph": 3, "perfect": False},
        domains.NuclearNormBall: {"shape": (1, 3), "radius": 1.0, "max_products": 20},
        domains.Spectrahedron: {
            "n_rows": 1, "radius": 1.0, "fixed_trace": True, "max_products": 20,
        },
    }.items():  # fmt: skip
        given = functools.partial(copy.deepcopy, params)
        if cls is domains.Spectrahedron:
            x, gradient = x[:1] * 5, gradient[:1]
        arguments = {"start": {}, "lmo": {"gradient": gradient}}
        if cls.can_refine:
            arguments["lmo"] |= {"start": None, "accuracy": 0.1}
        if hasattr(cls, "contains"):
            arguments["contains"] = {"x": x, "tol": 1e-9}
        if hasattr(cls, "project"):
            arguments["project"] = {"x": x}
        found += build(cls, given, allows={("lower", "no_axis"): "one bound for all"})
        found += methods(cls, functools.partial(cls, **params), arguments)
    for cls, params in {
        domains.RankOneAtom: {"left": np.array([1.0, 2.0]), "right": np.array([0.5, 1.0, 0.0])},
        domains.SparseAtom: {"size": 5, "places": np.array([0, 3]), "values": np.array([1.0, 2.0])},
    }.items():
        found += build(cls, functools.partial(copy.deepcopy, params))
    x, gradient = np.full(6, 1 / 3), np.array([1.0, -2.0, 0.5, 1.0, 0.0, -1.0])
    product = {"first": domains.Simplex(3), "second": domains.Simplex(3)}
    import dataclasses

    (entry,) = build(domains.Product, lambda: dict(product))
    found.append(
        dataclasses.replace(
            entry, run=lambda a: domains.Product(*a.values()).lmo(gradient),
            aliases={"first": ("domains", "domain", "lmo"), "second": ("domains", "domain", "lmo")},
        )
    )  # fmt: skip
    found += methods(
        domains.Product, lambda: domains.Product(*product.values()),
        {
            "start": {}, "lmo": {"gradient": gradient, "start": None, "accuracy": 0.1},
            "contains": {"x": x, "tol": 1e-9}, "project": {"x": x},
        },
    )  # fmt: skip
    return found


def entries():
    v = np.array([0.5, -0.2, 1.5])
    table = generator(6).normal(size=(3, 4))
    sinkhorn = {"perfect": False, "tol": 1e-9, "max_iter": 500, "return_duals": True}
    data = {"loss": "log_loss", "penalty": "elasticnet", "alpha": 0.1, "l1_ratio": 0.5}
    return [
        *[entry for cls, more in SOLVERS.items() for entry in of_solver(
            cls, {"step_size": "auto", "sampling": "shuffle", "conditioning": "auto", **more}
        )],
        *[entry for cls, params in PLAIN.items() for entry in of_solver(cls, params)],
        *function(
            optim.minimize_saga,
            lambda: {
                "X": rows(), "y": two_classes(), **data, "sample_weight": weights(),
                "fit_intercept": True, "solver": "saga", "x0": np.zeros(3), "max_iter": 50,
                "tol": 1e-3, "time_limit": 10.0, "n_jobs": 1, "random_state": 0, "verbose": 0,
            },
            variants={k: v for k, v in VARIANTS.items() if k not in ("warm_start", "fit_intercept")}
            | {"loss": ["squared_hinge"], "x0": [None]},
        ),
        *build(
            optim.SaddleConstants,
            lambda: {
                "smoothness_x": 1.0, "smoothness_y": 1.0, "coupling": 0.1, "convexity_x": 1.0,
                "convexity_y": 1.0, "width_x": 0.5, "width_y": 0.5, "diameter_x": 1.0,
                "diameter_y": 1.0, "set_convexity": 1.0, "gradient_norm": 1.0,
            },
        ),
        *methods(
            optim.SaddleConstants,
            lambda: optim.SaddleConstants(
                smoothness_x=1.0, smoothness_y=1.0, coupling=0.01, convexity_x=1.0,
                convexity_y=1.0, width_x=0.5, width_y=0.5, diameter_x=1.0, diameter_y=1.0,
            ),
            {"progress": {"away": False}, "rate": {"away": False}},
        ),
        *function(
            optim.solve_matrix_game,
            lambda: {
                "payoff": generator(7).normal(size=(3, 3)), "domain_x": domains.Simplex(3),
                "domain_y": domains.L2Ball(3), "step_size": "fictitious",
                "start": (np.ones(3) / 3, np.zeros(3)), "max_iter": 200, "tol": 0.1,
                "time_limit": 10.0, "verbose": 0,
            },
            variants={"domain_x": [None, Ends], "domain_y": [None], "start": [None],
                      "step_size": ["universal"]},
        ),
        *function(
            optim.solve_saddle_point,
            lambda: {
                "function": bilinear(), "domain_x": domains.Simplex(3), "domain_y": Ends(),
                "variant": "fw", "step_size": step_size,
                "constants": optim.SaddleConstants(smoothness_x=1.0),
                "start": (np.ones(3) / 3, np.array([0.0, 0.0, 1.0])), "max_iter": 100, "tol": 0.1,
                "time_limit": 10.0, "callback": seen, "random_state": 0, "verbose": 0,
            },
            variants={"variant": ["away", "pairwise"], "step_size": ["universal", 0.1],
                      "start": [None], "callback": [None], "constants": [None]},
            aliases={"domain_x": ("lmo",), "domain_y": ("lmo",), "function": ("gradient", "value")},
        ),
        *of_domains(),
        *function(projections.project_box, lambda: {"v": v, "lower": 0.0, "upper": np.ones(3)},
            allows={("upper", "no_axis"): "one bound for all"},
        ),
        *function(projections.project_l1_ball, lambda: {"v": v, "radius": 1.0}),
        *function(projections.project_l2_ball, lambda: {"v": v, "radius": 1.0}),
        *function(projections.project_simplex, lambda: {"v": v, "radius": 1.0}),
        *function(
            projections.project_matching,
            lambda: {"p": table, **sinkhorn, "duals": (np.zeros(3), np.zeros(4))},
            variants={"duals": [None]},
        ),
        *function(
            projections.sinkhorn_matching,
            lambda: {"log_p": table, **sinkhorn, "duals": (np.zeros(3), np.zeros(4))},
            variants={"duals": [None]},
        ),
    ]  # fmt: skip
