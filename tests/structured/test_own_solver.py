"""A solver of the user, written here in plain Python: it works with every model and oracle."""

import inspect
import re

import numpy as np
import pytest
from sklearn.base import clone

from _problems import PROBLEMS, budget_may_end, fit, optimum, part_blocks, problem
from _registry import candidates
from sklearn_fw import StructuredSVM
from sklearn_fw.inference import Enumeration, TreeMaxProduct, Viterbi
from sklearn_fw.structured import EnumeratedModel, Solver, Subgradient
from sklearn_fw.structured._problems._listed import BlackBoxProblem
from sklearn_fw.structured._solvers import SOLVERS, resolve_solver

OF_HINGE = [name for name in SOLVERS if "hinge" in resolve_solver(name).trains]


class Steps(Solver):
    """Frank-Wolfe steps with exact line search, one sample after the other."""

    def __init__(self, smoothing=0.0, spoil=None):
        self.smoothing = smoothing
        self.spoil = spoil

    def start(self, blocks, *, lam, tol, rng, warm=None):
        blocks.reset(lam)
        if warm is not None:
            blocks.restore(warm)
        return Run(self, blocks, rng)


class Run:
    def __init__(self, settings, blocks, rng):
        self.settings, self.blocks, self.rng = settings, blocks, rng

    def step(self):
        for i in self.rng.permutation(self.blocks.n_blocks):
            self.visit(i, self.blocks.answer(i, self.blocks.w))
        return self.certify()

    def visit(self, i, answer):
        blocks, p = self.blocks, self.blocks.weight[i]
        slope = p * (answer.value - blocks.values(i)[0])
        if slope > 0.0:
            direction = blocks.direction(i, answer)
            curvature = p * p / blocks.lam * direction.square
            blocks.move(i, direction, 1.0 if slope >= curvature else slope / curvature)

    def certify(self):
        point = self.blocks.certify()
        row = {"objective": point.primal, "dual_objective": point.dual, "dual_gap": point.gap}
        return self.settings.spoil(row) if self.settings.spoil else row

    def weights(self):
        return self.blocks.w


class PlainSubgradient(Solver):
    """Subgradient steps of length 1 / (lam k), without averaging."""

    certified = False

    def start(self, blocks, *, lam, tol, rng, warm=None):
        blocks.reset(lam)
        return PrimalRun(blocks, lam, rng)


class PrimalRun:
    def __init__(self, blocks, lam, rng):
        self.blocks, self.lam, self.rng = blocks, lam, rng
        self.w, self.k = np.zeros(blocks.n_weights), 0

    def step(self):
        for i in self.rng.permutation(self.blocks.n_blocks):
            self.k += 1
            answer = self.blocks.answer(i, self.w)
            self.w *= 1.0 - 1.0 / self.k
            factor = self.blocks.weight[i] * self.blocks.n_blocks / (self.lam * self.k)
            self.blocks.add_to(i, answer, factor, self.w)

    def certify(self):
        hinge, _ = self.blocks.ask(self.w)
        return {"objective": 0.5 * self.lam * (self.w @ self.w) + hinge}

    def weights(self):
        return self.w


@pytest.mark.parametrize("name", ["chain", "black box"])
def test_what_the_base_class_says_is_there(name):
    """Every name in the list of the notes, of both kinds of blocks."""
    X, y = candidates()
    box = BlackBoxProblem(EnumeratedModel().initialize(X, y), X, y, np.full(len(X), 1 / len(X)))
    blocks = box if name == "black box" else part_blocks(problem(name))
    blocks.reset(0.1, capacity=2)
    bullets = re.findall(r"^- (.*?)(?=^- |^[A-Z])", inspect.getdoc(Solver), re.M | re.S)
    heads = [re.findall(r"``(\w+)(?:\(|``)", bullet.partition(":")[0]) for bullet in bullets]
    names = {name for head in heads for name in head}
    assert {"answer", "vertices", "direction", "move", "restore", "w"} <= names
    assert not [name for name in names if not hasattr(blocks, name)]
    answer = blocks.answer(0, blocks.w)
    for end in ("value", "slack", "loss"):
        assert np.isfinite(getattr(answer, end))
    vertices = blocks.vertices(0)
    vertices.put(1, answer)
    assert (vertices.size, vertices.find(answer), len(vertices.alpha), len(vertices.loss)) == (
        2,
        1,
        2,
        2,
    )
    assert blocks.direction(0, 1).square == pytest.approx(blocks.direction(0, answer).square)
    vertices.remove(1)
    blocks.grow()
    assert len(blocks.vertices(0).alpha) == 3


# ---- what they find ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_own_steps_reach_the_optimum(name):
    p = problem(name)
    svm = fit(p, Steps(), tol=1e-3, max_iter=5000)
    value = optimum(name)[1]
    assert svm.converged_
    assert svm.dual_objective_ <= value <= svm.objective_ <= value + 1e-3
    np.testing.assert_allclose(p.objective(svm.coef_), svm.objective_, rtol=1e-12)
    n_passes, n = svm.n_iter_, len(p.X)
    assert svm.n_oracle_calls_ == 2 * n * n_passes  # a visit and a certificate for every sample
    assert svm.history_["n_oracle_calls"].tolist() == list(
        range(2 * n, 2 * n * n_passes + 1, 2 * n)
    )


