"""Default fits compared with the best of a grid, on many data sets."""

import functools
import importlib
import statistics

from _report import Part, in_child, main, shown

TITLE = "Defaults compared with the best of a grid"
ABOUT = """
Default fits compared with the best setting of a grid. The best setting is chosen on validation data
and fitted again to all training data. It is evaluated on the same test data as the default. Metrics
are in points from 0 to 100, larger is better. The regret of a data set is the best minus the
default. It is negative where the setting that is best on validation data is worse on test data; the
mean without gains counts these values as zero.

Seconds are CPU seconds of the default fit on one thread, after compilation.
"""
FAMILIES = ("structured", "graphs", "linear", "density", "fields")
GOALS = {"mean": 0.5, "mean without gains": 0.5, "worst": 1.5}
FIRST = ("set", "metric", "default", "best", "regret")
LAST = ("seconds", "chosen", "best_setting")


def measure(family, quick):
    """The result of one family; runs in a process of its own."""
    module = importlib.import_module(f"_defaults_{family}")
    rows = []
    for row in module.rows(quick):
        rows.append(row | {"regret": row["best"] - row["default"]})
        print(rows[-1], flush=True)
    return {"title": module.TITLE, "about": module.ABOUT, "rows": rows}


def family_part(family, report, options):
    add_family(report, in_child(measure, family, options.quick))


def add_family(report, result):
    report.section(result["title"])
    for paragraph in result["about"].strip().split("\n\n"):
        report.text(paragraph)
    names = dict.fromkeys(name for row in result["rows"] for name in row)
    names = [*FIRST, *(name for name in names if name not in FIRST + LAST), *LAST]
    report.table(
        [name.replace("_", " ") for name in names],
        [[_shown(row.get(name)) for name in names] for row in result["rows"]],
    )
    regrets = [row["regret"] for row in result["rows"]]
    found = {
        "mean": statistics.fmean(regrets),
        "mean without gains": statistics.fmean(max(regret, 0.0) for regret in regrets),
        "worst": max(regrets),
    }
    report.goals(*(
        (f"regret, {what}", value, GOALS[what], "<=") for what, value in found.items()
    ))  # fmt: skip
    report.bars(
        f"{result['title']}: regret of the defaults",
        "points",
        {"regret": {row["set"]: row["regret"] for row in result["rows"]}},
    )


def _shown(value):
    """Points and seconds with two decimals: a regret of 0.001 points is negligible."""
    if isinstance(value, float):
        return shown(value, ".2f")
    return value if value != "" else None


if __name__ == "__main__":
    parts = {
        family: Part(functools.partial(family_part, family), (f"_defaults_{family}.py",))
        for family in FAMILIES
    }
    raise SystemExit(main("defaults", TITLE, ABOUT, parts))
