"""Random small structured problems with every output listed, and what their certificates claim."""

import itertools
from dataclasses import replace

import numpy as np
from scipy.optimize import linprog, minimize

from _problems import enumerate_problem, listed_problem
from _references import solve_structured_svm
from sklearn_fw import StructuredSVM, regularization_path
from sklearn_fw.inference import MILP, BestOf, LPRelaxation
from sklearn_fw.structured import (
    BlockFrankWolfe,
    ChainModel,
    EnumeratedModel,
    Extragradient,
    FrankWolfe,
    MatchingModel,
    MulticlassModel,
    MultilabelModel,
    SaddlePointFrankWolfe,
    StructuredSVMCV,
)

SHARE = 1e-9  # of the value, which a gap may be below the error


# ---- problems ------------------------------------------------------------------------------------


def multiclass(rng, scale):
    n, k = int(rng.integers(4, 10)), int(rng.integers(2, 4))
    classes = np.arange(k)
    y = np.concatenate([classes, rng.integers(k, size=n - k)])
    X = scale * (rng.normal(size=(n, 2)) + y[:, None])
    loss = rng.uniform(0.1, 2.0, (k, k)) * (1 - np.eye(k)) if rng.random() < 0.3 else "auto"
    model = MulticlassModel(fit_intercept=bool(rng.random() < 0.5))
    if not isinstance(loss, str):
        model = MulticlassModel(task_loss=loss)
    return enumerate_problem(model, X, y, [1] * n, k, lambda s: classes[s[0]], weights(rng, n))


def multilabel(rng, scale):
    n = int(rng.integers(3, 7))
    X = scale * rng.normal(size=(n, 2))
    y = (rng.random((n, 3)) < 0.5).astype(int)
    edges = ["tree", "full", "none"][rng.integers(3)]
    loss = ["hamming", "hamming_sum"][rng.integers(2)]
    model = MultilabelModel(edges, task_loss=loss)
    return enumerate_problem(model, X, y, [3] * n, 2, np.asarray, weights(rng, n))


def chain(rng, scale, loss=None):
    lengths = rng.integers(1, 4, size=int(rng.integers(3, 6))).tolist()
    k = int(rng.integers(2, 4))
    lengths[0] = 3
    y = [rng.integers(k, size=t) for t in lengths]
    y[0][:] = np.arange(3) % k
    X = [scale * (rng.normal(size=(len(t), 2)) + t[:, None]) for t in y]
    loss = ["hamming", "hamming_sum"][rng.integers(2)] if loss is None else loss
    model = ChainModel(task_loss=loss, start_end=bool(rng.random() < 0.5))
    return enumerate_problem(model, X, y, lengths, k, np.asarray, weights(rng, len(y)))


def zero_one_chain(rng, scale):
    return chain(rng, scale, "zero_one")


def matching(rng, scale):
    n, shape = int(rng.integers(2, 5)), (2, int(rng.integers(2, 4)))
    outputs = []
    for columns in itertools.product([None, *range(shape[1])], repeat=2):
        used = [c for c in columns if c is not None]
        if len(set(used)) == len(used):
            z = np.zeros(shape, int)
            for row, column in enumerate(columns):
                if column is not None:
                    z[row, column] = 1
            outputs.append(z)
    X = [scale * rng.normal(size=(*shape, 2)) for _ in range(n)]
    y = [outputs[rng.integers(len(outputs))] for _ in range(n)]
    return listed_problem(MatchingModel(), X, y, [outputs] * n, sample_weight=weights(rng, n))


def candidates(rng, scale):
    n = int(rng.integers(3, 7))
    X = [scale * rng.normal(size=(int(rng.integers(2, 5)), 3)) for _ in range(n)]
    y = [int(rng.integers(len(x))) for x in X]
    outputs = [list(range(len(x))) for x in X]
    return listed_problem(EnumeratedModel(), X, y, outputs, sample_weight=weights(rng, n))


def weights(rng, n):
    return rng.uniform(0.2, 3.0, n) if rng.random() < 0.3 else None


SUMS = [multiclass, multilabel, chain, matching]
MODELS = [*SUMS, zero_one_chain, candidates]


# ---- references ----------------------------------------------------------------------------------


