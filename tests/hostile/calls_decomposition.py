"""Valid calls of decompositions, of their generators and of their metrics."""

import numpy as np

from sklearn_fw import datasets, displays, metrics
from sklearn_fw.decomposition import (
    DiscreteICA,
    MultiViewCCA,
    chib_log_likelihood,
    joint_diagonalize,
    tensor_power_method,
)

from .calls import build, fitting, function, generator, methods


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


def topics(k=2):
    return generator(7).dirichlet(np.ones(5), size=k)


def views(k=2):
    rng = generator(8)
    return rng.normal(size=(4, k)), rng.normal(size=(3, k))


def corpus(n=30):
    rng = generator(9)
    return rng.poisson(rng.gamma(0.5, 20.0, size=(n, 2)) @ topics()).astype(float)


def topic_params():
    return {
        "n_components": 2, "moments": "gp", "algorithm": "jd", "projections": "canonical",
        "c0": 1.0, "prior_estimator": "tensor", "refine": "vi", "max_iter": 20, "tol": 1e-3,
        "smoothing": 0.01, "batch_size": 8, "random_state": 0,
    }  # fmt: skip


def topic_models():
    why = "another batch"
    few = {"X": corpus(4)}
    return [
        *fitting(
            DiscreteICA, topic_params,
            lambda: {"X": corpus(), "sample_weight": generator(4).uniform(0.5, 2.0, 30)},
            variants={
                "moments": ["auto", "generalized", "lda", "dica"], "projections": [3],
                "algorithm": ["spectral", "tpm"], "refine": [None], "sample_weight": [None],
                "prior_estimator": ["auto", "average", "likelihood", "mean_variance"],
                "c0": [None], "n_components": ["auto", 1],
            },
            allows={("X", "as_a_list"): why},
        ),
        *methods(
            DiscreteICA, lambda: DiscreteICA(2).fit(corpus()),
            {
                **dict.fromkeys(
                    ("transform", "transform_intensities", "score_samples", "score",
                     "bits_per_token"), few,
                ),
                "inverse_transform": {"X": np.ones((3, 2))},
                "fit_transform": {"X": corpus()},
                "get_feature_names_out": {},
            },
        ),
        *methods(
            DiscreteICA, lambda: DiscreteICA(2).fit(corpus()), {"perplexity": few},
            infinite=True,  # of documents that nothing fits
        ),
        *function(
            chib_log_likelihood,
            lambda: {
                "X": corpus(3), "topics": topics(), "prior": np.array([0.5, 0.2]),
                "n_samples": 20, "random_state": 0,
            },
        ),
    ]  # fmt: skip


def two_views(n=30):
    rng = generator(10)
    sources = rng.gamma(0.5, 20.0, size=(n, 2))
    views = [rng.poisson(sources @ rng.dirichlet(np.ones(m), size=2)) for m in (4, 3)]
    return {name: view.astype(float) for name, view in zip("Xy", views)}


def view_params():
    return {
        "n_components": 2, "kind": "discrete", "moments": "cumulant", "points": "both",
        "delta": 0.1, "algorithm": "nojd", "shear": "normality", "tol": 1e-8, "max_iter": 50,
        "transform_method": "unmixing", "ridge": 0.01, "batch_size": 8, "random_state": 0,
    }  # fmt: skip


def view_models():
    why = "another batch"
    variants = {
        "kind": ["mixed", "nongaussian"], "moments": ["auto", "generalized"],
        "points": ["auto", "one_sided", "symmetric"], "algorithm": ["spectral"],
        "shear": ["jdtm", "just", "shrt"], "ridge": ["auto"],
        "transform_method": ["lmmse"], "sample_weight": [None],
    }  # fmt: skip
    found = fitting(
        MultiViewCCA, view_params,
        lambda: {**two_views(), "sample_weight": generator(4).uniform(0.5, 2.0, 30)},
        variants=variants, allows={("X", "as_a_list"): why, ("y", "as_a_list"): why},
    )  # fmt: skip
    few = two_views(6)
    found += methods(
        MultiViewCCA, lambda: MultiViewCCA(2, kind="discrete").fit(**two_views()),
        {
            "transform": few, "score": few, "predict": {"X": few["X"]},
            "fit_transform": two_views(),
            "inverse_transform": {"X": np.ones((3, 2)), "y": np.ones((3, 2))},
            "get_feature_names_out": {},
        },
    )  # fmt: skip

    def loadings():
        return {"x_loadings": np.ones((4, 2)), "y_loadings": np.ones((3, 2))}

    names = {"x_names": ["a", "b", "c", "d"], "y_names": ["e", "f", "g"]}
    found += build(
        displays.LoadingDisplay, lambda: {**loadings(), **names},
        allows={("*", "*"): "stored; plot checks"},
    )  # fmt: skip
    shown = {"components": [1], "n_top": 2, "ax": None}
    found += methods(
        displays.LoadingDisplay, lambda: displays.LoadingDisplay(**loadings(), **names),
        {
            "plot": shown,
            "from_estimator": lambda: {
                "estimator": MultiViewCCA(2, kind="discrete").fit(**two_views()), **shown,
                **names,
            },
        },
    )  # fmt: skip
    return found + topic_display(shown) + scree_display()


