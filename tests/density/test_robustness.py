"""Hard inputs: duplicates, nearly singular kernels, many features, far points, bad parameters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import pdist
from sklearn import config_context
from sklearn.gaussian_process.kernels import Matern

from sklearn_fw import KernelStudentTDensity
from sklearn_fw.density import PolynomialKernel

RADIAL = ["rbf", "laplacian", "matern32", "matern52", "rational_quadratic"]


def assert_sound(density, X):
    variance = density.predictive_variance(X)
    scores = density.score_samples(X)
    assert np.all(np.isfinite(scores))
    assert np.all(variance >= density.sigma0**2)
    assert np.all(np.isfinite(density.leave_one_out_scores()))
    assert np.isfinite(density.offset_)


@pytest.mark.parametrize("kernel", RADIAL)
@pytest.mark.parametrize("length_scale", [1e-6, 1e6])
@pytest.mark.filterwarnings("ignore:all rows get the same score:RuntimeWarning")
def test_nearly_singular_kernels(kernel, length_scale, rng):
    X = rng.normal(size=(200, 3))
    X[50:100] = X[:50]
    density = KernelStudentTDensity(kernel, length_scale=length_scale, sigma0=1e-3).fit(X)
    assert_sound(density, np.concatenate([X, X + 1e-9, 10 * X]))


def test_noise_below_rounding_is_reported(rng):
    X = np.repeat(rng.normal(size=(100, 2)), 2, axis=0)
    with pytest.warns(RuntimeWarning, match="raise sigma0"):
        density = KernelStudentTDensity(length_scale=3.0, sigma0=1e-10).fit(X)
    assert_sound(density, X)


@pytest.mark.parametrize("kernel", RADIAL)
def test_far_points_get_the_floor(kernel, rng):
    X = rng.normal(size=(100, 4))
    density = KernelStudentTDensity(kernel, length_scale=1.0).fit(X)
    far = 1e6 * rng.normal(size=(5, 4))
    assert_sound(density, far)
    tolerance = 1e-6 if kernel == "rational_quadratic" else 1e-12
    assert_allclose(density.score_samples(far), density.log_floor_, rtol=tolerance)
    assert density.score_samples(X).min() > density.log_floor_


def test_floor_of_growing_and_unknown_kernels(rng):
    X = rng.normal(size=(30, 2))
    assert KernelStudentTDensity("linear").fit(X).log_floor_ == -np.inf
    assert np.isnan(KernelStudentTDensity(Matern()).fit(X).log_floor_)


def test_data_far_from_zero_lose_no_digits(rng):
    X, new = rng.normal(size=(60, 3)), rng.normal(size=(10, 3))
    plain = KernelStudentTDensity(length_scale=1.0).fit(X)
    shifted = KernelStudentTDensity(length_scale=1.0).fit(X + 1e6)
    assert_allclose(shifted.score_samples(new + 1e6), plain.score_samples(new), rtol=1e-6)


@pytest.mark.filterwarnings("ignore:all rows get the same score:RuntimeWarning")
def test_constant_features_and_single_rows(rng):
    X = np.column_stack([rng.normal(size=40), np.full(40, 3.0)])
    assert_sound(KernelStudentTDensity().fit(X), X)
    assert_sound(KernelStudentTDensity().fit(X[:1]), X)
    assert_sound(KernelStudentTDensity().fit(np.ones((20, 2))), X)
    assert KernelStudentTDensity().fit(np.ones((20, 2))).length_scale_ == 1.0


def test_overflow_is_refused(rng):
    X = 1e6 * rng.normal(size=(20, 100))
    with pytest.raises(ValueError, match="scale X"), np.errstate(over="ignore", invalid="ignore"):
        KernelStudentTDensity("all_subsets").fit(X)


def test_memory_stays_below_the_limit(rng):
    import tracemalloc

    X, new = rng.normal(size=(400, 3)), rng.normal(size=(20_000, 3))
    density = KernelStudentTDensity(length_scale=1.0).fit(X)
    expected = density.score_samples(new)
    with config_context(working_memory=4):
        tracemalloc.start()
        assert_allclose(density.score_samples(new), expected, rtol=1e-10)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    assert peak < 4 * 2**20 + 6 * new.nbytes  # all at once would take 64 MB for each array


def test_the_model_keeps_rows_of_its_own(rng):
    X, new = rng.normal(size=(30, 2)), rng.normal(size=(5, 2))
    density = KernelStudentTDensity().fit(X)
    scores = density.score_samples(new)
    X[:] = 0
    assert_allclose(density.score_samples(new), scores, rtol=0)


def test_length_scale_choices(rng):
    X = rng.normal(size=(100, 3))
    median = KernelStudentTDensity(length_scale="median").fit(X).length_scale_
    assert median == pytest.approx(np.median(pdist(X)))
    scaled = KernelStudentTDensity(length_scale=[1.0, 2.0, 4.0]).fit(X * [1, 2, 4])
    plain = KernelStudentTDensity(length_scale=1.0).fit(X)
    difference = scaled.score_samples(X * [1, 2, 4]) - plain.score_samples(X)
    assert_allclose(difference, -np.log(8.0), rtol=1e-9)  # the volume element


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"length_scale": [1.0, 2.0]}, "length_scale must have shape"),
        ({"jacobian": lambda X: X}, "what jacobian returns.shape =="),
        ({"kernel": lambda X, Y: X @ Y.T}, "jacobian=False"),
        (
            {"kernel": lambda X, Y: X[:, 0], "jacobian": False},
            "what kernel returns must have shape",
        ),
        ({"kernel": lambda X, Y: -(X @ Y.T), "jacobian": False}, "positive semidefinite"),
        ({"normalize": "quadrature", "support": (0, 0)}, "low < high"),
        ({"kernel": "precomputed"}, "square"),
        ({"kernel": "precomputed", "max_rank": 3}, "max_rank=3 needs rows"),
        ({"kernel": "precomputed", "jacobian": lambda X: X[:, 0]}, "jacobian=.* needs rows"),
        ({"kernel": PolynomialKernel(coef0=-1)}, "coef0"),
    ],
)
def test_bad_parameters_are_named(parameters, message, rng):
    X = rng.normal(size=(20, 3))
    with pytest.raises((ValueError, TypeError), match=message):
        KernelStudentTDensity(**parameters).fit(X)


def test_what_a_setting_cannot_do_is_said(rng):
    X = rng.normal(size=(20, 3))
    laplacian = KernelStudentTDensity("laplacian").fit(X)
    for method in ("score_gradient", "hyvarinen_score"):
        with pytest.raises(ValueError, match=method):
            getattr(laplacian, method)(X)
    with pytest.raises(ValueError, match="sample needs the kernel"):
        laplacian.sample(3)
    matrix = KernelStudentTDensity("precomputed").fit(np.eye(5) + np.diag(range(5)))
    with pytest.raises(ValueError, match="needs rows"):
        matrix.sample(3)
    with pytest.raises(ValueError, match="diag is for"):
        laplacian.score_samples(X, diag=np.ones(20))
    with pytest.raises(ValueError, match="sigma0 changed"):
        KernelStudentTDensity().fit(X).set_params(sigma0=0.5).partial_fit(X)
    with pytest.raises(ValueError, match="beta=0"):
        KernelStudentTDensity(beta=0).fit(X[:1])
