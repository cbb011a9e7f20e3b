"""
======================================
Custom model: matching of digit images
======================================

The input is two rows of images of the same ten handwritten digits, from different writers and in
different orders. The output is the matching of both rows. Four methods in plain Python define a
model with a learned similarity of images; solver and certificate stay the same.
"""

# %%
# Data
# ----
# An input is a pair of arrays of images. An output is an array ``y``: the partner of image ``i`` is
# at ``y[i]``. The images are noisy and centered, and training and test rows share no image.

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits

from sklearn_fw import StructuredSVM
from sklearn_fw.structured import StructuredModel

rng = np.random.default_rng(0)
images, digits = load_digits(return_X_y=True)
images = images / 16 + 0.1 * rng.normal(size=images.shape)
mean_image = images.mean(axis=0)
images -= mean_image
order = rng.permutation(len(images))


def draw_rows(half):
    """Two rows with an image of each digit, and the position of each partner."""
    top, below = rng.permutation(10), rng.permutation(10)
    rows = [[rng.choice(half[digits[half] == digit]) for digit in row] for row in (top, below)]
    return (images[rows[0]], images[rows[1]]), np.argsort(below)[top]


X_train, y_train = zip(*[draw_rows(order[:900]) for _ in range(200)])
X_test, y_test = zip(*[draw_rows(order[900:]) for _ in range(200)])

# %%
# Model
# -----
# Matched images ``a`` and ``b`` have the score ``a @ W @ b``, so the features of a matching are
# products of pixels of matched images. The loss is the fraction of images with a wrong partner. MAP
# inference is an assignment problem, also with the loss, since that is a sum over images.


class MatchingModel(StructuredModel):
    """Matching of the images of two rows by a learned similarity."""

    def initialize(self, X, y):
        self.n_pixels_ = X[0][0].shape[1]
        return self

    def joint_feature(self, x, y):
        top, below = x
        return (top.T @ below[y]).ravel() / len(top)

    def loss(self, y_true, y):
        return np.mean(np.not_equal(y_true, y))

    def inference(self, x, w):
        return linear_sum_assignment(-self._scores(x, w))[1]

    def loss_augmented_inference(self, x, y_true, w):
        costs = np.ones((len(y_true), len(y_true))) / len(y_true)
        costs[np.arange(len(y_true)), y_true] = 0.0
        return linear_sum_assignment(-self._scores(x, w) - costs)[1]

    def _scores(self, x, w):
        top, below = x
        return top @ w.reshape(self.n_pixels_, -1) @ below.T / len(top)


# %%
# Training
# --------
# An oracle in Python is slow compared with a cache lookup, so ``solver="cached"`` is a good choice.
# The baseline is the same assignment problem with Euclidean distances.

svm = StructuredSVM(MatchingModel(), solver="cached", C=0.1, random_state=0)
svm.fit(X_train, y_train)
print(
    f"duality gap {svm.dual_gap_:.2g} of an objective of {svm.objective_:.2g} "
    f"after {svm.n_oracle_calls_} oracle calls"
)

matchings = {
    "Euclidean distance": [linear_sum_assignment(cdist(*x))[1] for x in X_test],
    "learned similarity": svm.predict(X_test),
}
for name, matching in matchings.items():
    print(f"{name}: {np.mean([a == b for a, b in zip(y_test, matching)]):.3f} correct partners")

# %%
# Predicted matchings
# -------------------
# Lines join matched images; errors are red.


def draw_matching(ax, x, matching, truth):
    for row, height in zip(x, (1.0, -1.0)):
        for place, image in enumerate(row):
            extent = (place - 0.42, place + 0.42, height - 0.42, height + 0.42)
            ax.imshow((image + mean_image).reshape(8, 8), cmap="gray_r", extent=extent)
    for place, partner in enumerate(matching):
        right = partner == truth[place]
        ax.plot(
            [place, partner], [0.5, -0.5],
            color="0.6" if right else "tab:red", linewidth=1.5 if right else 2.5,
        )  # fmt: skip
    ax.set(xlim=(-0.6, 9.6), ylim=(-1.5, 1.5))
    ax.axis("off")


figure, axes = plt.subplots(3, 2, figsize=(12, 6.6), layout="constrained")
for i, row in enumerate(axes):
    for ax, (name, matching) in zip(row, matchings.items()):
        draw_matching(ax, X_test[i], matching[i], y_test[i])
        ax.set_title(name if i == 0 else "")

# %%
# Learned similarity
# ------------------
# ``a @ W`` is the direction in which the best partner of ``a`` lies. For the mean image of a digit
# (red where it is darker than the mean of all digits) it is an image of the same digit.

W = svm.coef_.reshape(64, 64)
figure, axes = plt.subplots(2, 10, figsize=(12, 2.9), layout="constrained")
for digit, column in enumerate(axes.T):
    centered = images[digits == digit].mean(axis=0)
    for ax, image in zip(column, (centered, centered @ W)):
        top = np.abs(image).max()
        ax.imshow(image.reshape(8, 8), cmap="RdBu_r", vmin=-top, vmax=top)
        ax.set(xticks=[], yticks=[])
axes[0, 0].set_ylabel("mean")
axes[1, 0].set_ylabel("expected\npartner")
