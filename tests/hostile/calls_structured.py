"""Valid calls of structured models, their solvers, the structured SVM and its paths."""

import copy
import functools

import numpy as np
import scipy.sparse as sp

from sklearn_fw import displays, inference, structured
from sklearn_fw.model_selection import regularization_path
from sklearn_fw.structured import StructuredSVM, StructuredSVMCV
from sklearn_fw.task_losses import LinkLoss
from sklearn_fw.utils import Packed

from .calls import build, fitting, generator, methods


def words(form=np.asarray):
    rng = generator(12)
    y = [rng.integers(0, 3, n) for n in (3, 2, 4, 1, 3, 2)]
    return [form(np.eye(3)[t] + 0.3 * rng.normal(size=(len(t), 3))) for t in y]


def tags():
    rng = generator(12)
    return [rng.integers(0, 3, n) for n in (3, 2, 4, 1, 3, 2)]


def table():
    return generator(13).normal(size=(12, 3))


def classes():
    return np.tile([0, 1, 2], 4)


def label_sets():
    return (table() > 0).astype(int)


def graphs():
    rng = generator(16)
    edges = [[(0, 1)], [(0, 1), (1, 2)], [(0, 1), (1, 2), (2, 0)]]
    return [
        (rng.normal(size=(2 + (k > 0), 2)), np.array(own), rng.normal(size=(len(own), 1)))
        for k, own in enumerate(edges)
    ]


def superpixels():
    return [(x, edges, np.abs(z), np.arange(1.0, 1.0 + len(x))) for x, edges, z in graphs()]


def labels_of_graphs():
    return [np.array([0, 1]), np.array([1, 0, 1]), np.array([0, 0, 1])]


def grids():
    return [generator(i).normal(size=(2, 2, 1)) for i in range(4)]


def labels_of_grids():
    return [(x[..., 0] > 0).astype(int) for x in grids()]


def pairs():
    return [generator(i).normal(size=(2, 3, 2)) for i in range(5)]


def matchings():
    y = np.zeros((2, 3), int)
    y[0, 1] = y[1, 0] = 1
    return [y.copy() for _ in range(5)]


def images():
    return [generator(i).normal(size=(3, 4, 2)) for i in range(5)]


def poses():
    return [np.array([[i % 3, 0], [1, 1 + i % 2]]) for i in range(5)]


def boxes():
    return [np.array([0, i % 3, 2, 4]) for i in range(5)]


def candidates():
    return [generator(i).normal(size=(3, 2)) for i in range(6)]


def chosen():
    return np.array([0, 1, 2, 0, 1, 2])


class Ranking(structured.StructuredModel):
    """A model of the user in plain Python: one of three candidates."""

    def joint_feature(self, x, y):
        return np.asarray(x)[y]

    def loss(self, y_true, y):
        return float(y_true != y)

    def inference(self, x, w):
        return int(np.argmax(np.asarray(x) @ w))

    def loss_augmented_inference(self, x, y_true, w):
        return int(np.argmax(np.asarray(x) @ w + (np.arange(len(x)) != y_true)))


def best_tags(scores):
    """An oracle of the user: it looks at nodes alone."""
    return np.argmax(scores.unary, axis=1)


DATA = {
    "chain": (words, tags, structured.ChainModel),
    "graph": (graphs, labels_of_graphs, structured.GraphModel),
    "graph_cut": (superpixels, labels_of_graphs, structured.GraphCutModel),
    "grid": (grids, labels_of_grids, structured.GridModel),
    "multiclass": (table, classes, structured.MulticlassModel),
    "multilabel": (table, label_sets, structured.MultilabelModel),
    "matching": (pairs, matchings, structured.MatchingModel),
    "enumerated": (candidates, chosen, structured.EnumeratedModel),
    "pose": (images, poses, structured.TreePoseModel),
    "box": (images, boxes, structured.BoxModel),
    "own": (candidates, chosen, Ranking),
}
LABELLED = ("chain", "graph", "graph_cut", "grid")
SETTINGS = {
    "C": 1.0, "tol": 0.05, "max_iter": 50, "time_limit": 100.0, "n_jobs": 1, "warm_start": False,
    "random_state": 0, "verbose": 0,
}  # fmt: skip
SOLVERS = [
    "bcfw", "bcpfw", "bcafw", "bchybrid", "cached", "fw", "subgradient", "perceptron",
    "extragradient", "auto", "one_slack", "n_slack", "minibatch", "casimir", "svrg",
]  # fmt: skip


