"""What scores that are not linear in the weights answer besides the best output."""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..._core.checked_oracle import name_of
from ..._core.validation import check_integer, check_sample_weight
from .._items import length_of
from .._temperature import best_temperature
from ._score_model import CheckedScores


class ScoreAnswers:
    """Mixin of `ProxLinearStructuredSVM`."""

    def _scores_of(self, X):
        """Flat scores of each input with their layout."""
        length_of(X, "X")  # refuses what is no list
        scores = CheckedScores(self.model_)
        for i, x in enumerate(X):
            try:
                flat, layout = scores.value(i, x, self.coef_)
            except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
                raise ValueError(
                    f"X[{i}] does not fit the score model {scores.name}: {error}"
                ) from error
            self._outputs.check(layout, i)
            yield flat, layout

    def n_best(self, X, k):
        """The k outputs of highest score, best first.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.
        k : int
            How many outputs are wanted, at least 1.

        Returns
        -------
        outputs : list of n_samples ndarrays of shape (m, n_nodes) or (m,)
            The outputs of each sample, all different: labels of its nodes, or numbers of
            candidates. The first is that of `predict`, or another one of the same score; m < k
            where fewer outputs exist.
        scores : list of n_samples ndarrays of shape (m,)
            Their scores, in descending order.
        """
        check_is_fitted(self)
        k = check_integer(k, "k", 1)
        self._need("n_best", "top_k")
        found = [self._outputs.k_best(flat, layout, k) for flat, layout in self._scores_of(X)]
        return [outputs for outputs, _ in found], [scores for _, scores in found]

    def predict_marginals(self, X):
        """Probabilities if ``p(y) ~ exp(s(x, y; coef_) / temperature_)``.

        Training asks for margins and fits no probabilities: `calibrate` where their size matters.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs.

        Returns
        -------
        marginals : ndarray of shape (n_samples,) of ndarrays
            For each sample the probabilities of the states of its nodes, of shape
            (n_nodes, n_classes) in the order of ``classes_``, or of its candidates, of shape
            (n_candidates,).
        """
        check_is_fitted(self)
        self._need("predict_marginals", "marginals")
        marginals = np.empty(length_of(X, "X"), dtype=object)
        for i, (flat, layout) in enumerate(self._scores_of(X)):
            marginals[i] = self._outputs.marginals(flat, layout, self.temperature_)
        return marginals

    def calibrate(self, X, y, sample_weight=None):
        """Choose the temperature of `predict_marginals` by data that were not trained on.

        Minimises over t > 0 the mean, over all nodes or lists of candidates, of minus the logarithm
        of the probability of the truth at temperature t. Predictions stay the same.

        Parameters
        ----------
        X : array-like, list, object array or Packed of n_samples inputs
            Inputs that `fit` has not seen: on those it has seen the scores are too good.
        y : array-like, list, object array or Packed of n_samples outputs
            Their outputs. Nodes with labels unseen in fit are left out.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the samples, each for all of its nodes.

        Returns
        -------
        self : ProxLinearStructuredSVM
            The estimator, with ``temperature_`` set.

        Warns
        -----
        UserWarning
            When the smallest or largest temperature looked at is the best one.
        """
        check_is_fitted(self)
        self._need("calibrate", "marginals")
        n_samples = length_of(X, "X")
        if n_samples != length_of(y, "y"):
            raise ValueError(
                f"X and y must have the same length, got {n_samples} and {length_of(y, 'y')}"
            )
        sample_weight = check_sample_weight(sample_weight, n_samples)
        self.temperature_ = self._best_temperature(X, y, sample_weight)
        return self

    def _best_temperature(self, X, y, sample_weight):
        outputs, scores = self._outputs, list(self._scores_of(X))
        truths = outputs.states_of(y, [layout for _, layout in scores])
        known = [np.flatnonzero(truth >= 0) for truth in truths]
        weight = np.repeat(sample_weight, [len(rows) for rows in known])
        if not weight.sum() > 0.0:
            raise ValueError("X and y hold no node with positive weight and a label seen in fit")

        def rows_at(temperature):
            """Probabilities of the nodes with known labels, and these."""
            for (flat, layout), rows, truth in zip(scores, known, truths):
                marginals = outputs.marginals(flat, layout, temperature)
                yield np.atleast_2d(marginals)[rows], truth[rows]

        def chances(temperature):
            pairs = [
                (p[np.arange(len(t)), t], p.argmax(axis=1) == t) for p, t in rows_at(temperature)
            ]
            return tuple(map(np.concatenate, zip(*pairs, strict=True)))

        spreads = [
            np.ptp(np.atleast_2d(layout.split(flat)[0]), axis=1)[rows]
            for (flat, layout), rows in zip(scores, known)
        ]
        weight = weight / weight.sum()
        return best_temperature(chances, np.concatenate(spreads) @ weight or 1.0, weight)

    def _need(self, method, ability):
        if not self._outputs.can(ability):
            raise TypeError(
                f"{method} needs an oracle with the method {ability}, which "
                f"{name_of(self.oracle_)} lacks: fit with another oracle"
            )
