"""Labels of the cells of grids."""

import itertools

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sklearn_fw import StructuredSVM
from sklearn_fw.structured import GraphModel, GridModel
from sklearn_fw.utils import Packed

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{ConvergenceWarning.__module__}.{ConvergenceWarning.__name__}"
)
CLOSE = {"rtol": 1e-9, "atol": 1e-10}
SIZES = {4: (4, 1), 8: (8, 2), 6: (6, 1), 18: (18, 2), 26: (26, 3)}


def make_grids(rng, n=12, shape=(3, 4), names=("no", "yes")):
    y = [np.array(names)[(rng.normal(size=shape) > 0).astype(int)] for _ in range(n)]
    X = [(labels == names[1])[..., None] + rng.normal(size=(*shape, 2)) for labels in y]
    return X, y


def neighbors(shape, n_differ):
    """Pairs of cells and their offsets, by brute force."""
    cells = list(itertools.product(*map(range, shape)))
    for (p, a), (q, b) in itertools.product(enumerate(cells), repeat=2):
        step = tuple(np.subtract(b, a))
        if p < q and max(map(abs, step)) == 1 and sum(map(abs, step)) <= n_differ:
            yield p, q, step


@pytest.mark.parametrize("size", SIZES)
def test_edges_are_all_neighbours_by_direction(rng, size):
    _, n_differ = SIZES[size]
    shape = (3, 4) if size in (4, 8) else (3, 2, 4)
    X, y = make_grids(rng, 2, shape)
    model = GridModel(neighborhood=size).initialize(X, y)
    assert 2 * len(model.offsets_) == size
    kinds = [pairs for pairs, _ in model.parts(X[0])[1]]
    found = {(*pair, *offset) for pairs, offset in zip(kinds, model.offsets_) for pair in pairs}
    assert found == {(p, q, *step) for p, q, step in neighbors(shape, n_differ)}
    assert sum(map(len, kinds)) == len(found)


def test_neighborhood_of_a_grid_search(rng):
    model = GridModel(neighborhood=np.array([4, 8])[1])
    assert len(model.initialize(*make_grids(rng)).offsets_) == 4


def test_grids_are_graphs(rng):
    X, y = make_grids(rng)
    grid = GridModel().initialize(X, y)
    parts = [grid.parts(x) for x in X]
    graphs = [(nodes, [pairs for pairs, _ in edges]) for nodes, edges in parts]
    graph = GraphModel().initialize(graphs, [labels.ravel() for labels in y])
    for x, own, labels in zip(X, graphs, y):
        expected = graph.joint_feature(own, labels.ravel())
        np.testing.assert_allclose(grid.joint_feature(x, labels), expected, **CLOSE)


def test_forms_of_data(rng):
    X, y = make_grids(rng)
    expected = StructuredSVM(C=0.1, random_state=0).fit(X, y)
    for form in (Packed.from_list, np.stack):
        svm = StructuredSVM("grid", C=0.1, random_state=0).fit(form(X), form(y))
        np.testing.assert_array_equal(svm.coef_, expected.coef_)
        np.testing.assert_array_equal(svm.predict(form(X))[2], expected.predict(X)[2])
    gray = [x[..., 0] for x in X]
    one, same = (
        StructuredSVM(C=0.1, random_state=0).fit(data, y)
        for data in (gray, [x[..., None] for x in gray])
    )
    np.testing.assert_array_equal(one.coef_, same.coef_)


def test_volumes_and_sizes_of_all_kinds(rng):
    shapes = [(2, 2, 3), (1, 1, 1), (3, 1, 2), (2, 3, 2)]
    y = [(rng.normal(size=shape) > 0).astype(int) for shape in shapes]
    X = [labels[..., None] + 0.1 * rng.normal(size=(*labels.shape, 1)) for labels in y]
    svm = StructuredSVM(C=10.0).fit(X, y)
    assert [labels.shape for labels in svm.predict(X)] == shapes
    assert svm.score(X, y) == 1.0


def test_shared_table_is_symmetric_and_directions_differ(rng):
    X, y = make_grids(rng)
    shared = GridModel(directional=False, neighborhood=8).initialize(X, y)
    w = rng.normal(size=shared.size_joint_feature)
    pairwise = shared.scores(X[0], w).pairwise
    np.testing.assert_allclose(pairwise, np.broadcast_to(pairwise[0].T, pairwise.shape), **CLOSE)
    assert GridModel(neighborhood=8).initialize(X, y).n_tables_ == 4


@pytest.mark.slow
def test_directions_are_learned(rng):
    """Stripes that go down one label at a time: what is above decides, features say nothing."""
    y = [np.tile((np.arange(5) + rng.integers(3))[:, None] % 3, (1, 3)) for _ in range(30)]
    X = [np.eye(3)[labels] * (np.arange(5) == 0)[:, None, None] for labels in y]
    free, shared = (
        StructuredSVM(GridModel(directional=directional), C=10.0, max_iter=100, random_state=0)
        .fit(X[:20], y[:20]).score(X[20:], y[20:])
        for directional in (True, False)
    )  # fmt: skip
    assert free > 0.95
    assert free > shared + 0.1


def test_contrast(rng):
    X, y = make_grids(rng)
    model = GridModel(contrast=True).initialize(X, y)
    (cells,), kinds = model.parts(X[0])
    squares = [np.sum((x[:, 1:] - x[:, :-1]) ** 2, axis=-1) for x in X]
    squares += [np.sum((x[1:] - x[:-1]) ** 2, axis=-1) for x in X]
    mean = np.concatenate([s.ravel() for s in squares]).mean()
    assert model.contrast_scale_ == pytest.approx(mean)
    pairs, z = kinds[0]
    far = np.sum((cells[pairs[:, 0]] - cells[pairs[:, 1]]) ** 2, axis=1)
    np.testing.assert_allclose(z, np.stack([np.ones(len(far)), np.exp(-far / mean)], axis=1))


@pytest.mark.parametrize(
    "settings, message",
    [
        ({"neighborhood": 6}, r"neighborhood must be 'auto' or one of \[4, 8\]"),
        ({"neighborhood": "all"}, "neighborhood must be 'auto' or one of"),
        ({"directional": 2}, "directional must be"),
        ({"contrast": "much"}, "contrast must be"),
    ],
)
def test_bad_parameters(rng, settings, message):
    with pytest.raises((TypeError, ValueError), match=message):
        StructuredSVM(GridModel(**settings)).fit(*make_grids(rng))


def test_bad_grids(rng):
    X, y = make_grids(rng)
    with pytest.raises(ValueError, match=r"y\[1\] must have the shape .* of X\[1\], got"):
        StructuredSVM("grid").fit(X, [y[0], y[1].T, *y[2:]])
    with pytest.raises(ValueError, match=r"y\[0\] must be an array of labels with 2 or 3"):
        StructuredSVM("grid").fit(X, [labels.ravel() for labels in y])
    with pytest.raises(ValueError, match="must have 2 or 3 axes, got shape"):
        StructuredSVM("grid").fit([X[0], X[1].ravel(), *X[2:]], y)
    with pytest.raises(ValueError, match="has 1 features, but 2 are expected"):
        StructuredSVM("grid").fit([X[0], X[1][..., :1], *X[2:]], y)
    svm = StructuredSVM("grid", C=0.1).fit(X, y)
    with pytest.raises(ValueError, match=r"y\[0\] has 4 labels, but X\[0\] has 12 nodes"):
        svm.score(X[:1], [y[0][:2, :2]])
