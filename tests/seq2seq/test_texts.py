"""Outputs that are texts."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sklearn_fw.seq2seq import Minibatches, RecurrentNetwork, SeaRNNTransducer


@pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning")
def test_texts_are_judged_by_their_characters(extra):
    """Hamming's loss takes a text for one label elsewhere."""
    extra("torch", "torch")
    words, made = ["abc", "cab", "bca", "acb", "bac", "cba", "aab", "bbc"], []
    for read in (str, list):
        model = SeaRNNTransducer(
            "mle", network=RecurrentNetwork(hidden_size=8, device="cpu"), max_iter=5,
            training=Minibatches(validation_fraction=0.5, eval_every=5, batch_size=8),
            random_state=0,
        )  # fmt: skip
        y = [read(w[::-1]) for w in words]
        model.fit(words, y)
        shares = [np.mean([a != b for a, b in zip(w, p)]) for w, p in zip(y, model.predict(words))]
        np.testing.assert_allclose(model.task_losses(words, y), shares)
        made.append([model.score(words, y), *model.history_["validation_loss"]])
    assert made[0] == made[1]
    assert 0 < made[0][0] < 1
