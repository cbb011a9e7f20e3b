"""The strength of a penalty where none is given, by generalized or K-fold cross-validation."""

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh_tridiagonal

from .._core import check
from .._core.budget import budget_now, time_budget
from .._core.warnings import warn
from ..losses import LogLoss, MultinomialLogLoss
from ..optim import FiniteSum, Start, solve
from ..optim._incremental import _finite_sum as sums
from ..optim._incremental._minimize_saga import DENSE, SPARSE, Auto
from ._linear import CONSTANT, signs
from ._path import has_strength, zero_strength

# Candidates per decade, from this share of the smallest variance of a column to this many times the
# largest eigenvalue.
DENSITY, LEAST, MOST = 4, 1e-10, 1e3
# For many columns: the same share of the largest eigenvalue, Lanczos steps, entries of X that have
# to do, and rows at least.
LEAST_SHARE, LANCZOS_STEPS, ENTRIES, LEAST_ROWS = 1e-8, 40, 2e5, 500
# Degrees of freedom may take at most this share of the rows: beyond it the criterion is noise.
MOST_FREE = 0.9
# Errors that differ by less are equal; shares of the variance below these are rounding of numbers,
# or what is left of labels that are as good as separated.
EQUAL, LEAST_ERRORS = 1e-6, {"regression": 1e-14, "classification": 1e-2}
# Held-out losses below this share of that of zero coefficients are as good as zero.
EXACT = 1e-8
# Mean second derivative of a loss of labels at the optimum, over the largest: by mean and worst log
# loss of new rows over 21 sets.
BENT = 0.4
# Entries that are read at a time: no copy of X.
PART = 1 << 13
# Largest ratio of column scales for which eigenvalues need no care.
UNLIKE = 1e4
# Ratio from which on one ridge for all columns loses on unseen rows of wide tables and tall ones.
UNLIKE_UNITS = 1e3
# What scikit-learn's ElasticNet and Lasso take, for data without a column or a target that varies.
ALPHA = 1.0
# Folds, and the number of entries of all of them: one has to do for more.
FOLDS, LARGE = 5, 1e6
# Values per decade of a path, and decades that it has beyond the ratio of column scales, but for
# this share of the columns; twice as many where the loss still falls.
STEPS, DECADES, SMALLEST = 3, 3, 0.01
# Losses above the least one end a path, by this share in all. While columns of small scale cannot
# be in yet one has to be much worse. It also ends where a decade brings less than the last share.
WORSE, MUCH_WORSE, FALLS = 0.03, 0.2, 5e-3
# Accuracy and iterations of its fits, and the share of the seconds of a fit that it may take.
ACCURACY, ITERATIONS, SECONDS = 1e-2, 100, 0.5
# Accuracy and iterations of the optimum itself: methods that go on from it are slower.
ACCURACY_THERE, MOST_ITERATIONS = 1e-3, 1000


def automatic_strength(problems):
    """Strengths of the penalty in the sum form for ``alpha="auto"`` and ``C="auto"``.

    That of a ridge minimizes the generalized cross-validation error of the squared loss (Golub,
    Heath and Wahba 1979) over all targets, each in the unit of its variance; labels are targets of
    -1 and 1. That of other penalties minimizes the loss of held-out folds along a path, for each
    target, as it has the unit of the target.
    ``problems`` have the same rows, a target each and the penalty of strength 1.
    """
    problem = problems[0]
    penalty, default = problem.penalty, ALPHA * problem.total_weight
    if not penalty.is_ridge:
        found = [has_strength(penalty) and path_by_folds([p], len(problems))[0] for p in problems]
        return np.array([strength or default for strength in found])
    if penalty.l2 == 0.0:
        return default
    if problem.n_columns <= (SPARSE if sp.issparse(problem.X) else DENSE):
        strength = ridge_of_sums(problem.loss, *sums_of(one_against_rest(problems)))
    else:
        strength = ridge_of_products(problems)
    return of_loss(problem.loss, penalty, strength) or default


def one_against_rest(problems):
    """The problems, or, of one with an output for each class, those of single classes."""
    first = problems[0]
    if first.n_outputs is None:
        return problems
    settings = {"weight": first.weight, "fit_intercept": first.fit_intercept}
    targets = signs(first.y.astype(int), first.n_outputs)
    return [FiniteSum(first.X, y, LogLoss(), first.penalty, **settings) for y in targets]


def of_loss(loss, penalty, strength):
    """Strength for a loss, from that for the squared loss and a sum of squares."""
    loss = LogLoss() if isinstance(loss, MultinomialLogLoss) else loss  # of single classes
    curvature = loss.smoothness * (BENT if loss.task == "classification" else 1.0)
    return curvature / penalty.l2 * strength


