"""Gaussian probabilities: errors, tails, error bars and seconds, and the classifiers."""

import functools

import numpy as np
from _gaussian_classifiers import bayes_points, classifiers
from _gaussian_problems import (
    by_lattice,
    by_separation,
    equal,
    lattice_in_time,
    many_kinds,
    random_box,
    random_polyhedron,
)
from _report import Clock, Repeats, in_child, main, shown, timed

from sklearn_fw.gaussian_probability import log_gaussian_probability, truncated_normal_moments

ABOUT = """
Probabilities of boxes and polyhedra under normal distributions. "EP" is expectation propagation as
published by Cunningham, Hennig and Lacoste-Julien (arXiv:1111.6832). The default of
``log_gaussian_probability`` is importance sampling about its fixed point. References are quadrature
for problems with a one-dimensional integral, Genz's lattice rule in SciPy, and separation of
variables in logarithms, implemented for this page, where SciPy returns zero.

Seconds are CPU seconds.
"""
CAP = 60.0  # seconds for scipy at its defaults
# Median relative errors of the logarithm of a prototype, by dimension, and the largest of all.
PLANNED = {
    "boxes": ({2: 1e-9, 3: 4e-7, 5: 4e-5, 10: 2e-4, 20: 1.4e-4}, 6e-3),
    "slabs": ({2: 5e-7, 3: 4e-4, 5: 1e-3, 10: 1e-3, 20: 4.5e-4}, 2.4e-2),
}
WITHIN = 3.0  # times these numbers: they were found on 60 cases each


def warm_up():
    log_gaussian_probability(-1.0, 1.0, cov=np.eye(2) + 0.1, method="sampled")


def judge_random(kind, n, p, n_cases):
    """Per case: relative errors of expectation propagation and the default, sweeps, seconds."""
    rng, rows = np.random.default_rng([n, p]), []
    warm_up()
    for _ in range(n_cases):
        low, high, cov = random_box(rng, n) if kind == "boxes" else random_polyhedron(rng, n, p)
        with Clock() as theirs:
            truth = by_lattice(low, high, cov, abseps=0.0, releps=1e-6, maxpts=50_000 * p)
        with Clock() as ours:
            result = log_gaussian_probability(low, high, cov=cov)
        values = result.log_prob_ep, result.log_prob
        errors = [abs(value - truth) / abs(truth) for value in values]
        rows.append([*errors, result.n_iter, theirs.cpu, ours.cpu])
    return np.array(rows)


HEAD = [
    "EP: median error", "EP: largest", "default: median error", "default: largest", "sweeps",
    "seconds of scipy", "seconds of the default",
]  # fmt: skip


def error_row(found):
    median, largest = np.median(found, axis=0), np.max(found, axis=0)
    numbers = [median[0], largest[0], median[1], largest[1]]
    return [
        *(shown(v, ".1e") for v in numbers), shown(median[2], ".0f"),
        shown(Repeats(found[:, 3]), ".2g"), shown(Repeats(found[:, 4]), ".2g"),
    ]  # fmt: skip


def published(report, options):
    for kind, (planned, worst) in PLANNED.items():
        found = {
            n: in_child(judge_random, kind, n, n, 10 if options.quick else 60 if n < 20 else 20)
            for n in planned
        }
        report.section(f"Random {kind}: relative error of the logarithm")
        report.table(["n", *HEAD], [[shown(n, "d"), *error_row(rows)] for n, rows in found.items()])
        ratio = max(np.median(rows[:, 0]) / max(planned[n], 1e-6) for n, rows in found.items())
        largest = max(rows[:, 0].max() for rows in found.values())
        sampled = max(rows[:, 1].max() for rows in found.values())
        report.goals(
            (f"{kind}: median error of EP / prototype", ratio, WITHIN, "<="),
            (f"{kind}: largest error of EP", largest, WITHIN * worst, "<="),
            (f"{kind}: largest error of the default", sampled, WITHIN * worst, "<="),
        )  # fmt: skip
    report.text(f"""Errors below 1e-6 are those of the reference, and count as 1e-6. Goals are
        {WITHIN:g} times the errors of a prototype of EP, also for the default method.""")
    found = {p: in_child(judge_random, "slabs", 10, p, 5 if options.quick else 30) for p in (
        2, 4, 8, 10, 12, 16, 20)}  # fmt: skip
    report.section("Slabs in ten dimensions")
    report.table(["slabs", *HEAD], [[shown(p, "d"), *error_row(rows)] for p, rows in found.items()])


