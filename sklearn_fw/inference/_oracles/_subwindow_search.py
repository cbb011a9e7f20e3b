"""Best boxes of images by branch and bound."""

import numpy as np

from ..._core import check
from ..._core.budget import time_budget, time_left
from ..._core.oracle import Oracle
from ..._core.scores import check_sums
from ..._kernels import lazy
from ...task_losses import as_box
from ._adjacency import ROUNDING

subwindow = lazy("graphs.subwindow")

SETS = 1000  # between two looks at the clock


class BoxScores:
    """Pixel weights of an image, with an optional cost of overlap with a true box.

    The score of a box is the sum of the weights of its pixels, and ``cost`` times one minus its
    intersection over union with ``truth``.

    Parameters
    ----------
    weights : array-like of shape (n_rows, n_columns)
        Finite weights of pixels.
    truth : array-like of shape (4,), default=None
        A box ``(top, left, bottom, right)``; None for none.
    cost : float, default=1.0
        What a box that does not overlap it gets.

    See Also
    --------
    SubwindowSearch : The oracle for these scores.

    Examples
    --------
    >>> from sklearn_fw.inference import BoxScores
    >>> scores = BoxScores([[1.0, 2.0], [-1.0, 3.0]], truth=(0, 0, 1, 2))
    >>> scores.value((0, 1, 2, 2))
    5.666666666666667
    """

    def __init__(self, weights, truth=None, cost=1.0):
        self.weights = check.matrix(weights, "weights")
        check_sums(np.abs(self.weights).max(), 2 * self.weights.size)
        self.truth = None if truth is None else as_box(truth, "truth", self.weights.shape)
        self.cost = 0.0 if truth is None else check.moderate(cost, "cost")

    @property
    def shape(self):
        return self.weights.shape

    def value(self, box):
        """Score of one box.

        Parameters
        ----------
        box : array-like of shape (4,)
            Box ``(top, left, bottom, right)``.
        """
        from ...task_losses import BoxLoss

        top, left, bottom, right = box = as_box(box, "box", self.weights.shape)
        value = float(self.weights[top:bottom, left:right].sum())
        return value if self.truth is None else value + self.cost * BoxLoss().value(self.truth, box)


class SubwindowSearch(Oracle):
    """Best box of an image whose score is a sum over pixels, by branch and bound.

    Maximizes exactly over all boxes, the loss of overlap included, or ends with a bound. Choose it
    to find one object in each image, where pixels carry evidence for and against.

    Parameters
    ----------
    max_nodes : int, default=None
        Largest number of sets of boxes that are bounded; None for no limit.
    time_limit : float, default=None
        Seconds after which the search ends; None for no limit.

    Attributes
    ----------
    exact : bool
        True without a budget: ``value`` and ``upper_bound`` are equal in every answer.

    See Also
    --------
    sklearn_fw.structured.BoxModel : Learns the scores from images.
    sklearn_fw.structured.EnumeratedModel : A list of boxes with features of any kind.

    Notes
    -----
    A set of boxes is an interval for each side, and is bounded by what is positive in its largest
    box and negative in its smallest one [1]_, the columns by the best interval of them all [2]_.
    An image of R x C pixels takes at most ``R^2`` sets of C steps each, and usually some hundred;
    with ``truth`` more [3]_.

    References
    ----------
    .. [1] C. H. Lampert, M. B. Blaschko, T. Hofmann, "Beyond sliding windows: object localization
       by efficient subwindow search", CVPR 2008.
    .. [2] S. An, P. Peursum, W. Liu, S. Venkatesh, "Efficient algorithms for subwindow search in
       object detection and localization", CVPR 2009.
    .. [3] M. B. Blaschko, C. H. Lampert, "Learning to localize objects with structured output
       regression", ECCV 2008: the loss.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.inference import SubwindowSearch
    >>> weights = np.full((6, 9), -1.0)
    >>> weights[2:5, 3:8] = 1.0
    >>> box, value, upper_bound = SubwindowSearch().argmax(weights)
    >>> box, value
    (array([2, 3, 5, 8]), 15.0)
    """

    max_nodes: object = None
    time_limit: float | None = None

    @property
    def exact(self):
        return self.max_nodes is None and self.time_limit is None

    def argmax(self, scores, start=None):
        """Best box.

        Parameters
        ----------
        scores : BoxScores or array-like of shape (n_rows, n_columns)
            Weights of pixels.
        start : object, default=None
            Ignored.

        Returns
        -------
        box : ndarray of shape (4,), int64
            The box ``(top, left, bottom, right)``, never empty.
        value, upper_bound : float
            Its score, and a bound on that of all boxes.
        """
        scores = scores if isinstance(scores, BoxScores) else BoxScores(scores)
        boxes, bound = self._search(scores, 1)
        value = scores.value(boxes[0])
        return boxes[0], value, value if bound is None else max(value, bound)

    def top_k(self, scores, k):
        """The k best boxes, best first.

        Parameters
        ----------
        scores, k : BoxScores or array-like of shape (n_rows, n_columns), int
            Weights of pixels; number of boxes, at least 1.

        Returns
        -------
        values, boxes : ndarray of shape (m,) and (m, 4), int64
            Scores in descending order, and different boxes, most of them nearly the same; m < k
            where a budget ends or fewer boxes exist.
        """
        scores = scores if isinstance(scores, BoxScores) else BoxScores(scores)
        k = check.integer(k, "k", 1)
        if k == 1:
            box, value, bound = self.argmax(scores)
            boxes = box[None] if bound == value else np.empty((0, 4), np.int64)
        else:
            boxes = self._search(scores, k)[0]
        values = np.array([scores.value(box) for box in boxes])
        order = np.argsort(-values, kind="stable")
        return values[order], boxes[order]

    def _search(self, scores, k):
        """Boxes, and a bound on all boxes or None if the search ended."""
        most = 2**62
        if self.max_nodes is not None:
            most = check.integer(self.max_nodes, "max_nodes", 1)
        n_columns = scores.weights.shape[1]
        up, down = (
            np.vstack([np.zeros(n_columns), clip(scores.weights, 0.0).cumsum(axis=0)])
            for clip in (np.maximum, np.minimum)
        )
        truth = np.zeros(4, np.int64) if scores.truth is None else scores.truth
        rounding = ROUNDING * (np.abs(scores.weights).sum() + scores.cost)
        keys, boxes, size = np.empty(64), np.empty((64, 9), np.int64), 0
        found, values = np.zeros((k, 4), np.int64), np.full(k, -np.inf)
        state = np.zeros(3, np.int64)
        with time_budget(self.time_limit, ends_oracles=True):
            while not state[2]:
                n_steps = min(SETS, max(most - int(state[0]), 0) // 2)
                keys, boxes, size = subwindow.search_boxes(
                    up, down, truth, scores.cost, keys, boxes, size, found, values, state, n_steps,
                    rounding,
                )  # fmt: skip
                if not state[2] and (n_steps < 1 or time_left() <= 0.0):
                    break
        return found if k == 1 else found[: state[1]], None if state[2] else float(keys[0])
