"""
=======================================
Regularization path of a structured SVM
=======================================

A grid over C leaves gaps between its points. The regularization path gives a solution for every C:
a few breakpoints, each computed from the previous one, and their mixtures, which are guaranteed to
be nearly optimal.
"""

# %%
# Path computation
# ----------------
# ``eps`` is the guaranteed accuracy of the objective in units of the task loss, here the fraction
# of wrong digits, for every C from zero to ``C_max``.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit

from sklearn_fw import StructuredSVM, regularization_path
from sklearn_fw.datasets import make_digit_words
from sklearn_fw.model_selection import RegularizationPathDisplay
from sklearn_fw.structured import StructuredSVMCV

words = make_digit_words(n_train=150, n_test=400, random_state=0)
X, y = words.X_train, words.y_train
X_valid, y_valid = words.X_test[:200], words.y_test[:200]
X_new, y_new = words.X_test[200:], words.y_test[200:]

# Values of C below are for features as they come, in paths, fits and the search.
svm = StructuredSVM(
    "chain", task_loss="hamming", solver="bcpfw", feature_scale=None, random_state=0
)
path = regularization_path(svm, X, y, eps=0.1, C_max=1.0)
print(f"{len(path.values_)} breakpoints, {path.n_oracle_calls_ / len(X):.0f} oracle calls per word")

# %%
# Score, norm and gap
# -------------------
# Weights between two breakpoints are mixtures of theirs, so all curves are defined for any C: the
# score on held-out words, the norm, and the certified gap, which is below ``eps`` everywhere. Dots
# are breakpoints.

display = RegularizationPathDisplay.from_path(
    path, X=X_valid, y=y_valid, curves=("score", "norm", "gap")
)
best_C = display.values[np.argmax(display.scores)]
for panel in display.axes_:
    panel.axvline(best_C, color="tab:orange", zorder=0)
print(f"best C on held-out words: {best_C:.3g}")
print(f"correct digits in new words: {path.estimator_at(best_C).score(X_new, y_new):.3f}")

# %%
# Check of the guarantee
# ----------------------
# At some values of C the problem is solved again, separately and more accurately. The objective of
# the path exceeds that optimum by less than ``eps``, and mostly by much less. A coarser ``eps``
# needs fewer oracle calls.


def objective(w, C):
    """The objective at any weights, from the four methods of the model."""
    model = path.estimator.model_
    hinges = []
    for x, truth in zip(X, y):
        rival = model.loss_augmented_inference(x, truth, w)
        difference = model.joint_feature(x, truth) - model.joint_feature(x, rival)
        hinges.append(model.loss(truth, rival) - w @ difference)
    return w @ w / (2 * C * len(X)) + np.mean(hinges)


Cs = np.geomspace(1e-4, 0.05, 7)
lower_bounds = []
for C in Cs:
    alone = clone(svm).set_params(C=C, tol=0.005, max_iter=500)
    lower_bounds.append(alone.fit(X, y).dual_objective_)

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for eps, color in ((0.4, "tab:orange"), (0.2, "tab:green"), (0.1, "tab:blue")):
    coarse = regularization_path(svm, X, y, eps=eps, C_max=1.0)
    excess = [objective(coarse.coef_at(C), C) - bound for C, bound in zip(Cs, lower_bounds)]
    calls = coarse.n_oracle_calls_ / len(X)
    ax.plot(Cs, excess, "o", color=color, label=f"eps = {eps}: {calls:.0f} calls per word")
    ax.axhline(eps, color=color, linewidth=1, linestyle="--")
ax.set(xscale="log", xlabel="C", ylabel="objective above the optimum")
ax.legend()

# %%
# Selection of C
# --------------
# ``StructuredSVMCV`` selects C in one step: a path per fold, then a fit on all data with the best
# C. Here the only fold is the split above, whose parts share no image.

search = StructuredSVMCV(svm, C_max=1.0, cv=PredefinedSplit(np.repeat([-1, 0], [150, 200])))
search.fit(np.concatenate([X, X_valid]), np.concatenate([y, y_valid]))
fit = search.best_estimator_
print(f"C {search.C_:.3g}, duality gap {fit.dual_gap_:.2g} of an objective of {fit.objective_:.2g}")
