"""
=======================================
Co-localization of an object in a video
=======================================

Co-localization finds the object that appears in every frame of a video, without labels. The
objective rewards boxes that look similar across frames and move little: a quadratic function over
paths. The linear minimization oracle of that set is a shortest path.
"""

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
from matplotlib.patches import Rectangle

from sklearn_fw.optim import domains, minimize_frank_wolfe, objectives

# %%
# Data
# ----
# A striped ball moves through clutter that changes from frame to frame. Each frame has twelve box
# proposals: one of them is near the ball, but it is not labeled.

rng = np.random.default_rng(1)
n_frames, n_boxes, width, height, half = 10, 12, 96, 64, 9
yy, xx = np.mgrid[:height, :width]
frames, boxes, truth = [], [], []
for t in range(n_frames):
    center = np.array([14 + 7.4 * t, 32 + 16 * np.sin(0.75 * t)])
    frame = 0.45 + 0.12 * rng.standard_normal((height, width))
    for _ in range(7):  # clutter
        left, top = rng.integers(0, width - 12), rng.integers(0, height - 12)
        frame[top : top + 12, left : left + 12] += rng.uniform(-0.35, 0.35)
    inside = np.hypot(xx - center[0], yy - center[1]) < half
    frame[inside] = 0.5 + 0.5 * np.sign(np.sin(1.1 * (yy - center[1])))[inside]
    near = np.rint(center + rng.uniform(-2, 2, 2))
    others = np.stack([rng.integers(half, width - half, n_boxes - 1),
                       rng.integers(half, height - half, n_boxes - 1)], 1)  # fmt: skip
    found = np.concatenate([near[None], others])
    frames.append(np.clip(frame, 0, 1))
    order = rng.permutation(n_boxes)
    boxes.append(found[order].astype(int))
    truth.append((t, int(np.argmin(order))))


def features(frame, box):
    """Histograms of gray values and of both derivatives within a box."""
    x, y = np.clip(box, half, [width - half - 1, height - half - 1])
    patch = frame[y - half : y + half + 1, x - half : x + half + 1]
    parts = (patch, np.abs(np.diff(patch, axis=0)), np.abs(np.diff(patch, axis=1)))
    return np.concatenate(
        [np.histogram(part, bins=4, range=(0, 1))[0] / part.size for part in parts]
    )


# %%
# Objective and constraints
# -------------------------
# A ridge regression that separates chosen boxes from the others by their features fits well if the
# chosen boxes are similar: its least error is ``x'Qx`` for the indicator x of the chosen boxes.
# Edges of the graph join boxes of neighboring frames that are less than a third of the image width
# apart.

F = np.array([features(frame, box) for frame, here in zip(frames, boxes) for box in here])
n = len(F)
centering = np.eye(n) - np.full((n, n), 1.0 / n)
F = centering @ F
smoother = F @ np.linalg.solve(F.T @ F + 1e-3 * np.eye(F.shape[1]), F.T)
Q = centering - smoother
Q = (Q + Q.T) / 2 + 1e-6 * np.eye(n)

graph = nx.DiGraph()
graph.add_nodes_from((t, k) for t in range(n_frames) for k in range(n_boxes))
for t in range(n_frames - 1):
    for k in range(n_boxes):
        for m in range(n_boxes):
            if np.hypot(*(boxes[t][k] - boxes[t + 1][m])) < 32:
                graph.add_edge((t, k), (t + 1, m))
paths = domains.DagPaths(graph, variables="nodes")

# %%
# Relaxed solution and rounding
# -----------------------------
# The minimum is a convex combination of paths. One more oracle call computes the path nearest to
# it.

result = minimize_frank_wolfe(objectives.Quadratic(Q), paths, tol=1e-8)
path = paths.lmo(-result.x).to_array() > 0.5
shares = dict(zip(paths.nodes, result.x))
chosen = {node for node, is_in in zip(paths.nodes, path) if is_in}
print(f"{result.variant}: gap {result.dual_gap:.0e}, {result.n_oracle_calls} shortest paths, "
      f"mean of {len(result.atoms)} paths")  # fmt: skip
print(f"frames with the correct box: {len(chosen & set(truth))} of {n_frames}")

figure, axes = plt.subplots(2, 5, figsize=(13, 4.2), layout="constrained")
for t, ax in enumerate(axes.flat):
    ax.imshow(frames[t], cmap="gray", vmin=0, vmax=1)
    for k, (x, y) in enumerate(boxes[t]):
        is_chosen = (t, k) in chosen
        share = shares[t, k]
        style = {"edgecolor": "tab:orange" if is_chosen else "tab:blue", "fill": False,
                 "linewidth": 2.6 if is_chosen else 0.6 + 2.5 * share,
                 "alpha": 1.0 if is_chosen else 0.45}  # fmt: skip
        ax.add_patch(Rectangle((x - half, y - half), 2 * half, 2 * half, **style))
    ax.set(xticks=[], yticks=[], title=f"frame {t}")
