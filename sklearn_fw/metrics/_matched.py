"""Metrics of what is matched first: links, entities, topics, loadings and steps in time."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils import Bunch

from .._core import check, labels


def alignment_error_rate(y_sure, y_possible, y_pred):
    """Alignment error rate of a corpus, the usual measure of word alignments.

    With the sets S of sure links, P of possible ones (which hold the sure ones) and A of predicted
    links, of all samples together::

        1 - (|A and S| + |A and P|) / (|A| + |S|)

    Possible links cost nothing, whether predicted or missing. With sure links only it is one
    minus the F1 score of links.

    Parameters
    ----------
    y_sure : list or object array of n_samples arrays of shape (J, K) or lists of pairs
        Sure links: 0/1 matrices, or lists of pairs (j, k).
    y_possible : list or object array like y_sure, or None
        Possible links; sure ones count as possible whether or not they are repeated here. None when
        all are sure.
    y_pred : list or object array like y_sure
        Predicted links. Words may be linked several times.

    Returns
    -------
    float
        Between 0 and 1, smaller is better; 0 when there are neither sure nor predicted links.

    References
    ----------
    .. [1] F. J. Och, H. Ney, "A systematic comparison of various statistical alignment models",
       Computational Linguistics 29, 2003: section 4.1. doi:10.1162/089120103321337421

    Examples
    --------
    >>> from sklearn_fw.metrics import alignment_error_rate
    >>> alignment_error_rate([[(0, 0)]], [[(1, 1), (1, 2)]], [[(0, 0), (1, 2), (2, 0)]])
    0.25
    """
    what, names = "0/1 matrices or lists of pairs", ("y_sure", "y_possible", "y_pred")
    y_sure, y_pred = check.items(y_sure, "y_sure", what), check.items(y_pred, "y_pred", what)
    y_possible = y_sure if y_possible is None else check.items(y_possible, "y_possible", what)
    sizes = len(y_sure), len(y_possible), len(y_pred)
    if len(set(sizes)) > 1:
        raise ValueError(f"y_sure, y_possible and y_pred must have the same length, got {sizes}")
    n_right = n_links = 0
    for i, outputs in enumerate(zip(y_sure, y_possible, y_pred)):
        for name, output in zip(names, outputs):
            if not isinstance(output, list | tuple | set | frozenset) and np.ndim(output) != 2:
                raise ValueError(f"{name}[{i}] must be one of {what}, got {output!r:.60}")
        shape, places = labels.common_shape(*outputs), [f"{name}[{i}]" for name in names]
        links = (labels.links_of(y, place, shape) for y, place in zip(outputs, places))
        sure, possible, predicted = map(labels.pairs_of, links)
        n_right += len(predicted & sure) + len(predicted & (possible | sure))
        n_links += len(predicted) + len(sure)
    return 1.0 - n_right / n_links if n_links else 0.0


def alignment_prf(truth, mapping, *, complete=False):
    """Precision, recall and F1 of a mapping between two sets of entities.

    Parameters
    ----------
    truth, mapping : dict or list of pairs
        True and predicted matches.
    complete : bool, default=False
        Whether the truth is complete, so that matches of entities without a true one are wrong.
        Otherwise these do not count.

    Returns
    -------
    precision, recall, f1 : float
        Fractions of the counted matches that are true, and of the true ones that were found, 1 of
        none; and their harmonic mean.

    Examples
    --------
    >>> from sklearn_fw.metrics import alignment_prf
    >>> alignment_prf({"a": 1, "b": 2}, {"a": 1, "c": 3})
    (1.0, 0.5, 0.6666666666666666)
    """
    check.flag(complete, "complete")
    truth, mapping = labels.as_mapping(truth, "truth"), labels.as_mapping(mapping, "mapping")
    n_right, n_judged, n_true = labels.mapping_counts(truth, mapping)
    return labels.precision_recall_f1(n_right, len(mapping) if complete else n_judged, n_true)


def topic_l1_error(topics_true, topics_pred):
    """Compute the mean l1 distance of topics, from 0 to 1, in the best order.

    ``min over orders of sum_k |true_k - pred_k|_1 / (2 K)``, rows divided by their sums.

    Parameters
    ----------
    topics_true, topics_pred : array-like of shape (K, n_features) and (n_topics, n_features)
        True topics, and at least K that were found, not negative, one a row; those that match none
        are left out.

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
    true = _unit_rows(check.matrix(topics_true, "topics_true"), "topics_true")
    found = _unit_rows(check.matrix(topics_pred, "topics_pred"), "topics_pred")
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
    x_loadings_true, y_loadings_true : array-like of shape (n_features, K) and (n_targets, K)
        True loadings of both views, one factor a column.
    x_loadings_pred, y_loadings_pred : array-like of shape (n_features or n_targets, n_components)
        Loadings that were found, of at least K factors; those that match none are left out.
    signed : bool, default=False
        Let each factor turn the sign of both of its columns together, where loadings have signs.

    Returns
    -------
    float
        From 0 to 1, smaller is better.

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
    check.flag(signed, "signed")
    sides = []
    for name, x, y in (
        ("true", x_loadings_true, y_loadings_true), ("pred", x_loadings_pred, y_loadings_pred),
    ):  # fmt: skip
        views = [
            _unit_rows(check.matrix(view, view_name).T, view_name, signed=True)
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
        sizes = f"{true.shape[1]} and {found.shape[1]}"
        raise ValueError(f"{name} and {other} must have the same number of features, got {sizes}")
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


def localization_f1(intervals_true, locations_pred, *, matching="hungarian"):
    """Precision, recall and F1 of steps found at single rows of sequences.

    A step is right in a sequence if its row lies within the true interval. Precision is over all
    predictions, recall over all steps that are there.

    Parameters
    ----------
    intervals_true : array-like of shape (n_sequences, n_true_steps, 2)
        First and last row of each step; -1 where it is missing.
    locations_pred : array-like of shape (n_sequences, n_steps)
        Row of each step; -1 where there is none.
    matching : {"hungarian", "identity"}, default="hungarian"
        Whether found steps are matched to true ones so that most are right, one matching for all
        sequences, or step k is step k.

    Returns
    -------
    scores : Bunch
        ``precision`` (1 where nothing is found), ``recall`` (1 where nothing is there), ``f1``, and
        ``mapping``, the true step of each found one, -1 for none.

    Examples
    --------
    >>> from sklearn_fw.metrics import localization_f1
    >>> scores = localization_f1([[[0, 2], [4, 5]], [[1, 1], [-1, -1]]], [[5, 1], [3, 1]])
    >>> scores.precision, scores.recall
    (0.75, 1.0)
    """
    truth = check.shaped(intervals_true, "intervals_true", "n_sequences", "n_steps", 2)
    found = check.shaped(locations_pred, "locations_pred", len(truth), "n_steps")
    if np.any(found != np.floor(found)):
        raise ValueError("locations_pred must hold whole numbers of rows: round them")
    check.choice(matching, "matching", ("hungarian", "identity"))
    there, given = truth[:, :, 0] >= 0.0, found >= 0.0
    at = found[:, :, None]
    inside = (truth[:, None, :, 0] <= at) & (at <= truth[:, None, :, 1])
    right = (inside & there[:, None, :] & given[:, :, None]).sum(axis=0)
    if matching == "hungarian":
        rows, columns = linear_sum_assignment(right, maximize=True)
    else:
        rows = columns = np.arange(min(right.shape))
    n_right = int(right[rows, columns].sum())
    mapping = np.full(found.shape[1], -1)
    mapping[rows] = columns
    values = labels.precision_recall_f1(n_right, int(given.sum()), int(there.sum()))
    return Bunch(**dict(zip(("precision", "recall", "f1"), values)), mapping=mapping)
