"""One call of every public callable with every kind of damage, and the tools that judge them."""

import os
import re

import pytest

from hostile import calls, damages
from hostile.known import is_same_environment, known_violations
from hostile.workers import Worker, every_kind

pytestmark = pytest.mark.skipif(os.name != "posix", reason="children are watched by signals")


@pytest.fixture(scope="module")
def worker():
    worker = Worker()
    yield worker
    worker.close()


def test_every_public_name_has_an_entry():
    assert calls.uncovered() == [], "add a valid call to tests/hostile/calls_*.py"


def test_no_reason_is_left_over():
    wanted = calls.wanted()
    for pattern in calls.UNCALLED:
        assert any(re.fullmatch(pattern, name) for name in wanted), pattern


@pytest.mark.parametrize("name", sorted(calls.table()))
def test_valid_calls(name, worker):
    assert worker.run({"kind": "usual", "name": name}) == ""


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(calls.table()))
def test_damages(name, worker):
    n_calls, found = every_kind(name, worker)
    arguments = calls.table()[name].make()
    assert n_calls > 0 or not arguments
    known = known_violations(name)
    new = [f"{word}: {case}: {why}" for damage, case, word, why in found if damage not in known]
    assert not new, "\n".join(["", *new])
    if is_same_environment():
        mended = set(known) - {damage for damage, *_ in found}
        assert not mended, "mended: take them out of tests/hostile/known.json"


# ---- the tools -----------------------------------------------------------------------------------


@pytest.fixture
def planted():
    worker = Worker("hostile.planted", cpu_seconds=1.0)
    yield worker
    worker.close()


@pytest.mark.parametrize(
    ("fault", "word"),
    [
        ("raw", "raw error"),
        ("silent", "not finite"),
        ("rubbish", "accepted"),
        ("refused", "refused"),
        ("nameless", "names nothing"),
        ("warned", "raw warning"),
    ],
)
def test_planted_faults_are_seen(fault, word):
    from hostile.planted import planted

    assert planted(fault)[1] == word


def test_children_may_die(planted):
    assert "crash: SIGSEGV" in planted.run({"kind": "crash"})["died"]
    assert "hang" in planted.run({"kind": "hang"})["died"]
    # The next child goes on.
    assert planted.run({"kind": "planted", "name": "silent"})[1] == "not finite"
    assert planted.n_started == 3


def test_cases_are_repeatable():
    from hostile import cases

    names = [[str(cases.draw(3, index)) for index in range(30)] for _ in range(2)]
    assert names[0] == names[1]
    assert len(set(names[0])) > 25


def test_every_kind_has_all_levels():
    for kind, table in damages.DAMAGES.items():
        assert len({damage.name for damage in table}) == len(table), kind
        assert {"rubbish"} <= {damage.level for damage in table}
