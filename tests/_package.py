"""What the package consists of, read from its files and its `__all__` lists."""

import ast
import functools
import importlib
import inspect
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "sklearn_fw"


@functools.cache
def sources(folder=PACKAGE):
    """Return {path relative to the checkout, with forward slashes: parsed module}."""
    paths = sorted(folder.rglob("*.py"))
    return {p.relative_to(ROOT).as_posix(): ast.parse(p.read_text(encoding="utf-8")) for p in paths}


@functools.cache
def nodes(tree):
    """All nodes of a parsed module."""
    return list(ast.walk(tree))


def families():
    """Return the public modules and sub-packages under `sklearn_fw`."""
    found = {p.stem for p in PACKAGE.glob("[!_]*.py")}
    found |= {p.parent.name for p in PACKAGE.glob("[!_]*/__init__.py")}
    found |= {"optim.domains", "optim.objectives", "optim.set_functions"}
    return [importlib.import_module(f"sklearn_fw.{name}") for name in sorted(found)]


def public_objects():
    """Yield (name with module, object) for every public class and function, each once."""
    seen = set()
    for module in families():
        for name in getattr(module, "__all__", ()):
            obj = getattr(module, name)
            if (inspect.isclass(obj) or inspect.isroutine(obj)) and id(obj) not in seen:
                seen.add(id(obj))
                yield f"{module.__name__}.{name}", obj
