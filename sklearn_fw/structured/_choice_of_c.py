"""The C that "auto" stands for: natural units, and a choice on samples held out.

In natural units the same problem has the same C, whatever the units of features and loss: with
features ``a x`` and losses ``b L`` the problem for ``b C / a^2`` is that for C, with weights
``b w / a``.
"""

from typing import NamedTuple

import numpy as np

from .._budget import budget_now, time_budget
from .._loop import drive
from .._validation import check_random_state
from ._blocks._sizes import n_costly as n_costly_of
from ._items import length_of, take
from ._solvers import suitable_solver, with_bounds_of

# In natural units. Small values regularise more, and are preferred in doubt.
FACTORS = (0.5, 2.0, 8.0, 32.0, 128.0)
# Where nothing can be held out: features of nodes are about orthogonal, those that a black box adds
# up over an output are not.
OF_PARTS, OF_BLACK_BOX = 1.0, 4.0
# Beyond so many nodes C matters little, passes take long, and a small part would choose too large
# a value, which takes many more passes.
MANY_NODES, OF_MANY = 100_000, 1.5
N_FOLDS = 5
ENOUGH_NODES, ENOUGH_OF_GRAPHS = 600, 2_000  # held out in all: folds are added until then
MOST_NODES = 10_000  # to learn from, and held out of a fold
VISITS = 60_000  # of nodes, in the passes for one candidate
SECONDS = 1.5  # of oracles that are not compiled into passes, about, for the same
FEWEST_PASSES, MOST_PASSES, MOST_SLOW_PASSES = 8, 50, 20
SHARE_OF_TIME = 0.5  # of what the fit may take
TOL = 0.05  # of the candidates, relative to the objective
FAR = 0.9  # the same, from which a candidate counts as not solved at all
DOUBT = 0.5  # standard errors within which a smaller C is as good
CLEARLY = 1.0  # standard errors from which a larger C is worse
FEWEST_SAMPLES = 20
USUAL_PASSES, ALL_VISITS = 200, 1_000_000  # of the fit
# Averages of iterates predict well long before the gap of a few large graphs is small.
SECONDS_OF_FIT, SLOW_PASSES = 10.0, (10, 1000)
MOST_COPIES = 0.3  # share of rows held out that are among the rows to learn from


def natural_C(blocks):
    """The C for which ``C * squared norm of features = largest loss``."""
    if blocks.mean_square <= 0.0:
        return 1.0  # no features: any C gives w = 0
    return blocks.max_loss / blocks.mean_square


def most_passes(blocks):
    """The passes that a person waits for."""
    if not blocks.is_compiled:
        if not hasattr(blocks, "seconds_of_pass") or np.isinf(blocks.seconds_of_pass()):
            return USUAL_PASSES
        return int(np.clip(SECONDS_OF_FIT / blocks.seconds_of_pass(), *SLOW_PASSES))
    return int(np.clip(ALL_VISITS / blocks.n_nodes, USUAL_PASSES, 10 * USUAL_PASSES))


def choose_C(model, make_blocks, oracle, blocks, X, y, weight, random_state):
    """The C that predicts best among samples held out, or a cautious one.

    Values grow until two in a row are clearly worse than the best one.
    ``make_blocks(X, y, weight)`` gives `PartBlocks`; ``oracle`` predicts, None means the compiled
    trees.
    """
    unit = natural_C(blocks)
    if length_of(X, "X") < FEWEST_SAMPLES:
        return OF_PARTS * unit
    if blocks.n_nodes > MANY_NODES:
        return OF_MANY * unit
    with time_budget(budget_now().share(SHARE_OF_TIME)):
        return _judge(model, make_blocks, oracle, blocks, X, y, weight, random_state) * unit


def _judge(model, make_blocks, oracle, blocks, X, y, weight, random_state):
    """The best factor of the natural C, as far as there is time."""
    unit, rng = natural_C(blocks), check_random_state(random_state)
    folds = list(_folds(model, make_blocks, blocks, X, y, weight, rng))
    if not folds:
        return OF_PARTS
    weight = np.concatenate([fold.weight for fold in folds])
    losses, n_worse, choice = [], 0, OF_PARTS
    for factor in FACTORS:
        fits = [_fit_without(model, oracle, fold, factor * unit, rng) for fold in folds]
        if budget_now().is_spent:
            break
        if losses and np.mean([gap for _, gap in fits]) > FAR:
            break  # what so few passes make of a larger C says little about it
        losses.append(np.concatenate([loss for loss, _ in fits]))
        excess, error = _excess(np.array(losses), weight)
        choice = FACTORS[int(np.argmax(excess <= DOUBT * error))]
        n_worse = n_worse + 1 if excess[-1] > CLEARLY * error[-1] else 0
        if n_worse == 2:
            break
    return choice