def ridge_optimum(p, lam, lower=None, upper=None):
    """The lowest objective that sequential quadratic programming finds with cutting planes."""
    # In the unit of the data, so that tolerances mean what they say.
    scale = max(max(np.abs(psi).max() for psi in p.psi), 1e-300)
    psi = [part / scale for part in p.psi]
    box = [None if side is None else side * scale for side in (lower, upper)]
    try:
        w, _ = solve_structured_svm(psi, p.losses, p.weight, lam / scale**2, *box)
    except AssertionError:
        return np.inf
    return p.objective(w / scale, lam)


def ball_optimum(p, radius, norm):
    """The least mean hinge in a ball, by a linear program or sequential quadratic programming."""
    d, n = p.psi[0].shape[1], len(p.psi)
    rows = [(i, psi, l) for i in range(n) for psi, l in zip(p.psi[i], p.losses[i])]
    A = np.array([radius * psi for _, psi, _ in rows])
    E = np.array([np.eye(n)[i] for i, _, _ in rows])
    b = np.array([l for *_, l in rows])
    if norm == "l1":
        ball = np.concatenate([np.ones(2 * d), np.zeros(n)])
        found = linprog(
            np.concatenate([np.zeros(2 * d), p.weight]),
            A_ub=np.vstack([np.hstack([-A, A, -E]), ball]), b_ub=np.append(-b, 1.0),
            bounds=[(0, None)] * (2 * d + n),
        )  # fmt: skip
        w = found.x[:d] - found.x[d : 2 * d]
        return p.objective(radius * w / max(np.abs(w).sum(), 1.0), 0.0)
    start = np.concatenate([np.zeros(d), [l.max() for l in p.losses]])
    found = minimize(
        lambda z: p.weight @ z[d:], start, method="SLSQP",
        jac=lambda z: np.concatenate([np.zeros(d), p.weight]),
        constraints=[
            {"type": "ineq", "fun": lambda z: A @ z[:d] + E @ z[d:] - b,
             "jac": lambda z: np.hstack([A, E])},
            {"type": "ineq", "fun": lambda z: 1.0 - z[:d] @ z[:d],
             "jac": lambda z: np.concatenate([-2.0 * z[:d], np.zeros(n)])},
        ],
        options={"ftol": 1e-14, "maxiter": 300},
    )  # fmt: skip
    w = found.x[:d]
    return p.objective(radius * w / max(np.linalg.norm(w), 1.0), 0.0)


# ---- what is claimed -----------------------------------------------------------------------------


def claims(p, what, value, optimum, gap, dual=None):
    """The value is at most ``gap`` above the optimum, which a dual value is not above."""
    assert np.isfinite(value), what
    slack = SHARE * max(abs(value), abs(optimum)) + rounding(p)
    assert gap >= value - optimum - slack, (what, value, optimum, gap)
    assert gap >= -slack, (what, gap)
    if dual is not None:
        assert dual <= optimum + slack, (what, dual, optimum)


def rounding(p):
    """What sums of losses may lose where they cancel."""
    return 1e-14 * max(np.abs(l).max() for l in p.losses)


def random_solver(rng, model):
    """A solver that can take a model, in one of many configurations."""
    solvers = [
        lambda: BlockFrankWolfe(
            "fw", averaging=[True, False, "auto"][rng.integers(3)],
            sampling=["gap", "uniform", "shuffle", "max_gap"][rng.integers(4)],
            step_size=["line_search", "universal"][int(rng.random() < 0.3)],
            batch_step=bool(rng.random() < 0.3),
            cache=bool(rng.random() < 0.3), gap_check=int(rng.integers(1, 6)),
        ),
        lambda: BlockFrankWolfe(
            ["pairwise", "away", "hybrid"][rng.integers(3)], averaging=bool(rng.random() < 0.3),
            sampling=["gap", "uniform", "shuffle", "max_gap"][rng.integers(4)],
            cache=bool(rng.random() < 0.5), cache_size=int(rng.integers(2, 6)),
            batch_step=bool(rng.random() < 0.3), gap_check=int(rng.integers(1, 6)),
        ),
        lambda: FrankWolfe(step_size=["line_search", "universal"][int(rng.random() < 0.3)]),
        lambda: "auto",
    ]  # fmt: skip
    if model is multiclass:
        solvers.append(
            lambda: BlockFrankWolfe("exact", sampling=["active", "shuffle", "gap"][rng.integers(3)])
        )
    if model in SUMS:
        solvers.append(
            lambda: Extragradient(
                cut=float(rng.choice([0.0, 0.01])), restart=bool(rng.random() < 0.7),
                step_size=["backtrack", "auto"][rng.integers(2)],
                gap_check=int(rng.integers(1, 11)),
            )
        )  # fmt: skip
    return solvers[rng.integers(len(solvers))]()


