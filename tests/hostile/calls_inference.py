"""Valid calls of random fields, oracles and estimators of marginals."""

import copy
import functools

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_fw import inference, random_fields
from sklearn_fw.inference import PairwiseScores, PoseScores
from sklearn_fw.random_fields import FactorGraph, PairwiseMRF

from .calls import build, fitting, function, generator, methods
from .calls_files import folder


def tree_scores():
    rng = generator(8)
    edges = np.array([[0, 1], [1, 2]])
    return PairwiseScores(rng.normal(size=(3, 2)), rng.normal(size=(2, 2, 2)), edges)


def cycle_scores():
    rng = generator(8)
    edges = np.array([[0, 1], [1, 2], [0, 2]])
    return PairwiseScores(rng.normal(size=(3, 2)), rng.normal(size=(3, 2, 2)), edges)


def attractive_scores():
    table = 0.5 * np.tile(np.eye(2), (3, 1, 1))
    return PairwiseScores(
        generator(8).normal(size=(3, 2)), table, np.array([[0, 1], [1, 2], [0, 2]])
    )


def matrix():
    return generator(9).normal(size=(2, 3))


def pose_scores():
    return PoseScores.from_arrays(
        generator(9).normal(size=(2, 3, 4)), [(0, 1)], np.ones((1, 4)), [[0.5, 1.0]], [[0.1]]
    )


def states():
    X = generator(10).integers(0, 2, size=(12, 3))
    X[:, 2] = X[:, 0]
    return X


def field():
    rng = generator(11)
    edges = [(0, 1), (1, 2), (0, 2)]
    return PairwiseMRF(rng.normal(size=(3, 2)), edges, 0.3 * rng.normal(size=(3, 2, 2)))


def best_states(scores):
    return np.argmax(scores.unary, axis=1)


class Plain(BaseEstimator):
    """An oracle of the user, with all the methods that one can have."""

    def argmax(self, scores, start=None):
        return inference.Enumeration().argmax(scores)

    def top_k(self, scores, k):
        return inference.Enumeration().top_k(scores, k)

    def marginals(self, scores):
        return inference.Enumeration().marginals(scores)

    def max_marginals(self, scores):
        return inference.Enumeration().max_marginals(scores)

    def sample(self, scores, n_samples, random_state=None):
        return inference.Enumeration().sample(scores, n_samples, random_state)


ORACLES = {
    inference.ICM: ({"max_iter": 100}, cycle_scores),
    inference.CutMoves: ({"move": "swap", "max_iter": 10}, cycle_scores),
    inference.MILP: ({"time_limit": 10.0, "mip_rel_gap": 1e-9}, cycle_scores),
    inference.QPBO: ({}, cycle_scores),
    inference.TRWS: ({"max_iter": 50, "tol": 1e-7}, cycle_scores),
    inference.Assignment: ({"perfect": False}, matrix),
    inference.BestOf: ({"oracles": [inference.ICM(), inference.TRWS()]}, cycle_scores),
    inference.BranchAndBound: (
        {"max_nodes": 100, "time_limit": 10.0, "max_iter": 20, "node_iter": 2}, cycle_scores,
    ),
    inference.CallableOracle: ({"function": best_states}, cycle_scores),
    inference.CheckedOracle: ({"oracle": Plain()}, cycle_scores),
    inference.Elimination: ({"max_table_size": 1000}, cycle_scores),
    inference.Enumeration: ({"max_labelings": 1000}, cycle_scores),
    inference.GraphCut: ({}, attractive_scores),
    inference.IteratedLocalSearch: (
        {"n_rounds": 5, "time_limit": 10.0, "random_state": 0}, cycle_scores,
    ),
    inference.LPRelaxation: ({"relaxed": True}, cycle_scores),
    inference.MaxProduct: ({"damping": 0.5, "max_iter": 20, "tol": 1e-5}, cycle_scores),
    inference.SubwindowSearch: ({"max_nodes": 1000, "time_limit": 10.0}, matrix),
    inference.DistanceTransform: ({}, pose_scores),
    inference.TreeMaxProduct: ({}, tree_scores),
    inference.Viterbi: ({}, tree_scores),
}  # fmt: skip
START = np.array([0, 1, 0])
# Those that never answer before they have looked at where to begin.
STARTED = (
    inference.ICM, inference.CutMoves, inference.IteratedLocalSearch,
)  # fmt: skip


