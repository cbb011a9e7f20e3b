"""LoadingDisplay: what is drawn, and refusals."""

import numpy as np
import pytest
from sklearn.cross_decomposition import CCA

from sklearn_fw.datasets import make_two_views
from sklearn_fw.decomposition import DiscreteICA, MultiViewCCA
from sklearn_fw.displays import LoadingDisplay

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


def test_refusals(data):
    model = MultiViewCCA(2, kind="discrete").fit(data.X, data.y)
    with pytest.raises(TypeError, match="no x_loadings_"):
        LoadingDisplay.from_estimator(DiscreteICA(1, moments="gp").fit(data.X))
    for wrong, message in (
        ({"components": [2]}, "numbers below 2"),
        ({"x_names": ["a"]}, "x_names must hold 10 names"),
        ({"n_top": 0}, "n_top"),
        ({"ax": plt.subplots()[1]}, "must hold 2 Axes, one per panel, got 1"),
    ):
        with pytest.raises(ValueError, match=message):
            LoadingDisplay.from_estimator(model, **wrong)
    with pytest.raises(ValueError, match="same number of columns"):
        LoadingDisplay(np.ones((3, 2)), np.ones((3, 1))).plot()
