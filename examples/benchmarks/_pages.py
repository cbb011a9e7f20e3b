"""Pages of benchmarks, made from result files and nothing else."""

import statistics
import textwrap

from _clocks import PRODUCT_SIZE
from _results import DOCS, names, outdated, read_result

WIDTH = 100
MANY = 12  # bars that are described one by one
GOALS = ["goal", "measured", "limit", ""]


# Data files whose published values contradict their own models, by independent eliminations.
ERRATA = {"uai": [f"relational_{i}" for i in range(1, 6)]}


def number(cell):
    """The number of a cell: the median where there are repeats."""
    if isinstance(cell, dict):
        return statistics.median(cell["repeats"]) if "repeats" in cell else cell["value"]
    return cell


def written(cell):
    value = number(cell)
    if value is None:
        return "--"
    style = cell.get("style") if isinstance(cell, dict) else None
    if style is None and not isinstance(value, float):
        return str(value)
    text = format(value, ".4g" if style is None else style)
    return f"{float(text):.0f}" if text.endswith(("e+02", "e+03", "e+04")) else text


def table_lines(table):
    cells = [table["header"], *([written(cell) for cell in row] for row in table["rows"])]
    widths = [max(map(len, column)) for column in zip(*cells)]
    rule = "  ".join("=" * width for width in widths)
    lines = [
        "  ".join(
            cell.ljust(width) if k == 0 else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(row, widths))
        ).rstrip()
        for row in cells
    ]
    return [rule, lines[0], rule, *lines[1:], rule]


def verdict(goal):
    """Whether a goal is met: "met", "MISSED by ..." or "not measured"."""
    _, value, limit, sense = goal
    value, limit = number(value), number(limit)
    if value is None:
        return "not measured"
    if (value <= limit) if sense == "<=" else (value >= limit):
        return "met"
    return f"MISSED by {abs(value - limit):.3g}"


def wrapped(text, first="", rest=""):
    return textwrap.wrap(
        text, WIDTH, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False,
        break_long_words=False,
    )  # fmt: skip


def bullet_lines(items):
    return [line for item in items for line in wrapped(item, "- ", "  ")]


def block_lines(block, *, judge=True):
    """Lines of one block; figures have none, as they are drawn when the pages are made."""
    ((kind, content),) = block.items()
    if kind == "section":
        return [content, "-" * len(content)]
    if kind == "text":
        return wrapped(content)
    if kind in ("bullets", "loses"):
        return bullet_lines(content)
    if kind == "table":
        return table_lines(content)
    if kind == "image":
        return _picture(content["target"], content["alternative"])
    if kind == "goals":
        rows = [
            [what, value, f"{sense} {written(limit)}",
             verdict([what, value, limit, sense]) if judge else "not judged"]
            for what, value, limit, sense in content
        ]  # fmt: skip
        return table_lines({"header": GOALS, "rows": rows})
    return []


def _picture(target, alternative, *options):
    alternative = " ".join(alternative.split())
    return [f".. figure:: {target}", f"   :alt: {alternative}", "   :align: center", *options]


def page(record):
    name, title = record["name"], record["title"]
    chunks = [
        ["=" * len(title), title, "=" * len(title)],
        [f".. Made from results/{name}.json by ``python3 dev.py bench pages --write``."],
    ]
    figures = figures_of(record)
    if figures:
        chunks.append(_figure(*figures[0]))
    chunks += [wrapped(" ".join(paragraph.split())) if _is_prose(paragraph)
               else paragraph.splitlines() for paragraph in record["about"]]  # fmt: skip
    chunks += _judgement(record) + _errata(record)
    losses = []
    for key, part in record["parts"].items():
        chunks += _part(key, part, figures)
        losses += [item for block in part["blocks"] for item in block.get("loses", [])]
    if losses:
        chunks += [block_lines({"section": "Where it loses"}), bullet_lines(losses)]
    chunks += _runs(record)
    return "\n\n".join("\n".join(lines) for lines in chunks) + "\n"


def _errata(record):
    """A line for each file of a page that is known to be wrong, with measured values."""
    files = ERRATA.get(record["name"], ())
    rows = {
        row[0]: list(map(written, row)) for part in record["parts"].values()
        for block in part["blocks"] for row in block.get("table", {"rows": []})["rows"]
        if row[0] in files
    }  # fmt: skip
    items = [
        f"{file}: wrong log Z and marginals; "
        + (f"log10 Z is {rows[file][1]} in the file, and from {rows[file][2]} to {rows[file][3]} "
           "here." if file in rows else "not measured here.")
        for file in files
    ]  # fmt: skip
    return [wrapped("Files that contradict their own models:"), bullet_lines(items)] * bool(items)


def _is_prose(paragraph):
    return not paragraph.lstrip().startswith(("- ", ".. "))


def _judgement(record):
    """How many goals are met, and all that are not."""
    goals, titles = [], []
    for part in record["parts"].values():
        title = None
        for block in part["blocks"]:
            title = block.get("section", title)
            goals += block.get("goals", [])
            titles += [title] * len(block.get("goals", []))
    if not goals:
        return []
    verdicts = [verdict(goal) for goal in goals]
    met = verdicts.count("met")
    lines = [
        f"{title}: {goal[0]}, {written(goal[1])} instead of {goal[3]} {written(goal[2])}."
        if number(goal[1]) is not None else f"{title}: {goal[0]}, not measured."
        for goal, title, found in zip(goals, titles, verdicts) if found != "met"
    ]  # fmt: skip
    if not lines:
        return [wrapped(f"**All {len(goals)} goals of this page are met.**")]
    return [
        wrapped(f"**{met} of {len(goals)} goals of this page are met.** The others:"),
        bullet_lines(lines),
    ]


