"""Corrupted values: what can be wrong with a value, by its kind.

A corruption takes a valid value and a generator of random numbers and returns another value. Its
level says what a callable may answer:

- ``"invalid"``: an error, unless the documented type of the argument allows the value;
- ``"extreme"``: an error, or numbers that are finite or come with a warning;
- ``"harmless"``: the same answer as without the corruption, or an error.
"""

import copy
import dataclasses
import decimal
import fractions
import inspect
from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from . import corrupted_code, corrupted_files
from .corrupted_files import Skip


@dataclasses.dataclass(frozen=True)
class Corruption:
    """One way to spoil a value."""

    name: str
    level: str
    apply: Callable  # (value, rng) -> corrupted value


def need(condition):
    if not condition:
        raise Skip


class Nothing:
    """An object that can do nothing; it can be made of anything, like a function of the user."""

    def __init__(self, *args, **kwargs):
        pass


def table(level, **makers):
    return [Corruption(name, level, make) for name, make in makers.items()]


ANYTHING = table(
    "invalid",
    none=lambda v, rng: None,
    text=lambda v, rng: "no such thing",
    code=lambda v, rng: b"\xff\x00",
    thing=lambda v, rng: Nothing(),
    kind=lambda v, rng: Nothing,
    mapping=lambda v, rng: {"a": 1},
    date=lambda v, rng: np.datetime64("2020-01-01"),
    imaginary=lambda v, rng: 1.0 + 2.0j,
    nothing_inside=lambda v, rng: [],
)


# ---- numbers -------------------------------------------------------------------------------------


def same_number(make):
    def apply(value, rng):
        made = make(value)
        need(made == value)
        return made

    return apply


NUMBERS = [
    *table(
        "invalid",
        nan=lambda v, rng: np.nan,
        pair=lambda v, rng: np.array([1.0, 2.0]),
        digits=lambda v, rng: str(v),
    ),
    *table(
        "extreme",
        inf=lambda v, rng: np.inf,
        minus_inf=lambda v, rng: -np.inf,
        negative=lambda v, rng: -abs(v) - 1,
        zero=lambda v, rng: type(v)(0),
        huge=lambda v, rng: 1e308,
        tiny=lambda v, rng: 1e-308,
        subnormal=lambda v, rng: 5e-324,
        beyond_floats=lambda v, rng: 10**400,
        flag=lambda v, rng: True,
    ),
    *table(
        "harmless",
        fraction=lambda v, rng: fractions.Fraction(v),
        decimal=lambda v, rng: decimal.Decimal(v),
        longdouble=lambda v, rng: np.longdouble(v),
        no_axis=lambda v, rng: np.array(v),
        float32=same_number(lambda v: np.float32(v)),
        float64=lambda v, rng: np.float64(v),
    ),
]
INTEGERS = [
    *table(
        "invalid",
        nan=lambda v, rng: np.nan,
        half=lambda v, rng: v + 0.5,
        pair=lambda v, rng: np.array([1, 2]),
        digits=lambda v, rng: str(v),
        inf=lambda v, rng: np.inf,
    ),
    *table(
        "extreme",
        negative=lambda v, rng: -abs(v) - 1,
        zero=lambda v, rng: 0,
        beyond_int64=lambda v, rng: 10**30,
        minus_beyond=lambda v, rng: -(10**30),
        flag=lambda v, rng: True,
    ),
    *table(
        "harmless",
        int64=lambda v, rng: np.int64(v),
        uint8=same_number(lambda v: np.int64(v).astype(np.uint8)),
        no_axis=lambda v, rng: np.array(v),
        fraction=lambda v, rng: fractions.Fraction(v),
        whole_float=lambda v, rng: float(v),
    ),
]
FLAGS = [
    *table("invalid", nan=lambda v, rng: np.nan, word=lambda v, rng: "no", two=lambda v, rng: 2),
    *table("harmless", bool_=lambda v, rng: np.bool_(v)),
]
STRINGS = [
    *table(
        "invalid",
        number=lambda v, rng: 3,
        nan=lambda v, rng: np.nan,
        capitals=lambda v, rng: v.upper() + "S",
        code_of_it=lambda v, rng: v.encode(),
        in_a_list=lambda v, rng: [v],
        words=lambda v, rng: np.array([v, "b"]),
        sparse=lambda v, rng: sp.csr_array(np.eye(2)),
        missing=lambda v, rng: _pandas().NA,
    ),
    *table("harmless", str_=lambda v, rng: np.str_(v)),
]


