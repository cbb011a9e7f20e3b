"""Certificates of 10,000 random small problems, against optima found by other means.

Each kind of problem below draws one from a random number generator, lets the package solve it,
mostly not to the end, and compares what is claimed (gaps, dual values, bounds on log Z, bounds of
oracles) with what enumeration, linear and quadratic programming or long runs of other methods
find. A gap may be below the true error by 1e-9 of the value, the error of the references; nothing
else is forgiven.

The first 1 % of each kind are a quick test, the others are slow ones. A failure names its problem:
``check("ridge", 17)`` repeats it.
"""

import warnings

import numpy as np
import pytest

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
    "linear estimators": (linear.estimator, 1500),
    "linear path": (linear.path, 150),
    "TRW": (marginals.trw, 500),
    "other marginals": (marginals.others, 300),
    "maxima": (marginals.maxima, 150),
    "oracle": (marginals.oracle, 700),
}
PART, SAMPLE = 100, 0.01


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


def parts():
    """The first problems of each kind, which are quick, and the others in parts of a hundred."""
    for kind, (_, n) in KINDS.items():
        first = round(SAMPLE * n)
        yield pytest.param(kind, range(first), id=f"{kind}-sample")
        for start in range(first, n, PART):
            numbers = range(start, min(start + PART, n))
            yield pytest.param(kind, numbers, id=f"{kind}-{start}", marks=pytest.mark.slow)


@pytest.mark.slow
@pytest.mark.whole
@pytest.mark.parametrize(("kind", "numbers"), parts())
def test_claims_hold(kind, numbers):
    for number in numbers:
        check(kind, number)
