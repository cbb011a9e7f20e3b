"""Exact inference of poses: trees of joints on maps of pixels."""

from dataclasses import dataclass

import numpy as np

from ..._core import check
from ..._core.oracle import Oracle
from ..._core.scores import check_arrays, check_ends, check_sums, floats, integers, is_forest
from ..._kernels import lazy

distance_transform = lazy("graphs.distance_transform")
tree = lazy("graphs.tree")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PoseScores:
    """Scores of the poses of some joints: the input of `DistanceTransform`.

    A pose gives each joint a pixel. Its score, always maximized, is::

        sum_j maps[j, y_j] + sum_e max_t bias[e, t] - deformation[e, t] @ (dr^2, dr, dc^2, dc)

    with ``(dr, dc) = y_b - y_a - anchors[e, t]`` for edge ``(a, b) = edges[e]``.

    Parameters
    ----------
    maps : ndarray of shape (n_joints, n_rows, n_columns), float64
        Score of each pixel for each joint; ``-inf`` forbids it.
    edges : ndarray of shape (n_edges, 2), integer
        Joints that each edge joins, without cycles: a tree, or several.
    deformation : ndarray of shape (n_edges, n_types, 4), float64
        Costs of squared rows, rows, squared columns and columns; those of squares are not negative.
    anchors : ndarray of shape (n_edges, n_types, 2), float64
        Rows and columns by which ``b`` should be away from ``a``, whole numbers or not.
    bias : ndarray of shape (n_edges, n_types), float64
        Score of each type of an edge.

    See Also
    --------
    DistanceTransform : The oracle for these scores.
    sklearn_fw.structured.TreePoseModel : Learns them from images.

    Examples
    --------
    Two joints that want to be three columns apart, and are offered places at a distance of four.

    >>> import numpy as np
    >>> from sklearn_fw.inference import PoseScores
    >>> maps = np.zeros((2, 1, 6))
    >>> maps[0, 0, 0] = maps[1, 0, 4] = 2.0
    >>> scores = PoseScores.from_arrays(maps, [(0, 1)], [[1.0, 0.0, 1.0, 0.0]], [[0.0, 3.0]])
    >>> scores.value([(0, 0), (0, 4)])
    3.0
    """

    maps: np.ndarray
    edges: np.ndarray
    deformation: np.ndarray
    anchors: np.ndarray
    bias: np.ndarray

    __post_init__ = check_arrays

    @classmethod
    def from_arrays(cls, maps, edges=(), deformation=None, anchors=None, bias=None):
        """Convert and check arrays or nested lists.

        Parameters
        ----------
        maps, edges : array-like of shape (n_joints, n_rows, n_columns) and (n_edges, 2)
            Score of each pixel for each joint; joints that each edge joins.
        deformation : array-like of shape (n_edges, 4) or (n_edges, n_types, 4), default=None
            Costs of squared rows, rows, squared columns and columns. None without edges.
        anchors : array-like of shape (n_edges, 2) or (n_edges, n_types, 2), default=None
            Rows and columns by which the second joint should be away from the first; None for 0.
        bias : array-like of shape (n_edges, n_types), default=None
            Score of each type of an edge; None for 0.

        Returns
        -------
        scores : PoseScores
            The checked scores.
        """
        maps, edges = floats(maps, "maps"), integers(edges, "edges", 2)
        if deformation is None:
            if len(edges):
                raise ValueError("edges need deformation, but that is None")
            deformation = np.empty((0, 1, 4))
        deformation = _by_type(deformation, "deformation", 4)
        shape = deformation.shape[:2]
        anchors = np.zeros((*shape, 2)) if anchors is None else _by_type(anchors, "anchors", 2)
        bias = np.zeros(shape) if bias is None else floats(bias, "bias")
        return cls(maps, edges, deformation, anchors, bias)

    def check(self):
        """Return this object, or raise a ValueError that names the wrong array."""
        maps = self.maps
        if maps.ndim != 3 or 0 in maps.shape:
            raise ValueError(
                f"maps must have shape (n_joints, n_rows, n_columns) with at least one of each, "
                f"got {maps.shape}"
            )
        check_tree(self.edges, len(maps))
        n_edges = len(self.edges)
        n_types = self.deformation.shape[1] if self.deformation.ndim > 1 else 0
        for name, shape in (
            ("deformation", (n_edges, n_types, 4)),
            ("anchors", (n_edges, n_types, 2)),
            ("bias", (n_edges, n_types)),
        ):
            array = getattr(self, name)
            if array.shape != shape or n_types == 0:
                raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
            if array.dtype != np.float64 or not np.all(np.isfinite(array)):
                raise ValueError(f"{name} must hold finite numbers of type float64")
        if np.any(self.deformation[:, :, ::2] < 0.0):
            raise ValueError(
                "deformation must not be negative in places 0 and 2, the costs of squares: "
                "otherwise joints want to be as far away as they can"
            )
        if maps.dtype != np.float64 or not maps.max() < np.inf:
            raise ValueError("maps must hold finite numbers or -inf, of type float64")
        self._check_range()
        return self

    def _check_range(self):
        largest = np.abs(self.maps).max(where=np.isfinite(self.maps), initial=0.0)
        far = np.abs(self.anchors).max(initial=0.0) + max(self.maps.shape[1:])
        reach = np.array([far**2, far, far**2, far])
        with np.errstate(over="ignore"):
            springs = np.abs(self.deformation) @ reach + np.abs(self.bias)
        check_sums(max(largest, springs.max(initial=0.0)), 8 * len(self.maps))

    def value(self, positions):
        """Score of one pose with the best types, ``-inf`` if it is forbidden.

        Parameters
        ----------
        positions : array-like of shape (n_joints, 2), integer
            Row and column of each joint.
        """
        positions = check_positions(positions, "positions", len(self.maps), self.maps.shape[1:])
        value = self.maps[np.arange(len(self.maps)), positions[:, 0], positions[:, 1]].sum()
        ends = positions[self.edges]
        d = (ends[:, 1] - ends[:, 0])[:, None] - self.anchors
        d = np.stack([d[..., 0] ** 2, d[..., 0], d[..., 1] ** 2, d[..., 1]], axis=-1)
        return float(value + (self.bias - (self.deformation * d).sum(axis=-1)).max(axis=1).sum())

    def __repr__(self):
        n_joints, n_rows, n_columns = self.maps.shape
        return (
            f"PoseScores(n_joints={n_joints}, n_rows={n_rows}, n_columns={n_columns}, "
            f"n_edges={len(self.edges)}, n_types={self.bias.shape[1]})"
        )


