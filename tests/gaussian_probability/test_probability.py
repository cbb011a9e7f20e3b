"""Log probabilities of boxes and polyhedra against integrals, published numbers and differences."""

import inspect

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.linalg import block_diag
from scipy.special import logsumexp
from scipy.stats import multivariate_normal, norm
from sklearn.exceptions import ConvergenceWarning

from sklearn_fw.gaussian_probability import (
    log_box_probabilities,
    log_gaussian_probability,
    minimal_polyhedron,
    truncated_normal_moments,
)

TIGHT = {"method": "ep", "tol": 1e-9, "n_draws": 16}


def equal(n, rho):
    return (1.0 - rho) * np.eye(n) + rho


def one_factor(low, high, slopes, noise):
    """Log probability of a box of slopes t + noise e, by the trapezoidal rule."""
    t = np.linspace(-12.0, 12.0, 6001)[:, None]
    masses, _, _ = truncated_normal_moments(low, high, slopes * t, np.square(noise))
    logs = masses.sum(axis=1) - 0.5 * t[:, 0] ** 2
    return logsumexp(logs) + np.log(t[1, 0] - t[0, 0]) - 0.5 * np.log(2.0 * np.pi)


def of_equal(n, low, high, rho):
    """The same where all correlations are equal."""
    return one_factor(low, high, np.full(n, np.sqrt(rho)), np.sqrt(1.0 - rho))


def random_box(rng, n):
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    cov = (basis * rng.exponential(10.0, size=n)) @ basis.T
    inside = rng.multivariate_normal(np.zeros(n), cov)
    return inside - rng.uniform(0.01, n, n), inside + rng.uniform(0.01, n, n), cov


@pytest.mark.parametrize("method", ["auto", "ep", "sampled"])
@pytest.mark.parametrize("seed", range(3))
def test_units_of_the_variables_change_nothing_but_units(method, seed):
    rng = np.random.default_rng(seed)
    low, high, cov = random_box(rng, 4)
    units = 10.0 ** np.array([8, -8, 0, 4])
    expected = log_gaussian_probability(low, high, cov=cov, method=method)
    scaled = low * units, high * units, cov * np.outer(units, units)
    result = log_gaussian_probability(*scaled[:2], cov=scaled[2], method=method)
    assert_allclose(result.log_prob, expected.log_prob, atol=1e-6)
    assert_allclose(result.gradient_mean * units, expected.gradient_mean, rtol=1e-5, atol=1e-7)
    constraints = rng.normal(size=(3, 4))
    ends = np.array([-1.0, 2.0])[:, None] * np.sqrt(np.diag(constraints @ cov @ constraints.T))
    expected = log_gaussian_probability(*ends, cov=cov, constraints=constraints, method=method)
    result = log_gaussian_probability(
        *ends, cov=scaled[2], constraints=constraints / units, method=method
    )
    # Samples are drawn in an order that rounding errors of the units may change.
    both = 1e-5 if method == "ep" else expected.error + result.error
    assert_allclose(result.log_prob, expected.log_prob, atol=both)
    (boxes, _), (plain, _) = (
        log_box_probabilities(*box[:2], cov=box[2]) for box in (scaled, (low, high, cov))
    )
    assert_allclose(boxes, plain, atol=1e-6)


# Fixed points of expectation propagation, converged, from an implementation of its own.
@pytest.mark.parametrize(
    ("n", "rho", "lower", "value", "atol"),
    [
        (2, 0.5, 0.0, -1.1004282547, 1e-9), (3, 0.5, 0.0, -1.3899509520, 1e-9),
        (5, 0.5, 0.0, -1.7985541743, 1e-9), (10, 0.5, 0.0, -2.4100766646, 1e-9),
        (20, 0.5, 0.0, -3.0627422827, 1e-9), (2, 0.9, 0.0, -0.8786028276, 1e-9),
        (2, 0.99, 0.0, -0.8221629076, 1e-9), (2, -0.5, 0.0, -1.7910721722, 1e-9),
        (2, 0.5, 20.0, -273.55230368, 1e-8), (2, 0.5, 400.0, -106679.53273, 1e-5),
        (2, 0.5, 1e4, -66666685.97, 1e-2), (5, 0.5, 100.0, -8354.62831, 1e-5),
    ],
)  # fmt: skip
def test_fixed_points(n, rho, lower, value, atol):
    result = log_gaussian_probability(lower, np.inf, cov=equal(n, rho), **TIGHT)
    assert result.converged
    assert result.log_prob == pytest.approx(value, rel=0, abs=atol)


