"""
=========================================
Custom oracle: numbers with a check digit
=========================================

Account numbers and ISBNs contain a check digit: with factors 1, 3, 1, 3, ... the digits add up to a
multiple of ten. No chain model can express this constraint, because it ties all digits together. An
oracle can: it returns the best output that satisfies it.
"""

# %%
# Data
# ----
# A code is a sequence of eight noisy images of digits; the last digit is chosen such that the
# constraint holds. Training and test codes share no image.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from sklearn_fw import StructuredSVM
from sklearn_fw.metrics import node_accuracy, sequence_accuracy

LENGTH = 8
FACTORS = np.where(np.arange(LENGTH) % 2, 3, 1)

rng = np.random.default_rng(0)
images, digits = load_digits(return_X_y=True)
images = np.clip(images / 16 + 0.2 * rng.normal(size=images.shape), 0, 1)
order = rng.permutation(len(images))


def draw_code(half):
    """Images and digits of a random code."""
    code = rng.integers(10, size=LENGTH)
    code[-1] = 7 * (-FACTORS[:-1] @ code[:-1]) % 10  # 7 is the inverse of the last factor, 3
    return images[[rng.choice(half[digits[half] == digit]) for digit in code]], code


X_train, y_train = zip(*[draw_code(order[:900]) for _ in range(200)])
X_test, y_test = zip(*[draw_code(order[900:]) for _ in range(300)])
print(y_train[0], FACTORS @ y_train[0])

# %%
# Oracle
# ------
# Viterbi decoding with an extended state: for every prefix, the best score for each last digit
# *and* each remainder of the sum so far. Only codes that end with remainder zero are allowed. The
# function returns the labels, their score and an upper bound on all scores. If both numbers are
# equal, the labels are optimal; the certificate of the fit relies on it.


def read_code(scores):
    """Best code with a valid check digit."""
    remainder, digit = np.divmod(np.arange(100), 10)
    best = np.full((10, 10), -np.inf)  # remainder so far, last digit
    best[digit, digit] = scores.unary[0][digit]
    arrivals = []
    for t in range(1, scores.n_nodes):
        # Axes: remainder, last digit, this digit.
        candidates = best[:, :, None] + scores.pairwise[t - 1]
        arrivals.append(candidates.argmax(axis=1))
        new = np.full((10, 10), -np.inf)
        new[(remainder + FACTORS[t] * digit) % 10, digit] = (
            candidates.max(axis=1) + scores.unary[t]
        ).ravel()
        best = new
    labels, r = [int(best[0].argmax())], 0
    value = best[0].max()
    for t in range(scores.n_nodes - 1, 0, -1):
        r = (r - FACTORS[t] * labels[-1]) % 10
        labels.append(int(arrivals[t - 1][r, labels[-1]]))
    return labels[::-1], value, value


# %%
# Accuracy with and without the constraint
# ----------------------------------------
# Both models have the same training codes. Without the constraint the check digit detects errors,
# but does not correct them.

plain = StructuredSVM("chain", C=0.05, random_state=0).fit(X_train, y_train)
ruled = StructuredSVM("chain", C=0.05, oracle=read_code, random_state=0).fit(X_train, y_train)
readings = {"unconstrained": plain.predict(X_test), "constrained": ruled.predict(X_test)}
for name, predicted in readings.items():
    print(
        f"{name:16s} correct digits {node_accuracy(y_test, predicted):.3f}, "
        f"correct codes {sequence_accuracy(y_test, predicted):.3f}, "
        f"valid codes {np.mean([FACTORS @ code % 10 == 0 for code in predicted]):.2f}"
    )
for name, svm in (("unconstrained", plain), ("constrained", ruled)):
    print(f"{name:16s} duality gap {svm.dual_gap_:.2g} of an objective of {svm.objective_:.2g}")

# %%
# Corrected codes
# ---------------
# The first test codes with different predictions, errors in red. A single wrong digit is often
# corrected; with two wrong digits the constraint can mislead.

mistakes = {name: [np.sum(a != b) for a, b in zip(y_test, r)] for name, r in readings.items()}
once = np.equal(mistakes["unconstrained"], 1)
repaired = np.equal(mistakes["constrained"], 0)[once]
print(f"{repaired.sum()} of {once.sum()} codes with one wrong digit are corrected")

differ = [
    i for i in range(len(y_test)) if np.any(np.diff([r[i] for r in readings.values()], axis=0))
]
shown = differ[:12]
figure, axes = plt.subplots(6, 2 * LENGTH + 1, figsize=(12, 8))
for column, i in enumerate(shown):
    row = axes[column // 2, (column % 2) * (LENGTH + 1) :][:LENGTH]
    for t, ax in enumerate(row):
        ax.imshow(X_test[i][t].reshape(8, 8), cmap="gray_r")
        for height, reading in zip((-0.2, -0.52), readings.values()):
            wrong = reading[i][t] != y_test[i][t]
            ax.text(
                0.5, height, reading[i][t], transform=ax.transAxes, ha="center", va="center",
                color="tab:red" if wrong else "0.35", weight="bold" if wrong else "normal",
            )  # fmt: skip
for ax in axes.flat:
    ax.axis("off")
for row in axes:
    for height, name in zip((-0.2, -0.52), readings):
        row[0].text(-0.2, height, name, transform=row[0].transAxes, ha="right", va="center")
figure.subplots_adjust(left=0.13, right=0.99, top=0.98, bottom=0.06, hspace=0.8, wspace=0.1)
