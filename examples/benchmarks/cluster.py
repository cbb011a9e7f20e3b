"""Fits on Dask clusters: rounds, bytes and CPU seconds by number of workers, beside dask-ml."""

import contextlib
import itertools
import logging
import os
import signal
import time

import numpy as np
from _linear_problems import make_data, make_objective
from _report import in_child, main, medians, peak_memory, quietly, shown, timed

from sklearn_fw import AsagaClassifier, DiscreteICA, StructuredSVM
from sklearn_fw.datasets import load_ocr_letters

ABOUT = """
All clusters are processes of one machine with two processors, connected by TCP on the loopback
interface, one thread each. So CPU seconds, rounds and bytes are measured; wall seconds of real
clusters are only projected from them.

CPU seconds are those of all workers and of the process that calls ``fit``, without start-up. Bytes
are those of arrays that go to the blocks and come back, as ``history_`` counts them: vectors below
16 kB, which travel within the messages, are counted on the way back only.
"""
WORKERS = (1, 2, 4, 8)
N_BLOCKS = 16
TOLERANCES = (1e-2, 1e-3)
TABLES = ("a9a", "covtype", "generator")
MADE_ROWS, MADE_BLOCKS = 400_000, 16  # of the generator, made by the workers
MANY_ROWS, MANY_BLOCKS, LIMIT = 10_000_000, 64, 2_000  # LIMIT: MB that a worker may use
DOCUMENTS, VOCABULARY, LENGTH, TOPICS = 1_000_000, 2_000, 30, 10
PROJECTED = (1, 4, 16, 64, 128)
LATENCY = 1e-3  # seconds of a message


@contextlib.contextmanager
def cluster(n_workers, memory_limit="auto"):
    """Client of a cluster of processes; its ``cpu()`` is the CPU time so far of all of them."""
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address=":0",
            memory_limit=memory_limit,
        ) as local,  # fmt: skip
        distributed.Client(local) as client,
    ):
        client.cpu = lambda: time.process_time() + sum(client.run(time.process_time).values())
        yield client


def cuts_of(n_rows, n_blocks):
    return np.linspace(0, n_rows, n_blocks + 1).astype(int)


def table(client, name, quick):
    """Dask arrays of rows and labels that the workers hold, and the strength of the ridge."""
    import dask
    import distributed

    if name == "generator":
        X, y = generated(quick)
    else:
        X, y = make_data(name, quick)
        cuts = cuts_of(X.shape[0], N_BLOCKS)
        keep = dask.delayed(lambda X, y: (X, y), nout=2)
        made = [
            keep(*client.scatter([X[first:last], y[first:last]]))
            for first, last in itertools.pairwise(cuts)
        ]
        X, y = arrays_of(made, np.diff(cuts).tolist(), X.shape[1])
    X, y = client.persist([X, y])
    distributed.wait([X, y])
    return X, y, 1.0 / X.shape[0]


def arrays_of(made, sizes, n_columns):
    """Dask arrays of delayed pairs of rows and labels."""
    import dask.array as da

    pairs = list(zip(made, sizes, strict=True))
    X = [da.from_delayed(pair[0], (size, n_columns), float) for pair, size in pairs]
    y = [da.from_delayed(pair[1], (size,), float) for pair, size in pairs]
    return da.concatenate(X), da.concatenate(y)


def generated(quick, n_rows=MADE_ROWS, n_blocks=MADE_BLOCKS):
    """Dask arrays of the generator, which workers make when they are asked for."""
    import dask

    size = (2_000 if quick else n_rows) // n_blocks
    made = [dask.delayed(made_rows, nout=2)(seed, size) for seed in range(n_blocks)]
    return arrays_of(made, [size] * n_blocks, 1000)


