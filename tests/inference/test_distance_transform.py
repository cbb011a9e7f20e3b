"""Poses by distance transforms against all positions of all joints."""

import itertools

import numpy as np
import pytest

from sklearn_fw.inference import DistanceTransform, PoseScores

WEIGHTS = [0.0, 5e-324, 1e-300, 1e-9, 1e-3, 1.0, 1e6]  # of squares


def random_problem(rng, kind):
    n_joints = int(rng.integers(1, 4))
    shape = rng.integers(1, 5 if n_joints < 3 else 4, size=2)
    names = rng.permutation(n_joints)
    edges = [
        (names[i], names[rng.integers(i)])[:: rng.choice([-1, 1])]
        for i in range(1, n_joints)
        if rng.random() < 0.9
    ]
    springs = len(edges), 3 if kind == "types" else 1
    maps = rng.normal(size=(n_joints, *shape))
    deformation = rng.normal(size=(*springs, 4))
    deformation[:, :, ::2] = np.abs(deformation[:, :, ::2])
    anchors = 2.0 * rng.normal(size=(*springs, 2))
    if kind == "ties":
        maps, deformation = rng.integers(-1, 2, maps.shape) * 1.0, np.rint(deformation)
        anchors = np.rint(anchors)
    if kind == "flat":
        deformation[:, :, ::2] *= rng.choice(WEIGHTS, size=(*springs, 2))
    if kind == "squares alone":
        deformation[:, :, 1::2] = 0.0
    if kind == "forbidden":
        maps[rng.random(maps.shape) < 0.4] = -np.inf
    if kind == "large":
        maps *= 1e8
    return PoseScores.from_arrays(
        maps, edges, deformation, anchors, rng.normal(size=springs) if kind == "types" else None
    )


def best_value(scores):
    """The score of the best pose: every joint at every pixel."""
    n_joints, *shape = scores.maps.shape
    pixels = np.array(list(itertools.product(*map(range, shape))))
    best = -np.inf
    for places in itertools.product(range(len(pixels)), repeat=n_joints):
        y = pixels[list(places)]
        value = sum(scores.maps[j, r, c] for j, (r, c) in enumerate(y))
        for (a, b), costs, anchors, bias in zip(
            scores.edges, scores.deformation, scores.anchors, scores.bias
        ):
            types = []
            for cost, anchor, own in zip(costs, anchors, bias):
                r, c = y[b] - y[a] - anchor
                types.append(own - cost @ [r * r, r, c * c, c])
            value += max(types)
        best = max(best, value)
    return best


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["normal", "ties", "flat", "squares alone", "forbidden", "large", "types"]
)
def test_all_positions(kind, rng):
    oracle = DistanceTransform()
    assert oracle.exact
    for _ in range(40):
        scores = random_problem(rng, kind)
        for name in scores.__slots__:
            getattr(scores, name).flags.writeable = False
        pose, value, upper_bound = oracle.argmax(scores)
        best = best_value(scores)
        assert value == pytest.approx(best, rel=1e-12, abs=1e-12)
        assert upper_bound == value
        has_types = scores.bias.shape[1] > 1
        assert pose.shape == (len(scores.maps), 2 + has_types)
        assert scores.value(pose[:, :2]) == value
        if has_types and len(scores.edges):
            assert pose[:, 2].max() < scores.bias.shape[1]


@pytest.mark.slow
def test_long_lines_against_all_pairs(rng):
    """Envelopes of many parabolas, with anchors between pixels and outside of the image."""
    for _ in range(20):
        n = 300
        scores = PoseScores.from_arrays(
            np.cumsum(rng.normal(size=(2, 1, n)), axis=2), [(0, 1)],
            [[0.0, 0.0, 10.0 ** rng.uniform(-6, 1), rng.normal()]],
            [[0.0, rng.choice([0.0, 0.5, 17.3, -400.0])]],
        )  # fmt: skip
        d = np.arange(n) - np.arange(n)[:, None] - scores.anchors[0, 0, 1]
        cost = scores.deformation[0, 0, 2] * d**2 + scores.deformation[0, 0, 3] * d
        best = (scores.maps[0, 0][:, None] + scores.maps[1, 0] - cost).max()
        assert DistanceTransform().argmax(scores)[1] == pytest.approx(best, rel=1e-12, abs=1e-9)


def test_nothing_allowed():
    maps = np.zeros((2, 2, 2))
    maps[1] = -np.inf
    scores = PoseScores.from_arrays(maps, [(1, 0)], np.ones((1, 4)))
    pose, value, upper_bound = DistanceTransform().argmax(scores)
    assert value == upper_bound == -np.inf
    assert pose.shape == (2, 2)


MAPS, SPRING = np.zeros((2, 3, 4)), np.ones((1, 4))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((MAPS[0],), r"maps must have shape \(n_joints, n_rows, n_columns\)"),
        ((MAPS, [(0, 1), (1, 0)], np.ones((2, 4))), "edges must form a tree: they have a cycle"),
        ((MAPS, [(1, 1)], SPRING), r"edges must join two different joints, got \(1, 1\)"),
        ((MAPS, [(0, 2)], SPRING), "edges must name joints 0 to 1, got 0 to 2"),
        ((MAPS, [(0, 1)]), "edges need deformation"),
        ((MAPS, [(0, 1)], np.ones((2, 4))), r"deformation must have shape \(1, 1, 4\)"),
        ((MAPS, [(0, 1)], SPRING, np.zeros((1, 3))), r"anchors must have shape \(1, 1, 2\)"),
        ((MAPS, [(0, 1)], -SPRING), "deformation must not be negative in places 0 and 2"),
        ((MAPS + 1e306, [(0, 1)], SPRING), "may leave the range of float64"),
    ],
)
def test_refused(given, message):
    with pytest.raises(ValueError, match=message):
        PoseScores.from_arrays(*given)


def test_positions_outside_of_the_image():
    scores = PoseScores.from_arrays(MAPS, [(0, 1)], SPRING)
    with pytest.raises(ValueError, match=r"joint 1 at \(0, 4\), outside of the image of 3 x 4"):
        scores.value([(0, 0), (0, 4)])
    with pytest.raises(TypeError, match="scores must be PoseScores, got ndarray"):
        DistanceTransform().argmax(MAPS)
