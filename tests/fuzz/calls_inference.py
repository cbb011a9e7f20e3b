"""Valid calls of random fields, oracles and estimators of marginals."""

import copy
import functools

import numpy as np
from sklearn.base import BaseEstimator

from sklearn_fw import inference, random_fields
from sklearn_fw.inference import PairwiseScores, PoseScores
from sklearn_fw.random_fields import FactorGraph, PairwiseMRF

from .calls import STORED, Later, display, entry, estimator, fill, function, functions, generator
from .calls import methods as methods_of
from .calls_data import folder

START = np.array([0, 1, 0])
EDGES = np.array([[0, 1], [1, 2], [0, 2]])


def tree_scores():
    rng = generator(8)
    return PairwiseScores(rng.normal(size=(3, 2)), rng.normal(size=(2, 2, 2)), EDGES[:2])


def cycle_scores():
    rng = generator(8)
    return PairwiseScores(rng.normal(size=(3, 2)), rng.normal(size=(3, 2, 2)), EDGES)


def attractive_scores():
    table = 0.5 * np.tile(np.eye(2), (3, 1, 1))
    return PairwiseScores(generator(8).normal(size=(3, 2)), table, EDGES)


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
    return PairwiseMRF(rng.normal(size=(3, 2)), EDGES, 0.3 * rng.normal(size=(3, 2, 2)))


def factor_graph():
    rng = generator()
    return FactorGraph(
        [2, 3, 2], [([0, 1, 2], rng.normal(size=(2, 3, 2))), ([2, 0], rng.normal(size=(2, 2)))],
        names=["a", "b", "c"], state_names=[["x", "y"], ["x", "y", "z"], ["x", "y"]],
    )  # fmt: skip


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


# ---- oracles -------------------------------------------------------------------------------------

SCORES = {
    inference.Assignment: matrix, inference.SubwindowSearch: matrix,
    inference.DistanceTransform: pose_scores, inference.GraphCut: attractive_scores,
    inference.TreeMaxProduct: tree_scores, inference.Viterbi: tree_scores,
}  # fmt: skip
PARAMS = {
    "max_iter": 100, "max_nodes": 1000, "n_rounds": 5, "max_table_size": 1000,
    "max_labelings": 1000, "oracles": [inference.ICM(), inference.TRWS()],
    "function": best_states, "oracle": Plain(), "relaxed": True,
}  # fmt: skip
# Those that never answer before they have looked at where to begin.
STARTED = (
    inference.ICM, inference.CutMoves, inference.IteratedLocalSearch,
)  # fmt: skip


def is_oracle(name):
    cls = getattr(inference, name)
    return isinstance(cls, type) and hasattr(cls, "argmax") and name not in ("Oracle", "Toulbar2")


def of_oracle(cls):
    """Parameters of an oracle act in `argmax`; its other methods stand for themselves."""
    scores = SCORES.get(cls, cycle_scores)
    start = None if scores in (matrix, pose_scores) else START
    params = fill(cls, None, PARAMS)
    aliases = {
        "scores": ("unary", "pairwise", "edges", "nodes", "weights"),
        "function": ("labels", "oracle"), "oracles": ("oracle",),
    }  # fmt: skip
    unread = {"start *": "oracles that need no start ignore it"}
    name = f"inference.{cls.__name__}"

    def argmax(a):
        given = {key: value for key, value in a.items() if key in params}
        return cls(**given).argmax(a["scores"], a["start"])

    def compare(a):  # how long an oracle took is never the same twice
        return [tried[:3] for tried in cls(**copy.deepcopy(params)).compare(**a)]

    found = entry(
        f"{name}.argmax", {**params, "scores": Later(scores), "start": start}, argmax,
        (cls, cls.argmax), infinite=True,  # -inf forbids a state, and bounds may be infinite
        aliases=aliases, allows={} if cls in STARTED else unread,
    )  # fmt: skip
    kinds = {"scores": Later(scores), "k": 2, "n_samples": 2, "start": START}
    others = (
        "cost", "largest_table", "log_partition", "marginals", "max_marginals", "top_k",
        "sample", "vertex",
    )  # fmt: skip
    others = [method for method in others if hasattr(cls, method)]
    made = functools.partial(cls, **params)
    options = {"aliases": aliases, "infinite": True, "allows": unread}
    found += methods_of(cls, made, None, kinds, others, **options)
    if hasattr(cls, "compare"):
        given = fill(cls.compare, None, kinds)
        found += entry(f"{name}.compare", given, compare, (cls.compare,), **options)
    return found


