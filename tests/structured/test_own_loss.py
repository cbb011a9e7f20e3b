"""Losses of a user: by costs of nodes in compiled passes, by value alone, and what is checked."""

import numpy as np
import pytest

from _references import all_labelings, solve_structured_svm
from _task_losses import COSTS, NAMES, FirstMistake, Steps
from sklearn_fw import StructuredSVM
from sklearn_fw.structured import ChainModel, EnumeratedModel
from sklearn_fw.task_losses import NodeCosts, TaskLoss


@pytest.mark.slow
def test_a_chain_of_costs_as_a_black_box(rng):
    """Its methods for one sample, called by a model that hides the parts, give the same weights."""

    class Hidden(ChainModel):
        def inference(self, x, w):
            return super().inference(x, w)

    X = [rng.normal(size=(n, 3)) for n in (3, 4, 2, 5, 4)]
    y = [NAMES[rng.integers(3, size=len(x))] for x in X]
    y[0][:] = NAMES
    settings = {"C": 1.0, "solver": "bcpfw", "tol": 1e-8, "max_iter": 20_000, "random_state": 0}
    for task_loss in (COSTS, Steps(more=2.0)):
        parts = StructuredSVM(ChainModel(task_loss), **settings).fit(X, y)
        hidden = StructuredSVM(Hidden(task_loss), **settings).fit(X, y)
        compiled = [svm._make_blocks(X, y, None)[0].is_compiled for svm in (parts, hidden)]
        assert compiled == [True, False]
        np.testing.assert_allclose(parts.objective_, hidden.objective_, rtol=1e-7)
        np.testing.assert_allclose(parts.coef_, hidden.coef_, atol=2e-3)
        np.testing.assert_allclose(parts.loss(X, y), hidden.loss(X, y), rtol=1e-12)


@pytest.mark.slow
def test_a_loss_by_value_alone(rng):
    """Candidates are labelings of a word; their loss is known by its value alone."""
    truth, labelings = all_labelings(3, 2)[5], all_labelings(3, 2)
    X = [rng.normal(size=(8, 3)) for _ in range(6)]

    class OfCandidates(TaskLoss):
        def value(self, y_true, y_pred):
            return FirstMistake().value(labelings[y_true], labelings[y_pred])

    losses = [FirstMistake().value(truth, other) for other in labelings]
    assert losses[5] == 0.0
    psi = [x[5] - x for x in X]
    _, value = solve_structured_svm(psi, [np.array(losses)] * 6, np.full(6, 1 / 6), 1 / 6)
    for task_loss in (OfCandidates(), OfCandidates().value):
        for model in (EnumeratedModel(task_loss), EnumeratedModel()):
            given = "auto" if model.task_loss is task_loss else task_loss
            svm = StructuredSVM(model, task_loss=given, C=1.0, solver="bcpfw", tol=1e-7)
            svm.set_params(max_iter=20_000, random_state=0).fit(X, [5] * 6)
            np.testing.assert_allclose(svm.objective_, value, rtol=1e-6)
    with pytest.raises(TypeError, match="ChainModel trains with costs of nodes, but task_loss="):
        StructuredSVM("chain", task_loss=FirstMistake()).fit([np.eye(2)], [[0, 1]])
    with pytest.raises(TypeError, match="MatchingModel trains with costs of nodes"):
        StructuredSVM("matching", task_loss=max).fit([np.ones((1, 1, 1))], [[(0, 0)]])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: c[:-1], "node_costs of Spoiled must have one row for each of 3 nodes, got 2"),
        (lambda c: c[:, :1], "must have one column for each of 2 states, got 1"),
        (lambda c: -c, "node_costs of Spoiled must be finite and not negative"),
        (lambda c: c * np.nan, "node_costs of Spoiled must be finite and not negative"),
        (lambda c: c * 1e200, "node_costs of Spoiled has an entry of absolute value 1e"),
        (lambda c: c + 1.0, "must be zero for the true state, got 1.0 at node 0"),
        (lambda c: "costs", "node_costs of Spoiled must hold real numbers only"),
        (lambda c: NodeCosts(np.ones(3), c, np.array([0, 1, 9])), "row must hold numbers of rows"),
        (lambda c: NodeCosts(np.ones(3), c, np.arange(3), np.nan), "whole of node_costs of Spoil"),
    ],
)
def test_what_losses_of_users_return_is_checked(change, message):
    class Spoiled(TaskLoss):
        def node_costs(self, truth):
            return change(1.0 - np.eye(truth.n_states)[truth.states])

    with pytest.raises((ValueError, TypeError), match=message):
        StructuredSVM("chain", task_loss=Spoiled(), C=1.0).fit([np.eye(3)], [[0, 1, 1]])
