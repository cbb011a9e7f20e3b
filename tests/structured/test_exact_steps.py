"""Exact steps on classes, and the zero-one loss inside compiled passes."""

from operator import attrgetter
from time import process_time

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits, load_iris
from sklearn.svm import LinearSVC

from _problems import ROUNDING, fit, optimum, part_blocks, problem
from _random_scores import random_scores
from _references import all_labelings, labeling_values
from sklearn_fw import regularization_path
from sklearn_fw._kernels.graphs import tree
from sklearn_fw._kernels.structured.block_rules import EXACT, VISITS, Rules
from sklearn_fw.inference import Enumeration, TreeMaxProduct
from sklearn_fw.inference._oracles._tree import _forest
from sklearn_fw.structured import BlockFrankWolfe, MulticlassModel, MultilabelModel, StructuredSVM
from sklearn_fw.structured._solvers import _visits
from sklearn_fw.structured._solvers._visits import visit_blocks

CLASSES = ["multiclass", "multiclass, costs"]


def exact_rules(p, **changes):
    return Rules(p.lam, EXACT, **changes)


def visit(blocks, rules, order):
    return visit_blocks(blocks, np.asarray(order), np.zeros(len(order)), rules)


@pytest.mark.parametrize("name", CLASSES)
def test_a_visit_maximises_the_dual_of_its_block(name, rng):
    """No mixture of outputs of the block is better, and its gap is closed."""
    p = problem(name)
    blocks, rules = part_blocks(p), exact_rules(p)
    blocks.reset(p.lam)
    for i in rng.integers(blocks.n_blocks, size=4 * blocks.n_blocks):
        before = blocks.dual_value(blocks.v, blocks.loss.sum())
        visit(blocks, rules, [i])
        dual = blocks.dual_value(blocks.v, blocks.loss.sum())
        assert dual >= before - 1e-13
        alpha = blocks.marginals.nodes[i]
        np.testing.assert_allclose(alpha.sum(), 1.0, rtol=1e-14)
        values = p.losses[i] - p.psi[i] @ blocks.w
        # Optimal: every class in use has the highest value.
        assert values[alpha > 0].min() >= values.max() - 1e-10
        for other in rng.dirichlet(np.full(3, 0.5), size=20):
            change = other - alpha
            v = blocks.v + p.weight[i] / p.lam * change @ p.psi[i]
            loss = blocks.loss.sum() + p.weight[i] * change @ p.losses[i]
            assert blocks.dual_value(v, loss) <= dual + 1e-13
    v, losses = blocks.v.copy(), blocks.loss.copy()
    blocks.refresh()
    np.testing.assert_allclose(blocks.v, v, **ROUNDING)
    costs = [p.weight[i] * blocks.marginals.nodes[i] @ p.losses[i] for i in range(blocks.n_blocks)]
    np.testing.assert_allclose(losses, costs, **ROUNDING)


def test_averages_are_those_of_the_iterates(rng):
    p = problem("multiclass")
    blocks = part_blocks(p)
    blocks.reset(p.lam, averaging=True)
    total_v, total_loss, weight = np.zeros(p.size), 0.0, 0.0
    for i in rng.integers(blocks.n_blocks, size=50):
        visit(blocks, exact_rules(p), [i])
        k = blocks.counts[VISITS]
        total_v += k * blocks.v
        total_loss += k * blocks.loss.sum()
        weight += k
    v, loss = blocks.averaged()
    np.testing.assert_allclose(v, total_v / weight, **ROUNDING)
    np.testing.assert_allclose(loss, total_loss / weight, **ROUNDING)


