"""Image segmentation of horses: superpixels, graph cuts and the effect of edges."""

import itertools

import numpy as np
from _report import Clock, Repeats, data_path, in_child, main, medians, quietly
from scipy.ndimage import gaussian_filter
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from sklearn.cluster import MiniBatchKMeans

from sklearn_fw.structured import GraphCutModel, StructuredSVM
from sklearn_fw.task_losses import OverlapLoss

DIRECTIONS = 8
CELLS, CELL = 4, 5  # cells of a descriptor in each direction, and their size in pixels
STRIDE = 3  # of descriptors
PLACES = 6  # cells of the place in each direction
RATES = 0.5, 2.0, 8.0  # of exp(-rate * distance)


def to_lab(image):
    """CIE L*a*b* of an RGB image with numbers from 0 to 1."""
    linear = np.where(image > 0.04045, ((image + 0.055) / 1.055) ** 2.4, image / 12.92)
    matrix = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = linear @ (matrix / matrix.sum(axis=1, keepdims=True)).T
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    x, y, z = np.moveaxis(f, -1, 0)
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1)


def superpixels(lab, n_segments=250, compactness=12.0, n_rounds=8):
    height, width = lab.shape[:2]
    side = np.sqrt(height * width / n_segments)
    rows, columns = np.mgrid[:height, :width]
    place = np.stack([rows, columns], axis=-1) * (compactness / side)
    points = np.concatenate([lab, place], axis=2).reshape(-1, 5)
    inner = [np.arange(side / 2, size, side).astype(int) for size in (height, width)]
    centers = points.reshape(height, width, 5)[np.ix_(*inner)].reshape(-1, 5)
    for _ in range(n_rounds):
        nearest = cKDTree(centers).query(points)[1]
        counts = np.bincount(nearest, minlength=len(centers))
        sums = [np.bincount(nearest, values, len(centers)) for values in points.T]
        centers = np.stack(sums, axis=1)[counts > 0] / counts[counts > 0, None]
    return _connected(nearest.reshape(height, width), points, side**2 / 4)


def _pairs(labels):
    number = np.arange(labels.size).reshape(labels.shape)
    beside = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    above = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
    return np.concatenate([beside, above])


def _connected(labels, points, least):
    """Connected segments of some size: small components join the neighbor that they look like."""
    pairs, flat = _pairs(labels), labels.ravel()
    same = pairs[flat[pairs[:, 0]] == flat[pairs[:, 1]]]
    graph = coo_array((np.ones(len(same)), same.T), shape=(flat.size, flat.size))
    flat = connected_components(graph, directed=False)[1]
    while True:
        counts = np.bincount(flat)
        small = counts < least
        ends = flat[pairs]
        ends = ends[ends[:, 0] != ends[:, 1]]
        ends = np.concatenate([ends, ends[:, ::-1]])
        ends = ends[small[ends[:, 0]]]
        if not len(ends):
            return flat.reshape(labels.shape)
        means = np.stack([np.bincount(flat, values) for values in points.T], 1) / counts[:, None]
        far = np.square(means[ends[:, 0]] - means[ends[:, 1]]).sum(axis=1)
        order = np.argsort(far)
        first = np.unique(ends[order, 0], return_index=True)[1]
        a, b = ends[order[first]].T
        graph = coo_array((np.ones(len(a)), (a, b)), shape=(len(counts),) * 2)
        flat = connected_components(graph, directed=False)[1][flat]


