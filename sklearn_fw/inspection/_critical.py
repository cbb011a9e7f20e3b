"""Critical samples: rows close to which the predicted class changes."""

import numpy as np
from scipy.stats import binomtest
from sklearn.utils import Bunch

from .._core.validation import check_choice
from ._answers import check_classifier, check_inputs, labels_by
from ._judges import find_judge
from ._scale import check_radius
from ._search import OBJECTIVES, Box, search


def langevin_adversarial_search(
    estimator, X, *, radius, step=None, noise=None, max_iter=50, objective="loss", n_restarts=1,
    gradient="auto", feature_range=None, random_state=None,
):  # fmt: skip
    """Search boxes around rows for points that the classifier puts into another class.

    For every row x a point of the box ``|x' - x| <= radius`` is sought of which ``predict`` says
    something else than of x; true labels play no part. Steps are ``step * sign(G) + noise * eta``
    with standard normal eta for every entry, and G the gradient away from the predicted class,
    clipped to the box; a row is done when its label changes.

    Parameters
    ----------
    estimator : estimator or torch.nn.Module
        A fitted classifier with ``predict``, a Pipeline that ends in one, a search over parameters,
        or a module that gives logits. Gradients are known for linear models, `MLPClassifier`,
        modules, objects with ``input_gradient(X, target)`` of their own (a direction that raises
        the loss of the target), and for these behind steps that are affine, such as scalers and
        PCA.
    X : array-like of shape (n_samples, n_features)
        Rows; for a module they may have more axes.
    radius : float or array-like of shape (n_features,)
        Half of the width of the box, in the units of X (for a Pipeline before its scaler). One
        number for features that share a unit; otherwise see `feature_radius`.
    step : float or array-like of shape (n_features,), default=None
        Length of steps along the signs of the gradient; None is 0.25 / 0.3 of the radius.
    noise : float or array-like of shape (n_features,), default=None
        Standard deviation of the noise; None is 0.2 / 0.3 of the radius.
    max_iter : int, default=50
        Steps per row and start.
    objective : {"loss", "margin"}, default="loss"
        What is ascended: the cross-entropy of the predicted class, or the best other score minus
        the own.
    n_restarts : int, default=1
        Starts: the first at the row, others at random points of the box.
    gradient : {"auto", "analytic", "numeric", "search"}, default="auto"
        Where directions come from. "analytic" insists on known gradients; "numeric" takes central
        differences of scores, two evaluations per feature; "search" does without, see Notes. "auto"
        is "analytic" where gradients are known, else "search".
    feature_range : tuple of two floats or arrays, default=None
        Values that features may take, such as (0, 255); None sets no limit.
    random_state : int, RandomState instance or None, default=None
        For the noise and the starts.

    Returns
    -------
    result : Bunch
        With ``found`` of shape (n_samples,), ``X_adversarial`` of the shape of X, NaN where nothing
        was found, ``n_iter`` (n_samples,), and ``gradient``, the source of directions: "linear",
        "network", "torch", "own", "numeric" or "search".

    Warns
    -----
    UserWarning
        When the radius is far below the scale of all features, or fits some of them only.

    See Also
    --------
    critical_sample_ratio : The share of rows for which something is found.
    exact_critical_samples_linear : The exact answer for linear models.

    Notes
    -----
    What is not found may be there: the search gives a lower bound. Paper values are radius 0.3,
    step 0.25 and noise 0.2 of 255 grey levels. The step is close to the radius, so two steps fill
    the box. The gradient is taken at the current point, which the algorithm in the paper does not
    say; and before its steps come up to three looks into the corners of the box, towards the best
    other classes, without which noise hides some rows of linear models. Cost: ``max_iter``
    gradients of the rows that are not done.

    The search without gradients [ours] looks into corners of the box: those to which linear models
    point that are fitted to the scores and to the labels of at most 2,000 of the rows, those
    towards the nearest rows with other labels, and random ones. With scores every row has a slope
    of its own, which learns from each look. It profits from many rows, and from scores: with
    300 rows of digits and of breast cancer it found 80 to 100 % of what the gradients of linear
    models and networks find, with labels alone 59 to 95 %. Cost: ``max_iter`` predictions of the
    rows that are not done.

    References
    ----------
    D. Arpit et al., A closer look at memorization in deep networks, ICML 2017: section 4.1,
    algorithm 1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_fw.inspection import langevin_adversarial_search
    >>> X, y = load_digits(return_X_y=True)
    >>> model = LogisticRegression(max_iter=50, tol=1e-2).fit(X[:500], y[:500])
    >>> result = langevin_adversarial_search(model, X[500:600], radius=1.0, random_state=0)
    >>> bool((model.predict(result.X_adversarial[result.found]) != y[500:600][result.found]).any())
    True
    """
    box = Box(estimator, X, radius=radius, gradient=gradient, feature_range=feature_range)
    found, n_iter, best = search(
        box, step=step, noise=noise, max_iter=max_iter, objective=objective, n_restarts=n_restarts,
        random_state=random_state,
    )  # fmt: skip
    kind = box.judge.kind or "search"
    return Bunch(X_adversarial=best, found=found, n_iter=n_iter, gradient=kind)