@pytest.mark.parametrize(
    ("repeats", "value"),
    [(2, -0.9277511726), (5, -1.1349783632), (10, -1.2792150109), (100, -1.6724398266)],
)
def test_repeated_constraints(repeats, value):
    A, truth = np.tile(np.eye(2), (repeats, 1)), -0.7634302926
    plain = log_gaussian_probability(-1.0, 1.0, cov=np.eye(2), constraints=A, **TIGHT)
    assert plain.log_prob == pytest.approx(value, rel=0, abs=1e-7)
    for power in (1.0 / repeats, "gram"):
        right = log_gaussian_probability(
            -1.0, 1.0, cov=np.eye(2), constraints=A, power=power, **TIGHT
        )
        assert right.log_prob == pytest.approx(truth, rel=0, abs=1e-8)
    least = log_gaussian_probability(-1.0, 1.0, cov=np.eye(2), constraints=A, minimal=True)
    assert least.log_prob == pytest.approx(truth, rel=0, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("n", "rho"), [(10, 0.5), (30, 0.9), (100, 0.9), (150, 0.3)])
@pytest.mark.parametrize(("lower", "upper"), [(0.0, np.inf), (-1.0, 1.0), (3.0, np.inf)])
def test_sampling_finds_the_integral(n, rho, lower, upper):
    truth = of_equal(n, lower, upper, rho)
    result = log_gaussian_probability(lower, upper, cov=equal(n, rho), method="sampled")
    assert abs(result.log_prob - truth) < min(1.5 * result.error, 0.05)
    assert result.error < 0.08


@pytest.mark.parametrize("t", [5.0, 200.0, 3000.0])
@pytest.mark.parametrize("rho", [0.1, 0.7])
def test_tails_against_the_integral(t, rho):
    cov = equal(4, rho)
    exact = log_gaussian_probability(t, np.inf, cov=cov)
    result = log_gaussian_probability(t, np.inf, cov=cov, method="sampled")
    assert exact.method == "exact"
    assert result.log_prob == pytest.approx(exact.log_prob, rel=1e-9, abs=1e-3)


@pytest.mark.slow
def test_error_bars_cover_the_truth(rng):
    n_missed = 0
    for _ in range(40):
        low, high, cov = random_box(rng, 3)
        result = log_gaussian_probability(low, high, cov=cov, method="sampled", n_draws=512)
        truth = multivariate_normal.cdf(
            high, np.zeros(3), cov, lower_limit=low, abseps=0.0, releps=1e-8, maxpts=300_000
        )
        n_missed += abs(result.log_prob - np.log(truth)) > result.error + 1e-7
    assert n_missed <= 3


@pytest.mark.parametrize("constraints", [None, np.array([[1.0, 0.5, 0.0], [0.2, -1.0, 1.0]])])
def test_gradients_are_differences(rng, constraints):
    p = 3 if constraints is None else 2
    low, high = np.array([-0.5, -np.inf, 0.1])[:p], np.array([1.0, 0.7, np.inf])[:p]
    mean, cov = np.array([0.1, -0.3, 0.4]), np.cov(rng.normal(size=(3, 9)))
    step = 1e-5

    def value(low=low, high=high, mean=mean, cov=cov):
        return log_gaussian_probability(
            low, high, mean, cov, constraints=constraints, method="ep", tol=1e-10, n_draws=16
        )

    result = value()
    for name, point, gradient in [
        ("low", low, result.gradient_lower), ("high", high, result.gradient_upper),
        ("mean", mean, result.gradient_mean),
    ]:  # fmt: skip
        for i, d in enumerate(step * np.eye(len(point))):
            slope = value(**{name: point + d}).log_prob - value(**{name: point - d}).log_prob
            assert gradient[i] == pytest.approx(slope / (2 * step), rel=1e-6, abs=1e-7)
    change = np.cov(rng.normal(size=(3, 9)))
    slope = value(cov=cov + step * change).log_prob - value(cov=cov - step * change).log_prob
    inner = np.sum(result.gradient_covariance * change)
    assert inner == pytest.approx(slope / (2 * step), rel=1e-6, abs=1e-7)
    assert np.linalg.eigvalsh(cov - result.covariance).min() > -1e-12


