"""Solvers of structured SVMs as saddle points, side by side."""

import math

import numpy as np
from _report import Clock, Repeats, in_child, medians, quietly, shown
from _structured import load_scene
from sklearn.base import clone
from sklearn.datasets import load_digits

from sklearn_fw.datasets import make_digit_words
from sklearn_fw.inference import Assignment
from sklearn_fw.structured import (
    ChainModel,
    Extragradient,
    MatchingModel,
    MulticlassModel,
    MultilabelModel,
    SaddlePointFrankWolfe,
    StructuredSVM,
)
from sklearn_fw.task_losses import LinkLoss

N_PLANTED = 15
PROBLEMS = {
    "digits": "100 digits, 10 classes, lam = 0.05",
    "digit words, lam = 1": "100 words, chains of 10 states",
    "digit words, lam = 1/3": "the same words, C = 0.03",
    "planted matchings": "15 of 4 x 4, raw loss, lam = 0.1",
    "word alignment": "100 generated sentence pairs of 5 to 12 words, 4 features, lam = 0.1",
    "scene": "1,211 scenes of 294 features, tree of 6 labels, lam = 0.01",
}


def fit(model, solver, X, y, max_iter, tol=0.0, *, seed=0, **options):
    """A structured SVM, with CPU seconds as ``cpu``; ``tol`` is relative to the objective."""
    svm = StructuredSVM(
        model, solver=solver, max_iter=max_iter, tol=tol, random_state=seed, **options
    )
    with Clock() as clock:
        quietly(svm.fit, X, y)
    svm.cpu = clock.cpu
    return svm


def digits():
    """The first 100 images with pixels in [0, 1]."""
    data = load_digits()
    return data.data[:100] / 16.0, data.target[:100]


def words(n_train):
    return make_digit_words(n_train=n_train, return_X_y=True)


def planted_matchings():
    """Features of 4 x 4 pairs and the best matchings of noisy scores."""
    rng = np.random.default_rng(0)
    w = rng.normal(size=3)
    X, y = [], []
    for _ in range(N_PLANTED):
        F = rng.normal(size=(3, 16))
        X.append(F.T.reshape(4, 4, 3))
        y.append(Assignment().argmax((w @ F + 0.7 * rng.normal(size=16)).reshape(4, 4))[0])
    return X, y


def sentence_pairs(n_pairs, rng, vocabulary):
    """Features and links of pairs of sentences of 5 to 12 words of two made-up languages."""
    source, target, frequency = vocabulary
    X, y = [], []
    for _ in range(n_pairs):
        J = rng.integers(5, 13)
        chosen = rng.choice(len(source), size=J, p=frequency)
        order = np.argsort(np.arange(J) + rng.uniform(-1.5, 1.5, J))
        order = order[rng.uniform(size=J) > 0.1]  # words without a translation
        translated = [(j, chosen[j]) for j in order]
        for place in np.flatnonzero(rng.uniform(size=len(order)) < 0.1)[::-1]:
            translated.insert(place, (-1, rng.choice(len(source), p=frequency)))
        K = len(translated)
        places, other = np.array(translated, dtype=int).reshape(-1, 2).T
        links = (np.arange(J)[:, None] == places).astype(int)
        cosine = source[chosen] @ target[other].T
        apart = np.abs(np.subtract.outer(np.arange(J) / J, np.arange(K) / max(K, 1)))
        rare = np.multiply.outer(frequency[chosen], frequency[other]) * len(source) ** 2
        X.append(np.stack([cosine, apart, np.log(rare), np.ones((J, K))], axis=2))
        y.append(links)
    return X, y


def word_alignment():
    rng = np.random.default_rng(0)
    source = rng.normal(size=(200, 20))
    source /= np.linalg.norm(source, axis=1, keepdims=True)
    target = source + 0.3 * rng.normal(size=source.shape)  # in the coordinates of the source
    target /= np.linalg.norm(target, axis=1, keepdims=True)
    frequency = 1.0 / np.arange(1, 201)
    vocabulary = source, target, frequency / frequency.sum()
    return sentence_pairs(100, rng, vocabulary)


def problem(name):
    """Model, X, y and lam of a row of the comparison."""
    if name == "digits":
        return MulticlassModel(fit_intercept=False), *digits(), 0.05
    if name.startswith("digit words"):
        return ChainModel("hamming"), *words(100)[:2], 1.0 if name.endswith("1") else 1.0 / 3.0
    if name == "planted matchings":
        return MatchingModel(LinkLoss(normalize=False)), *planted_matchings(), 0.1
    if name == "word alignment":
        return MatchingModel(), *word_alignment(), 0.1
    return MultilabelModel(task_loss="hamming"), *load_scene()[:2], 0.01


