"""The classifier by quadratic surrogates, against ridge regression and enumeration."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits, load_iris
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.metrics.pairwise import rbf_kernel

from sklearn_fw.surrogates import QuadraticSurrogateClassifier
from sklearn_fw.task_losses import (
    BlockLoss,
    HammingLoss,
    MatrixLoss,
    OverlapLoss,
    TaskLoss,
    ZeroOneLoss,
)


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits(return_X_y=True)
    return X[:700], y[:700], X[700:1300], y[700:1300]


def random_costs(k=10, seed=0):
    costs = np.random.default_rng(seed).random((k, k))
    np.fill_diagonal(costs, 0.0)
    return costs


class Distance(TaskLoss):
    """A user's loss with a value alone."""

    def value(self, y_true, y_pred):
        return float(np.sum(np.abs(np.asarray(y_true, float) - np.asarray(y_pred, float))))


# ---- equivalences --------------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [1.0, 50.0])
def test_zero_one_is_ridge_classifier(digits, alpha):
    X, y, X_new, _ = digits
    expected = RidgeClassifier(alpha=alpha).fit(X, y).predict(X_new)
    for space in ("loss", "full"):
        model = QuadraticSurrogateClassifier(alpha=alpha, score_space=space).fit(X, y)
        np.testing.assert_array_equal(model.predict(X_new), expected)


def test_hamming_is_ridge_classifier_of_bits(digits):
    X, y, X_new, y_new = digits
    bits = (y[:, None] >> np.arange(4)) & 1
    model = QuadraticSurrogateClassifier(alpha=1.0).fit(X, bits)
    expected = RidgeClassifier(alpha=1.0).fit(X, bits)
    np.testing.assert_array_equal(model.predict(X_new), expected.predict(X_new))
    np.testing.assert_array_equal(model.decision_function(X_new) > 0, model.predict(X_new) == 1)
    assert model.rank_ == 5
    wrong = ((y_new[:, None] >> np.arange(4)) & 1) != model.predict(X_new)
    truth = (y_new[:, None] >> np.arange(4)) & 1
    assert model.score(X_new, truth) == pytest.approx(1 - wrong.mean())


def test_blocks_are_classes_of_their_own(digits):
    X, y, X_new, _ = digits
    blocks = {label: label % 3 for label in range(10)}
    model = QuadraticSurrogateClassifier(BlockLoss(blocks), alpha=1.0).fit(X, y)
    assert model.rank_ == 3
    predicted = model.predict(X_new)
    expected = RidgeClassifier(alpha=1.0).fit(X, y % 3).predict(X_new)
    np.testing.assert_array_equal(predicted % 3, expected)
    assert set(predicted) <= {0, 1, 2}  # the first label of each block


@pytest.mark.parametrize("loss", ["matrix", "mixed", "own"])
def test_scores_are_expected_losses_of_ridge_weights(digits, loss):
    """The decoder is the least of sum_i a_i(x) L(prediction, y_i), a(x) = (K + alpha I)^-1 k_x."""
    X, y, X_new, _ = digits
    task_loss = {
        "matrix": random_costs(), "own": Distance(),
        "mixed": BlockLoss({label: label % 3 for label in range(10)}, within=0.4),
    }[loss]  # fmt: skip
    model = QuadraticSurrogateClassifier(
        task_loss, kernel="rbf", gamma=1e-3, alpha=0.1, fit_intercept=False
    ).fit(X, y)
    K, k_new = rbf_kernel(X, gamma=1e-3), rbf_kernel(X_new, X, gamma=1e-3)
    weights = np.linalg.solve(K + 0.1 * np.eye(len(X)), k_new.T).T
    risk = weights @ model.loss_matrix_[y]
    np.testing.assert_allclose(model.predict_risk(X_new), risk, rtol=0, atol=1e-8)
    np.testing.assert_array_equal(model.predict(X_new), risk.argmin(axis=1))
    psi = -model.loss_matrix_[y] @ model.score_basis_ / 10
    ridge = KernelRidge(alpha=0.1, kernel="rbf", gamma=1e-3).fit(X, psi)
    np.testing.assert_allclose(model.dual_coef_, ridge.dual_coef_, rtol=0, atol=1e-9)


