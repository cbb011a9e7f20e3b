"""Certificates of 10,000 random small problems, against optima found by other means.

Each kind of problem below draws one from a random number generator, lets the package solve it, mostly
not to the end, and compares what is claimed (gaps, dual values, bounds on log Z, bounds of oracles)
with what enumeration, linear and quadratic programming or long runs of other methods find. A gap may
be below the true error by 1e-9 of the value, the error of the referees; nothing else is forgiven.

All of them are slow tests, in parts of a hundred; a share of 3 % of each kind is not. A failure names
its problem: ``check("ridge", 17)`` makes it again.
"""

import warnings

import numpy as np
import pytest

import _certified_games as games
import _certified_linear as linear
import _certified_marginals as marginals
import _certified_structured as structured

# How many problems there are of each kind.
KINDS = {
    "ridge": (structured.ridge, 2000),
    "balls": (structured.balls, 1200),
    "inexact oracles": (structured.inexact_oracles, 200),
    "structured path": (structured.path, 700),
    "choice of C": (structured.choice_by_path, 100),
    "minimize_saga": (linear.function, 1200),
    "classifier": (linear.classifier, 800),
    "regressor": (linear.regressor, 700),
    "linear path": (linear.path, 150),
    "matrix game": (games.game, 500),
    "saddle point": (games.saddle, 500),
    "domain": (games.domain, 150),
    "projection": (games.projection, 150),
    "TRW": (marginals.trw, 500),
    "other marginals": (marginals.others, 300),
    "maxima": (marginals.maxima, 150),
    "oracle": (marginals.oracle, 700),
}
PART, SHARE = 100, 0.03


def check(kind, number):
    """Make and judge one problem."""
    seed = [list(KINDS).index(kind), number]
    with warnings.catch_warnings():
        # Budgets are meant to end before the goal.
        warnings.simplefilter("ignore")
        try:
            KINDS[kind][0](np.random.default_rng(seed))
        except Exception as error:
            error.add_note(f"problem: check({kind!r}, {number})")
            raise


def test_there_are_ten_thousand():
    assert sum(n for _, n in KINDS.values()) == 10_000


@pytest.mark.parametrize("kind", KINDS)
def test_a_share(kind):
    for number in range(round(SHARE * KINDS[kind][1])):
        check(kind, number)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "first"),
    [(kind, first) for kind, (_, n) in KINDS.items() for first in range(0, n, PART)],
)
def test_all(kind, first):
    for number in range(first, min(first + PART, KINDS[kind][1])):
        check(kind, number)
