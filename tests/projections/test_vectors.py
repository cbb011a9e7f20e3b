"""Projections: fixed points, monotone, large and small numbers."""

import functools
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sklearn_fw.projections import project_box, project_l1_ball, project_l2_ball, project_simplex

VECTORS = arrays(np.float64, 5, elements=st.floats(-10, 10))
# Domains with these projections are in tests/optim/test_domains.py, where they are the nearest.
PROJECTIONS = {
    "simplex": project_simplex,
    "larger simplex": functools.partial(project_simplex, radius=3.0),
    "l1 ball": functools.partial(project_l1_ball, radius=2.0),
    "ball": functools.partial(project_l2_ball, radius=2.0),
    "box": lambda v: project_box(v, [-1, 0, -np.inf, 2, -3], [1, 0, 1, np.inf, 3]),
}


@pytest.mark.parametrize("name", PROJECTIONS)
@settings(derandomize=True, deadline=None)
@given(u=VECTORS, v=VECTORS)
def test_projections_are_firmly_nonexpansive(name, u, v):
    project = PROJECTIONS[name]
    p, q = project(u), project(v)
    assert (p - q) @ (u - v) >= (p - q) @ (p - q) - 1e-12
    np.testing.assert_allclose(project(p), p, rtol=0, atol=1e-14)


def test_simplex_of_large_values():
    np.testing.assert_array_equal(project_simplex([1e17, 1e17, 0.0]), [0.5, 0.5, 0.0])
    np.testing.assert_allclose(project_simplex(np.full(1000, 7.0)), 1e-3, rtol=1e-13)
    np.testing.assert_array_equal(project_simplex([-3.0], radius=2.0), [2.0])


def test_l2_ball_of_huge_and_tiny_values():
    for scale in (1e200, 1e308):
        x = project_l2_ball([[scale, -scale], [0.0, 1.0]], radius=2.0)
        np.testing.assert_allclose(x, [[np.sqrt(2), -np.sqrt(2)], [0.0, 1.0]], rtol=1e-14)
    np.testing.assert_allclose(project_l2_ball([3e-200, 4e-200], 1e-200), [6e-201, 8e-201])


def test_l1_ball_keeps_signs_and_has_no_negative_zeros():
    x = project_l1_ball([[-3.0, 1.0, -0.5], [1e17, -1e17, 1.0]])
    np.testing.assert_array_equal(x, [[-1.0, 0.0, 0.0], [0.5, -0.5, 0.0]])
    assert not np.any(np.signbit(x) & (x == 0))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: project_simplex([1.0], radius=0), "radius == 0, must be > 0"),
        (lambda: project_simplex([]), "v must hold vectors along its last axis, got shape (0,)"),
        (lambda: project_simplex(1.0), "v must hold vectors along its last axis, got shape ()"),
        (lambda: project_l2_ball([1.0], radius=-1), "radius == -1, must be > 0"),
        (lambda: project_l2_ball([np.nan]), "v must be finite, got NaN or infinity"),
        (lambda: project_box([1.0], 1, 0), "lower must not be above upper anywhere"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()
