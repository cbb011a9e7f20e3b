"""Matchings as structured outputs: methods and parts against all matchings, and training."""

import pickle
import re

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from sklearn.base import clone

from _matchings import all_matchings
from _references import solve_structured_svm
from sklearn_fw import StructuredSVM
from sklearn_fw.inference import Assignment
from sklearn_fw.metrics import alignment_error_rate
from sklearn_fw.structured import MatchingModel
from sklearn_fw.task_losses import LinkLoss, ZeroOneLoss
from sklearn_fw.utils import check_structured_estimator

SHAPES = [(3, 3), (2, 4), (3, 1), (1, 1), (0, 2)]
MODELS = {
    "default": MatchingModel(),
    "raw": MatchingModel(LinkLoss(2.0, 0.5, normalize=False)),
    "perfect": MatchingModel(perfect=True),
    "perfect, raw": MatchingModel(LinkLoss(normalize=False), perfect=True),
}
every_model = pytest.mark.parametrize("name", MODELS)


def problem(name, rng, n_features=3, shapes=SHAPES):
    """A model, features, true matchings and all matchings of each sample."""
    model = clone(MODELS[name])
    if model.perfect:
        shapes = [(max(shape), max(shape)) for shape in shapes]
    X = [rng.normal(size=(*shape, n_features)) for shape in shapes]
    outputs = [all_matchings(*shape, model.perfect) for shape in shapes]
    y = [candidates[rng.integers(len(candidates))] for candidates in outputs]
    return model.initialize(X, y), X, y, outputs


def pairs(matching):
    return list(zip(*(indices.tolist() for indices in np.nonzero(matching))))


def plain_loss(model, truth, y):
    """The loss as the docstring says it."""
    loss = LinkLoss() if model.task_loss == "links" else model.task_loss
    missed, false = np.sum(truth * (1 - y)), np.sum((1 - truth) * y)
    cost = loss.missed * missed + loss.false * false
    largest = loss.missed * truth.sum() + loss.false * min(truth.shape)
    return cost / largest if loss.normalize and largest else cost


# ---- the four methods ----------------------------------------------------------------------------


@every_model
def test_methods_against_all_matchings(name, rng):
    for _ in range(10):
        model, X, y, outputs = problem(name, rng)
        w = rng.normal(size=model.size_joint_feature)
        for x, truth, candidates in zip(X, y, outputs):
            features = [np.einsum("jk,jkf->f", c, x) for c in candidates]
            losses = [plain_loss(model, truth, c) for c in candidates]
            values = np.array(features) @ w
            for candidate, phi, loss in zip(candidates, features, losses):
                np.testing.assert_allclose(model.joint_feature(x, candidate), phi, atol=1e-14)
                assert model.loss(truth, candidate) == pytest.approx(loss, rel=1e-14)
                assert model.loss(candidate, candidate) == 0.0
                assert loss <= 1.0 or model.task_loss != "links"
            best = model.inference(x, w)
            assert best.dtype == np.int8
            assert best.shape == truth.shape
            np.testing.assert_allclose(w @ model.joint_feature(x, best), values.max(), atol=1e-13)
            best = model.loss_augmented_inference(x, truth, w)
            found = w @ model.joint_feature(x, best) + model.loss(truth, best)
            np.testing.assert_allclose(found, np.max(values + losses), atol=1e-13)


@every_model
def test_lists_of_pairs_mean_the_same(name, rng):
    model, X, y, outputs = problem(name, rng)
    assert model.initialize(X, list(map(pairs, y))) is model
    for x, truth, candidates in zip(X, y, outputs):
        scores = rng.normal(size=truth.shape)
        for form in (pairs, lambda c: [list(p) for p in pairs(c)], lambda c: c == 1):
            np.testing.assert_array_equal(
                model.augment(scores, form(truth)), model.augment(scores, truth)
            )
            for candidate in candidates:
                other = form(candidate)
                np.testing.assert_array_equal(
                    model.joint_feature(x, other), model.joint_feature(x, candidate)
                )
                assert model.output_key(other) == model.output_key(candidate)
                expected = model.loss(truth, candidate)
                assert model.loss(form(truth), candidate) == expected
                assert model.loss(truth, other) == expected
        assert len({model.output_key(candidate) for candidate in candidates}) == len(candidates)


