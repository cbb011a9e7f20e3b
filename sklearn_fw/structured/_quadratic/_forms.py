"""Calibration functions in closed form, and bounds on all of them."""

import numpy as np

from ..._core.validation import (
    check_array_of_numbers,
    check_choice,
    check_integer,
    check_list,
    check_not_negative,
)
from ._calibration import calibration_function, check_eps, convex_envelope
from ._spaces import ScoreSpace, check_costs

N_GRID = 101


def calibration_function_closed_form(
    loss, eps, *, n_labels=None, n_variables=None, block_sizes=None, within=0.0, score_space="loss"
):
    """Calibration function of a usual loss, by its formula.

    Parameters
    ----------
    loss : {"zero_one", "block", "mixed", "hamming"}
        Whether a label is wrong; whether its block is; the same, where a wrong label of the right
        block costs ``within``; the share of the wrong ones among n_variables binary labels.
    eps : float or array-like
        Excesses of the risk, not negative.
    n_labels : int or None, default=None
        Number of labels, for "zero_one".
    n_variables : int or None, default=None
        Number of binary labels, for "hamming".
    block_sizes : array-like of int or None, default=None
        Number of labels of each block, for "block" and "mixed" (there equal, and 2 at least).
    within : float, default=0.0
        Cost of a wrong label of the right block, from 0 to 1, for "mixed".
    score_space : {"loss", "full", "blocks"}, default="loss"
        As in `calibration_function`; "blocks": scores that are equal within blocks, for "mixed".

    Returns
    -------
    value : float or ndarray of the shape of eps
        H(eps), infinite above one.

    References
    ----------
    .. [1] A. Osokin, F. Bach, S. Lacoste-Julien, "On structured prediction theory with calibrated
       convex surrogate losses", NIPS 2017: the propositions on these losses.

    Examples
    --------
    A thousand binary labels are no harder than their number says.

    >>> from sklearn_fw.structured import calibration_function_closed_form
    >>> round(calibration_function_closed_form("hamming", 0.2, n_variables=1000), 12)
    5e-06
    """
    check_choice(loss, "loss", {"zero_one", "block", "mixed", "hamming"})
    check_choice(score_space, "score_space", {"loss", "full", "blocks"})
    eps = check_eps(eps)
    if score_space == "blocks" and loss in ("zero_one", "hamming"):
        raise ValueError(f"score_space='blocks' is for losses of blocks, not for {loss!r}")
    if loss == "zero_one":
        value = eps**2 / (4.0 * check_integer(n_labels, "n_labels", 2))
    elif loss == "hamming":
        if score_space == "full":
            raise ValueError(
                "score_space='full' has no formula for 'hamming': take calibration_function"
            )
        value = eps**2 / (8.0 * check_integer(n_variables, "n_variables", 1))
    else:
        value = _of_blocks(loss, eps, _check_sizes(block_sizes), within, score_space)
    value = np.where(eps > 1.0, np.inf, value)
    return value if eps.ndim else float(value)


def _check_sizes(block_sizes):
    sizes = check_list(block_sizes, "block_sizes", "numbers of labels")
    sizes = [check_integer(size, "block_sizes", 1) for size in sizes]
    if len(sizes) < 2:
        raise ValueError("block_sizes must hold the sizes of two blocks at least")
    return np.array(sizes, dtype=np.float64)


def _of_blocks(loss, eps, sizes, within, score_space):
    k, b, s = sizes.sum(), len(sizes), sizes[0]
    within = check_not_negative(within, "within")
    if within > 1.0:
        raise ValueError(f"within must be at most 1, got {within}")
    if loss == "block":
        if within:
            raise ValueError("within must be 0 for 'block': take loss='mixed'")
        if score_space == "full":
            factor = np.min(2.0 * sizes / (sizes + 1.0))
        else:
            harmonic = np.sort(sizes)[:2]  # the least mean is that of the smallest two
            factor = 2.0 * harmonic.prod() / harmonic.sum()
        return eps**2 / (4.0 * k) * factor
    if np.any(sizes != s) or s < 2:
        raise ValueError("block_sizes must be equal and 2 at least for 'mixed'")
    if score_space == "blocks":
        ratio = (within * b / k + 1.0 - within) / (1.0 - within / 2.0)
        return np.maximum(eps - within / 2.0, 0.0) ** 2 / (4.0 * b) * ratio**2
    late = eps**2 * s / (2.0 * k * (s + 1.0)) - within * (eps + 1.0) * (s - 1.0) * (
        2.0 * eps - eps * within - within
    ) / (4.0 * k * (s + 1.0))
    return np.where(eps * (1.0 - within) <= within, eps**2 / (4.0 * k), late)