@pytest.mark.slow
def test_linear_kernel_is_linear(digits, rng):
    X, y, X_new, _ = digits
    weight = rng.integers(0, 3, size=len(y)).astype(float)
    linear = QuadraticSurrogateClassifier(random_costs(), alpha=3.0).fit(X, y, weight)
    for kernel, given, new in (
        (lambda a, b: a @ b, X, X_new), ("precomputed", X @ X.T, X_new @ X.T)
    ):  # fmt: skip
        dual = QuadraticSurrogateClassifier(random_costs(), kernel=kernel, alpha=3.0)
        dual.fit(given, y, weight)
        np.testing.assert_allclose(
            dual.predict_risk(new), linear.predict_risk(X_new), rtol=0, atol=1e-7
        )


def test_sparse_rows_are_dense_rows(digits):
    X, y, X_new, _ = digits
    for kernel in ("linear", "rbf"):
        dense = QuadraticSurrogateClassifier(kernel=kernel, alpha=1.0).fit(X, y)
        sparse = QuadraticSurrogateClassifier(kernel=kernel, alpha=1.0).fit(sp.csr_array(X), y)
        np.testing.assert_allclose(
            sparse.predict_risk(sp.csr_array(X_new)), dense.predict_risk(X_new), rtol=0, atol=1e-5
        )


def test_listed_outputs_are_label_powersets(digits):
    X, y, X_new, _ = digits
    bits = (y[:, None] >> np.arange(4)) & 1
    model = QuadraticSurrogateClassifier(ZeroOneLoss(), alpha=1.0).fit(X, bits)
    expected = RidgeClassifier(alpha=1.0).fit(X, y).predict(X_new)
    np.testing.assert_array_equal(model.predict(X_new) @ (1 << np.arange(4)), expected)
    bits = bits[:, :3]  # of which all outputs are seen
    own = QuadraticSurrogateClassifier(Distance(), alpha=1.0).fit(X, bits)  # Hamming, by its values
    sums = QuadraticSurrogateClassifier(HammingLoss(normalize=False), alpha=1.0).fit(X, bits)
    np.testing.assert_allclose(
        own.predict_risk(X_new).min(axis=1), sums.predict_risk(X_new), rtol=0, atol=1e-8
    )


# ---- outputs of several labels -------------------------------------------------------------------


def test_fifty_bits_are_never_enumerated(rng):
    X = rng.normal(size=(300, 10))
    W = rng.normal(size=(10, 50))
    y = (X @ W > 0).astype(int)
    model = QuadraticSurrogateClassifier().fit(X, y)
    assert model.rank_ == 51
    assert model.loss_matrix_ is None
    assert model.score(X, y) > 0.85
    examples = model.learning_complexity(0.1)
    bound = 0.1**2 / (8 * 50)
    constants = model.constants_
    assert examples == pytest.approx(4 * (constants["D"] * constants["M"]) ** 2 / bound**2)
    risk = model.predict_risk(X)
    assert risk.mean() == pytest.approx(1 - model.score(X, y), abs=0.2)


def test_labels_that_a_column_lacks_are_not_predicted(rng):
    X = rng.normal(size=(90, 2))
    y = np.column_stack([np.arange(90) % 2, 2 + np.arange(90) % 3, np.full(90, 7)])
    model = QuadraticSurrogateClassifier(alpha=1.0).fit(X, y)
    predicted = model.predict(X)
    for t in range(3):
        assert set(predicted[:, t]) <= set(y[:, t])
    assert [s.shape[1] for s in model.decision_function(X)] == [2, 3, 1]


def test_overlap_trains_by_its_bound(rng):
    X = rng.normal(size=(200, 5))
    y = (X @ rng.normal(size=(5, 6)) > 0.5).astype(int)
    model = QuadraticSurrogateClassifier(OverlapLoss()).fit(X, y)
    losses = OverlapLoss().losses(list(y), list(model.predict(X)))
    assert model.score(X, y) == pytest.approx(1 - losses.mean())
    assert model.score(X, y) > 0.6


# ---- consistency ---------------------------------------------------------------------------------


