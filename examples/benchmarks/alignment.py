"""Word alignment: matchings learned by all applicable solvers, and unsupervised aligners."""

from typing import NamedTuple

import numpy as np
from _alignment_features import Corpus, greedy_links, intersected_links, one_partner, pair_features
from _report import Repeats, in_child, main, shown
from _structured import fit
from sklearn.model_selection import GroupKFold

from sklearn_fw.datasets import load_word_alignment
from sklearn_fw.metrics import alignment_error_rate
from sklearn_fw.structured import Extragradient, MatchingModel, SaddlePointFrankWolfe, StructuredSVM

TOL = 0.01
REFERENCE_TOL = 1e-4
GAPS = (0.1, 0.03, TOL)
N_FOLDS = 5
CS = (0.003, 0.01, 0.03)
L1_SHARES = (0.125, 0.25, 0.5)  # of the l1 norm of the ridge solution
THRESHOLDS = [k / 20 for k in range(1, 13)]
N_RESAMPLES = 2000
RIDGE, L2, L1 = "ridge", "l2 ball", "l1 ball"
# Problem, and largest number of passes or iterations; batch steps would need thousands.
CONTENDERS = {
    "bcfw": (RIDGE, 500), "bcpfw": (RIDGE, 500), "cached": (RIDGE, 500),
    "extragradient": (RIDGE, 1000), "sp_fw, l2": (L2, 150), "sp_bcfw, l2": (L2, 150),
    "sp_fw, l1": (L1, 150), "sp_bcfw, l1": (L1, 150), "extragradient, l1": (L1, 500),
}  # fmt: skip
DICE, IBM = "greedy Dice", "IBM-1, intersected"
ABOUT = """
English and French sentences of the Canadian Hansards, 436 pairs for training and 48 for the test,
with manual links between words. The alignment error rate is one minus the F1 score of links,
because the files contain sure links only; smaller is better.

A pair of words has 126 features: Dice coefficients of words and of their first four letters,
without the current sentence; their differences to other partners of both words, and those of
neighboring words; positions, spelling and frequencies; and indicators of the hundred pairs of words
with the strongest association. All counts, including those of the unsupervised aligners, use the
texts of all 484 pairs, but no links of the test pairs. Words are in lower case. Training keeps one
link per word.

All learned aligners minimize the structured hinge loss of ``MatchingModel()``, in units of the
normalized task loss: with a ridge penalty, in an l2 ball with the norm of the ridge solution, or in
an l1 ball. A fifth of the training pairs serves to choose C (0.003, 0.01 or 0.03, by bcfw) and the
radius of the l1 ball (1/8, 1/4 or 1/2 of the l1 norm of the ridge solution, by extragradient with a
gap of 0.05). All solvers stop at a certified gap of 0.01 times the objective, or at their budget.

Five-fold cross-validation on the training pairs makes these choices within the training part of a
fold and keeps equal sentences together. The set of features was designed on the same folds. CPU
seconds are those of ``fit``, without features and compilation.
"""


class Pairs(NamedTuple):
    corpus: object
    X: list
    y: list  # matchings
    links: list
    groups: object
    names: list
    n_train: int


def load(limit):
    """Sentence pairs with features; ``limit`` keeps the first ones of both parts."""
    data = load_word_alignment()
    n_train = len(data.source_train[:limit])
    source, target = (
        [[w.lower() for w in words] for part in parts for words in part[:limit]]
        for parts in ((data.source_train, data.source_test), (data.target_train, data.target_test))
    )
    links = data.sure_train[:limit] + data.sure_test[:limit]
    corpus = Corpus(source, target)
    X, names = pair_features(source, target)
    y = [one_partner(links[i], corpus, i) for i in range(len(links))]
    texts = [" ".join([*a, "|", *b]) for a, b in zip(source, target)]
    groups = np.unique(texts, return_inverse=True)[1]
    return Pairs(corpus, X, y, links, groups, names, n_train)


def splits(pairs):
    """Training and evaluation pairs: the test first, then the folds."""
    everything = np.arange(len(pairs.X))
    train, test = everything[: pairs.n_train], everything[pairs.n_train :]
    return [(train, test), *folds(pairs, train)]


def folds(pairs, chosen):
    parts = GroupKFold(N_FOLDS, shuffle=True, random_state=0)
    return [
        (chosen[train], chosen[rest])
        for train, rest in parts.split(chosen, groups=pairs.groups[chosen])
    ]


def take(items, places):
    return [items[i] for i in places]


