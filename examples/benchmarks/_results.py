"""Result files: what the parts of a benchmark measured, and how each can be repeated.

``docs/benchmarks/results/NAME.json`` holds the title and the introduction of a page and its parts.
A part is what one function measured in one run: blocks of a page, data for others, and where they
come from. Nothing here imports NumPy or the package: pages are made from these files alone.
"""

import ast
import datetime
import functools
import hashlib
import json
import os
import platform
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs" / "benchmarks"
RESULTS = DOCS / "results"
# They show and store what was measured and change none of it.
PRESENTATION = ("_report.py", "_results.py", "_pages.py", "_figures.py")


def programs_of(*roots):
    """Names of the files of this folder behind some of them, imports of imports included."""
    found, waiting = set(), list(roots)
    while waiting:
        name = waiting.pop()
        if name in found or not (HERE / name).is_file():
            continue
        found.add(name)
        for node in ast.walk(ast.parse((HERE / name).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                waiting += [f"{alias.name}.py" for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                waiting.append(f"{node.module}.py")
    return sorted(found - set(PRESENTATION))


def file_of(function):
    """Name of the file of this folder that defines a function."""
    while isinstance(function, functools.partial):
        function = function.func
    return Path(function.__code__.co_filename).name


def digest(name):
    """SHA-256 of a file of this folder; None if there is none."""
    path = HERE / name
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None


def outdated(measured):
    """Programs that are not what they were when they measured this."""
    return [name for name, known in measured["programs"].items() if digest(name) != known]


def provenance(roots, repeat, product, peers=()):
    """What tells how a part was measured and how to do so again."""
    return {
        "programs": {name: digest(name) for name in programs_of(*roots)},
        "command": " ".join(["python3 dev.py bench", Path(sys.argv[0]).stem, *sys.argv[1:]]),
        "commit": _commit(),
        "date": datetime.date.today().isoformat(),
        "machine": f"{_processor()}, {os.cpu_count()} processors seen, {platform.system()} on "
        f"{platform.machine()}",
        "versions": _versions(*peers),
        "repeat": repeat,
        "product_seconds": product,
        # Processes that wanted a processor meanwhile: above the number of processors wall seconds
        # are too long, and CPU seconds too, as caches are shared.
        "load": os.getloadavg()[1] if hasattr(os, "getloadavg") else None,
    }


def _processor():
    """Name of the processor model."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _versions(*peers):
    """Versions of the package, of Python, of what it stands on and of its peers."""
    from sklearn_fw import __version__

    found = [f"sklearn_fw {__version__}", f"Python {platform.python_version()}"]
    for name in ["numpy", "scipy", "scikit-learn", "numba", *peers]:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} (not installed)")
    return ", ".join(found)


def _commit():
    """The commit that was measured, with a mark when code differed from it."""

    def git(*command):
        return subprocess.run(["git", *command], cwd=HERE, capture_output=True, text=True).stdout

    commit = git("rev-parse", "--short=12", "HEAD").strip()
    changed = git("status", "--porcelain", "--", str(HERE), str(HERE.parents[1] / "sklearn_fw"))
    return f"{commit or 'unknown'}{'-dirty' if changed.strip() else ''}"


def names():
    return sorted(path.stem for path in RESULTS.glob("*.json"))


def read_result(name):
    """The result of that name, or None."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def write_part(name, head, part, content, order):
    """Put a part into the result; ``order`` are the parts that there are, in their order."""
    parts = (read_result(name) or {"parts": {}})["parts"] | {part: content}
    record = {"name": name, **head, "parts": {key: parts[key] for key in order if key in parts}}
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path
