"""
=================================
Custom solver: subgradient method
=================================

A solver accesses a training set through a few methods: oracle, direction, objective. It works with
all models and oracles. This one takes steps of length 1 / k along subgradients, and is compared
with ``"bcfw"``.
"""

# %%
# Solver
# ------
# ``start`` gets the dual problem as ``blocks`` and returns an object whose ``step`` makes one pass.
# ``answer`` is one call of the loss-augmented oracle; ``add_to`` adds the features of the target
# minus those of the answer. The method has no lower bound, and therefore no certificate: ``tol``
# has no effect, and ``max_iter`` ends the fit.

import matplotlib.pyplot as plt
import numpy as np

from sklearn_fw import StructuredSVM
from sklearn_fw.datasets import make_digit_words
from sklearn_fw.inference import Viterbi
from sklearn_fw.structured import BlockFrankWolfe, Solver


class PlainSubgradient(Solver):
    """Stochastic subgradient steps of length ``1 / (lam k)``."""

    certified = False

    def start(self, blocks, *, lam, tol, rng, warm=None):
        """Begin at zero."""
        blocks.reset(lam)
        return Run(blocks, lam, rng)


class Run:
    """Weights and the number of updates."""

    def __init__(self, blocks, lam, rng):
        self.blocks, self.lam, self.rng = blocks, lam, rng
        self.w, self.k = np.zeros(blocks.n_weights), 0

    def step(self):
        """One pass in random order."""
        for i in self.rng.permutation(self.blocks.n_blocks):
            self.k += 1
            answer = self.blocks.answer(i, self.w)
            self.w *= 1.0 - 1.0 / self.k
            share = self.blocks.weight[i] * self.blocks.n_blocks
            self.blocks.add_to(i, answer, share / (self.lam * self.k), self.w)
        return self.certify()

    def certify(self):
        """The objective; a row of ``history_``."""
        hinge, _ = self.blocks.ask(self.w)
        return {"objective": 0.5 * self.lam * (self.w @ self.w) + hinge}

    def weights(self):
        """The current point."""
        return self.w


# %%
# Comparison with block-coordinate Frank-Wolfe
# --------------------------------------------
# Both solvers make thirty passes. The minimum lies between the objective and the dual objective of
# ``"bcfw"``.

words = make_digit_words(n_train=200, n_test=100, random_state=0)
X, y = words.X_train, words.y_train
settings = {"C": 0.05, "tol": 0, "max_iter": 30, "random_state": 0}
own = StructuredSVM("chain", solver=PlainSubgradient(), **settings).fit(X, y)
bcfw = StructuredSVM("chain", solver=BlockFrankWolfe(gap_check=1), **settings).fit(X, y)
for name, svm in (("own", own), ("bcfw", bcfw)):
    print(f"{name}: objective {svm.objective_:.3f}", end=", ")
    print(f"score {svm.score(words.X_test, words.y_test):.3f}")

# %%
# The gap bounds the possible improvement, which a curve of the objective does not show.

figure, axes = plt.subplots(figsize=(6.4, 3.8), layout="constrained")
for svm, color, label in ((own, "tab:red", "own subgradient"), (bcfw, "tab:blue", "bcfw")):
    axes.plot(svm.history_["n_iter"], svm.history_["objective"], color=color, label=label)
history = bcfw.history_
axes.fill_between(
    history["n_iter"], history["dual_objective"], history["objective"], color="tab:blue",
    alpha=0.15, label="range of the minimum",
)  # fmt: skip
best = bcfw.history_["objective"].min()
axes.set(xlabel="passes", ylabel="objective", ylim=(0.6 * best, 3.0 * best))
axes.legend()
plt.show()

# %%
# The same class works with any other oracle, here a function, and with any other model, here one
# label per sample.

settings = {"solver": PlainSubgradient(), "max_iter": 5, "random_state": 0}
by_function = StructuredSVM("chain", oracle=Viterbi().argmax, C=0.05, **settings)
letters, labels = np.concatenate(X[:50]), np.concatenate(y[:50])
by_letter = StructuredSVM("multiclass", C=0.05, **settings)
print(f"words {by_function.fit(X[:50], y[:50]).score(words.X_test, words.y_test):.3f}", end=", ")
print(f"letters {by_letter.fit(letters, labels).score(letters, labels):.3f}")
