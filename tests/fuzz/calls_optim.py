"""Valid calls of optimizers, objectives, sets, set functions and projections."""

import networkx
import numpy as np
import scipy.sparse as sp

from sklearn_fw import optim, projections
from sklearn_fw.optim import domains, objectives, set_functions

from .calls import entry, function, functions, generator, methods
from .calls_linear import (
    SOLVERS,
    VARIANTS,
    clipped,
    rows,
    shrinking,
    sparse_rows,
    two_classes,
    weights,
)

G3 = np.array([1.0, -2.0, 0.5])
G6 = np.array([1.0, -2.0, 0.5, 1.0, 0.0, -1.0])
X3 = np.array([0.2, 0.3, 0.5])
EDGES = np.array([[0, 1], [1, 2], [0, 2]])


class Ends(domains.Domain):
    """A domain of the user: the segment between two points."""

    size = 3

    def lmo(self, gradient):
        return np.ones(3) / 3 if np.sum(gradient) < 0 else np.array([0.0, 0.0, 1.0])


class Tilted(objectives.Objective):
    """An objective of the user."""

    size = 3

    def image(self, point):
        return 2.0 * (point if isinstance(point, np.ndarray) else point.to_array())

    def slopes(self, image):
        return float(image @ image - image[0]), 2.0 * image - np.array([1.0, 0.0, 0.0])

    def adjoint(self, slopes):
        return 2.0 * slopes


def root(mask):
    """A concave function of the number of elements."""
    return float(np.sqrt(np.sum(mask)))


def quadratic(x):
    return float(x @ x), 2.0 * x


def bilinear():
    M = generator(5).normal(size=(3, 3))

    def function(x, y):
        return float(x @ M @ y), M @ y, M.T @ x

    return function


def half(state):
    return 0.5


def universal(state):
    return 2.0 / (2.0 + state.n_good)


def network():
    return networkx.DiGraph([("s", "a"), ("s", "t"), ("a", "t")])


def of_solvers():
    """A solver is tried where it acts."""
    found = []
    for cls, params in {
        optim.Asaga: {}, optim.Saga: {"variant": "lagged"}, optim.Svrg: {"n_inner": 1.0},
        optim.Newton: {}, optim.NewtonCG: {}, optim.Sdca: {},
    }.items():  # fmt: skip

        def run(a, cls=cls):
            options = {"alpha": 0.1, "max_iter": 30, "random_state": 0}
            return optim.minimize_saga(rows(), two_classes(), solver=cls(**a), **options)

        found += function(cls, params, run=run)
    return found


def of_domains():
    sets = {
        domains.ConvexHull: {"points": np.eye(3)},
        domains.Box: {"lower": np.zeros(3), "upper": 1.0, "size": 3},
        domains.L1Ball: {"size": 3},
        domains.L2Ball: {"size": 3},
        domains.Simplex: {"size": 3},
        domains.BipartiteMatchings: {"shape": (1, 3)},
        domains.SpanningTrees: {"edges": EDGES, "n_nodes": 3},
        domains.MarginalPolytope: {"n_states": np.array([1, 1]), "edges": EDGES[:1]},
        domains.LocalPolytope: {"n_states": np.array([1, 1]), "edges": EDGES[:1]},
        domains.DagPaths: {"graph": network(), "source": "s", "target": "t"},
        domains.Flows: {"graph": network(), "demand": {"s": -1.0, "t": 1.0}, "capacity": 1.0},
        domains.LpBall: {"size": 3, "p": 1.5},
        domains.Matchings: {"graph": 3},
        domains.NuclearNormBall: {"shape": (1, 3)},
        domains.Spectrahedron: {"n_rows": 1},
        domains.OrderedPlacements: {"shape": (1, 3)},
        domains.StateChoices: {
            "start": np.array([0.0, 2.0, 4.0]), "end": np.array([1.0, 3.0, 5.0]),
        },
        domains.BasePolytope: {"function": root, "size": 3},
        domains.Permutahedron: {"values": np.array([1.0, 2.0, 3.0])},
        domains.Product: None,
    }  # fmt: skip
    more = {
        domains.OrderedPlacements: {"allowed": np.array([[1.0, 0.0, 1.0]])},
        domains.StateChoices: {"constraint": "exactly_one", "allowed": np.ones((3, 2))},
    }
    simplices, found = (domains.Simplex(3), domains.Simplex(3)), []
    for cls, params in sets.items():
        gradient, x = G3, X3
        if cls in (domains.StateChoices, domains.Product):
            gradient, x = G6, np.full(6, 1 / 3)
        elif cls is domains.Spectrahedron:
            gradient, x = G3[:1], np.ones(1)
        kinds = {
            "gradient": gradient, "x": x, "tol": 1e-9, "cost": gradient, "accuracy": 0.1,
            "slots": np.array([1]), "states": np.array([0, -1, 1]),
        }  # fmt: skip
        given = {"lmo": {"start": None}} if cls.can_refine else {"lmo": {}}
        made = cls(*simplices) if params is None else cls(**params)
        found += methods(cls, lambda made=made: made, given, kinds)
        if params is not None:
            allows = {"lower no_axis": "one bound for all"}
            found += function(cls, {**params, **more.get(cls, {})}, allows=allows)
    said = ("domains", "domain", "lmo")
    found += entry(
        "optim.domains.Product", dict(zip(("first", "second"), simplices)),
        lambda a: domains.Product(*a.values()).lmo(G6), (domains.Product,),
        aliases={"first": said, "second": said},
    )  # fmt: skip
    return found + functions({}, {
        domains.RankOneAtom: {"left": np.array([1.0, 2.0]), "right": np.array([0.5, 1.0, 0.0])},
        domains.SparseAtom: {"size": 5, "places": np.array([0, 3]), "values": np.array([1.0, 2.0])},
    })  # fmt: skip


