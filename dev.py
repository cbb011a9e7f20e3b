"""Set up and run sklearn_fw from a checkout: python3 dev.py COMMAND [ARGUMENTS]

  demo          fit a small structured model, print its certificate, draw the result
  test          run the quick tests, --all of them, or those that pytest selects, e.g. test -k chain
  test-extras   run the tests that need an extra, with all extras; none of them may skip
  test-plain    run the quick tests as plain Python, without the compiler
  lint          check format, style, words and docstrings; lint --fix repairs what it can
  wheel         build wheel and sdist, and use the wheel in an empty environment; then another wheel
                with two estimators' compiled kernels, or with all of them: wheel --kernels
  docs          build the documentation and its gallery into docs/_build/html
  fuzz [N]      call everything with corrupted arguments, N times; repeat one with --case SEED:INDEX
  bench NAME    run examples/benchmarks/NAME.py; without a name, list them
  test-oldest   run the tests with the oldest versions that pyproject.toml allows

Only Python 3.11 or newer with pip is needed. The first run makes a virtual environment in .venv
and installs the package into it; later runs start at once, until pyproject.toml changes.
"""

import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent
PROJECT = ROOT / "pyproject.toml"
KERNELS = ROOT / "sklearn_fw" / "_kernels"
BENCHMARKS = ROOT / "examples" / "benchmarks"
PIP = "-m", "pip", "--quiet", "--no-input", "--disable-pip-version-check"


def environment(extra, pins=(), folder=".venv", optional=()):
    """Return the Python of a virtual environment holding the package with `extra`.

    What is `optional` is installed where pip can find it.
    """
    home = ROOT / folder
    python = home / python_of_venv()
    # The place counts too: a checkout that was moved or copied needs a new editable install.
    wanted = hashlib.sha256(
        PROJECT.read_bytes() + repr((str(ROOT), pins, optional)).encode()
    ).hexdigest()
    stamp = home / f"stamp-{extra.replace(',', '-')}"
    if python.exists() and stamp.is_file() and stamp.read_text() == wanted:
        return python
    if not python.exists():
        say(f"making a virtual environment in {folder}")
        if call(sys.executable, "-m", "venv", "--clear", home):
            sys.exit("dev.py: this Python cannot make virtual environments (see above).")
    say(f'installing ".[{extra}]" into {folder}; the first time takes a minute')
    # Most modules are never imported, and the others compile then.
    pip = [python, *PIP, "install", "--no-compile"]
    if call(*pip, "--editable", f".[{extra}]", *pins):
        sys.exit("dev.py: pip could not install the package (see above).")
    for package in optional:
        if call(*pip, "--quiet", "--quiet", package):
            say(f"pip finds no {package}: tests that need it will skip")
    stamp.write_text(wanted)
    return python


def python_of_venv():
    return "Scripts/python.exe" if os.name == "nt" else "bin/python"


def drop_stale_kernels(folder=KERNELS):
    """Delete the compiled kernels when any kernel source is newer.

    numba compares a cached kernel with its own file only, so a change in a function that the
    kernel calls from another file would go unnoticed.
    """
    cached = list(folder.rglob("__pycache__/*.nb[ic]"))
    changed = max((p.stat().st_mtime for p in folder.rglob("*.py")), default=0.0)
    if any(p.stat().st_mtime < changed for p in cached):
        say("a kernel changed: compiled kernels are dropped")
        for path in cached:
            path.unlink(missing_ok=True)


def oldest_versions(project):
    """Turn the lower bounds of the run-time dependencies into exact versions."""
    return tuple(re.sub(r">=([\w.]+).*", r"==\1", need) for need in project["dependencies"])


def say(text):
    print(f"dev.py: {text}", flush=True)


def call(*command, folder=ROOT, **env):
    """Run a command in the checkout, or another folder, and return its exit status."""
    command = [str(part) for part in command]
    # Compiled modules and pytest's assertions are kept: to make them takes longer than all imports.
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "", **env}
    return subprocess.run(command, cwd=folder, env=env).returncode


def pytest(python, args, **variables):
    # One BLAS thread per worker: more would compete with the other workers.
    variables["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS", "1")
    return call(python, "-m", "pytest", "-rs", *(args or ["-n", "auto"]), **variables)


def demo(args):
    return call(environment("plot,progress"), "-m", "sklearn_fw", *args)


def test(args):
    python = environment("test")
    if args:
        return pytest(python, [argument for argument in args if argument != "--all"])
    status = pytest(python, ["-m", "not slow", "-n", "auto"])
    say("these were the quick tests; python3 dev.py test --all runs everything")
    return status


def test_extras(args):
    # The local part of the version keeps pip from taking a build of some gigabytes for GPUs.
    torch = "torch==2.13.0+cpu"
    python = environment("test-extras", folder=".venv-extras", optional=(torch,))
    extras = ["test-extras", "distributed", "toulbar2", "docs"]
    if not call(python, "-c", "import importlib.util as u; exit(u.find_spec('torch') is None)"):
        extras.append("torch")
    chosen = ["tests", "-m", "extras", f"--must-run={','.join(extras)}"]
    return pytest(python, [*chosen, *(args or ["-n", "auto"])], SCIPY_ARRAY_API="1")


def test_plain(args):
    chosen = ["tests", "-m", "plain and not slow", *(args or ["-n", "auto"])]
    return pytest(environment("test"), chosen, NUMBA_DISABLE_JIT="1")


