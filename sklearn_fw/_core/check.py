"""Checks shared by all estimators; errors name the parameter and the remedy.

A number is anything that registers as `numbers.Real`: Python and numpy numbers, `np.longdouble` and
`fractions.Fraction` too, as long as a float64 can hold it. It is a float from here on.
"""

import functools
import re
from contextlib import contextmanager
from numbers import Integral, Real

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils import check_array, check_scalar
from sklearn.utils import check_random_state as _random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .blocks import aligned, refuse_collection

# Largest number of which squares can be summed, and multiplied with weights; one over it is the
# smallest share that a weight may have.
LARGEST = 1e100
# Sums of the largest numbers may be infinite on the way: comparisons come out right.
BEYOND = {"over": "ignore", "invalid": "ignore"}


# ---- numbers and names ---------------------------------------------------------------------------


def positive(value, name):
    """A finite real number above zero, as a float."""
    check_scalar(value, name, Real, min_val=0, include_boundaries="neither")
    number = _as_float(value, name)
    if number == 0.0:
        raise ValueError(f"{name} must be positive, got {value}, which a float64 rounds to zero")
    return number


def strength(value, name):
    """A positive number of which squares and inverses are numbers, too."""
    return between(value, name, 1.0 / LARGEST, LARGEST)


def between(value, name, least, most):
    """A positive number in a range, as a float."""
    number, start = positive(value, name), f"{least:g}" if least > 1e-200 else "0 (excluded)"
    if not least <= number <= most:
        raise ValueError(f"{name} must be from {start} to {most:g}, got {number:g}")
    return number


def not_negative(value, name):
    """A finite real number that is not below zero, as a float."""
    check_scalar(value, name, Real, min_val=0)
    return _as_float(value, name)


def moderate(value, name):
    """A number from 0 to one of which squares can be summed."""
    number = not_negative(value, name)
    if number > LARGEST:
        raise ValueError(f"{name} must be at most {LARGEST:g}, or sums would overflow; got {value}")
    return number


def fraction(value, name):
    number = not_negative(value, name)
    if number > 1.0:
        raise ValueError(f"{name} must be a fraction from 0 to 1, got {value:g}")
    return number


def number(value, name):
    check_scalar(value, name, Real)
    return _as_float(value, name)


def _as_float(value, name):
    try:
        number = float(value)
    except OverflowError:  # integers and fractions have no limit
        number = np.inf
    if not np.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number} as a float64")
    return number


def integer(value, name, minimum, maximum=2**63 - 1):
    return int(check_scalar(value, name, Integral, min_val=minimum, max_val=maximum))


def flag(value, name):
    if not (isinstance(value, Integral | np.bool_) and value in (0, 1)):
        raise TypeError(f"{name} must be True or False, got {value!r}")
    return bool(value)


def items(values, name, what, n=None, least=0):
    """The elements of a list, tuple, array or other container, but not of text or a mapping.

    ``n`` is how many there must be, ``least`` how many at least.
    """
    if isinstance(values, str | bytes | dict | set) or not hasattr(values, "__iter__"):
        kind = "None" if values is None else f"a {type(values).__name__}"
        raise TypeError(f"{name} must be a list of {what}, got {kind}")
    if getattr(values, "ndim", 1) == 0:
        raise TypeError(f"{name} must be a list of {what}, got an array without axes")
    values = list(values)
    if len(values) < least or n not in (None, len(values)):
        wanted = f"{least} or more" if n is None else n
        raise ValueError(f"{name} must be a list of {wanted} {what}, got {len(values)}")
    return values


def instance(value, name, kind):
    """An object of a class, or of one of a union such as ``dict | None``."""
    if not isinstance(value, kind):
        kinds = " or ".join(one.__name__ for one in getattr(kind, "__args__", (kind,)))
        kinds = kinds.replace("NoneType", "None")
        raise TypeError(f"{name} must be a {kinds}, got {value!r:.60}")
    return value


def texts(values, name, n=None):
    found = enumerate(items(values, name, "texts", n))
    return [instance(value, f"{name}[{i}]", str) for i, value in found]


