"""Models of the UAI competition: inference compared with the published solutions."""

import gzip
import math
import tempfile
import warnings
from pathlib import Path

import numpy as np
from _report import Clock, data_path, in_child, main, medians, shown

from sklearn_fw.random_fields import (
    ExactMarginals,
    FactorGraph,
    MeanFieldMarginals,
    MiniBucketMarginals,
    load_uai,
)

ABOUT = """
Models of the UAI 2014 competition with evidence: log Z and marginals of eighteen models, and MAP
inference on nine. Every model is read from its file and conditioned on the evidence. Sums use the
defaults of :class:`~sklearn_fw.random_fields.ExactMarginals`. For graphs of too large width, they
use the bounds of :class:`~sklearn_fw.random_fields.MiniBucketMarginals` and
:class:`~sklearn_fw.random_fields.MeanFieldMarginals`. MAP inference uses ``map`` with a limit of
ten seconds. The folder ``uai`` of ``SKLEARN_FW_DATA`` contains the models.
"""
SECONDS = 10.0
AGREE = 1e-6  # the files hold six digits of marginals
ENOUGH = 2 / 3
QUICK = {"PR": ("Alchemy_11", "linkage_11"), "MAP": ("Segmentation_12", "wcsp_15")}
# Where junction trees of pyAgrum are small enough not to be waited for.
PEER = ("Alchemy_11", "Grids_12", "Pedigree_11", "Pedigree_12")


def models(kind, quick):
    folder = data_path(f"uai/{kind}")
    paths = sorted(str(path)[: -len(".gz")] for path in folder.glob("*.uai.gz"))
    return [p for p in paths if not quick or name_of(p) in QUICK[kind]]


def name_of(path):
    return Path(path).name.removesuffix(".uai")


def read(path):
    observed = load_uai(f"{path}.evid", "evidence")
    field = load_uai(f"{path}.gz")
    return field.condition(observed) if observed else field


def sums(path):
    """What is found of log10 Z and marginals, and how it compares with the file."""
    warnings.simplefilter("ignore")
    field = read(path)
    digits = Path(f"{path}.PR").read_text().split()[1]
    ExactMarginals().fit(read_smallest())  # what is compiled is loaded before the clock starts
    found = {"given": float(digits), "lower": None, "upper": None, "error": None, "exact": True}
    with Clock() as clock:
        try:
            exact = ExactMarginals().fit(field)
        except ValueError as error:
            if "elimination needs" not in str(error):
                raise
            exact = None
    if exact is None:
        found["exact"] = False
        with Clock() as clock:
            found["upper"] = MiniBucketMarginals().fit(field).log_partition_upper_ / math.log(10)
            field_bound = MeanFieldMarginals(random_state=0).fit(field).log_partition_lower_
            found["lower"] = field_bound / math.log(10)
        found["agrees"] = found["lower"] <= found["given"] <= found["upper"]
    else:
        value = exact.log_partition_ / math.log(10)
        unit = 10.0 ** -len(digits.partition(".")[2])
        found |= {"lower": value, "upper": value}
        given = load_uai(path.replace("/PR/", "/MAR/") + ".MAR", "solution")
        blocks = field.complete_marginals(exact.marginals_)
        error = max(float(np.abs(a - b).max()) for a, b in zip(blocks, given, strict=True))
        found["error"] = error
        found["agrees"] = abs(value - float(digits)) <= 0.51 * unit and error <= AGREE
        found["contradicts"] = float(digits) * math.log(10) > largest(field)
    return found | {"cpu": clock.cpu}


def read_smallest():
    return FactorGraph([2, 2, 2], [([0, 1, 2], [[[0.0, 1.0]] * 2] * 2)])


def largest(field):
    """More than any log Z of a field: sums for variables times the largest numbers of tables."""
    bound = field.constant + sum(np.logaddexp.reduce(block) for block in field.unary)
    return bound + sum(table.max() for table in field.tables)


