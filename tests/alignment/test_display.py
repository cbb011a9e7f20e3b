"""Pictures of alignments show the numbers that the aligner has."""

import numpy as np
import pytest

from sklearn_fw.alignment import (
    AlignmentCurveDisplay,
    KnowledgeBase,
    KnowledgeBaseAligner,
    MatchEvidenceDisplay,
)
from sklearn_fw.datasets import make_kb_pair

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def fitted():
    data = make_kb_pair(100, random_state=0)
    sides = [
        KnowledgeBase(data[f"relations{s}"], data[f"properties{s}"], data[f"labels{s}"])
        for s in "12"
    ]
    return KnowledgeBaseAligner().fit(*sides), data.truth


def test_bars_add_up_to_scores(fitted):
    aligner, _ = fitted
    entity = aligner.matches_["entity1"][-1]
    display = MatchEvidenceDisplay.from_estimator(aligner, entity, n=3)
    found = aligner.candidates(entity, 3)
    np.testing.assert_allclose(
        np.sum(display.evidence, axis=1), [c.score for c in found], rtol=0, atol=1e-12
    )
    ends = [bar.get_x() + bar.get_width() for bar in display.bars_[2]]
    np.testing.assert_allclose(ends, [c.score for c in found], rtol=0, atol=1e-12)
    assert sum(display.matched) == 1
    ticks = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert ["(the match)" in text for text in ticks] == display.matched
    assert display.threshold_line_.get_xdata()[0] == 0.25


def test_an_entity_without_evidence_is_refused():
    kb = KnowledgeBase(labels={"a": "one", "b": "two"})
    aligner = KnowledgeBaseAligner().fit(kb, KnowledgeBase(labels={"c": "three"}))
    with pytest.raises(ValueError, match="entity1='a' shares no word"):
        MatchEvidenceDisplay.from_estimator(aligner, "a")


@pytest.mark.parametrize("against", ["matches", "threshold"])
def test_curve(fitted, against):
    aligner, truth = fitted
    display = AlignmentCurveDisplay.from_estimator(aligner, truth, against=against)
    curve = aligner.curve(truth)
    x, y = display.lines_["f1"].get_data()
    if against == "matches":
        np.testing.assert_array_equal(x, np.arange(aligner.n_seed_, aligner.n_matches_ + 1))
        np.testing.assert_array_equal(y, curve.f1)
    else:
        np.testing.assert_array_equal(x, curve.threshold[1:])
        np.testing.assert_array_equal(y, curve.f1[1:])
    assert y[-1] == aligner.score(truth)


@pytest.mark.parametrize(
    ("display", "message"),
    [
        (MatchEvidenceDisplay("a", ["b"], [[1, 2]], [True], [""]), r"shape \(1, 3\)"),
        (MatchEvidenceDisplay("a", ["b"], [[1, 2, 3]], [], [""]), "matched holds 0"),
        (
            AlignmentCurveDisplay([1.0], [1.0, 1.0], [1.0], [np.inf]),
            "must be vectors of one length",
        ),
    ],
)
def test_bad_numbers(display, message):
    with pytest.raises(ValueError, match=message):
        display.plot()


def test_bad_arguments(fitted):
    aligner, truth = fitted
    with pytest.raises(TypeError, match="must be a KnowledgeBaseAligner"):
        AlignmentCurveDisplay.from_estimator(KnowledgeBase(), truth)
    with pytest.raises(ValueError, match="against"):
        AlignmentCurveDisplay.from_estimator(aligner, truth, against="time")
