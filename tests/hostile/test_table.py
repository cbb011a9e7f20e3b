"""One call of every public callable with every kind of damage, and the tools that judge them."""

import os
import re

import pytest

from hostile import calls, damages
from hostile.known import KNOWN
from hostile.workers import Worker

pytestmark = pytest.mark.skipif(os.name != "posix", reason="children are watched by signals")


@pytest.fixture(scope="module")
def worker():
    worker = Worker()
    yield worker
    worker.close()


def reason(case):
    """Why a violation is known, or None."""
    return next((why for pattern, why in KNOWN.items() if re.fullmatch(pattern, case)), None)


def test_every_public_name_has_an_entry():
    assert calls.uncovered() == [], "add a valid call to tests/hostile/calls_*.py"


def test_no_reason_is_left_over():
    wanted = calls.wanted()
    for pattern in calls.UNCALLED:
        assert any(re.fullmatch(pattern, name) for name in wanted), pattern


@pytest.mark.parametrize("name", sorted(calls.table()))
def test_damages(name, worker):
    fault = worker.run({"kind": "usual", "name": name})
    assert fault == "", "the valid call of the table fails"
    answer = worker.run({"kind": "each", "name": name})
    if isinstance(answer, dict):  # it died: of which damage?
        answer = one_by_one(name, worker)
    n_calls, found = answer
    arguments = calls.table()[name].make()
    assert n_calls > 0 or not arguments
    unknown = [f"{word}: {case}: {why}" for case, word, why in found if reason(case) is None]
    assert not unknown, "\n".join(["", *unknown])


def one_by_one(name, worker):
    found, kinds = [], worker.run({"kind": "damages", "name": name})
    for damage in kinds:
        answer = worker.run({"kind": "single", "name": name, "damage": damage})
        if isinstance(answer, dict):
            found.append((f"{name}({damage})", "died", answer["died"]))
    return len(kinds), found or [(name, "died", "of calls together, not of one")]


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
