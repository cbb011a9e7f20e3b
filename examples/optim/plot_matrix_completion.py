"""
========================================
Matrix completion in a nuclear norm ball
========================================

An image of low rank, with seven eighths of the entries missing, is completed in a nuclear norm
ball. Each Frank-Wolfe step computes the top pair of singular vectors, and the result is a sum of as
many outer products as there are steps.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse as sp

from sklearn_fw.optim import domains, minimize_frank_wolfe, objectives

# %%
# Data
# ----
# A woven pattern, which is a sum of six outer products of waves. One eighth of its entries is
# observed, with noise.

rng = np.random.default_rng(0)
shape = (240, 160)
rows, columns = np.linspace(0, 1, shape[0]), np.linspace(0, 1, shape[1])
image = sum(
    np.outer(np.sin(2 * np.pi * a * rows + p), np.cos(2 * np.pi * b * columns + q)) / (1 + k)
    for k, (a, b, p, q) in enumerate(
        [(1, 1, 0, 0), (3, 2, 1, 2), (5, 7, 0, 1), (9, 4, 2, 0), (2, 11, 1, 1), (13, 3, 0, 2)]
    )
)
known = np.flatnonzero(rng.random(image.size) < 0.125)
values = image.ravel()[known] + 0.05 * rng.standard_normal(len(known))
places = sp.csr_matrix(
    (np.ones(len(known)), (np.arange(len(known)), known)), (len(known), image.size)
)
objective = objectives.LeastSquares(places, values)

# %%
# Selection of the radius
# -----------------------
# The radius of the ball is the only parameter. It is selected by validation on a fifth of the
# observed entries.

kept = rng.random(len(known)) < 0.8
training = objectives.LeastSquares(places[kept], values[kept])
scale = np.linalg.norm(image, "nuc")
errors = {}
for share in (0.3, 0.5, 0.7, 0.9, 1.1, 1.4):
    ball = domains.NuclearNormBall(shape, radius=share * scale)
    x = minimize_frank_wolfe(training, ball, tol=0, max_iter=150).x
    errors[share] = np.sqrt(np.mean((x[known[~kept]] - values[~kept]) ** 2))
best = min(errors, key=errors.get)
print({share: round(float(error), 3) for share, error in errors.items()})

# %%
# Iterates
# --------
# Each step adds one outer product, and the gap bounds the distance of the objective from its
# minimum.

ball = domains.NuclearNormBall(shape, radius=best * scale)
snapshots, steps = {}, (3, 10, 40, 400)


def keep(state):
    if state.nit in steps:
        snapshots[state.nit] = state.x.reshape(shape).copy()


result = minimize_frank_wolfe(objective, ball, tol=0, max_iter=steps[-1], callback=keep)

figure, axes = plt.subplots(1, 6, figsize=(14, 4), layout="constrained")
half = np.full(image.size, np.nan)
half[known] = values
color = {"cmap": "RdBu_r", "vmin": -2.0, "vmax": 2.0}
axes[0].imshow(image, **color)
axes[0].set_title("truth")
axes[1].imshow(half.reshape(shape), **color)
axes[1].set_title("known entries")
for ax, (step, matrix) in zip(axes[2:], sorted(snapshots.items())):
    ax.imshow(matrix, **color)
    error = np.sqrt(np.mean((matrix - image) ** 2))
    ax.set_title(f"step {step}: error {error:.2f}")
for ax in axes:
    ax.set(xticks=[], yticks=[])

# %%
# Gap and objective
# -----------------
# The gap covers the observed entries only. The constraint determines the others.

figure, ax = plt.subplots(figsize=(6.5, 3.8), layout="constrained")
history = result.history
ax.loglog(np.arange(1, len(history["dual_gap"]) + 1), history["dual_gap"], label="gap")
ax.loglog(np.arange(1, len(history["objective"]) + 1), history["objective"], label="objective")
ax.set(xlabel="steps", ylabel="half the squared error of known entries")
ax.legend()
