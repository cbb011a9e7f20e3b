"""Compile kernels ahead of the first fit: ``python -m sklearn_fw precompile``."""

import contextlib
import doctest
import importlib
import io
import pkgutil
import time
import warnings
from pathlib import Path


def precompile(names=()):
    """Run the examples of public names, all or some, which compiles what first calls need.

    Compiled kernels are kept where every fit keeps them.

    Yields
    ------
    line : str
        What ran, and its seconds.
    """
    found = dict(examples(names))
    if unknown := sorted({*names} - {*found}):
        raise SystemExit(f"sklearn_fw has no public {', '.join(unknown)}")
    began = time.perf_counter()
    for name, text in found.items():
        started = time.perf_counter()
        try:
            run(text)
        except (ImportError, FileNotFoundError) as reason:
            yield f"{name} left out: {reason}"
        else:
            yield f"{name}: {time.perf_counter() - started:.1f} s"
    yield f"compiled or loaded in {time.perf_counter() - began:.0f} s"


def examples(names):
    """Pairs of a public name and its docstring."""
    for family in pkgutil.iter_modules([Path(__file__).parent]):
        if not family.name.startswith("_"):
            module = importlib.import_module(f"{__package__}.{family.name}")
            for name in module.__all__:
                if not names or name in names:
                    yield name, getattr(module, name).__doc__ or ""


def run(text):
    """Run the example of a docstring without its output and warnings."""
    namespace = {}
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        for example in doctest.DocTestParser().get_examples(text):
            expected = [] if example.exc_msg is None else [Exception]
            if not example.options.get(doctest.SKIP):
                with contextlib.suppress(*expected):
                    exec(compile(example.source, "<example>", "exec"), namespace)
