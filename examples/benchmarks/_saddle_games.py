"""Matrix games, small ones and those of matchings: parts of the benchmark of saddle points."""

import math
import statistics

import numpy as np
import scipy.sparse as sp
from _report import Clock, Repeats, cpu_of, in_child, medians, shown
from _saddle_problems import fit, letters, quietly, words
from _saddle_sparse import counts

from sklearn_fw.optim import domains, solve_matrix_game
from sklearn_fw.structured import ChainModel, Extragradient, SaddlePointFrankWolfe

# Radii of the paper, which has l1 balls and this many passes.
PAPER_PASSES = {0.01: 10_000, 5.0: 1000}
PAPER = {0.01: "sp_bcfw close to SSG", 5.0: "SSG faster"}
L2_LAMS = (1.0, 0.01)  # ridges whose solutions have the radii of the l2 balls
SOLVERS = ("sp_fw", "sp_bcfw", "extragradient")
LEVELS = (1e-9, 0.1, 0.5)  # of the way from the start to the optimum
EVERY = 5  # passes between two looks at sp_bcfw and extragradient
CUTS = (0.0, 0.001, 0.003, 0.01, 0.03, 0.1)
CUT_RADII = (5.0, 20.0)


def solver_for(name, radius, norm, gap_check=EVERY, **settings):
    if name == "extragradient":
        return Extragradient(radius=radius, norm=norm, gap_check=gap_check, **settings)
    block = name == "sp_bcfw"
    return SaddlePointFrankWolfe(radius=radius, norm=norm, block=block, gap_check=gap_check)


# ---- leaving the start ---------------------------------------------------------------------------


def ball_of(lam):
    """Norm of the solution with a ridge on the letters."""
    X, y = letters()
    svm = fit(ChainModel("hamming"), "bcpfw", X, y, 3000, 1e-3, C=1.0 / (lam * len(y)))
    return float(np.linalg.norm(svm.coef_))


def measure_leaving(norm, radius, budget, repeat):
    """For all solvers and orders the best primal values, the best dual value and CPU seconds."""
    X, y = letters()
    found = {}
    for name in SOLVERS:
        n_passes = budget // 5 if name == "extragradient" else budget
        solver, found[name] = solver_for(name, radius, norm), []
        fit(ChainModel("hamming"), solver, X[:20], y[:20], 2)  # compilation
        for seed in range(repeat):
            svm = fit(ChainModel("hamming"), solver, X, y, n_passes, seed=seed)
            found[name].append({
                "passes": svm.history_["n_iter"].tolist(), "gap": svm.dual_gap_,
                "primal": np.minimum.accumulate(svm.history_["objective"]).tolist(),
                "dual": svm.dual_objective_, "cpu": svm.cpu, "n_iter": svm.n_iter_,
            })  # fmt: skip
    return found


def passes_to(run, start, optimum, level):
    """Passes until a share of the way from the start to the optimum is made; None if never."""
    goal = start - level * (start - optimum)
    for n_passes, value in zip(run["passes"], run["primal"]):
        if value < goal:
            return n_passes
    return None


