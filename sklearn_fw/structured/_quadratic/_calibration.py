"""Calibration functions: what a small excess of the surrogate says of the task loss."""

from typing import NamedTuple

import numpy as np

from ..._core.validation import check_array_of_numbers, check_flag, check_list, check_magnitude
from ..._core.warnings import warn
from ._programs import PairPrograms
from ._spaces import ScoreSpace, check_costs

MANY = 200
CLOSE = 1.0 - 1e-12


class CalibrationPair(NamedTuple):
    """The worst case of a calibration function, which `calibration_function` returns.

    Parameters
    ----------
    best : int
        Prediction with the least risk.
    chosen : int
        Prediction with the largest score.
    scores : ndarray of shape (n_predictions,)
        Scores, in the space.
    probabilities : ndarray of shape (n_labels,)
        Probabilities of the labels.

    Examples
    --------
    >>> from sklearn_fw.structured import calibration_function
    >>> value, pair = calibration_function([[0, 1], [1, 0]], 0.5, return_pair=True)
    >>> pair.probabilities
    array([0.75, 0.25])
    """

    best: int
    chosen: int
    scores: np.ndarray
    probabilities: np.ndarray


def check_eps(eps):
    """Excesses as an array of numbers that are not negative."""
    eps = check_array_of_numbers(eps, "eps")
    check_magnitude(eps, "eps")
    if eps.size and eps.min() < 0.0:
        raise ValueError(f"eps must not be negative, got {eps.min():g}")
    return eps


def check_pairs(pairs, among):
    """Places among the predictable labels of pairs of predictions; all of them for None."""
    n = len(among)
    if pairs is None:
        return [(i, j) for i in range(n) for j in range(n) if i != j]
    place = {int(label): number for number, label in enumerate(among)}
    found = []
    for pair in check_list(pairs, "pairs", "pairs of predictions"):
        labels = check_array_of_numbers(pair, "pairs").tolist()
        if np.ndim(pair) != 1 or len(labels) != 2 or labels[0] == labels[1]:
            raise ValueError(f"pairs must hold pairs (best, chosen) of two labels, got {pair!r}")
        strange = [label for label in labels if label not in place]
        if strange:
            raise ValueError(
                f"pairs: {strange[0]:g} is no prediction that scores of the space can lead to; "
                f"these are {among.tolist()}"
            )
        found.append((place[labels[0]], place[labels[1]]))
    if not found:
        raise ValueError("pairs must hold a pair of predictions at least, or be None for all")
    return found


def calibration_function(costs, eps, *, score_space="loss", pairs=None, return_pair=False):
    """Least excess of the quadratic surrogate where the task loss has an excess of ``eps``.

    Computes, over scores f of the space and probabilities q of the labels::

        H(eps) = min |f + P L q|^2 / (2 k)  subject to  excess of the risk at f >= eps

    where k is the number of predictions, L[c, y] the cost of c, P the projection on the space, and
    the risk at f is ``(L q)[c]`` of the first c with the largest score. Whoever brings the
    surrogate within H(eps) of its minimum brings the risk within eps of its own, if H is convex
    (`convex_envelope` otherwise): the larger H, the easier the loss.

    Parameters
    ----------
    costs : array-like of shape (n_labels, n_predictions)
        Cost of every prediction (column) for every true label (row), as in `MatrixLoss`; not
        negative. ``loss.matrix(classes)`` gives that of a task loss.
    eps : float or array-like
        Excesses of the risk, not negative.
    score_space : {"loss", "full"} or array-like of shape (n_predictions, r), default="loss"
        Scores: the smallest space in which learning is consistent, that of the columns of the loss;
        all scores; or the columns of a matrix and their linear combinations. In the last case the
        excess is over the best prediction that scores of the space can reach, not over all.
    pairs : list of pairs of int or None, default=None
        Pairs (least risk, largest score) of predictions to look at, where symmetry says that the
        others are no worse; None takes all.
    return_pair : bool, default=False
        Whether to return the worst case, too; ``eps`` must be one number then.

    Returns
    -------
    value : float or ndarray of the shape of eps
        H(eps), infinite where no probabilities have such an excess.
    pair : CalibrationPair or None
        With ``return_pair``: the worst case, None if there is none.

    See Also
    --------
    calibration_function_closed_form : Formulas for the usual losses, of any size.
    calibration_lower_bound : A bound without programs.

    Notes
    -----
    A quadratic program for each pair of predictions, exact to about 1e-14: some milliseconds for 32
    labels. Pairs whose lower bound exceeds the best value are left out.

    References
    ----------
    .. [1] A. Osokin, F. Bach, S. Lacoste-Julien, "On structured prediction theory with calibrated
       convex surrogate losses", NIPS 2017: the calibration function and its symmetries.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.structured import calibration_function
    >>> calibration_function(1 - np.eye(3), [0.0, 0.6, 1.0, 1.1]).round(12)
    array([0.        , 0.03      , 0.08333333,        inf])
    """
    costs, eps = check_costs(costs), check_eps(eps)
    return_pair = check_flag(return_pair, "return_pair")
    if return_pair and eps.ndim:
        raise ValueError("eps must be one number where return_pair=True")
    space = ScoreSpace(costs, score_space)
    among = space.predictable()
    pairs = check_pairs(pairs, among)
    if len(pairs) > MANY**2:
        warn(f"{len(pairs)} pairs of predictions: name those that differ by symmetry in pairs")
    programs = PairPrograms(space, among)
    found = [_least(programs, pairs, float(e)) for e in eps.ravel()]
    values = np.array([value for value, _ in found]).reshape(eps.shape)
    if return_pair:
        return float(values), found[0][1]
    return values if eps.ndim else float(values)


