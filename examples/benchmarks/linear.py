"""Linear models: logistic regression with ridge and elastic net, to high accuracy."""

import tempfile
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from unittest.mock import patch

import _linear_problems
import _linear_speed
import numpy as np
from _linear_contenders import CONTENDERS, asaga_model
from _linear_problems import load_data
from _linear_race import NOT_RUN, TARGETS, race
from _linear_speed import objective_of
from _report import Clock, Repeats, in_child, main, shown

from sklearn_fw.optim._incremental import _saga

CAP = 10.0  # wall seconds of all runs of a contender
RACES = [
    (data, problem)
    for data in ("generator", "20news", "a9a", "covtype")
    for problem in ("l2", "elastic_net")
]
# Data with fewer contenders, and goals of our seconds over those of some.
SPEED = {
    ("w8a", "l2"): {"liblinear primal": 1.0}, ("w8a", "l1"): {"liblinear l1": 1.0, "adelie": 1.0},
    ("texts", "l1"): {"liblinear l1": 1.0, "adelie": 1.0}, ("flights", "l2"): {"cyanure": 0.9},
    ("half-dense", "l2"): {"liblinear dual": 1.0},
}  # fmt: skip
LEFT_OUT = (
    "AsagaClassifier,", "scikit-learn saga", "scikit-learn newton-cg", "lightning", "copt",
    "cyanure qning",
)  # fmt: skip
INSIDE = ("generator", "20news", "a9a")
GOAL = 1e-6  # relative error at which contenders are compared
OURS = "AsagaClassifier"
OBJECTIVE_TEXTS = {
    "l2": "ridge, alpha = 1/n",
    "elastic_net": "elastic net, l1_ratio = 0.5, alpha = 1/n",
    "l1": "l1, alpha = 1/n",
}
ABOUT = """
Logistic regression without intercept, F(w) = mean log(1 + exp(-y <w, x>)) + alpha (l1_ratio
||w||_1 + (1 - l1_ratio)/2 ||w||^2) with alpha = 1/n unless stated. All contenders minimize this
function; ``_linear_contenders.py`` lists the settings of each peer. One function computes F in
float64, outside of the measured time, and compares it with the optimum F*. F* is the smallest value
of all contenders and of a reference run, certified by a duality gap.

Every number is the time of a new run from zero. Budgets grow, iterations by a factor of two or
tolerances by ten, until (F - F*)/F* is at most 1e-9. Bisection between the last budget that fails a
target and the first that reaches it stops at a factor of 1.2 (iterations) or 1.8 (tolerance). The
first runs that reach a target are repeated; shown is the median of three. Data are converted to the
format of the contender before the measured time ("prepare"), and everything is compiled on a tiny
problem. copt compiles in every call; this time is measured on two rows and subtracted. A contender
has 10 wall seconds for all its runs except the repeated ones; ``--`` means not reached. The row
"AsagaClassifier" uses the solver chosen by default, and the goals refer to it.
"""


def reference(folder, problem):
    """The optimum, with a duality gap that is computed from the weights alone."""
    X, y = load_data(folder)
    objective = objective_of(problem, len(y))
    few = X.shape[1] <= 2000
    if few or not objective.l2:
        solver = "newton"
    else:
        solver = "sdca" if objective.l1 else "newton_cg"
    w = asaga_model((X, y), objective, 1000, solver=solver, tol=1e-14).coef_.ravel()
    return {
        "F": objective.value(X, y, w), "gap": objective.dual_gap(X, y, w),
        "nonzeros": int(np.count_nonzero(w)),
    }  # fmt: skip


def rates(folder, problem, n_epochs=5, repeats=9):
    """Updates per second of one thread and of two, and what two threads could do at most.

    The ceiling is that of two fits of one thread each at the same time, on data they share. The
    three are measured in turn, because the speed of a machine drifts; medians of ``repeats``.
    """
    X, y = load_data(folder)
    objective = objective_of(problem, len(y))

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
            found["apart"].append(sum(pool.map(seconds, [1, 1])) / 2)
    return {
        "one": Repeats(len(y) / seconds / 1e6 for seconds in found["one"]),
        "two": Repeats(a / b for a, b in zip(found["one"], found["two"], strict=True)),
        "apart": Repeats(2 * a / b for a, b in zip(found["one"], found["apart"], strict=True)),
    }


def memory(folder, problem):
    """Largest memory of a fit beyond the data, in numbers of 8 bytes, and 3 n + 6 d."""
    X, y = load_data(folder)
    objective = objective_of(problem, len(y))
    asaga_model((X, y), objective, 1)
    tracemalloc.start()
    asaga_model((X, y), objective, 3)
    return tracemalloc.get_traced_memory()[1] / 8, 3 * X.shape[0] + 6 * X.shape[1]


