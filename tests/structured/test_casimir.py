"""Casimir and SVRG: equalities with other methods, with themselves, and what they refuse."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from _problems import PROBLEMS, IgnoreEdges, optimum, part_blocks, problem
from _references import smallest_mean_hinge
from sklearn_fw.inference import CheckedOracle, resolve_oracle
from sklearn_fw.structured import (
    Casimir,
    EnumeratedModel,
    GraphCutModel,
    MulticlassModel,
    StructuredSVM,
)
from sklearn_fw.structured._problems._listed import BlackBoxProblem
from sklearn_fw.structured._solvers._casimir import Schedule
from sklearn_fw.structured._solvers._variance_reduced import Smoothing, smooth_pass, svrg_walk
from sklearn_fw.structured._surrogates import resolve_surrogate

FORESTS = [name for name in PROBLEMS if name not in ("labels, all pairs", "chain, zero-one")]
SMOOTHINGS = {
    "l2": Smoothing("l2", 0.7, 3, 3),
    "adaptive": Smoothing("l2", 5.0, 2, 64),
    "none": Smoothing(None),
    "entropy": Smoothing("entropy", 0.4),
    "loss": Smoothing("loss", 1.0),
}
CLOSE = {"rtol": 1e-10, "atol": 1e-10}


def fitted(solver, p, **params):
    params = {"C": 1.0, "tol": 0.0, "max_iter": 60, "random_state": 0} | params
    return StructuredSVM(p.model, solver=solver, **params).fit(p.X, p.y, p.sample_weight)


def standardized(X):
    return (X - X.mean(axis=0)) / X.std(axis=0)


# ---- passes --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("smoothing", SMOOTHINGS.values(), ids=SMOOTHINGS)
@pytest.mark.parametrize("name", FORESTS)
def test_lazy_steps_equal_dense_ones(name, smoothing, rng):
    p = problem(name)
    pair = part_blocks(p), part_blocks(p)
    start, order = rng.normal(size=p.size), rng.integers(len(p.psi), size=50)
    drift, found = 0.05 * rng.normal(size=p.size), []
    for blocks, do in zip(pair, (lambda f: f, lambda f: f.plain)):
        if smoothing.kind == "loss":
            blocks.surrogate = resolve_surrogate("softmax_margin")
        blocks.reset(p.lam)
        snapshot = do(smooth_pass)(blocks, start, smoothing)
        walked = do(svrg_walk)(
            blocks, order, start + 0.1, start, drift, 0.03, 0.98, snapshot.values, smoothing
        )
        found.append((*snapshot, blocks.v, blocks.loss, *walked, blocks.counts))
    for lazy, dense in zip(*found, strict=True):
        np.testing.assert_allclose(lazy, dense, **CLOSE)


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("mu", [0.01, 0.5, 20.0])
def test_smoothed_values_lie_between_the_maximum_and_its_bound(name, mu, rng):
    p, w = problem(name), rng.normal(size=problem(name).size)
    for blocks in (part_blocks(p), BlackBoxProblem(p.model, p.X, p.y, p.weight)):
        for smoothing in (Smoothing("l2", mu, 4, 4), Smoothing(None)):
            if smoothing.kind is not None and isinstance(blocks, BlackBoxProblem):
                continue  # four methods name no second best output
            blocks.reset(p.lam)
            found = smooth_pass(blocks, w, smoothing)
            hinge = [np.max(l - psi @ w) for psi, l in zip(p.psi, p.losses)]
            np.testing.assert_allclose(found.hinge, hinge, rtol=1e-9, atol=1e-9)
            above = found.values - found.hinge
            limit = 0.5 * mu * (1.0 - 1.0 / 4.0) if smoothing.kind else 0.0
            assert above.min() >= -1e-9
            assert above.max() <= limit + 1e-9


@pytest.mark.slow
def test_full_gradient_is_that_of_the_smoothed_value(rng):
    p = problem("chain")
    w, way, h = rng.normal(size=p.size), rng.normal(size=p.size), 1e-5
    for smoothing in (Smoothing("l2", 3.0, 5, 64), Smoothing("entropy", 0.7)):
        blocks = part_blocks(p)
        blocks.reset(p.lam)
        ends = [
            blocks.weight @ smooth_pass(blocks, w + side * h * way, smoothing).values
            for side in (1, -1)
        ]
        smooth_pass(blocks, w, smoothing)
        slope = (ends[0] - ends[1]) / (2 * h)
        assert -p.lam * (blocks.v @ way) == pytest.approx(slope, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("name", [*PROBLEMS])
def test_best_answers_equal_enumeration(name, rng):
    p, w = problem(name), rng.normal(size=problem(name).size)
    blocks = part_blocks(p)
    blocks.reset(p.lam)
    for i, (psi, losses) in enumerate(zip(p.psi, p.losses)):
        values = np.sort(losses - psi @ w)[::-1]
        answers = blocks.top_answers(i, w, 6)
        np.testing.assert_allclose([a.value for a in answers], values[:6], rtol=1e-9, atol=1e-9)
        assert len({tuple(a.vertex) for a in answers}) == min(6, len(values))


# ---- optima --------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_optimum_of_the_hinge(name):
    p = problem(name)
    svm = fitted(Casimir(n_best="adaptive"), p, max_iter=300 if name in FORESTS else 60)
    value = optimum(name)[1]
    assert svm.objective_ >= value - 1e-9
    assert svm.dual_gap_ >= svm.objective_ - value - 1e-9
    assert svm.dual_gap_ <= (0.01 if name in FORESTS else 0.05) * value


@pytest.mark.slow
@pytest.mark.parametrize("smoother", ["l2", "entropy", None])
def test_optimum_of_linear_svc(smoother):
    X, y = load_iris(return_X_y=True)
    X = standardized(X)
    reference = LinearSVC(
        multi_class="crammer_singer", C=1.0, fit_intercept=False, tol=1e-8, max_iter=100_000
    ).fit(X, y)
    scores = X @ reference.coef_.T
    margins = 1.0 + scores - scores[np.arange(len(y)), y][:, None]
    margins[np.arange(len(y)), y] = 0.0
    lam = 1.0 / len(y)
    value = 0.5 * lam * np.sum(reference.coef_**2) + margins.max(axis=1).mean()
    svm = StructuredSVM(
        MulticlassModel(fit_intercept=False), solver=Casimir(smoother=smoother), C=1.0,
        tol=1e-3 if smoother else 2e-2, max_iter=1500, random_state=0,
    ).fit(X, y)  # fmt: skip
    assert svm.converged_
    assert value * (1 - 1e-8) <= svm.objective_ <= value * (1 + svm.tol)


@pytest.mark.slow
@pytest.mark.parametrize("solver", [Casimir(), "svrg"], ids=["catalyst", "svrg"])
def test_optimum_of_logistic_regression(solver):
    X, y = load_iris(return_X_y=True)
    X = standardized(X)
    reference = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-12, max_iter=10_000).fit(X, y)
    crf = StructuredSVM(
        MulticlassModel(fit_intercept=False), surrogate="crf", solver=solver, C=1.0, tol=1e-12,
        max_iter=1000, random_state=0,
    ).fit(X, y)  # fmt: skip
    assert crf.converged_
    coef = crf.coef_.reshape(X.shape[1], -1).T
    np.testing.assert_allclose(coef, reference.coef_, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("surrogate", ["crf", "softmax_margin"])
def test_chains_agree_with_dual_ascent(surrogate):
    p = problem("chain")
    one = fitted(Casimir(), p, surrogate=surrogate, tol=1e-6, max_iter=1000)
    other = fitted("dual_ascent", p, surrogate=surrogate, tol=1e-6, max_iter=2000)
    assert one.converged_
    assert other.converged_
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("schedule", ["const_nonstrong", "adapt_nonstrong"])
def test_without_a_penalty(schedule):
    """C is finite in estimators, so that lam = 0 is reached by solvers alone."""
    p = problem("multiclass")
    blocks = part_blocks(p)
    method = Casimir(schedule).start(
        blocks, lam=0.0, tol=0.0, rng=np.random.RandomState(0)
    )  # fmt: skip
    rows = [method.step() for _ in range(300)]
    value = smallest_mean_hinge(p.psi, p.losses, p.weight, 1e4)
    found = p.objective(method.weights(), lam=0.0)
    assert rows[-1]["dual_gap"] is None
    assert rows[-1]["objective"] == pytest.approx(found, rel=1e-9)
    assert value - 1e-9 <= found <= value + 0.05


def test_a_walk_that_is_rejected_for_ever_ends_where_it_began(monkeypatch):
    """Calm pieces that make steps long again would have a wild one rejected without end."""
    p = problem("chain")
    method = Casimir().start(part_blocks(p), lam=p.lam, tol=0.0, rng=np.random.RandomState(0))
    lengths = []

    def accepts(n_steps, sums, report, kappa):
        lengths.append(method.lipschitz)
        is_wild = len(lengths) % 2 == 0  # every second piece of a walk
        method.lipschitz *= 4.0 if is_wild else 0.1
        return not is_wild

    monkeypatch.setattr(method, "_accepts", accepts)
    before = method.x
    method.step()
    assert len(lengths) == 80
    assert np.all(np.diff(lengths[3::2]) > 0)  # steps that were rejected do not come back
    np.testing.assert_array_equal(method.x, before)


# ---- schedules -----------------------------------------------------------------------------------


def test_constant_schedule_stays_above_the_falling_one():
    p = problem("chain")
    value = optimum("chain")[1]
    mu = 4.0
    const = fitted(Casimir("const", mu=mu), p, max_iter=200).history_["objective"] - value
    adapt = fitted(Casimir(mu=mu), p, max_iter=200).history_["objective"] - value
    assert const[-1] <= 0.5 * mu
    assert const[-1] > 0.9 * const[-50] > 1e-3  # it has stopped falling
    assert adapt[-1] < 0.1 * const[-1]


@pytest.mark.parametrize("kappa", [0.01, 1.0, 100.0])
def test_alpha_of_constant_schedules(kappa):
    lam = 0.1
    schedule = Schedule("const", 1.0, kappa, lam)
    root = np.sqrt(lam / (lam + kappa))
    for k in range(1, 30):
        beta = schedule.momentum_of(k)
        assert schedule.alpha == pytest.approx(root, rel=1e-12)
        assert beta == pytest.approx((1 - root) / (1 + root), rel=1e-12)


@pytest.mark.parametrize("name", ["const_nonstrong", "adapt_nonstrong"])
def test_alpha_without_a_penalty(name):
    """Lemmas 52 and 53 of Pillutla et al."""
    schedule = Schedule(name, 1.0, 0.7, 0.0)
    alphas = [schedule.alpha]
    for k in range(1, 200):
        schedule.momentum_of(k)
        alphas.append(schedule.alpha)
    k, alphas = np.arange(200), np.array(alphas)
    product = np.cumprod(1.0 - alphas)
    assert np.all(np.diff(alphas) <= 0.0)
    assert np.all((alphas > 0) & (alphas < 1))
    if name == "const_nonstrong":
        assert np.all(alphas >= np.sqrt(2) / (k + 3) - 1e-12)
        assert np.all(alphas <= 2 / (k + 3) + 1e-12)
        np.testing.assert_allclose(product, alphas**2, rtol=1e-10)
    else:
        assert np.all(product >= (1 - 1 / np.sqrt(2)) / (k + 1) - 1e-12)
        assert np.all(product <= 1 / (k + 2) + 1e-12)


@pytest.mark.parametrize("lam", [1e-4, 0.3])
def test_alpha_falls_to_its_bound(lam):
    """Lemma 21, from an alpha above the bound."""
    schedule = Schedule("const_nonstrong", 1.0, 1.0, lam)
    before = schedule.alpha
    for k in range(1, 100):
        schedule.momentum_of(k)
        assert schedule.alpha <= before + 1e-15
        assert schedule.alpha**2 >= lam / (lam + 1.0) - 1e-12
        before = schedule.alpha


# ---- runs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("start", ["prox_center", "extrapolation", "previous"])
def test_equal_seeds_give_equal_bits(start):
    p = problem("labels, tree")
    runs = [fitted(Casimir(inner_start=start, lipschitz=40.0), p, max_iter=9) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].coef_, runs[1].coef_)
    assert runs[0].n_oracle_calls_ > 9 * 2 * len(p.psi)
    assert np.all(np.diff(runs[0].history_["dual_objective"]) >= -1e-12)
    assert np.all(np.diff(runs[0].history_["objective"]) <= 0.0)


def test_a_warm_start_goes_on():
    p = problem("chain")
    cold, warm = [], []
    for seed in range(5):
        svm = StructuredSVM(
            p.model, solver=Casimir(), C=1.0, tol=0.02, max_iter=500, random_state=seed
        )
        svm.set_params(warm_start=True)
        cold.append(svm.fit(p.X, p.y, p.sample_weight).n_iter_)
        warm.append(svm.fit(p.X, p.y, p.sample_weight).n_iter_)
    assert sum(warm) <= 0.1 * sum(cold)


def test_other_models_walk_in_plain_python(rng):
    X = [rng.normal(size=(4, 3)) for _ in range(12)]
    y = [int(np.argmax(x @ [1.0, -1.0, 0.5])) for x in X]
    svm = StructuredSVM(EnumeratedModel(), solver="casimir", C=1.0, tol=0.05, max_iter=200)
    reference = StructuredSVM(EnumeratedModel(), solver="bcpfw", C=1.0, tol=1e-6, max_iter=5000)
    svm.fit(X, y), reference.fit(X, y)
    assert svm.converged_
    assert reference.objective_ * (1 - 1e-6) <= svm.objective_ <= reference.objective_ * 1.05


@pytest.mark.slow
def test_bounds_of_a_model_are_kept(rng):
    X = [(rng.normal(size=(4, 2)), [(0, 1), (1, 2), (2, 3)]) for _ in range(6)]
    y = [(x @ [1.0, -1.0] > 0).astype(int) for x, _ in X]
    params = {"C": 1.0, "max_iter": 200, "random_state": 0}
    svm = StructuredSVM(GraphCutModel(), solver=Casimir(), tol=0.05, **params).fit(X, y)
    reference = StructuredSVM(
        GraphCutModel(), solver="bcfw", tol=0.01, **params | {"max_iter": 2000}
    )
    value = reference.fit(X, y).objective_
    assert svm.converged_
    assert value * 0.99 <= svm.objective_ <= 1.06 * value


# ---- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("schedule", ["adapt", "const"])
def test_schedules_that_need_a_penalty(schedule):
    with pytest.raises(ValueError, match="needs lam > 0: take 'const_nonstrong'"):
        Casimir(schedule).start(part_blocks(problem("chain")), lam=0.0, tol=0.1, rng=None)


def test_oracles_without_second_best_outputs(rng):
    p = problem("chain")
    for oracle in (IgnoreEdges(), resolve_oracle(p.model.default_oracle().argmax)):
        with pytest.raises(TypeError, match="lacks: take another oracle, or smoother=None"):
            fitted(Casimir(), p, oracle=oracle)
        with pytest.raises(TypeError, match="method marginals, which"):
            fitted(Casimir(smoother="entropy"), p, oracle=oracle)
    assert isinstance(oracle, CheckedOracle)
    assert fitted(Casimir(smoother=None), p, oracle=p.model.default_oracle()).dual_gap_ > 0.0


def test_models_with_four_methods_alone(rng):
    class FourMethods:
        def __init__(self, model):
            for name in ("joint_feature", "loss", "inference", "loss_augmented_inference"):
                setattr(self, name, getattr(model, name))
            self.size_joint_feature = model.size_joint_feature

    p = problem("chain")
    model = FourMethods(p.model)
    with pytest.raises(TypeError, match="known by its four methods lacks: set smoother=None"):
        StructuredSVM(model, solver="casimir", C=1.0).fit(p.X, p.y)
    svm = StructuredSVM(model, solver=Casimir(smoother=None), C=1.0, tol=0.0, max_iter=20)
    svm.fit(p.X, p.y, p.sample_weight)
    value = optimum("chain")[1]
    assert svm.objective_ == pytest.approx(p.objective(svm.coef_), rel=1e-9)
    assert value <= svm.objective_ <= value + svm.dual_gap_
