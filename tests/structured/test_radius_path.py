"""Paths over radii against linear programs, ridge solutions and brute force."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import KFold

from _problems import IgnoreEdges, digits, optimum, problem, smallest
from sklearn_fw import StructuredSVM, regularization_path
from sklearn_fw.inference import Viterbi
from sklearn_fw.model_selection import RegularizationPathCV, RegularizationPathDisplay
from sklearn_fw.structured import (
    EnumeratedModel,
    Extragradient,
    MulticlassModel,
    SaddlePointFrankWolfe,
    StructuredSVMCV,
)
from sklearn_fw.structured._path_problems import BallPiece, Lines
from sklearn_fw.structured._solvers._base import Breakpoint

SOLVERS = {
    "sp_fw": SaddlePointFrankWolfe(),
    "sp_fw, fictitious": SaddlePointFrankWolfe(step_size="fictitious"),
    "sp_bcfw": SaddlePointFrankWolfe(block=True),
    "extragradient": Extragradient(radius=1.0, norm="l1"),
    "extragradient, stored": Extragradient(radius=1.0, norm="l1", memory_efficient=False),
}
NAMES = ["multiclass", "multiclass, costs", "labels, tree", "chain"]


def path_of(p, solver, **options):
    svm = StructuredSVM(p.model, solver=solver, random_state=0, max_iter=5000)
    return regularization_path(svm, p.X, p.y, sample_weight=p.sample_weight, **options)


# ---- the guarantee -------------------------------------------------------------------------------


@pytest.mark.parametrize("settings", SOLVERS)
@pytest.mark.parametrize("name", NAMES)
def test_every_radius_is_solved_to_eps(name, settings):
    p = problem(name)
    eps = 0.1 * p.objective(np.zeros(p.size), 0.0)
    path = path_of(p, SOLVERS[settings], eps=eps, radius_max=1.5)
    assert path.param_name == "radius"
    assert path.terminated_by_ == "radius_max"
    assert path.values_[-1] == 1.5
    assert path.start_ == 0.0
    radii = np.r_[0.3 * path.values_[0], path.values_, np.geomspace(0.05, 1.5, 9)]
    gaps, coefs = path.gap_at(radii), path.coef_at(radii)
    assert gaps.max() <= eps * (1 + 1e-9)
    for radius, gap, w in zip(radii, gaps, coefs):
        assert np.abs(w).sum() <= radius * (1 + 1e-9)
        excess = p.objective(w, 0.0) - smallest(name, radius)
        assert -1e-9 <= excess <= gap + 1e-9


@pytest.mark.parametrize(
    "solver", [SaddlePointFrankWolfe(norm="l2"), Extragradient(radius=1.0)], ids=str
)
@pytest.mark.parametrize("name", ["multiclass", "labels, tree"])
def test_ridge_solutions_lie_on_the_l2_path(name, solver):
    p = problem(name)
    path = path_of(p, solver, eps=0.05, radius_max=1.5)
    for C in (0.02, 0.1, 1.0):
        w, value = optimum(name, C=C)
        radius = np.linalg.norm(w)
        if radius > 1.5:
            continue
        lam = p.lam / C
        hinge = value - 0.5 * lam * (w @ w)
        excess = p.objective(path.coef_at(radius), 0.0) - hinge
        assert -1e-7 <= excess <= path.gap_at(radius) + 1e-7
        assert path.gap_at(radius) <= 0.05 * (1 + 1e-9)
        assert np.linalg.norm(path.coef_at(radius)) <= radius * (1 + 1e-9)


# ---- lines and pieces ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_lines_are_the_largest_of_all(seed):
    rng = np.random.default_rng(seed)
    lines = Lines()
    known = [(0.0, 0.0)]
    for size in (1, 5, 30):
        new = np.round(rng.random((size, 2)), 1 + seed % 3)  # with ties
        lines.add(new)
        known += new.tolist()
        radii = np.r_[0.0, rng.random(50) * 10.0, lines.kinks]
        expected = np.max([l - n * radii for l, n in known], axis=0)
        np.testing.assert_allclose(lines.at(radii), expected, rtol=0, atol=1e-12)
        floor = max(l for l, n in known if n == 0.0)
        height = 0.5 * (floor + lines.at(0.0))
        if height > floor:
            radius = lines.fall_to(height)
            np.testing.assert_allclose(lines.at(radius), height, rtol=0, atol=1e-12)
        assert lines.fall_to(floor) == np.inf
        assert lines.fall_to(0.0) == np.inf


@pytest.mark.parametrize("seed", range(3))
def test_the_largest_gap_of_a_piece_is_found(seed):
    rng = np.random.default_rng(seed)
    lines = Lines()
    lines.add(rng.random((12, 2)))
    left, right = Breakpoint(0.3, None, 1.2, 0.0), Breakpoint(2.0, None, 0.9, 0.0)
    piece = BallPiece(left, right, lines)
    brute = piece.gap(np.linspace(0.3, 2.0, 200_001)).max()
    worst = lines.worst((0.3, 1.2), (2.0, 0.9))
    assert brute <= worst <= brute + 1e-5
    assert piece.is_certified(worst)
    assert not piece.is_certified(worst * (1 - 1e-9))


# ---- ends ----------------------------------------------------------------------------------------


def test_the_last_weights_serve_all_larger_radii_once_the_hinge_is_small():
    X, y = digits(60)
    svm = StructuredSVM(solver=Extragradient(radius=1.0), random_state=0)
    path = regularization_path(svm, X, y)
    assert path.terminated_by_ == "hinge"
    assert path.eps == pytest.approx(0.1)
    assert path.losses_[-1] <= path.eps
    assert path.end_ == np.inf
    far = 10 * path.values_[-1]
    np.testing.assert_array_equal(path.coef_at(far), path.coefs_[-1])
    assert path.gap_at(far) == pytest.approx(path.losses_[-1])


def test_ends_are_named():
    X, y = digits(60)
    svm = StructuredSVM(solver="sp_bcfw", random_state=0)
    path = regularization_path(svm, X, y, eps=0.2, max_breakpoints=2)
    assert (path.terminated_by_, len(path.values_)) == ("max_breakpoints", 2)
    assert path.values_[-1] <= path.end_ < np.inf
    assert path.gap_at(path.end_) <= 0.2 * (1 + 1e-9)
    with pytest.raises(ValueError, match=r"covers radius = 0 to .*larger radius_max"):
        path.coef_at(1.01 * path.end_)
    with pytest.raises(ValueError, match="must be a number or a vector"):
        path.coef_at([[0.1]])
    with pytest.raises(ValueError, match="radius"):
        path.gap_at(0.0)
    late = regularization_path(svm, X, y, eps=0.2, radius_min=2.0, radius_max=3.0)
    assert late.values_[0] == 2.0
    assert late.start_ == 0.0  # scaled weights are good enough all the way
    round_ball = StructuredSVM(solver=Extragradient(radius=1.0), max_iter=5000)
    fine = regularization_path(round_ball, X, y, eps=0.02, radius_min=2.0, radius_max=2.1)
    assert fine.start_ == fine.values_[0] == 2.0
    with pytest.raises(ValueError, match="smaller radius_min"):
        fine.coef_at(1.0)
    short = regularization_path(svm, X, y, eps=0.2, radius_max=1e-3)
    assert (len(short.values_), short.terminated_by_) == (1, "radius_max")
    timed = regularization_path(svm, X, y, eps=0.2, time_limit=1e-9)
    assert (len(timed.values_), timed.terminated_by_) == (1, "time_limit")


def test_too_few_passes_end_the_path_with_a_warning():
    X, y = digits(60)
    svm = StructuredSVM(solver="sp_fw", max_iter=3)
    with pytest.warns(ConvergenceWarning, match="path ends at radius .* increase max_iter or eps"):
        path = regularization_path(svm, X, y, eps=0.05)
    assert path.terminated_by_ == "max_iter"
    with pytest.raises(RuntimeError, match="no breakpoint"):
        regularization_path(svm, X, y, eps=0.05, radius_min=4.0)


# ---- as every path -------------------------------------------------------------------------------


def test_scores_estimators_and_pictures():
    plt = pytest.importorskip("matplotlib.pyplot")
    X, y = load_iris(return_X_y=True)
    svm = StructuredSVM(solver=Extragradient(radius=1.0), random_state=0)
    path = regularization_path(svm, X, y, eps=0.3)
    assert svm.solver.radius == 1.0  # not changed
    scores = path.score_path(X, y)
    assert scores.shape == path.values_.shape
    assert scores[-1] > 0.9
    inner = path.estimator_at(0.7)
    assert inner.solver.radius == inner.solver_.radius == 0.7
    assert inner.dual_gap_ == path.gap_at(0.7) <= 0.3
    assert inner.score(X, y) == path.score_path(X, y, at=[0.7])[0]
    np.testing.assert_array_equal(path.predict(X, at=0.7), inner.predict(X))
    display = RegularizationPathDisplay.from_path(path, X=X, y=y)
    assert display.axes_[-1].get_xlabel() == "radius"
    plt.close(display.figure_)
    refit = inner.fit(X, y)
    assert refit.solver_.radius == 0.7


def test_black_boxes_and_oracles_in_python_have_the_same_path():
    p = problem("multiclass")
    compiled = path_of(p, SOLVERS["sp_fw"], eps=0.1, radius_max=1.0)
    box = StructuredSVM(EnumeratedModel(), solver="sp_fw", random_state=0, max_iter=5000)
    path = regularization_path(
        box, [-psi for psi in p.psi], p.targets, sample_weight=p.sample_weight, eps=0.1,
        radius_max=1.0,
    )  # fmt: skip
    for radius in path.values_:
        value = smallest("multiclass", radius)
        assert value - 1e-9 <= p.objective(compiled.coef_at(radius), 0.0) <= value + 0.1 + 1e-9
    chains = problem("chain")
    svm = StructuredSVM(chains.model, oracle=Viterbi(), solver="sp_fw", random_state=0)
    path = regularization_path(svm, chains.X, chains.y, eps=0.1, radius_max=0.5)
    for radius in path.values_:
        excess = chains.objective(path.coef_at(radius), 0.0) - smallest("chain", radius)
        assert -1e-9 <= excess <= 0.1 + 1e-9


# ---- errors --------------------------------------------------------------------------------------


def test_options_of_the_other_path():
    X, y = digits(60)
    with pytest.raises(TypeError, match="C_max"):
        regularization_path(StructuredSVM(solver="sp_fw"), X, y, C_max=1.0)
    with pytest.raises(TypeError, match="radius_max"):
        regularization_path(StructuredSVM(), X, y, radius_max=1.0)


def test_nothing_to_learn():
    X, y = np.zeros((6, 2)), [0, 1, 2, 0, 1, 2]
    with pytest.raises(ValueError, match="all outputs have the same features"):
        regularization_path(
            StructuredSVM(MulticlassModel(fit_intercept=False), solver="sp_fw"), X, y
        )


def test_cross_validation_chooses_a_radius():
    X, y = digits(60)
    svm = StructuredSVM(solver="sp_fw", max_iter=500, tol=0.1, random_state=0)
    options = {"eps": 0.3, "radius_max": 2.0}
    search = RegularizationPathCV(svm, path_options=options, n_values=5, cv=KFold(3)).fit(X, y)
    assert search.scores_.shape == (3, 5)
    assert search.values_[-1] <= 2.0 * (1 + 1e-9)
    path = regularization_path(svm, *(a[next(KFold(3).split(X))[0]] for a in (X, y)), **options)
    test = next(KFold(3).split(X))[1]
    scores = path.score_path(X[test], y[test], at=search.values_)  # the same radius in all folds
    np.testing.assert_array_equal(scores, search.scores_[0])
    assert search.best_estimator_.solver_.radius == search.best_value_
    assert np.abs(search.best_estimator_.coef_).sum() <= search.best_value_ * (1 + 1e-9)


def test_cross_validation_of_C_refuses_a_radius():
    X, y = digits(60)
    with pytest.raises(ValueError, match="RegularizationPathCV, or by GridSearchCV over solver__"):
        StructuredSVMCV(StructuredSVM(solver="sp_fw")).fit(X, y)


# ---- oracles that are not exact ------------------------------------------------------------------


def test_bounds_of_oracles_certify_the_path():
    p = problem("labels, all pairs")
    svm = StructuredSVM(
        p.model, oracle=IgnoreEdges(), solver="sp_fw", random_state=0, max_iter=2000
    )
    eps = 0.3 * p.objective(np.zeros(p.size), 0.0)
    path = regularization_path(svm, p.X, p.y, sample_weight=p.sample_weight, eps=eps,
                               radius_max=0.5)  # fmt: skip
    for radius in np.r_[path.values_, 0.1, 0.3]:
        excess = p.objective(path.coef_at(radius), 0.0) - smallest("labels, all pairs", radius)
        assert -1e-9 <= excess <= path.gap_at(radius) + 1e-9 <= eps + 1e-8


def test_without_bounds_there_is_no_path():
    p = problem("labels, all pairs")
    svm = StructuredSVM(p.model, oracle=IgnoreEdges(False), solver="sp_fw", random_state=0)
    with pytest.raises(ValueError, match="a path over radii needs an oracle that is exact"):
        regularization_path(svm, p.X, p.y, eps=0.5)
