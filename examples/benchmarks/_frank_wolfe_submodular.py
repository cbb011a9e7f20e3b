"""Lowest sets of submodular functions: cuts of images, and Iwata's function."""

import numpy as np
from _frank_wolfe_problems import grid_edges, iwata, noisy_image
from _report import Clock, Repeats, cpu_of, in_child, shown

from sklearn_fw.optim import minimize_submodular, set_functions

SMOOTHNESS = 0.7
SIDES = (16, 32, 64)
IWATA = (50, 100, 200, 500)
SECONDS = 60.0  # for the naive loop


def image_function(side):
    """Cut of the edges between neighbours plus the cost of calling a pixel one."""
    picture, edges = noisy_image(side, side), grid_edges(side, side)
    cut = set_functions.CutFunction(edges, weights=np.full(len(edges), SMOOTHNESS))
    return cut + set_functions.ModularFunction(-picture.ravel())


def measure_image(side, repeat):
    """Both programs on a picture."""
    from sklearn_fw.inference import GraphCut, PairwiseScores

    picture, edges = noisy_image(side, side), grid_edges(side, side)
    function = image_function(side)
    table = np.array([[0.0, -SMOOTHNESS], [-SMOOTHNESS, 0.0]])
    scores = PairwiseScores(
        unary=np.stack([np.zeros(picture.size), picture.ravel()], 1),
        pairwise=np.broadcast_to(table, (len(edges), 2, 2)).copy(), edges=edges,
    )  # fmt: skip
    oracle = GraphCut()
    labels, value, _ = oracle.argmax(scores)
    flow = cpu_of(lambda: oracle.argmax(scores), repeat)
    minimize_submodular(image_function(4))
    runs, seconds = [], []
    for _ in range(repeat):
        with Clock() as clock:
            runs.append(minimize_submodular(function))
        seconds.append(clock.cpu)
    run = runs[-1]
    return {
        "flow": flow, "seconds": seconds, "calls": run.n_oracle_calls, "gap": run.dual_gap,
        "value": run.fun, "flow_value": -float(value),
        "differs": int(np.sum(run.x != (np.asarray(labels) == 1))),
    }  # fmt: skip


def iwata_function(n):
    """Iwata's function as a sum of two of the package."""
    sizes = np.arange(n + 1.0)
    return set_functions.CardinalityFunction(sizes * (n - sizes)) + set_functions.ModularFunction(
        iwata(n)
    )


def naive(n, seconds):
    """Wolfe's method on a plain function of masks: n + 1 values a base, systems solved anew."""
    weights = iwata(n)

    def value(mask):
        size = int(mask.sum())
        return size * (n - size) + float(weights[mask].sum())

    best = 0.0

    def base(x):
        nonlocal best
        mask, point, before = np.zeros(n, bool), np.empty(n), 0.0
        for i in np.argsort(x, kind="stable"):
            mask[i] = True
            after = value(mask)
            point[i], before, best = after - before, after, min(best, after)
        return point

    clock, n_bases = Clock(), 1
    clock.__enter__()
    points, weight = base(np.zeros(n))[None], np.ones(1)
    while True:
        x = weight @ points
        new = base(x)
        n_bases += 1
        clock.__exit__()
        # The best set of all chains against the bound of the present mean of bases.
        arrived = best - float(np.minimum(x, 0.0).sum()) <= 1e-9 * abs(best)
        if arrived or clock.cpu > seconds:
            return {"seconds": clock.cpu, "bases": n_bases, "arrived": arrived, "value": best}
        points, weight = np.vstack([points, new]), np.append(weight, 0.0)
        while True:
            ones = np.ones(len(points))
            goal = np.linalg.lstsq(points @ points.T + np.outer(ones, ones), ones, rcond=None)[0]
            goal /= goal.sum()
            if np.all(goal > 1e-12):
                weight = goal
                break
            falls = goal <= 1e-12
            ratio = weight[falls] / np.maximum(weight[falls] - goal[falls], 1e-300)
            weight = weight + min(1.0, ratio.min()) * (goal - weight)
            kept = weight > 1e-12
            points, weight = points[kept], weight[kept] / weight[kept].sum()