def of_set_functions():
    kinds, found = {"members": np.array([True, False, True]), "order": np.array([2, 0, 1])}, []
    for cls, params in {
        set_functions.CardinalityFunction: {"values": np.array([0.0, 2.0, 3.0, 3.0])},
        set_functions.CoverageFunction: {
            "covers": np.array([[1, 0], [1, 1], [0, 1]]), "weights": np.array([1.0, 2.0]),
        },
        set_functions.CutFunction: {
            "edges": EDGES[:2], "weights": np.array([1.0, 2.0]), "size": 3, "directed": True,
        },
        set_functions.ModularFunction: {"weights": G3},
    }.items():  # fmt: skip
        found += function(cls, params, allows={"covers half": "whatever is not zero"})
        found += methods(cls, lambda cls=cls, p=params: cls(**p), None, kinds)
    return found


def of_objectives():
    data = {"A": rows(), "y": two_classes(), "b": two_classes(), "sample_weight": weights()}
    sparse = {"A": [sparse_rows], "sample_weight": [None], "linear": [None]}
    given = {"loss": "log_loss", "linear": np.ones(3)}
    squares = objectives.LeastSquares(rows(), two_classes())
    found = function(objectives.Composite, given, data, variants=sparse)
    why = {"b half": "a target is any number"}
    found += function(objectives.LeastSquares, None, data, variants=sparse, allows=why)
    found += function(
        objectives.Quadratic, {"Q": np.diag([1.0, 2.0, 3.0]), "b": np.ones(3)},
        variants={"b": [None]},
    )  # fmt: skip
    for made in (squares, objectives.Quadratic(np.eye(3))):
        given = {"direction": generator(3).normal(size=3)}
        found += methods(type(made), lambda made=made: made, None, given, ["curvature"])
    return found


def of_frank_wolfe():
    asked = {"objective": ("gradient", "value", "size"), "domain": ("lmo", "size")}
    asked |= dict.fromkeys(("domain_x", "domain_y"), ("lmo",))
    asked |= {"function": ("gradient", "value")}
    kinds = {"callback": lambda state: False, "tol": 0.1, "max_iter": 50}
    free = {key: [None] for key in ("start", "callback", "curvature", "lipschitz", "constants")}
    pair = domains.Product(domains.Simplex(3), domains.Simplex(3))
    return [
        *function(
            optim.minimize_frank_wolfe,
            {
                "objective": quadratic, "domain": domains.Simplex(3), "variant": "pairwise",
                "step_size": half, "lipschitz": 2.0, "curvature": 4.0, "lmo_accuracy": 1.0,
                "start": np.array([1.0, 0.0, 0.0]),
            }, kinds, aliases=asked,
            variants=free | {
                "variant": ["fw", "away", "fully_corrective", "auto"],
                "step_size": ["short", "curvature", "backtracking", "auto", 0.1],
                "objective": [Tilted], "convex": [False],
            },
        ),
        *function(
            optim.minimize_block_frank_wolfe,
            {
                "objective": objectives.Quadratic(np.eye(6), np.arange(6.0)), "domain": pair,
                "variant": "pairwise", "step_size": "exact", "average": "weighted", "gap_every": 2,
                "start": np.array([1.0, 0.0, 0.0, 0.0, 1.0, 0.0]), "tol": 1e-3, "max_iter": 30,
            }, kinds, aliases=asked,
            variants=free | {
                "variant": ["auto", "fw", "away"], "sampling": ["uniform", "gap"],
                "step_size": ["auto", "universal", "line_search", 0.1], "average": [None],
            },
        ),
        *function(
            optim.minimize_submodular,
            {
                "function": root, "size": 3, "normalize": True, "start": G3, "tol": 1e-6,
                "integer_valued": False,
            }, kinds,
            variants=free | {
                "function": [set_functions.CutFunction(EDGES[:2]),
                             set_functions.CutFunction(sp.eye_array(3, k=1))],
                "variant": ["pairwise", "away", "fw"], "integer_valued": ["auto"], "tol": [None],
            },
        ),
        *function(
            optim.solve_matrix_game,
            {
                "payoff": generator(7).normal(size=(3, 3)), "domain_x": domains.Simplex(3),
                "domain_y": domains.L2Ball(3), "step_size": "fictitious",
                "start": (np.ones(3) / 3, np.zeros(3)), "max_iter": 200, "tol": 0.1,
            },
            variants={"domain_x": [None, Ends], "domain_y": [None], "start": [None],
                      "step_size": ["universal"]},
        ),
        *function(
            optim.solve_saddle_point,
            {
                "function": bilinear(), "domain_x": domains.Simplex(3), "domain_y": Ends(),
                "variant": "fw", "step_size": universal,
                "constants": optim.SaddleConstants(smoothness_x=1.0), "max_iter": 100,
                "start": (np.ones(3) / 3, np.array([0.0, 0.0, 1.0])),
            }, kinds, aliases=asked,
            variants=free | {"variant": ["away", "pairwise"], "step_size": ["universal", 0.1]},
        ),
    ]  # fmt: skip


