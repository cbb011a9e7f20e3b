"""The contract of estimators, for those that need PyTorch."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from _interruptions import assert_all_or_nothing
from _registry import WITH_TORCH
from sklearn_fw.utils import check_structured_estimator
from test_docstrings import attribute_faults

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning"),
    pytest.mark.parametrize("case", WITH_TORCH, ids=str),
]


def test_structured_checks(case, extra):
    extra("torch", "torch")
    X, y = case.data()
    results = check_structured_estimator(case.make(), X, y, skip=case.skip)
    passed = {name for name, result in results.items() if result == "passed"}
    assert passed >= {"clone", "pickle", "grid_search", "fit_is_repeatable", "read_only_data"}


def test_attributes_and_history_after_fit(case, extra):
    extra("torch", "torch")
    model = case.make().fit(*case.data())
    assert attribute_faults(model, case.absent) == ([], [])
    history = model.history_
    assert set(history) == {
        "n_iter", "time", "objective", "n_rollouts", "validation_loss", "patience",
    }  # fmt: skip
    assert len({values.shape for values in history.values()}) == 1
    assert history["n_iter"][-1] == model.n_iter_
    assert history["n_rollouts"][-1] == model.n_rollouts_
    assert history["validation_loss"].min() >= model.validation_loss_
    assert np.all(np.diff(history["time"]) >= 0)


def test_an_interrupted_fit_changes_nothing(case, extra):
    extra("torch", "torch")
    X, y = case.data()
    for name in ("fit", "partial_fit"):
        assert_all_or_nothing(lambda model, name=name: getattr(model, name)(X, y), case.make())
