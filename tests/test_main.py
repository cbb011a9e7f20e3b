"""``python -m sklearn_fw``: from a checkout, without the extras, and from an installed wheel."""

import os
import re
import subprocess
import sys
import zipfile

import pytest

import sklearn_fw
from _package import ROOT
from sklearn_fw import __main__ as command
from sklearn_fw import _demo
from sklearn_fw.datasets import make_digit_words

EXTRAS = ("matplotlib", "rich")


def run(*arguments, python=sys.executable, folder, **env):
    """Run a command in a folder of its own; returns what it printed."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [str(python), *map(str, arguments)],
        cwd=folder,
        env={**clean, **env},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_options_that_answer_at_once(option, capsys):
    with pytest.raises(SystemExit) as stop:
        command.main([option])
    assert stop.value.code == 0
    said = capsys.readouterr().out
    if option == "--version":
        assert said == f"sklearn_fw {sklearn_fw.__version__}\n"
    else:
        assert "usage: python -m sklearn_fw" in said
        assert {"--output", "--version"} <= set(re.findall(r"--\w+", said))


@pytest.fixture
def small(monkeypatch):
    """The demo on few words and two values of C."""
    monkeypatch.setattr(_demo, "GRID", (0.003, 0.01))
    monkeypatch.setattr(_demo.tune, "__defaults__", ((0.003, 0.01),))
    monkeypatch.setattr(
        command, "make_digit_words", lambda **sizes: make_digit_words(60, 60, n_valid=60)
    )


@pytest.fixture
def without_extras(monkeypatch):
    for name in EXTRAS:  # None makes the import of that name fail, as if it were not installed
        monkeypatch.setitem(sys.modules, name, None)


def test_demo_draws_where_it_is_told(small, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="needs the extra 'plot'")
    picture = tmp_path / "words.png"
    command.main(["--output", str(picture)])
    said = capsys.readouterr().out
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert f"figure: {picture}" in said
    assert re.search(r"LinearSVC, digit by digit +0\.\d+ +\d+\.\d% ", said)
    assert "certified duality gap" in said


def test_demo_runs_without_extras(small, without_extras, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    command.main([])
    said = capsys.readouterr().out
    assert "no figure: matplotlib is not installed; pip install matplotlib adds it" in said
    assert "no progress bars: " in said
    assert "StructuredSVM, whole words" in said
    assert not list(tmp_path.iterdir())


def test_a_picture_that_cannot_be_drawn_is_refused(small, without_extras, capsys):
    with pytest.raises(SystemExit):
        command.main(["--output", "words.png"])
    assert "pip install matplotlib" in capsys.readouterr().err


def test_a_folder_that_is_not_there_is_refused(small, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="needs the extra 'plot'")
    with pytest.raises(SystemExit):
        command.main(["--output", str(tmp_path / "nowhere" / "words.png")])
    assert "nowhere is not a folder that can be written to" in capsys.readouterr().err


def test_examples_of_named_classes_run(capsys):
    command.main(["precompile", "Saga", "MulticlassModel"])
    said = capsys.readouterr().out.splitlines()
    assert [re.sub(r"[\d.]+ s", "", line) for line in said] == [
        "Saga: ", "MulticlassModel: ", "compiled or loaded in ",
    ]  # fmt: skip


def test_names_that_are_not_there_are_refused():
    with pytest.raises(SystemExit, match="sklearn_fw has no public Nothing"):
        command.main(["precompile", "Nothing", "Saga"])


def test_tuning_takes_the_best_on_validation_words():
    words = make_digit_words(60, 60, n_valid=60)
    tuned = _demo.tune(_demo.make_single, words, (1e-6, 0.01))
    assert tuned.C == 0.01
    right = [a == b for x, y in zip(tuned.predicted, words.y_test) for a, b in zip(x, y)]
    assert tuned.digits == pytest.approx(sum(right) / len(right), rel=1e-12)
    assert tuned.digits > _demo.tune(_demo.make_single, words, (1e-6,)).digits


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The built wheel; `dev.py wheel` installs it into an empty environment and runs it."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input"]
    reach = subprocess.run(
        [*pip, "download", "--no-deps", "--quiet", "--dest", folder / "index", "hatchling"],
        capture_output=True,
        text=True,
    )
    if reach.returncode:
        pytest.skip(f"no package index can be reached: {reach.stderr.strip().splitlines()[-1]}")
    run("-m", "pip", "wheel", "--no-deps", "--quiet", "-w", folder, ROOT, folder=folder)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.mark.slow
def test_wheel_holds_the_package_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"sklearn_fw", f"sklearn_fw-{sklearn_fw.__version__}.dist-info"}
    assert not [name for name in names if name.endswith((".nbi", ".nbc", ".pyc"))]
    sources = {p.relative_to(ROOT).as_posix() for p in (ROOT / "sklearn_fw").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == sources
    stubs = {name.removesuffix("i") for name in names if name.endswith(".pyi")}
    assert "sklearn_fw/structured/_svm.py" in stubs
    assert stubs <= sources
    assert "sklearn_fw/py.typed" in names