def unpacked(answer, parts, name):
    """What user code returned as a tuple of ``parts``, named in one text."""
    if not (isinstance(answer, tuple | list) and len(answer) == len(parts.split(", "))):
        size = f" of {len(answer)}" if isinstance(answer, tuple | list) else ""
        raise TypeError(f"{name} must return a tuple ({parts}), got {type(answer).__name__}{size}")
    return answer


def samples(items, name):
    """Refuse what has no length; the shape is returned, or None of what has none."""
    refuse_collection(items, name)
    shape = getattr(items, "shape", None)
    if shape is None and hasattr(items, "__array__"):
        shape = np.asarray(items).shape
    if shape == () or (shape is None and not hasattr(items, "__len__")):
        kind = "an array without axes" if shape == () else f"a {type(items).__name__}"
        raise TypeError(f"{name} must be a list or array, got {kind}: give one entry per sample")
    return shape


def dtype(dtype):
    try:
        found = np.dtype(dtype)
    except TypeError:
        found = None
    if dtype is None or found is None or found.kind not in "fiub":
        raise ValueError(f"dtype must be a kind of real numbers (numpy.float64), got {dtype!r:.60}")
    return found


def time_limit(value):
    """Seconds, or infinity for None."""
    return np.inf if value is None else positive(value, "time_limit")


def random_state(random_state):
    """That of scikit-learn, with the name of the parameter in errors."""
    try:
        return _random_state(random_state)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"random_state must be None, an integer from 0 to 2**32 - 1 or a RandomState: {error}"
        ) from None


def is_named(value, *names):
    """Whether a parameter is one of some names; a comparison with an array has no truth value."""
    return isinstance(value, str) and value in names


def is_auto(value):
    return is_named(value, "auto")


def choice(value, name, choices, other=None):
    """One of a few strings; ``other`` names what else the parameter may be, for the message."""
    if not (isinstance(value, str) and value in choices):
        known = ", ".join(repr(choice) for choice in sorted(choices))
        known = f"one of {known}" if len(choices) > 1 else known
        known = known if other is None else f"{known} or {other}"
        raise ValueError(f"{name} must be {known}; got {value!r}")
    return value


def resolve_named(value, name, base, makers):
    """A new object for a name among ``makers``, or a clone of an object of class ``base``."""
    if isinstance(value, base):
        try:
            return clone(value)
        except TypeError as error:  # a generator has no copy
            raise TypeError(
                f"{name} has a parameter that cannot be copied: give {type(value).__name__} plain "
                f"values ({error})"
            ) from None
    if isinstance(value, str) and value in makers:
        return makers[value]()
    known = ", ".join(repr(known) for known in sorted(makers))
    raise ValueError(f"{name} must be one of {known} or a {name} object; got {value!r}")


# ---- constraints, made of checks: functions of value and name -----------------------------------


def instance_of(kind):
    return functools.partial(instance, kind=kind)


def at_least(minimum):
    return functools.partial(integer, minimum=minimum)


def within(low, high, closed="both"):
    """A number of an interval; ``closed`` is "both", "left", "right" or "neither"."""

    def accept(value, name):
        value = number(value, name)  # comparisons with NaN would pass
        check_scalar(value, name, Real, min_val=low, max_val=high, include_boundaries=closed)

    return accept


def options(*names, kind=(), other=None):
    """One of a few strings, or of a kind; ``other`` names what else there is, checked elsewhere."""

    def accept(value, name):
        if not isinstance(value, kind) and (other is None or isinstance(value, str)):
            choice(value, name, names, other)

    return accept


def optional(accept):
    return lambda value, name: None if value is None else accept(value, name)


def auto_or(accept, other="a number", words=("auto",)):
    """The word "auto", or others, or what ``accept`` accepts, which is ``other`` in messages."""

    def accept_both(value, name):
        if isinstance(value, str):
            choice(value, name, words, other)
        else:
            accept(value, name)

    return accept_both


# ---- arrays --------------------------------------------------------------------------------------


