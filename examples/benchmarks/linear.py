"""Linear models: logistic regression with ridge and elastic net, to high accuracy."""

import argparse
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from _linear_contenders import CONTENDERS, Unavailable, asaga_model
from _linear_problems import (
    DATA,
    OBJECTIVES,
    TEXTS,
    load_data,
    make_objective,
    reference,
    save_data,
)
from _linear_race import TARGETS, race
from _report import Clock, Skip, in_child, main, peak_memory

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
DELAYS = (0, 5, 20, 50, 100)
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
tolerances by ten, until (F - F*)/F* is at most 1e-9; between the last budget that fails a target
and the first that reaches it, bisection goes on until they are a factor of 1.2 (iterations) or 1.8
(tolerance) apart. Runs below 0.2 s are done three times and the fastest counts. Data are in the
form that the contender works on before the clock starts ("prepare" is that time), and everything
has been compiled on a tiny problem; copt compiles in every call, which is measured on two rows and
taken off.
"""


# ---- ours, looked at more closely; each in its own process ---------------------------------------


def rate(folder, problem, n_jobs, n_epochs=10):
    """Updates per second of wall time of one fit, and its peak memory beyond the data.

    Memory is in units of n + d float64 numbers, so that n + 2 d, the memory of the gradients, the
    weights and the mean gradient, shows as a number between 1 and 2.
    """
    import numpy as np

    X, y = load_data(folder)
    objective = make_objective(problem, len(y))
    few = np.concatenate([np.flatnonzero(y == label)[:25] for label in (-1, 1)])
    try:
        asaga_model((X[few], y[few]), objective, 1, n_jobs)
    except Unavailable as error:
        return str(error)
    with suppress(OSError):  # forget the peak of loading the data, where the system can
        Path("/proc/self/clear_refs").write_text("5")
    before = peak_memory()
    with Clock() as clock:
        asaga_model((X, y), objective, n_epochs, n_jobs)
    beyond = (peak_memory() - before) * 1e6 / 8
    return {
        "updates": n_epochs * len(y) / clock.wall,
        "cpu": clock.cpu,
        "wall": clock.wall,
        "memory": beyond / sum(X.shape),
    }


def delayed_epochs(folder, problem, delays=DELAYS, target=1e-6, max_epochs=200):
    """Epochs until (F - F*)/F* <= target in the emulator of asynchrony, for every delay.

    ``sklearn_fw.optim.simulate_async(X, y, alpha=, l1_ratio=, delay=, n_epochs=, tol=,
    random_state=)`` does the updates of ``AsagaClassifier(solver="asaga")`` in one thread, where
    every write becomes visible after a delay drawn from 1, ..., ``delay`` updates; 0 is the
    sequential method. It is called with growing ``n_epochs``, each time from zero. The iterations
    of delay 0 over those of another delay are the speed-up per iteration: 1 means that as many
    workers as the delay allows divide the time by their number.
    """
    try:
        from sklearn_fw.optim import simulate_async
    except ImportError:
        return "simulate_async is not there yet"
    X, y = load_data(folder)
    objective = make_objective(problem, len(y))
    optimum = reference(folder, problem)["F"]
    epochs = {}
    for delay in delays:
        n_epochs, epochs[delay] = 1, None
        while n_epochs <= max_epochs:
            w = simulate_async(
                X, y, alpha=objective.alpha, l1_ratio=objective.l1_ratio, delay=delay,
                n_epochs=n_epochs, tol=0.0, random_state=0,
            ).x  # fmt: skip
            if objective.value(X, y, w) - optimum <= target * optimum:
                epochs[delay] = n_epochs
                break
            n_epochs = max(n_epochs + 1, round(1.2 * n_epochs))
    return epochs


# ---- the page ------------------------------------------------------------------------------------


def race_page(folder, problem, facts, optimum, options):
    """All contenders on one problem."""
    objective = make_objective(problem, facts["n"])
    for name, contender in CONTENDERS.items():
        if options.only and not any(part in name for part in options.only):
            continue
        if contender.takes(objective, facts["d"]):
            yield race(folder, problem, name, optimum, options.cap, min(CAP_RUN, options.cap))


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
            if not options.only and not data.startswith("covtype"):
                report_ours(report, folder, data, options)


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


def report_ours(report, folder, data, options):
    """Updates per second, memory and the price of delays; nothing where the solver is missing."""
    rates = {n_jobs: in_child(rate, folder, "l2", n_jobs) for n_jobs in (1, 2)}
    if isinstance(rates[1], str):
        report.text(f"Updates per second, memory and delays: not measured, {rates[1]}.")
        return
    report.text(
        f"{data}, ridge, ten epochs: millions of updates per second of wall time, CPU and wall "
        "seconds, and peak memory beyond the data in units of n + d numbers of 8 bytes."
    )
    report.table(
        ["threads", "updates", "CPU", "wall", "memory"],
        [
            [str(n_jobs), f"{r['updates'] / 1e6:.2f}", f"{r['cpu']:.2f}", f"{r['wall']:.2f}",
             f"{r['memory']:.2f}"]
            for n_jobs, r in rates.items()
        ],
    )  # fmt: skip
    epochs = in_child(delayed_epochs, folder, "l2")
    if isinstance(epochs, str):
        report.text(f"Delays: not measured, {epochs}.")
        return
    report.text(
        "Epochs to 1e-6 when every write becomes visible only after up to so many updates, and "
        "the epochs without delay over them:"
    )
    report.table(
        ["delay", "epochs", "ratio"],
        [
            [str(delay), count, count and f"{epochs[0] / count:.2f}"]
            for delay, count in epochs.items()
        ],
    )


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