def fitted(p, model, solver, rng, **params):
    """An estimator after a few passes."""
    params = {
        "tol": float(rng.choice([0.5, 0.1, 1e-3, 1e-9])), "max_iter": int(rng.integers(1, 60)),
        "random_state": int(rng.integers(1000)), **params,
    }  # fmt: skip
    estimator = StructuredSVM(p.model, solver=solver, **params)
    return estimator.fit(p.X, p.y, p.sample_weight)


def random_problem(rng, models=MODELS):
    model = models[rng.integers(len(models))]
    return model, model(rng, 10.0 ** rng.uniform(-3, 3) if rng.random() < 0.5 else 1.0)


def natural(p):
    """The C at which loss and features are of the same size."""
    square = np.mean([np.max(np.sum(psi**2, axis=1)) for psi in p.psi])
    return np.mean([l.max() for l in p.losses]) / max(square, 1e-300) / p.sample_weight.sum()


def ridge(rng):
    """All solvers with a ridge penalty, all models, with and without a box."""
    model, p = random_problem(rng)
    solver = random_solver(rng, model)
    C = natural(p) * 10.0 ** rng.uniform(-2, 3)
    lower = upper = None
    if not isinstance(solver, str) and rng.random() < 0.25:
        lower = 0.0 if rng.random() < 0.5 else None
        if rng.random() < 0.7:
            size = max(max(np.abs(psi).max() for psi in p.psi), 1e-300)
            upper = float(rng.uniform(0.01, 1.0) / size)
        solver.set_params(lower_bounds=lower, upper_bounds=upper)
    svm = fitted(p, model, solver, rng, C=C)
    value = p.objective(svm.coef_, svm.lam_)
    what = svm, model.__name__, svm.status_
    assert abs(svm.objective_ - value) <= SHARE * abs(value) + rounding(p), what
    if lower is not None:
        assert svm.coef_.min() >= lower
    if upper is not None:
        assert svm.coef_.max() <= upper
    optimum = min(value, ridge_optimum(p, svm.lam_, lower, upper))
    claims(p, what, value, optimum, svm.dual_gap_, svm.dual_objective_)
    if svm.converged_:
        assert svm.dual_gap_ <= min(svm.tol, 0.1) * abs(svm.objective_) * (1 + 1e-12)


def balls(rng):
    """Solvers that bound the norm of the weights."""
    norm = ["l1", "l2"][rng.integers(2)]
    extragradient = rng.random() < 0.4
    model, p = random_problem(rng, SUMS if extragradient else MODELS)
    size = np.sqrt(natural(p) * p.sample_weight.sum())
    radius = float(10.0 ** rng.uniform(-2, 2) * size)
    if extragradient:
        solver = Extragradient(
            radius=radius, norm=norm, cut=float(rng.choice([0.0, 0.01])),
            z_geometry=["auto", "euclidean"][rng.integers(2)],
            memory_efficient=bool(rng.random() < 0.5), gap_check=int(rng.integers(1, 11)),
        )  # fmt: skip
    else:
        solver = SaddlePointFrankWolfe(
            radius=radius, norm=norm, block=bool(rng.random() < 0.5),
            gap_check=int(rng.integers(1, 6)),
        )  # fmt: skip
    svm = fitted(p, model, solver, rng)
    length = np.abs(svm.coef_).sum() if norm == "l1" else np.linalg.norm(svm.coef_)
    what = svm, model.__name__, svm.status_
    assert length <= radius * (1 + 1e-9), what
    value = p.objective(svm.coef_, 0.0)
    assert abs(svm.objective_ - value) <= SHARE * abs(value) + rounding(p), what
    optimum = min(value, ball_optimum(p, radius, norm))
    claims(p, what, value, optimum, svm.dual_gap_, svm.dual_objective_)


