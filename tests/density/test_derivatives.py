"""Volume elements, gradients and Hyvarinen scores against differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from _density_referees import differences, finite_difference_volume
from sklearn_fw import KernelStudentTDensity
from sklearn_fw.density._kernels import RADIAL, AllSubsetsKernel, DotKernel, RadialKernel

SMOOTH = ["rbf", "matern32", "matern52", "rational_quadratic", "linear", "polynomial"]


@pytest.mark.parametrize("name", [name for name in RADIAL if name != "laplacian"])
def test_volume_of_radial_kernels(name):
    scale = np.array([0.7, 1.5, 2.0])
    kernel = RadialKernel(name, scale, np.zeros(3))
    x = np.array([0.3, -0.4, 0.9])
    # The third derivative of matern32 jumps at zero, so its differences converge slowly.
    tolerance = 5e-3 if name == "matern32" else 1e-4
    expected = finite_difference_volume(kernel, x)
    assert_allclose(kernel.log_volume(x[None])[0], expected, atol=tolerance)


@pytest.mark.parametrize(
    "kernel", [DotKernel(1, 1.0, 0.0), DotKernel(3, 0.4, 1.5), DotKernel(2, 1.0, 0.0),
               AllSubsetsKernel()],
)  # fmt: skip
@pytest.mark.parametrize("d", [1, 2, 4])
def test_volume_of_other_kernels(kernel, d, rng):
    for x in rng.normal(size=(3, d)):
        expected = finite_difference_volume(kernel, x)
        assert_allclose(kernel.log_volume(x[None])[0], expected, atol=1e-5)


def test_volume_of_the_parabola():
    # Features (x, x^2), the toy of the paper: k = x y + x^2 y^2 and 1/2 log(1 + 4 x^2).
    X = np.linspace(-1, 1, 5)[:, None]
    kernel = lambda X, Y: X @ Y.T + (X @ Y.T) ** 2  # noqa: E731
    volume = lambda X: 0.5 * np.log1p(4 * X[:, 0] ** 2)  # noqa: E731
    assert_allclose([finite_difference_volume(kernel, x) for x in X], volume(X), atol=1e-6)
    with_volume = KernelStudentTDensity(kernel, jacobian=volume).fit(X)
    without = KernelStudentTDensity(kernel, jacobian=False).fit(X)
    assert_allclose(with_volume.score_samples(X) - without.score_samples(X), volume(X), atol=1e-12)
    assert np.isfinite(with_volume.offset_)


@pytest.mark.parametrize("formula", ["exact", "published"])
@pytest.mark.parametrize("kernel", SMOOTH)
def test_derivatives_are_those_of_the_score(kernel, formula, rng):
    X, new = rng.normal(size=(25, 3)), rng.normal(size=(6, 3))
    scale = np.array([1.0, 1.4, 2.0])
    density = KernelStudentTDensity(
        kernel, length_scale=scale, beta=0.5, sigma0=0.5, formula=formula
    ).fit(X)
    gradient, laplacian = differences(density.score_samples, new)
    assert_allclose(density.score_gradient(new), gradient, rtol=1e-5, atol=1e-6)
    hyvarinen = 0.5 * (gradient**2).sum(axis=1) + laplacian
    assert_allclose(density.hyvarinen_score(new), hyvarinen, rtol=1e-3, atol=1e-3)


def test_hyvarinen_score_prefers_two_modes_to_one_and_to_many(rng):
    def draw(n):
        return rng.choice([-2.0, 2.0], size=(n, 1)) + 0.5 * rng.normal(size=(n, 1))

    X, new = draw(150), draw(150)
    mean = {
        scale: KernelStudentTDensity(length_scale=scale).fit(X).hyvarinen_score(new).mean()
        for scale in (0.3, 10.0, 100.0)
    }
    assert min(mean, key=mean.get) == 10.0
