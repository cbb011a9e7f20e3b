"""The regularization path: its guarantee and its breakpoints."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from _path_problems import digits, label_sets, svm, words
from sklearn_fw import StructuredSVM, regularization_path
from sklearn_fw.inference import Oracle, Viterbi
from sklearn_fw.model_selection import RegularizationPath
from sklearn_fw.structured import (
    BlockFrankWolfe,
    ChainModel,
    EnumeratedModel,
    MulticlassModel,
    MultilabelModel,
)
from sklearn_fw.structured._path_problems import RidgePiece
from sklearn_fw.structured._solvers._base import Breakpoint


@pytest.mark.parametrize(
    ("eps", "kappa", "lam_max"), [(0.5, 0.9, 19.2742), (0.2, 0.9, 48.1856), (0.2, 0.5, 86.7341)]
)
def test_first_breakpoint_of_digits(eps, kappa, lam_max):
    # Values computed once by an independent implementation.
    X, y = digits()
    estimator = svm(MulticlassModel(fit_intercept=False), solver="bcpfw")
    path = regularization_path(estimator, X, y, eps=eps, kappa=kappa, max_breakpoints=1)
    assert 1.0 / (path.values_[0] * len(y)) == pytest.approx(lam_max, abs=1e-4)
    assert path.terminated_by_ == "max_breakpoints"


class Loose(Oracle):
    """An oracle of chains that knows its values only up to a bound."""

    def argmax(self, scores, start=None):
        labels, value, _ = Viterbi().argmax(scores)
        return labels, value, value + 0.01


CERTIFIED = {
    "multiclass": lambda: (MulticlassModel(), *digits()),
    "chain": lambda: (ChainModel(), *words()),
    "chain, raw loss": lambda: (ChainModel("hamming_sum"), *words()),
    "label tree": lambda: (MultilabelModel(), *label_sets()),
    "black box": lambda: (EnumeratedModel(), *candidates()),
}


def candidates():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(rng.integers(2, 6), 5)) for _ in range(40)]
    return X, [int(np.argmax(x @ np.ones(5) + rng.normal())) for x in X]


def enclosed(svm, X, y, Cs, tol):
    """Objective of any weights, and a lower bound on the optimum, for every C; none by the path."""
    blocks, lam = svm._make_blocks(X, y, None)
    blocks.reset(lam)

    def objective(w, C):
        sweep = blocks.sweep(w)
        return w @ w / (2 * C * len(y)) + blocks.weight @ (sweep.hinge + sweep.slack)

    bounds = []
    for C in Cs:
        method = BlockFrankWolfe("pairwise").start(
            blocks, lam=1.0 / (C * len(y)), tol=tol, rng=np.random.RandomState(1)
        )
        while (row := method.step()) is None or row["dual_gap"] > tol:
            pass
        bounds.append(row["dual_objective"])
    return objective, np.array(bounds)


@pytest.mark.slow
@pytest.mark.parametrize("eps", [0.3])
@pytest.mark.parametrize("problem", CERTIFIED)
def test_the_guarantee_holds_everywhere(problem, eps):
    """Dense in C, against bounds on the optimum that the path had no part in."""
    model, X, y = CERTIFIED[problem]()
    svm_ = svm(model, tol=1.0)
    eps = eps * svm_._make_blocks(X, y, None)[0].max_loss
    path = regularization_path(svm_, X, y, eps=eps, C_max=10.0)
    assert path.start_ == 0.0
    assert np.all(np.diff(path.values_) > 0)
    Cs = np.geomspace(path.values_[0] / 10, min(path.end_, 20.0), 25)
    Cs = np.unique(
        np.r_[Cs, path.values_, path.values_[1:] * (1 - 1e-9), path.values_[:-1] * (1 + 1e-9)]
    )
    objective, bounds = enclosed(svm_, X, y, Cs, tol=0.1 * eps)
    weights, gaps = path.coef_at(Cs), path.gap_at(Cs)
    values = np.array([objective(w, C) for w, C in zip(weights, Cs)])
    assert np.all(gaps <= eps * (1 + 1e-9))
    # What the path says of itself bounds what others know about it.
    assert np.all(values - bounds <= gaps + 0.1 * eps)
    assert np.all(gaps[np.isin(Cs, path.values_)] <= 0.85 * eps)
    np.testing.assert_allclose(gaps[np.isin(Cs, path.values_)], path.gaps_, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("averaging", [False, True])
@pytest.mark.parametrize("step", ["fw", "pairwise"])
def test_the_certificate_is_that_of_the_weights(step, averaging):
    """The gap of every breakpoint, recomputed from its weights and from the optimum."""
    X, y = words()
    solver = BlockFrankWolfe(step, averaging=averaging)
    estimator = svm(ChainModel(), solver=solver, tol=1.0)
    path = regularization_path(estimator, X, y, eps=0.1, C_min=1e-4, C_max=0.1)
    objective, bounds = enclosed(estimator, X, y, path.values_, tol=1e-3)
    values = np.array([objective(w, C) for w, C in zip(path.coefs_, path.values_)])
    assert np.all(values - bounds <= path.gaps_ + 1e-3)
    # The weights are those that the gap belongs to: primal minus gap is a bound by duality.
    assert np.all(values - path.gaps_ <= bounds + 1e-3)


def test_oracles_with_bounds_have_a_certified_path():
    X, y = words()
    estimator = StructuredSVM("chain", oracle=Loose(), random_state=0, max_iter=500, tol=1.0)
    path = regularization_path(estimator, X, y, eps=0.2, C_max=0.01)
    objective, bounds = enclosed(svm("chain", tol=1.0), X, y, path.values_, tol=0.01)
    values = np.array([objective(w, C) for w, C in zip(path.coefs_, path.values_)])
    assert path.certified
    assert np.all(values - bounds <= path.gaps_ + 1e-9)


def test_averages_have_no_heuristic_path():
    X, y = words()
    estimator = svm("chain", solver=BlockFrankWolfe(averaging=True))
    with pytest.raises(ValueError, match=r"mode='heuristic' trusts .* averaging=False"):
        regularization_path(estimator, X, y, mode="heuristic")


def quadratics(rng):
    """Two solutions of a random piecewise quadratic problem: breakpoints and their exact gap."""
    n_vertices, d = 6, 4
    features, losses = rng.normal(size=(n_vertices, d)), rng.uniform(size=n_vertices)
    features[0], losses[0] = 0.0, 0.0

    def point(lam):
        alpha = rng.dirichlet(np.ones(n_vertices))
        w = alpha @ features / lam
        hinge, loss = (losses - features @ w).max(), alpha @ losses
        return Breakpoint(lam, w, hinge, lam * w @ w + hinge - loss, loss)

    def objective(w, lam):
        return 0.5 * lam * w @ w + (losses - features @ w).max()

    return point(3.0), point(0.1), objective


def test_pieces_bound_the_gap_of_mixtures():
    """On random problems: primal, dual and their difference, and the verdict about all of it."""
    rng = np.random.default_rng(0)
    lams = np.geomspace(3.0, 0.1, 101)
    verdicts = []
    for _ in range(200):
        left, right, objective = quadratics(rng)
        piece = RidgePiece(left, right)
        gaps = piece.gap(lams)
        assert gaps[0] <= left.gap + 1e-12
        assert gaps[-1] <= right.gap + 1e-12
        shares = piece.share(lams)
        weights = left.w + shares[:, None] * (right.w - left.w)
        duals = []
        for q in np.linspace(0.0, 1.0, 201):
            u = (1 - q) * left.at * left.w + q * right.at * right.w
            duals.append((1 - q) * left.loss + q * right.loss - 0.5 * u @ u / lams)
        true = np.array([objective(w, lam) for w, lam in zip(weights, lams)]) - np.max(duals, 0)
        assert np.all(true <= gaps + 1e-3)  # the shares of the dual variables are on a grid here
        worst = gaps.max()
        assert not piece.is_certified(worst * (1 - 1e-6))
        verdicts.append(piece.is_certified(worst * 1.001))
    assert np.mean(verdicts) > 0.95  # what is certified is not much coarser than what is true


def test_path_ends_where_the_hinge_is_below_eps():
    X, y = load_iris(return_X_y=True)
    path = regularization_path(svm(MulticlassModel()), X, y, eps=0.4)
    assert path.terminated_by_ == "hinge"
    assert path.end_ == np.inf
    blocks, _ = StructuredSVM(feature_scale=None)._make_blocks(X, y, None)
    blocks.reset(1.0)
    hinges = [blocks.weight @ blocks.sweep(w).hinge for w in path.coefs_]
    assert hinges[-1] <= 0.4 < hinges[-2]
    assert path.coef_at(1e9) is not None


def test_heuristic_mode_trusts_known_gaps_and_saves_oracle_calls():
    X, y = digits()
    estimator = svm(MulticlassModel())
    exact = regularization_path(estimator, X, y, eps=0.2, kappa=0.7)
    trusting = regularization_path(estimator, X, y, eps=0.2, mode="heuristic")
    assert trusting.n_oracle_calls_ < exact.n_oracle_calls_
    assert np.all(trusting.gaps_ <= 0.7 * 0.2)
    assert trusting.values_[0] == pytest.approx(exact.values_[0])


def test_scores_and_estimators_along_the_path():
    X, y = digits()
    path = regularization_path(svm(MulticlassModel()), X[:150], y[:150], eps=0.3)
    assert isinstance(path, RegularizationPath)
    scores = path.score_path(X[150:], y[150:])
    assert scores.shape == path.values_.shape
    fitted = path.estimator_at(path.values_[-1])
    assert scores[-1] == fitted.score(X[150:], y[150:])
    assert scores[-1] == np.mean(fitted.predict(X[150:]) == y[150:])
    assert path.values_[-1] == fitted.C
    assert fitted.dual_gap_ == path.gaps_[-1] <= 0.3
    last = path.score_path(X[150:], y[150:], scoring=lambda est, A, b: est.C)
    np.testing.assert_allclose(last, path.values_)


def test_many_values_at_once():
    X, y = digits()
    path = regularization_path(svm(MulticlassModel()), X, y, eps=0.3, C_min=0.001, C_max=0.02)
    assert 0.001 in path.values_
    assert path.values_[-1] == pytest.approx(0.02)
    Cs = np.array([1e-4, path.values_[1], 0.012, 0.02])
    many = path.coef_at(Cs)
    assert many.shape == (4, path.coefs_.shape[1])
    for w, C, gap in zip(many, Cs, path.gap_at(Cs)):
        np.testing.assert_array_equal(path.coef_at(C), w)
        assert path.gap_at(C) == gap
    np.testing.assert_allclose(many[0], path.coefs_[0] / 10)
    np.testing.assert_array_equal(many[1], path.coefs_[1])
    j = np.searchsorted(path.values_, 0.012) - 1
    ends = path.coefs_[j : j + 2]
    share = (many[2] - ends[0]) @ (ends[1] - ends[0]) / np.sum((ends[1] - ends[0]) ** 2)
    assert 0.0 < share < 1.0
    np.testing.assert_allclose(many[2], ends[0] + share * (ends[1] - ends[0]), atol=1e-12)
    scores = path.score_path(X, y, at=Cs)
    assert scores.tolist() == [path.estimator_at(C).score(X, y) for C in Cs]


def test_default_accuracy_is_a_share_of_the_loss():
    X, y = words()
    mean, total = (
        regularization_path(svm(ChainModel(loss)), X, y, max_breakpoints=2)
        for loss in ("hamming", "hamming_sum")
    )
    assert mean.eps == pytest.approx(0.1)
    assert total.eps == pytest.approx(0.1 * np.mean([len(labels) for labels in y]))


def test_sample_weight_repeats_samples():
    X, y = digits()
    weight = np.ones(len(y))
    weight[:50] = 2.0
    estimator = svm(MulticlassModel(), solver="bcpfw")
    weighted = regularization_path(estimator, X, y, sample_weight=weight, eps=0.3)
    repeated = regularization_path(
        estimator, np.concatenate([X, X[:50]]), np.concatenate([y, y[:50]]), eps=0.3
    )
    assert weighted.values_[0] == pytest.approx(repeated.values_[0], rel=1e-10)


@pytest.mark.slow
def test_cone_bounds_are_kept_along_the_path():
    X, y = digits()
    estimator = svm(MulticlassModel(), solver=BlockFrankWolfe("pairwise", lower_bounds=0.0))
    path = regularization_path(estimator, X, y, eps=0.4, C_max=1.0)
    assert np.all(path.coefs_ >= 0)
    C = float(np.sqrt(path.values_[0] * path.values_[-1]))
    best = estimator.set_params(C=C, tol=0.01).fit(X, y)
    blocks, lam = best._make_blocks(X, y, None)
    blocks.reset(lam)
    w = path.coef_at(C)
    objective = 0.5 * lam * w @ w + blocks.weight @ blocks.sweep(w).hinge
    assert objective - best.dual_objective_ <= 0.4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kappa": 1.0}, "kappa must be below 1"),
        ({"C_min": 2.0, "C_max": 1.0}, "C_min must be below C_max, got 2.0 and 1.0"),
    ],
)
def test_bad_options(options, message):
    X, y = digits()
    with pytest.raises(ValueError, match=message):
        regularization_path(StructuredSVM(), X, y, **options)


def test_bad_estimators():
    X, y = digits()
    with pytest.raises(TypeError, match="must be a StructuredSVM"):
        regularization_path("bcfw", X, y)
    with pytest.raises(ValueError, match="must be block-coordinate"):
        regularization_path(StructuredSVM(solver="fw"), X, y)
    box = StructuredSVM(solver=BlockFrankWolfe(upper_bounds=1.0))
    with pytest.raises(ValueError, match="needs bounds of any scale"):
        regularization_path(box, X, y)


def test_beyond_the_end_is_refused():
    X, y = digits()
    path = regularization_path(StructuredSVM(random_state=0), X, y, eps=0.5, max_breakpoints=2)
    with pytest.raises(ValueError, match=r"the path covers C = 0 to .*larger C_max"):
        path.coef_at(1.01 * path.end_)
    with pytest.raises(ValueError, match="C"):
        path.coef_at(0.0)
    with pytest.raises(ValueError, match="must be a number or a vector"):
        path.coef_at([[0.1]])
    with pytest.raises(ValueError, match="larger C_max"):
        path.gap_at([path.values_[0], 2 * path.end_])
    late = regularization_path(StructuredSVM(random_state=0), X, y, eps=0.2, C_min=1.0, C_max=2.0)
    assert late.start_ == late.values_[0] == pytest.approx(1.0)
    with pytest.raises(ValueError, match=r"the path covers C = 1 to .*smaller C_min"):
        late.coef_at(0.5)