def measure_iwata(n, repeat, seconds):
    """Both programs on Iwata's function, and the function as a callable."""
    minimize_submodular(iwata_function(5))
    weights = iwata(n)

    def value(mask):
        size = int(mask.sum())
        return size * (n - size) + float(weights[mask].sum())

    found = {}
    for name, args in (("objects", (iwata_function(n),)), ("callable", (value, n))):
        seconds_of, runs = [], []
        for _ in range(repeat):
            with Clock() as clock:
                runs.append(minimize_submodular(*args))
            seconds_of.append(clock.cpu)
        found[name] = {"seconds": seconds_of, "calls": runs[-1].n_oracle_calls,
                       "value": runs[-1].fun, "gap": runs[-1].dual_gap}  # fmt: skip
    found["naive"] = naive(n, seconds)
    return found


def submodular_part(report, options):
    """Cuts of images against maximum flow, and Iwata's function against a plain loop."""
    sides, sizes = (SIDES[:1], IWATA[:1]) if options.quick else (SIDES, IWATA)
    report.section("Submodular functions")
    found = {side: in_child(measure_image, side, options.repeat) for side in sides}
    report.text(
        f"""Binary pictures from noise: cuts of a grid with couplings of {SMOOTHNESS:g} and costs of
        single pixels. ``minimize_submodular`` knows nothing but bases; ``GraphCut`` finds a maximum
        flow, and serves as referee: "too high" is what the value lies above that of the flow."""
    )
    report.table(
        ["pixels", "ms", "bases", "gap", "too high", "ms of GraphCut"],
        [
            [f"{side} x {side}", shown(1e3 * Repeats(r["seconds"]), ".3g"), r["calls"],
             shown(r["gap"], ".1e"), shown(max(r["value"] - r["flow_value"], 0.0), ".1e"),
             shown(1e3 * Repeats(r["flow"]), ".3g")]
            for side, r in found.items()
        ],
    )  # fmt: skip
    for side, r in found.items():
        ours, theirs = Repeats(r["seconds"]), Repeats(r["flow"])
        if theirs < ours:
            report.loses(f"""The cut of {side} x {side} pixels: GraphCut takes {1e3 * theirs:.3g}
                         ms, minimize_submodular {1e3 * ours:.3g} ms; it is for other functions.""")
    goals = [
        (f"{side} x {side}: value above that of the flow, relative",
         max(r["value"] - r["flow_value"], 0.0) / abs(r["flow_value"]), 1e-9, "<=")
        for side, r in found.items()
    ]  # fmt: skip
    seconds = 5.0 if options.quick else SECONDS
    runs = {n: in_child(measure_iwata, n, options.repeat, seconds) for n in sizes}
    report.text(
        f"""Iwata's function, ``F(A) = |A| (n - |A|) - sum over j in A of (5 j - 2 n)``: CPU
        milliseconds and bases with functions of the package, with a callable of masks, and of a
        plain loop, which is Wolfe's method with the same stop, a value of the callable for every
        element, and its linear systems solved anew. A dash was not there after {seconds:g} s."""
    )
    rows = []
    for n, run in runs.items():
        plain = run["naive"]
        rows.append([
            n, shown(1e3 * Repeats(run["objects"]["seconds"]), ".3g"), run["objects"]["calls"],
            shown(1e3 * Repeats(run["callable"]["seconds"]), ".3g"), run["callable"]["calls"],
            shown(1e3 * plain["seconds"], ".3g") if plain["arrived"] else None, plain["bases"],
        ])  # fmt: skip
        if plain["arrived"]:
            ratio = Repeats(run["callable"]["seconds"]) / plain["seconds"]
            goals.append((f"n = {n}: seconds of the callable over those of the plain loop",
                          ratio, 1.0, "<="))  # fmt: skip
            goals.append(
                (
                    f"n = {n}: value above that of the plain loop",
                    max(run["objects"]["value"] - plain["value"], 0.0),
                    1e-6,
                    "<=",
                )
            )
    report.table(
        ["n", "ms", "bases", "ms, callable", "bases, callable", "ms, plain", "bases, plain"], rows
    )
    report.goals(*goals)
