"""Displays: what they draw is what the fit recorded, and wrong calls are told what to do."""

import sys

import numpy as np
import pytest

from sklearn_fw.displays import ConvergenceDisplay
from sklearn_fw.model_selection import RegularizationPathDisplay, regularization_path
from sklearn_fw.structured import StructuredSVM

plt = pytest.importorskip("matplotlib.pyplot")

X = [np.eye(3)[[0, 1, 2]], np.eye(3)[[2, 0]], np.eye(3)[[1, 1, 0, 2]]]
Y = [[0, 1, 1], [1, 0], [1, 1, 0, 0]]


@pytest.fixture(scope="module")
def svm():
    return StructuredSVM(solver="bcpfw", tol=1e-3, random_state=0).fit(X, Y)


@pytest.fixture(scope="module")
def path():
    return regularization_path(StructuredSVM(random_state=0, max_iter=1000), X, Y, eps=0.2)


# ---- path ----------------------------------------------------------------------------------------


def test_path_curves_are_those_of_the_path(path):
    curves = ("score", "norm", "gap")
    display = RegularizationPathDisplay.from_path(path, X=X, y=Y, curves=curves, name="chain")
    Cs = display.values
    assert np.isin(path.values_, Cs).all()
    assert len(Cs) > 3 * len(path.values_)
    expected = {
        "score": path.score_path(X, Y, at=Cs),
        "norm": np.linalg.norm(path.coef_at(Cs), axis=1),
        "gap": path.gap_at(Cs),
    }
    assert tuple(display.lines_) == curves
    for curve, line in display.lines_.items():
        np.testing.assert_array_equal(line.get_xdata(), Cs)
        np.testing.assert_allclose(line.get_ydata(), expected[curve], rtol=1e-12)
        assert line.get_drawstyle() == "default"
    dots = display.lines_["gap"].get_markevery()
    np.testing.assert_array_equal(Cs[dots], path.values_)
    np.testing.assert_allclose(display.lines_["gap"].get_ydata()[dots], path.gaps_, rtol=1e-12)
    assert len(display.axes_) == 3
    assert display.ax_ is display.axes_[0]
    assert all(panel.get_xscale() == "log" for panel in display.axes_)
    assert display.axes_[-1].get_xlabel() == "C"
    assert display.axes_[0].get_legend() is not None
    display.figure_.canvas.draw()


def test_end_of_the_last_piece(path):
    last = RegularizationPathDisplay.from_path(path).lines_["norm"].get_xdata()[-1]
    assert last == 2 * path.values_[-1]  # it serves all larger C
    short = regularization_path(StructuredSVM(random_state=0), X, Y, eps=0.2, max_breakpoints=2)
    last = RegularizationPathDisplay.from_path(short).lines_["norm"].get_xdata()[-1]
    assert last == short.end_


def test_eps_is_in_the_picture(path):
    display = RegularizationPathDisplay.from_path(path, curves="gap")
    assert display.ax_.get_ylim()[0] == 0.0
    assert display.ax_.get_ylim()[1] >= path.eps


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X": X}, "X and y come together"),
        ({"curves": "height"}, "curves must be one of .*'gap', .*'norm', 'score'; got 'height'"),
        ({"curves": ["norm", "score"]}, "nothing to draw for curves='score': pass X and y"),
    ],
)
def test_wrong_calls_of_paths(path, options, message):
    with pytest.raises(ValueError, match=message):
        RegularizationPathDisplay.from_path(path, **options)


def test_missing_numbers():
    with pytest.raises(ValueError, match="nothing to draw for curves='gap': pass gaps"):
        RegularizationPathDisplay([1.0], norms=[1.0]).plot(curves="gap")


def test_one_axis_for_two_curves(path):
    _, ax = plt.subplots()
    with pytest.raises(ValueError, match="must hold 2 Axes, one per panel, got 1"):
        RegularizationPathDisplay.from_path(path, curves=["norm", "gap"], ax=ax)


# ---- without matplotlib --------------------------------------------------------------------------


def test_missing_matplotlib_names_the_extra(svm, path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    remedy = "needs matplotlib: run pip install matplotlib"
    with pytest.raises(ImportError, match="ConvergenceDisplay " + remedy):
        ConvergenceDisplay.from_estimator(svm)
    with pytest.raises(ImportError, match="RegularizationPathDisplay " + remedy):
        RegularizationPathDisplay.from_path(path)
