"""Loss sensitivity: how far later losses depend on every training row."""

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch

from .._torch import is_torch_module
from .._validation import (
    check_array_of_numbers,
    check_choice,
    check_flag,
    check_integer,
    check_magnitude,
    check_not_negative,
    check_random_state,
    check_table,
)  # fmt: skip
from ._affine import affine_pull
from ._answers import check_labels
from ._networks import ACTIVATIONS, Network
from ._unroll import DenseProblem, Descent, unroll

__all__ = ["class_loss_sensitivity", "gini_coefficient", "loss_sensitivity"]

METHODS = ("direct", "unrolled")
NORMS = {1: 1, 2: 2, np.inf: np.inf}


def gini_coefficient(g):
    """How unequal numbers are: 0 where all are equal, 1 - 1 / n where all but one are zero.

    With numbers in rising order, ``G = 2 sum_i i g_i / (n sum_i g_i) - (n + 1) / n``, which is half
    of the mean distance of two numbers over their mean.

    Parameters
    ----------
    g : array-like of shape (n,)
        Numbers that are not negative.

    Returns
    -------
    gini : float
        From 0 to 1 - 1 / n; zeros only have 0.

    Raises
    ------
    ValueError
        When numbers are negative.

    See Also
    --------
    loss_sensitivity : What it is taken of here.

    Examples
    --------
    >>> from sklearn_fw.inspection import gini_coefficient
    >>> gini_coefficient([2.0, 2.0, 2.0]), gini_coefficient([0.0, 0.0, 0.0, 5.0])
    (0.0, 0.75)
    """
    g = check_array_of_numbers(g, "g")
    if g.ndim != 1 or not g.size:
        raise ValueError(f"g must be a vector that is not empty, got shape {g.shape}")
    if g.min() < 0.0:
        raise ValueError(f"g must not be negative, got {g.min():g}")
    n, largest = len(g), float(g.max())
    if largest == 0.0:
        return 0.0
    g = np.sort(g / largest)
    ranks = 2.0 * np.arange(1, n + 1) - n - 1
    return float(min(max(ranks @ g / (n * g.sum()), 0.0), 1.0 - 1.0 / n))


