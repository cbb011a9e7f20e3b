"""The contract of estimators whose samples and targets are not rows of an array.

scikit-learn runs one of its checks on them and skips the rest; these stand in for it.
"""

import inspect
import io
import pickle
import warnings
from contextlib import contextmanager
from functools import cached_property

import joblib
import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.utils.validation import has_fit_parameter

from .._core import check
from .._core.packed import Packed, objects


def check_structured_estimator(
    estimator, X, y, *, sample_weight_tol=0.05, backend="threading", skip=()
):
    """Check that an estimator of structured outputs keeps scikit-learn's contract.

    Choose it in the tests of your own estimator, in addition to
    :func:`sklearn.utils.estimator_checks.check_estimator`, which needs 2-D arrays.

    Parameters
    ----------
    estimator : estimator
        Unfitted or fitted; only clones of it are fitted.  Should fit ``X`` within a
        second: about fifteen fits are made.
    X, y : list, object array or Packed of n_samples samples and targets
        At least six samples: arrays, CSR, tuples of these, graphs or anything that pickles.
    sample_weight_tol : float, default=0.05
        Tolerance of a fit with integer weights against a fit on copies of the samples:
        relative difference of ``coef_`` where the estimator has it, else the fraction
        of samples predicted differently.
    backend : str, default="threading"
        Joblib backend of the grid search with two workers; ``"loky"`` needs an estimator that
        other processes can import.
    skip : tuple of str, default=()
        Names of checks to leave out, for example ``("string_labels",)`` when labels
        must be 0 and 1.

    Returns
    -------
    dict of str to str
        ``{name of check: "passed" or "skipped: <reason>"}``.

    Raises
    ------
    AssertionError
        At the first violated check; the message starts with its name.

    Notes
    -----
    The checks are:

    - ``clone``, ``set_params``: ``__init__`` only stores its arguments;
    - ``unfitted``: ``predict`` before ``fit`` raises ``NotFittedError``;
    - ``fit_returns_self``, ``fit_keeps_parameters``;
    - ``fit_is_repeatable``: fits with one ``random_state`` predict the same, also of one object;
    - ``data_unchanged``, ``read_only_data``: arrays of the user are not written to;
    - ``containers``: list, object array, ``Packed`` and one array of samples with equal shapes
      lead to equal predictions;
    - ``prediction_container``: ``predict`` returns an array or ``Packed`` with one
      element per sample;
    - ``predict_subset``, ``predict_shuffled``: a prediction depends on its own sample;
    - ``unequal_lengths``: ``fit`` with a missing target raises ``ValueError``;
    - ``pickle`` (also joblib), ``skops`` (when installed): a stored estimator predicts the same;
    - ``sample_weight``: weight k equals k copies, and ones equal ``None``;
    - ``score``: a finite number;
    - ``grid_search``: ``GridSearchCV`` with two workers, and ``cross_val_predict``;
    - ``string_labels``: renaming integer labels to text (or back) renames predictions.

    ``ConvergenceWarning`` is ignored throughout.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.base import BaseEstimator
    >>> from sklearn_fw.utils import check_structured_estimator
    >>> class Writer(BaseEstimator):
    ...     def fit(self, X, y):
    ...         X[0][:] = 0
    ...         return self
    ...     def predict(self, X):
    ...         return X
    >>> X = [np.ones((2, 1))] * 6
    >>> checks = ("unfitted", "fit_is_repeatable")
    >>> check_structured_estimator(Writer(), X, X, skip=checks)
    Traceback (most recent call last):
    AssertionError: data_unchanged: fit or predict changed X
    """
    skip = check.items(skip, "skip", "names of checks")
    unknown = [name for name in skip if not (isinstance(name, str) and name in _CHECKS)]
    if unknown:
        raise ValueError(f"skip names unknown checks {unknown}; known: {list(_CHECKS)}")
    check.not_negative(sample_weight_tol, "sample_weight_tol")
    if not isinstance(backend, str):
        raise TypeError(f"backend must be the name of a backend of joblib, got {backend!r}")
    X, y = check.items(X, "X", "samples"), check.items(y, "y", "outputs")
    case = _Case(estimator, X, y, sample_weight_tol, backend)
    if len(case.X) < 6 or len(case.X) != len(case.y):
        raise ValueError(f"X and y need one length from 6 on, got {len(case.X)} and {len(case.y)}")
    results = {}
    for name, run in _CHECKS.items():
        if name in skip:
            results[name] = "skipped: on request"
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            try:
                reason = run(case)
            except AssertionError as error:
                raise AssertionError(f"{name}: {error}") from error
            except Exception as error:
                message = f"{name}: {type(error).__name__} was raised: {error}"
                raise AssertionError(message) from error
        results[name] = "passed" if reason is None else f"skipped: {reason}"
    return results


