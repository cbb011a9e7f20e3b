"""Noise in data, and training and validation accuracy of models on real and noisy data."""

import numpy as np
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils.parallel import delayed

from .._core import check
from .._core.threads import parallel
from . import _estimators as models
from ._critical import critical_sample_ratio


def corrupt_labels(y, fraction, *, mode="uniform", random_state=None):
    """Replace the labels or numeric targets of a fraction of the rows.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of two classes or more, or targets of regression.
    fraction : float
        Fraction of the rows, from 0 to 1; the nearest whole number of rows is touched.
    mode : {"uniform", "different"}, default="uniform"
        "uniform" draws among all classes, so that ``fraction * (1 - 1 / n_classes)`` of the labels
        change in the mean, as in the paper; "different" among the others. Distinct numbers are the
        classes of regression.
    random_state : int, RandomState instance or None, default=None
        For the choice of rows and labels.

    Returns
    -------
    result : Bunch
        With ``y`` (n_samples,), a copy; ``mask`` (n_samples,), the rows that were touched; and
        ``changed``, those that have another label now.

    References
    ----------
    D. Arpit et al., A closer look at memorization in deep networks, ICML 2017: section 2 (randY).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.inspection import corrupt_labels
    >>> result = corrupt_labels(np.arange(10) % 2, 0.5, mode="different", random_state=0)
    >>> int(result.mask.sum()), int(result.changed.sum())
    (5, 5)
    """
    fraction = check.fraction(fraction, "fraction")
    check.choice(mode, "mode", ("different", "uniform"))
    classes, codes = models.check_labels(y, None)
    rng = check.random_state(random_state)
    touched, mask = _draw_rows(fraction, len(codes), rng)
    if mode == "uniform":
        codes[touched] = rng.randint(len(classes), size=len(touched))
    else:
        codes[touched] += rng.randint(1, len(classes), size=len(touched))
    noisy = classes[codes % len(classes)]
    return Bunch(y=noisy, mask=mask, changed=noisy != np.asarray(y))


def corrupt_inputs(X, fraction, *, per_feature=False, random_state=None):
    """Replace a fraction of the rows by Gaussian noise.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    fraction : float
        Fraction of the rows, from 0 to 1; the nearest whole number of rows is touched.
    per_feature : bool, default=False
        Whether the noise has the mean and the variance of each feature, as features in different
        units need it; otherwise those of all entries, as in the paper.
    random_state : int, RandomState instance or None, default=None
        For the choice of rows and the noise.

    Returns
    -------
    result : Bunch
        With ``X`` (n_samples, n_features), a copy, and ``mask`` (n_samples,), the rows that were
        touched.

    References
    ----------
    D. Arpit et al., A closer look at memorization in deep networks, ICML 2017: section 2 (randX).

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.inspection import corrupt_inputs
    >>> result = corrupt_inputs(np.ones((4, 3)), 0.5, random_state=0)
    >>> result.X.shape, int(result.mask.sum())
    ((4, 3), 2)
    """
    fraction = check.fraction(fraction, "fraction")
    per_feature = check.flag(per_feature, "per_feature")
    X = models.check_rows(X, copy=True)
    rng = check.random_state(random_state)
    touched, mask = _draw_rows(fraction, len(X), rng)
    axis = 0 if per_feature else None
    mean, deviation = X.mean(axis=axis), X.std(axis=axis)
    X[touched] = mean + deviation * rng.standard_normal((len(touched), X.shape[1]))
    return Bunch(X=X, mask=mask)


def _draw_rows(fraction, n, rng):
    touched = rng.permutation(n)[: round(fraction * n)]
    return touched, np.isin(np.arange(n), touched)


