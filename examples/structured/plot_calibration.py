"""
====================================
Calibration functions of task losses
====================================

A calibration function relates the excess of the surrogate to the excess of the task loss: a higher
curve means that fewer data are needed. Structured losses are easy in a small space of scores, and a
space that is too small for the loss may still be the better choice above its level of consistency.
"""

import matplotlib.pyplot as plt
import numpy as np

from sklearn_fw.surrogates import (
    calibration_function,
    calibration_function_closed_form,
    consistency_level,
)

eps = np.linspace(0.0, 1.0, 41)

# %%
# Sets of labels
# --------------
# With five labels there are 32 sets. Scores of all sets are as hard as that number; one score for
# each label makes the loss as hard as the number of labels.

bits = (np.arange(32)[:, None] >> np.arange(5)) & 1
hamming = np.mean(bits[:, None] != bits, axis=2)
pairs = [(0, 2**k - 1) for k in range(1, 6)]  # the others follow by symmetry
full = calibration_function(hamming, eps, score_space="full", pairs=pairs)
small = calibration_function_closed_form("hamming", eps, n_variables=5)

figure, ax = plt.subplots(layout="constrained")
ax.plot(eps, full, label="a score for each set")
ax.plot(eps, small, label="a score for each label")
ax.set(
    title="Hamming loss of five labels", xlabel="Excess of the task loss",
    ylabel="Excess of the surrogate",
)  # fmt: skip
ax.legend()
plt.show()

# %%
# Classes in blocks
# -----------------
# Wrong classes of the right block cost 0.4. Scores of blocks alone are not consistent below 0.2.

blocks = np.repeat(np.eye(3), 4, axis=0)
mixed = 1.0 - 0.6 * blocks @ blocks.T - 0.4 * np.eye(12)
by_class = calibration_function(mixed, eps, pairs=[(0, 1), (0, 4)])  # the others by symmetry
by_block = calibration_function(mixed, eps, score_space=blocks)
level = consistency_level(mixed, score_space=blocks)

figure, ax = plt.subplots(layout="constrained")
ax.plot(eps, by_class, label="a score for each class")
ax.plot(eps, by_block, label="a score for each block")
ax.axvline(level, color="gray", linestyle=":", label="level of consistency")
ax.set(
    title="Twelve classes in three blocks", xlabel="Excess of the task loss",
    ylabel="Excess of the surrogate",
)  # fmt: skip
ax.legend()
plt.show()
