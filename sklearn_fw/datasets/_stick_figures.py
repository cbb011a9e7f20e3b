"""Figures of sticks, with maps in which their joints show up among other things."""

import numpy as np
from sklearn.utils import Bunch

from .._core import check

# Joint, what it looks like, the joint before, and the mean displacement from there in units of the
# trunk: rows down, columns to the right.
FIGURE = [
    ("neck", "neck", None, (0.0, 0.0)),
    ("head", "head", "neck", (-0.45, 0.0)),
    ("left elbow", "elbow", "neck", (0.4, -0.4)),
    ("left hand", "hand", "left elbow", (0.3, -0.35)),
    ("right elbow", "elbow", "neck", (0.4, 0.4)),
    ("right hand", "hand", "right elbow", (0.3, 0.35)),
    ("hip", "hip", "neck", (1.0, 0.0)),
    ("left knee", "knee", "hip", (0.6, -0.25)),
    ("left foot", "foot", "left knee", (0.65, -0.1)),
    ("right knee", "knee", "hip", (0.6, 0.25)),
    ("right foot", "foot", "right knee", (0.65, 0.1)),
]
NAMES = [name for name, *_ in FIGURE]
LOOKS = list(dict.fromkeys(look for _, look, *_ in FIGURE))
EDGES = np.array([(NAMES.index(row[2]), j) for j, row in enumerate(FIGURE) if row[2]])
SWING = {"head": 15.0, "hip": 10.0, "elbow": 45.0, "hand": 60.0, "knee": 20.0, "foot": 20.0}


def make_stick_figures(
    n_samples=100, *, n_rows=64, n_columns=64, noise=0.3, n_distractors=3, random_state=None
):
    """Make noisy detector maps of stick figures, for poses of eleven joints.

    For each look of a joint (neck, head, elbow, hand, hip, knee, foot) there is a map with a spot
    at each joint with that look, left and right, and spots where there is nothing. Single joints
    are found half of the time at most: the others decide what is left or right, and which spot
    belongs to the figure.

    Parameters
    ----------
    n_samples : int, default=100
        Number of figures.
    n_rows, n_columns : int, default=64
        Rows and columns of an image, at least 32.
    noise : float, default=0.3
        Standard deviation of what is added to each pixel of the maps, whose spots are about 1 high.
    n_distractors : int, default=3
        Number of spots without a joint in each map.
    random_state : int, RandomState instance or None, default=None
        Source of random numbers.

    Returns
    -------
    Bunch
        ``X``: list of n_samples arrays (n_rows, n_columns, 7), the maps. ``y``: list of n_samples
        arrays (11, 2), rows and columns of the joints. ``images``: array (n_samples, n_rows,
        n_columns), drawings of the sticks. ``joint_names``, ``feature_names``: lists of
        str. ``edges``: array (10, 2), the sticks as pairs of joints.

    Examples
    --------
    >>> from sklearn_fw.datasets import make_stick_figures
    >>> figures = make_stick_figures(5, random_state=0)
    >>> figures.X[0].shape, figures.y[0].shape, figures.joint_names[:2]
    ((64, 64, 7), (11, 2), ['neck', 'head'])
    """
    n_samples = check.integer(n_samples, "n_samples", 1)
    shape = check.integer(n_rows, "n_rows", 32), check.integer(n_columns, "n_columns", 32)
    n_distractors = check.integer(n_distractors, "n_distractors", 0)
    noise, rng = check.moderate(noise, "noise"), check.random_state(random_state)
    poses = [_pose(rng, shape) for _ in range(n_samples)]
    return Bunch(
        X=[_maps(rng, pose, shape, noise, n_distractors) for pose in poses],
        y=poses,
        images=np.array([_picture(pose, shape) for pose in poses]),
        joint_names=list(NAMES),
        feature_names=list(LOOKS),
        edges=EDGES.copy(),
    )


def _pose(rng, shape):
    """Joints at pixels of the image, one after the other, each limb turned by a random angle."""
    while True:
        trunk = min(shape) / 3.5 * rng.uniform(0.75, 1.1)
        places = np.zeros((len(FIGURE), 2))
        places[0] = rng.uniform(0.2, 0.5) * shape[0], rng.uniform(0.25, 0.75) * shape[1]
        for j, (_, look, before, mean) in enumerate(FIGURE):
            if before is not None:
                turn = np.deg2rad(SWING[look] * rng.normal() * 0.7)
                length = trunk * rng.uniform(0.85, 1.15)
                down, right = length * np.array(mean)
                places[j] = places[NAMES.index(before)] + (
                    down * np.cos(turn) - right * np.sin(turn),
                    down * np.sin(turn) + right * np.cos(turn),
                )
        pose = np.rint(places).astype(np.int64)
        if np.all((pose >= 1) & (pose < np.array(shape) - 1)):
            return pose


def _maps(rng, pose, shape, noise, n_distractors):
    rows, columns = np.arange(shape[0])[:, None], np.arange(shape[1])
    maps = noise * rng.normal(size=(*shape, len(LOOKS)))
    for k, look in enumerate(LOOKS):
        spots = [pose[j] for j, row in enumerate(FIGURE) if row[1] == look]
        spots += [rng.randint(shape) for _ in range(n_distractors)]
        for row, column in spots:
            squares = (rows - row) ** 2 + (columns - column) ** 2
            maps[:, :, k] += rng.uniform(0.7, 1.3) * np.exp(-squares / (2 * 1.5**2))
    return maps


def _picture(pose, shape):
    """Sticks as ridges, a ring for the head."""
    rows, columns = np.arange(shape[0])[:, None], np.arange(shape[1])
    image = np.zeros(shape)
    for a, b in pose[EDGES].astype(np.float64):
        along = b - a
        length = along @ along or 1.0
        share = np.clip(((rows - a[0]) * along[0] + (columns - a[1]) * along[1]) / length, 0, 1)
        squares = (rows - a[0] - share * along[0]) ** 2 + (columns - a[1] - share * along[1]) ** 2
        image = np.maximum(image, np.exp(-squares / 1.2))
    head = pose[NAMES.index("head")]
    away = np.sqrt((rows - head[0]) ** 2 + (columns - head[1]) ** 2) - 2.5
    return np.maximum(image, np.exp(-(away**2)))