def error_rate(pairs, places, predicted):
    return alignment_error_rate(take(pairs.links, places), None, predicted)


def counts(pairs, places, predicted):
    """Right, predicted and true links of every pair, of which error rates are made."""
    rows = []
    for i, answer in zip(places, predicted):
        made, true = set(answer), set(pairs.links[i])
        rows.append((len(made & true), len(made), len(true)))
    return rows


def links_of(matching):
    return list(zip(*(k.tolist() for k in np.nonzero(matching))))


def solver_of(name, radius):
    if name.startswith("extragradient"):
        if name.endswith("l1"):
            return Extragradient(radius=radius, norm="l1")
        return Extragradient(z_geometry="euclidean")
    if name.startswith("sp_"):
        method, norm = name.split(", ")
        return SaddlePointFrankWolfe(radius=radius, norm=norm, block=method == "sp_bcfw")
    return name


def estimator(name, C=None, radius=1.0, tol=TOL, max_iter=500):
    return StructuredSVM(
        MatchingModel(), solver=solver_of(name, radius), tol=tol, max_iter=max_iter,
        random_state=0, **({} if C is None else {"C": C}),
    )  # fmt: skip


def best_of(values, make, pairs, parts):
    """The value whose estimator, trained on the first part, errs least on the second."""
    train, rest = parts
    errors = []
    for value in values:
        svm = make(value)
        fit(svm, take(pairs.X, train), take(pairs.y, train))
        errors.append(error_rate(pairs, rest, svm.predict(take(pairs.X, rest))))
    return values[errors.index(min(errors))]


def choose(limit):
    """C and radii for every split, chosen on a fifth of its training pairs."""
    pairs, chosen = load(limit), []
    for train, _ in splits(pairs):
        parts = folds(pairs, train)[0]
        C = best_of(CS, lambda C: estimator("bcfw", C), pairs, parts)
        ridge = estimator("bcfw", C, tol=TOL / 10)
        fit(ridge, take(pairs.X, train), take(pairs.y, train))
        norm = np.abs(ridge.coef_).sum()
        radius = best_of(
            [share * norm for share in L1_SHARES],
            lambda radius: estimator("extragradient, l1", radius=radius, tol=5 * TOL),
            pairs, parts,
        )  # fmt: skip
        chosen.append({RIDGE: C, L2: np.linalg.norm(ridge.coef_), L1: radius})
    return chosen


def learned(limit, name, chosen, repeat):
    """One contender on the test and on all folds; the seconds of the test are those of repeats."""
    problem, max_iter = CONTENDERS[name]
    parameter = "C" if problem == RIDGE else "radius"
    pairs, results = load(limit), []
    fit(estimator(name, max_iter=2), pairs.X[:20], pairs.y[:20])  # compiles
    for (train, rest), values in zip(splits(pairs), chosen):
        svm = estimator(name, max_iter=max_iter, **{parameter: values[problem]})
        times = [
            fit(svm, take(pairs.X, train), take(pairs.y, train))
            for _ in range(1 if results else repeat)
        ]
        predicted = [links_of(y) for y in svm.predict(take(pairs.X, rest))]
        size = np.abs(svm.coef_)
        results.append({
            "counts": counts(pairs, rest, predicted), "cpu": list(map(Repeats, zip(*times))),
            "calls": (svm.history_["n_oracle_calls"] / len(train)).tolist(),
            "gaps": svm.history_["dual_gap"].tolist(), "objective": svm.objective_,
            "dual": svm.dual_objective_, "iterations": svm.n_iter_,
            "not zero": int((size > 0).sum()),
            "not small": int((size > 0.01 * size.max()).sum()),
        })  # fmt: skip
    return results


def reference(limit, C):
    """Objective, dual value and mean hinge of the ridge problem, almost solved; the weights."""
    pairs = load(limit)
    svm = estimator("cached", C, tol=REFERENCE_TOL, max_iter=5000)
    fit(svm, pairs.X[: pairs.n_train], pairs.y[: pairs.n_train])
    strongest = np.argsort(-np.abs(svm.coef_))[:12]
    return {
        "objective": svm.objective_, "dual": svm.dual_objective_,
        "hinge": svm.objective_ - 0.5 * svm.lam_ * float(svm.coef_ @ svm.coef_),
        "weights": [(pairs.names[k], float(svm.coef_[k])) for k in strongest],
    }  # fmt: skip


