"""What classifiers of the user answer, asked in one place and looked at before it is used."""

from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from .._core.torch import is_torch_module
from .._core.validation import check_choice, check_magnitude, check_table, find_labels

# Rows that are handed over at once: hidden layers of many rows would not fit into memory.
CHUNK = 4096

# What a probability of zero counts as.
NO_CHANCE = 1e-300


@contextmanager
def noted(what):
    """Errors of the estimator go on as they are, with a note of who raised them and when."""
    try:
        yield
    except Exception as error:
        error.add_note(f"raised by the estimator, {what}")
        raise


def names_of(X):
    """Names of the columns of a frame, or None; numbers are no names."""
    names = getattr(X, "columns", None)
    if names is None or not hasattr(X, "iloc"):
        return None
    names = list(names)
    return names if all(isinstance(name, str) for name in names) else None


def check_names(X, wanted, name, others):
    """Refuse a frame whose columns are not those of ``wanted``, names or None, in their order."""
    names = names_of(X)
    if names is None or wanted is None or names == list(wanted):
        return
    if sorted(names) == sorted(wanted):
        raise ValueError(f"{name} has its columns in another order than {others}")
    strange = sorted(set(names) ^ set(wanted))
    raise ValueError(f"{name} has other columns than {others}: {strange[0]!r:.40} is in one only")


def framed(rows, columns):
    """Rows as a frame."""
    import pandas

    return pandas.DataFrame(rows, columns=columns)


def with_names(estimator, X):
    """A Pipeline that names columns of arrays as the frame X does, as its steps may choose by name.

    Other estimators, and those for rows without names, are given back as they are.
    """
    names = names_of(X)
    if names is None or not isinstance(estimator, Pipeline):
        return estimator
    front = FunctionTransformer(framed, kw_args={"columns": names})
    return clone(estimator).set_params(steps=[("name_columns", front), *estimator.steps])


def dressed(estimator, rows):
    """Rows as a frame for what was fitted to one: names of columns may choose among them."""
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or len(names) != rows.shape[1]:
        return rows
    return framed(rows, names)


def check_classifier(estimator):
    """A fitted classifier with ``predict``, or a module; of a search the model that it found."""
    if isinstance(estimator, type):
        raise TypeError(f"estimator is the class {estimator.__name__}, pass a fitted object of it")
    if is_torch_module(estimator):
        return estimator
    if not callable(getattr(estimator, "predict", None)):
        raise TypeError(
            f"estimator must be a fitted classifier with predict, or a torch.nn.Module that gives "
            f"logits; got {estimator!r:.80}"
        )
    if hasattr(estimator, "fit"):
        if hasattr(estimator, "__sklearn_tags__") and not is_classifier(estimator):
            raise TypeError(
                f"estimator must be a classifier, got {type(estimator).__name__}, of which the "
                "answers are no classes"
            )
        check_is_fitted(estimator)
    return best_of(estimator)


def best_of(estimator):
    """The model that a search over parameters found, or the estimator itself."""
    while hasattr(estimator, "best_estimator_"):
        estimator = estimator.best_estimator_
    return estimator


def check_inputs(estimator, X, name="X"):
    """Rows as float64; modules may have more than one axis per row."""
    check_names(
        X,
        getattr(estimator, "feature_names_in_", None),
        name,
        "the rows that estimator was fitted to",
    )
    X = check_table(X, input_name=name, dtype=np.float64, allow_nd=is_torch_module(estimator))
    check_magnitude(X, name)
    wanted = getattr(estimator, "n_features_in_", None)
    if wanted is not None and X.shape[1] != wanted:
        raise ValueError(
            f"{name} has {X.shape[1]} features, but {type(estimator).__name__} was fitted to "
            f"{wanted}"
        )
    return X


def check_labels(y, n, name="y"):
    """``(classes, codes)`` of a vector of n labels, or of any number; at least two classes."""
    if sp.issparse(y) or not hasattr(y, "__len__") or isinstance(y, str | bytes | dict):
        raise TypeError(f"{name} must be a vector of labels, got {y!r:.60}")
    y = np.asarray(y)
    if y.ndim > 1:
        raise ValueError(f"{name} must be a vector of labels, got shape {y.shape}")
    if y.dtype.kind not in "biufUSO":
        raise ValueError(f"{name} must hold labels, got {y.dtype}")
    classes = find_labels(y, name)
    if n is not None and len(y) != n:
        raise ValueError(f"{name} has {len(y)} labels for the {n} rows of X")
    if y.dtype.kind == "f" and np.any(y != np.rint(y)):
        raise ValueError(f"{name} holds numbers that are no whole ones, as of regression: {y[0]}")
    if len(classes) < 2:
        raise ValueError(f"{name} has one class only, {classes.tolist()}: two are needed")
    return classes, np.searchsorted(classes, y)


def classes_of(estimator):
    """Classes in the order of the scores, or None."""
    classes = getattr(estimator, "classes_", None)
    if classes is None or isinstance(classes, list):
        return None
    classes = np.asarray(classes)
    return classes if classes.ndim == 1 and len(classes) > 1 else None


def labels_by(estimator, X):
    """What ``predict`` says about rows, one label each."""
    found = []
    for first in range(0, X.shape[0], CHUNK):
        rows = X[first : first + CHUNK].copy()
        n = rows.shape[0]
        with noted("asked to predict X"):
            answer = np.asarray(estimator.predict(dressed(estimator, rows)))
        if answer.shape != (n,):
            raise ValueError(
                f"estimator: predict must give one label for each row, shape ({n},), got "
                f"{answer.shape}"
            )
        if answer.dtype.kind == "f" and not np.all(np.isfinite(answer)):
            raise ValueError("estimator: predict gave NaN or infinity")
        if answer.dtype.kind not in "biufUSO":
            raise ValueError(f"estimator: predict gave no labels but {answer.dtype}")
        found.append(answer)
    return np.concatenate(found)


def scores_by(estimator, X, method, n_classes):
    """Scores of classes of shape (n, n_classes), of two classes as differences from the first.

    Logs of probabilities stand for scores where ``method`` is "predict_proba".
    """
    check_choice(method, "method", ("decision_function", "predict_proba"))
    found = []
    for first in range(0, len(X), CHUNK):
        rows = X[first : first + CHUNK].copy()
        n = len(rows)
        with noted(f"asked for {method} of X"):
            answer = np.asarray(getattr(estimator, method)(dressed(estimator, rows)))
        if answer.dtype.kind not in "fiu" or answer.shape not in ((n,), (n, 1), (n, n_classes)):
            raise ValueError(
                f"estimator: {method} must give numbers of shape ({n}, {n_classes}), got "
                f"{answer.dtype} of shape {answer.shape}"
            )
        answer = answer.astype(np.float64)
        if np.any(np.isnan(answer)):
            raise ValueError(f"estimator: {method} gave NaN")
        if method == "predict_proba":
            answer = np.log(np.maximum(answer, NO_CHANCE))
        elif answer.ndim == 1 or answer.shape[1] == 1:
            answer = np.column_stack([np.zeros(n), answer.reshape(n)])
        found.append(answer)
    return np.concatenate(found)
