"""Handwritten words: eight variants of block-coordinate Frank-Wolfe and the baselines."""

import functools
import itertools

import numpy as np
from _report import Clock, Repeats, in_child, main, medians, peak_memory, shown, timed
from _structured import METHODS, block_solver, fit

from sklearn_fw.datasets import load_ocr_letters
from sklearn_fw.metrics import mean_hamming_loss
from sklearn_fw.structured import (
    BlockFrankWolfe,
    ChainModel,
    FrankWolfe,
    StructuredSVM,
    Subgradient,
)

EFFECTIVE = (10, 20, 50, 100, 200)  # rows of the tables, in oracle calls per training word
EARLY = 18  # passes at which test errors are compared: 20 effective ones without a cache
RELATIVE_GAP = 0.01
QUICK = 300  # words
CALLERS = ("bcfw, uniform sampling", "bcpfw, gap sampling, cache", "cached")
LOSSES = {"hamming_sum": "raw Hamming loss", "hamming": "normalized Hamming loss"}
# Dual values of an independent implementation: raw loss, lam = 1/n, no start and end weights, each
# pass in a fresh random order.
DUALS = {11: 0.531, 31: 1.212, 61: 1.736}
ABOUT = """
The OCR letters of Kassel and Taskar are 6,877 words of 26 letters, with 128 binary pixels per
letter: 3,438 words for training (n) and 3,439 for the test. The model is a chain with start and end
weights and without a constant feature. All methods minimize the structured hinge loss, except the
perceptron.

An effective pass is n oracle calls, including those of exact gap passes. Certificates are exact and
computed after every nine passes. With a cache, passes cost fewer calls; a cell shows the last
certificate within the stated number of calls, and "--" means that the run has none there. CPU
seconds are those of ``fit``, without compilation. "To 1 %" is the first certificate with a gap of
at most 1 % of the dual value. Suboptimality is the primal value minus the best dual value of all
methods of the table, which is an upper bound. All numbers are medians over random orders of the
words, except those of fw, which is deterministic. Other settings are the defaults.
"""


def load(limit):
    """Training and test words; ``limit`` keeps the first ones only."""
    parts = load_ocr_letters(split="half", return_X_y=True)
    return [part[:limit] for part in parts]


def estimator(solver, loss, lam, n, max_iter, tol=0.0, seed=0, **model):
    return StructuredSVM(
        ChainModel(task_loss=loss, **model), solver=solver, C=1 / (lam * n), max_iter=max_iter,
        tol=tol, random_state=seed,
    )  # fmt: skip


def letter_error(estimator, X, y):
    return 100 * mean_hamming_loss(y, estimator.predict(X))


def frank_wolfe(limit, loss, lam, method, n_passes, seed):
    """One long run with its certificates, and the test error early and at the end."""
    X_train, y_train, X_test, y_test = load(limit)
    n = len(y_train)
    lam = lam or 1 / n

    def make(max_iter, averaging=False):
        if method == "fw":
            solver = FrankWolfe()
        else:
            solver = block_solver(method, averaging=averaging)
        return estimator(solver, loss, lam, n, max_iter, seed=seed)

    fit(make(1), X_train[:20], y_train[:20])
    long_run = make(n_passes)
    cpu = fit(long_run, X_train, y_train)
    history = long_run.history_
    result = {
        "effective": (history["n_oracle_calls"] / n).tolist(), "cpu": cpu,
        "primal": history["objective"].tolist(), "dual": history["dual_objective"].tolist(),
        "memory": peak_memory(), "error at the end": letter_error(long_run, X_test, y_test),
        "passes": long_run.n_iter_,
    }  # fmt: skip
    for averaging in (False, True)[: 1 if method == "fw" else 2]:
        short_run = make(min(EARLY, n_passes), averaging)
        fit(short_run, X_train, y_train)
        result["averaged error" if averaging else "error"] = letter_error(short_run, X_test, y_test)
    return result


