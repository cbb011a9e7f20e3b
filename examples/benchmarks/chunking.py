"""Chunking of CoNLL-2000: a structured SVM and CRFsuite on the same features, in one run."""

import time

import numpy as np
from _casimir_problems import trained
from _chunking_cluster import LAM, on_workers
from _report import Clock, in_child, main, medians, peak_memory, quietly, shown, timed

from sklearn_fw.datasets import load_conll2000
from sklearn_fw.metrics import phrase_f1_score
from sklearn_fw.preprocessing import TokenFeatures, crfsuite_chunking_attributes
from sklearn_fw.structured import BlockFrankWolfe, ChainModel, StructuredSVM

N_PASSES = 10
CONVERGED = 0.02  # duality gap of the run to the optimum, relative to the objective
# The trainers of CRFsuite with the settings of its chunking tutorial, which are its defaults.
CRFSUITE = {
    "lbfgs": "L-BFGS, L2-regularized CRF",
    "ap": "averaged perceptron",
    "pa": "passive aggressive",
}
ABOUT = """
CoNLL-2000 has 8,936 training sentences with 211,727 tokens, 2,012 test sentences and 22 chunk tags.
All contenders use the nineteen templates of CRFsuite's chunking tutorial, with all attributes that
occur in training; for ``StructuredSVM`` these are 335,674 features.
``StructuredSVM`` minimizes the structured hinge loss (normalized Hamming, lam = 0.01) by
block-coordinate Frank-Wolfe with ten passes. The trainers of python-crfsuite run until their own
stopping rules apply, with the settings of the tutorial (``c1=0``, ``c2=1``,
``feature.minfreq=0``). The objectives differ, because a CRF is another model. Quality is therefore
compared by phrase F1 on the test set, computed by the same function for all contenders.

Each contender runs in fresh processes. Kernels are compiled or loaded before the clock starts.
"Features" is the time from sentences to the input of the trainer: ``TokenFeatures`` for
``StructuredSVM``; for CRFsuite a Python function that makes attribute strings, and
``Trainer.append``.
"""


def load(limit):
    """Training and test sentences; ``limit`` keeps the first ones only."""
    parts = load_conll2000(return_X_y=True)
    return [part[:limit] for part in parts]


def estimator(n, **settings):
    """The structured SVM of this page; ``settings`` go to the solver."""
    solver = BlockFrankWolfe(**{"sampling": "shuffle", "averaging": True, **settings})
    return StructuredSVM(
        ChainModel("hamming"), solver=solver, C=1 / (LAM * n), max_iter=N_PASSES, tol=0.0,
        random_state=0,
    )  # fmt: skip


def test_f1(y_true, y_pred):
    return 100 * phrase_f1_score(y_true, y_pred)


def structured_svm(limit, settings, seed=0, tol=0.0, max_iter=N_PASSES):
    """Features, training and test of ours; ``settings`` are those of the solver."""
    X_train, y_train, X_test, y_test = load(limit)
    features = TokenFeatures("chunking", fields=("w", "pos"), bias=False)
    with Clock() as vectorizing:
        X = features.fit_transform(X_train)
    quietly(estimator(20, **settings).fit, X[:20], y_train[:20])
    model = estimator(len(y_train), **settings)
    model.set_params(tol=tol, max_iter=max_iter, random_state=seed)
    before = peak_memory()
    with Clock() as training:
        quietly(model.fit, X, y_train)
    peak = peak_memory()
    with Clock() as predicting:
        predicted = model.predict(features.transform(X_test))
    return {
        "vectorizing": vectorizing.cpu, "append": 0.0, "cpu": training.cpu, "wall": training.wall,
        "iterations": model.n_iter_, "calls": model.n_oracle_calls_ / len(y_train),
        "f1": test_f1(y_test, predicted), "gap": model.dual_gap_, "objective": model.objective_,
        "memory before": before, "peak": peak, "predicting": predicting.cpu,
        "size": model.coef_.nbytes / 1e6,
    }  # fmt: skip


