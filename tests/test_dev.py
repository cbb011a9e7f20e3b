"""The developer's command and the README agree with each other and with pyproject.toml."""

import importlib.util
import os
import re
import tomllib

import pytest

import sklearn_fw
from _package import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def dev():
    spec = importlib.util.spec_from_file_location("dev", ROOT / "dev.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_readme_has_the_two_commands(dev):
    commands = re.findall(r"^python3 dev\.py (.*)$", README, re.M)
    assert commands == ["demo", "test"]
    assert set(commands) <= set(dev.COMMANDS)


def test_program_of_the_readme_runs():
    if not hasattr(sklearn_fw, "StructuredSVM"):
        pytest.skip("StructuredSVM is not written yet")
    (program,) = re.findall(r"^```python\n(.*?)^```", README, re.M | re.S)
    exec(compile(program, "README.md", "exec"), {})


def test_help_names_every_command(dev):
    assert re.findall(r"^  ([a-z-]+) ", dev.__doc__, re.M) == list(dev.COMMANDS)


def test_oldest_versions_are_exact(dev):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = dev.oldest_versions(project)
    assert [pin.replace("==", ">=") for pin in pins] == project["dependencies"]
    assert all("==" in pin for pin in pins)
    assert dev.oldest_versions({"dependencies": ["a>=1.2,<3"]}) == ("a==1.2",)


def test_stale_kernels_are_dropped(dev, tmp_path, capsys):
    cache = tmp_path / "__pycache__"
    cache.mkdir()
    files = [tmp_path / "chain.py", cache / "chain.f-1.nbi", cache / "chain.f-1.1.nbc"]
    for file in files:
        file.touch()
    module = cache / "chain.pyc"
    module.touch()

    os.utime(files[0], (1, 1))
    dev.drop_stale_kernels(tmp_path)
    assert all(file.exists() for file in files)
    assert capsys.readouterr().out == ""

    os.utime(files[1], (0, 0))  # one compiled file is older than a source
    dev.drop_stale_kernels(tmp_path)
    assert [file.exists() for file in files] == [True, False, False]
    assert module.exists()
    assert "a kernel changed" in capsys.readouterr().out


def test_pages_that_load_from_elsewhere_are_found(dev, tmp_path):
    own = '<script src="_static/a.js"></script><a href="https://example.org">elsewhere</a>'
    (tmp_path / "own.html").write_text(own, encoding="utf-8")
    assert dev.foreign_resources(tmp_path) == []
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "other.html").write_text(
        '<link rel="stylesheet" href="https://example.org/a.css"><img src="//example.org/b">',
        encoding="utf-8",
    )
    assert dev.foreign_resources(tmp_path) == [
        "sub/other.html: //example.org/b",
        "sub/other.html: https://example.org/a.css",
    ]