class _Fold(NamedTuple):
    blocks: object
    total: float  # weight of the samples to learn from
    n_passes: int
    X: object  # held out
    y: object
    weight: np.ndarray


def _folds(model, make_blocks, blocks, X, y, weight, rng):
    """Yield folds until enough is held out; none where that is no news or takes too long."""
    rows, most_passes = model._stack(X), _most_passes_of(blocks)
    if most_passes < FEWEST_PASSES:
        return
    codes, starts, n_nodes = _codes(rows.matrix, rng), rows.row_start, np.diff(rows.node_start)
    enough = ENOUGH_NODES
    if rows.graph is not None:  # nodes that are alike are news in other graphs, and say less
        enough = ENOUGH_OF_GRAPHS
        codes, starts = _codes_of_graphs(codes, rows), np.arange(len(n_nodes) + 1)
    n_costly = n_costly_of(blocks._parts)
    number, n_held_out = _numbers_of_folds(blocks.first_labels(), rng), 0
    for k in range(N_FOLDS):
        held_out, rest = (
            _first_of(rng.permutation(np.flatnonzero(chosen)), n_nodes)
            for chosen in (number == k, number != k)
        )
        if _copies(codes, starts, held_out, rest) > MOST_COPIES:
            return
        total = weight[rest].sum()
        yield _Fold(
            blocks=make_blocks(take(X, rest), take(y, rest), weight[rest] / total),
            total=total,
            n_passes=int(np.clip(VISITS / n_nodes[rest].sum(), FEWEST_PASSES, most_passes)),
            X=take(X, held_out),
            y=take(y, held_out),
            weight=weight[held_out],
        )
        n_held_out += n_costly[held_out].sum()
        if n_held_out >= enough:
            return


def _numbers_of_folds(first_labels, rng):
    """Number of the fold of each sample; labels of first nodes are shared out evenly."""
    order = rng.permutation(len(first_labels))
    order = order[np.argsort(first_labels[order], kind="stable")]
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order)) % N_FOLDS
    return number


def _first_of(samples, n_nodes):
    return samples[: 1 + np.searchsorted(np.cumsum(n_nodes[samples]), MOST_NODES)]


def _fit_without(model, oracle, fold, C, rng):
    """Losses of what is held out, and the gap of the fit as a share of its objective."""
    fold.blocks.relative_tol = True
    solver = with_bounds_of(suitable_solver(fold.blocks), model)
    method = solver.start(fold.blocks, lam=1.0 / (C * fold.total), tol=TOL, rng=rng)
    outcome = drive(method, tol=TOL, max_iter=fold.n_passes, relative_to="objective")
    gap, objective = outcome.history["dual_gap"][-1], outcome.history["objective"][-1]
    predicted = model._predict(fold.X, method.weights(), oracle)[0]
    losses = model._losses(fold.y, predicted, X=fold.X)
    return losses, gap / objective if objective > 0.0 else 0.0


def _excess(losses, weight):
    """Mean loss of each candidate above the smallest one, and the standard error of that."""
    weight = weight / weight.sum()
    excess = losses - losses[(losses @ weight).argmin()]
    means = excess @ weight
    spread = ((excess - means[:, None]) ** 2) @ weight
    return means, np.sqrt(spread * (weight @ weight))


def _most_passes_of(blocks):
    """Passes for one candidate in a fold, by what calls of the oracle are about to take."""
    if blocks.is_compiled:
        return MOST_PASSES
    seconds = blocks.seconds_of_pass()
    return min(MOST_SLOW_PASSES, int(SECONDS / seconds))


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
    held_out, rest = (
        np.concatenate([codes[row_start[i] : row_start[i + 1]] for i in samples])
        for samples in (held_out, rest)
    )
    return float(np.isin(held_out, rest).mean())