def test_loss_of_two_lists():
    model = MatchingModel().initialize([GOOD], [[]])
    assert model.loss([(0, 1), (1, 0)], [[1, 0], [0, 1]]) == 0.0
    with pytest.raises(ValueError, match="normalized loss of two lists of pairs is not defined"):
        model.loss([(0, 1)], [(0, 0)])
    model = MatchingModel(LinkLoss(normalize=False)).initialize([GOOD], [[]])
    assert model.loss([(0, 1)], [(0, 0)]) == 4.0


# ---- fractional matchings ------------------------------------------------------------------------


@every_model
def test_vertices(name, rng):
    """phi = F z, the score is <F^T w, z>, and the loss is linear."""
    model, X, y, outputs = problem(name, rng)
    w = rng.normal(size=model.size_joint_feature)
    for x, truth, candidates in zip(X, y, outputs):
        c, c0 = model.loss_vector(x, truth)
        s = rng.normal(size=model.z_size(x))
        for candidate in candidates:
            z = model.label_vector(x, candidate)
            assert z.shape == s.shape
            phi = model.joint_feature(x, candidate)
            np.testing.assert_allclose(model.apply(x, z), phi, atol=1e-13)
            np.testing.assert_allclose(model.adjoint(x, w) @ z, w @ phi, atol=1e-13)
            np.testing.assert_allclose(c @ z + c0, model.loss(truth, candidate), atol=1e-13)
            np.testing.assert_array_equal(model.decode(x, z), candidate)
            np.testing.assert_allclose(model.project(x, z), z, atol=1e-12)
        vertex = model.lmo(x, s)
        assert any(np.array_equal(vertex, candidate.ravel()) for candidate in candidates)
        best = max(s @ candidate.ravel() for candidate in candidates)
        np.testing.assert_allclose(s @ vertex, best, atol=1e-13)
        z = rng.normal(size=model.z_size(x))
        np.testing.assert_allclose(model.adjoint(x, w) @ z, w @ model.apply(x, z), atol=1e-12)


@every_model
def test_projections_and_decoding(name, rng):
    model, X, _, outputs = problem(name, rng)
    for x, candidates in zip(X, outputs):
        p = rng.normal(size=model.z_size(x))
        z = model.project(x, p)
        vertices = np.array([candidate.ravel() for candidate in candidates])
        assert np.all(vertices @ (p - z) <= (p - z) @ z + 1e-8)
        distances = np.sum((vertices - z) ** 2, axis=1)
        decoded = model.decode(x, z).ravel()
        assert np.sum((decoded - z) ** 2) == pytest.approx(distances.min(), abs=1e-12)
        if len(z):
            theta = rng.normal(size=len(z))
            slope = approx_fprime(theta, lambda t, x=x: model.log_partition(x, t), 1e-6)
            np.testing.assert_allclose(model.marginals(x, theta), slope, atol=1e-5)


@every_model
def test_diameters(name, rng):
    model, X, _, outputs = problem(name, rng, shapes=[(3, 3), (2, 4), (1, 1), (2, 2), (1, 2)])
    for x, candidates in zip(X, outputs):
        start = model.marginals(x, model.log_potentials0(x))
        np.testing.assert_allclose(start, 1.0 / max(x.shape[:2]), atol=1e-9)
        vertices = [candidate.ravel() for candidate in candidates]
        center = start if model.perfect else 0.0
        largest = max(0.5 * np.sum((z - center) ** 2) for z in vertices)
        np.testing.assert_allclose(model.z_diameter(x), largest, atol=1e-8)
        entropies = [z @ -np.log(start) - z.sum() + start.sum() for z in vertices]
        np.testing.assert_allclose(model.z_diameter(x, "entropy"), max(entropies), atol=1e-8)
    assert (
        MatchingModel().initialize([np.ones((0, 2, 1))], [[]]).z_diameter(np.ones((0, 2, 1))) == 0
    )
    with pytest.raises(ValueError, match="geometry must be one of 'entropy', 'euclidean'"):
        model.z_diameter(X[0], "l1")


# ---- training ------------------------------------------------------------------------------------


