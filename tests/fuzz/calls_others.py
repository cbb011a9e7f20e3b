"""Valid calls of the smaller subpackages."""

import functools
import importlib.util

import numpy as np
from sklearn.gaussian_process.kernels import RBF
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.utils import Bunch

from sklearn_fw import (
    alignment,
    cluster,
    datasets,
    decomposition,
    density,
    displays,
    gaussian_probability,
    inspection,
    pac_bayes,
    seq2seq,
)

from .calls import (
    STORED,
    Later,
    display,
    estimator,
    fill,
    function,
    functions,
    generator,
    methods,
    own_methods,
)

# ---- alignment -----------------------------------------------------------------------------------


def of_alignment():
    KnowledgeBase = alignment.KnowledgeBase
    base = KnowledgeBase([("m", "actor", "p")], [("m", "year", 1999)], {"m": "Blue", "p": "Lee"})
    made = functools.cache(lambda: alignment.KnowledgeBaseAligner().fit(base, base))
    kinds = {
        "kb1": base, "kb2": base, "entities1": ["m", "p"], "pairs": [("m", "m"), ("p", "m")],
        "entity1": "m", "n": 2, "truth": {"m": "m"}, "other": base,
        "triples": [("m", "actor", "p"), ("p", "age", 3)], "estimator": Later(made),
        "against": "matches",
    }  # fmt: skip
    bars = {
        "entity": "m", "names": ["m"], "evidence": [[0.1, 0.2, 0.3]], "matched": [True],
        "taken_by": [""], "threshold": 0.25,
    }  # fmt: skip
    lines = {name: np.ones(2) for name in ("precision", "recall", "f1")}
    lines |= {"threshold": np.array([np.inf, 0.5]), "n_seed": 1}
    cls = alignment.KnowledgeBaseAligner
    return [
        *function(
            KnowledgeBase, {"relations": [("m", "actor", "p")]},
            allows={"relations nothing_inside": "no facts are the default",
                    "properties nothing_inside": "no facts are the default",
                    "relations.# thing_inside": "nodes of graphs may be objects of any kind"},
        ),
        *methods(
            KnowledgeBase, lambda: base, None, kinds, ["merge", "from_triples"],
            allows={"triples.# thing_inside": "values are kept as text",
                    "triples.# nan_inside": "a value that is missing"},
        ),
        *methods(cls, made, {"fit": {}}, kinds),
        *methods(cls, made, None, kinds, ["fit"]),
        *display(alignment.MatchEvidenceDisplay, {**kinds, **bars}),
        *display(alignment.AlignmentCurveDisplay, {**kinds, **lines}),
    ]  # fmt: skip


# ---- clusters in time ----------------------------------------------------------------------------

LINES = [["a", "b", "c"], ["a", "d", "b"], ["b", "c", "d"]]


def series():
    rng = generator(3)
    return [rng.normal(size=(6, 2)), rng.normal(size=(5, 2))]


def clips():
    rng = generator(4)
    return [
        {
            "X_action": rng.normal(size=(4, 2)), "t_action": np.arange(4.0),
            "X_state": rng.normal(size=(3, 2)), "start": np.arange(3.0),
            "end": np.arange(3.0) + 0.5,
        } for _ in range(2)
    ]  # fmt: skip