@pytest.mark.parametrize("outputs", ["labels", "several"])
def test_weights_of_samples_by_costs_are_consistent(outputs):
    """With "root" the expected losses are those without, where data are plenty."""
    rng = np.random.default_rng(3)
    q, x = rng.dirichlet(np.full(4, 0.5), size=5), rng.integers(5, size=30000)
    y = (rng.random((30000, 1)) > np.cumsum(q, axis=1)[x]).sum(axis=1)
    costs = random_costs(4, 2) * [[1.0], [20.0], [0.2], [4.0]]
    loss, given, best = costs, y, q @ costs
    if outputs == "several":
        loss, given = MatrixLoss(costs, classes=range(4)), np.column_stack([y, y[::-1]])
    model = QuadraticSurrogateClassifier(
        loss, alpha=1.0, fit_intercept=False, cost_weight="root"
    ).fit(np.eye(5)[x], given)  # fmt: skip
    predicted, risk = model.predict(np.eye(5)), model.predict_risk(np.eye(5))
    if outputs == "labels":
        np.testing.assert_allclose(risk, best, rtol=0, atol=0.2)
        np.testing.assert_array_equal(predicted, best.argmin(axis=1))
    else:
        np.testing.assert_array_equal(predicted[:, 0], best.argmin(axis=1))
        assert np.unique(predicted[:, 1]).size == 1
    assert len(model.coef_) == model.rank_ + 1


# ---- descent -------------------------------------------------------------------------------------


def one_hot_problem():
    rng = np.random.default_rng(0)
    x, q = rng.integers(4, size=2000), rng.dirichlet(np.ones(3), size=4)
    return np.eye(4)[x], (rng.random((2000, 1)) > np.cumsum(q, axis=1)[x]).sum(axis=1)


def test_kernel_descent_is_feature_descent():
    X, y = one_hot_problem()
    X, y = X[:200] + 0.1 * np.random.default_rng(1).normal(size=(200, 4)), y[:200]
    options = {
        "solver": "asgd", "max_iter": 3, "random_state": 3, "alpha": 1.0, "radius": 0.3,
        "step_size": 0.05,
    }  # fmt: skip
    linear = QuadraticSurrogateClassifier(random_costs(3), **options).fit(X, y)
    dual = QuadraticSurrogateClassifier(random_costs(3), kernel="precomputed", **options).fit(
        X @ X.T, y
    )
    np.testing.assert_allclose(dual.dual_coef_.T @ X, linear.coef_, rtol=0, atol=1e-10)
    np.testing.assert_allclose(dual.intercept_, linear.intercept_, rtol=0, atol=1e-10)
    free = QuadraticSurrogateClassifier(random_costs(3), **options | {"radius": 100.0}).fit(X, y)
    assert np.linalg.norm(free.coef_) > np.linalg.norm(linear.coef_)
    sparse = QuadraticSurrogateClassifier(random_costs(3), **options).fit(sp.csr_array(X), y)
    np.testing.assert_allclose(sparse.coef_, linear.coef_, rtol=0, atol=1e-12)


@pytest.mark.parametrize("step_size", ["auto", "theory"])
def test_descent_is_within_its_guarantee(step_size):
    X, y = one_hot_problem()
    exact = QuadraticSurrogateClassifier(alpha=1e-6, fit_intercept=False).fit(X, y)
    model = QuadraticSurrogateClassifier(
        solver="asgd", step_size=step_size, alpha=1e-6, fit_intercept=False, max_iter=5,
        random_state=0,
    ).fit(X, y)  # fmt: skip
    excess = model.history_["objective"][-1] - exact.history_["objective"][-1]
    assert -1e-9 <= excess <= 2 * model.constants_["D"] * model.constants_["M"] / np.sqrt(10000)
    assert excess < 5e-3
    np.testing.assert_array_equal(model.predict(np.eye(4)), exact.predict(np.eye(4)))
    assert np.linalg.norm(exact.coef_) <= model.constants_["D"]


# ---- the weight of the ridge ---------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(60, 8), (20, 50)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_chosen_alpha_has_the_least_error(shape, fit_intercept):
    """Leave-one-out from its definition, by refits; targets are one-hot up to a rotation."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=shape) + 1.0
    X[:, :3] *= 2.0
    y = (X[:, :3] + rng.normal(size=(shape[0], 3))).argmax(axis=1)
    weight = rng.integers(1, 3, size=shape[0]).astype(float)
    options = {"fit_intercept": fit_intercept, "standardize": False}
    alpha = QuadraticSurrogateClassifier(kernel="linear", **options).fit(X, y, weight).alpha_
    dual = QuadraticSurrogateClassifier(kernel="precomputed", **options).fit(X @ X.T, y, weight)
    assert dual.alpha_ == pytest.approx(alpha, rel=1e-6)
    targets = np.eye(3)[y] - 1.0

    def error(alpha):
        fit, gaps = Ridge(alpha, fit_intercept=fit_intercept), np.empty_like(targets)
        for i, rest in enumerate(~np.eye(len(X), dtype=bool)):
            fit.fit(X[rest], targets[rest], weight[rest])
            gaps[i] = fit.predict(X[[i]])[0] - targets[i]
        return weight @ (gaps**2).sum(axis=1) / weight.sum()

    assert error(alpha) <= 1.002 * min(error(2.0 * alpha), error(0.5 * alpha))


def waves(n, seed, kind):
    """Noisy labels by three functions of few columns, the last in three units."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    value = {
        "rings": np.sum(X[:, :2] ** 2, axis=1) - 1.4,
        "waves": np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1],
        "units": X[:, 0] * X[:, 1] + 0.5 * X[:, 2],
    }[kind]
    y = (value + 0.7 * rng.normal(size=n) > 0).astype(int)
    return X * ([1.0, 0.02, 300.0, 1e4] if kind == "units" else 1.0), y


