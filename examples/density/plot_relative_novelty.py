"""
======================================
Relative novelty detection in an image
======================================

Novelty detection reports everything unusual. Relative novelty detection reports only data that are
unusual *compared with a background*: an earlier image of the same place, yesterday's log. Its score
is the log ratio of two densities with equal parameters and equal numbers of rows.
"""

# %%
# Data
# ----
# Background and target are two images of one place: the odd pixels of a photograph, and the even
# pixels, slightly darker, so no patch occurs twice. Three pieces of another photograph are pasted
# into the target. Patches of 2 x 2 pixels with three colors are rows of 12 features.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_images

from sklearn_fw import KernelStudentTDensity
from sklearn_fw.density import RelativeNoveltyDetector

china, flower = (image / 255.0 for image in load_sample_images().images)
background, target = china[1::2, 1::2], 0.97 * china[::2, ::2]
piece = flower[120:172:2, 280:332:2, ::-1]  # red and blue exchanged
pasted = np.zeros(target.shape[:2], dtype=bool)
for row, column in ((20, 30), (110, 200), (160, 280)):
    target[row : row + 26, column : column + 26] = piece
    pasted[row : row + 26, column : column + 26] = True


def patches(image):
    """Rows of 12 features, one per patch of 2 x 2 pixels."""
    height, width = (2 * (n // 2) for n in image.shape[:2])
    blocks = image[:height, :width].reshape(height // 2, 2, width // 2, 2, -1)
    return blocks.transpose(0, 2, 1, 3, 4).reshape(height // 2 * (width // 2), -1)


rows = [patches(background), patches(target)]
shape = target.shape[0] // 2, target.shape[1] // 2
truth = patches(pasted[..., None]).all(axis=1)

# %%
# Relative and plain novelty
# --------------------------
# ``RelativeNoveltyDetector`` samples 1,000 patches from each image. With the default of 300, rare
# patches of the background are missing from the sample and appear novel. Plain novelty detection
# flags the same number of patches: those least probable under the density of the target.

X = np.concatenate(rows)
y = np.repeat([0, 1], [len(part) for part in rows])
detector = RelativeNoveltyDetector(contamination=0.03, max_samples=1000, random_state=0)
detector.fit(X, y)
relative = detector.predict(rows[1]) == -1

drawn = np.random.default_rng(0).permutation(len(rows[1]))[:1000]
scores = KernelStudentTDensity().fit(rows[1][drawn]).score_samples(rows[1])
plain = scores < np.quantile(scores, relative.mean())

for name, found in (("relative novelty", relative), ("plain novelty", plain)):
    print(
        f"{name}: {found.mean():.1%} of the patches flagged, recall {found[truth].mean():.0%}, "
        f"precision {truth[found].mean():.0%}"
    )


def marked(found):
    """The target with the flagged patches in red."""
    mask = np.kron(found.reshape(shape), np.ones((2, 2), dtype=bool))
    image = target[: mask.shape[0], : mask.shape[1]].copy()
    image = 0.5 + 0.5 * image.mean(axis=2, keepdims=True).repeat(3, axis=2)
    image[mask] = [0.85, 0.1, 0.1]
    return image


figure, axes = plt.subplots(2, 2, figsize=(9, 6), layout="constrained")
images = {
    "background": background,
    "target": target,
    "relative novelty, in red": marked(relative),
    "plain novelty, in red": marked(plain),
}
for ax, (title, image) in zip(axes.flat, images.items()):
    ax.imshow(image)
    ax.set(title=title, xticks=[], yticks=[])
    if title != "background":
        ax.contour(pasted, [0.5], colors="tab:blue", linewidths=1.2)

# %%
# Map of the log ratio
# --------------------

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ratio = -detector.score_samples(rows[1]).reshape(shape)
top = np.quantile(np.abs(ratio), 0.995)
image = ax.imshow(ratio, cmap="RdBu_r", vmin=-top, vmax=top)
ax.set(title="log ratio of target to background density", xticks=[], yticks=[])
figure.colorbar(image, shrink=0.8)
