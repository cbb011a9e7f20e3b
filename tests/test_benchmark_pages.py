"""Pages of benchmarks hold what the result files hold, and nothing else."""

import importlib
import json

import pytest

from _package import ROOT

PAGES = ROOT / "docs" / "benchmarks"


@pytest.fixture
def benchmark_program(monkeypatch):
    """Function from the name of a program in ``examples/benchmarks`` to its module."""
    monkeypatch.syspath_prepend(str(ROOT / "examples" / "benchmarks"))
    return importlib.import_module


@pytest.mark.parametrize("name", ["defaults", "digit_words"])
def test_pages_are_made_from_their_results(benchmark_program, name):
    program = benchmark_program(name)
    assert program.make_page().page() == (PAGES / f"{name}.rst").read_text(encoding="utf-8")


def test_headlines_are_those_of_the_benchmarks(benchmark_program):
    """``python3 dev.py bench headlines --write`` puts new numbers into both files."""
    headlines = benchmark_program("headlines")
    for path in headlines.PAGES:
        assert headlines.with_headlines(path) == path.read_text(encoding="utf-8")
        assert headlines.bullets(path).count("measured") == 3


def test_headlines_follow_the_results(benchmark_program, monkeypatch):
    headlines = benchmark_program("headlines")
    means = {"StructuredSVM": 91.25, "LinearSVC": 80.0, "LogisticRegression": 85.5, "CRF": 92.0}
    result = {"mean_digits": means, "n_sets": 4}
    monkeypatch.setattr(headlines, "read_result", {"digit_words": result}.get)
    page, sentence = headlines.digit_words()
    assert page == "digit_words"
    assert "**91.2 % instead of 85.5 %**" in sentence
    assert "`LogisticRegression`" in sentence
    assert "mean of 4 sets; CRF reads 92.0 %" in sentence


def test_headlines_read_tables(benchmark_program, monkeypatch, tmp_path):
    headlines = benchmark_program("headlines")
    (tmp_path / "toy.rst").write_text(
        "A table\n-------\n\n====  ==\nname   s\n====  ==\nno     1\n====  ==\n\n"
        "Results of it\n-------------\n\nWords.\n\n"
        "=====  ===  ====\nname     s    F1\n=====  ===  ====\na, b   1.5  90.1\nc       --  80\n"
        "=====  ===  ====\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(headlines, "DOCS", tmp_path)
    assert headlines.read_table("toy", "Results") == {
        "a, b": {"name": "a, b", "s": "1.5", "F1": "90.1"},
        "c": {"name": "c", "s": "--", "F1": "80"},
    }


def test_digit_words_sums_up_its_rows(benchmark_program):
    program = benchmark_program("digit_words")
    rows = [
        {"contender": name, "digits": digits, "words": 0.5, "seconds": seconds}
        for name, digits, seconds in [
            ("StructuredSVM", 0.9, 1.0), ("LinearSVC", 0.8, 0.1),
            ("StructuredSVM", 0.7, 3.0), ("LinearSVC", 0.75, 0.3),
        ]
    ]  # fmt: skip
    summary = program.headline(rows)
    assert summary["n_sets"] == 2
    assert summary["n_sets_ahead"] == 1
    assert summary["mean_digits"] == pytest.approx({"StructuredSVM": 80.0, "LinearSVC": 77.5})
    assert summary["mean_words"] == pytest.approx({"StructuredSVM": 50.0, "LinearSVC": 50.0})
    assert summary["median_seconds"] == pytest.approx({"StructuredSVM": 2.0, "LinearSVC": 0.2})


def test_the_page_follows_its_results(benchmark_program, monkeypatch):
    program = benchmark_program("defaults")
    row = {
        "set": "toy", "metric": "accuracy", "default": 90.0, "best": 92.0, "best_setting": "C=1",
        "chosen": "", "seconds": 0.5, "peer": 91.25, "regret": 2.0,
    }  # fmt: skip
    result = {
        "title": "Toys", "about": "A toy.", "rows": [row], "date": "2000-01-01", "commit": "abc",
        "machine": "one", "versions": "1",
    }  # fmt: skip
    monkeypatch.setattr(program, "read_result", {"defaults_linear": result}.get)
    lines = [line.split() for line in program.make_page().page().splitlines()]
    assert ["toy", "accuracy", "90.00", "92.00", "2.00", "91.25", "0.50", "--", "C=1"] in lines
    assert ["worst,", "Toys", "2", "<=", "1.5", "MISSED", "by", "0.5"] in lines


def test_a_result_file_says_where_it_comes_from(benchmark_program, monkeypatch, tmp_path):
    results = benchmark_program("_results")
    monkeypatch.setattr(results, "RESULTS", tmp_path / "results")
    path = results.write_result("toy", {"rows": [1]}, ("_report.py", "_results.py"))
    record = json.loads(path.read_text(encoding="utf-8"))
    assert record["rows"] == [1]
    assert record["programs_sha256"] == results.digest("_report.py", "_results.py")
    assert record["programs_sha256"] != results.digest("_report.py")
    assert {"command", "commit", "machine", "versions", "date"} <= set(record)
    assert results.read_result("toy") == record
    assert results.read_result("absent") is None
