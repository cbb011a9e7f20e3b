"""Linear models: logistic regression with ridge and elastic net, to high accuracy."""

import argparse
import sys
import tempfile

from _linear_contenders import CONTENDERS
from _linear_problems import (
    DATA,
    OBJECTIVES,
    TEXTS,
    make_objective,
    reference,
    save_data,
)
from _linear_race import TARGETS, race
from _report import Skip, in_child, main

CAP, CAP_RUN = 90.0, 60.0  # wall seconds of all runs of a contender, and of one run
# What the page measures unless the command line chooses; pairs of data and objective.
PAGE = (
    ("generator", "l2"),
    ("generator", "elastic_net"),
    ("20news", "l2"),
    ("20news", "elastic_net"),
    ("a9a", "l2"),
    ("a9a", "elastic_net"),
    ("covtype", "l2"),
    ("covtype_raw", "l2"),
)
OBJECTIVE_TEXTS = {
    "l2": "ridge, alpha = 1/n",
    "elastic_net": "elastic net, l1_ratio = 0.5, alpha = 1/n",
    "sparse": "elastic net, l1_ratio = 0.5, alpha = 10/n",
}
ABOUT = """
Logistic regression without intercept, F(w) = mean log(1 + exp(-y <w, x>)) + alpha (l1_ratio
||w||_1 + (1 - l1_ratio)/2 ||w||^2) with alpha = 1/n unless stated. Everyone minimises this
function; what each peer needed to be told for it stands in ``_linear_contenders.py``. F is computed
in float64 by one function, off the clock, and compared with the optimum F*, which Newton steps find
and a duality gap certifies.

Every number is the time of a fresh run from zero. Budgets grow, iterations by a factor of two or
tolerances by ten, until (F - F*)/F* is at most 1e-9; between the last budget that fails a target and
the first that reaches it, bisection goes on until they are a factor of 1.2 (iterations) or 1.8
(tolerance) apart. Runs below 0.2 s are done three times and the fastest counts. Data are in the form
that the contender works on before the clock starts, and everything has been compiled on a tiny
problem; copt compiles in every call, which is measured on two rows and taken off.
"""


def race_page(folder, problem, facts, optimum, options):
    """All contenders on one problem."""
    objective = make_objective(problem, facts["n"])
    for name, contender in CONTENDERS.items():
        if options.only and not any(part in name for part in options.only):
            continue
        if contender.takes(objective, facts["d"]):
            yield race(folder, problem, name, optimum, options.cap, min(CAP_RUN, options.cap))


# ---- the page ------------------------------------------------------------------------------------


def run(report, options):
    vars(options).update(vars(EXTRA))
    pairs = [
        (data, problem)
        for data in options.data or dict.fromkeys(data for data, _ in PAGE)
        for problem in options.objective or [p for d, p in PAGE if d == data] or ["l2"]
    ]
    for data in dict.fromkeys(data for data, _ in pairs):
        with tempfile.TemporaryDirectory() as folder:
            try:
                facts = in_child(save_data, data, options.quick, folder)
            except FileNotFoundError as error:
                if len(pairs) == 1:
                    raise Skip(str(error)) from None
                report.text(f"{data}: skipped: {error}")
                continue
            report_data(report, data, facts)
            for problem in [p for d, p in pairs if d == data]:
                report_race(report, folder, data, problem, facts, options)


def report_data(report, data, facts):
    report.section(f"Data: {data}")
    report.text(
        f"{TEXTS[data][0].upper()}{TEXTS[data][1:]}. {facts['n']:,} x {facts['d']:,}, "
        f"{facts['per row']:.1f} non-zeros per row, {100 * facts['positive']:.1f} % positive, "
        f"largest row norm {facts['largest norm']:.4g}, most frequent column in "
        f"{100 * facts['largest column']:.1f} % of the rows; made in {facts['seconds']:.1f} s."
    )


def report_race(report, folder, data, problem, facts, options):
    best = in_child(reference, folder, problem)
    results = list(race_page(folder, problem, facts, best["F"], options))
    found = [run["F"] for result in results for run in result.runs.values()]
    optimum = min([best["F"], *found])
    report.section(f"{data}: {OBJECTIVE_TEXTS[problem]}")
    report.text(
        f"F* = {optimum:.15g}, duality gap {max(best['gap'], 0.0):.1g} at the reference, "
        f"{best['nonzeros']:,} non-zero weights. CPU seconds to (F - F*)/F* (two threads: wall "
        "seconds); budget of the last of these runs; the lowest value that was reached."
    )
    rows = [result_row(result, optimum) for result in results]
    report.table(
        ["contender", *(f"{t:.0e}".replace("e-0", "e-") for t in TARGETS), "budget", "lowest",
         "prepare", "note"],
        rows,
    )  # fmt: skip


def result_row(result, optimum):
    """Times to the targets, the budget of the last one, the lowest value and what happened."""
    clock = "wall" if CONTENDERS[result.name].threads > 1 else "cpu"
    cells, budget = [], None
    for target in TARGETS:
        level, _ = result.first(target, optimum)
        cells.append(None if level is None else f"{result.runs[level][clock]:.3g}")
        budget = budget if level is None else result.runs[level]["budget"]
    lowest = min((result.relative(level, optimum) for level in result.runs), default=None)
    return [
        result.name, *cells, budget if budget is None else f"{budget:.3g}",
        lowest if lowest is None else f"{max(lowest, 0.0):.0e}", f"{result.preparing:.2g}",
        result.note,
    ]  # fmt: skip


def _arguments():
    """What this benchmark takes beside the common options; the rest is left for them."""
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--data", action="append", choices=DATA)
    parser.add_argument("--objective", action="append", choices=list(OBJECTIVES))
    parser.add_argument("--only", action="append", help="contenders whose names contain this")
    parser.add_argument("--cap", type=float, default=CAP, help="wall seconds of a contender")
    extra, rest = parser.parse_known_args()
    sys.argv[1:] = rest
    return extra


if __name__ == "__main__":
    EXTRA = _arguments()
    peers = dict.fromkeys(c.package for c in CONTENDERS.values() if c.package)
    raise SystemExit(
        main("linear", "Linear models", ABOUT, run, peers=[p for p in peers if p != "scikit-learn"])
    )