def counted(limit):
    """The unsupervised aligners, and facts about the data."""
    pairs = load(limit)
    corpus, n_pairs = pairs.corpus, len(pairs.X)
    intersected = intersected_links(corpus)
    every = {
        name: {
            threshold: [
                greedy_links(corpus.dice(i, without_itself=other), threshold)
                for i in range(n_pairs)
            ]
            for threshold in THRESHOLDS
        }
        for name, other in ((DICE, False), (f"{DICE}, other pairs", True))
    }
    results = {IBM: [], **{name: [] for name in every}}
    for train, rest in splits(pairs):
        results[IBM].append({"counts": counts(pairs, rest, take(intersected, rest))})
        for name, links in every.items():
            best = min(links, key=lambda t: error_rate(pairs, train, take(links[t], train)))
            results[name].append({"counts": counts(pairs, rest, take(links[best], rest))})
    train, test = splits(pairs)[0]
    seen = set(pairs.groups[train].tolist())
    facts = {
        "links": sum(map(len, take(pairs.links, train))),
        "kept": sum(int(y.sum()) for y in take(pairs.y, train)),
        "best": error_rate(pairs, test, [links_of(y) for y in take(pairs.y, test)]),
        "new": [k for k, i in enumerate(test) if pairs.groups[i] not in seen],
    }
    return results, facts


def rate(rows):
    """Error rate of rows of right, predicted and true links."""
    right, made, true = (sum(column) for column in zip(*rows))
    return 1.0 - 2.0 * right / (made + true)


def over_folds(results):
    return [row for result in results[1:] for row in result["counts"]]


def interval(first, second):
    """Of resampled sentence pairs, 95 % have a difference of error rates in this interval."""
    rng = np.random.default_rng(0)
    both = np.array([first, second], dtype=float)
    sums = [
        both[:, rng.integers(both.shape[1], size=both.shape[1])].sum(axis=1)
        for _ in range(N_RESAMPLES)
    ]
    right, made, true = np.moveaxis(np.array(sums), 2, 0)
    return np.quantile(np.diff(-2.0 * right / (made + true), axis=1), [0.025, 0.975]).tolist()


def aligners(report, options):
    limit = 60 if options.quick else None
    baselines, facts = in_child(counted, limit)  # skips at once when there are no data
    chosen = in_child(choose, limit)
    results = {name: in_child(learned, limit, name, chosen, options.repeat) for name in CONTENDERS}
    solved = in_child(reference, limit, chosen[0][RIDGE])
    report_errors(report, baselines, results, facts, chosen)
    report_certificates(report, results, solved)
    report.section("Weights")
    report.text("The largest weights of the ridge problem:")
    report.table(["feature", "weight"], [[name, shown(w, "+.3f")] for name, w in solved["weights"]])
    every = {**baselines, **results}
    report.bars("Word alignment: error rate of links", "percent", {
        "test": {name: 100 * rate(runs[0]["counts"]) for name, runs in every.items()},
        "folds": {name: 100 * rate(over_folds(runs)) for name, runs in every.items()},
    })  # fmt: skip


def report_errors(report, baselines, results, facts, chosen):
    report.section("Alignment error rates")
    report.text("""Error rate in percent: on the test pairs; on test pairs that are not among the
        training pairs; over all folds, with the smallest and the largest rate of a fold. Precision
        and recall are those of the test pairs. The last columns count non-zero weights, and weights
        above 1 % of the largest.""")
    rows = []
    for name, runs in {**baselines, **results}.items():
        test, errors = runs[0]["counts"], [100 * rate(r["counts"]) for r in runs[1:]]
        right, made, true = (sum(column) for column in zip(*test))
        rows.append(
            [name, *(shown(100 * x, ".1f") for x in (
                 rate(test), rate([test[k] for k in facts["new"]]), rate(over_folds(runs)))),
             f"{min(errors):.1f} to {max(errors):.1f}", shown(100 * right / made, ".1f"),
             shown(100 * right / true, ".1f"), runs[0].get("not zero"), runs[0].get("not small")]
        )  # fmt: skip
    report.table(
        ["aligner", "test", "new pairs", "folds", "range of folds", "precision", "recall",
         "non-zero", "> 1 %"],
        rows,
    )  # fmt: skip
    report.text(f"""Of {facts["links"]} links of the training pairs, training keeps {facts["kept"]}.
        The lowest possible test error of matchings is {100 * facts["best"]:.1f} %. Chosen for the
        test: C = {chosen[0][RIDGE]:g}, radii {chosen[0][L2]:.3g} (l2) and {chosen[0][L1]:.3g} (l1);
        for the folds: C = {", ".join(f"{c[RIDGE]:g}" for c in chosen[1:])}.""")
    goals = []
    for kind, where, of in (
        ("test", "test pairs", lambda runs: runs[0]["counts"]),
        ("folds", "folds", over_folds),
    ):
        best = min(baselines, key=lambda name: rate(of(baselines[name])))
        low, high = interval(of(results["bcfw"]), of(baselines[best]))
        gain = rate(of(baselines[best])) - rate(of(results["bcfw"]))
        report.text(f"""On the {where}, the error rate of bcfw is {100 * gain:.1f} points below that
            of the best unsupervised aligner ({best}); the 95 % bootstrap interval is
            {100 * low:.1f} to {100 * high:.1f}.""")
        largest = max(rate(of(results[name])) for name in names_of(RIDGE))
        goals.append(
            (f"error of ridge solvers / best unsupervised aligner, {kind}, largest",
             largest / rate(of(baselines[best])), 2 / 3, "<=")
        )  # fmt: skip
    ridge = [results[name][0] for name in names_of(RIDGE)]
    errors = [100 * rate(r["counts"]) for r in ridge]
    gap = max(r["objective"] - r["dual"] for r in ridge)
    report.text(f"""The ridge solvers, with gaps of at most {gap:.4f}, differ by up to
        {max(errors) - min(errors):.1f} points on the test.""")
    report.loses("""Learned aligners need manual links. Unsupervised aligners need none, and improve
        with more text; this corpus is small.""")
    report.goals(*goals)


