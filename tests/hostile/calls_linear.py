"""Valid calls of linear models, their losses and penalties, and of paths."""

import copy
import functools

import numpy as np
import scipy.sparse as sp
from scipy.special import expit

from sklearn_fw import losses, penalties
from sklearn_fw.linear_model import AsagaClassifier, AsagaRegressor, LinearPath
from sklearn_fw.model_selection import (
    RegularizationPath,
    RegularizationPathCV,
    RegularizationPathDisplay,
    cross_validate_path,
    regularization_path,
)
from sklearn_fw.structured import StructuredSVM

from .calls import build, fitting, function, generator, methods


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


def groups(n=20):
    return np.arange(n) // 2


OF_GROUPS = {
    ("groups", damage): "labels of any kind" for damage in ("dates", "half", "complex_entries")
}
COMMON = {
    "l1_ratio": 0.5, "penalty": "elasticnet", "solver": "saga", "fit_intercept": True,
    "max_iter": 200, "tol": 1e-3, "time_limit": 10.0, "n_jobs": 1, "warm_start": False,
    "random_state": 0, "verbose": 0,
}  # fmt: skip
SOLVERS = [
    "asaga",
    "sparse_saga",
    "lagged_saga",
    "sag",
    "svrg",
    "sdca",
    "newton",
    "auto",
    "newton_cg",
]
OBJECTS = [
    lambda: penalties.GroupLasso([[0, 1], [2]], l1=0.1, l2=0.1),
    lambda: penalties.Box(-1.0, 2.0, l2=0.1),
    lambda: penalties.Simplex(2.0),
    lambda: HalfSquare(),
]
VARIANTS = {
    "X": [sparse_rows], "solver": SOLVERS, "penalty": OBJECTS, "time_limit": [None],
    "n_jobs": [2, None], "sample_weight": [None], "fit_intercept": [False], "l1_ratio": [0.0, 1.0],
    "warm_start": [True],
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


class OwnLogLoss(losses.Loss):
    """The logistic loss, written by a user."""

    task, smoothness = "classification", 0.25

    def value(self, y, z):
        return np.logaddexp(0.0, -y * z)

    def derivative(self, y, z):
        return -y * expit(-y * z)

    def probability(self, z):
        return expit(z)


CLASSIFIER_LOSSES = ["squared_hinge", "smooth_hinge", "modified_huber", lambda: OwnLogLoss()]
REGRESSOR_LOSSES = ["huber", "squared_epsilon_insensitive", lambda: Expectile()]


def classifier_params():
    return {
        "loss": "log_loss", "C": 1.0, "multi_class": "auto",
        "class_weight": {0: 1.0, 1: 2.0, 2: 1.0},
        **COMMON,
    }  # fmt: skip


def regressor_params():
    return {"loss": "squared_error", "alpha": 0.1, **COMMON}


@functools.cache
def path():
    return regularization_path(
        AsagaClassifier(l1_ratio=0.5, random_state=0), rows(), two_classes(), Cs=[0.1, 1.0]
    )


LOSSES = [
    losses.EpsilonInsensitive, losses.Hinge, losses.Huber, losses.LogLoss,
    losses.ModifiedHuber, losses.SmoothHinge,
    losses.SquaredEpsilonInsensitive, losses.SquaredError, losses.SquaredHinge,
]  # fmt: skip


def of_losses():
    why = "formulas of numbers, for arrays of any shape"
    free = {
        (argument, damage): why
        for argument in ("y", "z", "s")
        for damage in ("two_more_axes", "no_axis", "nothing_inside", "flag")
    }
    truth, scores = np.array([1.0, -1.0, 1.0]), np.array([0.5, 0.2, -1.0])
    slopes = np.array([-0.5, 0.3, -0.1])
    found = []
    for cls in LOSSES:
        found += methods(
            cls, cls,
            {
                "check": {}, "value": {"y": truth, "z": scores},
                "derivative": {"y": truth, "z": scores}, "conjugate": {"y": truth, "s": slopes},
                "curvature": {"y": truth, "z": scores},
                **({"probability": {"z": scores}} if hasattr(cls, "probability") else {}),
            },
            infinite=True, allows=free,
        )  # fmt: skip
    classes, table = np.array([0, 1]), np.array([[0.1, 0.2], [1.0, -1.0]])
    given = {"y": classes, "z": table}
    slopes = np.array([[-0.5, 0.5], [0.2, -0.2]])
    found += methods(
        losses.MultinomialLogLoss, losses.MultinomialLogLoss,
        {
            "check": {}, "value": given, "derivative": given,
            "conjugate": {"y": classes, "s": slopes}, "curvature": given,
            "probability": {"z": table},
        },
        infinite=True, allows=free,
    )  # fmt: skip
    for cls, name, value in (
        (losses.EpsilonInsensitive, "epsilon", 0.1),
        (losses.Huber, "delta", 1.35),
        (losses.SmoothHinge, "gamma", 1.0),
        (losses.SquaredEpsilonInsensitive, "epsilon", 0.1),
    ):
        found += build(cls, functools.partial(dict, **{name: value}))
        found[-1] = _checked(found[-1], cls)
    return found


def _checked(entry, cls):
    """The constructor of a loss stores, `check` refuses."""
    import dataclasses

    def run(a):
        return losses.resolve_loss(cls(**a), cls.task)

    return dataclasses.replace(entry, run=run)


def bound_penalty(cls, params, **options):
    """The constructor of a penalty with `bind` and with what a bound one computes."""
    import dataclasses

    def run(a):
        given = dict(a)
        n = given.pop("n_features")
        w, step_size = given.pop("w"), given.pop("step_size")
        bound = cls(**given).bind(n)
        return (
            bound.value(w), bound.prox(w, step_size), bound.conjugate(w), bound.dual_scale(w),
            bound.scaled(2.0).value(w),
        )  # fmt: skip

    def make():
        return {**params(), "n_features": 3, "w": np.array([1.0, -0.5, 0.25]), "step_size": 0.5}

    (entry,) = build(cls, make, **options)
    return [
        dataclasses.replace(
            entry, run=run, docs=(cls, cls.bind), infinite=True,
            aliases={"w": ("v",), "n_features": ("groups", "lower", "upper")},
        )
    ]  # fmt: skip


def of_penalties():
    found = []
    for cls, params in {
        penalties.L1: dict,
        penalties.L2: dict,
        penalties.Box: lambda: {"lower": -2.0, "upper": 2.0, "l1": 0.1, "l2": 0.2},
        penalties.ElasticNet: lambda: {"l1_ratio": 0.5},
        penalties.GroupLasso: lambda: {
            "groups": [[0, 1], [2]], "group_weights": "sqrt", "l1": 0.1, "l2": 0.1,
        },
        penalties.L2Ball: lambda: {"radius": 3.0, "groups": [[0, 1], [2]]},

        penalties.Simplex: lambda: {"radius": 1.0, "groups": [[0, 1], [2]]},
    }.items():  # fmt: skip
        found += bound_penalty(cls, params)
    return found


def entries():
    few = {"X": rows(4)}
    fitted = functools.partial(AsagaClassifier(random_state=0).fit, rows(), classes())
    regressor = functools.partial(AsagaRegressor(alpha=0.1, random_state=0).fit, rows(), targets())
    scored = {"X": rows(4), "sample_weight": weights(4)}
    pictured = {"values": np.array([0.1, 1.0]), "scores": np.array([0.5, 0.6])}
    return [
        *fitting(
            AsagaClassifier, classifier_params,
            lambda: {"X": rows(), "y": classes(), "sample_weight": weights()},
            variants={**VARIANTS, "loss": CLASSIFIER_LOSSES,
                      "multi_class": ["ovr"], "class_weight": [None, "balanced"]},
        ),
        *methods(
            AsagaClassifier, fitted,
            {
                **dict.fromkeys(
                    ("decision_function", "predict", "predict_log_proba", "predict_proba"), few
                ),
                "score": {**scored, "y": classes(4)},
                "partial_fit": {
                    "X": rows(5), "y": classes(5), "classes": np.array([0, 1, 2]),
                    "sample_weight": weights(5), "rows": np.arange(5),
                },
            },
            variants={"X": [lambda: sparse_rows(4)], "rows": [None]},
        ),
        *fitting(
            AsagaRegressor, regressor_params,
            lambda: {"X": rows(), "y": targets(), "sample_weight": weights()},
            variants={**VARIANTS, "loss": REGRESSOR_LOSSES,
                      "alpha": ["auto"]},
        ),
        *methods(
            AsagaRegressor, regressor,
            {
                "predict": few, "score": {**scored, "y": targets(4)},
                "partial_fit": {
                    "X": rows(5), "y": targets(5), "sample_weight": weights(5),
                    "rows": np.arange(5),
                },
            },
            variants={"X": [lambda: sparse_rows(4)], "rows": [None]},
        ),
        *methods(
            LinearPath, path,
            {
                "estimator_at": {"value": 1.0}, "predict": {"X": rows(4), "at": 1.0},
                "score_path": {
                    "X": rows(), "y": two_classes(), "scoring": "accuracy", "at": np.array([0.1]),
                    "sample_weight": weights(),
                },
            },
            variants={"sample_weight": [None]},
            aliases={"value": ("C",), "at": ("C",)},
            allows={("at", "no_axis"): "one value of the path"},
        ),
        *methods(
            RegularizationPath, path,
            {
                "estimator_at": {"value": 0.1}, "predict": {"X": rows(4), "at": 0.1},
                "score_path": {"X": rows(), "y": two_classes()},
            },
            aliases={"value": ("C",), "at": ("C",)},
            allows={("at", "no_axis"): "one value of the path"},
        ),
        *function(
            regularization_path,
            lambda: {
                "estimator": AsagaRegressor(l1_ratio=1.0, random_state=0, max_iter=50),
                "X": rows(), "y": targets(), "sample_weight": weights(), "n_values": 3,
                "ratio": 0.1, "time_limit": 10.0,
            },
            allows={("estimator.alpha", "*"): "the path sets it"}, aliases={"X": ("feature",)},
            variants={"X": [sparse_rows], "sample_weight": [None], "time_limit": [None],
                      "estimator": [lambda: AsagaRegressor(
                "huber", penalty=OBJECTS[0](), random_state=0)]},
        ),
        *function(
            cross_validate_path,
            lambda: {
                "estimator": AsagaClassifier(l1_ratio=0.5, random_state=0), "X": rows(),
                "y": two_classes(), "sample_weight": weights(), "groups": groups(),
                "n_values": 2, "cv": 2, "scoring": "accuracy", "n_jobs": 1, "time_limit": 10.0,
                "Cs": np.array([0.1, 1.0]),
            },
            allows={
                ("estimator.C", "*"): "the path sets it", ("Cs", "none"): "makes a grid",
                **OF_GROUPS,
            },
            variants={"sample_weight": [None], "groups": [None], "time_limit": [None]},
        ),
        *fitting(
            RegularizationPathCV,
            lambda: {
                "estimator": AsagaClassifier(l1_ratio=0.5, random_state=0),
                "path_options": {"Cs": [0.1, 1.0]}, "n_values": 2, "cv": 2,
                "scoring": "accuracy", "n_jobs": 1, "time_limit": 10.0,
            },
            lambda: {
                "X": rows(), "y": two_classes(), "sample_weight": weights(), "groups": groups(),
            },
            allows={
                ("estimator.C", "*"): "the path sets it",
                ("path_options", "*"): "a dict is one of any kind; the path refuses what it holds",
                **OF_GROUPS,
            },
            variants={"sample_weight": [None], "groups": [None], "time_limit": [None]},
        ),
        *methods(
            RegularizationPathCV,
            lambda: RegularizationPathCV(
                AsagaClassifier(random_state=0), path_options={"Cs": [0.1, 1.0]}, cv=2
            ).fit(rows(), two_classes()),
            {
                **{n: {"X": rows()} for n in ("predict", "predict_proba", "decision_function")},
                "score": {"X": rows(), "y": two_classes(), "sample_weight": weights()},
            },
            variants={"sample_weight": [None]},
        ),
        *methods(
            RegularizationPathCV,
            lambda: RegularizationPathCV(
                StructuredSVM("multiclass", random_state=0), cv=2,
                path_options={"eps": 0.5, "C_min": 0.1, "C_max": 1.0}, n_values=2,
            ).fit(rows(), two_classes()),
            {n: {"X": rows()} for n in ("predict_marginals", "score_samples")},
        ),
        *build(
            RegularizationPathDisplay,
            lambda: {
                **pictured, "norms": np.array([1.0, 2.0]), "gaps": np.array([0.1, 0.01]),
                "coefs": np.ones((2, 3)), "eps": 0.1, "breakpoints": np.array([0.1]),
                "param_name": "C", "name": "path",
            },
            allows={("*", "*"): "stored; plot checks"},
        ),
        *methods(
            RegularizationPathDisplay, lambda: RegularizationPathDisplay(**pictured),
            {
                "plot": {"ax": None, "curves": ("score",), "name": "path"},
                "from_path": lambda: {
                    "path": copy.deepcopy(path()), "X": rows(), "y": two_classes(),
                    "curves": ("score", "norm"), "ax": None, "name": "path",
                },
            },
        ),
        *of_losses(),
        *of_penalties(),
    ]  # fmt: skip
