"""
=============================
Sequences with missing labels
=============================

Only some elements of each sequence have a label. Elements without a label still have features and
neighbors: a chain trained with missing labels learns transitions from them.
"""

# %%
# Data
# ----
# Words of noisy digits, in which some digits follow others more often. Labels are masked at random;
# all methods train on the same words.

import matplotlib.pyplot as plt
import numpy as np

from sklearn_fw import StructuredSVM
from sklearn_fw.datasets import make_digit_words
from sklearn_fw.structured import LatentStructuredSVM

words = make_digit_words(200, 300, noise=0.5)
X, y, X_test, y_test = words.X_train, words.y_train, words.X_test, words.y_test
shares = [0.08, 0.15, 0.3, 0.5, 0.7]

# %%
# Three methods
# -------------
# Single labeled elements; chains of the labeled elements, with the others left out; and full
# sequences with masked labels.

scores = {"single elements": [], "chains of labeled elements": [], "missing labels": []}
for share in shares:
    rng = np.random.default_rng(0)
    masked = [np.ma.array(labels, mask=rng.random(len(labels)) > share) for labels in y]
    known = [~labels.mask for labels in masked]
    used = [i for i, own in enumerate(known) if own.any()]
    X_known, y_known = [X[i][known[i]] for i in used], [y[i][known[i]] for i in used]

    alone = StructuredSVM("multiclass", random_state=0)
    alone.fit(np.concatenate(X_known), np.concatenate(y_known))
    scores["single elements"].append(alone.score(np.concatenate(X_test), np.concatenate(y_test)))
    cut = StructuredSVM("chain", random_state=0).fit(X_known, y_known)
    scores["chains of labeled elements"].append(cut.score(X_test, y_test))
    svm = LatentStructuredSVM("chain", n_states_per_label=1, random_state=0).fit(X, masked)
    scores["missing labels"].append(svm.score(X_test, y_test))

everything = StructuredSVM("chain", random_state=0).fit(X, y).score(X_test, y_test)

# %%
# Accuracy by fraction of labels
# ------------------------------
# Leaving out elements without a label creates wrong transitions: elements become neighbors that
# were not. Masked labels keep the words as they are.

fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.axhline(everything, color="0.6", linestyle=":", label="all labels")
for (name, values), marker in zip(scores.items(), "svo"):
    ax.plot(shares, values, marker=marker, label=name)
    print(f"{name:26s}", " ".join(f"{value:.3f}" for value in values))
ax.set(
    xlabel="fraction of labeled elements",
    ylabel="fraction of correct elements",
    xscale="log",
    xticks=shares,
    xticklabels=shares,
)
ax.minorticks_off()
ax.legend()
plt.show()