@functools.cache
def fitted(kind):
    X, y, model = DATA[kind]
    return StructuredSVM(model(), solver="bcfw", **SETTINGS).fit(X(), y())


def svm_of(kind, **more):
    """`StructuredSVM.fit` on one kind of data."""
    import dataclasses

    X, y, model = DATA[kind]

    def make():
        data = {"X": X(), "y": y()}
        return {
            **data, "sample_weight": generator(14).uniform(0.5, 2.0, len(data["X"])),
        }  # fmt: skip

    oracle = {"oracle": best_tags} if kind == "chain" else {"oracle": "auto"}
    (entry,) = fitting(
        StructuredSVM,
        lambda: {
            "model": model(),
            "task_loss": "auto",
            "surrogate": "hinge",
            **copy.copy(oracle),
            "solver": structured.BlockFrankWolfe(),
            **SETTINGS,
        },
        make,
        variants={
            "solver": SOLVERS,
            "C": ["auto"],
            "tol": ["auto"],
            "max_iter": ["auto"],
            "n_jobs": [2, None],
            "oracle": ["auto"],
            "sample_weight": [None],
            "warm_start": [True],
            **more,
        },
        aliases={
            "oracle": ("labels", "function", "argmax"),
            "model": ("joint_feature", "loss", "inference", "loss_augmented_inference"),
            # Data that a model of the user takes as they are: it says what is wrong with them.
            **({"X": ("sample",), "y": ("sample",)} if kind == "own" else {}),
        },
        allows={
            **({("y", "half"): "a label as any other"} if kind == "graph" else {}),
            ("model", "user_spoils_arguments"): (
                "inputs are the user's own, to be changed: the fit says that the oracle is wrong"
            ),
        },
    )
    suffix = "" if kind == "chain" else f" ({kind})"
    return [dataclasses.replace(entry, name=entry.name + suffix)]


@functools.cache
def relaxed():
    return StructuredSVM("chain", oracle="lp", C=1.0, max_iter=2, tol=10.0).fit(words(), tags())


def of_svm():
    X, y = words()[:3], tags()[:3]
    weight = np.array([1.0, 2.0, 0.5])
    given = {
        **{name: {"X": X} for name in (
            "predict", "predict_marginals", "score_samples",
        )},
        "duality_gap": {"X": X, "y": y, "sample_weight": weight, "max_iter": 5},
        "loss": {"X": X, "y": y}, "n_best": {"X": X, "k": 2}, "feature_weights": {},
        "calibrate": {"X": X, "y": y, "sample_weight": weight},
        "score": {"X": X, "y": y, "sample_weight": weight},
    }  # fmt: skip
    return [
        *svm_of("chain", X=[lambda: words(sp.csr_array), lambda: Packed.from_list(words())]),
        *svm_of("multiclass", X=[lambda: sp.csr_array(table())]),
        *svm_of("graph"), *svm_of("grid"), *svm_of("multilabel"), *svm_of("matching"),
        *svm_of("enumerated"), *svm_of("own"), *svm_of("pose"), *svm_of("box"),
        *methods(
            StructuredSVM, lambda: fitted("chain"), given,
            variants={"X": [lambda: words(sp.csr_array)[:3]]},
            allows={("y", "half"): "a label as any other, which fit has not seen"},
        ),
        *methods(
            StructuredSVM, relaxed, {"predict_relaxed": {"X": X}},
            variants={"X": [lambda: words(sp.csr_array)[:3]]},
        ),
        *methods(
            StructuredSVM, lambda: fitted("multiclass"), {"decision_function": {"X": table()[:3]}},
            variants={"X": [lambda: sp.csr_array(table()[:3])]},
        ),
        *fitting(
            StructuredSVMCV,
            lambda: {
                "estimator": StructuredSVM(
                    "multiclass", solver="bcpfw", random_state=0, max_iter=200
                ),
                "eps": 0.3, "kappa": 0.7, "C_min": 0.01, "C_max": 1.0, "n_values": 3,
                "mode": "exact", "cv": 2, "scoring": "accuracy", "n_jobs": 1, "time_limit": 100.0,
            },
            lambda: {
                "X": table(), "y": classes(), "sample_weight": np.linspace(0.5, 2.0, 12),
                "groups": np.repeat([0, 1, 2, 3], 3),
            },
            variants={"mode": ["heuristic"], "sample_weight": [None], "time_limit": [None]},
            allows={
                ("estimator.C", "*"): "the path sets it",
                **{("groups", damage): "labels of any kind"
                   for damage in ("dates", "half", "complex_entries")},
                **{(end, "float32"): "another number, and another path"
                   for end in ("C_min", "C_max", "eps", "kappa")},
            },
            slow=True,
        ),
        *methods(
            StructuredSVMCV, lambda: StructuredSVMCV(
                StructuredSVM("chain", random_state=0), eps=0.5, C_min=0.1, C_max=1.0, cv=2,
                n_values=2,
            ).fit(words(), tags()),
            {
                **{n: {"X": X} for n in ("predict", "predict_marginals", "score_samples")},
                "score": {"X": X, "y": y, "sample_weight": np.linspace(0.5, 2.0, 3)},
            },
            variants={"sample_weight": [None]},
            allows={("y", "half"): "a label as any other, which fit has not seen"},
        ),
        *methods(
            StructuredSVMCV, lambda: StructuredSVMCV(
                StructuredSVM("multiclass", random_state=0), eps=0.5, C_min=0.1, C_max=1.0, cv=2,
                n_values=2,
            ).fit(table(), classes()),
            {"decision_function": {"X": table()[:3]}},
        ),
    ]  # fmt: skip