def leaving(report, options):
    in_child(letters)  # skips at once when there are no data
    report.section("Leaving the start: OCR letters")
    balls = [("l1", radius) for radius in PAPER_PASSES]
    balls += [("l2", in_child(ball_of, lam)) for lam in L2_LAMS]
    report.text(
        f"""The first 100 training words as above. All solvers start at w = 0, whose primal value
        is the mean largest loss, and report the best weights met: for how many passes (iterations
        of extragradient, of two prox steps each) nothing is better than that start, and how many
        make a tenth and half of the way from there to the optimum. l1 balls have the radii of the
        paper and its numbers of passes, l2 balls the norms of ridge solutions with lam =
        {" and ".join(f"{lam:g}" for lam in L2_LAMS)}. Certificates come every {EVERY} passes
        (sp_fw: every pass); medians of {options.repeat} random orders of sp_bcfw; "--" where it was
        not reached. Gap is the certificate at the end. The paper says of its curves: {PAPER[0.01]}
        for R = 0.01, {PAPER[5.0]} for R = 5."""
    )
    rows, left = [], {}
    for norm, radius in balls:
        budget = PAPER_PASSES.get(radius, 1000)
        budget = budget // 50 if options.quick else budget
        found = in_child(measure_leaving, norm, radius, budget, options.repeat)
        optimum = max(run["dual"] for runs in found.values() for run in runs)
        start = found["sp_fw"][0]["primal"][0]  # its first certificate is that of w = 0
        for name, runs in found.items():
            cells = [_middle([passes_to(run, start, optimum, level) for run in runs])
                     for level in LEVELS]  # fmt: skip
            rows.append([
                f"{norm}, R = {radius:.3g}, {name}", runs[0]["n_iter"], *cells,
                shown(Repeats(run["gap"] for run in runs), ".2g"),
                shown(Repeats(1e3 * run["cpu"] / run["n_iter"] for run in runs), ".2f"),
            ])  # fmt: skip
            left[name, norm, radius] = cells[0]
    report.table(["ball, method", "passes", "leaves", "10 %", "50 %", "gap", "ms of a pass"], rows)
    stuck = [
        f"{name} in the {norm} ball of {radius:.3g}" for (name, norm, radius), n in left.items()
        if n is None
    ]  # fmt: skip
    if stuck:
        report.loses(f"OCR letters: no better than w = 0 in its budget: {', '.join(stuck)}.")


def _middle(values):
    return None if any(value is None for value in values) else Repeats(values)


# ---- cut -----------------------------------------------------------------------------------------


def measure_cut(radius, cut, n_iter, repeat):
    """Extragradient in the l1 ball with a cut on digit words; None is sp_fw."""
    X, y, X_test, y_test = words(100)
    if cut is None:
        solver = solver_for("sp_fw", radius, "l1")
    else:
        solver = solver_for("extragradient", radius, "l1", 10, cut=cut)
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
    report.section("Sparse weights by a cut: digit words")
    report.text(
        f"""100 training words as above, l1 balls: extragradient, {n_iter} iterations, whose weights
        are set to zero below a fraction of the largest before each certificate (``cut``), beside
        sp_fw after {n_iter}, {4 * n_iter} and {20 * n_iter} passes, which has at most as many
        weights as passes. Primal value of the weights returned, certified gap, weights that are
        not zero, mean loss on 600 test words, calls per word and CPU seconds."""
    )
    rows, ratios = [], []
    for radius in CUT_RADII[1:] if options.quick else CUT_RADII:
        found = {f"cut = {cut:g}": in_child(measure_cut, radius, cut, n_iter, options.repeat)
                 for cut in CUTS}  # fmt: skip
        for factor in (1, 4, 20):
            budget = n_iter * factor
            found[f"sp_fw, {budget}"] = in_child(measure_cut, radius, None, budget, options.repeat)
        for name, r in found.items():
            rows.append([
                f"R = {radius:g}, {name}", shown(r["objective"], ".4f"), shown(r["gap"], ".2g"),
                r["weights"], shown(r["test"], ".4f"), shown(r["calls"], ".0f"),
                shown(r["cpu"], ".2f"),
            ])  # fmt: skip
        ratios.append((radius, found["cut = 0.01"], found[f"sp_fw, {20 * n_iter}"]))
    report.table(
        ["ball, method", "objective", "gap", "weights", "test loss", "calls", "CPU s"], rows
    )
    report.goals(
        *(
            (f"objective with cut = 0.01 over that of the longest run of sp_fw, R = {radius:g}",
             ours["objective"] / theirs["objective"], 1.0, "<=")
            for radius, ours, theirs in ratios
        ),
        *(
            (f"CPU s with cut = 0.01 over those of the longest run of sp_fw, R = {radius:g}",
             ours["cpu"] / theirs["cpu"], 1.0, "<=")
            for radius, ours, theirs in ratios
        ),
    )  # fmt: skip