@pytest.mark.parametrize("sampling", ["active", "gap", "shuffle", "uniform", "max_gap"])
@pytest.mark.parametrize("name", CLASSES)
def test_optimum(name, sampling):
    p = problem(name)
    w, value = optimum(name)
    svm = fit(p, BlockFrankWolfe("exact", sampling=sampling), tol=1e-9)
    assert svm.converged_
    assert 0 <= svm.dual_gap_ <= 1e-9
    np.testing.assert_allclose(svm.objective_, value, rtol=1e-8)
    np.testing.assert_allclose(svm.coef_, w, atol=1e-4)
    assert svm.step_counts_["exact"] > 0 == svm.step_counts_["fw"]
    # The dual variables are those of the weights.
    for i, alphas in enumerate(svm.dual_coef_):
        assert sum(alphas.values()) == pytest.approx(1.0, rel=1e-12), i
    v = sum(
        weight / p.lam * sum(a * psi[k] for (k,), a in alphas.items())
        for weight, alphas, psi in zip(p.weight, svm.dual_coef_, p.psi)
    )
    np.testing.assert_allclose(svm.coef_, v, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_the_optimum_of_liblinear(C):
    X, y = load_digits(return_X_y=True)
    X = X[:600] / 16.0
    y = y[:600]
    svm = StructuredSVM(MulticlassModel(fit_intercept=False), C=C, tol=1e-6, random_state=0)
    svm.fit(X, y)
    assert svm.converged_
    assert (svm.solver_.variant, svm.solver_.sampling) == ("exact", "active")
    peer = LinearSVC(
        multi_class="crammer_singer", C=C, fit_intercept=False, tol=1e-8, max_iter=1_000_000
    ).fit(X, y)
    coef = svm.feature_weights()["features"].T
    np.testing.assert_allclose(coef, peer.coef_, atol=2e-3 * np.abs(coef).max())


@pytest.mark.slow
def test_few_visits_where_most_samples_are_settled():
    """Shrinking: far fewer oracle calls than passes over all samples, for a smaller gap."""
    X, y = load_iris(return_X_y=True)
    calls = {}
    for sampling in ("active", "shuffle"):
        svm = StructuredSVM(
            solver=BlockFrankWolfe("exact", sampling=sampling), C=10.0, tol=1e-3, max_iter=100_000,
            random_state=0,
        ).fit(X, y)  # fmt: skip
        assert svm.converged_
        calls[sampling] = svm.n_oracle_calls_
    assert calls["active"] <= 0.5 * calls["shuffle"]


def test_every_pass_of_active_samples_ends_with_a_certificate():
    X, y = load_iris(return_X_y=True)
    svm = StructuredSVM(solver="sdm", C=1.0, tol=1e-6, random_state=0).fit(X, y)
    assert len(svm.history_["dual_gap"]) == svm.n_iter_
    assert np.all(np.diff(svm.history_["dual_objective"]) >= -1e-12)
    # One visit of each sample first, then at most gap_check visits of each and a gap pass.
    calls = np.diff(svm.history_["n_oracle_calls"])
    assert svm.history_["n_oracle_calls"][0] == 2 * len(y)
    assert calls.max() <= (svm.solver_.gap_check + 1 + 10) * len(y)


def test_samples_without_features_and_attributes_that_come_twice():
    X = np.array([[0.0, 0.0], [1.0, 2.0], [2.0, -1.0], [0.5, 0.5]])
    y = [0, 1, 2, 1]
    twice = sp.csr_array(
        (np.array([0.25, 0.75, 2.0, 2.0, -1.0, 0.5, 0.5]), np.array([0, 0, 1, 0, 1, 0, 1]),
         np.array([0, 0, 3, 5, 7])), shape=(4, 2),
    )  # fmt: skip
    np.testing.assert_array_equal(twice.toarray(), X)
    model = MulticlassModel(fit_intercept=False)
    fits = [
        StructuredSVM(model, solver=solver, C=1.0, tol=1e-8, max_iter=5000, random_state=0).fit(
            x, y
        )
        for x, solver in ((X, "bcpfw"), (X, "sdm"), (twice, "sdm"))
    ]
    for svm in fits[1:]:
        assert svm.converged_
        np.testing.assert_allclose(svm.coef_, fits[0].coef_, atol=1e-3)
        assert svm.dual_coef_[0][(0,)] == 0.0 if (0,) in svm.dual_coef_[0] else True


def test_warm_start_goes_on():
    X, y = load_iris(return_X_y=True)
    svm = StructuredSVM(solver="sdm", C=1.0, tol=1e-6, warm_start=True, random_state=0).fit(X, y)
    gap = svm.dual_gap_
    svm.fit(X, y)
    assert svm.n_iter_ == 1
    np.testing.assert_allclose(svm.dual_gap_, gap, rtol=1e-6, atol=1e-12)
    svm.set_params(C=2.0).fit(X, y)
    assert svm.converged_
    fresh = StructuredSVM(solver="sdm", C=2.0, tol=1e-6, random_state=1).fit(X, y)
    np.testing.assert_allclose(svm.objective_, fresh.objective_, rtol=2e-6)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["exact", "heuristic"])
