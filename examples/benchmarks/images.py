"""Poses and boxes in images: cost of the oracles, and scores with default settings."""

import itertools

import numpy as np
from _report import in_child, main, quietly, shown, timed

from sklearn_fw import StructuredSVM, structured
from sklearn_fw.datasets import make_stick_figures
from sklearn_fw.inference import BoxScores, DistanceTransform, PoseScores, SubwindowSearch

ABOUT = """
Cost of the oracles of :doc:`/guide/images`, and scores of the models with default settings and with
the best of a grid. All data are generated with ``random_state`` 0, so that the numbers can be
reproduced without data files.
"""
N_CALLS = 9
PARTS, SIDE, SECONDS = 26, 100, 0.1  # the goal: joints, side of the maps, seconds
GRID = [10.0**k for k in range(-4, 3)]  # times the C that "auto" takes
POINTS = 1.5  # of the score, within which the defaults are of the best of the grid
N_TRAIN, N_TEST = 60, 120


def milliseconds(ask, *args):
    """CPU milliseconds of some calls, after one that compiles."""
    ask(*args)
    return 1e3 * timed(lambda: ask(*args), N_CALLS)[1]


def measure_poses():
    """Milliseconds by numbers of joints, of pixels of a side and of types."""
    found = {}
    for n_joints, side, n_types in itertools.product((11, PARTS), (50, SIDE, 200), (1, 4)):
        rng = np.random.default_rng(0)
        springs = n_joints - 1, n_types
        scores = PoseScores.from_arrays(
            rng.normal(size=(n_joints, side, side)),
            [(j, (j - 1) // 2) for j in range(1, n_joints)],
            rng.uniform(0.0, 0.02, size=(*springs, 4)),
            rng.normal(scale=5.0, size=(*springs, 2)), rng.normal(size=springs),
        )  # fmt: skip
        found[n_joints, side, n_types] = milliseconds(DistanceTransform().argmax, scores)
    return found


def measure_boxes():
    """Milliseconds and number of boxes by kind of image and side."""
    found = {}
    for side in (50, SIDE, 200):
        rng = np.random.default_rng(0)
        noise = rng.normal(size=(side, side))
        thing = np.full((side, side), -0.3)
        third, half = side // 3, side // 2
        thing[third:half, third:half] += 1.0
        truth = third, third, half, half
        problems = {
            "object in noise": BoxScores(thing + 0.3 * noise),
            "object in noise, with loss": BoxScores(thing + 0.3 * noise, truth, side),
            "noise": BoxScores(noise),
            "noise, with loss": BoxScores(noise, truth, side),
        }
        oracle = SubwindowSearch()
        for name, scores in problems.items():
            found[name, side] = {
                "ms": milliseconds(oracle.argmax, scores),
                "boxes": (side * (side + 1) // 2) ** 2,
            }
    return found


def oracles(report, options):
    report.section("Distance transforms")
    report.text(f"""CPU milliseconds of one call of ``DistanceTransform``, medians of {N_CALLS}, on
        trees with random maps, springs and subpixel anchors.""")
    poses = in_child(measure_poses)
    report.table(
        ["joints", "pixels", "types per edge", "ms"],
        [[n, f"{side} x {side}", t, shown(ms, ".3g")] for (n, side, t), ms in poses.items()],
    )
    report.goals(
        (f"CPU s of {PARTS} joints on {SIDE} x {SIDE} pixels", 1e-3 * poses[PARTS, SIDE, 1],
         SECONDS, "<="),
    )  # fmt: skip
    report.section("Boxes by branch and bound")
    report.text("""CPU milliseconds of one call of ``SubwindowSearch``, and number of boxes. "With
        loss" is loss-augmented inference, as in training; the weight of the loss is the side in
        pixels.""")
    boxes = in_child(measure_boxes)
    report.table(
        ["weights", "pixels", "ms", "boxes"],
        [[name, f"{side} x {side}", shown(row["ms"], ".2g"), row["boxes"]]
         for (name, side), row in boxes.items()],
    )  # fmt: skip


def pose_data():
    figures = make_stick_figures(N_TRAIN + N_TEST, random_state=0)
    return figures.X, figures.y


def box_data():
    """A thing whose pixels look a little different, and pixels that look so elsewhere."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(N_TRAIN + N_TEST):
        sides = rng.integers(8, 20, size=2)
        top, left = rng.integers(0, 41 - sides)
        x = rng.normal(size=(40, 40, 4))
        x[top : top + sides[0], left : left + sides[1], 0] += 0.8
        x[:, :, 1] += 0.5 * x[:, :, 0]
        x[:, :, 3] = 1.0
        X.append(x)
        y.append((top, left, top + sides[0], left + sides[1]))
    return X, y


TASKS = {
    "stick figures": (pose_data, "TreePoseModel", {}),
    "stick figures, no edges": (pose_data, "TreePoseModel", {"edges": []}),
    "boxes": (box_data, "BoxModel", {}),
}


def measure_learning(name, quick, repeat):
    """Score and seconds of the defaults, and the scores of the grid."""
    make, model, params = TASKS[name]
    X, y = make()
    data, test = (X[:N_TRAIN], y[:N_TRAIN]), (X[N_TRAIN:], y[N_TRAIN:])
    make_model = getattr(structured, model)
    StructuredSVM(make_model(**params), C=1e-4, max_iter=1, tol=0.99).fit(X[:2], y[:2])  # compiles
    svm, seconds = timed(
        lambda: StructuredSVM(make_model(**params), random_state=0).fit(*data), repeat
    )
    grid = {}
    for factor in GRID[2:4] if quick else GRID:
        other = StructuredSVM(make_model(**params), C=factor * svm.C_, random_state=0, max_iter=50)
        grid[factor] = quietly(other.fit, *data).score(*test)
    calls = {}
    for solver in ("bcpfw", "cached"):
        fitted = StructuredSVM(
            make_model(**params), C=svm.C_, solver=solver, tol=0.02, random_state=0
        ).fit(*data)  # fmt: skip
        calls[solver] = int(fitted.history_["n_oracle_calls"][-1])
    return {
        "score": svm.score(*test), "seconds": seconds, "grid": grid, "calls": calls,
        "gap": svm.dual_gap_ / svm.objective_,
    }  # fmt: skip


def learning(report, options):
    report.section("Scores with default settings")
    report.text(f"""Scores on {N_TEST} test images after training on {N_TRAIN}: one minus the mean
        loss (truncated squared distances, or overlap). The grid multiplies the value of
        ``C="auto"`` by powers of ten. Its best value is chosen on the test images, which favors the
        grid. Gaps are relative to the objective. Oracle calls are those to a gap of 2 %.""")
    found = {
        name: in_child(measure_learning, name, options.quick, options.repeat) for name in TASKS
    }
    report.records(
        "task", found, ("defaults", "score", ".3f"),
        ("best of grid", lambda row: max(row["grid"].values()), ".3f"),
        ("factor of C", lambda row: f"{max(row['grid'], key=row['grid'].get):g}"),
        ("gap", "gap", ".2g"), ("CPU s of fit", "seconds", ".2g"),
        ("calls, bcpfw", lambda row: row["calls"]["bcpfw"]),
        ("calls, cached", lambda row: row["calls"]["cached"]),
    )  # fmt: skip
    report.goals(*(
        (f"{name}: best of the grid minus default, points",
         100 * (max(row["grid"].values()) - row["score"]), POINTS, "<=")
        for name, row in found.items() if not name.endswith("no edges")  # which is the baseline
    ))  # fmt: skip
    report.lines(
        "Score by C, relative to the default", "factor of C", "score",
        {name: (list(row["grid"]), list(row["grid"].values())) for name, row in found.items()},
        log="x",
    )  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main(
        "images", "Poses and boxes in images", ABOUT, {"oracles": oracles, "learning": learning}
    ))  # fmt: skip