def test_independent_variables_are_exact(rng):
    low, mean, var = rng.normal(size=4), rng.normal(size=4), rng.uniform(0.5, 2.0, 4)
    log_prob, inner_mean, inner_var = truncated_normal_moments(low, low + 1.0, mean, var)
    for method in ("auto", "ep", "sampled"):
        result = log_gaussian_probability(low, low + 1.0, mean, np.diag(var), method=method)
        assert result.log_prob == pytest.approx(log_prob.sum(), rel=1e-9)
        np.testing.assert_allclose(result.mean, inner_mean, rtol=1e-9)
        np.testing.assert_allclose(np.diag(result.covariance), inner_var, rtol=1e-8)


@pytest.mark.parametrize(
    ("a", "b"), [(-1.0, 2.0), (0.0, np.inf), (5.0, 5.01), (-np.inf, 8.0), (-9.0, -3.0), (3.0, 40.0)]
)
def test_moments_are_integrals(a, b):
    ends = max(a, -12.0), min(b, 12.0)
    mass, first, second = (
        quad(lambda x, k=k: x**k * norm.pdf(x), *ends, epsabs=1e-13, epsrel=1e-9)[0]
        for k in range(3)
    )
    log_prob, mean, var = truncated_normal_moments(a, b)
    assert log_prob == pytest.approx(np.log(mass), rel=1e-8)
    assert mean == pytest.approx(first / mass, rel=1e-8)
    assert var == pytest.approx(second / mass - (first / mass) ** 2, rel=1e-4)


def test_many_boxes_are_single_boxes(rng):
    _, _, cov = random_box(rng, 4)
    low = rng.normal(size=(5, 4))
    high = low + rng.uniform(0.1, 9.0, (5, 4))
    high[2, 1], low[3, 2] = np.inf, -np.inf
    log_prob, gradient = log_box_probabilities(low, high, cov=cov, tol=1e-9)
    for i in range(5):
        one = log_gaussian_probability(low[i], high[i], cov=cov, **TIGHT)
        assert log_prob[i] == pytest.approx(one.log_prob, rel=1e-9)
        np.testing.assert_allclose(gradient[i], one.gradient_mean, rtol=1e-6, atol=1e-9)


