"""
=============================================
Marginals and bounds on log Z of a spin glass
=============================================

Message passing computes marginals of a frustrated spin glass fast, but gives no indication of their
error. ``TRWMarginals`` calls a MAP solver repeatedly and returns certified lower and upper bounds
on log Z.
"""

# %%
# Data
# ----
# Spins -1 and +1 on a grid of 6 x 6, with random fields and with couplings between -4 and 4. Around
# a cycle with an odd number of negative couplings no labeling satisfies all of them. The grid is
# small enough for exact inference, so every result can be compared with exact marginals.

import warnings
from itertools import combinations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning

from sklearn_fw import TRWMarginals
from sklearn_fw.datasets import make_ising
from sklearn_fw.displays import ConvergenceDisplay
from sklearn_fw.random_fields import (
    ExactMarginals,
    MarginalsDisplay,
    PairwiseMRF,
    PerturbAndMAPMarginals,
    TRBPMarginals,
)

warnings.simplefilter("ignore", ConvergenceWarning)  # loopy belief propagation may not converge

shape = (6, 6)
mrf = make_ising("grid", shape, coupling=4.0, random_state=2)
exact = ExactMarginals().fit(mrf)
trw = TRWMarginals("elimination").fit(mrf)  # its default here is exact inference
loopy = TRBPMarginals("ones").fit(mrf)
trbp = TRBPMarginals().fit(mrf)


def error(fit, truth):
    """Mean absolute error of P(s = +1)."""
    return np.abs(fit.marginals_ - truth.marginals_)[:, 1].mean()


figure, axes = plt.subplots(1, 4, figsize=(12, 3.1), layout="constrained")
for ax, fit in zip(axes, [exact, trw, loopy, trbp]):
    name = type(fit).__name__
    title = name if fit is exact else f"{name}\nmean error {error(fit, exact):.2f}"
    display = MarginalsDisplay.from_estimator(fit, shape=shape, ax=ax, name=title)
    display.image_.colorbar.remove()  # one for all panels
figure.colorbar(display.image_, ax=axes, label="P(s = +1)")

# %%
# The gray panel is the optimum of tree-reweighted message passing. ``TRBPMarginals``
# maximizes the same objective as ``TRWMarginals``, but over marginals that are only locally
# consistent: those of edges agree on the nodes that they share. With 1/2 for every spin they
# satisfy all couplings at once, those of odd cycles included, although no distribution on labelings
# has such marginals. A MAP solver only returns labelings, so the mixtures of ``TRWMarginals`` are
# marginals of a distribution.
#
# Bounds on log Z
# ---------------
# Upper bound: at every oracle call the objective plus the gap bounds log Z, and the fit returns the
# best of these bounds. Lower bound: the total weight of all labelings that the oracle has returned.
# Vertical lines are updates of the weights of the spanning trees, which tighten the upper bound.
# The true log Z, unknown to the method, lies between both bounds.
#
# Marginals are not certified. The gap bounds the distance to the maximum of the objective, not the
# distance to the exact marginals.

display = ConvergenceDisplay.from_estimator(trw, kind="objectives", name="log Z")
display.figure_.set_size_inches(8, 4.2)
ax, calls = display.ax_, trw.history_["n_oracle_calls"]
for change in np.flatnonzero(np.diff(trw.history_["rho_iter"])):
    ax.axvline(calls[change] + 0.5, color="gray", alpha=0.25, linewidth=0.8)
ax.axhline(trw.log_partition_lower_, color="gray", linestyle=":", label="Certified lower bound")
ax.axhline(exact.log_partition_, color="tab:red", linewidth=1, label="Exact")
ax.legend(loc="upper right")

for fit in (exact, trw, loopy, trbp):
    print(
        f"{type(fit).__name__:17s} lower {fit.log_partition_lower_:7.2f}, "
        f"estimate {fit.log_partition_:7.2f}, upper {fit.log_partition_upper_:7.2f}"
    )

# %%
# Choice of method
# ----------------
# Ten fully connected spins, for couplings from weak to strong, with six random fields each. With
# weak couplings loopy belief propagation is hard to beat. With strong couplings it becomes
# inaccurate; the distribution then concentrates on few labelings, which suits methods based on MAP
# solvers. ``PerturbAndMAPMarginals`` calls the same oracle with random perturbations; its marginals
# are good throughout, but its estimate of log Z is not a bound.

