"""
=====================================================
Frank-Wolfe, away and pairwise steps in two polytopes
=====================================================

Frank-Wolfe methods minimize a function over a set given by its linear minimization oracle. Two
polytopes in the plane show three kinds of steps: towards a vertex, away from an atom, and from an
atom to a vertex.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_fw.optim import domains, minimize_frank_wolfe, objectives

# %%
# Problems
# --------
# A triangle whose minimum (star) lies on an edge, and an l1 ball with a stretched quadratic. The
# atoms of both are vertices, and each iterate is a convex combination of atoms.

triangle = np.array([[0.0, 0.0], [2.0, 0.15], [0.35, 1.5]])
diamond = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
stretch = np.array([[1.2, 0.35], [0.1, 0.8]])
problems = {
    "triangle": (
        objectives.LeastSquares(np.eye(2), [0.9, -0.2]), domains.ConvexHull(triangle), triangle, 2
    ),
    "l1 ball": (
        objectives.LeastSquares(stretch, stretch @ [0.62, 0.58]), domains.L1Ball(2), diamond, 2
    ),
}  # fmt: skip
variants = {"fw": "tab:blue", "away": "tab:orange", "pairwise": "tab:green"}


def path(objective, domain, variant, n_steps, start):
    """Iterates of a run, collected by a callback."""
    points = [start.copy()]
    result = minimize_frank_wolfe(
        objective, domain, variant=variant, start=start, max_iter=n_steps, tol=0.0,
        callback=lambda state: points.append(state.x),
    )  # fmt: skip
    return np.array([*points, result.x])


# %%
# Zigzagging
# ----------
# Each step of plain Frank-Wolfe ("fw") goes towards a vertex. If the minimum lies on an edge, the
# steps alternate between both vertices of that edge, and the weight of the start vertex only
# shrinks: progress becomes slower and slower. *Away* steps reduce the weight of the worst atom, and
# *pairwise* steps move its weight to the best vertex. Both reach the edge.

figure, axes = plt.subplots(2, 3, figsize=(11, 7), layout="constrained")
for row, (name, (objective, domain, vertices, first)) in zip(axes, problems.items()):
    low, high = vertices.min(0) - 0.18, vertices.max(0) + 0.18
    grid = np.stack(np.meshgrid(*np.linspace(low, high, 200).T), axis=-1)
    values = np.array([objective(x)[0] for x in grid.reshape(-1, 2)]).reshape(200, 200)
    best = minimize_frank_wolfe(objective, domain, tol=1e-12)
    start = vertices[first] * 1.0
    for ax, (variant, color) in zip(row, variants.items()):
        above = np.sqrt(np.maximum(values - best.fun, 0.0))
        ax.contour(grid[..., 0], grid[..., 1], above, 14, colors="0.8", linewidths=0.8)
        ax.fill(*vertices.T, facecolor="0.5", alpha=0.12, edgecolor="0.3")
        points = path(objective, domain, variant, 25, start)
        ax.plot(*points.T, "-", color=color, linewidth=1.2)
        ax.scatter(*points.T, s=np.linspace(40, 8, len(points)), color=color, zorder=3)
        ax.plot(*best.x, "k*", markersize=13, zorder=4)
        ax.set(title=f"{variant}, {name}", aspect="equal", xlim=(low[0], high[0]),
               ylim=(low[1], high[1]), xticks=[], yticks=[])  # fmt: skip

# %%
# Convergence rates
# -----------------
# Each step computes the gap, which bounds the error. It decreases like one over the number of steps
# for plain Frank-Wolfe, and by a constant factor per step for the others. The same in 500
# dimensions: least squares over an l1 ball, with fewer rows than columns.

rng = np.random.default_rng(0)
A = rng.standard_normal((200, 500))
truth = np.zeros(500)
truth[:50] = np.repeat([1.0, -1.0], 25)
wide = objectives.LeastSquares(A, A @ truth + 0.1 * rng.standard_normal(200))
runs = {
    name: minimize_frank_wolfe(wide, domains.L1Ball(500, radius=20.0), variant=name, tol=1e-8)
    for name in ("away", "pairwise", "fully_corrective")
}

figure, ax = plt.subplots(figsize=(7, 4.4), layout="constrained")
plain = minimize_frank_wolfe(wide, domains.L1Ball(500, radius=20.0), variant="fw", tol=10.0)
colors = variants | {"fully_corrective": "tab:red"}
for name, run in {"fw": plain, **runs}.items():
    gaps = run.history["dual_gap"]
    ax.loglog(np.arange(1, len(gaps) + 1), gaps, color=colors[name], label=name)
ax.set(xlabel="steps", ylabel="gap", ylim=(3e-9, None), title="l1 ball in 500 dimensions")
ax.legend()
for name, run in runs.items():
    print(f"{name:17s} {run.nit:5d} steps, {len(run.atoms):3d} vertices, gap {run.dual_gap:.0e}")
