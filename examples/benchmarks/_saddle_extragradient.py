"""Dual extragradient, and the cost of single steps: parts of the benchmark of saddle points."""

import math
import warnings

import numpy as np
from _report import Clock, Repeats, cpu_of, in_child, shown
from _saddle_problems import N_PLANTED, clusters, digits, fit, planted_matchings, quietly
from _saddle_problems import letters as ocr_letters

from sklearn_fw._kernels.structured.block_rules import CALLS
from sklearn_fw.inference import Assignment
from sklearn_fw.projections import project_matching
from sklearn_fw.structured import (
    ChainModel,
    Extragradient,
    MatchingModel,
    MulticlassModel,
    StructuredSVM,
)
from sklearn_fw.task_losses import LinkLoss

MARKS = (1, 10, 100, 500, 1000)
# Gaps and bounds of an independent implementation (sums over samples).
PLANTED_GAPS = (99.5, 29.7, 3.75, 0.78, 0.39)
PLANTED_BOUNDS = (537, 53.7, 5.37, 1.07, 0.54)
DIGITS_OPTIMUM = 0.2271041
DIGITS_MARKS = (100, 1000, 5000, 20_000)
DIGITS_GAPS = {
    "equal": (5.2e-1, 1.8e-2, 2.8e-3, 6.1e-4),
    "balanced": (7.6e-2, 1.9e-3, 2.8e-4, 6.6e-5),
}


# ---- extragradient alone -------------------------------------------------------------------------


def measure_planted(n_iter, repeat):
    """Gaps and bounds at all iterations, for sums over samples, and CPU milliseconds of one."""
    X, y = planted_matchings()
    found = {}
    for name, settings in {
        # Equal steps for sums over samples: with means, those of w are n times longer.
        "published": {"step_size": "auto", "balance": math.sqrt(N_PLANTED)},
        "balanced": {"step_size": "auto"},
        "default": {},
    }.items():
        solver = Extragradient(radius=2.0, gap_check=1, **settings)
        model = MatchingModel(LinkLoss(normalize=False))
        runs = [fit(model, solver, X, y, n_iter) for _ in range(repeat)]
        gap, bound = (N_PLANTED * runs[0].history_[key] for key in ("restricted_gap", "bound"))
        ms = Repeats(1e3 * svm.cpu / n_iter for svm in runs)
        found[name] = {"gap": gap, "bound": bound, "ms": ms}
    return found


def planted(report, options):
    report.section("Dual extragradient: planted matchings")
    marks = [mark for mark in MARKS if mark <= (100 if options.quick else 1000)]
    found = in_child(measure_planted, marks[-1], options.repeat)
    report.text(
        f"""{N_PLANTED} planted matchings of 4 x 4 (3 features, noise 0.7, raw loss with costs 1 and
        3) in the l2 ball of radius 2, Euclidean steps; gap of the average and its bound
        ``(D_w + D_z) L / t``, as sums over samples. "Published" is the method of Taskar and others
        (one over the Lipschitz constant, no balance); beside it an independent implementation, of
        which only the bounds tell that it had the same matrices; "balanced" has steps balanced
        between weights and matchings, "default" longer ones besides. An iteration with a
        certificate takes {found["default"]["ms"]:.1f} ms of CPU."""
    )
    rows = []
    for place, mark in enumerate(marks):
        at = {name: (r["gap"][mark - 1], r["bound"][mark - 1]) for name, r in found.items()}
        rows.append([
            mark, *(shown(v, ".3g") for v in (at["published"][0], PLANTED_GAPS[place],
                                              at["published"][1], PLANTED_BOUNDS[place])),
            *(shown(v, ".3g") for name in ("balanced", "default") for v in at[name]),
        ])  # fmt: skip
    report.table(
        ["t", "published", "independent", "bound", "independent", "balanced", "bound", "default",
         "bound"],
        rows,
    )  # fmt: skip
    slack = max(float(np.max(r["gap"] / r["bound"])) for r in found.values())
    ours = found["published"]
    report.goals(
        ("gap over its bound, largest over all iterations", slack, 1.0, "<="),
        ("bound over the independent one, largest over t",
         max(ours["bound"][t - 1] / b for t, b in zip(marks, PLANTED_BOUNDS)), 1.02, "<="),
        ("gap over the independent one, largest over t",
         max(ours["gap"][t - 1] / g for t, g in zip(marks, PLANTED_GAPS)), 1.2, "<="),
    )  # fmt: skip