def in_unlike_units(problem):
    """Whether columns of a dense table have scales that one ridge does not suit."""
    is_table = not sp.issparse(problem.X) and problem.penalty.is_ridge
    return is_table and unlike(_variances(problem))


def unlike(variances):
    variances = variances[variances > 0.0]
    return variances.size > 0 and variances.max() > UNLIKE_UNITS**2 * variances.min()


# ---- ridge ---------------------------------------------------------------------------------------


class Spectrum(NamedTuple):
    """Eigenvalues of the products of columns, and the shares that something has in them.

    Those of all ``(axis @ v)^2`` for a vector v; sums ``v' f(matrix) v`` need no more.
    """

    sizes: np.ndarray
    shares: np.ndarray


def sums_of(problems):
    """Sums over rows in which a ridge is chosen, see `ridge_of_sums`."""
    first = problems[0]
    weight, means = first.weights, first.column_means
    found = [moments_of_target(problem, residual_of(problem), means) for problem in problems]
    matrix = sums.weighted_products(first, weight)[0]
    rows = independent_rows(problems) - first.fit_intercept
    return matrix, means, first.total_weight, rows, *zip(*found, strict=True)


def residual_of(problem):
    """The target, about its mean where there is an intercept."""
    return problem.y - problem.fit_intercept * (problem.weights @ problem.y) / problem.total_weight


def moments_of_target(problem, residual, means):
    """Sums of the squares of a target, and of its products with columns."""
    weight = problem.weights
    along = problem.gradient(weight * residual)
    if problem.fit_intercept:
        along = along - means * (weight @ residual)
    return weight @ np.square(residual), along


def ridge_of_sums(loss, matrix, means, total_weight, n_rows, wholes, alongs):
    """Strength of least generalized cross-validation error, by eigenvalues of few columns.

    ``matrix`` has the products of columns, centered about ``means`` where there is an intercept;
    ``n_rows`` counts independent ones, less one for that; ``wholes`` are the sums of the squared
    targets and ``alongs`` their products with columns, centered in the same way.
    """
    variances = np.diagonal(matrix)
    variances = variances[variances > np.square(CONSTANT * means) * total_weight]
    if not variances.size:
        return 0.0
    sizes, axes = _eigenvalues(matrix)
    targets = [Spectrum(sizes, np.square(axes.T @ along)) for along in alongs]
    trace, least = Spectrum(sizes, sizes), LEAST * variances.min()
    return _ridge_of_least_error(loss, least, n_rows, wholes, targets, trace)


def ridge_of_products(problems):
    """The same for many columns, by Lanczos quadrature (Golub and von Matt 1997).

    The products of columns act on one combination of all targets, with random signs, and on one of
    all rows, which has the trace. A strength of the sum form is one for any number of rows: of
    large tables some have to do.
    """
    first, rng = problems[0], check.random_state(0)
    if not first.active.size:
        return 0.0
    n_used = max(int(ENTRIES * first.n_rows / max(first.X.size, 1)), LEAST_ROWS)
    rows = np.sort(rng.permutation(first.active)[:n_used])
    problems = one_against_rest([problem.part(rows) for problem in problems])
    first = problems[0]
    weight, means, center = first.weights, first.column_means, first.fit_intercept
    residuals = np.array([residual_of(problem) for problem in problems])
    norms = np.sqrt(np.square(residuals) @ weight)
    chosen = rng.choice([-1.0, 1.0], len(problems)) / np.where(norms > 0.0, norms, np.inf)
    probe = rng.choice([-1.0, 1.0], first.n_rows) / np.sqrt(weight)
    found = [moments_of_target(first, own, means) for own in (chosen @ residuals, probe)]

    def product(V):
        changed = weight[:, None] * first.scores(V, -center * (means @ V))
        return first.gradient(changed) - center * np.multiply.outer(means, changed.sum(axis=0))

    target, trace = _spectra(product, np.column_stack([along for _, along in found]))
    if not trace.sizes.max() > 0.0:
        return 0.0
    n_rows = independent_rows(problems) - center
    least = LEAST_SHARE * trace.sizes.max()
    return _ridge_of_least_error(first.loss, least, n_rows, [found[0][0]], [target], trace)


def _spectra(product, V):
    """`Spectrum` of each column of V, by Lanczos steps side by side."""
    norms, previous, steep = np.linalg.norm(V, axis=0), 0.0, 0.0
    Q = V / np.where(norms > 0.0, norms, 1.0)
    diagonals, beside = [], []
    for _ in range(min(LANCZOS_STEPS, len(V))):
        moved = product(Q) - steep * previous
        diagonals.append(np.sum(moved * Q, axis=0))
        moved -= diagonals[-1] * Q
        steep = np.linalg.norm(moved, axis=0)
        beside.append(steep)
        previous, Q = Q, moved / np.where(steep > 0.0, steep, 1.0)
    pairs = zip(np.transpose(diagonals), np.transpose(beside), norms)
    found = [(*eigh_tridiagonal(own, off[:-1]), norm) for own, off, norm in pairs]
    return [Spectrum(np.maximum(s, 0.0), np.square(norm * axes[0])) for s, axes, norm in found]