def crfsuite(limit, algorithm):
    """Attributes, training and test of one trainer of python-crfsuite."""
    import pycrfsuite

    X_train, y_train, X_test, y_test = load(limit)
    trainer = pycrfsuite.Trainer(algorithm=algorithm, verbose=False)
    trainer.set("feature.minfreq", 0)
    making = appending = 0.0
    # One sentence after the other, so that its strings can be forgotten.
    for sentence, tags in zip(X_train, y_train):
        started = time.process_time()
        attributes = crfsuite_chunking_attributes(sentence)
        made = time.process_time()
        trainer.append(attributes, tags.tolist())
        making, appending = making + made - started, appending + time.process_time() - made
    before = peak_memory()
    with trained(trainer) as (tagger, training, _):
        peak = peak_memory()
        with Clock() as predicting:
            predicted = [tagger.tag(crfsuite_chunking_attributes(x)) for x in X_test]
    return {
        "vectorizing": making, "append": appending, "cpu": training.cpu, "wall": training.wall,
        "iterations": len(trainer.logparser.iterations), "f1": test_f1(y_test, predicted),
        "memory before": before, "peak": peak, "predicting": predicting.cpu,
    }  # fmt: skip


def pass_times(limit, averaging, sampling):
    """CPU seconds of the parts of a fit, taken from the inside."""
    X_train, y_train = load(limit)[:2]
    X = TokenFeatures("chunking", fields=("w", "pos"), bias=False).fit_transform(X_train)
    model = estimator(len(y_train), averaging=averaging, sampling=sampling)
    quietly(estimator(20, averaging=averaging, sampling=sampling).fit, X[:20], y_train[:20])
    with Clock() as setting_up:
        blocks, lam = model._make_blocks(X, y_train, None)
        method = model.solver_.start(blocks, lam=lam, tol=0.0, rng=np.random.RandomState(0))
    _, passes = timed(method.run_pass, N_PASSES)
    return {
        "set up": setting_up.cpu, "pass": float(passes), "passes": sum(passes.values),
        "sweep": float(timed(lambda: blocks.sweep(blocks.w), 5)[1]),
        "refresh": float(timed(blocks.refresh, 5)[1]),
        "gap pass": float(timed(method.certify, 5)[1]),
    }  # fmt: skip


def contenders(report, options):
    limit = 400 if options.quick else None
    repeat = options.repeat
    in_child(load, 1)  # skips at once when there are no data

    def ours_of(settings, *budget):
        return [in_child(structured_svm, limit, settings, seed, *budget) for seed in range(repeat)]

    ours, scores = {}, {}
    for sampling in ("shuffle", "gap", "uniform"):
        runs = ours_of({"sampling": sampling})
        ours[f"{sampling}, averaged"] = medians(runs)
        scores[sampling] = sorted(run["f1"] for run in runs)
    ours["shuffle, last weights"] = medians(ours_of({"averaging": False}))
    settings = {"variant": "pairwise", "sampling": "gap", "cache": True, "averaging": False}
    ours["cached, to the end"] = medians(ours_of(settings, CONVERGED, 500))
    peers = {
        name: medians([in_child(crfsuite, limit, name) for _ in range(repeat)]) for name in CRFSUITE
    }
    rows = {f"StructuredSVM, {name}": r for name, r in ours.items()}
    rows |= {f"CRFsuite {name}": r for name, r in peers.items()}
    report_results(report, ours, peers, rows)
    spans = [f"{s} {values[0]:.2f} to {values[-1]:.2f}" for s, values in scores.items()]
    report.text(f"""Rows of StructuredSVM are medians over {repeat} random states. Range of F1 after
        ten passes over random states, by sampling: {", ".join(spans)}.""")
    report_ratios(report, ours["shuffle, averaged"], peers["lbfgs"])
    report.bars("Training on CoNLL-2000", "CPU seconds",
                {"training": {name: r["cpu"] for name, r in rows.items()}}, log=True)  # fmt: skip
    report.keep(
        ours={key: float(ours["shuffle, averaged"][key]) for key in ("f1", "cpu")},
        peers={name: {key: float(r[key]) for key in ("f1", "cpu")} for name, r in peers.items()},
    )