class _Case:
    """What is checked, and one fit that the checks share."""

    def __init__(self, estimator, X, y, sample_weight_tol, backend):
        self.X, self.y = X, y
        self.sample_weight_tol, self.backend = sample_weight_tol, backend
        self._given = estimator

    @cached_property
    def estimator(self):
        """Unfitted, and the same in every fit; made by the first check, which is of clone."""
        estimator = clone(self._given)
        if "random_state" in estimator.get_params(deep=False):
            estimator.set_params(random_state=0)
        return estimator

    @cached_property
    def fitted(self):
        return self.fit()

    def fit(self, X=None, y=None, **params):
        """A new fit, to copies of all samples where none are given."""
        X, y = _copy(self.X) if X is None else X, _copy(self.y) if y is None else y
        return clone(self.estimator).fit(X, y, **params)

    def predict(self, X=None, estimator=None):
        estimator = self.fitted if estimator is None else estimator
        return list(estimator.predict(_copy(self.X) if X is None else X))

    def predicts_apart(self, index):
        """Whether some samples alone, in this order, are predicted as among all of them."""
        everything, alone = self.predict(), self.predict([_copy(self.X[i]) for i in index])
        return _same([everything[i] for i in index], alone)


@contextmanager
def _refused(error, otherwise):
    try:
        yield
    except error:
        return
    raise AssertionError(otherwise)


def _check_clone(case):
    params = case.estimator.get_params(deep=False)
    for name, value in clone(case.estimator).get_params(deep=False).items():
        assert joblib.hash(value) == joblib.hash(params[name]), f"clone changes {name}"
    signature = inspect.signature(type(case.estimator).__init__).parameters
    made = type(case.estimator)(**params)
    for name in params:
        assert name in signature, f"{name} is not an argument of __init__"
        assert getattr(made, name) is params[name], f"__init__ does not just store {name}"
    extra = set(vars(made)) - set(params)
    assert not extra, f"__init__ sets {sorted(extra)}, which are not parameters"


def _check_set_params(case):
    estimator = clone(case.estimator)
    params = estimator.get_params(deep=True)
    assert estimator.set_params(**params) is estimator, "set_params does not return self"
    for name, value in estimator.get_params(deep=True).items():
        assert value is params[name], f"set_params changes {name}"
    with _refused(ValueError, "set_params accepts a parameter that does not exist"):
        estimator.set_params(no_such_parameter=1)


def _check_unfitted(case):
    with _refused(NotFittedError, "predict works before fit"):
        clone(case.estimator).predict(_copy(case.X))


def _check_fit_returns_self(case):
    estimator = clone(case.estimator)
    assert estimator.fit(_copy(case.X), _copy(case.y)) is estimator, "fit returns something else"


def _check_fit_keeps_parameters(case):
    estimator = clone(case.estimator)
    before = estimator.get_params(deep=False)
    hashes = {name: joblib.hash(value) for name, value in before.items()}
    estimator.fit(_copy(case.X), _copy(case.y))
    for name, value in estimator.get_params(deep=False).items():
        assert value is before[name], f"fit replaces the parameter {name}"
        assert joblib.hash(value) == hashes[name], f"fit changes the object passed as {name}"


def _check_fit_is_repeatable(case):
    first = case.predict()
    second = case.predict(estimator=case.fit())
    assert _same(first, second), "two fits with the same random_state predict differently"
    if case.estimator.get_params(deep=False).get("warm_start"):
        return  # a second fit is meant to go on from the first
    again = case.fit().fit(_copy(case.X), _copy(case.y))
    assert _same(first, case.predict(estimator=again)), "fitting again predicts differently"