def of_cluster():
    few = {"max_iter": 5, "n_init": 1, "random_state": 0}
    aligner = cluster.SequenceAligner(2, **few)
    ordered = cluster.OrderedDiscriminativeClustering(2, **few)
    joint = cluster.JointStateActionClustering(**few)
    windows = {"windows": [[(0, 0, 2)], [(1, 2, 4)]]}
    unsaid = {"windows none_inside": "a sequence without windows", "windows.# none": "as well"}
    tokens = "any type that can be a key is a token, and not all of a vocabulary have to occur"
    narrated = {
        "X": series(), "tokens": [["a", "b"], ["a", "c", "b"]],
        "token_rows": [np.array([[0, 0], [2, 3]]), np.array([[0, 1], [1, 1], [2, 3]])],
    }  # fmt: skip
    clip = {
        "start": np.array([0.0, 2.0]), "end": np.array([1.0, 3.0]), "states": np.array([0, 1]),
        "times": np.arange(3.0), "scores": np.arange(3.0), "action": 1, "clips": clips(),
        "estimator": Later(lambda: joint.fit(clips())),
    }  # fmt: skip
    steps = {
        "locations": np.array([[0, 2]]), "names": ["a", "b"], "intervals_true": None, "X": series(),
        "estimator": Later(lambda: ordered.fit(series())),
    }  # fmt: skip
    script = {
        "names": ["a"], "cells": [["a"], [""]], "support": [1], "sequences": LINES,
        "estimator": Later(lambda: aligner.fit(LINES)),
    }  # fmt: skip
    return [
        *estimator(
            cluster.OrderedDiscriminativeClustering, {"n_steps": 2, "reg": 0.1, **few},
            {"X": series(), **windows}, allows=unsaid,
            fitted=lambda: cluster.OrderedDiscriminativeClustering(2, **few).fit(series()),
            variants={
                "algorithm": ["bcfw", "away"], "rounding": ["l2", "fw"], "reg": ["auto"],
                "window_constraint": ["hull"], "windows": [None],
            },
        ),
        *estimator(
            cluster.SequenceAligner,
            {
                "n_steps": 2, "n_slots": 6, "vocabulary": ["a", "b", "c", "d"],
                "cost_matrix": 9.0 - 10.0 * np.eye(4), "mismatch_cost": 9.0, "max_vocabulary": 5,
                **few,
            },
            {"sequences": LINES}, fitted=lambda: cluster.SequenceAligner(2, **few).fit(LINES),
            variants={"keep": ["first", "all"], "rounding": ["fw", "l2"], "n_slots": ["auto"]},
            allows={
                "vocabulary.# capitals code code_of_it date imaginary number text": tokens
            },
        ),
        *estimator(
            cluster.ScriptDiscovery,
            {"n_steps": 2, "before": 0.0, "after": 2.0, "aligner": aligner, "localizer": ordered},
            narrated, fitted=lambda: cluster.ScriptDiscovery(2, random_state=0).fit(**narrated),
            variants={"localizer": [None], "aligner": [None]},
        ),
        *estimator(
            cluster.JointStateActionClustering,
            {"state_reg": 0.01, "candidate_scores_weight": 0.1, **few,
             "restrict_action_to_candidates": True},
            {"clips": clips()},
            fitted=lambda: cluster.JointStateActionClustering(**few).fit(clips()),
            variants={
                "algorithm": ["bcfw", "alternating"], "rounding": ["independent"],
                "state_constraint": ["exactly_one"],
            },
        ),
        *display(cluster.AlignedScriptDisplay, script), *display(cluster.StepsDisplay, steps),
        *display(cluster.StateActionDisplay, clip),
    ]  # fmt: skip


# ---- decompositions ------------------------------------------------------------------------------


def similar(symmetric=False):
    rng = generator(5)
    basis = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    if not symmetric:
        basis = basis + 0.2 * rng.normal(size=(3, 3))
    made = [basis @ np.diag(d) @ np.linalg.inv(basis) for d in rng.normal(size=(2, 3))]
    return np.array([(m + m.T) / 2.0 for m in made] if symmetric else made)


def cube():
    basis = np.linalg.qr(generator(6).normal(size=(3, 3)))[0]
    return np.einsum("k,ak,bk,ck->abc", np.array([3.0, 2.0, 1.0]), basis, basis, basis)


def topics():
    return generator(7).dirichlet(np.ones(5), size=2)


def corpus(n=30):
    rng = generator(9)
    return rng.poisson(rng.gamma(0.5, 20.0, size=(n, 2)) @ topics()).astype(float)


def two_views(n=30):
    rng = generator(5)
    sources = rng.gamma(0.5, 20.0, size=(n, 2))
    views = [rng.poisson(sources @ rng.dirichlet(np.ones(m), size=2)) for m in (4, 3)]
    return {name: view.astype(float) for name, view in zip("Xy", views)}


