"""Random small problems: the gap of incremental gradients is never below the true error."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning

from _problems import enumerate_problem, part_blocks
from _references import solve_structured_svm
from sklearn_fw.structured import (
    Casimir,
    ChainModel,
    MulticlassModel,
    MultilabelModel,
    StructuredSVM,
)
from sklearn_fw.structured._surrogates import resolve_surrogate

N_PROBLEMS = 1000
KINDS = (*["chain"] * 5, *["multiclass"] * 3, "labels, a triangle")  # the last is not compiled
SURROGATES = ("hinge", "hinge", "hinge", "crf", "softmax_margin")
ROUNDING = 1e-10
SHARP = 1e-5  # what the reference may lack, of the objective, in nearly all problems


def one(rng, *values):
    return values[rng.integers(len(values))]


def draw_problem(rng):
    """A few samples with all their outputs listed, and C."""
    kind, form = one(rng, *KINDS), one(rng, np.asarray, np.asarray, sp.csr_array)
    n, n_states, n_features = rng.integers(2, 6), rng.integers(2, 4), rng.integers(1, 4)
    scale, weight = 10 ** rng.uniform(-1, 1), rng.uniform(0.2, 2.0, n)
    if kind == "chain":
        lengths = rng.integers(1, 5 if n_states == 2 else 4, size=n)
        lengths[0] = n_states
        X = [form(scale * rng.normal(size=(t, n_features)) * rng.integers(2, size=(t, 1)))
             for t in lengths]  # fmt: skip
        y = [rng.integers(n_states, size=t) for t in lengths]
        y[0] = np.arange(n_states)
        model, decode = ChainModel(one(rng, "hamming", "hamming_sum")), np.asarray
    elif kind == "multiclass":
        lengths, n = [1] * (n + 2), n + 2
        weight = rng.uniform(0.2, 2.0, n)
        X, y = form(scale * rng.normal(size=(n, n_features))), np.arange(n) % n_states
        model, decode = MulticlassModel(), lambda states: states[0]
    else:
        lengths, n_states = [3] * n, 2
        X, y = scale * rng.normal(size=(n, n_features)), rng.integers(2, size=(n, 3))
        y[0], y[1] = 0, 1
        model, decode = MultilabelModel("full"), np.asarray
    if rng.random() < 0.5:
        weight = None
    return enumerate_problem(model, X, y, lengths, n_states, decode, weight)


def draw_solver(rng, kind):
    common = {
        "smoother": one(rng, "l2", "l2", "entropy", "entropy", None),
        "mu": one(rng, "auto", 10 ** rng.uniform(-2, 1.5)),
        "n_best": one(rng, "adaptive", int(rng.integers(1, 7))),
        "lipschitz": one(rng, "auto", "auto", 10 ** rng.uniform(-2, 2)),
        "inner_budget": one(rng, None, int(rng.integers(1, 20))),
    }
    if kind == "hinge" and rng.random() < 0.2:
        common["lower_bounds"] = 0.0
    if rng.random() < 0.25:
        return Casimir("const", kappa=0.0, inner_start="previous", **common)
    return Casimir(
        one(rng, "adapt", "const"), kappa=one(rng, "auto", "auto", 0.0, 0.01, 1.0),
        inner_start=one(rng, "prox_center", "extrapolation", "previous"), **common,
    )  # fmt: skip


def objective(p, lam, surrogate, w):
    """P(w) and its gradient, by enumeration."""
    values = [surrogate.loss_weight * l - psi @ w for psi, l in zip(p.psi, p.losses)]
    if not surrogate.smooth:
        return 0.5 * lam * (w @ w) + p.weight @ [v.max() for v in values], None
    slope = sum(a * softmax(v) @ psi for a, v, psi in zip(p.weight, values, p.psi))
    return 0.5 * lam * (w @ w) + p.weight @ [logsumexp(v) for v in values], lam * w - slope


def lowest(p, lam, surrogate, lower):
    """The lowest objective found, and how much lower it could be."""
    if surrogate.smooth:
        found = minimize(
            lambda w: objective(p, lam, surrogate, w), np.zeros(p.size), jac=True,
            method="L-BFGS-B", options={"maxiter": 500, "ftol": 1e-15, "gtol": 1e-9},
        )  # fmt: skip
        return found.fun, 0.5 / lam * float(found.jac @ found.jac)
    return solve_structured_svm(p.psi, p.losses, p.weight, lam, lower)[1], 0.0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:features in X have a norm")
def test_gaps_of_random_problems():
    rng, sharp = np.random.default_rng(0), 0
    for k in range(N_PROBLEMS):
        p, surrogate = draw_problem(rng), resolve_surrogate(one(rng, *SURROGATES))
        solver, lam = draw_solver(rng, surrogate.name), p.lam * 10 ** rng.uniform(-2, 2)
        blocks = part_blocks(p)
        blocks.surrogate = surrogate
        best, lacks = lowest(p, lam, surrogate, getattr(solver, "lower_bounds", None))
        sharp += lacks <= SHARP * best
        method = solver.start(blocks, lam=lam, tol=0.0, rng=np.random.RandomState(k))
        bound, seen = -np.inf, np.inf
        for _ in range(rng.integers(1, 9)):
            row, w = method.step(), method.weights()
            here = objective(p, lam, surrogate, w)[0]
            small = ROUNDING * max(1.0, here)
            about = k, p.model, surrogate.name, solver, row
            assert row["objective"] == pytest.approx(here, rel=1e-9, abs=1e-12), about
            assert row["dual_gap"] >= here - best - small, about
            assert row["dual_objective"] <= best + small, about
            assert row["dual_gap"] == pytest.approx(here - row["dual_objective"], abs=small)
            assert row["dual_objective"] >= bound - small, about  # neither ever gets worse
            assert here <= seen + small, about
            bound, seen = row["dual_objective"], here
    assert sharp > 0.95 * N_PROBLEMS


def test_outputs_that_are_cut_off_are_named(rng):
    X = [rng.normal(size=(6, 2)) for _ in range(20)]
    y = [rng.integers(4, size=6) for _ in X]
    svm = StructuredSVM(
        "chain", solver=Casimir("const", n_best=2, mu=30.0), C=1.0, tol=1e-6, max_iter=2
    )
    helps = r"n_best='adaptive' or a smaller mu of Casimir \(the best 2 outputs are too few"
    with pytest.warns(ConvergenceWarning, match=helps):
        svm.fit(X, y)
    assert svm.history_["saturated"][-1] > 0.5
