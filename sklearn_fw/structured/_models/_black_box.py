"""The interface of models to estimators: direct for models with parts, by a view for others."""

import numpy as np

from ..._core import check
from ...inference import resolve_oracle
from .._problems._checked_model import CheckedModel
from ._base import StructuredModel, is_scored
from ._pairwise import has_parts
from ._ragged import collect, weighted_samples
from ._units import Units


class BlackBox:
    """A model known by its four methods, or by its scores, with the methods of `PairwiseModel`."""

    def __init__(self, model):
        self.model = model
        self._usual_tol = getattr(model, "_usual_tol", StructuredModel._usual_tol)

    def _inputs(self, svm, X):
        return getattr(self.model, "_inputs", lambda svm, X: X)(svm, X)

    def _samples(self, svm, X, y, sample_weight, reset=True):
        if isinstance(self.model, StructuredModel):
            return self.model._samples(svm, X, y, sample_weight, reset)
        return weighted_samples(X, y, sample_weight)

    def _offers(self, method):
        return method == "duality_gap" or (method == "n_best" and is_scored(self.model))

    def _can(self, ability, oracle):
        return callable(getattr(oracle, ability, None))

    def _problem(self, X, y, weight, oracle, n_jobs):
        from .._problems._listed import BlackBoxProblem

        if is_scored(self.model):
            oracle = resolve_oracle(oracle, default=self.model.default_oracle())
        elif oracle is None or check.is_auto(oracle):
            oracle = None
        else:
            raise TypeError(f"oracle={oracle!r} needs a model with scores: leave oracle='auto'")
        return BlackBoxProblem(self.model, X, y, weight, n_jobs, oracle), oracle

    def _stacked(self, X, y):
        return X, y

    def _units_for(self, X, weight, scale, edge_scale, is_natural):
        if not all(value is None or check.is_auto(value) for value in (scale, edge_scale)):
            raise ValueError(
                "feature_scale and edge_feature_scale need a model of nodes and edges: scale X"
            )
        return Units()

    def _warn_of_scale(self, X):
        """Units are those of the model's own features."""

    def _in_units(self, units):
        return self.model

    def _weights_as_given(self, w):
        return w

    _weights_in_units = _weights_as_given

    def _predict(self, X, w, oracle):
        w, model = dense(w), CheckedModel(self.model, oracle)
        outputs = [model.predict(i, x, w) for i, x in enumerate(X)]
        scores = (model.score(i, x, y, w) for i, (x, y) in enumerate(zip(X, outputs)))
        return collect(outputs), scores

    def _losses(self, y_true, y, X=None):
        model = CheckedModel(self.model)
        pairs = enumerate(zip(y_true, y, strict=True))
        return np.array([model.loss(i, a, b) for i, (a, b) in pairs])

    def _top_k(self, X, w, oracle, k):
        w, model = dense(w), CheckedModel(self.model, oracle)
        found = [model.k_best(i, x, w, k) for i, x in enumerate(X)]
        return [outputs for outputs, _ in found], [scores for _, scores in found]


def dense(w):
    """Weights as an array, of an array or a CSR row."""
    return w if isinstance(w, np.ndarray) else w.toarray().ravel()


def view_of(model):
    """The model itself, or the view of a black box."""
    return model if has_parts(model) else BlackBox(model)
