"""Passes of block-coordinate Frank-Wolfe on the saddle point of a norm-constrained structured SVM.

The problem is ``min_{w in ball} max_mu  l(mu) - <w, v(mu)>`` with l and v as in `blocks.py`, where
lam is 1.
"""

import numpy as np

from .._jit import njit
from ..common.vectors import dot
from . import parts as pt
from .block_rules import FW, open_loop_step


@njit
def step_in_ball(w, v, radius, euclidean, gamma):
    """``w <- (1 - gamma) w + gamma s`` where s maximizes <s, v> over the l1 or l2 ball."""
    top, norm = 0, 0.0
    if euclidean:
        norm = np.sqrt(dot(v, v))
    else:
        for c in range(1, v.size):
            if abs(v[c]) > abs(v[top]):
                top = c
    for c in range(w.size):
        w[c] *= 1.0 - gamma
        if euclidean and norm > 0.0:
            w[c] += gamma * radius / norm * v[c]
    if not euclidean:
        # The sign of zero is taken as plus: every answer is a vertex.
        w[top] += gamma * radius if v[top] >= 0.0 else -gamma * radius


@njit
def saddle_visits(parts, dual, order, first_visit, radius, euclidean, v, w, w_view, mean, scratch):
    """Joint steps of one block and of w; ``mean`` gets the average of w, weighted by its number.

    ``v`` (the flat form of ``dual.v``) is read for the step of w, then moved by that of the block.
    """
    n = parts.weight.size
    for m in range(order.size):
        i, k = order[m], first_visit + m
        p = parts.weight[i]
        gamma = open_loop_step(k, n, 1.0)
        pt.block_scores(parts, w_view, i, 1.0, scratch.oracle)
        pt.block_argmax(parts.exhaustive, parts, w_view, i, parts.zero_one_cost, scratch.oracle)
        labels = scratch.oracle.labels
        step_in_ball(w, v, radius, euclidean, gamma)
        pt.build_direction(parts, dual.marginals, i, FW, labels, labels, scratch.step)
        pt.apply_adjoint(parts, i, scratch.step)
        change = p * pt.labels_loss(parts, i, labels) - dual.marginals.loss[i]
        pt.take_step(parts, dual, i, 1.0, gamma, change, k + 1, scratch.step)
        rho = open_loop_step(k, 1.0, 1.0)
        for c in range(w.size):
            mean[c] += rho * (w[c] - mean[c])