def test_path(mode):
    X, y = load_iris(return_X_y=True)
    options = {"eps": 0.05, "C_max": 1.0, "mode": mode}
    path = regularization_path(StructuredSVM(solver="sdm", random_state=0), X, y, **options)
    for C in (0.01, 0.1, 0.9):
        best = StructuredSVM(solver="sdm", C=C, tol=1e-8, max_iter=2000).fit(X, y)
        at = path.estimator_at(C)
        scores = X @ at.feature_weights()["features"] + at.feature_weights()["intercept"]
        margins = scores + (np.arange(3) != y[:, None])
        hinge = margins.max(axis=1) - scores[np.arange(len(y)), y]
        objective = at.coef_ @ at.coef_ / (2 * C * len(y)) + hinge.mean()
        assert objective <= best.objective_ + 0.05 + (0.02 if mode == "heuristic" else 1e-12)


@pytest.mark.slow
def test_what_auto_takes():
    X, y = load_iris(return_X_y=True)
    assert StructuredSVM(max_iter=1, tol=10.0).fit(X, y).solver_.variant == "exact"
    svm = StructuredSVM(oracle=Called(TreeMaxProduct()), max_iter=1, tol=10.0, C=1.0).fit(X, y)
    assert svm.solver_.variant == "fw"  # exact steps would not ask that oracle
    sets = (y[:, None] == np.arange(3)).astype(int)
    assert StructuredSVM(max_iter=1, tol=10.0).fit(X, sets).solver_.variant == "fw"


# ---- the plain pass ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("averaging", [False, True])
@pytest.mark.parametrize("name", CLASSES)
def test_the_plain_pass_ends_where_the_projection_does(name, averaging, rng, monkeypatch):
    monkeypatch.setattr(_visits, "CLOSED", 1e-12)
    p = problem(name)
    compiled, plain = part_blocks(p), part_blocks(p)
    compiled.reset(p.lam, averaging=averaging)
    plain.reset(p.lam, averaging=averaging, capacity=2)  # which has to grow
    order, run = rng.integers(compiled.n_blocks, size=3 * compiled.n_blocks), visit_blocks.plain
    visit(compiled, exact_rules(p), order)
    assert run(plain, order, np.zeros(len(order)), exact_rules(p)) == len(order)
    for name in ("v", "loss", "marginals.nodes", "moments", "loss_moment"):
        of = attrgetter(name)
        np.testing.assert_allclose(of(plain), of(compiled), rtol=1e-7, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(plain.gaps.value, compiled.gaps.value, rtol=1e-7, atol=1e-9)
    assert plain.counts[VISITS] == compiled.counts[VISITS] == len(order)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["chain", "labels, all pairs", "multiclass"])
def test_every_oracle_and_kind_of_output(name):
    """A visit closes the gap of its sample, and fits end at the optimum."""
    p = problem(name)
    oracle = Called(p.model.default_oracle())
    blocks = part_blocks(p, oracle)
    blocks.reset(p.lam, capacity=10)
    for i in (0, 2, 1):
        assert visit_blocks(blocks, [i], np.zeros(1), exact_rules(p)) == 1
        gap = p.weight[i] * (blocks.answer(i, blocks.w).value - blocks.values(i)[0])
        assert abs(gap) <= _visits.CLOSED * blocks.gaps.value[i]
    svm = fit(p, "sdm", oracle=oracle, tol=1e-2)
    assert svm.converged_
    _, value = optimum(name)
    assert svm.dual_objective_ <= value + 1e-9
    assert svm.objective_ <= value + 2e-2


# ---- the second best -----------------------------------------------------------------------------


