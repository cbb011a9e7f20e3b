"""Ordered discriminative clustering: closed forms, certificates, roundings, refusals."""

import itertools

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from sklearn_fw.cluster import OrderedDiscriminativeClustering
from sklearn_fw.cluster._diffrac import Classifier, Diffrac, Term
from sklearn_fw.datasets import make_ordered_videos
from sklearn_fw.metrics import localization_f1
from sklearn_fw.optim.domains import OrderedPlacements


def problem(X, reg, K, fit_intercept=True):
    T = len(X)
    classifier = Classifier(X, reg, fit_intercept)
    rows, columns = np.tile(np.arange(T), K), np.repeat(np.arange(K), T)
    return Diffrac([Term(classifier, slice(0, T * K), rows, columns, K)])


@pytest.mark.parametrize("shape", [(20, 4), (8, 15)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_value_is_that_of_the_best_ridge_regression(shape, fit_intercept, rng):
    X, reg, K = rng.normal(size=shape), 0.03, 3
    T = len(X)
    objective = problem(X, reg, K, fit_intercept)
    Z = rng.random((T, K))
    x = Z.T.ravel()
    ridge = Ridge(alpha=T * reg, fit_intercept=fit_intercept, solver="svd").fit(X, Z)
    errors = np.sum((Z - ridge.predict(X)) ** 2) / (2 * T)
    assert objective.value(x) == pytest.approx(errors + reg / 2 * np.sum(ridge.coef_**2), rel=1e-10)
    fitted, (coef, intercept) = objective.terms[0].fitted(objective.image(x)[objective.parts[0]])
    np.testing.assert_allclose(coef, ridge.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(intercept, np.ones(K) * ridge.intercept_, rtol=0, atol=1e-10)
    np.testing.assert_allclose(fitted, ridge.predict(X), rtol=0, atol=1e-10)
    gradient, step = objective(x)[1], 1e-6
    for k in range(0, len(x), 5):
        ahead = np.zeros(len(x))
        ahead[k] = step
        slope = (objective.value(x + ahead) - objective.value(x - ahead)) / (2 * step)
        assert gradient[k] == pytest.approx(slope, rel=0, abs=1e-8)
    block = slice(T, 2 * T)
    own = objective.adjoint_in(objective.slopes(objective.image(x))[1], block)
    np.testing.assert_allclose(own, gradient[block], rtol=0, atol=1e-14)
    assert objective.curvature(x) == pytest.approx(2 * objective.value(x), rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["fw", "bcfw", "away"])
def test_relaxed_minimum_is_certified_and_below_every_assignment(algorithm, rng):
    X = [rng.normal(size=(5, 2)), rng.normal(size=(4, 2))]
    model = OrderedDiscriminativeClustering(
        2, reg=0.1, algorithm=algorithm, max_iter=3000, tol=1e-3, random_state=0
    ).fit(X)
    rows = np.concatenate(X)
    classifier = Classifier(rows, 0.1)
    term = Term(classifier, slice(0, 18), np.tile(np.arange(9), 2), np.repeat([0, 1], 9), 2)
    objective, values = Diffrac([term]), {}
    for a, b in itertools.product(
        itertools.combinations(range(5), 2), itertools.combinations(range(4), 2)
    ):
        Z = np.zeros((9, 2))
        Z[a, [0, 1]], Z[np.array(b) + 5, [0, 1]] = 1.0, 1.0
        values[a, b] = objective.value(Z.T.ravel())
    assert model.relaxed_objective_ <= min(values.values()) + 1e-12
    away = OrderedDiscriminativeClustering(
        2, reg=0.1, algorithm="away", max_iter=3000, tol=1e-6, random_state=0
    ).fit(X)
    assert model.relaxed_objective_ - away.relaxed_objective_ + away.gap_ >= 0.0
    assert model.relaxed_objective_ - away.relaxed_objective_ <= model.gap_ + 1e-12
    assert model.gap_ <= 0.05 * model.relaxed_objective_
    found = tuple(model.locations_[0]), tuple(model.locations_[1])
    assert model.objective_ == pytest.approx(values[found], rel=1e-10)
    assert np.sum(model.objective_ > np.array(list(values.values())) + 1e-12) <= 6
    if algorithm == "fw":
        assert np.all(np.diff(model.history_["objective"]) <= 1e-14)


@pytest.mark.parametrize("rounding", ["classifier", "l2", "fw"])
def test_roundings_are_exact(rounding, rng):
    from sklearn_fw.cluster._ordered import Rounding

    X, K = rng.normal(size=(6, 3)), 2
    objective, domain = problem(X, 0.1, K), OrderedPlacements((K, 6))
    vertices = []
    for slots in itertools.combinations(range(6), K):
        vertices.append(np.eye(6)[list(slots)].ravel())
    vertices = np.array(vertices)
    for _ in range(30):
        x = rng.dirichlet(np.ones(len(vertices))) @ vertices
        kept = Rounding(objective, domain, rounding)
        kept(x, 1)
        got = domain.vertex(kept.slots).to_array()
        answers = objective.terms[0].fitted(objective.image(x)[objective.parts[0]])[0].T.ravel()
        target = {"classifier": answers, "l2": x, "fw": -1e6 * objective(x)[1]}[rounding]
        distances = np.sum((vertices - target) ** 2, axis=1)
        assert np.sum((got - target) ** 2) == pytest.approx(distances.min(), rel=1e-9)


@pytest.mark.slow
def test_windows_help_and_uniform_guesses_do_not():
    data = make_ordered_videos(random_state=0)
    uniform = np.tile(((np.arange(7) + 0.5) / 7 * 150).astype(int), (30, 1))
    scores = [localization_f1(data.truth, uniform, matching="identity").f1]
    for windows in (None, data.windows):
        model = OrderedDiscriminativeClustering(7, random_state=0).fit(data.X, windows=windows)
        scores.append(localization_f1(data.truth, model.locations_).f1)
    assert scores[0] < 0.3
    assert scores[2] > 0.8
    assert scores[2] >= scores[1] - 0.03


def test_windows_of_one_row_are_labels(rng):
    X = [rng.normal(size=(6, 2)), rng.normal(size=(5, 2))]
    windows = [[(0, 1, 1), (1, 4, 4)], [(0, 0, 0), (1, 3, 3)]]
    for constraint in ("mask", "hull"):
        model = OrderedDiscriminativeClustering(
            2, window_constraint=constraint, random_state=0
        ).fit(X, windows=windows)
        assert model.locations_.tolist() == [[1, 4], [0, 3]]
        assert model.labels_.tolist() == [-1, 0, -1, -1, 1, -1, 0, -1, -1, 1, -1]


def test_steps_are_those_of_the_fit_not_of_a_later_parameter(rng):
    X = [rng.normal(size=(6, 2)), rng.normal(size=(5, 2))]
    model = OrderedDiscriminativeClustering(2, random_state=0).fit(X)
    before = model.localize(X)
    assert np.array_equal(model.set_params(n_steps=3).localize(X), before)


def test_windows_against_the_order_are_widened(rng):
    X = [rng.normal(size=(6, 2)), rng.normal(size=(5, 2))]
    with pytest.warns(UserWarning, match=r"windows of sequences \[1\] leave no placement"):
        model = OrderedDiscriminativeClustering(2, random_state=0).fit(
            X, windows=[None, [(0, 4, 4), (1, 0, 0)]]
        )
    assert model.infeasible_.tolist() == [1]


def test_groups_need_not_stand_together(rng):
    X = [rng.normal(size=(6, 2)), rng.normal(size=(5, 2))]
    model = OrderedDiscriminativeClustering(2, random_state=0).fit(X)
    order = np.argsort(np.r_[np.arange(6), np.arange(5) + 0.5], kind="stable")
    groups = np.repeat([0, 1], [6, 5])[order]
    mixed = OrderedDiscriminativeClustering(2, random_state=0).fit(
        np.concatenate(X)[order], groups=groups
    )
    assert np.array_equal(mixed.labels_, model.labels_[order])
    for names in (np.array(["a", "b"])[groups], ["xy"[g] for g in groups], groups == 1):
        named = OrderedDiscriminativeClustering(2, random_state=0).fit(
            np.concatenate(X)[order], groups=names
        )
        assert np.array_equal(named.labels_, mixed.labels_)


def test_windows_may_extend_beyond_the_ends(rng):
    X = [rng.normal(size=(6, 3)), rng.normal(size=(5, 3))]
    found = [
        OrderedDiscriminativeClustering(2, random_state=0).fit(X, windows=windows).locations_
        for windows in ([[(0, -9, 1), (1, 3, 99)], None], [[(0, 0, 1), (1, 3, 5)], None])
    ]
    assert np.array_equal(*found)


@pytest.mark.parametrize("X, options, message", [
    ([np.ones((4, 2)), np.ones((1, 2))], {}, r"X\[1\] has 1 rows, but there must be 2"),
    ([np.ones((4, 2)), np.ones((4, 3))], {}, r"X\[1\] must have shape \(n_rows, 2\)"),
    ([], {}, "X must be a list of 1 or more arrays"),
    (np.ones((4, 2)), {}, "X is one array: give a list"),
    (np.ones((4, 2)), {"groups": [0, 1]}, r"groups must have shape \(4,\), got \(2,\)"),
    ([np.ones((4, 2))], {"windows": []}, "windows must be a list of 1 arrays or lists"),
    ([np.ones((4, 2))], {"windows": [[(5, 0, 1)]]}, r"windows\[0\] must hold .* steps from 0"),
    ([np.ones((4, 2))], {"windows": [np.ones((2, 2))]}, r"windows\[0\] must have shape"),
    ([np.ones((4, 2))], {"windows": [[(0, 1)]]}, r"windows\[0\] must hold \(step, first row"),
    ([np.ones((4, 2))], {"windows": [[(0, 3, 2)]]}, r"a row of 0 to 3; got \(0, 3, 2\)"),
    ([np.ones((4, 2))], {"windows": [[(0, 4, 9)]]}, r"a row of 0 to 3; got \(0, 4, 9\)"),
    ([np.ones((4, 2))], {"windows": [[(0, -2, -1)]]}, r"a row of 0 to 3; got \(0, -2, -1\)"),
    (np.ones((4, 2)), {"groups": ["a", "b", None, "b"]}, "groups must be a vector of labels"),
    (np.ones((4, 2)), {"groups": [0, 0, 1, np.nan]}, "groups must be a vector of labels"),
])  # fmt: skip
def test_refusals(X, options, message):
    with pytest.raises(ValueError, match=message):
        OrderedDiscriminativeClustering(2).fit(X, **options)


@pytest.mark.slow
@pytest.mark.parametrize("n_backgrounds", [0, 6])
def test_steps_among_recurring_scenes_are_found_from_one_start(n_backgrounds, rng):
    steps, scenes = rng.normal(size=(7, 12)), rng.normal(size=(max(n_backgrounds, 1), 12))
    X, truth = [], []
    for _ in range(15):
        rows = scenes[rng.integers(len(scenes), size=50)] * bool(n_backgrounds)
        truth.append(np.sort(rng.choice(50, size=7, replace=False)))
        rows[truth[-1]] = steps
        X.append(rows + 0.3 * rng.normal(size=rows.shape))
    model = OrderedDiscriminativeClustering(7, random_state=0).fit(X)
    assert np.mean(model.locations_ == np.array(truth)) > 0.95
    assert np.array_equal(model.localize(X), model.locations_)
    assert np.array_equal(model.predict(X), model.labels_)
    labels = [[(k, int(t), int(t)) for k, t in enumerate(row)] for row in truth]
    true = OrderedDiscriminativeClustering(7, max_iter=1).fit(X, windows=labels)
    assert model.objective_ <= true.objective_ * 1.01
