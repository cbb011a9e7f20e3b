"""CoNLL-2000 on Dask clusters: rounds, bytes and CPU seconds on one worker and on eight."""

import itertools

from _report import quietly, shown, timed

from cluster import cuts_of, on_cluster
from sklearn_fw.datasets import load_conll2000
from sklearn_fw.metrics import phrase_f1_score
from sklearn_fw.preprocessing import TokenFeatures
from sklearn_fw.structured import ChainModel, StructuredSVM

LAM = 1e-2
N_BLOCKS = 8
WORKERS = (1, 8)
MOST_SECONDS = 300.0  # of a fit


def sentences(limit):
    """Features and tags of the training sentences, and of those of the test."""
    X_train, y_train, X_test, y_test = (part[:limit] for part in load_conll2000(return_X_y=True))
    features = TokenFeatures("chunking", fields=("w", "pos"), bias=False)
    return features.fit_transform(X_train), y_train, features.transform(X_test), y_test


def fit_sentences(client, limit):
    """A fit on the cluster, and one in this process to the same gap where one worker works."""
    import dask

    X, y, X_test, y_test = sentences(limit)
    keep = dask.delayed(lambda values: values)
    inputs, outputs = (
        [keep(client.scatter(values[a:b].compact()))
         for a, b in itertools.pairwise(cuts_of(len(y), N_BLOCKS))]
        for values in (X, y)
    )  # fmt: skip
    model = StructuredSVM(
        ChainModel("hamming"), C=1 / (LAM * len(y)), max_iter=1, random_state=0,
        time_limit=MOST_SECONDS,
    )  # fmt: skip
    quietly(model.fit, inputs, outputs)  # compiles
    model.set_params(max_iter=10_000)
    start = client.cpu()
    quietly(model.fit, inputs, outputs)
    cpu, history = client.cpu() - start, model.history_
    found = {
        "cpu": cpu, "rounds": int(history["n_rounds"][-1]), "MB": history["n_bytes"][-1] / 1e6,
        "gap": model.dual_gap_ / abs(model.objective_), "end": model.status_,
        "f1": 100 * phrase_f1_score(y_test, model.predict(X_test)),
    }  # fmt: skip
    if len(client.nthreads()) == 1:
        quietly(model.fit, X[:20], y[:20])
        _, seconds = timed(lambda: quietly(model.fit, X, y), 1)
        f1 = 100 * phrase_f1_score(y_test, model.predict(X_test))
        found |= {"alone": float(seconds), "f1 alone": f1}
    return found


def on_workers(report, options):
    limit = 400 if options.quick else None
    report.section("On a Dask cluster")
    report.text(f"""The sentences in {N_BLOCKS} blocks on a cluster of processes of this machine,
        with one thread each, to the default tolerance (at most {MOST_SECONDS:g} s), one run each.
        CPU seconds are those of all workers and of the process that calls ``fit``. "In memory" is
        the default solver in one process.""")
    found = {f"{k} workers": on_cluster(k, fit_sentences, limit) for k in WORKERS}
    report.table(
        ["cluster", "rounds", "MB", "CPU s", "relative gap", "ended by", "F1",
         "in memory, CPU s", "F1"],
        [
            [name, r["rounds"], shown(r["MB"], ".0f"), shown(r["cpu"], ".0f"),
             shown(r["gap"], ".3f"), r["end"], shown(r["f1"], ".2f"),
             shown(r.get("alone"), ".1f"), shown(r.get("f1 alone"), ".2f")]
            for name, r in found.items()
        ],
    )  # fmt: skip
    few, many = (r["cpu"] / r["rounds"] for r in found.values())  # the time may end a fit
    report.goals(("CPU seconds per round, 8 workers / 1", many / few, 2.0, "<="))
