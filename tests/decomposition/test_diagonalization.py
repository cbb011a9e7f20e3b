"""Joint diagonalization against exact cases, eigenvectors and searches on grids."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from sklearn.exceptions import ConvergenceWarning

from sklearn_fw._kernels.moments import jacobi as kernels
from sklearn_fw.decomposition import joint_diagonalize, tensor_power_method

SHEARS = ["normality", "jdtm", "shrt", "just"]


def similar(rng, size, n=8):
    basis = rng.normal(size=(size, size))
    basis /= np.linalg.norm(basis, axis=0)
    matrices = [basis @ np.diag(rng.normal(size=size)) @ np.linalg.inv(basis) for _ in range(n)]
    return basis, np.array(matrices)


def is_basis(found, true, atol):
    """Equal up to the order and the lengths of columns."""
    shares = np.abs(np.linalg.solve(true, found))
    shares /= shares.max(axis=0)
    np.testing.assert_allclose(np.sort(shares, axis=0)[:-1], 0.0, atol=atol)
    assert len(set(shares.argmax(axis=0))) == len(true)


@pytest.mark.slow
@pytest.mark.parametrize("size", [2, 5, 20])
@pytest.mark.parametrize("shear", SHEARS)
def test_exact_similarity(shear, size, rng):
    basis, matrices = similar(rng, size)
    result = joint_diagonalize(matrices, shear=shear)
    assert result.off_diagonality < 1e-20
    assert result.n_iter <= 15
    is_basis(result.basis, basis, 1e-9)
    turned = np.linalg.solve(result.basis, matrices) @ result.basis
    np.testing.assert_allclose(np.einsum("pii->pi", turned), result.diagonals, rtol=1e-8, atol=1e-8)


def test_sum_of_squares_falls_to_that_of_eigenvalues(rng):
    _, matrices = similar(rng, 6)
    turned, basis = np.ascontiguousarray(matrices.transpose(1, 2, 0)), np.eye(6)
    sums = [np.sum(turned**2)]
    for _ in range(8):
        kernels.jacobi_sweep(turned, basis, kernels.NORMALITY)
        sums.append(np.sum(turned**2))
    assert np.all(np.diff(sums) <= 1e-9 * sums[0])
    eigenvalues = np.sum(np.linalg.eigvals(matrices).real ** 2)
    assert sums[-1] == pytest.approx(eigenvalues, rel=1e-9)


@pytest.mark.parametrize("shear", SHEARS)
def test_exact_rotations(shear, rng):
    """Symmetric matrices need no shears."""
    basis = np.linalg.qr(rng.normal(size=(6, 6)))[0]
    matrices = np.array([basis @ np.diag(rng.normal(size=6)) @ basis.T for _ in range(5)])
    matrices = (matrices + matrices.transpose(0, 2, 1)) / 2
    result = joint_diagonalize(matrices)
    assert result.off_diagonality < 1e-20
    assert result.n_iter <= 10
    np.testing.assert_allclose(result.basis.T @ result.basis, np.eye(6), rtol=0, atol=1e-12)
    is_basis(result.basis, basis, 1e-9)
    other = joint_diagonalize(matrices, shear=shear)
    np.testing.assert_allclose(other.basis, result.basis, rtol=0, atol=1e-9)


def test_turns_are_the_best_ones(rng):
    matrices = rng.normal(size=(4, 4, 7))

    def sheared(y):
        turn = np.eye(4)
        turn[np.ix_([1, 2], [1, 2])] = [[np.cosh(y), np.sinh(y)], [np.sinh(y), np.cosh(y)]]
        return np.einsum("ai,ijn,jb->abn", np.linalg.inv(turn), matrices, turn)

    def rotated(start, theta):
        turn = np.eye(4)
        c, s = np.cos(theta), np.sin(theta)
        turn[np.ix_([1, 2], [1, 2])] = [[c, -s], [s, c]]
        return np.einsum("ia,ijn,jb->abn", turn, start, turn)

    def beside(values):
        return np.sum(values**2) - np.sum(np.einsum("iin->in", values) ** 2)

    best = minimize_scalar(lambda y: np.sum(sheared(y) ** 2), bounds=(-3, 3), method="bounded",
                           options={"xatol": 1e-10})  # fmt: skip
    y = kernels.best_shear(matrices, 1, 2, kernels.NORMALITY)
    assert y == pytest.approx(best.x, abs=1e-6)
    best = minimize_scalar(lambda y: beside(sheared(y)), bounds=(-3, 3), method="bounded",
                           options={"xatol": 1e-10})  # fmt: skip
    assert kernels.best_shear(matrices, 1, 2, kernels.JUST) == pytest.approx(best.x, abs=1e-6)
    for shear in (0.0, y):
        start = sheared(shear)
        angles = np.linspace(-np.pi / 4, np.pi / 4, 20_001)
        left = [start[1, 2], start[2, 1], start[1, 1], start[2, 2]]
        values = [
            np.sum((c * s * (left[3] - left[2]) + c * c * left[0] - s * s * left[1]) ** 2
                   + (c * s * (left[3] - left[2]) + c * c * left[1] - s * s * left[0]) ** 2)
            for c, s in zip(np.cos(angles), np.sin(angles))
        ]  # fmt: skip
        theta = kernels.best_rotation(matrices, 1, 2, shear)
        assert beside(rotated(start, theta)) <= beside(rotated(start, 0.0)) + 1e-12
        assert theta == pytest.approx(angles[np.argmin(values)], abs=1e-4)


def test_power_method(rng):
    basis = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    values = np.array([5.0, 4.0, 3.0, 2.0, 1.0])
    tensor = np.einsum("k,ak,bk,ck->abc", values, basis, basis, basis)
    found, weights, n_iter = tensor_power_method(tensor, tol=1e-12, random_state=0)
    np.testing.assert_allclose(np.sort(weights)[::-1], values, rtol=1e-9)
    np.testing.assert_allclose(
        np.abs(basis.T @ found)[:, np.argsort(-weights)], np.eye(5), rtol=0, atol=1e-8
    )
    assert n_iter > 0


def test_refusals(rng):
    with pytest.raises(ValueError, match="matrices must be symmetric"):
        joint_diagonalize(rng.normal(size=(2, 3, 3)))
    with pytest.raises(ValueError, match=r"matrices must have shape \(P, K, K\)"):
        joint_diagonalize(np.eye(3))
    with pytest.raises(ValueError, match="shear must be one of"):
        joint_diagonalize(np.eye(3)[None], shear="none")
    with pytest.raises(ValueError, match=r"tensor must have shape \(K, K, K\)"):
        tensor_power_method(np.ones((2, 2, 3)))
    with pytest.warns(ConvergenceWarning, match="raise max_iter"):
        joint_diagonalize(similar(rng, 8)[1], shear="jdtm", max_iter=1)
