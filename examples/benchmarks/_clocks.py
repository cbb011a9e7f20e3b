"""Clocks, memory, fresh processes and repeats: what every benchmark measures with."""

import os
import platform
import statistics
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from unittest.mock import patch

PRODUCT_SIZE = 1500
THREADS = [f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "BLIS")]


class Skip(FileNotFoundError):
    """The benchmark cannot run here, mostly as data are missing; the message says why."""


def data_path(name):
    """Path of a file or a folder of the user's data; what is not there skips the part."""
    path = Path(os.environ.get("SKLEARN_FW_DATA", ""), name)
    if not path.exists():
        raise Skip(f"no {name}: set SKLEARN_FW_DATA to the folder that holds the data sets")
    return path


def those_there(names, load):
    """Pairs of a name and of what ``load(name)`` gives; names without files are left out."""
    for name in names:
        try:
            yield name, load(name)
        except FileNotFoundError as reason:
            print(f"{name} left out: {reason}")


def quietly(function, *args, **options):
    """The result without warnings: budgets are meant to end runs here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*args, **options)


class Repeats(float):
    """The median of repeated measurements, which remembers all of them.

    A multiple of it is one of the same repeats; other arithmetic is that of the median.
    """

    def __new__(cls, values):
        values = tuple(values)
        self = super().__new__(cls, statistics.median(values))
        self.values = values
        return self

    def __getnewargs__(self):
        return (self.values,)

    def __mul__(self, factor):
        if isinstance(factor, Repeats):
            return float(self) * float(factor)
        return Repeats(factor * value for value in self.values)

    __rmul__ = __mul__


class Clock:
    """Seconds of this process between entry and exit: ``cpu`` (all its threads) and ``wall``."""

    def __enter__(self):
        self._started = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_):
        self.cpu = time.process_time() - self._started[0]
        self.wall = time.perf_counter() - self._started[1]


def timed(function, repeat=1):
    """Result of the last of ``repeat`` calls, and the CPU seconds of each of them."""
    seconds = []
    for _ in range(repeat):
        with Clock() as clock:
            result = function()
        seconds.append(clock.cpu)
    return result, Repeats(seconds)


def peak_memory():
    """Largest resident memory of this process so far, in MB (10^6 bytes); None if unknown."""
    try:
        # Unlike ru_maxrss it does not count what the parent held when it started the process.
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
        import resource
    except (ImportError, OSError):
        return None
    unit = 1 if platform.system() == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def matrix_product_seconds(repeat=5):
    """The reference speed: median CPU seconds of a dense float64 product on one thread."""
    import numpy as np
    from threadpoolctl import threadpool_limits

    a = np.random.default_rng(0).random((PRODUCT_SIZE, PRODUCT_SIZE))
    with threadpool_limits(1):
        a @ a  # threads and buffers of the library are made here
        return float(timed(lambda: a @ a, repeat)[1])


def in_child(function, *args):
    """Result of ``function(*args)`` in a fresh process with one thread."""
    # Linear algebra libraries read these when they are loaded: they must be there from the start.
    with (
        patch.dict(os.environ, dict.fromkeys(THREADS, "1")),
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
    ):
        return pool.submit(function, *args).result()


def medians(rows):
    """One dict out of the dicts of repeated runs: `Repeats` of numbers, the first of all else."""
    merged = dict(rows[0])
    for name, value in merged.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            merged[name] = Repeats(row[name] for row in rows)
    return merged
