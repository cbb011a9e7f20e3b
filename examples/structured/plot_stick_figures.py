"""
================================
Pose estimation of stick figures
================================

A detector of hands responds to the left hand, to the right hand, and to false positives. Only the
rest of the body resolves the ambiguity. A pose model combines a score map per joint with springs
along a tree of joints. Distance transforms find the best pose among all positions of all joints, in
a few milliseconds.
"""

# %%
# Data
# ----
# Eleven joints of seven kinds. Each kind has a score map with peaks at its joints, three false
# peaks, and noise.

import matplotlib.pyplot as plt
import numpy as np

from sklearn_fw import StructuredSVM
from sklearn_fw.datasets import make_stick_figures
from sklearn_fw.structured import TreePoseModel

figures = make_stick_figures(120, random_state=0)
X_train, y_train = figures.X[:60], figures.y[:60]
X_test, y_test = figures.X[60:], figures.y[60:]

fig, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
axes[0].imshow(figures.images[0], cmap="gray_r")
axes[0].set_title("figure")
for ax, name in zip(axes[1:], ("neck", "elbow", "hand")):
    look = figures.feature_names.index(name)
    ax.imshow(figures.X[0][:, :, look], cmap="viridis")
    ax.set_title(f"detector: {name}")
for ax in axes:
    ax.set_axis_off()

# %%
# Training
# --------
# The model learns a filter of the maps for each joint, and the cost of a displacement for each edge
# of the tree. Quadratic weights stay positive. The default tree is the spanning tree of the
# training poses whose displacements vary least. Without edges joints are independent.

alone = StructuredSVM(TreePoseModel(edges=[]), random_state=0).fit(X_train, y_train)
tree = StructuredSVM(TreePoseModel(), random_state=0).fit(X_train, y_train)

names = figures.joint_names
print("edges:", ", ".join(f"{names[a]} - {names[b]}" for a, b in tree.model_.edges_))
for title, svm in {"independent joints": alone, "tree": tree}.items():
    print(f"{title:18s} score on other figures {svm.score(X_test, y_test):.2f}")


# %%
# The score is one minus the mean squared distance of joints, truncated at a fifth of the figure. A
# joint within a tenth of the figure is correct:


def share_of_right_joints(found):
    size = [np.ptp(pose, axis=0).max() for pose in y_test]
    off = [np.linalg.norm(a[:, :2] - b, axis=1) for a, b in zip(found, y_test)]
    return np.mean([d <= 0.1 * s for d, s in zip(off, size)], axis=0)


by_itself, together = (share_of_right_joints(svm.predict(X_test)) for svm in (alone, tree))
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
place = np.arange(len(names))
ax.barh(place + 0.2, by_itself, 0.4, label="independent joints", color="tab:orange")
ax.barh(place - 0.2, together, 0.4, label="tree", color="tab:blue")
ax.set(
    yticks=place,
    yticklabels=names,
    xlim=(0, 1),
    xlabel="fraction of figures with the joint correct",
)
ax.invert_yaxis()
fig.legend(loc="outside right upper")

# %%
# Poses
# -----
# Four test figures: the truth, independent joints, and the tree. Red joints are wrong. The tree
# separates left from right and ignores false peaks.


def draw(ax, i, pose):
    ax.imshow(X_test[i].max(axis=2), cmap="gray_r", alpha=0.5)
    for a, b in figures.edges:
        ends = pose[[a, b]]
        left = names[b].startswith("left")
        right = names[b].startswith("right")
        color = "tab:green" if left else "tab:purple" if right else "0.2"
        ax.plot(ends[:, 1], ends[:, 0], color=color, linewidth=2.5)
    off = np.linalg.norm(pose - y_test[i], axis=1) > 0.1 * np.ptp(y_test[i], axis=0).max()
    ax.scatter(pose[:, 1], pose[:, 0], c=np.where(off, "red", "black"), s=22, zorder=3)
    ax.set(xlim=(-0.5, 63.5), ylim=(63.5, -0.5))
    ax.set_axis_off()


shown = range(4)
fig, axes = plt.subplots(3, 4, figsize=(11, 8.2), layout="constrained")
rows = {
    "truth": y_test,
    "independent joints": alone.predict(X_test[:4]),
    "tree": tree.predict(X_test[:4]),
}
for (title, poses), row in zip(rows.items(), axes):
    for i, ax in zip(shown, row):
        draw(ax, i, poses[i])
    row[0].set_title(title, loc="left")

# %%
# Deformation costs
# -----------------
# The learned cost of each edge, by the displacement of its second joint from its first. Hands can
# be anywhere around their elbow; the position of the head is nearly fixed.

weights = tree.feature_weights()["deformation"][:, 0]
reach = np.arange(-20, 21)
fig, axes = plt.subplots(2, 5, figsize=(11, 5), layout="constrained")
for ax, (a, b), w, anchor, scale in zip(
    axes.ravel(), tree.model_.edges_, weights, tree.model_.anchors_[:, 0], tree.model_.scales_
):
    d_row, d_column = ((reach - r) / s for r, s in zip(anchor, scale))
    cost = (w[0] * d_row**2 + w[1] * d_row)[:, None] + w[2] * d_column**2 + w[3] * d_column
    image = ax.imshow(
        cost - cost.min(), extent=(-20.5, 20.5, 20.5, -20.5), cmap="magma_r", vmin=0, vmax=2
    )
    ax.plot(0, 0, "+", color="tab:cyan", markersize=10)
    ax.set_title(f"{names[a]} to {names[b]}", size=9)
fig.colorbar(image, ax=axes, label="cost", shrink=0.8)