def _check_data_unchanged(case):
    X, y = _copy(case.X), _copy(case.y)
    hashes = joblib.hash(X), joblib.hash(y)
    case.fit(X, y).predict(X)
    assert joblib.hash(X) == hashes[0], "fit or predict changed X"
    assert joblib.hash(y) == hashes[1], "fit changed y"


def _check_read_only_data(case):
    X, y = _copy(case.X, writeable=False), _copy(case.y, writeable=False)
    out = case.predict(X, case.fit(X, y))
    assert _same(case.predict(), out), "predictions differ on read-only arrays"


def _check_containers(case):
    expected = case.predict()
    forms = {"object array": (objects, objects)}
    if all(_packable(items) for items in (case.X, case.y)):
        forms["Packed"] = (Packed.from_list, Packed.from_list)
    if all(isinstance(x, np.ndarray) for x in case.X) and len({x.shape for x in case.X}) == 1:
        # numpy makes this of samples of equal shape, often without the user's intention.
        forms["an array of one more dimension"] = (np.stack, list)
    for name, (form_X, form_y) in forms.items():
        X, y = form_X(_copy(case.X)), form_y(_copy(case.y))
        out = case.predict(X, case.fit(X, y))
        assert _same(expected, out), f"predictions differ between a list and {name}"


def _check_prediction_container(case):
    out = case.fitted.predict(_copy(case.X))
    good = isinstance(out, np.ndarray | Packed)
    assert good, f"predict returns a {type(out).__name__}, not a 1-D object array"
    flat = len(out.shape) == 1 or not (isinstance(out, Packed) or out.dtype == object)
    assert flat, f"predictions have shape {out.shape}, not (n_samples,)"
    assert len(out) == len(case.X), f"{len(out)} predictions for {len(case.X)} samples"
    for i, (predicted, true) in enumerate(zip(out, case.y)):
        # Targets of more dimensions may be lists of pairs, whose number is predicted too.
        if isinstance(true, np.ndarray | list) and np.ndim(true) == 1:
            shape, expected = np.shape(predicted), np.shape(true)
            assert shape == expected, f"prediction {i} has shape {shape}, its target {expected}"


def _check_predict_subset(case):
    for part in ([0], [len(case.X) - 1], range(1, len(case.X), 2)):
        assert case.predicts_apart(part), "a subset is predicted differently"


def _check_predict_shuffled(case):
    order = np.random.default_rng(0).permutation(len(case.X))
    assert case.predicts_apart(order), "shuffled samples are predicted differently"


def _check_unequal_lengths(case):
    with _refused(ValueError, "fit accepts fewer targets than samples"):
        case.fit(y=_copy(case.y[:-1]))


def _check_pickle(case):
    expected = case.predict()
    restored = pickle.loads(pickle.dumps(case.fitted))
    assert _same(expected, case.predict(estimator=restored)), "predictions change by pickle"
    buffer = io.BytesIO()
    joblib.dump(case.fitted, buffer)
    buffer.seek(0)
    out = case.predict(estimator=joblib.load(buffer))
    assert _same(expected, out), "predictions change by joblib"
    assert _same(expected, case.predict()), "pickling changes the estimator itself"


def _check_skops(case):
    try:
        import skops.io
    except ImportError:
        return "skops is not installed"
    dumped = skops.io.dumps(case.fitted)
    restored = skops.io.loads(dumped, trusted=skops.io.get_untrusted_types(data=dumped))
    assert _same(case.predict(), case.predict(estimator=restored)), "predictions change by skops"


def _check_sample_weight(case):
    if not has_fit_parameter(case.estimator, "sample_weight"):
        return "fit takes no sample_weight"
    n = len(case.X)
    weight = np.resize([1.0, 2.0, 3.0], n)
    order = np.repeat(np.arange(n), weight.astype(int))
    pairs = {
        "weight k and k copies": (
            case.fit(sample_weight=weight),
            case.fit([_copy(case.X[i]) for i in order], [_copy(case.y[i]) for i in order]),
        ),
        "weight 1 and no weight": (case.fit(sample_weight=np.ones(n)), case.fitted),
    }
    for name, (a, b) in pairs.items():
        if hasattr(a, "coef_"):
            scale = max(float(np.linalg.norm(b.coef_)), 1e-12)
            difference = float(np.linalg.norm(np.asarray(a.coef_) - b.coef_)) / scale
        else:
            same = [_same(*p) for p in zip(case.predict(estimator=a), case.predict(estimator=b))]
            difference = 1 - np.mean(same)
        limit = case.sample_weight_tol
        assert difference <= limit, f"{name} differ by {difference:.3g} > {limit:g}"


