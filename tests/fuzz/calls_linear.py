"""Valid calls of linear models, their losses, penalties and paths."""

import functools

import numpy as np
import scipy.sparse as sp

from _linear_references import Logistic
from sklearn_fw import losses, penalties
from sklearn_fw.linear_model import (
    AsagaClassifier,
    AsagaRegressor,
    AveragedSubgradientClassifier,
    AveragedSubgradientRegressor,
    FrankWolfeClassifier,
    FrankWolfeRegressor,
    LinearPath,
)
from sklearn_fw.model_selection import (
    RegularizationPath,
    RegularizationPathCV,
    RegularizationPathDisplay,
    cross_validate_path,
    regularization_path,
)
from sklearn_fw.optim import domains
from sklearn_fw.structured import StructuredSVM

from .calls import Later, display, estimator, fitting, function, generator, methods


def rows(n=20, d=3):
    X = generator(1).normal(size=(n, d))
    X[np.abs(X) < 0.3] = 0.0
    return X


def sparse_rows(n=20):
    return sp.csr_matrix(rows(n))


def classes(n=20):
    return (rows(n) @ [1.0, -1.0, 0.5] > 0).astype(int) + (rows(n)[:, 0] > 1.0)


def two_classes(n=20):
    return np.where(rows(n) @ [1.0, -1.0, 0.5] > 0, 1, -1)


def targets(n=20):
    return rows(n) @ [1.0, -1.0, 0.5] + 0.1 * generator(2).normal(size=n)


def weights(n=20):
    return generator(4).uniform(0.5, 2.0, n)


GROUPS = {"groups dates half complex_entries": "labels of any kind"}
SOLVERS = [
    "asaga", "sparse_saga", "lagged_saga", "sag", "svrg", "sdca", "newton", "auto", "newton_cg",
]  # fmt: skip
OBJECTS = [
    lambda: penalties.GroupLasso([[0, 1], [2]], l1=0.1, l2=0.1),
    lambda: penalties.Box(-1.0, 2.0, l2=0.1),
    lambda: penalties.Simplex(2.0),
    lambda: HalfSquare(),
]
VARIANTS = {
    "X": [sparse_rows], "solver": SOLVERS, "penalty": OBJECTS, "time_limit": [None],
    "n_jobs": [2, None], "sample_weight": [None], "fit_intercept": [False], "l1_ratio": [0.0, 1.0],
    "warm_start": [True], "class_weight": [None, "balanced"], "multi_class": ["ovr"],
}  # fmt: skip
AVERAGED = {
    "X": [sparse_rows], "alpha": ["auto"], "standardize": [True],
    "averaging": ["suffix", "doubling", ("power", 2.0), ("polynomial", 3.0)],
    "step_size": ["auto", ("shifted", 1.0, 5.0), lambda: shrinking],
    "projection": ["l2_ball", "l1_ball", "box", "nonneg", lambda: clipped],
    "sampling": ["uniform", "cyclic"], "sample_weight": [None], "fit_intercept": [False],
    "radius": [2.0], "loss": ["huber"], "class_weight": [None, "balanced"],
}  # fmt: skip
CONSTRAINED = {
    "X": [sparse_rows], "radius": ["auto"], "standardize": [True], "tol": ["auto"],
    "domain": ["l2", "linf", "simplex", "nuclear", ("lp", 1.5), lambda: domains.L1Ball(3)],
    "variant": ["fw", "fully_corrective"], "sample_weight": [None], "fit_intercept": [False],
    "time_limit": [None], "class_weight": [None, "balanced"],
}  # fmt: skip


class HalfSquare(penalties.GroupSeparable):
    """A penalty of the user: half of the squared norm of each group."""

    def group_value(self, u, group):
        return 0.5 * float(u @ u)

    def group_prox(self, u, step_size, group):
        return u / (1.0 + step_size)

    def group_conjugate(self, v, group):
        return 0.5 * float(v @ v)


class Expectile(losses.Loss):
    """A loss of the user: squared errors, of which those from below count twice."""

    task, smoothness = "regression", 2.0

    def value(self, y, z):
        return 0.5 * np.where(z < y, 2.0, 1.0) * np.square(z - y)

    def derivative(self, y, z):
        return np.where(z < y, 2.0, 1.0) * (z - y)

    def curvature(self, y, z):
        return np.where(z < y, 2.0, 1.0)

    def conjugate(self, y, s):
        return s * y + 0.5 * np.square(s) / np.where(s < 0.0, 2.0, 1.0)


def shrinking(t):
    return 1.0 / t


def clipped(coef):
    return np.clip(coef, -1.0, 1.0)


