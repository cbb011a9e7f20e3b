"""Smoothed and probabilistic training: Casimir, conditional random fields, networks."""

import math

import _casimir_problems as problems
import _casimir_taggers as taggers
from _report import in_child, main, medians, shown

WORDS = {"ewt": (95.0, "right tags"), "wnut17": (18.0, "phrase F1")}
ABOUT = """
Primal methods with a smoothed maximum over outputs (SVRG, Casimir), and conditional random fields
trained to a certified duality gap.

One reference implementation, which no solver uses, computes the objectives of all contenders from
the weights that they return. Gaps are certified by the estimators and relative to the objective.
Times are CPU seconds of training, without compilation of kernels and without feature extraction.
"""


def rounded_log(value):
    """Decimal logarithm of how far an objective is above the optimum."""
    return shown(math.log10(value), ".2f") if value > 0 else None


def _hinge_table(report, found, c, optimum, prototype):
    report.text(f"Digits, c = {c:g}:")
    report.table(
        ["method", "prototype", "sklearn_fw", "calls / n", "CPU s", "gap", "chosen"],
        [
            [name, shown(prototype.get(name), ".2f"), rounded_log(row["objective"] - optimum),
             shown(row["calls"], ".0f"), shown(row["seconds"], ".2g"), shown(row["gap"], ".2g"),
             ", ".join(f"{k}={v:.3g}" for k, v in row["settings"].items()) or None]
            for name, row in found.items()
        ],
    )  # fmt: skip


def digits(report, options):
    report.section("Multiclass hinge on digits")
    report.text("""Decimal logarithms of F - F*, lam = c / n, after 30 passes of SVRG and Casimir,
        which also compute full gradients, and 60 passes of all others. "Prototype" is a reference
        implementation. ``mu`` and ``lipschitz`` of SVRG and Casimir minimize the objective over one
        grid, as in the reference; rows "default" use the defaults. F* is the smaller of the values
        of liblinear with a tolerance of 1e-7 and of ``bcpfw`` with a gap of 1e-8.""")
    behind = []
    for k, c in enumerate(problems.CS[1:2] if options.quick else problems.CS):
        found, ours = in_child(problems.race, c, options.quick)
        optimum = min(ours, in_child(problems.reference_of_digits, c, options.quick))
        k = 1 if options.quick else k
        known = {name: of[k] for name, of in problems.PROTOTYPE.items()}
        _hinge_table(report, found, c, optimum, known)
        behind.append(_ranking(found, c, optimum))
        report.lines(
            f"Objective above the optimum, digits, c = {c:g}", "oracle calls",
            "objective minus optimum",
            {name: (row["history"]["n_oracle_calls"],
                    [max(v - optimum, 1e-9) for v in row["history"]["objective"]])
             for name, row in found.items() if not name.endswith("averaged")},
            log="xy",
        )  # fmt: skip
        if not options.quick:
            report.goals(*(
                (f"c = {c:g}, {name}: log10 ratio to the prototype",
                 math.log10(max(found[name]["objective"] - optimum, 1e-12)) - known[name],
                 0.3, "<=")
                for name in known
            ))  # fmt: skip
    report.loses(*behind)


def _ranking(found, c, optimum):
    """A sentence on the best contenders and their distance to the optimum."""
    above = {name: row["objective"] - optimum for name, row in found.items()}
    order = sorted(above, key=above.get)
    other, what = order[1], "runner-up"
    if not order[0].startswith(("Casimir", "SVRG")):
        what = "best primal method"
        other = next(name for name in order if name.startswith(("Casimir", "SVRG")))
    return (
        f"c = {c:g}: suboptimality of {order[0]} {above[order[0]]:.2g}, of the {what} ({other}) "
        f"{above[other]:.2g}."
    )


def chunking(report, options):
    limit = 100 if options.quick else None
    in_child(taggers.chunks, 1)  # skips at once when there are no data
    report.section("Conditional random field on CoNLL-2000")
    report.text(f"""The penalty is c2 = {taggers.C2:g}, as in CRFsuite's tutorial, which is C = 1 /
        (2 c2). All models have a weight for every attribute and tag and for every pair of tags:
        ``feature.possible_states`` and ``feature.possible_transitions`` in CRFsuite,
        ``ChainModel(start_end=False)`` in ``StructuredSVM``. CRFsuite minimizes n times the same
        objective. ``StructuredSVM`` stops at a certified gap of {taggers.TOL:g}, CRFsuite by its
        own rules. "Calibration" is the expected calibration error of tag probabilities on the test
        sentences, with 15 bins, in points.""")
    repeat = range(options.repeat)
    found = {
        name: medians([in_child(taggers.chain_crf, limit, solver) for _ in repeat])
        for name, solver in {
            "StructuredSVM": "auto", "StructuredSVM, svrg": "svrg",
            "StructuredSVM, casimir": "casimir",
        }.items()
    }  # fmt: skip
    for name in ("lbfgs", "l2sgd"):
        runs = [in_child(taggers.crfsuite, limit, name) for _ in repeat]
        found[f"CRFsuite {name}"] = medians(runs)
    _tagger_table(report, found)
    _curves(report, found, limit)
    ours, lbfgs = found["StructuredSVM"], found["CRFsuite lbfgs"]
    report.goals(
        ("CPU seconds, StructuredSVM / lbfgs", ours["cpu"] / lbfgs["cpu"], 0.25, "<="),
        ("objective above that of lbfgs, relative",
         ours["objective"] / lbfgs["objective"] - 1, 1e-4, "<="),
        ("phrase F1 minus that of lbfgs", ours["f1"] - lbfgs["f1"], 0.0, ">="),
    )  # fmt: skip