def test_runner_up_equals_enumeration(rng):
    """On forests with shared and own tables; and trying all but one labeling."""
    for _ in range(40):
        scores = random_scores(rng, "normal", "forest")
        forest = _forest(scores)
        n_nodes, n_states = forest[0].shape
        values = labeling_values(scores.unary, scores.pairwise, scores.edges)[0]
        values = np.sort(values)[::-1]
        labels, messages = np.empty(n_nodes, np.int32), np.empty((n_nodes + 1, n_states))
        best = tree.tree_argmax(*forest, labels, messages)
        number = int(labels @ n_states ** np.arange(n_nodes)[::-1])
        loss = tree.tree_runner_up(*forest, labels, messages)
        if len(values) == 1:
            assert loss == np.inf
            continue
        np.testing.assert_allclose(best - loss, values[1], rtol=0, atol=1e-12)
        np.testing.assert_allclose(scores.value(labels), values[1], rtol=0, atol=1e-12)
        other = np.empty(n_nodes, np.int32)
        value = tree.enumerate_argmax(*forest, other, number)
        np.testing.assert_allclose(value, values[1], rtol=0, atol=1e-12)
        np.testing.assert_array_equal(other, labels)


@pytest.mark.slow
@pytest.mark.parametrize("edges", ["tree", "full", "none"])
def test_zero_one_loss_of_label_sets_by_enumeration(edges, rng):
    """Compiled sweeps and passes, with the truth best or not, against all outputs."""
    X, y = rng.normal(size=(25, 3)), rng.integers(2, size=(25, 4))
    model = MultilabelModel(edges, task_loss="zero_one").initialize(X, y)
    svm = StructuredSVM(model, solver="bcfw", C=1.0, tol=0.0, max_iter=20, random_state=0)
    blocks, lam = svm._make_blocks(X, y, None)
    blocks.reset(lam)
    outputs = all_labelings(4, 2)
    n_true = 0
    good = svm.set_params(C=100.0).fit(X, y).coef_
    svm.set_params(C=1.0)
    for w in (0.0 * good, 0.1 * rng.normal(size=len(good)), good, 10.0 * good):
        for augmented in (True, False):
            sweep = blocks.sweep(w, augmented)
            for i, (x, truth) in enumerate(zip(X, y)):
                scores = np.array([w @ model.joint_feature(x, output) for output in outputs])
                if augmented:
                    scores += (outputs != truth).any(axis=1)
                true_score = w @ model.joint_feature(x, truth)
                np.testing.assert_allclose(sweep.hinge[i], scores.max() - true_score, atol=1e-12)
                answer = sweep.answers[4 * i : 4 * i + 4]
                n_true += augmented and np.array_equal(answer, truth)
                place = int(answer @ [8, 4, 2, 1])
                np.testing.assert_allclose(scores[place], scores.max(), atol=1e-12)
    assert n_true > 0
    compiled = svm.fit(X, y)
    oracle = (Enumeration if edges == "full" else TreeMaxProduct)()
    slow = clone(svm).set_params(oracle=Called(oracle)).fit(X, y)
    np.testing.assert_allclose(compiled.coef_, slow.coef_, rtol=1e-7, atol=1e-9)


class Called:
    """An exact oracle that compiled passes do not know."""

    exact = True

    def __init__(self, oracle):
        self.argmax, self.top_k = oracle.argmax, oracle.top_k


def test_visits_of_chains_are_bounded(rng):
    """Where answers are many, a visit ends before its sample's own problem is solved."""
    X = [rng.normal(size=(length, 4)) for length in rng.integers(8, 14, size=2)]
    y = [np.digitize(x @ [1.0, -1.0, 0.5, 0.0], [-1.0, 0.0, 1.0]) for x in X]
    svms, seconds = [], []
    for solver in ("bcpfw", "sdm", "sdm"):  # once more without compiling
        svm = StructuredSVM("chain", solver=solver, C=1.0, max_iter=1, tol=0.0, random_state=0)
        started = process_time()
        svms.append(svm.fit(X, y))
        seconds.append(process_time() - started)
    assert seconds[-1] < 3.0
    assert svms[-1].dual_objective_ > svms[0].dual_objective_
