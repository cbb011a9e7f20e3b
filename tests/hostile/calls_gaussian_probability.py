"""Valid calls of Gaussian probabilities and the models made of them."""

import numpy as np
from sklearn.gaussian_process.kernels import RBF

from sklearn_fw.gaussian_probability import (
    BayesPointMachine,
    EPIntervalRegressor,
    EPOrdinalClassifier,
    EPProbitClassifier,
    GaussianProbabilityResult,
    TruncatedGaussian,
    equicorrelated_probability,
    log_box_probabilities,
    log_gaussian_probability,
    minimal_polyhedron,
    orthant_probability,
    truncated_normal_moments,
)

from .calls import build, fitting, function, generator, methods


def points(n=12):
    X = generator(3).normal(size=(n, 2))
    X[n // 2 :] += 3.0
    return X


def labels(n=12):
    return np.repeat([0, 1], n // 2)


def targets(n=12):
    lower = points(n)[:, 0]
    return np.column_stack([lower, lower + np.arange(n) % 3])


def cov():
    return np.array([[1.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 2.0]])


def region():
    return {
        "lower": np.array([-1.0, 0.0]), "upper": np.array([1.0, 2.0]), "mean": np.zeros(3),
        "cov": cov(), "constraints": np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]),
        "method": "sampled", "power": 1.0, "minimal": True, "damping": 0.9, "tol": 1e-5,
        "max_iter": 50, "n_draws": 64, "random_state": 0,
    }  # fmt: skip


def boxes():
    lower = np.array([[-1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    return {
        "lower": lower, "upper": lower + 1.0, "mean": np.zeros((2, 3)), "cov": cov(), "tol": 1e-5,
        "max_iter": 50,
    }  # fmt: skip


def entries():
    ignored = {("y", "*"): "documented as ignored"}
    numbers = {(name, "no_axis"): "one number for all" for name in ("lower", "upper", "mean")}
    broadcast = {
        (name, damage): "all arguments are broadcast"
        for name in ("lower", "upper", "mean", "var") for damage in ("no_axis", "two_more_axes")
    }  # fmt: skip
    few, ends = {"X": points(4)}, (np.array([0.0, -1.0]), np.array([1.0, 2.0]))
    machine = {
        "kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0, "fit_intercept": True,
        "noise": 0.5, "tol": 1e-4, "max_iter": 50,
    }  # fmt: skip
    normal = {
        "lower": -9.0, "upper": 9.0, "constraints": np.eye(2), "reg_covar": 1e-4, "max_iter": 20,
        "tol": 1e-3,
    }  # fmt: skip
    probit = {
        "kernel": RBF(1.0), "noise": 1.0, "optimizer": None, "n_restarts_optimizer": 0,
        "tol": 1e-4, "max_iter": 50, "random_state": 0,
    }  # fmt: skip
    ordinal = {**probit, "order": np.array([0, 1]), "decision": "median"}
    censored = {**probit, "normalize_y": True}
    data = {"X": points(), "y": labels()}
    known = {"X": points(), "y": targets()}
    predicted = dict.fromkeys(("predict", "predict_proba"), few)
    scored = {"score": {"X": points(4), "y": labels(4)}}
    return [
        *function(
            log_gaussian_probability, region, infinite=True,
            variants={"method": ["auto", "ep", "genz"], "minimal": [False], "power": ["gram"]},
            aliases={"constraints": ("cov",)}, allows=numbers,
        ),
        *function(log_box_probabilities, boxes, infinite=True),
        *function(
            truncated_normal_moments,
            lambda: {"lower": ends[0], "upper": ends[1], "mean": 0.0, "var": 1.0},
            allows=broadcast,
        ),
        *function(
            minimal_polyhedron,
            lambda: {"constraints": np.eye(2), "lower": ends[0], "upper": ends[1]},
            allows=numbers,
        ),
        *function(orthant_probability, lambda: {"cov": cov()}),
        *function(
            equicorrelated_probability,
            lambda: {"lower": ends[0], "upper": ends[1], "rho": 0.5}, infinite=True,
            allows=numbers,
        ),
        *build(
            GaussianProbabilityResult,
            lambda: {"log_prob": -1.0, "error": 0.1, "method": "ep"},
            allows={("*", "*"): "a record: it keeps what it is given"},
        ),
        *fitting(EPProbitClassifier, lambda: dict(probit), lambda: dict(data)),
        *methods(
            EPProbitClassifier,
            lambda: EPProbitClassifier(RBF(1.0), optimizer=None).fit(points(), labels()),
            {
                **predicted, **scored, "latent_mean_and_variance": few,
                "log_marginal_likelihood": {"theta": np.array([0.1]), "eval_gradient": True},
            },
        ),
        *fitting(EPOrdinalClassifier, lambda: dict(ordinal), lambda: dict(data)),
        *methods(
            EPOrdinalClassifier,
            lambda: EPOrdinalClassifier(RBF(1.0), optimizer=None).fit(points(), labels()),
            {
                **predicted, **scored, "latent_mean_and_variance": few,
                "log_marginal_likelihood": {"theta": np.array([0.1, 0.2]), "eval_gradient": True},
            },
        ),
        *fitting(EPIntervalRegressor, lambda: dict(censored), lambda: dict(known)),
        *methods(
            EPIntervalRegressor,
            lambda: EPIntervalRegressor(RBF(1.0), optimizer=None).fit(points(), targets()),
            {
                "predict": {**few, "return_std": True}, "latent_mean_and_variance": few,
                "score": {"X": points(4), "y": targets(4)},
                "log_marginal_likelihood": {"theta": np.array([0.1, 0.2]), "eval_gradient": True},
            },
        ),
        *fitting(BayesPointMachine, lambda: dict(machine), lambda: dict(data)),
        *methods(
            BayesPointMachine, lambda: BayesPointMachine(noise=0.5).fit(points(), labels()),
            {**predicted, **scored, "decision_function": few},
        ),
        *fitting(
            TruncatedGaussian, lambda: dict(normal), lambda: {"X": points(), "y": None},
            allows=ignored,
        ),
        *methods(
            TruncatedGaussian, lambda: TruncatedGaussian(-9.0, 9.0).fit(points()),
            {
                "score_samples": few, "score": {**few, "y": None},
                "sample": {"n_samples": 3, "start": np.zeros(2), "random_state": 0},
            },
            allows=ignored,
        ),
    ]  # fmt: skip
