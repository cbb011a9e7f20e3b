"""What a fitted transducer predicts, and how good that is."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._core.validation import (
    check_integer,
    check_list,
    check_random_state,
    check_sample_weight,
    is_auto,
)
from .._core.warnings import warn_of_scorer
from ..task_losses import resolve_task_loss
from ._costs import costs_for, task_losses_of, written
from ._engine import beam_search, roll_in
from ._losses import log_softmax
from ._roll_out_costs import priced
from ._search import Draws, LearningToSearch
from ._training import MOST_EVALUATED, Pairs, decode


class Predicting:
    """Mixin of `SeaRNNTransducer`: from inputs to outputs, probabilities and losses."""

    def _inputs(self, X, is_training=False):
        check_is_fitted(self)
        return self._reader.read(X, is_training)

    def _n_cells(self, inputs):
        if self.max_length_ is None:
            return inputs.lengths
        return np.full(len(inputs), self.max_length_)

    @property
    def _end(self):
        return None if self.max_length_ is None else len(self.classes_)

    def _draws(self, search, loss, rng):
        counts = np.maximum(self._counts, 1.0)
        return Draws(search, loss, counts, rng, has_end=self._end is not None)

    def predict(self, X):
        """Outputs that the network makes, greedily or by a beam.

        Parameters
        ----------
        X : list, object array or Packed of n_samples inputs
            Inputs, as `fit` takes them.

        Returns
        -------
        y : ndarray of shape (n_samples,), of objects
            Texts where `fit` had texts, and else arrays of tokens.
        """
        inputs = self._inputs(X)
        if check_integer(self.beam_size, "beam_size", 1) > 1:
            made = _column([outputs[0] for outputs, _ in self._beams(inputs, self.beam_size)])
        else:
            codes = decode(self._fitted_network(), inputs, self._n_cells(inputs), self._end)
            made = _column([self._written(own) for own in codes])
        warn_of_scorer(made)
        return made

    def n_best(self, X, k=5):
        """The k best outputs that a beam of this width finds.

        Parameters
        ----------
        X : list, object array or Packed of n_samples inputs
            Inputs.
        k : int, default=5
            Number of outputs.

        Returns
        -------
        outputs : ndarray of shape (n_samples,), of lists
            Outputs of each input, the most probable first; fewer where there are not so many.
        logs : ndarray of shape (n_samples,), of ndarray
            Logarithms of their probabilities.
        """
        check_integer(k, "k", 1)
        outputs, logs = zip(*self._beams(self._inputs(X), int(k)), strict=True)
        return _column(outputs), _column(logs)

    def _beams(self, inputs, width):
        network, found = self._fitted_network(), []
        network.parts.eval()
        chunk, n_cells = max(1, MOST_EVALUATED // width), self._n_cells(inputs)
        with network._torch.inference_mode():
            for begin in range(0, len(inputs), chunk):
                index = range(begin, min(begin + chunk, len(inputs)))
                beams = beam_search(
                    network, inputs.take(index), n_cells[begin : begin + chunk], width, self._end
                )
                for tokens, logs, lengths in zip(*beams, strict=True):
                    there = logs > -np.inf
                    rows = zip(tokens[there], lengths[there], strict=True)
                    found.append(([self._written(row[:n]) for row, n in rows], logs[there]))
        return found

    def _written(self, numbers):
        return written(numbers, self.classes_, "" if self._outputs.as_text else None)

    def predict_proba(self, X):
        """Probabilities of all tokens in each place of the greedy output, given what stands before.

        Parameters
        ----------
        X : list, object array or Packed of n_samples inputs
            Inputs.

        Returns
        -------
        probabilities : ndarray of shape (n_samples,), of ndarray of shape (n_cells, n_tokens)
            In the order of ``classes_``; where lengths are free, the last column is the end of the
            output and the last row that in which it ends, or is cut.
        """
        inputs, found = self._inputs(X), []
        for part, n_cells in self._parts(inputs):
            learned = np.zeros((len(part), int(n_cells.max())), bool)
            targets = np.zeros(learned.shape, np.int64)
            shares, rolled = self._shares(part, targets, n_cells, learned)
            found += [own[:n] for own, n in zip(np.exp(shares), rolled.lengths)]
        return _column(found)

    def score_samples(self, X, y):
        """Logarithms of the probabilities of outputs.

        Parameters
        ----------
        X : list, object array or Packed of n_samples inputs
            Inputs.
        y : list, object array or Packed of n_samples outputs
            Outputs.

        Returns
        -------
        logs : ndarray of shape (n_samples,)
            ``log p(y | x)``; where lengths are free, with the end of the output.
        """
        pairs, found = self._pairs(X, y), []
        for begin in range(0, len(pairs), MOST_EVALUATED):
            own = pairs.take(range(begin, min(begin + MOST_EVALUATED, len(pairs))))
            targets = own.targets()
            shares, _ = self._shares(own.inputs, targets, own.n_cells, np.ones(targets.shape, bool))
            logs = np.take_along_axis(shares, targets[:, :, None], axis=2)[:, :, 0]
            is_cell = np.arange(targets.shape[1]) < own.n_cells[:, None]
            found.append(np.where(is_cell, logs, 0.0).sum(axis=1))
        return np.concatenate(found)

    def _shares(self, inputs, targets, n_cells, reference):
        """Logarithms of the probabilities in all cells of a roll-in, and that roll-in."""
        network = self._fitted_network()
        network.parts.eval()
        with network._torch.inference_mode():
            rolled = roll_in(network, inputs, targets, n_cells, reference, self._end)
            scores = network.as_array(network._torch.stack(rolled.scores, dim=1))
        return log_softmax(scores), rolled

    def _parts(self, inputs):
        for begin in range(0, len(inputs), MOST_EVALUATED):
            part = inputs.take(range(begin, min(begin + MOST_EVALUATED, len(inputs))))
            yield part, self._n_cells(part)

    def _pairs(self, X, y, is_training=False):
        inputs, y = self._inputs(X, is_training), check_list(y, "y", "sequences")
        outputs = self._outputs.encode(y, inputs.lengths)
        n_out = np.array([len(own) for own in outputs])
        if self.max_length_ is None:
            wrong = np.flatnonzero(n_out != inputs.lengths)
            if len(wrong):
                i = int(wrong[0])
                raise ValueError(
                    f"y[{i}] has {n_out[i]} tokens and X[{i}] has {inputs.lengths[i]}, but outputs "
                    f"are as long as inputs"
                )
        elif n_out.max() > self.max_length_:
            i = int(n_out.argmax())
            raise ValueError(
                f"y[{i}] has {n_out[i]} tokens, more than max_length_={self.max_length_}: cut "
                f"it, or begin again with a larger output_length"
            )
        return Pairs(inputs, outputs, y, np.ones(len(y)), end=self._end)

    def rollout_costs(self, X, y, random_state=None):
        """What it costs to say each token in each place of the output, with the fitted network.

        Parameters
        ----------
        X : list, object array or Packed of n_samples inputs
            Inputs.
        y : list, object array or Packed of n_samples outputs
            True outputs.
        random_state : int, RandomState instance or None, default=None
            Coins and samples of ``search``.

        Returns
        -------
        costs : ndarray of shape (n_samples,), of ndarray of shape (n_cells, n_tokens)
            Costs, in the order of ``classes_`` (and the end of the output); inf where a token was
            not tried.
        """
        pairs, rng = self._pairs(X, y), check_random_state(random_state)
        draws = self._draws(LearningToSearch() if self.search is None else self.search, "ll", rng)
        network, targets = self._fitted_network(), pairs.targets()
        costs = costs_for(
            self.task_loss_, draws.reference, self.classes_, pairs.true_tokens(), pairs.lengths,
            pairs.y, is_free=self._end is not None,
        )  # fmt: skip
        network.parts.eval()
        with network._torch.inference_mode():
            found = priced(network, pairs.inputs, targets, pairs.n_cells, costs, draws, self._end)
        return _column(found.costs)

    def task_losses(self, X, y):
        """Task loss of the prediction of every sample.

        Parameters
        ----------
        X : list, object array or Packed of n_samples inputs
            Inputs.
        y : list, object array or Packed of n_samples outputs
            True outputs; they may hold tokens that `fit` has not seen, which are wrong then.

        Returns
        -------
        losses : ndarray of shape (n_samples,)
            Losses.
        """
        y = check_list(y, "y", "sequences")
        predicted = self.predict(X)
        if len(predicted) != len(y):
            raise ValueError(f"X has {len(predicted)} samples, y has {len(y)}")
        if self.max_length_ is None and is_auto(self.task_loss):
            differ = self._outputs.lengths(y) != [len(own) for own in predicted]
            if differ.any():
                # The loss that outputs of other lengths than their inputs have.
                losses = task_losses_of(resolve_task_loss("edit"), y, predicted)
                if not differ.all():
                    true = [own for own, is_other in zip(y, differ) if not is_other]
                    losses[~differ] = task_losses_of(self.task_loss_, true, predicted[~differ])
                return losses
        return task_losses_of(self.task_loss_, y, predicted)

    def score(self, X, y, sample_weight=None):
        """One minus the mean task loss.

        Parameters
        ----------
        X : list, object array or Packed of n_samples inputs
            Inputs.
        y : list, object array or Packed of n_samples outputs
            True outputs.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples in the mean.

        Returns
        -------
        score : float
            At most 1; larger is better.
        """
        losses = self.task_losses(X, y)
        weight = check_sample_weight(sample_weight, len(losses))
        return float(1.0 - np.average(losses, weights=weight))


def _column(items):
    """Objects in an array of one axis."""
    out = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):
        out[i] = item
    return out