def test_oldest(args):
    import tomllib

    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    oldest = project["requires-python"].removeprefix(">=")
    if "{}.{}".format(*sys.version_info) != oldest:
        sys.exit(f"dev.py: the oldest versions have wheels for Python {oldest}; run it with that.")
    return pytest(environment("test", oldest_versions(project), ".venv-oldest"), args)


def lint(args):
    python = environment("lint")
    fix = "--fix" in args
    modules = sorted((ROOT / "sklearn_fw").rglob("*.py"))
    steps = {
        "style": ["ruff", "check", "--output-format=concise", *(["--fix"] if fix else [])],
        "format": ["ruff", "format", *([] if fix else ["--check"])],
        "spelling": ["codespell_lib"],
        # Benchmarks keep the words that their results were measured with.
        "American spelling": ["codespell_lib", "--builtin=en-GB_to_en-US", "--skip=./*/benchmarks"],
        "phrases": ["docs._english"],
        "docstrings": ["numpydoc", "lint", *modules],
    }
    failed = [name for name, command in steps.items() if call(python, "-m", *command)]
    say(f"lint found faults in: {', '.join(failed)}" if failed else "lint found nothing")
    return bool(failed)


def wheel(args):
    """Build what a release publishes into dist/, and use it as a stranger would."""
    tools, dist, home = environment("lint"), ROOT / "dist", ROOT / ".venv-wheel"
    client, python = ROOT / "tests" / "typed_client.py", home / python_of_venv()
    for folder in (dist, home):
        shutil.rmtree(folder, ignore_errors=True)
    steps = [  # `build` makes the wheel from the sdist, and from the checkout where told to
        (tools, "-m", "build", "--outdir", dist),
        (tools, "-m", "build", "--wheel", "--outdir", dist / "checkout"),
        (sys.executable, "-m", "venv", home),
    ]
    if any(call(*step) for step in steps):
        return 1
    (built,), (other,) = dist.glob("*.whl"), dist.glob("checkout/*.whl")
    if contents(built) != contents(other):
        sys.exit("dev.py: the sdist and the checkout make different wheels")
    shutil.rmtree(dist / "checkout")
    mypy = [tools, "-m", "mypy", "--strict", "--python-executable", python, "--cache-dir"]
    steps = {  # in dist, which holds no sklearn_fw to import from
        "installation": [python, *PIP, "install", built],
        "requirements": [python, *PIP, "check"],
        "demo": [python, "-m", "sklearn_fw"],
        "types": [*mypy, os.devnull, client],
        "client": [python, client],
    }
    failed = [name for name, step in steps.items() if call(*step, folder=dist)]
    if not failed and not with_kernels(tools, python, dist, "--kernels" in args):
        failed = ["compiled kernels"]
    say(f"the wheel failed: {', '.join(failed)}" if failed else f"{built.name} works")
    return bool(failed)


def with_kernels(tools, python, dist, every):
    """Whether a second wheel, with compiled kernels, compiles nothing in a first fit."""
    few = ["AsagaClassifier", "KernelStudentTDensity"]
    compiling = [python, "-m", "sklearn_fw", "precompile"]
    building = [tools, "-m", "build", "--wheel", ROOT, "--outdir", dist / "kernels"]
    kernels = ROOT / "build" / "kernels"
    shutil.rmtree(kernels, ignore_errors=True)
    collected = {"SKLEARN_FW_COLLECT_KERNELS": str(kernels)}
    if call(*compiling, *([] if every else few), folder=dist, **collected) or call(
        *building, SKLEARN_FW_KERNELS=str(kernels)
    ):
        return False
    (built,) = dist.glob("kernels/*.whl")
    with tempfile.TemporaryDirectory() as empty:
        status = call(python, *PIP, "install", "--force-reinstall", "--no-deps", built)
        status = status or call(*compiling, *few, folder=dist, NUMBA_CACHE_DIR=empty)
        return status == 0 and not [*Path(empty).rglob("*.nbc")]


def contents(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return {info.filename: info.CRC for info in archive.infolist()}


def docs(args):
    html = ROOT / "docs" / "_build" / "html"
    # Pages of names that are gone would stay and be reported as unreachable.
    shutil.rmtree(ROOT / "docs" / "api" / "generated", ignore_errors=True)
    python = environment("docs")
    if status := call(python, "-m", "sphinx", "-W", "--keep-going", *args, "docs", html):
        return status
    if status := call(python, ROOT / "docs" / "_checks.py", html):
        say("the pages have the faults above")
    else:
        say(f"open {html / 'index.html'}")
    return status


def bench(args):
    names = sorted(path.stem for path in BENCHMARKS.glob("[!_]*.py"))
    if not args or args[0] not in names:
        sys.exit(f"usage: dev.py bench NAME, NAME one of: {', '.join(names) or '(none yet)'}")
    return call(environment("bench"), BENCHMARKS / f"{args[0]}.py", *args[1:])


def fuzz(args):
    return call(environment("test"), ROOT / "tests" / "fuzz" / "run.py", *args)


COMMANDS = {
    "demo": demo,
    "test": test,
    "test-extras": test_extras,
    "test-plain": test_plain,
    "lint": lint,
    "wheel": wheel,
    "docs": docs,
    "fuzz": fuzz,
    "bench": bench,
    "test-oldest": test_oldest,
}


def main(argv):
    if sys.version_info < (3, 11):  # noqa: UP036, older versions must be told in plain words
        sys.exit("dev.py: sklearn_fw needs Python 3.11 or newer, this is " + sys.version.split()[0])
    if not argv or argv[0] not in COMMANDS:
        sys.exit(__doc__)
    drop_stale_kernels()
    return COMMANDS[argv[0]](argv[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
