"""Larger graphs of the benchmark of marginals: wide grids and a restricted Boltzmann machine."""

import math

import numpy as np
from _marginals_contenders import GRIDS_10, OTHER, PAPER, RBM, mean
from _report import Clock, Repeats, in_child, medians, peak_memory, quietly, shown

from sklearn_fw.datasets import make_ising
from sklearn_fw.inference import TRWS
from sklearn_fw.random_fields import ExactMarginals, TRBPMarginals, TRWMarginals

AGREE = 1e-9
REPEAT, FEW = 9, 3
OURS = "ExactMarginals"
GRAPHS = {
    "clique, 10": ("clique", 10, 4.0),
    "grid, 5 x 5": ("grid", (5, 5), 4.0),
    "grid, 10 x 10": ("grid", (10, 10), 4.0),
    "RBM, 14 + 14": ("bipartite", (14, 14), 1.0),
}
PGMPY_SKIPS = ("RBM, 14 + 14",)  # more than a minute


def graph(name):
    graph, size, coupling = GRAPHS[name]
    return make_ising(graph, size, coupling=coupling, random_state=0)


def ours(mrf):
    with Clock() as clock:
        exact = ExactMarginals().fit(mrf)
    return exact.log_partition_, exact.marginals_[:, 1], clock.cpu


def pyagrum(mrf):
    """Junction tree of Shafer and Shenoy; log Z from the probability of one labeling."""
    import pyagrum as gum

    model = gum.MarkovRandomField()
    for i, states in enumerate(mrf.n_states):
        model.add(gum.LabelizedVariable(f"v{i}", "", int(states)))
    for i, table in enumerate(mrf.unary):
        model.addFactor([i])[:] = np.exp(table)
    for (i, j), table in zip(mrf.edges.tolist(), mrf.pairwise, strict=True):
        factor = model.addFactor([i, j])
        # Axes of arrays are those of the factor in reverse order.
        table = table.T if factor.names[0] == f"v{i}" else table
        factor[:] = np.ascontiguousarray(np.exp(table))
    with Clock() as clock:
        inference = gum.ShaferShenoyMRFInference(model)
        inference.setNumberOfThreads(1)
        inference.makeInference()
        marginals = np.array([inference.posterior(i)[1] for i in range(mrf.n_variables)])
    labels = (marginals > 0.5).astype(int)
    inference = gum.ShaferShenoyMRFInference(model)
    inference.setEvidence({f"v{i}": int(label) for i, label in enumerate(labels)})
    inference.makeInference()
    log_p = np.log(inference.evidenceProbability())
    return float(mrf.score(labels[None])[0] - log_p), marginals, clock.cpu


def pgmpy(mrf):
    from pgmpy.factors.discrete import DiscreteFactor
    from pgmpy.inference import BeliefPropagation
    from pgmpy.models import DiscreteMarkovNetwork

    model = DiscreteMarkovNetwork()
    model.add_nodes_from(range(mrf.n_variables))
    model.add_edges_from(mrf.edges.tolist())
    model.add_factors(
        *(DiscreteFactor([i], [len(t)], np.exp(t)) for i, t in enumerate(mrf.unary)),
        *(
            DiscreteFactor(pair, t.shape, np.exp(t))
            for pair, t in zip(mrf.edges.tolist(), mrf.pairwise, strict=True)
        ),
    )
    with Clock() as clock:
        inference = BeliefPropagation(model)
        inference.calibrate()
        beliefs = inference.get_clique_beliefs()
        marginals = np.empty(mrf.n_variables)
        for clique, belief in beliefs.items():
            for i in clique:
                others = [j for j in clique if j != i]
                p = belief.marginalize(others, inplace=False).values
                marginals[i] = p[1] / p.sum()
    total = next(iter(beliefs.values())).values.sum()
    return float(np.log(total) + mrf.constant), marginals, clock.cpu


CONTENDERS = {OURS: ours, "pyAgrum": pyagrum, "pgmpy": pgmpy}


