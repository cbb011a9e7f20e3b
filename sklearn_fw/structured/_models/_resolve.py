"""Which model a name, or the form of the data, stands for."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ..._core import check
from ..._core.packed import Packed, length_of
from ._base import REQUIRED, StructuredModel
from ._box import BoxModel
from ._chain import ChainModel
from ._enumerated import EnumeratedModel
from ._graph import GraphModel
from ._graph_cut import GraphCutModel
from ._grid import NEIGHBORHOODS, GridModel
from ._matching import MatchingModel
from ._multiclass import MulticlassModel
from ._multilabel import MultilabelModel
from ._ragged import check_some, is_graph, n_dims, refuse_words
from ._tree_pose import TreePoseModel

MODELS = {
    "box": BoxModel,
    "chain": ChainModel,
    "enumerated": EnumeratedModel,
    "graph": GraphModel,
    "graph_cut": GraphCutModel,
    "grid": GridModel,
    "matching": MatchingModel,
    "multiclass": MulticlassModel,
    "multilabel": MultilabelModel,
    "tree_pose": TreePoseModel,
}


def known_of(model):
    """The class that a name stands for, as far as it is known before fit; objects as they are."""
    if isinstance(model, str):
        return MODELS.get("multiclass" if check.is_auto(model) else model)
    return model


def resolve_model(model, X, y, task_loss, class_weight):
    """A model object for a name, or a clone of a model object, with what is given for it."""
    model = _resolve_model(model, X, y)
    given = {} if check.is_auto(task_loss) else {"task_loss": task_loss}
    given |= {} if class_weight is None else {"class_weight": class_weight}
    for name in given:
        if not callable(getattr(model, "get_params", None)) or name not in model.get_params():
            unset = {"task_loss": "'auto'", "class_weight": "None"}[name]
            kind = type(model).__name__
            raise ValueError(f"{kind} has no parameter {name}: leave {name}={unset}")
    return model.set_params(**given) if given else model


def _resolve_model(model, X, y):
    if y is not None:
        check.samples(y, "y")
    if check.is_auto(model):
        return _model_for(X, y)
    if isinstance(model, str):
        return check.resolve_named(model, "model", StructuredModel, {"auto": None, **MODELS})
    if isinstance(model, type):
        raise TypeError(f"model is the class {model.__name__}, pass an object of that class")
    missing = [name for name in REQUIRED if not callable(getattr(model, name, None))]
    if missing:
        names = ", ".join(missing)
        raise TypeError(f"model {type(model).__name__} lacks {names}: see StructuredModel")
    return clone(model, safe=False)


def _model_for(X, y):
    """The model that the form of the data calls for."""
    if y is None:
        raise ValueError("StructuredSVM requires y to be passed, but the target y is None")
    _refuse_loose_graphs(X, y)
    if _are_graphs(X):
        return GraphModel()
    if not _is_structured(X, y):
        _refuse_words(X, y)
        try:
            labels = y if sp.issparse(y) else np.asarray(y)
        except ValueError:
            raise ValueError(
                "y has a sequence of labels for every sample, so X must be a list with an array of "
                "shape (n_nodes, n_features) for every sample; sets need MultiLabelBinarizer"
            ) from None
        return MultilabelModel() if labels.ndim == 2 and labels.shape[1] > 1 else MulticlassModel()
    if n_dims(next(iter(y), None), 2) in NEIGHBORHOODS:
        _refuse_matchings(X, y)
        return GridModel()
    return ChainModel()


def _are_graphs(X):
    """Whether the first sample is a tuple of features and edges, or a graph of networkx."""
    if not isinstance(X, list | tuple) and getattr(X, "ndim", None) != 1:
        return False
    first = next(iter(X), None)
    if is_graph(first):
        return True
    if not isinstance(first, tuple) or len(first) not in (2, 3, 4):
        return False
    nodes, edges = first[:2]
    several = isinstance(nodes, dict) or isinstance(edges, dict)
    return several or sp.issparse(nodes) or n_dims(nodes, 2) >= 2


def _refuse_loose_graphs(X, y):
    """Explain the format of graphs, where one stands alone or is a list."""
    n_nodes = _n_nodes_of_pair(X) if isinstance(X, tuple) else 0
    n_labels = len(y) if hasattr(y, "__len__") and not sp.issparse(y) else 0
    if is_graph(X) or (n_nodes and n_nodes == n_labels != len(X)):
        raise ValueError("X is a single graph: write a list of one, [X], and [y]")
    first = X[0] if isinstance(X, list | tuple) and X else None
    is_pair = isinstance(first, list) and _n_nodes_of_pair(first) > 0
    if is_pair and n_labels and n_dims(next(iter(y)), 2) == 1:
        raise ValueError("X[0] is a list of features and edges: write a tuple (features, edges)")


def _n_nodes_of_pair(item):
    """Number of nodes of what looks like features and edges, else 0."""
    if len(item) not in (2, 3) or any(n_dims(own, 2) != 2 for own in item[:2]):
        return 0
    try:
        rows, edges = (own if sp.issparse(own) else np.asarray(own) for own in item[:2])
    except ValueError:  # rows of unequal lengths
        return 0
    return rows.shape[0] if edges.ndim == 2 and edges.shape[1] == 2 else 0


def _refuse_matchings(X, y):
    """Refuse matrices that may be matchings, and those that do not have the shapes of grids."""
    shapes = [np.shape(labels) if n_dims(labels, 2) in NEIGHBORHOODS else None for labels in y]
    fits = all(shape and np.shape(x)[: len(shape)] == shape for x, shape in zip(X, shapes))
    if not fits or all(map(_may_be_matching, y)):
        raise ValueError(
            "y holds matrices or lists of pairs: if they assign rows to columns, "
            "write model='matching'; if they are labels of the cells of grids, write model='grid', "
            "which needs an array of shape (n_rows, n_columns, n_features) for each in X"
        )


def _may_be_matching(labels):
    labels = np.asarray(labels)
    is_binary = labels.dtype.kind in "fiub" and labels.ndim == 2 and np.isin(labels, (0, 1)).all()
    return is_binary and labels.sum(axis=0).max() <= 1 and labels.sum(axis=1).max() <= 1


def _is_structured(X, y):
    check_some(length_of(X, "X"))
    if isinstance(X, Packed) or isinstance(y, Packed):
        return True
    if getattr(getattr(X, "dtype", None), "kind", None) == "O" and X.ndim == 1:
        return True
    first = next(iter(X), None) if isinstance(X, list | tuple | np.ndarray) else None
    return sp.issparse(first) or n_dims(first, 2) >= 2


def _refuse_words(X, y):
    """Explain the format of sequences of words or dictionaries, before they become a table."""
    if not isinstance(X, list | tuple) or isinstance(next(iter(y), None), str | int | float):
        return
    refuse_words(next(iter(X[0]), X[0]) if n_dims(X[0]) else X[0], "X[0]")
