"""Horses cut out of photographs: superpixels, graph cuts and what the edges are worth."""

import itertools
import os
import time
import warnings
from pathlib import Path

from _report import Repeats, Skip, in_child, main, medians, shown

N_SPLITS, TRAIN_SHARE, HELD_OUT = 5, 0.6, 0.25
GRID = 3e-4, 1e-3, 3e-3, 1e-2
LOSSES = "balanced", "overlap"
N_SEGMENTS = 250
TOLERANCE, MOST_PASSES = 0.1, 100
CLOSE = 0.01  # relative gap of the race
LEAST_GAIN = 5.0  # points of intersection over union
LEAST_SPEED_UP, MOST_CALLS = 1.7, 1.15
ABOUT = """
100 photographs of the Weizmann horses with their masks (E. Borenstein, S. Ullman, ECCV 2002; for
research), each about 250 superpixels. A superpixel has the words of colour and texture in it, in
its neighbours and in theirs, as in A. Osokin et al. (ICML 2016), and its place; an edge has the
length of the border, alone and times ``exp(-rate * distance)`` for distances of colours, textures
and for the contrast along the border. Words are learned from training images alone.

Both contenders are ``StructuredSVM(GraphCutModel())`` with the same node features: one gets the
edges, the other ("nodes only") gets none. C and the loss, either that of the model ("balanced":
half of the share of the horse that is missed and half of that of the background that is taken, in
pixels) or ``OverlapLoss([1])``, are chosen by the intersection over union on a quarter of the
training images, on the same grid for both; "default" is a fit without arguments.
"""


def data_folder():
    """The folder of the images."""
    folder = Path(os.environ.get("SKLEARN_FW_DATA", ""), "horses")
    if not (folder / "img").is_dir():
        raise Skip(
            "no horses/img, horses/mask: set SKLEARN_FW_DATA to the folder that holds the data sets"
        )
    return folder


def load(n_images=None):
    """Views of images and their masks."""
    from _superpixels import View
    from matplotlib.image import imread

    views, masks = [], []
    for file in sorted((data_folder() / "img").glob("*.jpg"))[:n_images]:
        image = imread(file)
        views.append(View(image[..., :3] / 255.0, N_SEGMENTS))
        masks.append(imread(file.parents[1] / "mask" / f"{file.stem}.png") > 0.5)
    return views, masks


def split(n, seed):
    """Numbers of images to learn from, to choose C by and to be judged by."""
    import numpy as np

    order = np.random.default_rng(seed).permutation(n)
    cut = int(TRAIN_SHARE * n)
    held = int(HELD_OUT * cut)
    return order[held:cut], order[:held], order[cut:]


def graphs(views, masks, learned_from, with_edges=True):
    """Inputs and outputs of a model."""
    from _superpixels import Words

    words = Words([views[i] for i in learned_from])
    X = [words.graph(view, with_edges) for view in views]
    return X, [(view.share(mask) > 0.5).astype(int) for view, mask in zip(views, masks)]


def fitted(X, y, loss="balanced", **settings):
    """An estimator, without the warning that the budget ended first."""
    from sklearn.exceptions import ConvergenceWarning

    from sklearn_fw.structured import GraphCutModel, StructuredSVM
    from sklearn_fw.task_losses import OverlapLoss

    model = GraphCutModel(OverlapLoss([1]) if loss == "overlap" else "auto")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return StructuredSVM(model, random_state=0, **settings).fit(X, y)


def quality(svm, X, views, masks):
    """Mean intersection over union, and share of the pixels that are right, in percent."""
    import numpy as np

    overlap, right = [], []
    for made, view, mask in zip(svm.predict(X), views, masks):
        horse = made.astype(bool)[view.segments]
        overlap.append(np.sum(horse & mask) / max(np.sum(horse | mask), 1))
        right.append(np.mean(horse == mask))
    return 100 * float(np.mean(overlap)), 100 * float(np.mean(right))


# ---- with and without edges ----------------------------------------------------------------------


def measure_split(seed, n_images, grid):
    """Quality of everyone on one split."""
    views, masks = load(n_images)
    train, held, test = split(len(views), seed)
    found = {}
    for name, with_edges in (("nodes only", False), ("graph cut", True)):
        X, y = graphs(views, masks, [*train, *held], with_edges)

        def of(numbers, things):
            return [things[i] for i in numbers]

        scores = {}
        budget = {"tol": TOLERANCE, "max_iter": MOST_PASSES}
        for C, loss in itertools.product(grid, LOSSES):
            svm = fitted(of(train, X), of(train, y), C=C, loss=loss, **budget)
            scores[C, loss] = quality(svm, of(held, X), of(held, views), of(held, masks))[0]
        C, loss = max(scores, key=scores.get)
        both = [*train, *held]
        for kind, settings in (("tuned", {"C": C, "loss": loss, **budget}), ("default", {})):
            start = time.process_time()
            svm = fitted(of(both, X), of(both, y), **settings)
            seconds = time.process_time() - start
            overlap, right = quality(svm, of(test, X), of(test, views), of(test, masks))
            found[f"{name}, {kind}"] = {
                "overlap": overlap, "right": right, "C": svm.C_, "seconds": seconds,
                "loss": settings.get("loss", "balanced"),
            }  # fmt: skip
    return found


