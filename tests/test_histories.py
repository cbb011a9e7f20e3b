"""Every iterative method reports its way under the same names; numbers agree with the answer."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from sklearn_fw.datasets import make_ising_clique
from sklearn_fw.linear_model import AsagaClassifier, AsagaRegressor
from sklearn_fw.optim import domains, minimize_saga, solve_matrix_game, solve_saddle_point
from sklearn_fw.random_fields import (
    LoopyBPMarginals,
    MeanFieldMarginals,
    MRFLearner,
    PerturbAndMAPMarginals,
    TRBPMarginals,
    TRWMarginals,
)
from sklearn_fw.structured import Extragradient, StructuredSVM

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

WALK = {"n_iter", "time"}
BOTH = {"objective", "dual_objective", "dual_gap"}


def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 3))
    return X, X @ [1.0, -1.0, 0.5] + 0.3 * rng.normal(size=40)


def svm(**options):
    words = [np.eye(3)[[0, 1, 2]], np.eye(3)[[2, 0]], np.eye(3)[[1, 1, 0, 2]]]
    labels = [[0, 1, 1], [1, 0], [1, 1, 0, 0]]
    return StructuredSVM(random_state=0, **{"max_iter": 30, "tol": 1e-3, **options}).fit(
        words, labels
    )


def linear(estimator, n_classes=None):
    X, y = table()
    return estimator.fit(X, y if n_classes is None else np.digitize(y, [0.0, 1.0][: n_classes - 1]))


def marginals(estimator):
    return estimator.fit(make_ising_clique(5, coupling=1.0, random_state=0))


def learning():
    X = np.random.default_rng(0).integers(0, 2, (40, 3)).astype(float)
    X[::5, 1] = np.nan
    return OptimizeResult(history=MRFLearner().learn(X).history)


def saddle(variant):
    def function(x, y):
        return x @ y + 0.5 * (x @ x - y @ y), y + x, x - y

    square = domains.Box(-1.0, 2.0, size=2)
    return solve_saddle_point(function, square, square, variant=variant, max_iter=20)


# {case: (what gives a fitted estimator or a result, its columns)}
CASES = {
    "svm": (partial(svm), WALK | BOTH | {"n_oracle_calls", "estimated_gap"}),
    "pairwise": (partial(svm, solver="bcpfw"), WALK | BOTH | {"n_oracle_calls", "estimated_gap"}),
    "batch": (partial(svm, solver="fw"), WALK | BOTH | {"n_oracle_calls", "estimated_gap"}),
    "saddle svm": (partial(svm, solver="sp_fw"), WALK | BOTH | {"n_oracle_calls", "estimated_gap"}),
    "extragradient": (
        partial(svm, solver=Extragradient(gap_check=5)),
        WALK | BOTH
        | {"n_oracle_calls", "estimated_gap", "step_size", "restricted_gap", "bound"},
    ),
    "perceptron": (partial(svm, solver="perceptron"), WALK | {"n_oracle_calls", "objective"}),
    "classifier": (
        lambda: linear(AsagaClassifier(random_state=0), 2), WALK | BOTH | {"certified"}
    ),
    "one against rest": (
        lambda: linear(AsagaClassifier(multi_class="ovr", random_state=0), 3),
        WALK | BOTH | {"certified", "output"},
    ),
    "regressor": (lambda: linear(AsagaRegressor(random_state=0)), WALK | BOTH | {"certified"}),
    "no dual": (
        lambda: linear(AsagaRegressor(alpha=0.0, solver="asaga", random_state=0)),
        WALK | {"objective", "gradient_mapping", "suboptimality", "certified"},
    ),
    "trw": (
        lambda: marginals(TRWMarginals("elimination", n_rho_iter=2, tol=0.01)),
        WALK | BOTH
        | {
            "n_oracle_calls", "rho_iter", "estimated_gap", "log_partition_upper", "delta",
            "n_vertices",
        },
    ),
    "exact": (lambda: marginals(TRWMarginals()), set()),
    "trbp": (lambda: marginals(TRBPMarginals(n_rho_iter=3)), WALK | BOTH | {"rho_iter", "slack"}),
    "loopy": (lambda: marginals(LoopyBPMarginals()), WALK | {"slack", "objective"}),
    "mean field": (
        lambda: marginals(MeanFieldMarginals(n_init=2, random_state=0)),
        WALK | {"start", "change", "objective"},
    ),
    "perturbed": (
        lambda: marginals(PerturbAndMAPMarginals(random_state=0)),
        {"n_iter", "n_oracle_calls", "objective"},
    ),
    "learning": (learning, WALK | {"objective", "log_likelihood", "gain"}),
    "saddle": (
        lambda: saddle("fw"),
        WALK | {"n_oracle_calls", "objective", "dual_gap", "gap_x", "gap_y", "step_size"},
    ),
    "game": (
        lambda: solve_matrix_game(np.eye(3), max_iter=30, tol=0.0),
        WALK | BOTH | {"lower", "upper"},
    ),
    "saga": (
        lambda: minimize_saga(*table(), loss="squared_error", alpha=0.1, random_state=0),
        WALK | BOTH | {"certified"},
    ),
}  # fmt: skip


def history_of(fitted):
    return fitted.history_ if hasattr(fitted, "history_") else fitted.history


@pytest.mark.parametrize("case", CASES)
def test_columns(case):
    make, expected = CASES[case]
    fitted = make()
    history = history_of(fitted)
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
    fitted = CASES[case][0]()
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