CASES = (
    ("orthant", 0.0, "inf", 0.5), ("orthant", 0.0, "inf", 0.9), ("box", -1.0, 1.0, 0.9),
    ("tail", 3.0, "inf", 0.5),
)  # fmt: skip


def judge_equal(n, low, high, rho, repeat):
    warm_up()
    cov, high = equal(n, rho), float(high)
    truth = log_gaussian_probability(low, high, cov=cov, method="exact").log_prob
    row = {"truth": truth}
    for method in ("ep", "sampled"):
        ask = functools.partial(log_gaussian_probability, low, high, cov=cov, method=method)
        result, seconds = timed(ask, repeat)
        row[method] = (result.log_prob - truth, result.error, seconds)
    return row


def correlated(report, options):
    cap = 10.0 if options.quick else CAP
    rows, stated, off, slow = [], [], [], []
    for n in (20, 100) if options.quick else (20, 50, 100):
        for name, low, high, rho in CASES:
            found = in_child(judge_equal, n, low, high, rho, options.repeat)
            ends = np.full(n, low), np.full(n, float(high))
            value, seconds = lattice_in_time(*ends, equal(n, rho), cap)
            (ep, ep_error, ep_seconds), (ours, error, our_seconds) = found["ep"], found["sampled"]
            rows.append([
                f"{name}, correlation {rho:g}, n = {n}", shown(found["truth"], ".4f"),
                shown(ep, "+.1e"), shown(ep_error, ".1e"), shown(ep_seconds, ".2g"),
                shown(ours, "+.1e"), shown(error, ".1e"), shown(our_seconds, ".2g"),
                shown(None if value is None else value - found["truth"], "+.1e"),
                shown(seconds, ".2g"),
            ])  # fmt: skip
            stated.append(abs(ep) <= ep_error)
            if n == 100:
                off.append(abs(np.expm1(ours)))
                slow.append((float(ep_seconds), float(our_seconds)))
    report.section("Equal correlations: difference from quadrature")
    report.text(f"""Differences of the logarithm, and error estimates. SciPy runs with its defaults;
        "--" means more than {cap:g} seconds.""")
    report.table(
        ["problem", "log probability", "EP", "estimate", "seconds", "default", "estimate",
         "seconds", "SciPy", "seconds"],
        rows,
    )  # fmt: skip
    ep_slow, our_slow = np.max(slow, axis=0)
    report.goals(
        ("n = 100: seconds of EP with its error estimate", ep_slow, 0.05, "<="),
        ("n = 100: relative error of the sampled probability", max(off), 0.02, "<="),
        ("n = 100: seconds of the sampled probability", our_slow, 1.0, "<="),
        ("fraction of problems with a valid error estimate of EP", np.mean(stated), 1.0, ">="),
    )


