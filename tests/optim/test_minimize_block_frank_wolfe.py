"""Steps in one factor at a time against those in all of them, bounds and certificates."""

import itertools

import numpy as np
import pytest

from sklearn_fw.optim import domains, minimize_block_frank_wolfe, minimize_frank_wolfe, objectives

VARIANTS = ("fw", "away", "pairwise")
SAMPLINGS = ("uniform", "permutation", "gap")


def problem(rng, n=6, size=4, n_rows=40):
    """Least squares over simplices, with solutions on their boundaries."""
    A = rng.normal(size=(n_rows, n * size))
    truth = np.concatenate([rng.dirichlet(np.full(size, 0.2)) for _ in range(n)])
    product = domains.Product(*[domains.Simplex(size) for _ in range(n)])
    return A, A @ truth + rng.normal(size=n_rows), product


def minimum(objective, product, tol=1e-10):
    return minimize_frank_wolfe(objective, product, tol=tol, max_iter=100_000).fun


@pytest.mark.parametrize("sampling", SAMPLINGS)
@pytest.mark.parametrize("variant", VARIANTS)
def test_certificate_bounds_the_distance(variant, sampling, rng):
    A, b, product = problem(rng)
    objective = objectives.LeastSquares(A, b)
    best, seen = minimum(objective, product), []

    def callback(state):
        value, gradient = objective(state.x)
        assert state.fun == pytest.approx(value, rel=1e-12)
        gap = gradient @ (state.x - product.lmo(gradient).to_array())
        assert state.dual_gap == pytest.approx(gap, rel=1e-9, abs=1e-9)
        assert value - best <= gap + 1e-9
        seen.append(state.nit)

    tol = 5.0 if variant == "fw" else 1e-5
    result = minimize_block_frank_wolfe(
        objective, product, variant=variant, sampling=sampling, random_state=0, tol=tol,
        gap_every=3, callback=callback, max_iter=3000,
    )  # fmt: skip
    assert result.success
    assert seen == list(range(1, result.nit + 1, 3))
    assert best - 1e-9 <= result.fun <= best + result.dual_gap + 1e-9
    assert product.contains(result.x)
    n_passes = result.nit - 1
    assert result.n_oracle_calls == 6 * (n_passes + len(seen))
    if variant != "fw":
        points = [
            sum(w * atom.to_array() for w, atom in zip(weights, atoms))
            for atoms, weights in zip(result.atoms, result.weights, strict=True)
        ]
        np.testing.assert_allclose(np.concatenate(points), result.x, rtol=0, atol=1e-12)
        assert all(weights.sum() == pytest.approx(1.0) for weights in result.weights)


