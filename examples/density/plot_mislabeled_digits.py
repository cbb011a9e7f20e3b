"""
==========================================
Label errors in digits, by a joint density
==========================================

A joint density of images and labels finds wrong labels in the training set itself: the
leave-one-out probability of every label has a closed form, from one factorization. The same density
imputes missing labels.
"""

# %%
# Label errors
# ------------
# Twenty of 600 digits get a random wrong label. The figure shows the twenty rows whose labels are
# least probable given their images and all other rows. Wrong labels are red.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss

from sklearn_fw.density import KernelStudentTClassifier

X, y = load_digits(return_X_y=True)
rng = np.random.default_rng(0)
order = rng.permutation(len(X))
train, test = order[:600], order[600:]
given = y[train].copy()
wrong = rng.choice(600, size=20, replace=False)
given[wrong] = (given[wrong] + rng.integers(1, 10, size=20)) % 10

classifier = KernelStudentTClassifier().fit(X[train] / 16, given)
scores = classifier.leave_one_out_scores()
suspects = np.argsort(scores)[:20]
for n in (20, 40, 60):
    found = np.isin(np.argsort(scores)[:n], wrong).sum()
    print(f"{found} of the 20 wrong labels are among the {n} least probable of 600")
corrected = classifier.leave_one_out_predict() == y[train]
print(f"{corrected[wrong].sum()} of the 20 true labels are recovered")

figure, axes = plt.subplots(2, 10, figsize=(11, 2.8), layout="constrained")
for ax, k in zip(axes.flat, suspects):
    ax.imshow(X[train[k]].reshape(8, 8), cmap="Greys")
    ax.set(xticks=[], yticks=[])
    color = "tab:red" if k in wrong else "tab:green"
    ax.set_title(f"label {given[k]}\ntrue {y[train[k]]}", fontsize=9, color=color)

# %%
# Missing labels
# --------------
# ``predict`` returns the most probable label of new images. Probabilities from the joint density
# itself are extreme, because its exponent grows with the number of rows. ``predict_proba`` divides
# the log scores by a temperature, which is chosen by left-out labels.

print(f"{1 - classifier.score(X[test] / 16, y[test]):.1%} of {len(test)} predictions are wrong")

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, temperature in (("1", 1.0), ("chosen", "auto")):
    classifier = KernelStudentTClassifier(temperature=temperature).fit(X[train] / 16, given)
    probabilities = classifier.predict_proba(X[test] / 16)
    loss = log_loss(y[test], probabilities)
    print(f"temperature {classifier.temperature_:.1f}: mean log loss {loss:.3f}")
    ax.hist(probabilities.max(axis=1), bins=40, range=(0, 1), histtype="step", label=name)
ax.set(xlabel="probability of the predicted label", ylabel="digits", yscale="log")
ax.legend(title="temperature")