def track_memorization(
    estimator, X, y, X_valid, y_valid, *, n_epochs=50, every=1, radius=None, random_state=None
):
    """Accuracies and the ratio of critical samples, epoch by epoch.

    On noisy labels the validation accuracy peaks before the training accuracy is high, and falls
    while the ratio of critical samples rises: patterns come first, single rows later. Accuracies of
    regressors are coefficients of determination, R^2.

    Parameters
    ----------
    estimator : classifier or regressor
        With ``partial_fit``, or a Pipeline that ends in one; cloned. Without, it is fitted once.
    X, y : array-like of shape (n_samples, n_features), and of shape (n_samples,)
        Training rows and their labels.
    X_valid, y_valid : array-like of shape (n_valid, n_features), and of shape (n_valid,)
        Validation rows, around which critical samples are sought, and their labels.
    n_epochs, every : int, default=50 and 1
        Most epochs, and epochs between two measurements.
    radius : float or array-like of shape (n_features,), default=None
        Box of `critical_sample_ratio`, in the units of X; None leaves the ratio out, as regressors
        require.
    random_state : int, RandomState instance or None, default=None
        For the model, the order of rows and the search.

    Returns
    -------
    result : Bunch
        With arrays of one length: ``epochs``, ``train_accuracy``, ``valid_accuracy`` and
        ``critical_ratio`` (NaN without a radius); and ``epochs_to_fit``, the first epoch measured
        with all training rows right (R^2 of 0.99), infinite if there was none.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.neural_network import MLPClassifier
    >>> from sklearn_fw.inspection import track_memorization
    >>> X, y = load_digits(return_X_y=True)
    >>> result = track_memorization(
    ...     MLPClassifier((32,)), X[:500], y[:500], X[500:600], y[500:600], n_epochs=4,
    ...     random_state=0,
    ... )
    >>> result.epochs.tolist()
    [1, 2, 3, 4]
    """
    estimator = models.check_template(estimator, X)
    data = _check_pairs(estimator, X, y, X_valid, y_valid, radius)
    n_epochs = check.integer(n_epochs, "n_epochs", 1)
    every = check.integer(every, "every", 1, n_epochs)
    rng = check.random_state(random_state)
    return _track(estimator, data, n_epochs, every, radius, rng, stop=False)


def _check_pairs(estimator, X, y, X_valid, y_valid, radius):
    models.check_names(X_valid, models.names_of(X), "X_valid", "X")
    X, X_valid = models.check_rows(X), models.check_rows(X_valid, "X_valid")
    if X.shape[1] != X_valid.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features, X_valid {X_valid.shape[1]}")
    y, classes = models.check_targets(estimator, y, len(X))
    if classes is None:
        if radius is not None:
            raise ValueError("radius is of critical samples, which need classes: take radius=None")
        y_valid, _ = models.check_targets(estimator, y_valid, len(X_valid), "y_valid")
        return X, y, X_valid, y_valid, None
    others = np.asarray(y_valid) if hasattr(y_valid, "__len__") else np.empty((0, 0))
    if others.shape != (len(X_valid),):
        raise ValueError(f"y_valid must have {len(X_valid)} labels, got shape {others.shape}")
    if strange := others[~np.isin(others, classes)].tolist():
        raise ValueError(f"y_valid holds the label {strange[0]!r:.40}, which is not in y")
    return X, y, X_valid, others, classes


def _track(estimator, data, n_epochs, every, radius, rng, stop):
    """One run; with ``stop`` it ends when all training rows are right."""
    X, y, X_valid, y_valid, classes = data
    run, rows = models.Epochs(estimator, X, y, classes, rng), []
    seed, whole = int(rng.randint(2**31)), 0.99 if classes is None else 1.0

    def measure(epoch):
        train = models.accuracy(run.model, X, y)
        valid = models.accuracy(run.model, X_valid, y_valid)
        is_end = not stop or train >= whole or epoch in (0, n_epochs)
        critical = np.nan
        if is_end and radius is not None:
            options = {"radius": radius, "random_state": seed}
            critical = critical_sample_ratio(run.model, X_valid, **options).ratio
        rows.append((epoch, train, valid, critical))
        return stop and is_end

    if not models.has_epochs(estimator):
        run.fit()
        measure(0)
    else:
        for epoch in range(1, n_epochs + 1):
            run.step()
            if (epoch % every == 0 or epoch == n_epochs) and measure(epoch):
                break
    epochs, train, valid, critical = (np.array(column) for column in zip(*rows))
    fitted = epochs[train >= whole]
    to_fit = float(fitted[0]) if len(fitted) and models.has_epochs(estimator) else np.inf
    return Bunch(
        epochs=epochs, train_accuracy=train, valid_accuracy=valid, critical_ratio=critical,
        epochs_to_fit=to_fit,
    )  # fmt: skip


