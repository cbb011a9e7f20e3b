"""Default fits beside the best of a grid, on many data sets: the evidence behind the defaults."""

import argparse
import importlib
import itertools
import statistics

from _report import Report, in_child
from _results import read_result, write_result

TITLE = "Defaults beside the best of a grid"
ABOUT = """
What ``fit`` gives without arguments, beside the best of a grid. The best setting of the grid is
chosen on validation data, fitted again on all training data and judged, like the default, on test
data that neither has seen. Qualities are in points from 0 to 100, larger is better. The regret of a
set is the best minus the default; it is negative where the setting that won on validation data
loses on test data; the mean without gains counts these as zero.

Each table is made from a result file in ``docs/benchmarks/results`` by ``python3 dev.py bench
defaults --page``; ``python3 dev.py bench defaults FAMILY --write`` measures a family again. Seconds
are CPU seconds of the default fit on one thread, after compilation.
"""
FAMILIES = ("structured", "linear", "density", "fields")
GOALS = {"mean": 0.5, "mean without gains": 0.5, "worst": 1.5}
FIRST = ("set", "metric", "default", "best", "regret")
LAST = ("seconds", "chosen", "best_setting")


def measure(family, quick):
    """The result of one family; runs in a process of its own."""
    module = importlib.import_module(f"_defaults_{family}")
    rows = []
    for row in module.rows(quick):
        rows.append(row | {"regret": row["best"] - row["default"]})
        print(", ".join(f"{name} {_shown(value)}" for name, value in rows[-1].items()), flush=True)
    return {"title": module.TITLE, "about": module.ABOUT, "rows": rows}


def make_page():
    """The page of all families that have a result; a pure function of the result files."""
    report = Report("defaults", TITLE, ABOUT)
    report.head()
    goals = {what: [] for what in GOALS}
    for family in FAMILIES:
        result = read_result(f"defaults_{family}")
        if result is None:
            continue
        _add_family(report, result)
        regrets = [row["regret"] for row in result["rows"]]
        found = {
            "mean": statistics.fmean(regrets),
            "mean without gains": statistics.fmean(max(regret, 0.0) for regret in regrets),
            "worst": max(regrets),
        }
        for what, value in found.items():
            goals[what].append((f"{what}, {result['title']}", value, GOALS[what], "<="))
    if goals["mean"]:
        report.section("Goals for the regret")
        report.goals(*itertools.chain(*goals.values()))
    return report


def _add_family(report, result):
    report.section(result["title"])
    for paragraph in result["about"].strip().split("\n\n"):
        report.text(paragraph)
    names = dict.fromkeys(name for row in result["rows"] for name in row)
    names = [*FIRST, *(name for name in names if name not in FIRST + LAST), *LAST]
    report.table(
        [name.replace("_", " ") for name in names],
        [[_shown(row.get(name)) for name in names] for row in result["rows"]],
    )
    report.text(
        f"Measured on {result['date']} at commit {result['commit']}: {result['machine']}; "
        f"{result['versions']}."
    )


def _shown(value):
    """Points and seconds to two decimals: a regret of .001 points is none."""
    if isinstance(value, float):
        return f"{value:.2f}"
    return value if value != "" else None


def main():
    """Measure the named families, all by default; the page shows the last result of each."""
    parser = argparse.ArgumentParser(prog="dev.py bench defaults", description=TITLE)
    parser.add_argument("families", nargs="*", help=f"some of: {', '.join(FAMILIES)}")
    parser.add_argument("--quick", action="store_true", help="few sets, to see that it runs")
    parser.add_argument("--write", action="store_true", help="write the results and the page")
    parser.add_argument("--page", action="store_true", help="only make the page from the results")
    options = parser.parse_args()
    if unknown := set(options.families) - set(FAMILIES):
        parser.error(f"no such family: {', '.join(sorted(unknown))}")
    if options.quick and options.write:
        parser.error("--quick is for trying out: its numbers are not written")
    if not options.page:
        for family in options.families or FAMILIES:
            result = in_child(measure, family, options.quick)
            if options.write:
                programs = ("defaults.py", f"_defaults_{family}.py")
                write_result(f"defaults_{family}", result, programs)
    if options.write or options.page:
        make_page().finish(write=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
