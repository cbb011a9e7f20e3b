"""
================================
Image segmentation by graph cuts
================================

Each photograph becomes a graph of superpixels, a few hundred patches of similar color, with edges
between neighbors. The label of a node is animal or background. `GraphCutModel` adds the scores of
the nodes, and subtracts a cost for every edge between different labels, which is larger between
similar patches. The MAP labeling is a minimum cut.

The photographs are Weizmann horses if the folder ``SKLEARN_FW_DATA`` contains them, and generated
animals otherwise.
"""

# %%
# Images
# ------

import os
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter

from sklearn_fw import StructuredSVM
from sklearn_fw.structured import GraphCutModel
from sklearn_fw.task_losses import OverlapLoss

N_TRAIN, N_SHOWN = 40, 4
EXAMPLES = [
    Path.cwd().parent,
    Path.cwd(),
    Path.cwd() / "examples",
]  # the gallery runs in a subfolder
rng = np.random.default_rng(0)


def draw_animal(height=110, width=150):
    """Image and mask of an animal on a meadow, with random colors and light."""
    row, column = np.mgrid[:height, :width] / height
    x, y, size = rng.uniform(0.55, 0.8), rng.uniform(0.45, 0.6), rng.uniform(0.8, 1.15)
    side = rng.choice([-1, 1])
    u, v = side * (column - x) / size, (row - y) / size
    parts = [u**2 / 0.09 + v**2 / 0.02 < 1, (u - 0.38) ** 2 / 0.012 + (v + 0.22) ** 2 / 0.005 < 1]
    parts.append((np.abs(v + 0.1 - 0.12 * (0.28 - u) / 0.1) < 0.09) & (np.abs(u - 0.28) < 0.09))
    for leg in (-0.24, -0.16, 0.14, 0.22):
        parts.append((np.abs(u - leg - 0.1 * v * np.sign(leg)) < 0.022) & (v > 0) & (v < 0.33))
    mask = np.any(parts, axis=0)

    def texture(scale, strength):
        return strength * gaussian_filter(rng.normal(size=row.shape), scale)[..., None] * scale

    sky, meadow = np.array([0.62, 0.74, 0.85]), np.array([0.42, 0.5, 0.25])
    brown = np.array([0.45, 0.32, 0.22])
    ground = np.where((row > rng.uniform(0.3, 0.5))[..., None], meadow, sky)
    # Bushes and rocks have the colors of coats.
    clutter = gaussian_filter(rng.normal(size=row.shape), 5)
    clutter = (clutter > np.quantile(clutter, 0.85))[..., None]
    ground = np.where(clutter, brown * rng.uniform(0.7, 1.6), ground)
    ground = ground + texture(6, 0.4) * [1, 0.7, 0.3] + texture(1.5, 0.12)
    coat = brown * rng.uniform(0.6, 1.7) + texture(4, 0.5) - 0.35 * v[..., None]
    image = np.where(mask[..., None], coat, ground)
    return np.clip(image + 0.05 * rng.normal(size=image.shape), 0, 1), mask


folder = Path(os.environ.get("SKLEARN_FW_DATA", ""), "horses")
if (folder / "img").is_dir():
    files = rng.permutation(sorted((folder / "img").glob("*.jpg")))[: N_TRAIN + N_SHOWN]
    images = [plt.imread(file) / 255.0 for file in files]
    masks = [plt.imread(folder / "mask" / f"{file.stem}.png") > 0.5 for file in files]
else:
    images, masks = zip(*[draw_animal() for _ in range(N_TRAIN + N_SHOWN)])

# %%
# Graphs
# ------
# Node features are visual words of color and texture, in the superpixel and around it, and its
# position. Edge features are the length of the border, alone and times similarities from 0 to 1.
# The program imports them from the benchmark ``horses.py``. The cost of a wrong node is its number
# of pixels.

sys.path.append(str(next(p for p in EXAMPLES if (p / "benchmarks").is_dir()) / "benchmarks"))
from horses import View, Words

views = [View(image) for image in images]
words = Words(views[:N_TRAIN])
y = [(view.share(mask) > 0.5).astype(int) for view, mask in zip(views, masks)]
X = {
    "nodes only": [words.graph(view, with_edges=False) for view in views],
    "graph cut": [words.graph(view) for view in views],
}
features, edges, likeness, pixels = X["graph cut"][0]
print(f"{len(features)} nodes with {features.shape[1]} features, {len(edges)} edges with "
      f"{likeness.shape[1]}")  # fmt: skip

# %%
# Accuracy with and without edges
# -------------------------------
# Both models have the same node features and default parameters. The task loss is one minus the
# intersection over union of the animal. The solver keeps edge weights nonnegative, so every MAP
# problem in training is a minimum cut, which is exact: the duality gap is a certificate.

found = {}
for name, graphs in X.items():
    model = GraphCutModel(OverlapLoss([1]))
    svm = StructuredSVM(model, random_state=0).fit(graphs[:N_TRAIN], y[:N_TRAIN])
    made = svm.predict(graphs[N_TRAIN:])
    found[name] = [
        labels.astype(bool)[view.segments] for labels, view in zip(made, views[N_TRAIN:])
    ]
    overlap = [np.sum(a & b) / np.sum(a | b) for a, b in zip(found[name], masks[N_TRAIN:])]
    print(f"{name}: intersection over union {np.mean(overlap):.2f}, gap {svm.dual_gap_:.3f} of "
          f"{svm.objective_:.3f}")  # fmt: skip

print("cost of different labels, by feature:", np.round(svm.model_.unpack(svm.coef_)["edges"], 4))

# %%
# Segmentations
# -------------
# Test images and their segmentations.

found["truth"] = masks[N_TRAIN:]
figure, axes = plt.subplots(
    N_SHOWN, 4, figsize=(11, 2.1 * N_SHOWN), layout="constrained", squeeze=False
)
for i, row in enumerate(axes):
    image = images[N_TRAIN + i]
    row[0].imshow(image)
    for ax, (name, shapes) in zip(row[1:], found.items()):
        ax.imshow(np.where(shapes[i][..., None], image, 0.85 + 0.15 * image))
        ax.contour(shapes[i], [0.5], colors="tab:red", linewidths=0.8)
        ax.set_title(name if i == 0 else "")
for ax in axes.flat:
    ax.axis("off")

plt.show()
