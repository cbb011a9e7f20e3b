"""Compiled implementations of the plain passes of solvers, for blocks of parts.

A test holds their trajectories equal to those of the Python functions ``run(blocks, ...)``.
"""

import functools
from typing import NamedTuple

import numpy as np

from ..._kernels import lazy
from .._problems._part_sets import rows_of
from ._threaded import threads_of_pass, visit_in_threads

block_rules = lazy("structured.block_rules")
block_saddle = lazy("structured.block_saddle")
class_blocks = lazy("structured.class_blocks")
kernels = lazy("structured.blocks")
smoothed = lazy("structured.smoothed")
variance_reduced = lazy("structured.variance_reduced")


def accelerated(compiled, suits):
    """Decorator of a ``plain`` pass: ``compiled`` replaces it if it ``suits`` the arguments."""

    def decorate(plain):
        @functools.wraps(plain)
        def run(blocks, *args):
            from .._problems._parts import PartProblem  # which loads numba

            is_compiled = isinstance(blocks, PartProblem) and suits(blocks, *args)
            return (compiled if is_compiled else plain)(blocks, *args)

        run.plain = plain
        return run

    return decorate


def is_compiled(blocks, *args):
    return blocks.is_compiled


# ---- block-coordinate Frank-Wolfe ----------------------------------------------------------------


def asks_for_labels(blocks, order, uniforms, rules):
    """Whether answers are labels, which is what compiled passes know."""
    return not blocks.relaxed and (blocks.single or rules.variant != block_rules.EXACT)


def visit_parts(blocks, order, uniforms, rules):
    """A pass that is compiled but for the oracle, where that is not."""
    compiled = blocks.is_compiled or _asks_nobody(blocks, order, rules)
    run = _run_compiled if compiled else _run_oracle
    if rules.variant == block_rules.EXACT:
        run = _run_exact
        _make_singles(blocks)
    # Solvers whose steps are among kept vertices alone are the same for any number of workers.
    if blocks.is_compiled and not _takes_all(rules):
        n_threads = threads_of_pass(blocks, order)
        if n_threads > 1:
            return visit_in_threads(blocks, run, rules, order, uniforms, n_threads)
    position = 0
    while position < len(order):
        position = run(blocks, rules, order, uniforms, position)
        if blocks.counts[block_rules.REASON] == block_rules.TABLE_FULL:
            blocks.grow()
        elif blocks.counts[block_rules.REASON] == block_rules.NO_GAP:
            break
    return position


def _asks_nobody(blocks, order, rules):
    """Whether vertices that are kept are good enough at every visit."""
    known = _takes_all(rules) and order.min() >= 0
    return known and bool(np.isfinite(blocks.gaps.value[order]).all())


def _takes_all(rules):
    return rules.use_cache and rules.cache_f == 0.0 and rules.cache_nu == 0.0


def _run_compiled(blocks, rules, order, uniforms, position):
    return kernels.run_visits(
        blocks._parts, blocks._dual, blocks._vertices, blocks.gaps, rules, order, uniforms,
        blocks._scratch, blocks.counts, position,
    )  # fmt: skip


def _make_singles(blocks):
    if blocks.singles is None:
        rows = rows_of(blocks._parts)
        columns = rows.indices.astype(np.uint32)
        rows = rows.astype(np.float64)  # a copy
        rows.sum_duplicates()  # an attribute may come twice in a row
        blocks.singles = columns, rows.power(2).sum(axis=1)


def _run_exact(blocks, rules, order, uniforms, position):
    return class_blocks.exact_visits(
        blocks._parts, blocks._dual, *blocks.singles, blocks.gaps, rules, order, uniforms,
        blocks.counts, position,
    )  # fmt: skip


def _run_oracle(blocks, rules, order, uniforms, position):
    """`run_visits` with the oracle called from Python."""
    parts, dual, vertices, gaps = blocks._parts, blocks._dual, blocks._vertices, blocks.gaps
    scratch, counts = blocks._scratch, blocks.counts
    for k in range(position, len(order)):
        i = block_rules.pick_block(gaps, order[k], uniforms[k])
        if i < 0 or (vertices is not None and block_rules.table_is_full(vertices, i, rules)):
            counts[block_rules.REASON] = block_rules.NO_GAP if i < 0 else block_rules.TABLE_FULL
            return k
        slot, current = kernels.begin(parts, dual, vertices, gaps, rules, i, scratch, counts)
        if slot < 0:
            labels = blocks.ask_at_scores(i)
            scratch.oracle.labels[: len(labels)] = labels
        kernels.finish(parts, dual, vertices, gaps, rules, i, slot, current, scratch, counts)
    counts[block_rules.REASON] = block_rules.DONE
    return len(order)


# ---- dual ascent on smooth losses ----------------------------------------------------------------


