"""
===============================================
Alpha-expansion and TRW-S on one stereo problem
===============================================

Two cameras show one scene from two positions: near objects move more from one image to the other.
The disparity of a pixel is its label, and neighbors mostly have equal labels: a Potts model on a
grid. :class:`~sklearn_fw.inference.CutMoves` computes a labeling by minimum cuts.
"""

# %%
# The scene is generated: a slanted floor, three boxes in front of it, and a texture. The right
# image shows each pixel moved to the left by its disparity, with noise, and new pixels where a near
# object uncovers the background.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter, uniform_filter

from sklearn_fw.inference import TRWS, BestOf, CutMoves, PairwiseScores

rng = np.random.default_rng(0)
height, width, n_states = 90, 130, 12
rows, columns = np.mgrid[:height, :width]
disparity = (1 + 3 * rows / height).astype(int)
for top, left, size, depth in ((18, 14, 30, 6), (40, 60, 34, 8), (10, 92, 26, 11)):
    disparity[top : top + size, left : left + size] = depth
texture = gaussian_filter(rng.normal(size=(height, width)), 0.8)
left = texture / texture.std() + 0.25 * disparity
right = np.roll(left, -3, axis=1) + rng.normal(size=left.shape)
for d in range(n_states):  # near objects cover far ones
    here = (disparity == d) & (columns >= d)
    right[rows[here], columns[here] - d] = left[here]
left += 0.4 * rng.normal(size=left.shape)
right += 0.4 * rng.normal(size=right.shape)

# %%
# The score of a state is the negative squared difference of the images at both ends of the move,
# truncated for occluded pixels. Edges reward equal labels.

shifted = np.stack([np.roll(right, d, axis=1) for d in range(n_states)], axis=-1)
unary = -np.minimum((left[:, :, None] - shifted) ** 2, 2.0)
number = np.arange(height * width).reshape(height, width)
edges = np.concatenate([
    np.column_stack([number[:, :-1].ravel(), number[:, 1:].ravel()]),
    np.column_stack([number[:-1].ravel(), number[1:].ravel()]),
])  # fmt: skip
scores = PairwiseScores.from_arrays(unary.reshape(-1, n_states), 0.6 * np.eye(n_states), edges)
labels, value, _ = CutMoves().argmax(scores)

# %%
# Without edges most pixels are wrong, and averages over windows blur the borders of the boxes.

alone = unary.argmax(axis=-1)
windows = uniform_filter(unary, (7, 7, 0)).argmax(axis=-1)
found = labels.reshape(height, width)
images = {
    "left image": left,
    "true disparity": disparity,
    f"without edges: {np.mean(alone == disparity):.0%} right": alone,
    f"windows: {np.mean(windows == disparity):.0%}": windows,
    f"alpha-expansion: {np.mean(found == disparity):.0%}": found,
}
figure, axes = plt.subplots(1, 5, figsize=(14, 2.6), layout="constrained")
for axis, (title, image) in zip(axes, images.items()):
    is_photo = title.startswith("left")
    axis.imshow(image, cmap="gray" if is_photo else "magma", vmin=None if is_photo else 0)
    axis.set_title(title)
    axis.set_axis_off()

# %%
# Alpha-expansion has no upper bound; TRW-S has one. ``compare`` returns the labels and the time of
# each oracle, each started from the best labels so far.

attempts = BestOf(["alpha_expansion", TRWS(max_iter=10), "trws"]).compare(scores)
bound = min(tried.upper_bound for tried in attempts)
figure, axis = plt.subplots(figsize=(6, 3.6), layout="constrained")
names = "alpha-expansion", "TRW-S, 10 passes", "TRW-S, converged"
below = [100 * (bound - tried.value) / abs(bound) for tried in attempts]
axis.bar(names, [tried.seconds for tried in attempts], color=["C1", "C0", "C0"])
for place, (share, tried) in enumerate(zip(below, attempts, strict=True)):
    axis.text(place, tried.seconds, f"{share:.2f} % below", ha="center", va="bottom", fontsize=9)
axis.set(ylabel="seconds", title="Time, and gap to the upper bound")
axis.margins(y=0.15)
plt.show()
