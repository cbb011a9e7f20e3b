"""
================================
Sequence labeling of digit words
================================

Sequence labeling predicts all labels of a sequence together. Here words consist of scikit-learn's
digits, and some digits follow each other more often than others. A linear classifier predicts
digits one by one. A chain model has the same weights of pixels and one more weight for every pair
of neighbors, and predicts whole words.
"""

# %%
# Data
# ----
# ``X`` is a list with one array per word, with one row of pixels per digit; ``y`` contains the
# digits. Training and test words share no image.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import LinearSVC

from sklearn_fw import StructuredSVM
from sklearn_fw.datasets import make_digit_words
from sklearn_fw.metrics import node_accuracy, sequence_accuracy

words = make_digit_words(n_train=300, n_test=400, random_state=0)
X_train, y_train, X_test, y_test = words.X_train, words.y_train, words.X_test, words.y_test
print(X_train[0].shape, y_train[0])

# %%
# Linear classifier and chain model
# ---------------------------------
# Both are linear; the chain also has transition weights. For each, C is the best of five values on
# one half of the test words, and the other half measures the accuracy. (Folds of the training words
# would share images and select too large a C.)

X_valid, y_valid, X_new, y_new = X_test[:200], y_test[:200], X_test[200:], y_test[200:]
Cs = [0.001, 0.003, 0.01, 0.03, 0.1]

singles = [LinearSVC(C=C).fit(np.concatenate(X_train), np.concatenate(y_train)) for C in Cs]
single = max(singles, key=lambda svc: svc.score(np.concatenate(X_valid), np.concatenate(y_valid)))

chains = [StructuredSVM(C=C, random_state=0).fit(X_train, y_train) for C in Cs]
chain = max(chains, key=lambda svm: svm.score(X_valid, y_valid))

readings = {
    "digit by digit": [single.predict(word) for word in X_new],
    "whole words": chain.predict(X_new),
}
for name, predicted in readings.items():
    print(
        f"{name:15s} correct digits {node_accuracy(y_new, predicted):.3f}, "
        f"correct words {sequence_accuracy(y_new, predicted):.3f}"
    )

# %%
# The duality gap certifies the fit: the objective is at most this far above its minimum. The
# default ``tol`` is a tenth of the objective, because predictions hardly change below.

print(
    f"duality gap {chain.dual_gap_:.2g} of an objective of {chain.objective_:.2g} "
    f"after {chain.n_iter_} passes over the words"
)

# %%
# Test words
# ----------
# The first words with different predictions; errors are red.

differ = [
    i for i in range(len(y_new)) if np.any(np.diff([r[i] for r in readings.values()], axis=0))
]
shown = differ[:6]
width = max(len(y_new[i]) for i in shown)
figure, axes = plt.subplots(
    len(shown), width, figsize=(1.0 * width, 1.75 * len(shown)), squeeze=False
)
for row, i in zip(axes, shown):
    for t, ax in enumerate(row):
        ax.axis("off")
        if t >= len(y_new[i]):
            continue
        ax.imshow(X_new[i][t, :64].reshape(words.image_shape), cmap="gray_r")
        for height, name in zip((-0.18, -0.5), readings):
            digit = readings[name][i][t]
            wrong = digit != y_new[i][t]
            ax.text(
                0.5, height, digit, transform=ax.transAxes, ha="center", va="center", size=15,
                color="tab:red" if wrong else "0.35", weight="bold" if wrong else "normal",
            )  # fmt: skip
    for height, name in zip((-0.18, -0.5), readings):
        row[0].text(
            -0.15, height, name, transform=row[0].transAxes, ha="right", va="center", size=13
        )
figure.subplots_adjust(left=0.17, right=0.99, top=0.98, bottom=0.06, hspace=0.75, wspace=0.1)

# %%
# Learned transitions
# -------------------
# The words come from a Markov chain. The learned weights of pairs of neighbors resemble its
# transition probabilities, which the model never used.

transitions = chain.feature_weights()["transitions"]
top = np.abs(transitions).max()
figure, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, matrix, title, colors in (
    (
        axes[0],
        words.transition,
        "transition probabilities of the data",
        {"cmap": "Reds", "vmin": 0},
    ),
    (axes[1], transitions, "learned weights", {"cmap": "RdBu_r", "vmin": -top, "vmax": top}),
):
    image = ax.imshow(matrix, **colors)
    ax.set(title=title, xlabel="next digit", ylabel="digit", xticks=range(10), yticks=range(10))
    figure.colorbar(image, ax=ax, shrink=0.8)

correlation = np.corrcoef(words.transition.ravel(), transitions.ravel())[0, 1]
print(f"correlation of the two matrices: {correlation:.2f}")