def sums_are_compiled(blocks, *args):
    return blocks.sums_are_compiled


def ascend_parts(blocks, order, uniforms, rules, entropy):
    surrogate = blocks.surrogate
    blocks._check_sums(surrogate.loss_weight)
    return smoothed.ascend(
        blocks._with_loss(0.0), blocks._dual, blocks.gaps, rules, order, uniforms, entropy,
        surrogate.temperature, surrogate.loss_weight, blocks._scratch, blocks.make_sums(),
        blocks.counts,
    )  # fmt: skip


# ---- other solvers -------------------------------------------------------------------------------


def subgradient_visits_of_parts(blocks, order, visits, lam, target, moments):
    blocks.counts[block_rules.CALLS] += len(order)
    kernels.subgradient_visits(
        blocks._parts, blocks.marginals, order, visits, lam, blocks._view(target),
        blocks._view(moments), blocks._scratch,
    )  # fmt: skip


def saddle_visits_of_parts(blocks, order, visits, radius, euclidean, w, mean):
    blocks.counts[block_rules.CALLS] += len(order)
    block_saddle.saddle_visits(
        blocks._parts, blocks._dual, order, visits, radius, euclidean, blocks.v, w,
        blocks._view(w), mean, blocks._scratch,
    )  # fmt: skip


# ---- variance-reduced methods --------------------------------------------------------------------


class Snapshot(NamedTuple):
    values: np.ndarray  # (n,) smoothed maxima
    hinge: np.ndarray  # (n,) maxima, or the values where the loss is smooth itself
    slack: np.ndarray  # (n,) what these may lack
    cut: np.ndarray  # (n,) whether outputs that were left out might count
    entropy: np.ndarray  # (n,) of the distributions, where the loss has an entropy


def mixes_outputs(blocks, *args):
    """Whether mixtures of outputs are found by compiled code."""
    return blocks.is_compiled and blocks._parts.exhaustive is None and not blocks.bounded


def smooth_pass_of_parts(blocks, w, smoothing):
    out, view = np.empty((5, blocks.n_blocks)), blocks._view(w)

    def run(first, last):
        variance_reduced.smooth_pass(
            blocks._parts, blocks.marginals, view, _smoother(blocks, smoothing), first, last,
            blocks._make_scratch(), *_room(blocks, smoothing), out,
        )  # fmt: skip

    blocks._share(run)
    blocks.refresh()
    values, hinge, cut, expected, n_calls = out
    blocks.counts[block_rules.CALLS] += int(n_calls.sum())
    slack, entropy = np.zeros((2, blocks.n_blocks))
    if smoothing.kind == "entropy":  # maxima are calls of their own
        blocks.counts[block_rules.CALLS] += blocks.n_blocks
    if smoothing.kind == "loss":
        hinge, entropy = values, np.maximum((values - expected) / blocks.surrogate.temperature, 0.0)
    return Snapshot(values, hinge, slack, cut, entropy)


def svrg_walk_of_parts(blocks, order, x, origin, drift, step, rho, values, smoothing):
    n_steps, n_rows = len(order), blocks._parts.n_attributes
    x, total, report = x.copy(), np.zeros_like(x), np.zeros(variance_reduced.N_REPORTED)
    power = rho ** np.arange(n_steps + 1)
    reach = np.append(0.0, np.cumsum(power[:-1]))
    walk = variance_reduced.Walk(
        *map(blocks._view, (x, drift, total, origin)),
        np.zeros(n_rows, np.int64), power, reach, np.cumsum(reach),
    )  # fmt: skip
    variance_reduced.svrg_steps(
        blocks._parts, blocks.marginals, values, order, walk, step, _smoother(blocks, smoothing),
        blocks._scratch, *_room(blocks, smoothing), report,
    )  # fmt: skip
    variance_reduced.make_up(walk, np.arange(n_rows, dtype=np.int32), n_steps)
    blocks.counts[block_rules.CALLS] += int(report[variance_reduced.CALLS])
    return x, total, report[: variance_reduced.CALLS]


def _smoother(blocks, smoothing):
    kind, mu, *sizes = smoothing
    loss_weight = blocks.surrogate.loss_weight if kind == "loss" else 1.0
    return variance_reduced.Smoother(
        float(mu), *map(int, sizes), float(loss_weight), kind == "entropy"
    )


def _room(blocks, smoothing):
    """Working memory of one thread: for sums, or None, and for what is found."""
    if smoothing.kind in ("entropy", "loss"):
        sums = blocks.make_sums()
        return sums, variance_reduced.Point(sums.node, sums.table)
    scratch = blocks._scratch
    nodes, tables = scratch.oracle.scores, scratch.step.delta_tables
    return None, variance_reduced.Point(np.empty_like(nodes), np.empty_like(tables))