# ---- estimators of marginals ---------------------------------------------------------------------

LEARNER = random_fields.MRFLearner(EDGES[:2], n_states=np.full(3, 2))
SEARCH = random_fields.BarrierFrankWolfe(correction_tol=0.1)
PARAMS_OF_MARGINALS = {
    "max_iter": 100, "n_init": 2, "oracle": inference.Elimination(), "n_samples": 5, "tol": 0.1,
    "solver": SEARCH, "max_oracle_calls": 1000, "n_rho_iter": 1, "learner": LEARNER,
    "max_table_size": 1000, "time_limit": 100.0, "random_state": 0, "n_jobs": 1,
}  # fmt: skip
VARIANTS = {
    "time_limit": [None], "learner": [None], "solver": [None],
    "oracle": ["auto", "elimination", "enumeration", "milp", "lp", "trws", lambda: best_states],
    "polytope": ["local"], "marginals": ["average"], "n_rho_iter": ["auto", 2],
    "update": ["parallel"], "rho_init": ["uniform"], "X": [field], "sample_weight": [None],
}  # fmt: skip
MISSING = {"X nan all_nan object_none object_nan missing": "entries may be missing"}


def of_marginals(cls):
    data = {"X": states(), "sample_weight": np.linspace(0.5, 2.0, 12)}
    known = "not asked where the bound of a learned field is known"
    return estimator(
        cls, fill(cls, None, PARAMS_OF_MARGINALS), data, {"X": states()[:3], "n_samples": 2},
        lambda: cls().fit(states()), variants=VARIANTS,
        allows={
            "learner.edges nothing_inside": "no edges", "oracle.max_table_size *": known, **MISSING
        },
        raises=(MemoryError,),  # a million states are what was asked for
    )  # fmt: skip


def of_parts_of_estimators():
    data = {"X": states(), "sample_weight": np.linspace(0.5, 2.0, 12)}
    learned, learner = LEARNER.learn(states()), copy.deepcopy(LEARNER)
    free = {"sample_weight": [None]}
    return [
        *function(random_fields.BarrierFrankWolfe, None, allows=STORED),
        *function(random_fields.MRFLearner, None, allows=STORED),
        *methods_of(type(learner), lambda: learner, None, data, variants=free, allows=MISSING),
        *function(random_fields.LearnedMRF, learned._asdict(), allows=STORED),
    ]  # fmt: skip


# ---- fields --------------------------------------------------------------------------------------


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


WRITTEN = {"path text code": "a file of that name is written"}
FIELD_ALLOWS = {
    **WRITTEN,
    **{f"{name} nan all_nan object_nan inf minus_inf": "any numbers in the order of theta"
       for name in ("flat", "node", "edge")},
    "name *": "a word for messages",
    "marginals *": "any finite numbers, blocks of which are given back",
}  # fmt: skip


def even_marginals():
    return field().flatten(np.full((3, 2), 0.5), np.full((3, 2, 2), 0.25))


