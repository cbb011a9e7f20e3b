"""Marginals and bounds on log Z: tree-reweighted Frank-Wolfe and what competes with it.

Needs the folders ``mrf/cliques`` and ``mrf/grids_5x5`` in the folder that SKLEARN_FW_DATA names.
Peers of exact inference, pyAgrum and pgmpy, are measured where they are installed.
"""

from _marginals_contenders import (
    CALLS_TO_ONE,
    CLIQUE_BOUNDS,
    CLIQUE_CALLS,
    CLIQUE_ERRORS,
    COUPLINGS,
    GRIDS,
    MAIN,
    OTHER,
    PAPER,
    UNCERTIFIED,
    instances,
    mean,
    measure,
    standard_error,
)
from _marginals_large import (
    HEAD,
    NAMES_10,
    NAMES_RBM,
    exact_inference,
    known_fields,
    not_converged,
    oracle_grids,
    summaries,
    wide_grids,
)
from _report import in_child, main, shown

ABOUT = """
Accuracy and cost of marginals and of bounds on log Z from ``TRWMarginals``, compared with other
methods. Estimators have default parameters unless the row names others: "first rho" keeps the
initial edge probabilities, "tuned rho" makes nine further steps, and "tuned longer" nineteen, to
smaller gaps (``n_rho_iter=20, tol=0.1``).

The error of marginals is the mean of abs(p(x_i = 1) - exact) over variables and instances. Rows
"paper" are values of Krishnan, Lacoste-Julien and Sontag (NIPS 2015), read from the figures there;
rows "independent" are values of another implementation of the same method on the same files.
"""
TUNED, FIRST, LONGER = "TRW, tuned rho", "TRW, first rho", "TRW, rho tuned longer"
LOOPY = "loopy BP"
WITHIN = 1.1  # of the reference, for errors
CALLS_WITHIN = 1.2


def cliques(report, results, generated):
    rows = results[TUNED]
    per_coupling = f"{len(generated) // len(COUPLINGS)} generated for each t"
    report.section("Cliques")
    report.text(f"""Complete graphs on 10 spins, fields in [-1, 1], couplings in [-t, t]:
        {len(rows)} of the 900 files of the paper, {len(rows) // len(COUPLINGS)} of the 100 for each
        t. The reference values are means over all 100.""")
    head = ["method", *(f"t = {t:g}" for t in COUPLINGS)]
    report.text("Error of marginals:")
    report.table(head, clique_rows(results, "error", CLIQUE_ERRORS, "z.3f"))
    report.text("""Error of log Z: certified upper bound minus log Z. For methods without a bound
        ("estimate"), it is the absolute error of the estimate:""")
    report.table(head, clique_rows(results, "bound", CLIQUE_BOUNDS, "z.2f"))
    report.text("Oracle calls; for message passing and mean field, passes:")
    report.table(head, clique_rows(results, "calls", CLIQUE_CALLS, ".1f"))
    report.text("CPU milliseconds per instance, and runs that did not converge:")
    report.table([*head, "not converged"], [
        [name, *(shown(1e3 * mean(results[name], "cpu", t), ".2g") for t in COUPLINGS),
         not_converged(results[name])]
        for name in MAIN
    ])  # fmt: skip
    goals = [
        *compare_with_reference(report, TUNED, "the files", rows),
        *compare_with_reference(report, TUNED, per_coupling, generated),
        *compare_with_reference(report, LONGER, "the files", results[LONGER]),
        *(
            (f"oracle calls / reference, {name}, largest over t",
             largest_ratio(results[name], "calls", CLIQUE_CALLS[OTHER, name]), CALLS_WITHIN, "<=")
            for name in (FIRST, TUNED)
        ),
        ("CPU s per clique, tuned rho", mean(rows, "cpu"), 0.15, "<="),
        ("error / error of loopy BP, largest over t >= 2",
         max(mean(rows, "error", t) / mean(results[LOOPY], "error", t)
             for t in COUPLINGS if t >= 2), 0.2, "<="),
    ]  # fmt: skip
    report.goals(*goals)


def clique_rows(results, what, published, style):
    """Rows of all contenders, each followed by the figures of others."""
    table = []
    for name in MAIN:
        kind, title = what, name
        if what == "bound" and mean(results[name], what) is None:
            kind, title = "estimate", f"{name} (estimate)"
        values = [mean(results[name], kind, t) for t in COUPLINGS]
        if what == "calls" and None in values:
            continue
        table.append([title, *(shown(value, style) for value in values)])
        for source in (PAPER, OTHER):
            if (source, name) in published:
                numbers = published[source, name]
                table.append([f"... {source}", *(shown(x, style) for x in numbers)])
    return table


