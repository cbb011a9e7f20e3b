"""What can be wrong with a value: damages by the kind of the value that they meet."""

import decimal
import fractions
import inspect
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from . import files, users
from .damage import Damage, Nothing, Skip, need, table
from .damages_sparse import SPARSE

__all__ = ["DAMAGES", "damages_of", "parts_of"]

ANYTHING = table(
    "rubbish",
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
        "rubbish",
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
        "rubbish",
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
    *table("rubbish", nan=lambda v, rng: np.nan, word=lambda v, rng: "no", two=lambda v, rng: 2),
    *table("harmless", bool_=lambda v, rng: np.bool_(v)),
]
STRINGS = [
    *table(
        "rubbish",
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
        "rubbish",
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
        "rubbish",
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
        "rubbish",
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
    *table("rubbish", nan_inside=as_object(np.nan), thing_inside=as_object(Nothing())),
    *table(
        "extreme",
        unseen=lambda v, rng: np.full(v.shape, "unseen"),
        mixed=as_object(3),
        bytes_inside=as_object(b"\xff"),
    ),
]


# ---- containers, objects, user code, files -------------------------------------------------------


def object_array(value, rng):
    out = np.empty(len(value), dtype=object)
    out[:] = list(value)
    return out


LISTS = [
    *table(
        "rubbish",
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


def class_of(value, rng):
    need(not inspect.isroutine(value))
    return type(value)


OBJECTS = [
    *table("rubbish", its_class=class_of, number=lambda v, rng: 3.5),
]
USER_CODE = [Damage(f"user_{name}", level, apply) for name, level, apply in users.WAYS]
FILES = [Damage(f"file_{name}", level, apply) for name, level, apply in files.WAYS]
RANDOM = [
    *table("rubbish", number_text=lambda v, rng: "seed", half=lambda v, rng: 0.5),
    *table("extreme", negative=lambda v, rng: -1, huge=lambda v, rng: 2**70),
    *table("harmless", int64=lambda v, rng: np.int64(v)),
]


def kind_of(value, name=""):
    """Which list of `DAMAGES` is for a value."""
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
    return "code" if users.has_methods(value) else "object"


DAMAGES = {
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


def damages_of(value, name=""):
    """All damages for a value; ``name`` is that of its argument."""
    return DAMAGES[kind_of(value, name)]


def parts_of(value):
    """Places inside of a value that can be damaged on their own: [(name, part, replace)]."""
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [(str(i), part, _replace_item(value, i)) for i, part in enumerate(value)]
    if isinstance(value, np.ndarray) and value.dtype == object:
        return [(str(i), part, _replace_item(value, i)) for i, part in enumerate(value)]
    if isinstance(value, dict):
        return [(str(key), part, _replace_key(value, key)) for key, part in value.items()]
    if hasattr(value, "_fields"):
        return [
            (field, part, lambda new, field=field: value._replace(**{field: new}))
            for field, part in zip(value._fields, value)
        ]
    if isinstance(value, BaseEstimator):
        return [
            (field, part, _set_parameter(value, field))
            for field, part in value.get_params(deep=False).items()
        ]
    if fields := getattr(value, "__dataclass_fields__", None):
        return [(f, getattr(value, f), _replace_field(value, f)) for f in fields]
    return []


def _replace_item(value, i):
    def replace(new):
        items = list(value)
        items[i] = new
        if isinstance(value, np.ndarray):
            return object_array(items, None)
        return type(value)(items)

    return replace


def _replace_key(value, key):
    return lambda new: {**value, key: new}


def _set_parameter(value, name):
    def replace(new):
        import copy

        out = copy.copy(value)
        setattr(out, name, new)
        return out

    return replace


def _replace_field(value, name):
    import dataclasses

    return lambda new: dataclasses.replace(value, **{name: new})
