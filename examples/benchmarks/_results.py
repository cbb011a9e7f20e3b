"""Result files: what a benchmark measured, and how it can be repeated; pages are made from them."""

import datetime
import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

from _report import DOCS, processor, versions

__all__ = ["digest", "read_result", "write_result"]

HERE = Path(__file__).resolve().parent
RESULTS = DOCS / "results"


def digest(*programs):
    """SHA-256 of the named files of this folder together."""
    return hashlib.sha256(b"".join((HERE / name).read_bytes() for name in programs)).hexdigest()


def write_result(name, payload, programs, peers=()):
    """Write ``docs/benchmarks/results/<name>.json``: the payload and where it comes from."""
    record = {
        "programs": list(programs),
        "programs_sha256": digest(*programs),
        "command": " ".join(["python3 dev.py bench", Path(sys.argv[0]).stem, *sys.argv[1:]]),
        "commit": _commit(),
        "machine": f"{processor()}, {os.cpu_count()} processors seen",
        "versions": versions(*peers),
        "date": datetime.date.today().isoformat(),
        **payload,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    path.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return path


def read_result(name):
    """The result of that name, or None."""
    path = RESULTS / f"{name}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else None


def _commit():
    """The commit that was measured, with a mark when files differed from it."""
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"]
    run = subprocess.run(command, cwd=HERE, capture_output=True, text=True)
    return run.stdout.strip() or "unknown"
