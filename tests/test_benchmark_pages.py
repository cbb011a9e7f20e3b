"""Pages of benchmarks hold what the result files hold, and nothing else."""

import importlib
import json
import pickle
import re
import sys

import pytest

from _package import ROOT

PAGES = ROOT / "docs" / "benchmarks"
PROGRAMS = ROOT / "examples" / "benchmarks"
RESULTS = sorted(path.stem for path in (PAGES / "results").glob("*.json"))
MEASURED = {
    "programs", "command", "commit", "date", "machine", "versions", "repeat", "product_seconds",
}  # fmt: skip


@pytest.fixture
def benchmark_program(monkeypatch):
    """Function from the name of a program in ``examples/benchmarks`` to its module."""
    monkeypatch.syspath_prepend(str(PROGRAMS))
    return importlib.import_module


@pytest.fixture
def toy(benchmark_program, monkeypatch, tmp_path):
    """A benchmark of two parts, whose files lie in a folder of its own."""
    results, pages = benchmark_program("_results"), benchmark_program("_pages")
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "toy.py").write_text("import _helper\n")
    (folder / "_helper.py").write_text("import _report, math\n")
    monkeypatch.setattr(results, "HERE", folder)
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(pages, "DOCS", tmp_path)

    def write(part, fill, programs=("toy.py",)):
        report = benchmark_program("_report").Report("toy")
        fill(report)
        measured = results.provenance(programs, 3, 0.1)
        content = {"measured": measured, "blocks": report.blocks, "data": report.data}
        head = {"title": "Toys", "about": ["About\ntoys."]}
        results.write_part("toy", head, part, content, ["one", "two"])

    write.folder, write.page = folder, lambda: pages.page(results.read_result("toy"))
    return write


# ---- what is committed ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", RESULTS)
def test_a_page_is_what_its_result_says(benchmark_program, name):
    """``python3 dev.py bench pages --write`` makes the pages, also what they say of their age."""
    record = benchmark_program("_results").read_result(name)
    made = benchmark_program("_pages").page(record)
    assert made == (PAGES / f"{name}.rst").read_text(encoding="utf-8")


def test_every_page_has_a_result():
    assert RESULTS
    pages = {path.stem for path in PAGES.glob("*.rst")} - {"index"}
    assert pages == set(RESULTS)
    index = (PAGES / "index.rst").read_text(encoding="utf-8")
    listed = re.findall(r"^   (\w+)$", index.partition("toctree::")[2], re.MULTILINE)
    assert sorted(listed) == RESULTS


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_says_where_it_comes_from(name):
    record = json.loads((PAGES / "results" / f"{name}.json").read_text(encoding="utf-8"))
    for part in record["parts"].values():
        assert set(part["measured"]) >= MEASURED
        assert part["measured"]["programs"]
        assert all(len(known) == 64 for known in part["measured"]["programs"].values())


@pytest.mark.slow
@pytest.mark.parametrize("name", RESULTS)
def test_figures_are_drawn(benchmark_program, tmp_path, name):
    pytest.importorskip("matplotlib")
    pages = benchmark_program("_pages")
    figures = pages.figures_of(benchmark_program("_results").read_result(name))
    assert figures
    text = (PAGES / f"{name}.rst").read_text(encoding="utf-8")
    assert re.search(r"^\.\. figure:: (\S+)$", text, re.MULTILINE).group(1) == figures[0][1]
    for k, (figure, _) in enumerate(figures):
        path = tmp_path / f"{k}.svg"
        benchmark_program("_figures").draw(figure, path)
        assert "<svg" in path.read_text(encoding="utf-8")


def test_tables_of_the_guide_are_measured(benchmark_program):
    results, pages = benchmark_program("_results"), benchmark_program("_pages")
    named = [
        line.split()[2:]
        for path in (ROOT / "docs").glob("guide/*.rst")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith(".. measured::")
    ]
    assert named
    for name, part, *number in named:
        found = pages.tables(results.read_result(name), part)
        assert len(found) >= int(number[0] if number else 1)


def test_figures_of_the_guide_are_on_pages():
    """Figures are numbered, so that one that a page loses renames those behind it."""
    drawn = {
        name
        for page in PAGES.glob("*.rst")
        for name in re.findall(r"figure:: figures/(\S+)", page.read_text(encoding="utf-8"))
    }
    for page in (ROOT / "docs" / "guide").glob("*.rst"):
        shown = re.findall(r"figure:: /benchmarks/figures/(\S+)", page.read_text(encoding="utf-8"))
        assert drawn.issuperset(shown), page.name


def test_headlines_are_those_of_the_benchmarks(benchmark_program):
    """``python3 dev.py bench headlines --write`` puts new numbers into both files."""
    headlines = benchmark_program("headlines")
    for path in headlines.PAGES:
        assert headlines.with_headlines(path) == path.read_text(encoding="utf-8")
        assert headlines.bullets(path).count("measured") >= 1


