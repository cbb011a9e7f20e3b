"""Images as graphs of superpixels: segments, what they look like, and how alike neighbours are.

Segments by k-means on colour and place (R. Achanta et al., "SLIC superpixels", PAMI 2012), with
components that are too small given to a neighbour. Words of texture are clusters of histograms of
gradient directions in 4 x 4 cells (D. Lowe, IJCV 2004); features of segments and of edges follow
A. Osokin et al., ICML 2016, appendix I, in a smaller form.
"""

import numpy as np
from scipy.ndimage import gaussian_filter
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree
from sklearn.cluster import MiniBatchKMeans

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
    """Number of the segment of each pixel."""
    height, width = lab.shape[:2]
    side = np.sqrt(height * width / n_segments)
    rows, columns = np.mgrid[:height, :width]
    place = np.stack([rows, columns], axis=-1) * (compactness / side)
    points = np.concatenate([lab, place], axis=2).reshape(-1, 5)
    inner = [np.arange(side / 2, size, side).astype(int) for size in (height, width)]
    centres = points.reshape(height, width, 5)[np.ix_(*inner)].reshape(-1, 5)
    for _ in range(n_rounds):
        nearest = cKDTree(centres).query(points)[1]
        counts = np.bincount(nearest, minlength=len(centres))
        sums = [np.bincount(nearest, values, len(centres)) for values in points.T]
        centres = np.stack(sums, axis=1)[counts > 0] / counts[counts > 0, None]
    return _connected(nearest.reshape(height, width), points, side**2 / 4)


def _pairs(labels):
    """Pixels beside and above each other."""
    number = np.arange(labels.size).reshape(labels.shape)
    beside = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    above = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
    return np.concatenate([beside, above])


def _connected(labels, points, least):
    """Connected segments of some size: small components join the neighbour that they look like."""
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
    """An image as pixels, segments and descriptors.

    Parameters
    ----------
    image : ndarray of shape (height, width, 3)
        Colours from 0 to 1.
    n_segments : int
        About how many segments to make.
    """

    def __init__(self, image, n_segments=250):
        self.lab = to_lab(image)
        self.segments = superpixels(self.lab, n_segments)
        self.areas = np.bincount(self.segments.ravel())
        self.descriptors, self.at = descriptors(self.lab[..., 0] / 100.0)
        self.size = np.hypot(*np.gradient(gaussian_filter(self.lab, (1, 1, 0)), axis=(0, 1)))
        self.size = np.sqrt(np.square(self.size).sum(axis=-1))
        self._find_edges()

    def _find_edges(self):
        """Neighbours, lengths of their borders and mean contrast along them."""
        pairs = _pairs(self.segments)
        ends = np.sort(self.segments.ravel()[pairs], axis=1)
        crosses = ends[:, 0] != ends[:, 1]
        ends, contrast = ends[crosses], self.size.ravel()[pairs[crosses]].mean(axis=1)
        self.edges, number = np.unique(ends, axis=0, return_inverse=True)
        self.lengths = np.bincount(number.ravel())
        self.contrast = np.bincount(number.ravel(), contrast) / self.lengths

    @property
    def n_nodes(self):
        """Number of segments."""
        return len(self.areas)

    def share(self, mask):
        """Share of the pixels of each segment that a mask takes."""
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
        """Mean over the neighbours of each segment."""
        a, b = self.edges.T
        ones, shape = np.ones(2 * len(a)), (self.n_nodes, self.n_nodes)
        matrix = csr_array((ones, (np.r_[a, b], np.r_[b, a])), shape=shape)
        counts = np.maximum(matrix.sum(axis=1), 1.0)
        return (matrix @ rows) / np.asarray(counts).reshape(-1, 1)


class Words:
    """Words of colour and of texture, learned from some views.

    Parameters
    ----------
    views : list of View
        What to learn from.
    n_colours, n_textures : int
        Numbers of words.
    seed : int
        Of the clusters.
    """

    def __init__(self, views, n_colours=64, n_textures=150, seed=0):
        rng = np.random.default_rng(seed)
        pixels = np.concatenate([_some(view.lab.reshape(-1, 3), 2000, rng) for view in views])
        texture = np.concatenate([_some(view.descriptors, 500, rng) for view in views])
        self.colours = _clusters(pixels, n_colours, seed)
        self.textures = _clusters(texture, n_textures, seed)

    def graph(self, view, with_edges=True):
        """The input of a model: features, edges, edge features, and areas as shares."""
        colour, texture = self.histograms(view)
        own = np.hstack([np.sqrt(colour), np.sqrt(texture)])
        near = view.averages(own)
        features = np.hstack([own, near, view.averages(near), view.places()])
        weights = view.areas / view.areas.sum()
        if not with_edges:
            return features, np.empty((0, 2), np.int64), None, weights
        return features, view.edges, self.edge_features(view, colour, texture), weights

    def histograms(self, view):
        """Words of colour and of texture in each segment, as shares."""
        colour = cKDTree(self.colours).query(view.lab.reshape(-1, 3))[1]
        near = view.descriptors @ self.textures.T - 0.5 * np.square(self.textures).sum(axis=1)
        return (
            view.histograms(colour, len(self.colours)),
            view.histograms(near.argmax(axis=1), len(self.textures), view.at),
        )

    def edge_features(self, view, colour, texture):
        """How alike neighbours are, times the length of their border."""
        a, b = view.edges.T
        likeness = [np.ones(len(a))]
        distances = [_chi2(rows[a], rows[b]) for rows in (colour, texture)]
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
