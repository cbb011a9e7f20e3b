"""Labels and inputs replaced by noise."""

import numpy as np
from sklearn.utils import Bunch

from .._core.validation import (
    check_choice,
    check_flag,
    check_magnitude,
    check_not_negative,
    check_random_state,
    check_table,
)  # fmt: skip
from ._answers import check_labels


def check_fraction(fraction, name="fraction"):
    """A share from 0 to 1."""
    fraction = check_not_negative(fraction, name)
    if fraction > 1.0:
        raise ValueError(f"{name} must be a share from 0 to 1, got {fraction:g}")
    return fraction


def corrupt_labels(y, fraction, *, mode="uniform", random_state=None):
    """Replace the labels of a share of the rows.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of two classes or more.
    fraction : float
        Share of the rows, from 0 to 1; the nearest whole number of rows is touched.
    mode : {"uniform", "different"}, default="uniform"
        "uniform" draws among all classes, so that ``fraction * (1 - 1 / n_classes)`` of the labels
        change in the mean, as in the paper; "different" among the others.
    random_state : int, RandomState instance or None, default=None
        For the choice of rows and labels.

    Returns
    -------
    result : Bunch
        With ``y`` (n_samples,), a copy; ``mask`` (n_samples,), the rows that were touched; and
        ``changed``, those that have another label now.

    See Also
    --------
    corrupt_inputs : Noise in place of rows.

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
    fraction = check_fraction(fraction)
    check_choice(mode, "mode", ("different", "uniform"))
    classes, codes = check_labels(y, None)
    rng = check_random_state(random_state)
    touched, mask = _draw_rows(fraction, len(codes), rng)
    codes = codes.copy()
    if mode == "uniform":
        codes[touched] = rng.randint(len(classes), size=len(touched))
    else:
        codes[touched] += rng.randint(1, len(classes), size=len(touched))
        codes %= len(classes)
    noisy = classes[codes]
    return Bunch(y=noisy, mask=mask, changed=noisy != np.asarray(y))


def corrupt_inputs(X, fraction, *, per_feature=False, random_state=None):
    """Replace a share of the rows by Gaussian noise.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Rows.
    fraction : float
        Share of the rows, from 0 to 1; the nearest whole number of rows is touched.
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

    See Also
    --------
    corrupt_labels : Random labels.

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
    fraction = check_fraction(fraction)
    per_feature = check_flag(per_feature, "per_feature")
    X = check_table(X, dtype=np.float64, copy=True)
    check_magnitude(X, "X")
    rng = check_random_state(random_state)
    touched, mask = _draw_rows(fraction, len(X), rng)
    axis = 0 if per_feature else None
    mean, deviation = X.mean(axis=axis), X.std(axis=axis)
    X[touched] = mean + deviation * rng.standard_normal((len(touched), X.shape[1]))
    return Bunch(X=X, mask=mask)


def _draw_rows(fraction, n, rng):
    """Numbers of the rows that are touched, and whether each row is."""
    touched = rng.permutation(n)[: round(fraction * n)]
    mask = np.zeros(n, dtype=bool)
    mask[touched] = True
    return touched, mask
