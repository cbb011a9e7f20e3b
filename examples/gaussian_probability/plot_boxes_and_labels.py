"""
=========================================================================
Gaussian probability of a box: expectation propagation and the normal CDF
=========================================================================

``log_gaussian_probability`` computes the probability of a box under a correlated normal
distribution, the multivariate normal CDF included. Expectation propagation approximates the
truncated distribution by a Gaussian, also far into the tails. With one half-line per row the same
method is a Gaussian process classifier.
"""

# %%
# A box under a normal distribution
# ---------------------------------
# Ellipses show one and two standard deviations: of the normal distribution, and of the Gaussian
# with the moments of the truncated distribution.

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import multivariate_normal
from sklearn.datasets import make_moons
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from sklearn_fw.gaussian_probability import EPProbitClassifier, log_gaussian_probability

cov = np.array([[1.0, 0.8], [0.8, 1.0]])
low, high = np.array([0.2, -0.9]), np.array([2.0, 0.5])
result = log_gaussian_probability(low, high, cov=cov)
print(f"log probability {result.log_prob:.6f}, method {result.method}, error {result.error:.1e}")

angles = np.linspace(0.0, 2.0 * np.pi, 200)
circle = np.column_stack([np.cos(angles), np.sin(angles)])
figure, axes = plt.subplots(figsize=(6, 5), layout="constrained")
draws = np.random.default_rng(0).multivariate_normal(np.zeros(2), cov, 4000)
inside = np.all((draws > low) & (draws < high), axis=1)
axes.scatter(*draws[~inside].T, s=2, color="0.85")
axes.scatter(*draws[inside].T, s=4, color="C0", label="inside the box")
for mean, spread, color, label in (
    (np.zeros(2), cov, "0.4", "normal distribution"),
    (result.mean, result.covariance, "C1", "truncated, by EP"),
):  # fmt: skip
    root = np.linalg.cholesky(spread)
    for k in (1.0, 2.0):
        axes.plot(*(mean + k * circle @ root.T).T, color=color, label=label if k == 1.0 else None)
vertices = np.array([low, [high[0], low[1]], high, [low[0], high[1]], low])
axes.plot(*vertices.T, color="k", lw=1)
axes.set(title="A box under a normal distribution", aspect="equal", xlim=(-3, 3), ylim=(-3, 3))
axes.legend(loc="upper left")

# %%
# Tails
# -----
# The probability that five variables of correlation 1/2 are all above a bound, compared with the
# exact integral. SciPy returns zero where the probability is below the range of float64.

bounds = np.linspace(0.5, 32.0, 22)
cov = 0.5 * np.eye(5) + 0.5
exact = np.array(
    [log_gaussian_probability(t, np.inf, cov=cov, method="exact").log_prob for t in bounds]
)
found = [log_gaussian_probability(t, np.inf, cov=cov, method="sampled") for t in bounds]
with np.errstate(divide="ignore"):
    lattice = np.log([multivariate_normal.cdf(np.full(5, -t), np.zeros(5), cov) for t in bounds])
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.semilogy(exact, np.abs([r.log_prob_ep for r in found] - exact), label="EP")
axes.semilogy(exact, np.abs([r.log_prob for r in found] - exact), label="sampled about EP")
axes.semilogy(exact, [r.error for r in found], "--", color="C1", label="reported error")
axes.semilogy(exact, np.abs(lattice - exact), "x", color="0.4", label="scipy")
axes.set(title="Error in the tails", xlabel="log probability", ylabel="error of the logarithm")
axes.invert_xaxis()
axes.legend()
plt.show()

# %%
# Probit classification
# ---------------------
# Each training row limits the latent function to a half-line. The Laplace approximation of
# scikit-learn is centered at the mode of the posterior, and its probabilities are closer to 1/2.

X, y = make_moons(80, noise=0.25, random_state=0)
grid = np.stack(np.meshgrid(np.linspace(-1.8, 2.8, 80), np.linspace(-1.3, 1.8, 60)), axis=-1)
kernel = ConstantKernel(1.0, (1e-2, 1e4)) * RBF(1.0)
figure, axes = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained", sharey=True)
for ax, model in zip(axes, (EPProbitClassifier(kernel), GaussianProcessClassifier(kernel))):
    model.fit(X, y)
    probability = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(grid.shape[:2])
    shown = ax.contourf(
        *np.moveaxis(grid, -1, 0), probability, np.linspace(0.0, 1.0, 11), cmap="RdBu"
    )
    ax.contour(*np.moveaxis(grid, -1, 0), probability, [0.5], colors="k")
    ax.scatter(*X.T, c=y, cmap="RdBu", edgecolors="k", s=20)
    ax.set_title(type(model).__name__)
figure.colorbar(shown, ax=axes, label="probability of the blue class")
plt.show()