def has_toulbar2():
    import importlib.util

    return importlib.util.find_spec("pytoulbar2") is not None


def of_oracle(cls, params, scores):
    """Parameters of an oracle act in `argmax`; its other methods stand for themselves."""
    import dataclasses

    def run(a):
        given = dict(a)
        rest = {name: given.pop(name) for name in ("scores", "start")}
        return cls(**given).argmax(**rest)

    takes_start = scores not in (matrix, pose_scores)
    start = None if not takes_start else START.copy()
    (entry,) = build(
        cls, lambda: {**copy.deepcopy(params), "scores": scores(), "start": copy.copy(start)}
    )
    aliases = {
        "scores": ("unary", "pairwise", "edges", "nodes", "weights"),
        "function": ("labels", "oracle"),
    }
    aliases["oracles"] = ("oracle",)
    found = [
        dataclasses.replace(
            entry,
            name=f"{entry.name}.argmax",
            infinite=True,  # -inf forbids a state, and bounds may be infinite
            run=run,
            docs=(cls, cls.argmax),
            aliases=aliases,
            allows={("start", "*"): "oracles that need no start ignore it"}
            if cls not in STARTED
            else {},
        )
    ]
    others = {
        "cost": {}, "fits": {}, "largest_table": {}, "log_partition": {}, "marginals": {},
        "max_marginals": {}, "top_k": {"k": 2}, "sample": {"n_samples": 2, "random_state": 0},
        "compare": {"start": START.copy()}, "vertex": {"start": START.copy()},
    }  # fmt: skip
    arguments = {
        name: functools.partial(_with_scores, scores, more)
        for name, more in others.items()
        if hasattr(cls, name)
    }
    rest = methods(
        cls, functools.partial(cls, **params), arguments, aliases=aliases, infinite=True,
        allows={("start", "*"): "oracles that need no start ignore it"},
    )  # fmt: skip
    return found + [_without_seconds(entry) for entry in rest]


def _without_seconds(entry):
    """What `BestOf.compare` measures is never the same twice."""
    import dataclasses

    if not entry.name.endswith(".compare"):
        return entry
    return dataclasses.replace(entry, run=lambda a: [tried[:3] for tried in entry.run(a)])


def _with_scores(scores, more):
    return {"scores": scores(), **copy.deepcopy(more)}


LEARNING = {"edges": np.array([[0, 1], [1, 2]]), "pseudocount": 1.0, "n_states": np.full(3, 2)}
SEARCH = {
    "variant": "away", "correction_every": 1, "correction_tol": 0.1, "contraction": "adaptive",
    "delta": 0.05, "local_search": "auto", "rho_step_size": "universal",
}  # fmt: skip
BUDGET = {"max_iter": 100, "time_limit": 10.0, "verbose": 0}
MARGINALS = {
    random_fields.ExactMarginals: {"max_table_size": 1000},
    random_fields.LoopyBPMarginals: {
        "update": "sequential", "damping": 0.5, "tol": 0.01, "random_state": 0, **BUDGET,
    },
    random_fields.MeanFieldMarginals: {"n_init": 2, "tol": 1e-4, "random_state": 0, **BUDGET},
    random_fields.MiniBucketMarginals: {"max_table_size": 4, "tol": 0.1, **BUDGET},
    random_fields.PerturbAndMAPMarginals: {
        "oracle": inference.Elimination(), "n_samples": 5, "n_copies": 1,
        "marginals": "conditioning", "n_jobs": 1, "random_state": 0,
    },
    random_fields.TRBPMarginals: {
        "rho_init": "matrix_tree_weighted", "n_rho_iter": 1, "update": "sequential",
        "damping": 0.5, "tol": 0.01, "random_state": 0, **BUDGET,
    },
    random_fields.TRWMarginals: {
        "oracle": inference.Elimination(), "polytope": "marginal",
        "solver": random_fields.BarrierFrankWolfe(**SEARCH), "rho_init": "matrix_tree_weighted",
        "n_rho_iter": 1, "tol": 0.5, "max_oracle_calls": 1000, "warm_start": False,
        "random_state": 0, **BUDGET,
    },
}  # fmt: skip
ESTIMATOR_VARIANTS = {
    "time_limit": [None], "learner": [None], "solver": [None],
    "oracle": [
        "auto", "elimination", "enumeration", "milp", "lp", "trws", lambda: best_states,
    ],
    "polytope": ["local"],
    "marginals": ["average"], "n_rho_iter": ["auto", 2], "update": ["parallel"],
    "rho_init": ["uniform"],
    "X": [field], "sample_weight": [None],
}  # fmt: skip