def of_decomposition():
    why = "another batch"
    weight = {"sample_weight": generator(4).uniform(0.5, 2.0, 30)}
    ica, cca = decomposition.DiscreteICA, decomposition.MultiViewCCA
    found = estimator(
        ica,
        {
            "n_components": 2, "moments": "gp", "c0": 1.0, "prior_estimator": "tensor",
            "refine": "vi", "max_iter": 20, "smoothing": 0.01, "batch_size": 8,
        },
        {"X": corpus(), **weight}, {"X": corpus(4)}, lambda: ica(2).fit(corpus()),
        {"inverse_transform": {"X": np.ones((3, 2))}, "fit_transform": {"X": corpus()},
         "get_feature_names_out": {"input_features": None}},
        variants={
            "moments": ["auto", "generalized", "lda"], "projections": [3],
            "algorithm": ["spectral", "tpm"], "refine": [None], "sample_weight": [None],
            "prior_estimator": ["auto", "average", "likelihood", "mean_variance"],
            "c0": [None], "n_components": ["auto", 1],
        },
        allows={"X as_a_list": why, "input_features *": "not used", "y *": "not used"},
        infinite={"perplexity"},  # of documents that nothing fits
    )  # fmt: skip
    found += estimator(
        cca,
        {
            "kind": "discrete", "moments": "cumulant", "points": "both", "max_iter": 50,
            "ridge": 0.01, "batch_size": 8, "tol": 1e-8,
        },
        {**two_views(), **weight}, {**two_views(6), "sample_weight": None},
        lambda: cca(2, kind="discrete").fit(**two_views()),
        {"fit_transform": two_views(),
         "inverse_transform": {"X": np.ones((3, 2)), "y": np.ones((3, 2))},
         "get_feature_names_out": {"input_features": None}},
        variants={
            "kind": ["mixed", "nongaussian"], "moments": ["auto", "generalized"],
            "points": ["auto", "one_sided", "symmetric"], "algorithm": ["spectral"],
            "shear": ["jdtm", "just", "shrt"], "ridge": ["auto"], "transform_method": ["lmmse"],
            "sample_weight": [None],
        },
        allows={"X as_a_list": why, "y as_a_list": why, "input_features *": "not used"},
    )  # fmt: skip
    model = Later(
        lambda: ica(2, moments="gp").fit(datasets.make_topic_corpus(200, 3, 2, random_state=0).X)
    )
    shown = {"components": [1], "n_top": 2, "name": "c"}
    loadings = {
        "x_loadings": np.ones((4, 2)), "y_loadings": np.ones((3, 2)), "x_names": list("abcd"),
        "y_names": list("efg"),
        "estimator": Later(lambda: cca(2, kind="discrete").fit(**two_views())),
    }  # fmt: skip
    of_topics = {"topics": np.ones((2, 3)), "names": list("abc"), "estimator": model}
    scree = {"values": [2.0, 1.0], "noise_floor": 1.5, "n_components": 1, "estimator": model}
    text = {"names.# text capitals": "any text", "name text capitals": "any text"}
    jd = {"tol": 1e-8, "max_iter": 50}
    return [
        *found, *display(displays.LoadingDisplay, {**shown, **loadings}),
        *display(displays.TopicDisplay, {**shown, **of_topics}, allows=text),
        *display(displays.ScreeDisplay, {**shown, **scree}, allows=text),
        *functions(jd, {
            decomposition.joint_diagonalize: {"matrices": similar(symmetric=True)},
            decomposition.tensor_power_method: {"tensor": cube(), "n_restarts": 3},
        }, variants={"shear": [None, "jdtm", "just", "shrt"]}),
        *function(
            decomposition.chib_log_likelihood,
            {"X": corpus(3), "topics": topics(), "prior": np.array([0.5, 0.2]), "n_samples": 20},
        ),
    ]  # fmt: skip


# ---- densities and Gaussian probabilities --------------------------------------------------------