def array(values, name, finite=True):
    """A float64 array of real numbers of any shape, possibly the very same one.

    Text, objects, complex numbers, dates and masked entries are refused; infinity too unless
    ``finite`` is false, and NaN unless it is None.
    """
    # What methods hand each other in every step needs no more than a look at its numbers.
    is_float = type(values) is np.ndarray and values.dtype == np.float64
    if is_float and (finite is None or is_moderate(values)):
        return values
    if np.ma.is_masked(values):
        raise ValueError(f"{name} has masked entries: fill them, for instance by {name}.filled(0)")
    try:
        array = np.asarray(values)
        if array.dtype.kind == "O":
            strange = [v for v in array.ravel().tolist() if not isinstance(v, Real)]
            if strange:
                raise TypeError(f"it holds {strange[0]!r}")
        elif array.dtype.kind not in "fiub":
            raise TypeError(f"its dtype is {array.dtype}")
        array = array.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name} must hold real numbers only: {error}") from None
    is_good = finite is None or is_moderate(array)  # the exact checks cost more
    if finite and not is_good and not np.all(np.isfinite(array)):
        raise ValueError(f"{name} must be finite, got NaN or infinity")
    if not finite and not is_good and np.any(np.isnan(array)):
        raise ValueError(f"{name} contains NaN")
    return array


def vector(values, name, size=None):
    """A float64 vector that is not empty, or is as long as ``size`` says."""
    values = array(values, name)
    if size is not None and values.shape != (size,):
        raise ValueError(f"{name}.shape == {values.shape}, expected ({size},)")
    if size is None and (values.ndim != 1 or not values.size):
        raise ValueError(f"{name} must be a vector, got shape {values.shape}")
    return values


def numbers(values, name, finite=True):
    """`array` of numbers with squares that can be summed, and of infinity unless ``finite``."""
    values = array(values, name, finite)
    magnitude(values if finite else values[np.isfinite(values)], name)
    return values


def matrix(values, name):
    return shaped(values, name, "n_rows", "n_columns")


def shaped(values, name, *shape):
    """`numbers` of a shape; a text is any size above zero, the same where it is repeated."""
    values = numbers(values, name)
    sizes = {size: size for size in shape if not isinstance(size, str)}
    fits = values.ndim == len(shape) and all(
        sizes.setdefault(size, n) == n for size, n in zip(shape, values.shape)
    )
    if not fits or not (values.size or 0 in shape):
        wanted = str(shape).replace("'", "")
        raise ValueError(f"{name} must have shape {wanted}, got {values.shape}")
    return values


def is_moderate(values):
    """Whether all numbers are finite and have squares that can be summed: a quick question."""
    if not values.size:
        return True
    # NaN is the smallest and the largest number, and no larger or smaller than any.
    largest, smallest = np.maximum.reduce, np.minimum.reduce  # less to call than the methods
    # Single precision would have to hold the limit, which it does not.
    if not float(largest(values, axis=None)) <= LARGEST:
        return False
    return float(smallest(values, axis=None)) >= -LARGEST


def magnitude(values, name):
    """Refuse numbers with squares that overflow."""
    if is_moderate(values):
        return
    largest = max(float(values.max(initial=0)), -float(values.min(initial=0)))
    if largest > LARGEST:
        raise ValueError(
            f"{name} has an entry of absolute value {largest:.3g}, sums of squares would overflow: "
            f"scale it, for instance with sklearn.preprocessing.MaxAbsScaler"
        )


def sample_weight(sample_weight, n_samples, name="sample_weight"):
    """Weights of samples as a float64 array; None gives ones."""
    if sample_weight is None:
        return np.ones(n_samples)
    weight = array(sample_weight, name)
    if weight.ndim == 0:
        weight = np.full(n_samples, float(weight))
    if weight.ndim != 1:
        raise ValueError(
            f"Sample weights must be 1D array or scalar, {name} has shape {weight.shape}"
        )
    if weight.size != n_samples:
        raise ValueError(
            f"{name}.shape == {weight.shape}, expected ({n_samples},): one weight per sample"
        )
    if np.any(weight < 0):
        raise ValueError(f"{name} must not be negative, got {weight.min()}")
    if not np.any(weight > 0):
        raise ValueError(f"{name} must not be zero for all samples")
    largest, smallest = float(weight.max()), float(weight.min(where=weight > 0, initial=np.inf))
    # Sums, shares of the sum and products of two shares stay numbers.
    if not (1.0 / LARGEST <= largest <= LARGEST and smallest >= largest / LARGEST):
        raise ValueError(
            f"{name} goes from {smallest:.3g} to {largest:.3g}, which rounding and overflow "
            f"would spoil: divide it by its mean, and set what is below 1e-100 of it to zero"
        )
    return weight


