"""Scenes with labels, block solvers, and fits whose certificates are timed."""

import itertools
import logging
import time

from _report import data_path, quietly
from scipy.sparse import load_npz

from sklearn_fw.structured import BlockFrankWolfe

GAP_CHECK = 9  # nine passes and a gap pass are ten effective passes
# (step, sampling, cache)
METHODS = {
    f"{name} {sampling}{' cache' if cache else ''}": (step, sampling, cache)
    for (name, step), sampling, cache in itertools.product(
        (("bcfw", "fw"), ("bcpfw", "pairwise")), ("uniform", "gap"), (False, True)
    )
}


def block_solver(method, **settings):
    step, sampling, cache = METHODS[method]
    settings = {"gap_check": GAP_CHECK} | settings
    return BlockFrankWolfe(step, sampling=sampling, cache=cache, **settings)


class Certificates(logging.Handler):
    """CPU time of every line that the package logs with ``verbose=1``: one per certificate."""

    def __init__(self):
        super().__init__()
        self.cpu = []

    def emit(self, record):
        self.cpu.append(time.process_time())


def fit(estimator, X, y):
    logger, handler = logging.getLogger("sklearn_fw"), Certificates()
    logger.addHandler(handler)
    logger.propagate = False
    started = time.process_time()
    quietly(estimator.set_params(verbose=1).fit, X, y)
    logger.removeHandler(handler)
    return [cpu - started for cpu in handler.cpu]


def load_scene():
    """Training and test scenes with their labels, from the folder ``scene`` of the user's data."""
    paths = [
        data_path(f"scene/scene_{part}.npz") for part in ("train_X", "train_Y", "test_X", "test_Y")
    ]
    X, y, X_test, y_test = (load_npz(path).toarray() for path in paths)
    return X.astype(float), y.astype(int), X_test.astype(float), y_test.astype(int)
