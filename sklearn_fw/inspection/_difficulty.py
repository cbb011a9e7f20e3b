"""Difficulty of rows: which are learned early, and which targets contradict the others."""

import numpy as np
from scipy.stats import chi2
from sklearn.utils import Bunch
from sklearn.utils.parallel import delayed

from .._core import check
from .._core.threads import parallel
from .._core.warnings import warn
from . import _estimators as models

# A pilot run ends after this many epochs, or when this many did not make it better.
MOST_EPOCHS = 200
PATIENCE = 10
LEAST_GAIN = 0.005
# With fewer wrong training rows than this, hardly a row is left to be called hard.
LEAST_ERROR = 0.02
PILOTS = 3


def example_difficulty(
    estimator, X, y, *, n_runs=50, n_epochs="auto", method="auto", n_jobs=None, random_state=None
):
    """Compute the difficulty of rows: the fraction of models that misclassify them.

    Rows that most models misclassify after short training are hard, or their label is wrong: the
    ``score`` ranks labels by how much the data contradict them. For regressors, errors are
    residuals of more than 3 robust standard deviations.

    Parameters
    ----------
    estimator : classifier or regressor
        Cloned for every run with other random states. Pipelines are fine.
    X, y : array-like or sparse of shape (n_samples, n_features), and of shape (n_samples,)
        Rows and their labels or numeric targets, some of which may be wrong.
    n_runs : int, default=50
        Fresh models.
    n_epochs : int or "auto", default="auto"
        Epochs of each; 1 in the paper. "auto" takes the number after which pilot runs on 80 % of
        the rows are best on the others, or have less than 2 % of their own rows wrong (of the
        variance of the targets, for regressors). Only "early" uses it.
    method : {"auto", "early", "held_out", "leave_one_out"}, default="auto"
        "early" trains on all rows for ``n_epochs`` and needs ``partial_fit``. "held_out" fits any
        estimator to random halves and evaluates the other halves. "leave_one_out" evaluates each
        row by a fit to all others, in closed form, for linear least squares with or without an l2
        penalty. "auto" is "leave_one_out" where that holds, for dense X, else "early" where there
        are a ``partial_fit`` and a random state.
    n_jobs : int or None, default=None
        Parallel runs, through joblib.
    random_state : int, RandomState instance or None, default=None
        For the seeds of models and for splits.

    Returns
    -------
    result : Bunch
        With ``error_rate`` of shape (n_samples,), the fraction of runs that misclassify a row;
        ``score`` (n_samples,), the mean of one minus the probability of its label (the error rate
        without probabilities), for regressors of the absolute residual in robust standard
        deviations; ``reference`` (n_samples,), sorted draws of the binomial fraction of equally
        hard rows; ``dispersion``, the variance of the error rates over that of the binomial;
        ``p_value`` of such a dispersion by chance; ``n_epochs`` and ``method``. With
        "leave_one_out" also ``residual`` (n_samples,), each target minus its prediction without the
        row, and ``leverage`` (n_samples,), derivatives of the predictions by their own targets;
        None with other methods.

    Warns
    -----
    UserWarning
        When runs do not differ.

    Notes
    -----
    Error rates of "held_out" are those of ``n_runs // 2`` models each. The p-value takes n times
    the dispersion for chi-square with n - 1 degrees of freedom.

    "leave_one_out" makes one run, with one singular value decomposition of X. It does not fit steps
    in front in a Pipeline again, nor choose the penalty, whose factor to the sum of the squares
    stays. Residuals have variances inverse to ``1 - leverage``; the score makes them equal.

    References
    ----------
    D. Arpit et al., A closer look at memorization in deep networks, ICML 2017: section 3.1.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_fw.inspection import corrupt_labels, example_difficulty
    >>> X, y = load_iris(return_X_y=True)
    >>> noisy = corrupt_labels(y, 0.1, mode="different", random_state=0)
    >>> model = LogisticRegression(max_iter=500)
    >>> result = example_difficulty(model, X, noisy.y, n_runs=20, random_state=0)
    >>> suspects = result.score.argsort()[-15:]
    >>> bool(noisy.mask[suspects].sum() >= 10)
    True
    """
    estimator = models.check_template(estimator, X)
    X = models.check_rows(X, accept_sparse="csr")
    y, classes = models.check_targets(estimator, y, X.shape[0])
    n_runs = check.integer(n_runs, "n_runs", 2)
    check.choice(method, "method", ("auto", "early", "held_out", "leave_one_out"))
    rng = check.random_state(random_state)
    problem = (estimator, X, y, classes)
    left_out = _left_out(problem, method, rng)
    if left_out is not None:
        residual, leverage = left_out
        graded = models.graded(residual * np.sqrt(1.0 - leverage))  # of equal variance
        return _summary(problem, [graded], "leave_one_out", None, rng, residual, leverage)
    early = method == "early"
    if method == "auto":
        early = models.has_epochs(estimator) and bool(models.random_states(estimator))
    if early and not models.has_epochs(estimator):
        raise ValueError(
            f"method='early' needs partial_fit, which {type(estimator).__name__} does not have: "
            "take 'held_out'"
        )
    n_epochs = _epochs_for(problem, n_epochs, rng, early)
    seeds = rng.randint(2**31, size=n_runs if early else (n_runs + 1) // 2)
    run = _early if early else _halves
    parts = parallel(n_jobs)(delayed(run)(problem, n_epochs, int(seed)) for seed in seeds)
    method = "early" if early else "held_out"
    return _summary(problem, parts, method, n_epochs, rng)


def _left_out(problem, method, rng):
    """`left_out` of a fit to all rows; None where another method is to be taken."""
    estimator, X, y, classes = problem
    found, is_wanted = None, method == "leave_one_out"
    is_costly = hasattr(models.last_of(estimator), "hidden_layer_sizes")
    if classes is None and (is_wanted or (method == "auto" and not is_costly)):
        run = models.Epochs(estimator, X, y, None, rng)
        run.fit()
        found = models.left_out(run.model, X, y)
    if found is None and is_wanted:
        raise ValueError(
            "method='leave_one_out' needs a linear regressor at the minimum of squares and an l2 "
            "penalty, dense X, and no row that is fitted whatever its target: take 'held_out'"
        )
    return found


def _summary(problem, parts, method, n_epochs, rng, residual=None, leverage=None):
    wrong, scores = np.moveaxis(np.array(parts, dtype=np.float64), 1, 0)
    rate = wrong.mean(axis=0)
    m, n, p = len(wrong), rate.size, float(rate.mean())
    is_same = problem[-1] is not None and np.all(wrong == wrong[0])
    if method == "early" and is_same and 0.0 < p < 1.0:
        warn(
            f"all {m} runs misclassify the same rows: the estimator has no random state, or "
            "n_epochs is too large for it to matter; take method='held_out'"
        )
    variance = p * (1.0 - p) / m
    dispersion = float(((rate - p) ** 2).sum() / (n * variance)) if variance > 0.0 else 0.0
    return Bunch(
        error_rate=rate, score=scores.mean(axis=0),
        reference=np.sort(rng.binomial(m, p, size=n) / m), dispersion=dispersion,
        p_value=float(chi2.sf(n * dispersion, n - 1)), n_epochs=n_epochs,
        method=method, residual=residual, leverage=leverage,
    )  # fmt: skip


def _early(problem, n_epochs, seed):
    estimator, X, y, classes = problem
    run = models.Epochs(estimator, X, y, classes, np.random.RandomState(seed))
    for _ in range(n_epochs):
        run.step()
    return models.misfits(run.model, X, y)


def _halves(problem, n_epochs, seed):
    """Two runs on complementary halves, each evaluated on the other."""
    estimator, X, y, classes = problem
    rng = np.random.RandomState(seed)
    wrong, score = np.zeros(len(y), dtype=bool), np.zeros(len(y))
    for train, test in _balanced_halves(y, classes, rng):
        run = models.Epochs(estimator, X[train], y[train], classes, rng)
        run.fit()
        wrong[test], score[test] = models.misfits(run.model, X[test], y[test])
    return wrong, score


def _balanced_halves(y, classes, rng):
    """Random halves with equal shares of the classes, and no class without rows if possible."""
    order = rng.permutation(len(y))
    if classes is not None:
        order = order[np.argsort(y[order], kind="stable")]
    first = np.zeros(len(y), dtype=bool)
    first[order[::2]] = True
    halves = np.flatnonzero(first), np.flatnonzero(~first)
    if any(len(np.unique(y[half])) < 2 for half in halves):
        raise ValueError(f"y has {len(y)} labels, too few for two halves: take method='early'")
    return [halves, halves[::-1]]


def _epochs_for(problem, n_epochs, rng, early):
    """The number given, or the one after which pilot runs generalize best; None for halves."""
    check.auto_or(check.at_least(1), "an integer")(n_epochs, "n_epochs")
    if not early:
        return None
    if not isinstance(n_epochs, str):
        return int(n_epochs)
    estimator, X, y, classes = problem
    n = len(y)
    if n < 5:
        return 1
    runs = []
    for _ in range(PILOTS):
        order = rng.permutation(n)
        test, train = order[: n // 5], order[n // 5 :]
        runs.append((models.Epochs(estimator, X[train], y[train], classes, rng), train, test))
    best, at = np.inf, 1
    for epoch in range(1, MOST_EPOCHS + 1):
        losses, errors = [], []
        for run, train, test in runs:
            run.step()
            errors.append(1.0 - models.accuracy(run.model, X[train], y[train]))
            # Not the log loss, which single wrong labels dominate.
            losses.append(1.0 - models.accuracy(run.model, X[test], y[test]))
        if np.mean(losses) < best - LEAST_GAIN:
            best, at = np.mean(losses), epoch
        if np.mean(errors) < LEAST_ERROR or epoch >= at + PATIENCE:
            break
    return at