def of_field(cls, make, params, rows):
    made = make()
    theta, width = np.asarray(made.theta), made.n_states.max()
    kinds = {
        "X": rows, "labels": np.array([0, 1, 1]), "name": "start", "flat": theta, "theta": theta,
        "marginals": np.full((3, width), 1.0 / width), "observed": {0: 1}, "start": START,
        "oracle": inference.Elimination(), "node": np.full((3, 2), 0.5),
        "edge": np.full((3, 2, 2), 0.25), "h": np.ones(3), "J": np.array([0.5, -0.5]),
        "edges": EDGES[:2], "constant": 0.5, "names": ["a", "b", "c"],
        "graph": Later(lambda: field().to_networkx()), "unary": "unary", "pairwise": "pairwise",
        "path": Later(lambda: str(folder() / "out.uai")), "mu": even_marginals(),
    }  # fmt: skip
    given = {
        "from_pgmpy": {"model": Later(pgmpy_model)},
        "from_pyagrum": {"model": Later(pyagrum_model)},
    }
    names = {"names": ["a", "b", "c"], "constant": 0.5}
    aliases = {
        "labels": ("start", "state"), "path": ("graph",), "J": ("h",),
        "model": ("table", "the table"), "graph": ("unary", "pairwise", "node"),
        "unary": ("node",), "pairwise": ("edge",),
    }  # fmt: skip
    return [
        *function(cls, {**params, **names}, infinite=True),
        *methods_of(
            cls, make, given, kinds, infinite=True, aliases=aliases, allows=FIELD_ALLOWS,
            variants={"oracle": ["auto", "trws", "milp", lambda: best_states]},
        ),
    ]  # fmt: skip


def of_fields():
    graph, pairs = factor_graph(), [["x", "y"]] * 3
    rows = np.array([[0, 1, 1], [1, 0, 0]])
    of_pairs = {
        "unary": generator(1).normal(size=(3, 2)), "edges": EDGES[:2],
        "pairwise": generator(2).normal(size=(2, 2, 2)), "state_names": pairs,
    }  # fmt: skip
    of_factors = {
        "n_states": np.array([2, 3, 2]), "factors": [([0, 1, 2], np.asarray(graph.tables[0]))],
        "state_names": [["x", "y"], ["x", "y", "z"], ["x", "y"]],
    }  # fmt: skip
    return [
        *of_field(PairwiseMRF, field, of_pairs, states()),
        *of_field(FactorGraph, factor_graph, of_factors, rows),
    ]


def of_scores():
    found = []
    for make, more in (
        (tree_scores, {"labels": START}), (pose_scores, {"positions": np.array([[0, 1], [2, 3]])})
    ):  # fmt: skip
        scores = make()
        names = getattr(type(scores), "_fields", None) or type(scores).__slots__
        kinds = {name: getattr(scores, name) for name in names}
        options = {"infinite": True, "aliases": dict.fromkeys(names, ("scores",))}
        found += function(type(scores), None, kinds, **options)
        only = ["check", "value", "from_arrays"]
        found += methods_of(type(scores), make, None, {**kinds, **more}, only, **options)
    box = np.array([0, 0, 1, 2])
    given = {"weights": matrix(), "truth": box}
    found += function(inference.BoxScores, given, aliases={"weights": ("scores",)})
    made = inference.BoxScores(matrix())
    return found + methods_of(inference.BoxScores, lambda: made, None, {"box": box}, ["value"])


def entries():
    of_mu = {
        "mu": even_marginals(), "mrf": field(), "rho": np.full(3, 2 / 3), "edges": EDGES,
        "n_variables": 3, "weights": np.ones(3), "n_trees": 20,
    }  # fmt: skip
    trw = functools.cache(lambda: random_fields.TRWMarginals(random_state=0).fit(field()))
    shown = {"marginals": np.full((3, 2), 0.5), "name": "x", "shape": (1, 3), "state": 1,
             "estimator": Later(lambda: copy.deepcopy(trw()))}  # fmt: skip
    is_marginals = [n for n in random_fields.__all__ if n.endswith("Marginals")]
    return [
        *[e for n in inference.__all__ if is_oracle(n) for e in of_oracle(getattr(inference, n))],
        *[e for n in is_marginals for e in of_marginals(getattr(random_fields, n))],
        *of_parts_of_estimators(), *of_fields(), *of_scores(),
        *functions(of_mu, {random_fields.trw_objective: None}),
        *function(
            random_fields.spanning_tree_probabilities, {"weights": None}, of_mu,
            variants={"n_trees": [None]}, allows={"random_state *": "for trees that are drawn"},
        ),
        *function(
            inference.resolve_oracle, {"oracle": best_states, "default": inference.ICM()},
            variants={"oracle": ["icm", inference.MILP]},
            allows={"default *": "used for oracle='auto'"},
        ),
        *function(inference.time_left),
        *display(random_fields.MarginalsDisplay, shown),
    ]  # fmt: skip
