"""Convex hulls of the outputs of all samples.

The polytope ``Z_i`` of sample i has a corner z(y) for every output y. Features are ``F_i z`` and
the loss is ``<c_i, z> + c0_i``, so that a point z of all polytopes together has

    Psi(z) = sum_i p_i F_i (z(y_i) - z_i),        l(z) = sum_i p_i (<c_i, z_i> + c0_i)
"""

import numpy as np

from ._cut_polytopes import CutPolytopes, only_attract
from ._listed import BlackBoxProblem
from ._model_polytopes import ModelPolytopes
from ._part_polytopes import PartPolytopes


def polytopes_of(blocks):
    """The convex hulls of the outputs of `Problem`, whose lam and dual variables stay."""
    if isinstance(blocks, BlackBoxProblem):
        return ModelPolytopes(
            blocks._model.model, blocks._samples, blocks.weight, blocks.n_weights
        )  # fmt: skip
    if blocks._parts.whole_cost > 0.0:
        raise NotImplementedError(
            "solver 'extragradient' needs a task_loss that is a sum over nodes, such as 'hamming'"
        )
    make = PartPolytopes
    forest = blocks._graph.is_forest(np.diff(blocks._parts.node_start))
    if (blocks._parts.mix is not None or not forest) and only_attract(blocks):
        make = CutPolytopes
    elif blocks._parts.mix is not None or blocks._parts.n_own is not None:
        raise ValueError(
            "solver 'extragradient' needs one table of weights for each edge and nodes of one "
            "kind, or two states and bounds on weights that reward no difference: take another "
            "solver, such as 'bcfw'"
        )
    own = type(blocks.marginals)(*map(np.zeros_like, blocks.marginals))
    return make(
        blocks._parts, own, blocks._graph, blocks.oracle.argmax, view=blocks._view,
        make_scratch=blocks._make_scratch, share=blocks._share,
    )  # fmt: skip