RIDGE = ("bcfw", "bcpfw", "extragradient")
BALL = ("sp_fw, ball", "sp_bcfw, ball", "extragradient, ball")
# Passes after which a solver is given up; half as many iterations, which have two prox steps each.
BUDGETS = {
    "digits": 5000, "digit words, lam = 1": 3000, "digit words, lam = 1/3": 3000,
    "planted matchings": 3000, "word alignment": 2000, "scene": 600,
}  # fmt: skip


def contender(name, radius):
    """A solver, with the defaults of all parameters but the radius."""
    if name == "extragradient, ball":
        return Extragradient(radius=radius)
    if name in BALL:
        return SaddlePointFrankWolfe(radius=radius, norm="l2", block=name.startswith("sp_bcfw"))
    return name


def measure_solvers(name, shares, repeat, budget):
    """Optimum, norm of the solution, and for every solver and share what it took."""
    model, X, y, lam = problem(name)
    C = 1.0 / (lam * len(y))
    best = fit(clone(model), "bcpfw", X, y, 3000, 1e-4, C=C)
    optimum, radius = best.objective_, float(np.linalg.norm(best.coef_))
    # Both in units of the objective of the solver: a ball has no ridge term.
    hinge = optimum - 0.5 * lam * radius**2
    found = {}
    for solver_name in (*RIDGE, *BALL):
        solver = contender(solver_name, radius)
        n_passes = budget // 2 if solver_name.startswith("extra") else budget
        options = {"C": C} if solver_name in RIDGE else {}
        fit(clone(model), solver, X[:20], y[:20], 3, **options)  # compilation
        for share in shares:
            runs = []
            tol = share if solver_name in RIDGE else share * optimum / hinge
            for seed in range(repeat):
                svm = fit(clone(model), solver, X, y, n_passes, tol, seed=seed, **options)
                runs.append({
                    "calls": svm.n_oracle_calls_ / len(y), "cpu": svm.cpu,
                    "converged": svm.converged_,
                })  # fmt: skip
            stopped = all(run["converged"] for run in runs)
            found[solver_name, share] = medians(runs) | {"converged": stopped}
            if not stopped:
                break
    return optimum, radius, found


def solvers_compared(report, options):
    shares = (1e-2,) if options.quick else (1e-2, 1e-3)
    report.section("Comparison of solvers")
    report.text("""Oracle calls per sample and CPU seconds until a solver stops at a certified gap
        of 1 % and of 0.1 % of the optimum with the ridge penalty. A call of extragradient is a prox
        step of one sample (a projection of a matching, or a forward-backward pass), or a call of
        its certificate. "Ball" replaces the ridge penalty by a ball whose radius is the norm of the
        solution, so that the optimal weights and the gap are the same. Other settings are defaults.
        ">" marks runs that reach their budget of passes; extragradient has half as many iterations,
        with two prox steps each.""")
    names = [name for name in PROBLEMS if not (options.quick and BUDGETS[name] < 3000)]
    report.bullets(*(f"{name}: {PROBLEMS[name]}; budget {BUDGETS[name]}." for name in names))
    rows, ratios, calls = [], [], {solver: {} for solver in (*RIDGE, *BALL)}
    for name in names:
        budget = BUDGETS[name] // 10 if options.quick else BUDGETS[name]
        optimum, radius, found = in_child(measure_solvers, name, shares, options.repeat, budget)
        for solver in (*RIDGE, *BALL):
            cells = []
            for share in shares:
                r = found.get((solver, share))
                cells += (None, None) if r is None else (at_least(r, "calls", ".0f"),
                                                         at_least(r, "cpu", ".2f"))  # fmt: skip
            last = found.get((solver, shares[-1]))
            calls[solver][name] = last["calls"] if last and last["converged"] else None
            rows.append([f"{name}, {solver}", *cells])
        about = f"{name} (optimum {optimum:.4g}, norm {radius:.3g})"
        ratios.append(f"{about}: {'; '.join(_ratio(found, share) for share in shares)}.")
    head = [f"{kind} to {100 * share:g} %" for share in shares for kind in ("calls", "CPU s")]
    report.table(["problem, solver", *head], rows)
    report.loses(*(
        f"Calls and CPU seconds, extragradient / better of bcfw and bcpfw, {ratio}"
        for ratio in ratios
    ))  # fmt: skip
    report.bars(
        f"Oracle calls per sample to a gap of {100 * shares[-1]:g} %", "calls", calls, log=True
    )


def at_least(r, key, style):
    """A cell; ">" before it where the budget ended a run."""
    return shown(r[key], style) if r["converged"] else f"> {r[key]:{style}}"


def _ratio(found, share):
    r = found.get(("extragradient", share))
    rivals = [found.get((name, share)) for name in ("bcfw", "bcpfw")]
    rivals = [rival for rival in rivals if rival and rival["converged"]]
    place = f"at {100 * share:g} %"
    if r is None or not rivals:
        return f"no ratio {place}"
    calls, cpu = (r[key] / min(rival[key] for rival in rivals) for key in ("calls", "cpu"))
    return f"{'' if r['converged'] else 'more than '}{calls:.1f} and {cpu:.1f} {place}"


