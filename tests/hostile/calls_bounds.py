"""Valid calls of bounds on risks and of calibration functions."""

import numpy as np

from sklearn_fw.pac_bayes import (
    EvidenceDisplay,
    PACBayesLinearRegression,
    PACBayesModelSelector,
    RiskBoundDisplay,
    alquier_bound,
    catoni_bound,
    catoni_evidence_bound,
    gaussian_kl,
    gaussian_linear_bound,
    gibbs_log_weights,
    hoeffding_bound,
    model_averaging_bound,
    model_selection_bounds,
    psi_gaussian_linear,
    subgamma_bound,
    subgamma_coefficients,
    subgamma_evidence_bound,
    subgaussian_bound,
)
from sklearn_fw.surrogates import (
    QuadraticSurrogateClassifier,
    calibration_function,
    calibration_function_closed_form,
    consistency_level,
    learning_complexity,
    surrogate_excess,
)

from .calls import build, fitting, function, generator, methods

MODEL = {
    "noise_variance": 2.0, "prior_variance": 0.01, "x_variance": 1.0, "w_norm2": 0.25,
    "noise_true": 0.1, "n_features": 3,
}  # fmt: skip
TRUTHS = {name: MODEL[name] for name in ("x_variance", "w_norm2", "noise_true")}


def rows(n=12):
    return generator(3).normal(size=(n, 2))


def targets(n=12):
    return generator(4).normal(size=n)


def labels(n=12):
    return np.arange(n) % 3


def costs():
    return np.array([[0.0, 1.0, 0.5], [1.0, 0.0, 1.0], [0.5, 2.0, 0.0]])


def risks():
    return {"emp_risk": 0.3, "kl": 2.0, "n": 100.0, "delta": 0.05}


def regression():
    return PACBayesLinearRegression(fit_intercept=False, prior_variance=0.01).fit(rows(), targets())


def selector():
    return PACBayesModelSelector(param_grid={"prior_variance": [0.1, 1.0]}).fit(rows(), targets())


def surrogate():
    return QuadraticSurrogateClassifier(alpha=1.0).fit(rows(), labels())


def surrogate_params():
    return {
        "task_loss": "zero_one", "score_space": "loss", "kernel": "rbf", "gamma": 0.5,
        "degree": 3.0, "coef0": 1.0, "kernel_params": None, "standardize": True, "solver": "ridge",
        "alpha": 1.0, "fit_intercept": True, "cost_weight": "root", "radius": 1.0,
        "step_size": 0.1, "max_iter": 2, "random_state": 0, "verbose": 0,
    }  # fmt: skip


def calibration():
    space = {"costs": costs(), "score_space": "loss"}
    probabilities = {"scores": np.array([-0.3, -0.4, -0.2]), "probabilities": np.full(3, 1 / 3)}
    constants = {**space, "max_norm": 1.0, "label_norm": 1.0}
    return [
        *function(
            calibration_function,
            lambda: {
                **space,
                "eps": 0.2,
                "pairs": [(0, 1)],
                "bound": None,
                "convex": False,
                "return_pair": False,
            },
            infinite=True,
        ),
        *function(
            calibration_function_closed_form,
            lambda: {
                "loss": "mixed",
                "eps": 0.2,
                "n_labels": 4,
                "n_variables": 2,
                "block_sizes": [2, 2],
                "within": 0.2,
                "score_space": "loss",
            },
            infinite=True,
            allows={
                ("n_labels", "*"): "of another loss",
                ("n_variables", "*"): "of another loss",
            },
        ),
        *function(consistency_level, lambda: dict(space)),
        *function(
            learning_complexity,
            lambda: {**constants, "eps": 0.2, "return_constants": False},
            infinite=True,
        ),
        *function(surrogate_excess, lambda: {**space, **probabilities}),
    ]


def bounds():
    evidence = {"log_evidence": -150.0, "n": 100.0, "delta": 0.05}
    models = {"log_evidences": np.array([-50.0, -30.0]), "n": 15.0, "delta": 0.05, "gap": 0.1}
    weighted = {**models, "log_prior": np.log([0.5, 0.5])}
    bounded = {**risks(), "loss_range": (0.0, 1.0)}
    return [
        *function(
            alquier_bound,
            lambda: {**risks(), "lam": 10.0, "psi": 0.5},
            allows={("psi", "*"): "infinite where the mean does not exist"},
            infinite=True,
        ),
        *function(catoni_bound, lambda: {**bounded, "beta": 1.0}),
        *function(catoni_evidence_bound, lambda: {**evidence, "loss_range": (1.0, 4.0)}),
        *function(hoeffding_bound, lambda: {**bounded, "lam": 10.0, "constant": "tight"}),
        *function(subgaussian_bound, lambda: {**risks(), "s2": 0.2, "lam": 10.0}),
        *function(subgamma_bound, lambda: {**risks(), "s2": 0.2, "c": 0.1, "lam": 10.0}),
        *function(subgamma_evidence_bound, lambda: {**evidence, "s2": 0.2, "c": 0.1}),
        *function(subgamma_coefficients, lambda: {**MODEL, "loss": "nll", "t": 1.0}),
        *function(
            psi_gaussian_linear,
            lambda: {**MODEL, "lam": 10.0, "n": 100.0, "loss": "nll"},
            infinite=True,
        ),
        *function(
            gaussian_linear_bound,
            lambda: {**risks(), **MODEL, "lam": 10.0, "loss": "nll"},
            infinite=True,
        ),
        *function(model_selection_bounds, lambda: dict(weighted)),
        *function(model_averaging_bound, lambda: dict(weighted)),
        *function(
            gibbs_log_weights,
            lambda: {
                "emp_risks": np.array([0.1, 0.3]),
                "log_prior": np.log([0.5, 0.5]),
                "lam": 2.0,
            },
        ),
        *function(
            gaussian_kl,
            lambda: {
                "mean_q": np.zeros(2),
                "cov_q": np.eye(2),
                "mean_p": np.ones(2),
                "cov_p": np.eye(2),
            },
        ),
    ]