# ---- arrays --------------------------------------------------------------------------------------


def with_entry(entry, dtype=None):
    def apply(value, rng):
        need(value.size)
        out = np.array(value, dtype=np.result_type(value, dtype) if dtype else None, copy=True)
        out.flat[rng.integers(out.size)] = entry
        return out

    return apply


def as_object(entry):
    def apply(value, rng):
        need(value.size)
        out = value.astype(object)
        out.flat[rng.integers(out.size)] = entry
        return out

    return apply


def cut(axis, by):
    def apply(value, rng):
        need(value.ndim > axis and value.shape[axis] > -by)
        if by < 0:
            return np.ascontiguousarray(np.delete(value, -1, axis))
        return np.concatenate([value, np.take(value, [0], axis)], axis)

    return apply


def strided(value, rng):
    need(value.ndim and value.size)
    wide = np.empty((*value.shape[:-1], 2 * value.shape[-1]), value.dtype)
    wide[..., ::2] = value
    return wide[..., ::2]


def read_only(value, rng):
    out = value.copy()
    out.flags.writeable = False
    return out


def masked(value, rng):
    need(value.size)
    mask = np.zeros(value.shape, bool)
    mask.flat[rng.integers(value.size)] = True
    return np.ma.masked_array(value, mask)


def frame(value, rng):
    pandas = _pandas()
    return pandas.DataFrame(value) if value.ndim == 2 else pandas.Series(value.ravel())


def frame_with_missing(value, rng):
    need(value.ndim in (1, 2) and value.size)
    pandas = _pandas()
    made = pandas.DataFrame(value).astype(object)
    made.iloc[rng.integers(len(made)), 0] = pandas.NA
    return made if value.ndim == 2 else made[0]


def _pandas():
    try:
        import pandas
    except ImportError:
        raise Skip from None
    return pandas


def ragged(value, rng):
    need(value.ndim == 2 and value.shape[0] > 1 and value.shape[1] > 1)
    rows = value.tolist()
    rows[-1] = rows[-1][:-1]
    return rows


ARRAYS = [
    *table(
        "invalid",
        no_axis=lambda v, rng: np.array(1.0),
        two_more_axes=lambda v, rng: v[..., None, None],
        complex_entries=lambda v, rng: v + 1j,
        dates=lambda v, rng: np.zeros(v.shape, "datetime64[D]"),
        object_none=as_object(None),
        object_text=as_object("x"),
        object_thing=as_object(Nothing()),
        missing=frame_with_missing,
        ragged=ragged,
    ),
    *table(
        "extreme",
        one_more_axis=lambda v, rng: v[..., None],
        empty=lambda v, rng: v[:0],
        no_columns=lambda v, rng: v[:, :0] if v.ndim == 2 else v[:0],
        shorter=cut(0, -1),
        longer=cut(0, 1),
        narrower=cut(1, -1),
        wider=cut(1, 1),
        constant=lambda v, rng: np.zeros_like(v),
        repeated=lambda v, rng: np.repeat(v[:1], max(len(v), 1), axis=0),
        masked=masked,
        generator=lambda v, rng: (row for row in v),
        one_row=lambda v, rng: v[:1],
        sparse=lambda v, rng: sp.csr_array(np.atleast_2d(v)),
        transposed=lambda v, rng: v.T,
    ),
    *table(
        "harmless",
        read_only=read_only,
        strided=strided,
        fortran=lambda v, rng: np.asfortranarray(v),
        big_endian=lambda v, rng: v.astype(v.dtype.newbyteorder(">")),
        nested_lists=lambda v, rng: v.tolist(),
        objects=lambda v, rng: v.astype(object),
        frame=frame,
    ),
]
FLOATS = [
    *table(
        "invalid",
        nan=with_entry(np.nan),
        text_entries=lambda v, rng: np.full(v.shape, "x"),
        object_nan=as_object(np.nan),
        all_nan=lambda v, rng: np.full(v.shape, np.nan),
    ),
    *table(
        "extreme",
        inf=with_entry(np.inf),
        minus_inf=with_entry(-np.inf),
        huge=lambda v, rng: v * 1e300,
        huge_entry=with_entry(1.7e308),
        tiny=lambda v, rng: v * 1e-300,
        float16=lambda v, rng: v.astype(np.float16),
        longdouble=lambda v, rng: v.astype(np.longdouble),
        negative=lambda v, rng: -np.abs(v) - 1.0,
        rounded=lambda v, rng: np.rint(v).astype(np.int8),
        flags=lambda v, rng: v > 0,
    ),
]
LABELS = [
    *table(
        "invalid",
        nan=with_entry(np.nan, float),
        object_nan=as_object(np.nan),
        half=with_entry(0.5, float),
    ),
    *table(
        "extreme",
        inf=with_entry(np.inf, float),
        minus_one=with_entry(-1),
        far=with_entry(10**6),
        very_far=with_entry(2**62),
        unsigned=lambda v, rng: (v - 1).astype(np.uint64),
        text_entries=lambda v, rng: v.astype(str),
        flags=lambda v, rng: v > 0,
        int8=lambda v, rng: v.astype(np.int8),
    ),
    *table("harmless", int32=lambda v, rng: v.astype(np.int32)),
]
WORDS = [
    *table("invalid", nan_inside=as_object(np.nan), thing_inside=as_object(Nothing())),
    *table(
        "extreme",
        unseen=lambda v, rng: np.full(v.shape, "unseen"),
        mixed=as_object(3),
        bytes_inside=as_object(b"\xff"),
    ),
]


