"""The two passes of variance-reduced methods, on the primitives of `Problem`."""

from typing import NamedTuple

import numpy as np

from ..._kernels import lazy
from . import _compiled
from ._compiled import accelerated

vectors = lazy("common.vectors")


class Smoothing(NamedTuple):
    """How maxima over outputs are smoothed."""

    kind: str | None  # "l2", "entropy", "loss" (the loss is smooth itself) or None
    mu: float = 0.0
    n_best: int = 1
    limit: int = 1  # n_best is doubled up to it where outputs that are left out might count


@accelerated(_compiled.smooth_pass_of_parts, _compiled.mixes_outputs)
def smooth_pass(blocks, w, smoothing):
    """Make the smoothed answers at w, a `Snapshot`, the distributions of all blocks; v follows."""
    found = _compiled.Snapshot(*np.zeros((5, blocks.n_blocks)))
    for i in range(blocks.n_blocks):
        mixture, *numbers = _answer(blocks, i, w, smoothing, exact=True)
        blocks.move(i, blocks.direction(i, mixture), 1.0)
        for array, number in zip(found, numbers, strict=True):
            array[i] = number
    blocks.refresh()
    return found


@accelerated(_compiled.svrg_walk_of_parts, _compiled.mixes_outputs)
def svrg_walk(blocks, order, x, origin, drift, step, rho, values, smoothing):
    """Steps ``x <- rho x + drift - step (F_i' (mu_i(x) - mu_i(origin)))``, clipped.

    Samples are drawn by their weights, so that all steps have one length. ``values`` are the
    smoothed maxima at ``origin``, the point of the snapshot. Returns the end, the sum of all
    iterates but the start, and sums over the steps: of the increase of the smoothed maximum over
    the origin, of its square and, with g the difference of gradients, ``|g|^2`` and
    ``<x - origin, g>``.
    """
    x, total, report = x.copy(), np.zeros_like(x), np.zeros(4)
    for i in order:
        mixture, value, *_ = _answer(blocks, i, x, smoothing)
        g = np.zeros_like(x)
        blocks.add_to(i, None, 1.0, g)
        blocks.add_to(i, mixture, -1.0, g)
        change = value - values[i]
        report += change, change * change, g @ g, g @ (x - origin)
        x = blocks.clip(rho * x + drift - step * g)
        total += x
    return x, total, report


def smoothed_max(scores, mu):
    """The largest of some scores smoothed by squares, and its weights.

    ``max_u <u, scores> - mu (||u||^2 - 1) / 2`` over all distributions u, above the maximum by at
    most ``mu / 2``; few scores have weight: Proposition 3 of Pillutla et al., NeurIPS 2018.
    """
    scores = np.asarray(scores, np.float64)
    order = np.argsort(-scores, kind="stable")
    few, weights = np.empty(len(order)), np.empty(len(order))
    value = vectors.smoothed_max(scores[order], float(mu), few)
    weights[order] = few
    return value, weights


def _answer(blocks, i, w, smoother, exact=False):
    """`Mixture` of one block, its smoothed maximum, and the rest of a `Snapshot`."""
    kind, mu, n_best, limit = smoother
    if kind == "loss":
        loss = blocks.surrogate
        mixture = blocks.smoothed_answer(i, w, loss.temperature, loss.loss_weight)
        return mixture, mixture.value, mixture.value, 0.0, 0.0, mixture.entropy
    if kind == "entropy":
        mixture = blocks.smoothed_answer(i, w, mu)
        best = blocks.answer(i, w) if exact else None
        hinge, slack = (best.value, best.slack) if exact else (mixture.value, 0.0)
        return mixture, mixture.value, hinge, slack, 0.0, 0.0
    if kind is None or n_best == 1:
        best = blocks.answer(i, w)
        return blocks.mix(i, [best], [1.0]), best.value, best.value, best.slack, 0.0, 0.0
    while True:
        answers = blocks.top_answers(i, w, n_best)
        value, weights = smoothed_max([answer.value for answer in answers], mu)
        n_positive = np.count_nonzero(weights)
        cut = n_positive == n_best
        if not cut or 2 * n_best > limit:
            break
        n_best *= 2
    kept = answers[:n_positive]
    mixture = blocks.mix(i, kept, weights[:n_positive])
    return mixture, value, answers[0].value, 0.0, float(cut), 0.0