def _ridge_of_least_error(loss, least, n_rows, wholes, targets, trace):
    """Strength of least error over all `targets`; the shares of `trace` are those of freedom."""
    most, least_error = MOST * trace.sizes.max(), LEAST_ERRORS[loss.task]
    strengths = np.geomspace(least, most, 1 + int(DENSITY * np.log10(most / least)))
    left = n_rows - (trace.shares / (trace.sizes + strengths[:, None])).sum(axis=1)
    allowed = left >= (1.0 - MOST_FREE) * n_rows
    allowed[-1] = True
    errors = np.zeros(strengths.size)
    for whole, (sizes, shares) in zip(wholes, targets, strict=True):
        if not whole > 0.0:
            continue
        shrunk = 1.0 / (sizes + strengths[:, None])
        error = whole - 2.0 * shrunk @ shares + np.square(shrunk) @ (sizes * shares)
        errors += np.maximum(error / whole, least_error)
    exact = errors[0] <= 2.0 * least_error * len(wholes)
    errors[~allowed] = np.inf
    errors[allowed] /= np.square(np.maximum(left[allowed], 1e-9))
    # Of equal ones the strongest.
    best = np.flatnonzero(errors <= (1.0 + EQUAL) * errors.min())[-1]
    if best == 0 and not exact:
        warn(
            f"'auto' takes the smallest candidate for the strength of the penalty, {least:.3g}: "
            f"columns of X depend on each other almost exactly; leave some out, or set the strength"
        )
    return float(strengths[best])


def _eigenvalues(matrix):
    scale = np.sqrt(np.diagonal(matrix))
    scale = np.where(scale > 0.0, scale, 1.0)
    if scale.max() <= UNLIKE * scale.min():
        sizes, axes = np.linalg.eigh(matrix)
        return np.maximum(sizes, 0.0), axes
    # Singular values of a factor, which does not mix small columns with large ones.
    scaled = matrix / np.multiply.outer(scale, scale)
    scaled[np.diag_indices_from(scaled)] += len(scale) * sums.JITTER
    axes, roots, _ = np.linalg.svd(scale[:, None] * np.linalg.cholesky(scaled))
    return np.square(roots), axes


def _copies(problems):
    """Number of the set of copies (equal columns and targets) per active row; which are in none."""
    used = problems[0].active
    _, group = np.unique(row_keys(problems[0])[used], return_inverse=True)
    order = np.argsort(group, kind="stable")
    starts = np.flatnonzero(np.diff(group[order], prepend=-1))
    ys = (problem.y[used][order] for problem in problems)
    ranges = [np.maximum.reduceat(y, starts) > np.minimum.reduceat(y, starts) for y in ys]
    varies = np.any(ranges, axis=0)[group]
    return np.where(varies, starts.size + np.arange(used.size), group), varies


def independent_rows(problems):
    """Number of rows, where copies count as one and a row in no set of copies as its weight."""
    first = problems[0]
    if not first.active.size:
        return 0.0
    copy, varies = _copies(problems)
    alone = first.weights[first.active][varies]
    return np.unique(copy[~varies]).size + max(float(alone.sum()), alone.size)