def made_rows(seed, n_rows, n_columns=1000, draws=30):
    """CSR rows of power-law columns, and labels of one noisy linear model."""
    from scipy import sparse

    rng, common = np.random.default_rng(seed), np.random.default_rng(0)
    share = np.cumsum(np.arange(1.0, n_columns + 1) ** -1.1)
    columns = np.searchsorted(share / share[-1], rng.random(n_rows * draws))
    indptr = np.arange(0, n_rows * draws + 1, draws)
    X = sparse.csr_matrix((rng.standard_normal(n_rows * draws), columns, indptr))
    X.resize(n_rows, n_columns)
    X.sum_duplicates()
    scores = X @ common.standard_normal(n_columns) + rng.standard_normal(n_rows)
    return X, np.where(scores > 0, 1.0, -1.0)


def on_cluster(n_workers, measure, *args, memory_limit="auto"):
    """What ``measure(client, *args)`` finds on a cluster of a fresh process."""
    return in_child(_on_cluster, n_workers, memory_limit, measure, args)


def _on_cluster(n_workers, memory_limit, measure, args):
    with cluster(n_workers, memory_limit) as client:
        found = measure(client, *args)
        return found if isinstance(found, dict) else list(found)


def fit_rows(client, name, options, is_compared):
    """{tolerance: medians} of fits on a cluster, and of fits in this process on the same rows."""
    X, y, _ = table(client, name, options.quick)
    quietly(AsagaClassifier(C=1.0, fit_intercept=False, max_iter=1).fit, X, y)  # compiles or reads
    measured = {}
    for tol in TOLERANCES:
        model = AsagaClassifier(C=1.0, fit_intercept=False, tol=tol, max_iter=1000)
        runs = []
        for _ in range(options.repeat):
            start = client.cpu()
            model.fit(X, y)
            history = model.history_
            runs.append({
                "cpu": client.cpu() - start, "rounds": int(history["n_rounds"][-1]),
                "MB": history["n_bytes"][-1] / 1e6, "slowest": float(history["part_time"][-1]),
                "gap": model.dual_gap_ / model.objective_,
            })  # fmt: skip
        measured[tol] = medians(runs)
        if is_compared:
            measured[tol] |= fit_alone(X.compute(), y.compute(), tol, model, options)
    return measured


def fit_alone(X, y, tol, other, options):
    """Seconds of solvers in one process, and how much better than another model the last one is."""
    found = {}
    for solver in ("newton_cg", "auto"):
        alone = AsagaClassifier(C=1.0, fit_intercept=False, tol=tol, solver=solver, max_iter=1000)
        alone.fit(X, y)
        found[solver] = timed(lambda: alone.fit(X, y), options.repeat)[1]  # noqa: B023
    return found | {"accuracy gain": alone.score(X, y) - other.score(X, y)}


def of_rows(report, options):
    report.section("Rows of linear models")
    report.text(f"""Logistic regression with a ridge (C = 1, no intercept) by
        ``AsagaClassifier`` on {N_BLOCKS} blocks, until the certified gap is below a share of the
        objective. The generator makes {MADE_ROWS:,} sparse rows of 1,000 columns on the workers.
        "In memory" is ``newton_cg`` on the same rows in one process, "auto" the default there.""")
    kept = {}
    for name in TABLES:
        rows = []
        for n_workers in WORKERS:
            is_first = n_workers == WORKERS[0]
            for tol, row in on_cluster(n_workers, fit_rows, name, options, is_first).items():
                kept[name, tol, n_workers] = row
                rows.append([
                    f"{n_workers} workers", f"{tol:.0%}" if tol == 1e-2 else f"{tol:.1%}",
                    int(row["rounds"]), shown(row["MB"], ".1f"), shown(row["cpu"], ".2f"),
                    shown(row["slowest"], ".2f"), shown(row.get("newton_cg"), ".2f"),
                    shown(row.get("auto"), ".2f"),
                ])  # fmt: skip
        report.text(f"**{name}**")
        report.table(
            ["cluster", "gap", "rounds", "MB", "CPU s", "slowest blocks, s", "in memory, CPU s",
             "auto, CPU s"], rows,
        )  # fmt: skip
    tol = TOLERANCES[-1]
    for name in TABLES:
        few, many = kept[name, tol, WORKERS[0]], kept[name, tol, WORKERS[-1]]
        report.goals(
            (f"{name}: CPU seconds, 8 workers / 1", float(many["cpu"]) / few["cpu"], 3.0, "<="),
            (f"{name}: accuracy lost, points", 100 * float(few["accuracy gain"]), 0.1, "<="),
        )
    report.bars(
        "CPU seconds to a gap of 0.1 %", "CPU seconds",
        {f"{n} workers": {name: kept[name, tol, n]["cpu"] for name in TABLES} for n in WORKERS},
        log=True,
    )  # fmt: skip
    project(report, {name: kept[name, tol, WORKERS[0]] for name in TABLES})


