"""Structured SVMs with weights of bounded l1 norm: parts of the benchmark of saddle points."""

import numpy as np
import scipy.sparse as sp
from _report import Repeats, in_child, shown
from _saddle_solvers import CUT, counts, digits, fit, words
from scipy.optimize import linprog
from sklearn.model_selection import KFold

from sklearn_fw.projections import project_l1_ball
from sklearn_fw.structured import ChainModel, Extragradient, MulticlassModel, SaddlePointFrankWolfe


def stochastic_subgradient(difference, n, w, radius, c, n_passes, every):
    """Projected stochastic subgradient method; the smallest primal value of every ``every`` passes.

    ``difference(i, w)`` gives the features of the truth of sample i less those of the worst answer,
    and the loss of that. The step of visit k is ``c / (G sqrt(1 + k / n))`` for the mean norm G of
    the differences at the start w.
    """

    def value(w):
        return np.mean([loss - w @ psi for psi, loss in (difference(i, w) for i in range(n))])

    rng, best, values = np.random.RandomState(0), value(w), []
    scale = c / (n * np.mean([np.linalg.norm(difference(i, w)[0]) for i in range(n)]))
    for t in range(n_passes):
        for k, i in enumerate(rng.randint(n, size=n), start=t * n):
            w = project_l1_ball(w + scale / np.sqrt(1.0 + k / n) * difference(i, w)[0], radius)
        if (t + 1) % every == 0:
            best = min(best, value(w))
            values.append(best)
    return values


def class_differences(X, y):
    def difference(i, w):
        margins = w.reshape(10, -1) @ X[i] + (np.arange(10) != y[i])
        answer, psi = margins.argmax(), np.zeros((10, X.shape[1]))
        psi[y[i]] += X[i]
        psi[answer] -= X[i]
        return psi.ravel(), float(answer != y[i])

    return difference


def model_differences(model, X, y):
    model.initialize(X, y)
    truth = [model.joint_feature(a, b) for a, b in zip(X, y)]

    def difference(i, w):
        answer = model.loss_augmented_inference(X[i], y[i], w)
        return truth[i] - model.joint_feature(X[i], answer), model.loss(y[i], answer)

    return difference


RADII = (0.05, 5.0, 40.0)
# Optimal values and numbers of weights that are not zero, of an independent linear program.
OPTIMA = {0.05: (0.997823, 9), 5.0: (0.788508, 33), 40.0: (0.0, 143)}
# Primal suboptimality by number of passes, of an independent implementation.
PUBLISHED = {
    ("sp_fw", 300): (8.5e-4, 7.9e-2, 3.8e-1),
    ("sp_fw", 1000): (3.9e-4, 3.0e-2, 1.1e-1),
    ("sp_bcfw", 300): (4.1e-4, 3.7e-2, 2.2e-1),
    ("SSG, c = 1", 300): (8.4e-4, 2.6e-2, 1.9e-1),
    ("SSG, c = 0.1", 300): (2.0e-4, 1.1e-1, 8.9e-1),
}
N_WORDS, N_FOLDS = 100, 3
C_GRID = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
RADIUS_GRID = (5.0, 10.0, 20.0, 40.0)
N_RUNS = 4  # random orders of sp_bcfw; the others know no order, and only their time differs
GAP_CHECK = 50  # passes between certificates that are not free
RIDGE_TOL = 0.01  # of the objective
RIDGE, SPARSE, BLOCK, ENTROPY = (
    "bcpfw, ridge", "sp_fw, l1 ball", "sp_bcfw, l1 ball", "extragradient, l1 ball"
)  # fmt: skip


def saddle_solver(name, radius, gap_check=GAP_CHECK):
    if name == "extragradient":
        return Extragradient(radius=radius, norm="l1", gap_check=gap_check)
    if name == "sp_bcfw":
        return SaddlePointFrankWolfe(radius=radius, block=True, gap_check=gap_check)
    step_size = "fictitious" if name.endswith("fictitious") else "universal"
    return SaddlePointFrankWolfe(radius=radius, step_size=step_size)


def after(svm, n_passes, what="objective"):
    """A number of the history at the last certificate within ``n_passes`` passes."""
    return float(svm.history_[what][svm.history_["n_iter"] <= n_passes][-1])