def check_tree(edges, n_joints):
    check_ends(edges, n_joints, "joints")
    if not is_forest(edges.astype(np.int64), n_joints):
        raise ValueError("edges must form a tree: they have a cycle (a double edge is one, too)")


def check_positions(positions, name, n_joints, shape):
    positions = check.array(positions, name)
    if positions.shape != (n_joints, 2) or np.any(positions != np.rint(positions)):
        raise ValueError(
            f"{name} must hold the whole numbers of a row and a column for each of {n_joints} "
            f"joints, got shape {positions.shape}"
        )
    outside = np.any((positions < 0) | (positions >= np.array(shape)), axis=1)
    if outside.any():
        j = int(outside.argmax())
        raise ValueError(
            f"{name} places joint {j} at ({positions[j][0]:.0f}, {positions[j][1]:.0f}), outside "
            f"of the image of {shape[0]} x {shape[1]} pixels"
        )
    return positions.astype(np.int64)


def _by_type(array, name, width):
    array = floats(array, name)
    if array.size == 0 and array.ndim < 3:
        return np.empty((0, 1, width))
    return array[:, None] if array.ndim == 2 else array


class DistanceTransform(Oracle):
    """Best pose of a tree of joints, by generalized distance transforms.

    Maximizes the score of `PoseScores` exactly over all pixels for every joint, in time linear in
    the number of pixels. Choose it for pictorial structures such as people, hands and faces.

    See Also
    --------
    sklearn_fw.structured.TreePoseModel : Learns the scores from images.
    TreeMaxProduct : Trees with tables of any kind in place of squared distances.

    Notes
    -----
    Time n_joints * n_types * n_pixels. A message between two joints is the upper envelope of
    parabolas, first along rows, then along columns [1]_. Of several best positions a joint without
    parent takes the first, row by row, and so does every other joint given its parent.

    References
    ----------
    .. [1] P. F. Felzenszwalb, D. P. Huttenlocher, "Distance transforms of sampled functions",
       Theory of Computing 8, 415-428, 2012.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.inference import DistanceTransform, PoseScores
    >>> maps = np.zeros((2, 3, 8))
    >>> maps[0, 1, 1], maps[1, 1, 3], maps[1, 2, 7] = 2.0, 2.0, 2.5
    >>> scores = PoseScores.from_arrays(maps, [(0, 1)], [[0.1, 0.0, 0.1, 0.0]], [[0.0, 1.5]])
    >>> pose, value, upper_bound = DistanceTransform().argmax(scores)
    >>> pose.tolist(), round(value, 6)
    ([[1, 1], [1, 3]], 3.975)
    """

    exact = True

    def argmax(self, scores, start=None):
        """Best pose.

        Parameters
        ----------
        scores : PoseScores
            Maps of joints, and costs of edges.
        start : object, default=None
            Ignored.

        Returns
        -------
        pose : ndarray of shape (n_joints, 2) or (n_joints, 3), int64
            Row and column of each joint. Where edges have several types, a third column holds that
            of the edge to the parent, 0 for joints without one.
        value, upper_bound : float
            Its score, twice; ``-inf`` if every pose is forbidden.
        """
        if not isinstance(scores, PoseScores):
            raise TypeError(
                f"scores must be PoseScores, got {type(scores).__name__}: make them with "
                f"PoseScores.from_arrays"
            )
        springs = _towards_roots(scores)
        beliefs = scores.maps.copy(order="C")
        positions, types = np.empty((len(beliefs), 2), np.int64), np.empty(len(beliefs), np.int64)
        distance_transform.pose_upward(beliefs, *springs)
        distance_transform.pose_downward(beliefs, *springs, positions, types)
        value = scores.value(positions)
        has_types = scores.bias.shape[1] > 1
        return np.column_stack([positions, types]) if has_types else positions, value, value


def parents(edges, n_joints):
    """Parent of every joint as oracles see a tree, and its edge; -1 where there is none."""
    directed, source, _ = tree.orient_forest(np.array(edges, np.int64, order="C"), n_joints)
    parent, edge = np.full((2, n_joints), -1)
    parent[directed[:, 0]], edge[directed[:, 0]] = directed[:, 1], source
    return parent, edge


def _towards_roots(scores):
    edges = np.array(scores.edges, dtype=np.int64, order="C")
    directed, source, flipped = tree.orient_forest(edges, len(scores.maps))
    sign = np.where(flipped, 1.0, -1.0)[:, None]  # as they stand, edges lead from the child
    weights = scores.deformation[source]
    weights[:, :, 1] *= sign
    weights[:, :, 3] *= sign
    anchors = scores.anchors[source] * sign[:, :, None]
    return directed, weights, anchors, scores.bias[source]
