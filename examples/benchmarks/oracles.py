"""Oracles of random fields, and the settings of TRWMarginals: the tables of the guide."""

import functools
import statistics

import numpy as np
from _marginals_contenders import mean, measure_one
from _report import Clock, Repeats, in_child, main, quietly, shown

from sklearn_fw import random_fields
from sklearn_fw.datasets import make_ising
from sklearn_fw.inference import BranchAndBound, PairwiseScores, resolve_oracle
from sklearn_fw.random_fields import TRBPMarginals, TRWMarginals

ABOUT = """
Cost and quality of single calls of MAP solvers (oracles), and the effect of the oracle and of other
settings on ``TRWMarginals``. All random fields are generated with ``random_state`` 0, 1, ..., so
that the numbers can be reproduced without data files.
"""
FAST, MANY = 0.5, 9  # calls below FAST seconds are repeated MANY times, others three times
NAMES = (
    "elimination", "graph_cut", "branch_and_bound", "milp", "trws", "qpbo", "lp", "icm", "ils",
    "approx",
)  # fmt: skip
PROBLEMS = {
    "spin glass": '``make_ising("grid", (10, 10), coupling=4)``, couplings up to 4',
    "five states": "the same grid with five states, all scores standard normal",
    "clique": '``make_ising("clique", 30)``, couplings up to 1',
    "attractive": '``make_ising("grid", (100, 100), coupling=1, attractive=True)``, couplings '
    "from 0 to 1",
}
N_GRIDS = 10
WEAK, STRONG = 1.0, 4.0
SETTINGS = {
    "the defaults": {},
    "tol=2": {"tol": 2.0},
    "tol=0.1": {"tol": 0.1},
    "tol=0.01": {"tol": 0.01},
    "n_rho_iter=1": {"n_rho_iter": 1},
    "n_rho_iter=3": {"n_rho_iter": 3},
    "n_rho_iter=20": {"n_rho_iter": 20},
    "n_rho_iter=20, tol=0.1": {"n_rho_iter": 20, "tol": 0.1},
    'contraction="fixed", delta=1e-4': {"solver__contraction": "fixed", "solver__delta": 1e-4},
    'contraction="none"': {"solver__contraction": "none"},
    "variant=None": {"solver__variant": None},
    'local_search="icm"': {"solver__local_search": "icm"},
}


def problem(name):
    glass = make_ising("grid", (10, 10), coupling=4.0, random_state=0)
    if name == "spin glass":
        return glass.scores()
    if name == "clique":
        return make_ising("clique", 30, coupling=1.0, random_state=0).scores()
    if name == "attractive":
        return make_ising("grid", (100, 100), coupling=1, attractive=True, random_state=0).scores()
    rng = np.random.default_rng(0)
    return PairwiseScores(
        unary=rng.standard_normal((100, 5)),
        pairwise=rng.standard_normal((len(glass.edges), 5, 5)), edges=glass.edges,
    )  # fmt: skip


def measure_calls(name):
    """For every oracle seconds, value and bound, or why it refuses."""
    scores, found = problem(name), {}
    tiny = make_ising("grid", (2, 2), coupling=1.0, attractive=True, random_state=0).scores()
    for oracle_name in NAMES:
        oracle = resolve_oracle(oracle_name)
        quietly(oracle.argmax, tiny)  # compiles
        seconds = []
        try:
            while len(seconds) < (MANY if max(seconds, default=0.0) < FAST else 3):
                with Clock() as clock:
                    _, value, bound = quietly(oracle.argmax, scores)
                seconds.append(clock.cpu)
        except ValueError:
            found[oracle_name] = None
            continue
        found[oracle_name] = {"ms": 1e3 * Repeats(seconds), "value": value, "bound": bound}
    return found


def calls(report, options):
    report.section("Single oracle calls")
    report.text(f"""CPU milliseconds of one call (medians of {MANY} calls, of three where a call
        takes more than {FAST:g} s). "Below" is the distance of the score from the best score of all
        oracles, "bound" the distance of the upper bound from it; 0 is exact, "--" means no bound.
        Oracles that do not support the problem are left out: they require graphs of small width,
        two states, or attractive edges.""")
    report.bullets(*(f"{name}: {text}." for name, text in PROBLEMS.items()))
    rows, bars = [], {}
    for name in list(PROBLEMS)[: 1 if options.quick else None]:
        found = in_child(measure_calls, name)
        best = max(answer["value"] for answer in found.values() if answer)
        for oracle, answer in found.items():
            if not answer:
                continue
            above = answer["bound"] - best
            rows.append([
                f"{name}, {oracle}", shown(answer["ms"], ".2g"),
                shown(rounded(best - answer["value"]), ".2g"),
                shown(rounded(above), ".2g") if above < float("inf") else None,
            ])  # fmt: skip
            bars.setdefault(name, {})[oracle] = answer["ms"]
    report.table(["problem, oracle", "ms", "below", "bound"], rows)
    report.bars("Single oracle calls", "CPU milliseconds", bars, log=True)


