"""Valid calls of structured models, their solvers, the structured SVMs and their paths."""

import copy
import functools

import numpy as np
import scipy.sparse as sp

from sklearn_fw import structured, surrogates
from sklearn_fw.model_selection import regularization_path
from sklearn_fw.structured import (
    LatentStructuredSVM,
    ProxLinearStructuredSVM,
    StructuredSVM,
    StructuredSVMCV,
)
from sklearn_fw.task_losses import LinkLoss
from sklearn_fw.utils import Packed

from .calls import Later, fitting, function, functions, generator, methods


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


class Tags(structured.ScoreModel):
    """Three states of nodes with three features, and transitions."""

    def rows(self, x):
        try:
            x = np.array(x, dtype=float)
        except (TypeError, ValueError):
            raise TypeError("items of X must be arrays of numbers") from None
        if x.ndim != 2 or x.shape[1] != 3 or not np.all(np.isfinite(x)):
            raise ValueError("items of X must be finite and of shape (n_nodes, 3)")
        return x

    def init(self, rng):
        return rng.normal(size=18)

    def value(self, x, w):
        return np.tanh(self.rows(x) @ w[:9].reshape(3, 3)), w[9:].reshape(3, 3)

    def jvp(self, x, w, d):
        a = np.tanh(self.rows(x) @ w[:9].reshape(3, 3))
        return (1 - a**2) * (self.rows(x) @ d[:9].reshape(3, 3)), d[9:].reshape(3, 3)

    def vjp(self, x, w, v):
        a = np.tanh(self.rows(x) @ w[:9].reshape(3, 3))
        return np.concatenate([(self.rows(x).T @ ((1 - a**2) * v[0])).ravel(), v[1].ravel()])


def best_tags(scores):
    """An oracle of the user: it looks at nodes alone."""
    return np.argmax(scores.unary, axis=1)


# {kind: (X, y, model, its parameters)}
DATA = {
    "chain": (words, tags, structured.ChainModel, {"class_weight": {0: 1.0, 1: 2.0, 2: 1.0}}),
    "graph": (
        graphs, labels_of_graphs, structured.GraphModel,
        {"edge_symmetry": "symmetric", "class_weight": "balanced", "edge_attributes": None},
    ),
    "graph_cut": (
        superpixels, labels_of_graphs, structured.GraphCutModel,
        {"class_weight": "balanced", "edge_attributes": None},
    ),
    "grid": (
        grids, labels_of_grids, structured.GridModel,
        {"neighborhood": 4, "contrast": True, "class_weight": "balanced"},
    ),
    "multiclass": (table, classes, structured.MulticlassModel, {"class_weight": "balanced"}),
    "multilabel": (table, label_sets, structured.MultilabelModel, {"edges": [(0, 1), (1, 2)]}),
    "matching": (
        pairs, matchings, structured.MatchingModel, {"task_loss": LinkLoss(1.0, 3.0)},
    ),
    "enumerated": (candidates, chosen, structured.EnumeratedModel, {}),
    "pose": (images, poses, structured.TreePoseModel, {"edges": np.array([[0, 1]])}),
    "box": (images, boxes, structured.BoxModel, {}),
    "own": (candidates, chosen, Ranking, {}),
}  # fmt: skip
SETTINGS = {
    "C": 1.0, "tol": 0.05, "max_iter": 50, "time_limit": 100.0, "n_jobs": 1, "warm_start": False,
    "random_state": 0, "verbose": 0,
}  # fmt: skip
SOLVERS = [
    "bcfw", "bcpfw", "bcafw", "bchybrid", "cached", "fw", "subgradient", "perceptron",
    "extragradient", "auto", "one_slack", "n_slack", "minibatch", "casimir", "svrg",
]  # fmt: skip
VARIANTS = {
    "C": ["auto"], "tol": ["auto"], "max_iter": ["auto"], "n_jobs": [2, None], "oracle": ["auto"],
    "sample_weight": [None], "warm_start": [True],
}  # fmt: skip
LABEL = {"y half": "a label as any other, which fit has not seen"}
OF_THREE = {
    "X": words()[:3], "y": tags()[:3], "sample_weight": np.array([1.0, 2.0, 0.5]), "k": 2,
    "max_iter": 5,
}  # fmt: skip


