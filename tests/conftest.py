"""Fixtures for all tests."""

import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

# The same examples in every run; HYPOTHESIS_PROFILE=default looks for new ones.
settings.register_profile("fixed", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

os.environ.setdefault("MPLBACKEND", "Agg")  # pictures are drawn in memory, no window opens

ROOT = Path(__file__).resolve().parents[1]
# What a skipped test says; scikit-learn's checks of array libraries have words of their own.
MACHINE = re.compile("this machine lacks |PyTorch test requires |Skipping (XPU|MPS) device")
WANTED = re.compile("needs the extra '(.*)'|(.*) is not installed: not checking array_api input")
SAMPLE = 2
NAMED_DATA = os.environ.get("SKLEARN_FW_DATA")


def pytest_addoption(parser):
    parser.addoption(
        "--must-run",
        default="",
        metavar="EXTRAS",
        help="extras that are installed, comma between: a test that skips fails, unless it waits "
        "for another extra or says what the machine lacks",
    )


class Everywhere:
    """Hooks for the package, too: those of this file alone are for its folder."""

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_file(self, file_path):
        """Look for doctests where there are any: importing every module takes seconds."""
        collectors = yield
        is_test = ROOT / "tests" in file_path.parents
        if is_test or b">>> " not in file_path.read_bytes():
            return [c for c in collectors if type(c).__name__ != "DoctestModule"]
        return collectors

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self):
        """Close all figures after each test and doctest; many open ones are a warning."""
        if plt := sys.modules.get("matplotlib.pyplot"):
            plt.close("all")


def pytest_configure(config):
    config.pluginmanager.register(Everywhere())


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the tests that need an extra, also by other fixtures, and those beyond the sample.

    Of a test with many parameters the quick run takes `SAMPLE`, the first and the last.
    """
    parametrized = {}
    for item in items:
        if "extra" in getattr(item, "fixturenames", ()):
            item.add_marker("extras")
        if hasattr(item, "callspec") and not any(item.iter_markers("slow")):
            parametrized.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for several in parametrized.values():
        kept = {k * (len(several) - 1) // (SAMPLE - 1) for k in range(SAMPLE)}
        for k, item in enumerate(several):
            if len(several) > SAMPLE and k not in kept and not any(item.iter_markers("whole")):
                item.add_marker("slow")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item):
    report = yield
    installed = [name for name in item.config.getoption("must_run").split(",") if name]
    if installed and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2].removeprefix("Skipped: ")
        wanted = WANTED.match(reason)
        missing = wanted and not set(wanted.groups()) & set(installed)
        if not (missing or MACHINE.match(reason)):
            report.outcome = "failed"
            report.longrepr = f"{item.nodeid} skips, and has to run here: {reason}"
    return report


@pytest.fixture(scope="session")
def extra():
    """Function that imports a module of an extra of pyproject.toml, or skips the test."""

    def find(name, module):
        return pytest.importorskip(module, reason=f"needs the extra '{name}'")

    return find


@pytest.fixture(scope="session", autouse=True)
def no_named_data():
    """Take the variable away: a test that forgets `data_home=` fails wherever it runs."""
    os.environ.pop("SKLEARN_FW_DATA", None)


@pytest.fixture
def rng():
    """Random numbers that are the same in every run and in every order of the tests."""
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def data_home():
    """Folder of real data sets: SKLEARN_FW_DATA, or `shared/data` beside the checkout."""
    folder = Path(NAMED_DATA) if NAMED_DATA else ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        if NAMED_DATA:
            pytest.fail(f"SKLEARN_FW_DATA={NAMED_DATA} is not a folder")
        pytest.skip("no real data: set SKLEARN_FW_DATA to the folder that holds the data sets")
    return folder


@pytest.fixture
def data_file(data_home):
    """Function from a relative name such as "ocr/letters.npz" to the path of that file."""

    def find(name):
        path = data_home / name
        if not path.exists():
            pytest.skip(f"no {name} in the folder of real data: set SKLEARN_FW_DATA")
        return path

    return find


@pytest.fixture(scope="module")
def cluster(extra):
    """Client of a Dask cluster of two workers on the loopback interface."""
    distributed = extra("distributed", "distributed")
    # Threads, not processes: a second interpreter per worker would import everything again.
    with (
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            host="127.0.0.1",
            protocol="tcp://",
            dashboard_address="127.0.0.1:0",  # by default one port for all test processes
        ) as local,
        distributed.Client(local) as client,
    ):
        yield client