@pytest.mark.parametrize("kind", ["rings", "waves", "units"])
@pytest.mark.parametrize("kernel", ["auto", "rbf"])
@pytest.mark.parametrize("change", ["equal", "nearly", "contradicting"])
def test_copied_rows_do_not_spoil_the_choice(kind, kernel, change):
    """One copy, a twentieth or a half: accuracy stays what it is without."""
    (X, y), (X_new, y_new) = waves(240, 1, kind), waves(2000, 2, kind)
    scores = []
    for n_copies in (0, 1, 12, 120):
        copies, labels = X[:n_copies], y[:n_copies]
        if change == "nearly":
            copies = copies * (1.0 + 1e-10)
        elif change == "contradicting":
            labels = np.where(np.arange(n_copies) % 8 == 0, 1 - labels, labels)
        model = QuadraticSurrogateClassifier(kernel=kernel)
        model.fit(np.vstack([X, copies]), np.append(y, labels))
        scores.append(model.score(X_new, y_new))
    assert min(scores) > scores[0] - 0.06


def test_copies_of_rows_of_a_kernel_and_of_sparse_rows():
    X, y = waves(90, 3, "rings")
    rows = np.append(np.arange(90), [5, 5, 17, 40])
    weight = np.bincount(rows).astype(float)
    K = rbf_kernel(X, gamma=0.5)
    for once, copied, kernel in (
        (K, K[rows][:, rows], "precomputed"),
        (sp.csr_array(X), sp.csr_array(X[rows]), "rbf"), (X, X[rows], "auto"),
    ):  # fmt: skip
        model = QuadraticSurrogateClassifier(kernel=kernel)
        alpha = model.fit(once, y, weight).alpha_
        assert model.fit(copied, y[rows]).alpha_ == pytest.approx(alpha, rel=1e-6)


@pytest.mark.parametrize("kernel", ["auto", "linear"])
def test_units_of_columns_do_not_matter(kernel):
    """Columns divided inside: coefficients are for X as given, and the choice can be repeated."""
    X, y = waves(150, 4, "waves")
    units = np.array([1e5, 1.0, 1e-4, 30.0])
    options = {"kernel": kernel, "standardize": True}
    model, other = (QuadraticSurrogateClassifier(**options).fit(rows, y) for rows in (X, X * units))
    np.testing.assert_allclose(
        model.predict_risk(X), other.predict_risk(X * units), rtol=0, atol=1e-7
    )
    costs = [[0.0, 1.0], [6.0, 0.0]]
    free = QuadraticSurrogateClassifier(costs, kernel=kernel).fit(X * units, y)
    again = QuadraticSurrogateClassifier(
        costs,
        cost_weight="root",
        kernel=free.kernel_, gamma=free.gamma_, alpha=free.alpha_,
        standardize=free.scale_ is not None,
    ).fit(X * units, y)  # fmt: skip
    np.testing.assert_array_equal(free.predict_risk(X * units), again.predict_risk(X * units))
    sparse = QuadraticSurrogateClassifier(alpha=1.0, standardize=True)
    risk = sparse.fit(X * units, y).predict_risk(X * units)
    found = sparse.fit(sp.csr_array(X * units), y).predict_risk(sp.csr_array(X * units))
    np.testing.assert_allclose(found, risk, rtol=0, atol=1e-6)