def of_estimators():
    labels = {"X": rows(), "y": classes(), "sample_weight": weights()}
    numbers = {**labels, "y": targets()}
    asaga = {"l1_ratio": 0.5, "solver": "saga", "max_iter": 200}
    averaged = {
        "alpha": 0.1, "averaging": "weighted", "step_size": "theory", "radius": 1.0, "max_iter": 3,
        "projection": None, "record_history": True,
    }  # fmt: skip
    constrained = {"radius": 2.0, "max_iter": 1000, "tol": 1e-2}
    of_classes = {"class_weight": {0: 1.0, 1: 2.0, 2: 1.0}, "loss": "log_loss"}
    own = ["squared_hinge", "smooth_hinge", "modified_huber", Logistic]
    found, few = [], {"classes": np.array([0, 1, 2]), "rows": np.arange(4)}
    for cls, params, data, variants, simple in (
        (
            AsagaClassifier, {**asaga, **of_classes, "C": 1.0}, labels,
            VARIANTS | {"loss": own}, {},
        ),
        (
            AsagaRegressor, {**asaga, "alpha": 0.1}, numbers,
            VARIANTS | {"alpha": ["auto"],
                        "loss": ["huber", "squared_epsilon_insensitive", lambda: Expectile()]},
            {"alpha": 0.1},
        ),
        (
            AveragedSubgradientClassifier, {**averaged, **of_classes}, labels,
            AVERAGED | {"loss": ["smooth_hinge"]}, {"loss": "log_loss"},
        ),
        (AveragedSubgradientRegressor, {**averaged, "loss": "huber"}, numbers, AVERAGED, {}),
        (
            FrankWolfeClassifier, {**constrained, **of_classes}, labels,
            CONSTRAINED | {"loss": ["smooth_hinge"]}, {},
        ),
        (FrankWolfeRegressor, {**constrained, "loss": "huber"}, numbers, CONSTRAINED, {}),
    ):  # fmt: skip
        model = functools.partial(cls(random_state=0, **simple).fit, data["X"], data["y"])
        few_of_cls = {name: value for name, value in few.items() if "Asaga" in cls.__name__}
        if "Classifier" not in cls.__name__:
            few_of_cls["classes"] = None
        else:
            few_of_cls["classes"] = few["classes"]
        allows = {"radius *": "of a projection"} if params.get("projection", "") is None else {}
        found += estimator(cls, params, data, few_of_cls, model, variants=variants, allows=allows)
    return found


# ---- losses and penalties ------------------------------------------------------------------------


def of_losses():
    why = "formulas of numbers, for arrays of any shape"
    free = {f"{name} two_more_axes no_axis nothing_inside flag": why for name in "yzs"}
    two = {
        "y": np.array([1.0, -1.0, 1.0]), "z": np.array([0.5, 0.2, -1.0]),
        "s": np.array([-0.5, 0.3, -0.1]),
    }  # fmt: skip
    several = {
        "y": np.array([0, 1]), "z": np.array([[0.1, 0.2], [1.0, -1.0]]),
        "s": np.array([[-0.5, 0.5], [0.2, -0.2]]),
    }  # fmt: skip
    found = []
    for name in losses.__all__:
        cls = getattr(losses, name)
        if isinstance(cls, type) and cls is not losses.Loss:
            kinds = several if cls is losses.MultinomialLogLoss else two
            found += methods(cls, cls, None, kinds, infinite=True, allows=free)
    for cls in (
        losses.EpsilonInsensitive, losses.Huber, losses.SmoothHinge,
        losses.SquaredEpsilonInsensitive,
    ):  # fmt: skip
        # The constructor of a loss stores, `check` refuses.
        found += function(cls, run=lambda a, cls=cls: losses.resolve_loss(cls(**a), cls.task))
    return found


def of_penalties():
    """The constructor of a penalty with `bind` and with what a bound one computes."""
    tried = {"n_features": 3, "w": np.array([1.0, -0.5, 0.25]), "step_size": 0.5}
    groups, found = [[0, 1], [2]], []
    for cls, params in {
        penalties.Box: {"lower": -2.0, "upper": 2.0, "l1": 0.1, "l2": 0.2},
        penalties.ElasticNet: {},
        penalties.GroupLasso: {"groups": groups, "l1": 0.1, "l2": 0.1},
        penalties.L2Ball: {"radius": 3.0, "groups": groups},
        penalties.Simplex: {"groups": groups},
    }.items():

        def run(a, cls=cls):
            own = {name: value for name, value in a.items() if name not in tried}
            bound, w = cls(**own).bind(a["n_features"]), a["w"]
            return (
                bound.value(w), bound.prox(w, a["step_size"]), bound.conjugate(w),
                bound.dual_scale(w), bound.scaled(2.0).value(w),
            )  # fmt: skip

        given = {**function(cls, params)[0].make(), **tried}
        found += fitting_of(cls, given, run)
    return found