def fit_many_rows(client, quick):
    """Dicts of fits to each tolerance, of blocks that no worker could hold alone."""
    import dask
    import distributed

    X, y = client.persist(generated(quick, MANY_ROWS, MANY_BLOCKS))
    distributed.wait([X, y])
    sizes = dask.compute(*(dask.delayed(n_bytes)(block) for block in X.to_delayed().ravel()))
    quietly(AsagaClassifier(C=1.0, fit_intercept=False, max_iter=1).fit, X, y)
    for tol in TOLERANCES:
        start, wall = client.cpu(), time.perf_counter()
        model = AsagaClassifier(C=1.0, fit_intercept=False, tol=tol, max_iter=1000).fit(X, y)
        yield {
            "tol": tol, "cpu": client.cpu() - start, "wall": time.perf_counter() - wall,
            "rounds": int(model.history_["n_rounds"][-1]), "GB": sum(sizes) / 1e9,
            "gap": model.dual_gap_ / model.objective_,
            "peak": max(client.run(peak_memory).values()),
        }  # fmt: skip


def n_bytes(rows):
    return rows.data.nbytes + rows.indices.nbytes + rows.indptr.nbytes


def of_many_rows(report, options):
    report.section("More rows than a worker can hold")
    report.text(f"""{MANY_ROWS:,} rows of the generator in {MANY_BLOCKS} blocks, made by workers
        that may use {LIMIT:,} MB each. Single fits. The peak is that of the largest worker: Python,
        its libraries and its blocks.""")
    rows = []
    for n_workers in (4, 8):
        for row in on_cluster(n_workers, fit_many_rows, options.quick, memory_limit=f"{LIMIT}MB"):
            rows.append([
                f"{n_workers} workers", f"{row['tol']:.1%}", f"{row['GB']:.2f}", row["rounds"],
                f"{row['gap']:.1e}", f"{row['cpu']:.1f}", f"{row['wall']:.1f}",
                f"{row['peak']:.0f}",
            ])  # fmt: skip
    report.table(
        ["cluster", "gap asked", "rows, GB", "rounds", "gap", "CPU s", "wall s", "peak, MB"], rows
    )


def project(report, measured):
    report.section("Projected wall seconds")
    report.text(f"""Nothing here was measured on a network. A round takes the seconds that the
        blocks took one after the other, divided by the number of workers, and for each of
        log2(workers) steps of a tree, there and back, {1e3 * LATENCY:g} ms and the time of one
        vector at the bandwidth. The assumptions: equal blocks, one core for each worker, no other
        traffic.""")
    rows = []
    for name, row in measured.items():
        for gigabits in (1, 10):
            seconds = []
            for n_workers in PROJECTED:
                vector = 1e6 * row["MB"] / (row["rounds"] * N_BLOCKS)
                message = LATENCY + 8.0 * vector / (1e9 * gigabits)
                steps = 2 * np.ceil(np.log2(n_workers)) if n_workers > 1 else 0
                blocks = row["slowest"] * N_BLOCKS / min(n_workers, N_BLOCKS)
                seconds.append(shown(float(blocks + row["rounds"] * steps * message), ".2f"))
            rows.append([name, f"{gigabits} Gb/s", *seconds])
    report.table(["rows", "network", *(f"{n} workers" for n in PROJECTED)], rows)
    report.text(f"""More than {N_BLOCKS} workers have nothing to do with {N_BLOCKS} blocks; the last
        columns show what communication alone then costs.""")


