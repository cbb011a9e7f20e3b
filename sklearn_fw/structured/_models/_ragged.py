"""Checks of ragged inputs: stacking the items of a list, and the labels of their nodes."""

from collections.abc import Mapping
from itertools import repeat

import numpy as np
import scipy.sparse as sp
from sklearn.utils import assert_all_finite

from ..._core import check
from ..._core.costs import MISSING
from ..._core.packed import Packed, length_of, objects, stack, take
from ..._core.scores import as_array
from ..._core.warnings import warn

KEPT = (np.float64, np.float32)  # all other numbers become the former
REMEDIES = {"text": "TokenFeatures()", "dictionaries": "NodeTransformer(DictVectorizer())"}


class Stacked(Packed):
    """Samples that were stacked and checked once: models check nothing more."""

    @classmethod
    def of(cls, values, starts):
        return cls._view(values, starts, np.arange(len(starts) - 1))


def stack_rows(X, n_features=None):
    """All feature rows, item after item, of ``n_features`` unless None, and where items start."""
    if isinstance(X, Packed):
        if not isinstance(X, Stacked):
            check.sparse(X.values, "X.values")
        packed = Packed.compact(X)
        matrix, row_start = packed.values, np.array(packed.offsets, dtype=np.int64)
        _check_item(matrix, n_features, "X.values")
    else:
        X = listed(X, "samples, one array of shape (n_nodes, n_features) each")
        items = [_as_array(item, f"X[{i}]") for i, item in enumerate(X)]
        matrix, row_start = stack(_alike(items, n_features))
        matrix = check.sparse(matrix, "X")
    check_some(len(row_start) - 1)
    return (matrix if isinstance(X, Stacked) else check.aligned(_finite(matrix))), row_start


def _alike(items, n_features):
    """Items that can be stacked; the first that differs is named."""
    # An empty list says neither how wide its rows are nor whether they are sparse.
    shaped = [(i, item) for i, item in enumerate(items) if item.ndim != 1 or item.shape[0]]
    if not shaped:
        return [np.empty((0, n_features or 0))] * len(items)
    k, first = shaped[0]
    width = first.shape[1] if n_features is None and first.ndim == 2 else n_features
    for i, item in shaped:
        _check_item(item, width, f"X[{i}]")
        if sp.issparse(item) != sp.issparse(first):
            raise ValueError(f"X[{i}] and X[{k}] must be both sparse or both dense")
    return [item if item.ndim == 2 else first[:0] for item in items]


def _finite(matrix):
    """The numbers as float32 or float64, all finite and of moderate size."""
    if matrix.dtype not in KEPT:
        with np.errstate(over="ignore"):  # what no float64 can hold is seen below
            matrix = matrix.astype(np.float64)
    values = matrix.data if sp.issparse(matrix) else matrix
    if not check.is_moderate(values):
        with np.errstate(invalid="ignore"):  # the sum of inf and -inf
            assert_all_finite(values, input_name="X")
        check.magnitude(values, "X")
    return matrix


def _as_array(item, name):
    if sp.issparse(item):
        return item if _is_plain(item) else check.sparse(item, name).tocsr()
    if np.ma.is_masked(item):
        raise ValueError(f"{name} has masked entries: fill them, for instance by filled(0)")
    return as_array(item, name)


def refuse_words(first, name):
    """Refuse an item whose first entry is a token or a dictionary of features."""
    if isinstance(first, str | dict):
        kind = "text" if isinstance(first, str) else "dictionaries"
        raise ValueError(
            f"{name} holds {kind}: sequences need an array of numbers (n_nodes, n_features), by "
            f"sklearn_fw.preprocessing as in make_pipeline({REMEDIES[kind]}, StructuredSVM())"
        )


def _is_plain(item):
    """Whether a matrix is CSR of parts of the right lengths, which can be stacked unseen."""
    return (
        item.format == "csr"
        and item.indices.dtype.kind == "i"
        and item.indptr.shape == (item.shape[0] + 1,)
        and item.indptr[0] == 0
        and item.indptr[-1] == len(item.indices) == len(item.data)
    )


