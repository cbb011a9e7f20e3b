"""A domain of a user, with sparse atoms in a million dimensions: all of it is in this file."""

import tracemalloc

import numpy as np
import pytest

from sklearn_fw.optim import domains, minimize_frank_wolfe, objectives, solve_saddle_point


class Choices(domains.Domain):
    """Lists of k ones among zeros, and what lies between them."""

    def __init__(self, size, k):
        self.size, self.k = size, k

    def lmo(self, gradient):
        lowest = np.argpartition(gradient, self.k)[: self.k]
        return domains.SparseAtom(self.size, lowest)


class Window(domains.Atom):
    """A run of ones, described by where it begins."""

    def __init__(self, size, begin, length):
        self.size, self.begin, self.length = size, begin, length
        self.key = begin, length  # equal for equal points

    def dot(self, vector):
        return float(vector[self.begin : self.begin + self.length].sum())

    def add_to(self, x, scale=1.0):
        x[self.begin : self.begin + self.length] += scale


class Windows(domains.Domain):
    def __init__(self, size, length):
        self.size, self.length = size, length

    def lmo(self, gradient):
        sums = np.concatenate([[0.0], np.cumsum(gradient)])
        sums = sums[self.length :] - sums[: -self.length]
        return Window(self.size, int(np.argmin(sums)), self.length)


class Coarse(domains.Domain):
    """Places of a vector of which one is one; looks at one block of them after the other."""

    can_refine = True

    def __init__(self, size, n_blocks):
        self.size, self.n_blocks = size, n_blocks

    def lmo(self, gradient, start=None, accuracy=None):
        blocks = np.array_split(np.arange(self.size), self.n_blocks)
        steepest = np.abs(gradient).max()  # what is known without a look
        found = 0 if start is None else int(start.places[0])
        for block in blocks:
            found = min(found, block[gradient[block].argmin()], key=gradient.__getitem__)
            if accuracy is None or gradient[found] + steepest <= accuracy:
                break
        atom = domains.SparseAtom(self.size, [int(found)])
        atom.value, looked = float(gradient[found]), block[-1] == self.size - 1
        atom.bound = atom.value if looked else -float(steepest)
        return atom


SIZE, N_STEPS = 10**6, 60


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("variant", ["fw", "away", "pairwise"])
@pytest.mark.parametrize("kind", ["choices", "windows"])
def test_atoms_are_never_made_dense(kind, variant, rng):
    domain = Choices(SIZE, 100) if kind == "choices" else Windows(SIZE, 1000)
    targets = np.sort(rng.choice(SIZE, 5 * 10**4, replace=False))
    center = np.zeros(SIZE)
    center[targets] = rng.random(len(targets))
    largest = 0

    def function(x, y):
        nonlocal largest
        largest = max(largest, np.count_nonzero(x))
        difference = x - center
        return 0.5 * difference @ difference + y[0], difference, np.ones(1)

    tracemalloc.start()
    try:
        result = solve_saddle_point(
            function, domain, domains.Box(0.0, 1.0, size=1), variant=variant, tol=0,
            step_size=lambda state: 1.0 / (2.0 + state.n_iter), max_iter=N_STEPS,
        )  # fmt: skip
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    vectors = peak / (8 * SIZE)
    assert vectors < 15, f"{vectors:.1f} vectors of the size of the iterate"
    assert largest <= (1 + N_STEPS) * (100 if kind == "choices" else 1000)
    assert np.all(np.diff(result.history["n_atoms_x"]) <= 1) if variant != "fw" else True
    if variant == "pairwise":
        assert len(result.atoms_x) > 10
        x = np.zeros(SIZE)
        for atom, weight in zip(result.atoms_x, result.weights_x):
            atom.add_to(x, weight)
        np.testing.assert_allclose(x, result.x_last, rtol=0, atol=1e-12)


def test_an_oracle_that_comes_closer_when_asked(rng):
    target = rng.dirichlet(np.full(60, 0.1))
    objective = objectives.Quadratic(np.eye(60), -target)
    result = minimize_frank_wolfe(objective, Coarse(60, 6), tol=1e-6)
    assert result.success
    np.testing.assert_allclose(result.x, target, rtol=0, atol=2e-3)
    with pytest.warns(match="gap"):
        result = minimize_frank_wolfe(objective, Coarse(60, 6), tol=1e-9, max_iter=3)
    assert 0.5 * (result.x - target) @ (result.x - target) <= result.dual_gap < 1.0


class OneMethod:
    """All that a domain needs."""

    def lmo(self, gradient):
        vertex = np.zeros(len(gradient))
        vertex[np.argmin(gradient)] = 1.0
        return vertex


@pytest.mark.parametrize("variant", ["fw", "away", "pairwise", "fully_corrective"])
def test_one_method_is_enough(variant, rng):
    target = rng.dirichlet(np.ones(5))
    objective = objectives.Quadratic(np.eye(5), -target)
    start = np.array([0.0, 0.0, 1.0, 0.0, 0.0])
    result = minimize_frank_wolfe(
        objective, OneMethod(), variant=variant, start=start, tol=1e-3, max_iter=20_000
    )
    assert result.success
    np.testing.assert_allclose(result.x, target, rtol=0, atol=0.1)


def test_one_method_is_enough_for_a_start():
    class Ball:
        """Of which the oracle does not know what to say to zeros."""

        def lmo(self, gradient):
            return -gradient / np.linalg.norm(gradient)

    target = np.array([0.0, 3.0, 4.0])
    objective = objectives.Quadratic(np.eye(3), -target)
    result = minimize_frank_wolfe(objective, Ball(), tol=1e-9)
    np.testing.assert_allclose(result.x, target / 5.0, rtol=0, atol=1e-4)
    with pytest.raises(ValueError, match=r"domain has no start\(\): give start, or derive it"):
        minimize_frank_wolfe(lambda x: objective(x), Ball())
    sized = Ball()
    sized.size = 3
    result = minimize_frank_wolfe(lambda x: objective(x), sized, variant="fw", tol=1e-9)
    np.testing.assert_allclose(result.x, target / 5.0, rtol=0, atol=1e-4)
