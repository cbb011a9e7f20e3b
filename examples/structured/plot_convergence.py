"""
===========================
Eight ways to the same gap
===========================

Block-coordinate Frank-Wolfe has three switches: the direction of a step (towards the oracle's
answer, or from the worst active output to it), the choice of the next sample (uniform, or in
proportion to its last known gap), and a cache of earlier answers that is tried before the oracle.
All eight settings reach the same optimum, and all know how far away it is. They differ in what they
pay for it.
"""

# %%
# One problem
# -----------

import matplotlib.pyplot as plt

from sklearn_fw import StructuredSVM
from sklearn_fw.datasets import make_digit_words
from sklearn_fw.structured import BlockFrankWolfe, ConvergenceDisplay

words = make_digit_words(n_train=600, n_test=300, random_state=0)
X, y = words.X_train, words.y_train

# %%
# Eight solvers
# -------------
# A solver object carries the settings that the name of a solver leaves at their defaults. The budget
# is the same number of passes for all. The first fit compiles, so one is made before the clock runs.

C, tol, passes = 0.01, 1e-5, 150
colors = {
    ("fw", False): "tab:blue",
    ("fw", True): "tab:cyan",
    ("pairwise", False): "tab:red",
    ("pairwise", True): "tab:orange",
}

for step, cache in colors:
    solver = BlockFrankWolfe(step=step, cache=cache)
    StructuredSVM(solver=solver, max_iter=1, tol=10).fit(X[:5], y[:5])

fits = {}
for (step, cache), color in colors.items():
    for sampling, linestyle in (("uniform", "--"), ("gap", "-")):
        solver = BlockFrankWolfe(step=step, sampling=sampling, cache=cache, early_exit=0.0)
        svm = StructuredSVM(solver=solver, C=C, tol=tol, max_iter=passes, random_state=0)
        name = f"{step}, {sampling}" + (", cache" if cache else "")
        fits[name] = svm.fit(X, y), {"color": color, "linestyle": linestyle}

# %%
# Two prices
# ----------
# Oracle calls are what counts when the oracle is slow. Here it is Viterbi's algorithm, compiled and
# as cheap as looking into the cache, so the picture against seconds is another one.

figure, axes = plt.subplots(1, 2, figsize=(11, 5), sharey=True, layout="constrained")
for name, (svm, style) in fits.items():
    ConvergenceDisplay.from_estimator(svm, name=name, ax=axes[0], **style)
    ConvergenceDisplay.from_estimator(svm, name=name, ax=axes[1], x="time", **style)
axes[1].get_legend().remove()
axes[1].set_ylabel("")

for name, (svm, _) in fits.items():
    print(
        f"{name:24s} gap {svm.dual_gap_:.1e}  oracle calls {svm.n_oracle_calls_:6d}  "
        f"right digits {svm.score(words.X_test, words.y_test):.3f}"
    )
