"""The C that "auto" stands for: natural units, and a choice on samples held out.

In natural units the same problem has the same C, whatever the units of features and loss: with
features ``a x`` and losses ``b L`` the problem for ``b C / a^2`` is that for C, with weights
``b w / a``. The features of tables and constants are one and have no units: those of nodes get
about the size beside which both are learnt.
"""

import numpy as np

from .._core.budget import budget_now, time_budget
from .._core.loop import drive
from .._core.validation import check_random_state
from ._folds import folds_of
from ._models._pairwise import has_parts
from ._solvers import suitable_solver, with_bounds_of

# In natural units. Large values regularise less, and take long: in doubt the usual one is better.
FACTORS = (0.5, 2.0, 8.0, 32.0, 128.0)
USUAL = 0.5
# Losses of large graphs are sums over many nodes, and cycles make passes long: small values are
# good there, and soon solved.
FACTORS_OF_GRAPHS = (1 / 32, 1 / 8, *FACTORS)
# Features that a black box adds up over an output ask for more, and calls may be long.
FACTORS_OF_BLACK_BOX = (2.0, 8.0, 32.0)
USUAL_OF_BLACK_BOX = 8.0
# Smooth losses count every output and not the best one alone: their weights are smaller.
FACTORS_OF_SMOOTH = (1.0, 4.0, 16.0, 64.0, 256.0)
USUAL_OF_SMOOTH = 16.0
# Where nothing can be held out: features of nodes are about orthogonal, those that a black box adds
# up over an output are not.
OF_PARTS, OF_BLACK_BOX = 1.0, 4.0
# Beyond so many nodes C matters little, passes take long, and a small part would choose too large
# a value, which takes many more passes.
MANY_NODES, OF_MANY = 100_000, 1.5
SHARE_OF_TIME = 0.5  # of what the fit may take
TOL = 0.05  # of the candidates, relative to the objective
FAR = 0.9  # the same, from which a candidate counts as not solved at all
FAR_OF_SMOOTH = 0.2  # the same for smooth losses, whose values are what candidates are judged by
DOUBT = 0.5  # standard errors within which a C nearer to the usual one is as good
DOUBT_OF_SLOW = 1.0  # the same where the passes are so few that they favour small values
CLEARLY = 1.0  # standard errors from which a larger C is worse
USUAL_PASSES, ALL_VISITS = 200, 1_000_000  # of the fit
# Averages of iterates predict well long before the gap of a few large graphs is small.
SECONDS_OF_FIT, SLOW_PASSES = 10.0, (10, 1000)


def natural_C(blocks):
    """The C for which ``C * squared norm of features = largest loss``.

    For smooth losses, which are about logarithms of chances, it is the number of nodes that have a
    label in place of the loss, in whatever units that is.
    """
    if blocks.mean_square <= 0.0:
        return 1.0  # no features: any C gives w = 0
    largest = blocks.n_labels if blocks.surrogate.smooth else blocks.max_loss
    return largest / blocks.mean_square


def factors_of(model, blocks):
    """Values to try in natural units, and the usual one among them."""
    if blocks.surrogate.smooth:
        return FACTORS_OF_SMOOTH, USUAL_OF_SMOOTH
    if not has_parts(model):
        return FACTORS_OF_BLACK_BOX, USUAL_OF_BLACK_BOX
    return FACTORS if blocks.is_compiled else FACTORS_OF_GRAPHS, USUAL


def most_passes(blocks):
    """The passes that a person waits for."""
    if not blocks.is_compiled:
        if not hasattr(blocks, "seconds_of_pass") or np.isinf(blocks.seconds_of_pass()):
            return USUAL_PASSES
        return int(np.clip(SECONDS_OF_FIT / blocks.seconds_of_pass(), *SLOW_PASSES))
    return int(np.clip(ALL_VISITS / blocks.n_nodes, USUAL_PASSES, 10 * USUAL_PASSES))


def choose_C(model, make_blocks, oracle, blocks, X, y, weight, random_state):
    """The C that predicts best among samples held out, or a cautious one.

    Values grow until two in a row are clearly worse than the best one, or just worse where oracles
    are called from Python.
    ``make_blocks(X, y, weight)`` gives blocks; ``oracle`` predicts, None means the compiled trees,
    or the inference of a black box.
    """
    unit = natural_C(blocks)
    if has_parts(model) and blocks.n_nodes > MANY_NODES:
        return unit * (USUAL_OF_SMOOTH if blocks.surrogate.smooth else OF_MANY)
    with time_budget(budget_now().share(SHARE_OF_TIME)):
        rng = check_random_state(random_state)
        folds = list(folds_of(model, make_blocks, oracle, blocks, X, y, weight, rng))
        factor = _judge(model, folds, unit, rng) if folds else _cautious_factor(model, blocks)
        return factor * unit


def cautious_C(model, blocks):
    """The C where nothing is held out."""
    return _cautious_factor(model, blocks) * natural_C(blocks)


def _cautious_factor(model, blocks):
    if blocks.surrogate.smooth:
        return USUAL_OF_SMOOTH
    return OF_PARTS if has_parts(model) else OF_BLACK_BOX


def _judge(model, folds, unit, rng):
    """The best factor of the natural C, as far as there is time."""
    losses, n_worse, choice = [], 0, _cautious_factor(model, folds[0].blocks)
    weight = np.concatenate([fold.weight for fold in folds])
    is_slow = not folds[0].blocks.is_compiled
    factors, usual = factors_of(model, folds[0].blocks)
    doubt = DOUBT_OF_SLOW if is_slow else DOUBT
    far = FAR_OF_SMOOTH if folds[0].blocks.surrogate.smooth else FAR
    for factor in factors:
        fits = [_fit_without(model, fold, factor * unit, rng) for fold in folds]
        if budget_now().is_spent:
            break
        if losses and np.mean([gap for _, gap in fits]) > far:
            break  # what so few passes make of a larger C says little about it
        losses.append(np.concatenate([loss for loss, _ in fits]))
        excess, error = _excess(np.array(losses), weight)
        good = np.array(factors[: len(losses)])[excess <= doubt * error]
        choice = float(good[np.abs(np.log(good / usual)).argmin()])
        is_worse = excess[-1] > (0.0 if is_slow else CLEARLY * error[-1])
        n_worse = n_worse + 1 if is_worse else 0
        if n_worse == 2:
            break
    return choice


def _fit_without(model, fold, C, rng):
    """Losses of what is held out, and the gap of the fit as a share of its objective."""
    fold.blocks.relative_tol = True
    solver = with_bounds_of(suitable_solver(fold.blocks), model)
    method = solver.start(fold.blocks, lam=1.0 / (C * fold.total), tol=TOL, rng=rng)
    outcome = drive(method, tol=TOL, max_iter=fold.n_passes, relative_to="objective")
    gap, objective = outcome.history["dual_gap"][-1], outcome.history["objective"][-1]
    return fold.losses(method.weights()), gap / objective if objective > 0.0 else 0.0


def _excess(losses, weight):
    """Mean loss of each candidate above the smallest one, and the standard error of that."""
    weight = weight / weight.sum()
    excess = losses - losses[(losses @ weight).argmin()]
    means = excess @ weight
    spread = ((excess - means[:, None]) ** 2) @ weight
    return means, np.sqrt(spread * (weight @ weight))