# ---- sparse matrices ----------------------------------------------------------------------------


def broken_sparse(change):
    def apply(value, rng):
        need(value.format == "csr" and value.nnz > 1)
        out = value.copy()
        change(out, rng)
        return out

    return apply


def set_index(entry):
    def change(matrix, rng):
        matrix.indices[rng.integers(matrix.nnz)] = entry

    return broken_sparse(change)


def set_data(entry):
    def change(matrix, rng):
        matrix.data[rng.integers(matrix.nnz)] = entry

    return broken_sparse(change)


def set_indptr(place, entry):
    def change(matrix, rng):
        matrix.indptr[place] = entry

    return broken_sparse(change)


def duplicates(value, rng):
    coo = value.tocoo()
    half = coo.data / 2
    data, places = np.concatenate([half, half]), np.tile(np.stack(coo.coords), 2)
    by_row = np.argsort(places[0], kind="stable")
    indptr = 2 * value.tocsr().indptr
    return sp.csr_array((data[by_row], places[1][by_row], indptr), shape=value.shape)


def reversed_rows(value, rng):
    out = value.tocsr(copy=True)
    for start, end in zip(out.indptr, out.indptr[1:]):
        out.indices[start:end] = out.indices[start:end][::-1].copy()
        out.data[start:end] = out.data[start:end][::-1].copy()
    out.has_sorted_indices = False
    return out


def long_indices(value, rng):
    out = value.tocsr(copy=True)
    out.indices, out.indptr = out.indices.astype(np.int64), out.indptr.astype(np.int64)
    return out


def locked(value, rng):
    out = value.tocsr(copy=True)
    for part in (out.data, out.indices, out.indptr):
        part.flags.writeable = False
    return out


SPARSE = [
    *table(
        "invalid",
        index_beyond=lambda v, rng: set_index(v.shape[1] + 5)(v, rng),
        index_far=set_index(2**30),
        index_negative=set_index(-3),
        indptr_far=set_indptr(-1, 10**6),
        indptr_negative=set_indptr(1, -7),
        indptr_falls=lambda v, rng: set_indptr(1, v.nnz + 3)(v, rng),
        indptr_start=set_indptr(0, 2),
        nan=set_data(np.nan),
        complex_entries=lambda v, rng: v * 1j,
    ),
    *table(
        "extreme",
        inf=set_data(np.inf),
        huge=lambda v, rng: v * 1e300,
        tiny=lambda v, rng: v * 1e-300,
        no_entries=lambda v, rng: type(v)(v.shape),
        shorter=lambda v, rng: v[:-1],
        narrower=lambda v, rng: v[:, :-1],
        empty=lambda v, rng: v[:0],
    ),
    *table(
        "harmless",
        duplicates=duplicates,
        unsorted=reversed_rows,
        int64=long_indices,
        locked=locked,
        csc=lambda v, rng: v.tocsc(),
        coo=lambda v, rng: v.tocoo(),
    ),
]


# ---- containers, objects, user code, files -------------------------------------------------------


def object_array(value, rng):
    out = np.empty(len(value), dtype=object)
    out[:] = list(value)
    return out


