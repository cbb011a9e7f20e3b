"""Losses of sequences that need not be as long as the truth."""

import numpy as np

from .._core.validation import check_flag, is_missing
from .._kernels import lazy
from ._base import TaskLoss

edit_distance = lazy("graphs.edit_distance")


class EditLoss(TaskLoss):
    """Edit distance: the fewest tokens to insert, delete or replace, per token of the truth.

    Choose it where outputs are texts or lists whose length is not known: a token that is missing
    costs one, and not also all that come after it.

    Parameters
    ----------
    normalize : bool, default=True
        Divide by the length of the truth (by 1 if it is empty). The loss is above 1 where the
        output is much longer than that.

    See Also
    --------
    BleuLoss : N-grams that the truth does not have, for texts in words.
    HammingLoss : Labels compared place by place.
    sklearn_fw.seq2seq.SeaRNNTransducer : Trains with it.

    Notes
    -----
    Outputs are texts, of characters, or lists of tokens, which are text, numbers or tuples. It is
    known by its value alone, so models that train by costs of nodes do not take it. The time is
    the product of the lengths [1]_.

    References
    ----------
    .. [1] R. A. Wagner, M. J. Fischer, "The string-to-string correction problem", Journal of the
       ACM 21(1), 1974.

    Examples
    --------
    >>> from sklearn_fw.task_losses import EditLoss
    >>> EditLoss(normalize=False).value("kitten", "sitting")
    3.0
    >>> EditLoss().value(["to", "be", "or", "not"], ["to", "or", "not"])
    0.25
    """

    def __init__(self, normalize=True):
        self.normalize = normalize

    def value(self, y_true, y_pred):
        """Cost of one output.

        Parameters
        ----------
        y_true : str, list or ndarray of shape (n_tokens,)
            True tokens.
        y_pred : str, list or ndarray of shape (n_predicted,)
            Predicted tokens.

        Returns
        -------
        value : float
            The cost, not negative.
        """
        normalize = check_flag(self.normalize, "normalize")
        code = {}
        true, made = (
            np.array([code.setdefault(token, len(code)) for token in tokens], dtype=np.int64)
            for tokens in (tokens_of(y_true, "y_true"), tokens_of(y_pred, "y_pred"))
        )
        distance = edit_distance.edit_distance(made, true, np.empty(len(true) + 1, np.int64))
        return distance / max(len(true), 1) if normalize else float(distance)


def tokens_of(y, name):
    """Tokens of a text, a list or a vector, as Python's objects that can be compared."""
    if isinstance(y, str):
        return list(y)
    if np.ma.is_masked(y):
        raise ValueError(f"{name} has masked tokens: leave them out")
    if isinstance(y, np.ndarray):
        if y.ndim != 1:
            raise ValueError(f"{name} must be a vector of tokens, got shape {y.shape}")
        tokens = y.tolist()
    elif isinstance(y, list | tuple):
        tokens = [token.item() if isinstance(token, np.generic) else token for token in y]
    else:
        raise TypeError(f"{name} must be a text or a list of tokens, got a {type(y).__name__}")
    for token in tokens:
        try:
            hash(token)
        except TypeError:
            raise TypeError(
                f"{name} holds {token!r:.60}, which is no token: take text, numbers or tuples"
            ) from None
        if is_missing(token):
            raise ValueError(f"{name} holds {token!r}, which is no token")
    return tokens