def descriptors(gray):
    """Histograms of gradient directions around the pixels of a grid, and where these are."""
    gray = gaussian_filter(gray, 1.0)
    down, right = np.gradient(gray)
    size, angle = np.hypot(down, right), np.arctan2(down, right) * DIRECTIONS / (2 * np.pi)
    maps = []
    for k in range(DIRECTIONS):
        near = np.abs((angle - k + DIRECTIONS / 2) % DIRECTIONS - DIRECTIONS / 2)
        maps.append(gaussian_filter(size * np.maximum(1.0 - near, 0.0), CELL / 2))
    reach = CELL * CELLS // 2
    maps = np.pad(np.stack(maps, axis=-1), ((reach, reach), (reach, reach), (0, 0)), mode="reflect")
    rows, columns = (np.arange(STRIDE // 2, length, STRIDE) for length in gray.shape)
    offsets = CELL * np.arange(CELLS) + CELL // 2
    cells = [maps[np.ix_(rows + a, columns + b)] for a in offsets for b in offsets]
    found = np.concatenate(cells, axis=-1).reshape(-1, CELLS**2 * DIRECTIONS)
    found /= np.linalg.norm(found, axis=1, keepdims=True) + 0.02
    return found.astype(np.float32), (rows[:, None] * gray.shape[1] + columns).ravel()


class View:
    """An image (height, width, 3) of numbers from 0 to 1 as pixels, segments and descriptors."""

    def __init__(self, image, n_segments=250):
        self.lab = to_lab(image)
        self.segments = superpixels(self.lab, n_segments)
        self.areas = np.bincount(self.segments.ravel())
        self.descriptors, self.at = descriptors(self.lab[..., 0] / 100.0)
        self.size = np.hypot(*np.gradient(gaussian_filter(self.lab, (1, 1, 0)), axis=(0, 1)))
        self.size = np.sqrt(np.square(self.size).sum(axis=-1))
        self._find_edges()

    def _find_edges(self):
        """Neighbors, lengths of their borders and mean contrast along them."""
        pairs = _pairs(self.segments)
        ends = np.sort(self.segments.ravel()[pairs], axis=1)
        crosses = ends[:, 0] != ends[:, 1]
        ends, contrast = ends[crosses], self.size.ravel()[pairs[crosses]].mean(axis=1)
        self.edges, number = np.unique(ends, axis=0, return_inverse=True)
        self.lengths = np.bincount(number.ravel())
        self.contrast = np.bincount(number.ravel(), contrast) / self.lengths

    @property
    def n_nodes(self):
        return len(self.areas)

    def share(self, mask):
        return np.bincount(self.segments.ravel(), mask.ravel()) / self.areas

    def histograms(self, codes, n_codes, at=None):
        """How often each code occurs in each segment, as shares."""
        where = self.segments.ravel() if at is None else self.segments.ravel()[at]
        counts = np.bincount(where * n_codes + codes, minlength=self.n_nodes * n_codes)
        counts = counts.reshape(self.n_nodes, n_codes).astype(float)
        return counts / np.maximum(counts.sum(axis=1, keepdims=True), 1.0)

    def places(self):
        """Shares of the pixels of each segment in the cells of a grid."""
        height, width = self.segments.shape
        rows, columns = np.mgrid[:height, :width]
        codes = rows * PLACES // height * PLACES + columns * PLACES // width
        return self.histograms(codes.ravel(), PLACES**2)

    def averages(self, rows):
        a, b = self.edges.T
        ones, shape = np.ones(2 * len(a)), (self.n_nodes, self.n_nodes)
        matrix = csr_array((ones, (np.r_[a, b], np.r_[b, a])), shape=shape)
        counts = np.maximum(matrix.sum(axis=1), 1.0)
        return (matrix @ rows) / np.asarray(counts).reshape(-1, 1)


class Words:
    """Words of color and of texture, learned from some views."""

    def __init__(self, views, n_colors=64, n_textures=150, seed=0):
        rng = np.random.default_rng(seed)
        pixels = np.concatenate([_some(view.lab.reshape(-1, 3), 2000, rng) for view in views])
        texture = np.concatenate([_some(view.descriptors, 500, rng) for view in views])
        self.colors = _clusters(pixels, n_colors, seed)
        self.textures = _clusters(texture, n_textures, seed)

    def graph(self, view, with_edges=True):
        """The input of a model: features, edges, edge features, and areas as shares."""
        color, texture = self.histograms(view)
        own = np.hstack([np.sqrt(color), np.sqrt(texture)])
        near = view.averages(own)
        features = np.hstack([own, near, view.averages(near), view.places()])
        weights = view.areas / view.areas.sum()
        if not with_edges:
            return features, np.empty((0, 2), np.int64), None, weights
        return features, view.edges, self.edge_features(view, color, texture), weights

    def histograms(self, view):
        """Words of color and of texture in each segment, as shares."""
        color = cKDTree(self.colors).query(view.lab.reshape(-1, 3))[1]
        near = view.descriptors @ self.textures.T - 0.5 * np.square(self.textures).sum(axis=1)
        return (
            view.histograms(color, len(self.colors)),
            view.histograms(near.argmax(axis=1), len(self.textures), view.at),
        )

    def edge_features(self, view, color, texture):
        """How alike neighbors are, times the length of their border."""
        a, b = view.edges.T
        likeness = [np.ones(len(a))]
        distances = [_chi2(rows[a], rows[b]) for rows in (color, texture)]
        distances.append(view.contrast / 10.0)
        for far in distances:
            likeness += [np.exp(-rate * far) for rate in RATES]
        side = np.sqrt(view.areas.mean())
        return np.stack(likeness, axis=1) * (view.lengths / side)[:, None]


def _chi2(a, b):
    total = a + b
    return 0.5 * np.sum((a - b) ** 2 / np.where(total > 0, total, 1.0), axis=1)


def _some(rows, n_most, rng):
    return rows[rng.permutation(len(rows))[:n_most]]


def _clusters(rows, n_clusters, seed):
    model = MiniBatchKMeans(n_clusters, random_state=seed, n_init=1, batch_size=4096, max_iter=30)
    return model.fit(rows).cluster_centers_


N_SPLITS, TRAIN_SHARE, HELD_OUT = 5, 0.6, 0.25
GRID = 3e-4, 1e-3, 3e-3, 1e-2
LOSSES = "balanced", "overlap"
N_SEGMENTS = 250
TOLERANCE, MOST_PASSES = 0.1, 100
CLOSE = 0.01  # relative gap of the race
LEAST_GAIN = 5.0  # points of intersection over union
LEAST_SPEED_UP, MOST_CALLS = 1.7, 1.15
ABOUT = """
100 photographs of the Weizmann horses with their masks (E. Borenstein, S. Ullman, ECCV 2002; for
research), each divided into about 250 superpixels. Node features are histograms of visual words of
color and texture in a superpixel, its neighbors and their neighbors, as in A. Osokin et al. (ICML
2016), and its position. Edge features are the length of the border, alone and times
``exp(-rate * distance)`` for distances of colors, of textures, and for the contrast along the
border. Visual words are learned from training images only.

Both contenders are ``StructuredSVM(GraphCutModel())`` with the same node features, one with edges
and one without ("nodes only"). C and the loss are chosen by the intersection over union on a
quarter of the training images, on the same grid. The loss is "balanced", the default (mean of the
fractions of missed horse pixels and of false horse pixels), or ``OverlapLoss([1])``. "Default" is a
fit without arguments.
"""


def load(n_images=None):
    from matplotlib.image import imread

    views, masks = [], []
    for file in sorted((data_path("horses") / "img").glob("*.jpg"))[:n_images]:
        image = imread(file)
        views.append(View(image[..., :3] / 255.0, N_SEGMENTS))
        masks.append(imread(file.parents[1] / "mask" / f"{file.stem}.png") > 0.5)
    return views, masks


def split(n, seed):
    """Indices of training, validation and test images."""
    order = np.random.default_rng(seed).permutation(n)
    cut = int(TRAIN_SHARE * n)
    held = int(HELD_OUT * cut)
    return order[held:cut], order[:held], order[cut:]


def graphs(views, masks, learned_from, with_edges=True):
    words = Words([views[i] for i in learned_from])
    X = [words.graph(view, with_edges) for view in views]
    return X, [(view.share(mask) > 0.5).astype(int) for view, mask in zip(views, masks)]


def fitted(X, y, loss="balanced", **settings):
    model = GraphCutModel(OverlapLoss([1]) if loss == "overlap" else "auto")
    return quietly(StructuredSVM(model, random_state=0, **settings).fit, X, y)


def quality(svm, X, views, masks):
    """Mean intersection over union, and share of the pixels that are right, in percent."""
    overlap, right = [], []
    for made, view, mask in zip(svm.predict(X), views, masks):
        horse = made.astype(bool)[view.segments]
        overlap.append(np.sum(horse & mask) / max(np.sum(horse | mask), 1))
        right.append(np.mean(horse == mask))
    return 100 * float(np.mean(overlap)), 100 * float(np.mean(right))


def measure_split(seed, n_images, grid):
    views, masks = load(n_images)
    train, held, test = split(len(views), seed)
    found = {}
    for name, with_edges in (("nodes only", False), ("graph cut", True)):
        X, y = graphs(views, masks, [*train, *held], with_edges)

        def of(numbers, things):
            return [things[i] for i in numbers]

        scores = {}
        budget = {"tol": TOLERANCE, "max_iter": MOST_PASSES}
        for C, loss in itertools.product(grid, LOSSES):
            svm = fitted(of(train, X), of(train, y), C=C, loss=loss, **budget)
            scores[C, loss] = quality(svm, of(held, X), of(held, views), of(held, masks))[0]
        C, loss = max(scores, key=scores.get)
        both = [*train, *held]
        for kind, settings in (("tuned", {"C": C, "loss": loss, **budget}), ("default", {})):
            with Clock() as clock:
                svm = fitted(of(both, X), of(both, y), **settings)
            overlap, right = quality(svm, of(test, X), of(test, views), of(test, masks))
            found[f"{name}, {kind}"] = {
                "overlap": overlap, "right": right, "C": svm.C_, "seconds": clock.cpu,
                "loss": settings.get("loss", "balanced"),
            }  # fmt: skip
    return found


def edges(report, options):
    report.section("Segmentation with and without edges")
    n_splits, n_images, grid = N_SPLITS, None, GRID
    if options.quick:
        n_splits, n_images, grid = 1, 20, GRID[2:3]
    data_path("horses")
    splits = [in_child(measure_split, seed, n_images, grid) for seed in range(n_splits)]
    report.text(f"""Mean intersection over union of the horse ("overlap") and accuracy of pixels on
        the test images, in percent; CPU seconds of the last fit. {int(100 * TRAIN_SHARE)} images
        are for training, the others for the test. Medians of {n_splits} splits; the loss is that of
        the first split.""")
    report.records(
        "contender", {name: medians([found[name] for found in splits]) for name in splits[0]},
        ("overlap", "overlap", ".1f"), ("accuracy", "right", ".1f"), ("loss", "loss"),
        ("C", "C", ".2g"), ("seconds", "seconds", ".1f"),
    )  # fmt: skip
    gains = {
        kind: [s[f"graph cut, {kind}"]["overlap"] - s[f"nodes only, {kind}"]["overlap"]
               for s in splits]
        for kind in ("tuned", "default")
    }  # fmt: skip
    regret = [s["graph cut, tuned"]["overlap"] - s["graph cut, default"]["overlap"] for s in splits]
    report.goals(
        ("gain of edges in overlap, points, tuned", Repeats(gains["tuned"]), LEAST_GAIN, ">="),
        ("gain of edges in overlap, points, defaults", Repeats(gains["default"]), LEAST_GAIN, ">="),
        ("overlap, tuned minus default, points", Repeats(regret), 1.5, "<="),
    )
    report.keep(splits=splits)


def measure_solver(name, n_jobs, n_images):
    """Calls and seconds to a small gap, after a fit that loads everything."""
    views, masks = load(n_images)
    train, held, _ = split(len(views), 0)
    numbers = [*train, *held]
    X, y = graphs(views, masks, numbers)
    X, y = [X[i] for i in numbers], [y[i] for i in numbers]
    settings = {"solver": name, "n_jobs": n_jobs, "C": 1e-3}
    fitted(X[:4], y[:4], max_iter=2, **settings)
    with Clock() as clock:
        svm = fitted(X, y, tol=CLOSE, max_iter=2000, **settings)
    calls = svm.n_oracle_calls_
    return {"calls": calls, "seconds": clock.wall, "cpu": clock.cpu, "rate": calls / clock.wall}


def solvers(report, options):
    report.section("Oracle calls of solvers")
    data_path("horses")
    runs = {
        "cached": ("cached", None), "bcpfw": ("bcpfw", None),
        "minibatch, one worker": ("minibatch", 1), "minibatch, two workers": ("minibatch", 2),
    }  # fmt: skip
    found = {
        name: medians([
            in_child(measure_solver, *run, 20 if options.quick else None)
            for _ in range(options.repeat)
        ])
        for name, run in runs.items()
    }  # fmt: skip
    report.text(f"""Calls and wall seconds to a duality gap of {100 * CLOSE:g} % of the objective at
        C = 0.001, on the 60 training images of the first split. Calls per second are those of the
        whole fit.""")
    report.records(
        "solver", found, ("calls", "calls"), ("seconds", "seconds", ".1f"),
        ("CPU seconds", "cpu", ".1f"), ("calls per second", "rate", ".0f"),
    )  # fmt: skip
    one, two = found["minibatch, one worker"], found["minibatch, two workers"]
    report.goals(
        ("calls per second, two workers / one", float(two["rate"]) / float(one["rate"]),
         LEAST_SPEED_UP, ">="),
        ("calls, two workers / one", float(two["calls"]) / float(one["calls"]),
         MOST_CALLS, "<="),
    )  # fmt: skip


if __name__ == "__main__":
    parts = {"edges": edges, "solvers": solvers}
    raise SystemExit(main("horses", "Image segmentation: Weizmann horses", ABOUT, parts))
