"""Larger graphs of the benchmark of marginals: wide grids and a restricted Boltzmann machine."""

import math

from _marginals_contenders import (
    GRIDS_10,
    OTHER,
    PAPER,
    RBM,
    mean,
    quietly,
)
from _report import Clock, in_child, medians, peak_memory, shown

NAMES_10 = (
    "TRW, first rho", "TRW, tuned rho", "TRW, tuned rho, approximate oracle",
    "TRW, local polytope", "TRBP, first rho", "TRBP, tuned rho", "loopy BP", "mean field",
    "perturb and MAP", "exact",
)  # fmt: skip
NAMES_RBM = (
    "TRW, first rho", "TRW, tuned rho", "TRBP, first rho", "loopy BP", "mean field",
    "perturb and MAP", "exact",
)  # fmt: skip
HEAD = ["method", "marginals", "bound", "estimate", "calls", "CPU s", "not converged"]
SHARE = 0.01  # of log Z: the gap to reach
# Couplings of wide grids: lowest and largest, and the share of log Z at which a run may end.
COUPLINGS = {
    "mixed": (4.0, False, SHARE),
    "attractive": (4.0, True, SHARE),
    "weak attractive": (1.0, True, SHARE / 2),  # a little beyond the certified gap to be reported
}


def known_fields(report, sets):
    """Sections of larger graphs; ``sets`` has what was measured where the truth is known."""
    for set_name, title, text, published in (
        ("grids_10x10", "Grids, 10 x 10",
         "Generated like the 5 x 5 grids; figures of the paper are those of 15 grids of its own.",
         GRIDS_10),
        ("rbm", "Restricted Boltzmann machine",
         """One generated machine with normal weights and fields; figures of others are those of
         another one, 20 + 20 with log Z = 134.77.""", RBM),
    ):  # fmt: skip
        report.section(title)
        report.text(f"Instances: {len(sets[set_name]['exact'])}. {text}")
        report.table(HEAD, list(summaries(sets[set_name], published)))


# ---- with a known truth --------------------------------------------------------------------------


def summaries(results, published):
    """Rows of numbers, each followed by the figures of others."""
    for name, rows in results.items():
        yield [
            name, *(
                shown(mean(rows, what), style)
                for what, style in (
                    ("error", "z.3f"), ("bound", "z.2f"), ("estimate", "z.2f"),
                    ("calls", ".1f"), ("cpu", ".3g"))
            ),
            f"{sum(not row['converged'] for row in rows)} of {len(rows)}",
        ]  # fmt: skip
        for source in (PAPER, OTHER):
            if (source, name) in published:
                error, bound, calls = published[source, name]
                estimate = None
                if "approximate" in name or name == "perturb and MAP":
                    bound, estimate = None, bound
                yield [f"... {source}", error, bound, estimate, calls, None, None]


# ---- without ------------------------------------------------------------------------------------


def grid(side, kind):
    from sklearn_fw.datasets import make_ising

    coupling, attractive, _ = COUPLINGS[kind]
    return make_ising(
        "grid", (side, side), coupling=coupling, attractive=attractive, random_state=0
    )


def frank_wolfe(side, kind):
    """TRW with first rho until the estimated gap is a share of the score of a good labelling.

    That score is at most log Z.
    """
    from sklearn_fw.inference import TRWS
    from sklearn_fw.random_fields import TRWMarginals

    quietly(TRWMarginals("trws", n_rho_iter=1).fit, grid(3, kind))
    mrf = grid(side, kind)
    unit = TRWS().argmax(mrf.scores())[1] + mrf.constant
    estimator = TRWMarginals("trws", n_rho_iter=1, tol=COUPLINGS[kind][-1] * unit)
    with Clock() as clock:
        quietly(estimator.fit, mrf)
    history = estimator.history_

    def first(gap, level):
        reached = (history[gap] <= level * unit).nonzero()[0]
        return (None, None) if len(reached) == 0 else (
            int(reached[0]) + 1, float(history["time"][reached[0]]))  # fmt: skip

    return {
        "memory": peak_memory(),
        "cpu": clock.cpu,
        "calls": estimator.n_oracle_calls_,
        "lower": estimator.log_partition_lower_,
        "estimate": estimator.log_partition_,
        "upper": estimator.log_partition_upper_,
        "gap": estimator.dual_gap_,
        "estimated gap": estimator.estimated_gap_,
        "to estimated": first("estimated_gap", SHARE),
        "to certified": first("dual_gap", SHARE),
    }


