"""Estimators of users: checks of them, their predictions and scores, and training in epochs."""

from contextlib import contextmanager

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.metrics import r2_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from .._core import check
from .._core.torch import is_torch_module

# Rows that are handed over at once: hidden layers of many rows would not fit into memory.
CHUNK = 4096

NO_PROBABILITY = 1e-300  # what a probability of zero counts as
NORMAL = 1.4826  # standard deviation of normal numbers whose absolute values have median 1
FAR = 3.0  # standard deviations from which on a residual counts as an error of a regressor
SETTLED = 1e-3  # relative slope of an objective, or gain of a Newton step, at what is a minimum
# When errors of a fit are raised.
FITTED = "fitted to X and y, with a value of param_range if there is one"


@contextmanager
def noted(what):
    """Errors of the estimator go on as they are, with a note of who raised them and when."""
    try:
        yield
    except Exception as error:
        error.add_note(f"raised by the estimator, {what}")
        raise


def names_of(X):
    """Names of the columns of a frame, or None; numbers do not count as names."""
    names = getattr(X, "columns", None)
    if names is None or not hasattr(X, "iloc"):
        return None
    names = list(names)
    return names if all(isinstance(name, str) for name in names) else None


def check_names(X, wanted, name, others):
    names = names_of(X)
    if names is None or wanted is None or names == list(wanted):
        return
    if sorted(names) == sorted(wanted):
        raise ValueError(f"{name} has its columns in another order than {others}")
    strange = sorted(set(names) ^ set(wanted))
    raise ValueError(f"{name} has other columns than {others}: {strange[0]!r:.40} is in one only")


def framed(rows, columns):
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
            f"estimator must be a fitted classifier with predict or a module, got {estimator!r:.60}"
        )
    if hasattr(estimator, "fit"):
        if hasattr(estimator, "__sklearn_tags__") and not is_classifier(estimator):
            raise TypeError(
                f"estimator must be a classifier, got {type(estimator).__name__}; for a regressor "
                f"take example_difficulty or loss_sensitivity"
            )
        check_is_fitted(estimator)
    return best_of(estimator)


def best_of(estimator):
    while hasattr(estimator, "best_estimator_"):
        estimator = estimator.best_estimator_
    return estimator


def check_rows(X, name="X", **options):
    X = check.table(X, input_name=name, dtype=np.float64, **options)
    check.magnitude(X.data if sp.issparse(X) else X, name)
    return X


def check_inputs(estimator, X):
    """Rows with the columns that an estimator was fitted to."""
    known = getattr(estimator, "feature_names_in_", None)
    check_names(X, known, "X", "the rows that estimator was fitted to")
    X = check_rows(X, allow_nd=is_torch_module(estimator))
    wanted = getattr(estimator, "n_features_in_", None)
    if wanted is not None and X.shape[1] != wanted:
        fitted = type(estimator).__name__
        raise ValueError(f"X has {X.shape[1]} features, but {fitted} was fitted to {wanted}")
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
    classes = check.find_labels(y, name)
    if n is not None and len(y) != n:
        raise ValueError(f"{name} has {len(y)} labels for the {n} rows of X")
    if len(classes) < 2:
        raise ValueError(f"{name} has one class only, {classes.tolist()}: two are needed")
    return classes, np.searchsorted(classes, y)


def check_targets(estimator, y, n, name="y"):
    """``(y, classes)``: labels and all of them; for a regressor numbers and None."""
    if hasattr(estimator, "__sklearn_tags__") and is_regressor(estimator):
        y = check.vector(check.numbers(y, name), name, n)
        if np.ptp(y) == 0.0:
            raise ValueError(f"{name} has one value only, {y[0]:g}: two are needed")
        return y, None
    classes, codes = check_labels(y, n, name)
    if classes.dtype.kind == "f" and np.any(classes != np.rint(classes)):
        raise ValueError(f"{name} holds numbers that are not integers: take a regressor")
    return classes[codes], classes


def classes_of(estimator):
    classes = getattr(estimator, "classes_", None)
    if classes is None or isinstance(classes, list):
        return None
    classes = np.asarray(classes)
    return classes if classes.ndim == 1 and len(classes) > 1 else None


