"""Pictures hold what the estimators found."""

import numpy as np
import pytest

from _registry import clips, scripts, series
from sklearn_fw.cluster import (
    AlignedScriptDisplay,
    JointStateActionClustering,
    OrderedDiscriminativeClustering,
    SequenceAligner,
    StateActionDisplay,
    StepsDisplay,
)

plt = pytest.importorskip("matplotlib.pyplot")


def test_table_has_the_aligned_tokens():
    lines, _ = scripts()
    aligner = SequenceAligner(3, random_state=0).fit(lines)
    display = AlignedScriptDisplay.from_estimator(aligner, lines)
    for tokens, labels, cells in zip(lines, aligner.labels_, display.cells):
        assert [c for c in cells if c] == [t for t, k in zip(tokens, labels) if k >= 0]
    assert [text.get_text() for text in display.texts_] == [
        c for row in display.cells for c in row if c
    ]


def test_points_stand_at_the_steps():
    X, _ = series()
    model = OrderedDiscriminativeClustering(3, max_iter=5, random_state=0).fit(X)
    truth = np.full((4, 3, 2), -1)
    truth[0, 1] = 2, 4
    display = StepsDisplay.from_estimator(model, X, intervals_true=truth)
    for k, points in enumerate(display.points_):
        assert points.get_offsets()[:, 0].tolist() == model.localize(X)[:, k].tolist()
    (bar,) = display.ax_.patches
    assert (bar.get_x(), bar.get_width()) == (1.5, 3.0)
    with pytest.raises(ValueError, match="names must be a list of 3 texts, got 1"):
        StepsDisplay.from_estimator(model, X, names=["a"])
    with pytest.raises(TypeError, match=r"names\[\d\] must be a str, got None"):
        StepsDisplay.from_estimator(model, X, names=["a", "b", None])
    with pytest.raises(ValueError, match="intervals_true must have shape"):
        StepsDisplay.from_estimator(model, X, intervals_true=truth[:2])


def test_candidates_and_action_are_drawn_in_time():
    given, _ = clips()
    model = JointStateActionClustering(max_iter=5, random_state=0).fit(given)
    display = StateActionDisplay.from_estimator(model, given, 1)
    assert len(display.bars_) == len(given[1]["start"])
    at = given[1]["t_action"][model.predict([given[1]]).action_locations[0]]
    assert display.action_line_.get_xdata()[0] == at
    with pytest.raises(ValueError, match="index == 9, must be <= 3"):
        StateActionDisplay.from_estimator(model, given, 9)
    with pytest.raises(TypeError, match="estimator must be a SequenceAligner"):
        AlignedScriptDisplay.from_estimator(model, [["a"]])
