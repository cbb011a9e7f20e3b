"""
=======================================================
Smoothed hinge losses and accelerated solvers on digits
=======================================================

The structured hinge is a maximum over outputs, which is not smooth. A smoothed maximum mixes the
best outputs: squares mix a few, the entropy mixes all, and entropy with weight one is the
likelihood of a conditional random field. Smooth losses have gradients, so steps can be accelerated.
The second figure shows the gain on digits, and its limits.
"""

# %%
# Two outcomes
# ------------
# One output has score zero, the other one a. The maximum has a kink at zero; both smoothings round
# it, over a width of mu, and are never below it by more than a multiple of mu.

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
smoothers = {  # the best weights, and what they are charged for
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
axes[1].step(a, a > 0, color="black", where="mid", label="max: all or nothing")
axes[0].set(title="Value", xlabel="a")
axes[1].set(title="Weight of the second output", xlabel="a")
for ax in axes:
    ax.legend(frameon=False)
    ax.grid(alpha=0.3)

# %%
# The weights are the slopes of the values, and the distributions that give the certificate: squares
# leave an output alone that is worse by mu, the entropy leaves nobody alone.

# %%
# Small and large regularisers
# ----------------------------
# Handwritten digits, with the hinge, for a small and a large lam = 1 / (C n), all solvers as they
# come. A pass of the methods on weights asks twice per sample: in a step and for the full gradient.
# "svrg" smooths by a fixed mu and ends at the optimum of another problem; "casimir" lowers mu as it
# goes. Steps on the distributions of samples, "bcfw", need no mu: with these settings nothing is
# gained over them here. What speaks for the others is their memory, and that they take any smooth
# loss.

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
axes[0].set_ylabel("objective above the optimum, relative")
axes[1].legend(frameon=False)
plt.show()