def weights(n):
    return generator(14).uniform(0.5, 2.0, n)


def weighted(X, y):
    return {"X": X, "y": y, "sample_weight": weights(len(X))}


# ---- the structured SVM --------------------------------------------------------------------------


@functools.cache
def fitted(kind):
    X, y, model, _ = DATA[kind]
    return StructuredSVM(model(), solver="bcfw", **SETTINGS).fit(X(), y())


def svm_of(kind, **more):
    """`StructuredSVM.fit` on one kind of data."""
    X, y, model, _ = DATA[kind]
    aliases = {
        "oracle": ("labels", "function", "argmax"),
        "model": ("joint_feature", "loss", "inference", "loss_augmented_inference"),
    }
    if kind == "own":  # data that a model of the user takes as they are: it says what is wrong
        aliases |= {"X": ("sample",), "y": ("sample",)}
    why = "inputs are the user's own, to be changed: the fit says that the oracle is wrong"
    return fitting(
        StructuredSVM,
        {
            "model": model(), "oracle": best_tags if kind == "chain" else "auto",
            "solver": structured.BlockFrankWolfe(), **SETTINGS,
        },
        weighted(X(), y()), variants={"solver": SOLVERS, **VARIANTS, **more}, aliases=aliases,
        allows={
            "model user_spoils_arguments": why, **(LABEL if kind == "graph" else {}),
            **{f"model.{name}_attributes *": "of graphs of networkx" for name in ("node", "edge")},
        },
        suffix="" if kind == "chain" else f" ({kind})",
    )  # fmt: skip


def of_svm():
    rows = {"X": table()[:3]}
    relaxed = functools.cache(
        lambda: StructuredSVM(
            "chain", oracle="lp", C=1.0, max_iter=2, tol=10.0, random_state=0
        ).fit(words(), tags())
    )
    sparse = {"X": [lambda: words(sp.csr_array)[:3]]}
    by_class = ["decision_function", "predict_proba"]
    answers = [
        "predict", "predict_marginals", "score_samples", "duality_gap", "loss", "n_best",
        "feature_weights", "calibrate", "score",
    ]  # fmt: skip
    found = []
    for kind in DATA:
        more = {
            "chain": {"X": [lambda: words(sp.csr_array), lambda: Packed.from_list(words())]},
            "multiclass": {"X": [lambda: sp.csr_array(table())]},
        }.get(kind, {})
        if kind != "graph_cut":
            found += svm_of(kind, **more)
    return [
        *found,
        *methods(StructuredSVM, lambda: fitted("chain"), None, OF_THREE, answers,
                 variants=sparse, allows=LABEL),
        *methods(StructuredSVM, relaxed, None, OF_THREE, ["predict_relaxed"], variants=sparse),
        *methods(StructuredSVM, lambda: fitted("multiclass"), None, rows, by_class,
                 variants={"X": [lambda: sp.csr_array(table()[:3])]}),
        *fitting(StructuredSVM, {"model": "multiclass", **SETTINGS},
                 weighted(table(), classes()) | {"classes": [0, 1, 2]}, "partial_fit"),
    ]  # fmt: skip


