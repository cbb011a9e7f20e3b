"""True labellings of blocks that are replaced by others, as hidden states are found anew."""

import numpy as np

from ..._kernels.structured import blocks as kernels
from ..._kernels.structured.block_rules import EVICTED
from ..._kernels.structured.parts import Marginals


def truth_of(blocks):
    """True states of all nodes."""
    return blocks._parts.truth


def per_node(blocks, values):
    """Values of samples, repeated for their nodes."""
    return np.repeat(values, np.diff(blocks._parts.node_start))


def true_scores(blocks, w):
    """Scores of the true labellings at any w."""
    view = blocks._view(np.ascontiguousarray(w))
    asked = (blocks._question(blocks._parts, view, i, 0.0) for i in range(blocks.n_blocks))
    return np.fromiter((true for _, true, _ in asked), np.float64, blocks.n_blocks)


def retarget(blocks, truth):
    """Take other true labellings, which cost nothing either.

    Where outputs are kept, or are single nodes, their states change names: mass on the old truth is
    on the new one then. Elsewhere all mass of a sample goes to its new truth.
    """
    parts, nodes = blocks._parts._replace(truth=truth), blocks.marginals.nodes
    t = np.flatnonzero(truth != truth_of(blocks))
    old, new = truth_of(blocks)[t], truth[t]
    blocks._parts = parts
    if blocks.explicit and not blocks.counts[EVICTED]:
        labels = blocks._corners.labels[t]
        was_old, was_new = labels == old[:, None], labels == new[:, None]
        labels = np.where(was_old, new[:, None], np.where(was_new, old[:, None], labels))
        blocks._corners.labels[t] = labels
    else:
        nodes[t, old], nodes[t, new] = nodes[t, new], nodes[t, old]
        moved = np.zeros(blocks.n_blocks, bool)
        moved[np.searchsorted(parts.node_start, t, side="right") - 1] = True
        _to_truth(blocks, moved & (parts.edge_stop > parts.edge_start))
    blocks._bind()
    blocks.refresh()


def _to_truth(blocks, chosen):
    """All mass of some blocks on the truth."""
    marginals, here = blocks.marginals, per_node(blocks, chosen)
    fresh = Marginals(*map(np.zeros_like, marginals))
    kernels.set_to_truth(blocks._parts, fresh)
    marginals.nodes[here] = fresh.nodes[here]
    marginals.tables[chosen] = fresh.tables[chosen]
    marginals.loss[chosen] = 0.0
