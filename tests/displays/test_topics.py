"""TopicDisplay: what is drawn, and refusals."""

import numpy as np
import pytest
from sklearn.cross_decomposition import CCA
from sklearn.decomposition import PCA

from sklearn_fw.datasets import make_topic_corpus
from sklearn_fw.decomposition import DiscreteICA
from sklearn_fw.displays import TopicDisplay

plt = pytest.importorskip("matplotlib.pyplot")


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


def test_refusals(model):
    X = np.random.RandomState(0).randn(20, 4)
    with pytest.raises(TypeError, match="no components_"):
        TopicDisplay.from_estimator(CCA(1).fit(X, X))
    with pytest.raises(ValueError, match="must not be negative"):
        TopicDisplay.from_estimator(PCA(2).fit(X))
    for wrong, message in (
        ({"components": [3]}, "numbers below 3"),
        ({"names": ["a"]}, "names must hold 12 names"),
        ({"n_top": 0}, "n_top"),
        ({"ax": plt.subplots()[1]}, "must hold 3 Axes, one per panel, got 1"),
    ):
        with pytest.raises(ValueError, match=message):
            TopicDisplay.from_estimator(model, **wrong)
