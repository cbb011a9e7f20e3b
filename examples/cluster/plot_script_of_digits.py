"""
=====================================
Step discovery in sequences of digits
=====================================

Twenty sequences show the handwritten digits 3, 1, 4, 0, 2 in this order, once each, with noise in
between. Neither times nor labels are given; the model only assumes that five steps occur in one
order. It finds the rows that a linear classifier separates best.
"""

# %%
# Data
# ----
# A digit takes three rows, each a different image of it. Noise rows have the gray values of digits
# in random order.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from sklearn_fw.cluster import OrderedDiscriminativeClustering, StepsDisplay
from sklearn_fw.metrics import localization_f1

SCRIPT, N_FILMS, N_ROWS, LENGTH = [3, 1, 4, 0, 2], 20, 60, 3
rng = np.random.default_rng(0)
digits = load_digits()
films, truth = [], np.zeros((N_FILMS, len(SCRIPT), 2), int)
for n in range(N_FILMS):
    pixels = digits.data[rng.integers(len(digits.data), size=N_ROWS)]
    film = rng.permuted(pixels, axis=1)
    begins = np.sort(rng.integers(N_ROWS - LENGTH * len(SCRIPT), size=len(SCRIPT)))
    for k, (digit, begin) in enumerate(zip(SCRIPT, begins + LENGTH * np.arange(len(SCRIPT)))):
        shown = rng.choice(np.flatnonzero(digits.target == digit), size=LENGTH)
        film[begin : begin + LENGTH] = digits.data[shown]
        truth[n, k] = begin, begin + LENGTH - 1
    films.append(film / 16.0)

# %%
# Predicted steps
# ---------------
# Bars show the true rows of each digit, dots the predicted rows: one per step and sequence.

model = OrderedDiscriminativeClustering(len(SCRIPT), n_init=3, random_state=0).fit(films)
scores = localization_f1(truth, model.locations_)
fig, ax = plt.subplots(figsize=(8, 4.5), layout="constrained")
StepsDisplay.from_estimator(model, films, intervals_true=truth, ax=ax)
ax.set_title(f"{scores.recall:.0%} of the digits found, without labels", pad=30)
ax.set_yticks(range(0, N_FILMS, 5))

# %%
# Mean of each step
# -----------------
# The mean image of the rows of each step.

fig, axes = plt.subplots(1, len(SCRIPT), figsize=(8, 2), layout="constrained")
for k, ax in enumerate(axes):
    rows = [film[row] for film, row in zip(films, model.locations_[:, k])]
    ax.imshow(np.mean(rows, axis=0).reshape(8, 8), cmap="gray_r")
    ax.set(title=f"step {k}", xticks=[], yticks=[])
