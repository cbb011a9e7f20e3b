"""Losses against formulas, differences, the Fenchel-Young inequality and asymptotes."""

import re

import numpy as np
import pytest

from sklearn_fw._kernels._jit import njit
from sklearn_fw._kernels.common import losses as kernels
from sklearn_fw.losses import (
    EpsilonInsensitive,
    Hinge,
    Huber,
    LogLoss,
    ModifiedHuber,
    MultinomialLogLoss,
    SmoothHinge,
    SquaredEpsilonInsensitive,
    SquaredError,
    SquaredHinge,
    resolve_loss,
)

pytestmark = pytest.mark.plain

MARGIN = [LogLoss(), SquaredHinge(), SmoothHinge(), SmoothHinge(gamma=0.3), ModifiedHuber()]
RESIDUAL = [SquaredError(), Huber(), Huber(delta=0.4), SquaredEpsilonInsensitive()]
KINKED = [Hinge(), EpsilonInsensitive(0.0), EpsilonInsensitive(), EpsilonInsensitive(epsilon=0.4)]
SMOOTH = MARGIN + RESIDUAL
LOSSES = SMOOTH + KINKED

# Slopes a loss can have in its margin, or in its residual.
SLOPES = {
    "LogLoss()": (-1, 0),
    "SquaredHinge()": (-np.inf, 0),
    "SmoothHinge()": (-1, 0),
    "SmoothHinge(gamma=0.3)": (-1, 0),
    "ModifiedHuber()": (-4, 0),
    "Huber()": (-1.35, 1.35),
    "Huber(delta=0.4)": (-0.4, 0.4),
    "Hinge()": (-1, 0),
    "EpsilonInsensitive(epsilon=0.0)": (-1, 1),
    "EpsilonInsensitive()": (-1, 1),
    "EpsilonInsensitive(epsilon=0.4)": (-1, 1),
}

# Plain formulas, right where nothing overflows.
FORMULAS = {
    "LogLoss()": lambda m: np.log(1 + np.exp(-m)),
    "SquaredHinge()": lambda m: max(0, 1 - m) ** 2,
    "SmoothHinge()": lambda m: 0.5 - m if m < 0 else max(0, 1 - m) ** 2 / 2,
    "SmoothHinge(gamma=0.3)": lambda m: 0.85 - m if m < 0.7 else max(0, 1 - m) ** 2 / 0.6,
    "ModifiedHuber()": lambda m: -4 * m if m < -1 else max(0, 1 - m) ** 2,
    "SquaredError()": lambda r: r**2 / 2,
    "Huber()": lambda r: r**2 / 2 if abs(r) < 1.35 else 1.35 * (abs(r) - 0.675),
    "Huber(delta=0.4)": lambda r: r**2 / 2 if abs(r) < 0.4 else 0.4 * (abs(r) - 0.2),
    "SquaredEpsilonInsensitive()": lambda r: max(0, abs(r) - 0.1) ** 2,
    "Hinge()": lambda m: max(0, 1 - m),
    "EpsilonInsensitive(epsilon=0.0)": abs,
    "EpsilonInsensitive()": lambda r: max(0, abs(r) - 0.1),
    "EpsilonInsensitive(epsilon=0.4)": lambda r: max(0, abs(r) - 0.4),
}


def targets(loss):
    return (-1.0, 1.0) if loss.task == "classification" else (-0.7, 0.5)


def scores():
    """Scores whose margins and residuals keep away from the kinks of the derivatives."""
    return 0.25 * np.arange(-16, 16) + 0.11


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_value_is_the_formula(loss):
    for y in targets(loss):
        argument = y * scores() if loss.task == "classification" else scores() - y
        expected = [FORMULAS[repr(loss)](a) for a in argument]
        np.testing.assert_allclose(loss.value(y, scores()), expected, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_derivative_is_that_of_the_value(loss):
    h = 1e-3
    for y in targets(loss):
        f = [loss.value(y, scores() + k * h) for k in (-2, -1, 1, 2)]
        expected = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h)
        np.testing.assert_allclose(loss.derivative(y, scores()), expected, rtol=0, atol=1e-10)


