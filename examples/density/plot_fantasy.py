"""
=======================================
Samples from kernel Student-t densities
=======================================

Samples of a model show its assumptions. The first point lies at zero, and each further one is drawn
from the density given those before it, within a box, since the density has no finite integral
without one.
"""

# %%
# Degrees of freedom
# ------------------
# RBF kernel with length scale 1 (the bar) and fifty points; the background is the predictive
# density of the next point. This is the setting of figure 2 of the reference of
# :class:`~sklearn_fw.KernelStudentTDensity`, which does not give ``sigma0``. Here it is 1; with 0.1
# all points stay in one cluster. New points join old ones as in a Chinese restaurant process: the
# larger ``dof``, the stronger the attraction of the first few points.

import matplotlib.pyplot as plt
import numpy as np

from sklearn_fw import KernelStudentTDensity

x, y = np.meshgrid(np.linspace(-8, 8, 120), np.linspace(-8, 8, 120))
grid = np.column_stack([x.ravel(), y.ravel()])


def draw(ax, title, kernel="rbf", freedom=1.0):
    """Draw fifty points and the predictive density of the next one."""
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
# Kernels
# -------
# The rougher the kernel, the smaller the distance at which points count as similar: clusters of the
# Laplacian kernel are tight, with single points in between.

figure, axes = plt.subplots(1, 3, figsize=(11, 3.9), layout="constrained")
for ax, kernel in zip(axes, ("rbf", "matern32", "laplacian")):
    draw(ax, kernel, kernel=kernel)
