"""NUMBA_DISABLE_JIT=1 makes everything slower and nothing different."""

import os
import subprocess
import sys

import numba
import numpy as np
import pytest

from _package import ROOT
from _plain import all_results

pytestmark = [
    pytest.mark.plain,
    pytest.mark.skipif(not numba.config.DISABLE_JIT, reason="belongs to dev.py test-plain"),
]

TOL = 1e-8
# Iterations that end at a tolerance of their own carry rounding on, which differs by processor.
COARSER = {".topic_word_prior_": 1e-7}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Results of the same runs in a process that compiles."""
    file = tmp_path_factory.mktemp("compiled") / "results.npz"
    env = os.environ | {"NUMBA_DISABLE_JIT": "0", "PYTHONPATH": str(ROOT)}
    run = subprocess.run(
        [sys.executable, "-m", "_plain", str(file)],
        cwd=ROOT / "tests", env=env, capture_output=True, text=True,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return np.load(file)


def test_results_are_those_of_compiled_kernels(compiled):
    plain = all_results()
    assert len(plain) > 4000
    assert set(plain) == set(compiled)
    different = {}
    for name, value in plain.items():
        expected = compiled[name]
        tol = COARSER.get(name.split()[-1], TOL)
        same = value.shape == expected.shape and np.allclose(
            value, expected, rtol=tol, atol=tol, equal_nan=True
        )
        if not same:
            different[name] = (value, expected)
    assert not different