def edges(report, options):
    """What the edges are worth."""
    report.section("With and without edges")
    n_splits, n_images, grid = N_SPLITS, None, GRID
    if options.quick:
        n_splits, n_images, grid = 1, 20, GRID[2:3]
    data_folder()
    splits = [in_child(measure_split, seed, n_images, grid) for seed in range(n_splits)]
    report.text(
        f"Mean over the test images of the intersection over union of the horse, and share of the "
        f"pixels that are right, in percent; {int(100 * TRAIN_SHARE)} images are learned from, the "
        f"others are cut out; CPU seconds of the last fit. Medians of {n_splits} splits; the "
        f"loss is that of split 0."
    )
    rows = []
    for name in splits[0]:
        row = medians([found[name] for found in splits])
        rows.append([
            name, shown(row["overlap"], ".1f"), shown(row["right"], ".1f"),
            row["loss"], shown(row["C"], ".2g"), shown(row["seconds"], ".1f"),
        ])  # fmt: skip
    report.table(["contender", "overlap", "right", "loss", "C", "seconds"], rows)
    gains = {
        kind: [s[f"graph cut, {kind}"]["overlap"] - s[f"nodes only, {kind}"]["overlap"]
               for s in splits]
        for kind in ("tuned", "default")
    }  # fmt: skip
    regret = [s["graph cut, tuned"]["overlap"] - s["graph cut, default"]["overlap"] for s in splits]
    report.goals(
        ("points of overlap that edges gain, tuned", Repeats(gains["tuned"]), LEAST_GAIN, ">="),
        ("the same with defaults", Repeats(gains["default"]), LEAST_GAIN, ">="),
        ("points that the default loses to the tuned", Repeats(regret), 1.5, "<="),
    )
    report.keep(splits=splits)


# ---- oracle calls --------------------------------------------------------------------------------


def measure_solver(name, n_jobs, n_images):
    """Calls and seconds to a small gap, after a fit that loads everything."""
    views, masks = load(n_images)
    train, held, _ = split(len(views), 0)
    numbers = [*train, *held]
    X, y = graphs(views, masks, numbers)
    X, y = [X[i] for i in numbers], [y[i] for i in numbers]
    settings = {"solver": name, "n_jobs": n_jobs, "C": 1e-3}
    fitted(X[:4], y[:4], max_iter=2, **settings)
    start, cpu = time.perf_counter(), time.process_time()
    svm = fitted(X, y, tol=CLOSE, max_iter=2000, **settings)
    wall = time.perf_counter() - start
    return {
        "calls": svm.n_oracle_calls_, "seconds": wall, "cpu": time.process_time() - cpu,
        "rate": svm.n_oracle_calls_ / wall, "converged": svm.converged_,
    }  # fmt: skip


def solvers(report, options):
    """Oracle calls to a small gap."""
    report.section("Oracle calls")
    data_folder()
    runs = {
        "cached": ("cached", None), "bcpfw": ("bcpfw", None),
        "minibatch, one worker": ("minibatch", 1), "minibatch, two workers": ("minibatch", 2),
    }  # fmt: skip
    found = {
        name: medians([
            in_child(measure_solver, *run, 20 if options.quick else None)
            for _ in range(options.repeat)
        ])
        for name, run in runs.items()
    }  # fmt: skip
    report.text(
        f"To a duality gap of {100 * CLOSE:g} % of the objective at C = 0.001 on the 60 images "
        f"that split 0 learns from. Calls per second are those of the whole training."
    )
    report.table(
        ["solver", "calls", "seconds", "CPU seconds", "calls per second"],
        [
            [name, row["calls"], shown(row["seconds"], ".1f"), shown(row["cpu"], ".1f"),
             shown(row["rate"], ".0f")]
            for name, row in found.items()
        ],
    )  # fmt: skip
    one, two = found["minibatch, one worker"], found["minibatch, two workers"]
    report.goals(
        ("calls per second of two workers to those of one", float(two["rate"]) / float(one["rate"]),
         LEAST_SPEED_UP, ">="),
        ("calls of two workers to those of one", float(two["calls"]) / float(one["calls"]),
         MOST_CALLS, "<="),
    )  # fmt: skip


if __name__ == "__main__":
    parts = {"edges": edges, "solvers": solvers}
    raise SystemExit(main("horses", "Horses out of photographs", ABOUT, parts))
