"""Fits of rows that lie in files, in a process that has no room for them."""

import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from _package import ROOT

pytest.importorskip("resource", reason="limits of memory need POSIX")
if not sys.platform.startswith("linux"):
    pytest.skip("the used memory is read from /proc", allow_module_level=True)

N_FEATURES, PER_ROW, HEADROOM = 5000, 100, 40_000_000


def write_rows(folder, n, rng):
    """Rows with one entry in each of PER_ROW ranges of columns; returns the bytes of the matrix."""
    from _memory_map import save_rows

    folder.mkdir()
    width = N_FEATURES // PER_ROW
    columns = rng.integers(width, size=(n, PER_ROW)) + width * np.arange(PER_ROW)
    values = rng.standard_normal((n, PER_ROW))
    weights = rng.standard_normal(N_FEATURES)
    indptr = np.arange(0, n * PER_ROW + 1, PER_ROW)
    X = csr_matrix((values.ravel(), columns.ravel(), indptr), shape=(n, N_FEATURES))
    assert X.indices.dtype == np.int32
    save_rows(folder, X)
    np.save(folder / "y.npy", X @ weights > 0)
    return X.data.nbytes + X.indices.nbytes


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("rows")
    write_rows(folder / "small", 6000, rng)  # as many more than columns, for the same solver
    assert write_rows(folder / "large", 60_000, rng) > 1.5 * HEADROOM
    return folder / "large", folder / "small"


def run_child(how, folders, mmap_mode):
    child = [ROOT / "tests" / "_memory_map.py", how, *folders, N_FEATURES, HEADROOM, mmap_mode]
    return subprocess.run(
        [sys.executable, *map(str, child)], capture_output=True, text=True, timeout=300
    )


@pytest.mark.slow
@pytest.mark.parametrize("how", ["all", "parts"])
def test_mapped_rows_take_no_memory(folders, how):
    child = run_child(how, folders, "r")
    assert child.returncode == 0, child.stderr
    assert float(child.stdout) > 0.9


@pytest.mark.slow
def test_rows_that_are_not_mapped_do_not_fit_in(folders):
    child = run_child("all", folders, "none")
    assert child.returncode != 0
    assert "MemoryError" in child.stderr
