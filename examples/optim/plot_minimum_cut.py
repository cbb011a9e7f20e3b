"""
============================================================
Submodular minimization: image segmentation by a minimum cut
============================================================

Segmentation of a flower in a photograph minimizes a submodular function. Maximum flow requires a
function of pairs of pixels. The min-norm point method applies to every submodular function and
certifies its minimum. Here both find the same segmentation.
"""

# %%
# The image
# -----------
# One rectangle lies inside the flower, one outside. Each gives a Gaussian of colors.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Rectangle
from sklearn.datasets import load_sample_image

from sklearn_fw.inference import GraphCut, PairwiseScores
from sklearn_fw.optim import minimize_submodular, set_functions

photo = load_sample_image("flower.jpg")[:424, 100:524].astype(float) / 255.0
image = photo.reshape(53, 8, 53, 8, 3).mean(axis=(1, 3))
height, width, _ = image.shape
inside, outside = (18, 30, 22, 34), (2, 10, 2, 14)  # top, bottom, left, right


def surprise(region):
    """Minus the log-likelihood of each color, for the Gaussian of those in a region."""
    top, bottom, left, right = region
    colors = image[top:bottom, left:right].reshape(-1, 3)
    covariance = np.cov(colors.T) + 0.01 * np.eye(3)
    away = image - colors.mean(axis=0)
    square = np.einsum("ijk,kl,ijl->ij", away, np.linalg.inv(covariance), away)
    return 0.5 * (square + np.linalg.slogdet(covariance)[1])


costs = 8.0 * np.tanh((surprise(inside) - surprise(outside)) / 40.0)

# %%
# The function
# ------------
# A set of pixels pays the costs of its pixels and a price for its border, which is low where
# colors change. The sum is submodular: the more neighbors of a pixel are in, the less it pays to
# join.

nodes = np.arange(height * width).reshape(height, width)
edges = np.vstack(
    [
        np.column_stack([nodes[:, :-1].ravel(), nodes[:, 1:].ravel()]),
        np.column_stack([nodes[:-1].ravel(), nodes[1:].ravel()]),
    ]
)
colors = image.reshape(-1, 3)
contrast = np.sum((colors[edges[:, 0]] - colors[edges[:, 1]]) ** 2, axis=1)
price = 4.0 * np.exp(-contrast / (2.0 * contrast.mean()))
energy = set_functions.CutFunction(edges, price) + set_functions.ModularFunction(costs.ravel())

# %%
# Two ways to the lowest set
# --------------------------
# The greedy algorithm turns an order of the pixels into a base, and values all sets of the order on
# its way. Wolfe's method goes to the shortest mean of the bases so far and asks for one more, in
# the order of the entries of this mean. Entries below zero add up to a bound on all sets.

result = minimize_submodular(energy)
print(f"{result.nit} bases, lowest set {result.fun:.6f}, no set below {result.lower_bound:.6f}")

unary = np.column_stack([np.zeros(costs.size), -costs.ravel()])
tables = -price[:, None, None] * (1.0 - np.eye(2))
labels, value, _ = GraphCut().argmax(PairwiseScores(unary, tables, edges))
print(f"maximum flow: {-value:.6f}, {np.sum(labels != result.x)} pixels differ")

# %%
# What the shortest base says
# ---------------------------
# The base is an image, too: its entries below zero are the cut. How far they are below shows what
# each pixel could cost more and still be in, as the level sets of the shortest base are the lowest
# sets of the function with a constant cost more per pixel. The best set is found early; the proof
# takes longer, and ends before the base is the shortest.

base = result.base_point.reshape(height, width)
limit = np.abs(base).max()
figure, axes = plt.subplots(2, 2, figsize=(9, 9), layout="constrained")
axes[0, 0].imshow(image)
for (top, bottom, left, right), color in ((inside, "white"), (outside, "black")):
    size = right - left, bottom - top
    axes[0, 0].add_patch(Rectangle((left, top), *size, fill=False, edgecolor=color, lw=2))
axes[0, 0].set_title("flower (white) and the rest (black)")
shown = axes[0, 1].imshow(base, cmap="RdBu", vmin=-limit, vmax=limit)
axes[0, 1].set_title("the last base: below zero is the flower")
figure.colorbar(shown, ax=axes[0, 1], shrink=0.8)
cut = result.x.reshape(height, width)
axes[1, 0].imshow(np.where(cut[..., None], image, 0.25 * image + 0.75))
axes[1, 0].contour(labels.reshape(height, width), [0.5], colors="tab:red", linewidths=1.5)
axes[1, 0].set_title("lowest set; red: by maximum flow")
for axis in axes.flat[:3]:
    axis.set_axis_off()
history = result.history
bases = 1 + np.arange(result.nit)
above, below = history["objective"] - result.fun, result.fun - history["dual_objective"]
axes[1, 1].semilogy(bases, np.where(above > 1e-9, above, np.nan), "o-", label="best set above it")
axes[1, 1].semilogy(bases, np.where(below > 1e-9, below, np.nan), label="best bound below it")
axes[1, 1].set(xlabel="bases", title="distance from the minimum")
axes[1, 1].legend()
plt.show()
