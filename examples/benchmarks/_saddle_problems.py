"""Data of the benchmark of saddle points, and fits to it."""

import numpy as np
from _report import Clock, quietly
from _structured import load_scene
from sklearn.datasets import load_digits

from sklearn_fw.datasets import make_digit_words
from sklearn_fw.inference import Assignment
from sklearn_fw.structured import (
    ChainModel,
    MatchingModel,
    MulticlassModel,
    MultilabelModel,
    StructuredSVM,
)
from sklearn_fw.task_losses import LinkLoss

N_PLANTED = 15
PROBLEMS = {
    "digits": "100 digits, 10 classes, lam = 0.05",
    "digit words, lam = 1": "100 words, chains of 10 states",
    "digit words, lam = 1/3": "the same words, C = 0.03",
    "planted matchings": "15 of 4 x 4, raw loss, lam = 0.1",
    "word alignment": "100 made-up sentence pairs of 5 to 12 words, 4 features, lam = 0.1",
    "scene": "1,211 scenes of 294 features, tree of 6 labels, lam = 0.01",
}


def fit(model, solver, X, y, max_iter, tol=0.0, *, seed=0, **options):
    """A structured SVM, with CPU seconds as ``cpu``; ``tol`` is relative to the objective."""
    svm = StructuredSVM(
        model, solver=solver, max_iter=max_iter, tol=tol, random_state=seed, **options
    )
    with Clock() as clock:
        quietly(svm.fit, X, y)
    svm.cpu = clock.cpu
    return svm


# ---- digits, words, letters ----------------------------------------------------------------------


def digits():
    """The first 100 images with pixels in [0, 1]."""
    data = load_digits()
    return data.data[:100] / 16.0, data.target[:100]


def words(n_train):
    return make_digit_words(n_train=n_train, return_X_y=True)


# ---- matchings and labels ------------------------------------------------------------------------


def planted_matchings():
    """Features of 4 x 4 pairs and the best matchings of noisy scores."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=3)
    X, y = [], []
    for _ in range(N_PLANTED):
        F = rng.normal(size=(3, 16))
        X.append(F.T.reshape(4, 4, 3))
        y.append(Assignment().argmax((w @ F + 0.7 * rng.normal(size=16)).reshape(4, 4))[0])
    return X, y


def sentence_pairs(n_pairs, rng, vocabulary):
    """Features and links of pairs of sentences of 5 to 12 words of two made-up languages."""
    source, target, frequency = vocabulary
    X, y = [], []
    for _ in range(n_pairs):
        J = rng.integers(5, 13)
        chosen = rng.choice(len(source), size=J, p=frequency)
        order = np.argsort(np.arange(J) + rng.uniform(-1.5, 1.5, J))
        order = order[rng.uniform(size=J) > 0.1]  # words without a translation
        translated = [(j, chosen[j]) for j in order]
        for place in np.flatnonzero(rng.uniform(size=len(order)) < 0.1)[::-1]:
            translated.insert(place, (-1, rng.choice(len(source), p=frequency)))
        K = len(translated)
        links = np.zeros((J, K), dtype=int)
        for k, (j, _) in enumerate(translated):
            if j >= 0:
                links[j, k] = 1
        other = np.array([v for _, v in translated], dtype=int)
        cosine = source[chosen] @ target[other].T
        places = np.abs(np.subtract.outer(np.arange(J) / J, np.arange(K) / max(K, 1)))
        rare = np.multiply.outer(frequency[chosen], frequency[other]) * len(source) ** 2
        X.append(np.stack([cosine, places, np.log(rare), np.ones((J, K))], axis=2))
        y.append(links)
    return X, y


def word_alignment():
    """100 training pairs and 100 test pairs."""
    rng = np.random.default_rng(0)
    source = rng.normal(size=(200, 20))
    source /= np.linalg.norm(source, axis=1, keepdims=True)
    target = source + 0.3 * rng.normal(size=source.shape)  # in the coordinates of the source
    target /= np.linalg.norm(target, axis=1, keepdims=True)
    frequency = 1.0 / np.arange(1, 201)
    vocabulary = source, target, frequency / frequency.sum()
    return *sentence_pairs(100, rng, vocabulary), *sentence_pairs(100, rng, vocabulary)


# ---- the comparison of all solvers ---------------------------------------------------------------


def problem(name):
    """Model, X, y and lam of a row of the comparison."""
    if name == "digits":
        return MulticlassModel(fit_intercept=False), *digits(), 0.05
    if name.startswith("digit words"):
        return ChainModel("hamming"), *words(100)[:2], 1.0 if name.endswith("1") else 1.0 / 3.0
    if name == "planted matchings":
        return MatchingModel(LinkLoss(normalize=False)), *planted_matchings(), 0.1
    if name == "word alignment":
        return MatchingModel(), *word_alignment()[:2], 0.1
    return MultilabelModel(task_loss="hamming"), *load_scene()[:2], 0.01
