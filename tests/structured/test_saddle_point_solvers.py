"""Solvers of norm-constrained structured SVMs against linear programs, slow code and each other."""

import itertools

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from _problems import (
    PROBLEMS,
    C,
    budget_may_end,
    digits,
    fit,
    optimum,
    part_blocks,
    problem,
    smallest,
)
from _references import smallest_mean_hinge
from sklearn_fw.structured import (
    EnumeratedModel,
    Extragradient,
    MulticlassModel,
    SaddlePointFrankWolfe,
    StructuredSVM,
)

SETTINGS = {
    "sp_fw": {},
    "sp_fw, fictitious": {"step_size": "fictitious"},
    "sp_bcfw": {"block": True},
}


def check(svm, p, radius, norm="l1"):
    """Everything that holds for a fit, whatever its quality."""
    history = svm.history_
    order = 2 if norm == "l2" else 1
    assert np.linalg.norm(svm.coef_.ravel(), order) <= radius * (1 + 1e-12)
    np.testing.assert_allclose(p.objective(svm.coef_, 0.0), svm.objective_, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(
        history["objective"] - history["dual_objective"], history["dual_gap"], atol=1e-15
    )
    assert svm.dual_gap_ == history["dual_gap"][-1]
    assert np.all(np.diff(history["dual_gap"]) <= 0.0)


# ---- the optimum ---------------------------------------------------------------------------------


@pytest.mark.parametrize("radius", [0.2, 1.0])
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        *sorted(set(itertools.product(PROBLEMS, SETTINGS)) - {("chain, zero-one", "sp_bcfw")}),
        *((name, "extragradient") for name in ("multiclass, costs", "labels, tree", "chain, CSR")),
    ],
)
def test_optimum_in_the_l1_ball(name, settings, radius):
    """Bounds from both sides at every certificate."""
    p = problem(name)
    value = smallest(name, radius)
    if settings == "extragradient":
        solver = Extragradient(radius=radius, norm="l1")
    else:
        solver = SaddlePointFrankWolfe(radius=radius, **SETTINGS[settings])
    svm = fit(p, solver, tol=0.05, value=value)
    assert svm.converged_
    check(svm, p, radius)
    assert np.all(svm.history_["dual_objective"] <= value + 1e-10)
    assert np.all(svm.history_["objective"] >= value - 1e-10)


@pytest.mark.parametrize("block", [False, True])
@pytest.mark.parametrize("name", ["multiclass", "labels, tree", "chain"])
def test_l2_ball_of_the_ridge_solution(name, block):
    p = problem(name)
    w, value = optimum(name)
    radius, hinge = np.linalg.norm(w), value - 0.5 * p.lam * (w @ w)
    solver = SaddlePointFrankWolfe(radius=radius, norm="l2", block=block)
    svm = fit(p, solver, tol=0.02, value=hinge)
    assert svm.converged_
    check(svm, p, radius, "l2")
    assert np.all(svm.history_["dual_objective"] <= hinge + 1e-8)
    assert np.all(svm.history_["objective"] >= hinge - 1e-8)
    assert np.sum((svm.coef_ - w) ** 2) <= 2 * svm.dual_gap_ / p.lam + 1e-8


# ---- trajectories --------------------------------------------------------------------------------


class Slow:
    """Joint Frank-Wolfe steps on listed outputs, with one alpha for each of them."""

    def __init__(self, p, radius, norm):
        self.p, self.radius, self.norm = p, radius, norm
        self.w = self.mean = np.zeros(p.size)
        self.alpha = [np.eye(len(l))[truth] for l, truth in zip(p.losses, p.targets)]

    def answer(self, i):
        p = self.p
        return np.eye(len(p.losses[i]))[np.argmax(p.losses[i] - p.psi[i] @ self.w)]

    def vertex(self):
        p = self.p
        v = sum(q * a @ psi for q, a, psi in zip(p.weight, self.alpha, p.psi))
        if self.norm == "l2":
            return self.radius * v / max(np.linalg.norm(v), 1e-300)
        top = np.argmax(np.abs(v))
        return self.radius * np.eye(p.size)[top] * (1.0 if v[top] >= 0.0 else -1.0)

    def step(self, blocks, gamma):
        s, answers = self.vertex(), {i: self.answer(i) for i in blocks}
        self.w = (1.0 - gamma) * self.w + gamma * s
        for i, answer in answers.items():
            self.alpha[i] = (1.0 - gamma) * self.alpha[i] + gamma * answer

    def dual(self):
        p = self.p
        loss = p.weight @ [a @ l for a, l in zip(self.alpha, p.losses)]
        return loss - self.vertex() @ sum(
            q * a @ psi for q, a, psi in zip(p.weight, self.alpha, p.psi)
        )


