"""The developer's command and the README agree with each other and with pyproject.toml."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib

import pytest

from _package import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


def module_at(name):
    spec = importlib.util.spec_from_file_location(name.removesuffix(".py"), ROOT / name)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def dev():
    return module_at("dev.py")


def test_readme_has_the_two_commands(dev):
    commands = re.findall(r"^python3 dev\.py (.*)$", README, re.M)
    assert commands == ["demo", "test"]
    assert set(commands) <= set(dev.COMMANDS)


def test_program_of_the_readme_prints_its_output(capsys):
    blocks = re.findall(r"^```python\n(.*?)^```\n+```\n(.*?)^```", README, re.M | re.S)
    ((program, output),) = blocks
    exec(compile(program, "README.md", "exec"), {})
    assert capsys.readouterr().out == output
    front = (ROOT / "docs" / "index.rst").read_text(encoding="utf-8")
    for text in (program, output):
        assert textwrap.indent(text, "    ") in front


def test_help_names_every_command(dev):
    assert re.findall(r"^  ([a-z-]+) ", dev.__doc__, re.M) == list(dev.COMMANDS)


def test_oldest_versions_are_exact(dev):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = dev.oldest_versions(project)
    assert [pin.replace("==", ">=") for pin in pins] == project["dependencies"]
    assert all("==" in pin for pin in pins)
    assert dev.oldest_versions({"dependencies": ["a>=1.2,<3"]}) == ("a==1.2",)


def test_stages_of_ci(dev):
    """CI runs the two commands of the README by reading them, and the stages that it names."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    stages = re.findall(r"^python3 dev\.py ([a-z-]+)", script, re.M)
    assert stages == ["test", "lint", "wheel", "docs", "test-extras", "test-plain"]
    assert set(stages) <= set(dev.COMMANDS)


@pytest.fixture
def calls(dev, monkeypatch):
    """What dev.py would run, with the variables it sets; environments are there already."""
    found = []

    def call(*command, **env):
        found.append(([str(part) for part in command], env))
        return 0

    monkeypatch.setattr(dev, "call", call)
    monkeypatch.setattr(dev, "environment", lambda extra, *rest, **options: f"python of {extra}")
    return found


def test_extras_stage(dev, calls):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    dev.test_extras([])
    command, env = calls[-1]
    assert command[0] == "python of test-extras"
    assert env["SCIPY_ARRAY_API"] == "1"
    assert "-rs" in command
    assert command[command.index("-m", 3) + 1] == "extras"
    (must_run,) = (word for word in command if word.startswith("--must-run="))
    names = must_run.removeprefix("--must-run=").split(",")
    assert set(names) <= set(extras)
    assert {"test-extras", "distributed", "toulbar2", "torch", "docs"} == set(names)


SKIPS = """
import pytest

@pytest.mark.parametrize("reason", [
    "needs the extra 'here'", "needs the extra 'elsewhere'", "this machine lacks CUDA", "not today",
])
def test_skips(reason):
    pytest.skip(reason)

@pytest.mark.xfail(strict=True, reason="known")
def test_fails():
    raise ValueError
"""


def test_skips_that_must_run(tmp_path):
    """Where extras are installed a skip is a failure, but for what the machine or another lacks."""
    shutil.copy(ROOT / "tests" / "conftest.py", tmp_path)
    (tmp_path / "test_skips.py").write_text(SKIPS, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_skips.py"]
    for option, status, counts in (
        (["--must-run=here,other"], 1, "2 failed, 2 skipped, 1 xfailed"),
        ([], 0, "4 skipped, 1 xfailed"),
    ):
        run = subprocess.run([*command, *option], cwd=tmp_path, capture_output=True, text=True)
        assert run.returncode == status, run.stdout
        assert counts in run.stdout


def test_plain_stage(dev, calls):
    dev.test_plain(["-x"])
    ((command, env),) = calls
    assert env["NUMBA_DISABLE_JIT"] == "1"
    assert command[-1] == "-x"
    assert command[command.index("-m", 3) + 1] == "plain and not slow"


@pytest.mark.parametrize("status", [0, 1])
def test_optional_packages(dev, monkeypatch, tmp_path, capsys, status):
    """What pip does not find is said, and does not keep the rest from being installed."""
    commands = []

    def call(*command, **env):
        commands.append([str(part) for part in command])
        return status if command[-1] == "rare==1" else 0

    monkeypatch.setattr(dev, "call", call)
    monkeypatch.setattr(dev, "ROOT", tmp_path)
    (tmp_path / "env").mkdir()
    dev.environment("test", folder="env", optional=("rare==1",))
    assert commands[-1][-1] == "rare==1"
    assert ("pip finds no rare==1" in capsys.readouterr().out) == bool(status)
    n_commands = len(commands)
    (tmp_path / "env" / "bin").mkdir()
    (tmp_path / "env" / "bin" / "python").touch()
    dev.environment("test", folder="env", optional=("rare==1",))
    if os.name != "nt":
        assert len(commands) == n_commands  # the stamp fits


def test_stale_kernels_are_dropped(dev, tmp_path, capsys):
    kind = tmp_path / "graphs"
    cache = kind / "__pycache__"
    cache.mkdir(parents=True)
    files = [kind / "chain.py", cache / "chain.f-1.nbi", cache / "chain.f-1.1.nbc"]
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


@pytest.mark.parametrize(
    ("text", "given", "returned"),
    [
        ('float or "auto", default="auto"', 'float | Literal["auto"]', 'float | Literal["auto"]'),
        ("array-like of shape (n,) or (n, k), or None", "ArrayLike | None", "NDArray[Any] | None"),
        ('{"a", "b"}, list of str or Loss', 'Literal["a", "b"] | Sequence[str] | Loss', None),
        ("{array-like, sparse matrix} of shape (n, k)", "Any", "Any"),
        ("estimator or float", "Any", "Any"),
    ],
)
def test_types_of_stubs(text, given, returned):
    stubs = module_at("hatch_build.py")
    assert stubs.annotation(text, {"Loss"}) == given
    assert returned in (None, stubs.annotation(text, {"Loss"}, result=True))
