"""Objectives: values, gradients, images of atoms, curvatures, constants."""

import numpy as np
import pytest
import scipy.sparse as sp

from sklearn_fw.losses import Huber
from sklearn_fw.optim import objectives
from sklearn_fw.optim.domains import RankOneAtom, SparseAtom
from sklearn_fw.optim.domains._base import DenseAtom, UnitAtom


def every_objective(rng):
    A, weight = rng.normal(size=(7, 4)), rng.random(7) + 0.1
    labels, Q = np.sign(rng.normal(size=7)), rng.normal(size=(4, 4))

    def softplus(z):
        return float(np.logaddexp(0.0, z).sum()), 1.0 / (1.0 + np.exp(-z))

    tilt = rng.normal(size=4)
    return {
        "least squares": objectives.LeastSquares(A, rng.normal(size=7), sample_weight=weight),
        "sparse": objectives.LeastSquares(sp.random(7, 4, 0.4, "csc", rng=rng), rng.normal(size=7)),
        "mean": objectives.LeastSquares(A, rng.normal(size=7), mean=True),
        "outputs": objectives.LeastSquares(A[:, :2], rng.normal(size=(7, 2)), sample_weight=weight),
        "logistic": objectives.Composite("log_loss", A, labels, sample_weight=weight),
        "huber": objectives.Composite(Huber(0.3), A, labels, linear=tilt, mean=False),
        "linear": objectives.Composite("squared_error", A, labels, linear=tilt),
        "classes": objectives.Composite("multinomial", A[:, :2], [0, 1, 1, 0, 1, 0, 1]),
        "function": objectives.Composite(softplus, A, linear=tilt),
        "quadratic": objectives.Quadratic(Q + Q.T, tilt),
        "sparse quadratic": objectives.Quadratic(sp.diags([1.0, 2.0, 3.0, 0.0]).tocsr()),
    }


NAMES = list(every_objective(np.random.default_rng(0)))


@pytest.fixture(params=NAMES)
def objective(request, rng):
    return every_objective(rng)[request.param]


def test_gradients_are_differences(objective, rng):
    x, h = rng.normal(size=objective.size), 1e-6
    value, gradient = objective(x)
    assert gradient.shape == (objective.size,)
    for j, e in enumerate(np.eye(objective.size)):
        difference = (objective(x + h * e)[0] - objective(x - h * e)[0]) / (2 * h)
        assert gradient[j] == pytest.approx(difference, rel=1e-5, abs=1e-6)
    assert np.isfinite(value)


def test_images_of_atoms_are_those_of_arrays(objective, rng):
    atoms = [
        UnitAtom(4, 2, -1.5), SparseAtom(4, [0, 3], [1.0, 2.0]), DenseAtom(rng.normal(size=4)),
        RankOneAtom([1.0, -2.0], [0.5, 1.0]),
    ]  # fmt: skip
    for atom in atoms:
        np.testing.assert_allclose(
            objective.image(atom), objective.image(atom.to_array()), rtol=0, atol=1e-12
        )


def test_the_value_depends_on_the_image_alone(objective, rng):
    x, y = rng.normal(size=(2, objective.size))
    image = 0.25 * objective.image(x) + 0.75 * objective.image(y)
    value, slopes = objective.slopes(image)
    expected, gradient = objective(0.25 * x + 0.75 * y)
    assert value == pytest.approx(expected, rel=1e-10)
    np.testing.assert_allclose(objective.adjoint(slopes), gradient, rtol=0, atol=1e-10)


def test_curvatures(objective, rng):
    x, d = rng.normal(size=(2, objective.size))
    if not objective.is_quadratic:
        with pytest.raises(NotImplementedError, match="not known to be quadratic"):
            objective.curvature(d)
        return
    second = (objective(x + d)[1] - objective(x)[1]) @ d
    assert objective.curvature(d) == pytest.approx(second, rel=1e-9)
    images = np.array([objective.image(x), objective.image(d)])
    np.testing.assert_allclose(
        objective.inner(images[1], images), [(objective(x + d)[1] - objective(x)[1]) @ x, second]
    )


def test_lipschitz_constants_bound_differences_of_gradients(objective, rng):
    if objective.lipschitz is None:
        return
    for _ in range(50):
        x, y = rng.normal(size=(2, objective.size))
        change = np.linalg.norm(objective(x)[1] - objective(y)[1])
        assert change <= objective.lipschitz * np.linalg.norm(x - y) * (1 + 1e-9)


def test_weights_are_repeated_rows(rng):
    A, y = rng.normal(size=(5, 3)), np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    counts = np.array([1, 2, 0, 3, 1])
    x = rng.normal(size=3)
    for loss in ("squared_error", "log_loss"):
        weighted = objectives.Composite(loss, A, y, sample_weight=counts)(x)
        rows = np.repeat(A, counts, axis=0), np.repeat(y, counts)
        repeated = objectives.Composite(loss, *rows)(x)
        assert weighted[0] == pytest.approx(repeated[0], rel=1e-12)
        np.testing.assert_allclose(weighted[1], repeated[1], rtol=1e-10)


def test_selections_take_entries_of_products(rng):
    """Observed entries of a matrix, of a product of two vectors, one of them observed twice."""
    places = np.array([5, 0, 11, 5, 7])
    A = sp.csr_matrix((np.ones(5), (np.arange(5), places)), shape=(5, 12))
    objective = objectives.LeastSquares(A, rng.normal(size=5))
    atom = RankOneAtom(rng.normal(size=3), rng.normal(size=4))
    np.testing.assert_allclose(objective.image(atom), atom.to_array()[places], rtol=1e-14)
