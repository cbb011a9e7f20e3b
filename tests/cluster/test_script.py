"""Both stages of script discovery."""

import numpy as np
import pytest

from sklearn_fw.cluster import ScriptDiscovery, SequenceAligner
from sklearn_fw.datasets import make_ordered_videos
from sklearn_fw.metrics import localization_f1


@pytest.mark.slow
def test_script_and_places_are_found():
    data = make_ordered_videos(random_state=0)
    model = ScriptDiscovery(7, random_state=0).fit(
        data.X, tokens=data.tokens, token_rows=data.token_rows
    )
    assert model.step_names_ == list(range(7))
    assert localization_f1(data.truth, model.locations_).f1 > 0.8
    assert np.array_equal(model.localize(data.X).shape, model.locations_.shape)
    for labels, windows, rows in zip(model.aligner_.labels_, model.windows_, data.token_rows):
        steps = labels[labels >= 0]
        at = rows[labels >= 0]
        assert windows == [(k, a, b + 10) for k, (a, b) in zip(steps.tolist(), at.tolist())]


@pytest.mark.parametrize("options, data, message", [
    ({}, {"token_rows": [np.zeros((2, 2))]}, "token_rows holds 1 sequences, tokens 2"),
    ({}, {"token_rows": [np.zeros((2, 2)), np.zeros((1, 2))]}, r"token_rows\[1\] must have shape"),
    ({}, {"token_rows": [np.full((2, 2), 0.5)] * 2}, r"token_rows\[0\] must hold whole numbers"),
    ({"random_state": "seed"}, {}, "random_state must be None, an integer"),
    ({"n_steps": 1}, {}, "tokens have no step in common: raise n_steps=1"),
    ({"n_steps": 5}, {"X": [np.ones((4, 2)), np.ones((1, 2))]}, r"X\[1\] has 1 rows"),
])  # fmt: skip
def test_refusals(options, data, message):
    given = {
        "X": [np.eye(4), np.eye(4)], "tokens": [["a", "b"], ["a", "b"]],
        "token_rows": [np.array([[0, 1], [2, 3]])] * 2,
    } | data  # fmt: skip
    with pytest.raises(ValueError, match=message):
        ScriptDiscovery(**{"random_state": 0, **options}).fit(**given)
    with pytest.raises(TypeError, match="aligner must be a SequenceAligner or None"):
        ScriptDiscovery(aligner=SequenceAligner).fit(**given)
