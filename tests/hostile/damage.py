"""What a damage is.

A damage takes a valid value and a generator of random numbers and returns another value. Its level
says what a callable may answer:

- ``"rubbish"``: an error, unless the documented type of the argument allows the value;
- ``"extreme"``: an error, or numbers that are finite or come with a warning;
- ``"harmless"``: the same answer as without the damage, or an error.
"""

from collections.abc import Callable
from dataclasses import dataclass


class Skip(Exception):
    """The damage makes no sense for this value."""


@dataclass(frozen=True)
class Damage:
    """One way to spoil a value."""

    name: str
    level: str
    apply: Callable  # (value, rng) -> damaged value

    def __str__(self):
        return self.name


def need(condition):
    if not condition:
        raise Skip


class Nothing:
    """An object that can do nothing; it can be made of anything, like a function of the user."""

    def __init__(self, *args, **kwargs):
        pass


def table(level, **makers):
    return [Damage(name, level, make) for name, make in makers.items()]
