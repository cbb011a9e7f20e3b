"""Graph cuts and message passing on grids: seconds of single calls, and their quality."""

import itertools

import numpy as np
from _report import Repeats, in_child, main, shown, timed
from scipy.ndimage import gaussian_filter

from sklearn_fw.inference import TRWS, CutMoves, GraphCut, PairwiseScores

ABOUT = """
Time of graph cuts, alpha-expansion and message passing on grids of 100 x 100 pixels, and distance
of their labels from the bound of message passing. All problems are generated from standard normal
scores of pixels with ``numpy.random.default_rng(0)``.
"""
SIDE, STATES, MANY = 100, 8, 9
CUT_MS, EXPANSION_S, SHARE, PASS_MS = 10.0, 0.3, 0.01, 3.0  # goals
COUPLINGS = (0.1, 0.5, 1.0, 2.0)
KINDS = {
    "equal": "one coupling for all edges",
    "random": "couplings are the given one times absolute values of normal numbers",
    "segments": "two smooth regions, with noise as large as the contrast",
}
POTTS = {"equal": (0.5, 1.0, 2.0), "random": (0.5, 1.0), "mixed": (0.5, 1.0)}
FEW, PASSES = 1, 21


def edges_of(side):
    number = np.arange(side**2).reshape(side, side)
    across, down = (number[:, :-1], number[:, 1:]), (number[:-1], number[1:])
    return np.concatenate([np.column_stack([a.ravel(), b.ravel()]) for a, b in (across, down)])


def potts(kind, coupling, n_states, side=SIDE):
    """Scores of a grid whose edges gain by equal states; "mixed" ones in part by different ones."""
    rng, edges = np.random.default_rng(0), edges_of(side)
    unary = rng.normal(size=(side**2, n_states))
    if kind == "segments":
        truth = gaussian_filter(rng.normal(size=(side, side)), side / 16) > 0
        unary[np.arange(side**2), truth.ravel().astype(int)] += 1.0
    if kind in ("equal", "segments"):
        table = coupling * np.eye(n_states)
        tables = np.broadcast_to(table, (len(edges), *table.shape))
    else:
        strength = rng.normal(size=(len(edges), 1, 1))
        strength = strength if kind == "mixed" else np.abs(strength)
        tables = coupling * strength * np.eye(n_states)
    return PairwiseScores(unary, tables, edges)


def asked(oracle, scores):
    """The answer and the CPU seconds of repeated calls, after one that compiles."""
    oracle.argmax(scores)
    return timed(lambda: oracle.argmax(scores), MANY)


def measure_cuts(side):
    """By problem: milliseconds of a graph cut, and the share of pixels in state 1."""
    found = {}
    for kind, coupling in itertools.product(KINDS, COUPLINGS):
        (labels, *_), seconds = asked(GraphCut(), potts(kind, coupling, 2, side))
        found[f"{kind}, {coupling:g}"] = {"ms": 1e3 * seconds, "ones": float(labels.mean())}
    return found


def cut(report, options):
    side = 20 if options.quick else SIDE
    report.section("Graph cuts")
    report.text(f"""CPU milliseconds of one call of ``GraphCut`` on a grid of {side} x {side}
        pixels, and the fraction of pixels in the second state.""")
    report.bullets(*(f"{name}: {text}." for name, text in KINDS.items()))
    found = in_child(measure_cuts, side)
    report.records("problem, coupling", found, ("ms", "ms", ".2f"),
                   ("fraction", "ones", ".2f"))  # fmt: skip
    report.goals(*((f"{name}, ms", row["ms"], CUT_MS, "<=") for name, row in found.items()))


def measure_moves(side):
    """By problem and oracle: seconds, and by what share of the bound the labels are below it."""
    found = {}
    for kind, couplings in POTTS.items():
        for coupling in couplings:
            scores = potts(kind, coupling, STATES, side)
            bound = TRWS(max_iter=300).argmax(scores)[2]
            rows = found[f"{kind}, {coupling:g}"] = {}
            for oracle in (CutMoves(), CutMoves("swap"), TRWS(max_iter=10), TRWS()):
                (_, value, _), seconds = asked(oracle, scores)
                rows[repr(oracle)] = {"s": seconds, "below": (bound - value) / abs(bound)}
    return found


def moves(report, options):
    side = 20 if options.quick else SIDE
    report.section("Alpha-expansion and message passing")
    report.text(f"""CPU seconds of one call on a grid of {side} x {side} pixels with {STATES}
        states, and distance of the score from the bound of 300 iterations of TRWS, in percent of
        the bound. In "mixed" problems, half of the edges prefer different states.""")
    rows, goals = [], []
    for name, found in in_child(measure_moves, side).items():
        rows += [
            [f"{name}, {oracle}", shown(row["s"], ".3f"), shown(100 * row["below"], ".2f")]
            for oracle, row in found.items()
        ]
        ours = found["CutMoves()"]
        goals += [
            (f"alpha-expansion, {name}, s", ours["s"], EXPANSION_S, "<="),
            (f"alpha-expansion, {name}, below the bound", ours["below"], SHARE, "<="),
        ]
    report.table(["problem, oracle", "s", "% below"], rows)
    report.goals(*goals)


def measure_passes(side):
    """By kind of couplings: milliseconds of an iteration of TRWS."""
    return {kind: measure_pass(potts(kind, 1.0, STATES, side)) for kind in POTTS}


def measure_pass(scores):
    few, many = (asked(TRWS(max_iter=n, tol=0.0), scores)[1] for n in (FEW, PASSES))
    return Repeats(
        [1e3 * (b - a) / (PASSES - FEW) for a, b in zip(few.values, many.values, strict=True)]
    )


def passes(report, options):
    side = 20 if options.quick else SIDE
    report.section("Cost of an iteration of TRWS")
    report.text(f"""CPU milliseconds of an iteration on {side} x {side} pixels with {STATES} states:
        a forward and a backward pass with decoding of labels. It is computed from the difference
        between calls with {PASSES} and with {FEW} iterations.""")
    found = in_child(measure_passes, side)
    report.table(["couplings", "ms"], [[kind, shown(ms, ".2f")] for kind, ms in found.items()])
    report.goals(*((f"{kind} couplings, ms", ms, PASS_MS, "<=") for kind, ms in found.items()))


if __name__ == "__main__":
    parts = {"cut": cut, "moves": moves, "passes": passes}
    raise SystemExit(main("cuts", "Graph cuts and message passing on grids", ABOUT, parts))