def in_chunks(call, n):
    """Arrays that a function returns for slices of n rows, joined."""
    return np.concatenate([call(slice(a, a + CHUNK)) for a in range(0, n, CHUNK)])


def _answers(estimator, X, rows, method):
    with noted(f"raised by {method} on X"):
        return np.asarray(getattr(estimator, method)(dressed(estimator, X[rows].copy())))


def labels_by(estimator, X):
    """Predicted labels of rows, of a regressor numbers."""

    def ask(rows):
        answer, shape = _answers(estimator, X, rows, "predict"), (X[rows].shape[0],)
        if answer.shape != shape:
            raise ValueError(
                f"estimator: predict must give one value per row, shape {shape}, got {answer.shape}"
            )
        if answer.dtype.kind == "f" and not np.all(np.isfinite(answer)):
            raise ValueError("estimator: predict gave NaN or infinity")
        if answer.dtype.kind not in "biufUSO":
            raise ValueError(f"estimator: predict gave no labels or numbers but {answer.dtype}")
        return answer

    return in_chunks(ask, X.shape[0])


def scores_by(estimator, X, method, n_classes):
    """Scores of classes of shape (n, n_classes), of two classes as differences from the first.

    Logs of probabilities stand for scores where ``method`` is "predict_proba".
    """

    def ask(rows):
        answer, n = _answers(estimator, X, rows, method), len(X[rows])
        if answer.dtype.kind not in "fiu" or answer.shape not in ((n,), (n, 1), (n, n_classes)):
            raise ValueError(
                f"estimator: {method} must give numbers of shape ({n}, {n_classes}), got "
                f"{answer.dtype} of shape {answer.shape}"
            )
        answer = answer.astype(np.float64)
        if np.any(np.isnan(answer)):
            raise ValueError(f"estimator: {method} gave NaN")
        if method == "predict_proba":
            answer = np.log(np.maximum(answer, NO_PROBABILITY))
        elif answer.ndim == 1 or answer.shape[1] == 1:
            answer = np.column_stack([np.zeros(n), answer.reshape(n)])
        return answer

    return in_chunks(ask, len(X))


# ---- training in epochs --------------------------------------------------------------------------


def check_template(estimator, X):
    """An estimator that can be cloned and fitted to rows of X; of a search the model it found."""
    can_fit = callable(getattr(estimator, "fit", None)) and hasattr(estimator, "get_params")
    if isinstance(estimator, type) or not can_fit:
        raise TypeError(f"estimator must be one of scikit-learn, got {estimator!r:.60}")
    estimator = best_of(estimator)
    if not (is_classifier(estimator) or is_regressor(estimator)):
        name = type(estimator).__name__
        raise TypeError(f"estimator must be a classifier or a regressor, got {name}")
    return with_names(estimator, X)


def last_of(estimator):
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator


def has_epochs(estimator):
    return hasattr(last_of(estimator), "partial_fit")


def random_states(estimator):
    """Names of its random states, those of its parts among them."""
    return [n for n in sorted(estimator.get_params()) if n.split("__")[-1] == "random_state"]


class Epochs:
    """A fresh estimator and its training rows, which may be sparse.

    Random states and the order of the rows are drawn by ``rng``; ``classes`` are all labels, None
    for a regressor. Steps
    in front of the last of a Pipeline are fitted once, as they have no epochs.
    """

    def __init__(self, estimator, X, y, classes, rng):
        self.model = clone(estimator)
        states = random_states(self.model)
        self.model.set_params(**{name: int(rng.randint(2**31)) for name in states})
        self.X, self.y, self.classes, self.rng = X, y, classes, rng
        self.behind = None  # rows behind the steps of a Pipeline in front of the last

    def step(self):
        """One epoch in a new order of the rows."""
        order = self.rng.permutation(len(self.y))
        with noted(FITTED):
            if self.behind is None:
                self.last, self.behind = last_of(self.model), self.X
                if isinstance(self.model, Pipeline) and len(self.model.steps) > 1:
                    self.behind = self.model[:-1].fit(self.X, self.y).transform(self.X)
            by_place = getattr(self.behind, "iloc", self.behind)  # frames go by names else
            given = {} if self.classes is None else {"classes": self.classes}
            self.last.partial_fit(by_place[order], self.y[order], **given)

    def fit(self):
        with noted(FITTED):
            self.model.fit(self.X, self.y)