def entries():
    few = {"X": rows(4)}
    judged = {"X": rows(4), "y": targets(4)}
    size = {"n_samples": 2, "random_state": 0}
    why = "of another solver or kernel"
    return [
        *calibration(),
        *bounds(),
        *fitting(
            QuadraticSurrogateClassifier, surrogate_params,
            lambda: {"X": rows(), "y": labels(), "sample_weight": np.ones(12)},
            variants={"kernel": ["linear"], "solver": ["asgd"], "alpha": ["auto"]},
            allows={("verbose", "*"): why, ("coef0", "*"): why},
        ),
        *methods(
            QuadraticSurrogateClassifier, surrogate,
            {
                "decision_function": few, "predict": few, "predict_risk": few,
                "score": {"X": rows(4), "y": labels(4), "sample_weight": np.ones(4)},
            },
            allows={("y", "half"): "a label that fit has not seen costs one"},
        ),
        *methods(
            QuadraticSurrogateClassifier, surrogate, {"learning_complexity": {"eps": 0.1}},
            infinite=True,
        ),
        *fitting(
            PACBayesLinearRegression,
            lambda: {
                "noise_variance": 1.0, "prior_variance": 1.0, "prior_mean": np.zeros(2),
                "fit_intercept": True, "temperature": 3.0, "delta": 0.05,
            },
            lambda: {"X": rows(), "y": targets(), "sample_weight": np.ones(12)},
        ),
        *methods(
            PACBayesLinearRegression, regression,
            {
                "predict": {**few, "return_std": True, "return_cov": False}, "nll_loss": judged,
                "gibbs_nll_loss": judged, "sample_posterior": size, "sample_y": {**few, **size},
                "score": {**judged, "sample_weight": np.ones(4)},
                "risk_bound": {
                    "kind": "gaussian_linear", "delta": 0.1, "loss": "nll", "lam": 3.0,
                    "loss_range": (1.0, 4.0), **TRUTHS,
                },
            },
            infinite=True,
            allows={("loss_range", "*"): "of another kind of bound"},
        ),
        *fitting(
            PACBayesModelSelector,
            lambda: {
                "estimator": PACBayesLinearRegression(),
                "param_grid": {"prior_variance": [0.1, 1.0]},
                "mode": "average", "log_prior": np.log([0.5, 0.5]), "delta": 0.05, "gap": 0.1,
                "n_jobs": None,
            },
            lambda: {"X": rows(), "y": targets()},
        ),
        *methods(
            PACBayesModelSelector, selector,
            {
                "predict": {**few, "return_std": True},
                "score": {**judged, "sample_weight": np.ones(4)},
            },
        ),
        *build(
            RiskBoundDisplay,
            lambda: {
                "n_samples": np.array([1, 2]), "empirical_risks": np.ones(2), "bounds": {},
                "name": None,
            },
            allows={("*", "*"): "stored; plot checks"},
        ),
        *methods(
            RiskBoundDisplay,
            lambda: RiskBoundDisplay(np.array([1, 2]), np.ones(2), {"a": np.ones(2)}),
            {
                "from_estimator": {
                    "estimator": PACBayesLinearRegression(fit_intercept=False), "X": rows(),
                    "y": targets(), "n_samples": [4, 12],
                    "kinds": {"catoni": {"loss_range": (0.5, 9.0)}}, "ax": None, "name": None,
                },
                "plot": {"ax": None},
            },
        ),
        *build(
            EvidenceDisplay,
            lambda: {"param_values": [1, 2], "log_evidences": np.ones(2), "name": None},
            allows={("*", "*"): "stored; plot checks"},
        ),
        *methods(
            EvidenceDisplay, lambda: EvidenceDisplay([1, 2], np.ones(2)),
            {
                "from_estimator": {
                    "estimator": selector(), "param": "prior_variance", "ax": None, "name": None,
                },
                "plot": {"ax": None},
            },
        ),
    ]  # fmt: skip