couplings = [0.25, 0.5, 1, 2, 4, 8]
methods = {
    "TRWMarginals": TRWMarginals("elimination"),
    "loopy BP": TRBPMarginals("ones"),
    "TRBPMarginals": TRBPMarginals(),
    "PerturbAndMAPMarginals": PerturbAndMAPMarginals(random_state=0),
}
errors = {name: np.zeros((len(couplings), 6)) for name in methods}
slack = {name: np.zeros((len(couplings), 6)) for name in methods}
for i, coupling in enumerate(couplings):
    for seed in range(6):
        mrf = make_ising("clique", 10, coupling=coupling, random_state=seed)
        truth = ExactMarginals().fit(mrf)
        for name, method in methods.items():
            method.fit(mrf)
            errors[name][i, seed] = error(method, truth)
            slack[name][i, seed] = method.log_partition_upper_ - truth.log_partition_

figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for name in methods:
    (line,) = axes[0].plot(couplings, errors[name].mean(axis=1), "o-", label=name)
    if np.all(np.isfinite(slack[name])):
        axes[1].plot(couplings, slack[name].mean(axis=1), "o-", color=line.get_color())
for ax in axes:
    ax.set(xscale="log", xlabel="largest coupling", xticks=couplings, xticklabels=couplings)
    ax.minorticks_off()
axes[0].set(title="mean error of marginals", ylim=0)
axes[1].set(title="certified upper bound minus log Z, nats", yscale="log")
axes[0].legend()

# %%
# Global constraints in the oracle
# --------------------------------
# Sixteen places in a row attract each other, and exactly four of them are taken. No edge expresses
# this constraint, which ties all places together, but an oracle does: Viterbi's algorithm with a
# counter. ``TRWMarginals`` needs nothing else. Its bounds are on the sum over all labelings that
# the oracle may return, here 1820, few enough to enumerate.


class ExactlyOn(BaseEstimator):
    """MAP labeling of a chain with a given number of nodes in the second of two states."""

    exact = True

    def __init__(self, n_on):
        self.n_on = n_on

    def argmax(self, scores, start=None):
        best = np.full((scores.n_nodes + 1, 2), -np.inf)  # number so far, last state
        best[[0, 1], [0, 1]] = scores.unary[0]
        arrivals = []
        for unary, pairwise in zip(scores.unary[1:], scores.pairwise):
            candidates = best[:, :, None] + pairwise  # so far, last state, this one
            arrivals.append(candidates.argmax(axis=1))
            best = candidates.max(axis=1) + unary
            best[:, 1] = np.append(-np.inf, best[:-1, 1])
        left, value = self.n_on, best[self.n_on].max()
        labels = [best[left].argmax()]
        for arrival in reversed(arrivals):
            left -= labels[-1]
            labels.append(arrival[left, labels[-1]])
        return np.array(labels[::-1]), value, value


rng = np.random.default_rng(0)
chain = [(i, i + 1) for i in range(15)]
row = PairwiseMRF.from_ising(rng.normal(size=16), np.ones(15), chain)
ruled = TRWMarginals(ExactlyOn(4), tol=0.05).fit(row)
free = ExactMarginals().fit(row)

allowed = np.array([np.isin(np.arange(16), taken) for taken in combinations(range(16), 4)])
weights = np.exp(row.score(allowed))
print(
    f"with the constraint, log Z is {np.log(weights.sum()):.2f}: between "
    f"{ruled.log_partition_lower_:.2f} and {ruled.log_partition_upper_:.2f}; "
    f"without it {free.log_partition_:.2f}"
)

figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
ax.plot(free.marginals_[:, 1], "o--", color="0.7", label="without the constraint")
ax.plot(weights @ allowed / weights.sum(), "o-", color="tab:red", label="exact, by enumeration")
ax.plot(ruled.marginals_[:, 1], "D", color="tab:blue", label="TRWMarginals(ExactlyOn(4))")
ax.set(xlabel="place", ylabel="probability that it is taken", ylim=(0, 1))
ax.legend()