def _short_parts(problem):
    return problem._parts(1 + PART * problem.n_rows // (1 + problem.X.size))


def row_keys(problem):
    rng = np.random.default_rng(0)
    factors = rng.integers(2**64, size=problem.n_columns, dtype=np.uint64) | np.uint64(1)
    keys = np.empty(problem.n_rows, dtype=np.uint64)
    for part in _short_parts(problem):
        X = problem.X[part]
        bits = (X.data if sp.issparse(X) else X).astype(np.float64).view(np.uint64)
        bits = bits ^ (bits >> np.uint64(29))
        if sp.issparse(X):
            bits = sp.csr_array((bits, X.indices, X.indptr), shape=X.shape)
        keys[part] = bits @ factors
    return keys


def _variances(problem):
    X, weights, means = problem.X, problem.weights, problem.column_means
    if not problem.centers:
        return sums.sums_of_squares(X, weights) / problem.total_weight
    parts = _short_parts(problem)
    squares = sum(sums.sums_of_squares(X[part] - means, weights[part]) for part in parts)
    variances = squares / problem.total_weight
    return np.where(variances > np.square(CONSTANT * means), variances, 0.0)


# ---- other penalties -----------------------------------------------------------------------------


def path_by_folds(problems, n_problems):
    """`path_along` of warm-started paths of folds that keep copies together.

    There are as many folds as suit ``n_problems``.
    """
    problem = problems[0]
    scales = _variances(problem)
    if sp.issparse(problem.X):
        scales *= of_entries(problem.total_weight, problem.counts)
    return path_along(problems, _folds(problems, n_problems), scales, Auto())


def _folds(problems, n_problems):
    first, fold = problems[0], fold_numbers(problems)
    n_folds = math.ceil(LARGE / max(first.X.size * n_problems, 1))
    for k in range(min(n_folds, FOLDS)):
        train, test = first.active[fold != k], first.active[fold == k]
        if train.size and test.size:
            yield from ((p, p.part(train), p.part(test)) for p in problems)


def fold_numbers(problems):
    """Number of the fold of each active row, the same of all copies and in every fit."""
    _, copy = np.unique(_copies(problems)[0], return_inverse=True)
    return check.random_state(0).permutation(copy.max(initial=-1) + 1)[copy] % FOLDS


def of_entries(total_weight, counts):
    """By what mean squares of sparse columns become those of their entries."""
    return total_weight / np.maximum(counts, 1)


def path_along(problems, splits, scales, solver):
    """Strength of least held-out loss, None without one, and the optima of splits next to it.

    ``splits`` are a problem, its rows to fit and those held out, made where needed.
    """
    strongest, first = [zero_strength(problem) for problem in problems], problems[0]
    scales = np.sqrt(scales[scales > 0.0])
    has_path = None not in strongest and max(strongest) > 0.0 and scales.size
    if not has_path or first.active.size < 2 * FOLDS:
        return None, []
    # From where on all columns may be in, and a ridge does not shrink them.
    smallest = np.quantile(scales, SMALLEST, method="lower")
    weakest = max(strongest) * smallest / scales.max()
    ridge, total_weight = first.penalty.strong_convexity, first.total_weight
    if ridge > 0.0:
        weakest = min(weakest, total_weight * smallest**2 / ridge)
    reached = int(STEPS * np.log10(max(strongest) / weakest))
    usual = reached + STEPS * DECADES
    values = max(strongest) * 10.0 ** (-np.arange(usual + STEPS * DECADES) / STEPS)
    with time_budget(budget_now().share(SECONDS)):
        losses, starts = _losses_along(list(splits), values, reached, usual, solver)
    best = np.flatnonzero(losses <= (1.0 + EQUAL) * losses.min())[0]
    if best == len(values) - 1 and losses[best] > EXACT * losses[0]:
        warn(
            f"alpha='auto' takes {values[best] / total_weight:.3g}, the smallest value tried, at "
            f"which the held-out loss still falls: set alpha"
        )
    elif 0 < best < len(losses) - 1:  # to where a parabola is lowest
        before, after = np.maximum(losses[[best - 1, best + 1]] - losses[best], 0.0)
        best += 0.5 * (before - after) / (before + after)
    return float(max(strongest) * 10.0 ** (-best / STEPS)), starts


def optima_by_folds(problems):
    """Coefficients of a penalty at the strength of least held-out loss, none without one."""
    strength, starts = path_by_folds(problems, len(problems))
    options = {"tol": ACCURACY_THERE, "max_iter": MOST_ITERATIONS, "rng": check.random_state(0)}
    coefs = []
    for problem, start in zip(problems, starts):
        problem = problem.variant(penalty=problem.penalty.scaled(strength))
        start = start._replace(memory=None)  # of other rows
        coefs.append(solve(problem, Auto(), start=start, **options)[0].best.coef)
    return coefs


def _losses_along(splits, values, reached, usual, solver):
    """Held-out losses, in units of those of zero coefficients, and the optima at the least one."""
    losses, starts, nearest, worse = [], [None] * len(splits), [], 0.0
    # The same choice in every fit.
    options = {"tol": ACCURACY, "max_iter": ITERATIONS, "rng": check.random_state(0)}
    for i, value in enumerate(values):
        total = 0.0
        for j, (whole, train, test) in enumerate(splits):
            train = train.variant(penalty=whole.penalty.scaled(value))
            best = solve(train, solver, start=starts[j], **options)[0].best
            starts[j] = Start(best.coef, best.intercept, best.memory)
            total += test.loss_at(best.coef, best.intercept) / whole.size
        if i and budget_now().is_spent:
            break
        losses.append(total)
        nearest = list(starts) if total == min(losses) else nearest
        worse += (total - min(losses)) * (i >= reached)
        # Beyond the usual range the loss must fall to go on.
        falls = i < usual or total < (1.0 - FALLS) * losses[i - STEPS]
        rises = worse > WORSE * min(losses) or total > (1.0 + MUCH_WORSE) * min(losses)
        if rises or not falls or total <= EXACT * losses[0]:
            break
    return np.array(losses), nearest
