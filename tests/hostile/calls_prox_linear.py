"""Valid calls of the structured SVM with scores that are not linear in the weights."""

import numpy as np

from sklearn_fw.structured import ProxLinearStructuredSVM, ScoreModel

from .calls import fitting, generator, methods
from .calls_structured import tags, words

SETTINGS = {
    "C": 1.0, "eta": 1.0, "tol": 10.0, "max_iter": 2, "time_limit": 10.0, "warm_start": False,
    "random_state": 0, "verbose": 0,
}  # fmt: skip


class Tags(ScoreModel):
    """Three states of nodes with three features, and transitions."""

    def rows(self, x):
        try:
            x = np.array(x, dtype=float)
        except (TypeError, ValueError):
            raise TypeError("items of X must be arrays of numbers") from None
        if x.ndim != 2 or x.shape[1] != 3 or not np.all(np.isfinite(x)):
            raise ValueError("items of X must be finite and of shape (n_nodes, 3)")
        return x

    def init(self, rng):
        return rng.normal(size=18)

    def value(self, x, w):
        return np.tanh(self.rows(x) @ w[:9].reshape(3, 3)), w[9:].reshape(3, 3)

    def jvp(self, x, w, d):
        a = np.tanh(self.rows(x) @ w[:9].reshape(3, 3))
        return (1 - a**2) * (self.rows(x) @ d[:9].reshape(3, 3)), d[9:].reshape(3, 3)

    def vjp(self, x, w, v):
        a = np.tanh(self.rows(x) @ w[:9].reshape(3, 3))
        return np.concatenate([(self.rows(x).T @ ((1 - a**2) * v[0])).ravel(), v[1].ravel()])


def fitted():
    return ProxLinearStructuredSVM(Tags(), **SETTINGS).fit(words(), tags())


def entries():
    X, y = words()[:3], tags()[:3]
    weight = np.array([1.0, 2.0, 0.5])
    allows = {("X", "*"): "inputs go to the score model as they are"}
    labels = {("y", "half"): "a label as any other, which fit has not seen"}
    return [
        *fitting(
            ProxLinearStructuredSVM,
            lambda: {
                "score_model": Tags(), "task_loss": "auto", "oracle": "auto", "solver": "bcfw",
                **SETTINGS,
            },
            lambda: {
                "X": words(), "y": tags(),
                "sample_weight": generator(14).uniform(0.5, 2.0, len(words())),
            },
            variants={
                "sample_weight": [None], "C": ["auto"], "tol": ["auto"], "max_iter": ["auto"],
                "eta": ["auto"], "solver": ["auto", "cached"],
            },
            allows=allows,
        ),
        *methods(
            ProxLinearStructuredSVM, fitted,
            {
                "predict": {"X": X}, "score_samples": {"X": X}, "loss": {"X": X, "y": y},
                "score": {"X": X, "y": y, "sample_weight": weight},
                "n_best": {"X": X, "k": 2}, "predict_marginals": {"X": X},
                "calibrate": {"X": X, "y": y, "sample_weight": weight},
            },
            variants={"sample_weight": [None]},
            allows={**allows, **labels},
        ),
    ]  # fmt: skip