def test_sites_together_are_sites_in_turn(rng):
    A = rng.normal(size=(150, 160))
    cov = A @ A.T / 150 + 2.0
    sites = []
    for damping in (1.0, 0.99):  # the second goes one site after another
        result = log_gaussian_probability(
            0.0, np.inf, cov=cov, method="ep", tol=1e-8, damping=damping, n_draws=16
        )
        assert result.converged
        assert result.n_iter < 40
        sites.append((result.log_prob, result.site_precision, result.gradient_mean))
    for together, in_turn in zip(*sites, strict=True):
        np.testing.assert_allclose(together, in_turn, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("width", [1e-2, 1e-5, 1e-8, 1e-12])
def test_thin_boxes(width):
    low = np.array([0.3, -1.0, 2.0, 0.0])
    high = low + width * np.array([1.0, 2.0, 0.5, 1.0])
    truth = of_equal(4, low, high, 0.5)
    result = log_gaussian_probability(low, high, cov=equal(4, 0.5), method="sampled")
    assert result.log_prob == pytest.approx(truth, rel=0, abs=result.error + 1e-9)
    assert result.log_prob_ep == pytest.approx(truth, rel=0, abs=1e-4)
    many, _ = log_box_probabilities(low, high, cov=equal(4, 0.5))
    assert many[0] == pytest.approx(result.log_prob_ep, rel=0, abs=1e-9)


@pytest.mark.parametrize("n", [4, 140])
@pytest.mark.parametrize("width", [2e-4, 1e-7, 1e-11])
def test_narrow_sides_are_densities_times_widths(rng, n, width):
    A = rng.normal(size=(n, n))
    cov = A @ A.T / n + 0.3 * np.eye(n)
    x = rng.multivariate_normal(np.zeros(n), cov)
    low, high = x - 1.0, np.full(n, np.inf)
    t = np.arange(n) % 2 == 0
    low[t], high[t] = x[t], x[t] + width
    middle, wide = x[t] + 0.5 * (high - low)[t], ~t
    slopes = np.linalg.solve(cov[np.ix_(t, t)], cov[np.ix_(t, wide)]).T
    mean, inner = slopes @ middle, cov[np.ix_(wide, wide)] - slopes @ cov[np.ix_(t, wide)]
    inner = 0.5 * (inner + inner.T)
    rest = log_gaussian_probability(low[wide], high[wide], mean, inner)
    constant = multivariate_normal.logpdf(middle, cov=cov[np.ix_(t, t)])
    constant += np.sum(np.log((high - low)[t]))
    result = log_gaussian_probability(low, high, cov=cov)
    assert result.log_prob_ep == pytest.approx(constant + rest.log_prob_ep, rel=0, abs=1e-6)
    bend = n * width**2  # of the density over a side
    assert abs(result.log_prob - constant - rest.log_prob) < result.error + rest.error + bend
    np.testing.assert_allclose(result.mean[wide], rest.mean, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(result.mean[t], middle, rtol=0, atol=1e-12 + width**2)
    spread = result.covariance[np.ix_(wide, wide)]
    np.testing.assert_allclose(spread, rest.covariance, rtol=0, atol=1e-6)
    np.testing.assert_allclose(result.gradient_upper[t] * width, 1.0, rtol=1e-2)


def test_a_narrow_side_in_the_tail_is_no_density_times_width():
    # Over the width of the box the density falls to nothing.
    result = log_gaussian_probability(1e6, 1e6 + 5e-4, cov=equal(2, 0.2), method="ep", tol=1e-8)
    truth = log_gaussian_probability(1e6, np.inf, cov=equal(2, 0.2), method="ep", tol=1e-8)
    assert result.log_prob == pytest.approx(truth.log_prob, rel=1e-12)


def test_combinations_cut_the_interval_that_they_bound(rng):
    A = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [1.0, -1.0]])
    truth = log_gaussian_probability(-1.0, 1.0, cov=np.eye(2)).log_prob
    high = np.array([1.0, 1.0, 2.0 + 1e-9, 2.0 + 1e-9])  # the last two follow from the others
    result = log_gaussian_probability(
        -high, high, cov=np.eye(2), constraints=A, method="sampled", n_draws=4096
    )
    assert abs(result.log_prob - truth) < 1.5 * result.error < 1e-3
    octagon = log_gaussian_probability(
        -1.0, 1.0, cov=np.eye(2), constraints=A, method="sampled", n_draws=4096
    )
    inside = np.abs(rng.normal(size=(400_000, 2)) @ A.T).max(axis=1) < 1.0
    assert octagon.log_prob == pytest.approx(np.log(inside.mean()), rel=0, abs=0.01)
    assert octagon.error < 1e-3


def test_orthants():
    exact = log_gaussian_probability(0.0, np.inf, cov=equal(3, 0.5), method="exact")
    assert exact.prob == pytest.approx(0.25, rel=1e-12)
    for n in (2, 5, 9):
        exact = log_gaussian_probability(0.0, np.inf, cov=equal(n, 0.5), method="exact")
        assert exact.prob == pytest.approx(1.0 / (n + 1), rel=1e-12)
    genz = log_gaussian_probability(0.0, np.inf, cov=equal(4, 0.5), method="genz")
    assert genz.log_prob == pytest.approx(-np.log(5.0), rel=1e-4)


@pytest.mark.skipif(
    "rng" not in inspect.signature(multivariate_normal.cdf).parameters,
    reason="this version of SciPy draws the shifts of the lattice without a seed",
)
def test_lattices_have_a_seed():
    options = {"cov": equal(4, 0.5), "method": "genz", "n_draws": 1000}
    first, same, other = (
        log_gaussian_probability(-1.0, 0.5, **options, random_state=seed).log_prob
        for seed in (0, 0, 1)
    )
    assert first == same != other


def test_minimal_polyhedra():
    A = [[1.0, 0.0], [-2.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 0.0]]
    A, low, high, active = minimal_polyhedron(A, [-1, -1, -1, -9, -1], [1, 4, 1, 9, 1])
    assert active.tolist() == [True, False, True, False, False]
    np.testing.assert_allclose((low, high), ([-1.0, -1.0], [0.5, 1.0]))


