"""
=====================================
Kernel Student-t density of two moons
=====================================

The kernel Student-t density puts a Gaussian with unknown mean and covariance on the feature space
of a kernel and integrates both out. The result is a density of any shape, in closed form, from one
Cholesky factorization. This example compares it with kernel density estimation, for several
kernels.
"""

# %%
# Comparison with kernel density estimation
# -----------------------------------------
# ``predict`` labels points below the red line as outliers: 5 % of the training points are below it
# when each is scored by the model without it.

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import NullFormatter
from sklearn.datasets import make_moons
from sklearn.metrics import roc_auc_score
from sklearn.neighbors import KernelDensity

from sklearn_fw import KernelStudentTDensity
from sklearn_fw.density import PolynomialKernel

X, _ = make_moons(200, noise=0.08, random_state=0)
x, y = np.meshgrid(np.linspace(-2, 3, 160), np.linspace(-1.5, 2, 120))
grid = np.column_stack([x.ravel(), y.ravel()])


def draw(ax, scores, threshold, title):
    """Contours of a log density, with the outlier threshold in red."""
    scores = scores.reshape(x.shape)
    top = scores.max()
    levels = top + np.array([-40, -20, -10, -5, -2.5, -1, 0]) * (top - threshold) / 20
    ax.contourf(x, y, scores, levels, cmap="Blues", extend="min")
    ax.contour(x, y, scores, [threshold], colors="tab:red", linestyles="solid")
    ax.scatter(*X.T, s=6, color="0.2", linewidth=0)
    ax.set(title=title, xticks=[], yticks=[], aspect="equal")


density = KernelStudentTDensity().fit(X)
smoothed = KernelDensity(bandwidth="scott").fit(X)
left_out = [
    KernelDensity(bandwidth="scott").fit(np.delete(X, i, axis=0)).score_samples(X[i : i + 1])[0]
    for i in range(len(X))
]

figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
draw(axes[0], density.score_samples(grid), density.offset_, "KernelStudentTDensity()")
draw(axes[1], smoothed.score_samples(grid), np.quantile(left_out, 0.05),
     'KernelDensity(bandwidth="scott")')  # fmt: skip

# %%
# The leave-one-out scores took 200 fits of ``KernelDensity``. ``leave_one_out_scores`` of the
# Student-t density computes them in closed form, from one factorization.
#
# Kernels
# -------
# Kernels that vanish at large distances fit any shape; rough kernels follow the points more
# closely. The polynomial kernel only uses six features of degree up to two.

kernels = {
    "rbf": "rbf",
    "matern32": "matern32",
    "laplacian": "laplacian",
    "polynomial": PolynomialKernel(2),
}
figure, axes = plt.subplots(2, 2, figsize=(10, 7), layout="constrained")
for ax, (name, kernel) in zip(axes.flat, kernels.items()):
    density = KernelStudentTDensity(kernel).fit(X)
    draw(ax, density.score_samples(grid), density.offset_, name)

# %%
# Selection of the length scale
# -----------------------------
# Scores of models with different length scales are not comparable without the normalizing constant.
# Three criteria are: the held-out log density with ``normalize`` on, in few dimensions; the
# Hyvarinen score, which does not depend on the constant; and the area under the ROC curve if there
# are labeled novelties, here uniform points. They can disagree: the exponent of the density grows
# with the number of rows, so a small length scale makes the density overconfident, while rankings
# do not depend on the exponent.

new, _ = make_moons(200, noise=0.08, random_state=1)
uniform = np.random.default_rng(0).uniform([-2, -1.5], [3, 2], size=(400, 2))
scales = np.geomspace(0.3, 6, 9)
curves = {"log density": [], "Hyvarinen score": [], "AUC": []}

for scale in scales:
    density = KernelStudentTDensity(
        length_scale=scale, sigma0=0.3, normalize="quadrature", support=([-2, -1.5], [3, 2])
    ).fit(X)
    curves["log density"].append(density.score(new) / len(new))
    curves["Hyvarinen score"].append(density.hyvarinen_score(new).mean())
    scores = density.score_samples(np.concatenate([new, uniform]))
    curves["AUC"].append(roc_auc_score(np.repeat([1, 0], [len(new), len(uniform)]), scores))

figure, axes = plt.subplots(1, 3, figsize=(11, 3), layout="constrained")
for ax, (name, values) in zip(axes, curves.items()):
    best = np.argmin(values) if name == "Hyvarinen score" else np.argmax(values)
    ax.plot(scales, values, "o-")
    ax.plot(scales[best], values[best], "o", color="tab:red")
    ax.set(xscale="log", xlabel="length scale", title=name)
    ax.set(xticks=[0.3, 1, 3], xticklabels=[0.3, 1, 3])
    ax.xaxis.set_minor_formatter(NullFormatter())
axes[1].set_yscale("symlog")
