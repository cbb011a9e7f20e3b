"""How well steps were found in time."""

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.utils import Bunch

from .._core.links import precision_recall_f1
from .._core.validation import check_array_of_numbers, check_choice


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
    truth = check_array_of_numbers(intervals_true, "intervals_true")
    found = check_array_of_numbers(locations_pred, "locations_pred")
    if truth.ndim != 3 or truth.shape[2] != 2 or not truth.size:
        raise ValueError(
            f"intervals_true must have shape (n_sequences, n_steps, 2), got {truth.shape}"
        )
    if found.ndim != 2 or len(found) != len(truth) or not found.size:
        raise ValueError(
            f"locations_pred must have shape ({len(truth)}, n_steps), got {found.shape}"
        )
    if np.any(found != np.floor(found)):
        raise ValueError(
            "locations_pred must hold whole numbers of rows, got fractions: round them"
        )
    check_choice(matching, "matching", ("hungarian", "identity"))
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
    values = precision_recall_f1(n_right, int(given.sum()), int(there.sum()))
    return Bunch(**dict(zip(("precision", "recall", "f1"), values)), mapping=mapping)
