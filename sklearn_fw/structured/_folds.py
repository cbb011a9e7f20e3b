"""Samples held out to choose C by: whole ones, pieces of a few large ones, and black boxes."""

from typing import NamedTuple

import numpy as np

from .._core.packed import length_of, take
from .._kernels import lazy
from ._models._pairwise import has_parts
from ._problems._checked_model import CheckedModel
from ._problems._part_sets import can_be_cut, cells, is_costly, regrouped
from ._problems._part_sets import n_costly as n_costly_of

blocks_kernels = lazy("structured.blocks")

N_FOLDS = 5
# Nodes held out in all: folds are added until then.
ENOUGH_NODES, ENOUGH_OF_GRAPHS, ENOUGH_OF_PIECES = 600, 2_000, 1_200
MOST_NODES = 10_000  # to learn from, and held out of a fold
VISITS = 60_000  # of nodes, in the passes for one candidate
SECONDS = 1.5  # of oracles that are not compiled into passes, about, for the same
FEWEST_PASSES, MOST_PASSES, MOST_SLOW_PASSES = 8, 50, 20
MOST_COPIES = 0.3  # share of rows held out that are among the rows to learn from
FEWEST_SAMPLES = 20
# Of fewer samples that many pieces are made, if there are so many nodes. Larger pieces than this
# are not needed: they lose few edges.
PIECES, FEWEST_NODES, LARGE_PIECE = 25, 1_000, 400
EFFORT_OF_PIECES = 2.0  # there are few folds
# Likelihoods of weights that are not solved for say little, and those of larger C are the better.
EFFORT_OF_SMOOTH, MOST_OF_SMOOTH = 20.0, 200
# Of a black box nothing is known but that its oracle is called a few times per sample.
FOLDS_OF_BLACK_BOX, PASSES_OF_BLACK_BOX, MOST_OF_BLACK_BOX = 2, 8, 200


class Fold(NamedTuple):
    """What a candidate learns from, and how it is judged."""

    blocks: object
    total: float  # weight of the samples to learn from
    n_passes: int
    losses: object  # function of weights: the losses of what is held out
    weight: np.ndarray  # of what is held out


def folds_of(model, make_blocks, oracle, blocks, X, y, weight, rng):
    """Yield folds; none where nothing can be held out, or where that is no news or takes long."""
    few = length_of(X, "X") < FEWEST_SAMPLES
    if not has_parts(model):
        return () if few else _of_black_box(model, make_blocks, oracle, X, y, weight, rng)
    if few:
        return _of_pieces(blocks, weight.sum(), rng)
    return _of_samples(model, make_blocks, oracle, blocks, X, y, weight, rng)


def _of_samples(model, make_blocks, oracle, blocks, X, y, weight, rng):
    """Folds until enough is held out."""
    rows = model._stack(X)
    codes, starts, n_nodes = _codes(rows.matrix, rng), rows.row_start, np.diff(rows.node_start)
    enough = ENOUGH_NODES
    if rows.graph is not None:  # nodes that are alike are news in other graphs, and say less
        enough = ENOUGH_OF_GRAPHS
        codes, starts = _codes_of_graphs(codes, rows), np.arange(len(n_nodes) + 1)
    n_costly = n_costly_of(blocks._parts)
    number = _numbers_of_folds(blocks.first_labels(), rng)
    for held_out, rest in _splits(number, n_nodes, n_costly, enough, rng):
        n_passes = _n_passes(blocks, n_nodes[rest].sum())
        if not n_passes or _copies(codes, starts, held_out, rest) > MOST_COPIES:
            return
        total = weight[rest].sum()
        yield Fold(
            blocks=make_blocks(take(X, rest), take(y, rest), weight[rest] / total),
            total=total,
            n_passes=n_passes,
            losses=_judged_by(
                blocks, model, oracle, take(X, held_out), take(y, held_out), make_blocks
            ),
            weight=weight[held_out],
        )


