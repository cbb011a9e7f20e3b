"""
===========================================
Calibrated tag probabilities: hinge and CRF
===========================================

A tagger with probability 0.9 should be correct nine times out of ten. Probabilities from hinge
scores have no particular scale until `calibrate` chooses one. A conditional random field is trained
for probabilities: ``surrogate="crf"``.
"""

# %%
# Data
# ----
# Hidden states that persist for a while, with noisy observations. A third of the sequences is for
# training, a third for calibration, and the rest for evaluation.

import matplotlib.pyplot as plt
import numpy as np

from sklearn_fw import StructuredSVM

rng = np.random.default_rng(0)
n_states, n_sequences = 5, 900
moves = 0.6 * np.eye(n_states) + 0.4 * rng.dirichlet(np.full(n_states, 0.5), n_states)
centers = rng.normal(size=(n_states, 6))
X, y = [], []
for _ in range(n_sequences):
    states = [rng.integers(n_states)]
    while len(states) < 12:
        states.append(rng.choice(n_states, p=moves[states[-1]]))
    y.append(np.array(states))
    X.append(centers[states] + 1.3 * rng.normal(size=(12, 6)))
parts = [slice(0, 300), slice(300, 600), slice(600, 900)]
(X_train, y_train), (X_dev, y_dev), (X_test, y_test) = [(X[part], y[part]) for part in parts]

# %%
# Three sets of probabilities
# ---------------------------
# The first two come from one fit. Calibration changes the probabilities, but not ``predict``: it
# returns the MAP tagging, which can differ from the most probable tags. The latter are evaluated
# below.

truth = np.concatenate(y_test)
hinge = StructuredSVM("chain", random_state=0).fit(X_train, y_train)
crf = StructuredSVM("chain", surrogate="crf", random_state=0).fit(X_train, y_train)
probabilities = {"hinge": np.concatenate(hinge.predict_marginals(X_test))}
hinge.calibrate(X_dev, y_dev)
probabilities["hinge, calibrated"] = np.concatenate(hinge.predict_marginals(X_test))
probabilities["crf"] = np.concatenate(crf.predict_marginals(X_test))

# %%
# Reliability diagrams
# --------------------
# Tags are binned by the probability of the most probable tag. On the diagonal the probability
# equals the accuracy; below it, predictions are overconfident. The lower row counts the tags of
# each bin. The expected calibration error (ECE) is the mean distance from the diagonal.

edges = np.linspace(0.0, 1.0, 16)
colors = ["tab:orange", "tab:green", "tab:blue"]
figure, axes = plt.subplots(
    2, 3, figsize=(11, 5.6), sharex=True, sharey="row", layout="constrained", height_ratios=[3, 1]
)
for (name, p), (top, low), color in zip(probabilities.items(), axes.T, colors):
    sure, right = p.max(axis=1), p.argmax(axis=1) == truth
    bins = np.clip(np.digitize(sure, edges) - 1, 0, 14)
    count, said, seen = (np.bincount(bins, v, 15) for v in (np.ones(len(sure)), sure, right))
    error = np.abs(said - seen).sum() / len(sure)
    some = count >= 10
    top.plot([0, 1], [0, 1], color="gray", linewidth=1)
    top.plot(said[some] / count[some], seen[some] / count[some], "o-", color=color)
    top.set_title(f"{name}\n{100 * right.mean():.1f} % correct, ECE {100 * error:.1f} %")
    top.grid(alpha=0.3)
    low.bar(edges[:-1], count, width=1 / 15, align="edge", color=color, alpha=0.6)
    low.set_xlabel("probability of the most probable tag")
axes[0, 0].set_ylabel("fraction correct")
axes[1, 0].set_ylabel("tags")
plt.show()
