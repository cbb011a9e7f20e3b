"""The eight variants of block-coordinate Frank-Wolfe, and fits with a clock at every certificate."""

import itertools
import logging
import time
import warnings

GAP_CHECK = 9  # nine passes and a gap pass are ten effective passes
# (step, sampling, cache)
METHODS = {
    f"{name} {sampling}{' cache' if cache else ''}": (step, sampling, cache)
    for (name, step), sampling, cache in itertools.product(
        (("bcfw", "fw"), ("bcpfw", "pairwise")), ("uniform", "gap"), (False, True)
    )
}


def block_solver(method, **settings):
    """Solver object of one of the eight methods."""
    from sklearn_fw.structured import BlockFrankWolfe

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


def fit_with_clock(estimator, X, y):
    """Fit, and return CPU seconds until each certificate."""
    from sklearn.exceptions import ConvergenceWarning

    logger, handler = logging.getLogger("sklearn_fw"), Certificates()
    logger.addHandler(handler)
    logger.propagate = False
    started = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # budgets are meant to end runs here
        estimator.set_params(verbose=1).fit(X, y)
    logger.removeHandler(handler)
    return [cpu - started for cpu in handler.cpu]
