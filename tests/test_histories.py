"""Every iterative method reports its way under the same names; numbers agree with the answer."""

import numpy as np
import pytest

from _histories import BOTH, CASES, history_of, learning, made

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.mark.parametrize("case", CASES)
def test_columns(case):
    expected, history = CASES[case][1], history_of(made(case))
    assert set(history) == expected
    assert all(isinstance(values, np.ndarray) for values in history.values())
    assert len({values.shape for values in history.values()}) <= 1
    for output in np.unique(history.get("output", [0.0])):
        rows = np.s_[:] if "output" not in history else history["output"] == output
        for name, least in (("n_iter", 0), ("time", 0.0), ("n_oracle_calls", 0)):
            values = history[name][rows] if name in history else np.zeros(0)
            assert np.all(np.diff(values) >= least), name
            assert np.all(values >= 0)
    if expected >= BOTH:
        distance = np.abs(history["objective"] - history["dual_objective"])
        np.testing.assert_allclose(distance, np.abs(history["dual_gap"]), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("case", [c for c, (_, columns) in CASES.items() if columns])
def test_last_row_is_the_answer(case):
    fitted = made(case)
    history, answer = history_of(fitted), vars(fitted) if hasattr(fitted, "fit") else fitted
    end = "_" if hasattr(fitted, "fit") else ""
    for column, name in (
        ("dual_gap", "dual_gap"), ("n_oracle_calls", "n_oracle_calls"), ("objective", "objective"),
        ("n_iter", "n_iter" if end else "nit"), ("n_iter", "n_iter"),
    ):  # fmt: skip
        several = column == "objective" and "output" in history
        if name + end in answer and column in history and not several:
            last = history[column][-1]
            if case == "saddle" and column != "n_oracle_calls":  # the best point, not the last
                assert answer[name + end] <= last
            elif "output" in history:
                lasts = np.flatnonzero(np.diff(history["output"], append=-1))
                assert answer[name + end] == history[column][lasts].max()
            else:
                assert answer[name + end] == pytest.approx(last, rel=1e-12), column


def test_learning_never_gets_worse():
    history = learning().history
    assert np.all(np.diff(history["objective"]) >= -1e-12)
    assert np.isnan(history["gain"][0])
    gains = np.diff(history["log_likelihood"])[1:]  # the first tables are of different rows
    np.testing.assert_allclose(gains, history["gain"][2:], atol=1e-12)
