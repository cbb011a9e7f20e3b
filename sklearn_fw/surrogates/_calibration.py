"""Calibration functions: excess task loss bounded by excess surrogate loss."""

from collections import namedtuple

import numpy as np
import scipy.linalg as sl
from scipy.optimize import linprog, nnls

from .._core import check
from .._core.warnings import warn
from ._embeddings import ScoreSpace, check_costs

MANY = 200  # predictions, of which all pairs take long
CLOSE = 1.0 - 1e-12
N_GRID = 101  # excesses that the envelope of a space without the loss is taken from

PROXIMITY = 1e-3  # of the proximal-point method
N_ROUNDS = 60
STILL = 1e-13
TINY = 1e-16  # what rounding leaves of zero
# The last residual is 1 / (1 + |y|^2) for the nearest feasible y, of which |y| is at most about one
# since zero scores are allowed; and zero if there is none.
NO_POINT = 0.25


# The worst case of a calibration function: predictions of least risk and of largest score, scores
# (n_predictions,) in the space, and probabilities (n_labels,).
_Pair = namedtuple("_Pair", "best chosen scores probabilities")


def check_eps(eps, *, positive=False):
    eps = check.numbers(eps, "eps")
    if eps.size and eps.min() < 0.0:
        raise ValueError(f"eps must not be negative, got {eps.min():g}")
    if positive and np.any(eps == 0.0):
        raise ValueError("eps must be positive: no number of examples makes the excess zero")
    return eps


def _like(values, eps):
    return values if np.ndim(eps) else float(values)


def _check_pairs(pairs, among):
    """Places among the predictable labels of pairs of predictions; all of them for None."""
    n = len(among)
    if pairs is None:
        return [(i, j) for i in range(n) for j in range(n) if i != j]
    place = {int(label): number for number, label in enumerate(among)}
    pairs = check.shaped(pairs, "pairs", "n_pairs", 2)
    if np.any(pairs[:, 0] == pairs[:, 1]):
        raise ValueError("pairs must hold pairs (best, chosen) of two different labels")
    strange = [label for label in pairs.ravel().tolist() if label not in place]
    if strange:
        raise ValueError(f"pairs: {strange[0]:g} is none of the predictions {among.tolist()}")
    return [(place[best], place[chosen]) for best, chosen in pairs.tolist()]


def calibration_function(
    costs, eps, *, score_space="loss", bound=None, convex=False, pairs=None, return_pair=False
):
    """Compute the calibration function of the quadratic surrogate at ``eps``.

    Computes, over scores f of the space and probabilities q of the labels::

        H(eps) = min |f + P L q|^2 / (2 k)  subject to  excess of the risk at f >= eps

    where k is the number of predictions, L[c, y] the cost of c, P the projection on the space, and
    the risk at f is ``(L q)[c]`` of the first c with the largest score. If H is convex, a surrogate
    within H(eps) of its minimum implies a risk within eps of its own.

    Parameters
    ----------
    costs : array-like of shape (n_labels, n_predictions)
        Cost of every prediction (column) for every true label (row), as in `MatrixLoss`; not
        negative. ``loss.matrix(classes)`` gives that of a task loss.
    eps : float or array-like
        Excesses of the risk, not negative.
    score_space : {"loss", "full"} or array-like of shape (n_predictions, r), default="loss"
        "loss" is the span of the columns of the loss, the smallest space in which learning is
        consistent; "full" all scores; a matrix the span of its columns. For the last, the excess is
        over the best prediction that scores of the space can reach.
    bound : {"lower", "upper"} or None, default=None
        Compute a bound, without programs. "lower" is ``eps^2 / (2 k max |P (e_i - e_j)|^2)`` over
        predictions that scores lead to, which is convex; the space must hold the loss. "upper" is
        ``eps^2 / (2 k)``, for all scores and costs that are distances.
    convex : bool, default=False
        Return the largest convex function below every calibration function with the values at
        ``eps``, an increasing vector: between two of them H is at least the value at the first one.
    pairs : list of pairs of int or None, default=None
        Pairs (least risk, largest score) of predictions that are enough by symmetry; None takes
        all.
    return_pair : bool, default=False
        Whether to return the worst case, too; ``eps`` must be one number then.

    Returns
    -------
    value : float or ndarray of the shape of eps
        H(eps), infinite where no probabilities have such an excess.
    pair : namedtuple or None
        With ``return_pair``: the worst case ``(best, chosen, scores, probabilities)``, with the
        predictions of least risk and of largest score; None if there is none.

    See Also
    --------
    calibration_function_closed_form : Formulas for the usual losses, of any size.
    consistency_level : Up to where it is zero.

    Notes
    -----
    A quadratic program for each pair of predictions, exact to about 1e-14: some milliseconds for 32
    labels. Pairs whose lower bound exceeds the best value are left out.

    References
    ----------
    .. [1] A. Osokin, F. Bach, S. Lacoste-Julien, "On structured prediction theory with calibrated
       convex surrogate losses", NIPS 2017: the calibration function, its symmetries and bounds.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.surrogates import calibration_function
    >>> calibration_function(1 - np.eye(3), [0.0, 0.6, 1.0, 1.1]).round(12)
    array([0.        , 0.03      , 0.08333333,        inf])
    >>> round(calibration_function(1 - np.eye(5), 1.0, bound="lower"), 12)
    0.05
    """
    costs, eps = check_costs(costs), check_eps(eps)
    return_pair, convex = check.flag(return_pair, "return_pair"), check.flag(convex, "convex")
    if return_pair and eps.ndim:
        raise ValueError("eps must be one number where return_pair=True")
    if convex and (eps.ndim != 1 or not eps.size or np.any(np.diff(eps) <= 0.0)):
        raise ValueError("eps must be a vector that rises where convex=True")
    if bound is None:
        values, pair = _exact(ScoreSpace(costs, score_space), eps, pairs)
    else:
        check.choice(bound, "bound", {"lower", "upper"}, "None")
        if return_pair:
            raise ValueError("return_pair must be False for a bound: only bound=None has a pair")
        values = _upper(costs, eps) if bound == "upper" else _lower(costs, eps, score_space)
    if convex:
        values = _envelope(eps, np.maximum.accumulate(values))
    return (float(values), pair) if return_pair else _like(values, eps)