def linear_program(X, y, radius):
    """Optimum on digits and number of weights that are not zero, by linear programming."""
    n, d = X.shape
    # One row per wrong class k: <w_k - w_y, x> - slack <= -1, weights as differences.
    rows, labels = np.repeat(np.arange(n), 10), np.tile(np.arange(10), n)
    wrong = labels != y[rows]
    rows, labels = rows[wrong], labels[wrong]
    place = np.arange(len(rows))
    indicator = np.zeros((len(rows), 10))
    indicator[place, labels] += 1.0
    indicator[place, y[rows]] -= 1.0
    scores = (indicator[:, :, None] * X[rows][:, None, :]).reshape(len(rows), 10 * d)
    slack = sp.csr_matrix((-np.ones(len(rows)), (place, rows)), shape=(len(rows), n))
    A = sp.vstack([
        sp.hstack([scores, -scores, slack]),
        sp.hstack([np.ones((1, 20 * d)), sp.csr_matrix((1, n))]),
    ]).tocsr()  # fmt: skip
    cost = np.concatenate([np.zeros(20 * d), np.full(n, 1.0 / n)])
    solution = linprog(cost, A_ub=A, b_ub=np.append(-np.ones(len(rows)), radius), method="highs")
    weights = solution.x[: 10 * d] - solution.x[10 * d : 20 * d]
    return float(solution.fun), int(np.sum(np.abs(weights) > 1e-9))


def measure_digits(radius, marks):
    """Optimum; and for every method primal values at the marks, weights, certificates at fault."""
    X, y = digits()
    optimum, n_weights = linear_program(X, y, radius)
    found = {}
    for name in ("sp_fw", "sp_fw, fictitious", "sp_bcfw", "extragradient"):
        solver, model = saddle_solver(name, radius), MulticlassModel(fit_intercept=False)
        fit(model, solver, X[:20], y[:20], 2)  # compilation
        runs = [fit(model, solver, X, y, marks[-1], seed=seed) for seed in range(N_RUNS)]
        values = [[after(svm, mark) - optimum for mark in marks] for svm in runs]
        svm, history = runs[0], runs[0].history_
        ms = [1e3 * run.cpu / run.n_iter_ for run in runs]
        wrong = (history["dual_objective"] > optimum + 1e-9) | (
            history["objective"] < optimum - 1e-9
        )
        found[name] = {
            "values": np.median(values, axis=0).tolist(), "gap": svm.dual_gap_,
            "wrong": int(wrong.sum()), "ms": Repeats(ms), **counts(svm.coef_),
        }  # fmt: skip
    difference = class_differences(X, y)
    for c in (1.0, 0.1):
        values = stochastic_subgradient(
            difference, len(y), np.zeros(640), radius, c, marks[0], 10
        )  # fmt: skip
        found[f"SSG, c = {c:g}"] = {"values": [values[-1] - optimum]}
    return optimum, n_weights, found


def sparse_digits(report, options):
    marks = (50, 100) if options.quick else (300, 1000)
    report.section("Sparse weights: digits")
    report.text("""The first 100 digits of scikit-learn (64 pixels, 10 classes, no intercept: 640
        weights), 0/1 loss, l1 norm of the weights at most R. Optimum and number of its non-zero
        weights by linear programming, and by an independent implementation:""")
    results = {radius: in_child(measure_digits, radius, marks) for radius in RADII}
    report.table(
        ["R", "optimum", "independent", "weights", "independent"],
        [
            [radius, shown(optimum, ".6f"), shown(OPTIMA[radius][0], ".6f"), n, OPTIMA[radius][1]]
            for radius, (optimum, n, _) in results.items()
        ],
    )  # fmt: skip
    report.text(f"""Smallest primal suboptimality after {marks[0]} and {marks[1]} passes (or
        iterations), and that of an independent implementation. For sp_bcfw it is the better of the
        last and the averaged weights, evaluated every {GAP_CHECK} passes, and the median of
        {N_RUNS} random orders; the independent value is one run. The last weights oscillate, so
        that more frequent evaluation gives smaller values. "SSG" is the projected stochastic
        subgradient method (of this program, not of the package). "Gap" is the final certificate,
        "weights" counts non-zero weights, "large" those above {CUT:g} of the largest, "ms" is CPU
        time of a pass.""")
    rows, ratios = [], {}
    for place, (radius, (_, _, found)) in enumerate(results.items()):
        for name, r in found.items():
            cells = []
            for mark, value in zip(marks, [*r["values"], None]):
                published = PUBLISHED.get((name, mark), (None,) * 3)[place]
                cells += [shown(value, ".1e"), published]
                if published is not None:
                    ratios[name] = max(ratios.get(name, 0.0), value / published)
            rows.append([f"R = {radius:g}, {name}", *cells, *sizes_of(r)])
    report.table(
        ["method", f"{marks[0]}", "independent", f"{marks[1]}", "independent", "gap", "weights",
         "large", "ms"],
        rows,
    )  # fmt: skip
    wrong = sum(r.get("wrong", 0) for *_, found in results.values() for r in found.values())
    report.goals(
        ("difference of the optimum to the independent one, largest over R",
         max(abs(results[r][0] - OPTIMA[r][0]) for r in RADII), 1e-6, "<="),
        ("invalid certificates", wrong, 0, "<="),
        *((f"suboptimality / independent, {name}, largest over R",
           ratios.get(name), 1.2, "<=") for name in ("sp_fw", "sp_bcfw")),
    )  # fmt: skip