def _judged_by(blocks, model, oracle, X, y, make_blocks):
    """Losses of samples that are held out, as functions of weights."""
    if not blocks.surrogate.smooth:
        return _losses_of_samples(model, oracle, X, y)
    n = length_of(y, "y")
    judge = make_blocks(X, y, np.full(n, 1.0 / n))
    judge.reset(1.0)
    return _log_losses(judge)


def _log_losses(judge):
    """Minus the logarithms of the probabilities of outputs."""
    return lambda w: judge.smoothed_sweep(w, judge.surrogate.temperature, 0.0).value


def _losses_of_samples(model, oracle, X, y):
    return lambda w: model._losses(y, model._predict(X, w, oracle)[0], X=X)


def _of_pieces(blocks, total, rng):
    """Folds of connected pieces of a few large graphs, or of long sequences."""
    parts = blocks._parts
    if not can_be_cut(parts) or blocks.n_nodes < FEWEST_NODES or blocks.relaxed:
        return
    piece = cells(parts, min(blocks.n_nodes / PIECES, LARGE_PIECE), rng)
    n_nodes, n_costly = np.bincount(piece), np.bincount(piece, is_costly(parts))
    number = rng.permutation(len(n_nodes)) % N_FOLDS

    def of(samples):
        return blocks.like(regrouped(parts, np.where(np.isin(piece, samples), piece, -1)))

    weight = np.empty(len(n_nodes))
    weight[piece] = total * np.repeat(parts.weight, np.diff(parts.node_start))
    for held_out, rest in _splits(number, n_nodes, n_costly, ENOUGH_OF_PIECES, rng):
        n_passes = _n_passes(blocks, n_nodes[rest].sum(), EFFORT_OF_PIECES)
        if not n_passes:
            return
        judge = of(held_out)
        judge.reset(1.0)
        yield Fold(
            blocks=of(rest),
            total=weight[rest].sum(),
            n_passes=n_passes,
            losses=(
                _log_losses(judge)
                if judge.surrogate.smooth
                else lambda w, judge=judge: blocks_kernels.losses_of(
                    judge._parts, judge.predicted(w)
                )
            ),
            weight=judge.weight,
        )


def _of_black_box(model, make_blocks, oracle, X, y, weight, rng):
    """Two folds, and so few passes that the choice calls the oracle less often than a fit may."""
    n = len(weight)
    number = rng.permutation(n) % N_FOLDS
    for k in range(FOLDS_OF_BLACK_BOX):
        held_out, rest = (
            rng.permutation(np.flatnonzero(chosen))[:MOST_OF_BLACK_BOX]
            for chosen in (number == k, number != k)
        )
        total = weight[rest].sum()
        yield Fold(
            blocks=make_blocks(take(X, rest), take(y, rest), weight[rest] / total),
            total=total,
            n_passes=PASSES_OF_BLACK_BOX,
            losses=_losses_of_box(CheckedModel(model, oracle), X, y, held_out),
            weight=weight[held_out],
        )


def _losses_of_box(model, X, y, samples):
    return lambda w: np.array(
        [model.loss_between(i, y[i], model.predict(i, X[i], w)) for i in samples]
    )


def _splits(number, n_nodes, n_costly, enough, rng):
    """Yield what is held out and what is not, until enough nodes were held out."""
    n_held_out = 0
    for k in range(N_FOLDS):
        held_out, rest = (
            _first_of(rng.permutation(np.flatnonzero(chosen)), n_nodes)
            for chosen in (number == k, number != k)
        )
        yield held_out, rest
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


def _n_passes(blocks, n_nodes, effort=1.0):
    """Passes over so many nodes for one candidate; 0 where there is no time for enough of them."""
    most = MOST_PASSES
    if blocks.surrogate.smooth:
        effort, most = effort * EFFORT_OF_SMOOTH, MOST_OF_SMOOTH
    if not blocks.is_compiled:
        seconds = blocks.seconds_of_pass() * n_nodes / blocks.n_nodes
        most = min(MOST_SLOW_PASSES, int(effort * SECONDS / seconds))
        if most < FEWEST_PASSES:
            return 0
    return int(np.clip(effort * VISITS / n_nodes, FEWEST_PASSES, most))


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