@every_model
@pytest.mark.parametrize("solver", ["bcfw", "bcpfw"])
def test_optimum_of_the_structured_svm(name, solver, rng):
    model, X, y, outputs = problem(name, rng)
    X, y, outputs = X[:4], y[:4], outputs[:4]
    psi = [
        np.array([model.joint_feature(x, truth) - model.joint_feature(x, c) for c in candidates])
        for x, truth, candidates in zip(X, y, outputs)
    ]
    losses = [
        np.array([plain_loss(model, truth, c) for c in candidates])
        for truth, candidates in zip(y, outputs)
    ]
    _, optimum = solve_structured_svm(psi, losses, np.full(4, 0.25), 1 / (0.5 * 4))
    tol = 1e-3 / (1.05 * optimum)
    svm = StructuredSVM(
        MODELS[name], solver=solver, C=0.5, tol=tol, max_iter=2000, random_state=0
    ).fit(X, list(map(pairs, y)))
    assert svm.converged_
    assert svm.dual_objective_ - 1e-8 <= optimum <= svm.objective_ + 1e-8
    assert svm.objective_ - svm.dual_objective_ <= 1e-3 + 1e-12
    predicted = svm.predict(X)
    assert predicted.dtype == object
    np.testing.assert_allclose(
        svm.score(X, y), 1 - np.mean([model.loss(*item) for item in zip(y, predicted)])
    )
    pickle.loads(pickle.dumps(svm)).predict(X)


@pytest.mark.slow
def test_estimator_checks(rng):
    svm = StructuredSVM(MatchingModel(), solver="bcpfw", C=0.1, tol=1e-4, random_state=0)
    # Matrices of 0 and 1 have no labels that could be text.
    skip = ("string_labels",)
    X = [rng.normal(size=(*rng.integers(2, 6, size=2), 3)) for _ in range(8)]
    for x in X:
        x[:, :, 2] = 1.0
    y = [Assignment().argmax(x @ [2.0, -1.0, -0.5])[0] for x in X]
    results = check_structured_estimator(svm, X, y, skip=skip)
    assert results["sample_weight"] == results["grid_search"] == "passed"


# ---- messages ------------------------------------------------------------------------------------

GOOD = np.zeros((2, 3, 1))


