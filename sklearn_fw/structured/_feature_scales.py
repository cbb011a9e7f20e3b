"""The units that features get in a fit: those that "auto" stands for, or those given."""

import numpy as np

from .._core import check
from .._core.warnings import warn
from ._models._rows import Units

# Root mean square norm of the features of a node beside which tables and constants are learnt as
# well, a factor by which it may be missed, and one by which one of them is hardly learnt.
SIZE, NEAR, FAR_OFF = 2.0, 2.5, 16.0
# The largest column over the smallest spread of one, from which columns are brought to one scale.
UNLIKE = 30.0


def units_of(model, X, weight, scale, edge_scale, is_natural):
    """`Units` for the parameters of an estimator; ``is_natural`` says what "auto" stands for."""
    columns = model._columns_of_features(X, weight)
    if columns is None:
        if not all(value is None or check.is_auto(value) for value in (scale, edge_scale)):
            raise ValueError(
                f"feature_scale and edge_feature_scale need a model of nodes and edges, "
                f"which {type(model.model).__name__} is not: scale its features yourself"
            )
        return Units()
    scale = (
        _natural(model, X, columns)
        if check.is_auto(scale) and is_natural
        else _given(scale, columns)
    )
    if check.is_auto(edge_scale) and is_natural:
        edge_scale = _power_of_two(_size(model, model._size_of_edge_features(X)))
    else:
        edge_scale = 1.0 if edge_scale is None or check.is_auto(edge_scale) else edge_scale
    mean = columns.mean if np.ndim(scale) == 1 and np.any(columns.mean) else None
    return Units(scale, mean, check.positive(edge_scale, "edge_feature_scale"))


def _natural(model, X, columns):
    spread = columns.spread[columns.spread > 0.0]
    if not len(spread) or columns.size.max() <= UNLIKE * spread.min():
        return _power_of_two(_size(model, model._size_of_features(X)))
    constant = np.where(columns.size > 0.0, columns.size, 1.0)
    scale = np.where(columns.spread > 0.0, columns.spread, constant)
    if model.n_tables_ == 0:
        return scale
    return scale * _power_of_two(_size(model, columns.norm_of(scale)))


def _given(scale, columns):
    if scale is None or check.is_auto(scale):
        return 1.0
    if np.ndim(scale) == 0:
        return check.positive(scale, "feature_scale")
    scale = check.array(scale, "feature_scale")
    if scale.shape != columns.mean.shape or np.any(scale <= 0.0):
        raise ValueError(
            f"feature_scale must be positive, a number or one for each of {len(columns.mean)} "
            f"columns, got shape {scale.shape}"
        )
    return scale


def _power_of_two(size):
    """The power of two that brings a size near to `SIZE`, one where it is near."""
    ratio = size / SIZE
    return 1.0 if 1.0 / NEAR <= ratio <= NEAR else float(2.0 ** np.round(np.log2(ratio)))


def warn_of_scale(model, X):
    """Say so where features as they come are far from `SIZE`."""
    sizes = model._size_of_features(X), model._size_of_edge_features(X)
    for place, size in zip(("node", "edge"), sizes):
        if not SIZE / FAR_OFF <= _size(model, size) <= SIZE * FAR_OFF:
            unlearnt = "tables and constants" if size > SIZE else "features"
            warn(
                f"features in X have a norm of {size:.2g} at each {place}, beside tables and "
                f"constants of one: {unlearnt} will hardly be learnt; scale features to about one, "
                f"images of 8 bits by X / 255, or leave C='auto', which does so"
            )


def _size(model, size):
    """`SIZE` where sizes do not matter, or are no numbers to go by."""
    return size if model.n_tables_ and 0.0 < size < np.inf else SIZE
