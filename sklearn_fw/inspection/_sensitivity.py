"""Loss sensitivity: how far later losses depend on every training row."""

from numbers import Real

import numpy as np
from sklearn.utils import Bunch

from .._core import check
from ._descent import Influence, Run


def gini_coefficient(g):
    """How unequal numbers from 0 are: 0 where all are equal, 1 - 1 / n where all but one are 0.

    Half of the mean distance of two numbers over their mean: with numbers in rising order,
    ``G = 2 sum_i i g_i / (n sum_i g_i) - (n + 1) / n``.
    """
    n, largest = len(g), float(g.max())
    if largest == 0.0:
        return 0.0
    g = np.sort(g / largest)
    ranks = 2.0 * np.arange(1, n + 1) - n - 1
    return float(min(max(ranks @ g / (n * g.sum()), 0.0), 1.0 - 1.0 / n))


def loss_sensitivity(
    estimator, X, y, *, n_steps=200, eval_every=10, norm=1, include_direct=True,
    method="unrolled", by_class=False, learning_rate=None, momentum=None, batch_size=None,
    damping=None, random_state=None,
):  # fmt: skip
    """Compute the sensitivity of the training loss to the inputs of each training row.

    A network is trained again by ``n_steps`` steps of stochastic gradient descent. After t steps
    the mean loss over all rows, L_t, depends on a row x through all steps: ``g_x^t = || dL_t / dx
    ||`` is the total derivative, and the sensitivity is its mean over t. Memorized rows have large
    ones. With ``method="influence"`` the estimator is fitted already, and L is its loss at the
    minimum of its training objective, which moves with x.

    Parameters
    ----------
    estimator : estimator or torch.nn.Module
        `MLPClassifier`, `MLPRegressor`, `LogisticRegression`, `LinearRegression`, `Ridge` or a
        Pipeline that ends in one: layers, activation and the settings of the descent; it need not
        be fitted, except for "influence", which also takes other linear regressors. Linear models
        are networks without hidden layers; losses of regressors are half the squared residuals.
        Steps of a Pipeline are fitted to X once and must be affine; derivatives are those by X
        itself. Of a fitted search over parameters it is the model that was found.
    X, y : array-like of shape (n_samples, n_features), and of shape (n_samples,)
        Training rows, for "influence" those that the estimator was fitted to, and targets, for a
        module numbers of logits.
    n_steps, eval_every : int, default=200 and 10
        Steps of the descent, and between evaluations of the loss; not for "influence".
    norm : {1, 2, numpy.inf}, default=1
        Norm of the derivatives.
    include_direct : bool, default=True
        Whether the term of x in the mean loss itself counts; "direct" needs it.
    method : {"unrolled", "influence", "direct"}, default="unrolled"
        "influence" solves one linear system in place of a run; "direct" is the term of x itself.
    by_class : bool, default=False
        Whether to return a matrix: entry (i, j) is the mean over rows x of class j, and over t, of
        ``|| dL_t(i) / dx ||``, where L_t(i) keeps the terms of rows of class i in the mean loss.
    learning_rate : float, default=None
        None is that of the network, for logistic regression the inverse of half the mean squared
        norm of the rows, half of that for least squares. A module needs a number.
    momentum : float, default=None
        From 0 to below 1; None is that of the network, with its form, and 0 for others.
    batch_size : int, default=None
        Rows of one step; None is that of the network, or 200 at most.
    damping : float, default=None
        For "influence": number added to the diagonal of the Hessian. None is 0 for linear models
        and 0.01 for networks. For a module it is the weight decay.
    random_state : int, RandomState instance or None, default=None
        For the weights at the start and the order of rows.

    Returns
    -------
    result : Bunch
        With ``sensitivity`` of shape (n_samples,), the mean over times; ``per_step`` of shape
        (n_evaluations, n_samples), ``steps``, the times; ``gini`` at each and ``gini_mean``, that
        of the means; ``loss``, the mean training loss at each time. "influence" has one time, 0.
        By class, with ``matrix`` of shape (n_classes, n_classes), ``classes`` and ``steps``.

    Warns
    -----
    ConvergenceWarning
        When "influence" is not at a minimum, or its linear system is not solved.

    Notes
    -----
    More than 13 parameters: those of the run, of the measure and of the linear system.

    Products with Hessians are exact. Cost: ``n_steps`` batched passes with up to ``n_steps /
    eval_every`` directions each. With ReLU, derivatives are those between kinks.

    For "influence" let theta minimize the mean loss L and a penalty, with Hessian H of the sum.
    Then ``dL/dx = -(1/n) (d/dx) <a, grad l(theta, x)>`` with ``H a = grad L``, plus the term of x
    in L, which alone is left without a penalty, except by class. The penalty is that of the
    estimator, for networks of scikit-learn ``alpha`` over the size of their batches, for linear
    regressors that with which the slope is zero; modules have none but damping. Conjugate gradients
    solve the system, with one pass over all rows for each iteration, and stop at a direction of
    negative curvature: a larger damping is the remedy.

    References
    ----------
    D. Arpit et al., A closer look at memorization in deep networks, ICML 2017: section 3.2.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.neural_network import MLPClassifier
    >>> from sklearn_fw.inspection import loss_sensitivity
    >>> X, y = load_digits(return_X_y=True)
    >>> model = MLPClassifier((16,), solver="sgd", learning_rate_init=0.01)
    >>> result = loss_sensitivity(model, X[:200] / 16, y[:200], n_steps=20, random_state=0)
    >>> result.sensitivity.shape, result.steps.tolist()
    ((200,), [10, 20])
    """
    check.choice(method, "method", ("direct", "influence", "unrolled"))
    if isinstance(norm, bool) or not isinstance(norm, Real) or norm not in (1, 2, np.inf):
        raise ValueError(f"norm must be 1, 2 or numpy.inf, got {norm!r:.60}")
    include_direct = check.flag(include_direct, "include_direct")
    by_class = check.flag(by_class, "by_class")
    if method == "direct" and not include_direct:
        raise ValueError("method='direct' is the direct term alone: take include_direct=True")
    given = (learning_rate, momentum, batch_size)
    run = _source(method, estimator, X, y, n_steps, eval_every, given, damping, random_state)
    if by_class and run.classes is None:
        raise ValueError("by_class=True needs classes, which a regressor has not: take False")
    n, codes = len(run.y), np.arange(len(run.classes) if by_class else 0)
    groups = (run.y == codes[:, None]) / n if by_class else np.full((1, n), 1.0 / n)
    if method == "direct":
        found = run.direct_terms(groups)
    else:
        found = run.derivatives(groups, include_direct)
    # Norms by time, group and row.
    found = (by_row.reshape(*by_row.shape[:2], -1) for by_row in found)
    norms = np.array([np.linalg.norm(by_row, ord=norm, axis=2) for by_row in found])
    bad = ~np.isfinite(norms)
    if bad.any():
        raise ValueError(f"{bad.sum()} of {bad.size} values are not finite: lower learning_rate")
    mean = norms.mean(axis=0)
    if by_class:
        matrix = np.column_stack([mean[:, run.y == k].mean(axis=1) for k in codes])
        return Bunch(matrix=matrix, classes=run.classes, steps=run.times)
    return Bunch(
        sensitivity=mean[0], per_step=norms[:, 0], steps=run.times, loss=run.losses(),
        gini=np.array([gini_coefficient(row) for row in norms[:, 0]]),
        gini_mean=gini_coefficient(mean[0]),
    )  # fmt: skip


def _source(method, estimator, X, y, n_steps, eval_every, given, damping, random_state):
    """A run of descent, or the minimum of a fitted estimator; either has derivatives."""
    if method != "influence":
        if damping is not None:
            raise ValueError(f"damping is for method='influence', not for {method!r}")
        return Run(estimator, X, y, n_steps, eval_every, given, random_state)
    for name, value in zip(("learning_rate", "momentum", "batch_size"), given):
        if value is not None:
            raise ValueError(f"{name} is for runs of descent, of which method='influence' has none")
    return Influence(estimator, X, y, damping)
