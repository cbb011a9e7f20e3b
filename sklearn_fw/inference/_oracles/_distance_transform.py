"""Exact inference of poses: trees of joints on maps of pixels."""

import numpy as np

from ..._core.oracle import Oracle
from ..._kernels import lazy
from .._pose_scores import PoseScores

distance_transform = lazy("graphs.distance_transform")
tree = lazy("graphs.tree")


class DistanceTransform(Oracle):
    """Best pose of a tree of joints, by generalised distance transforms.

    Maximises the score of `PoseScores` exactly over all pixels for every joint, in time linear in
    the number of pixels. Choose it for pictorial structures: people, hands, faces and whatever else
    is made of parts that springs hold together.

    Attributes
    ----------
    exact : bool
        True: ``value`` and ``upper_bound`` are equal in every answer.

    See Also
    --------
    sklearn_fw.structured.TreePoseModel : Learns the scores from images.
    TreeMaxProduct : Trees with tables of any kind in place of squared distances.

    Notes
    -----
    Time n_joints * n_types * n_pixels. A message between two joints maximises over all pairs of
    pixels: it is the upper envelope of parabolas, first along rows, then along columns [1]_.
    Linear costs, anchors between pixels and squares without costs are taken as they are. Of several
    best positions a joint without parent takes the first, row by row, and so does every other joint
    given its parent. The object keeps nothing between calls, which may come from several threads.

    References
    ----------
    .. [1] P. F. Felzenszwalb, D. P. Huttenlocher, "Distance transforms of sampled functions",
       Theory of Computing 8, 415-428, 2012. doi:10.4086/toc.2012.v008a019
    .. [2] P. F. Felzenszwalb, D. P. Huttenlocher, "Pictorial structures for object recognition",
       International Journal of Computer Vision 61, 55-79, 2005.
    .. [3] Y. Yang, D. Ramanan, "Articulated pose estimation with flexible mixtures-of-parts",
       CVPR 2011: types of edges.

    Examples
    --------
    The second joint sees two places; the one near the first joint is the better one of both.

    >>> import numpy as np
    >>> from sklearn_fw.inference import DistanceTransform, PoseScores
    >>> maps = np.zeros((2, 3, 8))
    >>> maps[0, 1, 1], maps[1, 1, 3], maps[1, 2, 7] = 2.0, 2.0, 2.5
    >>> scores = PoseScores.from_arrays(maps, [(0, 1)], [[0.1, 0.0, 0.1, 0.0]], [[0.0, 1.5]])
    >>> pose, value, upper_bound = DistanceTransform().argmax(scores)
    >>> pose
    array([[1, 1],
           [1, 3]])
    >>> round(value, 6)
    3.975
    """

    exact = True

    def argmax(self, scores, start=None):
        """Best pose.

        Parameters
        ----------
        scores : PoseScores
            Maps of joints, and costs of edges.
        start : object, default=None
            Ignored: an exact answer needs no first guess.

        Returns
        -------
        pose : ndarray of shape (n_joints, 2) or (n_joints, 3), int64
            Row and column of each joint. Where edges have several types, a third column holds that
            of the edge to the parent, 0 for joints without one.
        value : float
            Its score, ``-inf`` if every pose is forbidden.
        upper_bound : float
            The same number.
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
    """Edges (child, parent), leaves first, with costs of the displacement from the parent."""
    edges = np.array(scores.edges, dtype=np.int64, order="C")
    directed, source, flipped = tree.orient_forest(edges, len(scores.maps))
    sign = np.where(flipped, 1.0, -1.0)[:, None]  # as they stand, edges lead from the child
    weights = scores.deformation[source]
    weights[:, :, 1] *= sign
    weights[:, :, 3] *= sign
    anchors = scores.anchors[source] * sign[:, :, None]
    return directed, weights, anchors, scores.bias[source]