@pytest.mark.parametrize("step_size", ["universal", "fictitious"])
@pytest.mark.parametrize(
    ("name", "norm"),
    [
        ("multiclass", "l1"),
        ("multiclass", "l2"),
        ("chain", "l1"),
        ("chain, zero-one", "l1"),
        ("labels, all pairs", "l2"),
    ],
)
def test_batch_steps(name, step_size, norm):
    p = problem(name)
    slow = Slow(p, 0.7, norm)
    values, bounds = [p.objective(slow.w, 0.0)], [slow.dual()]
    for t in range(12):
        slow.step(range(len(p.psi)), 2 / (t + 2) if step_size == "universal" else 1 / (t + 1))
        values.append(p.objective(slow.w, 0.0))
        bounds.append(slow.dual())
    solver = SaddlePointFrankWolfe(radius=0.7, step_size=step_size, norm=norm)
    method = solver.start(part_blocks(p), lam=p.lam, tol=0.0, rng=None)
    rows = [method.step() for _ in range(13)]
    np.testing.assert_allclose(method.w, slow.w, rtol=1e-9, atol=1e-12)
    for key, expected in (
        ("objective", np.minimum.accumulate(values)),
        ("dual_objective", np.maximum.accumulate(bounds)),
        ("n_oracle_calls", len(p.psi) * np.arange(1, 14)),
    ):
        np.testing.assert_allclose([row[key] for row in rows], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "norm"),
    [("multiclass, costs", "l1"), ("chain", "l1"), ("chain", "l2"), ("labels, tree", "l2")],
)
def test_block_steps(name, norm):
    p = problem(name)
    n, slow = len(p.psi), Slow(p, 0.7, norm)
    slow.alpha = [slow.answer(i) for i in range(n)]
    mean, order = np.zeros(p.size), np.random.RandomState(0)
    for k, i in enumerate(np.concatenate([order.randint(n, size=n) for _ in range(4)])):
        slow.step([i], 2 * n / (k + 2 * n))
        mean = mean + 2 / (k + 2) * (slow.w - mean)
    solver = SaddlePointFrankWolfe(radius=0.7, block=True, norm=norm, gap_check=4)
    method = solver.start(part_blocks(p), lam=p.lam, tol=0.0, rng=np.random.RandomState(0))
    rows = [method.step() for _ in range(4)]
    np.testing.assert_allclose(method.w, slow.w, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(method.mean, mean, rtol=1e-9, atol=1e-12)
    assert rows[:3] == [None] * 3
    values = [p.objective(w, 0.0) for w in (np.zeros(p.size), mean, slow.w)]
    np.testing.assert_allclose(rows[3]["objective"], min(values), rtol=1e-9)
    np.testing.assert_allclose(rows[3]["dual_objective"], max(0.0, slow.dual()), rtol=1e-9)
    assert rows[3]["n_oracle_calls"] == n + 4 * n + 2 * n


@budget_may_end
@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize(
    ("name", "norm"),
    # Weights of the two states of a label are opposite: rounding tells their sizes apart in "l1".
    [("multiclass", "l1"), ("chain", "l1"), ("labels, tree", "l2")],
)
def test_black_boxes_take_the_same_steps(name, norm, settings):
    p = problem(name)

    class BlackBox(type(p.model)):
        def inference(self, x, w):
            return super().inference(x, w)

    solver = SaddlePointFrankWolfe(radius=0.7, norm=norm, **SETTINGS[settings])
    one = fit(p, solver, tol=0.0, max_iter=10)
    two = StructuredSVM(
        BlackBox(**p.model.get_params()), solver=solver, tol=0.0, max_iter=10, random_state=0
    ).fit(p.X, p.y, p.sample_weight)
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-9, atol=1e-12)
    for key in one.history_.keys() - {"time"}:
        np.testing.assert_allclose(one.history_[key], two.history_[key], rtol=1e-9, atol=1e-12)


