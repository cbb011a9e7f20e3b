"""What the first minute costs: import, first compilation, first fit in a new process."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from _report import THREADS, Repeats, main

ABOUT = """
All measurements use fresh processes, because imports happen once per process and compilation once
per installation. The data are two sequences of three elements, so that start-up dominates. Numbers
are medians over processes; those of cold fits are medians over three empty folders.

"Import" is the time that ``from sklearn_fw import StructuredSVM`` takes after ``import sklearn``;
``import sklearn_fw`` alone imports no subpackage. "Cold" means an empty ``NUMBA_CACHE_DIR``:
kernels are compiled and stored, once per installation. "Warm" means that kernels are loaded from
disk, once per process; this includes the import of numba. The default is
``StructuredSVM().fit(X, y)`` on sequences: block-coordinate Frank-Wolfe with gap sampling.
"""
IMPORT = """
from time import perf_counter, process_time
a = perf_counter(), process_time()
import sklearn
b = perf_counter(), process_time()
from sklearn_fw import StructuredSVM
c = perf_counter(), process_time()
print(b[0] - a[0], b[1] - a[1], c[0] - b[0], c[1] - b[1])
"""
FIT = """
import sys, warnings
from time import perf_counter, process_time
import numpy as np
from sklearn_fw import StructuredSVM
from sklearn_fw.structured import BlockFrankWolfe
warnings.simplefilter("ignore")
assert "numba" not in sys.modules, "numba was imported before it was needed"
X, y = [np.eye(3), np.eye(3)[::-1]], [[0, 1, 2], [2, 1, 0]]
svm = StructuredSVM(max_iter=2, **{settings})
a = perf_counter(), process_time()
svm.fit(X, y)
b = perf_counter(), process_time()
svm.predict(X)
c = perf_counter(), process_time()
print(b[0] - a[0], b[1] - a[1], c[0] - b[0], c[1] - b[1])
"""
COLD = 3  # empty folders
# Other ways to train, compiled after the default one: only what they add is compiled then.
PATHS = {
    "default": "{}",
    "averaging": "{'solver': BlockFrankWolfe(averaging=True)}",
    "cached": "{'solver': 'cached'}",
    "box bounds": "{'solver': BlockFrankWolfe(lower_bounds=-1.0)}",
    "subgradient": "{'solver': 'subgradient'}",
}


def seconds(program, cache):
    """Numbers that a program prints in a fresh interpreter."""
    env = {**os.environ, **dict.fromkeys(THREADS, "1"), "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"a measured program failed:\n{done.stderr}")
    return [float(number) for number in done.stdout.split()]


def repeats(rows):
    return [Repeats(column) for column in zip(*rows)]


def imports(report, options):
    with tempfile.TemporaryDirectory() as cache:
        seconds(IMPORT, cache)  # byte code is written and files come into the system's memory
        found = repeats(seconds(IMPORT, cache) for _ in range(options.repeat))
    report.section("Import")
    report.text(f"Medians of {options.repeat} processes, in seconds.")
    report.table(
        ["statement", "wall", "CPU"],
        [["import sklearn", *found[:2]], ["then from sklearn_fw import StructuredSVM", *found[2:]]],
    )
    report.goals(("import of StructuredSVM after sklearn, wall s", found[2], 0.25, "<="))


def fits(report, options):
    names = list(PATHS)[: 1 if options.quick else None]
    programs = {name: FIT.replace("{settings}", PATHS[name]) for name in names}
    cold, warm = {name: [] for name in names}, {}
    for _ in range(min(COLD, options.repeat)):
        with tempfile.TemporaryDirectory() as cache:
            for name, program in programs.items():
                cold[name].append(seconds(program, cache))
            if not warm:
                for name, program in programs.items():
                    warm[name] = repeats(seconds(program, cache) for _ in range(options.repeat))
            size = sum(path.stat().st_size for path in Path(cache).rglob("*") if path.is_file())
    cold = {name: repeats(rows) for name, rows in cold.items()}
    report.section("First fit of a process")
    report.text(f"""Seconds. Cold fits run in this order, and each compiles only the kernels that
        earlier ones did not; medians over {min(COLD, options.repeat)} empty folders. Warm fits are
        medians of {options.repeat} processes. The files of all kernels take {size / 1e6:.1f}
        MB.""")
    report.table(
        ["solver", "cold, wall", "cold, CPU", "warm, wall", "warm, CPU", "warm predict, wall"],
        [[name, *cold[name][:2], *warm[name][:2], warm[name][2]] for name in cold],
    )
    report.goals(
        ("first fit with warm kernels, wall s", warm["default"][0], 1.0, "<="),
        ("cold compilation of the default path, CPU s", cold["default"][1], 15.0, "<="),
    )
    report.bars(
        "First fit of a process, by solver", "wall seconds",
        {
            "kernels on disk": {name: warm[name][0] for name in names},
            "nothing compiled": {name: cold[name][0] for name in names},
        },
        log=True,
    )  # fmt: skip


if __name__ == "__main__":
    parts = {"import": imports, "fits": fits}
    raise SystemExit(main("startup", "Import, compilation and first fit", ABOUT, parts, repeat=7))
