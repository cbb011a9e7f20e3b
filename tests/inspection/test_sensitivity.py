"""Loss sensitivity is the derivative of the whole training run."""

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import QuantileTransformer, StandardScaler

from sklearn_fw.inspection import SensitivityDisplay, loss_sensitivity
from sklearn_fw.inspection._descent import Descent, Run, _batches, unroll
from sklearn_fw.inspection._problems import ACTIVATIONS, DenseProblem, Network

SGD = MLPClassifier((4,), solver="sgd")


def rows(rng, n=24, d=5, k=3):
    X = rng.normal(size=(n, d))
    return X, np.concatenate([np.arange(k), rng.integers(k, size=n - k)])


@pytest.mark.parametrize("activation", sorted(ACTIVATIONS))
def test_gradients_and_tangents_equal_differences(activation, rng):
    X, y = rows(rng)
    network = Network([5, 4, 6, 3], activation)
    problem, everything = DenseProblem(network, X, y), slice(None)
    theta = network.initial(np.random.RandomState(0)) + 0.1
    weight = rng.random(len(X))
    g, gx = problem.gradient(theta, everything, weight)
    V = rng.normal(size=(2, len(theta)))
    e = 1e-5

    def total(t, Z):
        return weight @ DenseProblem(network, Z, y).loss(t)

    for v in V:
        slope = (total(theta + e * v, X) - total(theta - e * v, X)) / (2 * e)
        assert slope == pytest.approx(g @ v, rel=1e-6, abs=1e-8)
    move = rng.normal(size=X.shape)
    slope = (total(theta, X + e * move) - total(theta, X - e * move)) / (2 * e)
    assert slope == pytest.approx((gx * move).sum(), rel=1e-6, abs=1e-8)
    bent, by_inputs = problem.tangents(theta, everything, weight, V)
    for k, v in enumerate(V):
        up, down = (problem.gradient(theta + s * e * v, everything, weight) for s in (1, -1))
        np.testing.assert_allclose(bent[k], (up[0] - down[0]) / (2 * e), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(by_inputs[k], (up[1] - down[1]) / (2 * e), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("hidden", [(), (4,), (4, 3)])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("nesterov", [False, True])
def test_unrolled_equals_differences_of_whole_runs(hidden, momentum, nesterov, rng):
    X, y = rows(rng)
    n = len(X)
    network = Network([5, *hidden, 3], "tanh")

    def problem_of(Z):
        return DenseProblem(network, Z, y, alpha=0.3)

    start = network.initial(np.random.RandomState(0))
    batches = _batches(n, 7, 15, np.random.RandomState(1))
    descent = Descent(0.2, momentum, nesterov, batches)
    groups = (y == np.arange(3)[:, None]) / n
    path = descent.run(problem_of(X), start)
    walk = unroll(problem_of(X), descent, path, [1, 8, 15], groups, direct=True)
    found = dict(zip((1, 8, 15), walk))
    e = 1e-5
    for t in (1, 8, 15):
        for i, j in [(0, 0), (5, 2), (n - 1, 4)]:
            up, down = X.copy(), X.copy()
            up[i, j] += e
            down[i, j] -= e
            problems = problem_of(up), problem_of(down)
            pair = [groups @ p.loss(descent.run(p, start)[t]) for p in problems]
            np.testing.assert_allclose(
                found[t][:, i, j], (pair[0] - pair[1]) / (2 * e), rtol=1e-4, atol=1e-8
            )


def test_many_times_walk_back_in_parts(rng, monkeypatch):
    X, y = rows(rng)
    problem = DenseProblem(Network([5, 4, 3], "tanh"), X, y)
    start = problem.initial(np.random.RandomState(0))
    descent = Descent(0.2, 0.9, True, _batches(len(X), 7, 12, np.random.RandomState(1)))
    path = descent.run(problem, start)
    groups = np.full((1, len(X)), 1 / len(X))
    at_once = list(unroll(problem, descent, path, [3, 6, 12], groups, direct=False))
    monkeypatch.setattr("sklearn_fw.inspection._descent.MOST_NUMBERS", 1)
    in_parts = list(unroll(problem, descent, path, [3, 6, 12], groups, direct=False))
    np.testing.assert_allclose(in_parts, at_once, rtol=1e-12, atol=1e-15)


def test_steps_are_those_of_mlp_classifier(rng):
    """From the same weights, on the same batch, our step is scikit-learn's."""
    X, y = rows(rng, n=30)
    model = MLPClassifier(
        (4,), activation="tanh", solver="sgd", momentum=0.0, learning_rate_init=0.3, alpha=0.5,
        batch_size=30, random_state=0,
    ).partial_fit(X, y, classes=[0, 1, 2])  # fmt: skip
    network = Network([5, 4, 3], "tanh")
    before = network.flat(list(zip(model.coefs_, model.intercepts_)))
    model.partial_fit(X, y)
    after = network.flat(list(zip(model.coefs_, model.intercepts_)))
    descent = Descent(0.3, 0.0, False, [np.arange(30)])
    ours = descent.run(DenseProblem(network, X, y, alpha=0.5), before)[-1]
    np.testing.assert_allclose(ours, after, rtol=1e-10, atol=1e-12)


def test_rows_that_no_step_used_have_the_direct_term_only(rng):
    X, y = rows(rng)
    given = {"n_steps": 2, "eval_every": 2, "batch_size": 4, "random_state": 0}
    model = MLPClassifier((4,), activation="tanh", solver="sgd", learning_rate_init=0.1)
    whole = loss_sensitivity(model, X, y, **given).sensitivity
    direct = loss_sensitivity(model, X, y, method="direct", **given).sensitivity
    rest = loss_sensitivity(model, X, y, include_direct=False, **given).sensitivity
    used = np.zeros(len(X), dtype=bool)
    used[np.concatenate(Run(model, X, y, 2, 2, (None, None, 4), 0).descent.batches)] = True
    assert used.sum() == 8
    np.testing.assert_allclose(whole[~used], direct[~used], rtol=1e-12)
    assert np.all(np.abs(whole[used] - direct[used]) > 1e-9)
    np.testing.assert_array_equal(rest > 0, used)


def test_classes_sum_to_the_whole(rng):
    X, y = rows(rng)
    model = MLPClassifier((4,), solver="sgd", learning_rate_init=0.1)
    run = Run(model, X, y, 10, 5, (None, None, None), 0)
    n = len(X)
    parts = list(run.derivatives((y == np.arange(3)[:, None]) / n, True))
    whole = list(run.derivatives(np.full((1, n), 1 / n), True))
    for a, b in zip(parts, whole):
        np.testing.assert_allclose(a.sum(axis=0), b[0], rtol=1e-10, atol=1e-14)
    found = loss_sensitivity(model, X, y, by_class=True, n_steps=10, eval_every=5, random_state=0)
    first = np.abs(np.array(parts)).sum(axis=3).mean(axis=0)
    np.testing.assert_allclose(found.matrix[1, 2], first[1, y == 2].mean(), rtol=1e-10)


def test_a_scaler_in_front_is_part_of_the_model(rng):
    X, y = rows(rng)
    model = MLPClassifier((4,), solver="sgd", learning_rate_init=0.1)
    given = {"n_steps": 10, "eval_every": 5, "random_state": 0}
    units = np.array([1.0, 100.0, 1e-3, 5.0, 1.0])
    scaler = StandardScaler().fit(X)
    behind = loss_sensitivity(model, scaler.transform(X), y, norm=np.inf, **given)
    piped = loss_sensitivity(make_pipeline(StandardScaler(), model), X, y, norm=np.inf, **given)
    assert np.all(piped.sensitivity <= behind.sensitivity / scaler.scale_.min() * (1 + 1e-9))
    other = loss_sensitivity(make_pipeline(StandardScaler(), model), X * units, y, **given)
    run = Run(make_pipeline(StandardScaler(), model), X, y, 10, 5, (None, None, None), 0)
    mean = np.array(
        [np.abs(d[0] / units).sum(axis=1) for d in run.derivatives(np.full((1, 24), 1 / 24), True)]
    ).mean(axis=0)
    np.testing.assert_allclose(other.sensitivity, mean, rtol=1e-8)


def test_modules_give_the_same_as_layers_of_numpy(rng, extra):
    torch = extra("torch", "torch")
    X, y = rows(rng)
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 3))
    given = {"n_steps": 12, "eval_every": 4, "learning_rate": 0.2, "momentum": 0.8, "batch_size": 7}
    found = loss_sensitivity(module, X, y, random_state=0, **given)
    run = Run(module, X, y, 12, 4, (0.2, 0.8, 7), 0)
    network = Network([5, 4, 3], "tanh")
    layers = [module[0], module[2]]
    start = network.flat(
        [(m.weight.detach().double().numpy().T, m.bias.detach().double().numpy()) for m in layers]
    )
    problem = DenseProblem(network, X, y)
    path = run.descent.run(problem, start)
    groups = np.full((1, len(X)), 1 / len(X))
    walk = unroll(problem, run.descent, path, run.times, groups, direct=True)
    expected = [np.abs(d[0]).sum(axis=1) for d in walk]
    np.testing.assert_allclose(found.per_step, expected, rtol=1e-7)
    with pytest.raises(ValueError, match="learning_rate is needed"):
        loss_sensitivity(module, X, y)
    with pytest.raises(ValueError, match="the module has 3 logits"):
        loss_sensitivity(module, X, y + 1, learning_rate=0.1)


