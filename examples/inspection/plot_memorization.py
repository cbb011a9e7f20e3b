"""
=======================================
Memorization of random labels of digits
=======================================

The same network is trained on the true labels of digits and on random labels. The training accuracy
is perfect in both cases; the distance of the decision boundaries from the data differs.
"""

# %%
# Memorization report
# -------------------
# The report contains training curves on true and random labels, the difficulty of rows after short
# training, and the sensitivity of later losses to each row.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sklearn_fw.inspection import (
    CriticalSampleDisplay,
    MemorizationReport,
    corrupt_labels,
    example_difficulty,
)

X, y = load_digits(return_X_y=True)
X, y = X[:800], y[:800]
network = MLPClassifier((100,), solver="sgd", learning_rate_init=0.05, batch_size=50)
model = make_pipeline(StandardScaler(), network)
report = MemorizationReport(model, n_epochs=40, n_runs=20, random_state=0).run(X, y)
report.plot()
plt.show()

# %%
# Critical samples by box size
# ----------------------------
# Critical samples among rows outside the training set: the more random labels a network is trained
# on, the closer its decision boundaries are to the data.

rng = np.random.RandomState(0)
train, rest = slice(0, 500), slice(500, 800)
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for share in (0.0, 0.4, 1.0):
    labels = corrupt_labels(y[train], share, random_state=rng).y
    fitted = make_pipeline(
        StandardScaler(), MLPClassifier((100,), learning_rate_init=0.01, random_state=0)
    ).fit(X[train], labels)
    CriticalSampleDisplay.from_estimator(
        fitted, X[rest], shares=[0.02, 0.05, 0.1, 0.15, 0.2, 0.3], random_state=0, ax=ax,
        name=f"{share:.0%} random labels",
    )  # fmt: skip
plt.show()

# %%
# Probable label errors
# ---------------------
# A tenth of the labels is wrong. The figure shows the twelve most doubtful labels; a cross marks
# correct ones.

noisy = corrupt_labels(y, 0.1, mode="different", random_state=0)
found = example_difficulty(model, X, noisy.y, n_runs=20, random_state=0)
figure, panels = plt.subplots(2, 6, figsize=(8, 3.2), layout="constrained")
for panel, row in zip(panels.ravel(), np.argsort(-found.score)):
    panel.imshow(X[row].reshape(8, 8), cmap="gray_r")
    panel.set_title(f"{noisy.y[row]}" + ("" if noisy.mask[row] else " x"))
    panel.set_axis_off()
figure.suptitle("Most doubtful labels")
plt.show()