def critical_sample_ratio(
    estimator, X, *, radius, step=None, noise=None, max_iter=50, objective="loss", n_restarts=1,
    gradient="auto", feature_range=None, random_state=None,
):  # fmt: skip
    """Share of rows close to which the predicted class changes, as a measure of complexity.

    A row x is critical if some point x' with ``|x' - x| <= radius`` in every feature is predicted
    to be of another class. The more of them, the denser the boundaries between classes are around
    the data: models that have memorised noise have more. Points are sought by
    `langevin_adversarial_search`, so the ratio is a lower bound.

    Parameters
    ----------
    estimator : estimator or torch.nn.Module
        A fitted classifier, as `langevin_adversarial_search` takes it.
    X : array-like of shape (n_samples, n_features)
        Rows, best such that the model was not fitted to.
    radius : float or array-like of shape (n_features,)
        Half of the width of the box, in the units of X; see `feature_radius`.
    step : float or array-like of shape (n_features,), default=None
        Length of steps along the signs of the gradient; None is 0.25 / 0.3 of the radius.
    noise : float or array-like of shape (n_features,), default=None
        Standard deviation of the noise; None is 0.2 / 0.3 of the radius.
    max_iter : int, default=50
        Steps per row and start.
    objective : {"loss", "margin"}, default="loss"
        What is ascended.
    n_restarts : int, default=1
        Starts in each box.
    gradient : {"auto", "analytic", "numeric", "search"}, default="auto"
        Where directions come from.
    feature_range : tuple of two floats or arrays, default=None
        Values that features may take.
    random_state : int, RandomState instance or None, default=None
        For the noise and the starts.

    Returns
    -------
    result : Bunch
        With ``ratio``, ``critical`` of shape (n_samples,), ``n_iter`` (n_samples,), ``stderr`` of
        the ratio as a binomial share, ``interval``, Wilson's at 95 %, and ``gradient``, the source
        of directions.

    Warns
    -----
    UserWarning
        When the radius is far below the scale of all features, or fits some of them only.

    See Also
    --------
    langevin_adversarial_search : The points themselves.
    CriticalSampleDisplay : The ratio against the radius.

    Notes
    -----
    Compare ratios at the same rows, radius and options only. ``stderr`` and ``interval`` speak of
    other rows of the same kind, not of points that were missed.

    References
    ----------
    D. Arpit et al., A closer look at memorization in deep networks, ICML 2017: equation 1.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_fw.inspection import critical_sample_ratio
    >>> X, y = load_digits(return_X_y=True)
    >>> model = LogisticRegression(max_iter=50, tol=1e-2).fit(X[:500], y[:500])
    >>> small = critical_sample_ratio(model, X[500:600], radius=0.2, random_state=0)
    >>> large = critical_sample_ratio(model, X[500:600], radius=2.0, random_state=0)
    >>> bool(small.ratio < large.ratio)
    True
    """
    result = langevin_adversarial_search(
        estimator, X, radius=radius, step=step, noise=noise, max_iter=max_iter,
        objective=objective, n_restarts=n_restarts, gradient=gradient,
        feature_range=feature_range, random_state=random_state,
    )  # fmt: skip
    n = len(result.found)
    ratio = float(result.found.mean())
    wilson = binomtest(int(result.found.sum()), n).proportion_ci(method="wilson")
    return Bunch(
        ratio=ratio,
        critical=result.found,
        n_iter=result.n_iter,
        stderr=float(np.sqrt(ratio * (1 - ratio) / n)),
        interval=(float(wilson.low), float(wilson.high)),
        gradient=result.gradient,
    )


