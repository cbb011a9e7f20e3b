"""
=================================
Solvers compared on binary images
=================================

Binary images in noise are segmented by minimum cuts, which are exact on any graph. So the duality
gap of each solver is a certificate. Solvers differ in their oracle calls and in the work between
calls; the best one depends on the cost of a call.
"""

# %%
# Data
# ----
# Pixels are nodes with two noisy features. Edges join neighbors; their feature is the similarity of
# both ends.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.exceptions import ConvergenceWarning

from sklearn_fw import StructuredSVM
from sklearn_fw.displays import ConvergenceDisplay
from sklearn_fw.structured import GraphCutModel

SIDE, N_TRAIN = 16, 20
rng = np.random.default_rng(0)
number = np.arange(SIDE**2).reshape(SIDE, SIDE)
beside = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
above = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
edges = np.concatenate([beside, above])
X, y = [], []
for _ in range(N_TRAIN + 1):
    smooth = gaussian_filter(rng.normal(size=(SIDE, SIDE)), 2)
    labels = (smooth > np.median(smooth)).ravel().astype(int)
    looks = labels[:, None] * [1.0, -0.6] + 0.9 * rng.normal(size=(SIDE**2, 2))
    difference = np.abs(looks[edges[:, 0]] - looks[edges[:, 1]]).sum(axis=1)
    X.append((looks, edges, np.exp(-difference)[:, None]))
    y.append(labels)

# %%
# Eight solvers
# -------------
# All solvers have the same objective and the same bounds: edge weights stay nonnegative, so every
# oracle call is a minimum cut. A solver stops at a gap of 0.1 % of the objective, or after some
# passes. Small fits compile the code before times are measured.

warnings.simplefilter("ignore", ConvergenceWarning)
solvers = {  # colors and passes
    "bcfw": ("tab:blue", 150),
    "bcpfw": ("tab:red", 150),
    "cached": ("tab:orange", 300),
    "minibatch": ("tab:green", 40),
    "fw": ("0.75", 60),
    "extragradient": ("tab:purple", 30),
    "n_slack": ("tab:brown", 50),
    "one_slack": ("black", 50),
}
fits = {}
for name, (_, passes) in solvers.items():
    settings = {"solver": name, "C": 0.001, "random_state": 0}
    StructuredSVM(GraphCutModel(), max_iter=2, tol=10, **settings).fit(X[:3], y[:3])
    svm = StructuredSVM(GraphCutModel(), max_iter=passes, tol=1e-3, **settings)
    fits[name] = svm.fit(X[:N_TRAIN], y[:N_TRAIN])
    print(
        f"{name:14s} gap {svm.dual_gap_ / svm.objective_:7.2%} of the objective  "
        f"oracle calls {svm.n_oracle_calls_:5d}  seconds {svm.history_['time'][-1]:.2f}"
    )

# %%
# Oracle calls and time
# ---------------------
# Passes over single images use each oracle result at once; batch methods wait for the results of
# many images, and a cache saves calls. Cutting-plane solvers keep all planes and solve a quadratic
# program over them: this model has fourteen weights, for which a few dozen planes suffice.
# Thousands of weights need many more. The extragradient method projects onto flows, and calls the
# oracle for its certificates only.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.8), sharey=True, layout="constrained")
for name, (color, _) in solvers.items():
    for ax, x in zip(axes, ("n_oracle_calls", "time")):
        ConvergenceDisplay.from_estimator(fits[name], name=name, ax=ax, x=x, color=color)
for ax in axes:
    ax.set_xscale("log")
axes[1].get_legend().remove()
axes[1].set_ylabel("")

# %%
# Upper and lower bounds
# ----------------------
# The objective is an upper bound on the optimum, the dual objective a lower bound; both converge to
# it. Block-coordinate steps are close to the optimum early, and slow afterwards. Cutting planes are
# far off at first, and exact in the end. The second figure shows a test image.

chosen = ("bcpfw", "n_slack", "one_slack")
figure, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True, layout="constrained")
for ax, name in zip(axes, chosen):
    ConvergenceDisplay.from_estimator(
        fits[name], x="n_oracle_calls", kind="objectives", ax=ax, name="", color=solvers[name][0]
    )
    ax.get_legend().remove()
    ax.set(title=name, ylim=(0, 1), ylabel="objective and bound" if ax is axes[0] else "")

shown = {"one feature": X[-1][0][:, 0]}
alone = StructuredSVM(GraphCutModel(), random_state=0)
no_edges = [(looks, np.empty((0, 2), int)) for looks, *_ in X]
shown["without edges"] = alone.fit(no_edges[:N_TRAIN], y[:N_TRAIN]).predict(no_edges[-1:])[0]
shown["minimum cut"] = fits["bcpfw"].predict(X[-1:])[0]
shown["truth"] = y[-1]
figure, axes = plt.subplots(1, 4, figsize=(11, 3), layout="constrained")
for ax, (name, values) in zip(axes, shown.items()):
    right = "" if name in ("one feature", "truth") else f": {np.mean(values == y[-1]):.0%} correct"
    ax.imshow(values.reshape(SIDE, SIDE), cmap="cividis")
    ax.set(title=name + right, xticks=[], yticks=[])

plt.show()