MISSING = {
    ("X", damage): "entries may be missing"
    for damage in ("nan", "all_nan", "object_none", "object_nan", "missing")
}


def of_estimator(cls, params):
    found = fitting(
        cls, lambda: copy.deepcopy({**params, "learner": random_fields.MRFLearner(**LEARNING)}),
        lambda: {"X": states(), "sample_weight": np.linspace(0.5, 2.0, 12)},
        variants=ESTIMATOR_VARIANTS,
        allows={
            ("learner.edges", "nothing_inside"): "no edges",
            ("oracle.max_table_size", "*"): "not asked where the bound of a learned field is known",
            **MISSING,
        },
        raises=(MemoryError,),  # a million states are what was asked for
    )  # fmt: skip
    fitted = functools.partial(cls().fit, states())
    arguments = {
        "predict": {"X": states()[:3]}, "predict_marginals": {"X": states()[:3]},
        "score": {"X": states()[:3]}, "score_samples": {"X": states()[:3]},
        "sample": {"n_samples": 2, "random_state": 0}, "named_marginals": {},
    }  # fmt: skip
    arguments = {n: a for n, a in arguments.items() if hasattr(cls, n)}
    found += methods(cls, fitted, arguments, allows=MISSING)
    return found


def of_parts_of_estimators():
    allows = {("*", "*"): "stored; a fit checks"}
    learned = random_fields.MRFLearner(**LEARNING).learn(states())
    return [
        *build(random_fields.BarrierFrankWolfe, lambda: copy.deepcopy(SEARCH), allows=allows),
        *build(random_fields.MRFLearner, lambda: copy.deepcopy(LEARNING), allows=allows),
        *methods(
            random_fields.MRFLearner, lambda: random_fields.MRFLearner(**LEARNING),
            {"learn": {"X": states(), "sample_weight": np.linspace(0.5, 2.0, 12)}},
            variants={"sample_weight": [None]}, allows=MISSING,
        ),
        *build(
            random_fields.LearnedMRF, lambda: dict(learned._asdict()),
            allows={("*", "*"): "a tuple that holds an answer"},
        ),
    ]  # fmt: skip


def factor_graph():
    rng = generator()
    return FactorGraph(
        [2, 3, 2], [([0, 1, 2], rng.normal(size=(2, 3, 2))), ([2, 0], rng.normal(size=(2, 2)))],
        names=["a", "b", "c"], state_names=[["x", "y"], ["x", "y", "z"], ["x", "y"]],
    )  # fmt: skip


def shared_arguments(graph):
    """Calls of the methods that fields of pairs have from factor graphs."""
    theta, labels = np.asarray(graph.theta), np.array([0, 1, 1])
    rows, width = np.array([[0, 1, 1], [1, 0, 0]]), graph.n_states.max()
    marginals = np.full((3, width), 1.0 / width)
    return {
        "check_labels": {"X": rows}, "complete": {"X": rows},
        "check_labelling": {"labels": labels, "name": "start"},
        "complete_marginals": {"marginals": marginals},
        "condition": {"observed": {0: 1}}, "factor_blocks": {"flat": theta},
        "from_pgmpy": lambda: {"model": pgmpy_model()},
        "from_pyagrum": lambda: {"model": pyagrum_model()},
        "from_uai": lambda: {
            "path": folder() / "field.uai", "evidence": folder() / "field.uai.evid",
        },
        "map": {"oracle": inference.Elimination(), "start": labels, "time_limit": 10.0},
        "merge": {}, "name_marginals": {"marginals": marginals},
        "name_states": {"labels": labels}, "node_blocks": {"flat": theta},
        "parts": {"X": rows}, "score": {"X": rows}, "to_pairwise": {},
        "to_uai": lambda: {"path": str(folder() / "out.uai")}, "vertex": {"labels": labels},
    }  # fmt: skip