def measure_entropy(n_iter, repeat):
    """Optimum on digits, and for each balance primal values less it; CPU milliseconds."""
    X, y = digits()
    lam, n = 0.05, len(y)

    def run(solver, budget, tol=0.0):
        model = MulticlassModel(fit_intercept=False)
        return fit(model, solver, X, y, budget, tol, C=1.0 / (lam * n))

    best = run("bcpfw", 20_000, 1e-8)
    # D_w of the balanced steps from the true solution, D_z = log K.
    balance = float(np.linalg.norm(best.coef_) / np.sqrt(2.0 * np.log(10.0)))
    found = {}
    for name, settings in {
        "equal": {"step_size": "auto", "balance": math.sqrt(n), "restart": False},
        "balanced": {"step_size": "auto", "balance": balance, "restart": False},
        "default": {},
    }.items():
        runs = [run(Extragradient(gap_check=100, **settings), n_iter) for _ in range(repeat)]
        history = runs[0].history_
        found[name] = {
            "objective": history["objective"] - best.dual_objective_,
            "gap": history["dual_gap"], "ms": Repeats(1e3 * svm.cpu / n_iter for svm in runs),
        }  # fmt: skip
    return best.objective_, best.dual_gap_, found


def entropy(report, options):
    report.section("Dual extragradient: digits")
    marks = [mark for mark in DIGITS_MARKS if mark <= (1000 if options.quick else 20_000)]
    optimum, gap, found = in_child(measure_entropy, marks[-1], options.repeat)
    report.text(
        f"""Digits, 100 rows, ridge penalty with lam = 0.05, entropic steps without intercept:
        primal value of the average less the optimum {optimum:.7f} (bcpfw, gap {gap:.0e}; an
        independent implementation has {DIGITS_OPTIMUM}), with equal steps, with steps balanced by
        the true norm of the solution, and by default (longer steps, restarts). An iteration takes
        {found["equal"]["ms"]:.2f} ms of CPU, by default {found["default"]["ms"]:.2f} ms."""
    )
    rows, ratios = [], {}
    for place, mark in enumerate(marks):
        row = [mark]
        for name, r in found.items():
            value = float(r["objective"][mark // 100 - 1])
            row.append(shown(value, ".1e"))
            if name in DIGITS_GAPS:
                row.append(DIGITS_GAPS[name][place])
                ratios[name] = max(ratios.get(name, 0.0), value / DIGITS_GAPS[name][place])
        rows.append(row)
    report.table(["t", "equal", "independent", "balanced", "independent", "default"], rows)
    report.goals(
        ("distance of the optimum from the independent one", abs(optimum - DIGITS_OPTIMUM), 1e-6,
         "<="),
        *((f"suboptimality over the independent one, {name} steps, largest over t", ratio, 1.2,
           "<=") for name, ratio in ratios.items()),
    )  # fmt: skip


def extragradient(report, options):
    planted(report, options)
    entropy(report, options)


# ---- speed ---------------------------------------------------------------------------------------


def measure_prox(kind, size, repeat, **settings):
    """CPU seconds of extragradient iterations without certificate, and prox steps in one."""
    if kind == "letters":
        from sklearn_fw.datasets import load_ocr_letters

        X, y = load_ocr_letters(split="half", return_X_y=True)[:2]
        X, y, model = X[:size], y[:size], ChainModel("hamming")
    else:
        X, y = clusters(size)
        model = MatchingModel(perfect=True)
    svm = StructuredSVM(model, solver=Extragradient(gap_check=10**6, **settings), max_iter=2)
    quietly(svm.fit, X[:20], y[:20])
    blocks, lam = svm._make_blocks(X, y, None)
    method = svm.solver_.start(blocks, lam=lam, tol=0.0, rng=np.random.RandomState(0))
    seconds = cpu_of(method.step, repeat)
    return seconds, int(blocks.counts[CALLS]) / (repeat * len(y))


def measure_long_steps(n_words):
    """The same for letters and steps that make large scores within six iterations."""
    seconds, calls = measure_prox("letters", n_words, 10, step_size=10.0)
    return seconds[6:], calls


def measure_matchings(n_matrices):
    """Median and largest CPU milliseconds of calls on random matrices, and how many warned."""
    rng = np.random.default_rng(0)
    small, large = rng.normal(size=(n_matrices, 10, 10)), rng.normal(size=(n_matrices, 30, 30))
    found = {}
    for name, function, matrices in (
        ("Euclidean projection, 10 x 10", project_matching, small),
        ("Euclidean projection, 10 x 10, numbers of 100", project_matching, 100 * small),
        ("Euclidean projection, 10 x 10, perfect",
         lambda p: project_matching(p, perfect=True), small),
        ("entropic projection, 10 x 10", lambda p: project_matching(p, entropic=True), small),
        ("entropic projection, 10 x 10, numbers of 100",
         lambda p: project_matching(p, entropic=True), 100 * small),
        ("assignment oracle, 30 x 30", Assignment().argmax, large),
        ("assignment oracle, 30 x 30, perfect", Assignment(perfect=True).argmax, large),
    ):  # fmt: skip
        function(matrices[0])
        seconds = []
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            for matrix in matrices:
                with Clock() as clock:
                    function(matrix)
                seconds.append(clock.cpu)
        found[name] = 1e3 * float(np.median(seconds)), 1e3 * max(seconds), len(warned)
    return found


def speed(report, options):
    in_child(ocr_letters)  # skips at once when there are no data
    quick = options.quick
    report.section("Single steps")
    rows = []
    n_words, n_clusters = (300, 300) if quick else (3438, 10_000)
    letters, calls = in_child(measure_prox, "letters", n_words, 5)
    rows.append([f"{n_words} OCR words, chains of 26 states", *_milliseconds(letters), calls])
    late, calls = in_child(measure_long_steps, n_words)
    rows.append(["the same, scores of hundreds", *_milliseconds(late), calls])
    small, calls = in_child(measure_prox, "clusters", n_clusters, 3)
    rows.append([f"{n_clusters} matchings of 3 x 3", *_milliseconds(small), calls])
    report.text(
        """CPU milliseconds of one iteration of extragradient without a certificate (median and
        largest of a few), and its prox steps per sample, rejected ones included. Scores
        grow with the iterations; beyond about a hundred sums of exponentials are taken in
        logarithms where they would vanish, which is what the second row measures (by steps that are
        far too long)."""
    )
    report.table(["problem", "median", "largest", "prox steps"], rows)
    n_matrices = 50 if quick else 500
    found = in_child(measure_matchings, n_matrices)
    report.text(
        f"""CPU milliseconds of single calls on {n_matrices} Gaussian matrices (median and largest),
        and how many warned that they did not converge:"""
    )
    report.table(
        ["call", "median", "largest", "warned"],
        [
            [name, shown(median, ".3f"), shown(largest, ".3f"), warned]
            for name, (median, largest, warned) in found.items()
        ],
    )
    report.goals(
        ("CPU s of an iteration over the OCR words", float(np.median(letters)), 0.5, "<="),
        ("the same, scores of hundreds", max(late), 0.5, "<="),
        ("CPU ms of a projection of 10 x 10", found["Euclidean projection, 10 x 10"][0], 1.0, "<="),
        ("CPU ms of an assignment of 30 x 30", found["assignment oracle, 30 x 30"][0], 0.3, "<="),
    )


def _milliseconds(seconds):
    return shown(Repeats(1e3 * s for s in seconds), ".0f"), shown(1e3 * max(seconds), ".0f")