def of_incremental():
    kinds = {
        "X": rows(), "y": two_classes(), "loss": "log_loss", "penalty": "elasticnet", "alpha": 0.1,
        "l1_ratio": 0.5, "sample_weight": weights(), "max_iter": 50,
    }  # fmt: skip
    variants = {k: v for k, v in VARIANTS.items() if k not in ("warm_start", "fit_intercept")}
    oracle = {"oracle": lambda w, rng: 0.5 * w + np.sign(w - 1.0), "start": np.zeros(3), "mu": 0.5,
              "objective": lambda w: float(np.sum(w * w)), "callback": None}  # fmt: skip
    average = optim.RunningAverage("weighted", horizon=9)
    average.update(np.array([1.0, 2.0, 3.0]))
    updates = {"n_points": 3, "w": np.array([1.0, 0.0, -1.0]), "scale": 0.5,
               "indices": np.array([0, 2]), "values": np.array([1.0, -1.0])}  # fmt: skip
    return [
        *function(
            optim.minimize_saga, {"solver": "saga", "x0": np.zeros(3)}, kinds,
            variants=variants | {"loss": ["squared_hinge"], "x0": [None], "solver": SOLVERS},
        ),
        *function(
            optim.projected_subgradient,
            {**oracle, "step_size": "theory", "averaging": "weighted", "projection": clipped},
            variants={
                "step_size": ["pegasos", ("shifted", 1.0, 2.0), lambda: shrinking],
                "averaging": ["suffix", ("power", 2.0)], "projection": [None],
                "objective": [None], "time_limit": [None],
            },
            allows={"start two_more_axes one_more_axis no_axis": "points of any shape"},
        ),
        *function(
            optim.RunningAverage, {"scheme": "weighted", "horizon": 5},
            variants={"scheme": ["suffix", ("power", 2.0)], "horizon": [None]},
        ),
        *methods(optim.RunningAverage, lambda: average, None, updates),
    ]  # fmt: skip


def of_constants():
    names = [f"{name}_{end}" for name in ("smoothness", "convexity", "diameter") for end in "xy"]
    constants = dict.fromkeys(names, 1.0) | {"width_x": 0.5, "width_y": 0.5}
    made = optim.SaddleConstants(**constants, coupling=0.01)
    more = {"coupling": 0.1, "set_convexity": 1.0, "gradient_norm": 1.0}
    kinds = {"away": False}
    return [
        *function(optim.SaddleConstants, constants | more),
        *methods(optim.SaddleConstants, lambda: made, None, kinds, ["progress", "rate"]),
    ]  # fmt: skip


def entries():
    table = generator(6).normal(size=(3, 4))
    kinds = {
        "v": np.array([0.5, -0.2, 1.5]), "p": table, "log_p": table, "return_duals": True,
        "duals": (np.zeros(3), np.zeros(4)), "tol": 1e-9, "max_iter": 500,
    }  # fmt: skip
    return [
        *of_solvers(), *of_domains(), *of_set_functions(), *of_objectives(), *of_frank_wolfe(),
        *of_incremental(), *of_constants(),
        *functions(
            kinds,
            {
                projections.project_box: {"lower": 0.0, "upper": np.ones(3)},
                **{getattr(projections, name): None for name in projections.__all__
                   if name != "project_box"},
            },
            allows={"upper no_axis": "one bound for all"}, variants={"duals": [None]},
        ),
    ]  # fmt: skip
