"""Steps before a classifier through which gradients go: those that are affine."""

import numpy as np
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from ._answers import dressed

# More features than this would ask for a matrix that is too large.
MOST_FEATURES = 2000
SAME = 1e-8


def affine_pull(step, rows, near):
    """Function from gradients behind a fitted step to those before it; None if it is not affine.

    Scalers are known; any other step is asked at the mean of the rows and one unit of spread from
    it along every feature, and believed to be affine if that tells what it makes of the rows, and
    of others ``near``, to rounding.
    """
    scale = _scale_of(step)
    if scale is not None:
        return lambda G: G * scale
    if rows.shape[1] > MOST_FEATURES or not callable(getattr(step, "transform", None)):
        return None
    matrix = _matrix_of(step, rows, near)
    return None if matrix is None else lambda G: G @ matrix.T


def _scale_of(step):
    """Factors of the columns, of scalers."""
    if getattr(step, "clip", False):
        return None
    if type(step) is MinMaxScaler:
        return step.scale_
    if type(step) in (MaxAbsScaler, RobustScaler, StandardScaler):
        return 1.0 if step.scale_ is None else 1.0 / step.scale_
    return None


def _matrix_of(step, rows, near):
    """The matrix (n_features, n_out) of an affine step."""
    middle = rows.mean(axis=0)
    spread = np.abs(rows - middle).max(axis=0)
    spread[spread == 0.0] = 1.0
    probes = np.concatenate([middle[None], middle + np.diag(spread)])
    try:
        answers = _transformed(step, probes)
        given = np.concatenate([rows[:50], near[:50]])
        wanted = _transformed(step, given)
    except ValueError:
        return None  # a step that takes no such points is not affine everywhere
    if answers is None or wanted is None:
        return None
    moved = (probes[1:] - middle).diagonal()[:, None]
    matrix = (answers[1:] - answers[0]) / moved
    found = answers[0] + (given - middle) @ matrix
    size = np.abs(answers).max(initial=0.0) + np.abs(wanted).max(initial=0.0)
    return matrix if np.all(np.abs(found - wanted) <= SAME * (size + 1e-300)) else None


def transformed(step, X):
    """What a fitted step makes of rows, as an array."""
    return np.asarray(step.transform(dressed(step, X)), dtype=np.float64)


def _transformed(step, X):
    found = step.transform(dressed(step, X))
    if hasattr(found, "to_numpy"):
        found = found.to_numpy()
    if not isinstance(found, np.ndarray) or found.ndim != 2 or found.dtype.kind != "f":
        return None
    return found.astype(np.float64) if np.all(np.isfinite(found)) else None