def _exact(space, eps, pairs):
    """Values at all excesses, and the worst case of the last one."""
    among = space.predictable()
    pairs = _check_pairs(pairs, among)
    if len(pairs) > MANY**2:
        warn(f"{len(pairs)} pairs of predictions: name those that differ by symmetry in pairs")
    programs = _PairPrograms(space, among)
    found = [_least(programs, pairs, float(e)) for e in eps.ravel()]
    values = np.array([value for value, _ in found]).reshape(eps.shape)
    return values, found[-1][1] if found else None


def _least(programs, pairs, eps):
    space, among = programs.space, programs.among
    scale = space.costs.max()
    if eps == 0.0:
        q = np.full(len(space.costs), 1.0 / len(space.costs))
        best = int(among[np.argmin((q @ space.costs)[among])])
        return 0.0, _Pair(best, best, -space.projected @ q, q)
    bound = np.zeros(len(pairs))
    if space.holds_loss:
        squares = 2.0 * space.costs.shape[1] * space.distances(among)
        bound = np.array([(eps / scale) ** 2 / squares[i, j] for i, j in pairs])
    least, pair = np.inf, None
    for number in np.argsort(bound, kind="stable"):
        if bound[number] >= least * CLOSE:
            break
        i, j = pairs[number]
        value, v, q = programs.solve(i, j, eps / scale)
        if value < least:
            scores = scale * (space.unit @ v) - space.projected @ q
            least, pair = value, _Pair(int(among[i]), int(among[j]), scores, q)
    return least * scale**2, pair


def _lower(costs, eps, score_space):
    space = ScoreSpace(costs, score_space)
    if not space.holds_loss:
        raise ValueError("score_space must hold the loss for bound='lower': take bound=None")
    return eps**2 / (2.0 * costs.shape[1] * space.widest(space.predictable()))


def _upper(costs, eps):
    slack = 1e-9 * costs.max()
    is_distance = (
        costs.shape[0] == costs.shape[1] and not np.any(np.diag(costs))
        and np.allclose(costs, costs.T, rtol=0.0, atol=slack)
        and all(np.all(costs <= c[:, None] + c + slack) for c in costs)
    )  # fmt: skip
    if not is_distance:
        raise ValueError("costs must be distances for bound='upper': take bound=None")
    return np.where(eps <= costs.max() + slack, eps**2 / (2.0 * costs.shape[1]), np.inf)