class Answer:
    """An object of which methods give what they are told."""

    def __init__(self, **answers):
        for name, answer in answers.items():
            setattr(self, name, answer)


def pgmpy_model():
    table = Answer(
        variables=["a", "b"], values=np.ones((2, 2)), state_names={"a": [0, 1], "b": ["x", "y"]}
    )
    return Answer(get_factors=lambda: [table])


def pyagrum_model():
    variable = Answer(name=lambda: "a", labels=lambda: ("x", "y"))
    table = Answer(names=("a",), toarray=lambda: np.array([0.2, 0.8]))
    return Answer(nodes=lambda: [0], variable=lambda node: variable, cpt=lambda node: table)


FIELD_ALLOWS = {
    ("path", "text"): "a file of that name is written",
    ("path", "code"): "a file of that name is written",
    **{
        (argument, damage): "any numbers in the order of theta"
        for argument in ("flat", "node", "edge")
        for damage in ("nan", "all_nan", "inf", "minus_inf")
    },
    ("name", "*"): "a word for messages",
    ("marginals", "*"): "any finite numbers, blocks of which are given back",
}


def of_factor_graph():
    graph = factor_graph()
    table = np.asarray(graph.tables[0])
    return [
        *build(
            FactorGraph,
            lambda: {
                "n_states": np.array([2, 3, 2]), "factors": [([0, 1, 2], table)], "constant": 0.5,
                "names": ["a", "b", "c"],
                "state_names": [["x", "y"], ["x", "y", "z"], ["x", "y"]],
            },
            infinite=True,
        ),
        *methods(
            FactorGraph, factor_graph, shared_arguments(graph), infinite=True,
            variants={"oracle": ["auto", "trws", "milp"]}, allows=FIELD_ALLOWS,
            aliases={
                "labels": ("start", "state"), "path": ("graph",), "evidence": ("observed",),
                "model": ("table", "the table"),
            },
        ),
    ]  # fmt: skip


def of_field():
    mrf = field()
    theta = np.asarray(mrf.theta)
    node, edge = np.full((3, 2), 0.5), np.full((3, 2, 2), 0.25)
    arguments = {
        **shared_arguments(mrf),
        "check_labels": {"X": states()}, "complete": {"X": states()},
        "flatten": {"node": node, "edge": edge},
        "parts": {"X": states()}, "score": {"X": states()}, "scores": {"theta": theta},
        "to_ising": {}, "to_networkx": {},
        "from_ising": {
            "h": np.ones(3), "J": np.array([0.5, -0.5]), "edges": np.array([[0, 1], [1, 2]]),
            "constant": 0.5, "names": ["a", "b", "c"],
        },
        "from_networkx": lambda: {
            "graph": field().to_networkx(), "unary": "unary", "pairwise": "pairwise",
        },
    }  # fmt: skip
    return [
        *build(
            PairwiseMRF,
            lambda: {
                "unary": generator(1).normal(size=(3, 2)), "edges": np.array([[0, 1], [1, 2]]),
                "pairwise": generator(2).normal(size=(2, 2, 2)), "constant": 0.5,
                "names": ["a", "b", "c"],
                "state_names": [["x", "y"], ["x", "y"], ["x", "y"]],
            },
            infinite=True,
        ),
        *methods(
            PairwiseMRF, field, arguments, infinite=True,
            variants={"oracle": ["auto", "trws", "milp", lambda: best_states]},
            allows={
                **FIELD_ALLOWS,
                **{(a, d): "the same numbers in another order" for a in ("node", "edge")
                   for d in ("nan", "object_nan", "all_nan")},
                ("flat", "nan"): "a view of any numbers",
                ("flat", "all_nan"): "a view of any numbers",
            },
            aliases={
                "labels": ("start", "state"), "path": ("graph",), "J": ("h",),
                "graph": ("unary", "pairwise", "node"),
                "unary": ("node",), "pairwise": ("edge",), "evidence": ("observed",),
                "model": ("table", "the table"),
            },
        ),
    ]  # fmt: skip


