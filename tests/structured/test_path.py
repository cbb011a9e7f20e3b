"""The regularization path: its guarantee, its breakpoints and cross-validation along it."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from sklearn_fw import StructuredSVM, regularization_path
from sklearn_fw.datasets import make_digit_words
from sklearn_fw.structured import (
    BlockFrankWolfe,
    ChainModel,
    EnumeratedModel,
    MulticlassModel,
    MultilabelModel,
    RegularizationPath,
    StructuredSVMCV,
)


def digits():
    X, y = load_digits(return_X_y=True)
    return X[:200] / 16, y[:200]


def words():
    data = make_digit_words(n_train=40, n_test=20)
    return data.X_train, data.y_train


def label_sets(rng=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    return X, (X @ rng.normal(size=(4, 3)) > 0).astype(int)


PROBLEMS = {
    "multiclass": (MulticlassModel(), digits),
    "chain": (ChainModel(), words),
    "chain, raw loss": (ChainModel(task_loss="hamming_sum"), words),
    "label tree": (MultilabelModel(), label_sets),
}


def svm(model, **settings):
    return StructuredSVM(model, random_state=0, max_iter=2000, **settings)


@pytest.mark.parametrize(
    ("eps", "kappa", "lam_max"), [(0.5, 0.9, 19.2742), (0.2, 0.9, 48.1856), (0.2, 0.5, 86.7341)]
)
def test_first_breakpoint_of_digits(eps, kappa, lam_max):
    # Values computed once by an independent implementation.
    X, y = digits()
    estimator = svm(MulticlassModel(fit_intercept=False), solver="bcpfw")
    path = regularization_path(estimator, X, y, eps=eps, kappa=kappa, max_breakpoints=1)
    assert path.lambdas_[0] == pytest.approx(lam_max, abs=1e-4)
    assert path.terminated_by_ == "max_breakpoints"


@pytest.mark.parametrize("solver", ["bcfw", "cached", "bcafw"])
@pytest.mark.parametrize("problem", PROBLEMS)
def test_every_lam_is_solved_to_eps(problem, solver):
    model, data = PROBLEMS[problem]
    X, y = data()
    estimator = svm(model, solver=solver)
    loss_unit = 8.0 if problem == "chain, raw loss" else 1.0
    eps = 0.2 * loss_unit
    path = regularization_path(estimator, X, y, eps=eps, C_max=10.0)
    assert np.all(path.gaps_ <= 0.9 * eps)
    assert np.all(np.diff(path.lambdas_) < 0)
    rng = np.random.default_rng(0)
    low = 1.0 / (min(path.C_end_, 10.0) * len(y))
    for lam in np.exp(rng.uniform(np.log(low), np.log(2 * path.lambdas_[0]), size=5)):
        C = 1.0 / (lam * len(y))
        best = svm(model, solver="bcpfw", C=C, tol=0.02 * eps).fit(X, y)
        blocks, _ = best._make_blocks(X, y, None)
        blocks.reset(lam)
        w = path.coef_at(C)
        objective = 0.5 * lam * w @ w + blocks.weight @ blocks.sweep(w).hinge
        # best.dual_objective_ bounds the optimum from below
        assert objective - best.dual_objective_ <= eps * 1.02 + 1e-9


def test_gap_is_eps_right_after_lam_changes():
    """Proposition 1: the weights of a piece are eps-optimal up to its very end, and not beyond."""
    X, y = digits()
    estimator = svm(MulticlassModel(), solver="bcpfw")
    path = regularization_path(estimator, X, y, eps=0.3, max_breakpoints=4)
    blocks, _ = estimator._make_blocks(X, y, None)
    method = estimator.solver_.start(
        blocks, lam=path.lambdas_[0], tol=0.2, rng=np.random.RandomState(0)
    )
    for _ in range(3):
        method.step()
    method.certify()
    point, sweep = method.breakpoint(), method.last.sweep
    slack = blocks.weight * sweep.current
    assert slack.sum() == pytest.approx(point.hinge - point.gap, rel=1e-9)
    eps = point.gap + 0.3 * slack.sum()
    rho = point.end(eps) / point.lam
    assert rho == pytest.approx(0.7, rel=1e-9)
    predicted = blocks.weight * (sweep.hinge - sweep.current) + (1.0 - rho) * slack
    w = blocks.w.copy()
    blocks.scale(rho)
    blocks.lam *= rho
    blocks.refresh()
    np.testing.assert_allclose(blocks.w, w, rtol=0, atol=1e-10)
    after = blocks.certify()
    assert after.gap == pytest.approx(eps, rel=1e-9)
    assert after.gap == pytest.approx(point.gap_at(blocks.lam), rel=1e-9)
    np.testing.assert_allclose(
        blocks.weight * (after.sweep.hinge - after.sweep.current), predicted, rtol=0, atol=1e-12
    )


def test_path_ends_where_the_hinge_is_below_eps():
    X, y = load_iris(return_X_y=True)
    path = regularization_path(svm(MulticlassModel()), X, y, eps=0.4)
    assert path.terminated_by_ == "hinge"
    assert path.C_end_ == np.inf
    blocks, _ = StructuredSVM()._make_blocks(X, y, None)
    blocks.reset(1.0)
    hinges = [blocks.weight @ blocks.sweep(w).hinge for w in path.coefs_]
    assert hinges[-1] <= 0.4 < hinges[-2]
    assert path.coef_at(1e9) is not None


def test_number_of_breakpoints_is_bounded():
    X, y = digits()
    path = regularization_path(svm(MulticlassModel()), X, y, eps=0.2, kappa=0.5)
    bound = 1 + np.log(path.lambdas_[0] / path.lambdas_[-1]) / (0.2 * 0.5)
    assert len(path.lambdas_) <= bound


def test_weights_above_the_first_breakpoint_are_scaled():
    X, y = digits()
    path = regularization_path(svm(MulticlassModel()), X, y, eps=0.5, max_breakpoints=2)
    np.testing.assert_allclose(path.coef_at(path.Cs_[0] / 4), path.coefs_[0] / 4)
    np.testing.assert_array_equal(path.coef_at(path.Cs_[1]), path.coefs_[1])
    np.testing.assert_array_equal(path.predict(X, at=path.Cs_[0] / 4), path.predict(X, path.Cs_[0]))


def test_heuristic_mode_trusts_known_gaps_and_saves_oracle_calls():
    X, y = digits()
    estimator = svm(MulticlassModel())
    exact = regularization_path(estimator, X, y, eps=0.2, kappa=0.7)
    trusting = regularization_path(estimator, X, y, eps=0.2, mode="heuristic")
    assert trusting.n_oracle_calls_ < exact.n_oracle_calls_
    assert np.all(trusting.gaps_ <= 0.7 * 0.2)
    assert trusting.lambdas_[0] == pytest.approx(exact.lambdas_[0])


def test_scores_and_estimators_along_the_path():
    X, y = digits()
    path = regularization_path(svm(MulticlassModel()), X[:150], y[:150], eps=0.3)
    assert isinstance(path, RegularizationPath)
    scores = path.score_path(X[150:], y[150:])
    assert scores.shape == path.Cs_.shape
    fitted = path.estimator_at(path.Cs_[-1])
    assert scores[-1] == fitted.score(X[150:], y[150:])
    assert scores[-1] == np.mean(fitted.predict(X[150:]) == y[150:])
    assert path.Cs_[-1] == fitted.C
    assert fitted.dual_gap_ == 0.3
    last = path.score_path(X[150:], y[150:], scoring=lambda est, A, b: est.C)
    np.testing.assert_allclose(last, path.Cs_)


def test_sample_weight_repeats_samples():
    X, y = digits()
    weight = np.ones(len(y))
    weight[:50] = 2.0
    estimator = svm(MulticlassModel(), solver="bcpfw")
    weighted = regularization_path(estimator, X, y, sample_weight=weight, eps=0.3)
    repeated = regularization_path(
        estimator, np.concatenate([X, X[:50]]), np.concatenate([y, y[:50]]), eps=0.3
    )
    assert weighted.lambdas_[0] == pytest.approx(repeated.lambdas_[0], rel=1e-10)
    assert weighted.Cs_[0] == pytest.approx(repeated.Cs_[0], rel=1e-10)


def test_cone_bounds_are_kept_along_the_path():
    X, y = digits()
    estimator = svm(MulticlassModel(), solver=BlockFrankWolfe("pairwise", lower_bounds=0.0))
    path = regularization_path(estimator, X, y, eps=0.4, C_max=1.0)
    assert np.all(path.coefs_ >= 0)
    C = float(np.sqrt(path.Cs_[0] * path.Cs_[-1]))
    best = estimator.set_params(C=C, tol=0.01).fit(X, y)
    blocks, lam = best._make_blocks(X, y, None)
    blocks.reset(lam)
    w = path.coef_at(C)
    objective = 0.5 * lam * w @ w + blocks.weight @ blocks.sweep(w).hinge
    assert objective - best.dual_objective_ <= 0.4


def test_black_box_models_have_a_path():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(rng.integers(2, 6), 5)) for _ in range(40)]
    w = rng.normal(size=5)
    y = [int(np.argmax(x @ w)) for x in X]
    path = regularization_path(svm(EnumeratedModel(), solver="bcpfw"), X, y, eps=0.3)
    assert np.all(path.gaps_ <= 0.27)
    assert path.score_path(X, y)[-1] > 0.8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eps": 0.0}, "eps"),
        ({"kappa": 1.0}, "kappa must be below 1"),
        ({"mode": "fast"}, "mode must be one of"),
        ({"C_max": -1.0}, "C_max"),
        ({"max_breakpoints": 0}, "max_breakpoints"),
        ({"time_limit": 0}, "time_limit"),
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
    with pytest.raises(ValueError, match="block-coordinate family"):
        regularization_path(StructuredSVM(solver="fw"), X, y)
    box = StructuredSVM(solver=BlockFrankWolfe(upper_bounds=1.0))
    with pytest.raises(ValueError, match="do not change with scale"):
        regularization_path(box, X, y)


def test_beyond_the_end_is_refused():
    X, y = digits()
    path = regularization_path(StructuredSVM(random_state=0), X, y, eps=0.5, max_breakpoints=2)
    with pytest.raises(ValueError, match=r"the path holds from C = 0 to .*larger C_max"):
        path.coef_at(1.01 * path.C_end_)
    with pytest.raises(ValueError, match="C"):
        path.coef_at(0.0)


def test_too_few_passes_end_the_path_with_a_warning():
    X, y = digits()
    estimator = StructuredSVM(solver=BlockFrankWolfe(sampling="uniform"), max_iter=1)
    with pytest.warns(ConvergenceWarning, match="increase max_iter or eps"):
        path = regularization_path(estimator, X, y, eps=0.05)
    assert path.terminated_by_ == "max_iter"
    assert np.isfinite(path.C_end_)


def test_cross_validation_picks_the_best_step():
    X, y = digits()
    search = StructuredSVMCV(svm("auto"), eps=0.2, cv=KFold(3), C_max=10.0).fit(X, y)
    mean = search.scores_.mean(axis=1)
    assert search.scores_.shape == (len(search.lambdas_), 3)
    assert search.lam_ * search.C_ * len(y) == pytest.approx(1.0)
    # Score the chosen lam on every fold by hand: it must be the best mean of all.
    chosen = []
    for (train, test), path in zip(KFold(3).split(X), search.paths_, strict=True):
        C = 1.0 / (search.lam_ * len(train))
        chosen.append(np.mean(path.predict(X[test], at=C) == y[test]))
    assert np.mean(chosen) == pytest.approx(mean.max())
    assert search.score(X, y) == search.estimator_.score(X, y) > 0.9
    np.testing.assert_array_equal(search.classes_, np.arange(10))


def test_cross_validation_of_sequences_in_parallel():
    X, y = words()
    one = StructuredSVMCV(svm("chain"), eps=0.3, cv=2, C_max=1.0).fit(X, y)
    two = StructuredSVMCV(svm("chain"), eps=0.3, cv=2, C_max=1.0, n_jobs=2).fit(X, y)
    assert one.C_ == two.C_
    np.testing.assert_array_equal(one.scores_, two.scores_)
    assert len(one.predict(X[:3])) == 3
    assert one.score_samples(X[:3]).shape == (3,)