def calibration_lower_bound(costs, eps, *, score_space="loss"):
    """Lower bound ``eps^2 / (2 k max |P (e_i - e_j)|^2)`` on a calibration function.

    The maximum is over pairs of predictions that scores of the space lead to; without them the
    bound is ``eps^2 / (4 k)``. It is convex, so guarantees follow from it.

    Parameters
    ----------
    costs : array-like of shape (n_labels, n_predictions)
        Cost of every prediction (column) for every true label (row), not negative.
    eps : float or array-like
        Excesses of the risk, not negative.
    score_space : {"loss", "full"} or array-like of shape (n_predictions, r), default="loss"
        The space, as in `calibration_function`; it must hold the columns of the loss.

    Returns
    -------
    bound : float or ndarray of the shape of eps
        At most H(eps).

    References
    ----------
    .. [1] A. Osokin, F. Bach, S. Lacoste-Julien, "On structured prediction theory with calibrated
       convex surrogate losses", NIPS 2017: the theorem on the lower bound.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.structured import calibration_lower_bound
    >>> round(calibration_lower_bound(1 - np.eye(5), 1.0), 12)
    0.05
    """
    costs, eps = check_costs(costs), check_eps(eps)
    space = ScoreSpace(costs, score_space)
    if not space.holds_loss:
        raise ValueError(
            "score_space must hold the columns of the loss for this bound: take "
            "calibration_function and convex_envelope"
        )
    bound = eps**2 / (2.0 * costs.shape[1] * _widest(space))
    return bound if eps.ndim else float(bound)


def _widest(space):
    return float(space.distances(space.predictable()).max())


def calibration_upper_bound(costs, eps):
    """Upper bound ``eps^2 / (2 k)`` on a calibration function of all scores.

    It holds for losses that are distances: zero for the truth, symmetric, with the triangle
    inequality. Such losses are hard for scores without structure, as k is large.

    Parameters
    ----------
    costs : array-like of shape (n_labels, n_labels)
        Cost of every prediction (column) for every true label (row): distances.
    eps : float or array-like
        Excesses of the risk, not negative.

    Returns
    -------
    bound : float or ndarray of the shape of eps
        At least H(eps) for ``score_space="full"``; infinite above the largest cost.

    References
    ----------
    .. [1] A. Osokin, F. Bach, S. Lacoste-Julien, "On structured prediction theory with calibrated
       convex surrogate losses", NIPS 2017: the theorem on the upper bound.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.structured import calibration_upper_bound
    >>> calibration_upper_bound(1 - np.eye(5), 1.0)
    0.1
    """
    costs, eps = check_costs(costs), check_eps(eps)
    slack = 1e-9 * costs.max()
    is_distance = costs.shape[0] == costs.shape[1] and not np.any(np.diag(costs))
    is_distance = is_distance and np.allclose(costs, costs.T, rtol=0.0, atol=slack)
    if is_distance:
        is_distance = all(np.all(costs <= c[:, None] + c + slack) for c in costs)
    if not is_distance:
        raise ValueError(
            "costs must be distances (zero for the truth, symmetric, with the triangle inequality) "
            "for this bound: take calibration_function"
        )
    bound = np.where(eps <= costs.max() + slack, eps**2 / (2.0 * costs.shape[1]), np.inf)
    return bound if eps.ndim else float(bound)