def measure_exact(name, graph_names, repeat):
    """For each graph log Z, marginals and CPU seconds; None if the package is not installed."""
    solve = CONTENDERS[name]
    found = {}
    try:
        quietly(solve, graph(graph_names[0]))  # compiles, and loads what is loaded late
    except ModuleNotFoundError:
        return None
    for graph_name in graph_names:
        mrf = graph(graph_name)
        runs = [quietly(solve, mrf) for _ in range(repeat)]
        found[graph_name] = *runs[0][:2], Repeats(seconds for *_, seconds in runs)
    return found


def exact_inference(report, options):
    report.section("Exact inference")
    names = list(GRAPHS)[:2] if options.quick else list(GRAPHS)
    report.text(f"""All marginals of the same random fields, by bucket elimination and by the
        junction trees of pyAgrum and pgmpy. CPU milliseconds of inference include the search for an
        elimination order, but not the construction of the model; medians of {REPEAT} runs, of {FEW}
        for pgmpy. "Differs" is the largest difference in log Z and marginals.""")
    truth = in_child(measure_exact, OURS, names, REPEAT)
    peers = {
        "pyAgrum": in_child(measure_exact, "pyAgrum", names, REPEAT),
        "pgmpy": in_child(measure_exact, "pgmpy", [n for n in names if n not in PGMPY_SKIPS], FEW),
    }
    table, worst, ratios = [], [], []
    for name, (log_partition, marginals, seconds) in truth.items():
        row = [name, shown(log_partition, ".9f"), shown(1e3 * seconds, ".3g")]
        for peer, answers in peers.items():
            if answers is None or name not in answers:
                row += [None, None]
                continue
            other, other_marginals, other_seconds = answers[name]
            worst.append(
                max(abs(other - log_partition), float(abs(other_marginals - marginals).max()))
            )
            row += [shown(1e3 * other_seconds, ".3g"), shown(worst[-1], ".0e")]
            if peer == "pyAgrum":
                ratios.append(seconds / other_seconds)
        table.append(row)
    report.table(
        ["graph", "log Z", "ours, ms", "pyAgrum, ms", "differs", "pgmpy, ms", "differs"], table
    )
    for peer in peers:
        if peers[peer] is None:
            report.text(f"{peer} was not installed and is not measured.")
    report.goals(
        ("CPU s / CPU s of pyAgrum, largest", max(ratios, default=None), 1.0, "<="),
        ("largest difference in log Z and marginals", max(worst, default=None), AGREE, "<="),
    )


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
    for set_name, title, text, published in (
        ("grids_10x10", "Grids, 10 x 10",
         "Generated like the 5 x 5 grids; values of the paper are those of 15 other grids.",
         GRIDS_10),
        ("rbm", "Restricted Boltzmann machine",
         """One generated machine with normal weights and fields; reference values are those of
         another machine, 20 + 20 with log Z = 134.77.""", RBM),
    ):  # fmt: skip
        report.section(title)
        report.text(f"Instances: {len(sets[set_name]['exact'])}. {text}")
        report.table(HEAD, list(summaries(sets[set_name], published)))


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
            not_converged(rows),
        ]  # fmt: skip
        for source in (PAPER, OTHER):
            if (source, name) in published:
                error, bound, calls = published[source, name]
                estimate = None
                if "approximate" in name or name == "perturb and MAP":
                    bound, estimate = None, bound
                yield [f"... {source}", error, bound, estimate, calls, None, None]


def not_converged(rows):
    return f"{sum(not row['converged'] for row in rows)} of {len(rows)}"


def grid(side, kind):
    coupling, attractive, _ = COUPLINGS[kind]
    return make_ising(
        "grid", (side, side), coupling=coupling, attractive=attractive, random_state=0
    )


def frank_wolfe(side, kind):
    """TRW with first rho until the estimated gap is a share of the score of a good labeling.

    That score is at most log Z.
    """
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

    return judged(estimator, clock) | {
        "gap": estimator.dual_gap_, "estimated gap": estimator.estimated_gap_,
        "to estimated": first("estimated_gap", SHARE), "to certified": first("dual_gap", SHARE),
    }  # fmt: skip


