"""Classifiers that are trained epoch by epoch."""

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from ._answers import best_of, labels_by, noted, with_names

FITTED = "fitted to X and y, with a value of param_range if there is one"


def check_template(estimator, X):
    """A classifier that can be cloned and fitted to rows of X, which may be a frame.

    Of a search it is the model that was found.
    """
    if isinstance(estimator, type) or not (
        callable(getattr(estimator, "fit", None)) and hasattr(estimator, "get_params")
    ):
        raise TypeError(f"estimator must be a scikit-learn classifier, got {estimator!r:.60}")
    estimator = best_of(estimator)
    if not is_classifier(estimator):
        raise TypeError(f"estimator must be a classifier, got {type(estimator).__name__}")
    return with_names(estimator, X)


def has_epochs(estimator):
    """Whether a classifier, or the last step of a Pipeline, has ``partial_fit``."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    return hasattr(last, "partial_fit")


def has_chance(estimator):
    """Whether fits differ by a random state."""
    return bool(_random_states(estimator))


def _random_states(estimator):
    """Names of its random states, those of its parts among them."""
    return [n for n in sorted(estimator.get_params()) if n.split("__")[-1] == "random_state"]


class Epochs:
    """A fresh classifier and its training rows.

    Steps in front of the last of a Pipeline are fitted once, as they have no epochs.

    Parameters
    ----------
    estimator : classifier
        Cloned; its random states are drawn anew.
    X, y : ndarray
        Training rows; X may be sparse.
    classes : ndarray
        All labels that will be met.
    rng : RandomState
        For the random states and the order of the rows.
    """

    def __init__(self, estimator, X, y, classes, rng):
        self.model = clone(estimator)
        states = _random_states(self.model)
        self.model.set_params(**{name: int(rng.randint(2**31)) for name in states})
        self.X, self.y, self.classes, self.rng = X, y, classes, rng
        self.behind = None  # rows behind the steps of a Pipeline in front of the last

    def step(self):
        """One epoch in a new order of the rows."""
        order = self.rng.permutation(len(self.y))
        with noted(FITTED):
            if self.behind is None:
                self._begin()
            by_place = getattr(self.behind, "iloc", self.behind)  # frames go by names else
            self.last.partial_fit(by_place[order], self.y[order], classes=self.classes)

    def _begin(self):
        self.last, self.behind = self.model, self.X
        if isinstance(self.model, Pipeline):
            self.last = self.model.steps[-1][1]
            if len(self.model.steps) > 1:
                self.behind = self.model[:-1].fit(self.X, self.y).transform(self.X)

    def fit(self):
        """To the end, for classifiers without epochs."""
        with noted(FITTED):
            self.model.fit(self.X, self.y)


def probabilities(model, X, y):
    """Whether each row is misclassified, and one minus the probability of its label.

    Without probabilities the second is the first.
    """
    wrong = labels_by(model, X) != y
    if not callable(getattr(model, "predict_proba", None)):
        return wrong, wrong.astype(np.float64)
    with noted("asked for predict_proba of X"):
        p = np.asarray(model.predict_proba(X), dtype=np.float64)
    classes = np.asarray(model.classes_)
    if p.shape != (len(y), len(classes)) or not np.all(np.isfinite(p)):
        raise ValueError(
            f"estimator: predict_proba must give numbers of shape ({len(y)}, {len(classes)}), got "
            f"shape {p.shape}"
        )
    # A class that was not among the rows of this run has probability zero.
    column = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    there = classes[column] == y
    own = np.take_along_axis(p, column[:, None], axis=1)[:, 0]
    return wrong, 1.0 - np.where(there, own, 0.0)