LISTS = [
    *table(
        "invalid",
        number=lambda v, rng: 3,
        none_inside=lambda v, rng: [*list(v)[:-1], None],
        thing_inside=lambda v, rng: [*list(v)[:-1], Nothing()],
        nan_inside=lambda v, rng: [*list(v)[:-1], np.nan],
    ),
    *table(
        "extreme",
        shorter=lambda v, rng: v[:-1],
        longer=lambda v, rng: [*v, v[0]],
        one=lambda v, rng: v[:1],
        empty_inside=lambda v, rng: [*list(v)[:-1], []],
        generator=lambda v, rng: (item for item in v),
        set_of=lambda v, rng: set(range(len(v))),
        backwards=lambda v, rng: v[::-1],
    ),
]


def ways(prefix, module):
    return [Corruption(f"{prefix}_{name}", level, apply) for name, level, apply in module.WAYS]


def class_of(value, rng):
    need(not inspect.isroutine(value))
    return type(value)


OBJECTS = [*table("invalid", its_class=class_of, number=lambda v, rng: 3.5)]
USER_CODE, FILES = ways("user", corrupted_code), ways("file", corrupted_files)
RANDOM = [
    *table("invalid", number_text=lambda v, rng: "seed", half=lambda v, rng: 0.5),
    *table("extreme", negative=lambda v, rng: -1, huge=lambda v, rng: 2**70),
    *table("harmless", int64=lambda v, rng: np.int64(v)),
]


def kind_of(value, name=""):
    """Which list of `CORRUPTIONS` is for a value."""
    if name == "random_state":
        return "random"
    if isinstance(value, bool | np.bool_):
        return "flag"
    if isinstance(value, int | np.integer):
        return "integer"
    if isinstance(value, float | np.floating):
        return "number"
    if isinstance(value, str):
        return "string"
    if isinstance(value, Path):
        return "file"
    if sp.issparse(value):
        return "sparse"
    if isinstance(value, np.ndarray):
        return {"f": "floats", "i": "labels", "u": "labels", "b": "labels"}.get(
            value.dtype.kind, "words" if value.dtype.kind in "US" else "list"
        )
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return "list" if len(value) else "object"
    if value is None:
        return "nothing"
    return "code" if corrupted_code.has_methods(value) else "object"


CORRUPTIONS = {
    "number": ANYTHING + NUMBERS,
    "integer": ANYTHING + INTEGERS,
    "flag": ANYTHING + FLAGS,
    "string": ANYTHING + STRINGS,
    "random": [d for d in ANYTHING if d.name != "none"] + RANDOM,
    "floats": ANYTHING + ARRAYS + FLOATS,
    "labels": ANYTHING + ARRAYS + LABELS,
    "words": ANYTHING + ARRAYS + WORDS,
    "sparse": ANYTHING + SPARSE,
    "list": ANYTHING + LISTS,
    "object": ANYTHING + OBJECTS,
    "code": ANYTHING + OBJECTS + USER_CODE,
    "file": ANYTHING + FILES,
    "nothing": [d for d in ANYTHING if d.name != "none"],
}


def corruptions_of(value, name=""):
    """All corruptions for a value; ``name`` is that of its argument."""
    return CORRUPTIONS[kind_of(value, name)]


def parts_of(value):
    """Places inside of a value that can be corrupted on their own: [(name, part, replace)]."""
    if hasattr(value, "_fields"):
        pairs, replace = zip(value._fields, value), lambda name, new: value._replace(**{name: new})
    elif isinstance(value, list | tuple) or (
        isinstance(value, np.ndarray) and value.dtype == object
    ):
        pairs, replace = enumerate(value), lambda i, new: _with_item(value, i, new)
    elif isinstance(value, dict):
        pairs, replace = value.items(), lambda key, new: {**value, key: new}
    elif isinstance(value, BaseEstimator):
        pairs = value.get_params(deep=False).items()
        replace = lambda name, new: _with_parameter(value, name, new)  # noqa: E731
    elif fields := getattr(value, "__dataclass_fields__", None):
        pairs = [(field, getattr(value, field)) for field in fields]
        replace = lambda name, new: dataclasses.replace(value, **{name: new})  # noqa: E731
    else:
        return []
    return [
        (str(name), part, lambda new, name=name: replace(name, new)) for name, part in pairs
    ]  # fmt: skip


def _with_item(value, i, new):
    items = [*value[:i], new, *value[i + 1 :]]
    return object_array(items, None) if isinstance(value, np.ndarray) else type(value)(items)


def _with_parameter(value, name, new):
    out = copy.copy(value)
    setattr(out, name, new)
    return out