def inexact_oracles(rng):
    """Bounds of oracles that do not always find the best labeling are part of the certificate."""
    p = multilabel(rng, 1.0)
    oracle = [
        LPRelaxation(), BestOf(["icm", "lp"]), BestOf(["trws"]), MILP(mip_rel_gap=0.5), MILP(),
    ][rng.integers(5)]  # fmt: skip
    C = natural(p) * 10.0 ** rng.uniform(-1, 2)
    solver = BlockFrankWolfe(["fw", "pairwise"][rng.integers(2)], gap_check=3)
    svm = fitted(p, multilabel, solver, rng, C=C, oracle=oracle, max_iter=3)
    value = p.objective(svm.coef_, svm.lam_)
    assert svm.objective_ >= value * (1 - 1e-9)
    optimum = min(value, ridge_optimum(p, svm.lam_))
    claims(p, svm, value, optimum, svm.dual_gap_, svm.dual_objective_)


def path(rng):
    """Random values of C on a random regularization path."""
    _, p = random_problem(rng, [multiclass, multilabel, chain, candidates])
    solvers = [
        lambda: BlockFrankWolfe(
            ["fw", "pairwise", "away", "hybrid"][rng.integers(4)],
            averaging=bool(rng.random() < 0.5), cache=bool(rng.random() < 0.5),
            cache_size=int(rng.integers(2, 6)),
            sampling=["gap", "uniform", "shuffle", "max_gap"][rng.integers(4)],
            batch_step=bool(rng.random() < 0.3), gap_check=int(rng.integers(1, 6)),
        ),
        lambda: BlockFrankWolfe(averaging="auto", sampling="shuffle"),
        lambda: "auto",
    ]  # fmt: skip
    solver = solvers[rng.integers(3)]()
    estimator = StructuredSVM(
        p.model, solver=solver, random_state=int(rng.integers(1000)), max_iter=300
    )
    size = np.mean([l.max() for l in p.losses])
    C = natural(p) * 10.0 ** rng.uniform(0, 2)
    made = regularization_path(
        estimator, p.X, p.y, sample_weight=p.sample_weight,
        eps=float(rng.uniform(0.05, 0.4) * size),
        C_min=C * 10.0 ** rng.uniform(-2, -0.5) if rng.random() < 0.5 else None, C_max=C,
    )  # fmt: skip
    total = p.sample_weight.sum()
    low = made.start_ if made.start_ > 0 else made.values_[0] / 10
    for C in np.exp(rng.uniform(np.log(low), np.log(min(made.end_, 10 * made.values_[-1])), 2)):
        C = float(np.clip(C, low, made.end_))
        lam = 1.0 / (C * total)
        value = p.objective(made.coef_at(C), lam)
        optimum = min(value, ridge_optimum(p, lam))
        gap = made.gap_at(C)
        assert gap <= made.eps * (1 + 1e-9)
        claims(p, (solver, C), value, optimum, gap)
        assert made.estimator_at(C).dual_gap_ >= value - optimum - SHARE * value


def choice_by_path(rng):
    """The estimator that `StructuredSVMCV` refits."""
    p = multiclass(rng, 1.0)
    n = 2 * len(p.y)  # both folds hold all classes
    solver = BlockFrankWolfe(averaging=[True, False, "auto"][rng.integers(3)])
    estimator = StructuredSVM(p.model, solver=solver, random_state=0, max_iter=300)
    svm = StructuredSVMCV(estimator, cv=2, eps=0.2, C_max=natural(p) * 10, n_values=5)
    svm = svm.fit(np.concatenate([p.X, p.X]), np.concatenate([p.y, p.y])).best_estimator_
    p = replace(p, psi=2 * p.psi, losses=2 * p.losses, weight=np.full(n, 1 / n))
    value = p.objective(svm.coef_, svm.lam_)
    claims(p, svm, value, min(value, ridge_optimum(p, svm.lam_)), svm.dual_gap_)