def sizes_of(r):
    """Cells of the gap, the numbers of weights and the time of a pass."""
    return shown(r.get("gap"), ".2g"), r.get("weights"), r.get("large"), shown(r.get("ms"), ".2g")


def unseen_error(svm, X_train, X, y):
    """Share of wrong digits among those whose image is in no training word."""
    seen = {row.tobytes() for x in X_train for row in x}
    new = np.array([row.tobytes() not in seen for x in X for row in x])
    wrong = np.concatenate(svm.predict(X)) != np.concatenate(y)
    return float(np.mean(wrong[new]))


def contenders(n_passes, quick):
    """Name: function from a value of its grid to solver and options, passes, the grid."""
    step = 2 if quick else 1

    def ball(solver, budget):
        return lambda radius: (saddle_solver(solver, radius), {}), budget, RADIUS_GRID[::step]

    return {
        RIDGE: (lambda C: ("bcpfw", {"C": C, "tol": RIDGE_TOL}), 1000, C_GRID[::step]),
        SPARSE: ball("sp_fw", 10 * n_passes),
        BLOCK: ball("sp_bcfw", n_passes),
        ENTROPY: ball("extragradient", n_passes // 6),
    }


def measure_words(name, n_passes, quick, repeat):
    X, y, X_test, y_test = words(N_WORDS)
    make, budget, grid = contenders(n_passes, quick)[name]
    errors = []
    for value in grid:
        solver, settings = make(value)
        folds = []
        for train, test in KFold(N_FOLDS).split(X):
            svm = fit(ChainModel("hamming"), solver, X[train], y[train], budget, **settings)
            folds.append(unseen_error(svm, X[train], X[test], y[test]))
        errors.append(float(np.mean(folds)))
    value = grid[int(np.argmin(errors))]
    solver, settings = make(value)
    runs = [fit(ChainModel("hamming"), solver, X, y, budget, **settings) for _ in range(repeat)]
    svm = runs[0]
    losses = svm.loss(X_test, y_test)
    size = np.abs(svm.coef_)
    few = size > CUT * size.max()
    found = {
        "value": value, "errors": dict(zip(grid, errors)), "test": float(losses.mean()),
        "test error": float(losses.std() / np.sqrt(len(losses))), "gap": svm.dual_gap_,
        "hinge": _mean_hinge(svm, X, y), "l1": float(size.sum()),
        "cpu": Repeats(run.cpu for run in runs),
        **counts(svm.coef_),
    }  # fmt: skip
    svm.coef_ = np.where(few, svm.coef_, 0.0)
    return found | {"cut": float(svm.loss(X_test, y_test).mean())}


def _mean_hinge(svm, X, y):
    difference = model_differences(svm.model_, X, y)
    found = (difference(i, svm.coef_) for i in range(len(y)))
    return float(np.mean([loss - svm.coef_ @ psi for psi, loss in found]))


def measure_ball(C, marks, repeat):
    """sp_fw and extragradient in the ball of the ridge solution: hinge above its own, and gap."""
    X, y = words(N_WORDS)[:2]
    ridge = fit(ChainModel("hamming"), "bcpfw", X, y, 5000, 1e-6, C=C)
    radius = float(np.linalg.norm(ridge.coef_))
    hinge = ridge.objective_ - 0.5 * ridge.lam_ * radius**2
    found = {}
    for name, solver, budget in (
        ("sp_fw, l2 ball", SaddlePointFrankWolfe(radius=radius, norm="l2"), marks[0]),
        ("sp_bcfw, l2 ball", SaddlePointFrankWolfe(radius=radius, norm="l2", block=True), marks[0]),
        ("extragradient, l2 ball", Extragradient(radius=radius, gap_check=50), marks[1]),
    ):
        runs = [fit(ChainModel("hamming"), solver, X, y, budget) for _ in range(repeat)]
        svm = runs[0]
        found[name] = {
            "passes": budget, "above": svm.objective_ - hinge, "gap": svm.dual_gap_,
            "cosine": float(svm.coef_ @ ridge.coef_ / (radius * np.linalg.norm(svm.coef_))),
            "cpu": Repeats(run.cpu for run in runs),
        }  # fmt: skip
    return radius, hinge, ridge.dual_gap_, found


def sparse_words(report, options):
    n_passes = 300 if options.quick else 3000
    report.section("Sparse weights: digit words")
    report.text(f"""{N_WORDS} training words of ``make_digit_words`` and 600 test words, chains with
        770 weights, normalized Hamming loss. C and the radius are chosen by {N_FOLDS}-fold
        cross-validation on the training words. Because words share images, the error only counts
        digits whose image is in no training word of the fold. Budgets are {10 * n_passes} passes of
        sp_fw, {n_passes} of sp_bcfw and {n_passes // 6} iterations of extragradient; bcpfw with
        ridge stops at a gap of {100 * RIDGE_TOL:g} % of its objective. "Cut" is the test loss with
        the large weights only; standard errors of test losses are in parentheses.""")
    found = {
        name: in_child(measure_words, name, n_passes, options.quick, options.repeat)
        for name in contenders(n_passes, options.quick)
    }
    report.records(
        "method", found, ("chosen", "value", "g"), ("l1 norm", "l1", ".1f"),
        ("mean hinge", "hinge", ".4f"), ("gap", "gap", ".2g"), ("weights", "weights"),
        ("large", "large"), ("test loss", lambda r: f"{r['test']:.4f} ({r['test error']:.4f})"),
        ("cut", "cut", ".4f"), ("CPU s", "cpu", ".1f"),
    )  # fmt: skip
    report.text("Cross-validated errors of digits:")
    report.bullets(*(
        f"{name}: {', '.join(f'{v:g}: {e:.4f}' for v, e in r['errors'].items())}."
        for name, r in found.items()
    ))  # fmt: skip
    ridge = found[RIDGE]
    noise = ridge["test error"]
    radius, hinge, ridge_gap, ball = in_child(
        measure_ball, ridge["value"], (n_passes, n_passes // 6), options.repeat
    )
    report.text(f"""The same problem in the l2 ball whose radius is the norm {radius:.4f} of the
        ridge solution (mean hinge {hinge:.6f}, gap {ridge_gap:.1e}): excess of the mean hinge,
        certified gap, and cosine of the angle between both solutions.""")
    report.records(
        "method", ball, ("passes", "passes"), ("above", "above", ".2e"), ("gap", "gap", ".2e"),
        ("cosine", "cosine", ".4f"), ("CPU s", "cpu", ".1f"),
    )  # fmt: skip
    report.goals(
        *(
            goal for name in (SPARSE, BLOCK, ENTROPY) for goal in (
                (f"large weights / ridge, {name}",
                 found[name]["large"] / ridge["large"], 1.0, "<="),
                (f"test loss of large weights minus ridge, {name}",
                 found[name]["cut"] - ridge["test"], noise, "<="),
            )
        ),
        ("excess of the hinge in the l2 ball / certified gap",
         max((r["above"] - ridge_gap) / r["gap"] for r in ball.values()), 1.0, "<="),
    )  # fmt: skip
    behind = [f"{name} {100 * r['test']:.1f} % (gap {r['gap']:.2g})" for name, r in found.items()]
    report.loses(f"Test loss on digit words, and certified gap: {', '.join(behind)}.")
