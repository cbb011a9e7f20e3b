"""
==========================================
Latent structured SVM: odd and even digits
==========================================

Odd digits have no common shape, so one hyperplane separates them badly. With five hidden states per
class the model has one template per shape. The digits are not given: states are initialized by
clustering, and training alternates between states and templates.
"""

# %%
# Data
# ----
# The digits of scikit-learn, half of them for training. Labels are 0 for even and 1 for odd digits;
# the digits themselves only serve to inspect the result.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from sklearn_fw import StructuredSVM
from sklearn_fw.structured import LatentStructuredSVM

images, digits = load_digits(return_X_y=True)
X_train, X_test, digits_train, digits_test = train_test_split(
    images / 16, digits, test_size=0.5, random_state=0
)
y_train, y_test = digits_train % 2, digits_test % 2

# %%
# Accuracy by number of hidden states
# -----------------------------------

plain = StructuredSVM(random_state=0).fit(X_train, y_train)
print(f"one state per class: accuracy {plain.score(X_test, y_test):.3f}")
for n_states in (2, 3, 5):
    svm = LatentStructuredSVM(n_states_per_label=n_states, random_state=0).fit(X_train, y_train)
    print(f"{n_states} states per class: accuracy {svm.score(X_test, y_test):.3f}")

# %%
# Hidden states
# -------------
# Top: the mean test image of each state, with the states of even digits at the left. Bottom left:
# the digits in each state. Bottom right: the objective. It is not convex, so the result depends on
# the initialization; it decreases with every convex problem, and training ends when no weights
# improve on it.

states = svm.predict_states(X_test)
counts = np.array([np.bincount(digits_test[states == h], minlength=10) for h in range(10)])
order = np.lexsort((counts.argmax(axis=1), svm.state_labels_))

fig = plt.figure(figsize=(9, 6.2), layout="constrained")
top, bottom = fig.subfigures(2, 1, height_ratios=[1, 3])
for ax, h in zip(top.subplots(1, 10), order):
    mean = X_test[states == h].mean(axis=0) if np.any(states == h) else np.zeros(64)
    ax.imshow(mean.reshape(8, 8), cmap="gray_r")
    ax.set(xticks=[], yticks=[])
    ax.set_title(("even", "odd")[svm.state_labels_[h]], fontsize=9)

left, right = bottom.subplots(1, 2)
shares = counts[order] / np.maximum(counts[order].sum(axis=1, keepdims=True), 1)
left.imshow(shares.T, cmap="Blues", aspect="auto")
left.axvline(4.5, color="0.5", linewidth=1)
left.set(xlabel="hidden state", ylabel="digit", xticks=range(10), yticks=range(10))
left.set_title("fraction of digits per state")
history = svm.history_
right.plot(history["n_iter"], history["objective"], "o-", label="objective")
right.plot(history["n_iter"], history["dual_objective"], "s--", label="bound for fixed states")
right.set(xlabel="convex problems solved", ylim=(0, None))
right.legend()
right.set_title("objective")
plt.show()
