"""Linear models: logistic regression with ridge and elastic net, to high accuracy."""

import argparse
import statistics
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

from _linear_contenders import CONTENDERS, asaga_model, quietly
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
from _report import Clock, Skip, in_child, main

CAP = 20.0  # wall seconds of all runs of a contender
# What the page measures unless the command line chooses; pairs of data and objective.
PAGE = (
    ("generator", "l2"),
    ("generator", "elastic_net"),
    ("20news", "l2"),
    ("20news", "elastic_net"),
    ("a9a", "l2"),
    ("a9a", "elastic_net"),
    ("covtype", "l2"),
    ("covtype", "elastic_net"),
    ("covtype_raw", "l2"),
)
DELAYS = (0, 5, 20, 50, 100)
OURS = "AsagaClassifier"
LOSES = (
    "Dense rows of standardised columns, some of them rare (covtype): one row in thousands "
    "has a very large norm, and no incremental method gets far in the time given. Newton's "
    "method needs three seconds.",
    "Fewer rows than columns and a ridge (20news): dual coordinate descent (liblinear) is "
    "faster, and so is cyanure.",
    "Two threads make 1.3 times as many steps as one, not 1.6 times: columns that few rows "
    "touch still travel between the caches. On small tables like a9a threads slow a fit down.",
    "With more than 260,000 columns the column indices are kept a second time, in another "
    "order, which nearly halves the time of an epoch and takes more memory than 3 n + 6 d "
    "numbers.",
)
GOALS = ("generator", "20news")  # data for which there are goals
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
taken off. A contender has as many wall seconds as ``--cap`` grants, 20 on this page; ``--`` was not
reached in them, and goals count it with these.
"""


# ---- ours, looked at more closely; each in its own process ---------------------------------------


def rates(folder, problem, n_epochs=5, repeats=9):
    """Updates per second of one thread and of two, and what two threads could do at most.

    The ceiling is that of two fits of one thread each at the same time, on data they share. The
    three are measured in turn, because the speed of a machine drifts; medians of ``repeats``.
    """
    import numpy as np

    X, y = load_data(folder)
    objective = make_objective(problem, len(y))

    def seconds(n_jobs):
        model = asaga_model((X, y), objective, n_epochs, n_jobs)
        # The first epoch begins before the clock of the history, the last ends with a certificate.
        return float(np.median(np.diff(model.history_["time"][:n_epochs])[:-1]))

    seconds(2)  # compiles, and wakes the threads
    found = {"one": [], "two": [], "apart": []}
    with ThreadPoolExecutor(2) as pool:
        for _ in range(repeats):
            found["one"].append(seconds(1))
            found["two"].append(seconds(2))
            found["apart"].append(statistics.mean(pool.map(seconds, [1, 1])))
    ratios = {
        "two": [a / b for a, b in zip(found["one"], found["two"], strict=True)],
        "apart": [2 * a / b for a, b in zip(found["one"], found["apart"], strict=True)],
    }
    return {
        "one": len(y) / statistics.median(found["one"]) / 1e6,
        **{name: statistics.median(values) for name, values in ratios.items()},
    }


def memory(folder, problem):
    """Largest memory of a fit beyond the data, in numbers of 8 bytes, and 3 n + 6 d."""
    import tracemalloc

    X, y = load_data(folder)
    objective = make_objective(problem, len(y))
    asaga_model((X, y), objective, 1)
    tracemalloc.start()
    asaga_model((X, y), objective, 3)
    return tracemalloc.get_traced_memory()[1] / 8, 3 * X.shape[0] + 6 * X.shape[1]


def recording(folder, problem, n_epochs=10):
    """Share of the time of a fit that goes into rows of the history."""
    from sklearn_fw.optim import _incremental

    X, y = load_data(folder)
    objective = make_objective(problem, len(y))
    spent = []
    estimate = _incremental.SagaRun._estimate

    def timed(run, concave):
        with Clock() as clock:
            row = estimate(run, concave)
        spent.append(clock.cpu)
        return row

    asaga_model((X, y), objective, 1)
    _incremental.SagaRun._estimate = timed
    try:
        with Clock() as clock:
            asaga_model((X, y), objective, n_epochs)
    finally:
        _incremental.SagaRun._estimate = estimate
    return sum(spent) / clock.cpu


def badly_scaled(folder, epochs=(5, 10, 20, 40)):
    """Excess of the objective of raw dense columns with an intercept, ours and saga's."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    from sklearn_fw import AsagaClassifier
    from sklearn_fw.optim import SparseSaga

    X, y = load_data(folder)

    def objective(model):
        w, c = model.coef_.ravel(), model.intercept_[0]
        return np.logaddexp(0.0, -y * (X @ w + c)).mean() + 0.5 * w @ w / len(y)

    def ours(conditioning, n):
        solver = SparseSaga(conditioning=conditioning)
        return AsagaClassifier(tol=0, max_iter=n, solver=solver, random_state=0)

    def saga(n):
        return LogisticRegression(solver="saga", tol=1e-12, max_iter=n, random_state=0)

    best = quietly(AsagaClassifier(tol=0, max_iter=120, random_state=0).fit, X, y)
    rows = []
    for n in epochs:
        row = [n]
        for model in (ours("diagonal", n), ours(None, n), saga(n)):
            with Clock() as clock:
                quietly(model.fit, X, y)
            row += [objective(model) - objective(best), clock.cpu]
        rows.append(row)
    return {"rows": rows, "gap": best.dual_gap_, "optimum": float(objective(best))}


