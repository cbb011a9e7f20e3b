"""Pyramidal widths and curvature constants against brute force."""

import itertools

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from sklearn_fw.optim import curvature_constant, domains, objectives, pyramidal_width


def faces(vertices):
    """Sets of vertices that some direction makes lowest, but not all of them."""
    n, d = vertices.shape
    for k in range(1, n):
        for chosen in itertools.combinations(range(n), k):
            inside = np.isin(np.arange(n), chosen)
            # <c, v> = b on the face and at least b + 1 elsewhere
            answer = linprog(
                np.zeros(d + 1),
                A_eq=np.column_stack([vertices[inside], -np.ones(k)]), b_eq=np.zeros(k),
                A_ub=np.column_stack([-vertices[~inside], np.ones(n - k)]), b_ub=-np.ones(n - k),
                bounds=(None, None),
            )  # fmt: skip
            if answer.status == 0:
                yield inside


def distance(first, second):
    """Distance of two hulls, by weights of their points."""
    k, m = len(first), len(second)
    points = np.vstack([first, -second])
    sums = [
        {"type": "eq", "fun": lambda w: w[:k].sum() - 1.0},
        {"type": "eq", "fun": lambda w: w[k:].sum() - 1.0},
    ]
    start = np.concatenate([np.full(k, 1.0 / k), np.full(m, 1.0 / m)])
    found = minimize(
        lambda w: np.sum((w @ points) ** 2), start, jac=lambda w: 2.0 * points @ (w @ points),
        bounds=[(0.0, 1.0)] * (k + m), constraints=sums, options={"ftol": 1e-14, "maxiter": 500},
    )  # fmt: skip
    return np.sqrt(found.fun)


CORNERS = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
WIDTHS = [
    (domains.Simplex(2, 3.0), 3.0 * np.eye(2)),
    (domains.Simplex(4, 2.0), 2.0 * np.eye(4)),
    (domains.Simplex(5), np.eye(5)),
    (domains.L1Ball(1, 2.0), np.array([[2.0], [-2.0]])),
    (domains.L1Ball(2, 2.0), 2.0 * np.vstack([np.eye(2), -np.eye(2)])),
    (domains.L1Ball(3), np.vstack([np.eye(3), -np.eye(3)])),
    (domains.Box(0.0, 1.0, size=3), CORNERS),
    (domains.Box([0, 1, 0], [1, 3, 0.5]), CORNERS * [1.0, 2.0, 0.5] + [0.0, 1.0, 0.0]),
    (domains.Box([0, 1, 2], [1, 3, 2]), (CORNERS * [1.0, 2.0, 0.0] + [0.0, 1.0, 2.0])[::2]),
]


@pytest.mark.parametrize("domain, vertices", WIDTHS, ids=repr)
def test_width_is_the_smallest_distance_of_a_face(domain, vertices):
    distances = [distance(vertices[inside], vertices[~inside]) for inside in faces(vertices)]
    assert pyramidal_width(domain) == pytest.approx(min(distances), rel=1e-5)


def test_width_of_other_sets():
    assert pyramidal_width(domains.L2Ball(3)) == 0.0
    for domain in (domains.Simplex(1), domains.Box([1.0], [1.0]), domains.Permutahedron([1, 2])):
        with pytest.raises(NotImplementedError, match="no closed form of the pyramidal width"):
            pyramidal_width(domain)


def largest_curvature(objective, vertices, rng):
    """The largest quotient of the definition that was found, at vertices and between them."""
    found = []
    for _ in range(3000):
        x, s = rng.dirichlet(np.full(len(vertices), rng.choice([0.02, 1.0])), size=2) @ vertices
        c = rng.choice([1.0, 1e-2])
        y = x + c * (s - x)
        value, gradient = objective(x)
        found.append(2.0 * (objective(y)[0] - value - gradient @ (y - x)) / c**2)
    return max(found)


def test_curvature_constants(rng):
    A, b = rng.normal(size=(6, 3)), rng.normal(size=6)
    points = rng.normal(size=(5, 3))
    weight = rng.random(6)
    quadratics = [
        objectives.LeastSquares(A, b),
        objectives.LeastSquares(A, b, sample_weight=weight, mean=True),
        objectives.Quadratic(A.T @ A, A.T @ b),
    ]
    sets = [
        (domains.L1Ball(3, 2.0), 2.0 * np.vstack([np.eye(3), -np.eye(3)])),
        (domains.Simplex(3, 0.5), 0.5 * np.eye(3)),
        (domains.ConvexHull(points), points),
    ]
    for domain, vertices in sets:
        for objective in quadratics:
            constant = curvature_constant(objective, domain)
            pairs = [u - v for u, v in itertools.combinations(vertices, 2)]
            exact = max(objective.curvature(pair) for pair in pairs)
            assert constant == pytest.approx(exact, rel=1e-12)
            found = largest_curvature(objective, vertices, rng)
            assert 0.8 * constant <= found <= constant * (1.0 + 1e-6)
        logistic = objectives.Logistic(A, np.sign(b))
        found = largest_curvature(logistic, vertices, rng)
        assert 0.05 * curvature_constant(logistic, domain) < found
        assert found <= curvature_constant(logistic, domain) * (1.0 + 1e-6)
    expected = 4.0 * max(np.sum(A**2, axis=0)) * 0.25 * 4.0 / 6
    assert curvature_constant(logistic, sets[0][0]) == pytest.approx(expected)
    ball = 4.0 * 9.0 * np.linalg.eigvalsh(A.T @ A)[-1]
    assert curvature_constant(quadratics[0], domains.L2Ball(3, 3.0)) == pytest.approx(ball)


@pytest.mark.parametrize(
    ("objective", "domain"),
    [
        (objectives.Quadratic(np.diag([1.0, -1.0])), domains.Simplex(2)),
        (objectives.Quadratic(np.eye(2)), domains.Box(0.0, 1.0, size=2)),
        (objectives.Composite(lambda z: (0.0, z), np.eye(2)), domains.Simplex(2)),
        (objectives.LeastSquares(np.eye(2), np.eye(2)), domains.Simplex(4)),
    ],
)
def test_constants_that_are_not_known(objective, domain):
    with pytest.raises(NotImplementedError, match="no closed form of the curvature constant"):
        curvature_constant(objective, domain)


def test_sizes_must_agree():
    with pytest.raises(ValueError, match="differ in size"):
        curvature_constant(objectives.Quadratic(np.eye(2)), domains.Simplex(3))