def sgd_constants(costs, *, score_space="loss", max_norm=1.0, label_norm=1.0):
    """Constants of the guarantee of averaged stochastic gradient descent.

    Descent on ``|F W phi(x) + L[:, y]|^2 / (2 k)`` in the ball of radius D, where stochastic
    gradients have norm M at most, ends after N steps within ``2 D M / sqrt(N)`` of the minimum,
    on average.

    Parameters
    ----------
    costs : array-like of shape (n_labels, n_predictions)
        Cost of every prediction (column) for every true label (row), not negative.
    score_space : {"loss", "full"} or array-like of shape (n_predictions, r), default="loss"
        "loss" and "full" have an orthogonal basis F; a matrix is taken as F as it is.
    max_norm : float, default=1.0
        R, the largest norm of the features phi(x).
    label_norm : float, default=1.0
        Q, the sum over labels of the norms of their probabilities as functions of phi(x).

    Returns
    -------
    constants : dict
        "L_max", "r" (rank), "kappa" (condition number of F), "R", "Q", "D", "M".

    References
    ----------
    .. [1] A. Osokin, F. Bach, S. Lacoste-Julien, "On structured prediction theory with calibrated
       convex surrogate losses", NIPS 2017: the section on stochastic gradients.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.structured import sgd_constants
    >>> constants = sgd_constants(1 - np.eye(4))
    >>> round(constants["D"] * constants["M"], 12)  # z + z^2 of z = kappa sqrt(r) R Q
    6.0
    """
    costs = check_costs(costs)
    space = ScoreSpace(costs, score_space)
    basis = space.basis
    if not isinstance(score_space, str):
        basis = check_array_of_numbers(score_space, "score_space")
        if space.rank < basis.shape[1]:
            raise ValueError(
                "score_space must have independent columns for this: leave out those that are sums "
                "of others"
            )
    R = check_not_negative(max_norm, "max_norm")
    Q = check_not_negative(label_norm, "label_norm")
    sizes = np.linalg.svd(basis, compute_uv=False)
    return descent_constants(costs.max(), sizes, costs.shape[1], R, Q)


def descent_constants(largest, sizes, k, R, Q):
    """The constants, by the singular values of F."""
    r, root = len(sizes), np.sqrt(k)
    D = np.sqrt(r) * root * largest * Q / sizes[-1]
    M = sizes[0] ** 2 * D * R**2 / k + sizes[0] * largest * R / root
    return {
        "L_max": float(largest), "r": r, "kappa": float(sizes[0] / sizes[-1]), "R": R, "Q": Q,
        "D": float(D), "M": float(M),
    }  # fmt: skip


def learning_complexity(costs, eps, *, score_space="loss", max_norm=1.0, label_norm=1.0):
    """Number of examples after which averaged descent has an expected excess below ``eps``.

    It is ``4 D^2 M^2 / H(eps)^2`` for the constants of `sgd_constants` and a convex lower bound H
    of the calibration function.

    Parameters
    ----------
    costs : array-like of shape (n_labels, n_predictions)
        Cost of every prediction (column) for every true label (row), not negative.
    eps : float or array-like
        Excesses of the risk, positive.
    score_space : {"loss", "full"} or array-like of shape (n_predictions, r), default="loss"
        The space, as in `sgd_constants`. Where it does not hold the loss, the bound is the envelope
        of H on a grid.
    max_norm : float, default=1.0
        R, the largest norm of the features phi(x).
    label_norm : float, default=1.0
        Q, the sum over labels of the norms of their probabilities as functions of phi(x).

    Returns
    -------
    n_examples : float or ndarray of the shape of eps
        Number of steps, each with a new example; infinite below the consistency level.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.structured import learning_complexity
    >>> f"{learning_complexity(1 - np.eye(3), 0.1):.2e}"
    '1.29e+08'
    """
    costs, eps = check_costs(costs), check_eps(eps)
    if np.any(eps == 0.0):
        raise ValueError("eps must be positive: no number of examples makes the excess zero")
    constants = sgd_constants(
        costs, score_space=score_space, max_norm=max_norm, label_norm=label_norm
    )
    if ScoreSpace(costs, score_space).holds_loss:
        bound = np.asarray(calibration_lower_bound(costs, eps, score_space=score_space))
    else:
        grid = np.linspace(0.0, costs.max(), N_GRID)
        values = calibration_function(costs, grid, score_space=score_space)
        envelope = convex_envelope(grid, np.maximum.accumulate(values))
        finite = np.isfinite(envelope)
        bound = np.interp(eps, grid[finite], envelope[finite])
    return steps_needed(constants, bound, eps)


def steps_needed(constants, bound, eps):
    with np.errstate(divide="ignore"):
        found = 4.0 * (constants["D"] * constants["M"]) ** 2 / bound**2
    return found if np.ndim(eps) else float(found)