def of_choices():
    """`StructuredSVMCV`."""
    svm = StructuredSVM("multiclass", solver="bcpfw", random_state=0, max_iter=200)
    few = {"eps": 0.5, "C_min": 0.1, "C_max": 1.0, "cv": 2, "n_values": 2}
    groups = {"groups": np.repeat([0, 1, 2, 3], 3)}

    def chosen(model, X, y):
        return lambda: StructuredSVMCV(StructuredSVM(model, random_state=0), **few).fit(X, y)

    return [
        *fitting(
            StructuredSVMCV,
            {
                "estimator": svm, "eps": 0.3, "kappa": 0.7, "C_min": 0.01, "C_max": 1.0,
                "n_values": 3, "cv": 2, "scoring": "accuracy", "time_limit": 100.0,
            },
            {**weighted(table(), classes()), **groups},
            variants={"mode": ["heuristic"], "sample_weight": [None], "time_limit": [None]},
            allows={
                "estimator.C *": "the path sets it",
                "groups dates half complex_entries": "labels of any kind",
                **{f"{end} float32": "another number, and another path"
                   for end in ("C_min", "C_max", "eps", "kappa")},
            },
            slow=True,
        ),
        *methods(
            StructuredSVMCV, chosen("chain", words(), tags()), None, OF_THREE,
            ["predict", "predict_marginals", "score_samples", "score"],
            variants={"sample_weight": [None]},
            allows={**LABEL, "X nothing_inside": "a sentence may be empty"},
        ),
        *methods(
            StructuredSVMCV, chosen("multiclass", table(), classes()), None, {"X": table()[:3]},
            ["decision_function"],
        ),
    ]  # fmt: skip


def of_latent():
    own = {"missing_label": -1, "solver": "bcpfw", **SETTINGS}
    missing = {"y masked object_none": "missing labels"}
    why = "a label like any other, which y may hold or not"

    def made(model, X, y, **more):
        return lambda: LatentStructuredSVM(model, **{**own, **more}).fit(X, y)

    found = []
    for kind, suffix in (("chain", ""), ("multiclass", " (multiclass)")):
        X, y, model, _ = DATA[kind]
        found += fitting(
            LatentStructuredSVM, {"model": model(), "n_init": 2, **own}, weighted(X(), y()),
            variants={
                **VARIANTS, "n_states_per_label": [1, [1, 2, 3]], "missing_label": [None, np.nan],
                "init": ["random"],
            },
            allows={"missing_label *": why, **missing}, suffix=suffix,
        )  # fmt: skip
    relaxed = {"oracle": "lp", "solver": "auto", "max_iter": 2, "tol": 10.0}
    only = ["predict", "predict_marginals", "score_samples", "predict_states", "loss", "calibrate",
            "score", "feature_weights"]  # fmt: skip
    return [
        *found,
        *methods(
            LatentStructuredSVM, made(structured.ChainModel(), words(), tags()), None, OF_THREE,
            only, variants={"sample_weight": [None]},
            allows={**LABEL, **missing, "y none": "None leaves all labels free"},
        ),
        *methods(LatentStructuredSVM, made(structured.ChainModel(), words(), tags(), **relaxed),
                 None, OF_THREE, ["predict_relaxed"]),
        *methods(LatentStructuredSVM, made(structured.MulticlassModel(), table(), classes()),
                 None, {"X": table()[:3]}, ["decision_function"]),
    ]  # fmt: skip


def of_prox_linear():
    settings = {"score_model": Tags(), "C": 1.0, "eta": 1.0, "tol": 10.0, "max_iter": 2}
    allows = {"X *": "inputs go to the score model as they are"}
    only = ["predict", "score_samples", "loss", "score", "n_best", "predict_marginals", "calibrate"]
    return [
        *fitting(
            ProxLinearStructuredSVM, {**settings, "solver": "bcfw"}, weighted(words(), tags()),
            variants={**VARIANTS, "eta": ["auto"], "solver": ["auto", "cached"]}, allows=allows,
        ),
        *methods(
            ProxLinearStructuredSVM,
            lambda: ProxLinearStructuredSVM(**settings, random_state=0).fit(words(), tags()),
            None, OF_THREE, only, variants={"sample_weight": [None]}, allows={**allows, **LABEL},
        ),
    ]  # fmt: skip


