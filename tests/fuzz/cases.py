"""Corrupted calls: drawn at random for the fuzzer, one of each kind for the test suite."""

import functools
import re
import sys
import warnings
import zlib
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator

from . import corrupted_code, corrupted_files
from .calls import documented, table
from .corrupted_files import Skip
from .corruptions import corruptions_of, parts_of
from .verdicts import Verdict, judge
from .workers import limit

# Shares of drawn calls with a second corruption, and with other valid values of some arguments.
SECOND, OTHERS = 0.25, 0.5
# Chance to look into a list or an object for a place to corruption, at each level.
DEEPER = 0.45
TRIALS = 30


@dataclass(frozen=True)
class Place:
    """Where a corruption happened."""

    argument: str
    path: tuple  # names of parts below the argument
    corruption: str
    level: str

    def __str__(self):
        return f"{'.'.join([self.argument, *self.path])}={self.corruption}"


@dataclass(frozen=True)
class Case:
    """A call with corrupted arguments."""

    call: object
    arguments: dict
    places: tuple
    usual: object  # answer without the corruption, None where it was not asked for

    def __str__(self):
        return f"{self.call.name}({', '.join(map(str, self.places))})"

    def names(self):
        """Words of which the message of an error has to hold one.

        All arguments count: of two lengths that do not fit, either can be named.
        """
        found = set(self.arguments)
        for place in self.places:
            found |= {place.argument, *(p for p in place.path if not p.isdigit())}
            if any(part.isdigit() for part in place.path):
                found |= {"sample", "token", "field"}  # "sample 3 has" is as good as "X[3] has"
            found |= set(self.call.aliases.get(place.argument, ()))
            value = self.arguments.get(place.argument)
            if place.corruption.startswith("user_"):
                found |= {type(value).__name__, *corrupted_code.own_methods(value)}
            if place.corruption.startswith("file_"):
                found.add(value.name)
                if value.is_dir():
                    found |= {p.name for p in value.rglob("*")}
        return found

    def judge(self):
        """The `Verdict`."""
        levels = [place.level for place in self.places]
        n_jobs = self.arguments.get("n_jobs", 1)
        if not (isinstance(n_jobs, int) and n_jobs == 1):  # threads: another answer each time
            levels = ["extreme" if level == "harmless" else level for level in levels]
        level = next(n for n in ("free", "invalid", "extreme", "harmless") if n in levels)
        return judge(
            lambda: self.call.run(self.arguments), level=level, names=self.names(),
            usual=self.usual, raises=self.call.raises, infinite=self.call.infinite,
            user_code=any(place.corruption.startswith("user_") for place in self.places),
        )  # fmt: skip


# ---- what docstrings allow -----------------------------------------------------------------------


def level_of(call, argument, path, corruption, owner, value):
    """The level of a corruption here: a documented value is not invalid."""
    place = ".".join([argument, *("#" if part.isdigit() else part for part in path)])
    name = corruption.name
    allowed = {(argument, name), (place, name), (place, "*"), (argument, "*"), ("*", "*")}
    if allowed & call.allowed:
        return "free"
    if isinstance(owner, BaseEstimator) and any(
        name.endswith("_") and not name.startswith("_") for name in vars(owner)
    ):
        return "free"  # parameters of what was fitted before are not read again
    types = documented(type(owner)) if isinstance(owner, BaseEstimator) else None
    text = types.get(path[-1], "") if types is not None else call.types.get(argument, "")
    if "ignored" in text.lower():
        return "free"
    if corruption.level != "invalid":
        return corruption.level
    if argument == "sample_weight" and corruption.name in ("no_axis", "flag"):
        return "extreme"  # one number for all, by the custom of scikit-learn
    words = {
        "none": ("None",), "text": ("str", "path", "name"), "code": ("path", "bytes"),
        "mapping": ("dict", "mapping"), "kind": ("callable", "dtype", "object"),
        "thing": ("object, ", "x : object"), "nothing_inside": ("array-like", "list", "tuple"),
        "pair": ("array", "(n_"), "number": ("int", "float"), "flag": ("int",),
        "its_class": ("callable", "object"), "nan": (), "digits": ("str", "path"),
        "capitals": ("str", "path"), "code_of_it": ("path",),
        "in_a_list": ("list", "array", "tuple"), "words": ("list", "array", "tuple"),
        "two_more_axes": ("...",),
    }  # fmt: skip
    plain = re.sub(r'"[^"]*"', "", text)  # without choices
    if text == "object" or any(word in plain for word in words.get(corruption.name, ())):
        return "extreme"
    if corruption.name == "none" and "None" in text:
        return "extreme"
    return "invalid"


# ---- drawing -------------------------------------------------------------------------------------


