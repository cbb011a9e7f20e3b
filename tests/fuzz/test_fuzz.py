"""Every public callable with every kind of corruption, and the tools that judge them."""

import inspect
import os
import re
import signal

import numpy as np
import pytest

from _package import public_objects
from fuzz import calls, cases, corruptions
from fuzz.run import every_kind
from fuzz.verdicts import judge
from fuzz.workers import Worker
from sklearn_fw.projections import project_l1_ball

pytestmark = pytest.mark.skipif(os.name != "posix", reason="children are watched by signals")
N_PARTS = 40  # of the table, which is made by children: tests that fail name the callables


@pytest.fixture(scope="module")
def worker():
    worker = Worker("fuzz.run")
    yield worker
    worker.close()


@pytest.fixture(scope="module")
def names(worker):
    return worker.run({"kind": "names"})


def test_every_public_name_has_an_entry(names):
    assert names["uncovered"] == [], "add a valid call to tests/fuzz/calls_*.py"


def test_no_reason_is_left_over():
    wanted = calls.wanted()
    for pattern in calls.UNCALLED:
        assert any(re.fullmatch(pattern, name) for name in wanted), pattern


def faults_of(chosen, worker):
    found = {name: worker.run({"kind": "usual", "name": name}) for name in chosen}
    return {name: fault for name, fault in found.items() if fault}


def test_valid_calls_of_names_without_an_example(names, worker):
    """With the doctests of all others the quick tests use every public name."""
    bare = [
        name.removeprefix("sklearn_fw.") for name, obj in public_objects()
        if ">>>" not in (inspect.getdoc(obj) or "")
    ]  # fmt: skip
    chosen = [n for n in names["names"] if any(f"{n}.".startswith(f"{name}.") for name in bare)]
    assert not faults_of(chosen, worker)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(8))
def test_valid_calls(part, names, worker):
    assert not faults_of(names["names"][part::8], worker)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(N_PARTS))
def test_corruptions(part, names, worker):
    violations = [
        f"{word}: {case}: {why}"
        for name in names["names"][part::N_PARTS]
        for _, case, word, why in every_kind(name, worker)[1]
    ]
    assert not violations, "\n".join(["", *violations])


# ---- the tools -----------------------------------------------------------------------------------


def crash():
    """A signal, as from compiled code that writes where it must not."""
    os.kill(os.getpid(), signal.SIGSEGV)


def hang():
    while True:
        pass


# {fault: (what a callable does with an array, the verdict)}
FAULTS = {
    "an error that names nothing": (lambda a: a[10], "raw error"),
    "NaN without a word": (lambda a: {"mean": a.sum() * np.nan}, "not finite"),
    "invalid": (lambda a: 1.0, "accepted"),
    "an error of the package": (lambda a: project_l1_ball(np.ones(3), -1.0), "names nothing"),
    "overflow, seen by numpy alone": (
        lambda a: float(np.float64(1e200) * np.float64(1e200) > 0), "raw warning",
    ),
}  # fmt: skip


def planted(fault, names=("array",)):
    level = "invalid" if fault == "invalid" else "extreme"
    return judge(lambda: FAULTS[fault][0](np.ones(3)), level=level, names=set(names)).word


RUNNERS = {"crash": crash, "hang": hang, "planted": planted}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_seen(fault):
    assert planted(fault) == FAULTS[fault][1]
    assert planted("an error of the package", ["radius"]) == "refused"


@pytest.mark.slow
def test_children_may_die():
    worker = Worker("fuzz.test_fuzz", cpu_seconds=2.0)
    assert "crash: SIGSEGV" in worker.run({"kind": "crash"})["died"]
    assert "hang" in worker.run({"kind": "hang"})["died"]
    # The next child goes on.
    assert worker.run({"kind": "planted", "fault": "NaN without a word"}) == "not finite"
    assert worker.n_started == 3
    worker.close()


@pytest.mark.slow
def test_cases_are_repeatable():
    drawn = [[str(cases.draw(3, index)) for index in range(30)] for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert len(set(drawn[0])) > 25


def test_every_kind_has_all_levels():
    for kind, found in corruptions.CORRUPTIONS.items():
        assert len({corruption.name for corruption in found}) == len(found), kind
        assert {"invalid"} <= {corruption.level for corruption in found}