@njit
def prox_of(loss, y, b, t, guess):
    return kernels.prox(loss, y, b, t, guess)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_prox_is_where_the_slopes_meet(loss):
    for y in targets(loss):
        for t in (0.0, 1e-6, 0.3, 5.0, 1e8):
            for b in (-1e5, -3.0, -0.2, 0.0, 0.05, 0.9, 40.0):
                for guess in (b, 0.0, -1e3):
                    x = prox_of(loss._formula(), y, b, t, guess)
                    near = 1e-11 * (1.0 + abs(b))
                    below, above = (z + t * loss.derivative(y, z) - b for z in (x - near, x + near))
                    assert below < 0.0 < above


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_smoothness_is_the_largest_second_derivative(loss):
    z = np.linspace(-4, 4, 80001)
    for y in targets(loss):
        second = np.diff(loss.derivative(y, z)) / np.diff(z)
        assert second.min() >= -1e-9
        assert second.max() == pytest.approx(loss.smoothness, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_fenchel_young(loss, rng):
    # Equality at the slopes, and no score above: the conjugate is the supremum.
    z = rng.uniform(-4, 4, size=50)
    for y in targets(loss):
        s = loss.derivative(y, z)
        gap = loss.value(y, z)[:, None] + loss.conjugate(y, s)[None, :] - np.outer(z, s)
        assert gap.min() >= -1e-12
        np.testing.assert_allclose(np.diag(gap), 0.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_conjugate_is_finite_on_the_slopes(loss):
    low, high = SLOPES.get(repr(loss), (-np.inf, np.inf))
    for y in targets(loss):
        sign = y if loss.task == "classification" else 1.0
        for edge, outwards in ((low, -1), (high, 1)):
            if np.isinf(edge):
                assert np.isfinite(loss.conjugate(y, sign * outwards * 1e3))
                continue
            outside = edge + outwards * 1e-6
            assert np.isfinite(loss.conjugate(y, sign * edge))
            assert np.isfinite(loss.conjugate(y, sign * (edge + outwards * 3e-13)))
            assert np.isinf(loss.conjugate(y, sign * outside))
            # Why: the supremum is not attained, far scores do better and better.
            z = sign * outwards * np.array([1e8, 1e9])
            assert np.all(np.diff(sign * outside * z - loss.value(y, z)) > 100)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_far_scores(loss):
    z = np.array([-1e4, 1e4])
    for y in targets(loss):
        value, slope = loss.value(y, z), loss.derivative(y, z)
        assert np.all(np.isfinite(value))
        argument = y * z if loss.task == "classification" else z - y
        if not isinstance(loss, LogLoss):
            expected = [FORMULAS[repr(loss)](a) for a in argument]
            np.testing.assert_allclose(value, expected, rtol=1e-12, atol=0)
        else:
            np.testing.assert_array_equal(np.sort(value), [0.0, 1e4])
            np.testing.assert_array_equal(np.sort(abs(slope)), [0.0, 1.0])
    assert LogLoss().derivative(1, 700.0) == pytest.approx(-np.exp(-700), rel=1e-12)


@njit
def scalar_calls(loss, y, z):
    out = np.empty((3, z.size))
    for i in range(z.size):
        out[0, i] = kernels.value(loss, y[i], z[i])
        out[1, i] = kernels.derivative(loss, y[i], z[i])
        out[2, i] = kernels.conjugate(loss.code, loss.param, y[i], out[1, i])
    return out


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_compiled_scalars_equal_arrays(loss, rng):
    z = rng.normal(scale=3, size=40)
    y = rng.choice(targets(loss), size=40)
    value, slope, conjugate = scalar_calls(loss._formula(), y, z)
    np.testing.assert_array_equal(value, loss.value(y, z))
    np.testing.assert_array_equal(slope, loss.derivative(y, z))
    np.testing.assert_array_equal(conjugate, loss.conjugate(y, slope))


def test_shapes_and_broadcasting():
    loss = SquaredError()
    assert loss.value(1.0, 3.0) == 2.0
    assert np.isscalar(loss.value(1.0, 3.0))
    assert loss.value([[0.0], [1.0]], 2.0).shape == (2, 1)
    with pytest.raises(ValueError, match=r"y has shape .* one truth per number"):
        loss.value([[0.0], [1.0]], [1.0, 2.0, 3.0])
    assert loss.derivative([], []).shape == (0,)
    z = np.arange(8.0)[::2]
    z.flags.writeable = False
    np.testing.assert_array_equal(loss.derivative(np.float32(1), z), [-1, 1, 3, 5])


# --- several classes ------------------------------------------------------------------

SOFTMAX = MultinomialLogLoss()


def test_softmax_derivative(rng):
    h = 1e-3
    z = rng.normal(scale=2, size=(6, 4))
    y = np.array([0, 1, 2, 3, 0, 1])
    for k in range(4):
        step = h * np.eye(4)[k]
        f = [SOFTMAX.value(y, z + j * step) for j in (-2, -1, 1, 2)]
        expected = (f[0] - 8 * f[1] + 8 * f[2] - f[3]) / (12 * h)
        np.testing.assert_allclose(SOFTMAX.derivative(y, z)[:, k], expected, rtol=0, atol=1e-10)
    plain = np.log(np.exp(z).sum(axis=1)) - z[np.arange(6), y]
    np.testing.assert_allclose(SOFTMAX.value(y, z), plain, rtol=1e-13, atol=0)


def test_softmax_conjugate(rng):
    z = rng.normal(size=(20, 3))
    y = rng.integers(3, size=20)
    s = SOFTMAX.derivative(y, z)
    conjugate = SOFTMAX.conjugate(y, s)
    equality = SOFTMAX.value(y, z) + conjugate - np.sum(s * z, axis=1)
    np.testing.assert_allclose(equality, 0.0, rtol=0, atol=1e-13)
    far = SOFTMAX.value(y, z[::-1]) + conjugate - np.sum(s * z[::-1], axis=1)
    assert far.min() >= -1e-13


def test_softmax_conjugate_outside():
    assert SOFTMAX.conjugate(0, [-1.0, 1.0, 0.0]) == 0.0
    assert SOFTMAX.conjugate(0, [-1.0 - 3e-13, 1.0, 3e-13]) == pytest.approx(0, abs=1e-10)
    for slope in ([-1.1, 1.1, 0.0], [-0.5, 0.6, -0.1], [-0.5, 0.6, 0.0], [0.5, 0.0, 0.0]):
        assert SOFTMAX.conjugate(0, slope) == np.inf


def test_softmax_far_scores():
    z = np.array([[1e4, 0.0, -1e4], [1e4, 0.0, -1e4]])
    np.testing.assert_array_equal(SOFTMAX.value([0, 2], z), [0.0, 2e4])
    np.testing.assert_array_equal(SOFTMAX.derivative([0, 2], z), [[0, 0, 0], [1, 0, -1]])
    # Scores that classify well leave derivatives with all their digits.
    slope = SOFTMAX.derivative(0, [40.0, 0.0, 0.0])
    np.testing.assert_allclose(slope, np.exp(-40) * np.array([-2, 1, 1]), rtol=1e-14)
    assert SOFTMAX.value(0, [40.0, 0.0, 0.0]) == pytest.approx(2 * np.exp(-40), rel=1e-14)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0, 3], "y must hold indices of classes, integers from 0 to 2"),
        ([0, -1], "integers from 0 to 2"),
        ([0, 0.5], "integers from 0 to 2"),
        ([0], r"y has shape (1,), expected (2,): one per row of z"),
    ],
)
def test_softmax_refuses_what_is_no_class(y, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        SOFTMAX.value(y, np.zeros((2, 3)))


# --- names ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("loss", "task", "message"),
    [
        ("hunge", "classification", "loss must be one of 'log_loss', 'multinomial', 'hinge', 'sq"),
        ("huber", "classification", "loss='huber' is for regression; for classification choose"),
        ("log_loss", "regression", "choose one of 'squared_error', 'huber', 'squared_epsilon"),
        (SquaredError(), "classification", "loss=SquaredError() is for regression"),
        (LogLoss, "classification", "an object of sklearn_fw.losses such as ModifiedHuber()"),
        (None, "regression", "loss must be one of 'squared_error', 'huber'"),
    ],
)
def test_errors_name_parameter_and_remedy(loss, task, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        resolve_loss(loss, task)


@pytest.mark.parametrize("loss", KINKED, ids=repr)
def test_kinks_are_refused_where_losses_must_be_smooth(loss):
    assert resolve_loss(loss, None) is loss
    with pytest.raises(
        ValueError, match=r"is not smooth; choose one of .*'(squared_)?h(inge|uber)'"
    ):
        resolve_loss(loss, loss.task, smooth=True)
