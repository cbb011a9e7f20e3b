"""Conditional random fields: equalities with listed outputs and with logistic regression."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

from _problems import PROBLEMS, part_blocks, problem
from sklearn_fw.inference import PairwiseScores, Viterbi
from sklearn_fw.structured import ChainModel, MulticlassModel, StructuredSVM
from sklearn_fw.structured._solvers import resolve_solver
from sklearn_fw.structured._solvers._dual_ascent import ascend_blocks
from sklearn_fw.structured._surrogates import SURROGATES

SMOOTH = [name for name, loss in SURROGATES.items() if loss.smooth]
SUMS = [name for name in PROBLEMS if "zero-one" not in name]  # losses that are sums over nodes
CLOSE = {"rtol": 1e-9, "atol": 1e-11}


def listed(p, w, surrogate, temperature=None):
    """Objective, gradient and dual value of the Gibbs distributions, from all outputs."""
    tau, rho = temperature or surrogate.temperature, surrogate.loss_weight
    values, losses, entropies, mean = [], [], [], np.zeros(p.size)
    for psi, loss, weight in zip(p.psi, p.losses, p.weight, strict=True):
        h = (rho * loss - psi @ w) / tau
        log_sum = h.max() + np.log(np.exp(h - h.max()).sum())
        probabilities = np.exp(h - log_sum)
        values.append(tau * log_sum)
        losses.append(probabilities @ loss)
        entropies.append(log_sum - probabilities @ h)
        mean += weight * probabilities @ psi
    return np.array(values), np.array(losses), np.array(entropies), mean


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:features in X have a norm")
@pytest.mark.parametrize("behind", [100.0, 800.0, 3000.0])
def test_states_far_behind_may_still_win(behind, rng):
    """Two states begin where ordinary numbers end, and gain at every later node."""
    n_nodes, n_states = 900, 4
    unary = rng.normal(size=(n_nodes, n_states))
    unary[0, 2:] -= behind
    unary[1:, 2:] += 5.0
    table = rng.normal(size=(n_states, n_states))
    table[:2, 2:] -= 5000.0
    table[2:, :2] -= 5000.0
    model = ChainModel(start_end=False)
    svm = StructuredSVM(model, surrogate="crf", C=1.0)
    y = np.arange(n_nodes) % n_states
    blocks, lam = svm._make_blocks([unary], [y], None)
    blocks.reset(lam)
    value = blocks.smoothed_sweep(np.r_[np.eye(n_states).ravel(), table.ravel()], 1.0, 0.0).value
    edges = np.column_stack([np.arange(n_nodes - 1), np.arange(1, n_nodes)])
    scores = PairwiseScores.from_arrays(unary, table, edges)
    expected = Viterbi().log_partition(scores) - scores.value(y)
    np.testing.assert_allclose(value, [expected], rtol=1e-11)


@pytest.mark.slow
@pytest.mark.parametrize("temperature", [0.05, 1.0])
@pytest.mark.parametrize("surrogate", SMOOTH)
@pytest.mark.parametrize("name", PROBLEMS)
def test_smoothed_pass_equals_listed_outputs(name, surrogate, temperature, rng):
    if surrogate == "softmax_margin" and name not in SUMS:
        pytest.skip("sums do not know the cost of a whole output")
    p, loss = problem(name), SURROGATES[surrogate]
    blocks, w = part_blocks(p), rng.normal(size=p.size)
    blocks.surrogate = loss
    blocks.reset(p.lam)
    value, losses, entropy, mean = listed(p, w, loss, temperature)
    sweep = blocks.smoothed_sweep(w, temperature, loss.loss_weight, mean=True)
    np.testing.assert_allclose(sweep.value, value, **CLOSE)
    if name in SUMS:
        np.testing.assert_allclose(sweep.loss, losses, **CLOSE)
    np.testing.assert_allclose(sweep.entropy, entropy, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(sweep.mean, mean, **CLOSE)
    value, _, entropy, mean = listed(p, w, loss)
    point = blocks.certify_smoothed(w)
    np.testing.assert_allclose(point.primal, 0.5 * p.lam * w @ w + p.weight @ value, **CLOSE)
    np.testing.assert_allclose(point.gradient, p.lam * w - mean, **CLOSE)
    v = mean / p.lam
    np.testing.assert_allclose(point.gap, 0.5 * p.lam * (w - v) @ (w - v), **CLOSE)
    assert blocks.counts[0] == 2 * len(p.X)


@pytest.mark.slow
@pytest.mark.parametrize("surrogate", SMOOTH)
@pytest.mark.parametrize("name", SUMS)
def test_solution(name, surrogate):
    """The gradient vanishes, and the certificate is the difference of both values."""
    p, loss = problem(name), SURROGATES[surrogate]
    svm = StructuredSVM(
        p.model, surrogate=surrogate, C=1 / (p.lam * np.sum(p.sample_weight)), tol=1e-9,
        max_iter=5000, random_state=0,
    )  # fmt: skip
    svm.fit(p.X, p.y, p.sample_weight)
    assert svm.converged_
    value, _, _, mean = listed(p, svm.coef_, loss)
    exact = 0.5 * p.lam * svm.coef_ @ svm.coef_ + p.weight @ value
    np.testing.assert_allclose(svm.objective_, exact, rtol=1e-12)
    assert svm.objective_ - svm.dual_objective_ == pytest.approx(svm.dual_gap_, abs=1e-14)
    gradient = p.lam * svm.coef_ - mean
    assert gradient @ gradient / (2 * p.lam) < 1e-5 * exact


@pytest.mark.slow
@pytest.mark.parametrize("surrogate", SMOOTH)
@pytest.mark.parametrize("name", SUMS)
def test_compiled_ascent_equals_plain(name, surrogate, rng):
    p = problem(name)
    both, orders = [], [rng.permutation(len(p.X)) for _ in range(5)]
    for run in (ascend_blocks, ascend_blocks.plain):
        blocks = part_blocks(p)
        blocks.surrogate = SURROGATES[surrogate]
        method = resolve_solver("dual_ascent").start(blocks, lam=p.lam, tol=0.0, rng=None)
        for order in orders:
            run(blocks, order, np.zeros(len(order)), method.rules, method.entropy)
        both.append((method, blocks))
    (one, first), (other, second) = both
    np.testing.assert_allclose(other.entropy, one.entropy, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(second.w, first.w, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(second.loss, first.loss, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(second.gaps.value, first.gaps.value, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("C", [0.01, 1.0])
def test_classes_are_logistic_regression(C):
    X, y = load_iris(return_X_y=True)
    model = MulticlassModel(fit_intercept=False)
    crf = StructuredSVM(model, surrogate="crf", C=C, tol=1e-12, max_iter=5000, random_state=0)
    coef = crf.fit(X, y).coef_.reshape(4, 3).T
    other = LogisticRegression(C=C, fit_intercept=False, tol=1e-12, max_iter=10000).fit(X, y)
    scores = X @ other.coef_.T
    loss = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(len(y)), y]
    value = 0.5 * crf.lam_ * np.sum(other.coef_**2) + loss.mean()
    assert crf.objective_ == pytest.approx(value, rel=1e-6)
    np.testing.assert_allclose(coef, other.coef_, rtol=0, atol=1e-6)
    np.testing.assert_allclose(crf.predict_marginals(X), other.predict_proba(X), rtol=0, atol=1e-6)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:features in X have a norm")
def test_gap_is_never_below_the_true_error(rng):
    """On 1,000 small problems, at every certificate of a run to the end."""
    for _ in range(1000):
        n_states, n_features = rng.integers(2, 4, size=2)
        lengths = rng.integers(1, 5, size=rng.integers(1, 5))
        X = [rng.normal(0.0, 10.0 ** rng.uniform(-1, 1), (t, n_features)) for t in lengths]
        y = [rng.integers(n_states, size=t) for t in lengths]
        y[0][0] = n_states - 1
        X.append(np.zeros((n_states, n_features)))
        y.append(np.arange(n_states))
        svm = StructuredSVM(
            ChainModel("hamming_sum"), surrogate=SMOOTH[rng.integers(len(SMOOTH))],
            C=10.0 ** rng.uniform(-3, 1),
        )  # fmt: skip
        blocks, lam = svm._make_blocks(X, y, None)
        method = resolve_solver("dual_ascent").set_params(gap_check=1).start(
            blocks, lam=lam, tol=0.0, rng=np.random.RandomState(0)
        )  # fmt: skip
        rows = []
        for _ in range(25):
            rows.append(method.step())
            if rows[-1]["dual_gap"] < 1e-7:
                break
        values = np.array([row["objective"] for row in rows])
        bounds = np.array([row["dual_objective"] for row in rows])
        rounding = 1e-12 * max(1.0, values[0])
        assert np.all(np.diff(bounds) >= -rounding)
        # The best value known is at most so much above the optimum, below which every bound is.
        assert bounds.max() <= values.min() + rounding
        gibbs = blocks.certify_smoothed(blocks.w)
        assert gibbs.dual <= values.min() + rounding
        assert gibbs.gap >= gibbs.primal - values.min() - rounding
