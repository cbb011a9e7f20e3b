"""One display of the way of any method: it draws what the history holds."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV

from _histories import CASES, history_of, made
from sklearn_fw import AsagaClassifier
from sklearn_fw.displays import ConvergenceDisplay
from sklearn_fw.displays._displays import _gap_of
from sklearn_fw.structured import StructuredSVM

plt = pytest.importorskip("matplotlib.pyplot")

X = [np.eye(3)[[0, 1, 2]], np.eye(3)[[2, 0]], np.eye(3)[[1, 1, 0, 2]]]
Y = [[0, 1, 1], [1, 0], [1, 1, 0, 0]]


@pytest.fixture(scope="module")
def svm():
    return StructuredSVM(solver="bcpfw", tol=1e-3, random_state=0).fit(X, Y)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("x", "column", "label"),
    [("auto", "n_oracle_calls", "Oracle calls"), ("time", "time", "Seconds")],
)
def test_gap_curve_is_the_history(svm, x, column, label):
    display = ConvergenceDisplay.from_estimator(svm, x=x, color="red")
    (line,) = display.lines_
    np.testing.assert_array_equal(line.get_xdata(), svm.history_[column])
    np.testing.assert_array_equal(line.get_ydata(), svm.history_["dual_gap"])
    assert line.get_ydata()[-1] == svm.dual_gap_
    assert line.get_color() == "red"
    assert display.bound_lines_ == []
    assert display.ax_.get_xlabel() == label
    assert display.ax_.get_ylabel() == "Duality gap"
    assert display.ax_.get_yscale() == "log"
    assert display.ax_.figure is display.figure_
    assert [t.get_text() for t in display.ax_.get_legend().get_texts()] == ["StructuredSVM"]


@pytest.mark.slow
def test_objectives_enclose_the_optimum(svm):
    display = ConvergenceDisplay.from_estimator(svm, kind="objectives", name="chain")
    (line,), (bound,) = display.lines_, display.bound_lines_
    np.testing.assert_array_equal(line.get_ydata(), svm.history_["objective"])
    np.testing.assert_array_equal(bound.get_ydata(), svm.history_["dual_objective"])
    assert bound.get_color() == line.get_color()
    assert display.ax_.get_yscale() == "linear"
    assert len(display.ax_.collections) == 1  # the shade between them
    texts = [t.get_text() for t in display.ax_.get_legend().get_texts()]
    assert texts == ["chain, objective", "chain, bound"]


def test_far_beginnings_are_cut_off():
    objective = np.r_[1e6, 1e3, np.linspace(2.0, 1.0, 20)]
    steps, bound = np.arange(22), np.full(22, 0.9)
    history = {"n_iter": steps, "objective": objective, "dual_objective": bound}
    display = ConvergenceDisplay(history).plot(kind="objectives")
    low, high = display.ax_.get_ylim()
    assert 0.8 < low < 0.9
    assert 1.7 < high < 3.0
    ax = plt.subplots()[1]
    ConvergenceDisplay(history).plot(ax, kind="objectives")  # axes of others are left as they are
    assert ax.get_ylim()[1] > 1e5


def test_a_display_can_be_drawn_again(svm):
    display = ConvergenceDisplay.from_estimator(svm)
    old = display.ax_
    assert display.plot(name="again") is display
    assert display.ax_ is not old
    assert display.lines_[0].get_label() == "again"


def test_no_name_no_legend():
    display = ConvergenceDisplay({"n_iter": [1, 2], "dual_gap": [0.5, 0.0]}).plot()
    assert display.ax_.get_legend() is None
    display.figure_.canvas.draw()  # a gap of zero is left out, not an error


@pytest.mark.slow
def test_solvers_without_certificate():
    svm = StructuredSVM(solver="perceptron", max_iter=3, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="no certificate; kind='objectives' draws"):
        ConvergenceDisplay.from_estimator(svm, kind="gap")
    display = ConvergenceDisplay.from_estimator(svm)
    assert display.bound_lines_ == []
    assert display.lines_[0].get_ydata() == [svm.objective_]
    assert display.lines_[0].get_marker() == "."  # one point needs a marker to be seen


@pytest.mark.slow
def test_each_output_has_a_curve_and_dots_where_it_is_exact(rng):
    table, y = rng.normal(size=(60, 3)), np.arange(60) % 3
    model = AsagaClassifier(multi_class="ovr", solver="asaga", random_state=0).fit(table, y)
    display = ConvergenceDisplay.from_estimator(model, name="one")
    assert [line.get_label() for line in display.lines_] == [f"one, output {k}" for k in range(3)]
    history = model.history_
    for k, line in enumerate(display.lines_):
        rows = history["output"] == k
        np.testing.assert_array_equal(line.get_ydata(), history["dual_gap"][rows])
        exact = np.flatnonzero(history["certified"][rows])
        np.testing.assert_array_equal(line.get_markevery(), exact)
    assert display.ax_.get_ylabel() == "Duality gap (dots: certified)"


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("case", CASES)
def test_everything_that_iterates_is_drawn(case):
    columns, fitted = CASES[case][1], made(case)
    if not columns:
        with pytest.raises(ValueError, match="history is empty: the answer was found without iter"):
            ConvergenceDisplay.from_estimator(fitted)
        return
    history, gap = history_of(fitted), _gap_of(history_of(fitted))
    display = ConvergenceDisplay.from_estimator(fitted)
    drawn = np.concatenate([line.get_ydata() for line in display.lines_])
    column = history["objective" if gap is None else gap]
    np.testing.assert_array_equal(drawn, column[~np.isnan(column)])
    for x in {"n_iter", "time", "n_oracle_calls"} & set(history):
        if "objective" in history:
            ConvergenceDisplay.from_estimator(fitted, x=x, kind="objectives")


@pytest.mark.parametrize(
    ("history", "options", "message"),
    [
        ({"n_iter": [1], "dual_gap": [1.0]}, {"kind": "objectives"}, "kind needs 'objective' in"),
        ({"n_iter": [1], "dual_gap": [1.0]}, {"x": "time"}, "x needs 'time' in the history, which"),
        ({"n_iter": [1, 2], "dual_gap": [1.0]}, {}, r"must hold arrays of shape \(n_rows,\), got"),
        ({"n_iter": [1], "dual_gap": ["a"]}, {}, r"history\['dual_gap'\] must hold real numbers"),
        ({}, {}, "history is empty"),
        ([1.0], {}, "history must be a dict of arrays, got list"),
    ],
)
def test_broken_histories(history, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        ConvergenceDisplay(history).plot(**options)


@pytest.mark.slow
def test_estimator_without_history():
    with pytest.raises(NotFittedError):
        ConvergenceDisplay.from_estimator(StructuredSVM())
    search = GridSearchCV(StructuredSVM("chain", random_state=0), {"C": [0.01]}, cv=3).fit(X, Y)
    with pytest.raises(TypeError, match=r"GridSearchCV has no history_: .* of a search best_estim"):
        ConvergenceDisplay.from_estimator(search)
    ConvergenceDisplay.from_estimator(search.best_estimator_)
