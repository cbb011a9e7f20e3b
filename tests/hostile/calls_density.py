"""Valid calls of densities and of the checks of estimators."""

import numpy as np

from sklearn_fw.density import (
    KernelStudentTClassifier,
    KernelStudentTDensity,
    PolynomialKernel,
    RelativeNoveltyDetector,
)
from sklearn_fw.structured import EnumeratedModel, StructuredSVM
from sklearn_fw.utils import Packed, check_structured_estimator

from .calls import build, fitting, function, generator, methods


def points(n=16):
    X = generator(3).normal(size=(n, 2))
    X[n // 2 :] += 3.0
    return X


def rbf(A, B):
    return np.exp(-0.5 * ((A[:, None] - B) ** 2).sum(axis=2))


def labels(n=16):
    return np.repeat([0, 1], n // 2)


def weights(n=16):
    return generator(4).uniform(0.5, 2.0, n)


def density_params():
    return {
        "kernel": "rbf", "length_scale": 1.0,
        "sigma0": 0.1, "dof": 1.0, "beta": 0.01, "formula": "exact", "jacobian": False,
        "normalize": False, "support": "auto", "contamination": 0.1, "max_rank": 10,
        "random_state": 0,
    }  # fmt: skip


def fitted_density():
    return KernelStudentTDensity(length_scale=1.0).fit(points())


def fitted_classifier():
    return KernelStudentTClassifier().fit(points(), labels())


def entries():
    X, few = points(), points(4)
    density = {"X": few}
    kernel = rbf(points(), points())
    scored = {"X": few}
    with_kernel = {"X": kernel[:4], "diag": np.ones(4)}
    why = "a container: it keeps what it is given, and estimators look into it"
    kept = {("values", "*"): why, ("blocks", "*"): why}
    return [
        *build(
            PolynomialKernel, lambda: {"degree": 2, "gamma": 0.5, "coef0": 1.0},
            allows={("*", "*"): "stored; a fit checks"},
        ),
        *fitting(
            KernelStudentTDensity, density_params,
            lambda: {"X": points(), "sample_weight": weights()},
            variants={
                "kernel": ["polynomial", "laplacian", "matern32", "linear", "all_subsets"],
                "length_scale": ["auto", "median"],
                "formula": ["published"], "max_rank": [None, 3], "contamination": ["auto"],
                "jacobian": ["auto"], "normalize": [True], "sample_weight": [None],
            },
        ),
        *methods(
            KernelStudentTDensity, fitted_density,
            {
                "decision_function": scored, "predict": scored, "score_samples": scored,
                "novelty_p_values": scored, "predictive_variance": scored, "score": density,
                "hyvarinen_score": density, "score_gradient": density,
                "leave_one_out_scores": {}, "sample": {"n_samples": 2, "random_state": 0},
                "fit_predict": {"X": X, "sample_weight": weights()},
                "partial_fit": {"X": few, "sample_weight": weights(4)},
            },
        ),
        *methods(
            KernelStudentTDensity, lambda: KernelStudentTDensity("precomputed").fit(kernel),
            {"score_samples": with_kernel, "novelty_p_values": with_kernel},
            suffix=" (precomputed)",
        ),
        *fitting(
            KernelStudentTClassifier,
            lambda: {
                "density": KernelStudentTDensity(), "label_length_scale": 1.0, "temperature": 1.0,
            },
            lambda: {"X": points(), "y": labels(), "sample_weight": weights()},
            variants={"density": [None], "sample_weight": [None]},
            allows={("density.support", "*"): "of a classifier it is documented as unused"},
        ),
        *methods(
            KernelStudentTClassifier, fitted_classifier,
            {
                **dict.fromkeys(
                    ("decision_function", "joint_log_scores", "predict", "predict_log_proba",
                     "predict_proba"),
                    density,
                ),
                **{name: {} for name in (
                    "leave_one_out_joint_log_scores", "leave_one_out_predict",
                    "leave_one_out_scores",
                )},
                **{name: {"X": few, "y": labels(4)} for name in ("score_joint", "score_label")},
                "score": {"X": few, "y": labels(4), "sample_weight": weights(4)},
            },
        ),
        *fitting(
            RelativeNoveltyDetector,
            lambda: {
                "density": KernelStudentTDensity(), "contamination": 0.1, "max_samples": 20,
                "random_state": 0,
            },
            lambda: {"X": points(), "y": labels()},
            variants={"density": [None]},
        ),
        *methods(
            RelativeNoveltyDetector, lambda: RelativeNoveltyDetector().fit(points(), labels()),
            dict.fromkeys(("decision_function", "predict", "score_samples"), density),
        ),
        *methods(
            KernelStudentTDensity, lambda: KernelStudentTDensity(support=(-8.0, 8.0)),
            {"sample_prior": {"n_samples": 5, "n_features": 2, "random_state": 0}},
        ),
        *function(
            check_structured_estimator,
            lambda: {
                "estimator": StructuredSVM(EnumeratedModel(), C=1.0, max_iter=20, random_state=0),
                "X": [generator(i).normal(size=(3, 2)) for i in range(6)],
                "y": [0, 1, 2, 0, 1, 2], "sample_weight_tol": 0.1, "backend": "threading",
                "skip": ("grid_search", "sample_weight", "string_labels", "skops", "containers"),
            },
            raises=(AssertionError,), slow=True,
            allows={("estimator.random_state", "*"): "the checks set it"},
        ),
        *build(
            Packed,
            lambda: {
                "values": np.arange(12.0).reshape(6, 2), "offsets": np.array([0, 3, 4, 6]),
                "index": np.array([2, 0]),
            },
            raises=(IndexError,), allows=kept,
        ),
        *methods(
            Packed, lambda: Packed(np.arange(6.0), [0, 2, 6]),
            {"compact": {}, "from_list": {"blocks": [np.zeros((2, 2)), np.ones((1, 2))]}},
            aliases={"blocks": ("sample", "samples")}, allows=kept, infinite=True,
        ),
    ]  # fmt: skip
