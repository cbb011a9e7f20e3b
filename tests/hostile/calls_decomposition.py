"""Valid calls of decompositions, of their generators and of their metrics."""

import numpy as np

from sklearn_fw import datasets, metrics
from sklearn_fw.decomposition import (
    joint_diagonalize,
    joint_diagonalize_similarity,
    tensor_power_method,
)

from .calls import function, generator


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


def generators():
    corpus = {
        "n_samples": 5, "n_features": 6, "n_components": 2, "prior": 0.5, "topic_prior": 0.5,
        "topics": None, "random_state": 0,
    }  # fmt: skip
    two = {
        "n_samples": 5, "n_features": 4, "n_components": 2, "n_private": 2, "shape": 0.3,
        "private_shape": 0.2, "random_state": 0,
    }  # fmt: skip
    lengths = {"mean_length": 10.0, "private_length": 10.0}
    why = "one for each topic"
    return [
        *function(
            datasets.make_gp_corpus, lambda: {**corpus, "mean_length": 10.0},
            variants={"topics": [topics()], "prior": [np.array([0.5, 0.2])]},
            allows={("prior", "pair"): why},
        ),
        *function(
            datasets.make_lda_corpus, lambda: {**corpus, "length": 10},
            variants={"topics": [topics()], "length": [np.arange(5)]},
            allows={("prior", "pair"): why},
        ),
        *function(datasets.make_discrete_cca, lambda: {**two, **lengths}),
        *function(datasets.make_mixed_cca, lambda: {**two, **lengths}),
        *function(
            datasets.make_nongaussian_cca, lambda: {**two, "scale": 10.0, "private_scale": 10.0}
        ),
    ]  # fmt: skip


def entries():
    settings = {"tol": 1e-8, "max_iter": 50}
    return [
        *generators(),
        *function(joint_diagonalize, lambda: {"matrices": similar(symmetric=True), **settings}),
        *function(
            joint_diagonalize_similarity,
            lambda: {"matrices": similar(), "shear": "normality", **settings},
            variants={"shear": ["jdtm", "just", "shrt"]},
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
