"""Docstrings say what the code does: parameters as in the signature, attributes as after fit."""

import inspect
import re
from enum import Enum

import pytest
from numpydoc.docscrape import ClassDoc, FunctionDoc

from _package import public_objects
from _registry import CASES

MOST_PARAMETERS = 13


def documented(doc, section):
    """Return the names of a numpydoc section; one entry may hold several names."""
    return [name.strip() for entry in doc[section] for name in entry.name.split(",")]


def parameters(function, by_position=False):
    """Return the names of the parameters of a callable as numpydoc writes them."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    found = [p for p in inspect.signature(function).parameters.values() if p.name != "self"]
    if by_position:
        found = [p for p in found if p.kind == p.POSITIONAL_OR_KEYWORD]
    return [stars.get(p.kind, "") + p.name for p in found]


def test_many_parameters_have_a_reason():
    """Of a public function or constructor; settings that belong together are an object."""
    faults = []
    for name, obj in public_objects():
        if not (inspect.isclass(obj) and issubclass(obj, BaseException | Enum)):
            many = len(parameters(obj)) > MOST_PARAMETERS
            reason = f"More than {MOST_PARAMETERS} parameters: \\w"
            if many != bool(re.search(reason, inspect.getdoc(obj))):
                faults.append(name)
    assert not faults


def class_doc(cls):
    # Without this setting numpydoc fills a missing Attributes section with the properties.
    return ClassDoc(cls, config={"show_class_members": False})


def described():
    """Yield (id, docstring, object) of public callables and of the methods written here."""
    for name, obj in public_objects():
        if not inspect.isclass(obj):
            yield name, FunctionDoc(obj), obj
            continue
        if not issubclass(obj, (BaseException, Enum)) and not getattr(obj, "_is_protocol", False):
            yield name, class_doc(obj), obj
        for method, function in vars(obj).items():
            written_here = inspect.isfunction(function) and function.__module__ == obj.__module__
            if not written_here or re.match(r"_|set_\w+_request$", method):
                continue
            # Of a base class, where it says nothing of its own.
            doc = inspect.getdoc(function) or ""
            if function.__doc__ or "Parameters\n---" in doc:
                yield f"{name}.{method}", FunctionDoc(function), function


def test_parameters_are_those_of_the_signature():
    """In its order, where they can be given by position."""
    faults = {}
    for name, doc, obj in described():
        expected, first = parameters(obj), parameters(obj, by_position=True)
        found = [parameter.replace("\\*", "*") for parameter in documented(doc, "Parameters")]
        if sorted(found) != sorted(expected) or found[: len(first)] != first:
            faults[name] = {"documented": found, "in the signature": expected}
    assert not faults


def fitted_names(estimator):
    """Return the public fitted attributes that an estimator has: stored ones and properties."""
    stored = {name for name in vars(estimator) if is_fitted(name)}
    members = inspect.getmembers(type(estimator), lambda member: isinstance(member, property))
    properties = {name for name, _ in members if is_fitted(name) and hasattr(estimator, name)}
    return stored | properties


def is_fitted(name):
    return name.endswith("_") and not name.startswith("_")


def attribute_faults(estimator, absent=()):
    """Return (documented but missing, present but undocumented) attributes after fit."""
    promised = set(filter(is_fitted, documented(class_doc(type(estimator)), "Attributes")))
    # Set only when X has column names.
    excused = {"feature_names_in_", *absent}
    present = fitted_names(estimator)
    return sorted(promised - present - excused), sorted(present - promised)


@pytest.mark.whole
@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_attributes_are_those_after_fit(case):
    X, y = case.data()
    estimator = case.make().fit(X, y)
    assert attribute_faults(estimator, case.absent) == ([], [])


class Fitted:
    """Stand-in that shows what the comparison finds.

    Attributes
    ----------
    coef_ : ndarray
        Documented and there.
    gap_ : float
        Documented, never set.
    """

    def __init__(self):
        self.coef_ = self.secret_ = 0.0

    @property
    def norm_(self):
        return abs(self.coef_)


def test_attribute_faults_are_found():
    assert attribute_faults(Fitted()) == (["gap_"], ["norm_", "secret_"])
    assert attribute_faults(Fitted(), absent={"gap_"})[0] == []