def fit_peers(client, name, options):
    """{contender: CPU seconds and excess of the objective over the optimum}."""
    X, y, alpha = table(client, name, options.quick)
    local, labels = X.compute(), y.compute()
    local = local.toarray() if hasattr(local, "toarray") else local
    objective = make_objective("l2", len(labels))
    reference = AsagaClassifier(C=1.0, fit_intercept=False, tol=1e-10)
    best = objective.value(local, labels, reference.fit(local, labels).coef_.ravel())
    X = X.map_blocks(lambda block: block.toarray() if hasattr(block, "toarray") else block)
    X = client.persist(X)
    quietly(AsagaClassifier(C=1.0, fit_intercept=False, max_iter=1).fit, X, y)  # compiles or reads
    measured = {}
    for peer in PEERS:
        if name != "a9a" and peer[0] == "dask-ml" and peer[-1] > FEW_ITERATIONS:
            continue
        runs = []
        while len(runs) < options.repeat and sum(run["cpu"] for run in runs) < ENOUGH:
            start = client.cpu()
            model = fit_peer(peer, X, y, alpha)
            seconds = client.cpu() - start
            value = objective.value(local, labels, np.ravel(model.coef_))
            runs.append({"cpu": seconds, "excess": (value - best) / best})
        measured[peer] = medians(runs)
    return measured


def fit_peer(peer, X, y, alpha):
    import dask

    kind, *settings = peer
    if kind == "AsagaClassifier":
        return AsagaClassifier(C=1.0, fit_intercept=False, tol=settings[0]).fit(X, y)
    if kind == "SGDClassifier":
        from sklearn.linear_model import SGDClassifier

        model = SGDClassifier(
            "log_loss", alpha=alpha, fit_intercept=False, average=True, random_state=0
        )
        parts = list(zip(X.to_delayed().ravel(), y.to_delayed(), strict=True))
        for _ in range(settings[0]):
            for pair in parts:
                model.partial_fit(*dask.compute(*pair), classes=[-1.0, 1.0])
        return model
    from dask_ml.linear_model import LogisticRegression

    solver, max_iter = settings
    model = LogisticRegression(
        solver=solver, C=1.0, fit_intercept=False, max_iter=max_iter, tol=1e-8,
        solver_kwargs={"normalize": False},
    )  # fmt: skip
    return model.fit(X, (y > 0).astype(int))


FEW_ITERATIONS, ENOUGH = 10, 60.0  # of dask-ml on many rows; CPU seconds of repeated fits
PEERS = (
    ("AsagaClassifier", 1e-3), ("AsagaClassifier", 1e-6), ("dask-ml", "admm", 10),
    ("dask-ml", "admm", 30), ("dask-ml", "lbfgs", 10), ("dask-ml", "lbfgs", 100),
    ("SGDClassifier", 1), ("SGDClassifier", 10),
)  # fmt: skip


def peers(report, options):
    report.section("Beside dask-ml and SGDClassifier")
    report.text("""The same rows (dense blocks) and objective with two workers. dask-ml has ADMM
        and L-BFGS; the number is that of iterations at most. ``SGDClassifier`` (averaged) visits
        all blocks by ``partial_fit`` in this process, 1 and 10 times. The excess is that of the
        objective over the optimum, as a share. dask-ml counts no bytes. Fits are repeated until
        they took a minute. More iterations of dask-ml, which take minutes on a9a, are left out on
        covtype.""")
    best = {}
    for name in ("a9a", "covtype"):
        rows = []
        for peer, row in on_cluster(2, fit_peers, name, options).items():
            best[name, peer] = row
            rows.append([
                " ".join(map(str, peer)), shown(row["cpu"], ".2f"), shown(row["excess"], ".1e")
            ])  # fmt: skip
        report.text(f"**{name}**")
        report.table(["contender and its setting", "CPU s", "excess"], rows)
    for name in ("a9a", "covtype"):
        ours = best[name, PEERS[1]]
        for solver in ("admm", "lbfgs"):
            found = [best[name, peer] for peer in PEERS if solver in peer and (name, peer) in best]
            ratio = float(ours["cpu"]) / min(float(row["cpu"]) for row in found)
            report.goals(
                (f"{name}: CPU seconds, ours to 1e-6 / dask-ml {solver}", ratio, 1.0, "<=")
            )


