"""Random fields: what their defaults cost against settings chosen on held-out instances."""

import functools
import gzip
import itertools
import tempfile
from pathlib import Path

import numpy as np
from _report import data_path, quietly, those_there, timed
from scipy.sparse import load_npz
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import KBinsDiscretizer

from sklearn_fw.datasets import load_mrf_instances, make_ising
from sklearn_fw.inference import ICM, TRWS, BestOf, BranchAndBound, Elimination, IteratedLocalSearch
from sklearn_fw.random_fields import (
    BarrierFrankWolfe,
    MRFLearner,
    PairwiseMRF,
    TRBPMarginals,
    TRWMarginals,
    load_uai,
)

TITLE = "Random fields"
ABOUT = """
Marginals: 100 times one minus the mean absolute error of node marginals against exact ones. The
default is ``TRWMarginals()``. The grid varies its oracle ("elimination", "approx"), variant
("away", "pairwise"), n_rho_iter (1, 10, 20), tol (0.1, 0.5) and local search (none, "icm"); it also
contains the default, and loopy and tree-reweighted belief propagation. The best is chosen on one
half of the instances of a set and evaluated, like the default, on the other half. For single models
of the UAI competition, the best is chosen on the model itself. The grid is omitted where the
default is exact. Sets "in 1 s" have a time limit that one exact computation exceeds.

MAP inference: 100 times one minus the relative distance to the best known value. The default is
``mrf.map()``. The grid contains all oracles for general graphs and three lengths of the iterated
local search; its best is chosen on the model itself. The best known value is exact where
elimination is possible, and otherwise the largest of all methods and of the published labeling.

Tables: percentage of correctly imputed hidden entries of test rows. The default is
``TRWMarginals()``. The grid varies the edges ("tree", "complete", none) and pseudocount (0.1, 1,
10), and is evaluated on a quarter of the training rows. Columns "nats" are held-out log-likelihoods
per row; for graphs with cycles of too large width they are certified lower bounds.
"""

VARIANTS, RHO, TOLS = ("away", "pairwise"), (1, 10, 20), (0.5, 0.1)
PSEUDOCOUNTS = (0.1, 1.0, 10.0)
ROUNDS = (1_000, 20_000, 200_000)
SECONDS = 1.0  # limit of the sets in which exact answers take longer
EXACT = 100.0 - 1e-6  # points that no setting can exceed
SPLITS = 5  # of small tables into training and test rows
HIDDEN = 0.25  # share of the entries of test rows


def rows(quick):
    yield from marginal_rows(quick)
    yield from map_rows(quick)
    yield from table_rows(quick)


def compiled_and_timed(function):
    """The result and its CPU seconds, after a first call that compiles."""
    quietly(function)
    result, seconds = timed(lambda: quietly(function))
    return result, float(seconds)


def marginal_rows(quick):
    for name, fields, limit in marginal_sets(quick):
        targets = [exact_marginals(mrf) for mrf in fields]

        def quality(make, chosen, fields=fields, targets=targets):
            points = [
                accuracy(quietly(make().fit, fields[k]).marginals_, targets[k]) for k in chosen
            ]
            return float(np.mean(points))

        half = len(fields) // 2
        judge = list(range(half, len(fields)))
        held_out = list(range(half)) or judge
        candidates = marginal_candidates(limit, quick)
        best = "default"
        if quality(candidates[best], held_out) < EXACT:
            best = max(candidates, key=lambda c: quality(candidates[c], held_out))
        default = candidates["default"]
        fitted, seconds = compiled_and_timed(
            lambda make=default, mrf=fields[judge[0]]: make().fit(mrf)
        )
        yield {
            "set": name, "metric": "marginals", "default": quality(default, judge),
            "best": quality(candidates[best], judge), "best_setting": best,
            "chosen": fitted.choice_, "seconds": seconds,
            **{peer: quality(make, judge) for peer, make in PEERS.items()},
        }  # fmt: skip


PEERS = {
    "loopy BP": lambda: TRBPMarginals("ones", time_limit=SECONDS),
    "TRBP": lambda: TRBPMarginals(time_limit=SECONDS),
}


def marginal_candidates(limit, quick):
    time_limit = {} if limit is None else {"time_limit": limit}
    found = {"default": lambda: TRWMarginals(**time_limit)}
    grid = itertools.product(("elimination", "approx"), VARIANTS, RHO, TOLS, (None, "icm"))
    for oracle, variant, n_rho, tol, local in list(grid)[:: 5 if quick else 1]:
        name = f"{oracle}, {variant}, {n_rho} rho, tol {tol:g}" + (", icm" if local else "")
        options = {
            "oracle": oracle, "n_rho_iter": n_rho, "tol": tol,
            "solver": BarrierFrankWolfe(variant, local_search=local),
            **(time_limit or {"time_limit": 3.0}),
        }  # fmt: skip
        found[name] = lambda options=options: TRWMarginals(**options)
    return found


