"""The public checks pass an honest estimator and name what a faulty one breaks."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from sklearn_fw.utils import Packed, check_structured_estimator


class Nearest(BaseEstimator):
    """Labels each node by the nearest of the weighted class means; ragged in, ragged out."""

    def __init__(self, scale=1.0, random_state=None):
        self.scale = scale
        self.random_state = random_state

    def fit(self, X, y, sample_weight=None):
        if len(X) != len(y):
            raise ValueError("X and y differ in length")
        weight = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight)
        nodes = np.concatenate([rows(x) for x in X]) * self.scale
        labels = np.concatenate([np.asarray(t) for t in y])
        weight = np.repeat(weight, [len(t) for t in y])
        self.classes_ = np.unique(labels)
        own = [labels == c for c in self.classes_]
        self.means_ = np.array([np.average(nodes[o], axis=0, weights=weight[o]) for o in own])
        return self

    def predict(self, X):
        check_is_fitted(self)
        out = np.empty(len(X), dtype=object)
        for i, x in enumerate(X):
            distance = ((rows(x)[:, None] * self.scale - self.means_) ** 2).sum(axis=2)
            out[i] = self.classes_[distance.argmin(axis=1)]
        return out

    def score(self, X, y):
        pairs = zip(self.predict(X), y)
        return float(np.mean(np.concatenate([a == np.asarray(b) for a, b in pairs])))


def rows(x):
    x = x[0] if isinstance(x, tuple) else x
    return x.toarray() if sp.issparse(x) else np.asarray(x)


def problem(form=np.asarray, names=None):
    rng = np.random.default_rng(0)
    y = [np.resize([0, 1, 2], n)[rng.permutation(n)] for n in (3, 4, 5, 3, 6, 3, 4, 5)]
    X = [form(np.eye(3)[t] + 0.2 * rng.normal(size=(len(t), 3))) for t in y]
    return X, y if names is None else [np.array(names)[t] for t in y]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_honest_estimator_passes(backend):
    pytest.importorskip("skops")
    results = check_structured_estimator(Nearest(), *problem(), backend=backend)
    assert set(results.values()) == {"passed"}


@pytest.mark.parametrize("form", [sp.csr_matrix, sp.csr_array, lambda x: (x, "edges")])
def test_kinds_of_samples(form):
    results = check_structured_estimator(Nearest(), *problem(form))
    assert set(results.values()) == {"passed"}


def test_kinds_of_labels_and_containers():
    X, y = problem(names=["a", "b", "c"])
    results = check_structured_estimator(Nearest(), Packed.from_list(X), Packed.from_list(y))
    assert results["string_labels"] == "passed"
    X, y = problem(names=[0.5, 1.5, 2.5])
    results = check_structured_estimator(Nearest(), X, y, skip=("pickle",))
    assert results["pickle"] == "skipped: on request"
    assert results["string_labels"].startswith("skipped: targets are neither")


class StoresMore(Nearest):
    def __init__(self, scale=1.0, random_state=None):
        super().__init__(scale, random_state)
        self.size = 3


class Converts(Nearest):
    def __init__(self, scale=1.0, random_state=None):
        super().__init__(np.float64(scale) + 0, random_state)


class AcceptsAnything(Nearest):
    def set_params(self, **params):
        params.pop("no_such_parameter", None)
        return super().set_params(**params)


class PredictsUnfitted(Nearest):
    def predict(self, X):
        return super().predict(X) if hasattr(self, "means_") else [[0]] * len(X)


class ReturnsNothing(Nearest):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)


class ChangesParameter(Nearest):
    def fit(self, X, y, sample_weight=None):
        self.scale = 2.0
        return super().fit(X, y, sample_weight)


class ForgetsSeed(Nearest):
    fits = 0

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        # A shared state that moves on: no two successive fits agree, and none by chance.
        ForgetsSeed.fits += 1
        self.means_ = np.roll(self.means_, ForgetsSeed.fits, axis=0)
        return self


class GoesOn(Nearest):
    def fit(self, X, y, sample_weight=None):
        old = getattr(self, "means_", 0)
        super().fit(X, y, sample_weight)
        self.means_ = self.means_ + 10 * np.asarray(old)[::-1] if np.ndim(old) else self.means_
        return self


class Centers(Nearest):
    def fit(self, X, y, sample_weight=None):
        for x in X:
            if x.flags.writeable:
                x -= 0.5
        return super().fit(X, y, sample_weight)


class NeedsWriting(Nearest):
    def predict(self, X):
        for x in X:
            x[0] = x[0] + 0
        return super().predict(X)


class ListsOnly(Nearest):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y, sample_weight)
        if not isinstance(X, list):
            self.means_ = self.means_[::-1]
        return self


class ReturnsList(Nearest):
    def predict(self, X):
        return list(super().predict(X))


class DropsNode(Nearest):
    def predict(self, X):
        out = super().predict(X)
        out[1] = out[1][:-1]
        return out


class LooksAtNeighbours(Nearest):
    def predict(self, X):
        out = super().predict(X)
        out[0] = np.full_like(out[0], out[-1][0])
        return out


class LooksAtPlaces(Nearest):
    def predict(self, X):
        out = super().predict(X)
        for i in range(8 if len(X) == 8 else 0):
            out[i] = self.classes_[np.full(len(out[i]), i % 2)]
        return out


class IgnoresLengths(Nearest):
    def fit(self, X, y, sample_weight=None):
        return super().fit(X[: len(y)], y, sample_weight)


class PicklesBadly(Nearest):
    def __getstate__(self):
        state = super().__getstate__().copy()
        state["means_"] = state["means_"][::-1]
        return state


class IgnoresWeight(Nearest):
    def fit(self, X, y, sample_weight=None):
        super().fit(X, y)
        self.coef_ = self.means_ * (1 if sample_weight is None else np.mean(sample_weight))
        return self


class ScoresNan(Nearest):
    def score(self, X, y):
        return np.nan


class FailsOnFewSamples(Nearest):
    def fit(self, X, y, sample_weight=None):
        if len(X) == 4:
            raise RuntimeError("four is too few")
        return super().fit(X, y, sample_weight)


class NumbersOnly(Nearest):
    def predict(self, X):
        out = super().predict(X)
        for i, labels in enumerate(out):
            out[i] = np.searchsorted(self.classes_, labels)
        return out


@pytest.mark.parametrize(
    ("cls", "check", "message"),
    [
        (StoresMore, "clone", r"__init__ sets \['size'\]"),
        (Converts, "clone", "either does not set or modifies parameter scale"),
        (AcceptsAnything, "set_params", "accepts a parameter that does not exist"),
        (PredictsUnfitted, "unfitted", "predict works before fit"),
        (ReturnsNothing, "fit_returns_self", "fit returns something else"),
        (ChangesParameter, "fit_keeps_parameters", "fit replaces the parameter scale"),
        (ForgetsSeed, "fit_is_repeatable", "two fits with the same random_state"),
        (GoesOn, "fit_is_repeatable", "fitting again predicts differently"),
        (Centers, "data_unchanged", "fit or predict changed X"),
        (NeedsWriting, "read_only_data", "ValueError was raised: .*read-only"),
        (ListsOnly, "containers", "differ between a list and object array"),
        (ReturnsList, "prediction_container", "predict returns a list, not a 1-D object array"),
        (DropsNode, "prediction_container", r"prediction 1 has shape \(3,\), its target \(4,\)"),
        (LooksAtNeighbours, "predict_subset", "a subset is predicted differently"),
        (LooksAtPlaces, "predict_shuffled", "shuffled samples are predicted differently"),
        (IgnoresLengths, "unequal_lengths", "fit accepts fewer targets than samples"),
        (PicklesBadly, "pickle", "predictions change by pickle"),
        (PicklesBadly, "skops", "predictions change by skops"),
        (IgnoresWeight, "sample_weight", "weight k and k copies differ by 0.8"),
        (ScoresNan, "score", "score is nan"),
        (FailsOnFewSamples, "grid_search", "RuntimeError was raised: four is too few"),
        (NumbersOnly, "string_labels", "renamed labels are predicted differently"),
    ],
)
def test_faults_are_named(cls, check, message):
    X, y = problem()
    # Some faults break an earlier check as well.
    skip = {"predict_shuffled": ("predict_subset",), "skops": ("pickle",)}.get(check, ())
    if check == "skops":
        pytest.importorskip("skops")
    with pytest.raises(AssertionError, match=f"^{check}: .*({message})"):
        check_structured_estimator(cls(), X, y, skip=skip)


def test_every_check_can_fail():
    (table,) = test_faults_are_named.pytestmark
    named = {check for _, check, _ in table.args[1]}
    assert named == set(check_structured_estimator(Nearest(), *problem()))


def test_samples_of_equal_shape():
    class NoStack(Nearest):
        def predict(self, X):
            assert not (isinstance(X, np.ndarray) and X.ndim == 3)
            return super().predict(X)

    X, y = [np.eye(3) + i / 20 for i in range(6)], [np.arange(3)] * 6
    assert set(check_structured_estimator(Nearest(), X, y).values()) == {"passed"}
    with pytest.raises(AssertionError, match=r"^containers: "):
        check_structured_estimator(NoStack(), X, y)


def test_wrong_arguments_are_refused():
    X, y = problem()
    with pytest.raises(ValueError, match="from 6 on, got 5 and 5"):
        check_structured_estimator(Nearest(), X[:5], y[:5])
    with pytest.raises(ValueError, match="got 8 and 7"):
        check_structured_estimator(Nearest(), X, y[:-1])
    with pytest.raises(ValueError, match=r"unknown checks \['speed'\]"):
        check_structured_estimator(Nearest(), X, y, skip=("speed",))


def test_missing_methods_are_skipped():
    class NoWeight(Nearest):
        score = property()

        def fit(self, X, y):
            return super().fit(X, y)

    results = check_structured_estimator(NoWeight(), *problem(), skip=("pickle", "skops"))
    assert results["sample_weight"] == "skipped: fit takes no sample_weight"
    assert results["score"] == "skipped: there is no score"
    assert results["grid_search"] == "passed"
