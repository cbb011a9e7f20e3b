"""What the estimator makes of surrogates: defaults, refusals, other data, other oracles."""

import numpy as np
import pytest

from _problems import part_blocks, problem
from sklearn_fw import StructuredSVM, regularization_path
from sklearn_fw._kernels.graphs.sum_product import tree_marginals_batch
from sklearn_fw.inference import BestOf, Elimination, Enumeration
from sklearn_fw.structured import ChainModel, DualAscent, GridModel
from sklearn_fw.structured._surrogates import SURROGATES


def words(rng, n=40, n_states=3):
    """Sequences whose labels tend to stay."""
    X, y = [], []
    for t in rng.integers(1, 8, size=n):
        labels = np.minimum(np.cumsum(rng.random(t) < 0.3), n_states - 1)
        X.append(np.eye(n_states)[labels] + rng.normal(0, 0.7, (t, n_states)))
        y.append(labels)
    y[0][0] = n_states - 1
    return X, y


@pytest.mark.slow
def test_defaults(rng):
    X, y = words(rng, 300)
    crf = StructuredSVM("chain", surrogate="crf", random_state=0).fit(X[:200], y[:200])
    assert crf.converged_
    assert crf.tol_ == 0.01
    assert isinstance(crf.solver_, DualAscent)
    assert crf.score(X[200:], y[200:]) > 0.7
    assert crf.temperature_ == 1.0
    probabilities = np.concatenate(list(crf.predict_marginals(X[200:])))
    right = probabilities.argmax(axis=1) == np.concatenate(y[200:])
    assert abs(probabilities.max(axis=1).mean() - right.mean()) < 0.05


def test_marginals_are_those_that_training_fits(rng):
    """At an optimum without regularizer to speak of, expected features are the observed ones."""
    X, y = words(rng)
    crf = StructuredSVM("chain", surrogate="crf", C=1e3, tol=1e-6, max_iter=3000, random_state=0)
    probabilities = crf.fit(X, y).predict_marginals(X)
    expected = sum(c.T @ x for c, x in zip(probabilities, X, strict=True))
    observed = sum(np.eye(3)[labels].T @ x for labels, x in zip(y, X, strict=True))
    np.testing.assert_allclose(expected, observed, rtol=0, atol=0.05)


@pytest.mark.parametrize("surrogate", ["crf", "softmax_margin"])
def test_weights_are_repetitions(surrogate, rng):
    X, y = words(rng, 12)
    settings = {"C": 1.0, "tol": 1e-9, "max_iter": 3000, "random_state": 0}
    crf = StructuredSVM("chain", surrogate=surrogate, **settings)
    weight = np.array([2.0, 1.0] * 6)
    one = crf.fit(X, y, weight).coef_
    X, y = X + X[::2], y + y[::2]
    np.testing.assert_allclose(crf.fit(X, y).coef_, one, rtol=0, atol=1e-3)


def test_warm_start(rng):
    X, y = words(rng)
    crf = StructuredSVM(
        "chain", surrogate="crf", C=0.1, tol=1e-3, warm_start=True, random_state=0
    ).fit(X, y)
    first = crf.n_iter_
    assert crf.fit(X, y).n_iter_ == 1 < first
    warm = crf.set_params(C=0.3).fit(X, y)
    assert warm.converged_
    cold = StructuredSVM("chain", surrogate="crf", C=0.3, tol=1e-3, random_state=0).fit(X, y)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-3)
    crf.set_params(C=0.05).fit(X, y)
    assert crf.converged_


def test_gap_on_other_data(rng):
    X, y = words(rng)
    crf = StructuredSVM("chain", surrogate="crf", C=1.0, tol=1e-4, random_state=0).fit(X, y)
    gap = crf.duality_gap(X, y)
    assert crf.objective_ - crf.dual_objective_ >= 0.9 * gap >= 0.0
    other = crf.duality_gap(*words(rng))
    assert other > 10 * gap


@pytest.mark.parametrize("quasi_newton", [True, False, "auto"])
@pytest.mark.parametrize("C", [0.1, 10.0, 1e4])
def test_weights_go_on_by_quasi_newton_steps(C, quasi_newton, rng):
    if C > 10.0 and quasi_newton is False:
        pytest.skip("what quasi-Newton steps are there for")
    X, y = words(rng, 20)
    settings = {"C": C, "tol": 1e-7, "max_iter": 2000, "random_state": 0}
    solver = DualAscent(quasi_newton=quasi_newton)
    crf = StructuredSVM("chain", surrogate="crf", solver=solver, warm_start=True, **settings)
    crf.fit(X, y)
    assert crf.converged_
    blocks, lam = crf._make_blocks(X, y, None)
    blocks.reset(lam)
    point = blocks.certify_smoothed(crf.coef_)
    assert crf.objective_ == pytest.approx(point.primal, rel=1e-12)
    assert point.gap < 1e-3 * point.primal
    assert crf.objective_ - crf.dual_objective_ == pytest.approx(crf.dual_gap_, abs=1e-12)
    first = crf.objective_
    assert crf.fit(X, y).objective_ <= first * (1 + 1e-12)
    assert crf.n_iter_ == 1


