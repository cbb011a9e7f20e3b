"""What functions, domains, step rules and callbacks of users answer to the saddle solvers."""

import numpy as np
import pytest

from sklearn_fw.optim import domains, solve_saddle_point

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
START = np.array([1.0, 0.0, 0.0])
VECTORS = {
    "none": None, "text": "x", "number": 1.0, "short": START[:-1], "long": np.zeros(4),
    "two axes": START[None], "nan": START * np.nan, "infinite": np.full(3, np.inf), "empty": [],
    "complex": START * 1j, "objects": np.array([None] * 3), "dates": np.zeros(3, "M8[D]"),
    "masked": np.ma.masked_equal(START, 0.0), "ragged": [[1.0], [1.0, 2.0]],
}  # fmt: skip
NUMBERS = {"none": None, "text": "x", "nan": np.nan, "pair": np.zeros(2), "complex": 1j}


def bilinear(x, y):
    return float(x @ y), y, x


def solve(function=bilinear, domain=None, **options):
    simplex = domains.Simplex(3)
    options = {"max_iter": 3, "variant": "fw"} | options
    return solve_saddle_point(function, domain or simplex, simplex, **options)


class Own:
    """A domain of the user."""

    size = 3

    def start(self):
        return START

    def lmo(self, gradient):
        return START


def own(**methods):
    return type("Own", (Own,), methods)()


@pytest.mark.parametrize("variant", ["fw", "away"])
@pytest.mark.parametrize("kind", VECTORS)
def test_vectors(kind, variant):
    vector = VECTORS[kind]
    refused = pytest.raises((TypeError, ValueError), match=r"_x|start of x")
    with refused:
        solve(domain=own(lmo=lambda self, gradient: vector), variant=variant)
    with refused:
        solve(domain=own(start=lambda self: vector), variant=variant)
    with refused:
        solve(lambda x, y: (0.0, vector, x), variant=variant) if kind not in (
            "nan", "infinite"
        ) else solve(domain=own(lmo=lambda self, gradient: vector))  # fmt: skip
    if vector is not None:
        with refused:
            solve(start=(vector, START), variant=variant)


@pytest.mark.parametrize("entry", [np.nan, np.inf])
def test_gradients_that_are_not_finite(entry):
    for answer in ((0.0, START + entry, START), (0.0, START, START + entry), (entry, START, START)):
        with pytest.raises(ValueError, match="function returned NaN or infinity after 0 steps"):
            solve(lambda x, y, answer=answer: answer)


@pytest.mark.parametrize("kind", NUMBERS)
def test_numbers(kind):
    number = NUMBERS[kind]
    with pytest.raises((TypeError, ValueError), match="function"):
        solve(lambda x, y: (number, y, x))
    with pytest.raises((TypeError, ValueError), match="step_size must give"):
        solve(step_size=lambda state: number)
    with pytest.raises(ValueError, match="size of domain_x must be a positive integer"):
        solve(domain=own(size=number))
    if number is not None:
        with pytest.raises(TypeError, match="callback must return True, False or None"):
            solve(callback=lambda result: number)


def test_callbacks():
    with pytest.raises(TypeError, match="callback must be callable or None, got 3"):
        solve(callback=3)
    assert solve(callback=lambda result: True, tol=0.0).nit == 1
    assert solve(callback=lambda result: None, tol=0.0).nit == 3

    def spoil(result):
        result.x[:] = result.y[:] = np.nan

    assert np.isfinite(solve(callback=spoil).fun)

    def fail(result):
        raise RuntimeError("of the user")

    with pytest.raises(RuntimeError, match="of the user"):
        solve(callback=fail)


def test_factors_of_products():
    for kind in ("short", "nan", "text", "none"):
        product = domains.Product(domains.Simplex(3), own(lmo=lambda self, g, k=kind: VECTORS[k]))
        with pytest.raises(ValueError, match="lmo of "):
            product.lmo(np.zeros(6))
    with pytest.raises(ValueError, match="it has no method lmo"):
        domains.Product(domains.Simplex(3), type("Sized", (), {"size": 2})())
    for size in (2.5, None, 0, "3"):
        with pytest.raises((TypeError, ValueError), match="the size of a domain"):
            domains.Product(own(size=size))
