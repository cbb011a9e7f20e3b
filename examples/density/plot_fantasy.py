"""
=======================================
Samples from kernel Student-t densities
=======================================

Samples of a model show its assumptions. The first point lies at zero, and each further one is drawn
from the density given those before it, within a box, since the density has no finite integral
without one.
"""

# %%
# Tight and loose clusters
# ------------------------
# The setting of figure 2 of the paper: the RBF kernel with length scale 1 (the bar),
# ``beta = 0.01``, fifty points, and the predictive density of the next one in the background. The
# paper does not give ``sigma0``; here it is 1, since with 0.1 everything stays in one cluster. New
# points join old ones as in a Chinese restaurant process. The larger ``dof``, the stronger the
# pull of the first few.

import matplotlib.pyplot as plt
import numpy as np

from sklearn_fw import KernelStudentTDensity

x, y = np.meshgrid(np.linspace(-8, 8, 120), np.linspace(-8, 8, 120))
grid = np.column_stack([x.ravel(), y.ravel()])


def draw(ax, title, kernel="rbf", freedom=1.0):
    """Fifty points and the density of the next."""
    density = KernelStudentTDensity(
        kernel, length_scale=1.0, sigma0=1.0, dof=freedom, support=(-8, 8)
    )
    X = density.sample_prior(50, random_state=3)
    density.fit(X)
    scores = density.score_samples(grid).reshape(x.shape)
    ax.pcolormesh(x, y, np.exp((scores - scores.max()) / 3), cmap="Greys", shading="gouraud")
    ax.scatter(*X.T, s=10, color="tab:blue")
    ax.plot([-7.3, -6.3], [-7.3, -7.3], color="tab:red", linewidth=3)
    ax.set(title=title, xticks=[], yticks=[], aspect="equal")


figure, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
for ax, freedom in zip(axes, (0.01, 3.0, 10.0)):
    draw(ax, f"{freedom:g} degrees of freedom", freedom=freedom)

# %%
# Three kernels
# -------------
# The rougher the kernel, the closer a point must be to count as similar: the clusters of the
# Laplacian kernel are piles, with single points in between.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
for ax, kernel in zip(axes, ("rbf", "matern32", "laplacian")):
    draw(ax, kernel, kernel=kernel)
