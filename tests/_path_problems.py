"""Problems of the structured SVM whose paths are followed."""

import numpy as np
from sklearn.datasets import load_digits

from sklearn_fw import StructuredSVM
from sklearn_fw.datasets import make_digit_words


def digits():
    X, y = load_digits(return_X_y=True)
    return X[:200] / 16, y[:200]


def words():
    data = make_digit_words(n_train=40, n_test=20)
    return data.X_train, data.y_train


def label_sets(rng=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    return X, (X @ rng.normal(size=(4, 3)) > 0).astype(int)


def svm(model, **settings):
    return StructuredSVM(model, random_state=0, max_iter=2000, **settings)