# ---- solvers -------------------------------------------------------------------------------------

OF_SOLVERS = {
    "cache_size": 50, "gap_check": 5, "lower_bounds": -5.0, "upper_bounds": 5.0, "batch_size": 4,
    "mu": 1.0, "kappa": 0.1, "lipschitz": 20.0, "inner_budget": 5, "n_best": 3, "max_idle": 20,
    "cache": True, "first_passes": 5,
}  # fmt: skip


def of_solvers():
    found = []
    for name in structured.__all__:
        cls = getattr(structured, name)
        if isinstance(cls, type) and getattr(cls, "trains", None) and name != "Solver":
            given = {}
            if cls is structured.Extragradient:
                given = {"radius": 2.0, "lower_bounds": None, "upper_bounds": None}

            def run(a, cls=cls):
                ball = cls is structured.SaddlePointFrankWolfe
                settings = {**SETTINGS, "C": "auto" if ball else 1.0}
                svm = StructuredSVM(
                    "multiclass", surrogate=cls.trains[0], solver=cls(**a), **settings
                )
                return svm.fit(table(), classes())

            found += function(cls, given, OF_SOLVERS, run=run)
    return found


# ---- paths ---------------------------------------------------------------------------------------


@functools.cache
def path():
    return regularization_path(
        StructuredSVM("multiclass", random_state=0), table(), classes(), eps=0.3, C_max=1.0
    )


@functools.cache
def radius_path():
    solver = structured.SaddlePointFrankWolfe(radius=1.5, norm="l2", block=True)
    svm = StructuredSVM("multiclass", solver=solver, random_state=0, max_iter=2000)
    return regularization_path(svm, table(), classes(), eps=0.3)


def of_paths():
    allows = {
        "at none no_axis": "None means all, a number one value of the path",
        "y none": "None means no scores",
    }
    found = []
    for make, at, name in ((path, 0.1, "C"), (radius_path, 1.0, "radius")):
        kinds = {**weighted(table(), classes()), "at": at, "value": at, "scoring": "accuracy"}
        only = ["coef_at", "estimator_at", "gap_at", "predict", "score_path"]
        found += methods(
            structured.StructuredPath, make, {"score_path": {"at": np.array([at])}}, kinds, only,
            allows=allows, aliases={"at": (name, "value"), "value": (name,)},
            suffix="" if name == "C" else ".radius",
        )  # fmt: skip
    return found


# ---- models --------------------------------------------------------------------------------------


def of_model(kind):
    X, y, model, params = DATA[kind]
    made = model(**params).initialize(X(), y())
    x, truth = X()[0], y()[0]
    size = getattr(made, "size_joint_feature", None) or len(made.joint_feature(x, truth))
    w, z = 0.1 * generator(15).normal(size=size), np.full(6, 0.2)
    if hasattr(model, "bounds"):
        w = np.minimum(w, made.bounds()[1])
    if kind == "pose":
        w[made.bounds()[0] == 0.0] = 0.1  # the weights of squares are not negative
    kinds = {
        "x": x, "y": truth, "y_true": truth, "w": w, "X": X(), "z": z, "s": z, "p": z, "theta": z,
        "tol": 1e-9, "geometry": "euclidean",
    }  # fmt: skip
    if hasattr(model, "scores"):
        kinds["scores"] = made.scores(x, w)
    if hasattr(model, "encode"):
        kinds["states"] = made.encode(truth)
    names = [
        "joint_feature", "loss", "inference", "loss_augmented_inference", "scores", "bounds",
        "default_oracle", "augment", "unpack", "parts", "node_weights", "encode", "decode",
        "decision_function", "output_key", "adjoint", "apply", "label_vector", "lmo",
        "log_partition", "log_potentials0", "loss_vector", "marginals", "project", "z_diameter",
        "z_size",
    ]  # fmt: skip
    allows = {
        "multiclass": {"scores.pairwise *": "single nodes have none"},
        "matching": {f"{name} nothing_inside": "fits an input without pairs"
                     for name in ("z", "s", "p", "theta")},
        "pose": {"edges nothing_inside": "joints without springs"},
        "graph": {"x.1 none": "None stands for no edges"},
        "graph_cut": {"x.1 none": "None stands for no edges",
                      "x.3 none": "None stands for weights of one"},
    }.get(kind, {})  # fmt: skip
    label = LABEL if kind in ("chain", "graph", "graph_cut", "grid") else {}
    return [
        *fitting(model, params, {"X": X(), "y": y()}, "initialize", allows=label),
        *methods(
            model, lambda: copy.deepcopy(made), None, kinds,
            [name for name in names if callable(getattr(model, name, None))], allows=allows,
            aliases={"scores": ("unary", "edges", "pairwise"), "y": ("y_true",)},
            infinite=True,  # -inf forbids a state
        ),
    ]  # fmt: skip