def _least(programs, pairs, eps):
    """Value of the worst pair, and the pair."""
    space, among = programs.space, programs.among
    scale = space.costs.max()
    if eps == 0.0:
        q = np.full(space.costs.shape[0], 1.0 / space.costs.shape[0])
        best = int(among[np.argmin((q @ space.costs)[among])])
        return 0.0, CalibrationPair(best, best, -space.projected @ q, q)
    k = space.costs.shape[1]
    bound = np.zeros(len(pairs))
    if space.holds_loss:
        squares = space.distances(among)
        bound = np.array([(eps / scale) ** 2 / (2.0 * k * squares[i, j]) for i, j in pairs])
    least, pair = np.inf, None
    for number in np.argsort(bound, kind="stable"):
        if bound[number] >= least * CLOSE:
            break
        i, j = pairs[number]
        value, v, q = programs.solve(i, j, eps / scale)
        if value < least:
            scores = scale * (space.unit @ v) - space.projected @ q
            least, pair = value, CalibrationPair(int(among[i]), int(among[j]), scores, q)
    return least * scale**2, pair


def surrogate_excess(costs, scores, probabilities, *, score_space="loss"):
    """Excess of the quadratic surrogate over its minimum in a space of scores.

    The surrogate of scores f and a label y is ``|f + L[:, y]|^2 / (2 k)``; over probabilities q its
    mean exceeds the minimum by ``|f + P L q|^2 / (2 k)``.

    Parameters
    ----------
    costs : array-like of shape (n_labels, n_predictions)
        Cost of every prediction (column) for every true label (row), not negative.
    scores : array-like of shape (n_predictions,) or (n, n_predictions)
        Scores, in the space.
    probabilities : array-like of shape (n_labels,) or (n, n_labels)
        Probabilities of the labels.
    score_space : {"loss", "full"} or array-like of shape (n_predictions, r), default="loss"
        The space, as in `calibration_function`.

    Returns
    -------
    excess : float or ndarray of shape (n,)
        Not negative.

    Examples
    --------
    >>> from sklearn_fw.structured import surrogate_excess
    >>> surrogate_excess([[0, 1], [1, 0]], [-0.5, -0.5], [0.75, 0.25])
    0.03125
    """
    costs = check_costs(costs)
    space = ScoreSpace(costs, score_space)
    scores = check_array_of_numbers(scores, "scores")
    q = check_array_of_numbers(probabilities, "probabilities")
    m, k = costs.shape
    for values, n, name in ((scores, k, "scores"), (q, m, "probabilities")):
        if values.ndim not in (1, 2) or values.shape[-1] != n:
            raise ValueError(f"{name} must have shape ({n},) or (n, {n}), got {values.shape}")
    if scores.ndim == q.ndim == 2 and len(scores) != len(q):
        raise ValueError(f"scores has {len(scores)} rows, probabilities has {len(q)}")
    if np.any(q < 0.0) or np.any(np.abs(q.sum(axis=-1) - 1.0) > 1e-8):
        raise ValueError("probabilities must not be negative, and must sum to one")
    inside = scores @ space.unit @ space.unit.T
    scale = max(1e-300, float(np.abs(scores).max(initial=0.0)))
    if np.any(np.abs(inside - scores) > 1e-8 * scale):
        raise ValueError("scores must lie in score_space: project them, or take 'full'")
    excess = np.sum((scores + q @ space.projected.T) ** 2, axis=-1) / (2.0 * k)
    return excess if excess.ndim else float(excess)


