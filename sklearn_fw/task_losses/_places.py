"""Losses of places in images: joints that are too far away, boxes that do not overlap."""

import numpy as np

from .._core.validation import check_array_of_numbers, check_list, check_magnitude, check_strength
from ._base import TaskLoss

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

    See Also
    --------
    sklearn_fw.structured.TreePoseModel : Trains with it.

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

    def __init__(self, radius=0.2, *, unit="box"):
        self.radius = radius
        self.unit = unit

    @property
    def decomposes(self):
        """True: it is a sum over joints."""
        return True

    def value(self, y_true, y_pred):
        """Cost of one pose.

        Parameters
        ----------
        y_true : array-like of shape (n_joints, 2)
            True rows and columns.
        y_pred : array-like of shape (n_joints, 2)
            Predicted rows and columns.

        Returns
        -------
        value : float
            From 0 to 1.
        """
        true, found = _joints(y_true, "y_true"), _joints(y_pred, "y_pred")
        if len(true) != len(found):
            raise ValueError(f"y_true has {len(true)} joints, y_pred has {len(found)}")
        squares = ((found - true) ** 2).sum(axis=1) / self._radius(true) ** 2
        return float(np.minimum(squares, 1.0).mean())

    def position_costs(self, y_true, shape):
        """Share of the loss that each joint has at each pixel.

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
        rows, columns = (
            (np.arange(n) - true[:, axis, None]) ** 2 for axis, n in enumerate(_sides(shape))
        )
        costs = (rows[:, :, None] + columns[:, None, :]) / self._radius(true) ** 2
        return np.minimum(costs, 1.0, out=costs) / len(true)

    def _radius(self, true):
        """The radius in pixels."""
        radius, unit = check_strength(self.radius, "radius"), self.unit
        if isinstance(unit, str):
            if unit not in ("box", "pixel"):
                raise ValueError(f"unit must be 'box', 'pixel' or a pair of joints, got {unit!r}")
            length = float(np.ptp(true, axis=0).max()) if unit == "box" else 1.0
        else:
            pair = check_list(unit, "unit", "two numbers of joints")
            whole = all(isinstance(j, int | np.integer) and 0 <= j < len(true) for j in pair)
            if len(pair) != 2 or not whole:
                raise ValueError(
                    f"unit must be 'box', 'pixel' or a pair of joints from 0 to {len(true) - 1}, "
                    f"got {unit!r}"
                )
            length = float(np.linalg.norm(true[pair[0]] - true[pair[1]]))
        return radius * max(length, 1.0)


class BoxLoss(TaskLoss):
    """One minus intersection over union of two boxes.

    See Also
    --------
    OverlapLoss : The same for any sets of nodes.
    sklearn_fw.structured.BoxModel : Trains with it.

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
        """Cost of one box.

        Parameters
        ----------
        y_true : array-like of shape (4,)
            True box.
        y_pred : array-like of shape (4,)
            Predicted box.

        Returns
        -------
        value : float
            From 0 to 1.
        """
        true, found = as_box(y_true, "y_true"), as_box(y_pred, "y_pred")
        sides = np.minimum(true[2:], found[2:]) - np.maximum(true[:2], found[:2])
        shared = np.maximum(sides, 0).prod()
        union = (true[2:] - true[:2]).prod() + (found[2:] - found[:2]).prod() - shared
        return float(1.0 - shared / union)


def as_box(box, name, shape=None):
    """A box as int64, which is not empty and inside of an image of this shape."""
    box = check_array_of_numbers(box, name)
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
    y = check_array_of_numbers(y, name)
    check_magnitude(y, name)
    if y.ndim != 2 or y.shape[1] < 2 or len(y) == 0:
        raise ValueError(f"{name} must hold a row and a column for each joint, got shape {y.shape}")
    return y[:, :2]


def _sides(shape):
    sides = check_list(shape, "shape", "numbers of rows and columns")
    if len(sides) != 2 or not all(
        isinstance(n, int | np.integer) and 0 < n <= LONGEST for n in sides
    ):
        raise ValueError(f"shape must be the numbers of rows and columns, got {shape!r:.100}")
    return sides