CUTS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1)
CUT_RADII = (5.0, 20.0)


def measure_cut(radius, cut, n_iter, repeat):
    """Extragradient in the l1 ball with a cut on digit words; None is sp_fw."""
    X, y, X_test, y_test = words(100)
    solver = SaddlePointFrankWolfe(radius=radius)
    if cut is not None:
        solver = Extragradient(radius=radius, norm="l1", gap_check=10, cut=cut)
    fit(ChainModel("hamming"), solver, X[:20], y[:20], 2)  # compilation
    rows = []
    for _ in range(repeat):
        svm = fit(ChainModel("hamming"), solver, X, y, n_iter)
        rows.append({
            "objective": svm.objective_, "gap": svm.dual_gap_, "cpu": svm.cpu,
            "calls": svm.n_oracle_calls_ / len(y),
            "test": float(svm.loss(X_test, y_test).mean()), **counts(svm.coef_),
        })  # fmt: skip
    return medians(rows)


def cuts(report, options):
    n_iter = 50 if options.quick else 500
    report.section("Sparse weights by truncation: digit words")
    report.text(f"""100 training words as above, l1 balls. Extragradient makes {n_iter} iterations
        and sets weights below a fraction of the largest to zero before each certificate (``cut``).
        It is compared with sp_fw after {n_iter}, {4 * n_iter} and {20 * n_iter} passes, which has
        at most as many non-zero weights as passes. Columns: primal value, certified gap, non-zero
        weights, mean loss on 600 test words, calls per word and CPU seconds.""")
    rows, ratios = {}, []
    for radius in CUT_RADII[1:] if options.quick else CUT_RADII:
        found = {f"cut = {cut:g}": in_child(measure_cut, radius, cut, n_iter, options.repeat)
                 for cut in CUTS}  # fmt: skip
        for factor in (1, 4, 20):
            budget = n_iter * factor
            found[f"sp_fw, {budget}"] = in_child(measure_cut, radius, None, budget, options.repeat)
        rows |= {f"R = {radius:g}, {name}": r for name, r in found.items()}
        ratios.append((radius, found["cut = 0.01"], found[f"sp_fw, {20 * n_iter}"]))
    report.records(
        "ball, method", rows, ("objective", "objective", ".4f"), ("gap", "gap", ".2g"),
        ("weights", "weights"), ("test loss", "test", ".4f"), ("calls", "calls", ".0f"),
        ("CPU s", "cpu", ".2f"),
    )  # fmt: skip
    report.goals(*(
        (f"{what}, cut = 0.01 / longest run of sp_fw, R = {radius:g}",
         ours[key] / theirs[key], 1.0, "<=")
        for what, key in (("objective", "objective"), ("CPU s", "cpu"))
        for radius, ours, theirs in ratios
    ))  # fmt: skip


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
    report.text(f"""{N_PLANTED} planted matchings of 4 x 4 (3 features, noise 0.7, raw loss with
        costs 1 and 3) in the l2 ball of radius 2, Euclidean steps; gap of the average and its bound
        ``(D_w + D_z) L / t``, as sums over samples. "Published" is the method of Taskar and others
        (steps of one over the Lipschitz constant), followed by values of an independent
        implementation. "Balanced" balances steps between weights and matchings; "default" also uses
        longer steps. An iteration with a certificate takes {found["default"]["ms"]:.1f} ms of
        CPU.""")
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
        ("gap / bound, largest over all iterations", slack, 1.0, "<="),
        ("bound / independent, largest over t",
         max(ours["bound"][t - 1] / b for t, b in zip(marks, PLANTED_BOUNDS)), 1.02, "<="),
        ("gap / independent, largest over t",
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
    report.text(f"""Digits, 100 rows, ridge penalty with lam = 0.05, entropic steps, no intercept.
        Shown is the primal suboptimality of the average, with equal steps, with steps balanced by
        the norm of the solution, and by default (longer steps, restarts). The optimum is
        {optimum:.7f} (bcpfw, gap {gap:.0e}; independent implementation: {DIGITS_OPTIMUM}). An
        iteration takes {found["equal"]["ms"]:.2f} ms of CPU, by default
        {found["default"]["ms"]:.2f} ms.""")
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
        ("difference of the optimum to the independent one", abs(optimum - DIGITS_OPTIMUM), 1e-6,
         "<="),
        *((f"suboptimality / independent, {name} steps, largest over t", ratio, 1.2, "<=")
          for name, ratio in ratios.items()),
    )  # fmt: skip


def extragradient(report, options):
    planted(report, options)
    entropy(report, options)


CUT = 1e-3  # of the largest weight: what counts as large, as entropic steps make no zeros


def counts(w):
    """Numbers of weights that are not zero and of large ones."""
    size = np.abs(w)
    return {"weights": int(np.sum(size > 0.0)), "large": int(np.sum(size > CUT * size.max()))}