def peer(path):
    """CPU seconds of all posteriors by pyAgrum, and whether they are numbers."""
    try:
        import pyagrum as gum
    except ImportError:
        return None
    evidence = list(map(int, Path(f"{path}.evid").read_text().split()))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model.uai")
        file.write_bytes(gzip.decompress(Path(f"{path}.gz").read_bytes()))
        model = gum.loadMRF(str(file))
    with Clock() as clock:
        inference = gum.ShaferShenoyMRFInference(model)
        pairs = zip(evidence[1::2], evidence[2::2], strict=True)
        inference.setEvidence({model.variable(i).name(): state for i, state in pairs})
        inference.makeInference()
        posteriors = [inference.posterior(i).tolist() for i in model.nodes()]
    return {"cpu": clock.cpu, "numbers": all(p == p for row in posteriors for p in row)}


def part_sums(report, options):
    paths = models("PR", options.quick)
    rows, n_good, n_narrow, wrong = {}, 0, 0, []
    for path in paths:
        found = medians([in_child(sums, path) for _ in range(options.repeat)])
        status = "exact" if found["exact"] else "bounds"
        if found["exact"]:
            n_narrow += 1
            n_good += found["agrees"]
        if not found["agrees"]:
            status = "missed"
            if found.get("contradicts"):
                status = "exact; file contradicts model"
                n_narrow -= 1
                wrong.append(name_of(path))
        rows[name_of(path)] = found | {"status": status}
    report.section("Log Z and marginals")
    report.records(
        "model", rows, ("log10 Z of the file", "given", ".6g"), ("lower bound", "lower", ".6g"),
        ("upper bound", "upper", ".6g"), ("largest error of a marginal", "error", ".1e"),
        ("CPU s", "cpu", ".2f"), ("status", "status"),
    )  # fmt: skip
    report.text("""Both bounds are equal for exact sums. Files contain log10 Z with six digits and
        marginals with six decimals, so that differences of 5e-7 are rounding errors.""")
    if wrong:
        report.text(f"""The published log Z of {", ".join(wrong)} exceeds a trivial upper bound on Z
            of the model: the product of the sums of unary tables and of the largest entries of all
            other tables.""")
    report.goals(("exact models that agree with their files", n_good, n_narrow, ">="))
    peers = []
    for path in paths:
        if name_of(path) in PEER:
            theirs = [in_child(peer, path) for _ in range(options.repeat)]
            if theirs[0] is not None:
                theirs = medians(theirs)
                ours = shown(rows[name_of(path)]["cpu"], ".2f")
                answer = "numbers" if theirs["numbers"] else "not a number"
                peers.append([name_of(path), ours, shown(theirs["cpu"], ".2f"), answer])
    if peers:
        report.text("Junction tree of pyAgrum, on the same machine, one thread:")
        report.table(["model", "CPU s", "CPU s, pyAgrum", "marginals, pyAgrum"], peers)


def labeling(path):
    """MAP inference, and the score of the published labeling."""
    field = read(path)
    given = load_uai(f"{path}.MAP", "solution")
    read_smallest().map()
    with Clock() as clock:
        best = field.map(time_limit=SECONDS)
    return {
        "given": float(field.score(given[field.variables][None])[0]),
        "value": best.value, "bound": best.bound, "cpu": clock.cpu, "wall": clock.wall,
        "choice": best.choice.partition(":")[0],
    }  # fmt: skip


def part_labelings(report, options):
    rows, n_reached, paths = {}, 0, models("MAP", options.quick)
    for path in paths:
        found = medians([in_child(labeling, path) for _ in range(options.repeat)])
        reached = found["value"] >= found["given"] - 1e-6 * max(1.0, abs(found["given"]))
        n_reached += reached
        rows[name_of(path)] = found | {"status": "reached" if reached else "missed"}
    report.section("MAP inference")
    report.records(
        "model", rows, ("score of the file", "given", ".6g"), ("score", "value", ".6g"),
        ("bound", "bound", ".6g"), ("CPU s", "cpu", ".2f"), ("s", "wall", ".2f"),
        ("status", "status"), ("solver", "choice"),
    )  # fmt: skip
    report.goals((
        f"models with at least the score of the file within {SECONDS:g} s", n_reached,
        math.ceil(ENOUGH * len(paths)), ">=",
    ))  # fmt: skip
    missed = [name for name, row in rows.items() if row["status"] == "missed"]
    if missed:
        report.loses(f"The published labelings have larger scores for {', '.join(missed)}.")


if __name__ == "__main__":
    raise SystemExit(
        main("uai", "Models of the UAI competition", ABOUT,
             {"sums": part_sums, "labelings": part_labelings}, peers=("pyagrum",))
    )  # fmt: skip
