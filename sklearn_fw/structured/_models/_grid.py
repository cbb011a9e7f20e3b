"""Images and volumes: a label for each cell of a grid."""

import itertools
from dataclasses import KW_ONLY
from numbers import Integral

import numpy as np

from ..._core import check
from ..._core.scores import as_array
from ._labeled import LabeledParts
from ._parts import Sample
from ._ragged import n_dims

# How far apart neighbors are, as the number of coordinates in which they differ.
NEIGHBORHOODS = {2: {4: 1, 8: 2}, 3: {6: 1, 18: 2, 26: 3}}


class GridModel(LabeledParts):
    """Labels of the cells of grids: pixels of images, voxels of volumes.

    The score of the labels y is linear in the weights::

        sum_p <W[:, y_p], x_p> + intercept[y_p] + sum_pq sum_f z_pqf T[direction of pq, f][y_p, y_q]

    with the features x_p of cell p and sums over pairs of neighbors, q right of or below p.
    Choose it for segmentation, restoration and puzzles; for superpixels there is `GraphModel`.

    Parameters
    ----------
    task_loss : {"auto", "hamming", "hamming_sum", "zero_one"}, array-like of shape \
            (n_classes, n_classes) or TaskLoss, default="auto"
        Fraction of the cells with a wrong label, their number, one if any is wrong, a matrix of
        costs (rows: truth, in the order of ``classes_``), or another loss that is a sum over cells.
        "auto" trains by the number and evaluates by the fraction.
    neighborhood : {"auto", 4, 8, 6, 18, 26}, default="auto"
        Number of neighbors of a cell: 4 ("auto") or 8 in images, 6 ("auto"), 18 or 26 in volumes.
    directional : bool, default=True
        Give each direction a table of its own; otherwise all share a symmetric one.
    contrast : bool, default=False
        Add an edge feature that decreases with the distance of the features of both ends,
        ``exp(-|x_p - x_q|^2 / s)`` with the mean ``s`` of the squared distances in training, so
        that labels change where the image does.
    class_weight : dict, "balanced" or None, default=None
        Factors of the cost of a cell by its true label in training; not with "zero_one".
    fit_intercept : bool, default=True
        Append a constant feature (regularized) to cells.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels, sorted.
    class_weight_ : ndarray of shape (n_classes,)
        Resolved class weights.
    n_features_in_, n_states_ : int
        Number of features of a cell, and of labels.
    offsets_ : ndarray of shape (n_directions, 2) or (n_directions, 3)
        Offset of the second end of an edge from the first.
    contrast_scale_ : float or None
        Mean squared distance of the features of neighbors, with ``contrast``.
    task_loss_ : str, array-like or TaskLoss
        The loss of the training.

    See Also
    --------
    GraphModel : Other graphs, with any features of edges.
    sklearn_fw.datasets.make_snakes : A puzzle on grids.

    Notes
    -----
    An input is an array of shape (n_rows, n_columns, n_features), or (n_rows, n_columns, depth,
    n_features) for volumes; with one feature the last axis is optional. Outputs and predictions are
    arrays of labels of the shape of the grid. Sizes may differ among samples. Inference is exact on
    narrow grids, by elimination, and for two labels whose neighbors attract each other, by cuts;
    otherwise it is approximate with bounds, see `sklearn_fw.inference`.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw import StructuredSVM
    >>> rng = np.random.default_rng(0)
    >>> y = [np.repeat(rng.integers(2, size=(4, 1)), 5, axis=1) for _ in range(10)]
    >>> X = [labels[:, :, None] + 0.8 * rng.normal(size=(4, 5, 1)) for labels in y]
    >>> svm = StructuredSVM(random_state=0).fit(X, y)
    >>> svm.model_
    GridModel()
    >>> svm.predict(X[:1])[0]
    array([[1, 1, 1, 1, 1],
           [1, 1, 1, 1, 1],
           [1, 1, 1, 1, 1],
           [0, 0, 0, 0, 0]])
    """

    _: KW_ONLY
    neighborhood: object = "auto"
    directional: bool = True
    contrast: bool = False

    # ---- what a training set looks like ----------------------------------------------------------

    def _look_at(self, X, y):
        X, y = check.items(X, "X", "grids"), check.items(y, "y", "grids of labels")
        first = next(iter(X), None)
        if first is None or isinstance(first, Sample):
            return
        n_axes = n_dims(next(iter(y), None), -1)
        if n_axes not in NEIGHBORHOODS:
            raise ValueError(f"y[0] must be an array of labels with 2 or 3 axes, got {n_axes}")
        self.offsets_ = self._offsets(n_axes)
        self.contrast_scale_ = self._scale(X) if check.flag(self.contrast, "contrast") else None

    def _offsets(self, n_axes):
        known = NEIGHBORHOODS[n_axes]
        size = min(known) if check.is_auto(self.neighborhood) else self.neighborhood
        if not isinstance(size, Integral) or size not in known:
            raise ValueError(f"neighborhood must be 'auto' or one of {sorted(known)}, got {size!r}")
        steps = itertools.product((-1, 0, 1), repeat=n_axes)
        zero = (0,) * n_axes  # of two opposite steps the one after zero
        near = [step for step in steps if step > zero and sum(map(abs, step)) <= known[size]]
        return np.array(near)

    def _scale(self, X):
        total, n = 0.0, 0
        for i, x in enumerate(X):
            cells, shape = self._cells(x, f"X[{i}]")
            for pairs in self._pairs(shape):
                total += np.sum((cells[pairs[:, 0]] - cells[pairs[:, 1]]) ** 2)
                n += len(pairs)
        return float(total / n) if total > 0.0 else 1.0

    def _find_states(self, samples, y):
        for i, (sample, labels) in enumerate(zip(samples, y)):
            shape, wanted = as_array(labels, f"y[{i}]").shape, self._shape(sample.x)
            if shape != wanted:
                raise ValueError(f"y[{i}] must have the shape {wanted} of X[{i}], got {shape}")
        return super()._find_states(samples, y)

    def _names_of_symmetry(self):
        return "free" if check.flag(self.directional, "directional") else "symmetric"

    # ---- inputs ----------------------------------------------------------------------------------

    def _said(self, x):
        cells, shape = self._cells(x, "an input")
        kinds = self._pairs(shape)
        if not self.directional:
            kinds = [np.concatenate(kinds)]
        if not self.contrast:
            return cells, kinds
        return cells, [(pairs, self._contrasts(cells, pairs)) for pairs in kinds]

    def _cells(self, x, name):
        """Features of cells, one row after the other, and the shape of the grid."""
        x = as_array(x, name)
        n_axes = self.offsets_.shape[1]
        if x.ndim not in (n_axes, n_axes + 1) or x.size == 0:
            raise ValueError(f"{name} must have {n_axes} or {n_axes + 1} axes, got shape {x.shape}")
        shape = x.shape[:n_axes]
        return check.array(x, name, finite=None).reshape(np.prod(shape), -1), shape

    def _shape(self, x):
        return np.shape(x)[: self.offsets_.shape[1]]

    def _pairs(self, shape):
        """Numbers of the cells that are neighbors, by direction."""
        number = np.arange(np.prod(shape)).reshape(shape)
        kinds = []
        for offset in self.offsets_:
            first = tuple(slice(max(0, -d), min(n, n - d)) for d, n in zip(offset, shape))
            second = tuple(slice(max(0, d), min(n, n + d)) for d, n in zip(offset, shape))
            kinds.append(np.stack([number[first].ravel(), number[second].ravel()], axis=1))
        return kinds

    def _contrasts(self, cells, pairs):
        far = np.sum((cells[pairs[:, 0]] - cells[pairs[:, 1]]) ** 2, axis=1)
        return np.column_stack([np.ones(len(pairs)), np.exp(-far / self.contrast_scale_)])

    # ---- outputs ---------------------------------------------------------------------------------

    def _split(self, output, name):
        labels = output if isinstance(output, np.ma.MaskedArray) else as_array(output, name)
        n_axes = self.offsets_.shape[1]
        if labels.ndim != n_axes:
            raise ValueError(f"{name} must have {n_axes} axes, got shape {labels.shape}")
        return [labels.ravel()]

    def _join(self, rows, x):
        return rows[0].reshape(*self._shape(x), *rows[0].shape[1:])
