"""Declared parameters: name, constraint and default of each in one line, and no checks by hand.

A constraint is a function of value and name that raises for what it refuses: any ``check_*`` of
`validation` of that form, or one that a function here makes. It stands where a data class has the
type: ``alpha: auto_or(check_strength) = 1.0``. A type instead means that there is nothing to check,
or that the name is in `COMMON`. Constraints of parameters that only subclasses have are in a table
``parameters = {"alpha": check_strength}``; None there lifts the constraint of a base class.
"""

import functools
import inspect
from dataclasses import dataclass
from numbers import Real
from types import FunctionType

from sklearn.base import BaseEstimator
from sklearn.utils import check_scalar

from .threads import check_n_jobs
from .validation import (
    check_choice,
    check_flag,
    check_integer,
    check_not_negative,
    check_positive,
    check_random_state,
)


class Parameterized(BaseEstimator):
    """Base of all objects with parameters: a class that annotates names has them as parameters.

    Their values are attributes, as in a data class, and nothing else happens when an object is
    made. A class that has an ``__init__`` keeps it.
    """

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if inspect.get_annotations(cls) and "__init__" not in vars(cls):
            dataclass(cls, eq=False, repr=False, match_args=False)
            cls.__init__.__annotations__ = {}  # a signature shows names and defaults


def at_least(minimum):
    """An integer not below ``minimum``."""
    return functools.partial(check_integer, minimum=minimum)


def within(low, high, closed="both"):
    """A number of an interval; ``closed`` is "both", "left", "right" or "neither"."""

    def check(value, name):
        check_scalar(value, name, Real, min_val=low, max_val=high, include_boundaries=closed)

    return check


def options(*names, other=None):
    """One of a few strings; ``other`` names what else is possible, which is checked elsewhere."""

    def check(value, name):
        if other is None or isinstance(value, str):
            check_choice(value, name, names, other)

    return check


def optional(check):
    """None, or what ``check`` accepts."""
    return lambda value, name: None if value is None else check(value, name)


def auto_or(check, other="a number"):
    """The word "auto", or what ``check`` accepts, which is ``other`` in messages."""

    def check_both(value, name):
        if isinstance(value, str):
            check_choice(value, name, ("auto",), other)
        else:
            check(value, name)

    return check_both


COMMON = {
    "fit_intercept": check_flag,
    "max_iter": at_least(1),
    "n_init": at_least(1),
    "n_jobs": lambda value, name: check_n_jobs(value),
    "random_state": lambda value, name: check_random_state(value),
    "time_limit": optional(check_positive),
    "tol": check_not_negative,
    "verbose": at_least(0),
    "warm_start": check_flag,
}


@functools.cache
def constraints(cls):
    """Name and constraint of the parameters of a class which have one."""
    declared = dict(COMMON)
    for base in reversed(cls.__mro__):
        declared.update(vars(base).get("parameters", {}))
        for name, check in inspect.get_annotations(base).items():
            if isinstance(check, FunctionType | functools.partial):
                declared[name] = check
    names = inspect.signature(cls.__init__).parameters
    return {name: declared[name] for name in names if declared.get(name) is not None}


def check_parameters(obj):
    """Refuse an estimator, solver or oracle with a parameter that its class does not accept."""
    for name, check in constraints(type(obj)).items():
        check(getattr(obj, name), name)
