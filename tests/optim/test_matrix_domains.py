"""Sets of matrices: answers against full decompositions, and bounds that hold."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_fw.optim.domains import NuclearNormBall, Spectrahedron
from sklearn_fw.optim.domains._sets import domain_of
from sklearn_fw.optim.domains._spectral import largest_eigenpair

EPS = np.finfo(float).eps


def lowest(domain, gradient):
    """What no point falls below, by the full decomposition."""
    matrix = gradient.reshape(domain.shape)
    if isinstance(domain, NuclearNormBall):
        return -domain.radius * np.linalg.svd(matrix, compute_uv=False)[0]
    least = np.linalg.eigvalsh(0.5 * (matrix + matrix.T))[0]
    return domain.radius * (least if domain.fixed_trace else min(least, 0.0))


def matrices(rng, domain):
    """Generic ones, ties, low rank, zeros, and very large and small ones."""
    for _ in range(4):
        yield rng.standard_normal(domain.size)
        yield rng.integers(-1, 2, domain.size).astype(float)
        left, right = rng.standard_normal(domain.shape[0]), rng.standard_normal(domain.shape[1])
        yield np.outer(left, right).ravel()
    yield np.zeros(domain.size)
    yield np.eye(*domain.shape).ravel()
    yield 1e-200 * rng.standard_normal(domain.size)
    yield 1e200 * rng.standard_normal(domain.size)


DOMAINS = [
    NuclearNormBall((3, 5), radius=2.0),
    NuclearNormBall((7, 4)),
    NuclearNormBall((1, 3)),
    NuclearNormBall((1, 1), radius=0.5),
    NuclearNormBall((30, 40)),
    Spectrahedron(1),
    Spectrahedron(4, radius=3.0),
    Spectrahedron(4, fixed_trace=False),
    Spectrahedron(40, radius=0.1),
]
EACH = pytest.mark.parametrize("domain", DOMAINS, ids=lambda d: f"{d!r} {d.radius}")


@EACH
def test_answers_and_bounds(domain, rng):
    for gradient in matrices(rng, domain):
        best, size = lowest(domain, gradient), np.abs(gradient).max() * domain.radius
        for accuracy in (None, 0.0, 1e-3 * size):
            atom = domain.lmo(gradient, accuracy=accuracy)
            value = gradient @ atom.to_array()
            slack = 1e-12 * size * domain.shape[0]
            assert domain.contains(atom.to_array(), tol=1e-12 * domain.radius)
            assert value >= best - slack
            assert atom.dot(gradient) == pytest.approx(value, rel=1e-12, abs=slack)
            if atom.bound is None:  # of zeros
                assert not gradient.any()
                continue
            assert atom.value == pytest.approx(value, rel=1e-12, abs=slack)
            assert atom.bound <= best + 4 * EPS * abs(best)
            if accuracy is not None:
                assert atom.bound >= value - accuracy - slack
                assert value <= best + accuracy + slack


@EACH
def test_projection_is_the_nearest_point(domain, rng):
    for x in rng.normal(scale=2.0, size=(10, domain.size)):
        nearest = domain.project(x)
        assert domain.contains(nearest, tol=1e-9)
        # No point of the set lies further in the direction of x.
        assert (nearest - x) @ nearest <= lowest(domain, nearest - x) + 1e-9
    inside = 0.5 * (domain.start().to_array() + domain.lmo(np.ones(domain.size)).to_array())
    np.testing.assert_allclose(domain.project(inside), inside, rtol=0, atol=1e-12)
    assert not domain.contains(3.0 * nearest + 1e-3 * domain.radius)


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_short_ways_to_say_what_a_ball_holds(rank, rng):
    for _ in range(20):
        matrix = rng.normal(size=(6, rank)) @ rng.normal(size=(rank, 4))
        radius = np.linalg.norm(matrix, "nuc")
        assert NuclearNormBall((6, 4), radius * (1 + 1e-9)).contains(matrix.ravel(), tol=0.0)
        assert not NuclearNormBall((6, 4), radius * (1 - 1e-9)).contains(matrix.ravel(), tol=0.0)
    assert NuclearNormBall((6, 4)).contains(np.zeros(24), tol=0.0)


def test_spectrahedra_hold_semidefinite_matrices():
    fixed, free = Spectrahedron(2), Spectrahedron(2, fixed_trace=False)
    for matrix, in_fixed, in_free in [
        ([[0.5, 0.5], [0.5, 0.5]], True, True),
        ([[0.5, 0.6], [0.6, 0.5]], False, False),
        ([[0.3, 0.1], [0.1, 0.3]], False, True),
        ([[0.0, 0.0], [0.0, 0.0]], False, True),
        ([[0.5, 0.1], [0.0, 0.5]], False, False),  # not symmetric
    ]:
        assert fixed.contains(np.ravel(matrix)) == in_fixed
        assert free.contains(np.ravel(matrix)) == in_free
    assert free.lmo(np.eye(2).ravel()).to_array().tolist() == [0, 0, 0, 0]
    assert free.start().to_array().tolist() == [0, 0, 0, 0]
    assert fixed.start().to_array().tolist() == [1, 0, 0, 0]


def completion(rng, shape=(200, 100), n_entries=2000):
    """A gradient of matrix completion: residuals at some places."""
    places = np.sort(rng.choice(shape[0] * shape[1], n_entries, replace=False))
    rows, columns = np.divmod(places, shape[1])
    low = rng.standard_normal((shape[0], 3)) @ rng.standard_normal((3, shape[1]))
    values = low[rows, columns] + rng.standard_normal(n_entries)
    return sp.csr_array((values, (rows, columns)), shape=shape)


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
def test_sparse_gradients(form, rng):
    matrix = completion(rng).asformat(form)
    dense = matrix.toarray().ravel()
    ball = NuclearNormBall(matrix.shape, radius=3.0)
    atom, same = ball.lmo(matrix), ball.lmo(dense)
    np.testing.assert_allclose(atom.to_array(), same.to_array(), rtol=0, atol=1e-9)
    assert atom.bound == pytest.approx(same.bound, rel=1e-9)
    assert atom.dot(matrix) == pytest.approx(same.dot(dense), rel=1e-12)
    square = matrix[:100]
    trace = Spectrahedron(100)
    atom, same = trace.lmo(square), trace.lmo(square.toarray().ravel())
    np.testing.assert_allclose(atom.to_array(), same.to_array(), rtol=0, atol=1e-9)


def test_bounds_hold_for_bad_guesses(rng):
    """The guess is an eigenvector that is not the largest: noise must find the other one."""
    spectrum = np.concatenate([np.linspace(0.0, 0.9, 98), [1.0, 1.2]])
    basis = np.linalg.qr(rng.standard_normal((100, 100)))[0]
    matrix = (basis * spectrum) @ basis.T
    for n_steps in range(1, 40):
        noise = rng.standard_normal(100)
        found = largest_eigenpair(
            lambda v: matrix @ v, noise, 1e6 * basis[:, -2],
            lambda found, n_steps=n_steps: found.n_products >= n_steps,
        )  # fmt: skip
        assert found.value <= 1.2 * (1 + 1e-12)
        assert found.bound() >= 1.2
    assert found.bound() <= 1.2 * (1 + 1e-8)
    assert abs(found.vector @ basis[:, -1]) == pytest.approx(1.0, abs=1e-6)


def test_names():
    for name, shape, kind in [
        ("l1", (4,), "L1Ball"), ("l2", (2, 2), "L2Ball"), ("simplex", (4,), "Simplex"),
        ("linf", (4,), "Box"), (("lp", 1.5), (4,), "LpBall"),
        ("nuclear", (2, 2), "NuclearNormBall"), ("spectrahedron", (2, 2), "Spectrahedron"),
    ]:  # fmt: skip
        domain = domain_of(name, shape, 2.0)
        assert type(domain).__name__ == kind
        assert domain.size == 4
        assert np.abs(domain.start().to_array()).max() == 2.0
    assert domain_of(domain, (1,)) is domain


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: NuclearNormBall(3), ValueError, "shape must be (n_rows, n_columns), got 3"),
        (
            lambda: NuclearNormBall((2, 3)).lmo(sp.csr_array((3, 2))), ValueError,
            "gradient.shape == (3, 2), expected (2, 3)",
        ),
        (lambda: domain_of("l3", (2,)), ValueError, "domain must be one of"),
        (lambda: domain_of(3, (2,)), ValueError, "('lp', p) or a domain"),
        (lambda: domain_of("nuclear", (2,)), ValueError, "needs points with two axes"),
        (lambda: domain_of("spectrahedron", (2, 3)), ValueError, "needs square matrices"),
    ],
)  # fmt: skip
def test_errors(call, error, message):
    with pytest.raises(error, match=re.escape(message)):
        call()