def test_gini(rng):
    g = rng.random(50)
    distance = np.abs(g[:, None] - g).mean() / (2 * g.mean())
    for values, gini in (
        (g, distance), (7 * rng.permutation(g), distance), (np.eye(50)[3], 1 - 1 / 50),
        (np.full(9, 3.3), 0.0),
    ):  # fmt: skip
        assert SensitivityDisplay(values).plot().gini_ == pytest.approx(gini, rel=1e-12)


@pytest.mark.parametrize(
    ("model", "given", "message"),
    [
        (MLPClassifier((4,)), {}, "solver='adam'"),
        ("mlp", {}, "must be an MLPClassifier"),
        (SGD, {"learning_rate": 1e200}, r"learning_rate=1e\+200 is too large"),
        (SGD, {"n_steps": 5}, "eval_every == 10, must be <= 5"),
        (make_pipeline(QuantileTransformer(n_quantiles=9), SGD), {}, "is not affine"),
        (SGD, {"y": np.arange(23) % 3}, "y has 23 labels for the 24 rows"),
        (SGD, {"y": np.zeros(24, int)}, "one class only"),
        (SGD, {"y": np.arange(24) / 7}, "not integers"),
        (SGD, {"norm": 3}, "norm must be"),
        (SGD, {"method": "direct", "include_direct": False}, "take include_direct=True"),
    ],
)
def test_refusals(model, given, message, rng):
    X, y = rows(rng)
    with pytest.raises((TypeError, ValueError), match=message):
        loss_sensitivity(model, X, **{"y": y, **given})
