"""The decisions that all Frank-Wolfe methods share, compiled or not."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sklearn_fw._kernels.common import compiled_rules, step_rules
from sklearn_fw._kernels.common.step_rules import AWAY, FW, HYBRID, PAIRWISE

SLOPES = st.floats(-2.0, 10.0) | st.sampled_from([0.0, 1.0])
SHARES = st.floats(0.0, 1.0) | st.sampled_from([0.0, 1.0])


@pytest.mark.slow
@settings(deadline=None, max_examples=200)
@given(data=st.data(), slopes=st.tuples(SLOPES, SLOPES), share=SHARES)
def test_compiled_decisions_are_the_plain_ones(data, slopes, share):
    step = data.draw(st.sampled_from([FW, PAIRWISE, AWAY, HYBRID]))
    kind, n_active = data.draw(st.sampled_from([FW, PAIRWISE, AWAY])), data.draw(st.integers(1, 3))
    calls = [
        ("considers", (step, kind, *slopes, n_active)),
        ("slope_and_limit", (kind, *slopes, share)),
        ("short_step", (slopes[0], data.draw(st.floats(0.0, 5.0)), max(share, 0.1))),
        ("open_loop_step", (float(data.draw(st.integers(0, 99))), 3.0, max(share, 0.1))),
    ]
    for name, arguments in calls:
        plain = getattr(step_rules, name)(*arguments)
        assert getattr(compiled_rules, name)(*arguments) == plain, name
    alpha = np.array(data.draw(st.lists(SHARES, min_size=3, max_size=3))) + 0.1
    alpha /= alpha.sum()
    slot, away = data.draw(st.integers(0, 2)), data.draw(st.integers(0, 2))
    limit = step_rules.slope_and_limit(kind, 0.0, 0.0, alpha[away])[1]
    arguments = 3, kind, slot, away, min(share, 1.0) * limit, limit
    one, other = alpha.copy(), alpha.copy()
    dropped = step_rules.move_mass(one, *arguments)
    assert compiled_rules.move_mass(other, *arguments) == dropped
    np.testing.assert_array_equal(one, other)
    assert one.min() >= -1e-15
    assert one.sum() == pytest.approx(1.0, rel=1e-12)


def test_ties_and_ends():
    assert step_rules.considers(AWAY, FW, 1.0, 1.0, 2)  # of equal ones, towards
    assert not step_rules.considers(AWAY, AWAY, 1.0, 1.0, 2)
    assert step_rules.considers(AWAY, AWAY, 0.0, 1.0, 2)
    assert not step_rules.considers(AWAY, AWAY, 0.0, 1.0, 1)  # one atom cannot be left
    assert [step_rules.considers(HYBRID, kind, 0.0, 0.0, 2) for kind in range(3)] == [True] * 3
    assert step_rules.slope_and_limit(AWAY, 1.0, 2.0, 1.0) == (2.0, math.inf)
    assert step_rules.slope_and_limit(PAIRWISE, 1.0, 2.0, 0.25) == (3.0, 0.25)
    assert step_rules.short_step(-1.0, 1.0, 1.0) == 0.0
    assert step_rules.short_step(1.0, 0.0, 1.0) == 1.0
    assert step_rules.short_step(1.0, 0.0, math.inf) == math.inf
    assert step_rules.short_step(1.0, 4.0, 1.0) == 0.25
    alpha = np.array([0.5, 0.5])
    assert not step_rules.move_mass(alpha, 2, PAIRWISE, 1, 1, 0.5, 0.5)  # nothing to move
    np.testing.assert_array_equal(alpha, [0.5, 0.5])
