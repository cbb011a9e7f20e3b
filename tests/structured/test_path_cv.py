"""Cross-validation along the path of the structured SVM."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GroupKFold, KFold

from _path_problems import digits, svm, words
from sklearn_fw import StructuredSVM, regularization_path
from sklearn_fw.metrics import SCORERS
from sklearn_fw.structured import StructuredSVMCV


def test_cross_validation_picks_the_best_step():
    X, y = digits()
    search = StructuredSVMCV(svm("auto"), eps=0.2, cv=KFold(3), C_max=10.0).fit(X, y)
    mean = search.scores_.mean(axis=0)
    assert search.scores_.shape == (3, len(search.values_))
    assert search.lam_ * search.C_ * len(y) == pytest.approx(1.0)
    # Score the chosen lam on every fold by hand: it must be the best mean of all.
    chosen = []
    for (train, test), path in zip(KFold(3).split(X), search.paths_, strict=True):
        C = 1.0 / (search.lam_ * len(train))
        chosen.append(np.mean(path.predict(X[test], at=C) == y[test]))
    assert np.mean(chosen) == pytest.approx(mean.max())
    assert search.score(X, y) == search.best_estimator_.score(X, y) > 0.9
    np.testing.assert_array_equal(search.classes_, np.arange(10))


def test_folds_share_the_scales_of_automatic_c():
    X, y = load_wine(return_X_y=True)
    search = StructuredSVMCV(StructuredSVM(random_state=0), cv=3).fit(X[::2], y[::2])
    best, alone = search.best_estimator_, StructuredSVM(random_state=0).fit(X[::2], y[::2])
    np.testing.assert_array_equal(best.feature_scale, alone.feature_scale_)
    assert search.score(X[1::2], y[1::2]) > 0.93
    assert best.n_iter_ < 200
    again = clone(best).fit(X[::2], y[::2])
    np.testing.assert_array_equal(again.coef_, best.coef_)
    for fixed in ({"C": 1.0}, {"feature_scale": None}):
        given = StructuredSVMCV(svm("auto", **fixed), cv=3, C_max=1e-6).fit(X, y)
        assert given.best_estimator_.feature_scale_ == 1.0
    remedy = r"or eps, or take columns of X on one scale \(the largest is \d+ times"
    with pytest.warns(ConvergenceWarning, match=remedy):
        regularization_path(StructuredSVM(max_iter=50), X, y)


@pytest.mark.slow
def test_cross_validation_takes_weights_groups_and_splits():
    X, y = digits()
    groups = np.arange(len(y)) % 20
    by_group = StructuredSVMCV(svm("auto"), eps=0.3, cv=GroupKFold(4), C_max=1.0)
    by_group.fit(X, y, groups=groups)
    splits = list(GroupKFold(4).split(X, y, groups))
    given = StructuredSVMCV(svm("auto"), eps=0.3, cv=splits, C_max=1.0).fit(X, y)
    np.testing.assert_array_equal(given.scores_, by_group.scores_)
    assert given.C_ == by_group.C_
    masks = [(np.isin(np.arange(200), train), test.tolist()) for train, test in splits]
    masked = StructuredSVMCV(svm("auto"), eps=0.3, cv=masks, C_max=1.0).fit(X, y)
    np.testing.assert_array_equal(masked.scores_, by_group.scores_)

    weight = np.linspace(0.5, 2.0, len(y))
    weighted = StructuredSVMCV(svm("auto"), eps=0.3, cv=splits, C_max=1.0)
    weighted.fit(X, y, sample_weight=weight)
    assert weighted.lam_ * weighted.C_ * weight.sum() == pytest.approx(1.0)
    train, test = splits[1]
    C = weighted.values_ * (weight.sum() / weight[train].sum())
    path = regularization_path(
        svm("auto"), X[train], y[train], sample_weight=weight[train], eps=0.3,
        C_max=weight.sum() / weight[train].sum(),
    )  # fmt: skip
    scores = path.score_path(X[test], y[test], at=C, sample_weight=weight[test])
    np.testing.assert_array_equal(scores, weighted.scores_[1])
    by_hand = np.average(path.predict(X[test], at=C[3]) == y[test], weights=weight[test])
    assert scores[3] == pytest.approx(by_hand, rel=1e-12)
    alone = svm("auto", C=weighted.C_).fit(X, y, weight)
    np.testing.assert_array_equal(weighted.best_estimator_.coef_, alone.coef_)


def test_cross_validation_takes_names_of_scorers():
    X, y = words()
    named, given = (
        StructuredSVMCV(svm("auto"), eps=0.3, cv=2, C_max=1.0, scoring=scoring).fit(X, y)
        for scoring in ("sequence_accuracy", SCORERS["sequence_accuracy"])
    )
    np.testing.assert_array_equal(named.scores_, given.scores_)
    assert named.score(X, y) == SCORERS["sequence_accuracy"](named.best_estimator_, X, y)
    path = named.paths_[0]
    np.testing.assert_array_equal(
        path.score_path(X, y, "node_accuracy"), path.score_path(X, y, SCORERS["node_accuracy"])
    )
    X, y = digits()
    search = StructuredSVMCV(svm("auto"), eps=0.3, cv=2, C_max=1.0, scoring="f1_macro").fit(X, y)
    assert 0.5 < search.scores_.max() <= 1.0


def ends(parts):
    """A splitter that gives what it is told to."""
    return [parts]


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        (
            {"scoring": "accuracy"},
            ValueError,
            "'accuracy' is not a scorer of structured .*'phrase_f1'",
        ),
        ({"scoring": ["phrase_f1"]}, TypeError, "scoring must be one name, a callable or None"),
        ({"cv": ends((np.arange(50), np.arange(3)))}, ValueError, "fold 0 of cv .* out of bounds"),
        ({"cv": ends(([0.5], [1]))}, ValueError, "fold 0 of cv must be a pair .* of integer"),
        ({"cv": ends((np.ones(3, bool), [1]))}, ValueError, "fold 0 of cv .* boolean axis is 3"),
        ({"cv": ends(([0, 1], []))}, ValueError, "which has no sample"),
        ({"cv": ends(([0, 1],))}, ValueError, "fold 0 of cv must be a pair"),
        ({"cv": []}, ValueError, "cv has no folds"),
        ({"n_values": 0}, ValueError, "n_values"),
    ],
)
def test_bad_searches(settings, error, message):
    X, y = words()
    with pytest.raises(error, match=message):
        StructuredSVMCV(svm("auto"), **settings).fit(X, y)


def test_unknown_scorers_of_classes():
    X, y = digits()
    with pytest.raises(ValueError, match=r"'accurate' is neither a scorer .*'node_accuracy'"):
        StructuredSVMCV(svm("auto"), scoring="accurate").fit(X, y)