def largest_ratio(rows, what, reference):
    return max(
        mean(rows, what, t) / other for t, other in zip(COUPLINGS, reference, strict=True)
    )  # fmt: skip


def compare_with_reference(report, name, title, rows):
    goals, table = [], []
    for what, label, published in (
        ("error", "error of marginals", CLIQUE_ERRORS),
        ("bound", "error of log Z", CLIQUE_BOUNDS),
    ):
        reference = published[OTHER, TUNED]
        pairs = list(zip(COUPLINGS, reference, strict=True))
        means = [mean(rows, what, t) for t in COUPLINGS]
        errors = [standard_error(rows, what, t) for t in COUPLINGS]
        table += [
            [label, *(shown(value, ".3f") for value in means)],
            ["... standard error", *(shown(value, ".3f") for value in errors)],
            ["... / independent", *(
                shown(value / other, ".2f")
                for value, (_, other) in zip(means, pairs, strict=True))],
            ["... difference in standard errors", *(
                shown((value - other) / error, "+.1f")
                for value, error, (_, other) in zip(means, errors, pairs, strict=True))],
        ]  # fmt: skip
        ratio = largest_ratio(rows, what, reference)
        goal = f"{label} / reference, {name}, {title}, largest over t"
        goals.append((goal, ratio, WITHIN, "<="))
    report.text(f"{name}, compared with the independent values of tuned rho, {title}:")
    report.table(["number", *(f"t = {t:g}" for t in COUPLINGS)], table)
    return goals


def grids(report, results):
    rows = results[TUNED]
    report.section("Grids, 5 x 5")
    report.text(f"""{len(rows)} of the 15 files of the paper: fields in [-1, 1], couplings in [-4,
        4]. The columns are error of marginals, certified upper bound minus log Z, absolute error of
        the estimate, oracle calls (passes), CPU seconds per instance, and runs that did not
        converge. Reference values for log Z are errors of the bound, but errors of the estimate for
        the approximate oracle and for perturb and MAP.""")
    report.table(HEAD, list(summaries({name: results[name] for name in MAIN}, GRIDS)))
    error, _, calls = GRIDS[OTHER, TUNED]
    report.goals(
        ("error of marginals / reference, tuned rho", mean(rows, "error") / error, WITHIN, "<="),
        ("oracle calls / reference, tuned rho", mean(rows, "calls") / calls,
         CALLS_WITHIN, "<="),
        ("CPU s per grid, tuned rho", mean(rows, "cpu"), 0.3, "<="),
        *(
            (f"error / error of loopy BP, {name}",
             mean(results[name], "error") / mean(results[LOOPY], "error"), 0.2, "<=")
            for name in (TUNED, LONGER)
        ),
    )  # fmt: skip


def calls_to_one(report, grids, cliques):
    report.section("Oracle calls to a gap of one nat")
    report.text("""First rho, ``tol=1``; means over all instances. Without contraction the gap is an
        estimate. "Log Z" is the error of the bound, or of the estimate where there is no bound.""")
    table, goals = [], []
    for name, published in CALLS_TO_ONE.items():
        paper, other = published[PAPER], published[OTHER]
        row = [name]
        for place, (title, results) in enumerate([("grids", grids), ("cliques", cliques)]):
            rows = results[name]
            calls = mean(rows, "calls")
            row += [
                shown(calls, ".1f"), paper[place], other[place],
                shown(mean(rows, "error"), "z.3f"),
                shown(mean(rows, "bound") or mean(rows, "estimate"), "z.2f"),
            ]  # fmt: skip
            goal = f"calls / reference, {name}, {title}"
            goals.append((goal, calls / other[place], CALLS_WITHIN, "<="))
        table.append(row)
    report.table(
        ["variant", "grids", PAPER, OTHER, "marginals", "log Z", "cliques", PAPER, OTHER,
         "marginals", "log Z"],
        table,
    )  # fmt: skip
    report.goals(*goals)


