"""
====================================================
Multi-label classification of seven-segment displays
====================================================

A display shows a digit with seven segments, each on or off. The seven binary labels depend on each
other: of 128 patterns only ten occur. A model with pair scores uses this; seven separate
classifiers do not.
"""

# %%
# Data
# ----
# Noisy digits, and for each the segments that are on: top, upper left, upper right, middle, lower
# left, lower right, bottom.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, hamming_loss
from sklearn.model_selection import train_test_split

from sklearn_fw import StructuredSVM
from sklearn_fw.structured import MultilabelModel

PATTERNS = np.array([list(map(int, pattern)) for pattern in (
    "1110111", "0010010", "1011101", "1011011", "0111010",
    "1101011", "1101111", "1010010", "1111111", "1111011",
)])  # fmt: skip

rng = np.random.default_rng(0)
images, digits = load_digits(return_X_y=True)
images = np.clip(images / 16 + 0.25 * rng.normal(size=images.shape), 0, 1)
X_train, X_test, y_train, y_test = train_test_split(
    images, PATTERNS[digits], test_size=0.5, random_state=0
)

# %%
# Three models
# ------------
# No pairs, the pairs of a tree, or all pairs. The tree is the maximum spanning tree of the mutual
# information of labels. Inference takes linear time in the number of labels with a tree, and
# exponential time with all pairs, which is fast enough for seven labels.

models = {}
for edges in ("none", "tree", "full"):
    model = MultilabelModel(edges=edges, task_loss="hamming")
    models[edges] = StructuredSVM(model, C=0.1, random_state=0).fit(X_train, y_train)
    predicted = models[edges].predict(X_test)
    print(
        f"pairs: {edges:4s}  wrong segments {hamming_loss(y_test, predicted):.3f}  "
        f"correct patterns {accuracy_score(y_test, predicted):.3f}  "
        f"duality gap {models[edges].dual_gap_:.1e}"
    )

# %%
# Predictions
# -----------
# The first test images with different predictions. Segments that are on are black, or red if they
# should be off; missing segments are pale.

SEGMENTS = np.array([
    [(0, 2), (1, 2)], [(0, 1), (0, 2)], [(1, 1), (1, 2)], [(0, 1), (1, 1)],
    [(0, 0), (0, 1)], [(1, 0), (1, 1)], [(0, 0), (1, 0)],
])  # fmt: skip


def draw_display(ax, pattern, truth):
    for (start, stop), on, wanted in zip(SEGMENTS, pattern, truth):
        color = {(1, 1): "black", (1, 0): "red", (0, 1): "pink"}.get((on, wanted))
        if color:
            gap = 0.12 * (stop - start)
            ax.plot(*np.transpose([start + gap, stop - gap]), color=color, linewidth=4)
    ax.set(xlim=(-0.4, 1.4), ylim=(-0.3, 2.3), aspect="equal")


readings = {edges: svm.predict(X_test) for edges, svm in models.items()}
shown = np.flatnonzero(np.ptp(list(readings.values()), axis=0).any(axis=1))[:12]
figure, axes = plt.subplots(4, 12, figsize=(12, 5.6), layout="constrained")
for ax, image in zip(axes[0], X_test[shown]):
    ax.imshow(image.reshape(8, 8), cmap="gray_r")
for row, (edges, patterns) in zip(axes[1:], readings.items()):
    for ax, pattern, truth in zip(row, patterns[shown], y_test[shown]):
        draw_display(ax, pattern, truth)
    row[0].set_ylabel(f"pairs: {edges}")
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)

# %%
# Learned pair weights
# --------------------
# A line joins two segments with a pair table. Blue pairs tend to be equal (both on or both off),
# red ones to differ; the width is the strength of the preference.

figure, axes = plt.subplots(1, 2, figsize=(8, 4.6), layout="constrained")
middles = SEGMENTS.mean(axis=1)
for ax, edges in zip(axes, ("tree", "full")):
    svm = models[edges]
    tables = svm.feature_weights()["pairs"]
    preference = tables[:, 0, 0] + tables[:, 1, 1] - tables[:, 0, 1] - tables[:, 1, 0]
    for start, stop in SEGMENTS:
        ax.plot(*np.transpose([start, stop]), color="0.85", linewidth=12, solid_capstyle="round")
    for (a, b), value in zip(svm.model_.edges_, preference / np.abs(preference).max()):
        color = "tab:blue" if value > 0 else "tab:red"
        ax.plot(*np.transpose([middles[a], middles[b]]), color=color, linewidth=6 * abs(value))
    ax.set(xlim=(-0.4, 1.4), ylim=(-0.3, 2.3), aspect="equal", title=f"pairs: {edges}")
    ax.axis("off")
