"""
==================
How hard a loss is
==================

A calibration function says by how much the surrogate has to be below an excess for the task loss to
be within another one: the higher the curve, the fewer data are needed. Losses with structure are
easy in a small space of scores, and a space that is too small for the loss may still be the better
choice, above the level where it is consistent.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_fw.structured import (
    calibration_function,
    calibration_function_closed_form,
    consistency_level,
)

eps = np.linspace(0.0, 1.0, 41)
figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")

# %%
# Sets of labels
# --------------
# With five labels there are 32 sets. Scores of all sets are as hard as that number; one score for
# each label makes the loss as hard as the number of labels.

bits = (np.arange(32)[:, None] >> np.arange(5)) & 1
hamming = np.mean(bits[:, None] != bits, axis=2)
pairs = [(0, 2**k - 1) for k in range(1, 6)]  # the others follow by symmetry
full = calibration_function(hamming, eps, score_space="full", pairs=pairs)
axes[0].plot(eps, full, label="a score for each set")
axes[0].plot(
    eps, calibration_function_closed_form("hamming", eps, n_variables=5),
    label="a score for each label",
)  # fmt: skip
axes[0].set_title("Hamming loss of five labels")

# %%
# Classes in blocks
# -----------------
# Wrong classes of the right block cost 0.4. Scores of blocks alone are not consistent below 0.2.

blocks = np.repeat(np.eye(3), 4, axis=0)
mixed = 1.0 - 0.6 * blocks @ blocks.T - 0.4 * np.eye(12)
symmetric = [(0, 1), (0, 4)]
axes[1].plot(eps, calibration_function(mixed, eps, pairs=symmetric), label="a score for each class")
axes[1].plot(
    eps, calibration_function(mixed, eps, score_space=blocks), label="a score for each block"
)
level = consistency_level(mixed, score_space=blocks)
axes[1].axvline(level, color="gray", linestyle=":", label="level of consistency")
axes[1].set_title("Twelve classes in three blocks")
for ax in axes:
    ax.set_xlabel("Excess of the task loss")
    ax.set_ylabel("Excess of the surrogate")
    ax.legend()
plt.show()
