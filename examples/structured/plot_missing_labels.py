"""
=============================
Sequences with missing labels
=============================

Annotators label one element in five of each sequence. Elements without a label still have features
and neighbors: a chain trained with missing labels learns how labels follow each other.
"""

# %%
# Data
# ----
# Words of noisy digits, in which some digits follow others more often. Labels are masked at random;
# every training takes the same words.

import matplotlib.pyplot as plt
import numpy as np

from sklearn_fw import StructuredSVM
from sklearn_fw.datasets import make_digit_words
from sklearn_fw.structured import LatentStructuredSVM

words = make_digit_words(200, 300, noise=0.5)
X, y, X_test, y_test = words.X_train, words.y_train, words.X_test, words.y_test
shares = [0.08, 0.15, 0.3, 0.5, 0.7]

# %%
# Three ways to learn from some labels
# ------------------------------------
# Elements with a label, each alone; chains of the elements that have a label, as if there were no
# others between them; and all elements, where missing labels are masked.

scores = {"single elements": [], "chains without the rest": [], "missing labels": []}
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
    scores["chains without the rest"].append(cut.score(X_test, y_test))
    svm = LatentStructuredSVM("chain", n_states_per_label=1, random_state=0).fit(X, masked)
    scores["missing labels"].append(svm.score(X_test, y_test))

everything = StructuredSVM("chain", random_state=0).fit(X, y).score(X_test, y_test)

# %%
# What a label is worth
# ---------------------
# To leave out what has no label also spoils what is left: digits become neighbors that never were.
# Masked labels keep the words as they are.

fig, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.axhline(everything, color="0.6", linestyle=":", label="all labels")
for (name, values), marker in zip(scores.items(), "svo"):
    ax.plot(shares, values, marker=marker, label=name)
    print(f"{name:24s}", " ".join(f"{value:.3f}" for value in values))
ax.set(
    xlabel="share of elements with a label",
    ylabel="share of elements read rightly",
    xscale="log",
    xticks=shares,
    xticklabels=shares,
)
ax.minorticks_off()
ax.legend()
plt.show()