def primal_method(limit, loss, lam, method, passes, seed):
    """Subgradient or perceptron: one fit per number of passes, as they have no certificates."""
    X_train, y_train, X_test, y_test = load(limit)
    n = len(y_train)
    lam = lam or 1 / n
    solver = functools.partial(Subgradient, perceptron=method == "perceptron")
    fit(estimator(solver(), loss, lam, n, 1), X_train[:20], y_train[:20])
    result = {"effective": list(passes), "cpu": [], "primal": [], "dual": None}
    for n_passes in passes:
        run = estimator(solver(), loss, lam, n, n_passes, seed=seed)
        result["cpu"].append(fit(run, X_train, y_train)[-1])
        result["primal"].append(run.objective_)
    result["memory"] = peak_memory()
    result["error at the end"] = letter_error(run, X_test, y_test)
    for averaging in (False, True):
        run = estimator(solver(averaging=averaging), loss, lam, n, EARLY, seed=seed)
        fit(run, X_train, y_train)
        result["averaged error" if averaging else "error"] = letter_error(run, X_test, y_test)
    return result


def pass_times(limit, sampling, n_passes=30):
    """CPU seconds of the parts of a run, taken from the inside."""
    X, y = load(limit)[:2]
    solver = BlockFrankWolfe(sampling=sampling)
    fit(estimator(solver, "hamming_sum", 1 / len(y), len(y), 1), X[:20], y[:20])
    run = estimator(solver, "hamming_sum", 1 / len(y), len(y), 1)
    with Clock() as setting_up:
        blocks, lam = run._make_blocks(X, y, None)
        method = run.solver_.start(blocks, lam=lam, tol=0.0, rng=np.random.RandomState(0))
    return {
        "setup": setting_up.cpu,
        "pass": float(timed(method.run_pass, n_passes)[1]),
        "sweep": float(timed(lambda: blocks.sweep(blocks.w), n_passes)[1]),
        "refresh": float(timed(blocks.refresh, n_passes)[1]),
        "gap pass": float(timed(method.certify, n_passes)[1]),
    }


def permuted_passes(limit, n_passes, seed):
    """Dual value and certified gap after passes in fresh random orders."""
    X, y = load(limit)[:2]
    solver = BlockFrankWolfe(sampling="shuffle", gap_check=n_passes)
    run = estimator(solver, "hamming_sum", 1 / len(y), len(y), n_passes, seed=seed, start_end=False)
    fit(run, X, y)
    return {"dual": run.dual_objective_, "gap": run.dual_gap_}


def calls_to(limit, loss, lam, solver, tol, max_iter, seed):
    """Oracle calls per word until the solver stops by itself, at ``tol`` of the objective."""
    X, y = load(limit)[:2]
    solver = {
        CALLERS[0]: BlockFrankWolfe(sampling="uniform"),
        CALLERS[1]: BlockFrankWolfe("pairwise", cache=True),
    }.get(solver, solver)
    run = estimator(solver, loss, lam, len(y), max_iter, tol, seed)
    fit(run, X, y)
    calls = run.n_oracle_calls_ / len(y)
    return {"calls": calls, "passes": run.n_iter_, "converged": run.converged_}


def start(options):
    """How many words are taken; skips at once when there are no data."""
    in_child(load, 1)
    return QUICK if options.quick else None


def passes(report, options):
    limit = start(options)
    report.section("Cost of one pass")
    report.text("""CPU milliseconds, medians of 30, raw Hamming loss, lam = 1/n. "Setup" is the work
        before the first pass (checks and packing); "pass" a pass of bcfw over n words, drawn
        uniformly or in a fresh random order; "sweep" one exact sweep of the oracle; "refresh" the
        recomputation of the weights from the dual variables. A gap pass consists of a sweep and a
        refresh.""")
    times = {
        sampling: medians([in_child(pass_times, limit, sampling) for _ in range(options.repeat)])
        for sampling in ("uniform", "shuffle")
    }
    report.records(
        "sampling", times,
        *((k, lambda t, k=k: 1e3 * t[k], ".1f")
          for k in ("setup", "pass", "sweep", "refresh", "gap pass")),
        ("sweep/pass", lambda t: t["sweep"] / t["pass"], ".2f"),
        ("gap/pass", lambda t: t["gap pass"] / t["pass"], ".2f"),
        ("pass/product", lambda t: t["pass"] / report.product, ".3f"),
    )  # fmt: skip
    t = times["uniform"]
    report.text(f"""With uniform sampling a pass takes {t["pass"] / t["gap pass"]:.2f} times the
        time of a gap pass, and {t["pass"] / t["sweep"]:.2f} times that of a sweep.""")