def recording(folder, problem, n_epochs=10):
    """Share of the time of a fit that goes into rows of the history."""
    X, y = load_data(folder)
    objective = objective_of(problem, len(y))
    spent, estimate = [], _saga.SagaRun._estimate

    def timed(run, concave):
        with Clock() as clock:
            row = estimate(run, concave)
        spent.append(clock.cpu)
        return row

    asaga_model((X, y), objective, 1)
    with patch.object(_saga.SagaRun, "_estimate", timed), Clock() as clock:
        asaga_model((X, y), objective, n_epochs)
    return sum(spent) / clock.cpu


def part(show, data, *problem):
    def run(report, options):
        with tempfile.TemporaryDirectory() as folder:
            source = _linear_speed if data in _linear_speed.TEXTS else _linear_problems
            facts = in_child(source.save_data, data, options.quick, folder)
            show(data, *problem, report, folder, facts, options)

    return run


def described(data, facts):
    text = (_linear_problems.TEXTS | _linear_speed.TEXTS)[data]
    return (
        f"{text[0].upper()}{text[1:]}. {facts['n']:,} x {facts['d']:,}, "
        f"{facts['per row']:.1f} non-zeros per row, {100 * facts['positive']:.1f} % positive, "
        f"largest row norm {facts['largest norm']:.4g}, most frequent column in "
        f"{100 * facts['largest column']:.1f} % of the rows."
    )


def report_race(data, problem, report, folder, facts, options):
    best = in_child(reference, folder, problem)
    objective = objective_of(problem, facts["n"])
    cap = CAP / 10 if options.quick else CAP
    results = [
        race(folder, problem, name, best["F"], cap, cap)
        for name, contender in CONTENDERS.items()
        if contender.takes(objective, facts["d"])
        and not ((data, problem) in SPEED and name.startswith(LEFT_OUT))
    ]
    found = [run["F"] for result in results for run in result.runs.values()]
    optimum = min([best["F"], *found])
    report.section(f"{data}: {OBJECTIVE_TEXTS[problem]}")
    report.text(described(data, facts))
    report.text(f"""F* = {optimum:.15g}, duality gap {max(best["gap"], 0.0):.1g} at the reference,
        {best["nonzeros"]:,} non-zero weights. CPU seconds to (F - F*)/F* (two threads: wall
        seconds), budget of the last of these runs, and the lowest value reached.""")
    report.table(
        ["contender", *(f"{t:.0e}".replace("e-0", "e-") for t in TARGETS), "budget", "lowest",
         "prepare", "note"],
        [result_row(result, optimum) for result in results],
    )  # fmt: skip
    report.goals(*goals_of(data, problem, results, optimum))
    seconds = {result.name: seconds_of(result, optimum) for result in results}
    report_loses(report, f"{data}, {OBJECTIVE_TEXTS[problem]}", seconds)
    report.keep(**{
        "seconds_to_1e-6": {name: s and float(s) for name, s in seconds.items()},
        "runs": {
            result.name: [
                {key: list(run[key].values) if key in ("cpu", "wall") else run[key] for key in run}
                for _, run in sorted(result.runs.items())
            ] for result in results
        },
    })  # fmt: skip
    report.lines(
        f"{data}, {OBJECTIVE_TEXTS[problem]}", "CPU seconds of a run from zero",
        "(F - F*) / F*", {result.name: curve(result, optimum) for result in results if result.runs},
        log="xy", limit=GOAL,
    )  # fmt: skip


def curve(result, optimum):
    """CPU seconds and relative suboptimality of all runs that are above the optimum."""
    points = sorted(
        (float(run["cpu"]), result.relative(level, optimum)) for level, run in result.runs.items()
    )
    points = [point for point in points if 1e-15 < point[1] < 10.0 and point[0] > 0.0]
    return tuple(zip(*points)) or ((), ())


def seconds_of(result, optimum, target=GOAL):
    """Seconds to the target, of CPU or with two threads of the clock; None if not reached."""
    level, _ = result.first(target, optimum)
    clock = "wall" if CONTENDERS[result.name].threads > 1 else "cpu"
    return None if level is None else result.runs[level][clock]


def report_loses(report, title, seconds):
    ours = seconds[OURS]
    ahead = {
        name: s for name, s in seconds.items()
        if OURS not in name and s is not None and (ours is None or s < ours)
    }  # fmt: skip
    if not ahead:
        return
    others = ", ".join(f"{name} {s:.2g}" for name, s in sorted(ahead.items(), key=lambda x: x[1]))
    own = f"does not reach {GOAL:.0e}" if ours is None else f"takes {ours:.2g} s to {GOAL:.0e}"
    report.loses(f"{title}: {OURS} {own}. Faster, in CPU seconds: {others}.")


