"""What saddle-point solvers refuse, and in which words."""

import re

import numpy as np
import pytest
from scipy.optimize import OptimizeResult

from _saddle_toy import SQUARE, quadratic
from sklearn_fw.optim import domains
from sklearn_fw.optim._saddle_point import SaddleConstants, solve_saddle_point


def with_function(function):
    return lambda: solve_saddle_point(function, SQUARE, SQUARE)


def with_options(**options):
    return lambda: solve_saddle_point(quadratic, SQUARE, SQUARE, **options)


CURVED = {
    "smoothness_x": 1, "smoothness_y": 1, "coupling": 1, "convexity_x": 1, "convexity_y": 1,
}  # fmt: skip


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (with_options(step_size="line_search"), "a line search does not converge"),
        (with_options(step_size=lambda state: -1), "that are not negative, got -1 in step 0"),
        (with_options(step_size="adaptive"), "step_size='adaptive' needs constants"),
        (
            with_options(step_size="heuristic", constants=SaddleConstants(coupling=1)),
            "step_size='heuristic' needs a positive convexity_x in constants, got None",
        ),
        (
            with_options(step_size="adaptive", constants=SaddleConstants(**CURVED)),
            "needs a positive width_x in constants, got None",
        ),
        (
            with_options(
                step_size="adaptive", constants=SaddleConstants(**CURVED, width_x=1, width_y=1)
            ),
            "their balance nu is -5 <= 0; use 'universal', or 'heuristic'",
        ),
        (
            with_options(
                step_size="strongly_convex_set",
                constants=SaddleConstants(**CURVED, gradient_norm=1),
            ),
            "step_size='strongly_convex_set' needs a positive set_convexity in constants, got 0.0",
        ),
        (
            with_options(
                step_size="strongly_convex_set", variant="away", constants=SaddleConstants()
            ),
            "step_size='strongly_convex_set' needs variant='fw', got 'away'",
        ),
        (with_options(variant="block"), "variant='block' needs a domains.Product for domain_y"),
        (
            lambda: solve_saddle_point(
                quadratic, SQUARE, domains.Product(SQUARE), variant="block", step_size=0.1
            ),
            "variant='block' has step_size='universal' only, got 0.1",
        ),
        (with_options(start=[1.0]), "start must be (x, y), an earlier result or None; got [1.0]"),
        (with_options(start=OptimizeResult(x=[1.0])), "start must be (x, y), an earlier result or"),
        (with_options(start=([9, 0], [0, 0])), "the start of x is not in domain_x"),
        (with_options(start=([0, 0], [[0, 0]])), "the start of y must have shape (2,), got (1, 2)"),
        (lambda: solve_saddle_point(quadratic, 3, SQUARE), "domain_x must be a domain with"),
        (lambda: solve_saddle_point(3, SQUARE, SQUARE), "function must be callable"),
        (
            with_function(lambda x, y: (0.0, x, y[:1])),
            "gradient_y of function.shape == (1,), expected (2,)",
        ),
        (with_function(lambda x, y: (np.nan, x, y)), "must return a finite number as value"),
        (lambda: SaddleConstants().curvature, "the curvature needs a smoothness_x in constants"),
        (lambda: SaddleConstants().progress(), "the progress of a step needs a positive convexity"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        call()


def test_callbacks():
    with pytest.raises(TypeError, match="callback must be callable or None, got 3"):
        with_options(callback=3)()
    assert with_options(callback=lambda result: True, tol=0.0)().nit == 1

    def spoil(result):
        result.x[:] = result.y[:] = np.nan

    assert np.isfinite(with_options(callback=spoil, tol=0.1)().fun)

    def fail(result):
        raise RuntimeError("of the user")

    with pytest.raises(RuntimeError, match="of the user"):
        with_options(callback=fail, tol=0.1)()


def test_factors_of_products():
    class Own(domains.Domain):
        def __init__(self, answer=None, size=3):
            self.answer, self.size = answer, size

        def lmo(self, gradient):
            return self.answer

    for answer in (np.zeros(2), np.full(3, np.nan), "x", None):
        with pytest.raises(ValueError, match="lmo of "):
            domains.Product(domains.Simplex(3), Own(answer)).lmo(np.zeros(6))
    with pytest.raises(ValueError, match="no size or no method lmo"):
        domains.Product(domains.Simplex(3), type("Sized", (), {"size": 2})())
    for size in (2.5, None, 0, "3"):
        with pytest.raises((TypeError, ValueError), match="the size of a domain"):
            domains.Product(Own(size=size))
