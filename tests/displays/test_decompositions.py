"""Figures of loadings, eigenvalues and topics: what is drawn, and refusals."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.cross_decomposition import CCA
from sklearn.decomposition import PCA

from sklearn_fw.datasets import make_topic_corpus, make_two_views
from sklearn_fw.decomposition import DiscreteICA, MultiViewCCA
from sklearn_fw.displays import LoadingDisplay, ScreeDisplay, TopicDisplay

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def data():
    return make_two_views(1000, 10, 2, 2, kind="discrete", random_state=0)


def test_the_largest_loadings_are_drawn_with_names(data):
    model = MultiViewCCA(2, kind="discrete").fit(data.X, data.y)
    x_names, y_names = [f"x{m}" for m in range(10)], [f"y{m}" for m in range(10)]
    display = LoadingDisplay.from_estimator(
        model, components=[1], n_top=3, x_names=x_names, y_names=y_names
    )
    assert [len(bars) for bars in display.bars_] == [3, 3]
    top = [np.argsort(-D[:, 1])[:3] for D in (model.x_loadings_, model.y_loadings_)]
    expected = [x_names[m] for m in top[0]] + [y_names[m] for m in top[1]]
    assert [text.get_text() for text in display.ax_[0].texts] == expected
    widths = [bar.get_width() for bars in display.bars_ for bar in bars]
    assert max(widths[:3]) < 0 < min(widths[3:])
    assert [widths[0], widths[3]] == [-1.0, 1.0]


def test_axes_and_other_models(data):
    axes = plt.subplots(2)[1]
    display = LoadingDisplay.from_estimator(CCA(2).fit(data.X, data.y), ax=axes, n_top=2)
    assert list(display.ax_) == list(axes)
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(data.y, columns=[f"word{m}" for m in range(10)])
    named = LoadingDisplay.from_estimator(
        MultiViewCCA(1, kind="discrete").fit(data.X, frame), n_top=1
    )
    assert named.ax_[0].texts[1].get_text().startswith("word")


def test_the_choice_of_auto_is_drawn():
    X = make_topic_corpus(1000, 30, 3, random_state=0).X
    model = DiscreteICA("auto", moments="gp", random_state=0).fit(X)
    display = ScreeDisplay.from_estimator(model)
    drawn = display.line_.get_ydata()
    np.testing.assert_allclose(drawn, model.spectrum_[model.spectrum_ > 0.0])
    assert np.sum(drawn > display.floor_.get_ydata()[0]) == len(model.eigenvalues_) == 3
    assert display.mark_.get_xdata()[0] == 3.5
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["noise at most", "3 kept"]


def test_other_decompositions_share_an_axis():
    data = make_two_views(500, 10, 2, 3, kind="discrete", random_state=0)
    first = ScreeDisplay.from_estimator(
        MultiViewCCA(2, kind="discrete").fit(data.X, data.y), name="views"
    )
    second = ScreeDisplay.from_estimator(PCA(3).fit(data.X), ax=first.ax_, name="PCA")
    assert first.ax_ is second.ax_
    assert first.mark_.get_xdata()[0] == 2.5
    assert second.floor_ is second.mark_ is None
    np.testing.assert_array_equal(second.line_.get_xdata(), [1, 2, 3])
    assert first.value_name == "Singular value"


def test_values_are_sorted_and_those_below_zero_left_out():
    display = ScreeDisplay([1.0, -2.0, 3.0, 0.0], noise_floor=2.0, n_components=1).plot()
    np.testing.assert_array_equal(display.line_.get_ydata(), [3.0, 1.0])


@pytest.fixture(scope="module")
def model():
    return DiscreteICA(3, moments="gp").fit(make_topic_corpus(1000, 12, 3, random_state=0).X)


def test_the_largest_words_are_drawn_with_their_shares(model):
    names = [f"w{m}" for m in range(12)]
    display = TopicDisplay.from_estimator(model, components=[2, 0], n_top=4, names=names)
    for panel, bars, k in zip(display.ax_, display.bars_, [2, 0], strict=True):
        top = np.argsort(-model.components_[k], kind="stable")[:4]
        assert [label.get_text() for label in panel.get_yticklabels()] == [names[m] for m in top]
        np.testing.assert_allclose([b.get_width() for b in bars], model.components_[k, top])
        assert panel.get_title() == f"Topic {k}"


def test_rows_need_not_sum_to_one_and_axes_may_be_given():
    axes = plt.subplots(2)[1]
    display = TopicDisplay([[1.0, 3.0], [0.0, 0.0]]).plot(axes)
    assert list(display.ax_) == list(axes)
    assert [[b.get_width() for b in bars] for bars in display.bars_] == [[0.75, 0.25], [0.0, 0.0]]


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda m: LoadingDisplay.from_estimator(m), "no x_loadings_"),
        (lambda m: ScreeDisplay.from_estimator(KMeans(1).fit(np.eye(3))), "no spectrum_ or eig"),
        (lambda m: TopicDisplay.from_estimator(KMeans(1).fit(np.eye(3))), "no components_"),
        (lambda m: TopicDisplay.from_estimator(PCA(2).fit(np.eye(3))), "must not be negative"),
        (lambda m: TopicDisplay.from_estimator(m, components=[3]), "numbers below 3"),
        (lambda m: TopicDisplay.from_estimator(m, names=["a"]), "names must be a list of 12 texts"),
        (
            lambda m: TopicDisplay.from_estimator(m, ax=plt.subplots()[1]),
            "must hold 3 Axes, one per panel, got 1",
        ),
        (lambda m: LoadingDisplay(np.ones((3, 2)), np.ones((3, 1))).plot(), "same number of col"),
        (
            lambda m: LoadingDisplay(np.eye(2), np.eye(2), x_names=["a"]).plot(),
            "x_names must be a list of 2 texts",
        ),
        (lambda m: ScreeDisplay([[1.0]]).plot(), "values must have shape"),
        (lambda m: ScreeDisplay([-1.0]).plot(), "numbers above zero"),
        (lambda m: ScreeDisplay([1.0], noise_floor=-1.0).plot(), "noise_floor"),
        (lambda m: ScreeDisplay([1.0], n_components=-1).plot(), "n_components"),
        (lambda m: ScreeDisplay([1.0], value_name=3).plot(), "value_name"),
    ],
)
def test_refusals(model, call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call(model)