# ---- sparse matrices -----------------------------------------------------------------------------


def table(X, *, input_name="X", **options):
    """`sklearn.utils.check_array`, after `kind`."""
    X = kind(X, input_name)
    with _named(input_name):
        return aligned(check_array(X, input_name=input_name, **options))


def data(estimator, X, *y, **options):
    """`sklearn.utils.validation.validate_data`, after `kind`."""
    if y and y[0] is not None and not sp.issparse(y[0]):
        y = (_check_targets(y[0], options.get("y_numeric", False)),)
    X = kind(X, "X")
    with _named("X", "y"):
        found = validate_data(estimator, X, *y, **options)
    return (aligned(found[0]), *found[1:]) if isinstance(found, tuple) else aligned(found)


def rows(estimator, X, *y, reset=True, **options):
    """`data` as float64 with squares that do not overflow; unless ``reset``, of what is fitted."""
    if not reset:
        check_is_fitted(estimator)
    found = data(estimator, X, *y, dtype=np.float64, reset=reset, **options)
    X = found[0] if y else found
    magnitude(X.data if sp.issparse(X) else X, "X")
    return found


def classes(y, fractions=False):
    """Sorted labels of a classifier, two at least, and the place of each sample among them."""
    if not fractions:
        check_classification_targets(y)
    labels, places = np.unique(y, return_inverse=True)
    if len(labels) < 2:
        raise ValueError("needs labels of at least 2 classes, found one class in y")
    return labels, places


def _check_targets(y, numeric):
    if not isinstance(y, str):  # of scikit-learn, which refuses a missing y
        samples(y, "y")
    if np.ma.is_masked(y):
        raise ValueError("y has masked entries: leave them out")
    try:
        values = labels(y)
    except ValueError:  # of unequal lengths, which scikit-learn refuses
        return y
    kind = values.dtype.kind
    if kind == "c":
        raise ValueError("Complex data not supported in y")
    if numeric and kind not in "fiub":  # where None would become NaN after all checks
        return array(y, "y")
    if kind == "O" and any(map(is_missing, values.ravel())):
        raise ValueError("y has missing labels: leave these samples out")
    return values if kind == "O" else y


def labels(y):
    """An array of labels, of objects where numpy would turn others of a list into text."""
    values = np.asarray(y)
    if values.dtype.kind == "U" and isinstance(y, list | tuple):
        given = np.array(y, dtype=object)
        if not all(issubclass(kind, str) for kind in set(map(type, given.ravel().tolist()))):
            return given
    return values


def find_labels(y, name):
    try:
        values = labels(y)
        has_holes = values.dtype.kind == "O" and any(map(is_missing, values.ravel().tolist()))
        found = values if has_holes else np.unique(values)
    except (TypeError, ValueError):
        raise ValueError(f"{name} mixes labels that cannot be sorted: use one type") from None
    is_finite = found.dtype.kind != "f" or np.all(np.isfinite(found))
    if has_holes or values.ndim != 1 or not is_finite:
        raise ValueError(f"{name} must be a vector of labels without NaN and infinity")
    return found


def is_missing(label):
    """Whether a label is None, NaN, or what pandas has for these."""
    is_nan = isinstance(label, float | np.floating) and label != label
    return label is None or is_nan or type(label).__name__ in ("NAType", "NaTType")


