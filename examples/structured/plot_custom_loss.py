"""
==================================
A loss of your own: never too high
==================================

Who reads invoices by machine wants no digit to be read too high: such a mistake costs five times as
much as one in the other direction. The loss of a model says what mistakes cost, and training keeps
the outputs that cost most furthest away.
"""

# %%
# A chain with another loss
# -------------------------
# The model holds a chain, which knows the features and the scores, and replaces two methods: the
# loss, and the search for the best output with the loss added. As this loss is a sum over digits,
# it is added to the scores of the digits, and Viterbi's algorithm does the rest.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import confusion_matrix

from sklearn_fw import StructuredSVM
from sklearn_fw.datasets import make_digit_words
from sklearn_fw.inference import PairwiseScores, Viterbi
from sklearn_fw.structured import ChainModel, StructuredModel

COSTS = np.where(np.arange(10) > np.arange(10)[:, None], 1.0, 0.2)  # row: truth, column: reading
np.fill_diagonal(COSTS, 0.0)


class InvoiceModel(StructuredModel):
    """A chain of digits whose loss is the mean of the costs."""

    def initialize(self, X, y):
        self.chain_ = ChainModel("hamming").initialize(X, y)
        return self

    def joint_feature(self, x, y):
        return self.chain_.joint_feature(x, y)

    def inference(self, x, w):
        return self.chain_.inference(x, w)

    def loss(self, y_true, y):
        return COSTS[y_true, y].mean()

    def loss_augmented_inference(self, x, y_true, w):
        scores = self.chain_.scores(x, w)
        costs = COSTS[y_true] / len(y_true)
        scores = PairwiseScores(scores.unary + costs, scores.pairwise, scores.edges)
        return Viterbi().argmax(scores)[0]


# %%
# Training
# --------
# The four methods in Python cost more time than the built-in chain and reach the same kind of
# certificate.

words = make_digit_words(n_train=200, n_test=400, noise=0.4, random_state=0)
X_train, y_train, X_test, y_test = words.X_train, words.y_train, words.X_test, words.y_test

models = {
    "all mistakes alike": StructuredSVM("chain", task_loss="hamming", C=0.003, random_state=0),
    "too high costs more": StructuredSVM(InvoiceModel(), C=0.003, solver="cached", random_state=0),
}
truth = np.concatenate(y_test)
tables = {}
for name, svm in models.items():
    reading = np.concatenate(svm.fit(X_train, y_train).predict(X_test))
    tables[name] = confusion_matrix(truth, reading, normalize="true")
    print(
        f"{name}: too high {np.mean(reading > truth):.3f}, too low {np.mean(reading < truth):.3f}, "
        f"mean cost {COSTS[truth, reading].mean():.3f}, duality gap {svm.dual_gap_:.2g} of an "
        f"objective of {svm.objective_:.2g}"
    )

# %%
# Mistakes move to the cheap side
# -------------------------------
# Above the diagonal digits are read too high. These mistakes nearly disappear; more digits are read
# too low, and the mean cost falls.

figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.4), sharey=True, layout="constrained")
for ax, (name, table) in zip(axes, tables.items()):
    ax.imshow(table - np.diag(np.diag(table)), cmap="Reds", vmin=0, vmax=0.3)
    for (i, j), share in np.ndenumerate(table):
        if share >= 0.01:
            color = "0.6" if i == j else "black"
            ax.text(j, i, f"{100 * share:.0f}", ha="center", va="center", color=color, size=8)
    ax.plot([-0.5, 9.5], [-0.5, 9.5], color="0.8", linewidth=1, zorder=0.5)
    ax.set(title=name, xlabel="reading", xticks=range(10), yticks=range(10))
axes[0].set_ylabel("truth (percent of its images)")