def duals(report, options):
    limit = start(options)
    report.section("Dual values by number of passes")
    report.text("""Raw Hamming loss, lam = 1/n, no start and end weights, every pass in a fresh
        random order, no intermediate gap passes; medians over random orders. The reference is an
        independent implementation of BCFW on the same words.""")
    found = {}
    for n_passes, expected in DUALS.items():
        runs = [in_child(permuted_passes, limit, n_passes, k) for k in range(options.repeat)]
        found[n_passes] = medians(runs) | {"reference": expected}
    report.records(
        "passes",
        found,
        ("dual value", "dual", ".4f"),
        ("reference", "reference"),
        ("certified gap", "gap", ".3f"),
    )
    report.goals(*(
        (f"difference to the reference after {n_passes} passes", abs(r["dual"] - r["reference"]),
         0.005, "<=")
        for n_passes, r in found.items()
    ))  # fmt: skip


def _name(loss, lam):
    name = LOSSES[loss]
    return f"{name[0].upper()}{name[1:]}, lam = {lam or '1/n'}"


def setting(loss, lam, report, options):
    limit = start(options)
    report.section(_name(loss, lam))
    # A pass with a cache costs fewer calls: more of them show the same range.
    n_passes, n_cached = (18, 36) if options.quick else (180, 720)
    marks = [e for e in EFFECTIVE if e <= 200 * n_passes // 180]

    def runs_of(function, method, budget):
        seeds = range(1 if method == "fw" else options.repeat)
        return [in_child(function, limit, loss, lam, method, budget, seed) for seed in seeds]

    results = {
        name: runs_of(frank_wolfe, name, n_cached if cache else n_passes)
        for name, (_, _, cache) in METHODS.items()
    }
    results["fw"] = runs_of(frank_wolfe, "fw", marks[-1])
    results["subgradient"] = runs_of(primal_method, "subgradient", marks)
    results["perceptron"] = runs_of(primal_method, "perceptron", marks[:2])
    every = [run for runs in results.values() for run in runs]
    optimum = max(max(run["dual"]) for run in every if run["dual"])
    best_primal = min(min(run["primal"]) for run in every)
    report.text(f"""The optimum is between {optimum:.5g} and {best_primal:.5g}. Duality gap by
        number of effective passes, and effective passes and CPU seconds to 1 %:""")
    report_gaps(report, results, optimum)
    report_errors(report, results)
    where_it_loses(report, results)
    if lam:
        report_calls(report, limit, loss, lam, options)
    report.lines(
        f"{_name(loss, lam)}: certified duality gap", "oracle calls per training word",
        "duality gap",
        {
            name: (run["effective"], [p - d for p, d in zip(run["primal"], run["dual"])])
            for name, (run, *_) in results.items() if run["dual"]
        },
        log="xy",
    )  # fmt: skip


def report_gaps(report, results, optimum):
    header = ["method", *EFFECTIVE]
    certified = {name: runs for name, runs in results.items() if runs[0]["dual"]}
    report.table(
        [*header, "calls/n to 1 %", "s to 1 %"],
        [
            [name, *(_at(runs, e, lambda r, k: r["primal"][k] - r["dual"][k]) for e in EFFECTIVE),
             *_to_relative_gap(runs)]
            for name, runs in certified.items()
        ],
    )  # fmt: skip
    report.text("Primal suboptimality by number of effective passes; passes, CPU seconds and peak "
                "memory of the run:")  # fmt: skip
    report.table(
        [*header, "passes", "s", "MB"],
        [
            [name, *(_at(runs, e, lambda r, k: r["primal"][k] - optimum) for e in EFFECTIVE),
             runs[0].get("passes", runs[0]["effective"][-1]),
             shown(Repeats(r["cpu"][-1] for r in runs), ".1f"),
             shown(Repeats(r["memory"] for r in runs), ".0f")]
            for name, runs in results.items()
            if name != "perceptron"
        ],
    )  # fmt: skip


def report_errors(report, results):
    report.text(f"""Letter errors on the test words, in percent: after {EARLY} passes, with the last
        and with averaged weights, and at the end of the run (last weights for Frank-Wolfe, averaged
        weights for the other two):""")
    report.records(
        "method",
        results,
        (f"last, {EARLY}", lambda runs: _median(runs, "error"), ".2f"),
        (f"averaged, {EARLY}", lambda runs: _median(runs, "averaged error"), ".2f"),
        ("end", lambda runs: _median(runs, "error at the end"), ".2f"),
    )


def where_it_loses(report, results):
    short = [m for m in METHODS if _to_relative_gap(results[m])[0] is None]
    averaged = {m: _median(r, "averaged error") for m, r in results.items() if m != "fw"}
    ends = {m: _median(r, "error at the end") for m, r in results.items()}
    early, late = min(averaged, key=averaged.get), min(ends, key=ends.get)
    ours = min(METHODS, key=averaged.get)
    reached = f"gap above 1 % at the end: {', '.join(short)}" if short else "all eight reach 1 %"
    title = report.blocks[0]["section"]
    report.loses(f"""{title}: {reached}. Lowest test error after {EARLY} averaged passes:
        {early} ({averaged[early]:.2f} %; of the eight {ours}, {averaged[ours]:.2f} %); at the end
        of the runs: {late} ({ends[late]:.2f} %).""")


def _median(runs, what):
    """`Repeats` of a number of the runs; None where they have none."""
    values = [run.get(what) for run in runs]
    return None if None in values else Repeats(values)


def _at(runs, effective, value):
    """Cell of the values at the last certificates within a number of effective passes."""
    values = []
    for run in runs:
        positions = run["effective"]
        seen = [k for k, position in enumerate(positions) if position <= effective + 1e-9]
        if not seen or positions[-1] < effective - 1:
            return None
        values.append(value(run, seen[-1]))
    return shown(Repeats(values), ".3g")


def _to_relative_gap(runs):
    """Cells of calls and CPU seconds to the first certificate of 1 %; None if a run has none."""
    found = []
    for run in runs:
        rows = zip(run["effective"], run["cpu"], run["primal"], run["dual"])
        found.append(next(
            ((calls, cpu) for calls, cpu, primal, dual in rows
             if primal - dual <= RELATIVE_GAP * dual), None,
        ))  # fmt: skip
    if None in found:
        return None, None
    calls, cpu = map(Repeats, zip(*found))
    return shown(calls, ".1f"), shown(cpu, ".2f")


def report_calls(report, limit, loss, lam, options):
    report.text(f"""Oracle calls until ``StructuredSVM`` stops, with ``tol`` of 1 % of the
        objective; medians over {options.repeat} random states. The settings of the solver
        "cached" (rarer gap passes, more cached vertices) were tuned on these words. The goal
        therefore uses the row before it, which has no such settings.""")
    rows, calls = [], {}
    for name in CALLERS:
        budget = RELATIVE_GAP, 100 if options.quick else 2000
        runs = [
            in_child(calls_to, limit, loss, lam, name, *budget, seed)
            for seed in range(options.repeat)
        ]
        r = medians(runs)
        calls[name] = r["calls"] if all(run["converged"] for run in runs) else None
        ended = "gap reached" if calls[name] is not None else "max_iter reached: a lower bound"
        rows.append([name, shown(r["calls"], ".1f"), shown(r["passes"], ".0f"), ended])
    report.table(["solver", "calls/n", "passes", "end"], rows)
    uniform, cached = calls[CALLERS[0]], calls[CALLERS[1]]
    share = None if None in (uniform, cached) else cached / uniform
    report.goals((f"calls, cache / uniform bcfw, {LOSSES[loss]}", share, 1 / 3, "<="))


if __name__ == "__main__":
    parts = {"passes": passes, "duals": duals} | {
        f"{loss}-{lam or '1-over-n'}".replace("_", "-"): functools.partial(setting, loss, lam)
        for lam, loss in itertools.product((1e-2, None), LOSSES)
    }
    raise SystemExit(main("ocr", "Handwritten words: OCR letters", ABOUT, parts))
