"""Which loss a name, a matrix or a function stands for."""

import numpy as np
from sklearn.base import clone

from .._core import check
from ._base import FunctionLoss, TaskLoss
from ._nodes import HammingLoss, MatrixLoss, ZeroOneLoss
from ._places import DistanceLoss, LinkLoss
from ._sequences import BleuLoss, EditLoss, PhraseLoss

MAKERS = {
    "bleu": BleuLoss,
    "distance": DistanceLoss,
    "edit": EditLoss,
    "hamming": HammingLoss,
    "hamming_sum": lambda: HammingLoss(normalize=False),
    "links": LinkLoss,
    "phrase_f1": PhraseLoss,
    "zero_one": ZeroOneLoss,
}


def resolve_task_loss(task_loss, names=tuple(MAKERS)):
    """The loss object that a parameter ``task_loss`` stands for.

    Parameters
    ----------
    task_loss : str, array-like of shape (n_classes, n_classes), callable or TaskLoss
        A name, a matrix of costs (`MatrixLoss`), a function (`FunctionLoss`) or a loss.
    names : sequence of str, default=("bleu", "distance", "edit", "hamming", \
            "hamming_sum", "links", "phrase_f1", "zero_one")
        Names that are accepted.

    Returns
    -------
    loss : TaskLoss
        A new object; a loss is copied.

    Examples
    --------
    >>> from sklearn_fw.task_losses import resolve_task_loss
    >>> resolve_task_loss("hamming_sum")
    HammingLoss(normalize=False)
    """
    names = check.items(names, "names", "names of losses")
    if not all(isinstance(name, str) for name in names):
        raise TypeError(f"names must hold names of losses, got {names}")
    if isinstance(task_loss, TaskLoss):
        return clone(task_loss)
    if isinstance(task_loss, str):
        if task_loss in names and task_loss in MAKERS:
            return MAKERS[task_loss]()
    elif callable(task_loss) and not isinstance(task_loss, type):
        return FunctionLoss(task_loss)
    elif isinstance(task_loss, list | tuple | np.ndarray) or hasattr(task_loss, "columns"):
        return MatrixLoss(task_loss)
    known = f"one of {', '.join(map(repr, names))}, a matrix, a function or a TaskLoss"
    raise ValueError(f"task_loss must be {known}; got {task_loss!r}")