def memorization_curve(
    estimator, X, y, X_valid, y_valid, *, noise="labels", fractions=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0),
    param_name=None, param_range=None, max_epochs=200, radius=None, n_jobs=None, random_state=None,
):  # fmt: skip
    """Measure fit and generalization by noise fraction and model capacity.

    For every amount of noise, and every value of a parameter, a model is trained until it has all
    training rows right, or ``max_epochs`` are over. Validation data stay clean. Regressors are
    measured as in `track_memorization`.

    Parameters
    ----------
    estimator : classifier or regressor
        With ``partial_fit``, or a Pipeline that ends in one; cloned. Without, it is fitted to the
        end, and no epochs are counted.
    X, y : array-like of shape (n_samples, n_features), and of shape (n_samples,)
        Training rows and their labels.
    X_valid, y_valid : array-like of shape (n_valid, n_features), and of shape (n_valid,)
        Validation rows and their labels.
    noise : {"labels", "inputs"}, default="labels"
        Noise by `corrupt_labels`, or by `corrupt_inputs` feature by feature.
    fractions : array-like of float, default=(0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
        Fractions of the training rows.
    param_name, param_range : str and list, default=None
        Parameter of the estimator such as ``"hidden_layer_sizes"``, or "train_size" for numbers of
        training rows, and its values.
    max_epochs : int, default=200
        Most epochs of a run.
    radius : float or array-like of shape (n_features,), default=None
        Box of `critical_sample_ratio` on the validation rows; None leaves the ratio out.
    n_jobs : int or None, default=None
        Parallel runs, through joblib.
    random_state : int, RandomState instance or None, default=None
        For noise, models and searches. All values of the parameter see the same noise.

    Returns
    -------
    result : Bunch
        With arrays of shape (n_fractions, n_values): ``train_accuracy`` and ``valid_accuracy`` at
        the end, ``best_valid_accuracy`` of all epochs, ``epochs_to_fit`` (infinite where the
        training rows were not all right) and ``critical_ratio`` at the end; and ``fractions``,
        ``param_name``, ``param_range``.

    References
    ----------
    D. Arpit et al., A closer look at memorization in deep networks, ICML 2017: sections 3.3 and 4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neural_network import MLPClassifier
    >>> from sklearn_fw.inspection import memorization_curve
    >>> X, y = load_iris(return_X_y=True)
    >>> result = memorization_curve(
    ...     MLPClassifier((8,), learning_rate_init=0.1), X[::2], y[::2], X[1::2], y[1::2],
    ...     fractions=[0, 1], max_epochs=30, random_state=0,
    ... )
    >>> bool(result.valid_accuracy[0, 0] > result.valid_accuracy[1, 0])
    True
    """
    estimator = models.check_template(estimator, X)
    data = _check_pairs(estimator, X, y, X_valid, y_valid, radius)
    check.choice(noise, "noise", ("inputs", "labels"))
    fractions = check.items(fractions, "fractions", "shares", least=1)
    fractions = [check.fraction(share, "fractions") for share in fractions]
    values = _check_param(estimator, param_name, param_range, len(data[0]))
    max_epochs = check.integer(max_epochs, "max_epochs", 1)
    rng = check.random_state(random_state)
    jobs = []
    for share in fractions:
        X, y, *rest = data
        if noise == "labels":
            y = corrupt_labels(y, share, random_state=rng).y
        else:
            X = corrupt_inputs(X, share, per_feature=True, random_state=rng).X
        seed = int(rng.randint(2**31))
        for value in values:
            model, rows = estimator, slice(None)
            if param_name == "train_size":
                rows = np.random.RandomState(seed).permutation(len(X))[:value]
            elif param_name is not None:
                model = clone(estimator).set_params(**{param_name: value})
            jobs.append((model, (X[rows], y[rows], *rest), seed))
    runs = parallel(n_jobs)(
        delayed(_track)(model, part, max_epochs, 1, radius, np.random.RandomState(seed), True)
        for model, part, seed in jobs
    )
    last = {
        name: np.reshape([np.atleast_1d(run[name])[-1] for run in runs], (-1, len(values)))
        for name in ("train_accuracy", "valid_accuracy", "critical_ratio", "epochs_to_fit")
    }
    best = np.reshape([run.valid_accuracy.max() for run in runs], (-1, len(values)))
    return Bunch(
        fractions=np.array(fractions), param_name=param_name, param_range=values, **last,
        best_valid_accuracy=best,
    )  # fmt: skip


def _check_param(estimator, name, values, n):
    if name is None:
        if values is not None:
            raise ValueError("param_range needs a param_name")
        return [None]
    values = check.items(values, "param_range", "values of param_name", least=1)
    if check.is_named(name, "train_size"):
        return [check.integer(value, "param_range", 2, n) for value in values]
    check.choice(name, "param_name", {"train_size", *estimator.get_params()})
    return values
