"""The search without gradients, beside gradients and the closed form of linear models."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.preprocessing import StandardScaler

from sklearn_fw.inspection import (
    critical_sample_ratio,
    exact_critical_samples_linear,
    langevin_adversarial_search,
)
from sklearn_fw.inspection._blind import Blind
from sklearn_fw.inspection._search import Box

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class Labels:
    """A classifier that gives labels alone, and counts the rows that it is asked about."""

    def __init__(self, model):
        self.model, self.n_rows = model, 0

    def predict(self, X):
        self.n_rows += len(X)
        return self.model.predict(X)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return StandardScaler().fit_transform(X)[:900], y[:900]


def test_scores_of_linear_models_show_nearly_all(digits):
    X, y = digits
    model = LogisticRegression(max_iter=300).fit(X[:600], y[:600])
    exact = exact_critical_samples_linear(model, X[600:], 0.3)
    assert 0.5 < exact.mean() < 0.9
    found, early = (
        critical_sample_ratio(
            model, X[600:], radius=0.3, gradient="search", max_iter=m, random_state=0
        ).critical for m in (50, 3)
    )  # fmt: skip
    assert not np.any(found & ~exact)
    assert found.sum() >= 0.98 * exact.sum()
    assert early.sum() >= 0.95 * exact.sum()


def test_labels_alone_show_more_than_half(digits):
    X, y = digits
    model = LogisticRegression(max_iter=300).fit(X[:600], y[:600])
    exact = exact_critical_samples_linear(model, X[600:], 0.3)
    asked = Labels(model)
    found = critical_sample_ratio(asked, X[600:], radius=0.3, random_state=0)
    assert found.gradient == "search"
    assert not np.any(found.critical & ~exact)
    assert found.critical.sum() >= 0.65 * exact.sum()
    assert asked.n_rows == len(X[600:]) + found.n_iter.sum()


def test_most_of_what_gradients_find(digits):
    X, y = digits
    model = MLPClassifier((50,), random_state=0, max_iter=60).fit(X[:600], y[:600])
    known = critical_sample_ratio(model, X[600:], radius=0.3, random_state=0).ratio
    for asked, share in ((model, 0.7), (Labels(model), 0.5)):
        found = critical_sample_ratio(asked, X[600:], radius=0.3, gradient="search", random_state=0)
        assert found.ratio >= share * known


def test_features_of_radius_zero_and_ranges_stay(digits, rng):
    X, y = digits
    model = RandomForestClassifier(20, random_state=0).fit(X[:600], y[:600])
    radius = np.where(rng.random(64) < 0.5, 0.4, 0.0)
    limits = (X.min(), X.max())
    result = langevin_adversarial_search(
        model, X[600:], radius=radius, feature_range=limits, n_restarts=2, random_state=0
    )
    assert result.found.sum() > 20
    there, rows = result.X_adversarial[result.found], X[600:][result.found]
    np.testing.assert_array_equal(there[:, radius == 0.0], rows[:, radius == 0.0])
    assert np.abs(there - rows).max() <= 0.4 * (1 + 1e-12)
    assert limits[0] <= there.min() <= there.max() <= limits[1]
    assert np.all(model.predict(there) != model.predict(rows))


def test_slopes_learn_the_margin_of_a_linear_model(rng):
    """Without a plane to start from, a row's slope comes to the gradient of its margin."""
    X = rng.normal(size=(40, 3))
    model = LogisticRegression().fit(X, np.arange(40) % 2)
    box = Box(model, X, radius=0.1, gradient="search")
    mover = Blind(box, np.random.RandomState(0))
    rows = np.arange(40)
    mover.slope[:] = 0.0
    mover.begin(rows)
    for _ in range(60):
        moved = X + 0.1 * rng.choice([-1.0, 1.0], size=X.shape)
        mover.keep(X, moved, rows, box.judge.scores(moved))
    sign = np.where(model.predict(X) == 1, 1.0, -1.0)
    np.testing.assert_allclose(mover.slope, 0.1 * sign[:, None] * model.coef_, rtol=1e-4)


def test_impossible_classes_count_as_the_least_likely(digits):
    X, y = digits
    model = RandomForestClassifier(10, random_state=0).fit(X[:600], y[:600])
    mover = Blind(Box(model, X[600:], radius=0.3), np.random.RandomState(0))
    assert mover.least >= np.log(1e-3)
    known = mover._known(np.log([[1e-300, 0.5, 0.5]]))
    np.testing.assert_allclose(known, [[mover.least, np.log(0.5), np.log(0.5)]])


class Infinite(LogisticRegression):
    """Scores without bounds."""

    def decision_function(self, X):
        return super().decision_function(X) * np.inf


def test_infinite_scores_and_single_labels(rng):
    X = rng.normal(size=(60, 4))
    model = Infinite().fit(X, (X[:, 0] > 0).astype(int))
    found = critical_sample_ratio(model, X, radius=0.5, random_state=0)
    assert found.gradient == "search"
    assert 0 < found.critical.sum() < 60
    near = np.abs(X[:, 0]) < 0.3
    one_side = Labels(model).model.predict(X) == 1
    single = critical_sample_ratio(Labels(model), X[one_side], radius=0.5, random_state=0)
    assert single.critical.sum() >= (near & one_side).sum() / 2
    assert len(critical_sample_ratio(Labels(model), X[:1], radius=0.5).critical) == 1


def test_rare_labels_among_many_rows(rng, monkeypatch):
    monkeypatch.setattr("sklearn_fw.inspection._blind.MOST_GUIDES", 20)
    X = rng.normal(size=(300, 4))
    X[250] += 9.0
    y = np.where(X[:, 0] > 5.0, 2, X[:, 1] > 0.0)
    model = LogisticRegression(C=100.0).fit(X, y)
    exact = exact_critical_samples_linear(model, X, 0.3)
    assert (model.predict(X) == 2).sum() == 1
    found = critical_sample_ratio(Labels(model), X, radius=0.3, random_state=0).critical
    assert not np.any(found & ~exact)
    assert found.sum() >= 0.8 * exact.sum() > 20


def test_modules_without_their_gradients(rng, extra):
    torch = extra("torch", "torch")
    torch.manual_seed(0)
    X = rng.normal(size=(80, 2, 3))
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(6, 3)).double()
    known = critical_sample_ratio(module, X, radius=0.2, random_state=0)
    found = critical_sample_ratio(module, X, radius=0.2, gradient="search", random_state=0)
    assert found.gradient == "search"
    assert 0.95 * known.critical.sum() <= found.critical.sum() < 80
