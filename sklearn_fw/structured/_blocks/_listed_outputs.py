"""Gibbs distributions over outputs that an oracle can list: those of a black box with scores."""

from typing import NamedTuple

import numpy as np

from ..._core.checked_oracle import name_of
from ..._kernels.structured.block_rules import CALLS
from ._base import Mixture
from ._checked_model import SparseVector, difference, union

MOST_OUTPUTS = 1000  # of a sample, that are listed


class _Listing(NamedTuple):
    """All outputs of a sample."""

    indices: np.ndarray  # features that any of them changes
    psi: np.ndarray  # (m, len(indices))
    loss: np.ndarray  # (m,)


class ListedOutputs:
    """Mixin of `BlackBoxBlocks`, which has ``_model``, ``_samples`` and ``_listings``."""

    def smoothed_answer(self, i, w, temperature, loss_weight=1.0):
        """A sum over all outputs, which are listed once; see `Blocks.smoothed_answer`."""
        if self._model.oracle is None:
            return super().smoothed_answer(i, w, temperature, loss_weight)
        self.counts[CALLS] += 1
        if i not in self._listings:
            self._listings[i] = self._list_outputs(i)
        indices, psi, loss = self._listings[i]
        values = (loss_weight * loss - psi @ w[indices]) / temperature
        high = values.max()
        chances = np.exp(values - high)
        log_sum = high + np.log(chances.sum())
        chances /= chances.sum()
        entropy = max(float(log_sum - chances @ values), 0.0)
        point = SparseVector(indices, chances @ psi)
        return Mixture(point, float(chances @ loss), float(temperature * log_sum), entropy)

    def _list_outputs(self, i):
        model, sample = self._model, self._samples[i]
        name = name_of(model.oracle)
        if not callable(getattr(model.oracle, "top_k", None)):
            raise TypeError(
                f"smoothed answers need an oracle with the method top_k, by which outputs are "
                f"listed, and {name} lacks it: take another oracle, or surrogate='hinge'"
            )
        nothing = np.zeros(self.n_weights)
        outputs, _ = model.k_best(i, sample.x, nothing, MOST_OUTPUTS + 1)
        if len(outputs) > MOST_OUTPUTS:
            raise ValueError(
                f"sample {i} has more than {MOST_OUTPUTS} outputs, too many to be listed for "
                f"smoothed answers: take surrogate='hinge', or a model of parts whose oracle has "
                f"marginals"
            )
        psi = [difference(sample.phi, model.features(i, sample.x, y)) for y in outputs]
        loss = np.array([model.loss(sample, y) for y in outputs])
        indices = np.empty(0, np.int64)
        for row in psi:
            indices = union(indices, row.indices)
        rows = np.zeros((len(psi), len(indices)))
        for row, sparse in zip(rows, psi, strict=True):
            row[indices.searchsorted(sparse.indices)] = sparse.values
        return _Listing(indices, rows, loss)