def test_kernel_of_auto_follows_the_data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 2))
    curved = (np.sum(X**2, axis=1) > 1.4).astype(int)
    model = QuadraticSurrogateClassifier().fit(X, curved)
    assert model.kernel_ == "rbf"
    assert model.gamma_ * 2.0 * X.var() == pytest.approx(1.0, abs=2.01)
    assert model.score(X, curved) > 0.95 > 0.75 > Ridge().fit(X, curved).score(X, curved)
    given = QuadraticSurrogateClassifier(
        kernel="rbf", gamma=model.gamma_, standardize=model.scale_ is not None
    ).fit(X, curved)
    np.testing.assert_array_equal(given.dual_coef_, model.dual_coef_)

    X = rng.normal(size=(150, 8))
    straight = X @ rng.normal(size=(8, 3)) + rng.normal(size=(150, 3))
    model = QuadraticSurrogateClassifier().fit(X, straight.argmax(axis=1))
    assert model.kernel_ == "linear"
    assert model.X_fit_ is None


@pytest.mark.parametrize("settings", [{"alpha": 1.0}, {"solver": "asgd", "random_state": 0}])
def test_kernel_of_auto_is_linear_where_it_has_no_choice(settings):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    curved = (np.sum(X**2, axis=1) > 1.4).astype(int)
    assert QuadraticSurrogateClassifier(**settings).fit(X, curved).kernel_ == "linear"
    assert QuadraticSurrogateClassifier().fit(sp.csr_array(X), curved).kernel_ == "linear"


# ---- scikit-learn --------------------------------------------------------------------------------


def test_weights_are_copies(digits, rng):
    X, y, X_new, _ = digits
    counts = rng.integers(0, 3, size=len(y))
    counts[:20] = 1
    rows = np.repeat(np.arange(len(y)), counts)
    for options in ({}, {"kernel": "rbf", "gamma": 1e-3}):
        weighted = QuadraticSurrogateClassifier(**options).fit(X[:200], y[:200], counts[:200])
        few = rows[rows < 200]
        copied = QuadraticSurrogateClassifier(**options).fit(X[few], y[few])
        np.testing.assert_allclose(
            weighted.predict_risk(X_new), copied.predict_risk(X_new), rtol=0, atol=1e-5
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task_loss": [[0, -1, 1], [1, 0, 1], [1, 1, 0]]}, "costs of the task_loss must not be"),
        ({"task_loss": np.zeros((3, 3))}, "costs must not be zero"),
        ({"task_loss": np.eye(3)}, "0 on the diagonal"),
        ({"task_loss": 1 - np.eye(4)}, "costs of the task_loss must have shape"),
        ({"task_loss": "hinge"}, "task_loss must be one of"),
        ({"score_space": np.ones((2, 2))}, r"score_space must have shape \(3, r\)"),
        ({"standardize": True, "kernel": "precomputed"}, "standardize must be 'auto' or False"),
        ({"kernel": "precomputed"}, "Precomputed matrix must be a square matrix"),
        ({"kernel": "sigmoid", "gamma": 1.0, "alpha": 1e-9}, "kernel matrix plus alpha"),
    ],
)
def test_refusals(options, message, rng):
    X, y = rng.normal(size=(30, 2)), np.arange(30) % 3
    with pytest.raises(ValueError, match=message):
        QuadraticSurrogateClassifier(**options).fit(X, y)


def test_refusals_of_outputs(rng):
    X = rng.normal(size=(30, 2))
    y = rng.integers(0, 2, size=(30, 3))
    with pytest.raises(ValueError, match="score_space must be 'loss' for a loss"):
        QuadraticSurrogateClassifier("hamming", score_space="full").fit(X, y)
    with pytest.raises(ValueError, match="y has one class"):
        QuadraticSurrogateClassifier().fit(X, np.zeros(30))
    restricted = QuadraticSurrogateClassifier(score_space=np.eye(3)[:, :2]).fit(
        X, np.arange(30) % 3
    )
    with pytest.raises(ValueError, match="score_space does not hold the loss"):
        restricted.learning_complexity(0.1)


def test_distances_of_rows_far_from_zero():
    X, y = load_iris(return_X_y=True)
    near, far = (
        QuadraticSurrogateClassifier(kernel="rbf", alpha=1e-4, gamma=0.5).fit(x[::2], y[::2])
        for x in (X, X + 2.0**20)
    )
    found = far.decision_function(X[1::2] + 2.0**20)
    np.testing.assert_allclose(found, near.decision_function(X[1::2]), rtol=1e-4, atol=1e-4)