def fitting_of(cls, given, run):
    from .calls import _names, entry

    aliases = {"w": ("v",), "n_features": ("groups", "lower", "upper")}
    docs = (cls, cls.bind)
    return entry(_names()[id(cls)], given, run, docs, infinite=True, aliases=aliases)


# ---- paths ---------------------------------------------------------------------------------------


@functools.cache
def path():
    return regularization_path(
        AsagaClassifier(l1_ratio=0.5, random_state=0), rows(), two_classes(), Cs=[0.1, 1.0]
    )


def of_paths():
    data = {
        "X": rows(), "y": two_classes(), "sample_weight": weights(), "groups": np.arange(20) // 2,
        "scoring": "accuracy", "n_values": 2, "cv": 2,
    }  # fmt: skip
    classifier = AsagaClassifier(l1_ratio=0.5, random_state=0)
    none = {"sample_weight": [None], "groups": [None], "time_limit": [None]}
    set_by_path = {f"estimator.{name} *": "the path sets it" for name in ("C", "alpha")}
    one = {"aliases": {"value": ("C",), "at": ("C",)},
           "allows": {"at no_axis": "one value of the path"}}  # fmt: skip
    at = {"value": 1.0, "at": 1.0, **data}
    svm = RegularizationPathCV(
        StructuredSVM("multiclass", random_state=0), cv=2, n_values=2,
        path_options={"eps": 0.5, "C_min": 0.1, "C_max": 1.0},
    )  # fmt: skip
    found, of_svm = [], ["predict_marginals", "score_samples"]
    for cls in (LinearPath, RegularizationPath):
        found += methods(cls, path, {"score_path": {"at": np.array([0.1])}}, at, **one)
    found += function(
        regularization_path,
        {
            "estimator": AsagaRegressor(l1_ratio=1.0, random_state=0, max_iter=50), "X": rows(),
            "y": targets(), "sample_weight": weights(), "n_values": 3, "ratio": 0.1,
            "time_limit": 100.0,
        },
        allows=set_by_path, aliases={"X": ("feature",)},
        variants={
            "X": [sparse_rows], "sample_weight": [None], "time_limit": [None],
            "estimator": [lambda: AsagaRegressor("huber", penalty=OBJECTS[0](), random_state=0)],
        },
    )  # fmt: skip
    found += function(
        cross_validate_path, {"estimator": classifier, "Cs": np.array([0.1, 1.0]), **data},
        allows={**set_by_path, **GROUPS, "Cs none": "makes a grid"}, variants=none,
    )  # fmt: skip
    given = {"estimator": classifier, "path_options": {"Cs": [0.1, 1.0]}, "n_values": 2, "cv": 2,
             "scoring": "accuracy"}  # fmt: skip
    why = "a dict is one of any kind; the path refuses what it holds"
    kinds = {name: data[name] for name in ("X", "y", "sample_weight")}
    found += fitting(
        RegularizationPathCV, given, {**kinds, "groups": data["groups"]},
        allows={**set_by_path, **GROUPS, "path_options *": why}, variants=none,
    )  # fmt: skip
    fitted = RegularizationPathCV(
        AsagaClassifier(random_state=0), path_options={"Cs": [0.1, 1.0]}, cv=2
    )
    only = ["predict", "predict_proba", "decision_function", "score"]
    found += methods(
        RegularizationPathCV, lambda: fitted.fit(rows(), two_classes()), None, kinds, only,
        variants={"sample_weight": [None]},
    )  # fmt: skip
    found += methods(
        RegularizationPathCV, lambda: svm.fit(rows(), two_classes()), None, kinds, of_svm
    )
    drawn = {
        "values": np.array([0.1, 1.0]), "scores": np.array([0.5, 0.6]), "name": "path",
        "curves": ("score",),
    }  # fmt: skip
    stored = {"norms": np.array([1.0, 2.0]), "gaps": np.array([0.1, 0.01]), "eps": 0.1,
              "breakpoints": np.array([0.1]), "coefs": np.ones((2, 3))}  # fmt: skip
    of_path = {"path": Later(path), "X": rows(), "y": two_classes(), "curves": ("score", "norm")}
    return found + display(RegularizationPathDisplay, drawn, {"from_path": of_path}, stored)


def entries():
    return [*of_estimators(), *of_losses(), *of_penalties(), *of_paths()]