def accuracy(model, X, y):
    """Fraction of right labels; of a regressor the coefficient of determination."""
    found = labels_by(model, X)
    return float(r2_score(y, found) if is_regressor(model) else np.mean(found == y))


def graded(residuals):
    """Which residuals are far from the others, and all in robust standard deviations."""
    off = np.abs(residuals)
    # Where most are zero, as with few distinct targets, the median is not a scale.
    off = off / (NORMAL * np.median(off) or off.mean() or 1.0)
    return off > FAR, off


def misfits(model, X, y):
    """Whether each row is misclassified, and one minus the probability of its label.

    Without probabilities the second is the first; for regressors `graded` residuals.
    """
    found = labels_by(model, X)
    if is_regressor(model):
        return graded(y - found)
    wrong = found != y
    if not callable(getattr(model, "predict_proba", None)):
        return wrong, wrong.astype(np.float64)
    with noted("raised by predict_proba on X"):
        p = model.predict_proba(X)
    classes = np.asarray(model.classes_)
    p = check.shaped(p, "predict_proba of estimator", len(y), len(classes))
    # A class that was not among the rows of this run has probability zero.
    column = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
    there = classes[column] == y
    own = np.take_along_axis(p, column[:, None], axis=1)[:, 0]
    return wrong, 1.0 - np.where(there, own, 0.0)


# ---- least squares -------------------------------------------------------------------------------


def ridge_of(model, X, y):
    """Factor a of the penalty ``a |w|^2 / 2`` with which a linear model has least squares on X, y.

    None where it has not. The numbers decide, not the class: at the minimum of the mean of ``r^2 /
    2`` and the penalty, the mean of ``r x`` is ``a w``, for centered X and y with an intercept.
    """
    w = getattr(model, "coef_", None)
    if not isinstance(w, np.ndarray) or w.shape not in ((X.shape[1],), (1, X.shape[1])):
        return None
    X, y, _ = _centered(model, X, y)
    w = np.ravel(w).astype(np.float64)
    slope, square = (y - X @ w) @ X / len(y), w @ w
    strength = max(slope @ w / square, 0.0) if square > 0.0 else 0.0
    size = np.abs(y) @ np.abs(X) / len(y)
    is_flat = np.all(np.abs(slope - strength * w) <= SETTLED * (size + SETTLED * size.max()))
    return strength if square > 0.0 and is_flat else None


def _centered(model, X, y):
    """Rows and targets without their means where there is an intercept, and its leverage."""
    base = 1.0 / len(y) if getattr(model, "fit_intercept", True) else 0.0
    return X - base * X.sum(axis=0), y - base * y.sum(), base


def left_out(model, X, y):
    """Residuals of refits without each row, ``r_i / (1 - h_i)``, and h, the leverages, or None.

    The penalty keeps its factor to the sum, not to the mean, of the squares.
    """
    if isinstance(model, Pipeline):
        X, model = model[:-1].transform(X) if len(model) > 1 else X, last_of(model)
    X = np.empty((0, 0)) if sp.issparse(X) else np.asarray(X, dtype=np.float64)
    strength = ridge_of(model, X, y)
    if strength is None:
        return None
    X, y, base = _centered(model, X, y)
    U, s, _ = np.linalg.svd(X, full_matrices=False)
    s = np.where(s > len(y) * np.finfo(float).eps * s[0], s, 0.0) ** 2
    shrink = np.divide(s, s + len(y) * strength, out=np.zeros_like(s), where=s > 0.0)
    h = U**2 @ shrink + base
    if h.max() > 1.0 - 1e-8:  # that row is fitted whatever its target
        return None
    return (y - U @ (shrink * (U.T @ y))) / (1.0 - h), h