def topic_display(shown):
    """`TopicDisplay`."""

    def given():
        return {"topics": np.ones((2, 3)), "names": ["a", "b", "c"]}

    def model():
        X = datasets.make_topic_corpus(200, 3, 2, random_state=0).X
        return DiscreteICA(2, moments="gp").fit(X)

    found = build(displays.TopicDisplay, given, allows={("*", "*"): "stored; plot checks"})
    return found + methods(
        displays.TopicDisplay, lambda: displays.TopicDisplay(**given()),
        {
            "plot": lambda: dict(shown),
            "from_estimator": lambda: {"estimator": model(), **shown, "names": given()["names"]},
        },
        allows={("names.#", damage): "any text" for damage in ("text", "capitals")},
    )  # fmt: skip


def scree_display():
    """`ScreeDisplay`."""

    def given():
        return {
            "values": [2.0, 1.0], "noise_floor": 1.5, "n_components": 1, "value_name": "a",
            "name": "b",
        }  # fmt: skip

    def model():
        X = datasets.make_topic_corpus(200, 3, 2, random_state=0).X
        return DiscreteICA(2, moments="gp").fit(X)

    found = build(displays.ScreeDisplay, given, allows={("*", "*"): "stored; plot checks"})
    shown = {"ax": None, "name": "c"}
    return found + methods(
        displays.ScreeDisplay, lambda: displays.ScreeDisplay(**given()),
        {"plot": lambda: dict(shown), "from_estimator": lambda: {"estimator": model(), **shown}},
        allows={("name", damage): "any text" for damage in ("text", "capitals")},
    )  # fmt: skip


def generators():
    corpus = {
        "n_samples": 5, "n_features": 6, "n_components": 2, "prior": 0.5, "topic_prior": 0.5,
        "topics": None, "random_state": 0,
    }  # fmt: skip
    two = {
        "n_samples": 5, "n_features": 4, "n_components": 2, "n_private": 2, "shape": 0.3,
        "private_shape": 0.2, "kind": "nongaussian", "scale": 10.0, "private_scale": 10.0,
        "random_state": 0,
    }  # fmt: skip
    why = "one for each topic"
    return [
        *function(
            datasets.make_topic_corpus, lambda: {**corpus, "kind": "lda", "length": 10},
            variants={
                "kind": ["gp"], "topics": [topics()], "length": [np.arange(5)],
                "prior": [np.array([0.5, 0.2])],
            },
            allows={("prior", "pair"): why},
        ),
        *function(
            datasets.make_two_views, lambda: dict(two),
            variants={"kind": ["discrete", "mixed"]},
        ),
    ]  # fmt: skip


def entries():
    settings = {"tol": 1e-8, "max_iter": 50}
    return [
        *generators(),
        *topic_models(),
        *view_models(),
        *function(
            joint_diagonalize,
            lambda: {"matrices": similar(symmetric=True), "shear": "normality", **settings},
            variants={"shear": [None, "jdtm", "just", "shrt"]},
        ),
        *function(
            tensor_power_method,
            lambda: {"tensor": cube(), "n_restarts": 3, **settings, "random_state": 0},
        ),
        *function(
            metrics.topic_l1_error,
            lambda: {"topics_true": topics(), "topics_pred": topics(3)},
        ),
        *function(
            metrics.multiview_l1_error,
            lambda: {
                "x_loadings_true": views()[0], "y_loadings_true": views()[1],
                "x_loadings_pred": views(3)[0], "y_loadings_pred": views(3)[1], "signed": True,
            },
        ),
    ]  # fmt: skip