@pytest.mark.parametrize("sampling", ["gap", "shuffle", "uniform"])
def test_samplings_reach_the_same_optimum(sampling, rng):
    X, y = words(rng)
    solver = DualAscent(sampling=sampling, gap_degree=0.5, gap_check=3, early_exit=0.5)
    settings = {"surrogate": "crf", "C": 1.0, "tol": 1e-6, "max_iter": 3000, "random_state": 0}
    one = StructuredSVM("chain", solver=solver, **settings).fit(X, y)
    other = StructuredSVM("chain", **settings).fit(X, y)
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-6)


@pytest.mark.slow
def test_graphs_ask_the_oracle_for_marginals(rng):
    X = [rng.normal(size=(2, 3, 2)) for _ in range(8)]
    y = [(x[..., 0] > 0).astype(int) for x in X]
    settings = {"surrogate": "crf", "C": 1.0, "tol": 1e-5, "random_state": 0}
    fits = [
        StructuredSVM(GridModel(), oracle=oracle, **settings).fit(X, y)
        for oracle in (Elimination(), Enumeration())
    ]
    assert fits[0].converged_
    np.testing.assert_allclose(fits[0].coef_, fits[1].coef_, rtol=0, atol=1e-6)
    with pytest.raises(TypeError, match="an oracle with the method marginals, which BestOf lacks"):
        StructuredSVM(GridModel(), oracle=BestOf(), **settings).fit(X, y)


def test_long_chains_of_any_scores(rng):
    """Beside sums in logarithms, where ordinary numbers need these and where not."""
    t, k = 400, 4
    X, y = [rng.normal(size=(t, k))], [np.arange(t) % k]
    blocks = StructuredSVM(ChainModel(start_end=False), C=1.0)._make_blocks(X, y, None)[0]
    blocks.reset(1.0)
    for scale in (1e-3, 1.0, 30.0, 1e3, 1e5):
        w = scale * rng.normal(size=blocks.n_weights)
        view = blocks._view(w)
        scores, tables = X[0] @ view.rows[:k], view.tables
        edges = np.stack([np.arange(t - 1), np.arange(1, t)], axis=1)
        node, edge = np.empty((t, k)), np.empty((t - 1, k, k))
        value = tree_marginals_batch(
            scores, np.array([0, t]), np.array([0]), np.array([t - 1]), edges,
            np.zeros(t - 1, np.int64), tables, node, edge,
        )[0]  # fmt: skip
        truth = scores[np.arange(t), y[0]].sum() + tables[0][y[0][:-1], y[0][1:]].sum()
        sweep = blocks.smoothed_sweep(w, 1.0, 0.0, mean=True)
        np.testing.assert_allclose(sweep.value[0], value - truth, rtol=1e-12, atol=1e-10 * scale)
        mean = blocks._view(sweep.mean)
        true = np.eye(k)[y[0]]
        np.testing.assert_allclose(mean.rows[:k], X[0].T @ (true - node), rtol=0, atol=1e-7)
        pairs = true[:-1].T @ true[1:] - edge.sum(axis=0)
        np.testing.assert_allclose(mean.tables[0], pairs, rtol=0, atol=1e-7)


# ---- refusals ------------------------------------------------------------------------------------


def test_refusals(rng):
    X, y = words(rng, 5)
    with pytest.raises(ValueError, match="surrogate must be one of"):
        StructuredSVM("chain", surrogate="logistic").fit(X, y)
    for solver in ("bcfw", "fw", "extragradient", "sp_fw", "perceptron", "one_slack"):
        with pytest.raises(
            ValueError, match=r"trains surrogate='hinge', not .*'crf': take solver="
        ):
            StructuredSVM("chain", surrogate="crf", solver=solver).fit(X, y)
    with pytest.raises(ValueError, match="trains surrogate='crf' or 'softmax_margin', not"):
        StructuredSVM("chain", solver="dual_ascent").fit(X, y)
    crf = StructuredSVM("chain", surrogate="crf")
    with pytest.raises(ValueError, match="surrogate='crf' needs mode='exact', got 'heuristic'"):
        regularization_path(crf, X, y, mode="heuristic")
    with pytest.raises(ValueError, match="solver of a path with surrogate='crf' must be 'auto'"):
        regularization_path(crf.set_params(solver="svrg"), X, y)
    with pytest.raises(ValueError, match="a task_loss that is a sum over nodes"):
        StructuredSVM("chain", task_loss="zero_one", surrogate="softmax_margin").fit(X, y)
    with pytest.raises(ValueError, match="sampling must be one of"):
        StructuredSVM("chain", surrogate="crf", solver=DualAscent(sampling="max")).fit(X, y)


def test_an_oracle_that_is_not_exact_certifies_nothing():
    class Rough(Enumeration):
        exact = False

    p = problem("chain")
    blocks = part_blocks(p, Rough())
    blocks.surrogate = SURROGATES["crf"]
    blocks.reset(p.lam)
    blocks.certify_smoothed(np.zeros(p.size))
    assert not blocks.certified
