"""The extragradient method against its textbook form, step by step."""

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax

from _polytope_problems import FORESTS, candidates, matchings, planted
from _problems import C, budget_may_end, fit, part_blocks, problem
from sklearn_fw.projections import project_l2_ball, project_matching
from sklearn_fw.structured import Extragradient, StructuredSVM
from sklearn_fw.task_losses import LinkLoss


def run(blocks, solver, n_iter, lam=1.0):
    """The method after some iterations."""
    method = solver.start(blocks, lam=lam, tol=0.0, rng=None)
    for _ in range(n_iter):
        method.step()
    return method


def textbook(p, n_iter, eta_w, eta_z, lam=0.0, radius=None, norm="l2"):
    """Averages of w, Psi and l, with distributions over all outputs and their potentials stored."""

    def weights(theta):  # of the entropic ball
        p = softmax(np.concatenate([theta, -theta, [0.0]]))
        return radius * (p[: len(theta)] - p[len(theta) : -1])

    def step(state, change):
        if norm == "l1":
            theta = state[1] + radius * change
            return weights(theta), theta
        w = state[0] + change
        return (w if radius is None else project_l2_ball(w, radius)), None

    def mean(alphas, parts):
        return sum(q * a @ part for q, a, part in zip(p.weight, alphas, parts))

    def slopes(w):
        return [loss - psi @ w for loss, psi in zip(p.losses, p.psi)]

    center = np.zeros(p.size), np.zeros(p.size)
    s_w, s_z = np.zeros(p.size), [np.zeros(len(loss)) for loss in p.losses]
    found = []
    for _ in range(n_iter):
        v_w, v_z = step(center, eta_w * s_w), [softmax(eta_z * s) for s in s_z]
        u_w = step(v_w, eta_w * (mean(v_z, p.psi) - lam * v_w[0]))
        u_z = [softmax(eta_z * (s + h)) for s, h in zip(s_z, slopes(v_w[0]))]
        s_w = s_w + mean(u_z, p.psi) - lam * u_w[0]
        s_z = [s + h for s, h in zip(s_z, slopes(u_w[0]))]
        found.append([u_w[0], mean(u_z, p.psi), mean(u_z, p.losses)])
    return [np.mean(values, axis=0) for values in zip(*found)]


@pytest.mark.parametrize("stored", [False, True], ids=["pairs (w, s)", "stored"])
@pytest.mark.parametrize(
    "ball", [{}, {"radius": 0.5}, {"radius": 0.7, "norm": "l1"}], ids=["ridge", "l2", "l1"]
)
@pytest.mark.parametrize("name", FORESTS)
def test_textbook_form(name, ball, stored):
    p = problem(name)
    lam = 0.0 if ball else p.lam
    solver = Extragradient(step_size=0.3, balance=1.5, memory_efficient=not stored, **ball)
    solver.set_params(restart=False, first_passes=0)
    method = run(part_blocks(p), solver, 25, p.lam)
    expected = textbook(p, 25, 0.3 * 1.5, 0.3 / 1.5, lam, **ball)
    for value, other in zip(method.means, expected):
        np.testing.assert_allclose(value, other, rtol=1e-10, atol=1e-12)
    assert len(method.means) == 3 + stored


def matching_gap(w, mean_z, radius):
    """Gap in sums over samples."""
    features, outputs = planted()
    primal, psi, dual = 0.0, np.zeros(3), 0.0
    for f, y, z in zip(features, outputs, mean_z):
        c, c0 = 1.0 - 4.0 * y.ravel(), 3.0 * y.sum()
        scores = np.maximum(w @ f + c, 0.0).reshape(4, 4)
        primal += scores[linear_sum_assignment(-scores)].sum() - w @ f @ y.ravel() + c0
        psi += f @ (y.ravel() - z)
        dual += c @ z + c0
    return primal - dual + radius * np.linalg.norm(psi)


def textbook_matching(n_iter, eta, radius):
    """Gaps of the averages of the Euclidean method in sums over samples, with everything stored."""
    features, outputs = planted()
    true = sum(f @ y.ravel() for f, y in zip(features, outputs))
    costs = [1.0 - 4.0 * y.ravel() for y in outputs]

    def matching(p):
        return project_matching(p.reshape(4, 4)).ravel()

    def slope(zs):
        return true - sum(f @ z for f, z in zip(features, zs))

    s_w, s_z = np.zeros(3), [np.zeros(16)] * 15
    sum_w, sum_z, gaps = np.zeros(3), np.zeros((15, 16)), []
    for t in range(1, n_iter + 1):
        v_w, v_z = project_l2_ball(eta * s_w, radius), [matching(eta * s) for s in s_z]
        u_w = project_l2_ball(v_w + eta * slope(v_z), radius)
        u_z = [matching(z + eta * (v_w @ f + c)) for z, f, c in zip(v_z, features, costs)]
        s_w = s_w + slope(u_z)
        s_z = [s + u_w @ f + c for s, f, c in zip(s_z, features, costs)]
        sum_w, sum_z = sum_w + u_w, sum_z + u_z
        gaps.append(matching_gap(sum_w / t, sum_z / t, radius))
    return np.array(gaps)


@pytest.mark.slow
@budget_may_end
def test_planted_matching():
    """The textbook form in sums over samples; bounds and, roughly, gaps known from other code.

    That code gave gaps of 99.5, 29.7, 3.75 against bounds of 537, 53.7, 5.37 for some such data.
    """
    model, X, y = matchings(task_loss=LinkLoss(normalize=False))
    lipschitz = 1.02 * np.linalg.norm(np.hstack(planted()[0]), 2)
    # Means over n samples: n times the step of w, the step of z as it is.
    solver = Extragradient(
        radius=2.0, step_size=np.sqrt(15) / lipschitz, balance=np.sqrt(15), gap_check=1
    )
    svm = StructuredSVM(model, solver=solver, tol=0.0, max_iter=100).fit(X, y)
    gaps, bounds = 15 * svm.history_["restricted_gap"], 15 * svm.history_["bound"]
    np.testing.assert_allclose(gaps, textbook_matching(100, 1 / lipschitz, 2.0), rtol=1e-7)
    np.testing.assert_allclose(bounds, 32 * lipschitz / np.arange(1, 101), rtol=1e-12)
    np.testing.assert_allclose(bounds[[0, 9, 99]], [537, 53.7, 5.37], rtol=1e-3)
    np.testing.assert_allclose(gaps[[0, 9, 99]], [99.5, 29.7, 3.75], rtol=0.2)


@pytest.mark.slow
@budget_may_end
@pytest.mark.parametrize(
    "setting", [{}, {"radius": 0.5}, {"radius": 0.7, "norm": "l1"}], ids=["ridge", "l2", "l1"]
)
def test_models_without_part_scores(setting):
    """The same run where entropy and center are the same."""
    p = problem("multiclass")
    solver = Extragradient(
        z_geometry="entropy", step_size=0.2, gap_check=1, first_passes=0, **setting
    )
    one = fit(p, solver, tol=0.0, max_iter=30)
    model, X, y = candidates()
    two = StructuredSVM(model, solver=solver, C="auto" if setting else C, tol=0.0, max_iter=30)
    two.fit(X, y)
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-10, atol=1e-12)
    for key in one.history_.keys() - {"time"}:
        np.testing.assert_allclose(one.history_[key], two.history_[key], rtol=1e-9, atol=1e-11)