def consistency_level(costs, *, score_space="loss"):
    """Largest excess of the risk that the best scores of a space can have.

    Zero says that learning in this space is consistent; else even the minimum of the surrogate may
    have a risk that is larger by so much. The calibration function is zero up to the level.

    Parameters
    ----------
    costs : array-like of shape (n_labels, n_predictions)
        Cost of every prediction (column) for every true label (row), not negative.
    score_space : {"loss", "full"} or array-like of shape (n_predictions, r), default="loss"
        The space, as in `calibration_function`.

    Returns
    -------
    level : float
        In units of the costs.

    Notes
    -----
    A linear program for each pair of predictions, none where the space holds the loss. The risk is
    compared with those of predictions that the space can lead to.

    Examples
    --------
    Scores that are equal within the blocks {0, 1} and {2, 3}, where other labels of the right block
    cost 0.4.

    >>> import numpy as np
    >>> from sklearn_fw.structured import consistency_level
    >>> blocks = np.repeat(np.eye(2), 2, axis=0)
    >>> costs = 1 - 0.6 * blocks @ blocks.T - 0.4 * np.eye(4)
    >>> round(consistency_level(costs, score_space=blocks), 12), consistency_level(costs)
    (0.2, 0.0)
    """
    costs = check_costs(costs)
    space = ScoreSpace(costs, score_space)
    if space.holds_loss:
        return 0.0
    among = space.predictable()
    programs = PairPrograms(space, among)
    excesses = (programs.largest_excess(i, j) for i, j in check_pairs(None, among))
    return float(max(0.0, *excesses, 0.0))


def convex_envelope(eps, values):
    """Largest convex function below every calibration function with these values.

    A calibration function that rises through ``(eps[t], values[t])`` is at least ``values[t - 1]``
    from ``eps[t - 1]`` on. The hull below the points ``(eps[t], values[t - 1])`` is a lower bound
    that is convex, as guarantees need.

    Parameters
    ----------
    eps : array-like of shape (n,)
        Excesses, rising, the first not negative.
    values : array-like of shape (n,)
        Calibration function there, not falling; infinity is fine.

    Returns
    -------
    envelope : ndarray of shape (n,)
        Values of the bound at ``eps``.

    Examples
    --------
    >>> from sklearn_fw.structured import convex_envelope
    >>> convex_envelope([0, 1, 2, 3], [0, 1, 4, 9])
    array([0., 0., 1., 4.])
    """
    eps = check_eps(eps)
    values = check_array_of_numbers(values, "values", finite=False)
    if eps.ndim != 1 or eps.shape != values.shape or not eps.size or np.any(np.diff(eps) <= 0.0):
        raise ValueError("eps and values must be vectors of one length, and eps must rise")
    with np.errstate(invalid="ignore"):
        falls = values[1:] < values[:-1]
    if values[0] < 0.0 or np.any(falls):
        raise ValueError("values must not fall, nor be negative")
    below = np.concatenate([[0.0], values[:-1]])
    finite = np.flatnonzero(np.isfinite(below))
    hull = []
    for t in finite:
        while len(hull) > 1 and _is_above(hull[-1], hull[-2], t, eps, below):
            hull.pop()
        hull.append(t)
    envelope = np.interp(eps, eps[hull], below[hull])
    envelope[finite[-1] + 1 :] = np.inf
    return envelope


def _is_above(middle, left, right, eps, below):
    """Whether a point lies on or above the line between its neighbours."""
    rise = (below[right] - below[left]) * (eps[middle] - eps[left])
    return (below[middle] - below[left]) * (eps[right] - eps[left]) >= rise