def _part(key, part, figures):
    """All blocks except those collected at the end; each section names its run."""
    chunks, said = [], False
    for block in part["blocks"]:
        if "loses" in block:
            continue
        if "figure" in block:
            chunks += [_figure(*f) for f in figures[1:] if f[0] is block["figure"]]
            continue
        if "section" not in block and not said:
            chunks.append(wrapped(run_note(part["measured"])))
            said = True
        chunks.append(block_lines(block))
        if "section" in block:
            chunks.append(wrapped(run_note(part["measured"])))
            said = True
    return chunks


def run_note(measured):
    """From which run it is, and whether its program has been changed since."""
    note = f"*Measured on {measured['date']} at commit {measured['commit']}.*"
    changed = outdated(measured)
    if changed:
        programs = ", ".join(f"``{name}``" for name in changed)
        note += f" **Older than its program:** {programs} changed since."
    return note


def _runs(record):
    """The last section: commands, machines and versions of all parts."""
    chunks = [block_lines({"section": "Commands, machine and versions"})]
    rows = [
        [key, m["date"], m["commit"], m["repeat"], m.get("load"), f"``{m['command']}``"]
        for key, m in ((key, part["measured"]) for key, part in record["parts"].items())
    ]
    chunks.append(table_lines(
        {"header": ["part", "date", "commit", "repeats", "load", "command"], "rows": rows}
    ))  # fmt: skip
    places = {}
    for key, part in record["parts"].items():
        m = part["measured"]
        places.setdefault((m["machine"], m["versions"]), []).append((key, m["product_seconds"]))
    for (machine, versions), found in places.items():
        who = "All parts" if len(places) == 1 else ", ".join(key for key, _ in found)
        speeds = [seconds for _, seconds in found if seconds is not None]
        items = [f"{who}: {machine}; all contenders use one thread unless stated otherwise."]
        if speeds:
            items.append(
                f"Reference speed: {_range([1e3 * s for s in speeds])} ms of CPU for a "
                f"{PRODUCT_SIZE} x {PRODUCT_SIZE} float64 matrix product on one thread."
            )
        items.append(f"Versions: {versions}.")
        chunks.append(bullet_lines(items))
    chunks.append(wrapped(
        "Load is the average number of runnable processes over five minutes. "
        f"``results/{record['name']}.json`` contains all numbers of this page, single repeats and "
        "SHA-256 hashes of the programs."
    ))  # fmt: skip
    return chunks


def _range(values):
    low, high = f"{min(values):.0f}", f"{max(values):.0f}"
    return low if low == high else f"{low} to {high}"


def write_page(name):
    """Make ``docs/benchmarks/NAME.rst``."""
    path, text = DOCS / f"{name}.rst", page(read_result(name))
    if not path.is_file() or path.read_text(encoding="utf-8") != text:  # else Sphinx reads it again
        path.write_text(text, encoding="utf-8")
    return path


def figures_of(record):
    """Specification and file name of every figure; the first one stands on top of the page."""
    found = [
        block["figure"] for part in record["parts"].values() for block in part["blocks"]
        if "figure" in block
    ]  # fmt: skip
    found = found or list(filter(None, map(figure_of_tables, record["parts"].values())))[:1]
    return [
        (figure, f"figures/{record['name']}{f'_{k}' if k else ''}.svg")
        for k, figure in enumerate(found)
    ]


def figure_of_tables(part):
    """Bars of the first column of numbers that differ, of a part without a figure; or None."""
    section = ""
    for block in part["blocks"]:
        section = block.get("section", section)
        if "table" not in block:
            continue
        header, rows = block["table"]["header"], block["table"]["rows"]
        for k in range(1, len(header)):
            of = {written(row[0]): number(row[k]) for row in rows
                  if isinstance(number(row[k]), int | float)}  # fmt: skip
            if len(set(of.values())) > 1:
                return {"kind": "bars", "title": section, "y": header[k], "log": False,
                        "series": {header[k]: of}}  # fmt: skip
    return None


def _figure(figure, path):
    return _picture(path, described(figure), "   :class: dark-light")


def described(figure):
    """Alternative text of a figure, from its data."""
    parts = []
    for name, series in figure["series"].items():
        if figure["kind"] == "lines":
            points = [(x, y) for x, y in zip(*series) if y is not None]
            if points:
                (x, y), (last_x, last_y) = points[0], points[-1]
                parts.append(f"{name} from {y:.3g} at {x:g} to {last_y:.3g} at {last_x:g}")
        else:
            parts.append(f"{name}: {_described_bars(series)}")
    return f"{figure['title']} ({figure['y']}). {'; '.join(parts)}."


def _described_bars(series):
    known = {key: value for key, value in series.items() if value is not None}
    cells = [f"{key} {value:.3g}" for key, value in known.items()]
    if len(cells) <= MANY:
        return ", ".join(cells)
    ends = min(known, key=known.get), max(known, key=known.get)
    return f"{len(known)} values, {' to '.join(f'{key} {known[key]:.3g}' for key in ends)}"


def tables(record, part):
    return [block["table"] for block in record["parts"][part]["blocks"] if "table" in block]


def write_figures():
    """Draw the figures of all results into ``docs/benchmarks/figures``."""
    from _figures import draw

    for name in names():
        for figure, path in figures_of(read_result(name)):
            (DOCS / path).parent.mkdir(exist_ok=True)
            draw(figure, DOCS / path)
