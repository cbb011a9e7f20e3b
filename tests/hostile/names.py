"""Names of cases, for calls that killed the child that ran them."""

from . import cases

__all__ = ["PATIENCE", "RUNNERS"]

PATIENCE = 20


def name(seed, index, only=""):
    """A case in words; it is made, but not run."""
    return str(cases.draw(seed, index, only))


RUNNERS = {"name": name}
