"""No loop without an end: paths, line searches and systems of equations of hostile numbers."""

import signal
from contextlib import contextmanager

import numpy as np
import pytest

from sklearn_fw import AsagaClassifier, AsagaRegressor, regularization_path
from sklearn_fw.optim._incremental._finite_sum import solve_positive
from sklearn_fw.penalties import GroupLasso
from sklearn_fw.structured._path_problems import RidgePiece
from sklearn_fw.structured._solvers._base import Breakpoint

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@contextmanager
def within(seconds):
    """Fail instead of waiting for ever."""

    def stop(*_):
        raise TimeoutError(f"no end within {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4))
    return X, X @ [1.0, 2.0, 0.0, -1.0]


MISSING = {
    "None": lambda y: np.where(np.arange(30) == 3, None, y),
    "all None": lambda y: [None] * 30,
    "NaN": lambda y: np.where(np.arange(30) == 3, np.nan, y),
    "NaN among objects": lambda y: np.where(np.arange(30) == 3, np.nan, y).astype(object),
    "text": lambda y: y.astype(str),
    "dates": lambda y: y.astype("M8[s]"),
    "masked": lambda y: np.ma.masked_less(y, 0.0),
    "huge": lambda y: y * 1e200,
}


@pytest.mark.parametrize("kind", MISSING)
@pytest.mark.parametrize("solve", ["path", "fit", "partial_fit", "several targets"])
def test_missing_targets_are_refused_where_they_enter(solve, kind):
    X, y = data()
    y = MISSING[kind](y)
    model = AsagaRegressor(l1_ratio=1.0, solver="asaga")
    if solve == "several targets":
        y = np.ma.stack([y, y], axis=1) if kind == "masked" else np.stack([y, y], axis=1)
    ask = {
        "path": lambda: regularization_path(model, X, y),
        "partial_fit": lambda: model.partial_fit(X, y),
    }.get(solve, lambda: model.fit(X, y))
    with within(60), pytest.raises(ValueError, match=r"\by\b"):
        ask()


@pytest.mark.parametrize("scale", [1e-200, 1e-300, 1e-320, 0.0, 1e99])
@pytest.mark.parametrize("l1_ratio", [0.0, 0.5, 1.0])
def test_paths_of_any_scale_end(scale, l1_ratio):
    X, y = data()
    with within(100), np.errstate(all="ignore"):
        for model, target in (
            (AsagaRegressor(l1_ratio=l1_ratio, max_iter=3), y),
            (AsagaClassifier(l1_ratio=l1_ratio, max_iter=3), y > 0),
        ):
            path = regularization_path(model, X * scale, target, n_values=3)
            assert np.all(np.isfinite(path.values_)), path.values_
            assert np.all(path.values_ > 0.0)


def test_strongest_value_of_a_path_of_tiny_features():
    """The strength scales with the features, as far as they have squares."""
    X, y = data()
    model = AsagaRegressor(l1_ratio=1.0, max_iter=2)
    values = regularization_path(model, X, y, n_values=2).values_
    tiny = regularization_path(model, X * 1e-100, y, n_values=2).values_
    np.testing.assert_allclose(tiny, values * 1e-100, rtol=1e-9)


@pytest.mark.parametrize("entry", [np.nan, np.inf, -1e308])
def test_systems_without_numbers(entry):
    """LAPACK may call the matrix indefinite however much is added to its diagonal."""
    matrix = np.eye(3)
    matrix[1, 1] = entry
    matrix[0, 1] = matrix[1, 0] = np.nan
    with within(20), np.errstate(all="ignore"):
        try:
            solution = solve_positive(matrix, np.ones(3))
        except FloatingPointError:
            return
    assert not np.all(np.isfinite(solution))


def test_systems_that_stay_indefinite(monkeypatch):
    from scipy.linalg import lapack

    monkeypatch.setattr(lapack, "dposv", lambda matrix, right: (matrix, right, 1))
    with within(20), pytest.raises(FloatingPointError, match="check the scale of X"):
        solve_positive(np.eye(3), np.ones(3))


def test_pieces_without_numbers_are_not_certified():
    left = Breakpoint(1.0, np.ones(2), 1.0, 0.5, 0.1)
    right = Breakpoint(0.1, np.ones(2) * np.nan, 0.5, 0.5, 0.1)
    with within(20):
        assert not RidgePiece(left, right).is_certified(0.5)


@pytest.mark.parametrize("scale", [1e-320, 1e-200, 1e-160, 1e-100, 1.0, 1e100, 1e150])
@pytest.mark.parametrize("l1", [0.0, 0.3, 1e-300])
def test_scales_of_dual_points_end(scale, l1):
    """The largest multiple with a finite conjugate, or one that is smaller by rounding."""
    bound = GroupLasso([[0, 1], [2]], group_weights=[0.0, 1.0], l1=l1).bind(3)
    v = np.array([3.0, -4.0, 2.0]) * scale
    with within(20), np.errstate(all="ignore"):
        t = bound.dual_scale(v)
        assert 0.0 <= t <= 1.0
        assert bound.conjugate(t * v) < np.inf
