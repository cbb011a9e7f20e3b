"""The tree-reweighted objective and its parts, for one random field."""

import numpy as np

from .._core.validation import check_array_of_numbers
from .._kernels import lazy
from ._fields import PairwiseMRF

trw = lazy("graphs.trw")

ROUNDING = 1e-6  # by which probabilities may exceed one


def trw_objective(mu, mrf, rho):
    """Tree-reweighted lower part of the bound on log Z: its maximum over marginals is the bound.

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

    Returns
    -------
    value : float
        The objective in nats.

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
    energy = _energy(mrf, rho)
    return mrf.constant + trw.value(energy, _point(mu, mrf))


def trw_gradient(mu, mrf, rho):
    """Gradient of `trw_objective` in the marginals: the potentials of its linearisation.

    Parameters
    ----------
    mu : ndarray of shape (size,)
        Positive marginals in the order of ``mrf.theta``.
    mrf : PairwiseMRF
        The random field.
    rho : array-like of shape (n_edges,)
        Edge appearance probabilities.

    Returns
    -------
    gradient : ndarray of shape (size,)
        ``theta - K (1 + log mu)`` with the weights K of the entropies of variables and edges.
    """
    energy, mu = _energy(mrf, rho), _point(mu, mrf)
    slopes = np.empty_like(mu)
    trw.gradient(energy, mu, slopes)
    return slopes


def edge_mutual_information(mu, mrf):
    """Mutual information of the two variables of every edge.

    Parameters
    ----------
    mu : ndarray of shape (size,)
        Marginals in the order of ``mrf.theta``.
    mrf : PairwiseMRF
        The random field.

    Returns
    -------
    information : ndarray of shape (n_edges,)
        Nats, not negative: minus the derivative of the bound in each edge probability.
    """
    _expect_field(mrf)
    information = np.empty(mrf.n_edges)
    trw.mutual_information(
        _point(mu, mrf), mrf.n_states, mrf.edges, mrf.node_start, mrf.edge_start, information
    )  # fmt: skip
    return information


def uniform_marginals(mrf):
    """The marginals of the uniform distribution, in the order of ``mrf.theta``."""
    pairs = mrf.n_states[mrf.edges].prod(axis=1)
    return np.concatenate(
        [np.repeat(1.0 / mrf.n_states, mrf.n_states), np.repeat(1.0 / pairs, pairs)]
    )


def make_energy(mrf, rho, *, theta=None, floor=0.0):
    """The objective as the kernels take it."""
    rho = np.asarray(rho, dtype=np.float64)
    if rho.shape != (mrf.n_edges,):
        raise ValueError(f"rho must have shape (n_edges,) = ({mrf.n_edges},), got {rho.shape}")
    node = 1.0 - np.bincount(
        mrf.edges.ravel(), weights=np.repeat(rho, 2), minlength=mrf.n_variables
    )
    pairs = mrf.n_states[mrf.edges].prod(axis=1)
    entropy = np.concatenate([np.repeat(node, mrf.n_states), np.repeat(rho, pairs)])
    theta = mrf.theta if theta is None else theta
    return trw.Energy(theta, entropy, uniform_marginals(mrf), floor)


def _energy(mrf, rho):
    """The objective of a user's field and probabilities."""
    _expect_field(mrf)
    return make_energy(mrf, check_array_of_numbers(rho, "rho"))


def _expect_field(mrf):
    if not isinstance(mrf, PairwiseMRF):
        raise TypeError(f"mrf must be a PairwiseMRF, got {type(mrf).__name__}")


def _point(mu, mrf):
    """Marginals as the kernels take them, which check nothing."""
    mu = np.array(check_array_of_numbers(mu, "mu"))
    if mu.shape != mrf.theta.shape:
        raise ValueError(
            f"mu must have shape {mrf.theta.shape}, as mrf.theta, got {mu.shape}: see "
            f"PairwiseMRF.flatten"
        )
    if not np.all((mu >= 0.0) & (mu <= 1.0 + ROUNDING)):
        raise ValueError("mu must hold probabilities, from 0 to 1")
    return mu
