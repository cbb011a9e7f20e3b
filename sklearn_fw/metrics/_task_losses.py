"""Metrics and scorers made from task losses."""

import numpy as np
from sklearn.metrics import make_scorer

from .._core.validation import check_sample_weight
from ..task_losses import resolve_task_loss


def mean_task_loss(y_true, y_pred, *, task_loss="hamming", sample_weight=None):
    """Mean over samples of a task loss.

    Choose it to judge predictions by the very loss that a model trains with, or by another one.

    Parameters
    ----------
    y_true, y_pred : array-like, list, object array or Packed of n_samples outputs
        True and predicted outputs: arrays of labels, single labels, or what the loss takes.
    task_loss : str, array-like of shape (n_classes, n_classes), callable or TaskLoss, \
            default="hamming"
        "hamming", "hamming_sum", "bleu", "distance", "edit", "links", "phrase_f1" or "zero_one", a
        matrix of costs of labels 0, 1, ..., a function of a true and a predicted output, or an
        object of `sklearn_fw.task_losses`.
    sample_weight : array-like of shape (n_samples,), default=None
        Weight of each sample.

    Returns
    -------
    float
        Not negative, smaller is better; in the units of the loss.

    See Also
    --------
    make_loss_scorer : The scorer of a loss.
    mean_hamming_loss : Per node instead of per sample.

    Examples
    --------
    >>> from sklearn_fw.metrics import mean_task_loss
    >>> from sklearn_fw.task_losses import MatrixLoss
    >>> loss = MatrixLoss([[0, 1], [5, 0]], classes=["no", "yes"])
    >>> mean_task_loss([["yes", "no"], ["no"]], [["no", "no"], ["yes"]], task_loss=loss)
    3.0
    """
    losses = resolve_task_loss(task_loss).losses(y_true, y_pred)
    if not len(losses):
        raise ValueError("y_true and y_pred are empty: metrics need at least one sample")
    return float(np.average(losses, weights=check_sample_weight(sample_weight, len(losses))))


def make_loss_scorer(task_loss):
    """Scorer of a task loss for scikit-learn's model selection: minus the mean loss.

    Parameters
    ----------
    task_loss : str, array-like of shape (n_classes, n_classes), callable or TaskLoss
        As in `mean_task_loss`.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y)``; larger is better.

    See Also
    --------
    SCORERS : Scorers of the usual metrics.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn_fw.metrics import make_loss_scorer
    >>> scorer = make_loss_scorer([[0, 1], [5, 0]])
    >>> X, y = [[0.0], [1.0], [2.0]], [0, 0, 1]
    >>> round(scorer(DummyClassifier().fit(X, y), X, y), 3)
    -1.667
    """
    loss = resolve_task_loss(task_loss)
    return make_scorer(mean_task_loss, greater_is_better=False, task_loss=loss)