def delayed_epochs(folder, problem, delays=DELAYS, target=1e-6, max_epochs=200):
    """Epochs until (F - F*)/F* <= target in the emulator of asynchrony, for every delay.

    ``sklearn_fw.optim.simulate_async(X, y, alpha=, l1_ratio=, delay=, n_epochs=, tol=,
    random_state=)`` does the updates of ``AsagaClassifier(solver="asaga")`` in one thread, where
    every write becomes visible after a delay drawn from 1, ..., ``delay`` updates; 0 is the
    sequential method. It is called with growing ``n_epochs``, each time from zero. The iterations
    of delay 0 over those of another delay are the speed-up per iteration: 1 means that as many
    workers as the delay allows divide the time by their number.
    """
    from sklearn_fw.optim import simulate_async

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
            yield race(folder, problem, name, optimum, options.cap, options.cap)


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
                if data == "covtype_raw":
                    report_scaling(report, folder)
                else:
                    report_race(report, folder, data, problem, facts, options)
            if not options.only and not data.startswith("covtype"):
                report_ours(report, folder, data, options)
    if not (options.data or options.objective or options.only):
        report.section("Where it loses")
        for text in LOSES:
            report.text(text)


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
    if not options.only and data in GOALS:
        report.goals(*goals_of(problem, results, optimum, options.cap))


def goals_of(problem, results, optimum, cap, target=1e-6):
    """Ours against the others: ratios of seconds to a relative error of 1e-6.

    Who does not get there counts with the time that was granted, less than what is needed.
    """

    def seconds(name, clock="cpu"):
        """Of the fastest of the contenders with this in their name."""
        found = []
        for result in results:
            level, _ = result.first(target, optimum)
            if name in result.name and level is not None:
                found.append(result.runs[level][clock])
        return min(found, default=cap)

    one, two = seconds(OURS), seconds(OURS + ", 2", "wall")

    goals = [
        (f"CPU s to {target:.0e}, ours over {name}", one / seconds(name), 0.5, "<=")
        for name in ("scikit-learn saga", "lightning")
    ]
    if problem == "l2":
        other = seconds("cyanure", "wall")
        return [*goals, ("wall s, two threads over cyanure", two / other, 1.0, "<=")]
    fastest = min(seconds(result.name) for result in results if OURS not in result.name)
    return [*goals, ("CPU s, ours over the fastest of the others", one / fastest, 1.0, "<=")]


def report_scaling(report, folder):
    """Raw columns of very different size."""
    found = in_child(badly_scaled, folder)
    report.section("covtype, raw columns, ridge, with an intercept")
    report.text(
        f"Columns of one to seven thousand units beside columns of zeros and ones. Objective minus "
        f"its optimum {found['optimum']:.12f} (certified gap {found['gap']:.0e}), and CPU seconds: "
        'AsagaClassifier with conditioning="diagonal" (the default for dense X) and without, '
        'and LogisticRegression(solver="saga").'
    )
    report.table(
        ["epochs", "diagonal", "CPU s", "None", "CPU s", "saga", "CPU s"],
        [[str(n), *(f"{v:.2g}" for v in values)] for n, *values in found["rows"]],
    )


def report_ours(report, folder, data, options):
    """Threads, memory, recording and the price of delays."""
    speed = in_child(rates, folder, "elastic_net")
    numbers, allowed = in_child(memory, folder, "l2")
    share = in_child(recording, folder, "elastic_net")
    report.section(f"{data}: threads, memory, history")
    report.text(
        f"One thread makes {speed['one']:.2f} million updates per second (elastic net). Two make "
        f"{speed['two']:.2f} times as many; two fits of one thread each at the same time make "
        f"{speed['apart']:.2f} times as many together, which is what this machine has to give. "
        f"Memory of a fit beyond X: {numbers / 1e6:.2f} million numbers; 3 n + 6 d is "
        f"{allowed / 1e6:.2f} million. Rows of the history take {100 * share:.1f} % of the time."
    )
    report.goals(
        ("two threads, updates per second against one", speed["two"], 1.6, ">="),
        ("memory beyond X over 3 n + 6 d", numbers / allowed, 1.0, "<="),
        ("share of recording", share, 0.02, "<="),
    )
    epochs = in_child(delayed_epochs, folder, "l2")
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
