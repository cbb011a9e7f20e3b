"""Pictures and the report."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_fw.inspection import (
    ClassSensitivityDisplay,
    CriticalSampleDisplay,
    DifficultyDisplay,
    MemorizationDisplay,
    MemorizationReport,
    SensitivityDisplay,
    feature_radius,
    loss_sensitivity,
    memorization_curve,
)

plt = pytest.importorskip("matplotlib.pyplot", reason="needs the extra 'plot'")


def network():
    last = MLPClassifier((12,), solver="sgd", learning_rate_init=0.1)
    return make_pipeline(StandardScaler(), last)


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_report(scale):
    X, y = load_wine(return_X_y=True)
    report = MemorizationReport(network(), n_epochs=30, n_runs=10, n_steps=40, random_state=0)
    assert report.run(scale * X, y) is report
    assert report.real_.valid_accuracy[-1] > 0.9 > 0.6 > report.random_.valid_accuracy[-1]
    assert report.random_.critical_ratio[-1] > report.real_.critical_ratio[-1]
    assert sorted(report.suspects_.tolist()) == list(range(len(y)))
    assert report.sensitivity_.gini_mean > report.random_sensitivity_.gini_mean
    np.testing.assert_allclose(report.radius_, feature_radius(scale * X), rtol=0.3)
    display = report.plot()
    assert len(display.figure_.axes) == 4
    assert [type(d).__name__ for d in display.displays].count("SensitivityDisplay") == 2
    drawn = display.displays[0].lines_[0].get_ydata()
    np.testing.assert_array_equal(drawn, report.real_.train_accuracy)


def test_report_of_a_regressor():
    X, y = load_diabetes(return_X_y=True)
    last = MLPRegressor(hidden_layer_sizes=(20,), solver="sgd", learning_rate_init=0.01)
    model = make_pipeline(StandardScaler(), last)
    report = MemorizationReport(model, n_epochs=20, n_runs=2, n_steps=20, random_state=0)
    report.run(X, y / 100)
    assert report.real_.valid_accuracy[-1] > 0.2 > report.random_.valid_accuracy[-1]
    assert report.sensitivity_.loss[-1] < report.random_sensitivity_.loss[-1]
    assert len(report.plot().displays) == 5


@pytest.mark.slow
def test_report_of_a_forest():
    X, y = load_wine(return_X_y=True)
    report = MemorizationReport(RandomForestClassifier(10), n_runs=4, random_state=0)
    with pytest.raises(NotFittedError, match="nothing to draw before `run`"):
        report.plot()
    report.run(X[::2], y[::2], X[1::2], y[1::2])
    assert report.sensitivity_ is None
    assert len(report.plot().displays) == 3
    with pytest.raises(ValueError, match="y_valid is missing"):
        report.run(X, y, X_valid=X)
    with pytest.raises(ValueError, match="must hold 4 Axes, one per panel, got 2"):
        report.plot(ax=plt.subplots(2)[1])


def test_displays():
    X, y = load_wine(return_X_y=True)
    model = network().set_params(mlpclassifier__max_iter=30, mlpclassifier__tol=1.0).fit(X, y)
    critical = CriticalSampleDisplay.from_estimator(model, X, shares=[0.1, 1.0], random_state=0)
    ratios = critical.line_.get_ydata()
    assert ratios[0] < ratios[1]
    assert critical.ax_.get_legend().get_texts()[0].get_text() == "Pipeline"
    hard = DifficultyDisplay.from_estimator(network(), X, y, n_runs=4, n_epochs=2, random_state=0)
    assert np.all(np.diff(hard.lines_[0].get_ydata()) >= 0)
    lorenz = SensitivityDisplay(np.arange(5.0)).plot()
    area = np.trapezoid(lorenz.line_.get_ydata(), lorenz.line_.get_xdata())
    assert 1 - 2 * area == pytest.approx(lorenz.gini_, rel=1e-12)
    classes = ClassSensitivityDisplay.from_estimator(network(), X, y, n_steps=20, random_state=0)
    found = loss_sensitivity(
        network(), X, y, by_class=True, n_steps=20, eval_every=20, random_state=0
    )
    np.testing.assert_allclose(10 ** classes.image_.get_array(), found.matrix, rtol=1e-10)
    curve = memorization_curve(
        network(), X[::2], y[::2], X[1::2], y[1::2], fractions=[0.0, 1.0], max_epochs=3,
        param_name="mlpclassifier__alpha", param_range=[0.1, 1.0], random_state=0,
    )  # fmt: skip
    shown = MemorizationDisplay.from_result(curve)
    assert len(shown.lines_) == 4
    assert shown.lines_[1].get_label() == "training accuracy, mlpclassifier__alpha=1.0"
    with pytest.raises(TypeError, match="result must be of track_memorization"):
        MemorizationDisplay.from_result({"a": 1})
    with pytest.raises(ValueError, match="vectors of one length"):
        CriticalSampleDisplay([1.0], [1.0, 2.0]).plot()
