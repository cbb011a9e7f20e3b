"""Polytopes of outputs: prox steps and constants against all outputs, and what models may lack."""

import tracemalloc

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning

from _polytope_problems import FORESTS, SUMS, Candidates, candidates, polytopes
from _problems import C, fit, optimum, problem
from sklearn_fw.optim._frank_wolfe._corrective import HullProjection
from sklearn_fw.optim.domains import ConvexHull
from sklearn_fw.structured import EnumeratedModel, Extragradient, StructuredSVM
from sklearn_fw.structured._problems._listed import BlackBoxProblem
from sklearn_fw.structured._problems._part_polytopes import polytopes_of
from sklearn_fw.structured._problems._polytopes import Entropy, Euclidean

# ---- constants -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FORESTS)
def test_constants_of_entropy(name):
    """Radii against all pairs of outputs, the diameter against all outputs."""
    p, parts = problem(name), polytopes(problem(name))
    radii = {norm: parts.radii(norm) for norm in ("l1", "l2")}
    for i, psi in enumerate(p.psi):
        differences = np.abs(psi[:, None] - psi)
        assert 0.5 * np.sqrt((differences**2).sum(axis=2)).max() <= radii["l2"][i] * (1 + 1e-12)
        assert 0.5 * differences.max() <= radii["l1"][i] * (1 + 1e-12)
    np.testing.assert_allclose(
        parts.diameters("entropy"), [np.log(len(psi)) for psi in p.psi], rtol=1e-12
    )


def test_radii_of_classes_are_exact():
    p, parts = problem("multiclass"), polytopes(problem("multiclass"))
    X = np.column_stack([p.X, np.ones(len(p.X))])
    np.testing.assert_allclose(parts.radii("l2"), np.linalg.norm(X, axis=1) / np.sqrt(2))
    np.testing.assert_allclose(parts.radii("l1"), np.abs(X).max(axis=1) / 2)


@pytest.mark.slow
@pytest.mark.parametrize("name", SUMS)
def test_constants_of_distance(name):
    """The matrix of all features, column by column, and the distances of all vertices."""
    p = problem(name)
    parts = polytopes(p)
    geometry = Euclidean(parts, False)
    origin = geometry.at(geometry.zero())
    columns = [parts.describe(unit)[0] for unit in np.eye(parts.size)]
    matrix = (columns - parts.describe(np.zeros(parts.size))[0]) / np.sqrt(
        np.maximum(parts.weight_of_entries(), 1e-300)
    )[:, None]
    largest = np.linalg.norm(matrix, 2)
    assert largest <= geometry.lipschitz("l2") <= 1.03 * largest
    assert np.linalg.norm(matrix, axis=0).max() <= geometry.lipschitz("l1")
    np.testing.assert_allclose(origin.psi, 0.0, atol=1e-13)  # the center is the truth
    assert origin.loss == 0.0
    rng = np.random.default_rng(0)
    for _ in range(20):
        z = parts.project(100.0 * rng.normal(size=parts.size), 1e-9)
        assert 0.5 * (z - origin.z) ** 2 @ parts.weight_of_entries() <= geometry.diameter + 1e-9


