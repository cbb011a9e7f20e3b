"""Violations that were there when the table was made, and are not mended yet.

`known.json` lists them by callable and damage, written by ``python3 dev.py fuzz --write-known``. A
violation that is not in it fails the tests, and so does a line that is mended: the list can only
become shorter. Whatever can never be mended belongs into the entry of the call, with its reason.
"""

import json
from pathlib import Path

import numpy
import sklearn

__all__ = ["PATH", "is_same_environment", "known_violations", "write"]

PATH = Path(__file__).with_name("known.json")


def versions():
    """What messages and verdicts depend on, besides this package."""
    return {"numpy": numpy.__version__, "scikit-learn": sklearn.__version__}


def _read():
    return json.loads(PATH.read_text(encoding="utf-8"))


def is_same_environment():
    """Whether the list was written with the versions that run now."""
    return _read()["versions"] == versions()


def known_violations(name):
    """{damage: verdict} of a callable."""
    return _read()["violations"].get(name, {})


def write(violations):
    """Store {callable: {damage: verdict}}."""
    kept = {
        name: dict(sorted(found.items())) for name, found in sorted(violations.items()) if found
    }
    text = json.dumps({"versions": versions(), "violations": kept}, indent=1)
    PATH.write_text(text + "\n", encoding="utf-8")