@functools.cache
def path():
    return regularization_path(
        StructuredSVM("multiclass", random_state=0), table(), classes(), eps=0.3, C_max=1.0
    )


def of_paths():
    allows = {
        ("at", "none"): "None means all", ("y", "none"): "None means no scores",
        ("at", "no_axis"): "one value of the path",
    }  # fmt: skip
    aliases = {"at": ("C",), "value": ("C",)}
    return [
        *methods(
            structured.StructuredPath, path,
            {
                "coef_at": {"value": 0.1}, "estimator_at": {"value": 0.1},
                "gap_at": {"value": 0.1},
                "predict": {"X": table(), "at": 0.1},
                "score_path": {
                    "X": table(), "y": classes(), "scoring": "accuracy", "at": np.array([0.1]),
                    "sample_weight": np.linspace(0.5, 2.0, 12),
                },
            },
            aliases=aliases, allows=allows,
        ),
        *build(
            displays.ConvergenceDisplay,
            lambda: {
                "history": {"n_iter": np.array([1.0, 2.0]), "dual_gap": np.array([1.0, 0.1])},
                "name": "x",
            },
            allows={("*", "*"): "stored; plot checks"},
        ),
        *methods(
            displays.ConvergenceDisplay,
            lambda: displays.ConvergenceDisplay({"n_iter": [1.0, 2.0], "dual_gap": [1.0, 0.1]}),
            {
                "plot": {"ax": None, "x": "n_iter", "kind": "gap", "name": "x"},
                "from_estimator": lambda: {
                    "estimator": fitted("multiclass"), "x": "n_oracle_calls", "kind": "gap",
                    "ax": None, "name": "x",
                },
            },
        ),
    ]  # fmt: skip