def _check_item(item, width, name):
    if item.dtype.kind in "OUS" and item.size:
        refuse_words(item.ravel()[0], name)
    if item.ndim != 2:
        raise ValueError(
            f"{name} must have shape (n_nodes, n_features), got {item.shape}: X holds one array "
            f"for each sample, also for a single one: [x]"
        )
    if item.dtype.kind not in "fiub":
        raise ValueError(f"{name} must be numeric, got dtype {item.dtype}: vectorize it first")
    if width is not None and item.shape[1] != width:
        raise ValueError(f"{name} has {item.shape[1]} features, but {width} are expected")


def stack_labels(y, node_start=None):
    """The labels of all nodes in one array, and where items start (checked if given)."""
    if isinstance(y, Packed):
        y = Packed.compact(y)
        flat, starts = as_labels(y.values), np.asarray(y.offsets, dtype=np.int64)
    else:
        items = [as_labels(item) for item in check.items(y, "y", "label sequences")]
        first, kind = next((i for i, item in enumerate(items) if item.size), 0), None
        for i, item in enumerate(items):
            if item.ndim != 1:
                got = f"{item.tolist()!r:.60}"
                got = "None: give one None per node" if got == "None" else got
                raise ValueError(f"y[{i}] must be a sequence with one label per node, got {got}")
            known = observed(item).tolist() if item.dtype.kind == "O" else ()
            try:
                _refuse_missing(set(known), f"y[{i}]")
            except TypeError:  # dicts, lists
                raise ValueError(f"y[{i}] must hold labels, got {known[:3]!r:.60}") from None
            if item.size and _kind(item) != (kind := kind or _kind(items[first])):
                raise ValueError(
                    f"y[{i}] has dtype {item.dtype}, but y[{first}] has {items[first].dtype}: "
                    f"labels of all samples must be of one type"
                )
        flat, starts = stack(items or [np.empty(0)])
        starts = starts[: len(items) + 1]
    if node_start is not None:
        check_lengths(np.diff(starts), np.diff(node_start))
    return flat, starts


def check_lengths(n_labels, n_nodes):
    """Refuse samples with other numbers of labels than of nodes."""
    check_counts(len(n_nodes), len(n_labels))
    wrong = np.flatnonzero(n_labels != n_nodes)
    if len(wrong):
        i = wrong[0]
        raise ValueError(f"y[{i}] has {n_labels[i]} labels, but X[{i}] has {n_nodes[i]} nodes")


def as_labels(y):
    """An array; where labels are missing a masked one."""
    return y if isinstance(y, np.ma.MaskedArray) else check.labels(y)


def with_mask(values):
    """An array of a list of labels, among which `numpy.ma.masked` stands for missing ones."""
    mask = np.array([value is np.ma.masked for value in values], dtype=bool)
    if not np.any(mask):
        return check.labels(values)
    known = check.labels([value for value in values if value is not np.ma.masked])
    labels = np.ma.masked_all(len(values), known.dtype)
    labels[~mask] = known
    return labels


def observed(flat):
    return flat.compressed() if isinstance(flat, np.ma.MaskedArray) else flat


def _kind(array):
    # Arrays of objects are of the kind of their labels, which can be sorted.
    array = np.asarray(find_classes(array)[:1].tolist()) if array.dtype == object else array
    return "number" if array.dtype.kind in "fiub" else array.dtype.kind


def _refuse_missing(labels, name):
    if any(map(check.is_missing, labels)):
        raise ValueError(f"{name} lacks labels: use LatentStructuredSVM(missing_label=np.nan)")


def find_classes(flat):
    flat = observed(flat)
    if flat.dtype.kind in "fiub":
        assert_all_finite(flat, input_name="y")
        return np.unique(flat)
    # Hashing beats the sort of np.unique by far on strings.
    try:
        labels = set(flat.tolist())
        _refuse_missing(labels, "y")
        return np.array(sorted(labels), dtype=flat.dtype)
    except TypeError:
        raise ValueError("y mixes labels that cannot be sorted: use one type of label") from None


def find_two_classes(flat):
    classes = find_classes(flat)
    if len(classes) < 2:
        raise ValueError("needs at least 2 classes; y holds only one class")
    return classes