@pytest.mark.parametrize(
    ("params", "X", "y", "message"),
    [
        ({"task_loss": "zero_one"}, [GOOD], [[]], "task_loss must be one of 'links', 'hamming'"),
        ({"task_loss": ZeroOneLoss()}, [GOOD], [[]], "task_loss must be a sum over pairs"),
        ({}, [GOOD[0]], [[]], "X[0] must have shape (n_rows, n_columns, n_features), got (3, 1)"),
        ({}, [GOOD, GOOD[0]], [[], []], "X[1] must have shape (n_rows, n_columns, 1), got (3, 1)"),
        ({}, [GOOD, np.zeros((2, 3, 2))], [[], []], "X[1] must have shape (n_rows, n_columns, 1)"),
        ({}, [GOOD, GOOD + np.nan], [[], []], "X[1] must be finite, got NaN or infinity"),
        ({}, [np.full((1, 1, 1), "a")], [[]], "X[0] must hold real numbers only: its dtype is"),
        ({}, [GOOD], [np.eye(2)], "y[0] must have shape (2, 3), got (2, 2); give pairs as a list"),
        ({}, [GOOD], [np.full((2, 3), 0.5)], "y[0] must hold 0 and 1 only"),
        ({}, [GOOD], [[(0, 3)]], "y[0] links row 0 to column 3, but there are 2 rows and 3 col"),
        ({}, [GOOD], [[(0, -1)]], "y[0] must be a list of pairs (row, column) of numbers from 0"),
        ({}, [GOOD], [[[1, 0, 0], [0, 1, 0]]], "y[0] must be a list of pairs (row, column)"),
        ({}, [GOOD], [[0, 1]], "y[0] must be a list of pairs (row, column) of numbers from 0 on"),
        ({}, [GOOD], [[(0.5, 1)]], "y[0] must be a list of pairs (row, column) of numbers from"),
        (
            {},
            [GOOD, GOOD],
            [[(0, 1)], [(1, 0), (1, 2)]],
            "y[1] links row 1 to columns [0, 2], but a matching gives it one partner: keep one",
        ),
        ({}, [GOOD], [[(0, 1), (1, 1)]], "y[0] links column 1 to rows [0, 1], but a matching"),
        (
            {"perfect": True},
            [GOOD],
            [[]],
            "perfect=True needs as many rows as columns, but X[0] has 2 and 3: set perfect=False",
        ),
        ({"perfect": True}, [GOOD[:, :2]], [[(0, 0)]], "y[0] gives row 1 no partner: set perfect"),
    ],
)
def test_errors_of_data(params, X, y, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        StructuredSVM(MatchingModel(**params)).fit(X, y)


def test_errors_of_methods():
    model = MatchingModel().initialize([GOOD], [[]])
    with pytest.raises(ValueError, match=r"w must have shape \(1,\), got \(2,\)"):
        model.inference(GOOD, np.ones(2))
    with pytest.raises(ValueError, match="x must be finite, got NaN or infinity"):
        model.inference(GOOD + np.nan, np.ones(1))
    with pytest.raises(ValueError, match=r"y must have shape \(2, 3\), got \(3, 2\)"):
        model.joint_feature(GOOD, np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"y must have shape \(2, 3\), got \(2, 2\)"):
        model.loss(np.zeros((2, 3)), np.zeros((2, 2)))


# ---- the error rate of alignments ----------------------------------------------------------------


def test_alignment_error_rate(rng):
    """Against the formula in sets, for matrices, lists and mixtures of them."""
    for _ in range(20):
        shapes = rng.integers(1, 5, size=(6, 2))
        sure, extra, predicted = (
            [rng.random(shape) < p for shape in shapes] for p in (0.3, 0.3, 0.5)
        )
        possible = [s | e for s, e in zip(sure, extra)]
        n_right = sum((a & s).sum() + (a & p).sum() for a, s, p in zip(predicted, sure, possible))
        n_links = sum(a.sum() + s.sum() for a, s in zip(predicted, sure))
        expected = 1 - n_right / n_links
        assert 0 <= expected <= 1
        for y_possible in (possible, extra):
            rate = alignment_error_rate(sure, y_possible, list(map(pairs, predicted)))
            assert rate == pytest.approx(expected, rel=0, abs=1e-15)
        assert alignment_error_rate(sure, None, predicted) == alignment_error_rate(
            list(map(pairs, sure)), sure, predicted
        )


def test_alignment_error_rate_of_nothing():
    assert alignment_error_rate([], None, []) == 0.0
    assert alignment_error_rate([[]], [[(0, 0)]], [[]]) == 0.0
    assert alignment_error_rate([[(0, 0)]], None, [[]]) == 1.0
    assert alignment_error_rate([[]], None, [[(0, 0)]]) == 1.0
    assert alignment_error_rate([[(0, 0)], []], None, [[(0, 0)], []]) == 0.0


def test_errors_of_the_error_rate():
    with pytest.raises(ValueError, match=r"must have the same length, got \(1, 1, 2\)"):
        alignment_error_rate([[]], None, [[], []])
    with pytest.raises(ValueError, match=r"y_pred\[1\] must have shape \(2, 2\), got \(2, 3\)"):
        alignment_error_rate([[], np.eye(2)], None, [[], np.zeros((2, 3))])
    with pytest.raises(ValueError, match=r"y_pred\[0\] links row 0 to column 5, but there are 2"):
        alignment_error_rate([np.eye(2)], None, [[(0, 5)]])


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64, bool])
def test_scores_are_products(dtype, rng):
    """Of any numbers, in any order of memory, read-only or empty."""
    x = (10 * rng.normal(size=(4, 6, 3))).astype(dtype)
    w = rng.normal(size=3)
    model = MatchingModel().initialize([x], [[]])
    expected = np.tensordot(x.astype(float), w, 1)
    locked = x.copy()
    locked.flags.writeable = False
    for features in (x, np.asfortranarray(x), x.repeat(2, axis=0)[::2], locked):
        np.testing.assert_allclose(model.scores(features, w), expected, rtol=1e-6, atol=1e-9)
    wide = rng.normal(size=(3, 2))[:, 0]
    np.testing.assert_allclose(
        model.scores(x, wide), np.tensordot(x.astype(float), wide, 1), rtol=1e-6, atol=1e-9
    )
    assert model.scores(x[:0], w).shape == (0, 6)
