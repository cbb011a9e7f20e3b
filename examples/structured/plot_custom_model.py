"""
====================================
A model of your own: matching images
====================================

Ten handwritten digits stand in a row, and the same ten digits, written by others, in a second row
in another order. Which belong together? The output is a matching, for which the package has no
model. It takes four methods in plain Python to make one; the solver, the certificate and everything
else stay the same. What is learned are weights of the pixels: where two images of the same digit
should look alike.
"""

# %%
# Data
# ----
# An input is a pair of arrays of images, and an output an array ``y`` where ``y[i]`` is the number of
# the partner of image ``i``. The images are blurred by noise, and training and test sets share none.

import matplotlib.pyplot as plt
import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.datasets import load_digits

from sklearn_fw.structured import StructuredModel, StructuredSVM

rng = np.random.default_rng(0)
images, digits = load_digits(return_X_y=True)
images = images / 16 + 0.25 * rng.normal(size=images.shape)


def draw_rows(pools):
    """Two rows with one image of each digit, in different orders, and who belongs to whom."""
    one, other = rng.permutation(10), rng.permutation(10)
    left = np.array([images[rng.choice(pools[digit])] for digit in one])
    right = np.array([images[rng.choice(pools[digit])] for digit in other])
    return (left, right), np.argsort(other)[one]


order = rng.permutation(len(images))
train, test = ([half[digits[half] == k] for k in range(10)] for half in (order[:900], order[900:]))
X, y = zip(*[draw_rows(train) for _ in range(150)])
X_test, y_test = zip(*[draw_rows(test) for _ in range(150)])

# %%
# The model
# ---------
# A matching scores minus the weighted sum of squared differences of the images that it joins, which
# is linear in the weights, as it has to be. Its loss is the share of images with a wrong partner. The
# best matching is an assignment problem, and remains one when the loss is added, since the loss is a
# sum over images.


class MatchingModel(StructuredModel):
    """Joins the images of two rows; weights say how much a difference in each pixel counts."""

    def initialize(self, X, y):
        self.size_joint_feature = X[0][0].shape[1]
        return self

    def bounds(self):
        return 0.0, None  # a difference never speaks for a pair

    def joint_feature(self, x, y):
        left, right = x
        return -((left - right[y]) ** 2).sum(axis=0) / len(left)

    def loss(self, y_true, y):
        return np.mean(np.not_equal(y_true, y))

    def inference(self, x, w):
        return linear_sum_assignment(self._scores(x, w), maximize=True)[1]

    def loss_augmented_inference(self, x, y_true, w):
        scores = self._scores(x, w) + 1.0 / len(y_true)
        scores[np.arange(len(y_true)), y_true] -= 1.0 / len(y_true)
        return linear_sum_assignment(scores, maximize=True)[1]

    def _scores(self, x, w):
        left, right = x
        return -((left[:, None] - right[None]) ** 2 @ w) / len(left)


# %%
# Training
# --------
# An oracle call costs a fraction of a millisecond here, so a solver with a cache pays.

svm = StructuredSVM(MatchingModel(), solver="cached", C=0.1, tol=0.005, random_state=0).fit(X, y)
print(f"duality gap {svm.dual_gap_:.2g} after {svm.n_oracle_calls_} oracle calls")

same_weights = np.ones(64)
plain = [svm.model_.inference(x, same_weights) for x in X_test]
learned = svm.predict(X_test)
for name, predicted in (("same weight for all pixels", plain), ("learned weights", learned)):
    right = 1 - np.mean([svm.model_.loss(a, b) for a, b in zip(y_test, predicted)])
    print(f"{name:27s} right partners {right:.3f}")
