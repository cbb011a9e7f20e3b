"""ScreeDisplay: what is drawn, and refusals."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from sklearn_fw.datasets import make_topic_corpus, make_two_views
from sklearn_fw.decomposition import DiscreteICA, MultiViewCCA
from sklearn_fw.displays import ScreeDisplay

plt = pytest.importorskip("matplotlib.pyplot")


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
    assert second.floor_ is second.mark_ is None
    np.testing.assert_array_equal(second.line_.get_xdata(), [1, 2, 3])
    assert first.value_name == "Singular value"


def test_values_are_sorted_and_those_below_zero_left_out():
    display = ScreeDisplay([1.0, -2.0, 3.0, 0.0], noise_floor=2.0, n_components=1).plot()
    np.testing.assert_array_equal(display.line_.get_ydata(), [3.0, 1.0])


def test_refusals():
    with pytest.raises(TypeError, match="has no spectrum_ or eigenvalues_ or"):
        ScreeDisplay.from_estimator(KMeans(1).fit(np.eye(3)))
    for wrong, message in (
        ({"values": [[1.0]]}, "values must have shape"),
        ({"values": [-1.0]}, "numbers above zero"),
        ({"values": [1.0], "noise_floor": -1.0}, "noise_floor"),
        ({"values": [1.0], "n_components": -1}, "n_components"),
    ):
        with pytest.raises(ValueError, match=message):
            ScreeDisplay(**wrong).plot()
    with pytest.raises(TypeError, match="value_name"):
        ScreeDisplay([1.0], value_name=3).plot()