def of_models():
    found = []
    for kind, (X, y, model) in DATA.items():
        if kind == "own":
            continue
        settings = {
            "chain": {
                "task_loss": "hamming", "class_weight": {0: 1.0, 1: 2.0, 2: 1.0},
                "start_end": True,
            },
            "graph": {
                "task_loss": "hamming", "edge_symmetry": "symmetric", "class_weight": "balanced",
                "fit_intercept": True, "node_attributes": "features", "edge_attributes": None,
            },
            "graph_cut": {
                "task_loss": "hamming", "class_weight": "balanced", "fit_intercept": True,
                "node_attributes": "features", "edge_attributes": None,
            },
            "grid": {
                "task_loss": "hamming", "neighborhood": 4, "directional": True, "contrast": True,
                "class_weight": "balanced", "fit_intercept": True,
            },
            "multiclass": {
                "task_loss": "zero_one", "class_weight": "balanced", "fit_intercept": True,
            },
            "multilabel": {
                "edges": [(0, 1), (1, 2)], "task_loss": "hamming", "fit_intercept": True,
            },
            "matching": {
                "task_loss": LinkLoss(1.0, 3.0), "perfect": False,
            },
            "enumerated": {"task_loss": "zero_one"},
            "pose": {"edges": np.array([[0, 1]]), "n_types": 1, "task_loss": "distance"},
            "box": {},
        }[kind]  # fmt: skip
        found += fitting(
            model, functools.partial(copy.deepcopy, settings),
            functools.partial(lambda X, y: {"X": X(), "y": y()}, X, y), method="initialize",
            allows={("y", "half"): "a label as any other"} if kind in LABELLED else {},
        )  # fmt: skip
        made = model(**settings).initialize(X(), y())
        size = getattr(made, "size_joint_feature", None) or len(made.joint_feature(X()[0], y()[0]))
        x, truth, w = X()[0], y()[0], 0.1 * generator(15).normal(size=size)
        if hasattr(model, "bounds"):
            w = np.minimum(w, made.bounds()[1])
        arguments = {
            "joint_feature": {"x": x, "y": truth}, "loss": {"y_true": truth, "y": truth},
            "inference": {"x": x, "w": w},
            "loss_augmented_inference": {"x": x, "y_true": truth, "w": w},
        }  # fmt: skip
        if kind == "pose":
            w[made.bounds()[0] == 0.0] = 0.1  # the weights of squares are not negative
            arguments["bounds"] = {}
        if hasattr(model, "scores"):
            arguments |= {
                "scores": {"x": x, "w": w},
                "bounds": {},
                "default_oracle": {},
                "augment": {"scores": made.scores(x, w), "y_true": truth},
            }
        if kind == "enumerated":
            arguments["output_key"] = {"y": truth}
        if hasattr(model, "unpack"):
            arguments["unpack"] = {"w": w}
        if hasattr(model, "parts"):
            arguments |= {
                "parts": {"x": x}, "node_weights": {"x": x}, "encode": {"y": truth},
                "decode": {"states": made.encode(truth), "x": x},
            }  # fmt: skip
        if hasattr(model, "decision_function"):
            arguments["decision_function"] = {"X": X(), "w": w}
        if kind == "matching":
            z = np.full(6, 0.2)
            tol = {"tol": 1e-9}
            arguments |= {
                "adjoint": {"x": x, "w": w}, "apply": {"x": x, "z": z}, "decode": {"x": x, "z": z},
                "label_vector": {"x": x, "y": truth}, "lmo": {"x": x, "s": z},
                "log_partition": {"x": x, "theta": z, **tol}, "log_potentials0": {"x": x},
                "loss_vector": {"x": x, "y": truth}, "marginals": {"x": x, "theta": z, **tol},
                "output_key": {"y": truth}, "project": {"x": x, "p": z, **tol},
                "z_diameter": {"x": x, "geometry": "euclidean"}, "z_size": {"x": x},
            }  # fmt: skip
        arguments = {name: a for name, a in arguments.items() if hasattr(model, name)}
        found += methods(
            model, functools.partial(copy.deepcopy, made), arguments,
            aliases={"scores": ("unary", "edges", "pairwise"), "y": ("y_true",)},
            infinite=True,  # -inf forbids a state
            allows={
                "multiclass": {("scores.pairwise", "*"): "single nodes have none"},
                "matching": {
                    (z, "nothing_inside"): "fits an input without pairs"
                    for z in ("z", "s", "p", "theta")
                },
                "pose": {("edges", "nothing_inside"): "joints without springs"},
                "graph": {("x.1", "none"): "None stands for no edges"},
                "graph_cut": {
                    ("x.1", "none"): "None stands for no edges",
                    ("x.3", "none"): "None stands for weights of one",
                },
            }.get(kind, {}),
        )  # fmt: skip
    return found


def entries():
    return [*of_svm(), *of_paths(), *of_models()]


ORACLES_OF_CHAINS = [
    "viterbi", "tree", "enumeration", "elimination", lambda: best_tags, inference.ICM,
]  # fmt: skip
