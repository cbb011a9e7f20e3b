"""Declared parameters: name, constraint and default of each in one line, and no checks by hand.

A constraint is a function of value and name that raises for what it refuses: any function of
`check` of that form, or one that `check` makes. It stands where a data class has the type:
``alpha: check.auto_or(check.strength) = 1.0``. A type instead means that nothing is checked, or
that the name is in `COMMON`. Constraints of parameters that only subclasses have are in a table
``parameters = {"alpha": check.strength}``; None there lifts the constraint of a base class.
"""

import functools
import inspect
from dataclasses import dataclass
from types import FunctionType

from sklearn.base import BaseEstimator

from . import check
from .threads import check_n_jobs


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

    def __getstate__(self):
        from .. import __version__

        return super().__getstate__() | {"_sklearn_fw_version": __version__}

    def __setstate__(self, state):
        version, names = state.get("_sklearn_fw_version"), inspect.signature(type(self)).parameters
        if missing := [name for name in names if name not in state]:
            text = f"{type(self).__name__} was saved by sklearn_fw {version} without {missing[0]}"
            raise ValueError(f"{text}: load it with that version, or fit it again")
        super().__setstate__({k: v for k, v in state.items() if k != "_sklearn_fw_version"})


COMMON = {
    "fit_intercept": check.flag,
    "max_iter": check.at_least(1),
    "n_init": check.at_least(1),
    "n_jobs": lambda value, name: check_n_jobs(value),
    "random_state": lambda value, name: check.random_state(value),
    "time_limit": check.optional(check.positive),
    "tol": check.not_negative,
    "verbose": check.at_least(0),
    "warm_start": check.flag,
}


@functools.cache
def constraints(cls):
    """Name and constraint of the parameters of a class which have one."""
    declared = dict(COMMON)
    for base in reversed(cls.__mro__):
        declared.update(vars(base).get("parameters", {}))
        for name, accept in inspect.get_annotations(base).items():
            if isinstance(accept, FunctionType | functools.partial):
                declared[name] = accept
    names = inspect.signature(cls.__init__).parameters
    return {name: declared[name] for name in names if declared.get(name) is not None}


def check_parameters(obj):
    """Refuse an estimator, solver or oracle with a parameter that its class does not accept."""
    for name, accept in constraints(type(obj)).items():
        accept(getattr(obj, name), name)