def of_pose_scores():
    scores = pose_scores()
    given = {name: getattr(scores, name) for name in PoseScores.__slots__}
    aliases = dict.fromkeys(PoseScores.__slots__, ("scores",))
    return [
        *build(PoseScores, lambda: dict(given), infinite=True, aliases=aliases),
        *methods(
            PoseScores, pose_scores,
            {"check": {}, "value": {"positions": np.array([[0, 1], [2, 3]])}, "from_arrays": given},
            infinite=True, aliases=aliases,
        ),
        *build(
            inference.BoxScores,
            lambda: {"weights": matrix(), "truth": np.array([0, 0, 1, 2]), "cost": 1.0},
            aliases={"weights": ("scores",)},
        ),
        *methods(
            inference.BoxScores, lambda: inference.BoxScores(matrix()),
            {"value": {"box": np.array([0, 0, 1, 2])}},
        ),
    ]  # fmt: skip


def of_scores():
    scores = tree_scores()
    given = {"unary": scores.unary, "pairwise": scores.pairwise, "edges": scores.edges}
    return [
        *build(
            PairwiseScores, lambda: dict(given), infinite=True,
            aliases={"unary": ("scores",), "pairwise": ("scores",)},
        ),
        *methods(
            PairwiseScores, tree_scores,
            {"check": {}, "value": {"labels": START}, "from_arrays": given}, infinite=True,
            aliases={"unary": ("scores",), "pairwise": ("scores",)},
        ),
    ]  # fmt: skip


def entries():
    edges = np.array([[0, 1], [1, 2], [0, 2]])
    mrf = field()
    mu = mrf.flatten(np.full((3, 2), 0.5), np.full((3, 2, 2), 0.25))
    of_mu = {"mu": mu, "mrf": mrf, "rho": np.full(3, 2 / 3)}
    trw = functools.cache(lambda: random_fields.TRWMarginals(random_state=0).fit(field()))
    pictured = {"state": 1, "ax": None, "name": "field"}
    return [
        *[e for cls, (params, scores) in ORACLES.items() for e in of_oracle(cls, params, scores)],
        *[e for cls, params in MARGINALS.items() for e in of_estimator(cls, params)],
        *of_parts_of_estimators(),
        *of_factor_graph(), *of_field(), *of_scores(), *of_pose_scores(),
        *function(
            random_fields.edge_mutual_information, lambda: {"mu": mu.copy(), "mrf": field()}
        ),
        *function(
            random_fields.spanning_tree_probabilities,
            lambda: {
                "edges": edges.copy(), "n_variables": 3, "weights": np.ones(3), "n_trees": None,
                "random_state": 0,
            },
            allows={("random_state", "*"): "for trees that are drawn"},
        ),
        *function(
            inference.resolve_oracle,
            lambda: {"oracle": best_states, "default": inference.ICM()},
            variants={"oracle": ["icm", inference.MILP]},
            allows={("default", "*"): "used for oracle='auto'"},
        ),
        *function(inference.time_left, dict),
        *function(random_fields.trw_objective, lambda: copy.deepcopy(of_mu)),
        *build(
            random_fields.MarginalsDisplay,
            lambda: {"marginals": np.full((3, 2), 0.5), "name": "x"},
            allows={("*", "*"): "stored; plot checks"},
        ),
        *methods(
            random_fields.MarginalsDisplay,
            lambda: random_fields.MarginalsDisplay(np.full((3, 2), 0.5)),
            {
                "plot": {"ax": None, "shape": (1, 3), "state": 1},
                "from_estimator": lambda: {"estimator": trw(), **pictured, "shape": (1, 3)},
            },
        ),
    ]  # fmt: skip