@pytest.mark.slow
@budget_may_end
@pytest.mark.parametrize("name", PROBLEMS)
def test_own_subgradient_is_the_built_in_one(name):
    p = problem(name)
    own = fit(p, PlainSubgradient(), max_iter=4)
    known = fit(p, Subgradient(averaging=False), max_iter=4)
    np.testing.assert_allclose(own.coef_, known.coef_, rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(own.objective_, known.objective_, rtol=1e-12)
    assert own.dual_gap_ is None
    assert own.status_ == "finished"
    assert set(own.history_) == {"n_iter", "time", "n_oracle_calls", "objective"}


@pytest.mark.slow
@budget_may_end
@pytest.mark.parametrize("solver", [Steps(), PlainSubgradient(), *OF_HINGE], ids=str)
def test_every_solver_takes_every_oracle_and_model(solver):
    p = problem("chain")
    # Smoothed maxima need more outputs than a function finds.
    other = TreeMaxProduct() if solver in ("casimir", "svrg") else Viterbi().argmax
    runs = [fit(p, solver, oracle=o, max_iter=2, tol=0.0) for o in ("auto", other)]
    # Exact visits end at a thousandth of a gap, where rounding decides on one more step.
    close = {"rtol": 0, "atol": 1e-3} if solver == "sdm" else {"rtol": 1e-7, "atol": 1e-9}
    if solver != "one_slack":  # whose cache is for oracles that are called from Python
        np.testing.assert_allclose(runs[1].coef_, runs[0].coef_, **close)
    if solver != "extragradient":  # which needs more of a model than four methods
        X, y = candidates()
        svm = StructuredSVM(EnumeratedModel(), solver=solver, max_iter=3, tol=0.0)
        assert np.all(np.isfinite(svm.fit(X, y).coef_))


def test_own_solver_starts_warm():
    p = problem("labels, tree")
    first = fit(p, Steps(), tol=1e-2, warm_start=True)
    again = clone(first).set_params(warm_start=True)
    again._warm, again._units = first._warm, first._units
    assert again.fit(p.X, p.y, p.sample_weight).n_iter_ == 1
    assert first.n_iter_ > 1


# ---- smoothed answers ----------------------------------------------------------------------------


@pytest.mark.parametrize("temperature", [0.1, 1.0])
@pytest.mark.parametrize("name", [name for name in PROBLEMS if "zero-one" not in name])
def test_smoothed_answers(name, temperature, rng):
    """Against the listed outputs: value, loss, and features along a direction and by `add_to`."""
    p = problem(name)
    blocks = part_blocks(p)
    blocks.reset(p.lam)
    w = rng.normal(size=p.size)
    for i, (psi, losses) in enumerate(zip(p.psi, p.losses)):
        answer = blocks.smoothed_answer(i, w, temperature)
        values = (losses - psi @ w) / temperature
        high = values.max()
        total = np.exp(values - high).sum()
        alpha = np.exp(values - high) / total
        np.testing.assert_allclose(answer.value, temperature * (high + np.log(total)), rtol=1e-9)
        np.testing.assert_allclose(answer.loss, alpha @ losses, rtol=1e-9, atol=1e-12)
        mean = np.zeros(p.size)
        blocks.add_to(i, answer, 2.0, mean)
        np.testing.assert_allclose(mean, 2.0 * alpha @ psi, rtol=1e-9, atol=1e-11)
        direction = blocks.direction(i, answer)
        np.testing.assert_allclose(direction.square, np.sum((alpha @ psi) ** 2), rtol=1e-9)
        blocks.move(i, direction, 1.0)
    assert blocks.counts[0] == len(p.X)
    mean_loss, v = blocks.loss.sum(), blocks.v.copy()
    blocks.refresh()
    np.testing.assert_allclose(blocks.v, v, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(blocks.loss.sum(), mean_loss, rtol=1e-9)


def test_smoothed_answers_need_marginals():
    blocks = part_blocks(problem("chain"), Enumeration())
    blocks.oracle = type("Bare", (), {"argmax": None})()
    with pytest.raises(TypeError, match="an oracle with the method marginals, which Bare lacks"):
        blocks.smoothed_answer(0, np.zeros(blocks.n_weights), 1.0)
    blocks = part_blocks(problem("chain, zero-one"))
    with pytest.raises(ValueError, match="a task_loss that is a sum over nodes"):
        blocks.smoothed_answer(0, np.zeros(blocks.n_weights), 1.0)
    from sklearn_fw.structured._problems._listed import BlackBoxProblem

    X, y = candidates()
    blocks = BlackBoxProblem(EnumeratedModel().initialize(X, y), X, y, np.full(len(X), 1 / len(X)))
    with pytest.raises(TypeError, match="a model without part scores needs surrogate='hinge'"):
        blocks.smoothed_answer(0, np.zeros(blocks.n_weights), 1.0)
    with pytest.raises(TypeError, match="a model without part scores needs surrogate='hinge'"):
        StructuredSVM("enumerated", surrogate="crf", C=1.0).fit(X, y)


# ---- the border ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "spoil, message",
    [
        (lambda row: None, "must return a dict of numbers .*, got None"),
        (lambda row: [row], "must return a dict of numbers with the key 'objective'"),
        (lambda row: {"dual_gap": 1.0}, "must return a dict of numbers with the key"),
        (lambda row: row | {"dual_gap": "small"}, "'dual_gap' of the row that step of the solver"),
        (lambda row: row | {"dual_gap": None}, "set certified = False in the solver's class"),
    ],
)
def test_rows_are_checked(spoil, message):
    with pytest.raises((TypeError, ValueError), match=message):
        fit(problem("chain"), Steps(spoil=spoil), max_iter=1)


@pytest.mark.parametrize("w", [np.zeros(3), "x", None, [np.nan] * 17])
def test_weights_are_checked(w):
    class Wrong(Steps):
        def start(self, blocks, **options):
            run = super().start(blocks, **options)
            run.weights = lambda: w
            return run

    with pytest.raises((TypeError, ValueError), match=r"weights\(\) of the solver Wrong"):
        fit(problem("chain"), Wrong(), max_iter=1, tol=1.0)
