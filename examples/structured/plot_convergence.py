"""
====================================================
Block-coordinate Frank-Wolfe variants on digit words
====================================================

Block-coordinate Frank-Wolfe has three switches: the step (towards a vertex, or pairwise), the
sampling (uniform, or in proportion to the last known gap), and a cache of earlier outputs. All
eight variants reach the same optimum with a certificate, at different costs.
"""

# %%
# Data
# ----

import warnings

import matplotlib.pyplot as plt
from sklearn.exceptions import ConvergenceWarning

from sklearn_fw import StructuredSVM
from sklearn_fw.datasets import make_digit_words
from sklearn_fw.displays import ConvergenceDisplay
from sklearn_fw.structured import BlockFrankWolfe

words = make_digit_words(n_train=600, n_test=300, random_state=0)
X, y = words.X_train, words.y_train

# %%
# Eight variants
# --------------
# A solver object sets the options that the name of a solver leaves at their defaults. All variants
# run the same number of passes: ``tol=0`` disables the stopping criterion. Small fits compile the
# code before times are measured.

warnings.simplefilter("ignore", ConvergenceWarning)
colors = {
    ("fw", False): "tab:blue",
    ("fw", True): "tab:cyan",
    ("pairwise", False): "tab:red",
    ("pairwise", True): "tab:orange",
}

for step, cache in colors:
    solver = BlockFrankWolfe(variant=step, cache=cache)
    StructuredSVM(solver=solver, max_iter=1, tol=10).fit(X[:5], y[:5])

fits = {}
for (step, cache), color in colors.items():
    for sampling, linestyle in (("uniform", "--"), ("gap", "-")):
        solver = BlockFrankWolfe(variant=step, sampling=sampling, cache=cache)
        svm = StructuredSVM(solver=solver, C=0.01, tol=0, max_iter=100, random_state=0)
        name = f"{step}, {sampling}" + (", cache" if cache else "")
        fits[name] = svm.fit(X, y), {"color": color, "linestyle": linestyle}

# %%
# Oracle calls and time
# ---------------------
# The number of oracle calls is the relevant cost if the oracle is slow. Here it is compiled Viterbi
# decoding, about as cheap as a cache lookup, so the ranking by seconds is different. Gap sampling
# is faster by both measures.

figure, axes = plt.subplots(1, 2, figsize=(11, 5), sharey=True, layout="constrained")
for name, (svm, style) in fits.items():
    ConvergenceDisplay.from_estimator(svm, name=name, ax=axes[0], **style)
    ConvergenceDisplay.from_estimator(svm, name=name, ax=axes[1], x="time", **style)
axes[1].get_legend().remove()
axes[1].set_ylabel("")

for name, (svm, _) in fits.items():
    print(
        f"{name:24s} gap {svm.dual_gap_:.1e}  oracle calls {svm.n_oracle_calls_:6d}  "
        f"correct digits {svm.score(words.X_test, words.y_test):.3f}"
    )

# %%
# Duality gap
# -----------
# The objective is an upper bound on the optimum, the dual objective a lower bound. The optimum lies
# in the shaded region, whose height is the gap. Here it is computed after every pass.

solver = BlockFrankWolfe("pairwise", gap_check=1)
svm = StructuredSVM(solver=solver, C=0.01, tol=1e-3, random_state=0).fit(X, y)
figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ConvergenceDisplay.from_estimator(svm, x="n_iter", kind="objectives", name="pairwise, gap", ax=ax)
ax.set_title(f"The optimum is between {svm.dual_objective_:.4f} and {svm.objective_:.4f}")