def test_gradients_in_bounds_of_rows_that_others_imply_are_zero():
    region = {"cov": np.eye(2), "constraints": [[1.0, 0.0], [0.1, 0.1], [0.0, 1.0]]}
    found = log_gaussian_probability(-1.0, [1.0, 5.0, 0.5], **region, minimal=True, **TIGHT)
    box = log_gaussian_probability(-1.0, [1.0, 0.5], cov=np.eye(2), **TIGHT)
    assert_allclose(np.delete(found.gradient_upper, 1), box.gradient_upper, rtol=1e-9)
    assert found.gradient_lower[1] == found.gradient_upper[1] == 0.0


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"lower": 1.0, "upper": 1.0}, "lower must be below upper"),
        ({"cov": [[1.0, 2.0], [2.0, 1.0]]}, "cov must be positive semi-definite.*add a multiple"),
        ({"cov": [[1.0, 2.0], [0.0, 1.0]]}, "cov must be symmetric"),
        ({"cov": None}, "cov must be given"),
        ({"constraints": np.ones((2, 3))}, r"constraints must have shape \(p, 2\), got \(2, 3\)"),
        ({"power": 2.0}, r"power must be from 0 \(excluded\) to 1, got 2"),
        ({"method": "exact", "cov": equal(3, -0.2)}, "take method='auto'"),
        (
            {"constraints": [[1.0, 0.0], [-1.0, 0.0]], "lower": [1.0, 1.0], "upper": 2.0,
             "minimal": True},
            "empty region",
        ),
    ],
)  # fmt: skip
def test_refusals(change, text):
    with pytest.raises(ValueError, match=text):
        log_gaussian_probability(**{"lower": -1.0, "upper": 1.0, "cov": np.eye(2)} | change)


def collinear_box(rng):
    """Box of one factor with little noise, and its log probability by the trapezoidal rule."""
    n = int(rng.integers(2, 4))
    slopes = rng.choice([-1.0, 1.0], n) * rng.uniform(0.2, 3.0, n)
    noise = np.abs(slopes) * 10.0 ** rng.uniform(-2.2, -0.7, n)
    x = slopes * rng.normal() + noise * rng.normal(size=n)
    size = np.abs(slopes) * rng.exponential(1.5, (2, n))
    low = np.where(rng.random(n) < 0.3, -np.inf, x - size[0])
    high = np.where(rng.random(n) < 0.5, np.inf, x + size[1])
    cov = np.outer(slopes, slopes) + np.diag(noise**2)
    return low, high, cov, one_factor(low, high, slopes, noise)


@pytest.mark.slow
@pytest.mark.parametrize(("method", "n_draws"), [("sampled", 2048), ("ep", 1024), ("auto", 2048)])
def test_error_bars_of_nearly_singular_boxes(rng, method, n_draws):
    bars = []
    for i in range(100):
        parts = [collinear_box(rng) for _ in range(1 + i % 2)]
        low, high = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
        order = rng.permutation(len(low))
        cov = block_diag(*(part[2] for part in parts))[np.ix_(order, order)]
        result = log_gaussian_probability(
            low[order], high[order], cov=cov, method=method, n_draws=n_draws, random_state=i
        )
        bars.append(abs(result.log_prob - sum(part[3] for part in parts)) / (result.error + 1e-9))
    assert np.sum(np.array(bars) > 1.0) <= 3
    assert max(bars) < 3.0


def test_blocks_are_factors_of_the_probability(rng):
    cov = block_diag(equal(2, 0.9999), equal(3, 0.5), [[2.0]], equal(2, -0.99))
    low = rng.normal(-0.5, 0.5, 8)
    order = rng.permutation(8)
    whole = log_gaussian_probability(low[order], np.inf, cov=cov[np.ix_(order, order)])
    parts = [
        log_gaussian_probability(low[r], np.inf, cov=cov[np.ix_(r, r)])
        for r in (np.arange(2), np.arange(2, 5), np.arange(5, 6), np.arange(6, 8))
    ]
    assert whole.method == "exact"
    assert whole.log_prob == pytest.approx(sum(p.log_prob for p in parts), rel=1e-12)


