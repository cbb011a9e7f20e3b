"""
=====================================
Imputation of hidden pixels of digits
=====================================

A random field learned from a table completes rows with missing entries. Here rows are images of
digits with a hole. Hidden pixels get probabilities given the visible ones, which show the
uncertainty of the field.
"""

# %%
# Holes
# -----
# Images of 8 x 8 black and white pixels. From each test image a square of 4 x 4 is missing, which
# the table marks by -1. That is a quarter of the image, and often most of what tells digits apart.

import matplotlib.pyplot as plt
import numpy as np

from sklearn_fw import TRWMarginals
from sklearn_fw.datasets import make_digit_inpainting
from sklearn_fw.random_fields import MRFLearner

digits = make_digit_inpainting(patch=4, n_test=60)
X_train, X_hidden, X_test, mask = digits.X_train, digits.X_hidden, digits.X_test, digits.mask
print(X_train.shape, X_hidden.shape, f"{mask.sum()} hidden pixels")

# %%
# Three fields
# ------------
# ``edges`` are the pairs that interact: none, each pixel with those at most two steps away,
# or the tree that a table supports best. Learning is one pass through the table. A prediction
# conditions the field on the pixels that are seen and infers those in the hole.
#
# Probabilities are judged by the share of wrong pixels when the more probable state is taken, and
# by the log-probability of the true states, where 0 is perfect and log 1/2 = -0.69 a coin.

probabilities = {}


def judge(name, marginals):
    """Remember and rate the probabilities of ink."""
    ink = probabilities[name] = marginals[:, :64, 1]
    wrong = ((ink > 0.5) != X_test)[mask].mean()
    log_probability = np.log(np.where(X_test == 1, ink, 1 - ink)[mask]).mean()
    print(f"{name:22s} {wrong:5.1%} of hidden pixels wrong, {log_probability:.2f} nats per pixel")


fields = {
    "independent pixels": TRWMarginals(learner=MRFLearner([])),
    "neighbors": TRWMarginals(learner=MRFLearner(digits.edges)),
    "best tree": TRWMarginals(),
}
for name, field in fields.items():
    field.fit(X_train)
    judge(name, field.predict_marginals(X_hidden))

# %%
# More edges are not better by themselves. Each has a weight, its share of the spanning trees, and
# the more edges there are the less each says about the pixel at its other end. A tree has full
# weights, and this one makes the table most probable among all trees.
#
# One more column
# ---------------
# What all pixels depend on is the digit. Here it is the 65th column, with ten states, and the test
# images do not tell it. The tree joins it to many pixels by itself, and predictions sum over all
# digits: the field reads the digit and fills the hole at once. Then the same field is told the
# digit.

n_states = [2] * 64 + [10]
field = TRWMarginals(learner=MRFLearner(n_states=n_states))
field.fit(np.column_stack([X_train, digits.y_train]))
unknown = field.predict_marginals(np.column_stack([X_hidden, np.full(len(X_hidden), -1)]))
known = field.predict_marginals(np.column_stack([X_hidden, digits.y_test]))
judge("with the digit, hidden", unknown)
judge("with the digit, known", known)

read = unknown[:, 64].argmax(axis=1)
joined = np.sum(field.mrf_.edges == 64)
print(f"{np.mean(read == digits.y_test):.0%} of the digits read right")
print(f"{joined} of 64 pixels are joined to the digit")

# %%
# Twelve holes
# ------------
# Gray is uncertainty; above, the digit that was read. Independent pixels look the same in every
# image, neighbors and the tree continue lines into the hole, and with the digit there are shapes.

rows = {"seen": np.where(mask, 0.0, X_test), **probabilities, "truth": X_test}
figure, axes = plt.subplots(len(rows), 12, figsize=(11, 5.9))
for line, (name, images) in zip(axes, rows.items()):
    line[0].text(-0.15, 0.5, name, transform=line[0].transAxes, ha="right", va="center")
    for i, ax in enumerate(line):
        ax.imshow(images[i].reshape(digits.image_shape), cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
        top, left = np.divmod(np.flatnonzero(mask[i])[0], 8)
        hole = plt.Rectangle((left - 0.5, top - 0.5), 4, 4, edgecolor="tab:red", fill=False)
        if name == "seen":
            ax.set_title(read[i], color="tab:green" if read[i] == digits.y_test[i] else "tab:red")
            hole.set(fill=True, facecolor="mistyrose")
        ax.add_patch(hole)
figure.subplots_adjust(left=0.18, right=0.99, top=0.95, bottom=0.01, hspace=0.05, wspace=0.05)
