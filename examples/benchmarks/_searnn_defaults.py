"""Regret of the defaults of `SeaRNNTransducer` on small tasks of many kinds."""

import numpy as np
from _report import Clock, quietly
from _searnn_tasks import pairs

from sklearn_fw.seq2seq import LearningToSearch, Minibatches, RecurrentNetwork, SeaRNNTransducer

LIKELIHOOD, SEARCH = "defaults", "learning to search"
VARIANTS = {
    LIKELIHOOD: {},
    SEARCH: {"loss": "ll"},
    f"{SEARCH}, learned roll-out": {"loss": "ll", "search": {"roll_out": "learned"}},
    f"{SEARCH}, after 300 updates": {"loss": "ll", "training": {"warm_up": 300}},
    "rate 0.001": {"training": {"learning_rate": 0.001}},
    "rate 0.002": {"training": {"learning_rate": 0.002}},
}


def fitted(variant, task, seed, quick):
    """Test error in percent, CPU seconds and how a fit with 1,000 pairs ended."""
    kinds = {"search": LearningToSearch, "training": Minibatches, "network": RecurrentNetwork}
    settings = {
        name: kinds[name](**value) if name in kinds else value
        for name, value in VARIANTS[variant].items()
    }
    X, y, X_test, y_test = pairs(task, seed)
    model = SeaRNNTransducer(**settings, random_state=seed)
    if quick:
        model.set_params(max_iter=20)
    with Clock() as clock:
        quietly(model.fit, X, y)
    return {
        "seconds": clock.cpu, "updates": model.n_iter_, "end": model.status_,
        "error": 100 * float(np.mean(model.task_losses(X_test, y_test))),
    }  # fmt: skip