def _tagger_table(report, found):
    best = min(float(row["objective"]) for row in found.values())
    report.records(
        "trainer", found, ("CPU s", "cpu", ".3g"), ("iterations", "iterations"),
        ("objective", "objective", ".6f"),
        ("above the best", lambda r: r["objective"] / best - 1, ".1e"), ("gap", "gap", ".1e"),
        ("F1", "f1", ".2f"), ("calibration", "calibration", ".2f"),
    )  # fmt: skip
    order = sorted(found, key=lambda name: found[name]["f1"], reverse=True)
    fast = sorted(found, key=lambda name: found[name]["cpu"])
    report.loses(f"""CRF on CoNLL-2000, best F1: {order[0]}, {found[order[0]]["f1"]:.2f}; runner-up
        {order[1]}, {found[order[1]]["f1"]:.2f}. Fastest: {fast[0]}, then {fast[1]}.""")


def _curves(report, found, limit):
    ends = [in_child(taggers.crfsuite, limit, "l2sgd", taggers.C2, n) for n in taggers.POINTS]
    best = min(float(row["objective"]) for row in found.values())
    curves = {
        name: (row["history"]["seconds"],
               [max(v / best - 1, 1e-7) for v in row["history"]["objective"]])
        for name, row in found.items() if row["history"]
    }  # fmt: skip
    points = [*ends, found["CRFsuite l2sgd"]]
    curves["CRFsuite l2sgd"] = (
        [float(p["cpu"]) for p in points],
        [max(float(p["objective"]) / best - 1, 1e-7) for p in points],
    )
    report.lines("CRF on CoNLL-2000", "CPU seconds", "objective above the best, relative", curves,
                 log="xy")  # fmt: skip


def chunking_defaults(report, options):
    limit = 100 if options.quick else None
    in_child(taggers.chunks, 1)
    report.section("CoNLL-2000 with default settings")
    report.text("""``StructuredSVM("chain", surrogate=...)`` with defaults, and CRFsuite with its
        default penalty. For the hinge loss, the calibration error is that after ``calibrate`` on
        the last fifth of the training sentences; the last column is the error before it.""")
    rows = {
        f"StructuredSVM, {name}": in_child(taggers.chain_crf, limit, "auto", name, None)
        for name in ("crf", "softmax_margin", "hinge")
    }
    rows["CRFsuite lbfgs"] = in_child(taggers.crfsuite, limit, "lbfgs")
    report.records(
        "trainer",
        rows,
        ("CPU s", "cpu", ".3g"),
        ("F1", "f1", ".2f"),
        ("calibration", "calibration", ".2f"),
        ("before", "before", ".2f"),
    )
    report.goals(
        ("phrase F1 of the default CRF", rows["StructuredSVM, crf"]["f1"], 93.5, ">="),
        (
            "calibration error of the default CRF, points",
            rows["StructuredSVM, crf"]["calibration"],
            2.0,
            "<=",
        ),
    )


def words(report, options):
    limit = 200 if options.quick else None
    report.section("Part-of-speech tags and entities with default settings")
    report.text("""Tags of the English Web Treebank (accuracy in percent) and entities of wnut17
        (phrase F1) with the features of ``TokenFeatures()``. ``StructuredSVM`` uses defaults except
        for its surrogate, CRFsuite its defaults. Training and test texts of wnut17 come from
        different sources.""")
    for name, (least, unit) in WORDS.items():
        rows = {
            f"StructuredSVM, {surrogate}": in_child(problems.ours, name, limit, surrogate)
            for surrogate in ("crf", "softmax_margin", "hinge")
        }
        rows["CRFsuite lbfgs"] = in_child(problems.crfsuite, name, limit)
        report.records(
            name, rows, ("CPU s", "cpu", ".3g"), (unit, "score", ".2f"),
            ("calibration", "calibration", ".2f"),
        )  # fmt: skip
        order = sorted(rows, key=lambda who: rows[who]["score"], reverse=True)[:2]
        report.loses(f"{name}: " + "; then ".join(f"{w}, {rows[w]['score']:.2f}" for w in order)
                     + ".")  # fmt: skip
        crf = rows["StructuredSVM, crf"]
        report.goals((f"{name}, {unit} of the default CRF", crf["score"], least, ">="),
                     (f"{name}, calibration error, points", crf["calibration"], 2.0, "<="),
                     )  # fmt: skip


if __name__ == "__main__":
    parts = {
        "digits": digits, "chunking": chunking, "chunking-defaults": chunking_defaults,
        "words": words,
    }  # fmt: skip
    raise SystemExit(
        main("casimir", "Smoothed and probabilistic training", ABOUT, parts,
             peers=["python-crfsuite"])
    )  # fmt: skip
