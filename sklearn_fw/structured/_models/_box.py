"""One box in each image."""

import numpy as np

from ..._core import check
from ...inference import BoxScores, SubwindowSearch
from ...task_losses import BoxLoss, as_box
from ._base import ScoredModel, checked_features, checked_samples


class BoxModel(ScoredModel):
    """Location of one object in an image: the box whose features have the largest sum.

    The score of a box is the sum of ``<w, x[r, c]>`` over its pixels. Choose it where pixels, or
    points such as visual words, are evidence for or against the object. One constant feature makes
    pixels without evidence count against it.

    Attributes
    ----------
    n_features_in_, size_joint_feature : int
        Number of features of a pixel, which is that of the weights.

    See Also
    --------
    sklearn_fw.inference.SubwindowSearch : The oracle.
    EnumeratedModel : A list of boxes with features of any kind.

    Notes
    -----
    An input is an array of shape (n_rows, n_columns, n_features); images may differ in size. For
    points, add up the features of those in each cell of a grid. An output is a box
    ``(top, left, bottom, right)`` of whole numbers: its pixels are ``x[top:bottom, left:right]``.
    The loss is one minus intersection over union, `sklearn_fw.task_losses.BoxLoss`, which the
    oracle maximizes exactly. Features are sums over hundreds of pixels: keep them of moderate size.

    References
    ----------
    .. [1] M. B. Blaschko, C. H. Lampert, "Learning to localize objects with structured output
       regression", ECCV 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw import StructuredSVM
    >>> from sklearn_fw.structured import BoxModel
    >>> def image(top, left, bottom, right):
    ...     x = np.zeros((8, 8, 2))
    ...     x[top:bottom, left:right, 0], x[:, :, 1] = 1.0, 1.0
    ...     return x
    >>> y = [(1, 2, 4, 6), (3, 0, 7, 3), (0, 5, 4, 8)]
    >>> svm = StructuredSVM(BoxModel(), random_state=0).fit([image(*box) for box in y], y)
    >>> svm.predict([image(2, 3, 6, 5)])[0]
    array([2, 3, 6, 5])
    """

    def initialize(self, X, y):
        for i, x, truth in checked_samples(X, y):
            as_box(truth, f"y[{i}]", x.shape[:2])
        self.n_features_in_ = self.size_joint_feature = x.shape[2]
        return self

    def default_oracle(self):
        return SubwindowSearch()

    def joint_feature(self, x, y):
        x = checked_features(x, "x", self.n_features_in_)
        top, left, bottom, right = as_box(y, "y", x.shape[:2])
        return x[top:bottom, left:right].sum(axis=(0, 1), dtype=np.float64)

    def loss(self, y_true, y):
        return BoxLoss().value(y_true, y)

    def scores(self, x, w):
        x = checked_features(x, "x", self.n_features_in_)
        return BoxScores(x @ check.shaped(w, "w", self.n_features_in_))

    def augment(self, scores, y_true):
        if not isinstance(scores, BoxScores):
            raise TypeError(f"scores must be BoxScores, got {type(scores).__name__}")
        return BoxScores(scores.weights, as_box(y_true, "y_true", scores.weights.shape))
