"""Losses of links, of places and of boxes."""

from dataclasses import KW_ONLY

import numpy as np

from .._core import check
from .._core.costs import NodeCosts
from .._core.labels import common_shape, links_of, pairs_of
from ._base import TaskLoss


class LinkLoss(TaskLoss):
    """Weighted number of missed and of false links.

    The loss is::

        missed * (true links missed) + false * (links made in error)

    Parameters
    ----------
    false, missed : float, default=1.0 and 3.0
        Costs of a link that is not true, and of a true link that is not made, positive. The larger
        one favors recall, as most pairs are not links.
    normalize : bool, default=True
        Divide the loss of a J x K sample by its largest conceivable value, ``missed * (true links)
        + false * min(J, K)``, so that it lies in [0, 1] for matchings and all samples have
        equal weight. Without it, all links have equal weight.

    Notes
    -----
    An output is an array of 0 and 1 (or bool) of shape (J, K), or a list of pairs ``(j, k)``. With
    ``normalize`` one of the two must be an array, whose shape is that of the sample.

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

    false: float = 1.0
    missed: float = 3.0
    _: KW_ONLY
    normalize: bool = True

    def _costs(self):
        for name in ("false", "missed"):
            value = getattr(self, name)
            if not (type(value) is float and 1e-9 < value < 1e9):  # all others take a closer look
                check.strength(value, name)
        return float(self.false), float(self.missed)

    def _scale(self, n_true, n_most):
        """What losses are multiplied by, for numbers of true links and of links at most."""
        if not check.flag(self.normalize, "normalize"):
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
        shape = common_shape(y_true, y_pred)
        true, made = links_of(y_true, "y_true", shape), links_of(y_pred, "y_pred", shape)
        return self._value_of(true, made, shape)

    def _value_of(self, true, made, shape):
        """Cost of links that were read, in a matrix of this shape (None: unknown)."""
        n_true, n_made, n_both = len(true[0]), len(made[0]), len(pairs_of(true) & pairs_of(made))
        false, missed = self._costs()
        value = missed * (n_true - n_both) + false * (n_made - n_both)
        if value and check.flag(self.normalize, "normalize"):
            if shape is None:
                raise ValueError(
                    "the normalized loss of two lists of pairs is not defined: pass one of them as "
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


LONGEST = 2**24  # pixels of a side, of which the product of two is exact


class DistanceLoss(TaskLoss):
    """Mean over joints of the squared distance from the truth, at most 1 each.

    The loss of a pose is ``mean_j min(1, |y_j - true_j|^2 / r^2)``: a joint that is further off
    than the radius r counts as wrong, whatever the distance.

    Parameters
    ----------
    radius : float, default=0.2
        The radius in units of ``unit``.
    unit : {"box", "pixel"} or pair of int, default="box"
        What lengths of a pose are measured by: the longer side of the smallest box around its true
        joints, pixels, or the true distance of two joints, such as a shoulder and the hip across.
        A unit is one pixel at least.

    Notes
    -----
    Outputs are arrays with the row and column of each joint; further columns do not count.

    References
    ----------
    .. [1] Y. Yang, D. Ramanan, "Articulated pose estimation with flexible mixtures-of-parts",
       CVPR 2011: joints that are right, by a share of the size of the box.
    .. [2] A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. K. Dokania, S. Lacoste-Julien, "Minding the
       gaps for block Frank-Wolfe optimization of structured SVMs", ICML 2016: the loss with the
       length of the trunk as the radius.

    Examples
    --------
    >>> from sklearn_fw.task_losses import DistanceLoss
    >>> DistanceLoss(2.0, unit="pixel").value([(0, 0), (5, 5)], [(0, 1), (9, 9)])
    0.625
    """

    radius: float = 0.2
    _: KW_ONLY
    unit: object = "box"

    @property
    def decomposes(self):
        return True

    def value(self, y_true, y_pred):
        true, found = _joints(y_true, "y_true"), _joints(y_pred, "y_pred")
        if len(true) != len(found):
            raise ValueError(f"y_true has {len(true)} joints, y_pred has {len(found)}")
        squares = ((found - true) ** 2).sum(axis=1) / self._radius(true) ** 2
        return float(np.minimum(squares, 1.0).mean())

    def position_costs(self, y_true, shape):
        """Compute the fraction of the loss of each joint at each pixel.

        Parameters
        ----------
        y_true : array-like of shape (n_joints, 2)
            True rows and columns.
        shape : tuple of int
            Numbers of rows and columns of the image.

        Returns
        -------
        costs : ndarray of shape (n_joints, n_rows, n_columns)
            Costs, whose sum over the joints of a pose is the loss.
        """
        true = _joints(y_true, "y_true")
        n_rows, n_columns = _sides(shape)
        rows = (np.arange(n_rows) - true[:, :1]) ** 2
        columns = (np.arange(n_columns) - true[:, 1:]) ** 2
        costs = (rows[:, :, None] + columns[:, None, :]) / self._radius(true) ** 2
        return np.minimum(costs, 1.0, out=costs) / len(true)

    def _radius(self, true):
        radius, unit = check.strength(self.radius, "radius"), self.unit
        if isinstance(unit, str):
            if unit not in ("box", "pixel"):
                raise ValueError(f"unit must be 'box', 'pixel' or a pair of joints, got {unit!r}")
            length = float(np.ptp(true, axis=0).max()) if unit == "box" else 1.0
        else:
            pair = check.items(unit, "unit", "two numbers of joints")
            whole = all(isinstance(j, int | np.integer) and 0 <= j < len(true) for j in pair)
            if len(pair) != 2 or not whole:
                raise ValueError(
                    f"unit must be 'box', 'pixel' or two joints below {len(true)}, got {unit!r}"
                )
            length = float(np.linalg.norm(true[pair[0]] - true[pair[1]]))
        return radius * max(length, 1.0)


class BoxLoss(TaskLoss):
    """One minus intersection over union of two boxes.

    Notes
    -----
    A box is ``(top, left, bottom, right)``; rows from top to bottom - 1 and columns from left to
    right - 1 are inside, as in ``image[top:bottom, left:right]``.

    Examples
    --------
    >>> from sklearn_fw.task_losses import BoxLoss
    >>> BoxLoss().value((0, 0, 2, 2), (0, 0, 2, 4))
    0.5
    """

    def value(self, y_true, y_pred):
        true, found = as_box(y_true, "y_true"), as_box(y_pred, "y_pred")
        sides = np.minimum(true[2:], found[2:]) - np.maximum(true[:2], found[:2])
        shared = np.maximum(sides, 0).prod()
        union = (true[2:] - true[:2]).prod() + (found[2:] - found[:2]).prod() - shared
        return float(1.0 - shared / union)


def as_box(box, name, shape=None):
    box = check.array(box, name)
    if box.shape != (4,) or np.any(box != np.rint(box)) or np.any(np.abs(box) > LONGEST):
        raise ValueError(
            f"{name} must be a box of four whole numbers of pixels (top, left, bottom, right), got "
            f"{box.tolist() if box.shape == (4,) else f'shape {box.shape}'}"
        )
    box = box.astype(np.int64)
    if np.any(box[:2] >= box[2:]):
        raise ValueError(f"{name} is empty: {box.tolist()} has top >= bottom or left >= right")
    if shape is not None and (box.min() < 0 or np.any(box[2:] > shape)):
        raise ValueError(
            f"{name} is outside of the image: {box.tolist()} in {shape[0]} x {shape[1]} pixels"
        )
    return box


def _joints(y, name):
    y = check.numbers(y, name)
    if y.ndim != 2 or y.shape[1] < 2 or len(y) == 0:
        raise ValueError(f"{name} must hold a row and a column for each joint, got shape {y.shape}")
    return y[:, :2]


def _sides(shape):
    sides = check.items(shape, "shape", "numbers of rows and columns")
    are_lengths = all(isinstance(n, int | np.integer) and 0 < n <= LONGEST for n in sides)
    if len(sides) != 2 or not are_lengths:
        raise ValueError(f"shape must be the numbers of rows and columns, got {shape!r:.100}")
    return sides
