"""What theory says of asynchronous SAGA: steps for threads that overlap."""

from numbers import Real

import numpy as np

from ..._core.validation import check_flag, check_moderate, check_number
from ..._core.warnings import warn


def overlap_step(overlap, sparsity, kappa=np.inf, *, composite=False):
    """Longest step for which asynchronous SAGA is proven to converge linearly.

    Choose it to see what a number of threads costs in theory, or as ``a / L`` for ``step_size`` of
    `Asaga`, whose ``step_size="theory"`` takes it.

    Parameters
    ----------
    overlap : float
        tau, the largest number of steps that overlap with one: with p threads of equal speed about
        p - 1, with uneven ones as many more as the slowest takes longer than the fastest.
    sparsity : float
        Delta, the share of the rows that touch the column (or group of columns) that most of them
        touch; 1 with an intercept.
    kappa : float, default=inf
        L / mu, where every term of the mean loss is L-smooth and the mean mu-strongly convex; any
        lower bound on it is safe.
    composite : bool, default=False
        Whether there is a penalty that steps handle by its prox, as all of `AsagaClassifier` are.

    Returns
    -------
    a : float
        The step size in units of 1 / L.
    covered : bool
        Whether a theorem holds for such an overlap: less than a tenth of the rows without a
        penalty, which depends on their number and is not checked here; at most
        ``0.1 / sqrt(sparsity)`` with one.

    See Also
    --------
    simulate_async : Delays of any length on one thread.
    memorization_step : The same for methods on one thread that refresh many memories per step.

    Notes
    -----
    Without a penalty ``a = 1 / (32 (1 + tau sqrt(Delta)) xi)`` with
    ``xi = sqrt(1 + min(1 / sqrt(Delta), tau) / (8 kappa))`` [1]_. With one, also
    ``a <= min(1, 6 kappa / tau) / 36`` [2]_; there the first bound is not part of the theorem and
    is kept, so that steps shrink where no theorem covers the overlap. The rate of both is
    ``min(1 / n, a / kappa) / 5`` per step.

    References
    ----------
    .. [1] R. Leblond, F. Pedregosa, S. Lacoste-Julien, "ASAGA: Asynchronous Parallel SAGA",
       AISTATS 2017: Theorem 2.
    .. [2] F. Pedregosa, R. Leblond, S. Lacoste-Julien, "Breaking the Nonsmooth Barrier: A Scalable
       Parallel Method for Composite Optimization", NIPS 2017: Theorem 2.

    Examples
    --------
    >>> from sklearn_fw.optim import overlap_step
    >>> a, covered = overlap_step(40, 0.0001)
    >>> round(1 / a, 1)
    44.8
    """
    overlap = check_moderate(overlap, "overlap")
    sparsity = check_number(sparsity, "sparsity")
    if not 0.0 < sparsity <= 1.0:
        raise ValueError(f"sparsity must be in (0, 1], got {sparsity}")
    is_endless = isinstance(kappa, Real) and kappa == np.inf
    kappa = np.inf if is_endless else check_number(kappa, "kappa")
    if not kappa >= 1.0:
        raise ValueError(f"kappa must be at least 1, got {kappa}")
    composite = check_flag(composite, "composite")
    root = np.sqrt(sparsity)
    xi = np.sqrt(1.0 + min(1.0 / root, overlap) / (8.0 * kappa))
    a = 1.0 / (32.0 * (1.0 + overlap * root) * xi)
    if not composite:
        return float(a), True
    longest = 1.0 if overlap == 0.0 else min(1.0, 6.0 * kappa / overlap)
    return float(min(a, longest / 36.0)), bool(overlap <= 0.1 / root)


def proven_share(engine, overlap):
    """The share of 1 / L for which linear convergence is proven with so many steps at once.

    The smallest curvature is at most the mean one, hence kappa at least the number of columns.
    """
    if not overlap:
        return 0.2
    kappa = max(np.count_nonzero(engine.counts()), 1)
    composite = not _is_none(engine.problem.penalty)
    share, covered = overlap_step(overlap, engine.sparsity, kappa, composite=composite)
    most = 0.1 * engine.n_rows
    if composite:
        most = min(most, 0.1 / np.sqrt(engine.sparsity))
    if not covered or overlap >= most:
        warn(
            f"no theorem covers overlap={overlap} on these rows, where {most:.3g} steps may "
            f"overlap at most; steps of {share:.3g} / L shrink with it all the same. What helps: "
            f"fewer threads, columns that fewer rows touch, or no intercept",
            UserWarning,
        )
    return share


def _is_none(penalty):
    """Whether nothing is left of a penalty."""
    if not penalty.separable or penalty.l1 != 0.0 or penalty.l2 != 0.0:
        return False
    return bool(np.all(np.isneginf(penalty.lower)) and np.all(np.isposinf(penalty.upper)))
