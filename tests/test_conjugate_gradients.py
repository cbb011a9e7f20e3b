import numpy as np

from sklearn_fw._core.conjugate_gradients import conjugate_gradients


def test_conjugate_gradients(rng):
    A = rng.normal(size=(3, 6, 6))
    H = A[0] @ A[0].T + 0.1 * np.eye(6)
    B = rng.normal(size=(3, 6))
    B[1] = 0.0
    limits = {"tol": 1e-7, "max_iter": 2000, "size": np.ones(3)}
    found, (n_iter, left, least) = conjugate_gradients(lambda V: V @ H, B, **limits)
    np.testing.assert_allclose(found, np.linalg.solve(H, B.T).T, rtol=1e-5, atol=1e-5)
    assert 6 <= n_iter <= 12
    assert left <= 1e-7
    assert least >= np.linalg.eigvalsh(H)[0] * (1 - 1e-9)
    _, (_, _, least) = conjugate_gradients(lambda V: V @ (H - 3 * np.eye(6)), B, **limits)
    assert least < 0.0


def test_systems_of_any_scale_and_size(rng):
    spread = 10.0 ** np.arange(-4, 4)
    A = rng.normal(size=(8, 8))
    H = spread[:, None] * (A @ A.T + np.eye(8)) * spread
    B = H @ rng.normal(size=(8, 2)) * [1.0, 1e6]
    scaled, (n_iter, left, _) = conjugate_gradients(
        lambda V: V @ H, B.T, tol=1e-10, max_iter=100, scale=1.0 / np.diag(H)
    )
    np.testing.assert_allclose(scaled @ H, B.T, rtol=1e-6)
    assert left <= 1e-10
    assert n_iter < 60