def judged(estimator, clock):
    return {
        "memory": peak_memory(), "cpu": clock.cpu, "lower": estimator.log_partition_lower_,
        "calls": getattr(estimator, "n_oracle_calls_", None) or estimator.n_iter_,
        "estimate": estimator.log_partition_, "upper": estimator.log_partition_upper_,
    }  # fmt: skip


def message_passing(side, kind):
    quietly(TRBPMarginals().fit, grid(3, kind))
    mrf = grid(side, kind)
    estimator = TRBPMarginals()
    with Clock() as clock:
        quietly(estimator.fit, mrf)
    return judged(estimator, clock)


def wide_grids(report, options):
    sides = (12,) if options.quick else (30, 100)
    names = " and ".join(f"{side} x {side}" for side in sides)
    report.section(f"Grids, {names}")
    report.text(f"""The exact values are unknown. Couplings are in [-4, 4] (mixed), [0, 4]
        (attractive) or [0, 1] (weak attractive). TRW uses the first rho and ``oracle="trws"``, and
        stops when the estimated gap is {SHARE:.0%} of log Z, half of that for weak couplings; log Z
        is approximated from below by the score of a good labeling. TRBP uses the same rho.
        "Interval" is the width of the certified interval, relative to the estimate. CPU seconds are
        those of the whole fit, which also stops after five small gaps in a row. "To estimated" and
        "to certified" are calls and wall seconds until that gap first was {SHARE:.0%}. Memory is
        the peak of the process.""")
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
                    (f"peak memory in MB, {side} x {side}, {kind}", ours["memory"], 1000, "<="),
                ]
    report.table(
        ["graph and method", "lower", "estimate", "upper", "interval", "calls", "CPU s", "MB",
         "to estimated", "to certified"],
        table,
    )  # fmt: skip
    report.text("""The bound of a relaxed oracle is never better than the optimum over the local
        polytope. TRBP computes this optimum for the same rho, approximately where it does not
        converge.""")
    report.bullets(*notes)
    report.goals(*goals)


def oracle_grid(coupling, attractive, seed):
    """A fit with ``oracle="approx"`` on a grid of 10 x 10 spins; log Z from elimination."""
    mrf = make_ising(
        "grid", (10, 10), coupling=coupling, attractive=attractive, random_state=seed
    )  # fmt: skip
    exact = ExactMarginals().fit(mrf)
    quietly(TRWMarginals("approx", max_iter=2).fit, mrf)
    with Clock() as clock:
        model = quietly(TRWMarginals("approx").fit, mrf)
    return {
        "cpu": clock.cpu, "calls": model.n_oracle_calls_,
        "excess": model.log_partition_upper_ - exact.log_partition_,
        "error": float(np.abs(model.marginals_ - exact.marginals_).mean()),
    }  # fmt: skip


def oracle_grids(report, options):
    kinds = {"mixed": False, "attractive": True}
    report.section("Grids, 10 x 10, by calls of an approximate oracle")
    report.text("""``TRWMarginals("approx")`` with couplings in [-t, t] or [0, t] and fields in
        [-1, 1]. "Above log Z" is the certified bound minus the exact value. Single fits, three
        grids of each kind.""")
    found = {
        (f"{kind}, t = {t:g}, grid {seed}"): in_child(oracle_grid, t, kinds[kind], seed)
        for kind in kinds for t in (1.0, 4.0) for seed in range(1 if options.quick else 3)
    }  # fmt: skip
    report.records(
        "grid", found, ("CPU s", "cpu", ".2f"), ("calls", "calls"),
        ("above log Z", "excess", ".3f"), ("error of marginals", "error", ".4f"),
    )  # fmt: skip
    report.goals(("CPU seconds of the slowest fit", max(r["cpu"] for r in found.values()), 5.0,
                  "<="))  # fmt: skip


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
    return f"""{title}: the final certified gap is {ours["gap"]:.1f} nats
        ({ours["gap"] / estimate:.2%} of the estimate), the estimated one
        {ours["estimated gap"]:.1f} nats. The optimum over the local polytope is {floor:.1f} nats
        ({floor / estimate:.2%}) above the estimate."""
