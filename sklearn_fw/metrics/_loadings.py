"""Errors of topics and loadings, which are found up to their order."""

import numpy as np
from scipy.optimize import linear_sum_assignment

from .._core.validation import check_array_of_numbers, check_flag, check_magnitude


def topic_l1_error(topics_true, topics_pred):
    """Mean l1 distance of topics, in the best order: 0 for equal ones, 1 for disjoint ones.

    ``min over orders of sum_k |true_k - pred_k|_1 / (2 K)``, rows divided by their sums.

    Parameters
    ----------
    topics_true : array-like of shape (K, n_features)
        True topics, not negative, one a row.
    topics_pred : array-like of shape (n_topics, n_features)
        Topics that were found, at least K; those that match none are left out.

    Returns
    -------
    float
        From 0 to 1, smaller is better.

    See Also
    --------
    multiview_l1_error : Loadings of two views.
    sklearn_fw.decomposition.joint_diagonalize : What finds topics from moments.

    References
    ----------
    .. [1] A. Podosinnikova, F. Bach, S. Lacoste-Julien, "Rethinking LDA: moment matching for
       discrete ICA", NIPS 2015: section 5.

    Examples
    --------
    >>> from sklearn_fw.metrics import topic_l1_error
    >>> topic_l1_error([[1, 0, 0], [0, 1, 1]], [[0, 2, 2], [1, 1, 0]])
    0.25
    """
    true, found = (
        _unit_rows(_as_matrix(topics, name), name)
        for topics, name in ((topics_true, "topics_true"), (topics_pred, "topics_pred"))
    )
    _check_fit(true, found, "topics_true", "topics_pred")
    return _best_order(_distances(true, found))


def multiview_l1_error(
    x_loadings_true, y_loadings_true, x_loadings_pred, y_loadings_pred, *, signed=False
):
    """Mean l1 distance of the loadings of two views, in the best common order.

    As `topic_l1_error` of both views side by side: columns of each view are divided by their l1
    norm and by two.

    Parameters
    ----------
    x_loadings_true : array-like of shape (n_features, K)
        True loadings of the first view, one factor a column.
    y_loadings_true : array-like of shape (n_targets, K)
        True loadings of the second view.
    x_loadings_pred : array-like of shape (n_features, n_components)
        Loadings that were found, of at least K factors; those that match none are left out.
    y_loadings_pred : array-like of shape (n_targets, n_components)
        The same of the second view.
    signed : bool, default=False
        Let each factor turn the sign of both of its columns together, where loadings have signs.

    Returns
    -------
    float
        From 0 to 1, smaller is better.

    See Also
    --------
    topic_l1_error : Topics of one view.

    References
    ----------
    .. [1] A. Podosinnikova, F. Bach, S. Lacoste-Julien, "Beyond CCA: moment matching for multi-view
       models", ICML 2016: section 5.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.metrics import multiview_l1_error
    >>> X, Y = np.eye(2), np.array([[1.0, 0.0], [1.0, 1.0]])
    >>> multiview_l1_error(X, Y, -X[:, ::-1], -Y[:, ::-1], signed=True)
    0.0
    >>> multiview_l1_error(X, Y, X, np.eye(2))
    0.125
    """
    check_flag(signed, "signed")
    sides = []
    for name, x, y in (
        ("true", x_loadings_true, y_loadings_true), ("pred", x_loadings_pred, y_loadings_pred),
    ):  # fmt: skip
        views = [
            _unit_rows(_as_matrix(view, view_name).T, view_name, signed=True)
            for view, view_name in ((x, f"x_loadings_{name}"), (y, f"y_loadings_{name}"))
        ]
        if len(views[0]) != len(views[1]):
            raise ValueError(
                f"x_loadings_{name} and y_loadings_{name} must have the same number of columns, "
                f"got {len(views[0])} and {len(views[1])}"
            )
        sides.append(views)
    for view, name in enumerate("xy"):
        _check_fit(sides[0][view], sides[1][view], f"{name}_loadings_true", f"{name}_loadings_pred")
    true, found = (np.hstack(views) / 2.0 for views in sides)
    distances = _distances(true, found)
    if signed:
        distances = np.minimum(distances, _distances(true, -found))
    return _best_order(distances)


def _as_matrix(values, name):
    values = check_array_of_numbers(values, name)
    check_magnitude(values, name)
    if values.ndim != 2 or not values.size:
        raise ValueError(f"{name} must be a matrix, got shape {values.shape}")
    return values


def _unit_rows(values, name, signed=False):
    if not signed and np.any(values < 0.0):
        raise ValueError(f"{name} must not be negative, got {values.min()}")
    scale = np.max(np.abs(values), axis=1, keepdims=True)
    if np.any(scale == 0.0):
        raise ValueError(f"{name} has a topic or factor of zeros: leave it out")
    values = values / scale
    return values / np.sum(np.abs(values), axis=1, keepdims=True)


def _check_fit(true, found, name, other):
    if true.shape[1] != found.shape[1]:
        raise ValueError(
            f"{name} and {other} must have the same number of features, got {true.shape[1]} and "
            f"{found.shape[1]}"
        )
    if len(found) < len(true):
        raise ValueError(
            f"{other} must have at least as many topics or factors as {name}, got {len(found)} for "
            f"{len(true)}"
        )


def _distances(true, found):
    return np.array([np.sum(np.abs(row - found), axis=1) for row in true])


def _best_order(distances):
    rows, columns = linear_sum_assignment(distances)
    return float(np.sum(distances[rows, columns]) / (2.0 * len(distances)))