def encode_labels(flat, classes, allow_unseen=False):
    """Position of every label in ``classes``, int32; -1 if unseen, `MISSING` if masked."""
    if isinstance(flat, np.ma.MaskedArray):
        states = np.full(len(flat), MISSING, np.int32)
        states[~np.ma.getmaskarray(flat)] = encode_labels(observed(flat), classes, allow_unseen)
        return states
    if flat.dtype.kind == "f":
        assert_all_finite(flat, input_name="y")
    if flat.dtype.kind in "fiub" and classes.dtype.kind in "fiub":
        states = np.minimum(np.searchsorted(classes, flat), len(classes) - 1)
        states = np.where(classes[states] == flat, states, -1).astype(np.int32)
    else:
        number = {label: k for k, label in enumerate(classes.tolist())}
        try:
            states = np.fromiter(map(number.get, flat.tolist(), repeat(-1)), np.int32, len(flat))
        except TypeError as error:  # dicts, lists
            raise ValueError(f"y must hold labels: {error}") from None
    unseen = np.flatnonzero(states < 0)
    if len(unseen):
        label = flat[unseen[:1]].tolist()[0]
        if not allow_unseen:
            known = classes[:30].tolist() + (["..."] if len(classes) > 30 else [])
            raise ValueError(
                f"y contains the label {label!r}, which was not seen in fit; known labels: "
                f"{known}. Fit again with samples of this label, or leave it out"
            )
        warn(
            f"y contains {len(unseen)} labels that were not seen in fit, such as {label!r}: "
            f"no prediction can match them, and each costs 1"
        )
    return states


def class_weights(class_weight, classes, flat, known=None):
    """Weight of each class: None, a dict or "balanced" as in scikit-learn (by the labels given).

    A dict may have other labels that are ``known``.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if check.is_named(class_weight, "balanced"):
        counts = np.bincount(encode_labels(observed(flat), classes), minlength=len(classes))
        return counts.sum() / (len(classes) * counts)
    if not isinstance(class_weight, Mapping):
        raise ValueError(f"class_weight must be None, a dict or 'balanced'; got {class_weight!r}")
    weights = np.ones(len(classes))
    number = {label: k for k, label in enumerate(classes.tolist())}
    for label, weight in class_weight.items():
        if label in number:
            weights[number[label]] = check.not_negative(weight, f"class_weight[{label!r}]")
        elif label not in (known or number):
            raise ValueError(f"class_weight names the class {label!r}, which is not in y")
    return weights


# ---- samples -------------------------------------------------------------------------------------


def listed(X, what):
    X = check.items(X, "X", what)
    check_some(len(X))
    return X


def check_some(n_inputs):
    if not n_inputs:
        raise ValueError("X is empty: found 0 sample(s) while a minimum of 1 is required")


def check_counts(n_inputs, n_outputs):
    if n_inputs != n_outputs:
        raise ValueError(f"X and y must have the same length, got {n_inputs} and {n_outputs}")


def weighted_samples(X, y, sample_weight, drops_empty=False):
    """The samples of positive weight, without empty ones if ``drops_empty``, and their weights."""
    n_samples = length_of(X, "X")
    check_counts(n_samples, length_of(y, "y"))
    check_some(n_samples)
    weight = check.sample_weight(sample_weight, n_samples)
    if drops_empty:  # they teach nothing
        weight = np.where(are_empty(X) & are_empty(y), 0.0, weight)
        if not np.any(weight):
            raise ValueError("X holds no element: all sequences of positive weight are empty")
    if np.any(weight == 0):
        kept = np.flatnonzero(weight)
        X, y, weight = take(X, kept), take(y, kept), weight[kept]
    return X, y, weight


def are_empty(items):
    if isinstance(items, Packed):
        return items.lengths == 0
    return np.array([_has_none(item) for item in items], dtype=bool)


def _has_none(item):
    if hasattr(item, "shape"):
        return tuple(item.shape[:1]) == (0,)
    return hasattr(item, "__len__") and len(item) == 0


def collect(outputs):
    """Outputs of a black-box model: an array of scalars, else an object array."""
    return np.array(outputs) if all(map(np.isscalar, outputs)) else objects(outputs)


def is_graph(x):
    """Whether an object is a networkx graph, or looks like one."""
    return all(hasattr(x, name) for name in ("nodes", "edges", "adj", "is_directed"))


def n_dims(item, ragged=1):
    """Number of dimensions; ``ragged`` for nested lists of unequal lengths."""
    try:
        return item.ndim if hasattr(item, "ndim") else np.ndim(item)
    except ValueError:
        return ragged
