"""Losses of matchings and other 0/1 matrices: links that are missed, links that are false."""

import numpy as np

from .._core.costs import NodeCosts
from .._core.links import common_shape, links_of, pairs_of
from .._core.validation import check_flag, check_strength
from ._base import TaskLoss


class LinkLoss(TaskLoss):
    """Cost of links that are missed and of links that are false.

    The loss is::

        missed * (true links missed) + false * (links made in error)

    Parameters
    ----------
    false : float, default=1.0
        Cost of a link that is not true, positive.
    missed : float, default=3.0
        Cost of a true link that is not made, positive. The larger one favours recall, as most
        pairs are no links.
    normalize : bool, default=True
        Divide the loss of a J x K sample by its largest conceivable value, ``missed * (true links)
        + false * min(J, K)``, so that it lies in [0, 1] for matchings and all samples count alike.
        Without it, all links count alike.

    See Also
    --------
    sklearn_fw.structured.MatchingModel : Trains with it.
    sklearn_fw.metrics.alignment_error_rate : The usual measure of word alignments.

    Notes
    -----
    An output is an array of 0 and 1 (or bool) of shape (J, K), or a list of pairs ``(j, k)``.

    References
    ----------
    .. [1] B. Taskar, S. Lacoste-Julien, D. Klein, "A discriminative matching approach to word
       alignment", HLT/EMNLP 2005.

    Examples
    --------
    >>> from sklearn_fw.task_losses import LinkLoss
    >>> LinkLoss(normalize=False).value([(0, 0), (1, 1)], [(0, 0), (1, 2)])
    4.0
    """

    def __init__(self, false=1.0, missed=3.0, *, normalize=True):
        self.false = false
        self.missed = missed
        self.normalize = normalize

    def _costs(self):
        for name in ("false", "missed"):
            value = getattr(self, name)
            if not (type(value) is float and 1e-9 < value < 1e9):  # all others take a closer look
                check_strength(value, name)
        return float(self.false), float(self.missed)

    def _scale(self, n_true, n_most):
        """What losses are multiplied by, for numbers of true links and of links at most."""
        if not check_flag(self.normalize, "normalize"):
            return 1.0
        false, missed = self._costs()
        return 1.0 / (missed * n_true + false * n_most or 1.0)

    def _scales(self, truth):
        """`_scale` of every sample, and the numbers of links that it is made of."""
        n_true = truth.sums(truth.states)
        # A matching has one link in each row and column at most.
        n_most = truth.lengths if truth.shapes is None else np.min(truth.shapes, axis=1)
        scales = [self._scale(*numbers) for numbers in zip(n_true.tolist(), n_most.tolist())]
        return np.array(scales), n_true, n_most

    def value(self, y_true, y_pred):
        """Cost of the wrong links.

        Parameters
        ----------
        y_true : array-like of shape (J, K) or list of pairs
            True links.
        y_pred : array-like of shape (J, K) or list of pairs
            Predicted links. With ``normalize`` one of the two has to be an array, which knows the
            number of rows and columns.

        Returns
        -------
        value : float
            The cost.
        """
        shape = common_shape(y_true, y_pred)
        true, made = links_of(y_true, "y_true", shape), links_of(y_pred, "y_pred", shape)
        return self._value_of(true, made, shape)

    def _value_of(self, true, made, shape):
        """Cost of links that were read, in a matrix of this shape (None: unknown)."""
        n_true, n_made, n_both = len(true[0]), len(made[0]), len(pairs_of(true) & pairs_of(made))
        false, missed = self._costs()
        value = missed * (n_true - n_both) + false * (n_made - n_both)
        if value and check_flag(self.normalize, "normalize"):
            if shape is None:
                raise ValueError(
                    "the normalised loss of two lists of pairs is not defined: pass one of them as "
                    "an array of shape (n_rows, n_columns), or set normalize=False"
                )
            value *= self._scale(n_true, min(shape))
        return float(value)

    def node_costs(self, truth):
        self._check_binary(truth)
        false, missed = self._costs()
        table = np.array([[0.0, false], [missed, 0.0]])
        return NodeCosts(truth.per_node(self._scales(truth)[0]), table, truth.states)

    def _pair_costs(self, links, shape):
        false, missed = self._costs()
        n_true = len(links[0])
        scale = self._scale(n_true, min(shape))
        costs = np.full(shape, scale * false)
        costs[links] = -scale * missed
        return costs, scale * missed * n_true

    def largest(self, truth):
        self._check_binary(truth)
        false, missed = self._costs()
        scale, n_true, n_most = self._scales(truth)
        return scale * (missed * n_true + false * n_most)

    def _check_binary(self, truth):
        if len(truth.classes) > 1 or truth.n_states != 2 or np.any(truth.states < 0):
            raise ValueError("LinkLoss needs outputs of 0 and 1: nodes with two states")
