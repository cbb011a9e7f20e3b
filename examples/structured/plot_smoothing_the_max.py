"""
=======================================================
Smoothed hinge losses and accelerated solvers on digits
=======================================================

The structured hinge is a maximum over outputs, which is not smooth. A smoothed maximum is a mixture
of outputs: of a few with l2 smoothing, of all with entropy smoothing, whose weight one gives the
likelihood of a conditional random field. Smooth losses have gradients, so solvers can be
accelerated. The second figure compares such solvers on digits.
"""

# %%
# Smoothed maximum
# ----------------
# One of two outputs has score zero, the other one a. The maximum has a kink at zero. Both
# smoothings round it over a width of mu, and exceed it by at most a multiple of mu.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import entr, softmax
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from sklearn_fw import StructuredSVM
from sklearn_fw.projections import project_simplex

a = np.linspace(-3.0, 3.0, 241)
scores = np.column_stack([np.zeros_like(a), a])
smoothers = {  # maximizing weights and regularizer
    "l2": (project_simplex, lambda u: 0.5 * np.sum(u**2 - u, axis=1), "tab:blue"),
    "entropy": (lambda z: softmax(z, axis=1), lambda u: -entr(u).sum(axis=1), "tab:red"),
}
figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
axes[0].plot(a, np.maximum(a, 0.0), color="black", label="max(0, a)")
for smoother, (weigh, charge, color) in smoothers.items():
    for mu, style in ((0.5, "--"), (2.0, "-")):
        weights = weigh(scores / mu)
        value = np.sum(weights * scores, axis=1) - mu * charge(weights)
        label = f"{smoother}, mu={mu:g}"
        axes[0].plot(a, value, style, color=color, label=label)
        axes[1].plot(a, weights[:, 1], style, color=color, label=label)
axes[1].step(a, a > 0, color="black", where="mid", label="max")
axes[0].set(title="Value", xlabel="a")
axes[1].set(title="Weight of the second output", xlabel="a")
for ax in axes:
    ax.legend(frameon=False)
    ax.grid(alpha=0.3)

# %%
# The weights are the derivatives of the values, and the distributions that give the certificate.
# With l2 smoothing an output that is worse by mu has weight zero; with entropy smoothing all
# weights are positive.

# %%
# Weak and strong regularization
# ------------------------------
# Handwritten digits with the multiclass hinge, a small and a large lam = 1 / (C n), and default
# solvers. A pass of the primal methods makes two oracle calls per sample: in a step and for the
# full gradient. "svrg" smooths with a fixed mu and converges to the optimum of the smoothed
# problem; "casimir" reduces mu as it proceeds. "bcfw", with steps on the distributions of samples,
# needs no mu, and the other two are not faster here. Their advantages are less memory and support
# for any smooth loss.

X, y = load_digits(return_X_y=True)
X = X[:600] / np.linalg.norm(X[:600], axis=1, keepdims=True)
y = y[:600]
warnings.simplefilter("ignore", ConvergenceWarning)
budgets = {"bcfw": 100, "svrg": 50, "casimir": 50}
colors = {"bcfw": "tab:green", "svrg": "tab:blue", "casimir": "tab:red"}

figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for ax, C in zip(axes, (100.0, 0.1)):
    fits = {}
    for solver, max_iter in budgets.items():
        svm = StructuredSVM(solver=solver, C=C, tol=0, max_iter=max_iter, random_state=0)
        fits[solver] = svm.fit(X, y).history_
    exact = StructuredSVM(C=C, tol=1e-4, max_iter=2000, random_state=0).fit(X, y)
    best = exact.dual_objective_
    for solver, history in fits.items():
        calls = history["n_oracle_calls"] / len(y)
        ax.plot(calls, history["objective"] / best - 1, color=colors[solver], label=solver)
    ax.set(yscale="log", title=f"C = {C:g}", xlabel="oracle calls per sample")
    ax.grid(alpha=0.3)
axes[0].set_ylabel("relative distance to the optimum")
axes[1].legend(frameon=False)
plt.show()