@budget_may_end
def test_weights_are_sparse():
    """At most one more that is not zero in every pass."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 50)), rng.integers(3, size=30)
    for n_passes in (1, 2, 5, 20):
        svm = StructuredSVM(solver="sp_fw", tol=0.0, max_iter=n_passes).fit(X, y)
        assert np.count_nonzero(svm.coef_) <= n_passes


# ---- digits --------------------------------------------------------------------------------------


@pytest.mark.slow
@budget_may_end
@pytest.mark.parametrize(
    ("radius", "value", "block", "n_passes", "error"),
    [
        (0.05, 0.997823, False, 300, 8.5e-4),
        (5.0, 0.788508, False, 300, 7.9e-2),
        (5.0, 0.788508, False, 1000, 3.0e-2),
        (40.0, 0.0, False, 300, 3.8e-1),
        (40.0, 0.0, True, 300, 2.2e-1),
    ],
)
def test_digits_as_known(radius, value, block, n_passes, error):
    """Smallest values, which linear programs gave, and errors of other code."""
    X, y = digits()
    solver = SaddlePointFrankWolfe(radius=radius, block=block, gap_check=25)
    svm = StructuredSVM(
        MulticlassModel(fit_intercept=False), solver=solver, tol=0.0, max_iter=n_passes,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    assert svm.dual_objective_ <= value + 1e-6
    assert svm.objective_ >= value - 1e-6
    # Equal entries of v, and equal answers, are told apart in other ways.
    np.testing.assert_allclose(svm.objective_ - value, error, rtol=0.1)


# ---- the same problem in other words -------------------------------------------------------------


@budget_may_end
@pytest.mark.parametrize("settings", SETTINGS)
def test_workers_and_seeds(settings):
    p = problem("chain")
    solver = SaddlePointFrankWolfe(radius=0.7, **SETTINGS[settings])
    one, two, other = (
        fit(p, solver, tol=0.0, max_iter=5, n_jobs=n_jobs, random_state=seed)
        for n_jobs, seed in ((None, 3), (2, 3), (None, 4))
    )
    np.testing.assert_array_equal(one.coef_, two.coef_)
    assert np.any(one.coef_ != other.coef_) == (settings == "sp_bcfw")


@budget_may_end
def test_weights_of_samples():
    """A weight of two is the sample twice, a weight of zero none."""
    p = problem("multiclass")
    weight = np.array([2, 1, 0, 1, 1, 1, 3, 1, 1, 1, 1, 1])
    one = StructuredSVM(p.model, solver="sp_fw", tol=0.0, max_iter=20).fit(p.X, p.y, weight)
    X, y = np.repeat(p.X, weight, axis=0), np.repeat(p.y, weight)
    two = StructuredSVM(p.model, solver="sp_fw", tol=0.0, max_iter=20).fit(X, y)
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-9, atol=1e-12)
    value = smallest_mean_hinge(p.psi, p.losses, weight / weight.sum(), 1.0)
    assert one.dual_objective_ <= value <= one.objective_


@budget_may_end
@pytest.mark.parametrize("solver", [SaddlePointFrankWolfe(), Extragradient(radius=1.0)], ids=str)
def test_grids(solver):
    X, y = digits()
    pipeline = make_pipeline(StandardScaler(), StructuredSVM(solver=solver, tol=0.1, max_iter=200))
    search = GridSearchCV(pipeline, {"structuredsvm__solver__radius": [1e-6, 5.0]}, cv=2)
    search.fit(X, y)
    assert search.best_params_ == {"structuredsvm__solver__radius": 5.0}
    assert search.best_score_ > 0.5


@budget_may_end
@pytest.mark.parametrize("solver", ["sp_fw", "sp_bcfw", Extragradient(radius=2.0)], ids=str)
def test_C_is_not_used(solver):
    p = problem("multiclass")
    with pytest.warns(UserWarning, match="C=3.0 is not used: .* bounds the norm of the weights"):
        one = fit(p, solver, C=3.0, tol=0.0, max_iter=5)
    two = fit(p, solver, C="auto", tol=0.0, max_iter=5)
    np.testing.assert_array_equal(one.coef_, two.coef_)


# ---- warm starts ---------------------------------------------------------------------------------


@budget_may_end
@pytest.mark.parametrize("black_box", [False, True])
@pytest.mark.parametrize("settings", SETTINGS)
def test_warm_start_goes_on(settings, black_box):
    """Two fits of 5 and 6 passes are one of 11, but for the certificate between them."""
    p = problem("multiclass")
    if black_box:
        model, X, y = EnumeratedModel(), [-psi for psi in p.psi], p.targets
    else:
        model, X, y = p.model, p.X, p.y
    solver = SaddlePointFrankWolfe(radius=0.7, gap_check=1, **SETTINGS[settings])
    rng = np.random.RandomState(0)
    svm = StructuredSVM(
        model, solver=solver, tol=0.0, max_iter=5, warm_start=True, random_state=rng
    )
    first = svm.fit(X, y).history_
    # Without block, the first pass is a certificate of the start.
    second = svm.set_params(max_iter=6 + (not SETTINGS[settings].get("block"))).fit(X, y).history_
    alone = StructuredSVM(
        model, solver=solver, tol=0.0, max_iter=11, random_state=np.random.RandomState(0)
    ).fit(X, y)
    best = min(first["objective"][-1], second["objective"][-1])
    assert best == pytest.approx(alone.objective_, rel=1e-12)
    best = max(first["dual_objective"][-1], second["dual_objective"][-1])
    assert best == pytest.approx(alone.dual_objective_, rel=1e-12)


@pytest.mark.slow
@budget_may_end
def test_warm_start_with_another_radius():
    p = problem("chain")
    first, value = (smallest("chain", radius) for radius in (0.5, 0.6))
    svm = fit(p, SaddlePointFrankWolfe(radius=0.5), tol=0.01, value=first, warm_start=True)
    cold = fit(p, SaddlePointFrankWolfe(radius=0.6), tol=0.05, value=value)
    svm.set_params(solver__radius=0.6, tol=cold.tol).fit(p.X, p.y, p.sample_weight)
    assert svm.converged_
    assert svm.n_iter_ < cold.n_iter_
    check(svm, p, 0.6)
    assert svm.dual_objective_ <= value <= svm.objective_
    # The other norm: moved into the ball.
    svm.set_params(solver__norm="l2").fit(p.X, p.y, p.sample_weight)
    check(svm, p, 0.6, "l2")
    svm.set_params(solver__norm="l1").fit(p.X, p.y, p.sample_weight)
    check(svm, p, 0.6)
    svm.set_params(solver__block=True).fit(p.X, p.y, p.sample_weight)
    check(svm, p, 0.6)
    assert svm.dual_objective_ <= value <= svm.objective_


@pytest.mark.parametrize("block", [False, True])
def test_warm_start_from_a_ridge(block):
    """The mixture of another solver gives a bound."""
    p = problem("chain")
    w, value = optimum("chain")
    radius = np.linalg.norm(w)
    svm = fit(p, "bcfw", tol=1e-3, warm_start=True)
    solver = SaddlePointFrankWolfe(radius=radius, norm="l2", block=block)
    hinge = value - 0.5 * p.lam * (w @ w)
    tols = [min(tol / (1.05 * v), 0.1) for tol, v in ((0.02, hinge), (0.05, value))]
    svm.set_params(solver=solver, tol=tols[0], C="auto").fit(p.X, p.y, p.sample_weight)
    assert svm.converged_
    assert hinge - 0.02 <= svm.history_["dual_objective"][0] <= hinge + 1e-8
    svm.set_params(solver="bcfw", tol=tols[1], C=C).fit(p.X, p.y, p.sample_weight)
    assert svm.converged_