# Gaps of single rounds in one game, of an independent implementation.
GAME_GAPS = {10: 0.75, 100: 0.19, 1000: 0.070, 10_000: 0.027, 100_000: 0.0085}
# Of another implementation: slopes of games with a mixed equilibrium, and milliseconds of a call of
# networkx for a perfect matching of s students.
SPEC_MIXED = "-0.75 to -0.40"
SPEC_MS = {16: "< 10", 32: "60", 64: "500"}
SIZES = {4: 8, 6: 8, 8: 8, 16: 4, 32: 2, 64: 1}  # students: games


def measure_gaussian(seeds, n_rounds):
    """For every game the gaps of rounds 10, 100, ..., those of the best bounds, and CPU seconds."""
    marks = [10**k for k in range(1, int(math.log10(n_rounds)) + 1)]
    found = []
    for seed in seeds:
        payoff = np.random.default_rng(seed).normal(size=(10, 8))
        with Clock() as clock:
            # The first certificate is that of the start.
            result = quietly(solve_matrix_game, payoff, tol=0.0, max_iter=n_rounds + 1)
        history = result.history
        single = history["upper"] - history["lower"]
        found.append((
            [float(single[mark]) for mark in marks],
            [float(history["dual_gap"][mark]) for mark in marks], clock.cpu / n_rounds,
        ))  # fmt: skip
    return found


