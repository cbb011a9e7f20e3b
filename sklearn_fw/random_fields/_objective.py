"""The tree-reweighted objective, and bounds by distributions of independent variables."""

import functools
import math

import numpy as np

from .._core import check
from .._core.budget import time_left
from .._core.packed import starts_of
from .._kernels import lazy
from ._fields import PairwiseMRF

belief_propagation = lazy("graphs.belief_propagation")
trw = lazy("graphs.trw")

WORK = 2**23  # numbers between two looks at the clock, some tenths of a second
PASSES = 5  # over all variables, from marginals to the best independent ones near them


def parts_in_time(order, work):
    """Yield parts of an order of nodes, of which each does so much ``work``, while there is time.

    The first is always there. What is left when time ends is lacking: see `time_left`.
    """
    sums = np.cumsum(work[order]) // WORK
    for part in np.split(order, np.flatnonzero(np.diff(sums)) + 1):
        yield part
        if time_left() <= 0.0:
            return


class Products:
    """Expectations of one field under independent variables, by its compiled loops."""

    def __init__(self, field):
        self._field = field
        layout = self._layout = make_layout(field)
        work = np.diff(layout.factor_start) * np.diff(layout.scope_start)
        self._work = 1 + np.bincount(layout.scope, work[layout.factor], field.n_variables)

    def ascend(self, order, q):
        """Update the distributions of variables in turn.

        Returns the largest change of a probability, inf where time ended before all had a turn.
        """
        change, n_done = 0.0, 0
        for part in parts_in_time(order, self._work):
            found = belief_propagation.mean_field(self._layout, self._field.theta, part, q)
            change, n_done = max(change, found), n_done + len(part)
        return change if n_done == len(order) else math.inf

    def above(self, marginals):
        """Distributions near some of variables, and their lower bound on log Z, which is no worse.

        The marginals of a labeling will do: those of variables are the first numbers.
        """
        q = marginals[: self._field.node_start[-1]].copy()
        for _ in range(PASSES):
            if self.ascend(np.arange(self._field.n_variables), q) == math.inf:
                break
        return q, self.bound(q)

    def bound(self, q):
        bound = belief_propagation.product_bound(self._layout, self._field.theta, q)
        return self._field.constant + bound

    def marginals(self, q):
        """Products of the distributions of variables for every factor, in the order of theta."""
        node = self._field.node_blocks(q)
        outer = functools.partial(functools.reduce, np.multiply.outer)
        tables = [outer([node[i] for i in scope]).ravel() for scope in self._field.scopes]
        return np.concatenate([q, *tables])


def distributions(field, logs):
    """One distribution of each variable, in proportion to exp of numbers in the order of theta."""
    first = field.node_start[:-1]
    weight = np.exp(logs - np.repeat(np.maximum.reduceat(logs, first), field.n_states))
    return weight / np.repeat(np.add.reduceat(weight, first), field.n_states)


def make_layout(field):
    scope, start = field._strides.indices, field._strides.indptr
    return belief_propagation.Layout(
        n_states=field.n_states,
        node_start=field.node_start,
        factor_start=field.factor_start,
        scope_start=start,
        scope=scope,
        factor=np.repeat(np.arange(field.n_factors), np.diff(start)),
        message_start=starts_of(field.n_states[scope]),
        place_start=starts_of(np.bincount(scope, minlength=field.n_variables)),
        place=np.argsort(scope, kind="stable"),
    )


def trw_objective(mu, mrf, rho, *, return_gradient=False):
    """Compute the tree-reweighted objective, whose maximum bounds log Z from above.

    ``constant + <theta, mu> + sum_i H(mu_i) - sum_ij rho_ij I(mu_ij)``, equations (1) and (2)
    of [1]_; concave on locally consistent marginals when rho is in the spanning tree polytope.

    Parameters
    ----------
    mu : ndarray of shape (size,)
        Marginals in the order of ``mrf.theta``; see `PairwiseMRF.flatten`.
    mrf : PairwiseMRF
        The random field.
    rho : array-like of shape (n_edges,)
        Edge appearance probabilities.
    return_gradient : bool, default=False
        Whether to return the gradient, too, for which marginals must be positive.

    Returns
    -------
    value : float
        The objective in nats.
    gradient : ndarray of shape (size,)
        ``theta - K (1 + log mu)`` with the weights K of the entropies of variables and edges: the
        potentials of the linearization.

    References
    ----------
    .. [1] R. G. Krishnan, S. Lacoste-Julien, D. Sontag, "Barrier Frank-Wolfe for marginal
       inference", NIPS 2015.

    Examples
    --------
    On a tree with rho = 1 its maximum is log Z, attained by the exact marginals.

    >>> import numpy as np
    >>> from sklearn_fw.random_fields import ExactMarginals, PairwiseMRF, trw_objective
    >>> mrf = PairwiseMRF([[0.0, 1.0], [0.5, 0.0]], [(0, 1)], [[[1.0, 0.0], [0.0, 1.0]]])
    >>> exact = ExactMarginals().fit(mrf)
    >>> mu = mrf.flatten(exact.marginals_, exact.edge_marginals_)
    >>> bool(np.isclose(trw_objective(mu, mrf, [1.0]), exact.log_partition_))
    True
    """
    check.instance(mrf, "mrf", PairwiseMRF)
    energy = make_energy(mrf, check.vector(rho, "rho", mrf.n_edges))
    mu = mrf._check_marginals(mu)
    value = mrf.constant + trw.value(energy, mu)
    if not check.flag(return_gradient, "return_gradient"):
        return value
    slopes = np.empty_like(mu)
    trw.gradient(energy, mu, slopes)
    return value, slopes


def uniform_marginals(mrf):
    sizes = np.diff(mrf._starts)
    return np.repeat(1.0 / sizes, sizes)


def make_energy(mrf, rho, *, theta=None, floor=0.0):
    node = 1.0 - np.bincount(mrf.edges.ravel(), np.repeat(rho, 2), mrf.n_variables)
    entropy = np.repeat(np.concatenate([node, rho]), np.diff(mrf._starts))
    theta = mrf.theta if theta is None else theta
    return trw.Energy(theta, entropy, uniform_marginals(mrf), floor)
