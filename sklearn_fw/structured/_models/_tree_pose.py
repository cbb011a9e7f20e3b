"""Poses: joints of a tree, each at a pixel of an image."""

from dataclasses import KW_ONLY

import numpy as np

from ..._core import check
from ..._core.scores import integers
from ...inference import DistanceTransform, PoseScores, check_positions, check_tree, parents
from ...task_losses import resolve_task_loss
from ._base import ScoredModel, checked_features, checked_samples

FAR = 3.0  # standard deviations: squares of what is further off would rule the choice of C


class TreePoseModel(ScoredModel):
    """Locations of the joints of a body in an image, joined by springs along a tree.

    Choose it for people, hands, skeletons of animals and machines. The score of a pose y is::

        sum_j <filter_j, x[y_j]> + sum_e bias_et - <deformation_et, (dr^2, dr, dc^2, dc)>

    where ``(dr, dc) = (y_b - y_a - anchors_[e, t]) / scales_[e]`` is the deviation of edge
    ``(a, b)`` from its usual displacement. Weights of squares stay at zero or above, see `bounds`.

    Parameters
    ----------
    edges : "auto" or array-like of shape (n_edges, 2), default="auto"
        Pairs of joints with a spring, without cycles. "auto" is the spanning tree of the training
        poses whose displacements vary least; an empty list makes joints independent.
    n_types : int, default=1
        Number of types of each edge, such as arms up and arms down: clusters of its displacements.
        With several, outputs have a third column.
    task_loss : "distance" or DistanceLoss, default="distance"
        Cost of a pose, see `sklearn_fw.task_losses.DistanceLoss`: joints that are off by more than
        a fifth of the size of the pose are wrong.

    Attributes
    ----------
    n_features_in_, n_joints_ : int
        Number of features of a pixel, and of joints.
    edges_ : ndarray of shape (n_edges, 2)
        The edges.
    anchors_ : ndarray of shape (n_edges, n_types, 2)
        Mean displacement of each type in the training poses, rows and columns.
    scales_ : ndarray of shape (n_edges, 2)
        Three standard deviations of displacements from the anchors, at least three pixels.
    task_loss_ : str or DistanceLoss
        The loss of the training, as given.

    See Also
    --------
    sklearn_fw.inference.DistanceTransform : The oracle.
    sklearn_fw.datasets.make_stick_figures : Example data.

    Notes
    -----
    An input is an array of shape (n_rows, n_columns, n_features): feature maps of an image, such as
    responses of detectors; images may differ in size. A filter sees the features of one pixel: for
    a window, stack shifted maps. An output is an array of shape (n_joints, 2) with the row and
    column of each joint, whole numbers. With several types it has a third column: the type of the
    edge towards the root of the tree (0 for the root). True poses may lack it; then the nearest
    anchor is taken.

    An oracle call takes ``n_joints * n_types * n_pixels`` steps, and ``n_features`` times as many
    for the maps.

    References
    ----------
    .. [1] P. F. Felzenszwalb, D. P. Huttenlocher, "Pictorial structures for object recognition",
       International Journal of Computer Vision 61, 55-79, 2005: the tree of least variance.
    .. [2] Y. Yang, D. Ramanan, "Articulated pose estimation with flexible mixtures-of-parts",
       CVPR 2011: types.
    .. [3] A. Osokin, J.-B. Alayrac, I. Lukasewitz, P. K. Dokania, S. Lacoste-Julien, "Minding the
       gaps for block Frank-Wolfe optimization of structured SVMs", ICML 2016: training.

    Examples
    --------
    The second joint looks like another thing; it is three columns to the right of the first.

    >>> import numpy as np
    >>> from sklearn_fw import StructuredSVM
    >>> from sklearn_fw.structured import TreePoseModel
    >>> def image(*things):
    ...     x = np.zeros((5, 12, 2))
    ...     for row, column, feature in things:
    ...         x[row, column, feature] = 1.0
    ...     return x
    >>> X = [image((2, 1, 0), (2, 4, 1), (3, 9, 1)), image((1, 5, 0), (1, 8, 1), (4, 2, 1))]
    >>> y = [[(2, 1), (2, 4)], [(1, 5), (1, 8)]]
    >>> svm = StructuredSVM(TreePoseModel(), C=10.0, random_state=0).fit(X, y)
    >>> svm.predict([image((3, 7, 0), (3, 10, 1), (0, 0, 1))])[0]
    array([[ 3,  7],
           [ 3, 10]])
    """

    edges: object = "auto"
    _: KW_ONLY
    n_types: int = 1
    task_loss: object = "distance"

    _needs_bounds = True  # no distance transform answers beyond them

    def initialize(self, X, y):
        self._loss, self.task_loss_ = _resolve(self.task_loss), self.task_loss
        self._n_types = check.integer(self.n_types, "n_types", 1)
        poses = []
        for i, x, truth in checked_samples(X, y):
            pose, name = _pose(truth, f"y[{i}]")[:, :2], f"y[{i}]"
            if i == 0:
                self.n_joints_ = len(pose)
            poses.append(check_positions(pose, name, self.n_joints_, x.shape[:2]))
            self._loss.position_costs(poses[-1], (1, 1))  # refuses bad parameters
        self.n_features_in_ = x.shape[2]
        self._measure(np.array(poses))
        return self

    def _measure(self, poses):
        """Edges, their anchors and the scales of displacements from these."""
        if isinstance(self.edges, str):
            check.choice(self.edges, "edges", {"auto"}, "pairs of joints")
            self.edges_ = _tree_of_least_variance(poses)
        else:
            self.edges_ = integers(self.edges, "edges", 2)
        check_tree(self.edges_, self.n_joints_)
        self._edge_of_joint = parents(self.edges_, self.n_joints_)[1]
        ends = poses[:, self.edges_].astype(np.float64)
        displacements = ends[:, :, 1] - ends[:, :, 0]
        n_edges = len(self.edges_)
        self.anchors_ = np.empty((n_edges, self._n_types, 2))
        self.scales_ = np.empty((n_edges, 2))
        for e in range(n_edges):
            self.anchors_[e], rest = self._cluster(displacements[:, e], e)
            self.scales_[e] = FAR * np.maximum(np.sqrt((rest**2).mean(axis=0)), 1.0)

    def _cluster(self, displacements, e):
        """Anchors of the types of edge e, and what displacements differ by from the nearest."""
        if self._n_types == 1:
            anchors = displacements.mean(axis=0, keepdims=True)
            return anchors, displacements - anchors
        from sklearn.cluster import KMeans

        n = len(np.unique(displacements, axis=0))
        if n < self._n_types:
            raise ValueError(
                f"n_types={self._n_types}, but the edge of joints {self.edges_[e].tolist()} has "
                f"{n} different displacements in y: take fewer types"
            )
        found = KMeans(self._n_types, n_init=10, random_state=0).fit(displacements)
        return found.cluster_centers_, displacements - found.cluster_centers_[found.labels_]

    @property
    def _cuts(self):
        n_springs = len(self.edges_) * self._n_types
        n_filters = self.n_joints_ * self.n_features_in_
        return np.cumsum([n_filters, 4 * n_springs, n_springs if self._n_types > 1 else 0])

    @property
    def size_joint_feature(self):
        """Number of weights: filters, four for each type of an edge, and one more if several."""
        return int(self._cuts[-1])

    def bounds(self):
        """Return lower and upper bounds of the weights: those of squares are not negative."""
        lower = np.full(self.size_joint_feature, -np.inf)
        lower[self._cuts[0] : self._cuts[1]].reshape(-1, 4)[:, ::2] = 0.0
        return lower, np.full(self.size_joint_feature, np.inf)

    def unpack(self, w):
        """Return the weights by name.

        These are "filters" (n_joints, n_features), "deformation" (n_edges, n_types, 4) and "bias"
        (n_edges, n_types).

        Parameters
        ----------
        w : ndarray of shape (size_joint_feature,)
            Weights.
        """
        w = check.shaped(w, "w", self.size_joint_feature)
        filters, deformation, bias = np.split(w, self._cuts[:2])
        shape = len(self.edges_), self._n_types
        return {
            "filters": filters.reshape(self.n_joints_, self.n_features_in_),
            "deformation": deformation.reshape(*shape, 4),
            "bias": bias.reshape(shape) if bias.size else np.zeros(shape),
        }

    def default_oracle(self):
        return DistanceTransform()

    # ---- features and losses ---------------------------------------------------------------------

    def _read(self, x, y):
        """Positions of a pose, and the type of each edge."""
        pose = _pose(y, "y")
        positions = check_positions(pose[:, :2], "y", self.n_joints_, x.shape[:2])
        ends = positions[self.edges_]
        off = (ends[:, 1] - ends[:, 0])[:, None] - self.anchors_
        if pose.shape[1] == 2 or self._n_types == 1:
            return positions, off, ((off / self.scales_[:, None]) ** 2).sum(axis=2).argmin(axis=1)
        types = np.zeros(len(self.edges_), np.int64)
        has_edge = self._edge_of_joint >= 0
        types[self._edge_of_joint[has_edge]] = pose[has_edge, 2]
        if np.any((types < 0) | (types >= self._n_types)):
            raise ValueError(f"y must have types from 0 to {self._n_types - 1} in its third column")
        return positions, off, types

    def joint_feature(self, x, y):
        x = checked_features(x, "x", self.n_features_in_)
        positions, off, types = self._read(x, y)
        edges = np.arange(len(self.edges_))
        d = off[edges, types] / self.scales_
        springs = np.zeros((len(edges), self._n_types, 4))
        springs[edges, types] = -np.stack([d[:, 0] ** 2, d[:, 0], d[:, 1] ** 2, d[:, 1]], axis=1)
        parts = [x[positions[:, 0], positions[:, 1]].ravel(), springs.ravel()]
        if self._n_types > 1:
            chosen = np.zeros(springs.shape[:2])
            chosen[edges, types] = 1.0
            parts.append(chosen.ravel())
        return np.concatenate(parts, dtype=np.float64)

    def loss(self, y_true, y):
        return self._loss.value(_pose(y_true, "y_true"), _pose(y, "y"))

    # ---- scores of pixels ------------------------------------------------------------------------

    def scores(self, x, w):
        x, weights = checked_features(x, "x", self.n_features_in_), self.unpack(w)
        if np.any(weights["deformation"][:, :, ::2] < 0.0):
            raise ValueError("w has negative weights of squared displacements: see bounds()")
        maps = weights["filters"] @ x.reshape(-1, self.n_features_in_).T
        r, c = self.scales_[:, :1], self.scales_[:, 1:]
        units = np.stack([r**2, r, c**2, c], axis=-1)
        maps = maps.reshape(self.n_joints_, *x.shape[:2])
        deformation = weights["deformation"] / units
        return PoseScores(maps, self.edges_, deformation, self.anchors_, weights["bias"])

    def augment(self, scores, y_true):
        if not isinstance(scores, PoseScores):
            raise TypeError(f"scores must be PoseScores, got {type(scores).__name__}")
        shape = scores.maps.shape[1:]
        true = check_positions(_pose(y_true, "y_true")[:, :2], "y_true", len(scores.maps), shape)
        maps = scores.maps + self._loss.position_costs(true, shape)
        return PoseScores(maps, *(getattr(scores, name) for name in scores.__slots__[1:]))


def _pose(y, name):
    y = check.array(y, name)
    if y.ndim != 2 or y.shape[1] not in (2, 3) or len(y) == 0:
        raise ValueError(f"{name} must have shape (n_joints, 2) or (n_joints, 3), got {y.shape}")
    if np.any(y != np.rint(y)):
        raise ValueError(f"{name} must hold whole numbers, the row and the column of pixels")
    return y


def _tree_of_least_variance(poses):
    """Edges of the spanning tree whose displacements vary least; the first joint in doubt."""
    from scipy.sparse.csgraph import minimum_spanning_tree

    n_joints = poses.shape[1]
    a, b = np.triu_indices(n_joints, 1)
    variance = (poses[:, b] - poses[:, a]).var(axis=0).sum(axis=1)
    ranks = np.zeros((n_joints, n_joints))
    ranks[a, b] = 1 + np.argsort(np.argsort(variance, kind="stable"), kind="stable")
    return np.argwhere(minimum_spanning_tree(ranks).toarray())


def _resolve(task_loss):
    loss = resolve_task_loss(task_loss, ("distance",))
    if not callable(getattr(loss, "position_costs", None)):
        raise TypeError(f"task_loss={task_loss!r} has no method position_costs: take DistanceLoss")
    return loss
