"""The methods of the papers on asynchronous SAGA: parts of the benchmark of linear models."""

from _linear_contenders import CONTENDERS
from _linear_problems import make_objective, reference
from _linear_race import TARGETS, race
from _report import in_child, shown

STUDIES = [
    (data, problem) for data in ("generator", "20news", "a9a") for problem in ("l2", "elastic_net")
]
CAP = 10.0  # wall seconds of all runs of a method
# Pedregosa and others (NIPS 2017), appendix, elastic net: hours of ten cores to 1e-10 on KDD 2010,
# KDD 2012 and Criteo.
PAPER_HOURS = {
    "ASAGA": (1.01, 0.09, 0.14), "AsySPCD": (13.3, 26.6, 33.3), "FISTA": (5.2, 8.3, 6.6),
}  # fmt: skip
# What the figures of Leblond and others (AISTATS 2017, ridge) show, in their words.
WORDS = {
    "lagged SAGA": "sparse slightly faster",
    "KROMAGNON": "ASAGA faster",
    "Hogwild": "shown to 1e-3 only",
}
# The target at which methods are compared: the last, or the first for one that stays inexact.
AT = {"Hogwild": TARGETS[0]}


def methods():
    """Names of the contenders of this part."""
    return [name for name, contender in CONTENDERS.items() if contender.study]


def reached(result, target, optimum, what="cpu"):
    """A number of the first run that reaches the target, or None."""
    level, _ = result.first(target, optimum)
    return None if level is None else result.runs[level][what]


def linear_methods(data, problem, report, folder, facts, options):
    """Section on one problem."""
    best = in_child(reference, folder, problem)
    objective = make_objective(problem, facts["n"])
    cap = CAP / 5 if options.quick else CAP
    results = {
        name: race(folder, problem, name, best["F"], cap, cap)
        for name in methods() if CONTENDERS[name].takes(objective, facts["d"])
    }  # fmt: skip
    optimum = min([best["F"], *(run["F"] for r in results.values() for run in r.runs.values())])
    report.section(f"{data}, {problem.replace('_', ' ')}: the methods of the papers")
    report.text(
        f"""Solvers of ``AsagaClassifier`` by name, with their own defaults, where F* =
        {optimum:.15g}: lagged updates, KROMAGNON (asynchronous SVRG), Hogwild (with steps that
        shrink), asynchronous proximal coordinate descent ("AsySPCD") and FISTA beside sparse SAGA
        and ASAGA. CPU seconds of all threads to (F - F*)/F*, and for two threads wall seconds in
        brackets; the iterations of the run that reached 1e-6: epochs over the rows, for AsySPCD
        over the columns, for FISTA steps; and the lowest value that was reached."""
    )
    report.table(
        ["method", *(f"{t:.0e}".replace("e-0", "e-") for t in TARGETS), "iterations", "lowest",
         "note"],
        [_row(result, optimum) for result in results.values()],
    )  # fmt: skip
    report.text(
        f"""CPU seconds of a method on one thread over those of ASAGA on one thread, to
        {TARGETS[-1]:g} ({TARGETS[0]:g} for Hogwild; ">": its longest run, which had not got there
        when {cap:g} wall seconds ended, is counted), and what the papers have: for the last two
        hours of ten cores to 1e-10 over those of ASAGA, on three data sets."""
    )
    report.table(["method", "ours", "paper"], list(_quotients(results, optimum)))


def _row(result, optimum):
    cells, threads = [], CONTENDERS[result.name].threads
    for target in TARGETS:
        cpu, wall = (reached(result, target, optimum, clock) for clock in ("cpu", "wall"))
        both = cpu is not None and threads > 1
        cells.append(f"{cpu:.3g} ({wall:.3g})" if both else shown(cpu, ".3g"))
    budget = reached(result, TARGETS[1], optimum, "budget")
    lowest = min((result.relative(level, optimum) for level in result.runs), default=None)
    return [
        result.name, *cells, budget,
        shown(None if lowest is None else max(lowest, 0.0), ".0e"), result.note,
    ]  # fmt: skip


def _quotients(results, optimum):
    for name, result in results.items():
        if name in ("ASAGA", "sparse SAGA") or CONTENDERS[name].threads > 1:
            continue
        target = AT.get(name, TARGETS[-1])
        ours = reached(results["ASAGA"], target, optimum)
        theirs = reached(result, target, optimum)
        paper = WORDS.get(name)
        if name in PAPER_HOURS:
            hours = zip(PAPER_HOURS[name], PAPER_HOURS["ASAGA"])
            paper = ", ".join(f"{a / b:.3g}" for a, b in hours)
        if ours is None:
            yield [name, None, paper]
        elif theirs is None:
            longest = max((run["cpu"] for run in result.runs.values()), default=0.0)
            yield [name, f"> {longest / ours:.1f}", paper]
        else:
            yield [name, shown(theirs / ours, ".2f"), paper]