def _envelope(eps, values):
    """Hull below the points ``(eps[t], values[t - 1])``."""
    below = np.concatenate([[0.0], values[:-1]])
    finite = np.flatnonzero(np.isfinite(below))
    hull = [0]
    while hull[-1] < finite[-1]:  # to the last of the points that the flattest line leads to
        rest = np.arange(hull[-1] + 1, finite[-1] + 1)
        slopes = (below[rest] - below[hull[-1]]) / (eps[rest] - eps[hull[-1]])
        hull.append(int(rest[np.flatnonzero(slopes == slopes.min())[-1]]))
    envelope = np.interp(eps, eps[hull], below[hull])
    envelope[finite[-1] + 1 :] = np.inf
    return envelope


def surrogate_excess(costs, scores, probabilities, *, score_space="loss"):
    """Compute the excess of the quadratic surrogate in a space of scores.

    The surrogate of scores f and a label y is ``|f + L[:, y]|^2 / (2 k)``; over probabilities q its
    mean exceeds the minimum by ``|f + P L q|^2 / (2 k)``, a number for each pair of f and q.

    Parameters
    ----------
    costs : array-like of shape (n_labels, n_predictions)
        Cost of every prediction (column) for every true label (row), not negative.
    scores, probabilities : array-like of shape (n_predictions,) and (n_labels,)
        Scores in the space, and probabilities of the labels; or n rows of these.
    score_space : {"loss", "full"} or array-like of shape (n_predictions, r), default="loss"
        The space, as in `calibration_function`.

    Examples
    --------
    >>> from sklearn_fw.surrogates import surrogate_excess
    >>> surrogate_excess([[0, 1], [1, 0]], [-0.5, -0.5], [0.75, 0.25])
    0.03125
    """
    costs = check_costs(costs)
    space = ScoreSpace(costs, score_space)
    scores, q = check.array(scores, "scores"), check.array(probabilities, "probabilities")
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
    return _like(excess, excess)


