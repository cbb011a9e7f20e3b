"""Compiled twins of the plain passes of solvers.

A plain pass is a Python function ``run(blocks, ...)`` on the primitives of `Blocks`. For pairs of a
pass and a kind of blocks there may be a twin that does the same in one compiled call; a test holds
their trajectories equal.
"""

import functools

TWINS = {}  # name of a pass: list of (kind of blocks, condition, twin)


def accelerated(plain):
    """Decorator of a plain pass: blocks that have a compiled twin of it use that one.

    The plain pass itself stays at hand as the attribute ``plain``.
    """

    @functools.wraps(plain)
    def run(blocks, *args):
        from . import _compiled  # noqa: F401  registers the twins, and loads numba

        for kind, suits, twin in TWINS.get(plain.__name__, ()):
            if isinstance(blocks, kind) and suits(blocks):
                return twin(blocks, *args)
        return plain(blocks, *args)

    run.plain = plain
    return run


def accelerates(plain_pass, kind, suits=lambda blocks: True):
    """Decorator of the twin of a pass for one kind of blocks that ``suits``."""

    def register(twin):
        TWINS.setdefault(plain_pass.plain.__name__, []).append((kind, suits, twin))
        return twin

    return register
