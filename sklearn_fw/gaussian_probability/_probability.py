"""Log probabilities of boxes and polyhedra, one with its error or many under one covariance."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import multivariate_normal
from sklearn.exceptions import ConvergenceWarning

from .._core import check
from .._core.warnings import warn
from . import _engine as engine
from . import _polyhedra as polyhedra
from ._exact import exact_log_probability
from ._sampling import refine


@dataclass(frozen=True)
class GaussianProbabilityResult:
    """A log probability with its error, and the moments of the truncated distribution.

    Returned by `log_gaussian_probability`; `float` of it is ``log_prob``.

    Parameters
    ----------
    log_prob : float
        Log of the probability of the region.
    error : float
        Half the width of a 99 % interval about ``log_prob``; 0 for exact cases, NaN where nothing
        is known.
    method : str
        "exact", "sampled", "ep" or "genz": how ``log_prob`` was found.
    log_prob_ep : float
        That of expectation propagation alone, of which the gradients are those here; NaN where it
        was not run.
    mean, covariance : ndarray of shape (n,) and (n, n), or None
        Moments inside the region, by expectation propagation.
    gradient_mean, gradient_covariance : ndarray of shape (n,) and (n, n), or None
        Gradients of ``log_prob_ep`` in mean and covariance; the latter is symmetric: a change D
        adds ``sum(gradient_covariance * D)``.
    gradient_lower, gradient_upper : ndarray of shape (p,) or None
        Gradients in the bounds; with ``minimal=True`` in those that were tightened, and 0 for rows
        that were left out.
    site_precision, site_shift : ndarray of shape (p,) or None
        Precisions of the Gaussian sites, and these times their means.
    n_iter, converged : int, bool
        Sweeps, and whether the sites came to rest.
    collinearity : float
        Largest absolute cosine between two constraints in whitened space; near 1 expectation
        propagation alone is wrong.

    Notes
    -----
    More than 13 parameters: a record, made by one function and read by name.

    Examples
    --------
    >>> from sklearn_fw.gaussian_probability import log_gaussian_probability
    >>> result = log_gaussian_probability(-1.0, 1.0, cov=[[1.0, 0.0], [0.0, 1.0]])
    >>> round(result.log_prob, 6), result.method
    (-0.76343, 'exact')
    """

    log_prob: float
    error: float
    method: str
    log_prob_ep: float = np.nan
    mean: np.ndarray | None = None
    covariance: np.ndarray | None = None
    gradient_mean: np.ndarray | None = None
    gradient_covariance: np.ndarray | None = None
    gradient_lower: np.ndarray | None = None
    gradient_upper: np.ndarray | None = None
    site_precision: np.ndarray | None = None
    site_shift: np.ndarray | None = None
    n_iter: int = 0
    converged: bool = True
    collinearity: float = 0.0

    def __float__(self):
        return self.log_prob

    @property
    def prob(self):
        return float(np.exp(self.log_prob))


EMPTY = GaussianProbabilityResult(-np.inf, 0.0, "exact", log_prob_ep=-np.inf)
ROUNDING = 1e-15  # of the eigenvalues of correlations, per row
TINY = 1e-300  # smallest damping and power
METHODS = {"auto", "ep", "exact", "genz", "sampled"}
DEEP = -1e14  # log probability of one row beyond which expectation propagation has no digits
DEEPEST = -1e31  # and beyond which nothing has
SECONDS = 0.2  # of sampling on a slow core, half of that on a usual one
CHECK_SECONDS = 0.02  # of sampling that state the error of expectation propagation


def log_gaussian_probability(
    lower, upper, mean=None, cov=None, *, constraints=None, method="auto", power=1.0,
    minimal=False, damping=1.0, tol=1e-5, max_iter=500, n_draws=None, random_state=0,
):  # fmt: skip
    """Compute the log probability of lower < A x < upper under N(mean, cov).

    Parameters
    ----------
    lower, upper : float or array-like of shape (p,)
        Ends, infinite ones too; lower below upper.
    mean : float or array-like of shape (n,), default=None
        Mean; None stands for zero.
    cov : array-like of shape (n, n)
        Covariance, positive semi-definite.
    constraints : array-like of shape (p, n), default=None
        A; None stands for the identity, the region is a box.
    method : {"auto", "exact", "sampled", "ep", "genz"}, default="auto"
        "exact": products, integrals over one variable, orthants of three; an error elsewhere.
        "sampled": expectation propagation, then importance sampling about its solution for about a
        tenth of a second. "auto": "exact" where it applies, else "sampled". "ep": the number of
        expectation propagation, with an error that a short sampling states. "genz": the lattice
        rule of scipy, for a check.
    power : float or "gram", default=1.0
        Power of each site in expectation propagation, at most 1. A constraint that stands r times
        needs 1 / r; "gram" derives one power per constraint from the cosines between them.
    minimal : bool, default=False
        Whether to leave out constraints that others imply first, see `minimal_polyhedron`.
    damping : float, default=1.0
        Fraction of each site update that is made, at most 1.
    tol : float, default=1e-5
        Largest change of a marginal in the last sweep, in standard deviations; the log probability
        has an error of the order of its square.
    max_iter : int, default=500
        Largest number of sweeps.
    n_draws : int, default=None
        Draws of "sampled", or points of "genz"; None for what a tenth of a second allows, or for
        what scipy takes.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws.

    Returns
    -------
    result : GaussianProbabilityResult
        ``log_prob``, its ``error``, moments and gradients.

    Warns
    -----
    ConvergenceWarning
        Where the sites did not come to rest, have no fixed point with ``power``, or lose all
        digits beyond 1e7 standard deviations: ``log_prob_ep`` is NaN then. Where they break down on
        a thin region of dependent rows that is not empty: ``log_prob`` is NaN too.

    Notes
    -----
    Blocks of uncorrelated variables are separate problems; "auto" takes exact values of blocks.

    The error bar is that of 16 independent copies of a scrambled Sobol sequence, at 99 %. A draw
    takes one coordinate after another from its truncated normal distribution; Gaussian sites [1]_
    stand for those to come, to a power that a pilot run chooses. Power 0 is exponential tilting
    [2]_, which keeps the relative error bounded in the tails.

    Intervals below 1e-3 standard deviations count as densities times widths where that is right to
    1e-8. Expectation propagation costs O(p^3) a sweep, and a draw O(p^2). Moments and gradients are
    exact derivatives of ``log_prob_ep``, not of ``log_prob``.

    References
    ----------
    .. [1] J. Cunningham, P. Hennig, S. Lacoste-Julien, "Gaussian probabilities and expectation
       propagation", arXiv:1111.6832, 2011: algorithm 1.
    .. [2] Z. Botev, "The normal law under linear restrictions: simulation and estimation via
       minimax tilting", Journal of the Royal Statistical Society B 79, 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.gaussian_probability import log_gaussian_probability
    >>> cov = 0.5 * np.eye(5) + 0.5
    >>> result = log_gaussian_probability(100.0, np.inf, cov=cov, method="ep")
    >>> round(result.log_prob, 4)
    -8354.6283
    """
    check.choice(method, "method", METHODS)
    options = {
        "tol": check.positive(tol, "tol"),
        "max_iter": check.integer(max_iter, "max_iter", 1),
        "damping": check.between(damping, "damping", TINY, 1.0),
    }
    draws = None if n_draws is None else check.integer(n_draws, "n_draws", 16)
    random_state = check.random_state(random_state)
    cov = polyhedra.check_covariance(cov)
    n = len(cov)
    mean = polyhedra.check_vector(0.0 if mean is None else mean, "mean", n)
    A = None if constraints is None else check.shaped(constraints, "constraints", "p", n)
    lower, upper = polyhedra.check_bounds(lower, upper, n if A is None else len(A))
    if check.flag(minimal, "minimal"):
        rows = np.eye(n) if A is None else A
        _, low, high, active = polyhedra.minimal_polyhedron(rows, lower, upper)
        lower, upper = np.full(len(rows), -np.inf), np.full(len(rows), np.inf)
        lower[active], upper[active] = low, high
    if isinstance(power, str):
        check.choice(power, "power", {"gram"}, "a number")
    else:
        power = check.between(power, "power", TINY, 1.0)
    region = _Region(lower, upper, mean, cov, A, power)
    if not region.is_possible:
        return EMPTY
    if not len(region.kept):
        return region.result(0.0, 0.0, "genz" if method == "genz" else "exact", None)
    if method == "genz":
        return region.by_lattice(draws, random_state)
    return region.solve(method, options, draws, random_state)


class _Region:
    """The rows of lower < A x < upper that bound something; A is None for a box."""

    def __init__(self, lower, upper, mean, cov, A, power):
        self.mean, self.cov, self.A, self.p = mean, cov, A, len(lower)
        h, G, rounding = mean, cov, 0.0
        if A is not None:
            h, G = A @ mean, A @ cov @ A.T
            rounding = 1e-15 * (np.abs(A) @ np.sqrt(np.diag(cov))) ** 2
        bounded = np.isfinite(lower) | np.isfinite(upper)
        varies = np.diag(G) > rounding
        fixed, kept = bounded & ~varies, np.flatnonzero(bounded & varies)
        self.is_possible = bool(np.all((lower < h)[fixed] & (h < upper)[fixed]))
        self.kept, self.h, self.lower, self.upper = kept, h[kept], lower[kept], upper[kept]
        G = G[np.ix_(kept, kept)]
        self.G = np.ascontiguousarray(0.5 * (G + G.T))
        overlaps = np.abs(polyhedra.correlations(self.G)).sum(axis=1)
        self.shares = 1.0 / overlaps if power == "gram" else np.full(len(kept), power)  # of sites

    def solve(self, method, options, draws, random_state):
        """The result by any method but "genz"."""
        ceiling = self._ceiling()
        sites = self._sites(ceiling, options)
        if sites is None:
            unknown = GaussianProbabilityResult(np.nan, np.nan, "ep", converged=False)
            return EMPTY if self._is_empty("broke down") else unknown
        left = sites.open_part or engine.OpenPart(self.G, self.h, self.lower, self.upper, sites)
        log_prob, error, kind = left.constant, left.error, "exact"
        blocks = left.blocks()
        seconds = (CHECK_SECONDS if method == "ep" else SECONDS) / max(len(blocks), 1)
        rng = np.random.default_rng(random_state.randint(2**31 - 1))
        for block in blocks:
            found = None if method in ("ep", "sampled") else exact_log_probability(*block[:4])
            if found is None and method == "exact":
                raise ValueError(
                    "method='exact' takes independent variables, two variables, orthants of three "
                    "and equal correlations only: take method='auto'"
                )
            if found is None:
                box = block.G, block.lower, block.upper, block.sites
                found, kind = refine(*box, rng=rng, seconds=seconds, n_draws=draws), "sampled"
            log_prob, error = log_prob + found[0], error + found[1]
        if not np.isfinite(error) and self._is_empty("is left alone: no draw is inside"):
            return EMPTY
        log_prob = min(log_prob, ceiling)
        if method == "ep" and not np.isnan(sites.log_z):
            value = min(sites.log_z, ceiling)
            return self.result(value, error + abs(log_prob - value), "ep", sites)
        return self.result(log_prob, error, kind, sites)

    def _is_empty(self, what):
        """Whether dependent rows exclude each other; warn of ``what`` happened where they do not.

        The linear program is over standard normal variables, as many as rows are independent.
        """
        sd = np.sqrt(np.diag(self.G))
        values, vectors = np.linalg.eigh(polyhedra.correlations(self.G))
        used = values > ROUNDING * len(values)
        root = vectors[:, used] * np.sqrt(values[used])
        if not polyhedra.has_inside(root, (self.lower - self.h) / sd, (self.upper - self.h) / sd):
            return True
        _warn(
            f"{what} on a region that is not empty, of {len(sd)} bounded rows with rank "
            f"{root.shape[1]}: take method='genz', or widen the bounds"
        )
        return False

    def _ceiling(self):
        """The log probability of the least probable row, which that of all cannot exceed."""
        masses, _, _ = engine.interval_masses(self.lower, self.upper, self.h, np.diag(self.G))
        if masses.min() < DEEPEST:
            raise ValueError(
                f"mean is {np.sqrt(-2.0 * masses.min()):.2g} standard deviations outside of lower "
                f"and upper, beyond {np.sqrt(-2.0 * DEEPEST):.2g}: check the units of mean and cov"
            )
        return float(masses.min())

    def _sites(self, ceiling, options):
        """Fixed point of expectation propagation; log_z is NaN where it has no digits."""
        box = self.G, self.h, self.lower, self.upper
        sites = engine.propagate(*box, fraction=self.shares, **options)
        if ceiling > DEEP and not _is_credible(sites, ceiling) and np.any(self.shares < 1.0):
            _warn(
                "has no fixed point with this power, as bounds far from the mean have none: "
                "power=1 is taken instead"
            )
            sites = engine.propagate(*box, fraction=np.ones(len(self.h)), **options)
        if sites is not None and not _is_credible(sites, ceiling):
            depth = np.sqrt(-2.0 * ceiling)
            _warn(
                f"lost all digits {depth:.2g} standard deviations from the mean: log_prob is that "
                f"of sampling, moments and gradients are unreliable"
            )
            return replace(sites, log_z=np.nan, converged=False)
        if sites is not None and not sites.converged:
            _warn("did not converge: raise max_iter, lower damping or set minimal=True")
        return sites

    def result(self, log_prob, error, method, sites):
        """The result with moments and gradients in the space of x."""
        n, by_row = len(self.cov), np.zeros((4, self.p))
        if sites is None:
            return GaussianProbabilityResult(
                log_prob, error, method, log_prob, self.mean, self.cov, np.zeros(n),
                np.zeros((n, n)), *by_row,
            )  # fmt: skip
        A = np.eye(n)[self.kept] if self.A is None else self.A[self.kept]
        gradient = A.T @ sites.weights
        curve = A.T @ sites.precision @ A
        spread = self.cov @ curve @ self.cov
        cosines = np.minimum(np.abs(polyhedra.correlations(self.G)), 1.0)
        low, high = sites.bound_gradients(self.lower, self.upper)
        by_row[:, self.kept] = low, high, sites.tau, sites.nu
        return GaussianProbabilityResult(
            float(log_prob), float(error), method, sites.log_z, self.mean + self.cov @ gradient,
            self.cov - 0.5 * (spread + spread.T), gradient,
            0.5 * (np.outer(gradient, gradient) - curve), *by_row, sites.n_iter, sites.converged,
            float((cosines - np.diag(np.diag(cosines))).max()),
        )  # fmt: skip

    def by_lattice(self, draws, random_state):
        """The number of scipy, with the spread of three runs as its error."""
        points = 100_000 * len(self.h) if draws is None else draws
        normal = multivariate_normal(
            self.h, self.G, allow_singular=True, seed=random_state, maxpts=points, abseps=0.0,
            releps=1e-6,
        )  # fmt: skip
        values = [normal.cdf(self.upper, lower_limit=self.lower) for _ in range(3)]
        prob = float(np.mean(values))
        if not prob > 0.0:
            return GaussianProbabilityResult(-np.inf, np.inf, "genz")
        # 99 % of Student's t with two degrees of freedom is 9.9.
        error = 9.9 * float(np.std(values, ddof=1)) / np.sqrt(3.0) / prob
        return GaussianProbabilityResult(float(np.log(prob)), error, "genz")


def _warn(what):
    warn(f"expectation propagation {what}", ConvergenceWarning)


def _is_credible(sites, ceiling):
    """Whether log Z has digits and is below the ``ceiling``, but for its own error."""
    return sites is not None and ceiling > DEEP and sites.log_z < 0.999 * ceiling + 1.0


ROWS = 4096  # boxes at a time, for the memory


def log_box_probabilities(lower, upper, mean=None, cov=None, *, tol=1e-5, max_iter=500):
    """Compute log probabilities of many boxes under one covariance, by EP.

    Parameters
    ----------
    lower, upper : array-like of shape (n_boxes, n) or (n,)
        Ends, infinite ones too.
    mean : array-like of shape (n_boxes, n) or (n,), default=None
        Means; None stands for zero. Interval-censored rows have one mean each.
    cov : array-like of shape (n, n)
        Covariance of all boxes, positive definite.
    tol, max_iter : float, default=1e-5, and int, default=500
        As in `log_gaussian_probability`.

    Returns
    -------
    log_prob : ndarray of shape (n_boxes,)
        Log probabilities; -inf where a box is too far away for a float64.
    gradient_mean : ndarray of shape (n_boxes, n)
        Their gradients in the means.

    Notes
    -----
    O(n^3) per box and sweep. Boxes with sides below 1e-3 standard deviations, and those of which
    sites do not converge, are solved one by one. The error of expectation propagation is not
    computed: use `log_gaussian_probability` on a sample of the boxes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn_fw.gaussian_probability import log_box_probabilities
    >>> lower = np.array([[-1.0, -1.0], [0.0, 0.0]])
    >>> log_prob, gradient = log_box_probabilities(lower, lower + 2.0, cov=np.eye(2))
    >>> log_prob.round(4).tolist()
    [-0.7634, -1.4794]
    """
    tol, max_iter = check.positive(tol, "tol"), check.integer(max_iter, "max_iter", 1)
    cov = polyhedra.check_covariance(cov)
    n = len(cov)
    if np.diag(cov).min() < 1e-100 or np.linalg.eigvalsh(polyhedra.correlations(cov))[0] <= 1e-12:
        raise ValueError("cov must be positive definite here: add a small multiple of the identity")
    lower, upper, mean = _check_boxes(lower, upper, 0.0 if mean is None else mean, n)
    log_prob, gradient = np.empty(len(mean)), np.empty((len(mean), n))
    settled = np.zeros(len(mean), bool)
    for start in range(0, len(mean), ROWS):
        rows = slice(start, start + ROWS)
        boxes = lower[rows], upper[rows], mean[rows]
        log_prob[rows], gradient[rows], change = _propagate(*boxes, cov, tol, max_iter)
        settled[rows] = (change >= 0.0) & (change <= tol)
    settled &= ~np.any(engine.is_narrow(cov, lower, upper), axis=1)
    n_moving = 0
    for i in np.flatnonzero(~settled):  # with damping, and narrow sides apart
        sites = engine.propagate(cov, mean[i], lower[i], upper[i], tol=tol, max_iter=max_iter)
        found = (sites.log_z, sites.weights) if sites else (-np.inf, np.nan)
        log_prob[i], gradient[i] = found
        n_moving += bool(sites) and not sites.converged
    if n_moving:
        _warn(
            f"did not converge on {n_moving} of {len(mean)} boxes: raise max_iter, or compute "
            f"error bars by log_gaussian_probability"
        )
    return log_prob, gradient


def _check_boxes(lower, upper, mean, n):
    arrays = {"lower": lower, "upper": upper, "mean": mean}
    arrays = {k: check.numbers(values, k, finite=k == "mean") for k, values in arrays.items()}
    several = (len(a) for a in arrays.values() if a.ndim == 2 and len(a) != 1)
    n_boxes = max(several, default=1)
    for name, values in arrays.items():
        if values.shape not in ((), (n,), (1, n), (n_boxes, n)):
            raise ValueError(f"{name} needs shape ({n_boxes}, {n}) or ({n},), got {values.shape}")
    lower, upper, mean = (
        np.ascontiguousarray(np.broadcast_to(a, (n_boxes, n))) for a in arrays.values()
    )
    polyhedra.check_order(lower, upper)
    return lower, upper, mean


def _propagate(lower, upper, mean, G, tol, max_iter):
    """Log Z, gradients in the mean and last changes, by box."""
    origin = np.clip(mean, lower, upper)
    low, high, h = lower - origin, upper - origin, mean - origin
    n = len(G)
    tau, nu, change = np.zeros_like(h), np.zeros_like(h), np.zeros(len(h))
    engine.kernels.propagate_boxes(G, h, low, high, np.ones(n), tau, nu, 1.0, tol, max_iter, change)
    now = engine.Marginals(G, h, tau, nu)
    ends = low - now.mean, high - now.mean
    cavity = now.cavities(np.ones(n))
    log_z, _ = engine.log_evidence(G, now.weights, now.half_log_det, *ends, *cavity, tau)
    return log_z, now.weights, change