def places_in(value, rng, deeper):
    """A random place inside of a value: (path, part, replace, owner)."""
    path, owner, replace = (), None, lambda new: new
    while rng.random() < deeper:
        parts = [p for p in parts_of(value) if p[1] is not None or isinstance(value, BaseEstimator)]
        if not parts:
            break
        name, part, put = parts[rng.integers(len(parts))]
        outer = replace
        replace = lambda new, put=put, outer=outer: outer(put(new))  # noqa: E731
        path, owner, value = (*path, name), value, part
    return path, value, replace, owner


def spoil(call, arguments, names, rng):
    """Corrupt one of the named arguments; return its `Place`."""
    for _ in range(TRIALS):
        argument = names[rng.integers(len(names))]
        path, part, replace, owner = places_in(arguments[argument], rng, DEEPER)
        choices = corruptions_of(part, path[-1] if path else argument)
        if not choices:
            continue
        corruption = choices[rng.integers(len(choices))]
        place = attempt(call, arguments, argument, (path, part, replace, owner), corruption, rng)
        if place is not None:
            return place
    raise Skip


def attempt(call, arguments, argument, where, corruption, rng):
    """Put a corruption into ``arguments``, if it makes sense there."""
    path, part, replace, owner = where
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            new = corruption.apply(part, rng)
            arguments[argument] = replace(new)
    except (Skip, ValueError, TypeError, IndexError, OverflowError, AttributeError):
        return None
    level = level_of(call, argument, path, corruption, owner, part)
    return Place(argument, path, corruption.name, level)


@functools.cache
def usual_answer(name, chosen=()):
    """The answer of a valid call, with the variants of that number; None where it refuses."""
    call = table()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return (call.run(with_variants(call, dict(chosen))),)
        except (ValueError, TypeError, OSError, NotImplementedError):
            # Variants that do not go together.
            if not chosen:
                raise
            return None


def with_variants(call, chosen):
    arguments = call.make()
    for argument, k in chosen.items():
        value = call.variants[argument][k]
        arguments[argument] = value() if callable(value) else value
    return arguments


@functools.cache
def weights():
    """Names of the calls, and how often each is drawn: by the number of its arguments."""
    names = sorted(table())
    sizes = np.array([(1 + len(table()[n].make())) / (4 if table()[n].slow else 1) for n in names])
    return names, np.cumsum(sizes / sizes.sum())


def draw(seed, index, only=""):
    """The case of that number: always the same for the same table."""
    rng = np.random.default_rng([seed, index])
    names, shares = weights()
    if only:
        names = [name for name in names if only in name]
        shares = np.arange(1, len(names) + 1) / len(names)
    call = table()[names[min(np.searchsorted(shares, rng.random()), len(names) - 1)]]
    chosen = {}
    arguments = call.make()
    if rng.random() < OTHERS:
        for argument, values in call.variants.items():
            if argument in arguments and rng.random() < 0.4:
                chosen[argument] = int(rng.integers(len(values)))
    usual = usual_answer(call.name, tuple(chosen.items()))
    if usual is None:
        chosen, usual = {}, usual_answer(call.name)
    arguments = with_variants(call, chosen)
    places = []
    try:
        rest = list(arguments)
        for _ in range(1 + (rng.random() < SECOND)):
            if rest:
                places.append(spoil(call, arguments, rest, rng))
                rest.remove(places[-1].argument)
    except Skip:
        pass
    if not places:
        places = [Place("nothing", (), "fits", "harmless")]
    return Case(call, arguments, tuple(places), usual[0])


# ---- one of each kind ----------------------------------------------------------------------------


@functools.cache
def kinds(name):
    """Corruptions that fit somewhere into a call: {corruption: [(argument, path)]}."""
    call = table()[name]
    found = {}
    for argument, value in call.make().items():
        places = [((), value)]
        places += [((part,), inner) for part, inner, _ in parts_of(value)[:3] if inner is not None]
        for path, inner in places:
            for corruption in corruptions_of(inner, path[-1] if path else argument):
                found.setdefault(corruption.name, []).append((argument, path))
    return found


def one_of_each(name, corruption):
    """The case of a corruption in a call, at a place that depends on both names."""
    call = table()[name]
    places = kinds(name)[corruption]
    number = zlib.crc32(f"{name} {corruption}".encode())
    rng = np.random.default_rng(number)
    for shift in range(len(places)):
        argument, path = places[(number + shift) % len(places)]
        arguments = call.make()
        value, owner, replace = arguments[argument], None, lambda new: new
        for step in path:
            owner = value
            value, replace = next((v, put) for n, v, put in parts_of(owner) if n == step)
        (chosen,) = [
            d for d in corruptions_of(value, path[-1] if path else argument) if d.name == corruption
        ]
        where = (path, value, replace, owner)
        place = attempt(call, arguments, argument, where, chosen, rng)
        if place is not None:
            return Case(call, arguments, (place,), usual_answer(name)[0])
    return None


def run(case):
    """Judge a case and clean up after it."""
    if case is None:
        return Verdict("no such corruption")
    limit(None)
    try:
        return case.judge()
    finally:
        corrupted_files.clear()
        if pyplot := sys.modules.get("matplotlib.pyplot"):
            pyplot.close("all")
