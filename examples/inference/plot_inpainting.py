"""
=====================================
Imputation of hidden pixels of digits
=====================================

A random field learned from a table completes rows with missing entries. Here rows are images of
digits with a hole. Hidden pixels get probabilities given the visible ones, which show the
uncertainty of the field.
"""

# %%
# Data
# ----
# Images of 8 x 8 black and white pixels. In each test image a square of 4 x 4 pixels is missing,
# marked by -1 in the table. That is a quarter of the image.

import matplotlib.pyplot as plt
import numpy as np

from sklearn_fw import TRWMarginals
from sklearn_fw.datasets import make_digit_inpainting
from sklearn_fw.random_fields import MRFLearner

digits = make_digit_inpainting(patch=4, n_test=60)
X_train, X_hidden, X_test, mask = digits.X_train, digits.X_hidden, digits.X_test, digits.mask
print(X_train.shape, X_hidden.shape, f"{mask.sum()} hidden pixels")

# %%
# Random fields
# -------------
# ``edges`` are the pairs that interact: none, each pixel with those at most two steps away, or the
# maximum likelihood tree. Learning is one pass through the table. Prediction conditions the field
# on the visible pixels and infers the hidden ones.
#
# The scores are the fraction of wrong pixels when the more probable state is predicted, and the
# log-probability of the true states, where 0 is perfect and log 1/2 = -0.69 is a coin flip.

probabilities = {}


def evaluate(name, marginals):
    """Store the probabilities of ink and print their scores."""
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
    evaluate(name, field.predict_marginals(X_hidden))

# %%
# More edges are not always better. Each edge has a weight, the fraction of spanning trees that
# contain it, and with more edges these weights are smaller. In a tree all weights are one, and this
# tree has the largest likelihood of all trees.
#
# The digit as a variable
# -----------------------
# All pixels depend on the digit. Here it is the 65th column, with ten states, and missing in the
# test images. The learned tree joins it to many pixels, and predictions sum over all digits: the
# field infers the digit and the hidden pixels together. For comparison, the last scores are given
# the true digit.

n_states = [2] * 64 + [10]
field = TRWMarginals(learner=MRFLearner(n_states=n_states))
field.fit(np.column_stack([X_train, digits.y_train]))
unknown = field.predict_marginals(np.column_stack([X_hidden, np.full(len(X_hidden), -1)]))
known = field.predict_marginals(np.column_stack([X_hidden, digits.y_test]))
evaluate("with hidden digit", unknown)
evaluate("with known digit", known)

read = unknown[:, 64].argmax(axis=1)
joined = np.sum(field.mrf_.edges == 64)
print(f"{np.mean(read == digits.y_test):.0%} of the digits predicted correctly")
print(f"{joined} of 64 pixels are joined to the digit")

# %%
# Imputed pixels
# --------------
# Gray is uncertainty; the numbers on top are the inferred digits. Independent pixels are the same
# in every image, neighbors and the tree continue lines into the hole, and with the digit there are
# shapes.

rows = {"visible": np.where(mask, 0.0, X_test), **probabilities, "truth": X_test}
figure, axes = plt.subplots(len(rows), 12, figsize=(11, 5.9))
for line, (name, images) in zip(axes, rows.items()):
    line[0].text(-0.15, 0.5, name, transform=line[0].transAxes, ha="right", va="center")
    for i, ax in enumerate(line):
        ax.imshow(images[i].reshape(digits.image_shape), cmap="gray_r", vmin=0, vmax=1)
        ax.set(xticks=[], yticks=[])
        top, left = np.divmod(np.flatnonzero(mask[i])[0], 8)
        hole = plt.Rectangle((left - 0.5, top - 0.5), 4, 4, edgecolor="tab:red", fill=False)
        if name == "visible":
            ax.set_title(read[i], color="tab:green" if read[i] == digits.y_test[i] else "tab:red")
            hole.set(fill=True, facecolor="mistyrose")
        ax.add_patch(hole)
figure.subplots_adjust(left=0.18, right=0.99, top=0.95, bottom=0.01, hspace=0.05, wspace=0.05)