def certification(report, results):
    report.section("Certification")
    report.text("""All runs on all files of cliques and 5 x 5 grids: number of finite upper and
        lower bounds on log Z, number of valid ones, smallest distance to the exact value, and
        number of converged runs. For TRW, convergence means a certified gap of at most tol.""")
    table, broken, claims = [], 0, 0
    for name, rows in results.items():
        row = [name, len(rows)]
        for side in ("upper slack", "lower slack"):
            slack = [run[side] for run in rows if abs(run[side]) < float("inf")]
            wrong = sum(value < -1e-9 for value in slack)
            broken += wrong
            row += [len(slack), len(slack) - wrong, shown(min(slack), ".1e") if slack else None]
        converged = sum(run["converged"] for run in rows)
        table.append([*row, converged])
        if name in UNCERTIFIED:
            claims += row[2] + ("TRW" in name or "contraction" in name) * converged
    report.table(
        ["method", "runs", "upper", "valid", "slack", "lower", "valid", "slack", "converged"], table
    )
    report.goals(
        ("invalid bounds", broken, 0, "<="),
        ("certificates of methods without one", claims, 0, "<="),
    )


def truth(report, results):
    exact = results["exact"]
    report.text(f"""``ExactMarginals`` and the files differ by at most
        {max(row["largest error"] for row in exact):.1e} in a marginal and
        {max(row["estimate"] for row in exact):.1e} in log Z; the files have six digits.""")


def loses(report, sets):
    def number(set_name, name, what, coupling=None):
        return mean(sets[set_name][name], what, coupling)

    def ahead(rival, name, set_name, what, text, coupling=None):
        """Report a loss where the rival has the smaller number."""
        theirs, ours = (number(set_name, who, what, coupling) for who in (rival, name))
        if theirs < ours:
            report.loses(text.format(theirs=theirs, ours=ours))

    grids, weak = "grids_5x5", COUPLINGS[0]
    ahead("exact", TUNED, grids, "cpu",
          "Graphs of small width: ``ExactMarginals`` takes {theirs:.2g} s for a 5 x 5 grid, TRW "
          "with tuned rho {ours:.2g} s.")  # fmt: skip
    ahead(LOOPY, TUNED, "cliques", "error",
          f"Weak couplings: on cliques with t = {weak} the mean error of loopy BP is "
          "{theirs:.3f}, that of TRW {ours:.3f}.", weak)  # fmt: skip
    for rival in (LOOPY, "mean field"):
        ahead(rival, TUNED, "rbm", "error",
              f"Restricted Boltzmann machine: the mean error of {rival} is {{theirs:.3f}}, that "
              "of TRW {ours:.3f}.")  # fmt: skip
    ahead("perturb and MAP", FIRST, grids, "error",
          "Marginals without a bound: on 5 x 5 grids the mean error of perturb and MAP is "
          "{theirs:.3f}, that of TRW with first rho {ours:.3f}.")  # fmt: skip
    ahead("TRW, local polytope, tuned rho", "TRW, tuned rho, approximate oracle", grids, "bound",
          "Without an exact oracle: on 5 x 5 grids the certified bound is {ours:.1f} nats above "
          "log Z, that of the local polytope {theirs:.1f} nats.")  # fmt: skip


def fields(report, options):
    for name in ("cliques", "grids_5x5"):
        instances(name=name, quick=True)
    quick = options.quick
    sets = {}
    for name in dict.fromkeys([*MAIN, *CALLS_TO_ONE, *UNCERTIFIED]):
        names = ["cliques", "grids_5x5"]
        names += ["grids_10x10"] if name in NAMES_10 else []
        names += ["rbm"] if name in NAMES_RBM else []
        for set_name, rows in in_child(measure, name, names, quick, options.repeat).items():
            sets.setdefault(set_name, {})[name] = rows
    on_cliques, on_grids = sets["cliques"], sets["grids_5x5"]
    fresh = "generated cliques"
    generated = in_child(measure, TUNED, [fresh], quick, 1)[fresh]
    cliques(report, on_cliques, generated)
    grids(report, on_grids)
    calls_to_one(report, on_grids, on_cliques)
    both = {name: on_cliques[name] + on_grids[name] for name in on_grids}
    certification(report, both)
    truth(report, both)
    known_fields(report, sets)
    loses(report, sets)
    report.lines(
        "Cliques of 10 spins: error of marginals", "largest coupling t", "mean error",
        {name: (COUPLINGS, [mean(on_cliques[name], "error", t) for t in COUPLINGS])
         for name in MAIN if name != "exact"},
        log="y",
    )  # fmt: skip


if __name__ == "__main__":
    parts = {
        "fields": fields, "wide": wide_grids, "oracle": oracle_grids, "exact": exact_inference,
    }  # fmt: skip
    raise SystemExit(main("marginals", "Marginals and bounds on log Z", ABOUT, parts,
                          peers=("pyagrum", "pgmpy")))  # fmt: skip
