"""``C="auto"``: natural units, and a choice on a hold-out set.

In natural units C does not depend on the units of features and loss: with features ``a x`` and
losses ``b L`` the problem for ``b C / a^2`` is that for C, with weights ``b w / a``. The features
of tables and constants are one and have no units.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from .._core import check
from .._core.budget import budget_now, time_budget
from .._core.loop import drive
from .._core.packed import length_of, take
from .._kernels import lazy
from ._models._multiclass import MulticlassModel
from ._predictor import best_temperature
from ._problems._part_sets import can_be_cut, cells, is_costly, n_costly, regrouped

blocks_kernels = lazy("structured.blocks")

# Neighboring values predict nearly the same on all sets of the benchmark page "defaults".
RATIO = 4.0
# In natural units, the best values on that page: of the hinge of parts; of black boxes, which add
# features up over an output; of smooth losses, which count every output and not the best one alone.
USUAL, USUAL_OF_BLACK_BOX, USUAL_OF_SMOOTH = 2.0, 8.0, 16.0
N_FOLDS = 5  # as in scikit-learn
ENOUGH = 1_000  # nodes held out: an error rate has a standard error of 1.6 points at most
FEWEST = 20  # samples, or connected pieces of fewer samples: four a fold
VISITS = 60_000  # of nodes, for one value: as long as a fit of the smallest sets of that page
SECONDS = 1.5  # the same where oracles are not compiled: some 25 microseconds for a visit
# Passes for one value: the fewest after which averages of that page are in the right order, and
# those of a fit.
PASSES = 8, 200


def natural_C(blocks):
    """The C for which ``C * squared norm of features = largest loss``.

    For smooth losses the number of nodes with a label replaces the loss.
    """
    if blocks.mean_square <= 0.0:
        return 1.0  # no features: any C gives w = 0
    largest = blocks.n_labels if blocks.surrogate.smooth else blocks.max_loss
    return largest / blocks.mean_square


def usual_factor(blocks):
    """The value in natural units where nothing is held out."""
    if blocks.surrogate.smooth:
        return USUAL_OF_SMOOTH
    return USUAL_OF_BLACK_BOX if blocks.n_nodes is None else USUAL


def factors_of(blocks):
    """Values to try in natural units."""
    return usual_factor(blocks) * RATIO ** np.arange(-2.0, 4.0)


def cautious_C(blocks):
    return usual_factor(blocks) * natural_C(blocks)


def choose_C(model, make_solver, blocks, X, y, weight, random_state):
    """The C that predicts best on a hold-out set, or a cautious one, and the temperature there.

    Values grow until two in a row are worse than the best one.
    """
    with time_budget(budget_now().share(0.5)):
        rng = check.random_state(random_state)
        folds = list(_folds_of(model, blocks, X, y, weight, rng))
        if not folds:
            return cautious_C(blocks), 1.0
        factor, temperature = _best_factor(make_solver, folds, natural_C(blocks), rng)
        return factor * natural_C(blocks), temperature


def _best_factor(make_solver, folds, unit, rng):
    """Of the values about as good as the best one, that nearest to the usual one."""
    usual = usual_factor(folds[0].blocks)
    weight = np.concatenate([fold.weight for fold in folds])
    losses, odds, n_worse = [], [], 0
    choice, factors = (usual, None), factors_of(folds[0].blocks)
    for factor in factors:
        fits = [_fit_without(make_solver, fold, factor * unit, rng) for fold in folds]
        is_open = np.mean([gap for _, gap in fits]) > 0.5
        if budget_now().is_spent or (losses and is_open):
            break  # what so few passes make of a larger C says little about it
        losses.append(_of_all([fold.losses for fold in folds], fits))
        odds.append(folds[0].odds and _of_all([fold.odds for fold in folds], fits))
        excess, error = _excess(np.array(losses), weight)
        good = np.flatnonzero(excess <= 0.5 * error)
        best = good[np.abs(np.log(factors[good] / usual)).argmin()]
        choice = float(factors[best]), odds[best]
        n_worse = n_worse + 1 if excess[-1] > 0.5 * error[-1] else 0
        if n_worse == 2:
            break
    factor, odds = choice
    return factor, _temperature(odds, weight)


def _of_all(functions, fits):
    """What functions of weights find of each fold, one after the other."""
    return np.concatenate([find(w) for find, (w, _) in zip(functions, fits, strict=True)])


def _temperature(odds, weight):
    """That of the likeliest held-out classes, as if one more of them were wrong; 1 elsewhere."""
    if odds is None:
        return 1.0
    spread = np.ptp(odds, axis=1).mean() or 1.0

    def loss(temperature):
        wrong = weight.mean() * np.logaddexp(0.0, spread / temperature)
        return weight @ logsumexp(odds / temperature, axis=1) + wrong

    return best_temperature(loss, spread)[0]


def _fit_without(make_solver, fold, C, rng):
    """Weights, and the gap of the fit as a share of its objective."""
    fold.blocks.relative_tol = True
    lam = 1.0 / (C * fold.total)
    method = make_solver(fold.blocks).start(fold.blocks, lam=lam, tol=0.05, rng=rng)
    outcome = drive(method, tol=0.05, max_iter=fold.n_passes, relative_to="objective")
    gap, objective = outcome.history["dual_gap"][-1], outcome.history["objective"][-1]
    return method.weights(), gap / objective if objective > 0.0 else 0.0


def _excess(losses, weight):
    """Mean loss of each candidate above the smallest one, and the standard error of that."""
    weight = weight / weight.sum()
    excess = losses - losses[(losses @ weight).argmin()]
    means = excess @ weight
    spread = ((excess - means[:, None]) ** 2) @ weight
    return means, np.sqrt(spread * (weight @ weight))


# ---- what is held out ----------------------------------------------------------------------------


class _Fold(NamedTuple):
    """What a candidate learns from, and how it is judged."""

    blocks: object
    total: float  # weight of the samples to learn from
    n_passes: int
    losses: object  # function of weights: the losses of what is held out
    weight: np.ndarray  # of what is held out
    odds: object = None  # of classes: the same for their scores above those of the true ones


def _folds_of(model, blocks, X, y, weight, rng):
    """Folds; none where nothing can be held out, or where that is uninformative or slow.

    Training parts have at most as many nodes as the fewest passes can visit. A tenth of all nodes
    or less would choose too large a C, and C matters little then.
    """
    few = length_of(X, "X") < FEWEST
    if blocks.n_nodes is None:
        return () if few else _of_black_box(model, blocks, X, y, weight, rng)
    if blocks.n_nodes > 10 * VISITS / PASSES[0]:
        return ()
    if few:
        return _of_pieces(blocks, weight.sum(), rng)
    return _of_samples(model, blocks, X, y, weight, rng)


def _of_samples(model, blocks, X, y, weight, rng):
    """Folds until enough is held out."""
    rows = model._stack(X)
    codes, starts, n_nodes = _codes(rows.matrix, rng), rows.row_start, np.diff(rows.node_start)
    if np.any(rows.graph.start):  # equal nodes are news in other graphs
        codes, starts = _codes_of_graphs(codes, rows), np.arange(len(n_nodes) + 1)
    parts = blocks._parts
    number = _numbers_of_folds(parts.truth[parts.node_start[:-1]], rng)
    _, first, same = np.unique(codes, return_index=True, return_inverse=True)
    if len(codes) == len(number) and len(first) >= FEWEST:  # copies stay together
        number = number[first][same]
    for held_out, rest in _splits(number, n_nodes, n_costly(parts), rng):
        n_passes = _n_passes(blocks, n_nodes[rest].sum())
        if not n_passes or _copies(codes, starts, held_out, rest) > 0.3:
            return
        yield _fold(model, blocks, X, y, weight, held_out, rest, n_passes)


def _fold(model, blocks, X, y, weight, held_out, rest, n_passes):
    total, X_held_out, y_held_out = weight[rest].sum(), take(X, held_out), take(y, held_out)
    odds = None
    if blocks.surrogate.smooth:
        n = len(held_out)
        losses = _judged(blocks.of_samples(model, X_held_out, y_held_out, np.full(n, 1.0 / n)))
    else:

        def losses(w):
            predicted, _ = model._predict(X_held_out, w, blocks.oracle)
            return model._losses(y_held_out, predicted, X=X_held_out)

        if isinstance(model, MulticlassModel):
            odds = _odds_of_classes(model, X_held_out, y_held_out)
    learned = blocks.of_samples(model, take(X, rest), take(y, rest), weight[rest] / total)
    return _Fold(learned, total, n_passes, losses, weight[held_out], odds)


def _odds_of_classes(model, X, y):
    """Scores of classes above those of the true ones, as a function of weights; zero if unknown."""
    places = np.arange(length_of(X, "X") + 1)
    truth, rows = model._encode(y, places), places[:-1]

    def odds(w):
        scores = model.decision_function(X, w)
        return np.where(truth[:, None] < 0, 0.0, scores - scores[rows, truth][:, None])

    return odds


def _judged(judge):
    """The losses of the samples of a problem, as a function of weights."""
    judge.reset(1.0)
    if judge.surrogate.smooth:
        return lambda w: judge.smoothed_sweep(w, judge.surrogate.temperature, 0.0).value
    return lambda w: blocks_kernels.losses_of(judge._parts, judge.predicted(w))


def _of_pieces(blocks, total, rng):
    """Folds of connected pieces of a few large graphs, or of long sequences."""
    parts = blocks._parts
    if not can_be_cut(parts) or blocks.n_nodes < ENOUGH or blocks.relaxed:
        return
    piece = cells(parts, blocks.n_nodes / FEWEST, rng)
    n_nodes, n_labeled = np.bincount(piece), np.bincount(piece, is_costly(parts))
    number = rng.permutation(len(n_nodes)) % N_FOLDS

    def of(samples):
        return blocks.like(regrouped(parts, np.where(np.isin(piece, samples), piece, -1)))

    weight = np.empty(len(n_nodes))
    weight[piece] = total * np.repeat(parts.weight, np.diff(parts.node_start))
    for held_out, rest in _splits(number, n_nodes, n_labeled, rng):
        n_passes = _n_passes(blocks, n_nodes[rest].sum())
        if not n_passes:
            return
        judge = of(held_out)
        yield _Fold(of(rest), weight[rest].sum(), n_passes, _judged(judge), judge.weight)


def _of_black_box(model, blocks, X, y, weight, rng):
    """Two folds of few samples and passes: nothing is known of what the oracle costs."""
    number = rng.permutation(len(weight)) % N_FOLDS
    for k in range(2):
        places = np.flatnonzero(number == k), np.flatnonzero(number != k)
        held_out, rest = (rng.permutation(own)[: ENOUGH // N_FOLDS] for own in places)
        yield _fold(model, blocks, X, y, weight, held_out, rest, PASSES[0])


def _splits(number, n_nodes, n_labeled, rng):
    """Yield what is held out and what is not, until enough nodes were held out."""
    n_held_out = 0
    for k in range(N_FOLDS):
        held_out, rest = (_first_of(chosen, n_nodes, rng) for chosen in (number == k, number != k))
        yield held_out, rest
        n_held_out += n_labeled[held_out].sum()
        if n_held_out >= ENOUGH:
            return


def _numbers_of_folds(first_labels, rng):
    """Number of the fold of each sample; labels of first nodes are shared out evenly."""
    order = rng.permutation(len(first_labels))
    order = order[np.argsort(first_labels[order], kind="stable")]
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order)) % N_FOLDS
    return number


def _first_of(chosen, n_nodes, rng):
    samples = rng.permutation(np.flatnonzero(chosen))
    return samples[: 1 + np.searchsorted(np.cumsum(n_nodes[samples]), VISITS / PASSES[0])]


def _n_passes(blocks, n_nodes):
    """Passes over ``n_nodes`` nodes for one candidate; 0 without time for enough of them.

    Smooth losses get a whole fit, as likelihoods far from the optimum are uninformative.
    """
    is_short = blocks.is_compiled and not blocks.surrogate.smooth
    most = int(np.clip(VISITS / n_nodes, *PASSES)) if is_short else PASSES[1]
    # Folds share the time of lists of labelings, which are slower than the visits of other passes.
    limit = SECONDS / N_FOLDS if blocks.is_compiled else SECONDS
    n_passes = _in_time(most, blocks.seconds_of_pass() * n_nodes / blocks.n_nodes, limit)
    return n_passes if n_passes >= PASSES[0] else 0


def _in_time(most, seconds, limit):
    return most if most * seconds <= limit else int(limit / seconds)


def _codes_of_graphs(codes, rows):
    """A number for every graph, equal where nodes and their number are."""
    starts = rows.row_start
    place = np.arange(len(codes)) - np.repeat(starts[:-1], np.diff(starts))
    sums = np.add.reduceat(codes * np.cos(1.0 + place), starts[:-1])
    return np.round(sums + np.diff(starts) + 0.1 * rows.graph.n_edges, 9)


def _codes(matrix, rng):
    """A number for every row, equal for equal rows."""
    values = matrix @ rng.random_sample(matrix.shape[1])
    return np.round(values / max(np.abs(values).max(initial=0.0), 1e-300), 12)


def _copies(codes, row_start, held_out, rest):
    """Share of the rows of some samples that are rows of others, too."""
    sample = np.repeat(np.arange(len(row_start) - 1), np.diff(row_start))
    left_out, others = (codes[np.isin(sample, own)] for own in (held_out, rest))
    return float(np.isin(left_out, others).mean())


# ---- passes of the fit ---------------------------------------------------------------------------

USUAL_PASSES, ALL_VISITS = 200, 1_000_000
# Averages of iterates predict well long before the gap of a few large graphs is small.
SECONDS_OF_FIT, SLOW_PASSES = 10.0, (10, 1000)


def most_passes(blocks):
    seconds, most = blocks.seconds_of_pass(), SLOW_PASSES[1]
    if np.isinf(seconds):
        return USUAL_PASSES
    if blocks.is_compiled:
        most = int(np.clip(ALL_VISITS / blocks.n_nodes, USUAL_PASSES, 10 * USUAL_PASSES))
    return max(_in_time(most, seconds, SECONDS_OF_FIT), SLOW_PASSES[0])
