"""The same scores on arrays of other libraries, on their device."""

import os

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import config_context

from sklearn_fw import KernelStudentTDensity

KERNELS = ["rbf", "laplacian", "matern32", "matern52", "rational_quadratic", "linear",
           "polynomial", "all_subsets"]  # fmt: skip


DEVICES = [
    ("array_api_strict", "cpu"), ("torch", "cpu"), ("torch", "cuda"), ("cupy", "cuda"),
]  # fmt: skip


@pytest.fixture
def to_device(dispatch, extra):
    """Function that copies a NumPy array to a device as an array of another library."""

    def copy(array, name, device):
        if name == "cupy":
            cupy = pytest.importorskip("cupy", reason="this machine lacks CuPy")
            return cupy.asarray(array)
        if name == "array_api_strict":
            return extra("test-extras", name).asarray(array)
        torch = extra("torch", name)
        if device == "cuda" and not torch.cuda.is_available():
            pytest.skip("this machine lacks a CUDA device")
        return torch.asarray(array, device=device)

    return copy


def to_host(array, name):
    if name == "torch":
        return array.detach().cpu().numpy()
    return array.get() if name == "cupy" else np.asarray(array)


@pytest.fixture
def dispatch():
    # SciPy reads the variable when it is imported, and scikit-learn wants it for dispatch.
    if os.environ.get("SCIPY_ARRAY_API") != "1":
        pytest.skip("needs the environment variable SCIPY_ARRAY_API=1")
    with config_context(array_api_dispatch=True):
        yield


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("name, device", DEVICES)
def test_scores_are_those_of_numpy(name, device, kernel, to_device, rng):
    X, new = rng.normal(size=(40, 3)), rng.normal(size=(11, 3))
    weight = rng.integers(0, 3, size=40)
    make = {"kernel": kernel, "sigma0": 0.3}
    with config_context(array_api_dispatch=False):
        expected = KernelStudentTDensity(**make).fit(X, sample_weight=weight)
    there, new_there = to_device(X, name, device), to_device(new, name, device)
    density = KernelStudentTDensity(**make).fit(there, sample_weight=weight)
    assert type(density.X_fit_) is type(there)
    assert density.length_scale_ == expected.length_scale_
    assert density.offset_ == pytest.approx(expected.offset_, rel=1e-8)
    assert density.score(new_there) == pytest.approx(expected.score(new), rel=1e-8)
    for method in ("score_samples", "predictive_variance", "decision_function", "predict"):
        found = getattr(density, method)(new_there)
        assert type(found) is type(there)
        assert getattr(found, "device", None) == getattr(there, "device", None)
        assert_allclose(to_host(found, name), getattr(expected, method)(new), rtol=1e-8)
    assert_allclose(
        to_host(density.leave_one_out_scores(), name), expected.leave_one_out_scores(), rtol=1e-8
    )
    with pytest.raises(ValueError, match="must use the same namespace"):
        density.predict(new)
    with pytest.raises(ValueError, match="NumPy"):
        density.sample(3)


@pytest.mark.parametrize("name, device", DEVICES)
def test_single_precision_is_computed_in_double(name, device, to_device, rng):
    X = rng.normal(size=(30, 2)).astype(np.float32)
    expected = KernelStudentTDensity(length_scale=1.0).fit(X).score_samples(X)
    there = to_device(X, name, device)
    scores = KernelStudentTDensity(length_scale=1.0).fit(there).score_samples(there)
    assert_allclose(to_host(scores, name), expected, rtol=1e-10)


@pytest.mark.parametrize("parameters", [{"max_rank": 3}, {"normalize": "importance"},
                                        {"kernel": lambda X, Y: X @ Y.T}])  # fmt: skip
def test_what_needs_numpy_says_so(parameters, to_device, rng):
    X = to_device(rng.normal(size=(10, 2)), "torch", "cpu")
    with pytest.raises(ValueError, match="named kernel"):
        KernelStudentTDensity(**parameters).fit(X)