@contextmanager
def _named(*names):
    """Put a name before messages of scikit-learn and numpy that have none."""
    try:
        yield
    except (TypeError, ValueError, OverflowError) as error:
        kind = ValueError if isinstance(error, OverflowError) else type(error)
        is_named = re.search(rf"\b({'|'.join(names)})\b", str(error))
        if is_named or kind not in (TypeError, ValueError):
            raise
        both = len(names) > 1 and "inconsistent" in str(error)
        remedy = "; encode text by OneHotEncoder" if "convert string" in str(error) else ""
        raise kind(f"{' and '.join(names) if both else names[0]}: {error}{remedy}") from None


def kind(X, name):
    """Refuse what scikit-learn would read as numbers without a word, or hand to unsafe code."""
    if sp.issparse(X):
        return sparse(X, name)
    refuse_collection(X, name)
    if np.ma.is_masked(X):
        raise ValueError(f"{name} has masked entries: fill them, for instance by {name}.filled(0)")
    columns = getattr(X, "columns", None)
    if columns is not None and len(set(columns)) < len(columns):
        twice = next(column for k, column in enumerate(columns) if column in list(columns)[:k])
        raise ValueError(
            f"{name} has several columns of the name {twice!r}: rename or drop all but one, for "
            f"instance by {name}.loc[:, ~{name}.columns.duplicated()]"
        )
    try:
        array = np.asarray(X) if isinstance(X, list | tuple) else X
    except ValueError:  # of unequal lengths, which scikit-learn refuses
        return X
    if isinstance(array, np.ndarray) and array.dtype.kind in "SUVmM":
        raise ValueError(f"{name} must hold numbers, got dtype {array.dtype}")
    return X


def sparse(X, name):
    """A sparse matrix of which all indices are in range; anything else is returned as it is.

    Compiled code, ours and that of scipy, would read and write outside of the arrays. scipy checks
    a part of this when a matrix is made, and nothing after its arrays were changed. The cost is one
    pass over the indices. Formats without plain arrays of indices become CSR.
    """
    if not sp.issparse(X):
        return X
    if X.dtype.kind == "O":
        try:
            X = X.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{name} must hold numbers, got dtype object: {error}") from None
    if X.ndim != 2:
        raise ValueError(f"{name} must be a sparse matrix of two dimensions, got {X.ndim}")
    if X.format == "coo":
        for axis, index in enumerate(X.coords if hasattr(X, "coords") else (X.row, X.col)):
            _check_indices(index, X.shape[axis], f"{name}.{('row', 'col')[axis]}")
            if len(index) != len(X.data):
                raise ValueError(f"{name} has {len(index)} indices for {len(X.data)} numbers")
        return X
    if X.format not in ("csr", "csc", "bsr"):
        X = X.tocsr()
    n_major, n_minor = X.shape if X.format != "csc" else X.shape[::-1]
    if X.format == "bsr":
        n_major, n_minor = n_major // X.blocksize[0], n_minor // X.blocksize[1]
    indptr, indices = X.indptr, X.indices
    if indptr.dtype.kind != "i" or indptr.shape != (n_major + 1,):
        raise ValueError(
            f"{name}.indptr must hold {n_major + 1} integers, got {indptr.dtype} of {indptr.shape}"
        )
    n_entries = min(len(indices), len(X.data))
    if indptr[0] != 0 or indptr[-1] > n_entries or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(
            f"{name}.indptr must rise from 0 to the number of entries, at most {n_entries}: make "
            f"the matrix again from its parts"
        )
    _check_indices(indices, n_minor, f"{name}.indices")
    if len(indices) > indptr[-1] or len(X.data) > indptr[-1]:  # a reserve behind the last row
        X = X.copy()
        X.prune()
    return X


def _check_indices(indices, size, name):
    if indices.dtype.kind not in "iu" or indices.ndim != 1:
        raise ValueError(f"{name} must hold integers, got {indices.dtype} of shape {indices.shape}")
    # Negative numbers read as unsigned ones are larger than any size.
    unsigned = indices.view(indices.dtype.str.replace("i", "u"))
    if len(indices) and np.maximum.reduce(unsigned) >= size:
        raise ValueError(
            f"{name} must name places from 0 to {size - 1}, got {indices.min()} to "
            f"{indices.max()}: rebuild the matrix from its parts"
        )
