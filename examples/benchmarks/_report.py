"""What a benchmark says: blocks of text, tables, goals and figures, kept as data.

A benchmark has parts: functions ``part(report, options)``, each of which measures something and
adds to a `Report`. `main` gives them a command line and, with ``--write``, stores every part in the
result file, of which `_pages` makes the page. Contenders run in processes of their own
(`in_child`), so that neither memory nor compiled code of one is charged to another.
"""

import argparse
import dataclasses
import textwrap
from collections.abc import Callable
from numbers import Integral, Real

from _clocks import (
    THREADS,
    Clock,
    Repeats,
    Skip,
    data_path,
    in_child,
    matrix_product_seconds,
    medians,
    peak_memory,
    quietly,
    those_there,
    timed,
)
from _pages import block_lines, write_page
from _results import DOCS, file_of, provenance, write_part

__all__ = [
    "DOCS", "THREADS", "Clock", "Part", "Repeats", "Report", "Skip", "data_path",
    "in_child", "main", "medians", "peak_memory", "quietly", "shown", "those_there",
    "timed",
]  # fmt: skip
LEAST_REPEATS = 3  # behind a median that is written


@dataclasses.dataclass(frozen=True)
class Part:
    """A function ``(report, options)``, and the programs that decide what it measures.

    By default these are the file of the function and all of this folder that it imports.
    """

    run: Callable
    programs: tuple = ()


@dataclasses.dataclass(frozen=True)
class Shown:
    """A number and how it is to be written."""

    value: object
    style: str


def shown(value, style):
    """A cell: a number, `Repeats` of one or None, with a format such as ".2f"."""
    return None if value is None else Shown(value, style)


class Report:
    """Prints blocks as they come and keeps them as data."""

    def __init__(self, name, *, product=None, judge=True):
        self.name, self.product, self.judge = name, product, judge
        self.blocks, self.data = [], {}

    def _put(self, kind, content):
        self.blocks.append({kind: content})
        if lines := block_lines(self.blocks[-1], judge=self.judge):
            print(*lines, sep="\n", end="\n\n", flush=True)

    def section(self, title):
        self._put("section", title)

    def text(self, paragraph):
        self._put("text", " ".join(paragraph.split()))

    def bullets(self, *items):
        self._put("bullets", [" ".join(item.split()) for item in items])

    def loses(self, *items):
        """Say where other methods are ahead; the page collects these at its end."""
        self._put("loses", [" ".join(item.split()) for item in items])

    def table(self, header, rows):
        """Add a table; cells are text, numbers, `Repeats`, `shown` numbers, or None for a dash."""
        header = [header[0].strip() or "run", *map(str, header[1:])]  # rst needs a first head
        self._put("table", {"header": header, "rows": [list(map(_cell, row)) for row in rows]})

    def records(self, head, found, *columns):
        """Add a table of dicts by name; a column is its head, a key or function, and a style."""

        def cells(row):
            for _, key, *style in columns:
                value = key(row) if callable(key) else row.get(key)
                yield shown(value, *style) if style else value

        rows = [[name, *cells(row)] for name, row in found.items()]
        self.table([head, *(column[0] for column in columns)], rows)

    def goals(self, *goals):
        """Add goals ``(what, value, limit, sense)``; sense is "<=" or ">="; None: not measured."""
        self._put("goals", [[what, _cell(v), _cell(lim), sense] for what, v, lim, sense in goals])

    def image(self, target, alternative):
        self._put("image", {"target": target, "alternative": alternative})

    def bars(self, title, unit, series, *, log=False):
        """Add a figure: ``series`` is ``{name: {category: value}}``; None is left out."""
        series = {name: {k: _plain(v) for k, v in of.items()} for name, of in series.items()}
        self._put("figure", {"kind": "bars", "title": title, "y": unit, "log": log and "y",
                             "series": series})  # fmt: skip

    def lines(self, title, x, y, series, *, log="", limit=None):
        """Add a figure: ``series`` is ``{name: (xs, ys)}``; ``log`` names axes, "x", "y", "xy"."""
        series = {
            name: [list(map(_plain, xs)), list(map(_plain, ys))]
            for name, (xs, ys) in series.items()
        }
        self._put("figure", {"kind": "lines", "title": title, "x": x, "y": y, "log": log,
                             "series": series, "limit": limit})  # fmt: skip

    def keep(self, **data):
        """Keep data that no block shows, for the README, the guide and other programs."""
        self.data.update(data)


def _plain(value):
    """A number or None as JSON has it."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    raise TypeError(f"a report holds text and numbers, not {type(value).__name__}")


def _cell(value):
    """A cell as JSON has it: repeats and styles are kept beside a number."""
    if isinstance(value, Shown):
        inner = _cell(value.value)
        inner = inner if isinstance(inner, dict) else {"value": inner}
        return inner | {"style": value.style}
    if isinstance(value, Repeats) and len(value.values) > 1:
        return {"repeats": list(map(_plain, value.values))}
    if isinstance(value, Repeats):
        return _plain(value.values[0])
    return _plain(value)


def main(name, title, about, parts, *, peers=(), repeat=LEAST_REPEATS):
    """The command line of a benchmark; ``parts`` maps names to functions or `Part`."""
    parts = {key: part if isinstance(part, Part) else Part(part) for key, part in parts.items()}
    parser = argparse.ArgumentParser(prog=f"dev.py bench {name}", description=title)
    parser.add_argument("--quick", action="store_true", help="small subset, to see that it runs")
    parser.add_argument("--write", action="store_true", help=f"write results/{name}.json, its page")
    parser.add_argument("--repeat", type=int, default=repeat, help="runs behind every median")
    parser.add_argument("--only", nargs="+", metavar="PART", choices=list(parts),
                        help=f"measure some parts again: {', '.join(parts)}")  # fmt: skip
    options = parser.parse_args()
    if options.quick:
        options.repeat = 1
        if options.write:
            parser.error("--quick is for trying out: its numbers are not written")
    elif options.write and options.repeat < LEAST_REPEATS:
        parser.error(f"medians that are written are those of at least {LEAST_REPEATS} runs")
    head = {"title": title, "about": textwrap.dedent(about).strip().split("\n\n")}
    product = in_child(matrix_product_seconds)
    for key in options.only or parts:
        report = Report(name, product=product, judge=not options.quick)
        try:
            parts[key].run(report, options)
        except FileNotFoundError as reason:
            print(f"{key} skipped: {reason}")
            continue
        if options.write:
            roots = parts[key].programs or [file_of(parts[key].run)]
            measured = provenance(roots, options.repeat, product, peers)
            content = {"measured": measured, "blocks": report.blocks, "data": report.data}
            write_part(name, head, key, content, list(parts))
    if options.write:
        print(f"wrote {write_page(name).relative_to(DOCS.parent)}")
    return 0