@pytest.mark.filterwarnings("ignore:expectation propagation:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("rho", [0.3, -0.7, 0.99999])
@pytest.mark.parametrize("far", [3e8, 1e11])
def test_bounds_that_are_far_away_are_none(rho, far):
    cov = equal(2, rho)
    near = log_gaussian_probability([-0.4, -np.inf], [np.inf, 0.8], cov=cov)
    result = log_gaussian_probability([-0.4, -far], [far, 0.8], cov=cov)
    assert result.log_prob == pytest.approx(near.log_prob, rel=1e-12)
    deep = log_gaussian_probability(far, np.inf, cov=equal(2, abs(rho)))
    assert deep.log_prob == pytest.approx(-(far**2) / (1.0 + abs(rho)), rel=1e-9)
    deep = log_gaussian_probability(far, np.inf, cov=equal(4, 0.5))
    assert deep.log_prob == pytest.approx(-(far**2) / 1.25, rel=1e-9)


@pytest.mark.filterwarnings("ignore:expectation propagation:sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("power", [1.0, "gram"])
@pytest.mark.parametrize("mean", [-4.0, -3e3, -5e8, -2e14, 7e14])
def test_log_probabilities_are_finite_and_not_positive(mean, power):
    cov = equal(4, -0.1) + np.diag([0.0, 1.0, 0.0, 2.0])
    for method in ("ep", "sampled", "auto"):
        result = log_gaussian_probability(
            0.0, np.inf, mean, cov, method=method, power=power, n_draws=512
        )
        best = -0.5 * mean**2 * np.sum(np.linalg.inv(cov)) if mean < 0.0 else 0.0
        assert result.log_prob <= 0.0
        assert result.log_prob == pytest.approx(best, rel=1e-4, abs=40.0)
        assert np.isfinite(result.error)


def test_powers_without_a_fixed_point_are_said_to():
    with pytest.warns(ConvergenceWarning, match="no fixed point with this power.*power=1"):
        log_gaussian_probability(6.0, np.inf, cov=equal(3, 0.2), power="gram")
    with pytest.warns(ConvergenceWarning, match="lost all digits"):
        log_gaussian_probability(6e8, np.inf, cov=equal(3, 0.2))
    with pytest.raises(ValueError, match=r"mean is .* standard deviations outside"):
        log_gaussian_probability(0.0, 1.0, -1e60, np.eye(2))


OPPOSITE, SHARED = [[1.0, 0.0], [-1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]]
TRIANGLE, SINGULAR = [[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [[1.0, -1.0], [-1.0, 1.0]]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("method", ["auto", "ep"])
@pytest.mark.parametrize(
    ("lower", "upper", "cov", "constraints"),
    [
        ([1.0, 1.0], np.inf, np.eye(2), OPPOSITE),
        ([1.0, -1.0], np.inf, np.eye(2), OPPOSITE),
        ([1.0, -np.inf], [np.inf, 0.5], np.eye(2), SHARED),
        ([0.0, 0.0, 0.01], np.inf, np.eye(2), TRIANGLE),
        ([1.0, 1.0], 2.0, SINGULAR, None),
        (1.0, np.inf, np.eye(3) - 1.0 / 3.0, None),
    ],
)
def test_regions_of_dependent_rows_may_be_empty(lower, upper, cov, constraints, method):
    result = log_gaussian_probability(lower, upper, cov=cov, constraints=constraints, method=method)
    assert (result.log_prob, result.error, result.method) == (-np.inf, 0.0, "exact")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("width", [1e-2, 1e-4])
@pytest.mark.parametrize(
    ("upper", "cov", "constraints"), [(np.inf, np.eye(2), OPPOSITE), (2.0, SINGULAR, None)]
)
def test_thin_regions_of_dependent_rows(upper, cov, constraints, width):
    lower = [1.0, -1.0 - width]
    result = log_gaussian_probability(lower, upper, cov=cov, constraints=constraints)
    lattice = log_gaussian_probability(
        lower, upper, cov=cov, constraints=constraints, method="genz"
    )
    assert result.log_prob == pytest.approx(np.log(norm.sf(1.0) - norm.sf(1.0 + width)), abs=1e-5)
    assert result.log_prob == pytest.approx(lattice.log_prob, abs=1e-5)


def test_a_region_that_is_too_thin_is_not_called_empty():
    with pytest.warns(ConvergenceWarning, match="not empty, of 2 bounded rows with rank 1"):
        result = log_gaussian_probability(
            [1.0, -1.0 - 1e-9], np.inf, cov=np.eye(2), constraints=OPPOSITE
        )
    assert np.isnan([result.log_prob, result.error]).all()
    assert not result.converged


@pytest.mark.parametrize("name", ["lower", "upper", "mean"])
def test_no_boxes_have_no_probabilities(name):
    box = {"lower": -1.0, "upper": 1.0, "mean": 0.0, name: np.empty((0, 2))}
    log_prob, gradient = log_box_probabilities(**box, cov=np.eye(2))
    assert (log_prob.shape, gradient.shape) == ((0,), (0, 2))