def university_payoff(n_students, rng):
    """What the second of two universities, that assign roommates, gains from the first.

    Rows are the pairs of university 1, columns those of university 2, in the order of
    `Matchings`. A student whose roommate is preferred to that of the rival brings the
    benefit of the preferred university, and halves of both where they are the same.
    """
    talent = rng.uniform(size=n_students)
    benefit = rng.normal(talent, 0.1, (2, n_students))
    number = np.zeros((n_students, n_students), dtype=int)
    number[np.triu_indices(n_students, 1)] = np.arange(n_students * (n_students - 1) // 2)
    number += number.T
    size, parts = number.max() + 1, []
    for i in range(n_students):
        others = np.delete(np.arange(n_students), i)
        rank = rng.permutation(len(others))
        first, second = np.meshgrid(rank, rank, indexing="ij")
        gain = np.where(first < second, benefit[0, i], -benefit[1, i])
        np.fill_diagonal(gain, 0.5 * (benefit[0, i] - benefit[1, i]))
        pairs = number[i, others]
        rows, columns = np.meshgrid(pairs, pairs, indexing="ij")
        parts.append((-gain.ravel(), rows.ravel(), columns.ravel()))
    values, rows, columns = (np.concatenate(part) for part in zip(*parts))
    return sp.coo_matrix((values, (rows, columns)), shape=(size, size)).tocsr()


def slope(gaps, first):
    """Slope of log(gap) against log(t) from round ``first`` on; -inf where few gaps are left."""
    t = np.arange(len(gaps))
    kept = (t >= first) & (gaps > 1e-14)
    if np.sum(kept) < 2:
        return -math.inf
    return float(np.polyfit(np.log(t[kept]), np.log(gaps[kept]), 1)[0])


def measure_universities(n_students, n_games, n_rounds):
    """Slopes of games and of joint minimisations, and CPU milliseconds of an oracle call."""
    return [_measure_university(n_students, seed, n_rounds) for seed in range(n_games)]


def _measure_university(n_students, seed, n_rounds):
    payoff = university_payoff(n_students, np.random.default_rng(seed))
    group = domains.Matchings(n_students, perfect=True)
    result = quietly(
        solve_matrix_game, payoff, domain_x=group, domain_y=group, step_size="universal",
        tol=0.0, max_iter=n_rounds + 1,
    )  # fmt: skip
    gaps = result.history["upper"] - result.history["lower"]
    joint = joint_minimisation(payoff, group, n_rounds)
    return {
        "game": slope(gaps, 10), "joint": slope(joint, 10),
        "share": float(gaps[-1] / gaps[1]) if len(gaps) > 1 and gaps[1] > 0.0 else 0.0,
        "ms": [1e3 * s for s in cpu_of(lambda: group.lmo(payoff @ result.y_last), 5)],
    }  # fmt: skip


def joint_minimisation(payoff, group, n_rounds):
    """Gaps of Frank-Wolfe when both sides minimise x'My, which is no game."""
    x = y = group.start().to_array()
    gaps = []
    for t in range(n_rounds + 1):
        g_x, g_y = payoff @ y, payoff.T @ x
        s_x, s_y = group.lmo(g_x).to_array(), group.lmo(g_y).to_array()
        gaps.append(g_x @ (x - s_x) + g_y @ (y - s_y))
        step = 2.0 / (t + 2.0)
        x, y = x + step * (s_x - x), y + step * (s_y - y)
    return np.array(gaps)


def gaussian_games(report, options):
    quick = options.quick
    report.section("Matrix games: Gaussian payoffs")
    n_rounds, seeds = (1000, range(2)) if quick else (100_000, range(5))
    found = in_child(measure_gaussian, seeds, n_rounds)
    marks = [10**k for k in range(1, int(math.log10(n_rounds)) + 1)]
    report.text(
        f"""Fictitious play on {len(seeds)} Gaussian games of 10 x 8, no random numbers in the
        method: upper minus lower bound of single rounds (median, smallest and largest) and of the
        best rounds so far, beside one game of an independent implementation. A round takes
        {1e6 * statistics.median(cpu for *_, cpu in found):.0f} microseconds of CPU."""
    )
    rows = []
    for place, mark in enumerate(marks):
        single = [gaps[place] for gaps, *_ in found]
        best = statistics.median(gaps[place] for _, gaps, _ in found)
        rows.append([mark, Repeats(single), min(single), max(single), best, GAME_GAPS[mark]])
    report.table(["rounds", "single", "smallest", "largest", "best bounds", "independent"], rows)
    decades = [
        math.log10(gaps[-1] / gaps[0]) / (len(marks) - 1) for gaps, *_ in found
    ]  # fmt: skip
    report.text(
        f"""Slope in t of the single rounds: {min(decades):.2f} to {max(decades):.2f}. Proved is
        -1/16, conjectured and usually seen -1/2."""
    )


def university_games(report, options):
    quick = options.quick
    report.section("Matrix games: perfect matchings")
    sizes = {4: 3, 8: 2} if quick else SIZES
    n_rounds = 30 if quick else 100
    report.text(
        f"""Two universities assign roommates among s students: perfect matchings against perfect
        matchings, universal steps, {n_rounds} rounds. Slopes of the gap in t from round 10 on. The
        paper reports -2 at all sizes; its program lets both sides minimise the same form, which
        mostly ends in a vertex ("joint", the median). The game itself has slope -2 where it has a
        pure equilibrium (below -1.5 here), and about -1/2 elsewhere, which an independent
        implementation ("spec") found, too. "Gap" is that of the last round, as a share of that
        after one (median). Slopes of "-inf" are those of games solved by round 10. "ms" is the CPU
        time of a call of the oracle, beside that of networkx. The paper goes on to s = 256."""
    )
    rows, n_mixed = [], 0
    for n_students, n_games in sizes.items():
        found = in_child(measure_universities, n_students, n_games, n_rounds)
        pure = [r["game"] for r in found if r["game"] < -1.5]
        mixed = [r["game"] for r in found if r["game"] >= -1.5]
        n_mixed += len(mixed)
        rows.append([
            n_students, n_games, len(pure), *map(_range, (pure, mixed)),
            SPEC_MIXED if mixed else None, _joint(found), -2,
            statistics.median(r["share"] for r in found),
            shown(Repeats(v for r in found for v in r["ms"]), ".2f"), SPEC_MS.get(n_students),
        ])  # fmt: skip
    report.table(
        [
            "s",
            "games",
            "pure",
            "slopes, pure",
            "slopes, mixed",
            "spec",
            "joint",
            "paper",
            "gap",
            "ms",
            "networkx",
        ],
        rows,
    )
    report.loses(
        f"""Games of matchings: the rate 1 / t^2 of the paper is missed in {n_mixed} of
        {sum(sizes.values())} games, those with a mixed equilibrium."""
    )


def _joint(found):
    """Median slope of the joint minimisations; "-inf" is no number of a result."""
    slope = statistics.median(r["joint"] for r in found)
    return shown(slope, ".2f") if math.isfinite(slope) else "-inf"


def _range(values):
    return f"{min(values):.2f} to {max(values):.2f}" if values else None