def points(n=16):
    X = generator(3).normal(size=(n, 2))
    X[n // 2 :] += 3.0
    return X


def labels(n=16):
    return np.repeat([0, 1], n // 2)


def of_density():
    student, classifier = density.KernelStudentTDensity, density.KernelStudentTClassifier
    weight = generator(4).uniform(0.5, 2.0, 16)
    data = {"X": points(), "sample_weight": weight}
    few = {"X": points(4), "n_samples": 2, "sample_weight": weight[:4]}
    labeled = {**few, "y": labels(4)}
    kernel = np.exp(-0.5 * ((points()[:, None] - points()) ** 2).sum(axis=2))
    of_kernel = {"X": kernel[:4], "diag": np.ones(4)}
    return [
        *function(density.PolynomialKernel, {"gamma": 0.5}, allows=STORED),
        *estimator(
            student,
            {"length_scale": 1.0, "contamination": 0.1, "max_rank": 10, "jacobian": False}, data,
            few, lambda: student(length_scale=1.0, support=(-8.0, 8.0)).fit(points()),
            {"fit_predict": data},
            variants={
                "kernel": ["polynomial", "laplacian", "matern32", "linear", "all_subsets"],
                "length_scale": ["auto", "median"], "formula": ["published"],
                "max_rank": [None, 3], "contamination": ["auto"], "jacobian": ["auto"],
                "normalize": [True], "sample_weight": [None],
            },
        ),
        *methods(
            student, lambda: student("precomputed").fit(kernel), None, of_kernel,
            ["score_samples", "novelty_p_values"], " (precomputed)",
        ),
        *estimator(
            classifier, {"density": student()}, {**data, "y": labels()}, labeled,
            lambda: classifier().fit(points(), labels()),
            variants={"density": [None], "sample_weight": [None]},
            allows={"density.support *": "of a classifier it is documented as unused"},
        ),
        *estimator(
            density.RelativeNoveltyDetector,
            {"density": student(), "contamination": 0.1, "max_samples": 20},
            {"X": points(), "y": labels()}, labeled,
            lambda: density.RelativeNoveltyDetector().fit(points(), labels()),
            variants={"density": [None]},
        ),
    ]  # fmt: skip


def of_gaussian():
    lower, n = points(12)[:, 0], 12
    intervals = np.column_stack([lower, lower + np.arange(n) % 3])
    cov = np.array([[1.0, 0.3, 0.1], [0.3, 1.0, -0.2], [0.1, -0.2, 2.0]])
    ends = {"lower": np.array([0.0, -1.0]), "upper": np.array([1.0, 2.0])}
    region = {
        "lower": np.array([-1.0, 0.0]), "upper": np.array([1.0, 2.0]), "mean": np.zeros(3),
        "cov": cov, "constraints": np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]),
        "method": "sampled", "minimal": True, "damping": 0.9, "n_draws": 64, "tol": 1e-5,
        "max_iter": 50,
    }  # fmt: skip
    box = np.array([[-1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
    boxes = {"lower": box, "upper": box + 1.0, "mean": np.zeros((2, 3)), "cov": cov}
    numbers = {f"{name} no_axis": "one number for all" for name in ("lower", "upper", "mean")}
    broadcast = {f"{name} no_axis two_more_axes": "all arguments are broadcast"
                 for name in ("lower", "upper", "mean", "var")}  # fmt: skip
    found, tight = [], {"tol": 1e-5, "max_iter": 50}
    for name, own, y, theta in (
        ("EPProbitClassifier", {}, labels(n), [0.1]),
        ("EPOrdinalClassifier", {"order": np.array([0, 1]), "decision": "median"}, labels(n),
         [0.1, 0.2]),
        ("EPIntervalRegressor", {"noise": 1.0}, intervals, [0.1, 0.2]),
    ):  # fmt: skip
        cls, kernel = getattr(gaussian_probability, name), RBF(1.0)
        likelihood = {"theta": np.array(theta), "eval_gradient": True}
        found += estimator(
            cls, {"kernel": kernel, "optimizer": None, "max_iter": 50, "tol": 1e-4, **own},
            {"X": points(n), "y": y}, None,
            lambda cls=cls, k=kernel, y=y: cls(k, optimizer=None).fit(points(n), y),
            {"log_marginal_likelihood": likelihood},
        )  # fmt: skip
    machine, normal = gaussian_probability.BayesPointMachine, gaussian_probability.TruncatedGaussian
    return [
        *found,
        *estimator(
            machine, {"kernel": "poly", "gamma": 0.5, "degree": 2, "noise": 0.5, "max_iter": 50},
            {"X": points(n), "y": labels(n)}, None,
            lambda: machine(noise=0.5).fit(points(n), labels(n)),
        ),
        *estimator(
            normal, {"lower": -9.0, "upper": 9.0, "constraints": np.eye(2), "reg_covar": 1e-4},
            {"X": points(n)}, {"n_samples": 3, "start": np.zeros(2)},
            lambda: normal(-9.0, 9.0).fit(points(n)), allows={"y *": "documented as ignored"},
        ),
        *function(
            gaussian_probability.log_gaussian_probability, region, infinite=True, allows=numbers,
            variants={"method": ["auto", "ep", "genz"], "minimal": [False], "power": ["gram"]},
            aliases={"constraints": ("cov",)},
        ),
        *function(gaussian_probability.log_box_probabilities, boxes, tight, infinite=True),
        *function(gaussian_probability.truncated_normal_moments, ends, allows=broadcast),
        *function(
            gaussian_probability.minimal_polyhedron, {**ends, "constraints": np.eye(2)},
            allows=numbers,
        ),
        *function(
            gaussian_probability.GaussianProbabilityResult,
            {"log_prob": -1.0, "error": 0.1, "method": "ep"}, allows=STORED,
        ),
    ]  # fmt: skip


# ---- PAC-Bayes -----------------------------------------------------------------------------------


def of_pac_bayes():
    model = {
        "noise_variance": 2.0, "prior_variance": 0.01, "x_variance": 1.0, "w_norm2": 0.25,
        "noise_true": 0.1, "n_features": 3,
    }  # fmt: skip
    kinds = {
        **model, "emp_risk": 0.3, "kl": 2.0, "n": 100.0, "lam": 10.0, "s2": 0.2, "c": 0.1,
        "psi": 0.5, "beta": 1.0, "log_evidence": -150.0, "log_prior": np.log([0.5, 0.5]),
        "emp_risks": np.array([0.1, 0.3]), "log_evidences": np.array([-50.0, -30.0]), "gap": 0.1,
        "mean_q": np.zeros(2), "cov_q": np.eye(2), "mean_p": np.ones(2), "cov_p": np.eye(2),
    }  # fmt: skip
    given = {
        "alquier_bound": {"s2": None, "loss_range": None}, "gibbs_log_weights": {"lam": 2.0},
        "model_selection_bounds": {"n": 15.0},
    }  # fmt: skip
    without_limit = ("alquier_bound", "psi_gaussian_linear")
    found = []
    for name in pac_bayes.__all__:
        if name.islower():
            found += function(
                getattr(pac_bayes, name), given.get(name), kinds, infinite=name in without_limit,
                allows={"psi *": "infinite where the mean does not exist"},
            )  # fmt: skip
    regression, selector = pac_bayes.PACBayesLinearRegression, pac_bayes.PACBayesModelSelector
    X, y = points(12), generator(4).normal(size=12)
    plain = {"fit_intercept": False, "prior_variance": 0.01}
    grid = {"param_grid": {"prior_variance": [0.1, 1.0]}}
    chosen = Later(lambda: selector(**grid).fit(X, y))
    few = {"X": X[:4], "y": y[:4], "sample_weight": np.ones(4), "n_samples": 2, "return_std": True}
    risk = {"kind": "gaussian_linear", "lam": 3.0, "loss_range": (1.0, 4.0), "delta": 0.1,
            **{name: model[name] for name in ("x_variance", "w_norm2", "noise_true")}}  # fmt: skip
    risks = {
        "n_samples": [4, 12], "empirical_risks": np.ones(2), "bounds": {"a": np.ones(2)}, "X": X,
        "y": y, "kinds": {"catoni": {"loss_range": (0.5, 9.0)}},
        "estimator": regression(fit_intercept=False), "name": None,
    }  # fmt: skip
    evidence = {
        "param_values": [1, 2], "log_evidences": np.ones(2), "estimator": chosen,
        "param": "prior_variance", "name": None,
    }  # fmt: skip
    return [
        *found,
        *estimator(
            regression, {"prior_mean": np.zeros(2), "temperature": 3.0},
            {"X": X, "y": y, "sample_weight": np.ones(12)}, few,
            lambda: regression(**plain).fit(X, y),
            {"risk_bound": risk, "predict": {"return_cov": False}}, infinite=True,
            allows={"loss_range *": "of another kind of bound"},
        ),
        *estimator(
            selector,
            {"estimator": regression(), **grid, "log_prior": np.log([0.5, 0.5]), "gap": 0.1,
             "n_jobs": None},
            {"X": X, "y": y}, few, chosen.make,
        ),
        *display(pac_bayes.RiskBoundDisplay, risks), *display(pac_bayes.EvidenceDisplay, evidence),
    ]  # fmt: skip


# ---- inspection ----------------------------------------------------------------------------------


def of_inspection():
    X, y = generator(3).normal(size=(12, 2)) + 2.0 * (np.arange(12) % 2)[:, None], np.arange(12) % 2
    fitted = LogisticRegression().fit(X, y)
    network = MLPClassifier((3,), solver="sgd", activation="tanh", learning_rate_init=0.1)
    kinds = {
        "estimator": SGDClassifier(loss="log_loss"), "X": X, "y": y, "X_valid": X[:6],
        "y_valid": y[:6], "g": np.array([1.0, 2.0, 3.0]), "fraction": 0.5, "n_epochs": 1,
        "n_runs": 2, "n_steps": 2, "eval_every": 1, "learning_rate": 0.1, "momentum": 0.5,
        "batch_size": 5, "param_name": "alpha", "param_range": [0.1, 1.0], "fractions": [0.0, 0.5],
        "max_epochs": 1, "radius": np.full(2, 0.2), "per_feature": True, "n_jobs": None,
        "method": "early", "name": None,
    }  # fmt: skip
    searched = {"radius": 0.5, "step": 0.4, "noise": 0.3, "max_iter": 2, "estimator": fitted,
                "X": X[:6], "feature_range": (-9.0, 9.0)}  # fmt: skip
    unrolled = {"estimator": network, "method": "unrolled"}
    texts = {
        "y text_entries object_text": "labels may be text or objects",
        "estimator.average *": "a number of steps is valid",
        "estimator.alpha *": "param_range replaces it",
    }
    each = ("radius", "step", "noise", "feature_range", "feature_range.0", "feature_range.1")
    wide = {f"{name} *": "one for each feature, or infinite" for name in each}
    result = Bunch(
        epochs=np.array([1.0, 2.0]), train_accuracy=np.array([0.5, 0.9]),
        valid_accuracy=np.array([0.5, 0.7]), critical_ratio=np.array([0.1, 0.2]),
    )  # fmt: skip
    shares = {"shares": [0.1, 0.2], "ratios": [0.1, 0.3], "estimator": fitted, "X": X[:6]}
    curves = {"x": [1, 2], "curves": {"a": [0.1, 0.2]}, "result": result}
    report = inspection.MemorizationReport
    small = {"n_epochs": 1, "n_runs": 2, "n_steps": 2, "random_state": 0}
    small["estimator"] = kinds["estimator"]
    run = {name: kinds[name] for name in ("X", "y", "X_valid", "y_valid")}
    influence = {"estimator": fitted, "X": X, "y": y, "method": "influence", "damping": 0.1}
    influence |= dict.fromkeys(("learning_rate", "momentum", "batch_size"))
    unread = {
        f"{name} *": "of the other method" for name in ("n_steps", "eval_every", "random_state")
    }
    return [
        *functions(kinds, {
            inspection.critical_sample_ratio: searched,
        }, allows=wide),
        *functions(kinds, {
            inspection.feature_radius: None, inspection.corrupt_inputs: None,
        }),
        *functions(kinds, {
            inspection.loss_sensitivity: unrolled,
            inspection.example_difficulty: None, inspection.corrupt_labels: None,
        }, allows=texts),
        *function(
            inspection.loss_sensitivity, influence, {}, allows=texts | unread,
            name="inspection.loss_sensitivity.influence",
        ),
        *functions(kinds, {
            inspection.track_memorization: {"n_epochs": 2},
            inspection.memorization_curve: {"param_range": [0.1]},
        }, allows=texts, infinite=True),
        *display(inspection.CriticalSampleDisplay, {**kinds, **shares}),
        *display(
            inspection.DifficultyDisplay,
            {**kinds, "error_rates": [0.1, 0.2], "reference": [0.1, 0.3]}, allows=texts,
        ),
        *display(inspection.SensitivityDisplay, {**kinds, "sensitivity": [1.0, 2.0]}),
        *display(
            inspection.ClassSensitivityDisplay, {**kinds, "matrix": np.eye(2), "estimator": network}
        ),
        *display(
            inspection.MemorizationDisplay, curves,
            allows={"result.critical_ratio *": "NaN where no radius was given"},
        ),
        *function(report, {**small, "n_jobs": None}, allows=STORED),
        *methods(report, lambda: report(**small), None, run, ["run"], infinite=True, allows=texts),
        *methods(report, lambda: report(**small).run(**run), None, {}, ["plot"], infinite=True),
    ]  # fmt: skip


# ---- sequences from sequences --------------------------------------------------------------------


class Walk(seq2seq.StepPolicy):
    """Says one more than it said."""

    def start(self, X):
        return self.step(None, np.zeros(len(X), int))

    def step(self, state, tokens):
        tokens = (tokens + 1) % 3
        return tokens, np.eye(3)[tokens]


def of_networks(cls):
    """Entries of what needs PyTorch."""
    network = fill(seq2seq.RecurrentNetwork, {
        "hidden_size": 4, "embedding_dim": 2, "aligned": True, "dtype": "float64", "device": "cpu",
    })  # fmt: skip
    training = fill(seq2seq.Minibatches, {
        "learning_rate": 0.01, "batch_size": 2, "early_stopping": False, "eval_every": 1,
        "validation_fraction": 0.5, "n_iter_no_change": 1,
    })  # fmt: skip
    settings = {
        "search": seq2seq.LearningToSearch(n_tokens=1),
        "network": seq2seq.RecurrentNetwork(**network), "training": seq2seq.Minibatches(**training),
    }  # fmt: skip
    data = {"X": [["a", "b", "a"], ["b", "b"]], "y": [["x", "y", "x"], ["y", "y"]]}
    more = {"sample_weight": np.array([1.0, 2.0]), "classes": ["x", "y"],
            "input_tokens": [["a", "b"]]}  # fmt: skip

    def fit(**own):
        return cls("ll", **{**settings, **own}, max_iter=1, random_state=0).fit(**data)

    parts = []
    for name, part, params in (
        ("RecurrentNetwork", "network", network), ("Minibatches", "training", training)
    ):  # fmt: skip
        kind = getattr(seq2seq, name)
        parts += function(
            kind, params, run=lambda a, k=kind, p=part: fit(**{p: k(**a)}).predict(data["X"])
        )
    tokens = "tokens are compared, whatever they are"
    return parts + estimator(
        cls,
        {"loss": "ll", "task_loss": "hamming", **settings, "output_length": "fixed", "max_iter": 1},
        {**data, **more}, {"k": 2}, fit, {name: {} for name in own_methods(cls)},
        variants={
            "sample_weight": [None], "task_loss": ["edit"], "output_length": ["free", 4],
            "classes": [None], "input_tokens": [None],
        },
        aliases={"y": ("outputs", "y_true", "X")},
        allows={f"{place} text capitals half thing thing_inside": tokens
                for place in ("X.#.#", "y.#.#", "X.#", "y.#")},
    )  # fmt: skip


def of_seq2seq():
    outputs, given = [np.array([0, 1, 2]), np.array([1, 0])], "inputs go to the policy as they are"
    search = seq2seq.LearningToSearch

    def searched(a):
        found = seq2seq.roll_out_costs(
            Walk(), ["x", "y"], outputs, search=search(**a), random_state=0
        )
        return found.n_rollouts, found.n_steps

    has_torch = importlib.util.find_spec("torch") is not None
    return [
        *function(
            seq2seq.searnn_loss,
            {"scores": generator(3).normal(size=(2, 3)), "target": np.array([0, 1]),
             "costs": generator(4).uniform(size=(2, 3))},
            variants={"loss": ["kl", "llcas", "shl"], "target": [None]},
        ),
        *function(
            seq2seq.roll_out_costs,
            {"policy": Walk(), "X": ["x", "y"], "y": outputs, "search": search(), "end": None},
            variants={"task_loss": ["zero_one"], "search": [None]},
            allows={"X *": given, "X.# *": given},
        ),
        *function(
            search,
            {"n_cells": 2, "n_tokens": 1, "token_sampling": "uniform", "sampled_softmax": True,
             "batch_size": 4},
            run=searched, variants={"roll_out": [2, "learned"]},
        ),
        *(of_networks(seq2seq.SeaRNNTransducer) if has_torch else []),
    ]  # fmt: skip


def entries():
    return [
        *of_alignment(), *of_cluster(), *of_decomposition(), *of_density(), *of_gaussian(),
        *of_pac_bayes(), *of_inspection(), *of_seq2seq(),
    ]  # fmt: skip
