"""What every benchmark shares: machine, reference speed, clocks, memory and tables.

A benchmark is a function ``run(report, options)`` that adds text, tables and goals to a `Report`;
`main` gives it the command line. Contenders run in processes of their own (`in_child`), so that
neither memory nor compiled code of one is charged to another.
"""

import argparse
import datetime
import os
import platform
import statistics
import textwrap
import time
from concurrent.futures import ProcessPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from unittest.mock import patch

DOCS = Path(__file__).resolve().parents[2] / "docs" / "benchmarks"
WIDTH = 100
PRODUCT_SIZE = 1500
THREADS = [f"{name}_NUM_THREADS" for name in ("OMP", "OPENBLAS", "MKL", "BLIS")]


class Skip(Exception):
    """The benchmark cannot run here; the message says why."""


# ---- clocks and memory ---------------------------------------------------------------------------


class Clock:
    """Seconds of this process between entry and exit: ``cpu`` (all its threads) and ``wall``."""

    def __enter__(self):
        self._started = time.process_time(), time.perf_counter()
        return self

    def __exit__(self, *_):
        self.cpu = time.process_time() - self._started[0]
        self.wall = time.perf_counter() - self._started[1]


def cpu_of(function, repeat=1):
    """CPU seconds of every one of ``repeat`` calls."""
    seconds = []
    for _ in range(repeat):
        with Clock() as clock:
            function()
        seconds.append(clock.cpu)
    return seconds


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
        return statistics.median(cpu_of(lambda: a @ a, repeat))


def in_child(function, *args):
    """Result of ``function(*args)`` in a fresh process with one thread."""
    # Linear algebra libraries read these when they are loaded: they must be there from the start.
    with (
        patch.dict(os.environ, dict.fromkeys(THREADS, "1")),
        ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool,
    ):
        return pool.submit(function, *args).result()


def medians(rows):
    """One dict out of the dicts of repeated runs: medians of numbers, the first of all else."""
    merged = dict(rows[0])
    for name, value in merged.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            merged[name] = statistics.median(row[name] for row in rows)
    return merged


def load_or_skip(load, **options):
    """Call a loader of `sklearn_fw.datasets`; absent files skip the benchmark."""
    try:
        return load(**options)
    except FileNotFoundError as error:
        raise Skip(str(error)) from None


# ---- the machine ---------------------------------------------------------------------------------


def processor():
    """Name of the processor model."""
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def versions(*peers):
    """Versions of the package, of Python, of what it stands on and of its peers."""
    from sklearn_fw import __version__

    names = ["numpy", "scipy", "scikit-learn", "numba", *peers]
    found = [f"sklearn_fw {__version__}", f"Python {platform.python_version()}"]
    for name in names:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            found.append(f"{name} (not installed)")
    return ", ".join(found)


# ---- the report ----------------------------------------------------------------------------------


class Report:
    """Prints sections as they come and keeps them for the page in ``docs/benchmarks``."""

    def __init__(self, name, title, about, peers=(), judge=True):
        self.name, self.title, self.about, self.peers = name, title, about, peers
        self.judge = judge
        self._page = []
        self._missed = 0

    def head(self):
        """Say what the page is about."""
        self._put("=" * len(self.title) + f"\n{self.title}\n" + "=" * len(self.title), show=True)
        for paragraph in textwrap.dedent(self.about).strip().split("\n\n"):
            self._put(paragraph)

    def start(self):
        """Say what is measured, where and when."""
        self.head()
        self.product = in_child(matrix_product_seconds)
        self.bullets(
            f"Machine: {processor()}, {os.cpu_count()} processors seen, {platform.system()} on "
            f"{platform.machine()}; every contender is held to one thread.",
            f"Reference speed: {1e3 * self.product:.0f} ms of CPU for a {PRODUCT_SIZE} x "
            f"{PRODUCT_SIZE} float64 matrix product on one thread "
            f"({2e-9 * PRODUCT_SIZE**3 / self.product:.0f} Gflop/s).",
            f"Versions: {versions(*self.peers)}.",
            f"Date: {datetime.date.today().isoformat()}.",
        )

    def _put(self, text, *, show=True):
        self._page.append(text)
        if show:
            print(text, end="\n\n", flush=True)

    def section(self, title):
        """Start a section."""
        self._put(title + "\n" + "-" * len(title))

    def text(self, paragraph):
        """Add a paragraph, wrapped."""
        self._put(textwrap.fill(" ".join(paragraph.split()), WIDTH, break_on_hyphens=False))

    def figure(self, target, alternative):
        """Add a picture of the documentation."""
        self._put(f".. figure:: {target}\n   :alt: {alternative}\n   :align: center")

    def bullets(self, *items):
        """Add a list."""
        lines = [
            textwrap.fill(
                " ".join(item.split()), WIDTH, initial_indent="- ", subsequent_indent="  ",
                break_on_hyphens=False,
            )
            for item in items
        ]  # fmt: skip
        self._put("\n".join(lines))

    def table(self, header, rows):
        """Add a table; cells are text or numbers, None is a dash; column 0 has no blanks."""
        header = [header[0].strip() or "run", *header[1:]]  # an empty head would be no row in rst
        cells = [[_cell(value) for value in row] for row in [header, *rows]]
        widths = [max(map(len, column)) for column in zip(*cells)]
        rule = "  ".join("=" * width for width in widths)
        lines = [
            "  ".join(
                cell.ljust(width) if k == 0 else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(row, widths))
            ).rstrip()
            for row in cells
        ]
        self._put("\n".join([rule, lines[0], rule, *lines[1:], rule]))

    def goals(self, *goals):
        """Add a table of goals ``(what, value, limit, sense)``; sense is "<=" or ">="."""
        rows = []
        for what, value, limit, sense in goals:
            if value is None or not self.judge:
                verdict = "not measured" if value is None else "not judged"
            elif (value <= limit) if sense == "<=" else (value >= limit):
                verdict = "met"
            else:
                verdict = f"MISSED by {abs(value - limit):.3g}"
                self._missed += 1
            rows.append([what, value, f"{sense} {_cell(limit)}", verdict])
        self.table(["goal", "measured", "limit", ""], rows)

    def page(self):
        """All that was added, as one text."""
        head, *rest = self._page
        command = f"Made by ``python3 dev.py bench {self.name} --write``."
        return "\n\n".join([head, command, *rest]) + "\n"

    def finish(self, write):
        """Say how many goals were missed; write the page if asked."""
        if self.judge:
            print(f"{self._missed} goal(s) missed" if self._missed else "no goal missed")
        if write:
            path = DOCS / f"{self.name}.rst"
            path.write_text(self.page(), encoding="utf-8")
            print(f"wrote docs/benchmarks/{path.name}")


def _cell(value):
    if value is None:
        return "--"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def main(name, title, about, run, *, peers=(), repeat=3):
    """The command line of a benchmark."""
    parser = argparse.ArgumentParser(prog=f"dev.py bench {name}", description=title)
    parser.add_argument("--quick", action="store_true", help="small subset, to see that it runs")
    parser.add_argument("--write", action="store_true", help=f"write docs/benchmarks/{name}.rst")
    parser.add_argument("--repeat", type=int, default=repeat, help="runs behind every median")
    options = parser.parse_args()
    if options.quick:
        options.repeat = 1
        if options.write:
            parser.error("--quick is for trying out: its numbers are not written")
    report = Report(name, title, about, peers, judge=not options.quick)
    try:
        report.start()
        run(report, options)
    except Skip as reason:
        print(f"skipped: {reason}")
        return 0
    report.finish(options.write)
    return 0