@pytest.mark.parametrize("step_size", ["universal", "exact", "line_search", 0.1])
@pytest.mark.parametrize("variant", VARIANTS)
def test_one_factor_is_the_method_without_blocks(variant, step_size, rng):
    A, b, _ = problem(rng, n=1, size=10)
    objective, simplex = objectives.LeastSquares(A, b), domains.Simplex(10)
    paths = [[], []]

    def run(minimize, domain, path, **options):
        return minimize(
            objective, domain, variant=variant, step_size=step_size, tol=0.0, max_iter=30,
            callback=lambda state: path.append(state.x), **options,
        )  # fmt: skip

    run(minimize_frank_wolfe, simplex, paths[0])
    run(minimize_block_frank_wolfe, domains.Product(simplex), paths[1], gap_every=1)
    # After an exact step its two vertices are equally bad, and rounding decides which one is worst.
    n = 4 if variant == "pairwise" and step_size in ("exact", "line_search") else 30
    np.testing.assert_allclose(paths[0][:n], paths[1][:n], rtol=0, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("step_size", ["universal", "exact"])
def test_rate_of_the_expectation(step_size, rng):
    """E h_k <= 2 n / (k + 2 n) (sum_i C_i + h_0), for C_i of least squares on simplices."""
    n, size = 6, 4
    A, b, product = problem(rng, n, size)
    objective = objectives.LeastSquares(A, b)
    best = minimum(objective, product)
    constants = [
        max(np.sum((u - v) ** 2) for u, v in itertools.combinations(A[:, block].T, 2))
        for block in product.blocks
    ]
    distances = []
    for seed in range(20):
        path = []

        def callback(state, path=path):
            path.append(state.fun)

        minimize_block_frank_wolfe(
            objective, product, variant="fw", sampling="uniform", step_size=step_size, tol=0.0,
            max_iter=40, gap_every=1, random_state=seed, callback=callback,
        )  # fmt: skip
        distances.append(np.array(path) - best)
    expected = np.mean(distances, axis=0)
    k = n * np.arange(len(expected))
    bound = 2 * n / (k + 2 * n) * (sum(constants) + expected[0])
    assert np.all(expected <= bound)
    assert expected[0] > 10 * expected[-1]


def test_weighted_average(rng):
    """The mean of the iterates of all steps, that of step k counted k times."""
    A, b, product = problem(rng, n=3)
    seen, objective = [], objectives.LeastSquares(A, b)

    def function(x):
        seen.append(x)
        return objective(x)

    result = minimize_block_frank_wolfe(
        function, product, variant="fw", step_size=0.5, average="weighted", tol=0.0, max_iter=5,
        gap_every=4, random_state=0,
    )  # fmt: skip
    points = np.array(seen[1:-2])  # before each of 12 steps, without the three gaps
    assert len(points) == 12
    iterates = np.vstack([points[1:], seen[-1]])
    k = np.arange(1, 13)
    np.testing.assert_allclose(seen[-2], k @ iterates / k.sum(), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(result.x, seen[-2])  # better than steps of one half
    gap = objective(result.x)[1] @ result.x - product.lmo(objective(result.x)[1]).dot(
        objective(result.x)[1]
    )
    assert result.dual_gap == pytest.approx(gap)
    assert result.atoms is None


def test_sets_of_several_kinds_and_no_quadratic(rng):
    product = domains.Product(
        domains.L1Ball(5, 2.0), domains.Box(-1.0, 1.0, size=3), domains.L2Ball(4)
    )
    A = rng.normal(size=(30, 12))
    y = np.where(rng.random(30) < 0.5, -1.0, 1.0)
    objective = objectives.Composite("log_loss", A, y)
    result = minimize_block_frank_wolfe(objective, product, tol=1e-3, random_state=0)
    assert result.success
    assert result.fun <= minimum(objective, product, 1e-4) + 1e-3
    plain = minimize_block_frank_wolfe(
        lambda x: objective(x), product, tol=1e-3, random_state=0, step_size="backtracking"
    )
    assert plain.success
    assert plain.fun == pytest.approx(result.fun, abs=1e-3)
    assert (result.variant, result.step_size) == (["pairwise", "pairwise", "fw"], "line_search")
    assert result.atoms[2] is result.weights[2] is None
    for block, atoms, weights in zip(product.blocks[:2], result.atoms, result.weights):
        x = sum(w * atom.to_array() for w, atom in zip(weights, atoms))
        np.testing.assert_allclose(result.x[block], x, rtol=0, atol=1e-12)
    again = minimize_block_frank_wolfe(objective, product, tol=1e-3, start=result)
    assert again.nit == 1
    np.testing.assert_allclose(again.x, result.x, rtol=0, atol=1e-12)
    other = minimize_block_frank_wolfe(
        lambda x: objective(x), product, tol=1e-3, random_state=0, sampling="gap"
    )
    assert other.step_size == ["line_search", "line_search", "backtracking"]
    assert other.fun == pytest.approx(result.fun, abs=1e-3)


def test_results_of_other_methods_are_starts(rng):
    A, b, product = problem(rng)
    objective = objectives.LeastSquares(A, b)
    blocks = minimize_block_frank_wolfe(objective, product, tol=1e-4, random_state=0)
    whole = minimize_frank_wolfe(objective, product, tol=1e-4)
    assert len(whole.atoms) > 1
    assert minimize_frank_wolfe(objective, product, tol=1e-3, start=blocks).nit == 1
    assert minimize_block_frank_wolfe(objective, product, tol=1e-3, start=whole).nit == 1


SQUARE = objectives.Quadratic(np.eye(4))
PAIR = domains.Product(domains.Simplex(2), domains.Simplex(2))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"domain": domains.Simplex(4)}, "domain must be a domains.Product"),
        ({"objective": 3.0}, "objective must be callable"),
        ({"objective": objectives.Quadratic(np.eye(3))}, "objective has 3 variables, but domain"),
        ({"step_size": "exact", "objective": lambda x: (0.0, x)}, "needs a quadratic objective"),
        ({"start": [1.0, 0.0, 2.0, 0.0]}, "the start is not in domain"),
        ({"objective": lambda x: (0.0, x[:2])}, r"gradient of objective.shape == \(2,\)"),
        ({"objective": lambda x: (np.nan, x)}, "must return a finite number"),
    ],
)
def test_errors(options, message):
    options = {"objective": SQUARE, "domain": PAIR, **options}
    with pytest.raises(ValueError, match=message):
        minimize_block_frank_wolfe(**options)