def loss_sensitivity(
    estimator, X, y, *, n_steps=200, eval_every=10, norm=1, include_direct=True,
    method="unrolled", learning_rate=None, momentum=None, batch_size=None, random_state=None,
):  # fmt: skip
    """How far the training loss depends on the inputs of each training row, over a run.

    A network is trained anew by ``n_steps`` steps of stochastic gradient descent. After t steps the
    mean loss over all rows, L_t, depends on a row x through every step that used it, and that used
    weights which came of it: ``g_x^t = || dL_t / dx ||`` is the total derivative, computed back
    through all steps, and the sensitivity is its mean over t. Rows that a model learns by heart
    have large ones; on random data nearly all have.

    Parameters
    ----------
    estimator : MLPClassifier, LogisticRegression, Pipeline or torch.nn.Module
        Layers, activation and the settings of the descent; it need not be fitted and is not
        changed. `LogisticRegression` is a network without hidden layers. Of a Pipeline the steps in
        front are fitted to X once and must be affine; derivatives are those by X itself.
    X : array-like of shape (n_samples, n_features)
        Training rows.
    y : array-like of shape (n_samples,)
        Labels; for a module numbers of logits.
    n_steps : int, default=200
        Steps of the descent.
    eval_every : int, default=10
        The loss is taken after so many steps each.
    norm : {1, 2, numpy.inf}, default=1
        Norm of the derivatives.
    include_direct : bool, default=True
        Whether the term of x in the mean loss itself counts.
    method : {"unrolled", "direct"}, default="unrolled"
        "direct" takes that term alone, which is cheap and says nothing of training.
    learning_rate : float, default=None
        None is that of the classifier; logistic regression, which has none, takes the inverse of
        half the mean squared norm of the rows. A module needs a number.
    momentum : float, default=None
        From 0 to below 1; None is that of the classifier (in Nesterov's form where that says so),
        0 for others.
    batch_size : int, default=None
        Rows of one step; None is that of the classifier, or 200 at most.
    random_state : int, RandomState instance or None, default=None
        For the weights at the start and the order of rows.

    Returns
    -------
    result : Bunch
        With ``sensitivity`` of shape (n_samples,), the mean over times; ``per_step`` of shape
        (n_evaluations, n_samples), ``steps``, the times; ``gini`` at each and ``gini_mean``, that
        of the means; ``loss``, the mean training loss at each time.

    Raises
    ------
    ValueError
        When the classifier is trained by another method than plain descent, or the run diverges.
    TypeError
        When the estimator is no network.

    See Also
    --------
    class_loss_sensitivity : The same by classes.
    gini_coefficient : Whether few rows count or all.
    SensitivityDisplay : The picture.

    Notes
    -----
    Products with Hessians are exact. All times are walked back together: ``n_steps`` batched passes
    with up to ``n_steps / eval_every`` directions each. A row that no step used has the direct term
    alone. With ReLU, derivatives are those between kinks. The run diverges when the learning rate
    times the largest curvature exceeds 2; what is not finite is refused, not averaged.

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
    check_choice(method, "method", METHODS)
    order = _check_norm(norm)
    given = (learning_rate, momentum, batch_size)
    run = _Run(estimator, X, y, n_steps, eval_every, given, random_state)
    include_direct = check_flag(include_direct, "include_direct")
    n = len(run.y)
    groups = np.full((1, n), 1.0 / n)
    direct = include_direct or method == "direct"
    per_step = np.array(
        [_norms(d, order)[0] for d in run.derivatives(groups, direct, method == "direct")]
    )
    _check_finite(per_step)
    mean = per_step.mean(axis=0)
    return Bunch(
        sensitivity=mean,
        per_step=per_step,
        steps=run.times,
        gini=np.array([gini_coefficient(row) for row in per_step]),
        gini_mean=gini_coefficient(mean),
        loss=run.losses(),
    )


def class_loss_sensitivity(
    estimator, X, y, *, n_steps=200, eval_every=10, norm=1, include_direct=True,
    learning_rate=None, momentum=None, batch_size=None, random_state=None,
):  # fmt: skip
    """How far the loss of each class depends on the training rows of each class.

    Entry (i, j) is the mean over rows x of class j, and over times t, of ``|| dL_t(i) / dx ||``,
    where L_t(i) keeps the terms of rows of class i in the mean training loss.

    Parameters
    ----------
    estimator : MLPClassifier, LogisticRegression, Pipeline or torch.nn.Module
        As `loss_sensitivity` takes it.
    X : array-like of shape (n_samples, n_features)
        Training rows.
    y : array-like of shape (n_samples,)
        Labels.
    n_steps : int, default=200
        Steps of the descent.
    eval_every : int, default=10
        The loss is taken after so many steps each.
    norm : {1, 2, numpy.inf}, default=1
        Norm of the derivatives.
    include_direct : bool, default=True
        Whether the term of x in the loss itself counts; it does on the diagonal alone.
    learning_rate : float, default=None
        None is that of the classifier.
    momentum : float, default=None
        None is that of the classifier.
    batch_size : int, default=None
        None is that of the classifier.
    random_state : int, RandomState instance or None, default=None
        For the weights at the start and the order of rows.

    Returns
    -------
    result : Bunch
        With ``matrix`` of shape (n_classes, n_classes), ``classes`` and ``steps``.

    Raises
    ------
    ValueError
        When the classifier is trained by another method than plain descent, or the run diverges.
    TypeError
        When the estimator is no network.

    See Also
    --------
    loss_sensitivity : The same for all classes at once.

    References
    ----------
    D. Arpit et al., A closer look at memorization in deep networks, ICML 2017: section 3.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neural_network import MLPClassifier
    >>> from sklearn_fw.inspection import class_loss_sensitivity
    >>> X, y = load_iris(return_X_y=True)
    >>> model = MLPClassifier((8,), solver="sgd", learning_rate_init=0.01)
    >>> class_loss_sensitivity(model, X, y, n_steps=20, random_state=0).matrix.shape
    (3, 3)
    """
    order = _check_norm(norm)
    given = (learning_rate, momentum, batch_size)
    run = _Run(estimator, X, y, n_steps, eval_every, given, random_state)
    include_direct = check_flag(include_direct, "include_direct")
    n, n_classes = len(run.y), len(run.classes)
    groups = (run.y == np.arange(n_classes)[:, None]) / n
    matrix = np.zeros((n_classes, n_classes))
    for derivative in run.derivatives(groups, include_direct, False):
        g = _norms(derivative, order)
        _check_finite(g)
        for j in range(n_classes):
            matrix[:, j] += g[:, run.y == j].mean(axis=1)
    return Bunch(matrix=matrix / len(run.times), classes=run.classes, steps=run.times)


def _check_norm(norm):
    if isinstance(norm, bool) or not isinstance(norm, int | float | np.number) or norm not in NORMS:
        raise ValueError(f"norm must be 1, 2 or numpy.inf, got {norm!r:.60}")
    return NORMS[norm]


def _norms(derivatives, order):
    """Norms for each group and row."""
    flat = derivatives.reshape(*derivatives.shape[:2], -1)
    return np.linalg.norm(flat, ord=order, axis=2)


def _check_finite(values):
    bad = ~np.isfinite(values)
    if bad.any():
        raise ValueError(
            f"learning_rate is too large: {int(bad.sum())} of {values.size} sensitivities are not "
            "finite, because the run diverges"
        )


class _Run:
    """A run of descent and the derivatives through it."""

    def __init__(self, estimator, X, y, n_steps, eval_every, given, random_state):
        n_steps = check_integer(n_steps, "n_steps", 1)
        eval_every = check_integer(eval_every, "eval_every", 1)
        if eval_every > n_steps:
            raise ValueError(f"eval_every={eval_every} is larger than n_steps={n_steps}")
        is_module = is_torch_module(estimator)
        X = check_table(X, dtype=np.float64, allow_nd=is_module)
        check_magnitude(X, "X")
        self.classes, self.y = check_labels(y, len(X))
        rng = check_random_state(random_state)
        self.pulls, X, last = _in_front(estimator, X, y)
        self.problem, defaults = problem_of(last, X, self.y, self.classes)
        rate, momentum, nesterov, size = _settings(given, defaults, len(X))
        self.times = np.arange(eval_every, n_steps + 1, eval_every)
        self.descent = Descent(rate, momentum, nesterov, _batches(len(X), size, n_steps, rng))
        with np.errstate(over="ignore", invalid="ignore"):
            self.path = self.descent.run(self.problem, self.problem.initial(rng))
        if not np.all(np.isfinite(self.path[-1])):
            raise ValueError(f"learning_rate={rate:g} is too large: the run diverges")

    def losses(self):
        """Mean training losses at the times."""
        return np.array([self.problem.loss(self.path[t]).mean() for t in self.times])

    def derivatives(self, groups, direct, alone):
        """Derivatives by the inputs at each time, `(n_groups, n, ...)`."""
        with np.errstate(over="ignore", invalid="ignore"):
            if alone:
                everything = np.arange(len(self.y))
                found = (
                    np.array(
                        [self.problem.gradient(self.path[t], everything, w)[1] for w in groups]
                    )
                    for t in self.times
                )
            else:
                walk = unroll(
                    self.problem, self.descent, self.path, self.times, groups, direct=direct
                )
                found = (derivative for _, derivative in walk)
            for derivative in found:
                yield self._back(derivative)

    def _back(self, derivative):
        for pull in reversed(self.pulls):
            flat = derivative.reshape(-1, derivative.shape[-1])
            back = np.asarray(pull(flat))
            derivative = back.reshape(*derivative.shape[:-1], back.shape[-1])
        return derivative


def _in_front(estimator, X, y):
    """Gradients through fitted steps before the network, the rows behind them, and the network."""
    if not isinstance(estimator, Pipeline):
        return [], X, estimator
    pulls = []
    for name, step in estimator.steps[:-1]:
        if step is None or step == "passthrough":
            continue
        step = clone(step)
        after = np.asarray(step.fit(X, y).transform(X), dtype=np.float64)
        pull = affine_pull(step, X, X + X.std(axis=0))
        if pull is None:
            raise ValueError(
                f"estimator: the step {name!r} is not affine in X, so that there are no "
                "derivatives through it"
            )
        pulls.append(pull)
        X = after
    return pulls, X, estimator.steps[-1][1]


def problem_of(estimator, X, y, classes):
    """What is trained, and the settings ``(rate, momentum, nesterov, batch size)`` for None."""
    n, d = X.shape[0], X[0].size
    if is_torch_module(estimator):
        from ._torch_problem import TorchProblem

        return TorchProblem(estimator, X, classes[y]), (None, 0.0, False, min(200, n))
    if isinstance(estimator, MLPClassifier):
        if estimator.solver != "sgd":
            raise ValueError(
                f"estimator has solver={estimator.solver!r}: steps of plain descent are needed, "
                "MLPClassifier(solver='sgd')"
            )
        check_choice(estimator.activation, "activation", ACTIVATIONS)
        hidden = np.atleast_1d(estimator.hidden_layer_sizes).tolist()
        hidden = [check_integer(size, "hidden_layer_sizes", 1) for size in hidden]
        network = Network([d, *hidden, len(classes)], estimator.activation)
        alpha = check_not_negative(estimator.alpha, "alpha")
        size = estimator.batch_size
        size = min(200, n) if size == "auto" else check_integer(size, "batch_size", 1)
        settings = (
            estimator.learning_rate_init, estimator.momentum, bool(estimator.nesterovs_momentum),
            size,
        )  # fmt: skip
        return DenseProblem(network, X, y, alpha), settings
    if isinstance(estimator, LogisticRegression):
        network = Network([d, len(classes)], "identity")
        size = float((X**2).sum(axis=1).mean()) + 1.0
        return DenseProblem(network, X, y), (2.0 / size, 0.0, False, min(200, n))
    raise TypeError(
        f"estimator must be an MLPClassifier, a LogisticRegression, a Pipeline that ends in one, "
        f"or a torch.nn.Module, got {estimator!r:.60}"
    )


def _settings(given, defaults, n):
    rate, momentum, size = given
    nesterov = defaults[2] and momentum is None
    rate = defaults[0] if rate is None else rate
    if rate is None:
        raise ValueError("learning_rate is needed for a torch.nn.Module, such as 0.01")
    rate = check_not_negative(rate, "learning_rate")
    momentum = check_not_negative(defaults[1] if momentum is None else momentum, "momentum")
    if momentum >= 1.0:
        raise ValueError(f"momentum must be below 1, got {momentum:g}")
    size = defaults[3] if size is None else check_integer(size, "batch_size", 1)
    return rate, momentum, nesterov, min(size, n)


def _batches(n, size, n_steps, rng):
    """Rows of each step: all rows in a new order in every epoch."""
    found = []
    while len(found) < n_steps:
        order = rng.permutation(n)
        found += [order[a : a + size] for a in range(0, n, size)]
    return found[:n_steps]
