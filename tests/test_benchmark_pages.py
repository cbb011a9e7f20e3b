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


def test_page_of_the_defaults_is_made_from_its_results(benchmark_program):
    program = benchmark_program("defaults")
    assert program.make_page().page() == (PAGES / "defaults.rst").read_text(encoding="utf-8")


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
    assert ["worst", "regret,", "Toys", "2", "<=", "1.5", "MISSED", "by", "0.5"] in lines


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
