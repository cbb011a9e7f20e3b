"""Losses of scores of tokens whose costs are known, with their derivatives."""

import numpy as np
from scipy.special import log_softmax, softmax, xlogy

from .._core import check

TIE = 1e-12  # of the range of costs: what rounding makes of equal ones


def searnn_loss(scores, costs, loss="ll", *, cost_scale=1.0, target=None, sampled_softmax=True):
    """Loss of each cell of an output, given the costs of all tokens there.

    With c the costs of a cell less their smallest one, times ``cost_scale``, and a* the cheapest
    token::

        ll:     log sum_a exp s(a) - s(a*)
        llcas:  log sum_a exp(s(a) + c(a)) - s(a*)
        shl:    max_a (s(a) + c(a)) - s(a*)
        kl:     sum_a q(a) (log q(a) - log p(a)),  q = softmax(-c), p = softmax(s)

    Parameters
    ----------
    scores : array-like of shape (..., n_tokens)
        Scores s of the tokens.
    costs : array-like of shape (..., n_tokens)
        Costs, not negative; inf for tokens that were not tried, at least one of a cell was.
    loss : {"kl", "ll", "llcas", "shl"}, default="ll"
        Log-loss with a* as the target; the same with costs added to the scores (a smooth form of
        the next); the structured hinge loss; and the Kullback-Leibler divergence from a
        distribution that costs make.
    cost_scale : float, default=1.0
        Factor of the costs; "ll" does not depend on it.
    target : array-like of int of shape (...), default=None
        Tokens that are a* where they cost no more than others; else, and with None, it is the
        first of the cheapest.
    sampled_softmax : bool, default=True
        Whether sums run over tried tokens alone, so that others get no derivative; only "ll" can
        sum over all.

    Returns
    -------
    value : ndarray of shape (...)
        Loss of each cell, not negative.
    gradient : ndarray of shape (..., n_tokens)
        Derivatives by the scores; they sum to zero in a cell.

    Notes
    -----
    The losses are those of [1]_ (section 4); "kl" is that of its journal version, less the entropy
    of q, which makes it a divergence.

    References
    ----------
    .. [1] R. Leblond, J.-B. Alayrac, A. Osokin, S. Lacoste-Julien, "SeaRNN: training RNNs with
       global-local losses", 2017.

    Examples
    --------
    >>> from sklearn_fw.seq2seq import searnn_loss
    >>> searnn_loss([0.0, 1.0, 1.0], [0.0, 0.5, 1.0], "shl")
    (array(2.), array([-1.,  0.,  1.]))
    """
    check.choice(loss, "loss", LOSSES)
    scale = check.positive(cost_scale, "cost_scale")
    scores = check.array(scores, "scores")
    costs = check.array(costs, "costs", finite=False)
    if scores.ndim == 0 or scores.shape != costs.shape:
        raise ValueError(
            f"scores and costs must have one shape (..., n_tokens), got {scores.shape} and "
            f"{costs.shape}"
        )
    if not scores.size:
        raise ValueError("scores and costs are empty")
    if costs.min() < 0.0:
        raise ValueError(f"costs must not be negative, got {costs.min()}")
    tried = costs < np.inf
    if not np.all(tried.any(axis=-1)):
        raise ValueError("costs must be finite for one token of each cell at least")
    if not check.flag(sampled_softmax, "sampled_softmax") and loss != "ll":
        raise ValueError(f"sampled_softmax=False needs loss='ll', got {loss!r}")
    best = cheapest(costs, None if target is None else _targets(target, costs))
    with np.errstate(invalid="ignore"):
        costs = scale * (costs - costs.min(axis=-1, keepdims=True))
    summed = tried if sampled_softmax else np.ones_like(tried)
    # Untried tokens have scores far below all others: their share is zero, and not NaN.
    kept = np.where(summed, scores, -np.inf)
    return LOSSES[loss](kept, np.where(tried, costs, 0.0), best[..., None])


def _targets(target, costs):
    target = check.array(target, "target")
    n = costs.shape[-1]
    is_token = (target >= 0) & (target < n) & (target == np.rint(target))
    if target.shape != costs.shape[:-1] or not np.all(is_token):
        raise ValueError(
            f"target must hold whole numbers from 0 to {n - 1}, shape {costs.shape[:-1]}"
        )
    return target.astype(np.int64)


def cheapest(costs, target=None, rng=None):
    """Number of the cheapest token of each cell; of equal ones the target, or any one by ``rng``.

    Without either it is the first.
    """
    least = costs.min(axis=-1, keepdims=True)
    tried = np.where(costs < np.inf, costs, 0.0)
    is_least = costs <= least + TIE * np.maximum(tried.max(axis=-1, keepdims=True), least)
    if rng is not None:
        return np.where(is_least, rng.random_sample(costs.shape), -1.0).argmax(axis=-1)
    best = is_least.argmax(axis=-1)
    if target is None:
        return best
    is_tied = np.take_along_axis(is_least, target[..., None], axis=-1)[..., 0]
    return np.where(is_tied, target, best)


def _less_one_at(shares, best):
    at_best = np.take_along_axis(shares, best, axis=-1)
    np.put_along_axis(shares, best, at_best - 1.0, axis=-1)
    return shares


def _ll(scores, costs, best):
    logs = log_softmax(scores, axis=-1)
    return -np.take_along_axis(logs, best, axis=-1)[..., 0], _less_one_at(np.exp(logs), best)


def _llcas(scores, costs, best):  # the costs at the best tokens are zero
    return _ll(scores + costs, costs, best)


def _shl(scores, costs, best):
    augmented = scores + costs
    # The target wins ties, so that a loss of zero has no derivative.
    top = augmented.argmax(axis=-1)[..., None]
    highest = np.take_along_axis(augmented, top, axis=-1)
    own = np.take_along_axis(scores, best, axis=-1)
    top = np.where(own >= highest, best, top)
    gradient = np.zeros(scores.shape)
    np.put_along_axis(gradient, top, 1.0, axis=-1)
    return np.maximum(highest - own, 0.0)[..., 0], _less_one_at(gradient, best)


def _kl(scores, costs, best):
    logs = log_softmax(scores, axis=-1)
    is_in = logs > -np.inf
    q = softmax(np.where(is_in, -costs, -np.inf), axis=-1)
    value = (xlogy(q, q) - q * np.where(is_in, logs, 0.0)).sum(axis=-1)
    return np.maximum(value, 0.0), np.exp(logs) - q


LOSSES = {"kl": _kl, "ll": _ll, "llcas": _llcas, "shl": _shl}