def message_passing(side, kind):
    from sklearn_fw.random_fields import TRBPMarginals

    quietly(TRBPMarginals().fit, grid(3, kind))
    mrf = grid(side, kind)
    estimator = TRBPMarginals()
    with Clock() as clock:
        quietly(estimator.fit, mrf)
    return {
        "memory": peak_memory(),
        "cpu": clock.cpu,
        "calls": estimator.n_iter_,
        "lower": estimator.log_partition_lower_,
        "estimate": estimator.log_partition_,
        "upper": estimator.log_partition_upper_,
    }


def wide_grids(report, options):
    sides = (12,) if options.quick else (30, 100)
    names = " and ".join(f"{side} x {side}" for side in sides)
    report.section(f"Grids, {names}")
    report.text(
        f"""No truth is known. Couplings are in [-4, 4] (mixed), [0, 4] (attractive) or [0, 1] (weak
        attractive). TRW has the first rho and ``oracle="trws"``, and ends when the estimated gap is
        {SHARE:.0%} of log Z, for weak couplings half of that; log Z is measured by the score of a
        good labelling, which is less. TRBP has the same rho. "Interval" is that of the certified
        bounds, relative to the estimate. CPU seconds are those of the whole fit, in which five
        small gaps in a row end a run whose oracle proves too little. "To estimated" and "to
        certified" are calls and wall seconds until that gap was first {SHARE:.0%}. The largest
        memory is that of the process."""
    )
    table, notes, goals = [], [], []
    for side in sides:
        for kind in COUPLINGS:
            ours, theirs = (
                medians([in_child(method, side, kind) for _ in range(options.repeat)])
                for method in (frank_wolfe, message_passing)
            )
            table += [
                large_row(f"{side} x {side}, {kind}: TRW", ours),
                large_row("... TRBP", theirs),
            ]
            notes.append(note(f"{side} x {side}, {kind}", ours, theirs))
            if side == sides[-1] and not kind.startswith("weak"):
                goals += [
                    (f"CPU s, {side} x {side}, {kind}", ours["cpu"], 60, "<="),
                    (f"largest memory in MB, {side} x {side}, {kind}", ours["memory"], 1000, "<="),
                ]
    report.table(
        ["graph and method", "lower", "estimate", "upper", "interval", "calls", "CPU s", "MB",
         "to estimated", "to certified"],
        table,
    )  # fmt: skip
    report.text(
        """What can be certified: the bound of a relaxed oracle is never better than the optimum
        over the local polytope, which TRBP finds for the same rho (nearly, where it does not
        converge)."""
    )
    report.bullets(*notes)
    report.goals(*goals)


def large_row(name, run):
    def point(found):
        return None if found is None or found[0] is None else f"{found[0]} / {found[1]:.2g} s"

    return [
        name, shown(run['lower'], ".1f"), shown(run['estimate'], ".1f"), shown(run['upper'], ".1f"),
        shown((run['upper'] - run['lower']) / run['estimate'], ".2%"), run["calls"],
        shown(run['cpu'], ".3g"),
        math.ceil(run["memory"]), point(run.get("to estimated")), point(run.get("to certified")),
    ]  # fmt: skip


def note(title, ours, theirs):
    """How far apart the certified gap, the estimated one, and the least possible are."""
    estimate = ours["estimate"]
    floor = theirs["upper"] - estimate
    return f"""{title}: at the end the certified gap is {ours["gap"]:.1f} nats
        ({ours["gap"] / estimate:.2%} of the estimate), the estimated one
        {ours["estimated gap"]:.1f}; the optimum over the local polytope is {floor:.1f} nats
        ({floor / estimate:.2%}) above the estimate."""