def report_results(report, ours, peers, rows):
    report.section("Results")
    report.text("""Features and training in CPU seconds; F1 in percent on the test sentences; memory
        in MB, before training (data and features) and at its peak. Iterations of StructuredSVM are
        passes with one oracle call per sentence.""")
    report.records(
        "contender", rows, ("features", lambda r: r["vectorizing"] + r["append"]),
        ("training", "cpu"), ("wall", "wall"), ("iterations", "iterations"), ("F1", "f1", ".2f"),
        ("before", "memory before", ".0f"), ("peak", "peak", ".0f"),
    )  # fmt: skip
    report.text("Certificates of StructuredSVM, at the weights that it returns:")
    report.records(
        "StructuredSVM", ours, ("passes", "iterations"), ("oracle calls / n", "calls", ".1f"),
        ("objective", "objective", ".5f"), ("dual", lambda r: r["objective"] - r["gap"], ".5f"),
        ("duality gap", "gap", ".5f"),
    )  # fmt: skip
    converged, averaged = ours["cached, to the end"], ours["shuffle, averaged"]
    best = max(peers, key=lambda name: peers[name]["f1"])
    report.loses(
        f"After ten averaged passes the certified gap is "
        f"{averaged['gap'] / averaged['objective']:.0%} of the objective. The run to "
        f"{CONVERGED:.0%} takes {converged['iterations']:.0f} passes and "
        f"{converged['cpu']:.1f} s; its F1 is {converged['f1']:.2f}.",
        f"The best F1 of CRFsuite is {peers[best]['f1']:.2f} ({best}); ten averaged passes reach "
        f"{averaged['f1']:.2f}.",
        f"Memory: the weights, one for every attribute and tag, take {averaged['size']:.0f} MB. "
        f"The averaged fit needs {averaged['peak'] - averaged['memory before']:.0f} MB "
        f"in addition to its data, CRFsuite {best} "
        f"{peers[best]['peak'] - peers[best]['memory before']:.0f} MB.",
    )
    report.text("""The test sentences contain the tag I-LST, which is absent from the training
        sentences. No contender can predict it, ``StructuredSVM.score`` warns about it, and the
        metric counts it as missed.""")


def sentence_times(limit):
    """CPU seconds from one sentence to its tags: of features that are there, and of its words."""
    import pycrfsuite

    X_train, y_train, X_test, _ = load(limit)
    features = TokenFeatures("chunking", fields=("w", "pos"), bias=False)
    X = features.fit_transform(X_train)
    model = estimator(len(y_train))
    quietly(model.set_params(max_iter=2).fit, X, y_train)
    trainer = pycrfsuite.Trainer(algorithm="ap", verbose=False)
    attributes = [crfsuite_chunking_attributes(x) for x in X_train]
    for made, tags in zip(attributes, y_train):
        trainer.append(made, tags.tolist())
    trainer.set("max_iterations", 5)
    sentences = X_test[:500]
    ready = [features.transform([x]) for x in sentences]
    made = [crfsuite_chunking_attributes(x) for x in sentences]
    with trained(trainer) as (tagger, _, _):
        tasks = {
            "StructuredSVM, features": lambda: [model.predict(x) for x in ready],
            "CRFsuite, attributes": lambda: [tagger.tag(x) for x in made],
            "StructuredSVM, words": lambda: [
                model.predict(features.transform([x])) for x in sentences
            ],
            "CRFsuite, words": lambda: [
                tagger.tag(crfsuite_chunking_attributes(x)) for x in sentences
            ],
        }
        for task in tasks.values():
            task()
        return {name: timed(task, 5)[1] / len(sentences) for name, task in tasks.items()}