def marginal_sets(quick):
    n = 2 if quick else 6
    for kind, data in those_there(("grids_5x5", "cliques"), published):
        couplings = np.unique(data.couplings) if kind == "cliques" else [None]
        for coupling in couplings[::3] if quick else couplings:
            which = np.arange(len(data.mrfs))
            if coupling is not None:
                which = np.flatnonzero(data.couplings == coupling)
            suffix = "" if coupling is None else f", theta {coupling:g}"
            yield kind + suffix, [data.mrfs[k] for k in which[:n]], None
    for coupling in (0.5, 4.0):
        fields = [make_ising("grid", (8, 8), coupling=coupling, random_state=k) for k in range(n)]
        yield f"8 x 8 grid, coupling {coupling:g}", fields, None
    yield "clique of 14", [make_ising("clique", 14, random_state=k) for k in range(n)], None
    rng = np.random.default_rng(0)
    chains = [
        PairwiseMRF(rng.normal(size=(50, 4)), [(i, i + 1) for i in range(49)],
                    rng.normal(size=(49, 4, 4)))
        for _ in range(n)
    ]  # fmt: skip
    yield "chain of 50, 4 states", chains, None
    for coupling in (1.0, 4.0) if not quick else (4.0,):
        fields = [make_ising("grid", (19, 19), coupling=coupling, random_state=k) for k in range(2)]
        yield f"19 x 19 grid, coupling {coupling:g}, in 1 s", fields, SECONDS
    names = ("Grids_12", "Segmentation_12") if quick else (
        "CSP_11", "DBN_11", "DBN_12", "Grids_11", "Grids_12", "ObjectDetection_11",
        "ObjectDetection_12", "Segmentation_11", "Segmentation_12",
    )  # fmt: skip
    for name, mrf in those_there(names, functools.partial(competition, "MAR")):
        if exact_marginals(mrf) is not None:
            yield f"UAI {name}", [mrf], None


def exact_marginals(mrf):
    """Node marginals by elimination, None where its tables are too large."""
    oracle = Elimination()
    scores = mrf.scores()
    return oracle.marginals(scores)[0] if oracle.cost(scores) < np.inf else None


def accuracy(found, truth):
    return 100.0 * (1.0 - np.abs(found - truth)[truth >= 0].mean())


def map_rows(quick):
    candidates = {
        "icm": ICM(), "trws": TRWS(), "approx": BestOf(),
        "branch_and_bound, 2 s": BranchAndBound(time_limit=2.0),
        **{f"ils, {n:,} rounds": IteratedLocalSearch(n) for n in ROUNDS[: 1 if quick else 3]},
    }  # fmt: skip
    for name, mrf, given in map_sets(quick):
        result, seconds = compiled_and_timed(mrf.map)
        values = {setting: mrf.map(oracle).value for setting, oracle in candidates.items()}
        values["default"] = result.value
        known = max([*values.values(), *given])
        if Elimination().cost(mrf.scores()) < np.inf:
            known = max(known, mrf.map("elimination").value)
        best = max(values, key=values.get)

        def points(value, known=known):
            return 100.0 * (1.0 - (known - value) / max(abs(known), 1.0))

        yield {
            "set": name, "metric": "value", "default": points(result.value),
            "best": points(values[best]), "best_setting": best, "chosen": result.choice,
            "seconds": seconds, "trws": points(values["trws"]), "icm": points(values["icm"]),
            "given": points(given[0]) if given else None,
        }  # fmt: skip


def map_sets(quick):
    """Name, field and the values of published labelings."""
    for n in (12, 30) if quick else (12, 18, 30, 50):
        yield f"mixed grid, {n} x {n}", make_ising("grid", (n, n), coupling=4.0, random_state=1), []
    yield "clique of 60", make_ising("clique", 60, random_state=0), []
    rng = np.random.default_rng(0)
    grid = make_ising("grid", (20, 20), coupling=4.0, random_state=0)
    tables = rng.normal(size=(grid.n_edges, 5, 5))
    yield "20 x 20 grid, 5 states", PairwiseMRF(rng.normal(size=(400, 5)), grid.edges, tables), []
    names = ("Segmentation_12", "wcsp_15") if quick else (
        "Grids_18", "Grids_19", "ProteinFolding_11", "Segmentation_12", "Segmentation_13",
        "wcsp_15",
    )  # fmt: skip
    for name, mrf in those_there(names, functools.partial(competition, "MAP")):
        labels = load_uai(data_path(f"uai/MAP/{name}.uai.MAP"), "solution")
        yield f"UAI {name}", mrf, [float(mrf.score(labels[None])[0])]