def _check_score(case):
    if not hasattr(case.fitted, "score"):
        return "there is no score"
    score = case.fitted.score(_copy(case.X), _copy(case.y))
    assert np.ndim(score) == 0, f"score is not a number but {score!r}"
    assert np.isfinite(score), f"score is {score!r}"


def _check_grid_search(case):
    scorer = None if hasattr(case.fitted, "score") else (lambda *args: 0.0)
    options = {"cv": 2, "n_jobs": 2, "scoring": scorer, "error_score": "raise"}
    search = GridSearchCV(clone(case.estimator), {}, **options)
    with joblib.parallel_config(backend=case.backend):
        search.fit(_copy(case.X), _copy(case.y))
        out = cross_val_predict(clone(case.estimator), _copy(case.X), _copy(case.y), cv=2, n_jobs=2)
    assert np.isfinite(search.best_score_), f"best_score_ is {search.best_score_}"
    assert _same(case.predict(), case.predict(estimator=search)), "the refitted model differs"
    assert len(out) == len(case.X), f"cross_val_predict gives {len(out)} predictions"


def _check_string_labels(case):
    flat = [np.ravel(target) for target in case.y]
    kinds = {labels.dtype.kind for labels in flat}
    if not (kinds <= set("iu") or kinds == {"U"}):
        return f"targets are neither arrays of integers nor of text (dtype kinds {sorted(kinds)})"
    classes = np.unique(np.concatenate(flat))
    # Order is kept, so that nothing but the names differs between the two problems.
    if kinds == {"U"}:
        names = np.arange(len(classes)) * 2 + 3
    else:
        names = np.array([f"label {i:05d}" for i in range(len(classes))])

    def rename(target):
        return names[np.searchsorted(classes, np.asarray(target))]

    out = case.predict(estimator=case.fit(y=[rename(t) for t in case.y]))
    expected = [rename(t) for t in case.predict()]
    assert _same(expected, out), "renamed labels are predicted differently"


_CHECKS = {
    name.removeprefix("_check_"): check
    for name, check in list(globals().items())
    if name.startswith("_check_")
}


def _packable(items):
    try:
        Packed.from_list(items)
    except (TypeError, ValueError):
        return False
    return all(isinstance(item, np.ndarray | list) or sp.issparse(item) for item in items)


def _copy(item, *, writeable=True):
    """Deep copy of arrays, CSR and containers of them; other objects through pickle."""
    if isinstance(item, np.ndarray) and item.dtype != object:
        item = item.copy()
        item.flags.writeable = writeable
        return item
    if sp.issparse(item):
        item = item.copy()
        for name in {"data", "indices", "indptr"} & set(vars(item)):
            getattr(item, name).flags.writeable = writeable
        return item
    if isinstance(item, list):
        return [_copy(part, writeable=writeable) for part in item]
    if isinstance(item, tuple):
        parts = [_copy(part, writeable=writeable) for part in item]
        return item._make(parts) if hasattr(item, "_make") else tuple(parts)
    return pickle.loads(pickle.dumps(item))


def _same(a, b):
    """Whether two outputs are equal: containers part by part, floats up to rounding."""
    if sp.issparse(a) or sp.issparse(b):
        return a.shape == b.shape and abs(a - b).sum() <= 1e-7 * abs(a).sum()
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b))
    if hasattr(a, "nodes") and hasattr(a, "edges"):
        return dict(a.nodes) == dict(b.nodes) and dict(a.edges) == dict(b.edges)
    a, b = np.asarray(a), np.asarray(b)
    if a.shape != b.shape or (a.dtype.kind in "US") != (b.dtype.kind in "US"):
        return False
    if a.dtype.kind == "f" or b.dtype.kind == "f":
        return np.allclose(a, b, rtol=1e-7, atol=0, equal_nan=True)
    return np.array_equal(a, b)