# ---- how pages are made --------------------------------------------------------------------------


def test_a_page_follows_its_result(benchmark_program, toy):
    report = benchmark_program("_report")

    def fill(made):
        made.section("Races")
        made.text("A  race\nof two.")
        made.table(["", "s", "share", 3], [
            ["a", report.Repeats([4.0, 1.0, 2.0]), report.shown(0.25, ".1%"), None],
            ["b", 2.5, report.shown(report.Repeats([1, 3, 2]), "d"), 7],
        ])  # fmt: skip
        made.goals(("few", 2.0, 1.5, "<="), ("many", 3, 3, ">="), ("none", None, 1, "<="))
        made.loses("b loses.")
        made.bars("Races of two", "s", {"s": {"a": 1.0, "b": None}})

    toy("one", fill)
    page = toy.page()
    rows = [line.split() for line in page.splitlines()]
    assert ["run", "s", "share", "3"] in rows
    assert ["a", "2", "25.0%", "--"] in rows
    assert ["b", "2.5", "2", "7"] in rows
    assert ["few", "2", "<=", "1.5", "MISSED", "by", "0.5"] in rows
    assert "**1 of 3 goals of this page are met.**" in page
    assert "- Races: few, 2 instead of <= 1.5." in page
    assert "- Races: none, not measured." in page
    assert page.index("Where it loses") < page.index("- b loses.")
    assert page.index("figures/toy.svg") < page.index("About toys.")
    assert ":alt: Races of two (s). s: a 1." in page
    assert "Older than its program" not in page


def test_a_page_without_a_figure_draws_a_table(benchmark_program, toy):
    def fill(made):
        made.section("Races")
        made.table(["who", "how", "s"], [["a", "fast", 1.5], ["b", "slow", 2]])

    toy("one", fill)
    assert ":alt: Races (s). s: a 1.5, b 2." in toy.page()


def test_repeats_are_kept(benchmark_program, toy):
    report = benchmark_program("_report")
    repeats = report.Repeats([3.0, 1.0, 2.0])
    assert repeats == 2.0
    assert (1e3 * repeats).values == (3000.0, 1000.0, 2000.0)
    assert pickle.loads(pickle.dumps(repeats)).values == (3.0, 1.0, 2.0)
    merged = report.medians([{"s": 1.0, "n": 4}, {"s": 5.0, "n": 4}, {"s": 2.0, "n": 6}])
    assert merged["s"] == 2.0
    assert merged["n"].values == (4, 4, 6)
    toy("one", lambda made: made.table(["a"], [[repeats]]))
    (block,) = benchmark_program("_results").read_result("toy")["parts"]["one"]["blocks"]
    assert block["table"]["rows"] == [[{"repeats": [3.0, 1.0, 2.0]}]]


def test_a_page_says_when_its_program_is_newer(toy):
    toy("one", lambda made: made.section("First"))
    toy("two", lambda made: made.section("Second"), ["_helper.py"])
    assert "Older than its program" not in toy.page()
    (toy.folder / "toy.py").write_text("import _helper  # changed\n")
    first, second = toy.page().split("Second\n")
    assert "**Older than its program:** ``toy.py`` changed since." in " ".join(first.split())
    assert "Older than its program" not in second
    (toy.folder / "_helper.py").unlink()
    first, second = toy.page().split("Second\n")
    assert "``_helper.py``, ``toy.py`` changed" in " ".join(first.split())
    assert "Older than its program" in second


def test_parts_are_measured_apart(benchmark_program, toy):
    toy("two", lambda made: made.section("Second"))
    toy("one", lambda made: made.section("First"))
    toy("two", lambda made: made.section("Second, again"))
    page = toy.page()
    assert page.index("First") < page.index("Second, again")
    parts = benchmark_program("_results").read_result("toy")["parts"]
    assert list(parts) == ["one", "two"]
    assert set(parts["one"]["measured"]["programs"]) == {"toy.py", "_helper.py"}


def test_only_repeated_runs_are_written(benchmark_program, monkeypatch, capsys):
    report = benchmark_program("_report")
    for options, message in (
        (["--write", "--repeat", "2"], "at least 3 runs"),
        (["--write", "--quick"], "not written"),
        (["--only", "three"], "invalid choice"),
    ):
        monkeypatch.setattr(sys, "argv", ["toy.py", *options])
        with pytest.raises(SystemExit):
            report.main("toy", "Toys", "About.", {"one": lambda report, options: None})
        assert message in capsys.readouterr().err


def test_a_report_refuses_what_it_cannot_keep(benchmark_program):
    report = benchmark_program("_report").Report("toy")
    with pytest.raises(TypeError, match="not complex"):
        report.table(["a"], [[1j]])
