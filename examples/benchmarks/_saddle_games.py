"""Matrix games, small ones and those of matchings: parts of the benchmark of saddle points."""

import math
import statistics

import numpy as np
from _report import Clock, Repeats, cpu_of, in_child, shown
from _saddle_problems import quietly

# Gaps of single rounds in one game, of an independent implementation.
GAME_GAPS = {10: 0.75, 100: 0.19, 1000: 0.070, 10_000: 0.027, 100_000: 0.0085}
# Of another implementation: slopes of games with a mixed equilibrium, and milliseconds of a call of
# networkx for a perfect matching of s students.
SPEC_MIXED = "-0.75 to -0.40"
SPEC_MS = {16: "< 10", 32: "60", 64: "500"}
SIZES = {4: 8, 6: 8, 8: 8, 16: 4, 32: 2, 64: 1}  # students: games


def measure_gaussian(seeds, n_rounds):
    """For every game the gaps of rounds 10, 100, ..., those of the best bounds, and CPU seconds."""
    from sklearn_fw.optim import solve_matrix_game

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
    import scipy.sparse as sp

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
    from sklearn_fw.optim import domains, solve_matrix_game

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
    """Section on Gaussian games."""
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
    """Section on games whose pure strategies are perfect matchings."""
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
