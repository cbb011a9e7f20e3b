"""Passes of one fit on several threads."""

import threading
from concurrent.futures import Future

import numpy as np
import pytest

from _problems import check_certificate, fit, optimum, part_blocks, problem
from sklearn_fw.structured import BlockFrankWolfe
from sklearn_fw.structured._solvers import _compiled, _threaded


@pytest.fixture(autouse=True, params=["copies", "shared"])
def two_threads(request, monkeypatch):
    """Passes on two threads even where they are short, one visit per batch."""
    monkeypatch.setattr(_compiled, "threads_of_pass", lambda *args: 2)
    monkeypatch.setattr(_threaded, "BATCH", 1)
    if request.param == "shared":
        monkeypatch.setattr(_threaded, "LARGEST_COPY", 0)


@pytest.mark.parametrize(
    ("name", "solver", "tol"),
    [
        ("chain", BlockFrankWolfe(sampling="shuffle", averaging="auto"), 3e-2),
        ("chain", BlockFrankWolfe("pairwise", cache_size=1), 1e-6),  # whose table grows
        ("labels, tree", BlockFrankWolfe("away", sampling="uniform", lower_bounds=-0.2), 1e-5),
        ("chain, CSR", "cached", 1e-6),
        ("multiclass", "sdm", 1e-9),
    ],
    ids=str,
)
def test_optimum(name, solver, tol):
    p = problem(name)
    value = optimum(name, getattr(solver, "lower_bounds", None), None)[1]
    svm = fit(p, solver, tol=tol, max_iter=5000)
    check_certificate(svm, p, value)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sklearn_fw")]
    if svm.dual_coef_ is None:
        return
    psi = [{tuple(np.ravel(y)): row for y, row in zip(*each)} for each in zip(p.outputs, p.psi)]
    v = np.zeros(p.size)
    for weight, alphas, rows in zip(p.weight, svm.dual_coef_, psi):
        assert sum(alphas.values()) == pytest.approx(1.0, rel=1e-12)
        v += weight / p.lam * sum(alpha * rows[y] for y, alpha in alphas.items())
    if name != "labels, tree":  # in a box weights are clipped
        np.testing.assert_allclose(svm.coef_, v, rtol=1e-9, atol=1e-11)


def test_number_of_threads(monkeypatch):
    monkeypatch.setattr(_threaded, "BATCHES", 1)
    blocks = part_blocks(problem("chain"))
    order, by_max_gap = np.arange(blocks.n_blocks), np.full(blocks.n_blocks, -2)
    monkeypatch.setattr(_threaded, "count_workers", lambda n_jobs: n_jobs or 1)
    found = [_threaded.threads_of_pass(blocks, order)]
    blocks._n_jobs = 2
    found += [_threaded.threads_of_pass(blocks, by) for by in (order, by_max_gap, order[[0, 0]])]
    monkeypatch.setattr(_threaded, "BATCH", 1 << 20)
    assert [*found, _threaded.threads_of_pass(blocks, order)] == [1, 2, 1, 1, 1]


def test_an_interrupt_leaves_no_thread(monkeypatch):
    def interrupted(future, timeout=None):
        raise KeyboardInterrupt

    monkeypatch.setattr(Future, "result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        fit(problem("chain"), "bcfw")
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("sklearn_fw")]
