"""Exact inference beside pyAgrum and pgmpy, in the benchmark of marginals."""

import numpy as np
from _marginals_contenders import quietly
from _report import Clock, Repeats, in_child, shown

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
    from sklearn_fw.datasets import make_ising

    graph, size, coupling = GRAPHS[name]
    return make_ising(graph, size, coupling=coupling, random_state=0)


# ---- contenders: each answers log Z, p(x_i = 1) and CPU seconds ----------------------------------


def ours(mrf):
    from sklearn_fw.random_fields import ExactMarginals

    with Clock() as clock:
        exact = ExactMarginals().fit(mrf)
    return exact.log_partition_, exact.marginals_[:, 1], clock.cpu


def pyagrum(mrf):
    """Junction tree of Shafer and Shenoy; log Z from the probability of one labelling."""
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
    """Junction tree of Lauritzen and Spiegelhalter."""
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


# ---- the page ------------------------------------------------------------------------------------


def exact_inference(report, options):
    report.section("Exact inference")
    names = list(GRAPHS)[:2] if options.quick else list(GRAPHS)
    report.text(
        f"""All marginals of the same random fields: bucket elimination, and the junction trees of
        pyAgrum and pgmpy. CPU milliseconds of inference, with the search for an elimination order
        but without making the model, which each library has in a form of its own; medians of
        {REPEAT} runs, of {FEW} for pgmpy. "Differs" is the largest difference in log Z and
        marginals."""
    )
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
            report.text(f"{peer} is not installed here: not measured.")
    report.goals(
        ("CPU s over pyAgrum, largest", max(ratios, default=None), 1.0, "<="),
        ("largest difference in log Z and marginals", max(worst, default=None), AGREE, "<="),
    )