def names_of(problem):
    return [name for name, (of, _) in CONTENDERS.items() if of == problem]


def report_certificates(report, results, solved):
    report.section("Optimality gaps and CPU seconds")
    report.text("""On all training pairs: passes (iterations of extragradient), objective, lower
        bound and final gap; then oracle calls per training pair and CPU seconds to a certified gap
        of 0.1, 0.03 and 0.01. A projection or prox step of a pair counts as one call.""")
    rows = []
    for name, (problem, _) in CONTENDERS.items():
        r = results[name][0]
        costs = [until(r, what, gap) for what in ("calls", "cpu") for gap in GAPS]
        costs = [None if cost is None else shown(cost, ".3g") for cost in costs]
        numbers = (r["objective"], r["dual"], r["objective"] - r["dual"])
        rows.append([name, problem, r["iterations"], *(shown(x, ".4f") for x in numbers), *costs])
    heads = [f"{what} {gap:g}" for what in ("calls", "s") for gap in GAPS]
    report.table(["solver", "problem", "passes", "objective", "bound", "gap", *heads], rows)
    report.text(f"""The optimum of the ridge problem is between {solved["dual"]:.5f} and
        {solved["objective"]:.5f}, by the cached solver with ``tol={REFERENCE_TOL:g}``. Its mean
        hinge loss, {solved["hinge"]:.5f}, approximates the optimum of the l2 ball, whose radius is
        the norm of a ridge solution.""")
    report_losses(report, results)
    ends = {p: [results[name][0] for name in names_of(p)] for p in (RIDGE, L2, L1)}
    largest = max(r["objective"] for r in ends[RIDGE])
    report.goals(
        *((f"largest lower bound minus smallest objective, {problem}",
           max(r["dual"] for r in of) - min(r["objective"] for r in of), 0.0, "<=")
          for problem, of in ends.items()),
        ("objectives of the ridge solvers, largest minus optimum", largest - solved["dual"], TOL,
         "<="),
        (f"CPU seconds of bcfw to a gap of {TOL:g}", until(results["bcfw"][0], "cpu", TOL), 5.0,
         "<="),
    )  # fmt: skip


def report_losses(report, results):
    seconds = {name: until(results[name][0], "cpu", TOL) for name in CONTENDERS}
    losses = [f"{name} does not reach {TOL:g}" for name, s in seconds.items() if s is None]
    if seconds["bcfw"] and seconds["extragradient"]:
        ratio = seconds["extragradient"] / seconds["bcfw"]
        losses.append(
            f"extragradient takes {ratio:.1f} times the CPU seconds of bcfw to a gap of {TOL:g}"
        )
    if losses:
        report.loses(f"{'; '.join(losses)}.")


def until(result, what, gap):
    """Calls or CPU seconds until the first certificate of a gap, or None."""
    return next((x for x, reached in zip(result[what], result["gaps"]) if reached <= gap), None)


if __name__ == "__main__":
    parts = {"aligners": aligners}
    raise SystemExit(main("alignment", "Word alignment: English and French", ABOUT, parts))