def one_sentence(report, options):
    found = in_child(sentence_times, 400 if options.quick else None)
    report.section("One sentence at a time")
    report.text("""Milliseconds of CPU time for one sentence of the test set, mean of 500: from
        features or attributes that are there, and from words and part-of-speech tags.""")
    report.table(["from", "ms"], [[k, shown(1e3 * v, ".3f")] for k, v in found.items()])
    ready, raw = (1e3 * float(found[f"StructuredSVM, {what}"]) for what in ("features", "words"))
    report.goals(("ms, features ready", ready, 0.05, "<="), ("ms, words", raw, 0.2, "<="))
    for what, theirs in (("features", "attributes"), ("words", "words")):
        ours, peer = found[f"StructuredSVM, {what}"], found[f"CRFsuite, {theirs}"]
        if peer < ours:
            report.loses(f"One sentence, {what}: CRFsuite {1e3 * float(peer):.3f} ms, "
                         f"StructuredSVM {1e3 * float(ours):.3f} ms.")  # fmt: skip


def report_ratios(report, svm, lbfgs):
    report.section("Comparison with CRFsuite L-BFGS")
    svm_all = svm["vectorizing"] + svm["cpu"]
    lbfgs_all = lbfgs["vectorizing"] + lbfgs["append"] + lbfgs["cpu"]
    report.table(
        ["CPU seconds", "StructuredSVM", "CRFsuite lbfgs", "ratio"],
        [
            ["attributes or CSR features", svm["vectorizing"], lbfgs["vectorizing"],
             shown(lbfgs['vectorizing'] / svm['vectorizing'], ".1f")],
            ["Trainer.append", None, lbfgs["append"], None],
            ["training", svm["cpu"], lbfgs["cpu"], shown(lbfgs['cpu'] / svm['cpu'], ".1f")],
            ["training and append", svm["cpu"], lbfgs["cpu"] + lbfgs["append"],
             shown((lbfgs['cpu'] + lbfgs['append']) / svm['cpu'], ".1f")],
            ["features, append and training", svm_all, lbfgs_all,
             shown(lbfgs_all / svm_all, ".1f")],
            ["tagging the test set, with features", svm["predicting"], lbfgs["predicting"],
             shown(lbfgs['predicting'] / svm['predicting'], ".1f")],
        ],
    )  # fmt: skip
    report.goals(
        ("F1 after ten averaged passes", svm["f1"], 93.5, ">="),
        ("training CPU seconds, lbfgs / StructuredSVM", lbfgs["cpu"] / svm["cpu"], 20.0, ">="),
        ("CPU seconds with features, lbfgs / StructuredSVM", lbfgs_all / svm_all, 5.0, ">="),
        ("peak memory, MB", svm["peak"], 1500.0, "<="),
    )


def inside_a_fit(report, options):
    limit = 400 if options.quick else None
    in_child(load, 1)  # skips at once when there are no data
    inside = {
        f"{sampling}, {'averaging' if averaging else 'last weights'}": medians(
            [in_child(pass_times, limit, averaging, sampling) for _ in range(options.repeat)]
        )
        for sampling, averaging in (("shuffle", True), ("shuffle", False), ("gap", False))
    }
    report.section("Cost of the steps of a fit")
    report.text("""CPU milliseconds. "Setup" is the work before the first pass; "pass" the median
        of ten passes and "ten" their sum; "sweep" one exact sweep of the oracle; "refresh" the
        recomputation of the weights from the dual variables. A gap pass consists of a sweep and a
        refresh, with averaging also of a sweep for the average. Last columns: gap pass / pass, and
        pass / matrix product.""")
    report.table(
        ["run", "setup", "pass", "ten", "sweep", "refresh", "gap pass", "gap/pass", "product"],
        [
            [name, *(shown(1e3 * t[k], ".0f")
                     for k in ("set up", "pass", "passes", "sweep", "refresh", "gap pass")),
             shown(t['gap pass'] / t['pass'], ".2f"), shown(t['pass'] / report.product, ".2f")]
            for name, t in inside.items()
        ],
    )  # fmt: skip
    report.goals(("CPU seconds of one pass", inside["shuffle, averaging"]["pass"], 0.25, "<="))


if __name__ == "__main__":
    parts = {
        "contenders": contenders, "inside": inside_a_fit, "sentence": one_sentence,
        "workers": on_workers,
    }  # fmt: skip
    raise SystemExit(
        main("chunking", "Chunking: CoNLL-2000", ABOUT, parts, peers=["python-crfsuite"])
    )
