"""Frames: their names go to the steps of a Pipeline, and columns are never mistaken."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_fw.inspection import (
    MemorizationReport,
    critical_sample_ratio,
    example_difficulty,
    feature_radius,
    loss_sensitivity,
    memorization_curve,
    track_memorization,
)

pytest.importorskip("pandas")
pytestmark = pytest.mark.filterwarnings("ignore:.*Maximum iterations")

RUN = {"n_steps": 10, "eval_every": 5, "random_state": 0}


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = X.astype({"proline": int, "magnesium": int})
    return X, np.array(["barbera", "barolo", "grignolino"])[y]


def by(columns, rest):
    front = [("a", StandardScaler(), columns), ("b", "passthrough", rest)]
    network = MLPClassifier((6,), solver="sgd", learning_rate_init=0.05, max_iter=20)
    return make_pipeline(ColumnTransformer(front), network)


@pytest.fixture(params=[False, True], ids=["arrays", "frames"])
def models(request, wine):
    """The same model, with columns chosen by name and by place."""
    names = ["hue", "proline", "ash"]
    places = [list(wine[0].columns).index(name) for name in names]
    named = by(names[:2], names[2:])
    if request.param:
        named.set_output(transform="pandas")
    return named, by(places[:2], places[2:])


@pytest.mark.slow
def test_columns_by_name_are_columns_by_place(wine, models):
    X, y = wine
    asked = [
        lambda m, Z: loss_sensitivity(m, Z, y, **RUN).sensitivity,
        lambda m, Z: loss_sensitivity(m, Z, y, by_class=True, **RUN).matrix,
        lambda m, Z: example_difficulty(m, Z, y, n_runs=3, n_epochs=2, random_state=0).score,
        lambda m, Z: example_difficulty(
            m, Z, y, n_runs=2, method="held_out", random_state=0
        ).score,
        lambda m, Z: track_memorization(
            m, Z, y, Z[:50], y[:50], n_epochs=2, radius=feature_radius(X, 0.3), random_state=0
        ).critical_ratio,
        lambda m, Z: memorization_curve(
            m, Z, y, Z, y, fractions=[0.0, 1.0], param_name="mlpclassifier__alpha",
            param_range=[0.1, 1.0], max_epochs=2, random_state=0,
        ).train_accuracy,
        lambda m, Z: MemorizationReport(m, n_epochs=2, n_runs=2, n_steps=4, random_state=0).run(
            Z, y
        ).sensitivity_.sensitivity,
    ]  # fmt: skip
    for ask in asked:
        found = ask(clone(models[0]), X)
        expected = ask(clone(models[1]), X.to_numpy(dtype=float))
        np.testing.assert_allclose(found, expected, rtol=1e-9)
        assert np.ptp(found) > 0.0


def test_influence_goes_through_steps_fitted_to_frames(wine):
    X, y = wine
    front = ColumnTransformer([("a", StandardScaler(), list(X.columns))])
    last = LogisticRegression(tol=1e-9, max_iter=1000)
    named = make_pipeline(front, last).fit(X, y)
    plain = make_pipeline(StandardScaler(), last).fit(X.to_numpy(dtype=float), y)
    found = loss_sensitivity(named, X, y, method="influence").sensitivity
    expected = loss_sensitivity(plain, X.to_numpy(), y, method="influence").sensitivity
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_columns_in_another_order_are_refused(wine):
    X, y = wine
    turned = X[X.columns[::-1]]
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    radius = feature_radius(X)
    order = "X has its columns in another order than the rows that estimator was fitted to"
    with pytest.raises(ValueError, match=order):
        critical_sample_ratio(model, turned, radius=radius)
    with pytest.raises(ValueError, match=order):
        loss_sensitivity(model, turned, y, method="influence")
    with pytest.raises(ValueError, match=r"other columns than .*: 'hue' is in one only"):
        critical_sample_ratio(model, X.rename(columns={"hue": "shade"}), radius=radius)
    network = MLPClassifier((4,), solver="sgd")
    with pytest.raises(ValueError, match="X_valid has its columns in another order than X"):
        track_memorization(network, X, y, turned, y, n_epochs=1)
    with pytest.raises(ValueError, match="X_valid has its columns in another order than X"):
        MemorizationReport(network).run(X, y, turned, y)


def test_labels_in_a_column(wine):
    X, y = wine
    with pytest.raises(ValueError, match=r"y must be a vector of labels, got shape \(178, 1\)"):
        loss_sensitivity(MLPClassifier((4,), solver="sgd"), X, y[:, None])