def consistency_level(costs, *, score_space="loss"):
    """Compute the largest excess risk of the best scores of a space.

    Zero: learning in this space is consistent. Otherwise even the minimum of the surrogate may have
    such an excess over the best risk that predictions of the space reach, and the calibration
    function is zero up to it. Costs a linear program for each pair of predictions, none where the
    space holds the loss.

    Parameters
    ----------
    costs : array-like of shape (n_labels, n_predictions)
        Cost of every prediction (column) for every true label (row), not negative.
    score_space : {"loss", "full"} or array-like of shape (n_predictions, r), default="loss"
        The space, as in `calibration_function`.

    Examples
    --------
    Scores that are equal within the blocks {0, 1} and {2, 3}, where other labels of the right block
    cost 0.4.

    >>> import numpy as np
    >>> from sklearn_fw.surrogates import consistency_level
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
    programs = _PairPrograms(space, among)
    excesses = (programs.largest_excess(i, j) for i, j in _check_pairs(None, among))
    return float(max([0.0, *excesses]))


def calibration_function_closed_form(
    loss, eps, *, n_labels=None, n_variables=None, block_sizes=None, within=0.0, score_space="loss"
):
    """Compute the calibration function of a common loss by its closed form.

    Parameters
    ----------
    loss : {"zero_one", "block", "mixed", "hamming"}
        Whether a label is wrong; whether its block is; the same, where a wrong label of the right
        block costs ``within``; the fraction of wrong ones among n_variables binary labels.
    eps : float or array-like
        Excesses of the risk, not negative.
    n_labels, n_variables : int or None, default=None
        Number of labels, for "zero_one", and of binary labels, for "hamming".
    block_sizes : array-like of int or None, default=None
        Number of labels of each block, for "block" and "mixed" (there equal, and 2 at least).
    within : float, default=0.0
        Cost of a wrong label of the right block, from 0 to 1, for "mixed".
    score_space : {"loss", "full", "blocks"}, default="loss"
        As in `calibration_function`; "blocks": scores that are equal within blocks, for "mixed".

    References
    ----------
    .. [1] A. Osokin, F. Bach, S. Lacoste-Julien, "On structured prediction theory with calibrated
       convex surrogate losses", NIPS 2017: the propositions on these losses.

    Examples
    --------
    >>> from sklearn_fw.surrogates import calibration_function_closed_form
    >>> round(calibration_function_closed_form("hamming", 0.2, n_variables=1000), 12)
    5e-06
    """
    check.choice(loss, "loss", {"zero_one", "block", "mixed", "hamming"})
    check.choice(score_space, "score_space", {"loss", "full", "blocks"})
    eps = check_eps(eps)
    if score_space == "blocks" and loss in ("zero_one", "hamming"):
        raise ValueError(f"score_space='blocks' is for losses of blocks, not for {loss!r}")
    within = check.fraction(within, "within")
    if within and loss != "mixed":
        raise ValueError(f"within must be 0 for {loss!r}: it is a cost of loss='mixed'")
    if loss == "zero_one":
        value = eps**2 / (4.0 * check.integer(n_labels, "n_labels", 2))
    elif loss == "hamming":
        if score_space == "full":
            raise ValueError("score_space='full' has no formula for 'hamming': take 'loss'")
        value = eps**2 / (8.0 * check.integer(n_variables, "n_variables", 1))
    else:
        value = _of_blocks(loss, eps, _check_sizes(block_sizes), within, score_space)
    value = np.where(eps > 1.0, np.inf, value)
    return _like(value, eps)


def _check_sizes(block_sizes):
    sizes = check.items(block_sizes, "block_sizes", "numbers of labels", least=2)
    sizes = [check.integer(size, "block_sizes", 1) for size in sizes]
    return np.array(sizes, dtype=np.float64)


def _of_blocks(loss, eps, sizes, within, score_space):
    k, b, s = sizes.sum(), len(sizes), sizes[0]
    if loss == "block":
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
    gap = within * (eps + 1.0) * (s - 1.0) * (2.0 * eps - eps * within - within)
    late = eps**2 * s / (2.0 * k * (s + 1.0)) - gap / (4.0 * k * (s + 1.0))
    return np.where(eps * (1.0 - within) <= within, eps**2 / (4.0 * k), late)


def learning_complexity(
    costs, eps, *, score_space="loss", max_norm=1.0, label_norm=1.0, return_constants=False
):
    """Bound the number of examples that averaged SGD needs for an excess of ``eps``.

    It is ``N = 4 D^2 M^2 / H(eps)^2``, where D is the radius of the ball, M the largest norm of a
    stochastic gradient of ``|F W phi(x) + L[:, y]|^2 / (2 k)``, and H a convex lower bound of the
    calibration function.

    Parameters
    ----------
    costs : array-like of shape (n_labels, n_predictions)
        Cost of every prediction (column) for every true label (row), not negative.
    eps : float or array-like
        Excesses of the risk, positive.
    score_space : {"loss", "full"} or array-like of shape (n_predictions, r), default="loss"
        "loss" and "full" have an orthogonal basis F; a matrix is taken as F. Where it does not hold
        the loss, H is the envelope of the calibration function on a grid.
    max_norm, label_norm : float, default=1.0
        R, the largest norm of the features phi(x), and Q, the sum over labels of the norms of their
        probabilities as functions of phi(x).
    return_constants : bool, default=False
        Whether to return the constants of the guarantee, too.

    Returns
    -------
    n_examples : float or ndarray of the shape of eps
        Number of steps, each with a new example; infinite below the consistency level.
    constants : dict
        With ``return_constants``: "L_max", "r" (rank), "kappa" (condition number of F), "R", "Q",
        "D" and "M".

    References
    ----------
    .. [1] A. Osokin, F. Bach, S. Lacoste-Julien, "On structured prediction theory with calibrated
       convex surrogate losses", NIPS 2017: the section on stochastic gradients.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.surrogates import learning_complexity
    >>> f"{learning_complexity(1 - np.eye(3), 0.1):.2e}"
    '1.29e+08'
    """
    costs, eps = check_costs(costs), check_eps(eps, positive=True)
    space = ScoreSpace(costs, score_space)
    basis = space.basis
    if not isinstance(score_space, str):
        basis = check.array(score_space, "score_space")
        if space.rank < basis.shape[1]:
            raise ValueError("score_space must have independent columns: leave out sums of others")
    norms = check.not_negative(max_norm, "max_norm"), check.not_negative(label_norm, "label_norm")
    constants = _constants(costs, np.linalg.svd(basis, compute_uv=False), *norms)
    if space.holds_loss:
        bound = _lower(costs, eps, score_space)
    else:
        grid = np.linspace(0.0, costs.max(), N_GRID)
        envelope = calibration_function(costs, grid, score_space=score_space, convex=True)
        finite = np.isfinite(envelope)
        bound = np.interp(eps, grid[finite], envelope[finite])
    found = steps_needed(constants, bound, eps)
    return (found, constants) if check.flag(return_constants, "return_constants") else found


def _constants(costs, sizes, R, Q):
    """Constants of the guarantee, by the singular values of F."""
    largest, r, root = costs.max(), len(sizes), np.sqrt(costs.shape[1])
    D = np.sqrt(r) * root * largest * Q / sizes[-1]
    M = sizes[0] ** 2 * D * R**2 / root**2 + sizes[0] * largest * R / root
    found = {"L_max": float(largest), "r": r, "kappa": float(sizes[0] / sizes[-1])}
    return {**found, "R": R, "Q": Q, "D": float(D), "M": float(M)}


def steps_needed(constants, bound, eps):
    with np.errstate(divide="ignore"):
        return _like(4.0 * (constants["D"] * constants["M"]) ** 2 / bound**2, eps)


class _PairPrograms:
    """``min |v|^2 / (2 k)`` over v and q where the risk of i is least and the score of j largest.

    Scores are ``f = U v - P_F L q`` with the orthonormal basis U of the space and L of largest
    entry one. In the coordinates ``v / sqrt(k)`` and, times the root of `PROXIMITY`, those of q in
    the simplex, every round of the proximal-point method projects a point onto a polyhedron by
    nonnegative least squares.
    """

    def __init__(self, space, among):
        self.space, self.among = space, among
        L = space.costs.T / space.costs.max()
        self.n_predictions, self.n_labels = k, m = L.shape
        self.to_q = sl.null_space(np.ones((1, m))) / np.sqrt(PROXIMITY)
        projected = space.projected[among] / space.costs.max()
        # Linear functions of a point (v, q), one in a row: their slopes, and values by q at v = 0.
        none = np.zeros((len(among), space.rank))
        self.risk = np.hstack([none, L[among] @ self.to_q, L[among]])
        self.score = np.hstack([np.sqrt(k) * space.unit[among], -projected @ self.to_q, -projected])
        self.simplex = np.hstack([np.zeros((m, space.rank)), -self.to_q, -np.eye(m)])

    def solve(self, i, j, eps):
        """The minimum, v and q; or infinity and None, where no q makes i so much better than j."""
        rows = np.vstack([
            self.risk[i] - self.risk[j],
            np.delete(self.risk[i] - self.risk, [i, j], axis=0),
            np.delete(self.score - self.score[j], j, axis=0),
            self.simplex,
        ])  # fmt: skip
        rank, n = self.space.rank, rows.shape[1] - self.n_labels
        slope, value = np.hsplit(rows, [n])  # of ``slope x + value q <= limit``
        limit = np.zeros(len(rows))
        limit[0] = -eps
        size = np.sqrt(np.sum(slope**2, axis=1))
        used = size > 1e-14
        q = np.full(self.n_labels, 1.0 / self.n_labels)
        if np.any(value[~used] @ q > limit[~used] + 1e-12):
            return np.inf, None, None
        slope, value, limit = slope[used], value[used], limit[used]
        system = np.empty((n + 1, len(slope)))
        system[:n] = -(slope / size[used, None]).T
        target = np.eye(n + 1)[-1]
        best, v = np.inf, None
        for _ in range(N_ROUNDS):
            system[n] = (value @ q - limit) / size[used]
            weights, _ = nnls(system, target, maxiter=50 * len(slope))
            residual = target - system @ weights
            if residual[n] < NO_POINT:
                return np.inf, None, None
            point = -residual[:n] / residual[n]
            v = np.sqrt(self.n_predictions) * point[:rank]
            q = q + self.to_q @ point[rank:]
            before, best = best, float(point[:rank] @ point[:rank]) / 2.0
            if abs(before - best) <= STILL * max(1.0 / self.n_predictions, best):
                break
        q = np.maximum(q, 0.0)
        return (best if best > TINY else 0.0), v, q / q.sum()

    def largest_excess(self, i, j):
        """Largest excess of the risk of j over that of the best, i, with scores ``-P_F L q``."""
        risk, score = self.risk[:, -self.n_labels :], self.score[:, -self.n_labels :]
        # Over probabilities under which i has the least risk, and j the largest score.
        A = np.vstack([risk[i] - risk, score - score[j]])
        one = np.ones((1, self.n_labels))
        found = linprog(risk[i] - risk[j], A, np.zeros(len(A)), one, [1.0])
        return -found.fun * self.space.costs.max() if found.status == 0 else 0.0