# ---- prox steps ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize("name", FORESTS)
def test_marginals(name, scale, rng):
    """Features, losses and log-partitions against sums over all outputs."""
    p = problem(name)
    geometry = Entropy(polytopes(p), stored=False)
    w, s = scale * rng.normal(size=p.size), scale * rng.random()
    point = geometry.at(geometry.zero().plus(w, s))
    potentials = [s * loss - psi @ w for psi, loss in zip(p.psi, p.losses)]
    alphas = [softmax(h) for h in potentials]
    psi = sum(q * a @ part for q, a, part in zip(p.weight, alphas, p.psi))
    np.testing.assert_allclose(point.psi, psi, atol=1e-9)
    np.testing.assert_allclose(point.loss, p.weight @ [a @ b for a, b in zip(alphas, p.losses)])
    value = p.weight @ [logsumexp(h) for h in potentials]
    np.testing.assert_allclose(point.log_partition, value, rtol=1e-10)
    other = geometry.prox(point, 0.1 * rng.normal(size=p.size), 0.2)
    more = [
        h + 0.2 * loss - part @ (other.potentials.w - w)
        for h, loss, part in zip(potentials, p.losses, p.psi)
    ]
    logs = [(h - logsumexp(h), g - logsumexp(g)) for h, g in zip(potentials, more)]
    kl = p.weight @ [np.exp(g) @ (g - h) for h, g in logs]
    np.testing.assert_allclose(geometry.divergence(other, point), kl, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("name", SUMS)
def test_projections_satisfy_the_variational_inequality(name, rng):
    """<p - z, z' - z> <= 0 for every vertex z', of which z is a mean."""
    p = problem(name)
    parts = polytopes(p)
    target = parts.center() + rng.normal(size=parts.size)
    for _ in range(3):  # vertices of the projection before are the first guess
        z = parts.project(target, 1e-9)
        scores = (target - z) * (parts.weight_of_entries() > 0)
        cut = parts._marginals.nodes.size
        nodes, tables = scores[:cut].reshape(-1, p.model.n_states_), scores[cut:]
        for i, outputs in enumerate(p.outputs):
            vertices = np.array([parts_of(p, i, labels) for labels in outputs])
            start = parts._parts.node_start[i]
            here = nodes[start : start + outputs.shape[1]].ravel()
            here = np.concatenate([here, tables.reshape(len(p.X), -1)[i]])
            mean = np.concatenate(
                [
                    z[:cut].reshape(nodes.shape)[start : start + outputs.shape[1]].ravel(),
                    z[cut:].reshape(len(p.X), -1)[i],
                ]
            )
            assert np.max(vertices @ here) - mean @ here <= 1e-8
        np.testing.assert_allclose(parts.project(z, 1e-12), z, atol=1e-7)
        target = target + 0.3 * rng.normal(size=parts.size)


def parts_of(p, i, labels):
    """Indicators of the states of nodes, and counts of the pairs of edges of each kind."""
    model, n_states = p.model, p.model.n_states_
    graph = model._stack(p.X[i : i + 1]).graph
    tables = np.zeros((model.n_tables_, n_states, n_states))
    for (a, b), kind in zip(graph.edges[: graph.n_edges[0]], graph.table):
        tables[kind, labels[a], labels[b]] += 1.0
    return np.concatenate([np.eye(n_states)[labels].ravel(), tables.ravel()])


@pytest.mark.parametrize("n_atoms", [1, 2, 5, 40])
def test_projection_on_a_hull(n_atoms, rng):
    """Against a QP solver on the weights; atoms may be equal or depend on each other."""
    atoms = rng.normal(size=(n_atoms, 4)).round(1)
    atoms[-1] = atoms[0]
    if n_atoms > 3:
        atoms[2] = 0.5 * (atoms[0] + atoms[1])
    hull = HullProjection(ConvexHull(atoms))
    for scale in (0.1, 1.0, 10.0, 1e4):
        p = scale * rng.normal(size=4)
        z, n_calls = hull.project(p)
        simplex = {"type": "eq", "fun": lambda a: a.sum() - 1.0, "jac": np.ones_like}
        expected = minimize(
            lambda a: 0.5 * np.sum((a @ atoms - p) ** 2) / scale**2,  # noqa: B023
            np.full(n_atoms, 1.0 / n_atoms),
            jac=lambda a: atoms @ (a @ atoms - p) / scale**2,  # noqa: B023
            bounds=[(0.0, 1.0)] * n_atoms, constraints=[simplex], method="SLSQP",
            options={"ftol": 1e-15, "maxiter": 1000},
        )  # fmt: skip
        assert np.sum((z - p) ** 2) <= np.sum((expected.x @ atoms - p) ** 2) * (1 + 1e-12)
        np.testing.assert_allclose(z, expected.x @ atoms, atol=1e-5)
        assert np.max((atoms - z) @ (p - z)) <= 1e-9 + 1e-12 * scale
        assert n_calls <= 3 * n_atoms


def test_projection_that_takes_too_many_calls(rng):
    atoms = rng.normal(size=(50, 10))
    hull = HullProjection(ConvexHull(atoms))
    with pytest.warns(ConvergenceWarning, match="by an oracle stopped after 3 calls at .* > 1e-09"):
        z, n_calls = hull.project(np.zeros(10), max_iter=3)
    assert n_calls == 3
    assert len(hull.active) <= 3
    accuracy = np.max(-(atoms - z) @ z)
    hull = HullProjection(ConvexHull(atoms))
    assert hull.project(np.zeros(10), accuracy=2 * accuracy)[1] <= 3


# ---- models --------------------------------------------------------------------------------------


class ManyCandidates(Candidates):
    """No vector is longer than the candidates."""

    def label_vector(self, x, y):
        return self.lmo(x, np.arange(len(x)) == y)

    def lmo(self, x, s):
        return np.bincount([np.argmax(s)], minlength=len(x)).astype(float)


def test_radii_need_one_column_at_a_time(rng):
    X, y, weight = [rng.normal(size=(4000, 2))], [7], np.ones(1)
    parts = polytopes_of(BlackBoxProblem(ManyCandidates().initialize(X, y), X, y, weight))
    tracemalloc.start()
    try:
        radii = {norm: parts.radii(norm)[0] for norm in ("l1", "l2")}
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 4000 * 4000 * 8 / 20
    assert radii["l1"] == pytest.approx(np.abs(X[0]).max(), rel=1e-12)
    assert radii["l2"] == pytest.approx(np.linalg.norm(X[0], axis=1).max(), rel=1e-12)


def test_models_that_lack_something():
    with pytest.raises(NotImplementedError, match="a task_loss that is a sum over nodes"):
        fit(problem("chain, zero-one"), "extragradient")
    with pytest.raises(ValueError, match="known for graphs without cycles only: use z_geometry="):
        fit(problem("labels, all pairs"), Extragradient(z_geometry="entropy"))
    X, y = [np.eye(2)], [0]
    with pytest.raises(TypeError, match="EnumeratedModel lacks z_size, label_vector, adjoint, app"):
        StructuredSVM(EnumeratedModel(), solver="extragradient").fit(X, y)


class WithoutProjection(Candidates):
    project = None


class WithoutMarginals(Candidates):
    marginals = None


class WithNothing(WithoutProjection, WithoutMarginals):
    pass


@pytest.mark.parametrize(
    ("model", "geometry", "message"),
    [
        (WithoutProjection, "euclidean", "WithoutProjection lacks project"),
        (WithoutMarginals, "entropy", "WithoutMarginals lacks marginals"),
        (WithNothing, "auto", "WithNothing lacks project"),
    ],
)
def test_geometries_that_a_model_lacks(model, geometry, message):
    X, y = [np.eye(2)], [0]
    with pytest.raises(TypeError, match=message):
        StructuredSVM(model(), solver=Extragradient(z_geometry=geometry)).fit(X, y)


@pytest.mark.parametrize("model", [Candidates, WithoutProjection, WithoutMarginals])
def test_auto_takes_what_the_model_has(model):
    _, X, y = candidates()
    value = optimum("multiclass")[1]
    svm = StructuredSVM(model(), solver="extragradient", C=C, tol=1e-3, max_iter=2000).fit(X, y)
    assert svm.dual_objective_ <= value <= svm.objective_
    assert svm.converged_


def test_inconsistent_models():
    _, X, y = candidates()

    class WrongFeatures(Candidates):
        def apply(self, x, z):
            return z @ x + 1.0

    class WrongLoss(Candidates):
        def loss_vector(self, x, y):
            return np.ones(len(x)), 0.5

    for model, message in (
        (WrongFeatures(), r"apply\(x, label_vector\(x, y\)\) must equal joint_feature"),
        (WrongLoss(), r"must give the truth of sample 0 a loss of 0, got 1.5"),
    ):
        with pytest.raises(ValueError, match=message):
            StructuredSVM(model, solver="extragradient").fit(X, y)


def test_projections_that_are_not_finite():
    _, X, y = candidates()

    class Broken(Candidates):
        def project(self, x, p, tol):
            return np.full(len(x), np.nan) if np.any(p) else super().project(x, p, tol)

    with pytest.raises(ValueError, match=r"project of Broken for sample . must be finite"):
        StructuredSVM(Broken(), solver=Extragradient(first_passes=0), C=C).fit(X, y)
