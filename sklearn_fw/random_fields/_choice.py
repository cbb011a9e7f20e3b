"""What "auto" stands for: the exact answer where it costs little, else an approximation."""

import math
import sys
from typing import NamedTuple

import numpy as np

from .._budget import time_budget
from ..inference import BestOf, TreeMaxProduct
from ..inference._oracles._natural import exact_oracle
from ..inference._oracles._resolve import trusted_oracle
from ._estimator import Inference, pairs_of

__all__ = ["Choice", "choose", "choose_oracle", "exact_inference", "require_allowed"]

NOTHING_ALLOWED = "potentials of -inf forbid every labelling: no state of some variable is left"
CHECK_SECONDS = 1.0  # that a proof of contradiction may take beside a fast method


class Choice(NamedTuple):
    """An oracle, whether it also sums over all labellings, and why it was taken."""

    oracle: object
    sums: bool
    reason: str


def choose(mrf, time_limit=math.inf):
    """The oracle of "auto" for one random field and the seconds that there are.

    Marginals by elimination cost about as much as three to ten of its best labellings, and no
    method that asks for best labellings is content with so few: so where it is possible to
    eliminate at all, and in time, sums are taken.
    """
    scores = mrf.scores()
    oracle, seconds = exact_oracle(scores)
    if isinstance(oracle, TreeMaxProduct):
        return Choice(oracle, True, "exact by message passing: the graph has no cycles")
    size = f"tables of up to {oracle.largest_table(scores):,} numbers"
    if seconds <= min(time_limit, sys.float_info.max):
        return Choice(oracle, True, f"exact by elimination: {size}, about {seconds:.2g} s")
    if math.isfinite(seconds):
        why = f"elimination needs about {seconds:.2g} s, time_limit is {time_limit:.2g}"
    else:
        why = f"elimination needs {size}, or too many of them"
    return Choice(BestOf(), False, f"approximate: {why}")


def choose_oracle(oracle, mrf):
    """The oracle of an estimator; for "auto" an exact one while that is cheap."""
    if isinstance(oracle, str) and oracle == "auto":
        return choose(mrf).oracle
    return trusted_oracle(oracle)


def exact_inference(mrf, oracle):
    """Sums over all labellings by an oracle that has them."""
    node, edge, log_partition = oracle.marginals(mrf.scores())
    log_partition += mrf.constant
    return Inference(mrf.flatten(node, edge), log_partition, log_partition, log_partition)


def require_allowed(mrf, oracle=None):
    """Raise a ValueError where potentials of -inf leave no labelling.

    With an ``oracle`` it must find one; without, only a proof that there is none counts, and little
    time is spent on it.
    """
    if not np.any(mrf.theta == -np.inf):
        return
    mrf = pairs_of(mrf)
    try:
        if oracle is None:
            with time_budget(CHECK_SECONDS, ends_oracles=True):
                _, value, bound = choose(mrf, CHECK_SECONDS).oracle.argmax(mrf.scores())
        else:
            _, value, bound = oracle.argmax(mrf.scores())
    except TimeoutError:
        return
    if bound == -np.inf:
        raise ValueError(NOTHING_ALLOWED)
    if oracle is not None and value == -np.inf:
        raise ValueError(
            "the oracle found no labelling that the potentials of -inf allow: pass an exact one"
        )
