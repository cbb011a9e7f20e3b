"""
====================================
Calibration functions of task losses
====================================

A calibration function relates the excess of the surrogate to the excess of the task loss: a higher
curve means that less data is needed. Structured losses are easier to learn in a small score space.
A score space that is too small for the loss can still be the better choice above its consistency
level.
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
# Label sets
# ----------
# Five labels have 32 subsets. With one score per subset the difficulty grows with the number of
# subsets; with one score per label it grows with the number of labels.

bits = (np.arange(32)[:, None] >> np.arange(5)) & 1
hamming = np.mean(bits[:, None] != bits, axis=2)
pairs = [(0, 2**k - 1) for k in range(1, 6)]  # the others follow by symmetry
full = calibration_function(hamming, eps, score_space="full", pairs=pairs)
small = calibration_function_closed_form("hamming", eps, n_variables=5)

figure, ax = plt.subplots(layout="constrained")
ax.plot(eps, full, label="one score per subset")
ax.plot(eps, small, label="one score per label")
ax.set(
    title="Hamming loss of five labels", xlabel="Excess of the task loss",
    ylabel="Excess of the surrogate",
)  # fmt: skip
ax.legend()
plt.show()

# %%
# Classes in blocks
# -----------------
# Wrong classes of the right block cost 0.4. Scores of blocks alone are inconsistent below an excess
# of 0.2.

blocks = np.repeat(np.eye(3), 4, axis=0)
mixed = 1.0 - 0.6 * blocks @ blocks.T - 0.4 * np.eye(12)
by_class = calibration_function(mixed, eps, pairs=[(0, 1), (0, 4)])  # the others by symmetry
by_block = calibration_function(mixed, eps, score_space=blocks)
level = consistency_level(mixed, score_space=blocks)

figure, ax = plt.subplots(layout="constrained")
ax.plot(eps, by_class, label="one score per class")
ax.plot(eps, by_block, label="one score per block")
ax.axvline(level, color="gray", linestyle=":", label="consistency level")
ax.set(
    title="Twelve classes in three blocks", xlabel="Excess of the task loss",
    ylabel="Excess of the surrogate",
)  # fmt: skip
ax.legend()
plt.show()