def fit_words(client, options, is_compared):
    """{surrogate: medians} of fits on a cluster, and of fits in this process."""
    import dask

    X, y = load_ocr_letters(return_X_y=True)[:2]
    X, y = (X[:200], y[:200]) if options.quick else (X, y)
    keep = dask.delayed(lambda values: values)
    inputs, outputs = (
        [keep(client.scatter(values[a:b])) for a, b in itertools.pairwise(cuts_of(len(X), 8))]
        for values in (X, y)
    )
    measured = {}
    for surrogate in ("hinge", "crf"):
        model = StructuredSVM(surrogate=surrogate, max_iter=1, C=0.2, random_state=0)
        quietly(model.fit, inputs, outputs)
        model.set_params(max_iter=500)
        runs = []
        for _ in range(options.repeat):
            start = client.cpu()
            quietly(model.fit, inputs, outputs)
            runs.append({
                "cpu": client.cpu() - start, "rounds": int(model.history_["n_rounds"][-1]),
                "MB": model.history_["n_bytes"][-1] / 1e6, "loss": 1.0 - model.score(X, y),
            })  # fmt: skip
        measured[surrogate] = medians(runs)
        if is_compared:
            quietly(model.fit, X[:20], y[:20])
            _, seconds = timed(lambda: quietly(model.fit, X, y), options.repeat)  # noqa: B023
            measured[surrogate] |= {"alone": seconds, "loss alone": 1.0 - model.score(X, y)}
    return measured


def of_words(report, options):
    report.section("Sequences")
    report.text("""OCR letters in 8 blocks, C = 0.2, default tolerances: the hinge to 10 %, the
        likelihood to 1 %. "In memory" is the default solver in one process, whose steps use the
        dual variables of each word; on a cluster only sums at one point are exchanged.""")
    rows, found = [], {}
    for n_workers in WORKERS:
        measured = on_cluster(n_workers, fit_words, options, n_workers == WORKERS[0])
        for surrogate, row in measured.items():
            found[surrogate, n_workers] = row
            rows.append([
                f"{surrogate}, {n_workers} workers", int(row["rounds"]), shown(row["MB"], ".1f"),
                shown(row["cpu"], ".1f"), shown(row.get("alone"), ".2f"),
                shown(row["loss"], ".4f"), shown(row.get("loss alone"), ".4f"),
            ])  # fmt: skip
    report.table(
        ["fit", "rounds", "MB", "CPU s", "in memory, CPU s", "training error", "in memory"], rows
    )
    for surrogate in ("hinge", "crf"):
        few, many = found[surrogate, WORKERS[0]], found[surrogate, WORKERS[-1]]
        ratio = float(many["cpu"]) / few["cpu"]
        report.goals((f"{surrogate}: CPU seconds, 8 workers / 1", ratio, 2.0, "<="))
    report.loses("Sequences: block-coordinate steps in one process take a tenth of the passes.")


def made_documents(seed, n_documents):
    from scipy import sparse

    common = np.random.default_rng(0)
    topics = common.dirichlet(np.full(VOCABULARY, 0.05), TOPICS)
    cumulated = np.cumsum(topics, axis=1)
    rng = np.random.default_rng(seed)
    shares = np.cumsum(rng.dirichlet(np.full(TOPICS, 0.1), n_documents), axis=1)
    topic = (rng.random((n_documents, LENGTH, 1)) > shares[:, None, :]).sum(axis=2)
    words = np.empty(topic.shape, np.int32)
    for k in range(TOPICS):
        mine = topic == k
        words[mine] = np.searchsorted(cumulated[k], rng.random(mine.sum()))
    np.minimum(words, VOCABULARY - 1, out=words)
    ones = np.ones(words.size)
    indptr = np.arange(0, words.size + 1, LENGTH)
    X = sparse.csr_array((ones, words.ravel(), indptr), shape=(n_documents, VOCABULARY))
    X.sum_duplicates()
    return X