def goals_of(data, problem, results, optimum):
    """Ours against the others: ratios of seconds to a relative error of 1e-6."""

    def seconds(name, clock="cpu", without=None, target=GOAL):
        """Of the fastest of the contenders whose names begin with this, and not ``without``."""
        found = []
        for result in results:
            level, _ = result.first(target, optimum)
            wanted = result.name.startswith(name) and not (without and without in result.name)
            if wanted and level is not None:
                found.append(result.runs[level][clock])
        return min(found, default=None)

    def goal(what, ours, name, limit, clock="cpu", target=GOAL):
        """A ratio; a bound on it where only one side got there in time."""
        theirs = seconds(name, clock, OURS, target)
        if all(
            result.note.startswith(NOT_RUN) for result in results if result.name.startswith(name)
        ):
            return f"{what} (which is not installed)", None, limit, "<="
        if ours is None and theirs is not None:
            return f"{what} (not reached in {CAP:g} s: at least)", CAP / theirs, limit, "<="
        if ours is not None and theirs is None:
            return f"{what} (peer not in {CAP:g} s: at most)", ours / CAP, limit, "<="
        return what, None if ours is None else ours / theirs, limit, "<="

    if (data, problem) in SPEED:
        return [
            goal(f"CPU s to {target:.0e}, {OURS} / {name}", seconds(OURS, target=target), name,
                 limit, target=target)
            for name, limit in SPEED[data, problem].items() for target in TARGETS[:2]
        ]  # fmt: skip
    one, two = seconds(OURS, without=","), seconds(f"{OURS}, asaga, 2", "wall")
    goals = [
        goal(f"CPU s to {GOAL:.0e}, {OURS} / {name}", one, name, 0.5)
        for name in ("scikit-learn saga", "lightning")
    ]
    if problem == "l2":
        return [*goals, goal("wall s, two threads / cyanure", two, "cyanure", 1.0, "wall")]
    return [*goals, goal(f"CPU s, {OURS} / fastest peer", one, "", 1.0)]


def report_ours(data, report, folder, facts, options):
    speed = in_child(rates, folder, "elastic_net")
    numbers, allowed = in_child(memory, folder, "l2")
    share = Repeats(in_child(recording, folder, "elastic_net") for _ in range(options.repeat))
    report.section(f"{data}: threads, memory, history")
    report.text(f"""One thread makes {speed["one"]:.2f} million updates per second (elastic net),
        two threads {speed["two"]:.2f} times as many. Two simultaneous fits with one thread each
        make {speed["apart"]:.2f} times as many together, which is the limit of this machine. A fit
        allocates {numbers / 1e6:.2f} million numbers in addition to X; 3 n + 6 d is
        {allowed / 1e6:.2f} million. The history takes {100 * share:.1f} % of the time.""")
    report.goals(
        ("updates per second, two threads / one", speed["two"], 1.6, ">="),
        ("memory in addition to X / (3 n + 6 d)", numbers / allowed, 1.0, "<="),
        ("fraction of time for the history", share, 0.02, "<="),
    )
    report.loses(f"""{data}: two threads make {speed["two"]:.2f} times as many updates as one, and a
        fit allocates {numbers / allowed:.2f} times 3 n + 6 d numbers in addition to X.""")


def result_row(result, optimum):
    """Times to the targets, budget of the last one, lowest value, and a note."""
    cells, budget = [], None
    for target in TARGETS:
        level, _ = result.first(target, optimum)
        cells.append(shown(seconds_of(result, optimum, target), ".3g"))
        budget = budget if level is None else result.runs[level]["budget"]
    lowest = min((result.relative(level, optimum) for level in result.runs), default=None)
    return [
        result.name, *cells, shown(budget, ".3g"),
        shown(None if lowest is None else max(lowest, 0.0), ".0e"), shown(result.preparing, ".2g"),
        result.note,
    ]  # fmt: skip


if __name__ == "__main__":
    parts = {
        f"{data}-{problem}".replace("_", "-"): part(report_race, data, problem)
        for data, problem in (*RACES, *SPEED)
    }
    parts |= {f"{data}-inside": part(report_ours, data) for data in INSIDE}
    peers = dict.fromkeys(c.package for c in CONTENDERS.values() if c.package)
    peers.pop("scikit-learn")
    raise SystemExit(main("linear", "Linear models", ABOUT, parts, peers=list(peers)))