def input_gradient(estimator, X, target, *, objective="loss", gradient="analytic"):
    """Gradient by the inputs of what moves them away from a class.

    Parameters
    ----------
    estimator : estimator or torch.nn.Module
        A fitted classifier, as `langevin_adversarial_search` takes it.
    X : array-like of shape (n_samples, n_features)
        Rows.
    target : array-like of shape (n_samples,)
        Labels; for a module numbers of logits.
    objective : {"loss", "margin"}, default="loss"
        The cross-entropy of the target, or the best other score minus that of the target.
    gradient : {"analytic", "numeric"}, default="analytic"
        Known formulas, or central differences of the scores.

    Returns
    -------
    gradient : ndarray of the shape of X
        One row of derivatives for each row.

    See Also
    --------
    langevin_adversarial_search : What the gradients are for.

    Notes
    -----
    Of models of two classes with one score f, scores are (0, f).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_fw.inspection import input_gradient
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(max_iter=500).fit(X, y)
    >>> input_gradient(model, X, y).shape
    (150, 4)
    """
    check_choice(objective, "objective", OBJECTIVES)
    check_choice(gradient, "gradient", ("analytic", "numeric"))
    estimator = check_classifier(estimator)
    X = check_inputs(estimator, X)
    scale = np.abs(X - X.mean(axis=0)).mean(axis=0)
    judge = find_judge(estimator, X, gradient, np.where(scale > 0.0, scale, 1.0))
    judge.scores(X[:1])  # says how many classes there are
    target = np.asarray(target)
    if target.shape != (len(X),):
        raise ValueError(f"target must have one label per row, {len(X)}, got {target.shape}")
    codes = judge.codes(target)
    if codes.min(initial=0) < 0:
        raise ValueError(
            f"target holds {str(target[codes < 0][0])!r:.40}, no class of the estimator"
        )
    return judge.ascent(X, codes, objective)


def exact_critical_samples_linear(estimator, X, radius):
    """Which rows are critical, exactly, for models with linear scores.

    x is critical if, for some class j, ``f_y(x) - f_j(x) < sum_d radius_d |w_yd - w_jd|`` where y
    is the predicted class.

    Parameters
    ----------
    estimator : estimator
        A fitted classifier with linear scores, or a Pipeline of affine steps and one.
    X : array-like of shape (n_samples, n_features)
        Rows.
    radius : float or array-like of shape (n_features,)
        Half of the width of the box, in the units of X.

    Returns
    -------
    critical : ndarray of bool of shape (n_samples,)
        Whether a point of another class is in the box.

    See Also
    --------
    critical_sample_ratio : For all classifiers, by a search.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn_fw.inspection import exact_critical_samples_linear
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LogisticRegression(max_iter=500).fit(X, y)
    >>> int(exact_critical_samples_linear(model, X, 0.1).sum())
    11
    """
    estimator = check_classifier(estimator)
    X = check_inputs(estimator, X)
    radius = check_radius(radius, X)
    judge = find_judge(estimator, X, "auto", radius)
    if judge.kind != "linear":
        raise ValueError(
            f"estimator {type(estimator).__name__} has no scores that are linear in X: take "
            "critical_sample_ratio"
        )
    scores = judge.scores(X)
    own = judge.codes(labels_by(estimator, X))
    # Differences of rows of the coefficients, in front of all steps.
    n_classes = scores.shape[1]
    coef = judge.pull(np.repeat(X[:1], n_classes, axis=0), lambda s: np.eye(n_classes))
    critical = np.zeros(len(X), dtype=bool)
    for j in range(n_classes):
        reach = np.abs(coef[own] - coef[j]) @ radius
        gap = scores[np.arange(len(X)), own] - scores[:, j]
        critical |= (own != j) & (gap < reach)
    return critical
