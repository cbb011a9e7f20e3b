"""Passes of one fit on several threads."""

import threading
from concurrent.futures import Future
from unittest.mock import Mock

import numpy as np
import pytest

from _problems import check_certificate, fit, optimum, part_blocks, problem
from sklearn_fw.structured import BlockFrankWolfe
from sklearn_fw.structured._solvers import _compiled, _threaded


@pytest.fixture(autouse=True, params=[1 << 15, 0], ids=["copies", "shared"])
def two_threads(request, monkeypatch):
    """Passes on two threads even where they are short, one visit per batch."""
    monkeypatch.setattr(_compiled, "threads_of_pass", lambda *args: 2)
    monkeypatch.setattr(_threaded, "BATCH", 1)
    monkeypatch.setattr(_threaded, "LARGEST_COPY", request.param)


CASES = [
    ("chain", BlockFrankWolfe(sampling="shuffle", averaging="auto"), 3e-2),
    ("chain", BlockFrankWolfe("pairwise", cache_size=1), 1e-6),  # whose table grows
    ("labels, tree", BlockFrankWolfe("away", sampling="uniform", lower_bounds=-0.2), 1e-5),
    ("chain, CSR", "cached", 1e-6), ("multiclass", "sdm", 1e-9),
]  # fmt: skip


@pytest.mark.parametrize(("name", "solver", "tol"), CASES, ids=str)
def test_optimum(name, solver, tol):
    p, lower = problem(name), getattr(solver, "lower_bounds", None)
    svm = fit(p, solver, tol=tol, max_iter=5000)
    check_certificate(svm, p, optimum(name, lower, None)[1])
    for alphas in svm.dual_coef_ or ():
        assert sum(alphas.values()) == pytest.approx(1.0, rel=1e-12)


def test_number_of_threads(monkeypatch):
    monkeypatch.setattr(_threaded, "BATCHES", 1)
    blocks = part_blocks(problem("chain"))
    order, by_max_gap = np.arange(blocks.n_blocks), np.full(blocks.n_blocks, -2)
    monkeypatch.setattr(_threaded, "count_workers", lambda n_jobs: 2)
    found = [_threaded.threads_of_pass(blocks, by) for by in (order, by_max_gap, order[[0, 0]])]
    monkeypatch.setattr(_threaded, "BATCH", 1 << 20)
    assert [*found, _threaded.threads_of_pass(blocks, order)] == [2, 1, 1, 1]


def test_an_interrupt_leaves_no_thread(monkeypatch):
    monkeypatch.setattr(Future, "result", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        fit(problem("chain"), "bcfw")
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sklearn_fw")]
