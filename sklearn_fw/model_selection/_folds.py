"""The folds that a parameter ``cv`` means."""

import numpy as np
from sklearn.model_selection import check_cv
from sklearn.utils import assert_all_finite


def split_folds(cv, y, groups, n_samples, classifier):
    """The folds as pairs of index arrays; what is no fold is refused with its number.

    With ``classifier`` each fold gets its share of the class labels ``y``.
    """
    if isinstance(cv, str | bytes | type):  # texts have a method split, too
        raise ValueError(
            f"cv must be an integer, a splitter object, pairs (train, test) or None, got {cv!r:.60}"
        )
    if cv is None or hasattr(cv, "split") or not np.iterable(cv):
        if classifier:
            labels = np.asarray(y)
            if labels.dtype.kind == "f":  # check_cv would make integers of them
                assert_all_finite(labels, input_name="y")
        splitter = check_cv(cv, y if classifier else None, classifier=classifier)
        cv = splitter.split(np.zeros(n_samples), y, groups)
    folds = []
    for k, fold in enumerate(cv):
        try:
            train, test = (_as_index(part, n_samples) for part in fold)
        except (TypeError, ValueError, IndexError) as error:
            raise ValueError(
                f"fold {k} of cv must be a pair (train, test) of indices of {n_samples} samples: "
                f"{error}"
            ) from None
        folds.append((train, test))
    if not folds:
        raise ValueError("cv has no folds: cv must give at least one pair (train, test)")
    return folds


def _as_index(part, n_samples):
    """Indices of samples, from indices or from a mask."""
    index = np.asarray(part)
    if index.ndim != 1 or index.size == 0:
        raise ValueError(f"got a part of shape {index.shape}, which has no sample")
    if index.dtype == bool:
        if len(index) != n_samples:
            raise ValueError(f"got a mask of length {len(index)}")
        return np.flatnonzero(index)
    if index.dtype.kind not in "iu":
        raise TypeError(f"got {index.dtype} indices")
    if index.min() < -n_samples or index.max() >= n_samples:
        raise IndexError(f"got an index of {index[np.argmax(np.abs(index))]}")
    return index
