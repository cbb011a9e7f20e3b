"""
============================================================
Submodular minimization: image segmentation by a minimum cut
============================================================

Segmentation of a flower in a photograph minimizes a submodular function. Maximum flow requires a
function of pairs of pixels. The min-norm point method applies to every submodular function and
certifies its minimum. Here both find the same segmentation.
"""

# %%
# Data
# ----
# One rectangle lies inside the flower, one outside. A Gaussian is fitted to the colors of each.

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
    """Negative log-likelihood of each color under the Gaussian of a region."""
    top, bottom, left, right = region
    colors = image[top:bottom, left:right].reshape(-1, 3)
    covariance = np.cov(colors.T) + 0.01 * np.eye(3)
    away = image - colors.mean(axis=0)
    square = np.einsum("ijk,kl,ijl->ij", away, np.linalg.inv(covariance), away)
    return 0.5 * (square + np.linalg.slogdet(covariance)[1])


costs = 8.0 * np.tanh((surprise(inside) - surprise(outside)) / 40.0)

# %%
# Objective
# ---------
# The cost of a set of pixels is the sum of its pixel costs and of its border, which is cheap where
# colors change. The function is submodular: the more neighbors of a pixel are in the set, the less
# the border grows by adding it.

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
# Two solvers
# -----------
# The greedy algorithm turns an order of the pixels into a base, and evaluates all sets of the
# order. Wolfe's min-norm point method computes the shortest convex combination of the bases so far,
# and requests one more base in the order of its entries. The sum of its negative entries is a lower
# bound on all sets.

result = minimize_submodular(energy)
print(f"{result.nit} bases, minimum {result.fun:.6f}, lower bound {result.lower_bound:.6f}")

unary = np.column_stack([np.zeros(costs.size), -costs.ravel()])
tables = -price[:, None, None] * (1.0 - np.eye(2))
labels, value, _ = GraphCut().argmax(PairwiseScores(unary, tables, edges))
print(f"maximum flow: {-value:.6f}, {np.sum(labels != result.x)} pixels differ")

# %%
# Min-norm base
# -------------
# The base is also an image: its negative entries are the cut. At the min-norm point, the magnitude
# of a negative entry is the extra cost per pixel up to which the pixel stays in the set. The best
# set is found early; the certificate takes longer, and is complete before the base is the min-norm
# point.

base = result.base_point.reshape(height, width)
limit = np.abs(base).max()
figure, axes = plt.subplots(2, 2, figsize=(9, 9), layout="constrained")
axes[0, 0].imshow(image)
for (top, bottom, left, right), color in ((inside, "white"), (outside, "black")):
    size = right - left, bottom - top
    axes[0, 0].add_patch(Rectangle((left, top), *size, fill=False, edgecolor=color, lw=2))
axes[0, 0].set_title("flower (white), background (black)")
shown = axes[0, 1].imshow(base, cmap="RdBu", vmin=-limit, vmax=limit)
axes[0, 1].set_title("last base: negative entries are the flower")
figure.colorbar(shown, ax=axes[0, 1], shrink=0.8)
cut = result.x.reshape(height, width)
axes[1, 0].imshow(np.where(cut[..., None], image, 0.25 * image + 0.75))
axes[1, 0].contour(labels.reshape(height, width), [0.5], colors="tab:red", linewidths=1.5)
axes[1, 0].set_title("minimizer; red: maximum flow")
for axis in axes.flat[:3]:
    axis.set_axis_off()
history = result.history
bases = 1 + np.arange(result.nit)
above, below = history["objective"] - result.fun, result.fun - history["dual_objective"]
axes[1, 1].semilogy(bases, np.where(above > 1e-9, above, np.nan), "o-", label="best set, above")
axes[1, 1].semilogy(bases, np.where(below > 1e-9, below, np.nan), label="best bound, below")
axes[1, 1].set(xlabel="bases", title="distance from the minimum")
axes[1, 1].legend()
plt.show()