def judge_tails(quick):
    """Rows: name, truth, EP and the default, down to log probabilities of -1e7."""
    rng, rows = np.random.default_rng(0), []
    for t in (10.0, 300.0, 4500.0):
        A = rng.normal(size=(1, 20))
        cov = equal(20, 0.3)
        bound = t * np.sqrt((A @ cov @ A.T).item())
        truth = float(truncated_normal_moments(t, np.inf)[0])
        options = {"cov": cov, "constraints": A, "method": "ep", "n_draws": 16}
        rows.append(("half-space", t, truth, log_gaussian_probability(bound, np.inf, **options)))
        sd = rng.uniform(0.5, 2.0, 3)
        truth = 3.0 * float(truncated_normal_moments(t, np.inf)[0])
        options = {"cov": np.diag(sd**2), "method": "ep", "n_draws": 16}
        rows.append(("independent", t, truth, log_gaussian_probability(t * sd, np.inf, **options)))
    for n, t in ((2, 400.0), (2, 4000.0), (5, 100.0), (5, 3000.0)):
        truth = log_gaussian_probability(t, np.inf, cov=equal(n, 0.5), method="exact").log_prob
        found = log_gaussian_probability(t, np.inf, cov=equal(n, 0.5), method="sampled")
        rows.append((f"correlation 1/2, n = {n}", t, truth, found))
    return [(name, t, truth, r.log_prob_ep, r.log_prob) for name, t, truth, r in rows]


def tails(report, options):
    rows = in_child(judge_tails, options.quick)
    report.section("Tail probabilities")
    report.table(
        ["region", "bound / deviation", "log probability", "EP: relative error", "relative error"],
        [
            [name, shown(t, "g"), shown(truth, ".2f"), shown(abs(ep / truth - 1.0), ".1e"),
             shown(abs(value / truth - 1.0), ".1e")]
            for name, t, truth, ep, value in rows
        ],
    )  # fmt: skip
    far = [row for row in rows if row[2] < -1e4]
    off = max(abs(value / truth - 1.0) for _, _, truth, _, value in far)
    report.goals(
        ("relative error of the logarithm beyond -10,000", off, 1e-9, "<="),
        ("smallest log probability", min(row[2] for row in rows), -1e7, "<="),
    )


def judge_bars(n_problems, largest, points, n_draws):
    """Per problem: kind, whether the interval covers the reference, errors of both, seconds."""
    warm_up()
    rows = []
    for i, (kind, low, high, cov) in enumerate(many_kinds(n_problems, largest)):
        truth, doubt = by_separation(low, high, cov, points=points, seed=i)
        with Clock() as clock:
            found = log_gaussian_probability(low, high, cov=cov, method="sampled", n_draws=n_draws)
        holds = abs(found.log_prob - truth) <= np.hypot(found.error, doubt)
        rows.append((kind, bool(holds), float(found.error), doubt, clock.cpu))
    return rows


def bars(report, options):
    n_problems = 60 if options.quick else 1000
    runs = {
        "n to 10, 1,024 draws": (n_problems, 10, 2**14, 1024),
        "n to 10, default": (n_problems // 2, 10, 2**16, None),
        "n to 50, default": (n_problems // 4, 50, 2**15, None),
    }  # fmt: skip
    shares = {}
    for name, run in runs.items():
        rows = in_child(judge_bars, *run)
        kinds = dict.fromkeys(kind for kind, *_ in rows)
        shares[name] = np.mean([holds for _, holds, *_ in rows])
        report.section(f"Coverage of the error intervals: {name}")
        report.records(
            "kind",
            {kind: list(zip(*(row for row in rows if row[0] == kind))) for kind in kinds},
            ("problems", lambda columns: len(columns[0])),
            ("coverage", lambda columns: np.mean(columns[1]), ".3f"),
            ("error", lambda columns: Repeats(columns[2]), ".1e"),
            ("error of the reference", lambda columns: Repeats(columns[3]), ".1e"),
            ("seconds", lambda columns: Repeats(columns[4]), ".2g"),
        )
    report.text("""The nominal coverage is 99 %. The reference has an interval of the same kind. A
        difference within the root of the sum of both squares counts as covered.""")
    report.goals(*((f"coverage, {name}", share, 0.93, ">=") for name, share in shares.items()))


if __name__ == "__main__":
    parts = {
        "published": published, "correlated": correlated, "tails": tails, "bars": bars,
        "classifiers": classifiers, "bayes_points": bayes_points,
    }  # fmt: skip
    raise SystemExit(main("gaussian_probability", "Gaussian probabilities", ABOUT, parts))
