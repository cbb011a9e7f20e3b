"""Critical samples against the closed form of linear models, and gradients against differences."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Perceptron,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import SVC, LinearSVC

from sklearn_fw.inspection import critical_sample_ratio, feature_radius
from sklearn_fw.inspection._adapters import find_adapter
from sklearn_fw.linear_model import AsagaClassifier

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


class Weights(LogisticRegression):
    """A linear model with given weights."""

    def __init__(self, W=None, b=None):
        self.W, self.b = W, b
        super().__init__()
        if W is not None:
            self.coef_, self.intercept_ = W, b
            self.classes_ = np.arange(max(len(W), 2))
            self.n_features_in_ = W.shape[1]


def exact(model, X, radius):
    return critical_sample_ratio(model, X, radius=radius, gradient="exact").critical


def gradient(model, X, y, objective="loss", kind="analytic"):
    adapter = find_adapter(model, X, kind, X.std(axis=0))
    adapter.scores(X[:1])  # tells the number of classes of a module
    return adapter.ascent(X, adapter.codes(y), objective)


def gaussian(rng, n=2000, d=64, k=5):
    X = rng.normal(size=(n, d))
    return X, Weights(rng.normal(size=(k, d)) / np.sqrt(d), rng.normal(size=k))


@pytest.mark.parametrize("objective", ["loss", "margin"])
@pytest.mark.parametrize("noise", [None, 0.0])
def test_search_finds_what_is_there(objective, noise, rng):
    X, model = gaussian(rng)
    known = exact(model, X, 0.08)
    assert 0.3 < known.mean() < 0.7
    result = critical_sample_ratio(
        model, X, radius=0.08, noise=noise, objective=objective, random_state=0
    )
    assert not np.any(result.critical & ~known)
    assert result.critical.sum() >= 0.97 * known.sum()
    there = result.X_adversarial[result.critical]
    assert np.abs(there - X[result.critical]).max() <= 0.08 * (1 + 1e-12)
    assert np.all(model.predict(there) != model.predict(X[result.critical]))
    assert np.isnan(result.X_adversarial[~result.critical]).all()


def test_exact_formula_agrees_with_all_vertices(rng):
    X, model = gaussian(rng, n=200, d=6, k=4)
    radius = np.array([0.1, 0.0, 0.3, 0.05, 0.2, 0.1])
    vertices = np.array(np.meshgrid(*[[-1, 1]] * 6)).reshape(6, -1).T * radius
    moved = (X[:, None, :] + vertices).reshape(-1, 6)
    labels = model.predict(moved).reshape(200, -1)
    expected = np.any(labels != model.predict(X)[:, None], axis=1)
    np.testing.assert_array_equal(exact(model, X, radius), expected)


def test_constant_classifiers_have_none(rng):
    X = rng.normal(size=(50, 3))
    model = DummyClassifier().fit(X, np.arange(50) % 2)
    result = critical_sample_ratio(model, X, radius=1.0, random_state=0)
    assert (result.ratio, result.stderr, result.gradient) == (0.0, 0.0, "search")
    assert result.interval[0] == 0.0 < result.interval[1] < 0.1


def fitted(rng):
    X = rng.normal(size=(80, 5)) * [1, 10, 0.1, 1, 3] + [0, 5, 0, 0, 100]
    y = np.array(["a", "b", "c"])[np.arange(80) % 3]
    two = y[y != "c"]
    scaled = [
        make_pipeline(scaler, LogisticRegression())
        for scaler in (
            StandardScaler(), StandardScaler(with_std=False), MinMaxScaler(), MaxAbsScaler(),
            RobustScaler(), PCA(3, whiten=True),
        )
    ]  # fmt: skip
    nested = make_pipeline(make_pipeline(StandardScaler(), PCA(4)), "passthrough", LinearSVC())
    networks = [
        make_pipeline(
            StandardScaler(), MLPClassifier((7, 4), activation=a, random_state=0, max_iter=30)
        )
        for a in ("identity", "logistic", "tanh", "relu")
    ]
    plain = [
        LogisticRegression(), LinearSVC(), SGDClassifier(), RidgeClassifier(), Perceptron(),
        LinearDiscriminantAnalysis(), AsagaClassifier(), *scaled, nested, *networks,
    ]  # fmt: skip
    for model in plain:
        yield X, y, model
        yield X[y != "c"], two, model


@pytest.mark.slow
def test_known_gradients_equal_differences(rng):
    n_known = 0
    for X, y, model in fitted(rng):
        model.fit(X, y)
        for objective in ("loss", "margin"):
            found = gradient(model, X, y, objective)
            other = gradient(model, X, y, objective, "numeric")
            atol = 1e-5 * np.broadcast_to(np.abs(other).max(axis=0), X.shape)
            np.testing.assert_array_less(np.abs(found - other), atol + 1e-12, err_msg=f"{model}")
        n_known += 1
    assert n_known == 36


def test_a_scaler_in_front_equals_the_rescaled_model(rng):
    X, y = load_wine(return_X_y=True)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    radius = feature_radius(X, 0.3)
    piped = critical_sample_ratio(model, X, radius=radius, random_state=0)
    behind = critical_sample_ratio(model[-1], model[:-1].transform(X), radius=0.3, random_state=0)
    assert piped.gradient == "linear"
    np.testing.assert_array_equal(piped.critical, behind.critical)
    known = exact(model, X, radius)
    np.testing.assert_array_equal(known, exact(
        model[-1], model[:-1].transform(X), 0.3
    ))  # fmt: skip
    assert 0 < known.sum() < len(X)


def test_models_without_gradients_are_searched(rng):
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    known = exact(LinearDiscriminantAnalysis().fit(X, y), X, 0.5)
    blind = critical_sample_ratio(
        LinearDiscriminantAnalysis().fit(X, y), X, radius=0.5, gradient="search", random_state=0
    )
    assert not np.any(blind.critical & ~known)
    assert blind.critical.sum() >= 0.8 * known.sum()
    for model in (
        RandomForestClassifier(20, random_state=0), KNeighborsClassifier(1), SVC(),
        NearestCentroid(), make_pipeline(PolynomialFeatures(), LogisticRegression()),
    ):  # fmt: skip
        result = critical_sample_ratio(model.fit(X, y), X, radius=0.7, random_state=0)
        assert result.gradient == "search"
        assert result.critical.any()
        there = result.X_adversarial[result.critical]
        assert np.all(model.predict(there) != model.predict(X[result.critical]))
        assert np.abs(there - X[result.critical]).max() <= 0.7 * (1 + 1e-12)


@pytest.mark.slow
def test_frames_keep_the_names_of_their_columns(rng):
    pandas = pytest.importorskip("pandas")
    X, y = load_wine(return_X_y=True, as_frame=True)
    front = ColumnTransformer(
        [("a", StandardScaler(), ["alcohol", "hue"]), ("b", MinMaxScaler(), ["proline"])]
    )
    radius = feature_radius(X, 0.3)
    plain = make_pipeline(StandardScaler(), LogisticRegression())
    for model in (make_pipeline(front, LogisticRegression()), plain):
        for given in (model, clone(model).set_output(transform="pandas")):
            given.fit(X, y)
            found = critical_sample_ratio(given, X, radius=radius, random_state=0)
            assert found.gradient == "linear"
            known = exact(given, X, radius)
            assert 0 < found.critical.sum() <= known.sum()
            there = pandas.DataFrame(found.X_adversarial[found.critical], columns=X.columns)
            assert np.all(given.predict(there) != given.predict(X[found.critical]))


class Own:
    """A model with a gradient of its own: the sign of the first feature."""

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)

    def input_gradient(self, X, target):
        out = np.zeros_like(X)
        out[:, 0] = 1 - 2 * (X[:, 0] > 0)
        return out


def test_searches_and_own_gradients_and_labels_alone(rng):
    X = rng.normal(size=(100, 4))
    near = np.abs(X[:, 0]) < 0.3
    result = critical_sample_ratio(Own(), X, radius=0.3, noise=0.0, random_state=0)
    assert result.gradient == "own"
    np.testing.assert_array_equal(result.critical, near)
    y = Own().predict(X)
    best = GridSearchCV(LogisticRegression(), {"C": [1.0, 10.0]}, cv=2).fit(X, y)
    result = critical_sample_ratio(best, X, radius=0.3, random_state=0)
    assert result.gradient == "linear"


def test_values_stay_in_the_range_of_features(rng):
    X, y = load_digits(return_X_y=True)
    model = LogisticRegression(max_iter=50).fit(X, y)
    free, kept = (
        critical_sample_ratio(
            model, X[:200], radius=1.5, feature_range=r, random_state=0
        ) for r in (None, (0, 16))
    )  # fmt: skip
    there = kept.X_adversarial[kept.critical]
    assert there.min() >= 0.0
    assert there.max() <= 16.0
    assert np.nanmin(free.X_adversarial) < 0.0
    assert kept.critical.sum() <= free.critical.sum()


def test_modules(rng, extra):
    torch = extra("torch", "torch")
    torch.manual_seed(0)
    X = rng.normal(size=(60, 1, 4, 4))
    module = torch.nn.Sequential(
        torch.nn.Conv2d(1, 3, 2), torch.nn.BatchNorm2d(3), torch.nn.ReLU(), torch.nn.Flatten(),
        torch.nn.Dropout(0.5), torch.nn.Linear(27, 3),
    ).double()  # fmt: skip
    module(torch.as_tensor(X))  # batch statistics
    module.train()
    result = critical_sample_ratio(module, X, radius=0.3, random_state=0)
    assert result.gradient == "torch"
    assert 0 < result.critical.sum() < 60
    assert module.training
    module.eval()
    with torch.no_grad():
        labels = module(torch.as_tensor(X)).argmax(1).numpy()
        moved = module(torch.as_tensor(np.nan_to_num(result.X_adversarial))).argmax(1).numpy()
    assert np.all(labels[result.critical] != moved[result.critical])
    g = gradient(module, X, labels)
    e, move = 1e-6, rng.normal(size=X.shape)
    losses = [
        torch.nn.functional.cross_entropy(
            module(torch.as_tensor(X + s * e * move)), torch.as_tensor(labels), reduction="sum"
        ).item()
        for s in (1, -1)
    ]
    assert (g * move).sum() == pytest.approx((losses[0] - losses[1]) / (2 * e), rel=1e-5)
    one = torch.nn.Linear(5, 1)
    X = rng.normal(size=(100, 5))
    W = one.weight.detach().double().numpy()
    flat = Weights(W, one.bias.detach().double().numpy())
    result = critical_sample_ratio(one, X, radius=0.2, noise=0.0)
    np.testing.assert_array_equal(result.critical, exact(flat, X, 0.2))
    with pytest.raises(ValueError, match="'auto' or 'analytic'"):
        critical_sample_ratio(one, X, radius=0.2, gradient="numeric")


@pytest.mark.parametrize(
    ("radius", "message"),
    [
        (0.3 * 255, r"radius=76\.5 is in the wrong units: features of X have"),
        (1e-17, "below the rounding of entries of 16"),
        (0.0, "radius must be positive"),
        ([0.1, 0.2], r"one for each feature, shape \(64,\), got \(2,\)"),
    ],
)
def test_radius_in_other_units(radius, message):
    X, y = load_digits(return_X_y=True)
    model = LogisticRegression(max_iter=20).fit(X, y)
    with pytest.raises(ValueError, match=message):
        critical_sample_ratio(model, X, radius=radius)


def test_a_radius_that_hardly_fits_is_warned_of():
    X, y = load_digits(return_X_y=True)
    model = LogisticRegression(max_iter=20).fit(X, y)
    with pytest.warns(UserWarning, match="radius=1e-06 is at most 1e-06 of the ranges"):
        critical_sample_ratio(model, X, radius=1e-6, max_iter=1)
    X, y = load_wine(return_X_y=True)
    model = LogisticRegression(max_iter=20).fit(X, y)
    with pytest.warns(UserWarning, match="features in different units need a radius each"):
        critical_sample_ratio(model, X, radius=5.0, max_iter=1)
    with pytest.raises(ValueError, match="constant features only"):
        feature_radius(np.ones((5, 2)))


@pytest.mark.parametrize(
    ("make", "given", "message"),
    [
        (lambda X, y: "model", {}, "must be a fitted classifier with predict"),
        (lambda X, y: LogisticRegression, {}, "is the class LogisticRegression"),
        (lambda X, y: LinearRegression().fit(X, y), {}, "for a regressor take example_difficulty"),
        (
            lambda X, y: LogisticRegression().fit(X[:, 1:], y), {},
            "X has 13 features, but LogisticRegression",
        ),
        (
            lambda X, y: RandomForestClassifier(3).fit(X, y), {"gradient": "analytic"},
            "gradient='analytic' supports linear models",
        ),
        (
            lambda X, y: RandomForestClassifier(3).fit(X, y), {"gradient": "exact"},
            "needs scores that are linear",
        ),
        (lambda X, y: Own(), {"gradient": "numeric"}, "has no scores of classes"),
        (lambda X, y: Own(), {"objective": "margin"}, "objective must be 'loss'"),
        (
            lambda X, y: LogisticRegression().fit(X, y), {"step": 0.0, "noise": 0.0},
            "step and noise are both 0",
        ),
        (
            lambda X, y: LogisticRegression().fit(X, y), {"feature_range": (0, 1)},
            r"but X goes from 0\.13 to 1680",
        ),
    ],
)  # fmt: skip
def test_refusals(make, given, message):
    X, y = load_wine(return_X_y=True)
    with pytest.raises((TypeError, ValueError), match=message):
        critical_sample_ratio(make(X, y), X, **{"radius": 0.01, **given})
    with pytest.raises(NotFittedError):
        critical_sample_ratio(LogisticRegression(), X, radius=0.1)


# ---- without gradients ---------------------------------------------------------------------------


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


def test_scores_show_nearly_all_and_labels_alone_more_than_half(digits):
    X, y = digits
    model = LogisticRegression(max_iter=300).fit(X[:600], y[:600])
    known, asked = exact(model, X[600:], 0.3), Labels(model)
    assert 0.5 < known.mean() < 0.9
    for given, most, least in ((model, 50, 0.98), (model, 3, 0.95), (asked, 50, 0.65)):
        found = critical_sample_ratio(
            given, X[600:], radius=0.3, gradient="search", max_iter=most, random_state=0
        )
        assert not np.any(found.critical & ~known)
        assert found.critical.sum() >= least * known.sum()
    assert asked.n_rows == len(X[600:]) + found.n_iter.sum()


def test_most_of_what_gradients_find(digits):
    X, y = digits
    model = MLPClassifier((50,), random_state=0, max_iter=60).fit(X[:600], y[:600])
    most = critical_sample_ratio(model, X[600:], radius=0.3, random_state=0).ratio
    for asked, share in ((model, 0.7), (Labels(model), 0.5)):
        found = critical_sample_ratio(asked, X[600:], radius=0.3, gradient="search", random_state=0)
        assert found.ratio >= share * most


def test_features_of_radius_zero_and_ranges_stay(digits, rng):
    X, y = digits
    model = RandomForestClassifier(20, random_state=0).fit(X[:600], y[:600])
    radius = np.where(rng.random(64) < 0.5, 0.4, 0.0)
    limits = (X.min(), X.max())
    result = critical_sample_ratio(
        model, X[600:], radius=radius, feature_range=limits, n_restarts=2, random_state=0
    )
    assert result.critical.sum() > 20
    there, rows = result.X_adversarial[result.critical], X[600:][result.critical]
    np.testing.assert_array_equal(there[:, radius == 0.0], rows[:, radius == 0.0])
    assert np.abs(there - rows).max() <= 0.4 * (1 + 1e-12)
    assert limits[0] <= there.min() <= there.max() <= limits[1]
    assert np.all(model.predict(there) != model.predict(rows))


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
    known = exact(model, X, 0.3)
    assert (model.predict(X) == 2).sum() == 1
    found = critical_sample_ratio(Labels(model), X, radius=0.3, random_state=0).critical
    assert not np.any(found & ~known)
    assert found.sum() >= 0.8 * known.sum() > 20