def fit_documents(client, options):
    import dask
    import dask.array as da
    import distributed

    size = (2_000 if options.quick else DOCUMENTS) // N_BLOCKS
    make = dask.delayed(made_documents)
    X = da.concatenate([
        da.from_delayed(make(seed, size), (size, VOCABULARY), float) for seed in range(N_BLOCKS)
    ])  # fmt: skip
    X = client.persist(X)
    distributed.wait(X)
    topics = np.random.default_rng(0).dirichlet(np.full(VOCABULARY, 0.05), TOPICS)
    runs = []
    for _ in range(options.repeat):
        start, wall = client.cpu(), time.perf_counter()
        model = quietly(DiscreteICA(TOPICS, random_state=0).fit, X)
        found = {"cpu": client.cpu() - start, "wall": time.perf_counter() - wall}
        distance = np.abs(model.components_[:, None] - topics[None]).sum(axis=2)
        runs.append(found | {"error": float(distance.min(axis=0).mean())})
    return medians(runs)


def of_documents(report, options):
    report.section("Topics of a million documents")
    report.text(f"""``DiscreteICA`` of {TOPICS} topics on {DOCUMENTS:,} documents of {LENGTH} words
        over {VOCABULARY:,}, drawn on the workers in {N_BLOCKS} blocks. The error is the mean
        l1 distance of the true topics to the nearest one found.""")
    rows = []
    for n_workers in (1, 2, 4):
        row = on_cluster(n_workers, fit_documents, options)
        rows.append([
            f"{n_workers} workers", shown(row["cpu"], ".1f"), shown(row["wall"], ".1f"),
            shown(row["error"], ".3f"),
        ])  # fmt: skip
    report.table(["cluster", "CPU s", "wall s", "error"], rows)


class KillLater(logging.Handler):
    """Kills a process at the given line of the log of a fit."""

    def __init__(self, victim, at):
        super().__init__()
        self.victim, self.at, self.n_lines = victim, at, 0

    def emit(self, record):
        self.n_lines += 1
        if self.n_lines == self.at:
            os.kill(self.victim, signal.SIGKILL)


def fit_killed(client, kill, quick):
    logger = logging.getLogger("sklearn_fw")
    X, y = generated(quick)
    model = AsagaClassifier(C=1e6 / X.shape[0], fit_intercept=False, tol=1e-8, verbose=1)
    handler = KillLater(next(iter(client.run(os.getpid).values())), 5 if kill else -1)
    logger.addHandler(handler)
    start = time.perf_counter()
    try:
        model.fit(X, y)
    finally:
        logger.removeHandler(handler)
    seconds = time.perf_counter() - start
    return {"wall": seconds, "objective": model.objective_, "gap": model.dual_gap_}


def killed(report, options):
    report.section("A worker that dies")
    report.text(f"""Four workers make the {MADE_ROWS:,} rows of the generator and fit to a gap of
        1e-8; in the second row the process of one of them is killed in the middle. Its blocks are
        made again by the others.""")
    rows, values = [], {}
    for kill in (False, True):
        runs = [on_cluster(4, fit_killed, kill, options.quick) for _ in range(options.repeat)]
        row = medians(runs)
        values[kill] = float(row["objective"])
        rows.append([
            "one killed" if kill else "all live", shown(row["wall"], ".1f"),
            shown(row["objective"], ".12f"), shown(row["gap"], ".1e"),
        ])  # fmt: skip
    report.table(["workers", "wall s", "objective", "gap"], rows)
    difference = abs(values[True] - values[False]) / values[False]
    report.goals(("difference of the objectives, as a share", difference, 1e-12, "<="))


if __name__ == "__main__":
    parts = {
        "rows": of_rows, "large": of_many_rows, "peers": peers, "words": of_words,
        "documents": of_documents, "killed": killed,
    }  # fmt: skip
    title = "Fits on clusters of Dask"
    raise SystemExit(main("cluster", title, ABOUT, parts, peers=("dask", "distributed", "dask-ml")))