# ---- surrogates ----------------------------------------------------------------------------------


def of_surrogates():
    cls, X, y = surrogates.QuadraticSurrogateClassifier, table(), classes()
    made = cls(alpha=1.0).fit(X, y)
    why = "of another solver or kernel"
    few = {"X": X[:4], "y": y[:4], "sample_weight": np.ones(4), "eps": 0.1}
    params = {
        "kernel": "rbf", "gamma": 0.5, "standardize": True, "alpha": 1.0, "cost_weight": "root",
        "radius": 1.0, "step_size": 0.1, "max_iter": 2, "degree": 3.0, "coef0": 1.0,
        "task_loss": "zero_one",
    }  # fmt: skip
    costs = np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 1.0], [0.5, 2.0, 0.0]])
    closed = {
        "loss": "mixed",
        "n_labels": 4,
        "n_variables": 2,
        "block_sizes": [2, 2],
        "within": 0.2,
    }
    kinds = {
        "costs": costs, "eps": 0.2, "pairs": [(0, 1)], "scores": np.array([-0.3, -0.4, -0.2]),
        "probabilities": np.full(3, 1 / 3),
    }  # fmt: skip
    return [
        *fitting(
            cls, params, {"X": X, "y": y, "sample_weight": np.ones(12)},
            variants={"kernel": ["linear"], "solver": ["asgd"], "alpha": ["auto"]},
            allows={"verbose *": why, "coef0 *": why},
        ),
        *methods(
            cls, lambda: made, None, few, infinite={"learning_complexity"},
            allows={"y half complex_entries": "a label that fit has not seen costs one"},
        ),
        *functions(kinds, {
            surrogates.calibration_function: None, surrogates.learning_complexity: None,
        }, infinite=True, variants={"bound": ["lower", "upper"], "convex": [True]}),
        *function(
            surrogates.calibration_function_closed_form, closed, kinds, infinite=True,
            allows={"n_labels *": "of another loss", "n_variables *": "of another loss"},
        ),
        *functions(kinds, {
            surrogates.consistency_level: None, surrogates.surrogate_excess: None,
        }),
    ]  # fmt: skip


def entries():
    from sklearn_fw.displays import ConvergenceDisplay

    from .calls import display

    shown = {
        "history": {"n_iter": np.array([1.0, 2.0]), "dual_gap": np.array([1.0, 0.1])}, "name": "x",
        "x": "n_iter", "kind": "gap",
        "estimator": Later(lambda: copy.deepcopy(fitted("multiclass"))),
    }  # fmt: skip
    return [
        *of_svm(), *of_choices(), *of_latent(), *of_prox_linear(), *of_solvers(), *of_paths(),
        *[e for kind in DATA if kind != "own" for e in of_model(kind)], *of_surrogates(),
        *display(ConvergenceDisplay, shown),
    ]  # fmt: skip
