"""User code that misbehaves: the public methods of a valid object, overridden one at a time."""

import copy
import inspect

import numpy as np

from .corrupted_files import Skip

# How often overridden code ran in this call: code that nobody asks can do no harm.
CALLS = {"n": 0}


class UserCodeError(Exception):
    """What user code raises; it has to arrive as it is."""


# Of the base classes, not of the object.
GENERAL = {
    "get_params", "set_params", "get_metadata_routing", "set_callbacks", "set_output", "check",
    "bind", "fit_request", "densify", "sparsify",
}  # fmt: skip


def own_methods(value):
    """Names of the public methods that somebody could override."""
    if inspect.isfunction(value) or inspect.ismethod(value):
        return ["__call__"]
    found = inspect.getmembers(type(value), inspect.isfunction)
    names = [n for n, _ in found if not n.startswith("_") and n not in GENERAL]
    return [n for n in names if not n.endswith("_request")]


def has_methods(value):
    """Whether a value is code: a function, or an object with methods of its own."""
    if inspect.isclass(value):
        return False
    return inspect.isfunction(value) or bool(own_methods(value))


def overridden(value, method, change):
    """A copy of an object whose ``method`` gives ``change(result, arguments)``."""

    def call(original, args, kwargs):
        CALLS["n"] += 1
        return change(lambda: original(*args, **kwargs), [*args, *kwargs.values()])

    if method == "__call__":

        def function(*args, **kwargs):
            return call(value, args, kwargs)

        function.__name__ = getattr(value, "__name__", "function")
        return function
    base = type(value)

    def bound(self, *args, **kwargs):
        return call(getattr(super(made, self), method), args, kwargs)

    bound.__name__ = method
    bound.__doc__ = inspect.getdoc(getattr(base, method))
    # The signature too: it says what can be passed.
    bound.__signature__ = inspect.signature(getattr(base, method))
    made = type(base.__name__, (base,), {method: bound})
    if not hasattr(base, "__dict__") and hasattr(base, "__slots__"):
        return value
    out = copy.copy(value)
    try:
        out.__class__ = made
    except TypeError:
        raise Skip from None
    return out


def way(change):
    """A corruption of a valid object: one of its methods, taken at random, misbehaves."""

    def apply(value, rng):
        names = own_methods(value)
        method = names[rng.integers(len(names))]
        seed = int(rng.integers(2**31))
        return overridden(value, method, lambda ask, args: change(ask, args, seed))

    return apply


def raises(ask, args, seed):
    raise UserCodeError("raised by user code")


def spoils_arguments(ask, args, seed):
    out = ask()
    for arg in args:
        if isinstance(arg, np.ndarray) and arg.dtype.kind == "f" and arg.flags.writeable:
            arg[...] = 7.0
    return out


def answers(make):
    return lambda ask, args, seed: make(ask())


def corrupted_answer(ask, args, seed):
    """The right answer with one of the corruptions for values of its kind."""
    from .corruptions import corruptions_of, parts_of

    rng = np.random.default_rng(seed)
    result = ask()
    parts = parts_of(result)
    if parts and rng.random() < 0.7:
        _, part, replace = parts[rng.integers(len(parts))]
    else:
        part, replace = result, lambda new: new
    if isinstance(part, np.ndarray | float | int | list | tuple):
        choices = [d for d in corruptions_of(part) if d.level != "harmless"]
        try:
            return replace(choices[rng.integers(len(choices))].apply(part, rng))
        except (Skip, ValueError, TypeError, IndexError):
            return None
    return None


WAYS = [
    ("raises", "extreme", way(raises)),
    ("spoils_arguments", "extreme", way(spoils_arguments)),
    ("returns_none", "extreme", way(answers(lambda result: None))),
    ("returns_text", "extreme", way(answers(lambda result: "no such thing"))),
    ("returns_nan", "extreme", way(answers(lambda result: _like(result, np.nan)))),
    ("returns_far", "extreme", way(answers(lambda result: _like(result, 10**6)))),
    ("returns_negative", "extreme", way(answers(lambda result: _like(result, -1)))),
    ("returns_short", "extreme", way(answers(lambda result: _short(result)))),
    ("returns_corrupted", "extreme", way(corrupted_answer)),
]


def _like(result, entry):
    """The result with its first array, or itself, filled with an entry."""
    if isinstance(result, np.ndarray) and result.dtype.kind in "fiub":
        dtype = float if entry != entry else result.dtype
        return np.full(result.shape, entry).astype(dtype)
    if isinstance(result, tuple) and len(result):
        if hasattr(result, "_fields"):
            return result._replace(**{result._fields[0]: _like(result[0], entry)})
        return (_like(result[0], entry), *result[1:])
    return entry


def _short(result):
    if isinstance(result, np.ndarray) and result.ndim:
        return result[:-1]
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return result._replace(**{result._fields[0]: _short(result[0])})
    return result[:-1] if isinstance(result, list | tuple) else ()