def table_rows(quick):
    for name, splits, n_states in tables(quick):
        found = [table_split(train, test, n_states) for train, test in splits]
        mean = {key: float(np.mean([row[key] for row in found])) for key in (
            "default", "best", "seconds", "nats", "nats of best",
        )}  # fmt: skip
        settings = sorted({row["best_setting"] for row in found})
        yield {
            "set": name, "metric": "completed", **mean, "best_setting": "; ".join(settings),
            "chosen": found[0]["chosen"],
        }  # fmt: skip


def table_split(train, test, n_states):
    """Points of the default and of the best setting for one pair of training and test rows."""
    rng = np.random.default_rng(0)
    order = rng.permutation(len(train))
    valid, rest = train[order[: len(train) // 4]], train[order[len(train) // 4 :]]

    def quality(make, fitted_to, X):
        mask = np.random.default_rng(len(X)).random(X.shape) < HIDDEN
        model = quietly(make().fit, fitted_to)
        answer = quietly(model.predict, np.where(mask, -1, X))
        return float(100.0 * (answer == X)[mask].mean()), quietly(model.score, X)

    candidates = {"default": lambda: TRWMarginals(learner=MRFLearner(n_states=n_states))}
    graphs = {"tree": "tree", "complete": "complete", "no edges": []}
    if train.shape[1] > 20:
        del graphs["complete"]  # minutes for each completion
    for (graph, edges), c in itertools.product(graphs.items(), PSEUDOCOUNTS):
        candidates[f"{graph}, pseudocount {c:g}"] = lambda e=edges, c=c: TRWMarginals(
            learner=MRFLearner(e, pseudocount=c, n_states=n_states)
        )
    best = max(candidates, key=lambda c: quality(candidates[c], rest, valid)[0])
    fitted, seconds = compiled_and_timed(lambda: candidates["default"]().fit(train))
    default, nats = quality(candidates["default"], train, test)
    points, best_nats = quality(candidates[best], train, test)
    return {
        "default": default, "best": points, "best_setting": best, "chosen": fitted.choice_,
        "seconds": seconds, "nats": nats, "nats of best": best_nats,
    }  # fmt: skip


def tables(quick):
    """Name, pairs of training and test rows, number of states of all columns."""
    for name, load in (("breast cancer", load_breast_cancer), ("wine", load_wine),
                       ("iris", load_iris)):  # fmt: skip
        X = np.column_stack([load().data, load().target])
        splits = []
        for seed in range(1 if quick else SPLITS):
            train, test = train_test_split(X, test_size=0.3, random_state=seed)
            bins = KBinsDiscretizer(3, encode="ordinal", strategy="quantile",
                                    quantile_method="averaged_inverted_cdf")  # fmt: skip
            quietly(bins.fit, train)
            splits.append([bins.transform(part).astype(int) for part in (train, test)])
        yield f"{name}, 3 bins", splits, 3
    if not quick:
        X = (load_digits().data > 7).astype(int)
        yield "digits, ink", [train_test_split(X, test_size=0.3, random_state=0)], 2
    for name, pair in those_there(("emotions", "yeast", "scene"), label_sets):
        yield f"labels of {name}", [pair], 2


def label_sets(name):
    if name == "scene":
        paths = [data_path(f"scene/scene_{part}_Y.npz") for part in ("train", "test")]
        return [load_npz(path).toarray().astype(int) for path in paths]
    with np.load(data_path(f"multilabel/{name}.npz")) as data:
        return [data[f"Y_{part}"].astype(int) for part in ("train", "test")]


def published(kind):
    """The instances of the paper."""
    return load_mrf_instances(data_path("mrf"), name=kind)


def competition(task, name):
    """A model of the UAI competition with its evidence."""
    path = data_path(f"uai/{task}/{name}.uai.gz")
    with tempfile.TemporaryDirectory() as there:
        plain = Path(there, f"{name}.uai")
        plain.write_bytes(gzip.decompress(path.read_bytes()))
        evidence = load_uai(path.parent / f"{name}.uai.evid", "evidence")
        return load_uai(plain).condition(evidence)