def rounded(difference):
    return 0.0 if abs(difference) < 1e-6 else difference


def measure_fits(make, shape, coupling, n_grids):
    """Rows of errors, bounds, calls and seconds of an estimator on grids."""
    fields = [
        make_ising("grid", shape, coupling=coupling, random_state=seed) for seed in range(n_grids)
    ]
    quietly(make().fit, fields[0])  # compiles
    return [measure_one(make(), coupling, field, None, None, 1) for field in fields]


def by_oracle(name):
    if name == "TRBPMarginals":
        return TRBPMarginals()
    if name == 'polytope="local"':
        return TRWMarginals(polytope="local")
    return TRWMarginals(BranchAndBound(max_nodes=20) if name.startswith("Branch") else name)


def by_setting(name):
    return TRWMarginals("elimination").set_params(**SETTINGS[name])


def by_class(name):
    """An estimator of marginals with its defaults."""
    if name == "TRWMarginals":
        return random_fields.TRWMarginals("elimination")
    if name == "loopy BP":
        return TRBPMarginals("ones")
    settings = (
        {"random_state": 0} if name in ("MeanFieldMarginals", "PerturbAndMAPMarginals") else {}
    )
    return getattr(random_fields, name)(**settings)


ORACLES = (
    "elimination", "BranchAndBound(max_nodes=20)", "trws", "approx", "icm", 'polytope="local"',
    "TRBPMarginals",
)  # fmt: skip
CLASSES = (
    "TRWMarginals", "TRBPMarginals", "loopy BP", "MeanFieldMarginals",
    "PerturbAndMAPMarginals",
)  # fmt: skip


def many(make, names, shape, coupling, n_grids, options):
    n = 2 if options.quick else n_grids
    return {
        name: in_child(measure_fits, functools.partial(make, name), shape, coupling, n)
        for name in names
    }


def above(rows):
    """Mean distance of the upper bound; None where some run has none."""
    values = [row["bound"] for row in rows]
    return statistics.fmean(values) if max(values) < float("inf") else None


def error(rows):
    return mean(rows, "error")


def below(rows):
    return statistics.fmean(row["lower slack"] for row in rows)


def bounds(report, options):
    found = many(by_oracle, ORACLES, (5, 5), STRONG, N_GRIDS, options)
    report.section("TRWMarginals by oracle")
    report.text(f"""Means over {N_GRIDS} grids of 5 x 5 spins with couplings up to {STRONG:g}:
        certified upper bound minus log Z, log Z minus the lower bound, and mean absolute error of
        the marginals.""")
    report.records(
        "oracle", found, ("bound above", above, ".2f"), ("bound below", below, ".2f"),
        ("error", error, ".3f"),
    )  # fmt: skip


def settings(report, options):
    found = many(by_setting, SETTINGS, (5, 5), STRONG, N_GRIDS, options)
    report.section("Settings of TRWMarginals")
    report.text(f"""Means over the same {N_GRIDS} grids, with ``oracle="elimination"``: oracle
        calls, certified upper bound minus log Z, and mean absolute error of the marginals.""")
    report.records(
        "setting", found, ("calls", lambda rows: mean(rows, "calls"), ".0f"),
        ("bound above", above, ".2f"), ("error", error, ".3f"),
    )  # fmt: skip


def estimators(report, options):
    sizes = {WEAK: N_GRIDS, STRONG: 2 * N_GRIDS}
    found = {t: many(by_class, CLASSES, (6, 6), t, n, options) for t, n in sizes.items()}
    report.section("Estimators of marginals")
    report.text(f"""Means over {sizes[WEAK]} grids of 6 x 6 spins with couplings up to {WEAK:g}, and
        over {sizes[STRONG]} with couplings up to {STRONG:g}: mean absolute error of the marginals,
        upper bound minus log Z, log Z minus the lower bound, and number of runs that converged. All
        settings are defaults, except ``oracle="elimination"`` of TRWMarginals, which forces
        optimization on graphs that allow exact sums.""")
    report.records(
        "couplings, estimator",
        {f"{t:g}, {name}": rows for t, of in found.items() for name, rows in of.items()},
        ("error", error, ".3f"), ("above", above, ".1f"), ("below", below, ".1f"),
        ("converged", lambda rows: f"{sum(r['converged'] for r in rows)} of {len(rows)}"),
    )  # fmt: skip
    best = {t: min(by_name, key=lambda name: mean(by_name[name], "error"))
            for t, by_name in found.items()}  # fmt: skip
    for t, name in best.items():
        if name != "TRWMarginals":
            ours, theirs = (mean(found[t][who], "error") for who in ("TRWMarginals", name))
            report.loses(f"With couplings up to {t:g} the mean error of the marginals of {name} is "
                         f"{theirs:.3f}, that of TRWMarginals {ours:.3f}.")  # fmt: skip


if __name__ == "__main__":
    parts = {"calls": calls, "bounds": bounds, "settings": settings, "estimators": estimators}
    raise SystemExit(main("oracles", "Oracles and settings of TRWMarginals", ABOUT, parts))
