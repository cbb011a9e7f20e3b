"""Primal baselines: stochastic subgradient and the averaged structured perceptron."""

from dataclasses import KW_ONLY

import numpy as np

from ..._core import check
from ..._core.loop import IterativeMethod
from ._base import Solution, Solver, numbers
from ._compiled import accelerated, is_compiled, subgradient_visits_of_parts


@accelerated(subgradient_visits_of_parts, is_compiled)
def subgradient_visits(blocks, order, visits, lam, target, moments):
    """Stochastic subgradient (lam > 0) or structured perceptron (lam = 0) steps.

    ``target`` accumulates the sum z of feature differences. Subgradient: ``w_k = z_k / (lam k)``
    after k steps of size 1/k, so its oracle is the argmax of ``z + lam k L``; perceptron: ``w = z``
    and no loss. ``moments`` gets ``sum_j j (z_j - z_{j-1})``. ``visits`` were made before.
    """
    for visit, i in enumerate(order, visits + 1):
        # At w = 0 any positive multiple of the loss has the same argmax.
        loss_weight = lam * (visit - 1) if visit > 1 or lam == 0.0 else 1.0
        answer = blocks.answer(i, target, loss_weight)
        factor = blocks.weight[i] * blocks.n_blocks
        blocks.add_to(i, answer, factor, target)
        blocks.add_to(i, answer, factor * visit, moments)


class _PrimalMethod(IterativeMethod):
    """Passes of steps on a single weight vector; no dual variables, hence no certificate."""

    def __init__(self, settings, blocks, lam, rng):
        blocks.reset(lam)
        self.blocks, self.lam, self.rng = blocks, lam, rng
        self.subgradient, self.averaging = not settings.perceptron, settings.averaging
        # The sum of feature differences z, and sum_j j (z_j - z_{j-1}).
        self.target, self.moments = np.zeros((2, blocks.n_weights))
        self.visits, self.primal = 0, None

    def step(self):
        order = self.rng.permutation(self.blocks.n_blocks)
        lam = self.lam if self.subgradient else 0.0
        subgradient_visits(self.blocks, order, self.visits, lam, self.target, self.moments)
        self.visits += len(order)

    def weights(self):
        """Last iterate, or the average.

        Subgradient: w_k = z_k / (lam k), averaged with weights proportional to k; perceptron:
        the plain mean of w_k = z_k. Both are sums of z_k, which the moments give.
        """
        k = self.visits
        if not self.averaging:
            return self.target / (self.lam * k) if self.subgradient else self.target.copy()
        total = (k + 1.0) * self.target - self.moments  # sum of z_1 ... z_k
        return 2.0 * total / (self.lam * k * (k + 1.0)) if self.subgradient else total / k

    def certify(self):
        """Primal objective at the weights, without a gap."""
        w = self.weights()
        sweep = self.blocks.sweep(w)
        self.primal = float(0.5 * self.lam * (w @ w) + self.blocks.weight @ sweep.hinge)
        return numbers(Solution(w, self.primal, None, None, None), self.blocks)

    def solution(self):
        return Solution(self.weights(), self.primal, None, None, None)


class Subgradient(Solver):
    """Stochastic subgradient method on the primal, a baseline without a certificate.

    Parameters
    ----------
    averaging : bool, default=True
        Return the average of the iterates with weights proportional to their number, or equal
        weights for the perceptron.
    perceptron : bool, default=False
        Make the steps of the structured perceptron [2]_: no loss, no regularization, and ``C`` only
        in the reported objective; a strong quick baseline, ``solver="perceptron"``.

    See Also
    --------
    BlockFrankWolfe : As cheap per visit, with line search and certificate.

    Notes
    -----
    Runs ``max_iter`` passes in random order, with steps 1/k; ``tol`` is not used.

    References
    ----------
    .. [1] S. Lacoste-Julien, M. Schmidt, F. Bach, "A simpler approach to obtaining an O(1/t)
       convergence rate for the projected stochastic subgradient method", 2012.
    .. [2] M. Collins, "Discriminative training methods for hidden Markov models", EMNLP 2002.

    Examples
    --------
    >>> from sklearn_fw.structured import Subgradient
    >>> Subgradient(averaging=False)
    Subgradient(averaging=False)
    """

    _: KW_ONLY
    averaging: check.flag = True
    perceptron: check.flag = False

    certified = False

    def start(self, blocks, *, lam, tol, rng, warm=None):
        return _PrimalMethod(self, blocks, lam, rng)
